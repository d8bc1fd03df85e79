"""What is narrated on Slack: one MP3 a stage, in the thread, behind its text, which it never keeps waiting."""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import soundfile
from aiohttp import web

from bot.config import Config, ProviderConfig, SpeechConfig
from bot.events import Event, Place, Run, Speak, Stage, Text
from bot.settings import NARRATE, ON
from tests.adapters.slack.serving import served
from tests.fakes.house import config
from tests.fakes.slack import FakeSlack
from tests.fakes.speech_service import SpeechService

SCENE = "The door opens, and a cold wind comes in. Mira waits."


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as slack:
        yield slack


async def scene(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("scene", "Scene 1")
    yield Text(SCENE)
    yield Speak(SCENE, "scene-1", "narrator")


def speaking(data: Path, service: SpeechService) -> Config:
    own = ProviderConfig("own", "openai-compatible", service.base_url, None)
    return replace(config(data), providers={"own": own}, speech=SpeechConfig(voices=("own:tts-1/nova",)))


@pytest.mark.parametrize("narrates", [True, False])
async def test_a_stage_that_is_narrated_is_followed_by_its_recording(
    slack: FakeSlack, tmp_path: Path, narrates: bool
) -> None:
    team = slack.workspace("Table")
    channel, ana = team.channel("general"), team.user("Ana")
    async with (
        SpeechService() as service,
        served(tmp_path, slack, {"play": scene}, config=speaking(tmp_path, service)) as bot,
    ):
        if narrates:
            place = Place("slack", team.id, channel.id, "")
            await bot.app.house.settings.set(place, ana.id, NARRATE, ON, "space")
        message = await slack.say(ana, channel, "play", mention=True)
        await slack.until(lambda: any("cold wind" in one.shown for one in message.thread))
        if not narrates:
            assert not slack.files.all
            return
        await slack.until(lambda: any(one.files for one in message.thread))
        said = [one for one in message.thread if "cold wind" in one.shown or one.files]
        assert [bool(one.files) for one in said] == [False, True]
        (file,) = said[1].files
        assert said[1].shown == "🔊 Narrator, 0:02\nscene-1.mp3"
        samples, rate = soundfile.read(io.BytesIO(file.data or b""))
        assert 2.0 < len(samples) / rate < 3.5
        assert [one["voice"] for one in service.requests] == ["nova", "nova"]


async def test_a_voice_that_fails_costs_a_sentence_and_the_text_stands(
    slack: FakeSlack, tmp_path: Path
) -> None:
    team = slack.workspace("Table")
    channel, ana = team.channel("general"), team.user("Ana")
    async with (
        SpeechService() as service,
        served(tmp_path, slack, {"play": scene}, config=speaking(tmp_path, service)) as bot,
    ):
        service.answers.append(web.Response(status=500))
        await bot.app.house.settings.set(
            Place("slack", team.id, channel.id, ""), ana.id, NARRATE, ON, "space"
        )
        message = await slack.say(ana, channel, "play", mention=True)
        await slack.until(lambda: any("🔇" in one.shown for one in message.thread))
        assert [one.shown for one in message.thread if "🔇" in one.shown] == [
            "🔇 This could not be read aloud: the voice own refused it."
        ]
        assert any("cold wind" in one.shown for one in message.thread)
