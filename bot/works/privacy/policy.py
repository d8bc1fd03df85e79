"""A page that says what is stored, where, how long, and who sees it: filled in from the configuration, for admins to
publish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from bot.config import model_spec
from bot.events import UserError
from bot.runs.engine import KEEP_DAYS
from bot.settings import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.config import Config
    from bot.resources import Resources
    from bot.words import Words

FILE: Final = "privacy.md"
TERMINAL: Final = "Terminal"
_HERE: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about this bot: where it stores data, the services that it uses, such as "openai (api.openai.com)", and
    the collector of its traces, "" for none. Contains no secrets, no paths and no address of a database.
    """

    platform: str
    postgres: bool
    vectors_apart: bool
    store: str
    services: tuple[str, ...]
    models_here: bool
    traces: str
    keep_days: int
    grace_days: int


async def facts(resources: Resources, space: str, platform: str) -> Facts:
    """The facts for a space: its channels and people may have chosen other models. Raises StorageFault."""
    rows = await resources.settings.store.with_prefix(space, MODEL)
    roles = await resources.settings.roles_of_space(space)
    chosen = [model for row in rows for model in _models(row.value)]
    return facts_of(resources.config, platform, [*roles.models, *chosen])


def facts_of(config: Config, platform: str, models: Iterable[str]) -> Facts:
    """The facts for these `models`, which are those in use, each as "provider:model"."""
    embedder = [config.embedding.model] if ":" in config.embedding.model else []
    models_in_use = [*models, *config.offered, *embedder, *config.speech.voices]
    names = dict.fromkeys(name.partition(":")[0] for name in models_in_use)
    hosts = {name: _host(config, name) for name in names if name in config.providers}
    return Facts(
        platform=platform.capitalize(),
        postgres=(config.storage.url or "").startswith("postgres"),
        vectors_apart=bool(config.storage.chroma_url),
        store="" if config.storage.files == "folder" else urlsplit(config.storage.files).scheme,
        services=tuple(
            f"{name} ({host})" if host else name for name, host in hosts.items() if host not in _HERE
        ),
        models_here=any(host in _HERE for host in hosts.values()),
        traces=urlsplit(config.tracing.endpoint or "").hostname or "",
        keep_days=config.storage.keep_days,
        grace_days=config.storage.grace_days,
    )


def page(about: Facts, say: Words) -> str:
    """The page, in Markdown."""
    in_terminal = about.platform == TERMINAL
    you = say("policy.in_terminal") if in_terminal else say("policy.on_platform", platform=about.platform)
    where = [say("policy.postgres" if about.postgres else "policy.sqlite")]
    if about.store:
        where.append(
            say("policy.store_folder") if about.store == "file" else say("policy.store", kind=about.store)
        )
    where += [say("policy.vectors")] if about.vectors_apart else []
    others = [say("policy.carried", platform=about.platform)] if not in_terminal else []
    others += [say("policy.services", services=", ".join(about.services))] if about.services else []
    others += [say("policy.models_here")] if about.models_here else []
    others += [] if about.services or about.models_here else [say("policy.no_models")]
    others += [say("policy.traces", host=about.traces)] if about.traces else []
    long = [
        say("policy.keep_days", n=about.keep_days) if about.keep_days else say("policy.keep_always"),
        say("policy.copies", n=KEEP_DAYS),
        say("policy.grace_days", n=about.grace_days) if about.grace_days else say("policy.grace_always"),
    ]
    return "\n\n".join(
        [
            f"# {say('policy.title')}",
            say("policy.intro"),
            f"## {say('policy.what')}",
            say("policy.kept", you=you),
            " ".join(
                [
                    say("policy.not_kept"),
                    *([say("policy.heard")] if about.models_here or about.services else []),
                ]
            ),
            f"## {say('policy.where')}",
            _bullets(where),
            f"## {say('policy.others')}",
            _bullets(others),
            f"## {say('policy.how_long')}",
            _bullets(long),
            f"## {say('policy.who')}",
            say("policy.seen"),
            f"## {say('policy.yours')}",
            say("policy.rights"),
        ]
    )


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _models(value: str) -> list[str]:
    try:
        return [spec.model for spec in model_spec.parse_list(value)]
    except UserError:  # written by another release
        return []


def _host(config: Config, provider: str) -> str:
    """The host of a provider's address, a local name for models inside the bot, "" for the service's own address."""
    known = config.providers[provider]
    if known.kind == "demo":
        return _HERE[0]
    return urlsplit(known.base_url or "").hostname or ""
