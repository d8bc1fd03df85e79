"""The names under which a proxy, such as PluralKit, posts a player's words: each is bound once, and confirmed by the
player.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.events import Choice, Choices, Event, Request, Stage, Text, UserError
from bot.markdown import harmless_values
from bot.words import words
from bot.work import Run
from bot.works.story.table.party_verbs import Outcome, find_person
from bot.works.story.world.cast import NAME_CHARS

if TYPE_CHECKING:
    from bot.works.story.log.logs import Logs
    from storage.proxies import Proxies


@dataclass(frozen=True, slots=True)
class ProxiedNames:
    _logs: Logs
    _proxies: Proxies

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        verb = self._confirm if request.verb == "proxied" else self._bind
        outcome = await run.step("told", lambda: verb(request), Outcome)
        yield Stage(request.verb, "")
        yield Text(say(outcome.key, **harmless_values(outcome.values)))
        if outcome.choices:
            buttons = (Choice(say(label), f"/story proxied {name}") for label, name in outcome.choices)
            yield Choices("", tuple(buttons))

    async def _bind(self, request: Request) -> Outcome:
        """Ask the player to confirm that the name is theirs; without a name, list the author's. Raises UserError."""
        played, space, author = await self._logs.played(request), request.place.space, request.author
        name = " ".join(request.text.split())[:NAME_CHARS]
        if not name:
            own = [row.name for row in await self._proxies.by_person(space, author.id) if row.confirmed]
            key = "story.proxies" if own else "story.no_proxies"
            return Outcome(key, {"names": ", ".join(own)} if own else None)
        person, player = author.id, author.name
        if typed := str(request.options.get("player") or ""):
            person, player = find_person(played.story, typed)
        if request.options.get("remove"):
            if not await self._proxies.remove(space, name, author.id):
                raise UserError("story.no_proxy", name=name)
            return Outcome("story.proxy_gone", {"name": name})
        for row in await self._proxies.named(space, name):
            if row.confirmed:
                raise UserError("story.proxy_taken", name=row.name, player=row.player)
        await self._proxies.offer(space, name, person, player)
        values: dict[str, str | int] = {"name": name, "player": player}
        return Outcome("story.proxy_asked", values, choices=[("story.button_proxy", name)])

    async def _confirm(self, request: Request) -> Outcome:
        """Bind the name after the player has pressed the button. Raises UserError for anybody else."""
        name, author = request.text.strip(), request.author
        if not await self._proxies.confirm(request.place.space, name, author.id, author.name):
            rows = await self._proxies.named(request.place.space, name)
            player = next((row.player for row in rows if row.confirmed), "")
            if player:
                raise UserError("story.proxy_taken", name=name, player=player)
            raise UserError("story.proxy_not_yours", name=name)
        return Outcome("story.proxy_bound", {"name": name, "player": author.name})
