"""Text is read aloud while it is written: each piece once, and only as long as the text counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.app import App
from bot.events import Changed, Event, Hush, Request, Speak, Speaking, Stage, Text
from bot.platforms import Platform
from bot.work import Run
from tests.fakes.scripted_app import Recorder, Script, asked, open_scripted


class Channel:
    """A voice channel: the text it got for each stage; `ended` are stages whose text has ended."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.heard: dict[str, list[str]] = {}
        self.ended: set[str] = set()
        self.hushed: list[tuple[str, str]] = []
        self.moved = asyncio.Condition()
        self.narrated = True
        self._going: set[asyncio.Task[None]] = set()

    async def speak_along(
        self, request: Request, speaking: Speaking, pieces: AsyncGenerator[str, None]
    ) -> None:
        self._going.add(asyncio.create_task(self._listen(f"{request.id}/{speaking.key}", pieces)))

    async def _listen(self, stage: str, pieces: AsyncGenerator[str, None]) -> None:
        self.heard.setdefault(stage, [])
        async for piece in pieces:
            async with self.moved:
                self.heard[stage].append(piece)
                self.moved.notify_all()
        async with self.moved:
            self.ended.add(stage)
            self.moved.notify_all()

    async def hush(self, request: Request, stage: str) -> None:
        async with self.moved:
            self.hushed.append((request.id, stage))
            self.moved.notify_all()

    async def narrates(self, request: Request) -> bool:
        return self.narrated

    async def until(self, stage: str, *pieces: str) -> None:
        async with asyncio.timeout(60), self.moved:
            await self.moved.wait_for(lambda: self.heard.get(stage) == list(pieces))

    async def until_ended(self, stage: str) -> None:
        async with asyncio.timeout(60), self.moved:
            await self.moved.wait_for(lambda: stage in self.ended)

    @asynccontextmanager
    async def running(self, data: Path, **scripts: Script) -> AsyncIterator[App]:
        app = await open_scripted(data, scripts, self.recorder)
        speaks = self.recorder.speak
        app.attach(
            Platform(
                "terminal",
                self.recorder.view,
                speak=speaks,
                speak_along=self.speak_along,
                hush=self.hush,
                narrates=self.narrates,
            )
        )
        try:
            await app.start()
            yield app
        finally:
            await app.close()


def written(go: asyncio.Event, *, breaks: bool = False) -> Script:
    """A stage whose second sentence waits until it is released."""

    async def script(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("scene", "Scene 1")
        yield Text("A die is thrown.")
        yield Speaking("scene", "narrator")
        yield Text("The door opens. ")
        await go.wait()
        if breaks:
            raise OSError("the writer is gone")
        yield Text("Nobody is there.")
        yield Speak("The door opens. Nobody is there.", "scene", "narrator")
        yield Text("Dissent.")

    return script


async def test_the_first_sentence_is_played_before_the_second_is_written(tmp_path: Path) -> None:
    channel, go = Channel(), asyncio.Event()
    async with channel.running(tmp_path, scene=written(go)) as app:
        going = await app.perform(asked("one", "scene"))
        await channel.until("one/scene", "The door opens. ")
        go.set()
        assert await going.wait() == "done"
        await channel.until_ended("one/scene")
    assert channel.heard == {"one/scene": ["The door opens. ", "Nobody is there."]}, (
        "and what stands beside it is not"
    )
    assert channel.recorder.spoken == [], "it was said already"
    assert channel.hushed == []


async def test_stopped_text_is_silenced_and_text_that_broke_off_is_read_to_its_end(
    tmp_path: Path,
) -> None:
    channel, never, go = Channel(), asyncio.Event(), asyncio.Event()
    scripts = {"stopped": written(never), "broken": written(go, breaks=True)}
    async with channel.running(tmp_path, **scripts) as app:
        going = await app.perform(asked("one", "stopped"))
        await channel.until("one/scene", "The door opens. ")
        assert await app.stop(asked("x", "").place) == 1
        assert await going.wait() == "stopped"
        await channel.until_ended("one/scene")
        assert channel.hushed == [("one", "")]
        go.set()
        assert await (await app.perform(asked("two", "broken"))).wait() == "failed"
        await channel.until_ended("two/scene")
        assert channel.hushed == [("one", "")]


async def test_a_removed_scene_is_silenced(tmp_path: Path) -> None:
    async def away(run: Run) -> AsyncGenerator[Event, None]:
        yield Hush("one", "scene")
        yield Hush("of another space", "scene")
        yield Changed("one", "other", "", (Text("Greyed."),))
        yield Text("It is away.")

    channel, go = Channel(), asyncio.Event()
    go.set()
    async with channel.running(tmp_path, scene=written(go), away=away) as app:
        await (await app.perform(asked("one", "scene"))).wait()
        await (await app.perform(asked("two", "away"))).wait()
    assert channel.hushed == [("one", "scene")]


async def test_a_late_listener_hears_everything_and_nobody_hears_it_twice_after_a_crash(
    tmp_path: Path,
) -> None:
    channel, go = Channel(), asyncio.Event()
    channel.narrated = False
    async with channel.running(tmp_path, scene=written(go)) as app:
        going = await app.perform(asked("one", "scene"))
        await channel.recorder.until("one", Text("The door opens. "))
        channel.narrated = True
        go.set()
        await going.wait()
        assert [spoken.key for spoken in channel.recorder.spoken] == ["scene"]
    channel, go = Channel(), asyncio.Event()
    async with channel.running(tmp_path, scene=written(go)) as app:
        await app.perform(asked("two", "scene"))
        await channel.until("two/scene", "The door opens. ")
    again = Channel()  # the run continues in another process, where nobody listened when it started
    again.narrated = False
    never = asyncio.Event()
    async with again.running(tmp_path, scene=written(never)) as app:
        await again.recorder.until("two", Text("The door opens. "))
        again.narrated = True
        never.set()
        assert await app.ended("two") == "done"
    assert again.recorder.spoken == []
