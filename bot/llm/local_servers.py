"""Looks for model servers on this machine: Ollama, LM Studio and llama.cpp, at their usual ports of loopback.

Asks each only for its models, and never connects to another machine.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from bot.config.settings import LOCAL

if TYPE_CHECKING:
    from bot.config import ProviderConfig

TITLES: Final = {"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp"}

CONNECT_S: Final = 1.0
"""Seconds to connect: a server on this machine answers at once."""

MOST_BYTES: Final = 1_000_000
MOST_MODELS: Final = 50

_NAME: Final = re.compile(r"[^\s,;\"'“”=\x00-\x1f\x7f]{1,120}")
"""Names that `model_spec` can read as a model's name."""
_NO_TALK: Final = re.compile(r"embed|rerank|whisper|tts", re.I)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that was found. `name` is its provider's name, `title` the name for people; `models` are its chat
    models.
    """

    name: str
    title: str
    models: tuple[str, ...]


async def local_servers(
    providers: Mapping[str, ProviderConfig], names: Iterable[str] = LOCAL
) -> list[LocalServer]:
    """The servers of `names` that are running now, in that order."""
    looked = await asyncio.gather(
        *(asyncio.to_thread(_look, name, providers[name].base_url or "") for name in names)
    )
    return [server for server in looked if server is not None]


def on_this_machine(base_url: str) -> bool:
    """Whether an address is on this machine, and a server may be looked for there."""
    parts = urlsplit(base_url)
    return parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")


def _look(name: str, base_url: str) -> LocalServer | None:
    if not on_this_machine(base_url):
        return None
    parts = urlsplit(base_url)
    host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname or ""
    # Without an HTTP library, which would read a proxy from the environment or follow a redirect.
    connection = http.client.HTTPConnection(host, parts.port or 80, timeout=CONNECT_S)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/models")
        answer = connection.getresponse()
        listed = json.loads(answer.read(MOST_BYTES)) if answer.status == 200 else None
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return None
    # Any server may listen at 8080; llama.cpp's answer says that it owns the model.
    if name == "llamacpp" and not any(
        isinstance(entry, dict) and entry.get("owned_by") == "llamacpp" for entry in entries
    ):
        return None
    ids = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    models = [id for id in ids if isinstance(id, str) and _NAME.fullmatch(id) and not _NO_TALK.search(id)]
    return LocalServer(name, TITLES[name], tuple(models[:MOST_MODELS])) if models else None
