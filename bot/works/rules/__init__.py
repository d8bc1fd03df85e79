"""Questions about the rulebooks, sections by name, house rules and dice."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.events import UserError
from bot.kind import Kind, Runs, of_channel, one_line
from bot.verb import DEFAULT_SHELF, LAST, PRIVATE, SHELF, Argument, Option, Verb

if TYPE_CHECKING:
    from bot.events import Request
    from bot.resources import Resources
    from bot.work import Work

STRATEGIES = ("single", "multi-question", "multi-hop")
"""The search strategies, as in `[retrieval] strategy`."""


_verb = partial(Verb, "rules")

VERBS: tuple[Verb, ...] = (
    _verb(
        "ask",
        "Can a grappled creature cast spells? --shelf rules",
        Argument("question", "verbs.arg_question", most=4_000),
        (
            SHELF,
            Option("k", "verbs.option_k", "number"),
            Option("strategy", "verbs.option_strategy", choices=STRATEGIES),
            Option("file", "verbs.option_ask_file", completes="path"),
            LAST,
            PRIVATE,
        ),
        ordered=True,
        plain=True,
        asks=True,
    ),
    _verb(
        "lookup",
        "Grappled",
        Argument("name", "verbs.arg_name", completes="section"),
        (SHELF, PRIVATE),
        outside="where they may ask",
    ),
    _verb(
        "roll",
        "2d20kh1+5",
        Argument("expression", "verbs.arg_expression", most=200, terse=True),
        (PRIVATE,),
        outside="where they may ask",
    ),
    _verb("books", options=(SHELF, PRIVATE)),
    _verb(
        "house",
        '"Flanking gives +2 instead of advantage."',
        Argument("rule", "verbs.arg_rule", required=False, most=4_000, kept=True),
        (
            Option("change", "verbs.option_change_rule", "number", most=9_999),
            Option("remove", "verbs.option_remove_rule", "number", most=9_999),
            Option("file", "verbs.option_house_file", completes="path"),
            Option("pins", "verbs.option_pins", "flag"),
        ),
        sets=True,
    ),
    # If two people press at once, the second finds everything done.
    _verb("adopt", "all", Argument("which", "verbs.arg_rule"), admin=True, inner=True, ordered=True),
    _verb(
        "see",
        "1",
        Argument("ref", "verbs.arg_ref", completes="section"),
        (SHELF, PRIVATE),
        outside="where they may ask",
    ),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.commands import KINDS
    from bot.works.library import LibraryConfig
    from bot.works.library.no_books import why_no_books
    from bot.works.rules.house_imports import HouseImports
    from bot.works.rules.house_rules import HouseRules, HouseRulesVerb
    from bot.works.rules.question_files import QuestionFiles
    from bot.works.rules.snapshot import Snapshots
    from bot.works.rules.work import Asking, Rules

    why_none = partial(why_no_books, resources)
    house = HouseRules(resources.settings, resources.intake)
    snapshots = Snapshots(
        resources.library,
        resources.models,
        resources.prompts,
        resources.conversations,
        resources.settings,
        resources.config.retrieval,
        why_none,
        [partial(kind.in_view, resources) for kind in KINDS.values() if kind.in_view is not None],
    )
    max_bytes = resources.config.section(LibraryConfig).max_bytes
    files = QuestionFiles(resources.incoming, resources.intake, max_bytes)
    asking = Asking(files, resources.library, resources.models, resources.conversations, snapshots, house)
    imports = HouseImports(house, resources.incoming, resources.records.offers, resources.platforms)
    verb = HouseRulesVerb(house, imports.preview)
    return Rules(asking, resources.library, resources.records.sessions, why_none, verb, imports)


async def _checks(resources: Resources, request: Request) -> None:
    from bot.works.rules.work import roll

    if request.verb == "roll":
        roll(request.text)


async def _knows(resources: Resources, request: Request) -> bool:
    """Whether the shelf or a house rule can answer the question."""
    from bot.words import words
    from bot.works.rules.house_rules import HouseRules

    space, question = request.place.space, request.text
    try:
        shelf = await resources.library.shelf_for(
            space, str(request.options.get(SHELF.name) or "") or None, DEFAULT_SHELF
        )
    except UserError:  # no book, or no matching one
        shelf = ""
    if shelf and (await resources.library.search(space, shelf, question)).confident:
        return True
    house, say = HouseRules(resources.settings, resources.intake), words(request.locale)
    if not (rules := await house.all(space)):
        return False
    title, heading = say("rules.house"), say("rules.house_heading")
    searched = await house.combined_search(space, rules, title, heading, resources.library, None)
    return (await searched.search(space, "", question)).confident


KIND = Kind(
    "rules",
    VERBS,
    make,
    settings=(of_channel(SHELF.name, one_line),),
    suggests=("slack_home.prompt_ask",),
    checks=_checks,
    knows=_knows,
)
