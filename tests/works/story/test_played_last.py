"""A process prepares its first turn behind the start, and each turn reuses the work of the one before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from benchmarks.story import kept
from bot.works.story.turn.context import COUNTED_SEQ, Frame, prompt
from bot.works.story.turn.played_last import LEAST
from bot.works.story.world import state
from tests.fakes.wires import WIRES
from tests.promises.talk import settings, talking
from tests.works.story.tale import Tale, prose
from tests.works.story.writer import Writer


async def test_the_story_played_last_is_prepared_without_a_model_call(tmp_path: Path) -> None:
    writer = Writer()
    async with WIRES["chat"].service(writer) as service:
        config = settings(tmp_path / "data", service)
        await kept(config, LEAST)
        async with talking(config, thread="bench") as talk:
            assert (await talk.say("/story show"))[-1]["status"] == "done"
            assert talk.app is not None
            logs = talk.app.works["story"].logs  # type: ignore[attr-defined]
            async with asyncio.timeout(60):
                while COUNTED_SEQ not in (await logs.story("local", "story", "story")).cache:
                    await logs.stories.played_last(1)  # each check lets it continue
            assert not writer.scenes
        async with talking(config, thread="bench"):
            pass  # closed while it is made ready


class Asked(dict[str, Any]):
    """Counts how often it is asked."""

    times = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.times += 1
        return super().get(key, default)


def test_a_turn_reuses_the_search_of_the_turn_before() -> None:
    tale, frame = Tale(), Frame("s", "t", tokens=3_000, answer=9)
    story = tale.story
    for n in range(120):
        for kind in (
            "act",
            "scene",
            *(("corrected",) if n % 20 == 9 else ()),
            *(("head",) if n % 30 == 29 else ()),
        ):
            match kind:
                case "act":
                    turn = tale.add("act", {"mode": "act", "text": f"I do thing {n}.", "name": "Ana"})
                case "scene":
                    tale.add("scene", {"text": prose(n, 60), "at": len(tale.nodes)}, turn)
                case "corrected":
                    body = {"character": "Bo", "field": "mood", "value": f"mood {n}"}
                    tale.add("corrected", body, turn if n % 40 == 9 else "")
                case "head":
                    tale.add("head", {}, story.path[story.length - 4])
            story.add(tale.nodes[-1])
        assert prompt(story, frame) == prompt(tale.story, frame), (
            f"as of a story that was folded again, turn {n}"
        )
    story.corrections = asked = Asked(story.corrections)
    turns = story.current_turns
    state.characters_after(story, turns[:90])
    before = asked.times
    state.characters_after(story, turns[:95])
    assert asked.times - before <= 6
