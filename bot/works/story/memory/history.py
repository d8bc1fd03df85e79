"""A branch's pieces in order, with their turns; built from the branch's turns, and extended with each new one."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import ref

from bot.works.story.memory.branch import BranchPieces
from bot.works.story.memory.index import Pieces
from bot.works.story.memory.pieces import (
    described_turns,
    extracted_pieces,
    nodes_of,
    pieces_of,
    time_and_place,
)
from bot.works.story.world import state

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.log.story import Story


@dataclass(frozen=True, slots=True)
class History:
    """A branch's pieces in order, as `story` was at the node `seq`.

    `turns` are the ids of the branch's turns, `turn_of` the index of each piece's turn, `scenes` the numbers of a chat
    log's scenes by name. `noted` are the pieces extracted from turns; `noted_of` has the index of the turn from which
    each was extracted, `noted_for` that of the turn that it describes.
    """

    story: ref[Story]
    seq: int
    pieces: BranchPieces
    turns: list[str]
    turn_of: NDArray[np.int32]
    scenes: dict[str, int]
    noted: BranchPieces
    noted_of: NDArray[np.int32]
    noted_for: NDArray[np.int32]
    chapters: list[tuple[int, str]]
    """The result of `state.chapter_titles`."""


def build(
    index: Pieces, before: History | None, unchanged: int, story: Story, path: list[str], seq: int
) -> History:
    """The history of the turns of the path; that of the first `unchanged` ones is copied from `before`."""
    import numpy as np

    main_row, noted_row, noted_for = _Row(), _Row(), array("i")
    scene_numbers: dict[str, int] = {}
    if before is not None and unchanged:
        main_row.copy(before.pieces, before.turn_of, unchanged)
        noted_row.copy(before.noted, before.noted_of, unchanged)
        noted_for.frombytes(before.noted_for[: len(noted_row.numbers)].tobytes())
        scene_numbers = before.scenes
    scene = max(main_row.scenes, default=-1)
    scene_numbers = {name: number for name, number in scene_numbers.items() if number <= scene}
    chapters = state.chapter_titles(story, path)
    for at in range(unchanged, len(path)):
        turn, own, chapter = story.turns[path[at]], list[int](), state.title_at(chapters, at)
        place_and_time = time_and_place(turn, chapter)
        nodes = [node for node in nodes_of(turn) if node not in story.forgotten]
        if any(index.of(node, place_and_time) is None for node in nodes):
            for node, parts in pieces_of(turn, chapter).items():
                index.add(node, parts)
        for node in nodes:
            own.extend(index.of(node, place_and_time) or ())
        if own:
            group = turn.act.group
            number = scene_numbers.setdefault(group, scene + 1) if group else scene + 1
            scene = max(scene, number)
            main_row.add(own, number, at)
            if nodes_of(turn)[-1] in nodes:  # otherwise its node is forgotten
                source, parts = extracted_pieces(turn, chapter)
                places, turns = (
                    (described_turns(turn, at), turn.extracted.turns) if turn.extracted and parts else ([], 1)
                )
                # Leave out what was extracted from a forgotten line, and a summary that includes one.
                lost = {
                    place for place in range(max(0, at - turns + 1), at) if _is_forgotten(story, path[place])
                }
                entries = [
                    (piece, place)
                    for piece, place in zip(index.add(source, parts) if parts else (), places, strict=True)
                    if not (place in lost or (place == at and lost))
                ]
                noted_row.add([piece for piece, _ in entries], number, at)
                noted_for.extend(place for _, place in entries)
    turn_of, noted_of = (np.array(row.turns, dtype=np.int32) for row in (main_row, noted_row))
    for_turns = np.array(noted_for, dtype=np.int32)
    pieces = main_row.of(index)
    if np.array_equal(turn_of, pieces.scenes):  # nearly always true except in a chat log
        turn_of = pieces.scenes
    fields = pieces, path, turn_of, scene_numbers, noted_row.of(index), noted_of, for_turns
    return History(ref(story), seq, *fields, chapters)


def _is_forgotten(story: Story, turn: str) -> bool:
    return story.turns[turn].act.id in story.forgotten


@dataclass(slots=True)
class _Row:
    """Columns of pieces while they are collected: their numbers, scenes and turns."""

    numbers: array[int] = field(default_factory=lambda: array("i"))
    scenes: array[int] = field(default_factory=lambda: array("i"))
    turns: array[int] = field(default_factory=lambda: array("i"))

    def copy(self, branch: BranchPieces, turn_of: NDArray[np.int32], unchanged: int) -> None:
        """Copy the pieces of the first `unchanged` turns."""
        pieces = int(turn_of.searchsorted(unchanged))
        for new, old in ((self.numbers, branch.numbers), (self.scenes, branch.scenes), (self.turns, turn_of)):
            new.frombytes(old[:pieces].tobytes())

    def add(self, pieces: Sequence[int], scene: int, turn: int) -> None:
        self.numbers.extend(pieces)
        self.scenes.extend([scene] * len(pieces))
        self.turns.extend([turn] * len(pieces))

    def of(self, index: Pieces) -> BranchPieces:
        return BranchPieces(index, self.numbers, self.scenes)
