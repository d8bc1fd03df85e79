"""The openai SDK's client for both of its wires, without any setting from the environment.

Imports no SDK: whoever asks has it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openai import AsyncOpenAI


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
