"""Reads a reminder that somebody asks for in plain text, in English or Portuguese: what, and when."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from bot.events import UserError
from bot.works.schedule.times import TYPED_CHARS, read, repeated

_MOST: Final = 300
"""The maximum length of such a text."""
_ASKED = re.compile(
    r"(?:(?:please|hey|(?:can|could|would|will) you|por favor|(?:você )?(?:pode|poderia|consegue)),? )*"
    r"(?:remind (?:me|us)|(?:me|nos) lembr(?:a|e|ar)|lembr[ae]r?(?:-me|-nos| me| nos| a gente))\b,?\s*",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:how|what|which|why|who|whose|where|when|if|whether|como|o que|quais|qual|quem|onde|quando|por ?que|se"
    r"|quant\w+)\b",
    re.IGNORECASE,
)
"""How a question goes on: "remind me how grappling works"."""
_JOINT = re.compile(r"(?:to|that|about|of|for|de|do|da|que|para|pra|sobre)\s+", re.IGNORECASE)


def reminder_in(text: str) -> tuple[str, str] | None:
    """What a plain text asks to be reminded of, and the time as it is typed; None if it asks for no reminder, or names
    no time that can be read. The first call takes as long as that of `times.read`.
    """
    line = " ".join(text[: _MOST + 1].split())
    if len(line) > _MOST or (asked := _ASKED.match(line)) is None:
        return None
    rest = line[asked.end() :].rstrip(" .!?")
    if _QUESTION.match(rest):
        return None
    for at in (space.start() for space in re.finditer(r" |$", rest)):
        left, right = rest[:at], rest[at:].strip()
        # Before the text ("every Monday at 9 to …"), or after it ("to … every Monday at 9").
        for when, what in ((left, right if _JOINT.match(right) else ""), (right, left)):
            if what and _names_time(when):
                return _JOINT.sub("", what, count=1) if _JOINT.match(what) else what, when.rstrip(",")
    return None


def _names_time(when: str) -> bool:
    if len(when) > TYPED_CHARS:
        return False
    try:
        read(repeated(when)[0], "en", "UTC", datetime.now(UTC))
    except UserError as error:
        return error.key != "schedule.no_time"
    return True
