"""Reads the fields of a service's answer, and of what is sent back to it, without trusting any of them.

Knows no particular API: reads JSON objects and an SDK's objects alike.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

LARGEST_COUNT = 100_000_000
"""The most tokens of a call: no real call comes near it, and the sum over a call's attempts still fits the ledger's
column.
"""

LARGEST_USD = 10_000
"""The most dollars of a call: no real call costs this much."""


def field(source: object, name: str) -> object:
    """A field of an object of either kind; None if it is missing."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)


def part(source: object, name: str) -> Mapping[str, Any]:
    """A field that is a JSON object; an empty one for anything else."""
    value = field(source, name)
    return value if isinstance(value, Mapping) else {}


def text(source: object, name: str) -> str:
    """A field that is text; "" for anything else."""
    value = field(source, name)
    return value if isinstance(value, str) else ""


def count(source: object, name: str) -> int | None:
    """A field that is a number of tokens; None for anything else."""
    value = field(source, name)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT:
        return value
    return None


def dollars(source: object, name: str) -> float | None:
    """A field that is an amount in dollars; None for anything else."""
    value = field(source, name)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST_USD:
        return float(value)
    return None


def characters(text: str) -> str:
    """Text that any database can store: without lone surrogates and NUL; adjacent surrogate halves are joined."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\0", "")


def arguments_of(text: str) -> dict[str, Any]:
    """A tool's arguments as the JSON object that the service needs back, whatever the model wrote."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        arguments = None
    # This wrapping is from the service's guide to fine-grained tool streaming.
    return arguments if isinstance(arguments, dict) else {"INVALID_JSON": text}


def objects_of(raw: str) -> list[dict[str, Any]]:
    """The JSON objects of a turn as its service wrote them (see Completion.raw); an empty list for anything else."""
    try:
        objects = json.loads(raw)
    except (ValueError, RecursionError):
        return []
    return objects if isinstance(objects, list) and all(isinstance(entry, dict) for entry in objects) else []


def call_id(call: str, allowed: re.Pattern[str]) -> str:
    """The id of a call in the form that a service accepts; another service may have created it."""
    return call if allowed.fullmatch(call) else f"call_{hashlib.sha256(call.encode()).hexdigest()[:24]}"
