"""A story's arc: proposed, edited by people, told to the writer, and reached by a scene."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.works.story.log.turn import Milestone
from bot.works.story.turn.turn_plan import parts
from bot.works.story.world.arc import CHARS, MOST, as_text, current, read
from bot.works.story.world.arc_verb import arc_nodes
from tests.fakes.reply import Reply
from tests.works.story.extractor import Service, looked_into, playing
from tests.works.story.tale import Tale, prose
from tests.works.story.test_party import begin
from tests.works.story.test_safety import asks
from tests.works.story.test_to_come import ALONE, in_public, told
from tests.works.story.test_whole_prompt import taken
from tests.works.story.writer import START, choices, last, texts
from tests.works.story.writer import playing as playing_without

PROPOSED = "Here is the arc:\nact 1: [x] The door is found.\nact 2: Bo is lost.\nact 3: The door is shut."
TYPED = "/story arc the door is found | the lamp fails; Bo is lost | the door is shut"


async def test_an_arc_is_proposed_followed_and_reached(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        await looked_into(talk, 1)
        offered = choices(await talk.say("/story arc"))
        assert [choice["command"] for choice in offered] == ["/story arc --write 8"]
        service.next.append(Reply(pieces=[PROPOSED]))
        proposed = await talk.say("/story arc --write 8 a tragedy")
        assert "a tragedy" in last(service.asked[-1])
        assert "☑ **1.** The door is found." in texts(proposed)
        assert "☐ **2.** Bo is lost." in texts(proposed)
        (change,) = choices(proposed)
        assert change["filled"] == (
            "Act 1\n- The door is found.\nAct 2\n- Bo is lost.\nAct 3\n- The door is shut."
        )

        service.finds(key_events=[{"number": 1, "happened": True}])
        await talk.say("I call for Bo.")
        scene = service.scenes[-1]
        assert "<arc>act 2 of 3, heading for: Bo is lost.</arc>" in last(scene)
        assert "Bo is lost" not in str(scene["messages"][:-1]), "changes come last"
        offered_ways = next(asked for asked in reversed(service.asked) if "offer the players" in last(asked))
        assert "<milestones>\n- Bo is lost.\n</milestones>" in last(offered_ways)
        await looked_into(talk, 2)
        assert "1. Bo is lost." in last(service.extracted[-1])
        assert "☑ **2.** Bo is lost." in texts(await talk.say("/story arc"))
        await talk.say("/story undo")
        assert "☐ **2.** Bo is lost." in texts(await talk.say("/story arc"))
        await talk.say("/story redo")
        await talk.say("/story arc 3: the door swallows the sea")
        await talk.say("/story arc 2: no")
        shown = texts(await talk.say("/story arc"))
        assert "☐ **2.** Bo is lost." in shown
        assert "☐ **3.** the door swallows the sea" in shown
        assert "no arc yet" in texts(await talk.say("/story arc off"))
        await talk.say("I wait.")
        assert "<arc>" not in last(service.scenes[-1])


async def test_a_typed_arc_belongs_to_its_branch_and_is_in_its_export(
    tmp_path: Path, service: Service
) -> None:
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        await talk.say(TYPED)
        await talk.say("/story arc 1: yes")
        await talk.say("I wait.")
        await talk.say("/story fork before --scene 1")
        await talk.say("/story arc the sea dries")
        assert "the sea dries" in texts(await talk.say("/story arc"))
        await talk.say("/story switch main")
        shown = texts(await talk.say("/story arc"))
        assert "☑ **1.** the door is found" in shown
        assert "**Act 2**\n\n- ☐ **2.** the lamp fails\n- ☐ **3.** Bo is lost" in shown
        for line, sentence in (
            ("/story arc 9: yes", "no milestone 9; the arc has 4"),
            ("/story arc ; |", "Write milestones"),
            ("/story arc 2: ;", "Write milestones"),
        ):
            assert sentence in str(await talk.say(line))
        assert texts(await talk.say("/story arc")) == shown


async def test_only_the_game_master_sees_and_changes_the_future_of_the_story(
    tmp_path: Path, service: Service
) -> None:
    async with playing_without(tmp_path, service) as talk:
        await begin(talk, mode="free")
        await asks(talk, "join", who="bia")
        in_public(talk)
        shown, _ = await told(talk, "arc", TYPED.removeprefix("/story arc "), who="ana")
        assert "lamp fails" not in shown, "others read along"
        for who, origin, sees in (
            ("bia", "", False),
            ("bia", ALONE, False),
            ("ana", "", False),
            ("ana", ALONE, True),
        ):
            shown, under = await told(talk, "arc", who=who, **({"origin": origin} if origin else {}))
            assert ("lamp fails" in shown, under) == (sees, "")
        for text in ("2: yes", "off", "a new end"):
            assert "Only Ana" in (await told(talk, "arc", text, who="bia", origin=ALONE))[0]
        service.next.append(Reply(pieces=[PROPOSED]))
        assert "Only Ana" in (await told(talk, "arc", who="bia", options={"write": 3}))[0]
        for form in ("json", "markdown"):
            shown, _ = await told(talk, "export", who="bia", origin=ALONE, options={"as": form})
            assert "lamp fails" not in shown
        shown, _ = await told(talk, "export", who="ana", origin=ALONE, options={"as": "json"})
        assert "lamp fails" in shown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a; b | c | d", [(1, "a", False), (1, "b", False), (2, "c", False), (3, "d", False)]),
        ("a | b | c | d", [(1, "a", False), (2, "b", False), (3, "c", False), (3, "d", False)]),
        ("**Act II**\n1. [X] a\n- ☐ b\nAto 3: c", [(2, "a", True), (2, "b", False), (3, "c", False)]),
        ("act 1: a\nact 1: a\n…", [(1, "a", False)]),
        ("actors come", [(1, "actors come", False)]),
        ("", []),
    ],
)
def test_milestones_are_parsed(text: str, found: list[tuple[int, str, bool]]) -> None:
    assert read(text) == found


def test_an_arc_and_threads_change_only_the_end_of_the_prompt() -> None:
    told_with, told_without = Tale(), Tale()
    told_with.add("arc", {"milestones": [{"id": "m", "act": 2, "text": "Bo is lost."}]})
    told_without.add("set", {})
    for tale in (told_with, told_without):
        for n in range(20):
            turn = tale.turn(f"I do thing {n}.", prose(n))
            opened = [{"id": f"t{n}", "text": f"Who did {n}?"}] if tale is told_with else []
            tale.add("extracted", {"scene": tale.nodes[-1].id, "opened": opened}, turn)
        tale.add("act", {"mode": "act", "text": "I wait.", "name": "Ana"})
    with_arc, without = (
        parts(tale.story, taken(tale, 32_000)).prompt() for tale in (told_with, told_without)
    )
    assert with_arc.messages[:-1] == without.messages[:-1]
    assert "heading for: Bo is lost." in with_arc.messages[-1].text
    assert "heading for" not in without.messages[-1].text


def test_an_arc_is_parsed_within_limits_and_edited_as_shown() -> None:
    assert len(read(";".join(map(str, range(99))))) == MOST
    assert read("x" * 9_999)[0][1] == "x" * CHARS
    assert read("Sure!\nact 2: a", 0) == [(2, "a", False)]
    tale = Tale()
    found = read("a; b | c")
    (node,) = arc_nodes(tale.story, found, "run", "")
    tale.nodes.append(replace(tale.nodes[0], seq=9, id="arc", kind="arc", turn="", body=node.body))
    assert read(as_text(tale.story)) == found
    assert current(tale.story) == Milestone("run/0", 1, "a")
    turn = tale.turn("I wait.", "Rain.")
    tale.add("ticked", {"event": "run/0", "happened": True}, turn)
    assert current(tale.story) == Milestone("run/1", 1, "b")
    reworded = [replace(tale.nodes[0], seq=99, id="more", kind="arc", turn="", body=arc_nodes(
        tale.story, read("[x] z; a | c"), "later", "")[0].body)]  # fmt: skip
    tale.nodes += reworded
    assert [milestone.id for milestone in tale.story.arc] == ["later/0", "run/0", "run/2"]
