"""kill -9 while the pieces of a story's turns are embedded: the next turn makes only the missing vectors."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.works.story.memory.indexed import BATCH
from bot.works.story.work import SHORT
from tests.fakes.embeddings import EmbeddingService
from tests.fakes.wires import WIRES
from tests.kill.conftest import CHAT, serving
from tests.kill.process import Bot
from tests.kill.remains import live, rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

VECTORS = "SELECT DISTINCT node_id FROM story_vectors"
TOLD = "SELECT id FROM story_nodes WHERE kind = 'scene' OR body LIKE '%thing number%'"


class Embedding:
    """An embedding service in a separate thread; `free` releases its answers."""

    def __init__(self) -> None:
        self.service = EmbeddingService()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.hold()
        self._wait(self.service.__aenter__())

    def hold(self) -> None:
        self.service.held = asyncio.Event()

    def free(self) -> None:
        held = self.service.held
        assert held is not None
        self._loop.call_soon_threadsafe(held.set)

    def close(self) -> None:
        self._wait(self.service.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, call: object) -> None:
        asyncio.run_coroutine_threadsafe(call, self._loop).result(60)  # type: ignore[arg-type]

    def times(self) -> Counter[int]:
        """The number of times that each turn's words were embedded, by turn."""
        sent = [text for request in list(self.service.requests) for text in request["input"]]
        return Counter(
            int(text.partition("thing number ")[2].partition(" ")[0])
            for text in sent
            if "thing number" in text
        )


@pytest.fixture
def embedding() -> Iterator[Embedding]:
    made = Embedding()
    yield made
    made.close()


def turns(first: int, last: int) -> str:
    return "".join(f"I do thing number {n} of the harbour.\n" for n in range(first, last + 1))


def test_stored_vectors_are_kept_however_often_the_bot_is_killed(
    tmp_path: Path, embedding: Embedding
) -> None:
    data, config, wire = tmp_path / "data", tmp_path / "config.toml", WIRES["chat"]
    database = data / "sutradhar.db"
    with serving(wire, tmp_path, *[{"text": "A gull calls."}] * 2 * SHORT) as service:
        config.write_text(
            '[providers.local]\nkind = "openai-compatible"\n'
            f'base_url = "http://127.0.0.1:{service.port}/v1"\n[roles]\nwriter = "local:small"\n'
            f'[providers.openai]\nkind = "openai"\nbase_url = "{embedding.service.base_url}"\n'
            "[story]\nchoices = 0\nextract = false\n"
            '[recall]\nstrategy = "linear"\n[embedding]\nmodel = "openai:text-embedding-3-small"\n',
            encoding="utf-8",
        )
        begin = "/story start A lighthouse keeper finds a door in the sea\n"
        with Bot(*CHAT, data=data, config=config, stdin=begin + turns(1, SHORT)) as bot:
            assert bot.strike_once(lambda: bool(embedding.service.requests)) == -signal.SIGKILL, (
                bot.complaints()
            )
        lost = embedding.times()
        assert lost
        assert rows(database, VECTORS) == []
        embedding.free()
        with Bot(*CHAT, data=data, config=config, stdin=turns(SHORT + 1, SHORT + 1)) as bot:
            assert bot.strike_once(lambda: bool(live(database, VECTORS))) == -signal.SIGKILL, bot.complaints()
        kept = rows(database, VECTORS)
        with Bot(*CHAT, data=data, config=config, stdin=turns(SHORT + 2, SHORT + 2)) as bot:
            assert (
                bot.strike_once(lambda: len(live(database, VECTORS)) >= 2 * (SHORT + 2) + 1)
                == -signal.SIGKILL
            )
    learnt = {node for (node,) in rows(database, VECTORS)}
    assert {node for (node,) in kept} < learnt
    assert {node for (node,) in rows(database, TOLD)} == learnt, "each turn is played once, and embedded"
    paid = embedding.times()
    assert set(paid) == set(range(1, SHORT + 3))
    # Each kill costs the batch in progress, and no other.
    again = sum((paid - Counter(set(paid))).values())
    assert sum(lost.values()) <= again <= sum(lost.values()) + BATCH
    assert max(paid.values()) <= 3
