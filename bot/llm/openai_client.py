"""The openai SDK's client for its two chat interfaces, for speech and for recordings, without any setting from the
environment.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from bot.config import Config, ProviderConfig

ADDRESS: Final = "https://api.openai.com/v1"


def address_of(base_url: str | None) -> tuple[str | None, dict[str, str]]:
    """A `base_url` without its query, as Azure's may have one, and the query."""
    own_address, _, query = (base_url or "").partition("?")
    return own_address or None, dict(parse_qsl(query))


def connected(
    config: Config, provider: ProviderConfig, timeout_s: float
) -> tuple[AsyncOpenAI, dict[str, Any]]:
    """A client for calls that are no chat, with the headers and the query that go with each request to the provider,
    and `extra_headers` as of `client_of`. Imports the SDK. Raises UserError ("model.key_missing").
    """
    import openai

    own_address, query = address_of(provider.base_url)
    # What is asked goes to the address in the config, and to no other that this one may name.
    http = openai.DefaultAsyncHttpxClient(
        timeout=openai.Timeout(timeout_s),
        follow_redirects=False,
        headers=dict(provider.headers) | config.secret_headers(provider),
        params=query | dict(provider.query),
    )
    return client_of(openai, http, own_address or ADDRESS, config.key(provider))


def client_of(
    sdk: Any, http: Any, base_url: str | None, key: str | None
) -> tuple[AsyncOpenAI, dict[str, Any]]:
    """Without retries of its own; and what each call takes as `extra_headers`, so that without a key none is sent."""
    # The SDK looks into httpx wherever somebody has begun to load it, as Chroma does in a thread: half of it would
    # fail the call. This waits until all of it is there.
    importlib.import_module("httpx")
    client: AsyncOpenAI = sdk.AsyncOpenAI(
        base_url=base_url,
        # None of these is None: the SDK would take what stands in the environment along to whatever server this is.
        api_key=key or "-",
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        max_retries=0,
        http_client=http,
        timeout=http.timeout,
    )
    client.organization = client.project = None
    client._custom_headers = {}  # OPENAI_CUSTOM_HEADERS, which may hold another key
    return client, {} if key else {"Authorization": sdk.Omit()}
