"""Requests to JSON and back: how the inbox keeps them."""

from __future__ import annotations

import json
from dataclasses import asdict

from bot.events import Author, File, Place, Request


def request_to_json(request: Request) -> str:
    return json.dumps(asdict(request), ensure_ascii=False, separators=(",", ":"))


def request_from_json(text: str) -> Request:
    """The request that `request_to_json` wrote. Raises KeyError or TypeError for anything else."""
    tree = json.loads(text)
    tree["place"] = Place(**tree["place"])
    tree["author"] = Author(**tree["author"])
    tree["files"] = tuple(File(**one) for one in tree["files"])
    return Request(**tree)
