"""The bot as a user starts it, in a separate process that can be killed at a chosen instant.

It knows the command line and its JSON lines, but no internals of the bot.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.forked import BotFork

Events = list[dict[str, Any]]

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120.0
"""How long a process may take: many times what it does, for a machine with much else to do."""


LOOK_S = 0.001
SECRETS = (
    *("OPENROUTER_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY"),
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DISCORD_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"),
    *("SLACK_SIGNING_SECRET", "SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET"),
)
"""Where the bot looks for keys and tokens, if nobody tells it otherwise."""


class Instant(NamedTuple):
    """When to kill: `after_s` seconds after the process has written `lines` lines (or a "done")."""

    lines: int
    after_s: float


class Bot:
    """`python -m bot ARGUMENTS`, whose JSON lines are read as they arrive. It is killed at the end of the block."""

    def __init__(self, *arguments: str, data: Path, config: Path | None = None, stdin: str = "") -> None:
        settings = ["--config", str(config)] if config else []
        self.events: Events = []
        self.times: list[float] = []
        self._news = threading.Condition()
        self._over = False
        self._complaints = data.with_name(data.name + ".stderr").open("a+b")
        self.began = time.monotonic()
        theirs, ours = os.pipe()
        read, written = os.pipe()
        self._process = BotFork(
            [*settings, "--data", str(data), *arguments],
            environment(),
            ROOT,
            (theirs, written, self._complaints.fileno()),
        )
        os.close(theirs)
        os.close(written)
        self._stdin = os.fdopen(ours, "wb")
        self._stdout = os.fdopen(read, "rb")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.type(stdin)

    def __enter__(self) -> Bot:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        self._complaints.close()

    def type(self, text: str) -> None:
        """Write to standard input, which stays open."""
        if text:
            self._stdin.write(text.encode())
            self._stdin.flush()

    def end(self) -> int:
        """Close standard input and wait for the process to exit; returns the exit code."""
        self._stdin.close()
        return self.wait()

    def wait(self) -> int:
        """Wait for the process to exit; returns the exit code."""
        code = self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def until(self, ready: Callable[[Events], bool]) -> None:
        """Wait until `ready` is true of the written events, or the process has exited."""
        with self._news:
            if not self._news.wait_for(lambda: self._over or ready(self.events), PATIENCE_S):
                raise TimeoutError(f"not written in {PATIENCE_S} s; so far: {self.events}")

    def strike(self, when: Instant, number: int = signal.SIGKILL) -> int:
        """Send a signal at that instant, SIGKILL by default, and wait; returns the exit code (-9 if the kill hit).

        If "done" comes earlier, because the machine is less busy than before, the signal is sent at once.
        """

        def ended() -> bool:
            return self._over or any(event["event"] == "done" for event in self.events)

        self.until(lambda events: len(events) >= when.lines or ended())
        with self._news:
            self._news.wait_for(ended, when.after_s)
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self.wait()

    def strike_once(self, true: Callable[[], bool]) -> int:
        """Send SIGKILL as soon as `true` holds, unless the process exits first; returns the exit code."""
        until = time.monotonic() + PATIENCE_S
        while self._process.poll() is None and not true():
            if time.monotonic() > until:
                raise TimeoutError(f"not true in {PATIENCE_S} s")
            time.sleep(LOOK_S)
        self._process.kill()
        return self.wait()

    def parsing(self) -> bool:
        """Whether a child process is parsing a file."""
        with contextlib.suppress(psutil.Error):
            return any(_is_parser(process) for process in psutil.Process(self._process.pid).children())
        return False

    def parsers(self) -> list[psutil.Process]:
        """The child processes that parse a file, even after the bot's death."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if _is_parser(process) and process.cmdline()[-1] == str(self._process.pid):
                    found.append(process)
        return found

    def complaints(self) -> str:
        """The standard error of this process and its predecessors on the same data."""
        self._complaints.seek(0)
        return self._complaints.read().decode(errors="replace")

    def _read(self) -> None:
        with self._stdout as out:
            for line in out:
                if not line.endswith(b"\n"):  # the kill cut it off
                    break
                with self._news:
                    self.events.append(json.loads(line))
                    self.times.append(time.monotonic())
                    self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()


def _is_parser(process: psutil.Process) -> bool:
    return process.cmdline()[2:3] == ["bot.readers.child"]


def environment() -> dict[str, str]:
    """The user's environment without variables that would change the bot's output or its calls.

    Secrets are empty rather than unset, so that those in a developer's .env do not count.
    """
    theirs = ("SUTRADHAR_", "LC_", "DISCORD_", "SLACK_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    models = os.environ.get("SUTRADHAR_MODELS")
    return {
        **kept,
        **dict.fromkeys([*SECRETS, *(name for name in kept if name.endswith("_API_KEY"))], ""),
        "SUTRADHAR_LOCALE": "en",
        **({"SUTRADHAR_MODELS": models} if models else {}),
    }


class Course(NamedTuple):
    """An undisturbed run: its events and their times, in seconds from the start."""

    events: Events
    times: list[float]

    def instant(self, share: float) -> Instant:
        """The instant at `share` (0 … 1) of the time from the start to the last line."""
        at = share * self.times[-1]
        lines = sum(1 for time in self.times if time <= at)
        return Instant(lines, at - (self.times[lines - 1] if lines else 0.0))

    def starting(self, share: float) -> Instant:
        """An instant before the first line."""
        return Instant(0, share * self.times[0] * 0.8)


def course(bot: Bot) -> Course:
    """Let a process run undisturbed to its end."""
    code = bot.end()
    assert code == 0, (bot.events[-3:], bot.complaints())
    return Course(bot.events, [time - bot.began for time in bot.times])
