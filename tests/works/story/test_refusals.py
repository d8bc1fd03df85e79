"""A refusal in prose is distinguished from a scene, and never becomes one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.works.story.turn.refusal import is_refusal, may_become_refusal
from tests.fakes.reply import Reply
from tests.works.story.writer import START, Writer, choices, playing, texts

CASES = Path(__file__).parents[2] / "data" / "refusals"


def cases(name: str) -> list[str]:
    lines = (CASES / name).read_text(encoding="utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines]


@pytest.mark.parametrize("side", ["develop", "held"])
def test_refusals_are_distinguished_from_scenes(side: str) -> None:
    """The held-back examples were written together with the others, and the patterns were not fitted to them."""
    refusals, scenes = cases(f"refusals.{side}.txt"), cases(f"scenes.{side}.txt")
    missed = [text for text in refusals if not is_refusal(text)]
    taken = [text for text in scenes if is_refusal(text)]
    assert taken == []
    assert len(refusals) >= 30
    assert len(scenes) >= 100
    assert len(missed) <= 0.05 * len(refusals), missed


def test_a_refusal_is_held_back_from_its_first_word() -> None:
    for side in ("develop", "held"):
        for text in cases(f"refusals.{side}.txt"):
            if is_refusal(text):
                assert all(may_become_refusal(text[:end]) for end in range(len(text) + 1)), text
    assert not may_become_refusal("The lamp ")
    assert not may_become_refusal("I climb the stairs. The lamp ")
    assert not may_become_refusal("“I can't help")


def test_a_character_who_cannot_help_is_no_refusal() -> None:
    assert is_refusal("I'm sorry, but I can't help with that.")
    assert not is_refusal("I'm sorry, but I can't help with that.", spoken=True)
    assert is_refusal("I'm sorry, but I can't write this scene.", spoken=True)


async def test_a_refusal_in_prose_becomes_no_scene(tmp_path: Path) -> None:
    refusal = "I can't help with that. As an AI, I am not able to write scenes like this."
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next.append(Reply(refusal))
        shown = await talk.say("I open the door.")
        assert refusal[:20] not in texts(shown)
        assert "declined to write this scene" in str(shown)
        assert "/story retry --soften" in str(choices(shown))
        writer.choices = "I'm sorry, but I can't help with that request."
        shown = await talk.say("/story retry")
        assert "This is what was written as number 2." in texts(shown)
        assert "I can't help" not in str(shown)
        await talk.say("I go on.")
        assert "As an AI" not in str(writer.scenes[-1]["messages"])
