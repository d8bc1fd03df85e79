"""Screenplays: the verbs and settings of the work "script"."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.kind import Kind, Runs, Typed, of_channel, one_line
from bot.verb import LAST, PRIVATE, Argument, Option, Verb
from bot.works.script.config import ScriptConfig

if TYPE_CHECKING:
    from bot.events import Request
    from bot.resources import Resources
    from bot.work import Work

COMPLETIONS: Final = 25
"""The maximum number of suggestions in one autocomplete: Discord's limit."""

_FILES = Argument("paths", "verbs.arg_paths", many=True, completes="path")
_SCRIPT = Argument("script", "verbs.arg_script", required=False, completes="script")
_SCRIPT_OPTION = Option("script", "verbs.option_script", completes="script")
_VISIBLE = Option("visible", "verbs.option_visible", choices=("me", "thread", "space"))
_TIER = Option("tier", "verbs.option_tier", choices=("quick", "standard", "deep"))
_TOOLS = Option("tools", "verbs.option_tools", choices=("auto", "on", "off"))
_MAX_TOOLS = Option("max-tools", "verbs.option_max_tools", "number", most=30)
_TITLE = Option("title", "verbs.option_script_title", most=200)
_YES = Option("yes", "verbs.option_yes_replace", "flag")
_DRAFT = Option("draft", "verbs.option_draft", "number", most=999_999)
_FORMAT = Option("as", "verbs.option_as", choices=("fountain", "markdown", "csv"))


_verb = partial(Verb, "script")

VERBS: tuple[Verb, ...] = (
    _verb("add", "ferry.fdx --visible thread", _FILES, (_VISIBLE, _TITLE), background=True),
    _verb("replace", "ferry-2.fdx", _FILES, (_SCRIPT_OPTION, _TITLE, _YES), background=True),
    _verb("remove", "The Last Ferry", Argument("script", "verbs.arg_script", completes="script")),
    _verb("share", "The Last Ferry --visible space", _SCRIPT, (_VISIBLE,)),
    _verb(
        "ask",
        "How does Anna change over the script?",
        Argument("question", "verbs.arg_question", most=4_000),
        (
            _SCRIPT_OPTION,
            _TIER,
            Option(
                "intent",
                "verbs.option_intent",
                choices=("local-edit", "scene-feedback", "global-question", "brainstorm"),
            ),
            _TOOLS,
            _MAX_TOOLS,
            LAST,
            PRIVATE,
        ),
        ordered=True,
        plain=True,
        asks=True,
    ),
    _verb(
        "brainstorm",
        "What could the storm cost them?",
        Argument("about", "verbs.arg_idea_about", most=4_000),
        (_SCRIPT_OPTION, _TIER, _TOOLS, _MAX_TOOLS),
        ordered=True,
        asks=True,
    ),
    _verb("ideas", "The Last Ferry", _SCRIPT, (PRIVATE,)),
    _verb("drop", "3", Argument("idea", "verbs.arg_idea", most=20, terse=True), (_SCRIPT_OPTION,)),
    _verb("drafts", "The Last Ferry", _SCRIPT, (PRIVATE,)),
    _verb(
        "compare",
        '1 3 --script "The Last Ferry"',
        Argument("drafts", "verbs.arg_drafts", required=False, most=40, terse=True),
        (_SCRIPT_OPTION, PRIVATE),
    ),
    _verb("list", personal=True),
    _verb("scenes", "The Last Ferry", _SCRIPT, (PRIVATE,)),
    _verb(
        "scene", "12", Argument("scene", "verbs.arg_scene", most=300, terse=True), (_SCRIPT_OPTION, PRIVATE)
    ),
    _verb(
        "report", "The Last Ferry", _SCRIPT, (Option("character", "verbs.option_character", most=80), PRIVATE)
    ),
    _verb("analysis", "The Last Ferry", _SCRIPT, (PRIVATE,)),
    _verb("analysed", inner=True),
    _verb("export", "The Last Ferry --as fountain", _SCRIPT, (_FORMAT, _DRAFT, PRIVATE)),
)

HEADINGS: Final = {
    "verbs.heading_script_ask": "ask scenes scene report analysis",
    "verbs.heading_script_drafts": "add replace drafts compare list remove",
    "verbs.heading_script_ideas": "brainstorm ideas drop",
    "verbs.heading_script_share": "share export",
}


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.library import LibraryConfig
    from bot.works.script.analysis import BackgroundAnalysis
    from bot.works.script.answer import ScriptQuestions
    from bot.works.script.catalogue import Catalogue
    from bot.works.script.drafts import Drafts
    from bot.works.script.ideas import Ideas
    from bot.works.script.intake import ScriptIntake
    from bot.works.script.likeness import Likeness
    from bot.works.script.work import Scripts

    catalogue = Catalogue(resources.scripts)
    resources.caches.add(catalogue.drop)
    section = resources.config.section(ScriptConfig)
    likeness = Likeness(resources.scripts, resources.embedding)
    background = BackgroundAnalysis(
        catalogue,
        resources.models,
        resources.prompts,
        resources.settings.roles,
        section,
        likeness,
        resources.embedding.configured,
    )
    intake = ScriptIntake(
        catalogue, resources.incoming, resources.config.section(LibraryConfig).max_bytes, background
    )
    ideas = Ideas(catalogue)
    questions = ScriptQuestions(
        catalogue,
        ideas,
        resources.models,
        resources.prompts,
        resources.conversations,
        resources.settings.roles,
        background,
        likeness,
        section,
    )
    return Scripts(catalogue, intake, background, ideas, Drafts(catalogue), questions.run)


async def _titles(resources: Resources, typed: Typed) -> list[str]:
    """Completions: the titles of scripts that the person may read."""
    from bot.retrieval.titles import completed
    from storage.scripts import Reader

    rows = await resources.scripts.all(Reader(typed.space, typed.author))
    return completed([row.title for row in rows], typed.prefix, COMPLETIONS)


async def _knows(resources: Resources, request: Request) -> bool:
    """Whether the question is about the script that `script ask` would answer from."""
    from bot.works.script.answer import knows
    from bot.works.script.catalogue import Catalogue, reader

    catalogue, asker = Catalogue(resources.scripts), reader(request)
    try:
        row = await catalogue.resolve(asker, str(request.options.get("script") or ""))
        opened = await catalogue.open(asker, row)
    except UserError:  # no script, or no matching one
        return False
    models = resources.models.with_roles(await resources.settings.roles(request))
    capabilities = models.capabilities("answerer")
    reads = models.describe("answerer") is not None and not (capabilities is not None and capabilities.demo)
    return await asyncio.to_thread(knows, opened, request.text, reads=reads)


KIND = Kind(
    "script",
    VERBS,
    make,
    completes={"script": _titles},
    settings=(of_channel("script", one_line),),
    sections={"script": ScriptConfig},
    knows=_knows,
    headings=HEADINGS,
)
