"""The small model that helps a search: asked durably, for JSON, with documents fenced as data.

Knows no shelf.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from bot.events import Notice, Run, Sorry
from bot.llm import room
from bot.llm.base import Message, Prompt
from bot.prompts import PromptText
from bot.strategies.base import ROLE, Inquiry
from bot.words import words

T = TypeVar("T")

WORDS = 200
"""Of a few searches, in JSON."""

LANGUAGES = {
    "en": "English",
    "pt": "Brazilian Portuguese",
    "es": "Spanish",
    "fr": "French",
    "de": "German",
    "it": "Italian",
}


class Asks(Protocol):
    """The part of bot.llm.registry.Models that a strategy needs."""

    async def json(self, run: Run, role: str, step: str, prompt: Prompt, of: type[T]) -> T: ...


class Helper:
    """Asks whoever plays ROLE."""

    def __init__(self, models: Asks) -> None:
        self._models = models

    async def ask(self, run: Run, inquiry: Inquiry, step: str, name: str, of: type[T], **values: str) -> T:
        """An `of`, from the prompt `name` with `values` filled in. Raises Sorry."""
        text: PromptText = inquiry.prompts[name]
        system, user = text.fill(**values)
        most = room.tokens(WORDS, "low")
        prompt = Prompt(system=system, messages=(Message("user", user),), max_tokens=most, effort="low")
        return await self._models.json(run, ROLE, step, prompt, of)


def named(languages: tuple[str, ...]) -> str:
    """Languages as a prompt names them."""
    return ", ".join(LANGUAGES.get(one, one) for one in languages) or "the language of the question"


def failed(inquiry: Inquiry, error: Sorry) -> Notice:
    """What a person reads when the helper failed, and the search goes on without it."""
    say = words(inquiry.locale)
    return Notice(say("strategies.helper_failed", reason=say(error.key, **error.values)))
