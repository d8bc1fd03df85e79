"""When the extractor reads scenes, and which of its answers do no harm."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.llm import json_answers
from bot.works.story.extraction.extraction import AT_ONCE, TRIES
from bot.works.story.extraction.findings import Findings
from tests.fakes.reply import Reply
from tests.works.story.extractor import Service, looked_into, playing, standing
from tests.works.story.writer import START, last, texts


async def test_a_scene_that_was_not_read_before_a_stop_is_read_after_the_next_start(
    tmp_path: Path, service: Service
) -> None:
    service.gate = asyncio.Event()
    async with playing(tmp_path / "data", service, interrupted=True) as talk:
        await talk.say(START)
        async with asyncio.timeout(60):
            await service.begun.wait()
    service.gate = None
    service.finds(characters=[standing("Mira", holding="a bell")])
    async with playing(tmp_path / "data", service) as talk:
        await talk.say("/story show")
        await looked_into(talk, 1)
        assert "holding: a bell" in texts(await talk.say("/story state"))
    assert talk.code == 0
    assert len(service.extracted) == 2


@pytest.mark.slow
async def test_all_scenes_of_an_interval_are_read_in_one_call(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service, every=7) as talk:
        await talk.say(START)
        for n in range(2, 8):
            assert not service.extracted
            await talk.say(f"I do thing {n}.")
        await looked_into(talk, 7)


async def test_an_unreadable_scene_does_not_delay_others(tmp_path: Path, service: Service) -> None:
    service.broken["as number 2."] = Reply(status=400)
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        for n, nodes in enumerate((1, 2, 4, 6), 2):
            await looked_into(talk, nodes)
            await talk.say(f"I do thing {n}.")
        await looked_into(talk, 7)
        asked = [last(request) for request in service.extracted]
        assert [sum(f"as number {n}." in request for request in asked) for n in (1, 2, 3, 5)] == [
            1,
            TRIES,
            1,
            1,
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "line", "scenes"),
    [
        ((), "/story edit Bo sleeps.", AT_ONCE + 2),
        ((), "I go on.", AT_ONCE + 3),
        (("/story undo",), "/story redo", AT_ONCE + 2),
        ((), "/story flip next", AT_ONCE + 2),
        ((), "/story fork early --scene 1", 1),
        (("/story fork early --scene 1",), "/story switch main", AT_ONCE + 2),
    ],
)
async def test_skipped_scenes_are_caught_up_in_one_run(
    tmp_path: Path, service: Service, before: tuple[str, ...], line: str, scenes: int
) -> None:
    service.broken[""] = Reply(status=401)
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        for n in range(AT_ONCE + 1):
            await talk.say(f"I do thing {n}.")
        for one in before:
            await talk.say(one)
        service.broken.clear()
        await talk.say(line)
        await looked_into(talk, scenes)
        told = "\n".join(map(last, service.extracted))
        assert ("Bo sleeps." in told) == ("Bo sleeps." in line)


BROKEN = (
    "I would rather not.",
    "x" * 1_000_000,
    '{"key_events": [{"number": 99, "happened": true}, {"number": -1, "happened": true}]}',
    '{"key_events": {"99": true, "-1": true, "x": true, "²": true, "1": "no"}, "scene": 99}',
    '{"characters": [{"character": "", "where": "x"}], "memories": [{"character": "A", "kind": "?", "text": "b"}]}',
)


@pytest.mark.parametrize("broken", [BROKEN, pytest.param(("x" * 10_000_000,), marks=pytest.mark.slow)])
async def test_unusable_answers_do_no_harm(tmp_path: Path, service: Service, broken: tuple[str, ...]) -> None:
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        await talk.say("/story chapter One --events 'a; b'")
        await looked_into(talk, 1)
        for n, answer in enumerate(broken):
            before = len(service.extracted)
            service.found += [answer, answer]
            await talk.say("I wait.")
            await looked_into(talk, 2 * n + 2)
            assert len(service.extracted) <= before + 2, "one try to mend it"
            service.found.clear()
            assert "☑" not in texts(await talk.say("/story plot"))
            service.finds(characters=[standing("Bo", mood=f"calm for {n} hours")])
            await talk.say("I wait.")
            await looked_into(talk, 2 * n + 3)
            async with asyncio.timeout(60):  # a scene may have been read twice
                while f"calm for {n} hours" not in texts(await talk.say("/story state")):
                    pass


@pytest.mark.parametrize(
    ("said", "holding", "relations"),
    [
        ('{"summary": null, "characters": [{"character": "Mira", "holding": "a bell", "mood": null}]}', "a bell", []),
        ('{"characters": [{"character": "Mira", "holding": ["a bell", 7], "dead": null}],}', "a bell, 7", []),
        ('{"characters": {"Mira": {"holding": "a bell", "relations": {"Bo": "wary"}}}}', "a bell", [("Bo", "wary")]),
        ('{"characters": [null, "Bo", {"name": "Mira", "holding": "a bell"}], "events": [null, "x"]}', "a bell", []),
        ('{"characters": [{"character": "Mira", "holding": "a bell"}], "memories": [{}, 7]}', "a bell", []),
        ('{"characters": [{"character": "Mira", "holding": "a bell"}], "key_events": [1, {}]}', "a bell", []),
    ],
)  # fmt: skip
def test_one_odd_field_does_not_spoil_the_others(
    said: str, holding: str, relations: list[tuple[str, str]]
) -> None:
    characters = json_answers.read(said, Findings).characters
    mira = next(character for character in characters if character.character == "Mira")
    assert mira.holding == holding
    assert [(relation.other, relation.feeling) for relation in mira.relations] == relations
    assert not mira.dead
