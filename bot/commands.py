"""THE table of verbs: the one place that says what can be asked for, and how a line becomes a request.

Knows no platform and runs nothing. It drives the terminal's parser and completion, /help, the command
line and docs/commands.md (`python -m bot.commands > docs/commands.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot.events import Sorry
from bot.words import Words, words

HOUSE = "house"
"""The work of the verbs that steer the conversation itself; they are typed without a work's name."""
FOLLOW_UP = "follow_up"
"""The option that marks plain text: it may lean on what was said before, as a typed verb does not."""
STRATEGIES = ("single", "multi-question", "multi-hop")
"""The ways to search, as in `[retrieval] strategy`."""
MAX_LINE = 8_000
"""Characters of one typed line: more than any question needs, less than any model's window."""

Completes = Literal["", "section", "book", "shelf", "path", "command", "prompt", "session"]


@dataclass(frozen=True, slots=True)
class Option:
    """One `--name`, or a positional argument, of a verb.

    `completes` says what App.complete (or the file system, for "path") offers for the value.
    """

    name: str
    summary: str
    kind: Literal["text", "number", "flag"] = "text"
    required: bool = False
    choices: tuple[str, ...] = ()
    completes: Completes = ""


@dataclass(frozen=True, slots=True)
class Argument:
    """What follows the verb: one text up to the end of the line, or a list of words (`many`).

    The text becomes Request.text; a list becomes the option `name`.
    """

    name: str
    summary: str
    required: bool = True
    many: bool = False
    completes: Completes = ""


@dataclass(frozen=True, slots=True)
class Verb:
    """One row of the table. `plain` verbs take the plain text of a session of their work.

    `ordered` runs of a place go one after another; `background` ones leave the prompt usable; `admin`
    ones change what the whole space shares, and are for its admins.
    """

    work: str
    name: str
    summary: str
    example: str
    ordered: bool = False
    plain: bool = False
    background: bool = False
    admin: bool = False
    argument: Argument | None = None
    options: tuple[Option, ...] = ()

    @property
    def path(self) -> str:
        """What is typed after the slash: "rules ask", "help"."""
        return self.name if self.work == HOUSE else f"{self.work} {self.name}"

    def option(self, name: str) -> Option | None:
        return next((option for option in self.options if option.name == name), None)


_SHELF = Option("shelf", "verbs.option_shelf", completes="shelf")
_PRIVATE = Option("private", "verbs.option_private", "flag")
_SHELF_NEEDED = Option("shelf", "verbs.option_shelf", completes="shelf", required=True)

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
    Verb("sessions", "list", "verbs.sessions_list", "/sessions list"),
    Verb(
        "sessions",
        "resume",
        "verbs.sessions_resume",
        "/sessions resume 4f6a1c",
        argument=Argument("session", "verbs.arg_session", completes="session"),
    ),
    Verb(
        "sessions",
        "rename",
        "verbs.sessions_rename",
        "/sessions rename The siege of the mill",
        argument=Argument("title", "verbs.arg_title"),
        options=(Option("session", "verbs.option_session", completes="session"),),
    ),
    Verb(
        "sessions",
        "archive",
        "verbs.sessions_archive",
        "/sessions archive 4f6a1c",
        argument=Argument("session", "verbs.arg_session", required=False, completes="session"),
    ),
    Verb(
        "sessions",
        "delete",
        "verbs.sessions_delete",
        "/sessions delete 4f6a1c",
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


def usage(verb: Verb) -> str:
    """One line such as `/library add PATHS… --shelf SHELF [--replace]`."""
    parts = [f"/{verb.path}"]
    if verb.argument:
        name = verb.argument.name.upper() + ("…" if verb.argument.many else "")
        parts.append(name if verb.argument.required else f"[{name}]")
    for option in verb.options:
        value = (
            "" if option.kind == "flag" else " " + ("N" if option.kind == "number" else option.name.upper())
        )
        shown = f"--{option.name}{value}"
        parts.append(shown if option.required else f"[{shown}]")
    return " ".join(parts)


def help_text(say: Words, topic: str = "") -> str:
    """Markdown for /help: everything, one work, or one verb. An unknown topic gets everything."""
    path = topic.strip().lstrip("/").lower()
    exact = [verb for verb in TABLE if path in (verb.path, verb.name)] if path else []
    if exact:
        return "\n\n".join(_verb_help(say, verb) for verb in exact)
    shown = [verb for verb in TABLE if verb.work == path] or list(TABLE)
    lines = [f"- `{usage(verb)}`  {say(verb.summary)}" for verb in shown]
    return "\n".join([*lines, "", say("verbs.plain_text")])


def _verb_help(say: Words, verb: Verb) -> str:
    lines = [f"`{usage(verb)}`", "", say(verb.summary), ""]
    if verb.argument:
        lines.append(f"- `{verb.argument.name.upper()}`  {say(verb.argument.summary)}")
    lines += [f"- `--{option.name}`  {say(option.summary)}" for option in verb.options]
    return "\n".join([*lines, f"- {say('verbs.example')} `{verb.example}`"])


def document() -> str:
    """docs/commands.md, from the table."""
    say = words("en")
    parts = [
        "# Commands",
        "",
        "Generated from `bot/commands.py` by `python -m bot.commands > docs/commands.md`: "
        "edit the table, not this page.",
        "",
        "In the terminal a command begins with `/`. Anything else is plain text and goes to the session's work:",
        f"a new session is one of `{DEFAULT_WORK}`, where plain text means `/{' '.join(plain_verb(DEFAULT_WORK))}`.",
        "A verb may be typed without its work where only one work has it (`/roll 4d6kh3`).",
        "*Ordered* verbs of one thread run strictly one after another; *free* ones start at once.",
    ]
    for work in (*WORKS, HOUSE):
        parts += ["", f"## {work}", ""]
        parts += ["| command | what it does | order |", "|---|---|---|"]
        shown = [verb for verb in TABLE if verb.work == work]
        parts += [
            f"| `{usage(verb)}` | {say(verb.summary)} | {'ordered' if verb.ordered else 'free'} |"
            for verb in shown
        ]
        for verb in shown:
            if verb.argument or verb.options:
                parts += ["", f"### /{verb.path}", "", _verb_help(say, verb).split("\n", 4)[-1]]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(document(), end="")
