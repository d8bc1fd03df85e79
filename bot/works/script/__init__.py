"""Screenplays: the verbs and settings of the work "script"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bot.kind import Kind, Runs, Typed
from bot.verb import PRIVATE, Argument, Option, Verb
from bot.works.script.config import ScriptConfig

if TYPE_CHECKING:
    from bot.events import Work
    from bot.resources import Resources

COMPLETIONS: Final = 25
"""Suggestions of one autocomplete: Discord's limit."""

_FILES = Argument("paths", "verbs.arg_paths", many=True, completes="path")
_SCRIPT = Argument("script", "verbs.arg_script", required=False, completes="script")
_OF_SCRIPT = Option("script", "verbs.option_script", completes="script")
_VISIBLE = Option("visible", "verbs.option_visible", choices=("me", "thread", "space"))
_TIER = Option("tier", "verbs.option_tier", choices=("quick", "standard", "deep"))
_TOOLS = Option("tools", "verbs.option_tools", choices=("auto", "on", "off"))
_MAX_TOOLS = Option("max-tools", "verbs.option_max_tools", "number", most=30)
_FORMAT = Option("as", "verbs.option_as", choices=("fountain", "markdown", "csv"))


def _verb(
    name: str, example: str, argument: Argument | None = None, *options: Option, personal: bool = False
) -> Verb:
    return Verb(
        "script", name, f"verbs.script_{name}", example, argument=argument, options=options, personal=personal
    )


VERBS: tuple[Verb, ...] = (
    Verb(
        "script",
        "add",
        "verbs.script_add",
        "/script add ferry.fdx --visible thread",
        background=True,
        argument=_FILES,
        options=(_VISIBLE,),
    ),
    Verb(
        "script",
        "replace",
        "verbs.script_replace",
        "/script replace ferry-2.fdx",
        background=True,
        argument=_FILES,
        options=(_OF_SCRIPT,),
    ),
    _verb(
        "remove", "/script remove The Last Ferry", Argument("script", "verbs.arg_script", completes="script")
    ),
    _verb("share", "/script share The Last Ferry --visible space", _SCRIPT, _VISIBLE),
    Verb(
        "script",
        "ask",
        "verbs.script_ask",
        "/script ask How does Anna change over the script?",
        ordered=True,
        plain=True,
        argument=Argument("question", "verbs.arg_question", most=4_000),
        options=(
            _OF_SCRIPT,
            _TIER,
            Option(
                "intent",
                "verbs.option_intent",
                choices=("local-edit", "scene-feedback", "global-question", "brainstorm"),
            ),
            _TOOLS,
            _MAX_TOOLS,
            PRIVATE,
        ),
    ),
    Verb(
        "script",
        "brainstorm",
        "verbs.script_brainstorm",
        "/script brainstorm What could the storm cost them?",
        ordered=True,
        argument=Argument("about", "verbs.arg_idea_about", most=4_000),
        options=(_OF_SCRIPT, _TIER, _TOOLS, _MAX_TOOLS),
    ),
    _verb("ideas", "/script ideas The Last Ferry", _SCRIPT, PRIVATE),
    _verb("drop", "/script drop 3", Argument("idea", "verbs.arg_idea"), _OF_SCRIPT),
    _verb("list", "/script list", personal=True),
    _verb("scenes", "/script scenes The Last Ferry", _SCRIPT, PRIVATE),
    _verb("scene", "/script scene 12", Argument("scene", "verbs.arg_scene"), _OF_SCRIPT, PRIVATE),
    _verb(
        "report",
        "/script report The Last Ferry",
        _SCRIPT,
        Option("character", "verbs.option_character"),
        PRIVATE,
    ),
    _verb("analysis", "/script analysis The Last Ferry", _SCRIPT, PRIVATE),
    Verb("script", "analysed", "verbs.script_analysis", "/script analysed", inner=True),
    _verb("export", "/script export The Last Ferry --as fountain", _SCRIPT, _FORMAT, PRIVATE),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.library.config import LibraryConfig
    from bot.works.script.analysis import BackgroundAnalysis
    from bot.works.script.answer import ScriptQuestions
    from bot.works.script.catalogue import Catalogue
    from bot.works.script.ideas import Ideas
    from bot.works.script.intake import ScriptIntake
    from bot.works.script.likeness import Likeness
    from bot.works.script.work import Scripts

    catalogue = Catalogue(resources.scripts)
    section = resources.config.section(ScriptConfig)
    likeness = Likeness(resources.scripts, resources.embedding)
    background = BackgroundAnalysis(
        catalogue,
        resources.models,
        resources.prompts,
        resources.settings.roles,
        section,
        likeness,
        embeds=resources.embedding.configured,
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
    return Scripts(catalogue, intake, background, ideas, questions.run)


async def _titles(resources: Resources, typed: Typed) -> list[str]:
    """Titles that begin so, then those with a word that does; of what the person may read wherever they are."""
    from bot.retrieval.lexical import fold
    from storage.scripts import Reader

    rows = await resources.scripts.all(Reader(typed.space, typed.author))
    prefix = fold(typed.prefix).strip()
    begin = [row.title for row in rows if fold(row.title).startswith(prefix)]
    within = [row.title for row in rows if prefix and f" {prefix}" in fold(row.title)]
    return list(dict.fromkeys([*begin, *within]))[:COMPLETIONS]


KIND = Kind("script", VERBS, make, completes={"script": _titles}, sections={"script": ScriptConfig})
