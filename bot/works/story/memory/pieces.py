"""Splits a turn into the pieces that are indexed: what a person wrote, and the paragraphs of the scene after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bot.speech.sentences import Sentences
from bot.text_cache import cached
from bot.works.story.memory.index import About, Piece

if TYPE_CHECKING:
    from bot.works.story.log.story import Story
    from bot.works.story.log.turn import Turn

LONGEST, SHORTEST = 600, 150
"""In characters: a longer paragraph is split between sentences, a shorter one is joined to the next."""

BEFORE, BEFORE_CHARS = 3, 500
"""How many earlier turns of a chat log, and how many characters of them, a line's vector includes."""

MOST_SENTENCES = 255
"""The maximum number of sentences in a piece: the number is stored in a byte."""

_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n\s*")


def nodes_of(turn: Turn) -> list[str]:
    """The nodes with pieces, in order: the wording and the version that count, without withdrawn ones."""
    act, scene = turn.act, turn.scene
    nodes = [act.id] if act.text else []
    if scene is not None and scene.text:
        nodes.append(scene.id)
    return nodes


def time_and_place(turn: Turn, chapter: str = "") -> About:
    """The time of a turn (the date in a chat log, the chapter, or the day on which it was played), and its place."""
    extracted = turn.extracted
    when = turn.act.when or chapter or ("" if turn.act.label else f"{turn.created_at:%Y-%m-%d}")
    return when, extracted.place if extracted is not None else ""


def pieces_of(turn: Turn, chapter: str = "") -> dict[str, list[Piece]]:
    """The pieces by node (`nodes_of`). Their texts never change; their `time_and_place` may become known later."""
    act, scene, (when, place) = turn.act, turn.scene, time_and_place(turn, chapter)
    by_node: dict[str, list[Piece]] = {}
    if act.text:
        by_node[act.id] = [Piece(act.character or act.name, act.text, when, place)]
    if scene is not None and scene.text:
        parts = paragraphs(scene.text)
        by_node[scene.id] = [Piece(act.speaker, paragraph, when, place) for paragraph in parts]
    return by_node


def extracted_pieces(turn: Turn, chapter: str = "") -> tuple[str, list[Piece]]:
    """The node of the turn's extraction, "" for none, and its summary, events and memories as pieces.

    These pieces are searched like others, and also count for the whole turn.
    """
    extracted = turn.extracted
    if extracted is None or (turn.scene is None and turn.act.withdrawn):
        return "", []
    when, place = time_and_place(turn, chapter)
    when = extracted.time or when
    pieces = [Piece("", text, when, place) for text in (extracted.summary, *extracted.events) if text]
    pieces += [Piece(memory.character, memory.text, when, place) for memory in extracted.memories]
    return extracted.id, pieces


def described_turns(turn: Turn, at: int) -> list[int]:
    """For each of `extracted_pieces`, the index of the turn that it describes; the turn itself has the index `at`.

    In a stretch of a chat log each piece describes the line that it was extracted from, and the summary the last line.
    """
    extracted = turn.extracted
    if extracted is None:
        return []
    back = iter([*extracted.lines, *[0] * (len(extracted.events) + len(extracted.memories))])
    events = [max(0, at - max(0, lines)) for text, lines in zip(extracted.events, back, strict=False) if text]
    memories = [max(0, at - max(0, lines)) for _, lines in zip(extracted.memories, back, strict=False)]
    return [*([at] if extracted.summary else []), *events, *memories]


def texts_to_embed(
    story: Story, path: Sequence[str], at: int, chapter: str = ""
) -> dict[str, list[list[str]]]:
    """The texts to embed for the turn `path[at]`, by node, for each piece and each extracted piece.

    A piece is found by its best sentence, so each sentence has a vector. A line of a chat log ("Yes, last summer!") may
    not say what it is about: its vector is the mean of the line's and of the line's with the lines before it.
    """
    turn = story.turns[path[at]]
    source, pieces = extracted_pieces(turn, chapter)
    by_node = pieces_of(turn, chapter) | ({source: pieces} if pieces else {})
    if not turn.act.group:
        return {node: [sentences(piece.text) for piece in pieces] for node, pieces in by_node.items()}
    texts = {node: [[piece.prefixed] for piece in pieces] for node, pieces in by_node.items()}
    if turn.act.id in texts:
        before = "\n".join(_lines_before(story, path, at))[-BEFORE_CHARS:]
        texts[turn.act.id] = [
            [Piece(piece.speaker, piece.text).prefixed, "\n".join(filter(None, (before, piece.prefixed)))]
            for piece in by_node[turn.act.id]
        ]
    return texts


def sentences(text: str) -> list[str]:
    """The sentences of a piece, at least one; those after MOST_SENTENCES are left out."""
    splitter = Sentences()
    return [*splitter.feed(text), *splitter.end()][:MOST_SENTENCES] or [text]


def _lines_before(story: Story, path: Sequence[str], at: int) -> Iterator[str]:
    """Lines before this one in its scene. Lines that a person wrote here are left out, since a vector has one author,
    who may withdraw it.
    """
    group = story.turns[path[at]].act.group
    for turn in path[max(0, at - BEFORE) : at]:
        act = story.turns[turn].act
        if act.group == group and act.text and not act.author and act.id not in story.forgotten:
            yield f"{act.name}: {act.text}"


@cached(200_000)  # a turn's search and its excerpts split the same scenes
def paragraphs(text: str) -> tuple[str, ...]:
    """A scene's paragraphs; long ones split between sentences, short ones joined."""
    cut: list[str] = []
    for part in _sentences(text):
        if cut and (len(cut[-1]) < SHORTEST or len(cut[-1]) + len(part) < LONGEST // 2):
            cut[-1] = f"{cut[-1]}\n{part}"
        else:
            cut.append(part)
    return tuple(cut)


def _sentences(text: str) -> Iterator[str]:
    """The paragraphs; those that are too long are split into runs of sentences."""
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
