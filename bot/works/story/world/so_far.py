"""The story so far in tiers: scenes, stretches of ten, chapters of five stretches, wholes of five chapters or more.

A summary counts wherever its source texts are part of the story, on any branch and after undo and redo. Where there is
no summary yet, the most informative sentences take its place. Knows no model; the same story always gives the same
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.budget import text_tokens
from bot.text_cache import cached

if TYPE_CHECKING:
    from bot.works.story.log.story import Story
    from bot.works.story.log.turn import Turn

STRETCH, FAN = 10, 5
CHARS: Final = (300, 500, 700, 900)
"""The maximum length, in characters, of the text of a scene, a stretch, a chapter and a whole."""
LATEST: Final = 2
"""The last turns, which may still be undone or rewritten, are not summed up."""
TOKENS: Final = 1_500
"""The maximum tokens of the story so far in a prompt."""

_SENTENCE = re.compile(r"(?<=[.!?…])[\"”»’]?\s+")
_NAME = re.compile(r"(?<=[^.!?…\s\"“«—–]\s)[^\W\d_a-zà-ÿ][^\W\d_]+")
_WORD = re.compile(r"[^\W_]{4,}")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the story: `turns` turns from the index `first` on, told in one text.

    `of` are the nodes from which the text is made. `node` is the summary's node, "" for none; if `quoted`, the text
    consists of sentences from the scenes. It is `lacking` while its summary is still to be made.
    """

    first: int
    turns: int
    text: str
    of: tuple[str, ...]
    node: str = ""
    quoted: bool = False
    lacking: bool = False

    @property
    def tokens_of(self) -> tuple[str, ...]:
        """The ids that represent this part in the part above it."""
        return (self.node,) if self.node else self.of


def size(tier: int) -> int:
    """The number of turns in a part of this tier; 0 is the tier of scenes."""
    return STRETCH * FAN ** (tier - 1) if tier else 1


def most_chars(tier: int) -> int:
    return CHARS[min(tier, len(CHARS) - 1)]


@dataclass(slots=True)
class Tiers:
    """The parts of a story in its present state."""

    story: Story
    turns: Sequence[Turn]
    _parts: dict[tuple[int, int], Part] = field(default_factory=dict)
    _read: set[int] = field(default_factory=set)
    """The indexes of a chat log's lines that a later summary includes."""

    def __post_init__(self) -> None:
        for at, turn in enumerate(self.turns):
            if turn.extracted_from_text is not None and turn.extracted_from_text.turns > 1:
                self._read.update(range(at - turn.extracted_from_text.turns + 1, at))

    def part(self, tier: int, first: int) -> Part:
        if (part := self._parts.get((tier, first))) is None:
            part = self._parts[tier, first] = self._part(tier, first) if tier else self._scene(first)
        return part

    def cover(self, until: int) -> Iterator[Part]:
        """The largest parts that together make up the first `until` turns."""
        first = 0
        while first < until:
            tier = 0
            while first % size(tier + 1) == 0 and first + size(tier + 1) <= until:
                tier += 1
            yield self.part(tier, first)
            first += size(tier)

    def lacking(self) -> Iterator[tuple[int, Part]]:
        """The parts whose summary can be made, with their tiers: the parts below have theirs, and everything was
        read.
        """
        until, tier = len(self.turns) - LATEST, 1
        while size(tier) <= until:
            for first in range(0, until - size(tier) + 1, size(tier)):
                if (part := self.part(tier, first)).lacking and not any(
                    below.lacking for below in self._below(tier, first)
                ):
                    yield tier, part
            tier += 1

    def below(self, tier: int, first: int) -> list[Part]:
        return [part for part in self._below(tier, first) if part.text]

    def _below(self, tier: int, first: int) -> list[Part]:
        step = size(tier - 1)
        return [self.part(tier - 1, at) for at in range(first, first + size(tier), step)]

    def _part(self, tier: int, first: int) -> Part:
        parts = self._below(tier, first)
        of = tuple(id for part in parts for id in part.tokens_of)
        if (made := self.story.summaries.get(of)) is not None:
            return Part(first, size(tier), made.text, of, made.id)
        texts, chars = [part.text for part in parts if part.text], most_chars(tier)
        quoted = any(part.quoted for part in parts)
        summed = any(part.text and not part.quoted for part in parts) or any(part.lacking for part in parts)
        if sum(map(len, texts)) <= chars:  # too short to be summed up
            lacking = any(part.lacking for part in parts)
            return Part(first, size(tier), " ".join(texts), of, quoted=quoted, lacking=lacking)
        return Part(first, size(tier), _chosen(tuple(texts), chars), of, quoted=True, lacking=summed)

    def _scene(self, at: int) -> Part:
        turn, forgotten = self.turns[at], self.story.forgotten
        act, scene, found = turn.act, turn.scene, turn.extracted
        of = tuple(
            id
            for id, text in ((act.id, act.text), (scene.id, scene.text) if scene is not None else ("", ""))
            if text
        )
        lines = [line.act.id for line in self.turns[max(0, at - found.turns + 1) : at]] if found else []
        if turn.id in self.story.hidden or not forgotten.isdisjoint((*of, *lines)):
            return Part(at, 1, "", ())
        if of and (made := self.story.summaries.get(of)) is not None:
            return Part(at, 1, made.text, of, made.id)
        if found is not None and found.summary:
            return Part(at, 1, found.summary, of)
        if scene is None:
            told = act.text and act.label and at not in self._read
            line = f"{act.name}: {act.text}" if told else ""
            return Part(at, 1, line[: CHARS[0]], of, quoted=bool(line))
        unread = scene.extracted is None and not scene.failed
        return Part(at, 1, _best(scene.text), of, quoted=True, lacking=unread)


def as_prompt(story: Story, turns: Sequence[Turn], until: int, tokens: int) -> str:
    """The first `until` turns as the writer reads them, in at most `tokens` tokens; "" for none."""
    if until <= 0 or tokens <= 0:
        return ""
    kept = story.cache.get(__name__)
    if (
        kept is not None
        and kept[1:4] == (until, tokens, story.summary_seq)
        and story.unchanged_since(kept[0]) >= until
    ):
        return str(kept[4])
    parts = [part for part in Tiers(story, turns).cover(until) if part.text]
    text = _told(parts, 1.0)
    while (needed := text_tokens(text)) > tokens and parts:
        shorter = _told(parts, tokens / needed)
        parts, text = (parts[1:], text) if shorter == text else (parts, shorter)
        if text_tokens(text) > tokens:
            parts = parts[1:]
            text = _told(parts, tokens / needed)
    story.cache[__name__] = story.seq, until, tokens, story.summary_seq, text
    return text


def _told(parts: Sequence[Part], share: float) -> str:
    """The texts of the parts, each cut to a share of its length."""
    if not parts:
        return ""
    lines = []
    for part in parts:
        scenes = f"{part.first + 1}-{part.first + part.turns}" if part.turns > 1 else f"{part.first + 1}"
        name, text = "quoted" if part.quoted else "summary", " ".join(part.text.split())
        if len(text) > (most := int(len(text) * share)):
            text = text[:most].rsplit(" ", 1)[0] + " …"
        lines.append(f'<{name} scenes="{scenes}">{untrusted.data(text)}</{name}>')
    return "\n".join(["<story_so_far>", *lines, "</story_so_far>"])


@cached(6_000_000)
def _best(text: str) -> str:
    """The sentence of a scene with the most names and numbers."""
    return max(_sentences(text), key=_worth, default="")[: CHARS[0]]


@cached(4_000_000)
def _chosen(texts: tuple[str, ...], chars: int) -> str:
    """The sentences with the most names and numbers, in their order, in at most `chars` characters."""
    sentences = [sentence for text in texts for sentence in _sentences(text)]
    chosen, left = list[int](), chars
    for at in sorted(range(len(sentences)), key=lambda at: (-_worth(sentences[at]), at)):
        if len(sentences[at]) < left:
            chosen.append(at)
            left -= len(sentences[at]) + 1
    return " ".join(sentences[at] for at in sorted(chosen)) or sentences[0][:chars]


def _sentences(text: str) -> list[str]:
    return [sentence for part in _SENTENCE.split(text) if (sentence := " ".join(part.split()))]


def _worth(sentence: str) -> float:
    """The value of a sentence: names and numbers count most; length counts a little, but takes room from others."""
    names = len(set(_NAME.findall(sentence)))
    words = len(set(_WORD.findall(sentence)))
    return (3 * names + min(words, 14) + 2 * any(map(str.isdigit, sentence))) / max(1.0, len(sentence) / 200)
