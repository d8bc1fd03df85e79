"""The story so far: each summary is made once, counts only on its branch, and keeps the cache valid."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bot.budget import text_tokens
from bot.events import UserError
from bot.works.story.exchange.json_export import export_json
from bot.works.story.exchange.json_import import read_story
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold
from bot.works.story.turn import context
from bot.works.story.turn.context import Frame
from bot.works.story.world import so_far
from bot.works.story.world.so_far import Tiers, as_prompt, size
from tests.fakes.reply import Body, Reply
from tests.promises.talk import Talk
from tests.works.story.extractor import Service, found, playing
from tests.works.story.small_story import SMALL
from tests.works.story.tale import Tale, prose
from tests.works.story.test_recall import failed
from tests.works.story.writer import START, last, texts

FRAME = Frame("You tell a story.", "Your task: write the next scene.", tokens=6_000, answer=500)


def scene(tale: Tale, n: int, *, summary: bool = True) -> str:
    turn = tale.turn(f"I do thing {n}.", f"{prose(n, 120)}. On day {n} Mira hid the key of Room{n} in Oslo.")
    if summary:
        told = f"In scene {n} Mira hid key {n} beneath the stairs of the old lighthouse, and Bo saw it."
        tale.add("extracted", {"scene": tale.nodes[-1].id, "summary": told}, turn)
    return turn


def summed(tale: Tale, tier: int, part: so_far.Part) -> None:
    turn = tale.story.path[part.first + part.turns - 1]
    tale.add(
        "summed",
        {"of": part.sources, "text": f"Tier {tier} from {part.first + 1}. {prose(part.first, 40)}"},
        turn,
    )


def whole(tale: Tale) -> int:
    """Make all summaries; returns how many."""
    made = 0
    while lacking := list(Tiers(tale.story, tale.story.current_turns).missing_summaries()):
        for tier, part in lacking:
            summed(tale, tier, part)
            made += 1
    return made


def told(story: Story, until: int | None = None) -> str:
    return as_prompt(story, story.current_turns, story.length if until is None else until, 4_000)


def test_each_summary_is_made_once_and_a_few_cover_a_long_story() -> None:
    tale, made = Tale(), 0
    for n in range(1, 311):
        scene(tale, n)
        if n % 31 == 0:
            made += whole(tale)
    assert made == 30 + 6 + 1, "of 308 scenes the stretches, the chapters, and the whole"
    assert whole(tale) == 0
    story, counts = tale.story, {}
    for until in (10, 50, 250, 308):
        parts = list(Tiers(story, story.current_turns).cover(until))
        assert [part.first for part in parts] == [
            sum(part.turns for part in parts[:n]) for n in range(len(parts))
        ]
        assert sum(part.turns for part in parts) == until
        counts[until] = len(parts)
    assert counts == {10: 1, 50: 1, 250: 1, 308: 1 + 1 + 8}
    assert told(story, 308).index('<summary scenes="1-250">Tier 3 from 1.') < told(story).index(
        '<summary scenes="251-300">Tier 2 from 251.'
    )
    # The number of parts grows with the logarithm of the story's length: each tier has a limited number.
    for until in (999, 6_249, 31_249):
        sizes = [size(tier) for tier in range(9) if size(tier) <= until]
        most = 9 + 4 * (len(sizes) - 1)
        left, count = until, 0
        for large in reversed(sizes):
            count, left = count + left // large, left % large
        assert count <= most <= 30


def test_a_summary_counts_only_on_branches_with_its_scenes() -> None:
    tale = Tale()
    turns = [scene(tale, n) for n in range(1, 15)]
    assert whole(tale) == 1
    first_scene = next(node.id for node in tale.nodes if node.kind == "scene" and node.turn == turns[3])
    assert "Tier 1 from 1." in told(tale.story)

    def now() -> str:
        return told(tale.story)

    tale.add("head", {}, turns[6])
    assert "Tier 1" not in now(), "scenes were taken back"
    tale.add("head", {}, turns[-1])
    assert "Tier 1 from 1." in now(), "and brought back"
    assert whole(tale) == 0
    tale.add(
        "scene",
        {
            "text": "In the end Bo of Bergen drowns beside Captain Ahab of Nantucket on 4 March.",
            "edited": True,
        },
        turns[3],
    )
    assert "Tier 1" not in now()
    assert "Bo of Bergen drowns" in now()
    tale.add("flip", {"scene": first_scene}, turns[3])
    assert "Tier 1 from 1." in now()
    assert "Bo of Bergen" not in now()
    tale.add("act", {"mode": "act", "text": "I do it in other words.", "name": "Ana"}, turns[3])
    assert "Tier 1" not in now(), "the turn was reworded"
    tale.add("flip", {"act": turns[3]}, turns[3])
    assert "Tier 1 from 1." in now()
    # A branch that forks before the summary's end has none of it; one that forks after it has it.
    seq = tale.nodes[-1].seq
    for at, counts in ((8, False), (12, True)):
        cut = [Part("main", until=seq, cut=seq, turn=turns[at]), Part("aside")]
        assert ("Tier 1 from 1." in told(fold(cut, tale.nodes))) == counts
    tale.add("forgotten", {"node": first_scene}, turns[3])
    assert "Tier 1" not in now()
    assert "key 4 " not in now()
    assert "Room4" not in now()


def test_a_stop_card_removes_the_words_from_all_tiers() -> None:
    tale = Tale()
    turns = [scene(tale, n) for n in range(1, 56)]
    whole(tale)
    assert "Tier 2 from 1." in told(tale.story)
    tale.add("stopcard", {}, turns[14])
    text = told(tale.story)
    assert "Tier 2" not in text
    assert "Tier 1 from 1." in text
    assert "Tier 1 from 11." not in text
    assert "key 15 " not in text
    assert "key 14 " in text


def test_without_summaries_the_best_sentences_are_quoted_as_such() -> None:
    tale = Tale()
    for n in range(1, 41):
        scene(tale, n, summary=False)
    text = told(tale.story, 37)
    assert "<summary" not in text
    assert text.count("<quoted") == 3 + 7
    assert '<quoted scenes="37">On day 37 Mira hid the key of Room37 in Oslo.</quoted>' in text
    stretch = text[text.index('<quoted scenes="1-10">') : text.index('<quoted scenes="11-20">')]
    assert all(f"On day {n} Mira hid the key of Room{n} in Oslo." in stretch for n in (1, 2, 3))
    for tokens in (200, 100, 40, 8, 0):
        short = as_prompt(tale.story, tale.story.current_turns, 37, tokens)
        assert text_tokens(short) <= tokens


def test_secrets_are_never_in_the_story_so_far() -> None:
    tale = Tale(note="The butler is the murderer.")
    tale.add("whisper", {"to": "bia", "name": "Ana", "text": "The lamp is a trap."})
    events = [{"id": "e", "text": "The bell is found."}]
    tale.add("chapter", {"id": "c", "title": "One", "key_events": events, "climax": "The flood comes."}, "")
    for n in range(1, 21):
        scene(tale, n, summary=n % 2 == 0)
    text = told(tale.story)
    assert not [secret for secret in ("butler", "trap", "bell", "flood") if secret in text]


def test_the_story_so_far_changes_only_when_scenes_leave_the_prompt_and_grows_slowly() -> None:
    tale = Tale()
    story, before, lengths = tale.story, context.parts(tale.story, FRAME), dict[int, int]()
    changes = goes = 0
    for n in range(1, 161):
        count = len(tale.nodes)
        scene(tale, n)
        for node in tale.nodes[count:]:
            story.add(node)
        if n % 10 == 2:
            count = len(tale.nodes)
            whole(tale)
            for node in tale.nodes[count:]:
                story.add(node)
        asked = context.parts(story, FRAME)
        first_told = (asked.older or asked.recent)[0].text
        gone = first_told != (before.older or before.recent or asked.recent)[0].text
        changes += asked.so_far != before.so_far
        goes += gone
        assert gone or asked.so_far == before.so_far, n
        assert sum(asked.tokens().values()) - asked.answer <= FRAME.tokens
        lengths[n], before = text_tokens(asked.so_far), asked
    assert 4 < changes <= goes < 40
    assert "Tier 2 from 1." in before.so_far
    assert f'scenes="{160 - 20}' not in before.so_far, "scenes in full are not summarised"
    assert max(lengths.values()) <= FRAME.tokens // 8
    position = [message.text for message in before.prompt().messages].index(before.so_far)
    assert position == 2, "behind the foundation, before all scenes"


def test_summaries_are_exported_and_count_in_the_imported_story() -> None:
    number, text = len(SMALL["nodes"]), "The sea was flat, and stayed so."
    below = {"id": number + 1, "branch": 1, "kind": "summed", "turn": 3, "body": {"of": [4], "text": text}}
    above = {
        "id": number + 2,
        "branch": 1,
        "kind": "summed",
        "turn": 3,
        "body": {"of": [number + 1], "text": "Flat."},
    }
    read = read_story(
        json.dumps({**SMALL, "nodes": [*SMALL["nodes"], below, above]}).encode(), "a.json", "local"
    )
    again = json.loads(export_json(read.story, read.branches, read.nodes))
    assert [node["body"] for node in again["nodes"][-2:]] == [below["body"], above["body"]]
    story = fold([Part(read.story.id)], read.nodes)
    assert [part.text for part in Tiers(story, story.current_turns).cover(1)] == [text]
    bad = {**above, "body": {"of": [1], "text": "Of a setting."}}
    with pytest.raises(UserError):
        read_story(json.dumps({**SMALL, "nodes": [*SMALL["nodes"], below, bad]}).encode(), "a.json", "local")


class Summing(Service):
    """An extractor that reads each scene and summarises."""

    def __init__(self) -> None:
        super().__init__()
        self.summed: list[Body] = []
        self.number = 0

    def __call__(self, asked: Body) -> Reply:
        if asked["model"] == "tiny" and "Write the summary." in last(asked):
            self.summed.append(asked)
            return Reply("Mira climbed all the way down, and found the bell.")
        if asked["model"] == "tiny":
            self.number += 1
            long = f"In scene {self.number} Mira goes down and down the stairs below the sea, and Bo follows her."
            self.found.append(json.dumps(found(summary=long)))
        return super().__call__(asked)


async def kept(talk: Talk, kind: str, count: int) -> list[dict[str, Any]]:
    """The bodies of a kind's nodes, once there are this many."""
    assert talk.app is not None
    stories = talk.app.resources.stories
    async with asyncio.timeout(60):
        while True:
            (row,) = await stories.all("local")
            story = await stories.load("local", row.id)
            assert story is not None
            bodies = [json.loads(node.body) for node in story[2] if node.kind == kind and node.body]
            if len(bodies) >= count:
                return bodies


async def test_the_extractor_summarises_once_and_people_can_correct_it(tmp_path: Path) -> None:
    service = Summing()
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        for number in range(2, 13):
            await talk.say(f"I go down to step {number}.")
        await kept(talk, "extracted", 12)
        await kept(talk, "summed", 1)
        assert len(service.summed) == 1
        assert "In scene 10 " in last(service.summed[0])
        assert "In scene 11 " not in last(service.summed[0])
        asked = len(service.asked)
        shown = texts(await talk.say("/story recap"))
        assert "**1-10** Mira climbed all the way down, and found the bell." in shown
        assert "**12** In scene 12 " in shown
        assert len(service.asked) == asked, "no model is asked to show it"
        assert "no part 3-9" in failed(await talk.say("/story recap 3-9: Mira slept."))
        await talk.say("/story recap 1-10: Mira never went down: she slept.")
        shown = texts(await talk.say("/story recap"))
        assert "**1-10** Mira never went down: she slept." in shown
        assert "found the bell" not in shown
        await talk.say("/story recap 12: Bo stayed behind.")
        assert "**12** Bo stayed behind." in texts(await talk.say("/story recap"))
        await talk.say("I wait.")
        await kept(talk, "extracted", 13)
        assert len(service.summed) == 1, "what a person has put right is not made again"


async def test_without_an_extractor_no_call_is_made(tmp_path: Path) -> None:
    service = Summing()
    async with playing(tmp_path / "data", service, extract=False) as talk:
        await talk.say(START)
        for number in range(2, 14):
            await talk.say(f"I go down to step {number}.")
        asked = len(service.asked)
        events = await talk.say("/story recap")
        assert "**1-10** _“" in texts(events)
        assert "quotation marks" in str([event for event in events if event["event"] == "notice"])
        assert len(service.asked) == asked
        assert not service.extracted + service.summed


def test_a_hidden_scene_is_not_in_the_story_so_far() -> None:
    tale = Tale()
    turns = [
        tale.turn(f"I go to room {n}.", f"Room {n} smells of {'herring' if n == 4 else 'dust'}.")
        for n in range(30)
    ]
    told = as_prompt(tale.story, tale.story.current_turns, 20, 1_500)
    assert "herring" in told
    tale.add("hidden", {"hidden": True}, turns[4])
    hidden = tale.story
    assert "herring" not in as_prompt(hidden, hidden.current_turns, 20, 1_500)
    tale.add("hidden", {"hidden": False}, turns[4])
    assert as_prompt(tale.story, tale.story.current_turns, 20, 1_500) == told
