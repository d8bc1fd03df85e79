"""Stories that a table plays: scenes by a writer, turns by players, versions, branches, cast and lore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bot.kind import Complete, InView, Kind, Runs, Service, Typed, one_of
from bot.settings import OFF, ON
from bot.works.story.config import RecallConfig, StoryConfig
from bot.works.story.log.turn import SCENE
from bot.works.story.verbs import HEADINGS, VERBS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.events import Place, Request
    from bot.resources import Resources
    from bot.work import Work


OWN_NAMES: Final = "story.own_names"
"""The setting that lets characters speak under their own names."""
MATURE: Final = "story.mature"
"""The setting that declares a channel to be for adults only, where the platform cannot tell."""


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.library import LibraryConfig
    from bot.works.story.exchange.exports import Exports
    from bot.works.story.exchange.imports import Imports
    from bot.works.story.exchange.library import LibraryVerbs
    from bot.works.story.extraction.extraction import Extraction
    from bot.works.story.extraction.summaries import Summaries
    from bot.works.story.log.logs import logs_of
    from bot.works.story.memory.memory import Memory
    from bot.works.story.memory.recall import Recall
    from bot.works.story.scene.buttons import Buttons
    from bot.works.story.screen.screen import Screen
    from bot.works.story.sheet.initiative_verbs import InitiativeVerbs
    from bot.works.story.sheet.sheet_verbs import SheetVerbs
    from bot.works.story.sheet.template import read
    from bot.works.story.table.branch_verbs import BranchVerbs
    from bot.works.story.table.notes import Notes
    from bot.works.story.table.outcome import Messages
    from bot.works.story.table.party import Party
    from bot.works.story.table.party_verbs import PartyVerbs
    from bot.works.story.table.proxied import ProxiedNames
    from bot.works.story.table.safety import Safety
    from bot.works.story.table.table import Table
    from bot.works.story.table.versions import Versions
    from bot.works.story.turn import dice
    from bot.works.story.turn.cast_verbs import CastVerbs
    from bot.works.story.turn.continuation import Continuation
    from bot.works.story.turn.edited_messages import EditedMessages
    from bot.works.story.turn.interview import Interview
    from bot.works.story.turn.outlines import Outlines
    from bot.works.story.turn.questions import Questions
    from bot.works.story.turn.recap import Recap
    from bot.works.story.turn.scene_verbs import SceneVerbs
    from bot.works.story.turn.scene_writer import SceneWriter
    from bot.works.story.turn.session_zero import SessionZero
    from bot.works.story.turn.trial import Trials
    from bot.works.story.work import Stories
    from bot.works.story.world.presets import Presets, prose_styles
    from bot.works.story.world.world_verbs import WorldVerbs

    async def uses_own_names(request: Request) -> bool:
        settings = await resources.settings.nearest(request.place, request.author.id, OWN_NAMES)
        return bool(settings) and settings[0].value == ON

    async def adults(request: Request) -> bool:
        if request.adults is not None:
            return request.adults
        # A request of a schedule does not say it.
        if (known := await runs.adults(request.place)) is not None:
            return known
        settings = await resources.settings.nearest(request.place, request.author.id, MATURE)
        return bool(settings) and settings[0].value == ON

    logs, settings = logs_of(resources.stories), resources.config.section(StoryConfig)
    recall = resources.config.section(RecallConfig)
    memory = Memory(resources.story_vectors, resources.embedding, recall)
    resources.caches.add(logs.drop)
    resources.caches.add(memory.drop)
    scene_verbs = SceneVerbs(
        logs,
        resources.models,
        resources.prompts,
        resources.records.sessions,
        resources.records.votes,
        resources.settings.roles,
        uses_own_names,
        settings,
        SceneWriter(logs, resources.models, settings, memory, recall),
        recall,
        adults,
    )
    presets, prose = Presets(*settings.presets), prose_styles(settings.prose)
    # The bot must not start with an invalid file.
    if settings.presets:
        presets.read()
    if settings.prose:
        prose.read()
    if settings.sheets:
        read(settings.sheets)
    buttons, screen = Buttons(logs), Screen(logs, dice.roll_typed)
    messages = Messages(uses_own_names)
    branches = BranchVerbs(logs, resources.records.sessions, runs, adults, buttons, messages)
    table = Table(logs, settings, Versions(logs, messages), branches, Notes(logs, presets, prose), messages)
    extraction = Extraction(
        logs,
        resources.models,
        resources.prompts,
        resources.settings.roles,
        uses_own_names,
        settings,
        Summaries(logs, resources.prompts),
    )

    async def can_extract(request: Request) -> bool:
        return extraction.is_available(resources.models.with_roles(await resources.settings.roles(request)))

    return Stories(
        scene_verbs,
        CastVerbs(logs, scene_verbs),
        EditedMessages(logs, scene_verbs, runs),
        table,
        branches,
        Recall(logs, memory, recall),
        Recap(logs, scene_verbs, resources.settings.zone),
        logs,
        memory,
        extraction,
        WorldVerbs(logs, uses_own_names, buttons),
        Questions(logs, scene_verbs, extraction),
        Continuation(logs, scene_verbs),
        Outlines(logs, scene_verbs),
        Interview(logs, scene_verbs),
        Imports(
            logs,
            memory,
            resources.incoming,
            resources.platforms,
            resources.records.sessions,
            resources.config.section(LibraryConfig).max_bytes,
        ),
        Safety(logs, runs, adults, can_extract, resources.caches.drop),
        Exports(logs, adults),
        Party(
            logs, PartyVerbs(logs, settings), resources.records.schedules, settings, scene_verbs.votes_counted
        ),
        ProxiedNames(logs, resources.records.proxies),
        LibraryVerbs(logs, resources.records.story_library),
        SessionZero(logs, scene_verbs, resources.records.sessions, adults),
        screen,
        Trials(logs, scene_verbs, screen),
        buttons,
        SheetVerbs(logs, settings.sheets, uses_own_names),
        InitiativeVerbs(logs),
    )


def _service(resources: Resources, runs: Runs, work: Work | None) -> Service:
    from bot.works.story.log.logs import logs_of
    from bot.works.story.turn.played_last import PlayedLast
    from bot.works.story.work import Stories

    recall = resources.config.section(RecallConfig)
    return PlayedLast(logs_of(resources.stories), work if isinstance(work, Stories) else None, recall)


def _completion(name: str) -> Complete:
    """The function `name` of `completions`, which is imported only when it is called."""

    async def complete(resources: Resources, typed: Typed) -> list[str]:
        from bot.works.story import completions

        names: Complete = getattr(completions, name)
        return await names(resources, typed)

    return complete


async def _plain(resources: Resources, place: Place, author: str, text: str) -> str:
    from bot.works.story.turn.session_zero import is_open

    return "zero" if await is_open(resources.stories, place) else ""


async def _checks(resources: Resources, request: Request) -> None:
    from bot.words import words
    from bot.works.story.log.logs import Unwritten
    from bot.works.story.table.notes import Notes
    from bot.works.story.table.party_verbs import PartyVerbs
    from bot.works.story.world.presets import Presets, prose_styles

    logs, settings = Unwritten(resources.stories), resources.config.section(StoryConfig)
    notes = Notes(logs, Presets(*settings.presets), prose_styles(settings.prose))
    if request.verb in ("leave", "play", "as", "gm", "deadline", "whisper"):
        await PartyVerbs(logs, settings).outcome(request)
    elif request.verb in ("cast", "direct", "remember", "lore", "relation", "prose"):
        await getattr(notes, request.verb)(request, words(request.locale))


async def _in_view(resources: Resources, request: Request) -> InView | None:
    """The names of the cast, and the sheet of the character that a question about rules names, or else of the one
    that the asker plays.
    """
    from bot.works.story.log.logs import logs_of
    from bot.works.story.sheet.sheet import as_question
    from bot.works.story.sheet.sheet_verbs import sheet_in_view
    from storage.stories import Spot

    if (played := await resources.stories.played(Spot(*request.place.key))) is None:
        return None
    row, place_row = played
    story = await logs_of(resources.stories).story(row.space, row.id, place_row.branch_id)
    sheet, names = sheet_in_view(story, request.author, request.text), tuple(story.cast)
    return InView(sheet.name, as_question(sheet), names) if sheet is not None else InView("", "", names)


async def _pressed(work: Work, request: Request, going: Sequence[Request]) -> Request:
    from bot.works.story.work import Stories

    return await work.buttons.checked(request, going) if isinstance(work, Stories) else request


KIND = Kind(
    "story",
    VERBS,
    make,
    completes={
        "branch": _completion("branch"),
        "story": _completion("title"),
        "character": _completion("character"),
        "self": _completion("own_character"),
        "kept": _completion("kept"),
        "location": _completion("location"),
        "version": _completion("version"),
        "prose": _completion("prose"),
        "step": _completion("step"),
        "template": _completion("template"),
    },
    settings=(
        one_of(
            OWN_NAMES, "verbs.setting_own_names", ("channel", "space"), (ON, OFF), OFF, ("discord", "slack")
        ),
        one_of(MATURE, "verbs.setting_mature", ("channel", "space"), (ON, OFF), OFF, ("slack",)),
    ),
    suggests=("slack_home.prompt_story",),
    reworded="edited",
    plain=_plain,
    checks=_checks,
    service=_service,
    pressed=_pressed,
    in_view=_in_view,
    sections={"story": StoryConfig, "recall": RecallConfig},
    stays=(SCENE,),
    shared=True,
    headings=HEADINGS,
)
