"""THE table of verbs: the one place that says what can be asked for.

Knows no platform and runs nothing. It drives the terminal's parser and completion, /help, the command
line, every platform's commands and docs/commands.md (`bot.manual`).
"""

from __future__ import annotations

from bot.events import Sorry
from bot.verb import HOUSE, Argument, Option, Verb

FOLLOW_UP = "follow_up"
"""The option that marks plain text: it may lean on what was said before, as a typed verb does not."""
STRATEGIES = ("single", "multi-question", "multi-hop")
"""The ways to search, as in `[retrieval] strategy`."""
LEVELS = ("single", "mini", "full")
"""How many of a council are asked, as in `[council] level`: one, a few, all."""
DAYS = 366
"""How far back a sum may look, as `[budget] space_days` does."""
MAX_LINE = 8_000
"""Characters of one typed line: more than any question needs, less than any model's window."""

_SHELF = Option("shelf", "verbs.option_shelf", completes="shelf")
_PRIVATE = Option("private", "verbs.option_private", "flag")
_SHELF_NEEDED = Option("shelf", "verbs.option_shelf", completes="shelf", required=True)
_COUNCIL_RUN = Option("run", "verbs.option_run")

TABLE: tuple[Verb, ...] = (
    Verb(
        "rules",
        "ask",
        "verbs.rules_ask",
        "/rules ask Can a grappled creature cast spells? --shelf rules",
        ordered=True,
        plain=True,
        argument=Argument("question", "verbs.arg_question"),
        options=(
            _SHELF,
            Option("k", "verbs.option_k", "number"),
            Option("strategy", "verbs.option_strategy", choices=STRATEGIES),
            Option("file", "verbs.option_ask_file", completes="path"),
            _PRIVATE,
        ),
    ),
    Verb(
        "rules",
        "lookup",
        "verbs.rules_lookup",
        "/rules lookup Grappled",
        argument=Argument("name", "verbs.arg_name", completes="section"),
        options=(_SHELF, _PRIVATE),
    ),
    Verb(
        "rules",
        "roll",
        "verbs.rules_roll",
        "/rules roll 2d20kh1+5",
        argument=Argument("expression", "verbs.arg_expression"),
        options=(_PRIVATE,),
    ),
    Verb("rules", "books", "verbs.rules_books", "/rules books", options=(_SHELF, _PRIVATE)),
    Verb(
        "rules",
        "see",
        "verbs.rules_see",
        "/rules see 1",
        argument=Argument("ref", "verbs.arg_ref", completes="section"),
        options=(_SHELF, _PRIVATE),
    ),
    Verb(
        "council",
        "ask",
        "verbs.council_ask",
        "/council ask Which ending serves the story better? --level full",
        ordered=True,
        plain=True,
        argument=Argument("question", "verbs.arg_question"),
        options=(
            Option("level", "verbs.option_level", choices=LEVELS),
            Option("research", "verbs.option_research", completes="research"),
            Option("debate", "verbs.option_debate", "flag"),
            Option("follow", "verbs.option_follow", "flag"),
            Option("yes", "verbs.option_yes", "flag"),
            _PRIVATE,
        ),
    ),
    Verb(
        "council",
        "members",
        "verbs.council_members",
        '/council members openai:model-a effort=high, local:model-b persona="a sceptic"',
        argument=Argument("list", "verbs.arg_members", required=False),
    ),
    Verb(
        "council",
        "chair",
        "verbs.council_chair",
        "/council chair openai:model-a, local:model-b",
        argument=Argument("models", "verbs.arg_chair", required=False),
    ),
    Verb(
        "council",
        "criteria",
        "verbs.council_criteria",
        "/council criteria Is it true, and does it say what it rests on?",
        argument=Argument("text", "verbs.arg_criteria", required=False),
    ),
    Verb(
        "council",
        "show",
        "verbs.council_show",
        "/council show ballots 2",
        argument=Argument("what", "verbs.arg_what", completes="council"),
        options=(_COUNCIL_RUN, _PRIVATE),
    ),
    Verb(
        "council",
        "export",
        "verbs.council_export",
        "/council export",
        options=(_COUNCIL_RUN, _PRIVATE),
    ),
    Verb("council", "stats", "verbs.council_stats", "/council stats", options=(_PRIVATE,)),
    Verb(
        "library",
        "add",
        "verbs.library_add",
        "/library add handbook.md notes/ --shelf rules",
        background=True,
        admin=True,
        argument=Argument("paths", "verbs.arg_paths", many=True, completes="path"),
        options=(_SHELF_NEEDED, Option("replace", "verbs.option_replace", "flag")),
    ),
    Verb("library", "list", "verbs.library_list", "/library list --shelf rules", options=(_SHELF,)),
    Verb(
        "library",
        "remove",
        "verbs.library_remove",
        "/library remove handbook.md --shelf rules",
        admin=True,
        argument=Argument("name", "verbs.arg_book", completes="book"),
        options=(_SHELF_NEEDED,),
    ),
    Verb(
        "library",
        "reindex",
        "verbs.library_reindex",
        "/library reindex --shelf rules",
        background=True,
        admin=True,
        options=(_SHELF,),
    ),
    Verb("library", "jobs", "verbs.library_jobs", "/library jobs"),
    Verb(
        "library",
        "cancel",
        "verbs.library_cancel",
        "/library cancel 4f6a1c",
        argument=Argument("job", "verbs.arg_job", required=False, completes="job"),
    ),
    Verb("prompts", "list", "verbs.prompts_list", "/prompts list"),
    Verb(
        "prompts",
        "show",
        "verbs.prompts_show",
        "/prompts show rag",
        argument=Argument("name", "verbs.arg_prompt", completes="prompt"),
    ),
    Verb(
        "prompts",
        "edit",
        "verbs.prompts_edit",
        "/prompts edit rag --file my-rag.yml",
        admin=True,
        argument=Argument("name text", "verbs.arg_prompt_text", completes="prompt"),
        options=(Option("file", "verbs.option_prompt_file", completes="path"),),
    ),
    Verb(
        "prompts",
        "reset",
        "verbs.prompts_reset",
        "/prompts reset rag",
        admin=True,
        argument=Argument("name", "verbs.arg_prompt", completes="prompt"),
    ),
    Verb("sessions", "list", "verbs.sessions_list", "/sessions list", personal=True),
    Verb(
        "sessions",
        "resume",
        "verbs.sessions_resume",
        "/sessions resume 4f6a1c",
        personal=True,
        argument=Argument("session", "verbs.arg_session", completes="session"),
    ),
    Verb(
        "sessions",
        "rename",
        "verbs.sessions_rename",
        "/sessions rename The siege of the mill",
        personal=True,
        argument=Argument("title", "verbs.arg_title"),
        options=(Option("session", "verbs.option_session", completes="session"),),
    ),
    Verb(
        "sessions",
        "archive",
        "verbs.sessions_archive",
        "/sessions archive 4f6a1c",
        personal=True,
        argument=Argument("session", "verbs.arg_session", required=False, completes="session"),
    ),
    Verb(
        "sessions",
        "delete",
        "verbs.sessions_delete",
        "/sessions delete 4f6a1c",
        personal=True,
        argument=Argument("session", "verbs.arg_session", completes="session"),
    ),
    Verb(
        HOUSE,
        "help",
        "verbs.help",
        "/help rules ask",
        argument=Argument("topic", "verbs.arg_topic", required=False, completes="command"),
    ),
    Verb(HOUSE, "stop", "verbs.stop", "/stop"),
    Verb(HOUSE, "new", "verbs.new", "/new"),
    Verb(
        HOUSE,
        "usage",
        "verbs.usage",
        "/usage --days 7",
        personal=True,
        options=(Option("days", "verbs.option_days", "number", most=DAYS),),
    ),
)

WORKS: tuple[str, ...] = tuple(dict.fromkeys(verb.work for verb in TABLE if verb.work != HOUSE))
DEFAULT_WORK = "rules"
"""The work of a session that nobody chose."""


def find(work: str, name: str) -> Verb | None:
    """The row of a work's verb, or None."""
    return next((verb for verb in TABLE if verb.work == work and verb.name == name), None)


def verb(work: str, name: str) -> Verb:
    """The row of a work's verb. Raises Sorry ("commands.unknown_verb…") where there is none."""
    found = find(work, name)
    if found is None:
        raise Sorry("commands.unknown_verb_only", name=f"{work} {name}")
    return found


def plain_verb(work: str) -> tuple[str, str]:
    """The work and verb that plain text means in a session of `work`."""
    return next((row.work, row.name) for row in TABLE if row.work == work and row.plain)
