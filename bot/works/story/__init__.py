"""Stories that a table plays: scenes by a writer, turns by players, versions, branches, cast and lore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bot.kind import Kind, Runs, Setting, Typed
from bot.settings import OFF, ON
from bot.verb import PRIVATE, Argument, Option, Verb
from bot.works.story.config import StoryConfig
from bot.works.story.memory.config import RecallConfig
from bot.works.story.nodes import CHECKS, LENGTHS, MODES, RATINGS, VIEWS

if TYPE_CHECKING:
    from bot.events import Place, Request, Work
    from bot.resources import Resources
    from storage.stories import StoryRow


OWN_NAMES: Final = "story.own_names"
"""The setting that lets characters speak under their own names."""
MATURE: Final = "story.mature"
"""The setting that says of a channel that only adults are there, where the platform cannot tell."""


def _turn(name: str, example: str, argument: Argument | None = None, *, plain: bool = False) -> Verb:
    return Verb("story", name, f"verbs.story_{name}", example, ordered=True, plain=plain, argument=argument)


AGREED: Final = (
    Option("rating", "verbs.option_rating", choices=RATINGS),
    Option("lines", "verbs.option_lines", long=True),
    Option("veils", "verbs.option_veils", long=True),
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


def _party(name: str, example: str, argument: Argument | None = None) -> Verb:
    return Verb("story", name, f"verbs.story_{name}", example, ordered=True, argument=argument, group="party")


_SCENE = Option("scene", "verbs.option_scene", "number", most=100_000)

VERBS: tuple[Verb, ...] = (
    Verb(
        "story",
        "start",
        "verbs.story_start",
        "/story start A lighthouse keeper finds a door in the sea --tone eerie",
        ordered=True,
        holds=True,
        argument=Argument("premise", "verbs.arg_premise"),
        options=(
            Option("title", "verbs.option_title"),
            Option("genre", "verbs.option_genre"),
            Option("tone", "verbs.option_tone"),
            Option("view", "verbs.option_view", choices=VIEWS),
            Option("length", "verbs.option_length", choices=LENGTHS),
            Option("cast", "verbs.option_cast", long=True),
            Option("mode", "verbs.option_mode", choices=MODES),
            *AGREED,
            Option("together", "verbs.option_together", "flag"),
        ),
        form=("cast", "genre", "tone", "view", "length"),
    ),
    _turn(
        "act",
        "/story act I lower the lamp into the water and listen.",
        Argument("what", "verbs.arg_act"),
        plain=True,
    ),
    _turn("say", "/story say Who is down there?", Argument("words", "verbs.arg_say")),
    _turn("continue", "/story continue"),
    Verb(
        "story",
        "retry",
        "verbs.story_retry",
        "/story retry",
        ordered=True,
        options=(Option("soften", "verbs.option_soften", "flag"),),
    ),
    Verb(
        "story",
        "flip",
        "verbs.story_flip",
        "/story flip next",
        personal=True,
        argument=Argument("to", "verbs.arg_flip"),
    ),
    _turn("undo", "/story undo"),
    _turn("redo", "/story redo"),
    _turn(
        "edit",
        "/story edit The lamp goes out before it touches the water.",
        Argument("text", "verbs.arg_edit"),
    ),
    Verb(
        "story",
        "fork",
        "verbs.story_fork",
        "/story fork the door stays shut --scene 4",
        ordered=True,
        argument=Argument("name", "verbs.arg_branch_name", required=False),
        options=(_SCENE, Option("thread", "verbs.option_thread", "flag")),
        menu="verbs.story_fork_menu",
    ),
    Verb("story", "opened", "verbs.story_open", "/story opened", ordered=True, inner=True),
    Verb("story", "edited", "verbs.story_act", "/story edited", ordered=True, inner=True),
    Verb(
        "story",
        "reword",
        "verbs.story_act",
        "/story reword words",
        ordered=True,
        inner=True,
        argument=Argument("what", "verbs.arg_act"),
    ),
    Verb("story", "branches", "verbs.story_branches", "/story branches", options=(PRIVATE,)),
    Verb(
        "story",
        "switch",
        "verbs.story_switch",
        "/story switch the door stays shut",
        ordered=True,
        argument=Argument("branch", "verbs.arg_branch", completes="branch"),
    ),
    Verb(
        "story",
        "cast",
        "verbs.story_cast",
        "/story cast Mira: a diver who fears the dark --style short, dry sentences",
        ordered=True,
        argument=Argument("character", "verbs.arg_character", required=False),
        options=(
            Option("about", "verbs.option_character_about", long=True),
            Option("style", "verbs.option_style"),
            Option("player", "verbs.option_player"),
            Option("picture", "verbs.option_picture", "link"),
            Option("write", "verbs.option_write", "number", most=10),
            Option("remove", "verbs.option_remove", "flag"),
        ),
        form=("about", "style", "player", "picture"),
    ),
    Verb(
        "story",
        "ask",
        "verbs.story_ask",
        "/story ask Have we ever been to the lower stairs?",
        ordered=True,
        argument=Argument("question", "verbs.arg_question", most=4_000),
        options=(PRIVATE,),
    ),
    Verb(
        "story",
        "ooc",
        "verbs.story_ooc",
        "/story ooc Back in five minutes.",
        argument=Argument("talk", "verbs.arg_talk"),
    ),
    Verb(
        "story",
        "direct",
        "verbs.story_direct",
        "/story direct Slower; more weather, less talk.",
        ordered=True,
        argument=Argument("note", "verbs.arg_note", required=False),
    ),
    Verb(
        "story",
        "remember",
        "verbs.story_remember",
        "/story remember The lamp must never go out.",
        ordered=True,
        argument=Argument("memory", "verbs.arg_memory", required=False),
        options=(Option("remove", "verbs.option_remove_number", "number", most=1_000),),
    ),
    Verb(
        "story",
        "lore",
        "verbs.story_lore",
        "/story lore lamp, lantern: The lamp burns whale oil, and must never go out.",
        ordered=True,
        argument=Argument("entry", "verbs.arg_lore", required=False),
        options=(
            Option("always", "verbs.option_always", "flag"),
            Option("remove", "verbs.option_remove_number", "number", most=10_000),
        ),
    ),
    Verb(
        "story",
        "relation",
        "verbs.story_relation",
        "/story relation Mira, Bo: rivals",
        ordered=True,
        argument=Argument("pair", "verbs.arg_pair", required=False),
    ),
    Verb(
        "story",
        "ideas",
        "verbs.story_ideas",
        "/story ideas a heist in a library that dreams",
        ordered=True,
        argument=Argument("about", "verbs.arg_about", required=False),
        options=(PRIVATE,),
    ),
    Verb("story", "prompt", "verbs.story_prompt", "/story prompt", admin=True),
    Verb(
        "story",
        "mode",
        "verbs.story_mode",
        "/story mode round-robin",
        ordered=True,
        argument=Argument("mode", "verbs.arg_mode", required=False),
    ),
    _turn("pass", "/story pass"),
    Verb("story", "show", "verbs.story_show", "/story show", options=(PRIVATE,)),
    Verb(
        "story",
        "open",
        "verbs.story_open",
        "/story open the door in the sea",
        ordered=True,
        argument=Argument("story", "verbs.arg_story", required=False, completes="story"),
    ),
    Verb(
        "story",
        "recall",
        "verbs.story_recall",
        "/story recall the red sundress of the rooftop party",
        argument=Argument("query", "verbs.arg_query"),
        options=(Option("character", "verbs.option_recall_character"), PRIVATE),
        group="memory",
    ),
    Verb(
        "story",
        "recap",
        "verbs.story_recap",
        "/story recap 3 days --words 100",
        argument=Argument("since", "verbs.arg_since", required=False),
        options=(Option("words", "verbs.option_recap_words", "number", most=2_000), PRIVATE),
        group="memory",
    ),
    Verb(
        "story",
        "stopcard",
        "verbs.story_stopcard",
        "/story stopcard",
        personal=True,
        urgent=True,
        argument=Argument("scene", "verbs.arg_stopcard", required=False),
        group="party",
    ),
    Verb(
        "story",
        "safety",
        "verbs.story_safety",
        "/story safety --rating teen --lines 'spiders; harm to children' --veils torture",
        ordered=True,
        options=AGREED,
        group="party",
    ),
    Verb(
        "story",
        "zero",
        "verbs.story_zero",
        "/story zero A door in the sea",
        ordered=True,
        holds=True,
        argument=Argument("text", "verbs.arg_zero", required=False, most=4_000),
        options=(
            Option("step", "verbs.option_step"),
            Option("skip", "verbs.option_skip", "flag"),
            Option("back", "verbs.option_back", "flag"),
        ),
        group="party",
    ),
    _party("join", "/story join"),
    _party("leave", "/story leave", Argument("who", "verbs.arg_leave", required=False)),
    _party("play", "/story play Mira", Argument("character", "verbs.arg_play")),
    _party("gm", "/story gm Bia", Argument("who", "verbs.arg_gm", required=False)),
    _party("deadline", "/story deadline 2 days", Argument("span", "verbs.arg_deadline", required=False)),
    Verb(
        "story",
        "missed",
        "verbs.story_missed",
        "/story missed",
        options=(Option("words", "verbs.option_recap_words", "number", most=2_000), PRIVATE),
        group="party",
    ),
    Verb(
        "story",
        "whisper",
        "verbs.story_whisper",
        "/story whisper Bia: the lamp is a trap",
        personal=True,
        argument=Argument("text", "verbs.arg_whisper", required=False, most=1_100),
        group="party",
    ),
    Verb("story", "whispered", "verbs.story_whisper", "/story whispered", inner=True),
    Verb("story", "overdue", "verbs.story_pass", "/story overdue", ordered=True, inner=True),
    Verb(
        "story",
        "forget",
        "verbs.story_recall",
        "/story forget node",
        inner=True,
        argument=Argument("node", "verbs.arg_query"),
    ),
    Verb("story", "nudge", "verbs.story_recap", "/story nudge", inner=True),
    Verb("story", "extracted", "verbs.story_state", "/story extracted", inner=True),
    Verb(
        "story",
        "correct",
        "verbs.story_state",
        "/story correct Mira holding: the lamp",
        ordered=True,
        inner=True,
        argument=Argument("character", "verbs.arg_state"),
    ),
    Verb(
        "story",
        "keep",
        "verbs.story_state",
        "/story keep scene",
        ordered=True,
        inner=True,
        argument=Argument("scene", "verbs.arg_query"),
    ),
    Verb(
        "story",
        "state",
        "verbs.story_state",
        "/story state Mira holding: the lamp",
        ordered=True,
        argument=Argument("character", "verbs.arg_state", required=False),
        options=(PRIVATE,),
        group="world",
    ),
    Verb(
        "story",
        "characters",
        "verbs.story_characters",
        "/story characters Mira",
        argument=Argument("character", "verbs.arg_remembering", required=False),
        options=(PRIVATE,),
        group="world",
    ),
    Verb(
        "story",
        "plot",
        "verbs.story_plot",
        "/story plot the bell is found: no",
        ordered=True,
        argument=Argument("event", "verbs.arg_event", required=False),
        options=(PRIVATE,),
        group="world",
    ),
    Verb(
        "story",
        "chapter",
        "verbs.story_chapter",
        "/story chapter The lower stairs --events 'the bell is found; the lamp goes out'",
        ordered=True,
        argument=Argument("title", "verbs.arg_chapter", required=False),
        options=(
            Option("location", "verbs.option_location"),
            Option("time", "verbs.option_time"),
            Option("scenario", "verbs.option_scenario", long=True),
            Option("events", "verbs.option_events", long=True),
            Option("write", "verbs.option_write_events", "number", most=12),
            Option("climax", "verbs.option_climax"),
            Option("resolution", "verbs.option_resolution"),
            Option("check", "verbs.option_check", choices=CHECKS),
        ),
        group="world",
    ),
    Verb(
        "story",
        "import",
        "verbs.story_import",
        "/story import mira.png",
        background=True,
        argument=Argument("paths", "verbs.arg_story_files", many=True, completes="path"),
        group="exchange",
    ),
    Verb("story", "history", "verbs.story_history", "/story history", background=True, group="exchange"),
    Verb(
        "story",
        "export",
        "verbs.story_export",
        "/story export --as epub",
        argument=_OF_STORY,
        options=(
            Option("as", "verbs.option_export_as", choices=EXPORTS),
            Option("character", "verbs.option_export_character"),
            PRIVATE,
        ),
        group="exchange",
    ),
    Verb(
        "story",
        "share",
        "verbs.story_share",
        "/story share",
        argument=_OF_STORY,
        options=(PRIVATE,),
        group="exchange",
    ),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.library.config import LibraryConfig
    from bot.works.story.cast_verbs import CastVerbs
    from bot.works.story.edited_messages import EditedMessages
    from bot.works.story.exports import Exports
    from bot.works.story.extraction import Extraction
    from bot.works.story.imports import Imports
    from bot.works.story.logs import Logs
    from bot.works.story.memory.memory import Memory
    from bot.works.story.outlines import Outlines
    from bot.works.story.party import Party
    from bot.works.story.presets import Presets
    from bot.works.story.prompt_files import PromptFiles
    from bot.works.story.questions import Questions
    from bot.works.story.recall import Recall
    from bot.works.story.safety import Safety
    from bot.works.story.scene_verbs import SceneVerbs
    from bot.works.story.session_zero import SessionZero
    from bot.works.story.table import Table
    from bot.works.story.work import Stories
    from bot.works.story.world import World

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

    logs, settings = Logs(resources.stories), resources.config.section(StoryConfig)
    recall = resources.config.section(RecallConfig)
    memory = Memory(resources.story_vectors, resources.embedding, recall)
    scene_verbs = SceneVerbs(
        logs,
        resources.models,
        resources.prompts,
        resources.records,
        resources.settings.roles,
        own_names,
        settings,
        memory,
        recall,
        adults,
    )
    presets = Presets(*settings.presets)
    if settings.presets:
        presets.read()  # a bot should not start with a broken file
    table = Table(logs, resources.records.sessions, presets, own_names, settings, runs, adults)
    recall_verbs = Recall(logs, memory, scene_verbs, resources.settings.zone, recall)
    extraction = Extraction(
        logs, resources.models, resources.prompts, resources.settings.roles, own_names, settings
    )

    async def checks(request: Request) -> bool:
        return extraction.able(resources.models.with_roles(await resources.settings.roles(request)))

    return Stories(
        scene_verbs,
        CastVerbs(logs, scene_verbs),
        EditedMessages(logs, scene_verbs, runs),
        table,
        recall_verbs,
        logs,
        memory,
        extraction,
        World(logs, own_names),
        Questions(logs, scene_verbs),
        PromptFiles(logs, scene_verbs, extraction),
        Outlines(logs, scene_verbs),
        Imports(
            logs,
            memory,
            resources.incoming,
            resources.whole_threads,
            resources.records.sessions,
            resources.config.section(LibraryConfig).max_bytes,
        ),
        Safety(logs, runs, adults, checks=checks),
        Exports(logs, adults),
        Party(logs, resources.records.schedules, settings, scene_verbs.votes_counted),
        SessionZero(logs, scene_verbs, resources.records.sessions, adults),
    )


def _on_or_off(resources: Resources, value: str) -> str:
    from bot.works.settings.checks import choice

    return choice(OWN_NAMES, value, (ON, OFF))


def _mature(resources: Resources, value: str) -> str:
    from bot.works.settings.checks import choice

    return choice(MATURE, value, (ON, OFF))


async def _branch(resources: Resources, typed: Typed) -> list[str]:
    names = [
        branch.name
        for story in await _open_to(resources, typed)
        for branch in await resources.stories.branches(typed.space, story.id)
    ]
    return [name for name in dict.fromkeys(names) if name and name.lower().startswith(typed.prefix.lower())]


async def _story(resources: Resources, typed: Typed) -> list[str]:
    return [
        row.title for row in await _open_to(resources, typed) if typed.prefix.lower() in row.title.lower()
    ]


async def _open_to(resources: Resources, typed: Typed) -> list[StoryRow]:
    """Where somebody is typing is not known here."""
    rows = await resources.stories.open_to(typed.space, typed.author, limit=200)
    return [row for row in rows if row.title]


async def _plain(resources: Resources, place: Place, author: str, text: str) -> str:
    from bot.works.story.session_zero import is_open

    return "zero" if await is_open(resources.stories, place) else ""


KIND = Kind(
    "story",
    VERBS,
    make,
    completes={"branch": _branch, "story": _story},
    settings=(
        Setting(
            OWN_NAMES,
            "verbs.setting_own_names",
            ("channel", "space"),
            check=_on_or_off,
            default=lambda resources: OFF,
            values=lambda resources: (ON, OFF),
            platforms=("discord", "slack"),
        ),
        Setting(
            MATURE,
            "verbs.setting_mature",
            ("channel", "space"),
            check=_mature,
            default=lambda resources: OFF,
            values=lambda resources: (ON, OFF),
            platforms=("slack",),
        ),
    ),
    suggests=("slack_home.prompt_story",),
    reworded="edited",
    plain=_plain,
    sections={"story": StoryConfig, "recall": RecallConfig},
)
