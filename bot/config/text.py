"""Recognises secrets, variable names, addresses and typing errors in config.toml. Knows no particular setting."""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any, Final

# What a key looks like: OpenAI and Anthropic (sk-…), Slack (xoxb-…, xapp-…), GitHub, AWS, Google; a bot's
# token on Discord is its id, the time and a signature, each in base64.
_SECRET = re.compile(
    r"^((sk-|xox[a-z](\.xox[a-z])?-|xapp-|gh[a-z]_|AKIA|AIza)\S{4,}|(Bot )?[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}$)"
)
_PASSWORD = re.compile(r"^[^:/]+://[^/:@]*:[^/@]+@")  # scheme://user:password@host
_CREDENTIALS = re.compile(r'[^\s"“”/@]*:[^\s"“”@]+@')  # also in an incomplete address: user:password@host
_QUERY = re.compile(r'([?&][^\s"“”=&]+=)[^\s"“”&]+')
_SECRET_KEY = re.compile(r"(^|_)(api_?key|key|token|secret|password)$", re.IGNORECASE)
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_HOST = re.compile(r"[^\W_](?:(?:[\w-]|\.(?!\.))*\w)?\.?")
_BLANK = re.compile(r"\s|[\x00-\x1f\x7f]")
# Slack's signing secret and client secret; they count as secrets even though they look like variable names.
_HEX = re.compile(r"^[0-9a-f]{32}$")
VARIABLES: Final = "_env"
"""The endings of settings that name an environment variable."""


def secret(setting: str, text: str) -> bool:
    """Whether `text`, written into `setting`, is a secret itself."""
    return bool(_SECRET.search(text) or (setting.endswith(VARIABLES) and _HEX.match(text)))


def password(text: str) -> bool:
    """Whether an address contains a password."""
    return bool(_PASSWORD.search(text))


def address(text: str) -> bool:
    """Whether `text` is the address of a service: scheme, host name or IP address, and optionally port and path."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # an unclosed bracket or an invalid port
        return False
    named = _HOST.fullmatch(host) or ":" in host  # urlsplit has checked an IPv6 address
    return bool(parts.scheme and named and port != 0 and not _BLANK.search(text))


def secret_setting(name: str) -> bool:
    """Whether an unknown setting of this name would hold a secret."""
    return bool(_SECRET_KEY.search(name))


def variable(text: str) -> bool:
    return bool(_VARIABLE.match(text))


def without_credentials(text: str) -> str:
    """The text for a message, without anything that could be a key, or a password in an address, however malformed."""
    return _QUERY.sub(r"\1…", _CREDENTIALS.sub("…@", text))


def repr_of(value: object) -> str:
    """A value on one short line, nearly as it was written."""
    import json

    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def nearest(wrong: str, right: list[str]) -> str | None:
    from difflib import get_close_matches

    folded = wrong.casefold().replace("-", "_")
    matches = get_close_matches(folded, right, n=1) or get_close_matches(wrong, right, n=1)
    return matches[0] if matches else None


def line_of(text: str, key_path: tuple[str | int, ...]) -> int:
    """The 1-based line on which the key or table at `key_path` begins; a number is an index in a list of tables.

    Parses ever longer beginnings of the file. The shortest one that is valid TOML and contains the key ends with the
    key's last line; the longest valid one before it ends above the key.
    """
    lines = text.split("\n")
    line = 0
    for count in range(1, len(lines) + 1):
        try:
            table: Any = tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        for name in key_path:
            table = _at(table, name)
        if table is not None:
            break
        line = count
    return line + 1


def _at(table: Any, name: str | int) -> Any:
    if isinstance(table, list):
        return table[name] if isinstance(name, int) and name < len(table) else None
    return table.get(name) if isinstance(table, dict) else None


def of_address(address: str, *, windows: bool = os.name == "nt") -> str:
    """The path of a `file:` address; on Windows without the slash before the drive, and with the server of a share."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(address)
    path = unquote(parts.path)
    if windows and parts.netloc not in ("", "localhost"):
        return f"//{parts.netloc}{path}"
    return path.lstrip("/") if windows and re.match(r"/+[A-Za-z]:", path) else path
