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
_QUESTION_MARK: Final = 0.125
"""What "unsure" adds instead if the message has a question mark."""
_END_CHARS: Final = 1_500
"""How many characters are read of each end of a long message."""

# Pasted and quoted text, and actions in a role play, are not part of the question.
_PASTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|^[ \t]*>[^\n]*$|^[ \t]*\*[^*\n]+\*[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_QUOTATION = re.compile(r"[\"“][^\"”\n]*[\"”]")
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
    own_words = _own_words(text)
    plain_text = plain(own_words)
    to_anybody = bool(words.FOR_ANYBODY.search(plain_text) or words.NAMES_THE_BOT.search(plain_text))
    if words.DROPPED.search(plain_text) or (
        not to_anybody and (replies or (mentions_people and _addressed(own_words)))
    ):
        return "no"
    verdicts: set[Verdict] = set()
    previous = ""
    for match in _SENTENCE.finditer(_MENTION.sub("name", own_words)):
        verdicts.add(_sentence(match[1], "?" in match[2], previous))
        if "yes" in verdicts:
            return "yes"
        previous = plain(match[1])
    verdict: Verdict
    for verdict in ("likely", "unsure"):
        if verdict in verdicts:
            return verdict
    return "no"


def weighed(verdict: Verdict, text: str, score: float) -> Verdict:
    """The verdict combined with the score of the message's meaning (`bot.asking_head`)."""
    if not plain(_own_words(text)):
        return "no"
    questioned = verdict == "unsure" and "?" in text
    if score + (_QUESTION_MARK if questioned else _PRIOR[verdict]) <= 0:
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
    """Stands in for a run in a single model call, of which nothing is stored except its cost."""

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

    return weighed(verdict, text, await asyncio.to_thread(score, encoder, _shortened(text)))


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
    system, user = wording.fill(talk=untrusted.data(_shortened(text)))
    prompt = Prompt(system, (Message("user", user),), max_tokens=room(10, "low"), temperature=0, effort="low")
    try:
        return (await models.json(run, "extractor", "asks", prompt, AsksReply)).asks_bot == "yes"
    except UserError:
        return by_words(verdict, text)


def _own_words(text: str) -> str:
    """The author's own words: the text without links, emoji, code, quotations and actions of a role play."""
    return _IGNORED.sub(" ", _QUOTATION.sub(f" {QUOTATION} ", _PASTED.sub(" ", _shortened(text))))


def _shortened(text: str) -> str:
    """The text, or the beginning and the end of a long one."""
    return text if len(text) <= 2 * _END_CHARS else f"{text[:_END_CHARS]}\n{text[-_END_CHARS:]}"


def _addressed(own_words: str) -> bool:
    """Whether the message addresses a person by name; "Ana and I want to know …" does not."""
    mention = _MENTION.search(own_words)
    if mention is None:
        return True
    is_aside = _ASIDE.search(own_words[: mention.start()].casefold()) is not None
    return not is_aside and own_words[mention.end() :].split()[:1] not in (["and"], ["e"])


def _sentence(raw: str, questioned: bool, previous: str) -> Verdict:
    """The verdict on one sentence. `questioned`: it ends in a question mark; `previous`: the words of the sentence
    before it, as `plain`.
    """
    sentence = plain(raw)
    statement = _without_opening(sentence)
    parts = [_without_opening(plain(clause)) for clause in _CLAUSE.split(raw)]
    if questioned and (words.TAG.fullmatch(sentence) or words.TAG.fullmatch(statement)):
        return "unsure" if previous.count(" ") > 2 else "no"
    yes_or_no = sentence.endswith(words.YES_OR_NO)
    if not statement or (not yes_or_no and any(map(words.CHATTER.fullmatch, (statement, parts[-1])))):
        return "no"
    clauses = [statement, *(part for part in parts if part and not words.CHATTER.fullmatch(part))]
    if words.FOR_ANYBODY.search(statement):
        return "yes"
    # The text to work on comes after a colon.
    request = _without_opening(plain(raw.partition(":")[0])) if words.REQUEST.match(statement) else statement
    social = words.SOCIAL.search(request) is not None and words.TAUGHT.search(request) is None
    if (
        social
        or _NAMED.match(raw)
        or words.TO_A_PERSON.search(statement)
        or any(map(words.SMALL_TALK.match, clauses))
    ):
        return "no"
    if yes_or_no or words.ANNOUNCED.match(sentence) or words.EITHER.search(statement):
        return "yes"
    shapes = (words.REQUEST, words.NEED, words.INTERROGATIVE)
    if any(shape.match(clause) for clause in clauses for shape in shapes):
        return "likely"
    if (words.SOUGHT.match(statement) or words.GOES_ON.match(sentence)) and not words.STATES.search(
        statement
    ):
        return "likely"
    if words.IN_THE_MIDDLE.search(statement) and (questioned or _CONDITION.match(statement)):
        return "likely"
    if words.IN_PLACE.match(statement) or words.ASKED_FOR.match(sentence):
        return "likely"
    stated = words.STATED.fullmatch(statement) is not None
    if stated and " ou " in statement:
        return "likely"
    return "unsure" if questioned or stated else "no"


def _without_opening(sentence: str) -> str:
    """The words without greetings and fillers at their beginning."""
    while sentence and (match := words.OPENING.match(sentence)) is not None:
        sentence = sentence[match.end() :].lstrip()
    return sentence
