"""The story so far for a prompt, in tiers: scenes, stretches of ten scenes, chapters of five stretches, and wholes.

A summary counts wherever its source texts are part of the story, on any branch and after undo and redo. Where there is
none yet, the most informative sentences take its place. The same story always gives the same text.
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

STRETCH = 10
"""The number of scenes in a stretch."""
FAN = 5
"""The number of parts in a part of a higher tier."""
CHARS: Final = (300, 500, 700, 900)
"""The maximum length, in characters, of the text of a scene, a stretch, a chapter and a whole."""
LATEST: Final = 2
"""How many of the last turns are not summed up, since they may still be undone or rewritten."""
TOKENS: Final = 1_500
"""The maximum tokens of the story so far in a prompt."""

_SENTENCE = re.compile(r"(?<=[.!?…])[\"”»’]?\s+")
_NAME = re.compile(r"(?<=[^.!?…\s\"“«—–]\s)[^\W\d_a-zà-ÿ][^\W\d_]+")
_WORD = re.compile(r"[^\W_]{4,}")


@dataclass(frozen=True, slots=True)
class Part:
    """The text that represents `turns` turns from the index `first` on.

    `sources` are the nodes from which it is made. `node` is the summary's node, "" for none; if `quoted`, the text
    consists of sentences from the scenes.
    """

    first: int
    turns: int
    text: str
    sources: tuple[str, ...]
    node: str = ""
    quoted: bool = False
    needs_summary: bool = False

    @property
    def ids_above(self) -> tuple[str, ...]:
        """What this part adds to the `sources` of the part above it."""
        return (self.node,) if self.node else self.sources


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
    _summed_lines: set[int] = field(default_factory=set)
    """The indexes of the lines of a chat log that a later line's extraction includes."""

    def __post_init__(self) -> None:
        for at, turn in enumerate(self.turns):
            if turn.extracted_from_text is not None and turn.extracted_from_text.turns > 1:
                self._summed_lines.update(range(at - turn.extracted_from_text.turns + 1, at))

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

    def missing_summaries(self) -> Iterator[tuple[int, Part]]:
        """The parts whose summary can be made now, since the parts below them need none, each with its tier."""
        until, tier = len(self.turns) - LATEST, 1
        while size(tier) <= until:
            for first in range(0, until - size(tier) + 1, size(tier)):
                if (part := self.part(tier, first)).needs_summary and not any(
                    below.needs_summary for below in self._below(tier, first)
                ):
                    yield tier, part
            tier += 1

    def parts_below(self, tier: int, first: int) -> list[Part]:
        return [part for part in self._below(tier, first) if part.text]

    def _below(self, tier: int, first: int) -> list[Part]:
        step = size(tier - 1)
        return [self.part(tier - 1, at) for at in range(first, first + size(tier), step)]

    def _part(self, tier: int, first: int) -> Part:
        parts = self._below(tier, first)
        sources = tuple(id for part in parts for id in part.ids_above)
        if (summary := self.story.summaries.get(sources)) is not None:
            return Part(first, size(tier), summary.text, sources, summary.id)
        texts, chars = [part.text for part in parts if part.text], most_chars(tier)
        quoted = any(part.quoted for part in parts)
        summed = any(part.text and not part.quoted for part in parts) or any(
            part.needs_summary for part in parts
        )
        if sum(map(len, texts)) <= chars:  # too short to be summed up
            lacking = any(part.needs_summary for part in parts)
            return Part(first, size(tier), " ".join(texts), sources, quoted=quoted, needs_summary=lacking)
        return Part(
            first,
            size(tier),
            _best_sentences(tuple(texts), chars),
            sources,
            quoted=True,
            needs_summary=summed,
        )

    def _scene(self, at: int) -> Part:
        turn, forgotten = self.turns[at], self.story.forgotten
        act, scene, extracted = turn.act, turn.scene, turn.extracted
        sources = tuple(
            id
            for id, text in ((act.id, act.text), (scene.id, scene.text) if scene is not None else ("", ""))
            if text
        )
        first_line = at - extracted.turns + 1 if extracted is not None else at
        lines = [line.act.id for line in self.turns[max(0, first_line) : at]]
        if turn.id in self.story.hidden or not forgotten.isdisjoint((*sources, *lines)):
            return Part(at, 1, "", ())
        if sources and (summary := self.story.summaries.get(sources)) is not None:
            return Part(at, 1, summary.text, sources, summary.id)
        if extracted is not None and extracted.summary:
            return Part(at, 1, extracted.summary, sources)
        if scene is None:
            is_line = act.text and act.label and at not in self._summed_lines
            line = f"{act.name}: {act.text}" if is_line else ""
            return Part(at, 1, line[: CHARS[0]], sources, quoted=bool(line))
        unread = scene.extracted is None and not scene.failed
        return Part(at, 1, _best_sentence(scene.text), sources, quoted=True, needs_summary=unread)


def as_prompt(story: Story, turns: Sequence[Turn], until: int, tokens: int) -> str:
    """The first `until` turns for the writer, in at most `tokens` tokens; "" for none."""
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
    text = _tagged(parts, 1.0)
    while (needed := text_tokens(text)) > tokens and parts:
        shorter = _tagged(parts, tokens / needed)
        parts, text = (parts[1:], text) if shorter == text else (parts, shorter)
        if text_tokens(text) > tokens:
            parts = parts[1:]
            text = _tagged(parts, tokens / needed)
    story.cache[__name__] = story.seq, until, tokens, story.summary_seq, text
    return text


def _tagged(parts: Sequence[Part], share: float) -> str:
    """The parts in tags for the writer, each text cut to this share of its length."""
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
def _best_sentence(text: str) -> str:
    """The sentence of a scene with the highest `_score`."""
    return max(_sentences(text), key=_score, default="")[: CHARS[0]]


@cached(4_000_000)
def _best_sentences(texts: tuple[str, ...], chars: int) -> str:
    """The sentences with the highest `_score`, in their order, in at most `chars` characters."""
    sentences = [sentence for text in texts for sentence in _sentences(text)]
    chosen, left = list[int](), chars
    for at in sorted(range(len(sentences)), key=lambda at: (-_score(sentences[at]), at)):
        if len(sentences[at]) < left:
            chosen.append(at)
            left -= len(sentences[at]) + 1
    return " ".join(sentences[at] for at in sorted(chosen)) or sentences[0][:chars]


def _sentences(text: str) -> list[str]:
    return [sentence for part in _SENTENCE.split(text) if (sentence := " ".join(part.split()))]


def _score(sentence: str) -> float:
    """How informative a sentence is: names and numbers count most; beyond 200 characters, length counts against it."""
    names = len(set(_NAME.findall(sentence)))
    words = len(set(_WORD.findall(sentence)))
    return (3 * names + min(words, 14) + 2 * any(map(str.isdigit, sentence))) / max(1.0, len(sentence) / 200)
