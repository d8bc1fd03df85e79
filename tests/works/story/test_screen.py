"""The game master's screen: plans that the table never sees, and who sees them."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.events import Author, Place, Request
from bot.verb import TYPED
from tests.fakes.reply import Reply
from tests.promises.talk import Talk
from tests.works.story.test_party import begin, told
from tests.works.story.test_safety import HERE, asks, exported_now, log, whole
from tests.works.story.test_to_come import ALONE, in_public
from tests.works.story.writer import Writer, playing

PLAN = "The keeper is the drowned captain."
DM = Place("terminal", "local", "dm-ana", "")


async def alone(talk: Talk, verb: str, text: str = "", *, who: str = "ana", **more: Any) -> str:
    """What a person reads in a private answer."""
    return " ".join((await told(talk, verb, text, who=who, origin=ALONE, **more)).split())


async def test_only_the_game_master_sees_plans_and_they_pass_on_with_the_role(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        await asks(talk, "join", who="bia")
        in_public(talk)
        assert "number 1" in await alone(talk, "plan", PLAN)
        assert PLAN in await alone(talk, "plan")
        assert PLAN in await alone(talk, "screen")
        for verb, text, options in (("plan", "", {}), ("screen", "", {}), ("plan", "", {"remove": 1})):
            refused = await alone(talk, verb, text, who="bia", options=options)
            assert "Only the game master" in refused, (verb, options)
        assert "Others could read" in await told(talk, "plan", "The lamp talks.", who="ana")
        assert "Others could read" in await alone(talk, "screen", who="ana", options={TYPED: True})
        assert "lamp talks" not in await alone(talk, "screen")
        await asks(talk, "gm", "Bia")
        assert PLAN in await alone(talk, "screen", who="bia")
        assert "Only the game master" in await alone(talk, "screen", who="ana")
        await asks(talk, "gm", "nobody", who="bia")
        for who in ("ana", "bia"):
            assert "Nobody here is the game master yet." in await alone(talk, "screen", who=who)


async def test_an_admin_is_not_a_game_master(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        await alone(talk, "plan", PLAN)
        assert talk.app is not None
        start, root = len(talk.events), Author("root", "Root", admin=True)
        for verb in ("screen", "plan", "prompt"):
            await (await talk.app.perform(Request(f"root-{verb}", HERE, root, "story", verb))).wait()
        assert "captain" not in str(talk.events[start:])


async def test_only_the_writer_gets_plans_from_the_next_scene_on(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="free")
        await alone(talk, "plan", PLAN)
        await asks(talk, "act", "I wait.")
        assert "captain" not in str(writer.asked)
        assert "from the next scene on" in await alone(talk, "plan", options={"tell": 1})
        before = len(writer.asked)
        await asks(talk, "act", "I go down.")
        scene, offered = writer.asked[before:]
        assert f"<secrets>\n- {PLAN}\n</secrets>" in whole(scene)
        assert "offer the players" in whole(offered)
        assert "captain" not in whole(offered), "the players read what is offered"
        before = len(writer.asked)
        for verb, text in (("ask", "Who is the keeper?"), ("ideas", ""), ("suggest", ""), ("recap", "")):
            await asks(talk, verb, text, who="bia")
        assert len(writer.asked) >= before + 3
        assert "captain" not in str(writer.asked[before:])
        assert "the writer knows" in await alone(talk, "screen")
        assert "The writer no longer gets it." in await alone(talk, "plan", options={"remove": 1})
        await asks(talk, "act", "I climb up.")
        assert "captain" not in str(writer.scenes[-1])
        assert "no number 1" in await alone(talk, "plan", options={"tell": 1})


async def test_only_the_game_masters_prompt_file_has_plans(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        await alone(talk, "plan", PLAN)
        await alone(talk, "plan", options={"tell": 1})
        await asks(talk, "act", "I go down.")
        assert talk.app is not None
        for who, sees in (("root", False), ("ana", True)):
            start, author = len(talk.events), Author(who, who.title(), admin=True)
            await (await talk.app.perform(Request(f"p-{who}", HERE, author, "story", "prompt"))).wait()
            files = b"".join(base64.b64decode(event.get("data", "")) for event in talk.events[start:])
            assert b"I go down." in files
            assert (b"captain" in files) is sees, who


async def test_a_private_place_is_linked_to_a_story(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        await asks(talk, "join", who="bia")
        assert "not the game master of a story" in await alone(talk, "plan", PLAN, place=DM)
        assert "not the game master of a story" in await alone(talk, "screen", who="bia", place=DM)
        assert "There are no plans here yet" in await alone(talk, "screen", place=DM)
        assert "number 1" in await alone(talk, "plan", PLAN, place=DM)
        assert PLAN in await alone(talk, "screen"), "what is kept is the story's"
        assert "not the game master of a story" in await alone(talk, "screen", who="bia", place=DM)
        elsewhere = replace(DM, space="other")
        assert "not the game master of a story" in await alone(talk, "screen", place=elsewhere)
        assert "not the game master of a story" in await alone(
            talk, "screen", "A door in the sea.", place=elsewhere
        )
        await asks(talk, "start", "A well in the desert.", place=replace(HERE, thread="well"))
        new = replace(DM, channel="second")
        assert "several stories" in await alone(talk, "screen", place=new)
        assert "There are no plans" in await alone(talk, "screen", "A well in the desert.", place=new)
        assert "number 1" in await alone(talk, "plan", "The well is dry.", place=new)
        assert "The well" not in await alone(talk, "screen", place=DM)


async def test_plans_apply_to_all_branches_and_are_only_in_the_game_masters_own_export(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        await asks(talk, "act", "I wait.")
        await alone(talk, "plan", PLAN)
        await asks(talk, "fork", "deep", options={"scene": 1})
        assert PLAN in await alone(talk, "screen")
        assert PLAN not in await exported_now(talk)
        start = len(talk.events)
        await alone(talk, "screen", options={"download": True})
        data = b"".join(base64.b64decode(event.get("data", "")) for event in talk.events[start:])
        assert PLAN.encode() in data, talk.events[start:]


async def test_plans_are_deleted_with_their_author(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        await asks(talk, "join", who="bia")
        await alone(talk, "plan", PLAN)
        await asks(talk, "gm", "Bia")
        assert talk.app is not None
        gone = Request("gone", HERE, Author("ana", "Ana"), "privacy", "delete", {"yes": True})
        await (await talk.app.perform(gone)).wait()
        assert all(not node.body for node in await log(talk, "screen"))
        assert "Nobody here is the game master" in await alone(talk, "screen", who="bia"), (
            "whom Ana named went, too"
        )
        await asks(talk, "gm", "Bia", who="bia")
        assert "There are no plans here" in await alone(talk, "screen", who="bia")
        assert "number 1" in await alone(talk, "plan", "Another.", who="bia")


async def test_a_hidden_roll_is_stored_and_can_be_shown_later(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="free")
        await asks(talk, "join", who="bia")
        in_public(talk)
        listens = {"for": "Mira listens"}
        assert "= `1`" in (rolled := await alone(talk, "roll", "1d1", options=listens)), rolled
        assert "Rolled:" not in rolled, "what it is for is the title"
        assert "Mira listens" in rolled
        assert "number 2" in await alone(talk, "roll", "3d1+4")
        assert "I can't roll" in await alone(talk, "roll", "the dice")
        for verb, text in (("roll", "1d1"), ("reveal", "1"), ("screen", "")):
            assert "Only the game master" in await alone(talk, verb, text, who="bia"), verb
        assert "no number x" in await alone(talk, "reveal", "x")
        start = len(talk.events)
        assert "The table now sees number 1." in await alone(talk, "reveal", "1")
        await talk.until(lambda events: "shows a roll" in str(events), start)
        assert "Mira listens" in str(talk.events[start:])
        assert "shown to the table" in await alone(talk, "screen")
        await alone(talk, "plan", options={"tell": 2})
        await asks(talk, "act", "I wait.")
        assert "<secrets>\n- roll: 3d1 + 4, total 7\n</secrets>" in whole(writer.scenes[-1])
        assert "Mira listens" not in whole(writer.scenes[-1])
        assert "number 3" in await alone(talk, "plan", PLAN), "numbers are never used again"


async def test_a_scene_is_tried_privately_and_then_played_without_another_call(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="free")
        await asks(talk, "join", who="bia")
        in_public(talk)
        assert "Only the game master" in await alone(talk, "try", "The lamp dies.", who="bia")
        writer.next = [Reply("A cold hand takes the lamp."), Reply("The sea falls silent.")]
        before = len(writer.asked)
        tried = await alone(talk, "try", "The lamp dies.")
        assert "A cold hand takes the lamp." in tried
        assert "number 1" in tried
        assert "The lamp dies." in whole(writer.asked[-1])
        assert "The sea falls silent." in await alone(talk, "try")
        assert len(writer.asked) == before + 2, "no choices are asked for"
        assert [node.kind for node in await log(talk, "act", "scene")] == ["act", "scene"]
        for options in ({"play": 1}, {"drop": 1}):
            assert "Only the game master" in await alone(talk, "try", who="bia", options=options)
        removed = await alone(talk, "try", options={"drop": 2})
        assert "is removed" in removed
        assert "no longer gets it" not in removed, "it never had it"
        start, asked = len(talk.events), len(writer.asked)
        assert "is now being played" in await alone(talk, "try", options={"play": 1})
        await talk.until(lambda events: "A cold hand takes the lamp." in str(events), start)
        assert len(writer.asked) == asked
        assert "already been played" in await alone(talk, "try", options={"play": 1})
        (_, act), (_, scene) = await log(talk, "act"), await log(talk, "scene")
        assert (act.author_id, scene.turn) == ("ana", act.id)
        await asks(talk, "act", "I follow.", who="bia")
        assert "A cold hand takes the lamp." in whole(writer.scenes[-1])
        assert "The sea falls silent." not in str(writer.scenes[-1])
        again = await asks(talk, "retry", who="bia")
        assert again == "done"


async def test_a_trial_is_refused_once_the_story_has_gone_on(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="free")
        writer.next = [Reply("A cold hand takes the lamp.")]
        await alone(talk, "try", "The lamp dies.")
        await asks(talk, "act", "I wait.")
        assert "has moved on" in await alone(talk, "try", options={"play": 1})
        await asks(talk, "undo")
        start = len(talk.events)
        await alone(talk, "try", options={"play": 1})
        await talk.until(lambda events: "A cold hand" in str(events), start)


async def test_a_scene_tried_in_a_private_place_is_played_in_the_thread(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="free")
        await alone(talk, "screen", place=DM)
        writer.next = [Reply("A cold hand takes the lamp.")]
        await alone(talk, "try", "The lamp dies.", place=DM)
        assert "is now being played" in await alone(talk, "try", place=DM, options={"play": 1})
        await asks(talk, "act", "I wait.")
        assert "A cold hand takes the lamp." in whole(writer.scenes[-1])
