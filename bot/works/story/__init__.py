"""Stories that a table plays: scenes by a writer, turns by players, versions, branches, cast and lore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bot.kind import Complete, Kind, Runs, Service, Setting, Typed
from bot.settings import OFF, ON
from bot.verb import LINE_CHARS, PRIVATE, Argument, Option, Verb
from bot.works.story.config import RecallConfig, StoryConfig
from bot.works.story.limits import (
    ABOUT_CHARS,
    AGREED_CHARS,
    BRANCH_CHARS,
    NAME_CHARS,
    NOTE_CHARS,
    PAIR_CHARS,
    PICTURE_CHARS,
    QUERY_CHARS,
    SHEET_CHARS,
    SINCE_CHARS,
    STATE_CHARS,
    STYLE_CHARS,
    TEXT_CHARS,
    TITLE_CHARS,
    TURN_CHARS,
    WHEN_CHARS,
)
from bot.works.story.log.nodes import CHECKS, LENGTHS, MODES, RATINGS, VIEWS
from bot.works.story.log.turn import SCENE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.events import Place, Request, Work
    from bot.resources import Resources


OWN_NAMES: Final = "story.own_names"
"""The setting that lets characters speak under their own names."""
MATURE: Final = "story.mature"
"""The setting that says of a channel that only adults are there, where the platform cannot tell."""


AGREED: Final = (
    Option("rating", "verbs.option_rating", choices=RATINGS),
    Option("lines", "verbs.option_lines", most=AGREED_CHARS, long=True),
    Option("veils", "verbs.option_veils", most=AGREED_CHARS, long=True),
)
"""What a table agrees on for its safety."""
EXPORTS: Final = (
    "markdown",
    "epub",
    "json",
    "chat",
    "card",
    "card-png",
    "card-charx",
    "card-json",
    "lorebook",
)
"""What `/story export` writes; the first unless another is named."""
_OF_STORY = Argument("story", "verbs.arg_story", required=False, completes="story")

_SCENE = Option("scene", "verbs.option_scene", "number", most=100_000)

VERBS: tuple[Verb, ...] = (
    Verb(
        "story",
        "start",
        "A lighthouse keeper finds a door in the sea --tone eerie",
        Argument("premise", "verbs.arg_premise"),
        (
            Option("title", "verbs.option_title", most=TITLE_CHARS),
            Option("genre", "verbs.option_genre", most=TEXT_CHARS),
            Option("tone", "verbs.option_tone", most=TEXT_CHARS),
            Option("view", "verbs.option_view", choices=VIEWS),
            Option("length", "verbs.option_length", choices=LENGTHS),
            Option("cast", "verbs.option_cast", most=SHEET_CHARS, long=True),
            Option("mode", "verbs.option_mode", choices=MODES),
            *AGREED,
            Option("together", "verbs.option_together", "flag"),
        ),
        ordered=True,
        holds=True,
        form=("cast", "genre", "tone", "view", "length"),
        asks=True,
    ),
    Verb(
        "story",
        "act",
        "I lower the lamp into the water and listen.",
        Argument("what", "verbs.arg_act", most=TURN_CHARS),
        ordered=True,
        plain=True,
        turn=True,
    ),
    Verb(
        "story",
        "say",
        "Who is down there?",
        Argument("words", "verbs.arg_say", most=TURN_CHARS),
        ordered=True,
        turn=True,
    ),
    Verb("story", "continue", ordered=True, turn=True),
    Verb(
        "story", "retry", options=(Option("soften", "verbs.option_soften", "flag"),), ordered=True, turn=True
    ),
    Verb("story", "flip", "next", Argument("to", "verbs.arg_flip", completes="version"), personal=True),
    Verb("story", "undo", ordered=True, brief=True),
    Verb("story", "redo", ordered=True, brief=True),
    Verb(
        "story",
        "edit",
        "The lamp goes out before it touches the water.",
        Argument("text", "verbs.arg_edit", most=LINE_CHARS),
        ordered=True,
        brief=True,
    ),
    Verb(
        "story",
        "fork",
        "the door stays shut --scene 4",
        Argument("name", "verbs.arg_branch_name", required=False, most=BRANCH_CHARS),
        (_SCENE, Option("thread", "verbs.option_thread", "flag")),
        ordered=True,
        menu="verbs.story_fork_menu",
    ),
    Verb("story", "opened", ordered=True, inner=True),
    Verb("story", "posted", ordered=True, inner=True),
    Verb("story", "late", personal=True, inner=True),
    Verb("story", "edited", ordered=True, inner=True),
    Verb("story", "reword", "words", Argument("what", "verbs.arg_act"), ordered=True, inner=True),
    Verb("story", "branches", options=(PRIVATE,)),
    Verb(
        "story",
        "switch",
        "the door stays shut",
        Argument("branch", "verbs.arg_branch", completes="branch"),
        ordered=True,
        brief=True,
    ),
    Verb(
        "story",
        "cast",
        "Mira: a diver who fears the dark --style short, dry sentences",
        Argument("character", "verbs.arg_character", required=False, completes="character", most=SHEET_CHARS),
        (
            Option("about", "verbs.option_character_about", most=SHEET_CHARS, long=True),
            Option("style", "verbs.option_style", most=STYLE_CHARS),
            Option("player", "verbs.option_player", "person", most=NAME_CHARS),
            Option("picture", "verbs.option_picture", "link", most=PICTURE_CHARS),
            Option("write", "verbs.option_write", "number", most=10, asks=True),
            Option("remove", "verbs.option_remove", "flag"),
        ),
        ordered=True,
        form=("about", "style", "player", "picture"),
        brief=True,
        asks_by=("speak", "all", "fala", "todos"),
    ),
    Verb(
        "story",
        "ask",
        "Have we ever been to the lower stairs?",
        Argument("question", "verbs.arg_question", most=4_000),
        (PRIVATE,),
        ordered=True,
        asks=True,
    ),
    Verb("story", "ooc", "Back in five minutes.", Argument("talk", "verbs.arg_talk", most=LINE_CHARS)),
    Verb(
        "story",
        "direct",
        "Slower; more weather, less talk.",
        Argument("note", "verbs.arg_note", required=False, most=NOTE_CHARS),
        ordered=True,
        brief=True,
    ),
    Verb(
        "story",
        "remember",
        "The lamp must never go out.",
        Argument("memory", "verbs.arg_memory", required=False, most=NOTE_CHARS),
        (Option("remove", "verbs.option_remove_number", "number", most=1_000),),
        ordered=True,
        brief=True,
    ),
    Verb(
        "story",
        "lore",
        "lamp, lantern: The lamp burns whale oil, and must never go out.",
        Argument("entry", "verbs.arg_lore", required=False, most=LINE_CHARS),
        (
            Option("always", "verbs.option_always", "flag"),
            Option("remove", "verbs.option_remove_number", "number", most=10_000),
        ),
        ordered=True,
        brief=True,
    ),
    Verb(
        "story",
        "relation",
        "Mira, Bo: rivals",
        Argument("pair", "verbs.arg_pair", required=False, most=PAIR_CHARS),
        ordered=True,
        brief=True,
    ),
    Verb(
        "story",
        "ideas",
        "a heist in a library that dreams",
        Argument("about", "verbs.arg_about", required=False, most=ABOUT_CHARS),
        (PRIVATE,),
        ordered=True,
        asks=True,
        guarded=True,
    ),
    Verb("story", "prompt", admin=True, personal=True),
    Verb(
        "story",
        "mode",
        "round-robin",
        Argument("mode", "verbs.arg_mode", required=False, choices=MODES),
        ordered=True,
        brief=True,
    ),
    Verb("story", "pass", ordered=True, brief=True),
    Verb("story", "show", options=(PRIVATE,), guarded=True),
    Verb(
        "story",
        "open",
        "the door in the sea",
        Argument("story", "verbs.arg_story", required=False, completes="story"),
        ordered=True,
    ),
    Verb(
        "story",
        "recall",
        "the red sundress of the rooftop party",
        Argument("query", "verbs.arg_query", most=QUERY_CHARS),
        (Option("character", "verbs.option_recall_character", completes="character"), PRIVATE),
        group="memory",
    ),
    Verb(
        "story",
        "recap",
        "3 days --words 100",
        Argument("since", "verbs.arg_since", required=False, most=SINCE_CHARS),
        (Option("words", "verbs.option_recap_words", "number", most=2_000), PRIVATE),
        group="memory",
        asks=True,
    ),
    Verb("story", "context", options=(PRIVATE,), group="memory"),
    Verb(
        "story",
        "stopcard",
        argument=Argument("scene", "verbs.arg_stopcard", required=False, most=WHEN_CHARS),
        personal=True,
        urgent=True,
        group="party",
    ),
    Verb(
        "story",
        "safety",
        "--rating teen --lines 'spiders; harm to children' --veils torture",
        options=AGREED,
        ordered=True,
        brief=True,
        group="party",
    ),
    Verb(
        "story",
        "zero",
        "A door in the sea",
        Argument("text", "verbs.arg_zero", required=False, most=4_000),
        (
            Option("step", "verbs.option_step", completes="step"),
            Option("skip", "verbs.option_skip", "flag"),
            Option("back", "verbs.option_back", "flag"),
        ),
        ordered=True,
        holds=True,
        group="party",
    ),
    Verb("story", "join", ordered=True, brief=True, group="party"),
    Verb(
        "story",
        "leave",
        argument=Argument("who", "verbs.arg_leave", "person", required=False, most=NAME_CHARS),
        ordered=True,
        brief=True,
        group="party",
    ),
    Verb(
        "story",
        "play",
        "Mira",
        Argument("character", "verbs.arg_play", completes="character"),
        ordered=True,
        brief=True,
        group="party",
    ),
    Verb(
        "story",
        "gm",
        "Bia",
        Argument("who", "verbs.arg_gm", "person", required=False, most=NAME_CHARS),
        ordered=True,
        brief=True,
        group="party",
    ),
    Verb(
        "story",
        "deadline",
        "2 days",
        Argument("span", "verbs.arg_deadline", required=False, most=WHEN_CHARS),
        ordered=True,
        brief=True,
        group="party",
    ),
    Verb(
        "story",
        "missed",
        options=(Option("words", "verbs.option_recap_words", "number", most=2_000), PRIVATE),
        group="party",
        asks=True,
    ),
    Verb(
        "story",
        "whisper",
        "Bia: the lamp is a trap",
        Argument("text", "verbs.arg_whisper", required=False, most=1_100),
        personal=True,
        secret=True,
        group="party",
    ),
    Verb("story", "whispered", inner=True),
    Verb("story", "overdue", ordered=True, inner=True),
    Verb("story", "forget", "node", Argument("node", "verbs.arg_query"), inner=True),
    Verb("story", "nudge", inner=True),
    Verb("story", "extracted", inner=True),
    Verb(
        "story",
        "correct",
        "Mira holding: the lamp",
        Argument("character", "verbs.arg_state"),
        ordered=True,
        inner=True,
    ),
    Verb("story", "keep", "scene", Argument("scene", "verbs.arg_query"), ordered=True, inner=True),
    Verb(
        "story",
        "state",
        "Mira holding: the lamp",
        Argument("character", "verbs.arg_state", required=False, completes="character", most=STATE_CHARS),
        (PRIVATE,),
        ordered=True,
        brief=True,
        group="world",
    ),
    Verb(
        "story",
        "characters",
        "Mira",
        Argument("character", "verbs.arg_remembering", required=False, completes="character"),
        (PRIVATE,),
        group="world",
    ),
    Verb(
        "story",
        "plot",
        "the bell is found: no",
        Argument("event", "verbs.arg_event", required=False, most=STATE_CHARS),
        (PRIVATE,),
        ordered=True,
        brief=True,
        group="world",
        guarded=True,
    ),
    Verb(
        "story",
        "chapter",
        "The lower stairs --events 'the bell is found; the lamp goes out'",
        Argument("title", "verbs.arg_chapter", required=False, most=TITLE_CHARS),
        (
            Option("location", "verbs.option_location", completes="location", most=TEXT_CHARS),
            Option("time", "verbs.option_time", most=TEXT_CHARS),
            Option("scenario", "verbs.option_scenario", most=TEXT_CHARS, long=True),
            Option("events", "verbs.option_events", most=SHEET_CHARS, long=True),
            Option("write", "verbs.option_write_events", "number", most=12, asks=True),
            Option("climax", "verbs.option_climax", most=TEXT_CHARS),
            Option("resolution", "verbs.option_resolution", most=TEXT_CHARS),
            Option("check", "verbs.option_check", choices=CHECKS),
            PRIVATE,
        ),
        ordered=True,
        brief=True,
        group="world",
        guarded=True,
    ),
    Verb(
        "story",
        "import",
        "mira.png",
        Argument("paths", "verbs.arg_story_files", many=True, completes="path"),
        background=True,
        group="exchange",
    ),
    Verb("story", "history", background=True, group="exchange"),
    Verb(
        "story",
        "export",
        "--as epub",
        _OF_STORY,
        (
            Option("as", "verbs.option_export_as", choices=EXPORTS),
            Option("character", "verbs.option_export_character", completes="character"),
            PRIVATE,
        ),
        group="exchange",
        guarded=True,
    ),
    Verb("story", "share", argument=_OF_STORY, options=(PRIVATE,), group="exchange"),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.library import LibraryConfig
    from bot.works.story.exchange.exports import Exports
    from bot.works.story.exchange.imports import Imports
    from bot.works.story.extraction.extraction import Extraction
    from bot.works.story.extraction.summaries import Summaries
    from bot.works.story.log.logs import logs_of
    from bot.works.story.memory.memory import Memory
    from bot.works.story.memory.recall import Recall
    from bot.works.story.scene.buttons import Buttons
    from bot.works.story.table.branch_verbs import BranchVerbs
    from bot.works.story.table.notes import Notes
    from bot.works.story.table.outcome import Messages
    from bot.works.story.table.party import Party
    from bot.works.story.table.party_verbs import PartyVerbs
    from bot.works.story.table.safety import Safety
    from bot.works.story.table.table import Table
    from bot.works.story.table.versions import Versions
    from bot.works.story.turn.cast_verbs import CastVerbs
    from bot.works.story.turn.edited_messages import EditedMessages
    from bot.works.story.turn.outlines import Outlines
    from bot.works.story.turn.questions import Questions
    from bot.works.story.turn.recap import Recap
    from bot.works.story.turn.scene_verbs import SceneVerbs
    from bot.works.story.turn.scene_writer import SceneWriter
    from bot.works.story.turn.session_zero import SessionZero
    from bot.works.story.work import Stories
    from bot.works.story.world.presets import Presets
    from bot.works.story.world.world import World

    async def own_names(request: Request) -> bool:
        settings = await resources.settings.nearest(request.place, request.author.id, OWN_NAMES)
        return bool(settings) and settings[0].value == ON

    async def adults(request: Request) -> bool:
        if request.adults is not None:
            return request.adults
        if (
            known := await runs.adults(request.place)
        ) is not None:  # where nobody has asked, as for a schedule
            return known
        settings = await resources.settings.nearest(request.place, request.author.id, MATURE)
        return bool(settings) and settings[0].value == ON

    logs, settings = logs_of(resources.stories), resources.config.section(StoryConfig)
    recall = resources.config.section(RecallConfig)
    memory = Memory(resources.story_vectors, resources.embedding, recall)
    scene_verbs = SceneVerbs(
        logs,
        resources.models,
        resources.prompts,
        resources.records.sessions,
        resources.records.votes,
        resources.settings.roles,
        own_names,
        settings,
        SceneWriter(logs, resources.models, settings, memory, recall),
        recall,
        adults,
    )
    presets = Presets(*settings.presets)
    if settings.presets:
        presets.read()  # a bot should not start with a broken file
    buttons = Buttons(logs)
    messages = Messages(own_names)
    branches = BranchVerbs(logs, resources.records.sessions, runs, adults, buttons, messages)
    table = Table(logs, settings, Versions(logs, messages), branches, Notes(logs, presets), messages)
    extraction = Extraction(
        logs,
        resources.models,
        resources.prompts,
        resources.settings.roles,
        own_names,
        settings,
        Summaries(logs, resources.prompts),
    )

    async def checks(request: Request) -> bool:
        return extraction.able(resources.models.with_roles(await resources.settings.roles(request)))

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
        World(logs, own_names, buttons),
        Questions(logs, scene_verbs, extraction),
        Outlines(logs, scene_verbs),
        Imports(
            logs,
            memory,
            resources.incoming,
            resources.platforms,
            resources.records.sessions,
            resources.config.section(LibraryConfig).max_bytes,
        ),
        Safety(logs, runs, adults, checks=checks),
        Exports(logs, adults),
        Party(
            logs, PartyVerbs(logs, settings), resources.records.schedules, settings, scene_verbs.votes_counted
        ),
        SessionZero(logs, scene_verbs, resources.records.sessions, adults),
        buttons,
    )


def _service(resources: Resources, runs: Runs, work: Work | None) -> Service:
    from bot.works.story.log.logs import logs_of
    from bot.works.story.turn.played_last import PlayedLast
    from bot.works.story.work import Stories

    recall = resources.config.section(RecallConfig)
    return PlayedLast(logs_of(resources.stories), work if isinstance(work, Stories) else None, recall)


def _switch(name: str, summary: str, platforms: tuple[str, ...]) -> Setting:
    """A setting of a channel or a space that is on or, by default, off."""

    def check(resources: Resources, value: str) -> str:
        from bot.works.settings.checks import choice

        return choice(name, value, (ON, OFF))

    return Setting(
        name,
        summary,
        ("channel", "space"),
        check=check,
        default=lambda resources: OFF,
        values=lambda resources: (ON, OFF),
        platforms=platforms,
    )


def _completion(name: str) -> Complete:
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
    from bot.works.story.world.presets import Presets

    logs, settings = Unwritten(resources.stories), resources.config.section(StoryConfig)
    notes = Notes(logs, Presets(*settings.presets))
    if request.verb in ("leave", "play", "gm", "deadline", "whisper"):
        await PartyVerbs(logs, settings).outcome(request)
    elif request.verb in ("cast", "direct", "remember", "lore", "relation"):
        await getattr(notes, request.verb)(request, words(request.locale))


async def _pressed(work: Work, request: Request, going: Sequence[Request]) -> Request:
    from bot.works.story.work import Stories

    return await work.buttons.arrived(request, going) if isinstance(work, Stories) else request


KIND = Kind(
    "story",
    VERBS,
    make,
    completes={
        "branch": _completion("branch"),
        "story": _completion("title"),
        "character": _completion("character"),
        "location": _completion("location"),
        "version": _completion("version"),
        "step": _completion("step"),
    },
    settings=(
        _switch(OWN_NAMES, "verbs.setting_own_names", ("discord", "slack")),
        _switch(MATURE, "verbs.setting_mature", ("slack",)),
    ),
    suggests=("slack_home.prompt_story",),
    reworded="edited",
    plain=_plain,
    checks=_checks,
    service=_service,
    pressed=_pressed,
    sections={"story": StoryConfig, "recall": RecallConfig},
    stays=(SCENE,),
    shared=True,
)
