"""Finds by rules what a small model would find in a chat and in a question, without knowing the answers.

`events` sees one scene, `parts` one query. Dates are resolved against the day on which the scene was told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from bot.retrieval.language import FUNCTION_WORDS
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold
from bot.works.story.log.turn import Turn

if TYPE_CHECKING:
    from bot.works.story.log.nodes import Node
    from storage.stories import NodeRow

EVENTS, SCENE_EVENTS = 3, 6
"""Sentences of a turn, and of a scene of prose, that are kept as events."""
WORDS = 5
"""The fewest words of a sentence that counts as an event."""

_MONTHS = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_DAY = re.compile(r"(\d{1,2}) (" + "|".join(_MONTHS) + r"),? (\d{4})", re.I)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\s*\[|\]\s*")
_RELATIVE = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|this morning|(?:last|next|this) (?:night|week|weekend|month|year|summer|"
    + "|".join(_DAYS)
    + r")|(?:on )?(?:"
    + "|".join(_DAYS)
    + r")|(?:a|one|two|three|few|a few|\d+) (?:day|week|month|year)s? ago)\b",
    re.I,
)
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "few": 3, "a few": 3}
_SAID_BY = ((r"\bI'm\b", "{me} is"), (r"\bI've\b", "{me} has"), (r"\bI'll\b", "{me} will"), (r"\bI'd\b", "{me} would"),
            (r"\bI\b", "{me}"), (r"\b(?:my|mine)\b", "{me}'s"), (r"\b(?:me|myself)\b", "{me}"),
            (r"\byou're\b", "{other} is"), (r"\byou\b", "{other}"), (r"\byours?\b", "{other}'s"))  # fmt: skip
_BREAK = re.compile(r"[^\w'’-]+")


def events(turns: Sequence[Turn]) -> dict[str, list[str]]:
    """The events of each turn of a scene, by id: who, what and when, each in an independent sentence.

    A short answer comes with the question that it answers.
    """
    names = list(dict.fromkeys(turn.act.name for turn in turns))
    events_by_turn: dict[str, list[str]] = {}
    open_question = ""
    for turn in turns:
        me = turn.act.name
        other_name = next((name for name in names if name != me), "")
        sentences = [sentence.strip() for sentence in _SENTENCE.split(turn.act.text) if sentence.strip()]
        statements = [
            sentence
            for sentence in sentences
            if not sentence.endswith("?") and len(sentence.split()) >= WORDS
        ]
        statements.sort(key=lambda sentence: -_weight(sentence, names))
        texts = [
            _resolved(_by_name(sentence, me, other_name), turn.act.when) for sentence in statements[:EVENTS]
        ]
        if open_question and sentences:
            texts = [
                f"{open_question} {sentence}"
                for sentence in texts[:1] or [_by_name(sentences[0], me, other_name)]
            ] + texts[1:]
        events_by_turn[turn.id] = texts
        questions = [
            sentence
            for sentence in sentences
            if sentence.endswith("?") and len(sentence.split()) >= WORDS - 1
        ]
        open_question = _by_name(questions[-1], me, other_name) if questions else ""
    return events_by_turn


def tells(text: str, names: Sequence[str]) -> list[str]:
    """The most telling sentences of a prose scene."""
    sentences = [sentence.strip() for sentence in _SENTENCE.split(text) if len(sentence.split()) >= WORDS]
    return sorted(sentences, key=lambda sentence: -_weight(sentence, names))[:SCENE_EVENTS]


def parts(query: str, most: int = 6) -> tuple[str, ...]:
    """The subjects of a query: runs of its words between function words."""
    runs: list[list[str]] = [[]]
    idle = FUNCTION_WORDS["en"] | {"did", "do", "does", "when", "what", "where", "who", "why", "how", "many"}
    for word in _BREAK.split(query):
        if not word or re.sub(r"['’]s$", "", word).casefold() in idle:
            runs.append([])
        elif word[0].isupper() and runs[-1] and not runs[-1][-1][0].isupper():
            runs.append([word])
        else:
            runs[-1].append(word)
    return tuple(dict.fromkeys(" ".join(run) for run in runs if run))[:most]


def looked_into(story: Story, nodes: Sequence[NodeRow]) -> Story:
    """The story of a chat log with the extractor's notes on its turns."""
    scenes: dict[str, list[Turn]] = {}
    for turn in story.current_turns:
        scenes.setdefault(turn.act.group or turn.id, []).append(turn)
    texts_by_turn = {
        turn: texts for scene in scenes.values() for turn, texts in events(scene).items() if texts
    }
    return fold([Part(nodes[0].branch_id)], [*nodes, *_noted(nodes, texts_by_turn)])


def _noted(nodes: Sequence[NodeRow], texts_by_turn: dict[str, list[str]]) -> Iterator[Node]:
    last = nodes[-1].seq
    for number, node in enumerate(nodes, 1):
        if node.kind == "act" and node.turn in texts_by_turn:
            body = json.dumps({"scene": node.id, "events": texts_by_turn[node.turn]})
            yield replace(node, seq=last + number, id=f"{node.id}/found", kind="extracted", body=body)


def _by_name(sentence: str, me: str, other_name: str) -> str:
    """The text with the speakers' names in place of "I" and "you"."""
    for pattern, name in _SAID_BY:
        sentence = re.sub(pattern, name.format(me=me, other=other_name or "you"), sentence, flags=re.I)
    return sentence if me in sentence else f"{me}: {sentence}"


def _weight(sentence: str, names: Sequence[str]) -> int:
    """How telling a sentence is: names, numbers, days, and words other than function words."""
    words: list[str] = re.findall(r"\w+", sentence)
    named = sum(word[0].isupper() and word not in names for word in words[1:])
    content = sum(word.casefold() not in FUNCTION_WORDS["en"] for word in words)
    numbers, days = sum(word.isdigit() for word in words), len(_RELATIVE.findall(sentence))
    return content + 2 * named + 2 * numbers + 3 * days


def _resolved(sentence: str, when: str) -> str:
    """The text with the date after words such as "last week"."""
    day = _DAY.search(when)
    if day is None:
        return sentence
    today = date(int(day[3]), _MONTHS.index(day[2].casefold()) + 1, int(day[1]))
    return _RELATIVE.sub(lambda match: f"{match[0]} ({_meant(match[0].casefold(), today)})", sentence)


def _meant(words: str, today: date) -> str:
    if words in ("today", "tonight", "this morning"):
        return _day(today)
    if words in ("yesterday", "last night"):
        return _day(today - timedelta(1))
    if words == "tomorrow":
        return _day(today + timedelta(1))
    if weekday := next((number for number, name in enumerate(_DAYS) if words.endswith(name)), None):
        forth = words.startswith(("next", "this"))
        days_apart = (
            (weekday - today.weekday()) % 7 or 7 if forth else -((today.weekday() - weekday) % 7 or 7)
        )
        return _day(today + timedelta(days_apart))
    if ago := re.fullmatch(r"(.+?) (day|week|month|year)s? ago", words):
        days = {"day": 1, "week": 7, "month": 30, "year": 365}[ago[2]]
        count = int(ago[1]) if ago[1].isdigit() else _NUMBERS[ago[1]]
        return _day(today - timedelta(min(days * count, 36_500)), exact=ago[2] in ("day", "week"))
    step = {"last": -1, "next": 1}.get(words.split()[0], 0)
    if words.endswith("year"):
        return str(today.year + step)
    if words.endswith("month"):
        return _day(today.replace(day=15) + timedelta(30 * step), exact=False)
    return _day(today + timedelta(7 * step), exact=False)


def _day(day: date, *, exact: bool = True) -> str:
    month = f"{_MONTHS[day.month - 1].capitalize()} {day.year}"
    return f"{day.day} {month}" if exact else month
