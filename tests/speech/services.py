"""A speech engine that calls a service, made from the config."""

from __future__ import annotations

from pathlib import Path

from bot.config import Config, ProviderConfig, Secrets
from bot.speech.engines.service import TIMEOUT_S, Service


def service(base_url: str | None, key: str | None = None, *, timeout_s: float = TIMEOUT_S) -> Service:
    """The provider "openai" at this address; without an address its key is missing."""
    provider = ProviderConfig("openai", "openai", base_url, "THE_KEY" if key or not base_url else None)
    secrets = Secrets({"THE_KEY": key or ""}, {})
    config = Config(Path("data"), Path("models"), providers={"openai": provider}, secrets=secrets)
    return Service(provider, config, timeout_s)
