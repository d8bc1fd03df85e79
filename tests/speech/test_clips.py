from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import soundfile

from bot.budget import Budget
from bot.config import BudgetConfig, Config, ProviderConfig, SpeechConfig
from bot.config.settings import Secrets
from bot.events import Ended, Request, Speak
from bot.settings import NARRATE, ON, Settings
from bot.speech.clips import LONGEST_S, WAITING, Clip, Clips
from bot.speech.engines.base import Engine, Unspoken
from bot.speech.speech import Speech
from storage.db import Database
from storage.faults import StorageFault
from storage.ledger import Ledger
from storage.readings import Readings
from storage.settings import SettingsStore
from storage.tables import processes
from tests.fakes import migrated
from tests.fakes.engine import FakeEngine, a_tone
from tests.fakes.scripted_app import asked
from tests.fakes.speech_service import SpeechService

SCENE = "The door opens, and a cold wind comes in. Mira waits."


class Desk:
    """Clips that are posted to a list; a run's text is shown once `texts` is set."""

    def __init__(
        self,
        db: Database,
        config: Config,
        engines: Mapping[str, Engine] | None,
        suffix: str = "mp3",
        *,
        kept: bool = False,
    ) -> None:
        self.posted: list[tuple[str, str, Clip]] = []
        self.texts = asyncio.Event()
        self.end: Ended = "done"
        self.withdrawn = False
        self.ledger = Ledger(db)
        self.settings = Settings(SettingsStore(db), config)
        self.speech = Speech(config, engines)
        self.clips = Clips(
            self.speech,
            self.settings,
            Budget(self.ledger, config.budget),
            config,
            self._ended,
            self._post,
            exists=self._stands,
            suffix=suffix,
            readings=Readings(db) if kept else None,
            unpost=self._unpost,
        )

    async def _stands(self, request: Request) -> bool:
        return not self.withdrawn

    async def _ended(self, run: str) -> Ended:
        await self.texts.wait()
        return self.end

    async def _unpost(self, request: Request, key: str) -> None:
        self.posted = [one for one in self.posted if one[0] != request.id]

    async def _post(self, request: Request, clip: Clip, key: str) -> None:
        self.posted.append((request.id, key, clip))

    async def clip(self, text: str, speaker: str = "narrator") -> Clip:
        self.texts.set()
        await self.clips.speak(asked("run", "x"), Speak(text, "scene-1", speaker))
        await self.clips.settled()
        return self.posted[-1][2]


def config(**more: object) -> Config:
    made = Config(Path(), Path(), speech=SpeechConfig(voices=("fake",)), secrets=Secrets({}, {}))
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    made = await Database.open(migrated.database(tmp_path / "sutradhar.db"))
    yield made
    await made.close()


@pytest.fixture
async def desk(db: Database) -> AsyncIterator[Desk]:
    made = Desk(db, config(), {"fake": FakeEngine()})
    yield made
    await made.clips.close()


async def test_a_clip_is_posted_once_its_text_is_shown(desk: Desk) -> None:
    await desk.clips.speak(asked("run", "x"), Speak(SCENE, "scene-1", "narrator"))
    for _ in range(50):
        await asyncio.sleep(0)
    assert desk.posted == []
    desk.texts.set()
    await desk.clips.settled()
    ((run, key, clip),) = desk.posted
    assert (run, key, clip.name, clip.label, clip.note) == (
        "run",
        "scene-1",
        "scene-1-run.mp3",
        "🔊 Narrator, 0:01",
        "",
    )
    samples, rate = soundfile.read(io.BytesIO(clip.data))
    assert len(samples) / rate == pytest.approx(clip.seconds + 0.16, abs=0.2)


@pytest.mark.slow
async def test_clips_of_one_place_keep_their_order_and_none_is_lost(desk: Desk) -> None:
    for n in range(WAITING):
        await desk.clips.speak(asked(f"run-{n}", "x"), Speak(f"Stage {n}, and no more of it.", f"s{n}"))
    await desk.clips.speak(asked("too many", "x"), Speak("One more.", "s"))
    desk.texts.set()
    await desk.clips.settled()
    assert [run for run, *_ in desk.posted] == [f"run-{n}" for n in range(WAITING)]


@pytest.mark.parametrize("how", ["stopped", "withdrawn"])
async def test_a_run_that_was_stopped_or_withdrawn_has_no_clip(desk: Desk, how: str) -> None:
    desk.end, desk.withdrawn = ("stopped", False) if how == "stopped" else ("done", True)
    desk.texts.set()
    await desk.clips.speak(asked("run", "x"), Speak(SCENE, "scene-1"))
    await desk.clips.settled()
    assert desk.posted == []


@pytest.mark.parametrize("text", ["", "🎉", "---", "[1]"])
async def test_an_empty_text_gets_no_clip(desk: Desk, text: str) -> None:
    desk.texts.set()
    await desk.clips.speak(asked("run", "x"), Speak(text, "scene-1"))
    await desk.clips.settled()
    assert desk.posted == []


async def test_a_sentence_names_what_could_not_be_said(db: Database) -> None:
    broken = FakeEngine(answers={"Mira waits.": Unspoken("crashed", "fake")})
    desk = Desk(db, config(), {"fake": broken})
    clip = await desk.clip(SCENE)
    assert clip.data
    assert clip.note == "🔇 1 sentence could not be read aloud: the voice fake crashed."
    clip = await desk.clip("日本語です。これは長い文です。")
    assert (clip.data, clip.note) == (
        b"",
        "🔇 This could not be read aloud: no voice here reads this language.",
    )
    await desk.clips.speak(asked("next", "x"), Speak("The queue goes on, as it should.", "s"))
    await desk.clips.settled()
    assert desk.posted[-1][2].data


@pytest.mark.slow
async def test_a_text_without_an_end_is_cut(db: Database) -> None:
    class Long(FakeEngine):
        async def say(self, text: str, voice: str, speed: float, language: str):  # type: ignore[no-untyped-def]
            await super().say(text, voice, speed, language)
            return a_tone(60.0, 8_000)

    desk = Desk(db, config(speech=SpeechConfig(voices=("fake",), cache_mb=16)), {"fake": Long()}, "wav")
    clip = await desk.clip("The wolf runs on through the wood. " * 1_500)
    assert LONGEST_S <= clip.seconds < LONGEST_S + 61
    assert clip.note == "🔇 I read aloud for 10 minutes at most; please read the rest."


async def test_a_speech_service_is_billed_and_respects_the_cap(db: Database) -> None:
    async with SpeechService() as service:
        own = ProviderConfig("openai", "openai", service.base_url, None)
        speaks = config(providers={"openai": own}, speech=SpeechConfig(voices=("openai",)))
        desk = Desk(db, speaks, None)
        clip = await desk.clip(SCENE)
        assert clip.data
        rows = await desk.ledger.entries("local", "run")
        assert {(row.model, row.state, row.step) for row in rows} == {
            ("openai:gpt-4o-mini-tts", "settled", "speech")
        }
        assert all(row.cost_usd and row.output_tokens for row in rows)
        poor = Desk(db, replace(speaks, budget=BudgetConfig(run_usd=0.0001)), None)
        asked_before = len(service.requests)
        clip = await poor.clip("Another scene, which nobody has heard so far.")
        assert clip.data == b""
        assert "🔇 This could not be read aloud" in clip.note
        assert len(service.requests) == asked_before
        await desk.speech.close()
        await poor.speech.close()


async def test_only_the_chosen_thread_is_narrated(desk: Desk) -> None:
    request = asked("run", "x")
    assert not await desk.clips.narrates(request)
    await desk.settings.set(request.place, "a", NARRATE, ON, "thread")
    assert await desk.clips.narrates(request)
    assert not await desk.clips.narrates(asked("run", "x", thread="other"))
    assert not await desk.clips.narrates(asked("run", "x", space="other"))


async def test_after_a_crash_unposted_clips_are_made_and_posted_ones_are_not(
    db: Database,
) -> None:
    async def request_of(space: str, run: str) -> Request | None:
        return asked(run, "x") if run != "withdrawn" else None

    first = Desk(db, config(), {"fake": FakeEngine()}, kept=True)
    first.texts.set()
    await first.clips.speak(asked("heard", "x"), Speak("It was heard.", "scene"))
    await first.clips.settled()
    first.texts.clear()
    for run in ("cut", "withdrawn", "hushed"):
        await first.clips.speak(asked(run, "x"), Speak(SCENE, "scene", "narrator"))
    await first.clips.hush(asked("hushed", "x"), "")
    await first.clips.close()
    second = Desk(db, config(), {"fake": FakeEngine()}, kept=True)
    second.texts.set()
    await second.clips.take_up(request_of)
    for run in ("heard", "cut"):  # a run that continues sends its words again
        await second.clips.speak(asked(run, "x"), Speak(SCENE, "scene", "narrator"))
    await second.clips.settled()
    assert [(run, key) for run, key, _ in second.posted] == [("cut", "scene")]
    third = Desk(db, config(), {"fake": FakeEngine()}, kept=True)
    await third.clips.take_up(request_of)
    assert third.clips.waiting == 0


async def test_a_clip_of_an_ended_process_is_made_even_if_its_request_is_unreadable_at_first(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable = {"second"}

    async def request_of(space: str, run: str) -> Request | None:
        if run in unreadable:
            unreadable.remove(run)
            raise StorageFault("other")
        return asked(run, "x")

    monkeypatch.setattr(db, "process", "ended")
    first = Desk(db, config(), {"fake": FakeEngine()}, kept=True)
    for run in ("first", "second", "third"):
        await first.clips.speak(asked(run, "x"), Speak(SCENE, "scene", "narrator"))
    await first.clips.close()
    monkeypatch.setattr(db, "process", "running")
    await db.run(processes.insert().values(id="running", machine="here", seen_at=datetime.now(UTC)))
    second = Desk(db, config(), {"fake": FakeEngine()}, kept=True)
    second.texts.set()
    with pytest.raises(StorageFault):
        await second.clips.take_up(request_of)
    await second.clips.take_up(request_of)
    await second.clips.settled()
    assert [run for run, _, _ in second.posted] == ["first", "second", "third"]
    await second.clips.close()


async def test_a_clip_that_is_being_posted_is_posted_before_it_is_deleted(db: Database) -> None:
    begun, go, done = asyncio.Event(), asyncio.Event(), list[str]()

    class Slow(Desk):
        async def _post(self, request: Request, clip: Clip, key: str) -> None:
            begun.set()
            await go.wait()
            done.append("posted")

        async def _unpost(self, request: Request, key: str) -> None:
            done.append("taken back")

    desk = Slow(db, config(), {"fake": FakeEngine()}, kept=True)
    desk.texts.set()
    await desk.clips.speak(asked("run", "x"), Speak(SCENE, "scene"))
    await begun.wait()
    hushing = asyncio.create_task(desk.clips.hush(asked("run", "x"), "scene"))
    for _ in range(20):
        await asyncio.sleep(0)
    go.set()
    await hushing
    assert (done[0], set(done[1:])) == ("posted", {"taken back"})
