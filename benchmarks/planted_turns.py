"""Measures whether the prompt of a turn that needs a planted fact, in other words, contains the fact's scene.

The story of 300 scenes is put into the storage, and the bot continues it with its defaults: a model on loopback reads
each turn, which is then undone.

    SUTRADHAR_MODELS=DIR SUTRADHAR_BENCH_CACHE=DIR make bench ARGS=planted_turns

`python -m benchmarks.planted_turns` lists the facts that no prompt contains, with and without an extractor's
notes.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.figures import Figure, skipped
from benchmarks.memory import model, texts_of
from benchmarks.planted_story import BRANCHES, FORK, Fact, Line, planted
from bot.app import App
from bot.events import Place
from bot.works.story.config import RecallConfig
from bot.works.story.log.logs import node, spot
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.pieces import sentences
from storage.stories import BranchRow, Node, Stories
from tests.fakes.chat_completions import ChatService
from tests.fakes.model_service import Body, Reply
from tests.promises.talk import Talk, settings, talking

if TYPE_CHECKING:
    from benchmarks.cached_vectors import CachedVectors

PLACE = Place("terminal", "local", "terminal", "bench")
MAIN, OTHER = BRANCHES
ENGLISH, PORTUGUESE = "in English", "in Portuguese"
REACH: Final = {ENGLISH: 0.80, PORTUGUESE: 0.70}
"""With 32,000 tokens. With 8,000 there is room for a third of the scenes."""
WINDOWS: Final = (8_000, 32_000)
"""Tokens; the bot assumes 32,000 for a model with an unknown window."""
SCENE = "They spoke of it until the fire had burned down."
HISTORY, SO_FAR, EXCERPTS, NOWHERE = "history", "story so far", "excerpts", "nowhere"
PARTS = (EXCERPTS, SO_FAR, HISTORY, NOWHERE)


@dataclass(frozen=True, slots=True)
class Asked:
    """A played turn, and the part of its prompt that contains the fact."""

    fact: Fact
    turn: str
    where: str


class Writer:
    """Answers each prompt with the same scene; `texts` are the messages of the last prompt."""

    def __init__(self) -> None:
        self.service = ChatService(self._reply)
        self.texts: list[str] = []

    def _reply(self, body: Body) -> Reply:
        self.texts = list(self.service.texts(body))
        return Reply(pieces=[SCENE])

    def holds(self, words: str) -> str:
        """The part of the prompt that contains the words."""
        *before, last = self.texts
        if words in last.partition("<related>")[2].partition("</related>")[0]:
            return EXCERPTS
        of_scenes = [text for text in before if words in text]
        if not of_scenes:
            return NOWHERE
        return SO_FAR if all(text.startswith("<story_so_far>") for text in of_scenes) else HISTORY


def turn_of(fact: Fact, language: str) -> str:
    return fact.turn if language == ENGLISH else fact.turn_pt


@asynccontextmanager
async def played(
    window: int, cached: CachedVectors | None, *, noted: bool = True
) -> AsyncIterator[tuple[Talk, Writer]]:
    """The story open in a terminal, with all its vectors; with `noted` false, without the extractor's notes."""
    toml = f"[story]\nextract = false\nchoices = 0\nwindow = {window}\n"
    toml += "" if cached is not None else '[embedding]\nmodel = "none"\n'

    class Cached(App):
        """With cached vectors."""

        @classmethod
        async def open(cls, config, **options):  # type: ignore[no-untyped-def]
            app = await super().open(config, **options)
            app.resources.embedding.load = lambda name: cached
            await kept(app.resources.stories, noted=noted)
            memory = Memory(app.resources.story_vectors, app.resources.embedding, RecallConfig())
            for name, branch in planted().items():
                await memory.learn(PLACE.space, MAIN, name, branch.story)
            return app

    writer = Writer()
    with tempfile.TemporaryDirectory() as folder:
        async with writer.service as service:
            config = settings(Path(folder) / "data", service, toml=toml)
            async with talking(config, thread=PLACE.thread, application=Cached) as talk:
                yield talk, writer


async def kept(stories: Stories, *, noted: bool) -> None:
    """Put both branches into the storage."""
    of = {
        name: [line for line in branch.lines if noted or line.kind != "extracted"]
        for name, branch in planted().items()
    }
    await stories.create(spot(PLACE), MAIN, "The Arrival", "ana")
    premise = {"title": "The Arrival", "premise": "Five travellers cross a coast at war."}
    at = await stories.append(PLACE.space, MAIN, MAIN, [node("start", "set", "set", premise, author="ana")])
    leaving = next(at for at, line in enumerate(of[MAIN]) if line.turn == f"{MAIN}/{FORK + 1}")
    at = await stories.append(PLACE.space, MAIN, MAIN, _nodes(of[MAIN][:leaving]))
    now = datetime(2026, 3, 4, tzinfo=UTC)
    await stories.fork(BranchRow(OTHER, PLACE.space, MAIN, OTHER, MAIN, f"{MAIN}/{FORK}", at, at, "ana", now))
    await stories.append(PLACE.space, MAIN, MAIN, _nodes(of[MAIN][leaving:]))
    await stories.append(PLACE.space, MAIN, OTHER, _nodes(of[OTHER]))


def _nodes(lines: Iterable[Line]) -> list[Node]:
    return [
        Node(line.id, line.kind, line.turn, line.id.partition("/scene")[0], "", line.body) for line in lines
    ]


async def asked(talk: Talk, writer: Writer, language: str) -> list[Asked]:
    """Each fact's turn, played at the end of its branch."""
    turns = []
    for name, branch in planted().items():
        if name != MAIN:
            await talk.say(f"/story switch {name}")
        for fact, turn in sorted(branch.facts, key=lambda pair: pair[0].name):
            if fact.branch or name == MAIN:
                events = await talk.say(f"/story act {turn_of(fact, language)}")
                assert not [event for event in events if event["event"] == "failed"], events
                turns.append(Asked(fact, turn, writer.holds(fact.holds)))
                await talk.say("/story undo")
    await talk.say(f"/story switch {MAIN}")
    return turns


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_figures())


async def _figures() -> list[Figure]:
    if (cached := prepared()) is None:
        return [skipped("turns that need a planted fact: there is no e5-enpt")]
    figures = []
    for window in WINDOWS:
        async with played(window, cached) as (talk, writer):
            for language, reach in REACH.items():
                turns = await asked(talk, writer, language)
                told = sum(turn.where != NOWHERE for turn in turns)
                good = told >= reach * len(turns) if window == WINDOWS[-1] else None
                label = f"turns {language} whose prompt tells the fact they need, of {len(turns)}, {window:,} tokens"
                figures.append(
                    Figure(label, f"{told}", f"≥ {reach:.2f}" if good is not None else "", "", good)
                )
    return figures


def prepared() -> CachedVectors | None:
    """The model, with all vectors made in one call, because the folder is written after each call."""
    cached = model("e5-enpt")
    if cached is not None:
        branches = planted()
        texts = [text for branch in branches.values() for text in texts_of(branch.story)]
        facts = {fact.name + fact.branch: fact for branch in branches.values() for fact, _ in branch.facts}
        turns = [turn_of(fact, language) for fact in facts.values() for language in REACH]
        cached.passages(
            list(dict.fromkeys([*texts, *(part for turn in turns for part in sentences(turn)), SCENE]))
        )
        cached.queries(turns)
    return cached


async def _main() -> None:
    cached = prepared()
    for noted in (True, False):
        for window in WINDOWS:
            async with played(window, cached, noted=noted) as (talk, writer):
                for language in REACH:
                    found = await asked(talk, writer, language)
                    print(noted, window, language, Counter(turn.where for turn in found), flush=True)
                    print("   ", *sorted(turn.fact.name for turn in found if turn.where == NOWHERE))


if __name__ == "__main__":
    asyncio.run(_main())
