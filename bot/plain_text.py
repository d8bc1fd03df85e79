"""Decides what text without a command means: which verb it is for, and whether an overheard message asks the bot.

Knows no platform.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from bot import commands
from bot.faults import in_words

if TYPE_CHECKING:
    from bot.asking_head import Encoder
    from bot.channel_rules import ChannelRules
    from bot.events import Place, Request
    from bot.resources import Resources
    from bot.retrieval.embedding import Embedder

ASKS_S = 2.0
"""How many seconds a model may take to decide whether a message asks something: Slack waits three seconds."""
ENCODER_S = 0.5
"""How many seconds a message waits for the embedding model to load; until then only its words count."""


class PlainText:
    """Decides the verb for plain text, and whether an overheard message asks the bot. `close` it at the end."""

    def __init__(self, resources: Resources, channel_rules: ChannelRules) -> None:
        self._resources = resources
        self._channel_rules = channel_rules
        self._loading: asyncio.Task[Embedder | None] | None = None

    async def verb(self, place: Place, author: str, text: str) -> tuple[str, str]:
        """The work and verb for a person's text in this place: those of its session, otherwise of the default work.
        Raises UserError.
        """
        with in_words():
            session = await self._resources.records.sessions.active(*place.key)
            if session is not None and session.work in commands.KINDS:
                work = await self._session_work(place, session.work)
            else:  # also if it is of a work of an earlier release
                work = await self._default_work(place)
            work, verb = commands.plain_verb(work)
            if commands.ROWS[work, verb].asks:
                for other in commands.KINDS.values():
                    if other.claims is not None and (claimed := await other.claims(text)):
                        return other.name, claimed
            kind = commands.KINDS[work]
            meant = await kind.plain(self._resources, place, author, text) if kind.plain is not None else ""
        return work, meant or verb

    async def _session_work(self, place: Place, work: str) -> str:
        """The session's work, or the default work if the session's has no documents and the default work has some."""
        shapes = commands.KINDS[work].shapes(self._resources.config)
        if work != commands.DEFAULT_WORK and not shapes:
            return work
        kinds = await self._resources.records.documents.kinds(place.space)
        if not kinds or kinds & (shapes.keys() or {""}):
            return work
        return await self._default_work(place)

    async def _default_work(self, place: Place) -> str:
        """The work outside a session: the place's own, otherwise the default work, unless the space has only books of
        another work, such as courses.
        """
        if chosen := await self._channel_rules.default_work(place):
            return chosen
        kinds = await self._resources.records.documents.kinds(place.space)
        if "" in kinds:
            return commands.DEFAULT_WORK
        config = self._resources.config
        works = (name for name, kind in commands.KINDS.items() if kinds & kind.shapes(config).keys())
        return next(works, commands.DEFAULT_WORK)

    async def asks(self, request: Request, *, mentions_people: bool, replies: bool) -> bool:
        """Whether a message that does not address the bot asks it something, in a place where it listens to everything.

        The words and the meaning decide, and in doubt the extractor. After ASKS_S the words alone decide.
        """
        from bot.asking import Overhearing, asks, asks_with_model, by_words

        resources = self._resources
        models = resources.models.with_roles(await resources.settings.roles(request))
        wording = (await resources.prompts.wording(request.place.space, "asks_bot")).text
        run: Any = Overhearing(request)
        encoder = await self._encoder()
        decision = asks_with_model(
            models,
            run,
            wording,
            request.text,
            mentions_people=mentions_people,
            replies=replies,
            encoder=encoder,
        )
        try:
            async with asyncio.timeout(ASKS_S):
                asks_bot = await decision
        except TimeoutError:
            verdict = asks(request.text, mentions_people=mentions_people, replies=replies)
            asks_bot = by_words(verdict, request.text)
        return asks_bot and (
            not await self._channel_rules.silent(request.place) or await self._knows(request)
        )

    async def _encoder(self) -> Encoder | None:
        """The embedding model for the meaning of messages; None until it is loaded, or if it is not configured."""
        if self._loading is None:
            from bot.asking_head import MODEL

            embedding = self._resources.embedding
            if MODEL not in (embedding.name, embedding.other_name) or not embedding.configured:
                return None
            loading = embedding.get() if embedding.name == MODEL else embedding.other(fetch=True)
            self._loading = asyncio.create_task(loading)
        await asyncio.wait({self._loading}, timeout=ENCODER_S)
        return cast("Encoder | None", self._loading.result()) if self._loading.done() else None

    async def _knows(self, request: Request) -> bool:
        """Whether an answer will be found, as far as that can be known before a model is asked."""
        if (knows := commands.KINDS[request.work].knows) is None:
            return True
        verb = commands.ROWS[request.work, request.verb]
        return await knows(self._resources, await self._channel_rules.with_defaults(verb, request))

    def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
