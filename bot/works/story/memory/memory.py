"""The memory of stories: searches the pieces of a branch by words and by vectors.

Words are indexed from the folded story in memory, so that there is no second copy to update; vectors are stored in the
database by node.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING

from bot.events import UserError
from bot.retrieval.centred import Centred
from bot.retrieval.language import detect, may_vote
from bot.works.story.memory.history import History
from bot.works.story.memory.index import Pieces
from bot.works.story.memory.indexed import ASKED, BATCH, THERE, Candidates, StoryIndex
from bot.works.story.memory.lore_vectors import CONTENT_CHARS, LoreVectors, by_meaning, likeness, packed
from bot.works.story.memory.pieces import texts_to_embed
from bot.works.story.memory.ranking import Query
from bot.works.story.memory.recalled import Recalled, best_pieces
from bot.works.story.memory.vectors import encode
from bot.works.story.world import state
from storage.faults import StorageFault
from storage.story_vectors import NodeVectors
from storage.worker_threads import in_own_thread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embedding import Embedder, Embedding
    from bot.works.story.config import RecallConfig
    from bot.works.story.log.story import Story
    from storage.story_vectors import StoryVectors

KEPT, KEPT_PIECES = 16, 400_000
"""How many stories' pieces stay in memory, and how many pieces in all: 200,000 take 60 MB (docs/retrieval-lab.md)."""

LOADED = 1_000
"""How many nodes' vectors are read at a time: those of a long story at once would take twice the memory."""

QUERY_CHARS = 8_000
"""The maximum length of a query in characters: each of its words is looked up."""

THREADS = 2
"""How many threads search: each keeps as much memory as its largest search used."""

QUERIES = 32
"""How many queries' vectors stay in memory: a turn's is used for the lorebook, then for past scenes."""

FETCHED_AGAIN = 3_600.0
"""Seconds until a failed download of a model is tried again."""

PAUSE = 60.0
"""Seconds for which a model that failed is not asked for query vectors; meanwhile searches use words alone."""

_SAMPLE = 20
"""The number of turns from which a story's language is detected, again whenever its length has doubled."""

_log = logging.getLogger(__name__)


class Memory:
    def __init__(
        self, vectors: StoryVectors, embedding: Embedding, by: RecallConfig, *, waits: float = 3.0
    ) -> None:
        """A search waits `waits` seconds for its query's vector."""
        self._vectors = vectors
        self._embedding = embedding
        self._by = by
        self._waits = waits
        self._paused = self._fetched = 0.0
        self._centred: dict[str, Centred] = {}
        self._centring = Lock()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="memory")
        self._stories: OrderedDict[tuple[str, str], StoryIndex] = OrderedDict()
        self._queries: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    def drop(self, space: str) -> None:
        """Drop what is cached of a space, "" for all spaces, and all query vectors, which belong to no space."""
        for key in [key for key in self._stories if space in ("", key[0])]:
            del self._stories[key]
        self._queries.clear()

    async def recall(
        self,
        space: str,
        id: str,
        branch: str,
        story: Story,
        query: Query,
        count: int,
        without: Collection[str] = (),
        by: RecallConfig | None = None,
    ) -> list[Recalled]:
        """At most `count` pieces of a branch that match the query, best first, except those of the turns `without`.

        `story` is the branch in its present state. `by` replaces the configuration.
        """
        by, apart = by or self._by, frozenset(without)
        query = replace(query, text=query.text[:QUERY_CHARS], context=query.context[:QUERY_CHARS])
        indexed = await self._index_of(space, id, story)
        if indexed.of_lines:
            # A line's vector includes the lines before it: its neighbours would count twice.
            by = replace(by, meaning=by.meaning_lines, meaning_beside=0.0, covered=by.covered_lines)
        history = await indexed.history(branch, story)
        vector: NDArray[np.float32] | None = None
        likely, stored = list[Candidates](), dict[str, bytes]()
        try:
            if by.meaning and (embedder := await self._embedder(indexed)) is not None:
                vector = await self._vector(embedder, query.text)
                if vector is not None:
                    vector = (await asyncio.to_thread(self._centred_model, embedder)).question(vector)
                    await self._load(space, id, indexed, embedder.name, history)
                    likely = await indexed.in_thread(partial(indexed.likely, vector, history))
                    nodes = {node for candidates in likely for node in candidates.nodes.tolist()}
                    names = [indexed.pieces.nodes[node] for node in nodes]
                    stored = await self._vectors.by_node(space, id, by_sentence(embedder.name), names)
        except (UserError, StorageFault) as fault:
            _log.warning("a story is searched by its words alone: %s", fault)

        def ranked() -> list[Recalled]:
            nearest = indexed.nearest(vector, likely, stored) if vector is not None else {}
            return best_pieces(history, query, by, nearest, story.turns, count, apart)

        return await indexed.in_thread(ranked)

    async def learn(
        self,
        space: str,
        id: str,
        branch: str,
        story: Story,
        progress: Callable[[int, int], None] | None = None,
        until: int | None = None,
    ) -> int:
        """Make the missing vectors of the branch's pieces, or of its first `until` turns; returns for how many nodes.

        `progress` is called with how many nodes are done, and of how many. Makes none without a model for the story's
        language, or while another call is running, which then includes pieces that are added meanwhile. Raises
        UserError, StorageFault.
        """
        indexed, learnt = await self._index_of(space, id, story), 0
        embedder = await self._embedder(indexed, fetch=True)
        if embedder is None or indexed.learning.locked():
            return 0
        async with indexed.learning:
            while True:
                history = await indexed.history(branch, story)
                await self._load(space, id, indexed, embedder.name, history)
                missing, places = await indexed.in_thread(partial(indexed.nodes_below, THERE, history))
                if until is not None:
                    missing, places = missing[places < until], places[places < until]
                if not len(missing):
                    return learnt
                most = learnt + len(missing)
                for batch in indexed.batches(missing):
                    nodes = missing[batch].tolist()
                    await self._embed(
                        space, id, indexed, embedder, nodes, story, history, places[batch].tolist()
                    )
                    self._paused = 0.0
                    learnt += len(nodes)
                    if progress is not None:
                        progress(learnt, most)

    async def lore(
        self, space: str, id: str, story: Story, text: str, count: int, least: float = 0.0
    ) -> list[str]:
        """The ids of at most `count` entries of the lorebook that are closest to the text in meaning, closest first.

        Each has a cosine of at least `least`; 0 means the model's own threshold. Returns none without a model; entries
        whose vectors have not been made yet are not found.
        """
        indexed = await self._index_of(space, id, story)
        try:
            if (embedder := await self._embedder(indexed)) is None or not (entries := by_meaning(story)):
                return []
            if (vector := await self._vector(embedder, text[:QUERY_CHARS])) is None:
                return []
            await self._load_lore(space, id, indexed, embedder.name, list(entries))
        except (UserError, StorageFault) as fault:
            _log.warning("a lorebook is searched by its keywords alone: %s", fault)
            return []
        least = least or likeness(embedder.name)
        nearest = await indexed.in_thread(partial(indexed.lore.nearest, vector, list(entries), count, least))
        return [entries[node] for node in nearest]

    async def learn_lore(self, space: str, id: str, story: Story) -> int:
        """Make the missing vectors of the lorebook's entries; returns how many. Raises UserError, StorageFault."""
        indexed = await self._index_of(space, id, story)
        embedder = await self._embedder(indexed)
        if embedder is None or indexed.learning.locked():
            return 0
        entries = by_meaning(story)
        async with indexed.learning:
            await self._load_lore(space, id, indexed, embedder.name, list(entries))
            missing = [node for node in entries if node not in indexed.lore.vectors]
            contents = {node: str(story.lore[entries[node]]["content"])[:CONTENT_CHARS] for node in missing}
            for first in range(0, len(missing), BATCH):
                batch = missing[first : first + BATCH]
                texts = [contents[node] for node in batch]
                rows = packed(await asyncio.to_thread(embedder.passages, texts))
                vectors = {node: bytes(row) for node, row in zip(batch, rows, strict=True)}
                # The author is empty: an entry's run records whose words it contains.
                node_vectors = [
                    NodeVectors(node, node.rpartition("/")[0], "", row) for node, row in vectors.items()
                ]
                await self._vectors.put(space, id, embedder.name, node_vectors)
                await indexed.in_thread(partial(indexed.lore.take, batch, vectors))
        return len(missing)

    async def _load_lore(
        self, space: str, id: str, indexed: StoryIndex, embedder: str, nodes: Sequence[str]
    ) -> None:
        """Load the stored vectors of the entries. Raises StorageFault."""
        unasked = [node for node in nodes if node not in indexed.lore.asked]
        if unasked:
            vectors = await self._vectors.by_node(space, id, embedder, unasked)
            await indexed.in_thread(partial(indexed.lore.take, unasked, vectors))

    async def _embed(
        self,
        space: str,
        id: str,
        indexed: StoryIndex,
        embedder: Embedder,
        nodes: Sequence[int],
        story: Story,
        history: History,
        places: Sequence[int],
    ) -> None:
        """Make and store the vectors of some nodes; `places` are the indexes of their turns in the branch."""
        import numpy as np

        rows, path = [], history.turns
        for node, at in zip(nodes, places, strict=True):
            name, turn = indexed.pieces.nodes[node], story.turns[path[at]]
            texts = texts_to_embed(story, path, at, state.title_at(history.chapters, at)).get(name, [])
            # What was extracted from an edited scene also contains its author's words.
            author = turn.act.author if name == turn.act.id or turn.scene is None else turn.scene.author
            if texts:  # otherwise another version counts now
                rows.append((name, author, bool(turn.act.group), texts))
        all_texts = [text for *_, texts in rows for text in chain(*texts)]
        parts = [all_texts[first : first + BATCH] for first in range(0, len(all_texts), BATCH)]
        centred = await asyncio.to_thread(self._centred_model, embedder)
        made_vectors = [
            vector for part in parts for vector in await asyncio.to_thread(centred.passages, part)
        ]
        vectors, node_vectors = iter(made_vectors), list[NodeVectors]()
        for name, author, of_line, texts in rows:
            of_pieces = [list(islice(vectors, len(sentence_vectors))) for sentence_vectors in texts]
            if of_line:
                of_pieces = [[np.mean(sentence_vectors, axis=0)] for sentence_vectors in of_pieces]
            counts, row = bytes(map(len, of_pieces)), encode(np.stack(list(chain(*of_pieces)))).tobytes()
            node_vectors.append(NodeVectors(name, name.rpartition("/")[0], author, counts + row))
        await self._vectors.put(space, id, by_sentence(embedder.name), node_vectors)
        by_node = {row.node_id: row.vectors for row in node_vectors}
        await indexed.in_thread(partial(indexed.add_vectors, nodes, by_node, THERE))

    async def _index_of(self, space: str, id: str, story: Story) -> StoryIndex:
        indexed = self._stories.get((space, id))
        if indexed is None or story.length >= 2 * indexed.sampled:
            language = await asyncio.to_thread(detect, "\n".join(_sample(story)))
            indexed = self._stories.get((space, id))
            if indexed is None or indexed.pieces.language != language:
                indexed = self._stories[space, id] = StoryIndex(
                    Pieces(language), self._threads, of_lines=_is_chat_log(story)
                )
            indexed.sampled = max(indexed.sampled, story.length)
        self._stories.move_to_end((space, id))
        while len(self._stories) > 1 and (
            len(self._stories) > KEPT
            or sum(len(indexed.pieces) for indexed in self._stories.values()) > KEPT_PIECES
        ):
            self._stories.popitem(last=False)
        return indexed

    async def _embedder(self, indexed: StoryIndex, *, fetch: bool = False) -> Embedder | None:
        """A model that knows the story's language; for English or Portuguese, one that compares both, if available. Its
        files are downloaded only with `fetch`.

        A chat log keeps the configured model if that knows its language: on LoCoMo bge-small finds more.
        """
        language, both = indexed.pieces.language, self._embedding.other_languages
        embedder, now = None, asyncio.get_running_loop().time()
        first = await self._embedding.get() if indexed.of_lines else None
        if first is not None and may_vote(first.languages, None, language):
            embedder = first
        elif language in both:
            fetch = fetch and now >= self._fetched
            embedder = await self._embedding.speaking(both, fetch=fetch)
            if fetch and embedder is None:
                self._fetched = now + FETCHED_AGAIN
        if embedder is None:
            embedder = await self._embedding.get()
        if embedder is None or not may_vote(embedder.languages, None, language):
            return None
        if indexed.embedder != embedder.name:
            indexed.embedder, indexed.vectors, indexed.lore = embedder.name, None, LoreVectors()
            indexed.state.clear()
        return embedder

    def _centred_model(self, embedder: Embedder) -> Centred:
        """The model without the common part of its vectors, which is measured once; blocking."""
        with self._centring:
            if embedder.name not in self._centred:
                self._centred[embedder.name] = Centred(embedder)
            return self._centred[embedder.name]

    async def _vector(self, embedder: Embedder, text: str) -> NDArray[np.float32] | None:
        """A query's vector; None if the model fails or is late, and for PAUSE seconds afterwards."""
        loop, key = asyncio.get_running_loop(), (embedder.name, text)
        if key in self._queries:
            return self._queries[key]
        if loop.time() < self._paused:
            return None
        try:
            async with asyncio.timeout(self._waits):
                vector = await in_own_thread(partial(copy_context().run, embedder.query, text))
        except (UserError, TimeoutError) as fault:
            _log.warning("stories are searched by their words alone: %s", str(fault) or "its model is late")
            self._paused = loop.time() + PAUSE
            return None
        self._queries[key] = vector
        if len(self._queries) > QUERIES:
            self._queries.popitem(last=False)
        return vector

    async def _load(self, space: str, id: str, indexed: StoryIndex, embedder: str, history: History) -> None:
        """Load the stored vectors of the branch. Raises StorageFault."""
        unasked, _ = await indexed.in_thread(partial(indexed.nodes_below, ASKED, history))
        for first in range(0, len(unasked), LOADED):
            nodes = unasked[first : first + LOADED].tolist()
            names = [indexed.pieces.nodes[node] for node in nodes]
            vectors = await self._vectors.by_node(space, id, by_sentence(embedder), names)
            await indexed.in_thread(partial(indexed.add_vectors, nodes, vectors, ASKED))


def _is_chat_log(story: Story) -> bool:
    """Whether the story began as a chat log."""
    return bool(story.length and story.turns[story.path[0]].act.group)


def by_sentence(embedder: str) -> str:
    """The name under which a model's vectors of pieces are stored. The model's own name is for a lorebook's vectors, or
    for older ones with one vector for each piece.
    """
    return f"{embedder}, by sentence, 4 bits"


def _sample(story: Story) -> list[str]:
    """Texts from the whole story, evenly spread."""
    turns = story.current_turns[:: -(-story.length // _SAMPLE) or 1]
    scenes = [turn.scene.text for turn in turns if turn.scene is not None]
    return [str(story.settings.get("premise", "")), *(turn.act.text for turn in turns), *scenes]
