"""Recognises texts in config.toml: a secret, a variable's name, an address, a typing error. Knows no setting."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

# What a key looks like: OpenAI and Anthropic (sk-…), Slack (xoxb-…, xapp-…), GitHub, AWS, Google; a bot's
# token on Discord is its id, the time and a signature, each in base64.
_SECRET = re.compile(
    r"^((sk-|xox[a-z](\.xox[a-z])?-|xapp-|gh[a-z]_|AKIA|AIza)\S{4,}|(Bot )?[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}$)"
)
_PASSWORD = re.compile(r"^[^:/]+://[^/:@]*:[^/@]+@")  # scheme://user:password@host
_CREDENTIALS = re.compile(r'[^\s"“”/@]*:[^\s"“”@]+@')  # also of an address that is none: user:password@host
_QUERY = re.compile(r'([?&][^\s"“”=&]+=)[^\s"“”&]+')
_SECRET_KEY = re.compile(r"(^|_)(api_?key|key|token|secret|password)$", re.IGNORECASE)
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_HOST = re.compile(r"[^\W_](?:(?:[\w-]|\.(?!\.))*\w)?\.?")
_BLANK = re.compile(r"\s|[\x00-\x1f\x7f]")
# Slack's signing secret and client secret: that one may also be a variable's name does not save it.
_HEX = re.compile(r"^[0-9a-f]{32}$")
VARIABLES: Final = "_env"
"""How the settings end that name an environment variable."""


def secret(setting: str, text: str) -> bool:
    """Whether `text`, written into `setting`, is a secret itself."""
    return bool(_SECRET.search(text) or (setting.endswith(VARIABLES) and _HEX.match(text)))


def password(text: str) -> bool:
    """Whether an address holds one."""
    return bool(_PASSWORD.search(text))


def address(text: str) -> bool:
    """Whether `text` is an address of a service: scheme, a host's name or number, perhaps a port and a path."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # a bracket without its other, a port that is none
        return False
    named = _HOST.fullmatch(host) or ":" in host  # IPv6, which urlsplit has checked
    return bool(parts.scheme and named and port != 0 and not _BLANK.search(text))


def secret_setting(name: str) -> bool:
    """Whether a setting of this name, which there is not, would hold a secret."""
    return bool(_SECRET_KEY.search(name))


def variable(text: str) -> bool:
    return bool(_VARIABLE.match(text))


def without_credentials(text: str) -> str:
    """The text for a message, without what could be a password or a key in an address, however malformed."""
    return _QUERY.sub(r"\1…", _CREDENTIALS.sub("…@", text))


def repr_of(value: object) -> str:
    """A value nearly as it was written, on one short line."""
    import json

    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def nearest(wrong: str, right: list[str]) -> str | None:
    from difflib import get_close_matches

    folded = wrong.casefold().replace("-", "_")
    near = get_close_matches(folded, right, n=1) or get_close_matches(wrong, right, n=1)
    return near[0] if near else None


def line_of(text: str, where: tuple[str | int, ...]) -> int:
    """The 1-based line on which the key or table at `where` begins; a number is a place in a list of tables.

    The file is read again, line by line: the first beginning of it that is whole TOML and holds
    the key ends with the key's last line, and the whole beginning before that ends above it.
    """
    lines = text.split("\n")
    whole = 0
    for count in range(1, len(lines) + 1):
        try:
            table: Any = tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        for name in where:
            table = _at(table, name)
        if table is not None:
            break
        whole = count
    return whole + 1


def _at(table: Any, name: str | int) -> Any:
    if isinstance(table, list):
        return table[name] if isinstance(name, int) and name < len(table) else None
    return table.get(name) if isinstance(table, dict) else None
