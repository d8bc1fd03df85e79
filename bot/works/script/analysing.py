"""The analysis of a script, in the background: a run of its own, a step for each scene, which a crash repeats none of.

A scene whose contents have a card is never looked into again. Half an analysis is used as far as it goes.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from bot import fence
from bot.events import Answered, Event, OptionValue, Request, Run, Sorry
from bot.llm.base import Message, Prompt, room
from bot.strategies.base import LANGUAGES
from bot.works.script import analysis
from bot.works.script.analysis import Analysis, Card, Whole
from bot.works.script.catalogue import Catalogue, Reading, reader
from bot.works.script.report import report

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.works.script.config import ScriptConfig
    from bot.works.script.likeness import Likeness
    from bot.works.script.model import Script
    from storage.scripts import Reader, ScriptRow

ROLE: Final = "extractor"
SCENE_CHARS: Final = 12_000
WHOLE_CHARS: Final = 80_000
"""Of the cards from which the whole is told."""
CHARACTERS: Final = 12
CARD_WORDS, WHOLE_WORDS = 80, 1_500

_log = logging.getLogger(__name__)


class Analysing:
    """The inner verb "analysed"; `begin` has it done."""

    def __init__(
        self,
        catalogue: Catalogue,
        models: Models,
        prompts: Prompts,
        roles: Callable[[Request], Awaitable[dict[str, list[str]]]],
        config: ScriptConfig,
        likeness: Likeness,
        *,
        embeds: bool,
    ) -> None:
        """`embeds`: an embedder is configured."""
        self._likeness = likeness
        self._embeds = embeds
        self._catalogue = catalogue
        self._models = models
        self._prompts = prompts
        self._roles = roles
        self._config = config

    async def begin(self, run: Run, key: str, script: str) -> bool:
        """Have the script analysed; whether there is a model that could."""

        async def able() -> bool:
            return self._able(self._models.with_roles(await self._roles(run.request)))

        goes_on = await run.step(f"{key}-able", able, bool)
        if goes_on or self._embeds:
            options: dict[str, OptionValue] = {"script": script, "cards": goes_on}
            await run.begin(key, "analysed", options=options, line=f"script:{script}")
        return goes_on

    async def catch_up(self, run: Run, script: str) -> None:
        """Have the vectors made that an embedder which was not at hand has left out."""
        options: dict[str, OptionValue] = {"script": script, "cards": False}
        await run.begin("catch-up", "analysed", options=options, line=f"script:{script}")

    async def of(self, asked: Reader, row: ScriptRow, script: Script) -> Analysis:
        """What there is of a script by now."""
        return analysis.kept(script, await self._catalogue.rows.findings(asked, row.id))

    def _able(self, models: Models) -> bool:
        if not self._config.analyse:
            return False
        try:
            can = models.capabilities(ROLE)
        except Sorry:
            return False
        return can is not None and not can.demo

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Make the vectors that the scenes lack; then look into those that have no card (unless `cards` is off), and
        tell the whole from all cards."""
        asked, id = reader(run.request), str(run.request.options["script"])
        try:
            _, reading = await self._reading(asked, id)
            await self._likeness.learn(asked, id, reading)
        except Sorry as error:  # made up for by the next question
            _log.info("script %s has not all its vectors: %s", id, error)
        if run.request.options.get("cards") is False:
            yield Answered()
            return

        async def wanted() -> list[str]:
            row, reading = await self._reading(asked, id)
            return list((await self.of(asked, row, reading.script)).missing)

        async def there(content: str) -> bool:
            _, reading = await self._reading(asked, id)
            return any(scene.content == content for scene in reading.script.scenes)

        models = self._models.with_roles(
            await run.step("roles", lambda: self._roles(run.request), dict[str, list[str]])
        )
        try:
            for content in await run.step("scenes", wanted, list[str]):
                if not await run.step(f"there-{content}", partial(there, content), bool):
                    continue  # a newer draft has come, whose own run is behind this one
                prompt = await self._scene_prompt(asked, id, content)
                try:
                    card = await models.json(run, ROLE, f"scene-{content}", prompt, Card)
                except Sorry as error:
                    if error.key != "model.format":  # no service, no money: what there is stays, and is used
                        raise
                    card = Card()
                await self._catalogue.rows.find(asked.space, id, f"scene:{content}", analysis.body(card))
            row, reading = await self._reading(asked, id)
            if not (await self.of(asked, row, reading.script)).missing:
                whole = await models.json(
                    run, ROLE, "whole", await self._whole_prompt(asked, row, reading), Whole
                )
                made = analysis.body_of_whole(whole, reading.script)
                await self._catalogue.rows.find(asked.space, id, analysis.WHOLE, made)
                keys = [analysis.WHOLE, *map(analysis.key, reading.script.scenes)]
                await self._catalogue.rows.keep_only(asked.space, id, keys)
        except Sorry as error:
            _log.info("script %s is not analysed to its end: %s", id, error)
        yield Answered()  # it shows nothing

    async def _reading(self, asked: Reader, id: str) -> tuple[ScriptRow, Reading]:
        row = await self._catalogue.meant(asked, id)
        return row, await self._catalogue.open(asked, row)

    async def _scene_prompt(self, asked: Reader, id: str, content: str) -> Prompt:
        _, reading = await self._reading(asked, id)
        scene = next(one for one in reading.script.scenes if one.content == content)
        prompts = await self._prompts.texts(asked.space, ("script_scene",))
        system, user = prompts["script_scene"].fill(
            language=_language(reading), scene=fence.data(scene.text[:SCENE_CHARS])
        )
        return _prompt(system, user, CARD_WORDS)

    async def _whole_prompt(self, asked: Reader, row: ScriptRow, reading: Reading) -> Prompt:
        script, found = reading.script, await self.of(asked, row, reading.script)
        cards = "\n".join(
            f"Scene {scene.number}: {scene.heading.text}. {found.card(scene)}" for scene in script.scenes
        )
        names = ", ".join(one.name for one in report(script).presences[:CHARACTERS])
        prompts = await self._prompts.texts(asked.space, ("script_whole",))
        system, user = prompts["script_whole"].fill(
            language=_language(reading), characters=fence.data(names), cards=fence.data(cards[:WHOLE_CHARS])
        )
        return _prompt(system, user, WHOLE_WORDS)


def _language(reading: Reading) -> str:
    return LANGUAGES.get(reading.search.language, "the language of the script")


def _prompt(system: str, user: str, words: int) -> Prompt:
    return Prompt(
        system,
        (Message("user", user),),
        max_tokens=room(words, "low"),
        temperature=0,
        cache=True,
        effort="low",
    )
