"""Narration on Slack: one MP3 for each stage, posted in the thread after the text, which never waits for it."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import soundfile
from aiohttp import web

from bot.adapters.slack.shown import narration
from bot.config import Config, ProviderConfig, SpeechConfig
from bot.events import Changed, Event, Hush, Place, Speak, Stage, Text
from bot.runs.requests import event_id
from bot.settings import NARRATE, ON
from bot.speech.clips import Clip
from bot.work import Run
from storage.tables import outbox
from tests.adapters.slack.serving import served
from tests.fakes.scripted_app import config
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
    yield Speak(SCENE, "scene", "narrator")


def speaking(data: Path, service: SpeechService) -> Config:
    own = ProviderConfig("own", "openai-compatible", service.base_url, None)
    return replace(config(data), providers={"own": own}, speech=SpeechConfig(voices=("own:tts-1/nova",)))


@pytest.mark.parametrize("narrates", [True, False])
async def test_a_narrated_stage_is_followed_by_its_recording(
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
            await bot.app.resources.settings.set(place, ana.id, NARRATE, ON, "space")
        message = await slack.say(ana, channel, "play", mention=True)
        await slack.until(lambda: any("cold wind" in reply.shown for reply in message.thread))
        if not narrates:
            assert not slack.files.all
            return
        await slack.until(lambda: any(reply.files for reply in message.thread))
        messages = [reply for reply in message.thread if "cold wind" in reply.shown or reply.files]
        assert [bool(message.files) for message in messages] == [False, True]
        (file,) = messages[1].files
        assert re.fullmatch(r"🔊 Narrator, 0:02\nscene-[0-9a-f]{8}\.mp3", messages[1].shown)
        samples, rate = soundfile.read(io.BytesIO(file.data or b""))
        assert 2.0 < len(samples) / rate < 3.5
        assert [request["voice"] for request in service.requests] == ["nova", "nova"]


async def test_a_failing_voice_is_reported_and_the_text_stays(slack: FakeSlack, tmp_path: Path) -> None:
    team = slack.workspace("Table")
    channel, ana = team.channel("general"), team.user("Ana")
    async with (
        SpeechService() as service,
        served(tmp_path, slack, {"play": scene}, config=speaking(tmp_path, service)) as bot,
    ):
        service.answers.append(web.Response(status=500))
        await bot.app.resources.settings.set(
            Place("slack", team.id, channel.id, ""), ana.id, NARRATE, ON, "space"
        )
        message = await slack.say(ana, channel, "play", mention=True)
        await slack.until(lambda: any("🔇" in reply.shown for reply in message.thread))
        assert [reply.shown for reply in message.thread if "🔇" in reply.shown] == [
            "🔇 This could not be read aloud: the voice own refused the text."
        ]
        assert any("cold wind" in reply.shown for reply in message.thread)


async def test_a_recording_cut_off_by_a_crash_is_posted_once(slack: FakeSlack, tmp_path: Path) -> None:
    team = slack.workspace("Table")
    channel, ana = team.channel("general"), team.user("Ana")
    async with SpeechService() as service:
        service.answers.append(None)  # the upload hangs until the bot is gone
        async with served(tmp_path, slack, {"play": scene}, config=speaking(tmp_path, service)) as bot:
            place = Place("slack", team.id, channel.id, "")
            await bot.app.resources.settings.set(place, ana.id, NARRATE, ON, "space")
            message = await slack.say(ana, channel, "play", mention=True)
            await slack.until(lambda: service.requests)
            await slack.until(lambda: any("cold wind" in reply.shown for reply in message.thread))
        assert not slack.files.all
        async with served(tmp_path, slack, {"play": scene}, config=speaking(tmp_path, service)) as bot:
            await slack.until(lambda: any(reply.files for reply in message.thread))
            (sent,) = (reply for reply in message.thread if reply.files)
            run = event_id("slack", team.id, f"message:{channel.id}:{message.ts}")
            request = await bot.app.request_of(team.id, run)
            assert request is not None
            name = sent.files[0].name
            # A crash between the upload and its record: the new recording has another size.
            await bot.app.resources.records.database.run(
                outbox.update()
                .where(outbox.c.stage == "spoken#scene:0")
                .values(state="sending", message_id=None)
            )
            clip = Clip(name, "🔊 Narrator, 0:02", (sent.files[0].data or b"") + b"more", 2.0)
            to_slack = (bot.app.records, bot.service.workspaces, bot.service.writers)
            await narration.post(*to_slack, request, clip, "scene")
            assert len(slack.files.all) == 1


async def test_a_scenes_recording_is_deleted_with_the_scene(slack: FakeSlack, tmp_path: Path) -> None:
    team = slack.workspace("Table")
    channel, ana = team.channel("general"), team.user("Ana")
    runs: list[str] = []

    async def away(run: Run) -> AsyncGenerator[Event, None]:
        yield Hush(runs[0], "scene")
        yield Changed(runs[0], "scene", "", (Text("Taken out."),))
        yield Text("It is away.")

    scripts = {"play": scene, "away": away}
    async with (
        SpeechService() as service,
        served(tmp_path, slack, scripts, config=speaking(tmp_path, service)) as bot,
    ):
        place = Place("slack", team.id, channel.id, "")
        await bot.app.resources.settings.set(place, ana.id, NARRATE, ON, "space")
        message = await slack.say(ana, channel, "play", mention=True)
        await slack.until(lambda: any(reply.files for reply in message.thread))
        runs.append(event_id("slack", team.id, f"message:{channel.id}:{message.ts}"))
        await slack.say(ana, channel, "away", mention=True)
        await slack.until(lambda: all(file.deleted for file in slack.files.all.values()))
        await slack.until(lambda: any("Taken out." in reply.shown for reply in message.thread))
        again = await slack.say(ana, channel, "play", mention=True)
        await slack.until(lambda: any(message.files for message in again.thread))
        await slack.delete(again)
        await slack.until(lambda: all(file.deleted for file in slack.files.all.values()))


@pytest.mark.parametrize("at", ["files.getUploadURLExternal", "files.completeUploadExternal"])
async def test_a_recording_whose_request_is_deleted_while_it_is_sent_is_deleted(
    slack: FakeSlack, tmp_path: Path, at: str
) -> None:
    team = slack.workspace("Table")
    channel, ana = team.channel("general"), team.user("Ana")
    async with (
        SpeechService() as service,
        served(tmp_path, slack, {"play": scene}, config=speaking(tmp_path, service)) as bot,
    ):
        place = Place("slack", team.id, channel.id, "")
        await bot.app.resources.settings.set(place, ana.id, NARRATE, ON, "space")
        sending = asyncio.Event()
        slack.fail(at).gate = sending
        message = await slack.say(ana, channel, "play", mention=True)
        await slack.until(lambda: not slack.faults.waiting)
        await slack.delete(message)
        await asyncio.sleep(1)
        sending.set()
        await slack.until(lambda: slack.files.all and all(f.deleted for f in slack.files.all.values()))


async def test_a_recording_unrecorded_by_a_crash_is_deleted_with_its_request(
    slack: FakeSlack, tmp_path: Path
) -> None:
    team = slack.workspace("Table")
    channel, ana = team.channel("general"), team.user("Ana")
    async with (
        SpeechService() as service,
        served(tmp_path, slack, {"play": scene}, config=speaking(tmp_path, service)) as bot,
    ):
        place = Place("slack", team.id, channel.id, "")
        await bot.app.resources.settings.set(place, ana.id, NARRATE, ON, "space")
        message = await slack.say(ana, channel, "play", mention=True)
        await slack.until(lambda: any(reply.files for reply in message.thread))
        other = await slack.say(ana, channel, "play", mention=True)
        await slack.until(lambda: any(reply.files for reply in other.thread))
        # Slack has the file, but the process was killed before it recorded the id.
        await bot.app.resources.records.database.run(
            outbox.update().where(outbox.c.stage == "spoken#scene:0").values(state="sending", message_id=None)
        )
        await slack.delete(message)
        await slack.until(lambda: not any(reply.files for reply in message.thread))
        await slack.until(lambda: [file.deleted for file in slack.files.all.values()] == [True, False])
