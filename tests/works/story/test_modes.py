"""Who takes a turn: the players in order, the game master, or the winner of a vote."""

from __future__ import annotations

from pathlib import Path

from tests.works.story.writer import START, Writer, last, playing, request, texts


async def test_continuing_counts_the_votes(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --mode vote")
        assert "Nobody has voted yet" in str(await talk.say("/story continue"))
        await talk.say("I open the door.")
        assert "I open the door." in last(writer.scenes[-1])


async def test_after_a_new_beginning_plain_text_is_no_turn_until_somebody_takes_one(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        assert "no longer part of the story" in texts(await talk.say("/new"))
        await talk.say("How deep is it?")
        assert len(writer.scenes) == 1
        await talk.say("/story act I open the door.")
        await talk.say("I look inside.")
        assert "I look inside." in last(writer.scenes[-1])


async def test_players_take_turns_in_their_order_and_one_can_be_passed(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --mode round-robin")
        assert talk.app is not None

        async def act(id: str, who: str) -> str:
            assert talk.app is not None
            return await (await talk.app.perform(request(id, "I wait.", who=who))).wait()

        assert [await act("1", "Ana"), await act("2", "Bia")] == ["done", "done"]
        assert await act("3", "Bia") == "failed"
        assert "It is Ana's turn." in str(talk.events[-2])
        assert "next is Bia" in texts(await talk.say("/story pass"))
        assert await act("4", "Bia") == "done"


async def test_a_game_master_hears_what_others_want_and_makes_it_happen(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --mode gm")
        assert talk.app is not None
        await (await talk.app.perform(request("1", "I want to dive.", who="Bia"))).wait()
        assert len(writer.scenes) == 1
        await talk.say("The tide turns.")
        assert '<intent by="Bia">I want to dive.</intent>' in last(writer.scenes[-1])


async def test_the_votes_are_counted_and_the_winner_is_played(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        run = (await talk.say(START + " --mode vote"))[-1]["run"]
        assert talk.app is not None
        votes = talk.app.records.votes
        for who, n in (("ana", 0), ("bia", 1), ("cai", 1)):
            await votes.give("local", run, 0, who, n)
        played = texts(await talk.say("/story continue"))
        assert "2 of 3 votes for: Call into the dark." in played
        assert "Call into the dark." in last(writer.scenes[-1])


async def test_a_version_that_people_flipped_to_has_no_votes(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --mode vote")
        await talk.say("/story retry")
        await talk.say("/story flip back")
        again = next(event["run"] for event in reversed(talk.events) if event["event"] == "choices")
        assert talk.app is not None
        await talk.app.records.votes.give("local", again, 0, "ana", 2)
        before = len(writer.scenes)
        await talk.say("/story continue")
        assert len(writer.scenes) == before
        assert "Walk away." not in last(writer.scenes[-1])
