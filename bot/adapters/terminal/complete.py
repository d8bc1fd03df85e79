"""Completions for the Tab key: verbs, options, names from the library, files.

Uses the table of verbs and asks the app for names; draws nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from itertools import pairwise
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from bot.command_line import Token, tokens, verbs_named
from bot.commands import TABLE
from bot.verb import Verb
from bot.words import Words

Names = Callable[[str, str, str | None], Awaitable[list[str]]]
"""Maps (kind, prefix, shelf) to names, as App.complete does."""


class LineCompleter(Completer):
    def __init__(self, names: Names, say: Callable[[], Words]) -> None:
        """`say` gives the words in the present language."""
        self._names = names
        self._say = say

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        return ()  # the prompt uses the asynchronous method

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        line = document.text_before_cursor
        if not line.startswith("/"):
            return
        verb = verb_of(line)
        if verb is None:
            for completion in self._verbs(line):
                yield completion
            return
        for completion in await self._after(verb, line):
            yield completion

    def _verbs(self, line: str) -> Iterable[Completion]:
        typed = line[1:].lower()
        for verb in TABLE:
            if verb.path.startswith(typed) or (typed and verb.name.startswith(typed)):
                yield Completion(
                    verb.path, -len(typed), display=f"/{verb.path}", display_meta=self._say()(verb.summary)
                )

    async def _after(self, verb: Verb, line: str) -> list[Completion]:
        """Options after dashes; otherwise values for the option before the cursor, or for the argument."""
        words = tokens(line)
        word = words[-1].value if not line[-1].isspace() else ""
        typed = line[words[-1].start :] if word else ""
        before = words[:-1] if word else words
        named = {token.value for token in words}
        if word.startswith("--"):
            return [
                Completion(f"--{offered.name}", -len(word), display_meta=self._say()(offered.summary))
                for offered in verb.options
                if f"--{offered.name}".startswith(word)
                and (f"--{offered.name}" == word or f"--{offered.name}" not in named)
            ]
        last = before[-1].value if before else ""
        option = verb.option(last[2:]) if last.startswith("--") else None
        if option is not None and option.kind != "flag":
            if option.completes == "path":
                return [Completion(path, -len(typed)) for path in await asyncio.to_thread(paths, word)]
            if option.choices:
                names = [choice for choice in option.choices if choice.startswith(word)]
            else:
                names = await self._find(option.completes, word, None)
            return [Completion(quoted(name), -len(typed)) for name in names]
        if verb.argument is None:
            return []
        if verb.argument.choices:
            text = argument(verb, line, words)
            return [
                Completion(choice, -len(text)) for choice in verb.argument.choices if choice.startswith(text)
            ]
        if verb.argument.completes == "path":
            return [Completion(path, -len(typed)) for path in await asyncio.to_thread(paths, word)]
        if verb.argument.completes == "command":
            text = line.split(None, 1)[1] if len(words) > 1 else ""
            return [
                Completion(row.path, -len(text), display_meta=self._say()(row.summary))
                for row in TABLE
                if row.path.startswith(text.lower())
            ]
        text = argument(verb, line, words)
        return [
            Completion(name, -len(text))
            for name in await self._find(verb.argument.completes, text, _shelf(words))
        ]

    async def _find(self, kind: str, prefix: str, shelf: str | None) -> list[str]:
        if not kind or (kind == "section" and not prefix):
            return []
        return await self._names(kind, prefix, shelf)


def verb_of(line: str) -> Verb | None:
    """The verb that the line already names, followed by a space."""
    for verb in TABLE:
        if re.match(r"/" + verb.path.replace(" ", r"\s+") + r"\s", line, re.IGNORECASE):
            return verb
    command = re.match(r"/(\S+)\s", line)
    verbs = verbs_named(command[1].lower()) if command else []
    return verbs[0] if len(verbs) == 1 else None


def argument(verb: Verb, line: str, words: list[Token]) -> str:
    """The text typed so far for a verb whose argument is the rest of the line, without options."""
    start = (
        words[len(verb.path.split()) - 1].end
        if line[1:].lower().startswith(verb.path.split()[0])
        else words[0].end
    )
    at = len(line)
    for before, word in pairwise(words):
        option = verb.option(before.value[2:]) if before.value.startswith("--") else None
        if option is not None:
            start = max(start, before.end if option.kind == "flag" else word.end)
    return line[start:at].lstrip()


def paths(prefix: str) -> list[str]:
    """Files and folders that begin with `prefix`, with spaces escaped; hidden ones only if it begins with a dot."""
    folder, name = os.path.split(prefix)
    completions = []
    try:
        with os.scandir(Path(folder or ".").expanduser()) as entries:
            for entry in entries:
                if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith(".")):
                    path = str(Path(folder) / entry.name) if folder else entry.name
                    completions.append(escaped(path) + ("/" if entry.is_dir() else ""))
    except OSError:  # no such folder, or no permission to read it
        return []
    return sorted(completions)[:200]


def escaped(path: str) -> str:
    return re.sub(r"([\s\"'])", r"\\\1", path)


def quoted(name: str) -> str:
    return f'"{name}"' if re.search(r"\s", name) else name


def _shelf(words: list[Token]) -> str | None:
    for before, word in pairwise(words):
        if before.value == "--shelf":
            return word.value
        if word.value.startswith("--shelf="):
            return word.value[8:]
    return None
