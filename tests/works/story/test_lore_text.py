"""World Info works as its format defines: macros, decorators, recursion, chance and groups; the same on every
replay.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot.works.story.exchange.lorebook import lorebook_of, world_info
from bot.works.story.scene.choices import read_choices
from bot.works.story.turn.context import Frame, prompt
from bot.works.story.turn.turn_plan import TurnPlan, applying_entries, lore_search
from bot.works.story.world.lore_text import entry_of, fill_macros
from bot.works.story.world.lorebook import LoreEntry, triggered
from tests.works.story.tale import Tale
from tests.works.story.writer import START, Writer, playing


def called(bodies: list[dict[str, Any]], text: str, seed: str = "") -> list[str]:
    entries = [entry_of(str(n), body) for n, body in enumerate(bodies)]
    found = triggered(entries, [text], depth=4, budget=9_999, recursive=True, tokens=len, seed=seed)
    return [entry.content for entry in found]


def body(key: str, content: str, **source: Any) -> dict[str, Any]:
    return {"keys": [key], "content": content, "source": json.dumps(source)}


def test_macros_are_filled_in_and_the_same_for_the_same_seed() -> None:
    def told(text: str, seed: str = "1") -> str:
        return fill_macros(text, user="Mira", char="Bo", seed=seed)

    assert told("{{user}} and {{ char }}, <USER>") == "Mira and Bo, Mira"
    assert told("a{{// nobody reads this}}b{{time}}") == "ab"
    assert {told("{{random:x,y}}", str(n)) for n in range(40)} == {"x", "y"}
    assert {told("{{random::x::y, z}}", str(n)) for n in range(40)} == {"x", "y, z"}
    assert {told("{{roll:1d6}}", str(n)) for n in range(200)} == set("123456")
    assert told("{{random:x,y}} {{roll:d20}}") == told("{{random:x,y}} {{roll:d20}}")
    assert told("{{roll:999d9999}}") != ""
    assert told("{{random:{{user}},{{user}}}} {{// of {{char}} }}waits.") == "Mira waits."


def test_decorators_are_obeyed_or_left_out() -> None:
    assert called([body("sea", "@@dont_activate\nSecret.")], "sea") == []
    assert called([body("sea", "@@depth 4\n@@role system\nIt is deep.")], "sea") == ["It is deep."]
    assert called([body("sea", "@@exclude_keys sky\nDeep.")], "sea and sky") == []
    assert called([body("sea", "@@additional_keys sky\nDeep.")], "sea") == []
    assert called([body("sea", "@@activate\nDeep.")], "nothing") == ["Deep."]
    assert called([body("sea", "@@depth 4\n@@@dont_activate\nDeep.")], "sea") == ["Deep."]
    assert called([body("sea", "@@depth 4\n@@@any\n@@@dont_activate\nDeep.")], "sea") == ["Deep."]
    assert called([body("sea", "@@of_a_later_version\n@@@dont_activate\nDeep.")], "sea") == []


def test_an_entrys_flags_decide_whether_other_entries_activate_it() -> None:
    first = body("sea", "Of whales.")
    assert called([first, body("whales", "W.")], "sea") == ["Of whales.", "W."]
    assert called([first, body("whales", "W.", excludeRecursion=True)], "sea") == ["Of whales."]
    assert called([body("sea", "Of whales.", preventRecursion=True), body("whales", "W.")], "sea") == [
        "Of whales."
    ]
    late = body("whales", "W.", extensions={"delay_until_recursion": True})
    assert called([late], "whales") == []
    assert called([first, late], "sea") == ["Of whales.", "W."]


def test_chance_and_groups_follow_from_the_turn() -> None:
    rare = {**body("sea", "Rare."), "probability": 25}
    drawn = [bool(called([rare], "sea", str(n))) for n in range(400)]
    assert 60 < sum(drawn) < 140
    assert drawn == [bool(called([rare], "sea", str(n))) for n in range(400)]
    group = [
        {**body("sea", name, groupWeight=weight), "group": "g"} for name, weight in (("A", 300), ("B", 100))
    ]
    chosen = [called(group, "sea", str(n)) for n in range(400)]
    assert all(len(found) == 1 for found in chosen)
    assert 250 < sum(found == ["A"] for found in chosen) < 350


def test_decorators_of_constant_entries_are_obeyed_too() -> None:
    tale = Tale()
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver", "player": "Ana"}})
    for n, content in enumerate(("{{user}} is hunted.", "@@dont_activate\nNever.", "@@role user\nIt snows.")):
        tale.add("lore", {"id": str(n), "entry": {"keys": [], "content": content, "constant": True}})
    told = str(prompt(tale.story, Frame("s", "t", tokens=9_999, answer=9)))
    assert "Mira is hunted." in told
    assert "Never." not in told
    assert "It snows." in told
    assert "@@" not in told


def test_macros_in_keys_are_filled_in_too() -> None:
    tale = Tale()
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver", "player": "Ana"}})
    tale.add("cast", {"name": "Bo", "sheet": {"about": "a thief"}})
    for n, (key, second) in enumerate(
        (("{{user}}", "{{char}}"), ("{{user}}", "Zoe"), ("/(?:{{char}}|it) runs/", ""))
    ):
        seconds = {"secondary_keys": [second]} if second else {}
        tale.add("lore", {"id": str(n), "entry": {"keys": [key], "content": f"Entry {n}.", **seconds}})
    turn = tale.add("act", {"mode": "act", "text": "Mira sees that Bo runs.", "name": "Ana"})
    plan = TurnPlan(turn=turn, lore_tokens=999)
    assert [entry.id for entry in applying_entries(*lore_search(tale.story, plan), plan)] == ["0", "2"]


def test_choices_are_parsed_from_json_and_from_half_bold_lines() -> None:
    for text in (
        '["Go in.", "Wait."]',
        '```json\n{"choices": ["Go in.", "Wait."]}\n```',
        '[{"text": "Go in."}, {"text": "Wait."}]',
    ):
        assert read_choices(text, 3) == ["Go in.", "Wait."], text
    assert read_choices("- **Go** in.\n- Wait **here**.", 3) == ["Go in.", "Wait here."]


def test_an_entry_without_decorators_and_macros_is_unchanged() -> None:
    assert entry_of("1", {"keys": ["a"], "content": "b"}) == LoreEntry("1", ["a"], "b")  # type: ignore[arg-type]


def test_an_entry_that_is_found_by_meaning_alone_needs_no_keys() -> None:
    row = {"uid": 7, "key": [], "content": "Whale oil burns long.", "vectorized": True}
    book = lorebook_of({"entries": {"0": row}})
    assert [entry["content"] for entry in book.entries] == ["Whale oil burns long."]
    assert world_info(book.entries)["entries"]["0"] == row


async def test_a_constant_entry_needs_no_keywords(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("/story lore --always It never rains here")
        await talk.say("I open the door.")
    assert "It never rains here" in str(writer.scenes[-1]["messages"])
