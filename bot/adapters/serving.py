"""`run`: the bot on all configured platforms at once, until it receives SIGTERM or Ctrl-C.

Opens the application once, starts each platform's adapter, and prints one sentence for an adapter that fails.
Independent of events.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from bot.adapters import termination
from bot.adapters.log_redaction import announce, formatter
from bot.adapters.slack.installed import credentials
from bot.adapters.terminal import log_to
from bot.events import UserError
from bot.markdown import plain
from bot.words import Words, words

if TYPE_CHECKING:
    from bot.adapters.health import Connections
    from bot.adapters.operating import Operating
    from bot.app import App
    from bot.config import Config

OURS: Final = ("bot.", "discord.", "slack_")
"""Loggers that also write lines below a warning to standard error; the file has all lines."""

SWITCH_S: Final = 0.001
"""Seconds that a thread may compute while the event loop waits for it; Python's default is five times as long."""

LEAVE_S: Final = 18.0
"""The most seconds between SIGTERM and the end of the process; docs/hosting.md says 20.

What is not done by then is done at the next start, as after a kill.
"""

_log = logging.getLogger(__name__)


class Adapter(Protocol):
    """The adapter of a platform with messages."""

    async def prepare(self) -> None:
        """Sign in, and attach the views. Raises UserError."""

    async def run(self) -> None:
        """Receive events until `stop_receiving`. Raises UserError when it cannot continue."""

    def connections(self) -> Connections:
        """Its connections to the platform, by the adapter's own names."""

    async def stop_receiving(self) -> None:
        """Receive nothing more; messages can still be sent."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ConfiguredPlatform:
    """A configured platform. `secrets` must not appear in any log."""

    name: str
    secrets: tuple[str, ...]
    make: Callable[[App, Operating], Adapter]


def serve(config: Config, locale: str) -> int:
    """Run until SIGTERM or Ctrl-C. Raises UserError when no platform can start, or none can continue."""
    say = words(locale)
    chosen = _chosen(config, say)
    _log_to(config, [secret for platform in chosen for secret in platform.secrets])
    # Computing threads yield this soon, because the event loop must acknowledge events within three seconds.
    sys.setswitchinterval(SWITCH_S)
    return termination.run(_serve(config, chosen, say), within_s=LEAVE_S)


def _chosen(config: Config, say: Words) -> list[ConfiguredPlatform]:
    """The configured platforms. Prints a notice about a half configured one; raises UserError if there is no other."""
    configured: list[ConfiguredPlatform] = []
    faults: list[UserError] = []
    for look in (_discord, _slack):
        try:
            if (platform := look(config, say)) is not None:
                configured.append(platform)
        except UserError as error:
            faults.append(error)
    if not configured:
        slack = config.slack
        raise _last(faults, say) or UserError(
            "serving.nothing",
            discord=config.discord.token_env,
            slack=slack.bot_token_env,
            beside=slack.app_token_env if slack.mode == "socket" else slack.signing_secret_env,
        )
    _tell(faults, say)
    return configured


def _discord(config: Config, say: Words) -> ConfiguredPlatform | None:
    token = (config.secret(config.discord.token_env) or "").strip()
    if not token:
        return None
    if any(character.isspace() for character in token):
        raise UserError("discord_run.token_refused", variable=config.discord.token_env)

    def make(app: App, operating: Operating) -> Adapter:
        from bot.adapters.discord.service import Discord

        return Discord(app, config, token, say)

    return ConfiguredPlatform("Discord", (token,), make)


def _slack(config: Config, say: Words) -> ConfiguredPlatform | None:
    slack_credentials = credentials.needed(config)
    if slack_credentials is None:
        return None

    def make(app: App, operating: Operating) -> Adapter:
        from bot.adapters.slack.service import Slack

        return Slack(app, config, slack_credentials, say, operating)

    return ConfiguredPlatform("Slack", slack_credentials.secrets, make)


async def _serve(config: Config, chosen: list[ConfiguredPlatform], say: Words) -> int:
    from bot.adapters.health import Health
    from bot.adapters.operating import Operating
    from bot.app import App

    names = say("serving.and").join(platform.name for platform in chosen)
    announce(say("serving.opening", folder=config.data_dir, names=names))
    health = Health(config.data_dir)
    operating = Operating(health, config)
    await operating.start()  # before the storage is opened, because a migration may take minutes
    try:
        await _serve_app(await App.open(config), chosen, operating, say)
    finally:
        await operating.close()
    return 0


async def _serve_app(app: App, chosen: list[ConfiguredPlatform], operating: Operating, say: Words) -> None:
    health, adapters = operating.health, list[Adapter]()
    health.app = app
    try:
        for platform in chosen:
            adapters.append(platform.make(app, operating))
            health.platforms[platform.name] = adapters[-1]
        await _serve_on(app, adapters, say)
    finally:
        health.leaving = True
        # The order matters: receive nothing more, end the runs, and only then close what sends messages.
        await _each([adapter.stop_receiving for adapter in adapters])
        await app.close()
        await _each([adapter.close for adapter in adapters])


async def _serve_on(app: App, platforms: list[Adapter], say: Words) -> None:
    """Run all adapters until they end. Raises the fault of the last one if all have failed."""
    failed: list[UserError] = []
    offering: list[asyncio.Task[None]] = []
    ready = []
    # Signing in is mostly waiting, so all sign in at the same time while the start's needs are loaded.
    app.load()
    plain("")  # loads the parser of Markdown, so that no table of an answer waits for it
    prepared = await asyncio.gather(*(each.prepare() for each in platforms), return_exceptions=True)
    for platform, fault in zip(platforms, prepared, strict=True):
        if isinstance(fault, UserError):
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
        offering.append(asyncio.create_task(_offer(app, say)))
        # These objects stay alive; repeated garbage collection of them would block the loop.
        gc.freeze()
    running = {asyncio.create_task(each.run()): each for each in ready}
    try:
        while running:
            _tell(failed, say)
            failed.clear()
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                platform = running.pop(task)
                if isinstance(ended_by := task.exception(), UserError):
                    failed.append(ended_by)
                    await _each([platform.stop_receiving])
                elif ended_by is not None:
                    raise ended_by
    finally:
        for task in (*running, *offering):
            task.cancel()
        if running or offering:
            await asyncio.wait({*running, *offering})
    if (last := _last(failed, say)) is not None:
        raise last


async def _offer(app: App, say: Words) -> None:
    """Print which model servers run on this machine but are not chosen."""
    if (server := await app.local_server()) is not None:
        offer = say("models_chat.offer", server=server.title, model=server.models[0], name=server.name)
        announce(offer)


def _last(sorries: list[UserError], say: Words) -> UserError | None:
    """The last fault; the others are printed."""
    _tell(sorries[:-1], say)
    return sorries[-1] if sorries else None


def _tell(sorries: list[UserError], say: Words) -> None:
    for error in sorries:
        announce(say(error.key, **error.values))


async def _each(steps: list[Callable[[], Awaitable[None]]]) -> None:
    """Call all at once; a fault of one does not stop the others."""
    for fault in await asyncio.gather(*(step() for step in steps), return_exceptions=True):
        if isinstance(fault, BaseException):
            _log.error("could not leave in order", exc_info=fault)


def _log_to(config: Config, secrets: list[str]) -> None:
    """Log to the data folder, and to standard error for containers and services."""
    log_to(config)
    root, shown = logging.getLogger(), logging.StreamHandler(sys.stderr)
    shown.addFilter(lambda line: line.levelno >= logging.WARNING or line.name.startswith(OURS))
    root.addHandler(shown)
    for handler in root.handlers:
        handler.setFormatter(formatter(config.operate.log_format, *secrets))
