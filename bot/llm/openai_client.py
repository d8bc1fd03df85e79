"""Makes the openai SDK's client for its two chat APIs, speech and transcription, without any setting from the
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
    """Split a `base_url` into the URL without its query, and the query (Azure's URLs may have one)."""
    own_address, _, query = (base_url or "").partition("?")
    return own_address or None, dict(parse_qsl(query))


def connected(
    config: Config, provider: ProviderConfig, timeout_s: float
) -> tuple[AsyncOpenAI, dict[str, Any]]:
    """A client for calls other than chat, with the provider's headers and query, and the `extra_headers` of
    `client_of`. Imports the SDK. Raises UserError ("model.key_missing").
    """
    import openai

    own_address, query = address_of(provider.base_url)
    # Requests go only to the configured address: redirects are not followed.
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
    """The SDK's client without its own retries, and the `extra_headers` for each call, which send no key if there is
    none.
    """
    # The SDK uses httpx if it is in sys.modules, even if another thread (Chroma's) is still importing it; a
    # half-imported module would fail the call. This import waits until it is complete.
    importlib.import_module("httpx")
    client: AsyncOpenAI = sdk.AsyncOpenAI(
        base_url=base_url,
        # None of these is None: otherwise the SDK would send settings from the environment to this server.
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
    client._custom_headers = {}  # OPENAI_CUSTOM_HEADERS, which may contain another key
    return client, {} if key else {"Authorization": sdk.Omit()}
