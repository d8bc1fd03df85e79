"""An interview with a character uses what it knows and its voice, over several questions, and leaves the
story alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.events import Author
from tests.fakes.reply import Reply
from tests.promises.talk import Talk
from tests.works.story.extractor import Service, looked_into, playing, standing
from tests.works.story.writer import START, choices, last, texts
from tests.works.story.writer import request as requested


async def told(talk: Talk, service: Service) -> None:
    """Mira and Bo are in the first scene, Bo alone in the second."""
    fear = {"character": "Mira", "kind": "action", "text": "She hid the brass key."}
    service.finds(characters=[standing("Mira", holding="a lamp"), standing("Bo")], memories=[fear])
    service.next.append(Reply("They wait in the harbour of Zim."))
    await talk.say(START + " --cast 'Mira: a diver with a stutter; Bo'")
    await looked_into(talk, 1)
    service.finds(characters=[standing("Bo")])
    service.next.append(Reply("Bo murders the duke."))
    await talk.say("Bo goes alone.")
    await looked_into(talk, 2)


async def nodes(talk: Talk) -> list[Any]:
    assert talk.app is not None
    stories = talk.app.resources.stories
    (row,) = await stories.all("local")
    whole = await stories.load("local", row.id)
    assert whole is not None
    return [node.kind for node in whole[2]]


async def test_a_character_answers_only_from_scenes_it_was_present_in(
    tmp_path: Path, service: Service
) -> None:
    async with playing(tmp_path / "data", service) as talk:
        await told(talk, service)
        await talk.say("/story safety --lines wasps")
        before = await nodes(talk)
        service.next.append(Reply("I f-fear the deep."))
        answered = await talk.say("/story interview mira, what do you fear?")
        assert "I f-fear the deep." in texts(answered)
        sent = last(service.asked[-1])
        for known in (
            "a diver with a stutter",
            "hid the brass key",
            "harbour of Zim",
            "holding: a lamp",
            "wasps",
        ):
            assert known in sent
        assert "what do you fear?" in sent
        assert "duke" not in str(service.asked[-1]), "Mira was not there"
        assert [choice["command"] for choice in choices(answered)] == ["/story interview --character Mira"]

        service.next.append(Reply("Because of the dark."))
        await talk.say("/story interview --character Mira and why?")
        assert "<talk>\nwhat do you fear?\nI f-fear the deep.\n</talk>" in last(service.asked[-1])
        service.next.append(Reply("I did."))
        await talk.say("/story interview Bo: who killed the duke?")
        assert "Bo murders the duke." in last(service.asked[-1])
        assert "deep" not in last(service.asked[-1]), "another character's interview"
        assert (await nodes(talk))[len(before) :] == ["aside"] * 3
        await talk.say("I look around.")
        assert "fear" not in str(service.scenes[-1])
        assert "f-fear" not in texts(await talk.say("/story recall the deep fear"))


async def test_an_interview_without_a_character_or_a_question_is_refused(
    tmp_path: Path, service: Service
) -> None:
    async with playing(tmp_path / "data", service) as talk:
        assert "No story is played here" in str(await talk.say("/story interview Mira why?"))
        await talk.say(START)
        empty = str(await talk.say("/story interview Zoe why?"))
        assert "no character “Zoe why?” in this story yet" in empty
        assert "/story cast Mira" in empty
        await talk.say(START + " --cast 'Mira; Bo'")
        asked = len(service.asked)
        assert "ask something" in str(await talk.say("/story interview Mira"))
        assert "The characters so far: Mira, Bo" in str(await talk.say("/story interview Zoe why?"))
        await talk.say("/story cast Bo --player Kai")
        assert "played by Kai" in str(await talk.say("/story interview Bo why?"))
        assert len(service.asked) == asked


async def test_one_persons_interview_is_not_shown_to_others(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        await told(talk, service)
        assert talk.app is not None
        for id, who, text in (("i1", "Ana", "Mira where is the gold?"), ("i2", "Bia", "Mira who are you?")):
            asked = requested(id, text, who=who, verb="interview")
            ticket = await talk.app.perform(replace(asked, author=Author(who.lower(), who)))
            await ticket.wait()
        assert "gold" in last(service.asked[-2])
        assert "gold" not in str(service.asked[-1])
