"""`prompts list|show|edit|reset`: a space reads the prompts of its models, and replaces them by its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from bot.events import Event, Request, Stage, Text, UserError
from bot.prompts import PROMPT_CHARS, as_yaml
from bot.words import words
from bot.work import Run

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.prompts import Prompts


KINDS = (".yml", ".yaml", ".txt", ".md")
"""The types of files that may contain a prompt."""

MAX_BYTES = 1_000_000
"""More than any prompt needs; one below this size may still have too many characters."""


class PromptsWork:
    """Everybody may read prompts; the app allows only admins to change what the whole space shares."""

    def __init__(
        self, prompts: Prompts, incoming: Incoming, zone: Callable[[Request], Awaitable[tzinfo]]
    ) -> None:
        self._prompts = prompts
        self._incoming = incoming
        self._zone = zone

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {"list": self._list, "show": self._show, "edit": self._edit, "reset": self._reset}
        return verbs[run.request.verb](run)

    async def _list(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)

        async def table() -> str:
            zone = await self._zone(run.request)
            lines = [say("prompts.header"), "|---|---|---|"]
            for wording in await self._prompts.all(run.request.place.space):
                state = "stale" if wording.stale else "own" if wording.own else "bundled"
                since = f"{wording.own.updated_at.astimezone(zone):%Y-%m-%d}" if wording.own else ""
                lines.append(f"| {wording.text.name} | {say(f'prompts.{state}')} | {since} |")
            return "\n".join(lines)

        yield Stage("prompts", say("prompts.list"))
        yield Text(await run.step("list", table, str))

    async def _show(self, run: Run) -> AsyncGenerator[Event, None]:
        say, name = words(run.request.locale), run.request.text.strip()

        async def shown() -> tuple[str, bool]:
            wording = await self._prompts.wording(run.request.place.space, name)
            return as_yaml(wording.text), wording.stale

        text, stale = await run.step("show", shown, tuple[str, bool])
        yield Stage("prompt", name)
        yield Text(f"{_fenced(text)}\n\n{say('prompts.how', name=name)}")
        if stale:
            yield Text("\n\n" + say("prompts.is_stale", name=name))

    async def _edit(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        name, _, typed = request.text.strip().partition(" ")

        brought, refused = await self._incoming.bring(run, KINDS, MAX_BYTES)
        if refused:
            raise refused[0].error

        async def edited() -> str:
            if brought:
                text = _decoded(await self._incoming.read(brought[0].path, MAX_BYTES), brought[0].name)
            else:
                text = await asyncio.to_thread(_new_text, request, typed)
            edited = await self._prompts.edit(request.place.space, name, text, request.author.id)
            return as_yaml(edited)

        text = await run.step("edit", edited, str)
        yield Stage("prompt", name)
        yield Text(f"{say('prompts.saved', name=name)}\n\n{_fenced(text)}")

    async def _reset(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say, name = run.request, words(run.request.locale), run.request.text.strip()
        space, author = request.place.space, request.author.id
        removed = await run.step("reset", lambda: self._prompts.reset(space, name, author), bool)
        yield Stage("prompt", name)
        yield Text(say("prompts.reset" if removed else "prompts.was_bundled", name=name))


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError("prompts.file", file=name, reason="UTF-8") from error


def _new_text(request: Request, typed: str) -> str:
    """The new text: typed or, in the terminal, read from a named file."""
    # On other platforms a path would be one of the server's, which does not belong to the person who types.
    if isinstance(named := request.options.get("file"), str) and request.place.platform == "terminal":
        try:
            with Path(named).open("rb") as file:
                data = file.read(4 * PROMPT_CHARS + 1)
        except FileNotFoundError:
            raise UserError("library.file_missing", name=Path(named).name) from None
        except OSError as error:
            raise UserError("prompts.file", file=Path(named).name, reason=error.strerror) from error
        return _decoded(data, Path(named).name)
    # A line of the terminal has no other way to begin a new line.
    text = typed.replace("\\n", "\n").strip()
    if not text:
        raise UserError("prompts.nothing_given")
    return text


def _fenced(text: str) -> str:
    """A code block that no fence in the text can close."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}yaml\n{text}{ticks}"
