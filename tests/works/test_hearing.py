"""A recording becomes words that only the speaker can play, change or discard, through the real application."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from aiohttp import web

from bot.config import Config, ProviderConfig
from bot.events import Choices, Event, File, Text, UserError
from bot.runs.requests import child_id
from bot.work import Run
from tests.fakes.ear import Ear
from tests.fakes.ears import model, with_package
from tests.fakes.scripted_app import Recorder, asked, config, open_scripted
from tests.fakes.wires import WIRES
from tests.promises.talk import settings, talking
from tests.speech.recordings import archive, long_ogg, mp4, ogg
from tests.works.story.writer import START, Writer, choices, texts


def listening(made: Config, ear: Ear | None, *models: str, kind: str = "openai-compatible") -> Config:
    """The config with these transcribers."""
    if ear is None:
        return made
    provider = ProviderConfig("ear", kind, ear.base_url)
    chain = tuple(f"ear:{model}" for model in models or ("whisper-1",))
    return replace(
        made,
        providers={**made.providers, "ear": provider},
        roles=replace(made.roles, transcriber=chain),
    )


@pytest.fixture
async def ear() -> AsyncIterator[Ear]:
    async with Ear() as service:
        yield service


def kept(folder: Path, data: bytes, name: str = "turn.ogg") -> str:
    (folder / name).write_bytes(data)
    return f'/voice hear "{folder / name}"'


async def heard(tmp_path: Path, made: Config, line: str) -> list[dict[str, object]]:
    async with talking(made) as talk:
        return await talk.say(line)


async def test_a_spoken_turn_is_played_as_if_it_had_been_typed(tmp_path: Path, ear: Ear) -> None:
    writer = Writer()
    async with WIRES["chat"].service(writer) as service:
        made = listening(settings(tmp_path / "data", service), ear)
        async with talking(made) as talk:
            await talk.say(START)
            events = await talk.say(kept(tmp_path, ogg(2.0)))
            assert texts(events) == "> I open the door."
            assert [choice["label"] for choice in choices(events)] == ["Play it", "Change it…", "Cancel"]
            assert [choice["filled"] for choice in choices(events)] == ["", "I open the door.", ""]
            assert ear.heard[0]["model"] == "whisper-1"
            played = await talk.say("/voice play")
            assert "number 2" in texts(played)
            assert not list((tmp_path / "data" / "incoming").rglob("*.*")), (
                "the recording is kept no longer than it is listened to"
            )
            assert "I open the door." in str(writer.scenes[-1]["messages"][-1]["content"])
            (changed,) = (
                event for event in talk.events if event["event"] == "changed" and event["stage"] == "heard"
            )
            assert [one.get("taken") for one in changed["contents"]] == [None, 0]
            again = await talk.say("/voice play")
            assert again[-1]["status"] == "failed", "what was played is played once"
            assert len(writer.scenes) == 2
            await talk.say(kept(tmp_path, ogg(2.0)))
            question = await talk.say("/voice play --changed")
            assert "What you meant to say" in str(question)
            assert "number 3" in texts(await talk.say("I shut the door."))
            assert "I shut the door." in str(writer.scenes[-1]["messages"][-1]["content"])
            await talk.say(kept(tmp_path, ogg(2.0)))
            left = await talk.say("/voice play --leave")
            assert left[-1]["status"] == "done"
            assert len(writer.scenes) == 3


BAD = [
    (b"", "turn.ogg", "is empty"),
    (long_ogg(0), "turn.ogg", "That recording is empty"),
    (long_ogg(7_200), "turn.ogg", "120 minutes; the limit is 5"),
    (mp4(3.0, b"vide", b"soun"), "turn.mp4", "That is a video"),
    (archive(), "turn.ogg", "not a recording that I can read"),
    (archive(), "turn.zip", ".ogg"),
    (b"OggS" + bytes(21_000_000), "turn.ogg", "20"),
]
"""0 bytes, nothing, two hours, a video, a renamed zip, a zip, and too large."""


async def test_an_unusable_recording_gets_a_sentence(tmp_path: Path, ear: Ear) -> None:
    async with talking(listening(settings(tmp_path / "data"), ear)) as talk:
        for data, name, sentence in BAD:
            events = await talk.say(kept(tmp_path, data, name))
            (failed,) = (event for event in events if event["event"] == "failed")
            assert sentence in str(failed["text"])
        assert ear.heard == []
        ear.hears = " … "
        events = await talk.say(kept(tmp_path, ogg(1.0)))
        assert "could not understand a word" in str([event for event in events if event["event"] == "failed"])


async def test_without_a_transcriber_one_sentence_says_what_to_configure(tmp_path: Path) -> None:
    events = await heard(tmp_path, settings(tmp_path / "data"), kept(tmp_path, ogg(1.0)))
    (failed,) = (event for event in events if event["event"] == "failed")
    assert "transcriber" in str(failed["text"])


async def test_the_next_model_transcribes_if_one_fails_and_each_second_is_in_the_ledger(
    tmp_path: Path, ear: Ear
) -> None:
    ear.answers = [web.json_response({"error": {"message": "busy", "code": "rate_limit"}}, status=429)]
    chain = ("gpt-4o-transcribe", "gpt-4o-mini-transcribe")
    made = listening(settings(tmp_path / "data"), ear, *chain, kind="openai")
    async with talking(made) as talk:
        events = await talk.say(kept(tmp_path, ogg(20.0)))
        assert texts(events) == "> I open the door."
        assert talk.app is not None
        calls = {
            call.model: call for call in await talk.app.resources.ledger.entries("local", events[0]["run"])
        }
    assert calls["ear:gpt-4o-transcribe"].state == "failed"
    assert calls["ear:gpt-4o-mini-transcribe"].state == "settled"
    assert float(calls["ear:gpt-4o-mini-transcribe"].cost_usd or 0) == pytest.approx(0.001, rel=0.05)


async def test_local_recognition_is_tried_first_at_no_cost_and_then_a_service(
    tmp_path: Path, ear: Ear, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_package(monkeypatch)
    folder = model(tmp_path / "m", ["I open", "the door.", "CRASH"])
    made = settings(tmp_path / "data")
    made = replace(made, speech=replace(made.speech, transcriber=str(folder)))
    async with talking(made) as talk:
        events = await talk.say(kept(tmp_path, ogg(40.0)))
        assert texts(events) == "> I open the door."
        told = [str(event["text"]) for event in events if event["event"] == "status"]
        assert any(text.startswith("listening: ") and text.endswith(" %") for text in told)
        assert talk.app is not None
        (call,) = await talk.app.resources.ledger.entries("local", events[0]["run"])
        assert (call.model, call.state, float(call.cost_usd or 0)) == ("whisper:m", "settled", 0.0)
        assert call.cost_usd is not None
        events = await talk.say(kept(tmp_path, ogg(1.0)))
        (failed,) = (event for event in events if event["event"] == "failed")
        assert "Please send the recording again" in str(failed["text"])
        assert texts(await talk.say(kept(tmp_path, ogg(1.0)))) == "> I open"
        doctor = str(await talk.say("/voice doctor"))
        assert "✓ Recordings: this machine listens (whisper:m)." in doctor
        process = talk.app.resources.ears.pid
        assert process is not None
    assert not psutil.pid_exists(process)
    model(folder, ["CRASH"])
    async with talking(listening(made, ear)) as talk:
        assert texts(await talk.say(kept(tmp_path, ogg(1.0)))) == "> I open the door."
        assert len(ear.heard) == 1
        assert talk.app is not None
        assert "ear:whisper-1 does" in str(await talk.say("/voice doctor"))


async def test_a_recording_that_would_exceed_a_cap_is_not_transcribed(tmp_path: Path, ear: Ear) -> None:
    made = listening(settings(tmp_path / "data"), ear, kind="openai")
    made = replace(made, budget=replace(made.budget, run_usd=0.001))
    events = await heard(tmp_path, made, kept(tmp_path, ogg(60.0)))
    assert events[-1]["status"] == "failed"
    assert ear.heard == []


async def test_only_the_speaker_can_play_and_withdraw_their_words(tmp_path: Path) -> None:
    async def answer(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("It opens.")

    recorder = Recorder()
    app = await open_scripted(tmp_path, {"I open the door.": answer}, recorder, config(tmp_path))
    await app.start()
    try:
        spoken = replace(
            asked("one", "I open the door.", work="voice", verb="hear"), files=(File("a", "", 1, "x"),)
        )
        await (await app.perform(spoken)).wait()
        (offered,) = (event for event in recorder.events["one"] if isinstance(event, Choices))
        assert offered.only == spoken.author.id
        press = replace(asked("press", "", work="voice", verb="play"), answers="one")
        stranger = replace(press, author=replace(press.author, id="somebody", name="Bia"))
        with pytest.raises(UserError, match="not_yours"):
            await app.perform(stranger)
        ticket = await app.perform(press)
        assert await ticket.wait() == "done"
        played = await app.request_of("local", child_id(spoken, "played"))
        assert played is not None
        assert (played.text, played.verb, played.answers) == ("I open the door.", "ask", "")
        await app.forget("local", "one")
        played = await app.request_of("local", child_id(spoken, "played"))
        assert played is not None
        assert played.text == "", "with the voice message goes what was played of it"
        with pytest.raises(UserError, match="gone"):
            await app.perform(replace(press, id="later"))
    finally:
        await app.close()
