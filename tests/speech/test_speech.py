from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest

from bot.config import Config, ProviderConfig, SpeechConfig
from bot.config.settings import Secrets
from bot.events import UserError
from bot.speech.engines.base import Sound, Unspoken
from bot.speech.engines.service import Service
from bot.speech.sound import FRAME_BYTES
from bot.speech.speech import Speech, SpokenSentence
from bot.speech.voices import Manner, Voice
from tests.fakes.engine import FakeEngine
from tests.fakes.speech_service import SpeechService
from tests.speech.services import service as service_at

FAKE = Manner((Voice("fake"),))
TEXT = "The door opens, and a cold wind comes in. Mira waits. She rolls **2d6**."
SENTENCES = ["The door opens, and a cold wind comes in.", "Mira waits.", "She rolls two d six."]


def speech(*engines: FakeEngine | Service, cache_mb: int = 1) -> Speech:
    config = Config(Path("/nowhere"), Path("/nowhere"), speech=SpeechConfig(cache_mb=cache_mb))
    return Speech(config, {one.name: one for one in engines})


async def all_of(said: Speech, text: str | AsyncIterator[str], manner: Manner = FAKE) -> list[SpokenSentence]:
    async with aclosing(said.say(text, manner)) as sentences:
        return [one async for one in sentences]


async def test_a_text_is_said_sentence_by_sentence() -> None:
    engine = FakeEngine()
    heard = await all_of(speech(engine), TEXT)
    assert [one.words for one in heard] == SENTENCES
    assert all(one.voice == Voice("fake") and one.fault is None for one in heard)
    assert [one for one, *_ in engine.said] == SENTENCES
    frames = [list(one.frames()) for one in heard]
    assert all(len(frame) == FRAME_BYTES for one in frames for frame in one)
    assert len(frames[0]) == pytest.approx(heard[0].seconds / 0.02 + 8, abs=1.1)  # and the pause behind it


async def test_the_first_sentence_is_heard_while_the_rest_is_still_written() -> None:
    rest = asyncio.Event()

    async def written() -> AsyncIterator[str]:
        yield "The door opens, and a cold wind comes in. Mi"
        await rest.wait()
        yield "ra waits."

    async with aclosing(speech(FakeEngine()).say(written(), FAKE)) as sentences:
        assert (await anext(sentences)).words == "The door opens, and a cold wind comes in."
        rest.set()
        assert (await anext(sentences)).words == "Mira waits."


async def test_audio_is_made_only_shortly_before_it_is_played() -> None:
    engine = FakeEngine()
    text = "A wolf howls at the moon over the hills. " * 20
    async with aclosing(speech(engine, cache_mb=0).say(text, FAKE)) as sentences:
        await anext(sentences)
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(engine.said) <= 5
    assert len(engine.said) <= 5


async def test_repeated_sentences_come_from_the_cache() -> None:
    engine = FakeEngine()
    said = speech(engine)
    first = await all_of(said, TEXT)
    assert [one.pcm for one in await all_of(said, TEXT)] == [one.pcm for one in first]
    assert len(engine.said) == 3
    await all_of(said, TEXT, Manner(FAKE.voices, speed=1.5))
    await all_of(said, TEXT, Manner((Voice("fake", "two"),)))
    assert len(engine.said) == 9


async def test_each_sentence_gets_a_voice_of_its_language() -> None:
    english, other = FakeEngine("fake"), FakeEngine("other", ("pt", "ru"))
    voices = Manner((Voice("fake"), Voice("other")))
    portuguese = "A porta se abre devagar, e um vento frio entra na sala escura. Mira espera 2 dias."
    heard = await all_of(speech(english, other), portuguese, voices)
    assert [one.words for one in heard][1] == "Mira espera dois dias."
    assert {one.voice for one in heard} == {Voice("other")}
    mixed = "The door opens, and a cold wind comes in. Дверь открылась, и вошёл холодный ветер. She waits."
    heard = await all_of(speech(english, other), mixed, voices)
    assert [str(one.voice) for one in heard] == ["fake", "other", "fake"]
    assert other.said[-1][3] == "ru"


async def test_a_line_with_a_characters_name_is_said_by_their_voice() -> None:
    scene = "The door opens, and a cold wind comes in.\n\nMira: Who is there? Come in.\n\nNobody answers."
    own = Manner(FAKE.voices, speakers={"mira": (Voice("fake", "low"),), "bo": (Voice("fake", "deep"),)})
    heard = await all_of(speech(FakeEngine()), scene, own)
    assert [(str(one.voice), one.words) for one in heard] == [
        ("fake", "The door opens, and a cold wind comes in."),
        ("fake:low", "Who is there?"),
        ("fake:low", "Come in."),
        ("fake", "Nobody answers."),
    ]


async def test_text_without_a_voice_is_named_and_the_rest_is_said() -> None:
    heard = await all_of(
        speech(FakeEngine()), "The door opens, and a cold wind comes in. 日本語です。 She waits."
    )
    assert [one.words for one in heard if one.pcm] == [
        "The door opens, and a cold wind comes in.",
        "She waits.",
    ]
    (mute,) = (one for one in heard if not one.pcm)
    assert mute.fault is not None
    assert (mute.fault.why, mute.fault.detail, list(mute.frames())) == ("language", "ja", [])


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Sound(np.zeros(0, np.float32), 24_000), "silent"),
        (Sound(np.full(24_000, np.nan, np.float32), 24_000), "noise"),
        (Unspoken("crashed", "fake"), "crashed"),
        (Unspoken("hangs", "fake"), "hangs"),
    ],
)
async def test_a_sentence_that_fails_gets_the_next_voice_or_is_reported(
    answer: Sound | Unspoken, why: str
) -> None:
    broken, sound_one = FakeEngine(answers={SENTENCES[1]: answer}), FakeEngine("other")
    said = speech(broken, sound_one)
    heard = await all_of(said, TEXT, Manner((Voice("fake"), Voice("other"))))
    assert [one.words for one in heard] == SENTENCES
    assert str(heard[1].voice) == "other"
    lasting = why in ("crashed", "hangs")  # then the failed voice is not tried again for the rest
    assert str(heard[2].voice) == ("other" if lasting else "fake")
    assert why in said.last_fault
    alone = await all_of(speech(broken), TEXT)
    assert [bool(one.pcm) for one in alone] == ([True, False, False] if lasting else [True, False, True])
    assert alone[1].fault is not None
    assert alone[1].fault.why == why


@pytest.mark.parametrize("text", ["", " \n", "🎉🎉", "***", "[1]", "<@123>"])
async def test_an_empty_text_gives_no_audio(text: str) -> None:
    engine = FakeEngine()
    assert await all_of(speech(engine), text) == []
    assert engine.said == []


@pytest.mark.parametrize("characters", [5_000, pytest.param(50_000, marks=pytest.mark.slow)])
async def test_thousands_of_characters_without_an_end_are_cut(characters: int) -> None:
    engine, going_on = FakeEngine(), "and then the wolf ran on through the wood "
    heard = await all_of(speech(engine, cache_mb=0), going_on * (characters // len(going_on)))
    assert len(heard) > characters / 420
    assert max(len(text) for text, *_ in engine.said) <= 410


async def test_a_cancelled_reading_leaves_no_task_behind() -> None:
    gate = asyncio.Event()
    engine = FakeEngine(gate=gate)
    before = asyncio.all_tasks()
    sentences = speech(engine).say(TEXT, FAKE)
    waiting = asyncio.ensure_future(anext(sentences))
    while not engine.said:  # noqa: ASYNC110  (nothing tells of it)
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await sentences.aclose()
    assert asyncio.all_tasks() == before


async def test_an_unknown_engine_is_reported() -> None:
    heard = await all_of(speech(), TEXT, Manner((Voice("nobody"),)))
    assert [one.fault.why for one in heard if one.fault] == ["no_voice"] * 1 + ["language"] * 2


async def test_a_service_gets_its_own_voice_names_and_is_billed() -> None:
    async with SpeechService(key="sk-1") as service:
        said = speech(service_at(service.base_url, "sk-1"))
        bills: list[tuple[str, int]] = []

        async def paid(model: str, characters: int, call: Callable[[], Awaitable[float]]) -> None:
            seconds = await call()
            assert seconds == pytest.approx(0.05 * characters, abs=0.01)
            bills.append((model, characters))

        manner = Manner((Voice("openai", "tts-1/coral"),), speed=1.25)
        async with aclosing(
            said.say("Olá, Mira! Hoje vamos abrir a porta do castelo.", manner, paid)
        ) as sentences:
            heard = [one async for one in sentences]
        assert all(one.pcm for one in heard)
        assert service.requests[0] == {
            "model": "tts-1", "voice": "coral", "input": heard[0].words, "response_format": "wav", "speed": 1.25,
        }  # fmt: skip
        assert bills == [("openai:tts-1", len(one.words)) for one in heard]
        await said.close()


async def test_an_exceeded_cap_is_raised_as_an_error() -> None:
    async with SpeechService() as service:
        said = speech(service_at(service.base_url))

        async def paid(model: str, characters: int, call: Callable[[], Awaitable[float]]) -> None:
            raise UserError("budget.run")

        with pytest.raises(UserError, match="budget"):
            async with aclosing(said.say(TEXT, Manner((Voice("openai"),)), paid)) as sentences:
                await anext(sentences)
        assert service.requests == []
        await said.close()


def test_the_engines_are_those_of_the_config() -> None:
    own = ProviderConfig("own", "openai-compatible", "http://127.0.0.1:1/v1", None)
    config = Config(Path("/nowhere"), Path("/nowhere"), providers={"own": own}, secrets=Secrets({}, {}))
    said = Speech(config)
    assert said.names == ["hibari", "espeak", "piper", "own"]
    assert {name: type(said.engine(name)).__name__ for name in said.names} == {
        "hibari": "Hibari", "espeak": "Espeak", "piper": "Piper", "own": "Service",
    }  # fmt: skip
    assert said.engine("anthropic") is None
