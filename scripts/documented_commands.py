"""Checks that every command shown in README.md, CONTRIBUTING.md and docs/ exists.

.venv/bin/python -m scripts.documented_commands  # prints the wrong commands; exits with 1 if there are any
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from bot import cli
from bot.command_line import parse, verbs_named
from bot.commands import ROWS, WORKS
from bot.events import UserError
from bot.words import words

ROOT: Final = Path(__file__).parent.parent
MADE: Final = ("commands.md", "transcript.md", "story-transcript.md")
"""Pages that scripts generate from the program itself."""
_COMMAND: Final = re.compile(
    r"/[a-z-]+(?: (?!.*\w: )|$)|make [a-z]|(?:\.venv/bin/)?python -m |sutradhar(?: |$)|\.ci/|printf "
)
"""Matches the beginning of a command, but not a URL's path, and not a slash command as Discord shows it, with names
before values.
"""
_SAMPLE: Final = {"N": "1", "ID": "1", "HH:MM": "10:00"}
"""The replacement for the placeholders of options that accept any words."""
_OTHER_SLASH: Final = {"/setup", "/free-chat", "/sutradhar", "/invite", "/regras", "/oracle"}
"""Commands that are in no row of the table of verbs: a platform's own, ours, a translated one, and a tutorial's."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A command as a page shows it, without the comment after it."""

    file: str
    line: int
    text: str


def commands(pages: Iterator[Path] | None = None) -> list[Shown]:
    """Every command in a block of code, or in a code span."""
    shown = []
    for path in pages or documents():
        fenced = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
                continue
            texts = [line.strip()] if fenced else re.findall(r"`([^`]+)`", line)
            for text in texts:
                if _COMMAND.match(text):
                    command = re.split(r"\s{2,}#|\s#\s", text)[0].strip()
                    shown.append(Shown(str(path.relative_to(ROOT)), number, command))
    return shown


def documents() -> Iterator[Path]:
    yield from (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    yield from (path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in MADE)


def fault(command: str) -> str | None:
    """Why a command cannot be run as written; None if it can."""
    if command.startswith("/"):
        return _fault_of_line(command)
    program, *arguments = shlex.split(command.rpartition("| ")[2])
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return None if arguments[0] in targets else f"the Makefile has no target {arguments[0]}"
    if program.startswith(".ci/"):
        return None if (ROOT / program).is_file() else f"there is no {program}"
    if program == "sutradhar":
        return _fault_of_arguments(arguments)
    if arguments[:2] == ["-m", "bot"]:
        return _fault_of_arguments(arguments[2:])
    if arguments[:2] == ["-m", "pytest"]:
        path, _, name = arguments[2].partition("::")
        file = ROOT / path
        return (
            None if file.is_file() and f"def {name}(" in file.read_text() else f"there is no {arguments[2]}"
        )
    try:
        exists = importlib.util.find_spec(arguments[1]) is not None
    except ModuleNotFoundError:
        exists = False
    return None if exists else f"there is no module {arguments[1]}"


def _fault_of_line(line: str) -> str | None:
    """Check a line with the table of verbs; placeholders count as words, and a verb, work or group may be named
    alone.
    """
    words_of_line = [_SAMPLE.get(word, word) for word in line.replace("[", " ").replace("]", " ").split()]
    first, *rest = words_of_line
    groups = {f"/{row.group or row.work}" for row in ROWS.values()}
    names_only = (
        (first in groups and rest in ([], ["…"])) or (first[1:], *rest) in ROWS or verbs_named(line[1:])
    )
    if names_only or first in _OTHER_SLASH:
        return None
    if first in groups and first[1:] not in WORKS:  # Discord's name of a part of a work's verbs
        verbs = {row.name for row in ROWS.values() if f"/{row.group}" == first}
        return None if rest[0] in verbs else f"{first} has no {rest[0]}"
    try:
        parse(" ".join(words_of_line))
    except UserError as error:
        return words("en")(error.key, **error.values)
    return None


def _fault_of_arguments(arguments: list[str]) -> str | None:
    """Check arguments with the command line's parser; "…" counts as any verb."""
    samples = (word.strip("[]").replace("…", "list").replace("COMMAND", "doctor") for word in arguments)
    arguments = [sample for sample in samples if sample]
    complaint = StringIO()
    try:
        with redirect_stderr(complaint):
            cli.parser(words("en"), arguments).parse_args(arguments)
    except SystemExit as end:
        return complaint.getvalue().strip().splitlines()[-1] if end.code else None
    return None


def main() -> int:
    wrong = [(shown, reason) for shown in commands() if (reason := fault(shown.text))]
    for shown, reason in wrong:
        print(f"{shown.file}:{shown.line}: {shown.text}: {reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
