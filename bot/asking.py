"""Whether a message in a channel asks the bot something, by its words, the shape of its sentences and its meaning.

Knows no platform. Reads English and Portuguese. Where the words do not decide, a small model may be asked.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from bot import asking_words as words
from bot.asking_words import plain

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from bot.asking_head import Encoder
    from bot.events import Request
    from bot.llm.completion import Completion
    from bot.llm.registry import Models
    from bot.prompts import PromptText
    from bot.work import Run

Verdict = Literal["yes", "likely", "unsure", "no"]
"""Whether a message asks the bot. "likely": it has the shape of a question, but may be meant for other people."""

QUOTATION: Final = "xquote"
"""Replaces words in quotation marks."""
_PRIOR: Final[dict[Verdict, float]] = {"yes": 0.5, "likely": 0.25, "unsure": 0.0, "no": -0.25}
"""How much each verdict adds to the score of a message's meaning."""
_MARKED: Final = 0.125
"""The same for "unsure" with a question mark."""
_END: Final = 1_500
"""How many characters are read of each end of a long message."""

# Pasted and quoted text, and actions in a role play, are not part of the question.
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|^[ \t]*>[^\n]*$|^[ \t]*\*[^*\n]+\*[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_SAID = re.compile(r"[\"“][^\"”\n]*[\"”]")
_IGNORED = re.compile(r"https?://\S+|<a?:\w{1,40}:\d{1,25}>|:[a-z_]\w{1,40}:|[*_~]{2,}")
_MENTION = re.compile(r"<[@#][!&]?\w{1,40}(?:\|[^<>\n]{0,80})?>|(?<!\w)@\w{1,40}")
_ASIDE = re.compile(r"\b(?:and|e|with|com)(?: [oa])?\s*$")
_SENTENCE = re.compile(r"([^.!?…\n]+)([.!?…]*)")
_CLAUSE = re.compile(r"[,;:()]| [-–—]+ | (?:but|mas) ")
_AUXILIARY = (
    "can|could|would|will|should|shall|may|might|must|do|does|did|are|were|have|had|if|when|once|where|how|what|why|who"
    "|which|as|and|but|so|pode|poderia|consegue|sabe|se|quando|como|onde|porque|e|mas"
)
"""Words that may come before "you" and are not names."""
_NAMED = re.compile(
    r"\s*(?:(?:[Hh]ey|[Hh]i|[Oo]i|[Ee]i|[Ee] aí) )?"
    rf"(?!(?i:{_AUXILIARY})\b)[A-ZÀ-Ý]\w+(?:,| (?=you |u |tá |vc ))"
)
_CONDITION = re.compile(r"(?:if|when|once|after|say|se|quando|caso|depois|digamos)\b")


def asks(text: str, *, mentions_people: bool = False, replies: bool = False) -> Verdict:
    """Whether the message asks the bot. `mentions_people`: it mentions others than the bot; `replies`: it answers
    another person.
    """
    own = _own(text)
    whole = plain(own)
    public = bool(words.FOR_ANYBODY.search(whole) or words.NAMES_THE_BOT.search(whole))
    if words.DROPPED.search(whole) or (not public and (replies or (mentions_people and _addressed(own)))):
        return "no"
    verdicts: set[Verdict] = set()
    before = ""
    for match in _SENTENCE.finditer(_MENTION.sub("name", own)):
        verdicts.add(_sentence(match[1], "?" in match[2], before))
        if "yes" in verdicts:
            return "yes"
        before = plain(match[1])
    verdict: Verdict
    for verdict in ("likely", "unsure"):
        if verdict in verdicts:
            return verdict
    return "no"


def weighed(verdict: Verdict, text: str, score: float) -> Verdict:
    """The verdict combined with the score of the message's meaning (`bot.asking_head`)."""
    if not plain(_own(text)):
        return "no"
    marked = verdict == "unsure" and "?" in text
    if score + (_MARKED if marked else _PRIOR[verdict]) <= 0:
        return "no"
    return "yes" if verdict == "yes" else "likely"


def by_words(verdict: Verdict, text: str) -> bool:
    """The decision if no model is asked: when unsure, a question mark decides."""
    return verdict in ("yes", "likely") or (verdict == "unsure" and "?" in text)


@dataclass(frozen=True, slots=True)
class AsksReply:
    """The form of the small model's reply."""

    asks_bot: Literal["yes", "no"]


class Overhearing:
    """Replaces a run for a single model call: nothing of it is stored except its cost."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.id = request.id

    def stream(
        self, name: str, call: Callable[[], AsyncGenerator[str | Completion, None]]
    ) -> AsyncGenerator[str | Completion, None]:
        return call()


async def verdict_on(
    text: str, *, mentions_people: bool = False, replies: bool = False, encoder: Encoder | None = None
) -> Verdict:
    """The verdict of `asks`, combined with the message's meaning unless it is for another person."""
    verdict = asks(text, mentions_people=mentions_people, replies=replies)
    if encoder is None or mentions_people or replies:
        return verdict
    from bot.asking_head import score

    return weighed(verdict, text, await asyncio.to_thread(score, encoder, _ends(text)))


async def asks_with_model(
    models: Models,
    run: Run,
    wording: PromptText,
    text: str,
    *,
    mentions_people: bool = False,
    replies: bool = False,
    encoder: Encoder | None = None,
) -> bool:
    """Whether the message asks the bot. If `asks` says "likely" or "unsure", the extractor decides; without one, the
    words and the meaning.

    `wording` is the space's prompt "asks_bot"; `encoder` is the model of `bot.asking_head`, if it is loaded.
    """
    verdict = await verdict_on(text, mentions_people=mentions_people, replies=replies, encoder=encoder)
    if verdict in ("yes", "no"):
        return verdict == "yes"
    from bot import untrusted
    from bot.events import UserError
    from bot.llm.base import Message, Prompt, room

    capabilities = models.capabilities("extractor")
    if capabilities is None or capabilities.demo:
        return by_words(verdict, text)
    system, user = wording.fill(talk=untrusted.data(_ends(text)))
    prompt = Prompt(system, (Message("user", user),), max_tokens=room(10, "low"), temperature=0, effort="low")
    try:
        return (await models.json(run, "extractor", "asks", prompt, AsksReply)).asks_bot == "yes"
    except UserError:
        return by_words(verdict, text)


def _own(text: str) -> str:
    """The text without links and pasted text."""
    return _IGNORED.sub(" ", _SAID.sub(f" {QUOTATION} ", _QUOTED.sub(" ", _ends(text))))


def _ends(text: str) -> str:
    """The text, or the beginning and the end of a long one."""
    return text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"


def _addressed(own: str) -> bool:
    """Whether the message addresses a person by name; "Ana and I want to know …" does not."""
    named = _MENTION.search(own)
    if named is None:
        return True
    aside = _ASIDE.search(own[: named.start()].casefold()) is not None
    return not aside and own[named.end() :].split()[:1] not in (["and"], ["e"])


def _sentence(raw: str, marked: bool, before: str) -> Verdict:
    """The verdict on one sentence. `marked`: it has a question mark; `before`: the words of the sentence before it."""
    said = plain(raw)
    whole = _unopened(said)
    parts = [_unopened(plain(clause)) for clause in _CLAUSE.split(raw)]
    if marked and (words.TAG.fullmatch(said) or words.TAG.fullmatch(whole)):
        return "unsure" if before.count(" ") > 2 else "no"
    either = said.endswith(words.YES_OR_NO)
    if not whole or (not either and any(map(words.CHATTER.fullmatch, (whole, parts[-1])))):
        return "no"
    clauses = [whole, *(part for part in parts if part and not words.CHATTER.fullmatch(part))]
    if words.FOR_ANYBODY.search(whole):
        return "yes"
    # The text to work on comes after a colon.
    told = _unopened(plain(raw.partition(":")[0])) if words.REQUEST.match(whole) else whole
    social = words.SOCIAL.search(told) is not None and words.TAUGHT.search(told) is None
    if (
        social
        or _NAMED.match(raw)
        or words.TO_A_PERSON.search(whole)
        or any(map(words.SMALL_TALK.match, clauses))
    ):
        return "no"
    if either or words.ANNOUNCED.match(said) or words.EITHER.search(whole):
        return "yes"
    shapes = (words.REQUEST, words.NEED, words.INTERROGATIVE)
    if any(shape.match(clause) for clause in clauses for shape in shapes):
        return "likely"
    if (words.SOUGHT.match(whole) or words.GOES_ON.match(said)) and not words.STATES.search(whole):
        return "likely"
    if words.IN_THE_MIDDLE.search(whole) and (marked or _CONDITION.match(whole)):
        return "likely"
    if words.IN_PLACE.match(whole) or words.ASKED_FOR.match(said):
        return "likely"
    stated = words.STATED.fullmatch(whole) is not None
    if stated and " ou " in whole:
        return "likely"
    return "unsure" if marked or stated else "no"


def _unopened(said: str) -> str:
    """The words without greetings and fillers at their beginning."""
    while said and (match := words.OPENING.match(said)) is not None:
        said = said[match.end() :].lstrip()
    return said
