"""A turn as pieces that are found by themselves: what a person wrote, and the paragraphs of the scene after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bot.speech.sentences import Sentences
from bot.works.story.memory.index import About, Piece

if TYPE_CHECKING:
    from bot.works.story.log import Story, Turn

LONGEST, SHORTEST = 600, 150
"""Characters of a paragraph that is cut at its sentences, and of one that goes with the next."""

BEFORE, BEFORE_CHARS = 3, 500
"""Turns of a chat log that a vector is made with besides its own, and how much of them."""

_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n\s*")


def nodes_of(turn: Turn) -> list[str]:
    """The nodes that have pieces, in order: the wording and the version that count, and nothing that was withdrawn."""
    act, scene = turn.act, turn.scene
    nodes = [act.id] if act.text else []
    if scene is not None and scene.text:
        nodes.append(scene.id)
    return nodes


def about(turn: Turn, chapter: str = "") -> About:
    """When a turn is: the date that a chat log has for it, else its chapter, else the day on which it was played.

    And where, as soon as that has been found in the version that counts.
    """
    found = turn.extracted
    when = turn.act.when or chapter or ("" if turn.act.label else f"{turn.made:%Y-%m-%d}")
    return when, found.place if found is not None else ""


def pieces_of(turn: Turn, chapter: str = "") -> dict[str, list[Piece]]:
    """By their nodes (`nodes_of`). What a node's pieces say never changes; what they are `about` may be found later."""
    act, scene, (when, place) = turn.act, turn.scene, about(turn, chapter)
    by_node: dict[str, list[Piece]] = {}
    if act.text:
        by_node[act.id] = [Piece(act.character or act.name, act.text, when, place)]
    if scene is not None and scene.text:
        parts = paragraphs(scene.text)
        by_node[scene.id] = [Piece(act.speaker, paragraph, when, place) for paragraph in parts]
    return by_node


def noted(turn: Turn, chapter: str = "") -> tuple[str, list[Piece]]:
    """What a small model has found in the version that counts, by the node that keeps it; "" for nothing found yet.

    They are found by themselves too, and speak for the whole turn: its summary, what happened, what is remembered.
    """
    found = turn.extracted
    if found is None or (turn.scene is None and turn.act.withdrawn):
        return "", []
    when, place = about(turn, chapter)
    when = found.time or when
    pieces = [Piece("", text, when, place) for text in (found.summary, *found.events) if text]
    pieces += [Piece(one.character, one.text, when, place) for one in found.memories]
    return found.id, pieces


def noted_at(turn: Turn, at: int) -> list[int]:
    """The places of the turns for which the pieces of `noted` speak, one for each; the turn's own is `at`.

    Of a stretch of a chat log each is of the line that told it, and the summary of the last one.
    """
    found = turn.extracted
    if found is None:
        return []
    back = iter([*found.lines, *[0] * (len(found.events) + len(found.memories))])
    events = [max(0, at - max(0, lines)) for text, lines in zip(found.events, back, strict=False) if text]
    memories = [max(0, at - max(0, lines)) for _, lines in zip(found.memories, back, strict=False)]
    return [*([at] if found.summary else []), *events, *memories]


def embedded(story: Story, path: Sequence[str], at: int, chapter: str = "") -> dict[str, list[str]]:
    """What the vectors of the turn `path[at]` are made of, by their nodes: its pieces, and what was found in it.

    They are made once, of what is known by then of its chapter and place.

    A line of a chat log ("Yes, last summer!") is read with those just before it in its scene, since by itself it may
    say of nothing what it is about.
    """
    turn = story.turns[path[at]]
    found, pieces = noted(turn, chapter)
    texts = {node: [piece.prefixed for piece in made] for node, made in pieces_of(turn, chapter).items()}
    if turn.act.group and turn.act.id in texts:
        before = "\n".join(_said_before(story, path, at))[-BEFORE_CHARS:]
        texts[turn.act.id] = [f"{before}\n{text}" if before else text for text in texts[turn.act.id]]
    return texts | ({found: [piece.prefixed for piece in pieces]} if pieces else {})


def _said_before(story: Story, path: Sequence[str], at: int) -> Iterator[str]:
    """None of what somebody here has worded: these words may be withdrawn, and a vector says whose it is but once."""
    group = story.turns[path[at]].act.group
    for turn in path[max(0, at - BEFORE) : at]:
        act = story.turns[turn].act
        if act.group == group and act.text and not act.author and act.id not in story.forgotten:
            yield f"{act.name}: {act.text}"


def paragraphs(text: str) -> list[str]:
    """A scene cut at its empty lines: long paragraphs at their sentences too, and short ones put together."""
    cut: list[str] = []
    for part in _sentences(text):
        if cut and (len(cut[-1]) < SHORTEST or len(cut[-1]) + len(part) < LONGEST // 2):
            cut[-1] = f"{cut[-1]}\n{part}"
        else:
            cut.append(part)
    return cut


def _sentences(text: str) -> Iterator[str]:
    """Paragraphs, and of those that are too long runs of sentences."""
    for paragraph in filter(None, map(str.strip, _EMPTY_LINE.split(text))):
        if len(paragraph) <= LONGEST:
            yield paragraph
            continue
        splitter, run = Sentences(), ""
        for sentence in [*splitter.feed(paragraph), *splitter.end()]:
            if run and len(run) + len(sentence) > LONGEST:
                yield run
                run = ""
            run = f"{run} {sentence}" if run else sentence
        if run:
            yield run
