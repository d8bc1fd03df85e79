"""`run`: the bot on the platforms that are set up, side by side, until it is told to leave.

Opens the application once, lets each platform in, and says in one sentence why one could not go on. Knows no event.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from bot.adapters import leaving
from bot.adapters.discreet import Discreet
from bot.adapters.slack.installed import credentials
from bot.adapters.terminal import log_to
from bot.events import Sorry
from bot.words import Words, words

if TYPE_CHECKING:
    from bot.app import App
    from bot.config import Config

OURS: Final = ("bot.", "discord.", "slack_")
"""Whose log lines people see on standard error when nothing is wrong; the file has everybody's."""

SWITCH_S: Final = 0.001
"""How long a thread may compute while the loop waits for it; Python's default is five times that."""

_log = logging.getLogger(__name__)


class Platform(Protocol):
    """One of those that people talk to the bot on."""

    async def prepare(self) -> None:
        """Sign in, and attach the views. Raises Sorry."""
        ...

    async def run(self) -> None:
        """Take in what people do until `quiet`. Raises Sorry when it cannot go on."""
        ...

    async def quiet(self) -> None:
        """Nothing new comes in, while messages can still be sent."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """A platform that is set up. `secrets` may stand in no log."""

    name: str
    secrets: tuple[str, ...]
    make: Callable[[App], Platform]


def serve(config: Config, locale: str) -> int:
    """Run until SIGTERM or Ctrl-C. Raises Sorry when nothing can begin, or nothing can go on."""
    say = words(locale)
    chosen = _chosen(config, say)
    _log_to(config, [secret for one in chosen for secret in one.secrets])
    # Threads that compute give way this soon: the loop has three seconds to acknowledge whatever comes.
    sys.setswitchinterval(SWITCH_S)
    return leaving.run(_serve(config, chosen, say))


def _chosen(config: Config, say: Words) -> list[Chosen]:
    """What is set up. A sentence is printed for what is only half set up, or raised if that is all there is."""
    found: list[Chosen] = []
    half: list[Sorry] = []
    for look in (_discord, _slack):
        try:
            if (one := look(config, say)) is not None:
                found.append(one)
        except Sorry as sorry:
            half.append(sorry)
    if not found:
        slack = config.slack
        raise _last(half, say) or Sorry(
            "serving.nothing",
            discord=config.discord.token_env,
            slack=slack.bot_token_env,
            beside=slack.app_token_env if slack.mode == "socket" else slack.signing_secret_env,
        )
    _tell(half, say)
    return found


def _discord(config: Config, say: Words) -> Chosen | None:
    token = (config.secret(config.discord.token_env) or "").strip()
    if not token:
        return None
    if any(character.isspace() for character in token):
        raise Sorry("discord_run.token_refused", variable=config.discord.token_env)

    def make(app: App) -> Platform:
        from bot.adapters.discord.service import Discord

        return Discord(app, config, token, say)

    return Chosen("Discord", (token,), make)


def _slack(config: Config, say: Words) -> Chosen | None:
    found = credentials.needed(config)
    if found is None:
        return None

    def make(app: App) -> Platform:
        from bot.adapters.slack.service import Slack

        return Slack(app, config, found, say)

    return Chosen("Slack", found.secrets, make)


async def _serve(config: Config, chosen: list[Chosen], say: Words) -> int:
    from bot.app import App

    names = say("serving.and").join(one.name for one in chosen)
    print(say("serving.opening", folder=config.data_dir, names=names), file=sys.stderr, flush=True)
    app = await App.open(config)
    made: list[Platform] = []
    try:
        for one in chosen:
            made.append(one.make(app))  # noqa: PERF401  (those that were made are closed if the next one fails)
        await _serve_on(app, made, say)
    finally:
        # In this order: nothing new comes in, what runs is put away, and only then the way out closes.
        await _each([one.quiet for one in made])
        await app.close()
        await _each([one.close for one in made])
    return 0


async def _serve_on(app: App, platforms: list[Platform], say: Words) -> None:
    """Until all have ended. Raises what the last one failed with if none is left."""
    failed: list[Sorry] = []
    ready = []
    # Signing in is mostly waiting: side by side, and meanwhile what the start needs is loaded.
    app.load()
    prepared = await asyncio.gather(*(one.prepare() for one in platforms), return_exceptions=True)
    for platform, fault in zip(platforms, prepared, strict=True):
        if isinstance(fault, Sorry):
            failed.append(fault)
        elif fault is not None:
            raise fault
        else:
            ready.append(platform)
    if ready:
        _tell(failed, say)
        failed.clear()
        if resumed := await app.start():
            _log.info("taking up %d requests that were cut off", len(resumed))
        # What is there by now stays: looking through it for garbage, again and again, would hold up the loop.
        gc.freeze()
    running = {asyncio.create_task(one.run()): one for one in ready}
    try:
        while running:
            _tell(failed, say)
            failed.clear()
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                platform = running.pop(task)
                if isinstance(ended_by := task.exception(), Sorry):
                    failed.append(ended_by)
                    await _each([platform.quiet])
                elif ended_by is not None:
                    raise ended_by
    finally:
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
    if (last := _last(failed, say)) is not None:
        raise last


def _last(sorries: list[Sorry], say: Words) -> Sorry | None:
    """The one to end with; the others are printed."""
    _tell(sorries[:-1], say)
    return sorries[-1] if sorries else None


def _tell(sorries: list[Sorry], say: Words) -> None:
    for sorry in sorries:
        print(say(sorry.key, **sorry.values), file=sys.stderr, flush=True)


async def _each(steps: list[Callable[[], Awaitable[None]]]) -> None:
    """Side by side; what one fails with does not keep the others from leaving."""
    for fault in await asyncio.gather(*(step() for step in steps), return_exceptions=True):
        if isinstance(fault, BaseException):
            _log.error("could not leave in order", exc_info=fault)


def _log_to(config: Config, secrets: list[str]) -> None:
    """To the data folder as ever, and to standard error, where a container's or service's log is looked for."""
    log_to(config)
    root, shown = logging.getLogger(), logging.StreamHandler(sys.stderr)
    shown.addFilter(lambda line: line.levelno >= logging.WARNING or line.name.startswith(OURS))
    root.addHandler(shown)
    for handler in root.handlers:
        handler.setFormatter(Discreet(*secrets))
