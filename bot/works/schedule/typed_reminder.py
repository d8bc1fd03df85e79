"""Reads a reminder that somebody asks for in plain text, in English or Portuguese: what, and when."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from bot.events import UserError
from bot.works.schedule.times import TYPED_CHARS, read, without_repetition

_TEXT_CHARS: Final = 300
"""The maximum length of such a text."""
_REQUEST = re.compile(
    r"(?:(?:please|hey|(?:can|could|would|will) you|por favor|(?:você )?(?:pode|poderia|consegue)),? )*"
    r"(?:remind (?:me|us)|(?:me|nos) lembr(?:a|e|ar)|lembr[ae]r?(?:-me|-nos| me| nos| a gente))\b,?\s*",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:how|what|which|why|who|whose|where|when|if|whether|como|o que|quais|qual|quem|onde|quando|por ?que|se"
    r"|quant\w+)\b",
    re.IGNORECASE,
)
"""The words after "remind me" in a question: "remind me how grappling works"."""
_CONJUNCTION = re.compile(r"^(?:to|that|about|of|for|de|do|da|que|para|pra|sobre)\s+", re.IGNORECASE)


def reminder_in(text: str) -> tuple[str, str] | None:
    """The reminder that a text asks for and its typed time; None if it asks for none, or names no readable time.

    The first call takes as long as that of `times.read`.
    """
    line = " ".join(text[: _TEXT_CHARS + 1].split())
    if len(line) > _TEXT_CHARS or (match := _REQUEST.match(line)) is None:
        return None
    rest = line[match.end() :].rstrip(" .!?")
    if _QUESTION.match(rest):
        return None
    for at in (space.start() for space in re.finditer(r" |$", rest)):
        left, right = rest[:at], rest[at:].strip()
        # Before the text ("every Monday at 9 to …"), or after it ("to … every Monday at 9").
        for when, what in ((left, right if _CONJUNCTION.match(right) else ""), (right, left)):
            if what and _names_time(when):
                return _CONJUNCTION.sub("", what), when.rstrip(",")
    return None


def _names_time(when: str) -> bool:
    if len(when) > TYPED_CHARS:
        return False
    try:
        read(without_repetition(when)[0], "en", "UTC", datetime.now(UTC))
    except UserError as error:
        return error.key != "schedule.no_time"
    return True
