"""A branch that is folded from its parent in memory is the one that its nodes make."""

from __future__ import annotations

from bot.works.story.log.nodes import Part
from bot.works.story.log.story import cut_at, folded
from tests.works.story.tale import Tale


def test_a_branch_made_in_memory_is_the_one_that_its_log_makes() -> None:
    tale = Tale()
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver"}})
    turns = [tale.turn(f"I do thing {n}.", f"Scene {n}.") for n in range(6)]
    tale.add("scene", {"text": "Another version.", "at": 3}, turns[2])
    tale.add("corrected", {"character": "Mira", "field": "where", "value": "below"}, turns[2])
    tale.add("extracted", {"scene": tale.nodes[-1].id, "summary": "It happens."}, turns[4])
    tale.add("head", {}, turns[4])
    parent = tale.story
    for turn in (*turns[:5], ""):
        cut, until = cut_at(parent, turn), parent.seq
        assert parent.shared_at <= cut or turn == "", "nothing was set behind the cut"
        if parent.shared_at <= cut:
            parts = [Part("main", until=until, cut=cut, turn=turn), Part("aside")]
            assert parent.branched(turn) == folded(parts, tale.nodes)
    branch, same = parent.branched(turns[3]), parent.branched(turns[3])
    count = len(tale.nodes)
    tale.add("choices", {"scene": parent.turns[turns[1]].scenes[0].id, "choices": ["Go."]}, turns[1])
    tale.add("scene", {"text": "One more.", "at": 3}, turns[1])
    tale.add("act", {"mode": "act", "text": "In other words.", "name": "Ana"}, turns[0])
    tale.add("cast", {"name": "Bo", "sheet": {"about": "a thief"}})
    tale.turn("I go on.", "And on.")
    for node in tale.nodes[count:]:
        parent.add(node)
    assert branch == same, "what comes later on the parent is not the branch's"
    assert parent.turns[turns[1]] != branch.turns[turns[1]]
    assert branch.turns[turns[2]] is parent.turns[turns[2]], "a turn is copied once one of them changes it"
    tale.add("scene", {"text": "Of the branch.", "at": 3}, turns[2])
    branch.add(tale.nodes[-1])
    for story in (parent, same):
        assert [scene.text for scene in story.turns[turns[2]].scenes] == ["Scene 2.", "Another version."]
