"""`prompts list|show|edit|reset`: a space looks at what its models are told, and words it its own way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from bot.events import Event, Request, Run, Sorry, Stage, Text
from bot.prompts import LONGEST, as_yaml
from bot.words import words

if TYPE_CHECKING:
    from bot.prompts import Prompts


class PromptsWork:
    """Reading is for everybody; changing what the whole space shares, for its admins."""

    def __init__(self, prompts: Prompts) -> None:
        self._prompts = prompts

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {"list": self._list, "show": self._show, "edit": self._edit, "reset": self._reset}
        async with aclosing(verbs[run.request.verb](run)) as events:
            async for event in events:
                yield event

    async def _list(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)

        async def table() -> str:
            lines = [say("prompts.header"), "|---|---|---|"]
            for one in await self._prompts.all(run.request.place.space):
                state = "stale" if one.stale else "own" if one.own else "bundled"
                since = f"{one.own.updated_at:%Y-%m-%d}" if one.own else ""
                lines.append(f"| {one.text.name} | {say(f'prompts.{state}')} | {since} |")
            return "\n".join(lines)

        yield Stage("prompts", say("prompts.list"))
        yield Text(await run.step("list", table, str))

    async def _show(self, run: Run) -> AsyncGenerator[Event, None]:
        say, name = words(run.request.locale), run.request.text.strip()

        async def shown() -> tuple[str, bool]:
            one = await self._prompts.wording(run.request.place.space, name)
            return as_yaml(one.text), one.stale

        text, stale = await run.step("show", shown, tuple[str, bool])
        yield Stage("prompt", name)
        yield Text(f"{_fenced(text)}\n\n{say('prompts.how', name=name)}")
        if stale:
            yield Text("\n\n" + say("prompts.is_stale", name=name))

    async def _edit(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        _only_admins(request)
        name, _, typed = request.text.strip().partition(" ")

        async def edited() -> str:
            given = await asyncio.to_thread(_given, request, typed)
            made = await self._prompts.edit(request.place.space, name, given, request.author.id)
            return as_yaml(made)

        text = await run.step("edit", edited, str)
        yield Stage("prompt", name)
        yield Text(f"{say('prompts.saved', name=name)}\n\n{_fenced(text)}")

    async def _reset(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say, name = run.request, words(run.request.locale), run.request.text.strip()
        _only_admins(request)
        was = await run.step("reset", lambda: self._prompts.reset(request.place.space, name), bool)
        yield Stage("prompt", name)
        yield Text(say("prompts.reset" if was else "prompts.was_bundled", name=name))


def _only_admins(request: Request) -> None:
    if not request.author.admin:
        raise Sorry("prompts.admins")


def _given(request: Request, typed: str) -> str:
    """The new wording: what was typed, a file that came along, or, in the terminal, a file by its path."""
    paths = [one.path for one in request.files]
    # Anywhere else a path would be one of the server's, and whoever types it is not its owner.
    if isinstance(named := request.options.get("file"), str) and request.place.platform == "terminal":
        paths.append(named)
    if paths:
        try:
            with Path(paths[0]).open("rb") as file:
                data = file.read(4 * LONGEST + 1)
            return data.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "UTF-8"
            raise Sorry("prompts.file", file=Path(paths[0]).name, reason=reason) from error
    # A line of a terminal has no other way to say that a new one begins.
    given = typed.replace("\\n", "\n").strip()
    if not given:
        raise Sorry("prompts.nothing_given")
    return given


def _fenced(text: str) -> str:
    """As a block of code that a fence inside the text cannot close."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}yaml\n{text}{ticks}"
