"""Reading aloud in a voice channel: in order, sentence by sentence, nothing twice, whatever fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

import pytest

from bot.config import Config, SpeechConfig
from bot.config.settings import Secrets
from bot.events import Request
from bot.settings import Settings
from bot.speech import sound
from bot.speech.engines.base import Sound, Unspoken
from bot.speech.frames import AHEAD
from bot.speech.queue import HEARD, WAITING, Queue, Reading
from bot.speech.speech import Paid, Speech, SpokenSentence
from storage.db import Database
from storage.inbox import Inbox, NewRequest
from storage.readings import Readings
from storage.settings import SettingsStore
from tests.fakes import migrated
from tests.fakes.engine import FakeEngine, a_tone
from tests.fakes.player import FakePlayer
from tests.fakes.scripted_app import asked

SCENE = "The door opens. Mira waits outside. A wolf!"
SENTENCES = ("The door opens.", "Mira waits outside.", "A wolf!")
SPACE = asked("run", "x").place.space


class Marks:
    """Captions as a list of the marks that were set."""

    def __init__(self) -> None:
        self.marked: list[str] = []

    def begins(self, reading: Reading, sentence: SpokenSentence) -> None:
        self.marked.append(sentence.text)

    async def ends(self, reading: Reading) -> None:
        self.marked.append("")


PATIENCE_S = 120.0
"""Many times what anything here takes, for a machine with much else to do."""


class Hall:
    """A queue with a player that the test controls."""

    def __init__(self, db: Database, engine: FakeEngine, player: FakePlayer, stuck_s: float = 15.0) -> None:
        config = Config(Path(), Path(), speech=SpeechConfig(voices=("fake",)), secrets=Secrets({}, {}))
        self.readings = Readings(db)
        self.engine, self.player = engine, player
        self.told: list[tuple[str, str]] = []
        self.captions = Marks()
        self.speech = Speech(config, {"fake": engine})
        settings = Settings(SettingsStore(db), config)
        self.queue = Queue(
            self.readings,
            self.speech,
            settings,
            config,
            player,
            paid=self._paid,
            tell=self._tell,
            captions=self.captions,
            stuck_s=stuck_s,
        )

    def _paid(self, request: Request) -> Paid:
        async def paid(model: str, characters: int, call: Callable[[], Awaitable[float]]) -> None:
            raise AssertionError("this voice costs nothing")

        return paid

    async def _tell(self, request: Request, sentence: str, key: str) -> None:
        self.told.append((request.id, sentence))

    async def add(self, run: str, text: str | AsyncIterator[str], key: str = "scene") -> None:
        await self.queue.add(asked(run, "x"), key, "narrator", "en", text)

    async def settled(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.queue.settled()

    async def until(self, met: object) -> None:
        assert callable(met)
        async with asyncio.timeout(PATIENCE_S):
            while not met():  # noqa: ASYNC110  (whatever a test waits for)
                await asyncio.sleep(0)

    def heard(self, *sentences: str) -> bool:
        """Check that these sentences were played completely, in order, and nothing else."""
        return [*self.player.frames] == [frame for words in sentences for frame in spoken(words)]


def spoken(words: str) -> list[bytes]:
    """The frames of a sentence that are not silence."""
    pcm = sound.pcm(a_tone(0.02 * len(words)), "fake")
    return [frame for frame in SpokenSentence(words, pcm).frames() if any(frame)]


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    made = await Database.open(migrated.database(tmp_path / "sutradhar.db"))
    yield made
    await made.close()


@pytest.fixture
async def hall(db: Database) -> AsyncIterator[Hall]:
    made = Hall(db, FakeEngine(), FakePlayer())
    yield made
    await made.queue.close()


async def test_stages_are_played_in_order_and_their_audio_is_not_kept(hall: Hall) -> None:
    await hall.add("one", SCENE)
    await hall.add("two", "It howls.")
    await hall.settled()
    assert hall.heard("The door opens.", "Mira waits outside.", "A wolf!", "It howls.")
    marked = (
        hall.captions.marked
    )  # a stage's last mark is removed once its row is closed, perhaps behind the next mark
    assert [text for text in marked if text] == [
        "The door opens.",
        "Mira waits outside.",
        "A wolf!",
        "It howls.",
    ]
    assert marked.count("") == 2
    assert await hall.readings.waiting(SPACE, "terminal") == []
    assert hall.told == []


async def test_the_first_sentence_is_heard_while_the_next_is_written(hall: Hall) -> None:
    rest = asyncio.Event()

    async def written() -> AsyncIterator[str]:
        yield "The door opens. Mi"
        await rest.wait()
        yield "ra waits outside."

    await hall.add("one", written())
    await hall.until(lambda: hall.heard("The door opens.") and hall.player.silent > 20)
    assert hall.player.plays == 1, "silence is played until the next sentence is there"
    rest.set()
    await hall.settled()
    assert hall.heard("The door opens.", "Mira waits outside.")
    (kept,) = await hall.readings.waiting(SPACE, "terminal")
    assert kept.text == "", "its run may come again, and is not heard again"
    await hall.add("one", written())
    await hall.settled()
    assert hall.heard("The door opens.", "Mira waits outside.")


async def test_audio_is_made_only_shortly_before_it_is_played(db: Database) -> None:
    hall = Hall(db, FakeEngine(), FakePlayer(credit=5))
    await hall.add("one", " ".join(f"This is sentence number {n}." for n in range(30)))
    await hall.until(lambda: hall.player.credit == 0)
    for _ in range(200):
        await asyncio.sleep(0)
    assert len(hall.engine.said) <= 2 * AHEAD + 3
    await hall.queue.close()


async def test_after_a_kill_it_goes_on_with_the_sentence_that_was_cut(db: Database) -> None:
    long = "Mira waits outside, and waits, and waits, until the wolf is there, and then she waits no more."
    text = f"The door opens. {long} A wolf!"
    hall = Hall(db, FakeEngine(), FakePlayer(credit=len(spoken("The door opens.")) + 9 + 20))
    await hall.add("one", text)
    await hall.until(lambda: hall.player.credit == 0)
    await hall.until(lambda: not hall.queue._tasks.tasks)
    (row,) = await hall.readings.waiting(SPACE, "terminal")
    assert len(row.heard.split()) == 1
    await hall.queue.close()
    after = Hall(db, FakeEngine(), FakePlayer())
    after.queue.take(asked("one", "x"), row)
    await after.settled()
    assert after.heard(long, "A wolf!")
    await after.queue.close()


async def test_a_changed_text_of_a_stage_is_played_from_where_it_differs(db: Database) -> None:
    hall = Hall(db, FakeEngine(), FakePlayer())

    async def cut_off() -> AsyncIterator[str]:
        yield "The door opens. Mira waits outside. And"
        await asyncio.Event().wait()

    async def changed() -> AsyncIterator[str]:
        yield "The door opens. Mira runs. And so on."

    await hall.add("one", cut_off())
    await hall.until(lambda: hall.heard("The door opens.", "Mira waits outside."))
    await hall.until(lambda: len(hall.queue._tasks.tasks) == 1)
    await hall.queue.close()
    after = Hall(db, FakeEngine(), FakePlayer())
    await after.add("one", changed())
    await after.settled()
    assert after.heard("Mira runs.", "And so on.")
    await after.queue.close()


async def test_a_withdrawn_stage_is_not_played(hall: Hall) -> None:
    hall.player.credit = 0
    await hall.add("one", SCENE)
    await hall.add("two", "It howls.")
    await hall.until(lambda: hall.queue.waiting == 2)
    rows = await hall.readings.waiting(SPACE, "terminal")
    await hall.readings.remove(rows[1].seq)
    await hall.queue.hush("one")
    hall.player.credit = None
    await hall.settled()
    assert hall.heard()


async def test_a_stage_withdrawn_while_it_plays_ends_with_the_sentence(hall: Hall) -> None:
    hall.player.credit = 5
    await hall.add("one", SCENE)
    await hall.until(lambda: hall.player.credit == 0)
    (row,) = await hall.readings.waiting(SPACE, "terminal")
    await hall.readings.remove(row.seq)
    await hall.add("two", "It howls.")
    hall.player.credit = 30  # into the second sentence
    await hall.until(lambda: hall.queue.waiting == 1)
    hall.player.credit = None
    await hall.settled()
    assert hall.player.frames[-len(spoken("It howls.")) :] == spoken("It howls.")
    assert len(hall.player.frames) < sum(len(spoken(words)) for words in (*SENTENCES, "It howls."))


async def test_no_words_of_a_stage_withdrawn_while_it_is_written_are_kept(hall: Hall) -> None:
    rest = asyncio.Event()

    async def written() -> AsyncIterator[str]:
        yield "The door opens. Mi"
        await rest.wait()
        yield "ra waits outside."

    await hall.add("one", written())
    await hall.until(lambda: hall.heard("The door opens."))
    await hall.queue.hush("one")
    rest.set()
    await hall.settled()
    (row,) = await hall.readings.waiting(SPACE, "terminal")
    assert (row.text, row.heard) == ("", HEARD)


@pytest.mark.parametrize("state", ["nothing", "making", "heard", "between", "paused", "written", "lost"])
async def test_stop_ends_all_of_it_in_each_state(db: Database, state: str) -> None:
    engine, player = FakeEngine(), FakePlayer()
    hall = Hall(db, engine, player)
    text: str | AsyncIterator[str] = SCENE

    async def written() -> AsyncIterator[str]:
        yield "The door opens. Mira"
        await asyncio.Event().wait()

    match state:
        case "making":
            engine.gate = asyncio.Event()
        case "heard" | "paused":
            player.credit = 5
        case "written":
            text = written()
        case "lost":
            player.lacking = "speech.lost"
    if state != "nothing":
        await hall.add("one", text)
        await hall.add("two", "It howls.")
    if state in ("heard", "paused"):
        await hall.until(lambda: player.credit == 0)
    if state in ("between", "written"):
        await hall.until(lambda: hall.heard("The door opens."))
    if state == "paused":
        assert hall.queue.pause()
    before = list(player.frames)
    assert await hall.queue.stop() == (0 if state == "nothing" else 2)
    assert not hall.queue.paused
    assert await hall.queue.stop() == 0
    rows = await hall.readings.waiting(SPACE, "terminal")
    assert {(row.text, row.heard) for row in rows} <= {("", HEARD)}
    assert len(player.frames) <= len(before) + 1
    engine.gate, player.credit, player.lacking = None, None, ""
    await hall.add("three", "All is well.")
    await hall.until(
        lambda: player.frames[len(before) :][-len(spoken("All is well.")) :] == spoken("All is well.")
    )
    await hall.queue.close()


async def test_skip_goes_on_with_the_next_stage(hall: Hall) -> None:
    assert not await hall.queue.skip()
    hall.player.credit = 5
    await hall.add("one", SCENE)
    await hall.add("two", "It howls.")
    await hall.until(lambda: hall.player.credit == 0)
    assert await hall.queue.skip()
    hall.player.credit = None
    await hall.settled()
    assert hall.player.frames[5:] == spoken("It howls.") or hall.player.frames[4:] == spoken("It howls.")


async def test_it_pauses_and_resumes_at_the_same_place(hall: Hall) -> None:
    assert not hall.queue.pause()
    hall.player.credit = 7
    await hall.add("one", SCENE)
    await hall.until(lambda: hall.player.credit == 0)
    assert hall.queue.pause()
    assert not hall.queue.pause()
    assert hall.player.paused
    hall.player.credit = None
    assert hall.queue.resume()
    await hall.settled()
    assert hall.heard("The door opens.", "Mira waits outside.", "A wolf!")
    assert not hall.queue.resume()


@pytest.mark.slow
async def test_two_hundred_stages_can_wait_and_one_more_is_refused_with_a_note(hall: Hall) -> None:
    hall.player.credit = 0
    for n in range(WAITING + 3):
        await hall.add(f"run-{n}", f"No {n}.")
    assert hall.queue.waiting == WAITING
    assert [run for run, _ in hall.told] == [f"run-{WAITING}"], "reported once"
    hall.player.credit = None
    await hall.settled()
    assert hall.heard(*(f"No {n}." for n in range(WAITING))) or len(hall.engine.said) == WAITING


@pytest.mark.parametrize("why", ["crashed", "hangs"])
async def test_an_engine_error_is_reported_once_and_the_queue_goes_on(
    db: Database, why: Literal["crashed", "hangs"]
) -> None:
    answers: Mapping[str, Sound | Unspoken] = {"Mira waits outside.": Unspoken(why, "fake")}
    hall = Hall(db, FakeEngine(answers=answers), FakePlayer())
    await hall.add("one", SCENE)
    await hall.add("two", SCENE, key="again")
    await hall.add("three", "It howls.")
    await hall.settled()
    assert hall.heard("The door opens.", "The door opens.", "It howls.")
    ((run, sentence),) = hall.told
    assert run == "one"
    assert "could not be read aloud" in sentence
    assert await hall.readings.waiting(SPACE, "terminal") == []
    await hall.queue.close()


async def test_a_long_obstacle_is_reported_once_and_then_the_queue_goes_on(db: Database) -> None:
    hall = Hall(db, FakeEngine(), FakePlayer(), stuck_s=0.0)
    hall.player.lacking = "speech.lost"
    await hall.add("one", SCENE)
    await hall.until(lambda: hall.told)
    hall.player.lacking = ""
    await hall.settled()
    assert hall.heard("The door opens.", "Mira waits outside.", "A wolf!")
    assert len(hall.told) == 1
    await hall.queue.close()


async def test_after_a_connection_lost_in_mid_sentence_the_sentence_is_repeated(hall: Hall) -> None:
    hall.player.credit = 5
    long = "Mira waits outside, and waits, and waits, until the wolf is there, and then she waits no more."
    await hall.add("one", long)
    await hall.until(lambda: hall.player.credit == 0)
    hall.player.lose()
    hall.player.credit = None
    await hall.settled()
    assert hall.player.frames[:5] + spoken(long) == hall.player.frames


async def test_audio_that_may_not_have_arrived_is_repeated_without_gaps(hall: Hall) -> None:
    long = "Mira waits outside, and waits, and waits, until the wolf is there, and then she waits no more."
    hall.player.credit = 40
    await hall.add("one", long)
    await hall.until(lambda: hall.player.credit == 0)
    before, whole = len(hall.player.frames), spoken(long)
    hall.queue.again()
    hall.player.credit = 10
    await hall.until(lambda: hall.player.credit == 0)
    hall.queue.again()
    hall.player.credit = None
    await hall.settled()
    assert hall.player.frames == whole[:before] + whole[before - 25 : before - 15] + whole[before - 25 :]


async def test_a_connection_lost_at_the_end_of_a_sentence_loses_no_audio(hall: Hall) -> None:
    hall.player.credit = 5  # of so short a sentence all counts as heard
    await hall.add("one", "A wolf howls outside.")
    await hall.until(lambda: hall.player.credit == 0)
    before = len(hall.player.frames)
    hall.player.lose()
    hall.player.credit = None
    await hall.settled()
    whole = spoken("A wolf howls outside.")
    assert hall.player.frames == whole[:before] + whole


async def test_rows_of_ended_runs_are_deleted(db: Database) -> None:
    readings, inbox = Readings(db), Inbox(db)
    runs = ["over", "cut off", "going on", "waits"]
    await inbox.receive(
        [NewRequest(run, "discord", "g", "c", "t", "ana", "story", "act", True, "{}") for run in runs]
    )
    for run in ("over", "cut off", "waits"):
        await inbox.set_states({run: "done"})
    rows = {run: await readings.add("g", "discord", run, "scene", text=None) for run in runs[:3]}
    await readings.add("g", "discord", "waits", "scene", text="It howls.")
    await readings.clear("*", rows["over"].seq)
    await readings.tidy("g", "*")
    assert [row.run_id for row in await readings.waiting("g", "discord")] == ["going on", "waits"]
