"""The terminal with a person at it: a prompt that stays usable while answers and jobs run above it.

Independent of works. The open paragraph of an answer grows in the prompt's own message; when it is complete, it moves
up into the scrollback, wrapped and styled.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle, print_formatted_text
from prompt_toolkit.styles import Style

from bot import bundle
from bot.adapters.markdown import clean
from bot.adapters.terminal.complete import LineCompleter
from bot.adapters.terminal.conversation import (
    Application,
    Conversation,
    Line,
    LocalVerb,
    new_id,
    new_thread,
    only_adults,
)
from bot.adapters.terminal.markdown import BOLD, CYAN, DIM, RED, YELLOW, Ink, MarkdownStream
from bot.adapters.terminal.player import Player
from bot.adapters.terminal.view import Claims, Stages, TerminalView, save
from bot.command_line import escaped, lines_of
from bot.commands import MAX_LINE, ROWS
from bot.config import DEMO
from bot.events import Request, UserError
from bot.kind import Typed
from bot.platforms import Platform
from bot.runs.requests import WATCH
from bot.view import View
from bot.words import Words, words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.speech.clips import Clip

TRIES = (
    ("terminal.try_rules", "terminal.lines_rules"),
    ("terminal.try_script", "terminal.lines_script"),
    ("terminal.try_story", "terminal.lines_story"),
)
"""The initial actions of the keys 1, 2 and 3, and the lines that they run, as keys of the catalogue."""
_SPIN = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_WIDEST = 100
"""The most columns used; longer lines are hard to read, however wide the window."""
_REFUSED = 200
"""How many characters of a line that is too long are printed: all of a pasted book would fill the screen."""
_log = logging.getLogger(__name__)

_STYLE = Style.from_dict(
    {"bottom-toolbar": "noreverse fg:ansibrightblack", "completion-menu": "bg:ansiblack fg:ansiwhite"}
)


class Prompt:
    """One person's session at the prompt; it is the Screen of every view."""

    def __init__(
        self, conversation: Conversation, data: Path, welcome: Sequence[str], *, colour: bool
    ) -> None:
        self.conversation = conversation
        self.ink = Ink(colour, min(shutil.get_terminal_size().columns, _WIDEST))
        self._data = data
        self._welcome = welcome
        self._app: Application | None = None
        self._ready = asyncio.Event()
        self._broken = False
        self._tails: dict[str, str] = {}
        self._statuses: dict[str, str] = {}
        self._jobs: set[str] = set()
        self._waiting: list[list[str]] = []
        self._answers: dict[str, str] = {}
        self._tasks: set[asyncio.Future[None]] = set()
        self._tries: dict[str, str] = {}
        self._ticks = 0
        self._player = Player()
        self._session: PromptSession[str] = PromptSession(
            history=_history(data),
            completer=LineCompleter(self._names, lambda: self.say),
            complete_while_typing=True,
            complete_style=CompleteStyle.COLUMN,
            key_bindings=self._keys(),
            bottom_toolbar=self._toolbar,
            style=_STYLE,
            erase_when_done=True,
            reserve_space_for_menu=6,
        )
        self._session.app.ttimeoutlen = 0.05
        self._session.app.min_redraw_interval = 0.03

    @property
    def say(self) -> Words:
        return self.conversation.say

    # The Screen of the views.

    async def write(self, lines: Sequence[str]) -> None:
        text = "\n".join(lines)
        if self.ink.colour:
            await run_in_terminal(lambda: print_formatted_text(ANSI(text)))
        else:
            await run_in_terminal(lambda: print(text))

    def tail(self, run: str, text: str) -> None:
        if text:
            self._tails[run] = text
        else:
            self._tails.pop(run, None)
        self._session.app.invalidate()

    def status(self, run: str, text: str) -> None:
        if text:
            self._statuses[run] = text
        else:
            self._statuses.pop(run, None)
        self._session.app.invalidate()

    # The session.

    async def run(self, opening: Awaitable[Application]) -> int:
        """Show the prompt at once and open the app in the background. Returns 0, or 1 if the app does not open."""
        code = 0
        with patch_stdout(raw=True):
            ticking = asyncio.create_task(self._tick())
            starting = asyncio.create_task(self._start(opening))
            try:
                while True:
                    # The library's handler would ask for ENTER after every fault, within this prompt.
                    line = await self._session.prompt_async(
                        self._message, pre_run=self._greet, set_exception_handler=False
                    )
                    if self.conversation.leaves(line):
                        break
                    if lines := lines_of(_readable(line)):
                        self._tries.clear()
                        self._spawn(self._lines(lines))
            except (EOFError, KeyboardInterrupt):
                pass
            finally:
                code = int(self._broken)
                ticking.cancel()
                await self._leave(starting)
        return code

    async def _start(self, opening: Awaitable[Application]) -> None:
        try:
            app = await opening
            self._app = app
            clips = app.clips(self._clip, suffix="wav")
            for platform in ("terminal", WATCH):
                app.attach(
                    Platform(
                        platform,
                        self._view,
                        origin=lambda place: "",
                        new_thread=new_thread,
                        speak=clips.speak,
                        narrates=clips.narrates,
                        reader=clips,
                        adults=only_adults,
                    )
                )
            for request in await app.start():
                self._note(request)
                self._spawn(self._end(request.id, app, request))
            self._spawn(self._introduce(app))
        except UserError as error:
            self._broken = True
            await self._fail(self.conversation.sentence(error))
            if self._session.app.is_running:
                self._session.app.exit(exception=EOFError)
        finally:
            self._ready.set()
            self._session.app.invalidate()  # removes "opening the library…"

    async def _introduce(self, app: Application) -> None:
        """Say which model answers, and offer a model server that runs on this machine."""
        with suppress(StorageFault):
            model, embedding = await app.answering(self.conversation.place, self.conversation.author.id)
            named = self.say("terminal.demo") if model == DEMO else model or self.say("terminal.no_model")
            configured = self.say("terminal.configured", model=named, embedding=embedding)
            await self.write([self.ink(line, DIM) for line in self.ink.wrap(configured).split("\n")])
            server = await app.local_server("local")
            if server is not None:
                sentence = self.say(
                    "models_chat.offer", server=server.title, model=server.models[0], name=server.name
                )
                await self.write([self.ink(sentence, DIM)])
            place = self.conversation.place
            if await app.complete("shelf", Typed(place.space, "", None, self.conversation.author.id, place)):
                return
            if server is None:
                means = "terminal.means_none" if model == DEMO else "terminal.means_model"
                means = means if model else "terminal.means_pull"
                await self.write([self.ink(self.ink.wrap(self.say(means)), DIM)])
            await self._offer_examples()

    async def _offer_examples(self) -> None:
        """Offer three things to try, with one key each, until the first line is typed."""
        say, examples = self.say, escaped(str(bundle.ROOT / "examples"))
        self._tries = {str(n): say(lines, examples=examples) for n, (_, lines) in enumerate(TRIES, 1)}
        offered = [f"  {self.ink(str(n), BOLD, CYAN)}  {say(label)}" for n, (label, _) in enumerate(TRIES, 1)]
        await self.write([say("terminal.tries"), *offered, self.ink(say("terminal.try_tour"), DIM)])

    async def _leave(self, starting: asyncio.Task[None]) -> None:
        if self._answers or self._jobs:
            await self.write([self.ink(self.say("terminal.left_running"), DIM)])
        starting.cancel()
        self._player.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(starting, *self._tasks, return_exceptions=True)
        if self._app is not None:
            await self._app.close()

    def _greet(self) -> None:
        if self._welcome:
            welcome, self._welcome = "\n".join(self._welcome), ()
            print(welcome)

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _log.error("a line could not be run", exc_info=fault)
            self._spawn(self._fail(self.say("app.failed", run="-")))

    async def _fail(self, sentence: str) -> None:
        await self.write([self.ink(self.ink.wrap(sentence, "✗ ", "  "), RED)])

    async def _lines(self, lines: list[str]) -> None:
        """Run one or more pasted lines one by one. Stopping the active one skips the rest."""
        self._waiting.append(lines)
        while lines:
            await self._line(lines.pop(0))
        self._waiting = [waiting for waiting in self._waiting if waiting is not lines]

    async def _line(self, line: str) -> None:
        run = new_id()
        read: Line | str | UserError
        try:
            read = self.conversation.read(line)  # first, so that lines are read in order
        except UserError as error:
            read = error
        echoed = line if len(line) <= MAX_LINE else f"{line[:_REFUSED]}…"
        await self.write([self.ink("› ", BOLD, CYAN) + self.ink(clean(echoed), BOLD)])
        try:
            if isinstance(read, UserError):
                raise read
            if isinstance(read, str):
                await self.write([self.ink(self.ink.wrap(clean(read)), BOLD)])
                return
            parsed = read.parsed
            if parsed.verb is not None and parsed.verb.name == "help":
                stream = MarkdownStream(self.ink)
                await self.write([*stream.feed(self.conversation.help(parsed.text)), *stream.end()])
                return
            if not self._ready.is_set():
                self.status(run, self.say("terminal.opening"))
                await self._ready.wait()
                self.status(run, "")
            if self._app is not None and not self._broken:
                await self._ask(run, read, self._app)
        except UserError as error:
            await self._fail(self.conversation.sentence(error))

    async def _ask(self, run: str, line: Line, app: Application) -> None:
        request = await self.conversation.request(run, line, app)
        if isinstance(request, LocalVerb):
            stopped = await self._stop_all(app)
            await self.write([self.ink(self.conversation.stopped(stopped), DIM)])
            return
        self._note(request)
        try:
            ticket = await app.perform(request)
        except UserError:
            self._forget(run)
            raise
        await ticket.wait()
        await self.conversation.follow_language(app)
        self._forget(run)

    async def _end(self, run: str, app: Application, request: Request) -> None:
        await (await app.perform(request)).wait()
        self._forget(run)

    def _note(self, request: Request) -> None:
        if ROWS[request.work, request.verb].background:
            self._jobs.add(request.id)
        else:
            self._answers[request.id] = request.verb

    def _forget(self, run: str) -> None:
        self._jobs.discard(run)
        self._answers.pop(run, None)
        self._tails.pop(run, None)
        self._statuses.pop(run, None)
        self._session.app.invalidate()

    async def _clip(self, request: Request, clip: Clip, key: str) -> None:
        """Print the name of a narration's file, and play it while other runs continue."""
        file = self._data / "files" / clip.name
        if clip.data:
            await asyncio.to_thread(save, file, clip.data)
        lines = (f"{clip.label}: {file}" if clip.data else "", clip.note)
        await self.write([self.ink(clean(line), DIM) for line in lines if line])
        if clip.data:
            self._spawn(self._player.play(file))

    def _view(self, run: str, request: Request, outbox: Claims) -> View:
        self.ink = Ink(self.ink.colour, min(shutil.get_terminal_size().columns, _WIDEST))
        stages = Stages(outbox, request.place.space, run)
        row = ROWS[request.work, request.verb]
        # Only ordered runs stream, because two texts that grow at once could not be told apart.
        view = TerminalView(self, stages, words(request.locale), self._data / "files", hold=not row.ordered)
        return self.conversation.watched(view, request)

    async def _names(self, kind: str, prefix: str, shelf: str | None) -> list[str]:
        if self._app is None or not self._ready.is_set():
            return []
        conversation = self.conversation
        place = conversation.place
        typed = Typed(place.space, prefix, shelf, conversation.author.id, place)
        return await self._app.complete(kind, typed)

    # The drawing.

    async def _tick(self) -> None:
        """Turn the spinner while something runs."""
        while True:
            await asyncio.sleep(0.12)
            if self._statuses or self._answers or not self._ready.is_set():
                self._ticks += 1
                self._session.app.invalidate()

    def _spinner(self) -> str:
        return self.ink(_SPIN[self._ticks % len(_SPIN)], CYAN)

    def _message(self) -> ANSI:
        lines = [line for tail in self._tails.values() for line in tail.split("\n")]
        # Only the window's rows; the whole block is printed at its end.
        lines = lines[-max(shutil.get_terminal_size().lines - 9, 3) :]
        statuses = [text for run, text in self._statuses.items() if run not in self._jobs]
        if self._answers and not statuses and not self._tails:
            statuses = [self.say("terminal.working")]
        lines += [f"{self._spinner()} {self.ink(text[: self.ink.width - 4], DIM)}" for text in statuses]
        return ANSI("\n".join([*lines, self.ink("› ", BOLD, CYAN)]))

    def _toolbar(self) -> ANSI:
        passing = [self._statuses.get(run) or self.say("terminal.working") for run in self._jobs]
        if not self._ready.is_set() and not self._statuses:
            passing.append(self.say("terminal.opening"))
        hint = self.say("terminal.hint_stop") if self._answers or self._jobs else self.say("terminal.hint")
        room = shutil.get_terminal_size().columns - 1
        parts = []
        # Of many jobs as many as fit, and the keys if there is room.
        for n, text in enumerate([*passing, hint]):
            size = len(text) + (4 if n < len(passing) else 0)
            if size <= room:
                parts.append(f"{self._spinner()} {text}" if n < len(passing) else self.ink(hint, DIM))
                room -= size
        return ANSI("  ".join(parts))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        running = Condition(lambda: bool(self._answers or self._jobs))

        @keys.add("escape", filter=running, eager=True)
        def _stop(event: KeyPressEvent) -> None:
            self._spawn(self._stop())

        @keys.add("tab", filter=Condition(lambda: self._sole_completion()))
        def _stay(event: KeyPressEvent) -> None:
            """Keep a sole completion and offer what follows it; the library itself would take it back."""
            event.current_buffer.complete_state = None
            event.current_buffer.start_completion()

        for number in range(1, len(TRIES) + 1):
            key = str(number)

            @keys.add(key, filter=Condition(partial(self._may_try, key)))
            def _try(event: KeyPressEvent) -> None:
                lines = self._tries[event.data]
                # The earlier ones are removed too: after the last, a story, a player types digits.
                self._tries = {key: lines for key, lines in self._tries.items() if key > event.data}
                self._spawn(self._lines(lines.split("\n")))

        @keys.add("c-c")
        def _interrupt(event: KeyPressEvent) -> None:
            if self._answers or self._jobs:
                self._spawn(self._stop())
            elif event.current_buffer.text:
                event.current_buffer.reset()
            else:
                self._spawn(self.write([self.ink(self.say("terminal.hint_leave"), YELLOW)]))

        return keys

    def _may_try(self, key: str) -> bool:
        """Whether pressing the key now starts an example."""
        return key in self._tries and not (self._answers or self._jobs or self._session.default_buffer.text)

    def _sole_completion(self) -> bool:
        """Whether the only completion has been put into the line."""
        state = self._session.default_buffer.complete_state
        return state is not None and len(state.completions) == 1 and state.complete_index == 0

    async def _stop(self) -> None:
        for lines in self._waiting:
            lines.clear()
        if self._app is not None and self._ready.is_set():
            await self._stop_all(self._app)

    async def _stop_all(self, app: Application) -> int:
        """Stop what runs in this conversation, else what an earlier one left unfinished, which is shown here, too."""
        if stopped := await app.stop(self.conversation.place):
            return stopped
        space = self.conversation.place.space
        return sum([await app.stop_run(space, run) for run in (*self._answers, *self._jobs)])


def _history(data: Path) -> History:
    """The lines of earlier sessions; kept only in memory if the folder cannot be written."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        file = data / "history"
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return _History(file) if os.access(file, os.W_OK) else InMemoryHistory()


class _History(FileHistory):
    def store_string(self, string: str) -> None:
        super().store_string(_readable(string))


def _readable(typed: str) -> str:
    """The typed text, also if it is UTF-8 on a terminal that does not declare it; invalid bytes become "�"."""
    return typed.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
