"""Session zero: the players of a table agree on a story, question by question, with a break in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.works.story.test_party import told
from tests.works.story.test_safety import asks, whole
from tests.works.story.writer import Writer, choices, last, playing, texts


@pytest.mark.slow
async def test_a_table_agrees_on_a_story_with_a_restart_in_between(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await talk.say("/help")
        assert "What is the story about?" in await told(talk, "zero", who="ana")
        asked = await talk.say("A lighthouse keeper finds a door in the sea.")
        assert "What tone" in texts(asked)
        assert "eerie" in [choice["label"] for choice in choices(asked)]
        assert "Who is it for" in await told(talk, "zero", "eerie", who="bia", options={"step": "tone"})
        assert "already answered that" in await told(
            talk, "zero", "funny", who="cai", options={"step": "tone"}
        )
        assert "everyone, teen, mature" in await told(talk, "zero", "grown-ups", who="cai")
        assert "what should never come up" in await told(talk, "zero", "Jovem", who="cai")
        assert not writer.asked
    async with playing(tmp_path, writer) as talk:
        assert "what should never come up" in texts(await talk.say("/story zero")), "after a week, too"
        assert "Who is it for" in texts(await talk.say("/story zero --step lines --back"))
        again = await talk.say("/story zero --step rating --back")
        assert "What tone" in texts(again)
        assert "So far: eerie" in texts(again)
        assert "Back" in [choice["label"] for choice in choices(again)]
        assert "already answered that" in str(await talk.say("/story zero --step lines --back"))
        assert "what should never come up" in texts(await talk.say("tender")), (
            "the rating stands, and is not asked"
        )
        assert "off-screen" in texts(await talk.say("spiders"))
        skipped = await talk.say("/story zero --step veils --skip")
        assert "Who is in it?" in texts(skipped)
        assert "sheets with numbers" in texts(await talk.say("Mira: a diver; Bo"))
        assert "How do you take turns?" in texts(await talk.say("/story zero --step sheets -- 5e"))
        summary = texts(await talk.say("round-robin"))
        for part in ("A lighthouse keeper", "tender", "teen", "spiders", "Mira", "round-robin"):
            assert part in summary
        assert "torture" not in summary
        assert "Begin now?" in texts(await talk.say("wait a moment"))
        back = await told(talk, "zero", who="bia", options={"step": "begin", "back": True})
        assert "How do you take turns?" in back
        assert "So far: round-robin" in back
        assert "Begin now?" in texts(await talk.say("/story zero --step mode --skip"))
        assert not writer.asked
        await talk.say("/story safety --veils torture")
        begun = await talk.say("/story zero --step begin")
        assert "number 1" in texts(begun)
        assert "first scene" in last(writer.scenes[0])
        for part in (
            "A lighthouse keeper",
            "tone: tender",
            "rating: teen",
            "lines: spiders",
            "veils: torture",
        ):
            assert part in whole(writer.scenes[0])
        assert 'character name="Mira"' in whole(writer.scenes[0])
        assert "has ended" in str(await talk.say("/story zero --step mode -- free"))
        await talk.say("I open the door.")
        assert "I open the door." in last(writer.scenes[-1]), "what is written is a turn again"
        assert "2 scenes" in texts(await talk.say("/story show"))


@pytest.mark.slow
async def test_everything_can_be_skipped_and_given_answers_are_not_asked_for(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await talk.say("/story zero")
        for _ in range(7):
            await talk.say("skip")
        assert "Begin now?" in texts(await talk.say("skip"))
        assert "number 1" in texts(await talk.say("yes"))
        again = "/story start A door --together --tone funny --rating teen --mode free --cast Bo"
        assert "never come up" in texts(await talk.say(again))
        await talk.say("/story zero --step lines -- clowns")
        await talk.say("/story zero --skip")
        assert "funny" in texts(await talk.say("/story zero --skip"))
        assert "number 2" in texts(await talk.say("yes"))
        assert "lines: clowns" in whole(writer.scenes[-1])


@pytest.mark.slow
async def test_a_turn_begins_the_story_at_once(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await talk.say("/story zero A door in the sea")
        assert "number 1" in texts(await talk.say("/story act I open it."))
        await talk.say("I go in.")
        assert "I go in." in last(writer.scenes[-1])


@pytest.mark.parametrize(
    ("locale", "sentence"),
    [("en", "marked for adults"), pytest.param("pt-BR", "lugares para adultos", marks=pytest.mark.slow)],
)
async def test_an_impossible_answer_is_refused_at_its_question(
    tmp_path: Path, locale: str, sentence: str
) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say("/help")
        await asks(talk, "zero", "A door", locale=locale, adults=False)
        await asks(talk, "zero", "skip", locale=locale, adults=False)
        mature = "mature" if locale == "en" else "adulta"
        assert sentence in await told(talk, "zero", mature, locale=locale, adults=False)
        await asks(talk, "zero", "teen", locale=locale, adults=False)
        assert "1000" in await told(talk, "zero", "x" * 1_001, locale=locale)
