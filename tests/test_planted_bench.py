"""The benchmark's story with planted facts: each fact was told a hundred scenes before it is asked for, on
its branch.
"""

from __future__ import annotations

from benchmarks.memory import STANDARD
from benchmarks.planted import NAME, Bench
from benchmarks.planted_story import FACTS, FORK, SCENES, planted


def test_each_fact_is_in_one_scene_a_hundred_scenes_before_the_end() -> None:
    assert len(FACTS) == 64
    for fact in FACTS:
        assert fact.holds in fact.text
        assert fact.turn != fact.turn_pt
    for name, branch in planted().items():
        turns = branch.story.current_turns
        assert len(turns) == SCENES
        for fact, id in branch.facts:
            holding = [turn for turn in turns if turn.scene is not None and fact.text in turn.scene.text]
            assert [turn.id for turn in holding] == [id]
            assert turns.index(holding[0]) < SCENES - 100
            assert fact.branch in ("", name)


def test_branches_share_scenes_only_up_to_the_fork() -> None:
    main, other = (branch.story.path for branch in planted().values())
    assert main[:FORK] == other[:FORK]
    assert not set(main[FORK:]) & set(other[FORK:])


async def test_facts_are_found_by_their_names_and_on_their_own_branch() -> None:
    found = await Bench(None).found(STANDARD, NAME)
    assert len(found) == 64
    assert sum(found.values()) >= 54
