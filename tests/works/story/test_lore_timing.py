"""Lore entries that are sticky, cool down, wait, or belong to some characters: all of it follows from the
log.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.works.story.exchange.lorebook import lorebook_of, world_info
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold
from bot.works.story.turn.context import Frame
from bot.works.story.turn.context import prompt as prompt_of
from bot.works.story.turn.turn_plan import TurnPlan, applying_entries, lore_search
from bot.works.story.world.lore_text import entry_of
from bot.works.story.world.lore_timing import is_timed, lore_timing
from tests.works.story.tale import Tale
from tests.works.story.test_story_imports import put
from tests.works.story.writer import START, Writer, playing

PLAN = TurnPlan(lore_tokens=900, lore_depth=0)


def row(key: str, content: str, **fields: Any) -> dict[str, Any]:
    """An entry as a file of World Info has it."""
    return {"key": [key], "content": content, **fields}


def kept(*rows: dict[str, Any]) -> Tale:
    tale = Tale()
    for n, entry in enumerate(lorebook_of({"entries": list(rows)}).entries):
        tale.add("lore", {"id": str(n), "entry": entry})
    return tale


def told(story: Story, turn: str, plan: TurnPlan = PLAN) -> list[str]:
    plan = replace(plan, turn=turn)
    return [entry.id for entry in applying_entries(*lore_search(story, plan), plan)]


def played(tale: Tale, text: str) -> list[str]:
    """Play a turn as the bot does, and return the entries that its writer got."""
    turn = tale.add("act", {"mode": "act", "text": text, "name": "Ana"})
    ids = told(tale.story, turn)
    timed = [id for id in ids if is_timed(entry_of(id, tale.story.lore[id]))]
    tale.add("scene", {"text": "It rains.", "at": len(tale.nodes), "timed_lore": timed}, turn)
    return ids


def run(tale: Tale, *texts: str) -> str:
    """For each turn, "x" if the entry was active."""
    return "".join("x" if played(tale, text) else "." for text in texts)


def test_sticky_cooldown_and_delay_are_counted_in_messages() -> None:
    """As in SillyTavern, each turn is two messages: with n turns before it there are 2n + 1."""
    sea, other = "the sea", "no more"
    assert run(kept(row("sea", "D.")), sea, other, sea) == "x.x"
    assert run(kept(row("sea", "D.", sticky=2)), sea, other, other) == "x.."
    assert run(kept(row("sea", "D.", sticky=3)), sea, other, other) == "xx."
    assert run(kept(row("sea", "D.", sticky=5)), sea, other, sea, other, other) == "xxx..", (
        "it is not made longer"
    )
    assert run(kept(row("sea", "D.", cooldown=5)), sea, sea, sea, sea, sea) == "x..x."
    assert run(kept(row("sea", "D.", sticky=3, cooldown=4)), sea, other, sea, sea, sea) == "xx..x"
    assert run(kept(row("sea", "D.", delay=4)), sea, sea, sea) == "..x"
    assert run(kept(row("sea", "@@keep_activate_after_match\nD.", sticky=None)), other, sea) == ".x"
    assert run(kept(row("sky", "D.", constant=True, cooldown=3)), other, other, other) == "x.x"


def test_timings_follow_the_log_through_undo_another_version_and_a_fork() -> None:
    tale = kept(row("sea", "D.", sticky=9))
    first = tale.turn("Nothing.", "A scene.")
    assert run(tale, "the sea", "no more") == "xx"
    tale.add("head", {}, first)
    assert run(tale, "no more") == ".", "the turn that called it up is undone"
    tale = kept(row("sea", "D.", cooldown=9))
    turn = tale.add("act", {"mode": "act", "text": "the sea", "name": "Ana"})
    tale.add("scene", {"text": "S.", "at": len(tale.nodes), "timed_lore": ["0"]}, turn)
    assert told(tale.story, turn) == ["0"], "another version of the scene gets the same"
    tale.add("scene", {"text": "By hand.", "edited": True}, turn)
    assert run(tale, "the sea") == ".", "a person's wording changes nothing"
    nodes = tale.nodes
    fork = fold([Part("main", len(nodes), len(nodes), turn), Part("fork")], [*nodes])
    assert fork.length == 1
    assert fork.head is not None
    assert lore_timing([entry_of("0", fork.lore["0"])], fork.current_turns, fork.head).waiting == {"0"}
    assert not lore_timing([entry_of("0", fork.lore["0"])], [], fork.head).waiting


def test_entries_found_by_meaning_obey_timings_too() -> None:
    tale = kept(
        row("x", "D.", cooldown=9), row("y", "E.", delay=9), row("z", "F.", probability=0), row("w", "G.")
    )
    turn = tale.add("act", {"mode": "act", "text": "Hm.", "name": "Ana"})
    tale.add("scene", {"text": "S.", "at": len(tale.nodes), "timed_lore": ["0"]}, turn)
    near = replace(PLAN, lore=["0", "1", "2", "3"])
    later = tale.turn("And on.", "S.")
    assert told(tale.story, later, near) == ["3"]
    assert told(tale.story, turn, near) == ["0", "3"]


def test_an_entry_may_be_for_some_characters() -> None:
    def known(names: Sequence[str], speaker: str = "", *, excluded: bool = False) -> bool:
        tale = kept(row("sea", "D.", characterFilter={"names": ["mira "], "tags": [], "isExclude": excluded}))
        for name in names:
            tale.add("cast", {"name": name, "sheet": {}})
        turn = tale.add("act", {"mode": "act", "text": "the sea", "speaker": speaker})
        return bool(told(tale.story, turn))

    assert known(["Mira"])
    assert known(["Bo", "Mira"])
    assert known(["Bo", "Mira"], "Mira")
    assert not known([])
    assert not known(["Bo"])
    assert not known(["Bo", "Mira"], "Bo")
    assert known([], excluded=True)
    assert known(["Bo", "Mira"], excluded=True)
    assert not known(["Mira"], excluded=True)
    assert not known(["Bo", "Mira"], "Mira", excluded=True)


def test_groups_of_several_names_and_the_foremost_of_a_group() -> None:
    both = row("sea", "AB", group="a, b")
    for n in range(9):
        tale = kept(both, row("sea", "A", group="a"), row("sea", "B", group="b"))
        for _ in range(n):
            tale.turn("Hm.", "S.")
        assert len(played(tale, "the sea")) in (1, 2)
        tale = kept(
            row("sea", "A", group="a", groupWeight=9_000),
            row("sea", "B", group="a", order=5, groupOverride=True),
            row("sea", "C", group="a", order=9, groupOverride=True),
        )
        for _ in range(n):
            tale.turn("Hm.", "S.")
        assert played(tale, "the sea") == ["2"]
    tale = kept(row("sea", "A", group="a", sticky=3), row("sky", "B", group="a", order=999))
    assert [played(tale, "the sea"), played(tale, "the sky")] == [["0"], ["0"]], (
        "one that stays keeps the group"
    )


def test_entries_come_in_the_order_of_their_positions() -> None:
    rows = [
        row("sea", "At depth 1", position=4, depth=1, order=1),
        row("sea", "At depth 9", position=4, depth=9, order=2),
        row("sea", "After", position=1, order=3),
        row("sea", "Before", position=0, order=4),
    ]
    assert played(kept(*rows), "the sea") == ["3", "2", "1", "0"]
    tale = kept(
        row("", "Zwei", constant=True, order=2),
        row("", "Eins", constant=True, order=1),
        row("", "Behind", constant=True, position=1),
        row("", "Deep", constant=True, position=4),
    )
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver"}})
    text = str(prompt_of(tale.story, Frame("s", "t", tokens=9_999, answer=9)).messages[0].text)
    assert [text.index(part) for part in ("Eins", "Zwei", "Mira", "Behind")] == sorted(
        text.index(part) for part in ("Eins", "Zwei", "Mira", "Behind")
    )
    assert "Deep" not in text
    assert played(tale, "Hm.") == ["3"], "its position is below the last scenes"


def test_a_cards_entries_are_exported_as_world_info_with_their_meaning() -> None:
    extensions = {
        **{"sticky": 3, "cooldown": 4, "delay": 5, "exclude_recursion": True, "prevent_recursion": True},
        **{"delay_until_recursion": True, "group_weight": 7, "group_override": True, "vectorized": True},
        **{"position": 4, "depth": 2, "role": 1, "character_filter": {"names": ["Mira"], "isExclude": True}},
    }
    book = lorebook_of(
        {"entries": [{"keys": ["sea"], "content": "D.", "position": "after_char", "extensions": extensions}]}
    )
    out = json.loads(json.dumps(world_info(book.entries)))["entries"]["0"]
    again = entry_of("1", lorebook_of({"entries": {"0": out}}).entries[0])
    assert replace(again, source="") == replace(entry_of("1", book.entries[0]), source="")
    assert (out["role"], out["vectorized"], out["sticky"]) == (1, True, 3)


async def test_a_played_story_keeps_sticky_entries_and_a_replay_gives_the_same(tmp_path: Path) -> None:
    writer = Writer()
    oil = row("lamp", "It burns whale oil.", sticky=3, scanDepth=1)
    world = {"entries": {"0": oil, "1": row("/l.mps?/i", "Of brass.", scanDepth=1)}}
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say(f"/story import {put(tmp_path, 'world.json', world)}")
        for line in ("I light the LAMP.", "I go on.", "/story retry", "I rest."):
            await talk.say(line)
        prompts = [str(body["messages"]) for body in writer.scenes[-4:]]
        told = [("It burns whale oil." in text, "Of brass." in text) for text in prompts]
        assert told == [(True, True), (True, False), (True, False), (False, False)]
        await talk.say("/story undo")
        await talk.say("/story undo")
        await talk.say("I wait.")
        assert "It burns whale oil." in str(writer.scenes[-1]["messages"])
