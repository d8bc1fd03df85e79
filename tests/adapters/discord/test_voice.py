"""The bot in voice channels of a loopback Discord: what people hear, and how the bot reports obstacles."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import discord
import pytest

from bot import metrics
from bot.adapters.discord.service import Sutradhar
from bot.adapters.discord.text.page import MARK, marked
from bot.adapters.discord.voice import connection
from bot.adapters.discord.voice.captions import SPOKEN, post_clip, unpost_clips
from bot.adapters.discord.voice.channels import Room, VoiceChannels
from bot.events import Event, Speak, Stage, Text
from bot.speech import sound
from bot.speech.clips import Clip
from bot.speech.speech import SpokenSentence
from bot.work import Run
from storage.outbox import OutboxRow
from storage.tables import outbox
from tests.adapters.discord.wire import bot
from tests.fakes.discord import Channel, FakeDiscord, Guild, User
from tests.fakes.discord.voice_heard import Listener, likeness, pcm
from tests.fakes.melody import Melody, melody

ALIKE = 0.6
SCENE = "The door opens, slowly. Mira waits outside in the rain."
FIRST, SECOND = "The door opens, slowly.", "Mira waits outside in the rain."


def frames(*sentences: str) -> list[bytes]:
    """The frames of these sentences, one after another."""
    made = [SpokenSentence(words, sound.pcm(melody(words), "hibari")) for words in sentences]
    return [frame for heard in made for frame in heard.frames()]


async def scene(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("scene", "Scene 1")
    yield Text(SCENE)
    yield Speak(SCENE, "scene", "narrator")


def marks(text: str) -> list[str]:
    """The text behind each mark, to the end of its line."""
    return [behind.partition("\n")[0] for behind in text.split(MARK)[1:]]


@dataclass
class Hall:
    """Ana and Bia on a server with a text channel and a voice channel; Bia is an admin."""

    fake: FakeDiscord
    client: Sutradhar
    guild: Guild
    text: Channel
    voice: Channel
    ana: User
    bia: User

    async def slash(self, command: str, user: User | None = None, **options: Any) -> str:
        """The complete answer to `/voice …`."""
        before = len(self.text.posts)
        await self.fake.slash(user or self.ana, self.text, command, **options)

        def answer() -> str:
            return next((str(one.text) for one in [*self.text.posts.values()][before:] if one.text), "")

        return str(await self.until(answer))

    async def until(self, met: Any, seconds: float = 20.0) -> Any:
        return await self.fake.until(met, seconds)

    @property
    def waiting(self) -> int:
        assert isinstance(self.client.voice, VoiceChannels)
        return sum(room.queue.waiting for room in self.client.voice._rooms.values())

    @property
    def room(self) -> Room:
        assert isinstance(self.client.voice, VoiceChannels)
        return self.client.voice._rooms[str(self.guild.id)]

    def channel(self, channel: Channel) -> discord.VoiceChannel:
        known = self.client.get_channel(channel.id)
        assert isinstance(known, discord.VoiceChannel)
        return known

    def named(self, name: str) -> Channel:
        return next(one for one in self.fake.world.channels.values() if one.name == name)

    def said(self) -> str:
        return "\n".join(one.text for one in self.text.posts.values())

    async def hears(self, listener: Listener, *sentences: str) -> None:
        """Wait until all sentences were heard, and check that each was heard completely, once, in this order."""
        await self.until(lambda: listener.spoken and self.waiting == 0 and listener.frames[-1].silent)
        assert [words for words, _ in heard(listener, *sentences)] == list(sentences)
        assert self.fake.voice.violations == []
        assert listener.undecryptable == []


def loud(pcm_frames: list[bytes]) -> list[bytes]:
    return [frame for frame in pcm_frames if max(frame[1::2]) > 8]


def heard(listener: Listener, *sentences: str) -> list[tuple[str, int]]:
    """The sentences that were heard completely, with their first frames, in order."""
    got = pcm(listener.frames)
    found: list[tuple[int, str]] = []
    for words in sentences:
        sent = loud(frames(words))
        starts = range(len(got) - len(sent) + 1)
        # A decoder that has missed frames, for example while the bot was muted, distorts the first ones.
        alike = (sorted(likeness(sent, got[at : at + len(sent) + 1]))[2] > ALIKE for at in starts)
        found += [(at, words) for at, same in enumerate(alike) if same]
    return [(words, at) for at, words in sorted(found)]


@asynccontextmanager
async def opened(data: Path, **settings: Any) -> AsyncIterator[Hall]:
    async with FakeDiscord() as fake:
        guild = fake.guild("Table")
        ana, bia = fake.user("Ana"), fake.user("Bia")
        guild.join(ana)
        guild.join(bia, manage=True)
        text, voice = guild.text("general"), guild.voice("Table talk")
        guild.voice("Elsewhere")
        guild.voice("Full", user_limit=1)
        guild.voice("Shut", deny=("SPEAK",))
        guild.stage("Stage")
        async with bot(fake, data, {"scene": scene}, voice=Melody(name="hibari"), **settings) as client:
            yield Hall(fake, client, guild, text, voice, ana, bia)


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    async with opened(tmp_path) as made:
        yield made


async def test_people_in_the_voice_channel_hear_every_frame(hall: Hall) -> None:
    assert "I can't see you in a voice channel" in await hall.slash("voice join")
    ana = hall.fake.voice.enter(hall.ana, hall.voice)
    hall.fake.voice.servers[0].unanswered = 1
    assert "I'm in **Table talk** now" in await hall.slash("voice join")
    assert "I'm already in **Table talk**" in await hall.slash("voice join")
    before = metrics.FRAMES.of()
    assert "In **Table talk**:" in await hall.slash("voice say", text=FIRST)
    await hall.slash("voice say", text=SECOND)
    await hall.hears(ana, FIRST, SECOND)
    assert metrics.FRAMES.of() - before >= len(frames(FIRST, SECOND))
    assert "I've left **Table talk**" in await hall.slash("voice leave")
    await hall.until(lambda: hall.fake.voice.place(hall.guild) is None)


def test_each_new_sentence_is_marked_after_the_last_one() -> None:
    texts = ["No. Yes. No.", "Yes."]
    first = marked(texts, "No.")
    assert first == [f"{MARK}No. Yes. No.", "Yes."]
    second = marked(first, "Yes.")
    assert second == [f"No. {MARK}Yes. No.", "Yes."]
    third = marked(second, "No.")
    assert third == [f"No. Yes. {MARK}No.", "Yes."]
    assert marked(third, "Yes.") == ["No. Yes. No.", f"{MARK}Yes."]
    assert marked(third, "") == texts
    assert marked(third, "Perhaps.") is None


@pytest.mark.slow
async def test_the_text_marks_the_present_sentence_and_none_afterwards(hall: Hall) -> None:
    await joined(hall)
    await hall.slash("voice say", text=f"{LONG} {SECOND}")
    (said,) = [message for message in hall.text.messages if LONG in message.text]

    def shown() -> list[list[str]]:
        return [marks(text) for _, text in said.edits if marks(text)]

    # Read from the edits: a busy machine may not look while a mark is shown.
    await hall.until(lambda: shown() and hall.waiting == 0 and not marks(said.text))
    # There, a sentence may be over before its mark could be shown.
    first, second = [f"{LONG} {SECOND}"], [SECOND]
    assert shown() in ([first, second], [first], [second])
    await hall.until(lambda: not hall.room.queue._tasks.tasks)
    assert await hall.client.app.records.readings.waiting(str(hall.guild.id), "discord") == []


LONG = "Mira waits outside in the rain, and waits, and waits, until the wolf is there, and then she waits no more."


async def joined(hall: Hall) -> Listener:
    listener = hall.fake.voice.enter(hall.ana, hall.voice)
    assert "I'm in **Table talk** now" in await hall.slash("voice join")
    return listener


@pytest.mark.slow
async def test_narrated_threads_are_heard_and_others_are_not(hall: Hall) -> None:
    ana = await joined(hall)
    await hall.slash("rules ask", question="scene")
    told = await hall.slash("voice narrate", hall.bia, state="on", **{"for": "channel"})
    assert "I read aloud" in told
    assert "no voice channel" not in told
    await hall.slash("rules ask", question="scene")
    await hall.hears(ana, FIRST, SECOND)


async def test_the_bot_stays_away_after_it_is_removed_and_says_so(hall: Hall) -> None:
    ana = await joined(hall)
    await hall.slash("voice say", text=LONG)
    await hall.until(lambda: len(ana.spoken) > 5)
    hall.fake.voice.kick(hall.guild)
    await hall.until(lambda: "disconnected me from the voice channel" in hall.said())
    assert "I'm in no voice channel" in await hall.slash("voice skip")
    assert await hall.client.app.records.readings.channels("discord") == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["muted", "suppressed"])
async def test_a_muted_or_suppressed_bot_waits(hall: Hall, how: str) -> None:
    ana, voice = await joined(hall), hall.fake.voice
    await hall.slash("voice say", text=FIRST)
    await hall.until(lambda: hall.waiting == 0)
    silence = voice.mute if how == "muted" else voice.suppress
    silence(hall.guild)
    await hall.until(lambda: hall.room.lacks())
    await hall.slash("voice say", text=SECOND)
    assert "moderator" in await hall.slash("voice doctor")
    silence(hall.guild, False)
    await hall.hears(ana, FIRST, SECOND)
    assert [frame for frame, _ in voice.unheard if not frame.silent] == []


async def test_the_bot_says_nothing_before_the_members_have_exchanged_keys(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PRIVACY_S", 0.3)
    hall.fake.voice.enter(hall.ana, hall.voice)
    hall.fake.voice.stall()
    assert "could not be encrypted" in await hall.slash("voice join")
    await hall.until(lambda: hall.fake.voice.place(hall.guild) is None)
    hall.fake.voice.release()
    monkeypatch.undo()
    ana = hall.fake.voice.enter(hall.ana, hall.voice)
    assert "I'm in **Table talk** now" in await hall.slash("voice join")
    await hall.slash("voice say", text=FIRST)
    await hall.hears(ana, FIRST)


async def test_an_empty_channel_is_left_after_a_while(tmp_path: Path) -> None:
    async with opened(tmp_path, leave_empty_after_s=0) as hall:
        await joined(hall)
        hall.fake.voice.leave(hall.ana, hall.guild)
        await hall.until(lambda: hall.fake.voice.place(hall.guild) is None)
        assert isinstance(hall.client.voice, VoiceChannels)
        assert hall.client.voice._rooms == {}


async def test_only_listeners_and_admins_decide_what_is_read(hall: Hall) -> None:
    await joined(hall)
    cai = hall.fake.user("Cai")
    hall.guild.join(cai)
    for command in ("voice stop", "voice skip", "voice pause", "voice leave"):
        assert "Only people who are in Table talk" in await hall.slash(command, cai)
    assert "Nothing is being read" in await hall.slash("voice skip", hall.bia)
    assert "Nothing is being read" in await hall.slash("voice pause")
    assert "Nothing is paused" in await hall.slash("voice resume")
    assert "Nothing is being read" in await hall.slash("voice stop")


async def test_the_bot_names_obstacles_before_it_joins_a_channel(hall: Hall) -> None:
    full = hall.named("Full")
    hall.fake.voice.enter(hall.ana, full)
    await hall.until(lambda: hall.channel(full).voice_states)
    assert "Full is full: its limit is 1 person" in await hall.slash("voice join")
    assert "lack the permission “Speak”" in await hall.slash("voice join", channel=hall.named("Shut"))
    await hall.fake.say(hall.ana, hall.text, "/voice join Nowhere", mention=True)
    await hall.until(lambda: "There is no voice channel “Nowhere”" in hall.said())
    assert hall.fake.voice.ignored == []


@pytest.mark.slow
async def test_the_bot_returns_after_a_restart_and_continues(tmp_path: Path) -> None:
    async with FakeDiscord() as fake:
        guild = fake.guild("Table")
        ana, bia = fake.user("Ana"), fake.user("Bia")
        guild.join(ana)
        guild.join(bia, manage=True)
        text, voice = guild.text("general"), guild.voice("Table talk")
        listener = fake.voice.enter(ana, voice)
        async with bot(fake, tmp_path, {}, voice=Melody(name="hibari")) as client:
            hall = Hall(fake, client, guild, text, voice, ana, bia)
            await hall.slash("voice join")
            for words in (FIRST, LONG, SECOND):
                await hall.slash("voice say", text=words)
            await hall.until(lambda: len(listener.spoken) > 45)
        await fake.until(lambda: fake.voice.place(guild) is None)
        async with bot(fake, tmp_path, {}, voice=Melody(name="hibari")) as client:
            hall = Hall(fake, client, guild, text, voice, ana, bia)
            await hall.until(lambda: fake.voice.ready(guild))
            await hall.until(lambda: hall.waiting == 0)
            await hall.hears(listener, FIRST, LONG, SECOND)
            assert [row.channel for row in await client.app.records.readings.channels("discord")] == [
                str(voice.id)
            ]


@pytest.mark.slow
async def test_on_a_stage_the_bot_asks_to_speak_and_reads_once_it_may(hall: Hall) -> None:
    stage = hall.named("Stage")
    ana = hall.fake.voice.enter(hall.ana, stage)
    assert "have asked to speak" in await hall.slash("voice join")
    state = hall.guild.voice_states[hall.fake.world.bot.id]
    assert state.request_to_speak is not None
    await hall.slash("voice say", text=FIRST)
    hall.fake.voice.suppress(hall.guild, False)
    await hall.hears(ana, FIRST)


@pytest.mark.slow
async def test_in_direct_messages_speech_is_a_recording(hall: Hall) -> None:
    dm = hall.fake.dm(hall.ana)
    await hall.fake.say(hall.ana, dm, f"/voice say {FIRST}")
    await hall.until(lambda: any(one.files for one in dm.posts.values()))
    await hall.fake.say(hall.ana, dm, "/voice join")
    await hall.until(lambda: any("In direct messages" in one.text for one in dm.posts.values()))


async def test_a_recording_unrecorded_by_a_crash_is_found(hall: Hall) -> None:
    dm, records = hall.fake.dm(hall.ana), hall.client.app.records
    await hall.fake.say(hall.ana, dm, f"/voice say {FIRST}")
    await hall.until(lambda: any(one.files for one in dm.posts.values()))

    async def crashed() -> None:
        """A crash minutes ago, between the post and its record."""
        unnoted = outbox.update().where(outbox.c.stage.startswith(SPOKEN))
        await records.database.run(unnoted.values(state="sending", message_id=None))
        hall.fake.post.forget_nonces()

    async def noted() -> list[str]:
        rows = await records.database.rows(
            outbox.select().where(outbox.c.stage.startswith(SPOKEN), outbox.c.state == "sent"), OutboxRow
        )
        return [f"{row.space} {row.run_id} {row.stage}" for row in rows]

    async with asyncio.timeout(20):
        while not (stages := await noted()):  # noqa: ASYNC110  (the storage sets no event)
            await asyncio.sleep(0.02)
    space, run, stage = stages[0].split(" ")
    key = stage.removeprefix(SPOKEN).rpartition(":")[0]
    request = await hall.client.app.request_of(space, run)
    assert request is not None
    posts = set(dm.posts)
    await crashed()
    await post_clip(hall.client, request, Clip("again.mp3", "🔊", b"sound", 1.0), key)
    assert set(dm.posts) == posts
    assert await noted() == stages
    await post_clip(hall.client, request, Clip("again.mp3", "🔊", b"sound", 1.0), key)
    assert set(dm.posts) == posts
    await crashed()
    (clip,) = (id for id, one in dm.posts.items() if one.files)
    await unpost_clips(hall.client, request, key)
    assert [id for id, one in dm.posts.items() if one.deleted] == [clip]
