"""/voice through the real application: what can be set for whom, which setting applies, and what the doctor
says.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.events import Author, Place, Speak
from bot.speech.voices import Manner, Voice, manner_of
from tests.works.test_settings import ANA, BIA, ELSEWHERE, HERE, Asker, opened

CONFIG = """
[providers.house]
kind = "openai-compatible"
base_url = "http://127.0.0.1:9/v1"
[speech]
voices = ["hibari", "house:tts/coral"]
speed = 1.1
[embedding]
model = "none"
"""
NEXT = replace(HERE, thread="next")


class Voices:
    """/voice as different people, in different places."""

    def __init__(self, ask: Asker) -> None:
        self.ask = ask

    async def __call__(
        self,
        verb: str,
        text: str = "",
        *,
        place: Place = HERE,
        author: Author = ANA,
        to: str = "",
        speaker: str = "",
        work: str = "",
    ) -> str:
        given = {name: value for name, value in (("for", to), ("as", speaker), ("work", work)) if value}
        request = replace(self.ask.request("voice", verb, text, place, author), options=given)
        return "".join(getattr(one, "text", "") for one in await self.ask.perform(request))

    async def manner(
        self,
        speaker: str = "",
        *,
        place: Place = HERE,
        author: Author = ANA,
        work: str = "story",
        language: str = "",
    ) -> Manner:
        resources = self.ask.app.resources
        request = self.ask.request("voice", "voice", "", place, author)
        said = Speak("", "", speaker, language)
        return await manner_of(resources.settings, resources.config.speech, request, work, said)

    async def first(self, speaker: str = "", **whose: object) -> str:
        return str((await self.manner(speaker, **whose)).voices[0])  # type: ignore[arg-type]


@pytest.fixture
async def voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Voices]:
    program = tmp_path / "bin/espeak-ng"  # never run, but a missing voice cannot be chosen
    program.parent.mkdir()
    program.touch(0o700)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    async with opened(tmp_path, CONFIG) as ask:
        yield Voices(ask)


async def test_the_nearest_setting_chooses_the_voice_and_others_stand_in(voice: Voices) -> None:
    assert await voice.first() == "hibari"
    await voice("voice", "hibari:low", author=BIA, to="everyone")
    await voice("voice", "hibari:deep", author=BIA, to="channel")
    assert (await voice.first(), await voice.first(place=ELSEWHERE)) == ("hibari:deep", "hibari:low")
    await voice("voice", "espeak", to="thread")
    assert (await voice.first(), await voice.first(place=NEXT)) == ("espeak", "hibari:deep")
    told = await voice("voice", "hibari:heart")
    assert "`hibari:heart`, `espeak`, `hibari:deep`, `hibari:low`, `hibari`, `house:tts/coral`" in told
    assert (await voice.first(), await voice.first(author=BIA)) == ("hibari:heart", "espeak")
    await voice("voice", "padrão")
    assert await voice.first() == "espeak"


async def test_a_character_and_a_kind_of_work_can_have_their_own_voices(voice: Voices) -> None:
    told = await voice("voice", "hibari:low", speaker="Mira Vale")
    assert "the voice of Mira Vale is now `hibari:low`. Voices, in order: `hibari:low`, `hibari`" in told
    assert (await voice.manner()).speakers == {"mira vale": (Voice("hibari", "low"),)}
    assert (await voice.manner(place=NEXT)).speakers == {}
    await voice("voice", "hibari:deep", work="council")
    assert await voice.first("mira  vale") == "hibari:low"
    assert await voice.first("Mira Vale", place=NEXT) == "hibari"
    assert (await voice.first(), await voice.first(work="council")) == ("hibari", "hibari:deep")
    assert "no kind of work" in await voice("voice", "hibari", work="opera")
    assert "hibari:deep" in await voice("voice", work="Conselho")


async def test_speed_must_be_a_number_within_bounds(voice: Voices) -> None:
    assert (await voice.manner()).speed == 1.1
    assert "speed 1.5" in await voice("speed", "1,5x")
    assert ((await voice.manner()).speed, (await voice.manner(author=BIA)).speed) == (1.5, 1.1)
    await voice("speed", "2", work="council")
    assert ((await voice.manner()).speed, (await voice.manner(work="council")).speed) == (1.5, 2.0)
    for wrong in ("0.1", "9", "fast", "nan"):
        assert "is not a speed" in await voice("speed", wrong)
    assert "speed 1.5" in await voice("speed")


async def test_the_texts_language_overrides_the_requests(voice: Voices) -> None:
    assert ((await voice.manner()).language, (await voice.manner(language="pt-BR")).language) == ("en", "pt")


async def test_anybody_sets_narration_for_a_thread_and_admins_for_more(voice: Voices) -> None:
    settings = voice.ask.app.resources.settings

    async def narrated(place: Place) -> bool:
        return await settings.narrated(voice.ask.request("voice", "narrate", "", place, ANA))

    assert "I read nothing aloud" in await voice("narrate")
    assert "I read aloud" in await voice("narrate", "on")
    assert (await narrated(HERE), await narrated(NEXT), await narrated(ELSEWHERE)) == (True, False, False)
    assert "Here, reading aloud is now" in await voice("narrate", "off", place=replace(HERE, thread=""))
    assert "Only admins" in await voice("narrate", "on", to="everyone")
    await voice("narrate", "on", author=BIA, to="everyone")
    await voice("narrate", "off")
    assert (await narrated(HERE), await narrated(ELSEWHERE)) == (False, True)
    assert "neither on nor off" in await voice("narrate", "perhaps")


async def test_text_without_a_voice_gets_a_sentence(voice: Voices) -> None:
    assert "Write what I should say" in await voice("say", "🎉🎉 …")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("nobody:x", "is not a voice"),
        ("$(id)", "is not a voice"),
        ("hibari:squeaky", "hibari:heart, hibari:low, hibari:deep"),
        ("piper:joe", "There is no voice piper:joe"),
        ("house:tts/nova", "costs money"),
    ],
)
async def test_invalid_values_get_a_sentence(voice: Voices, given: str, says: str) -> None:
    assert says in await voice("voice", given)
    assert await voice.first() == "hibari"


async def test_a_voice_that_costs_money_is_chosen_by_admins_unless_the_config_lists_it(voice: Voices) -> None:
    assert "`house:tts/coral`" in await voice("voice", "house:tts/coral")
    await voice("voice", "house:tts/nova", author=BIA)
    assert await voice.first(author=BIA) == "house:tts/nova"


async def test_a_voice_that_no_longer_exists_is_skipped(voice: Voices) -> None:
    await voice.ask.app.resources.settings.set(HERE, "ana", "voices", "%%%", "person")
    await voice.ask.app.resources.settings.set(HERE, "ana", "speed", "nonsense", "person")
    assert (await voice.manner()).speed == 1.1
    assert await voice.first() == "hibari"


@pytest.mark.slow
async def test_the_doctor_tries_only_free_voices(voice: Voices) -> None:
    told = await voice("doctor")
    assert "| `hibari` | heart, low, deep | ✓" in told
    assert "| `house` | – | ready, not tried |" in told
    assert "| `piper` |" in told
    assert "There have been no errors so far." in told
