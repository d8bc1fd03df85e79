"""The analysis of a script, in the background: a run of its own, a step for each scene, which a crash repeats none of.

A scene whose contents have a card is never looked into again. Half an analysis is used as far as it goes.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.events import Answered, Event, OptionValue, Request, Run, UserError
from bot.llm.base import Message, Prompt, room
from bot.strategies.base import LANGUAGES
from bot.works.script import analysis
from bot.works.script.analysis import Analysis, Card, Whole
from bot.works.script.catalogue import Catalogue, OpenScript, reader
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
"""Characters of a scene that the model reads."""
WHOLE_CHARS: Final = 80_000
"""Characters of all cards together from which the model sums up the whole script."""
CHARACTERS: Final = 12
"""Those who speak in most scenes, named to the model that sums up the script."""
CARD_WORDS, WHOLE_WORDS = 80, 1_500
"""Words of a reply for which there is room."""

_log = logging.getLogger(__name__)


class BackgroundAnalysis:
    """The inner verb "analysed", a run in the background that `begin` starts."""

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
        """Start a run that analyses the script. Returns whether there is a model for it."""

        async def able() -> bool:
            return self._able(self._models.with_roles(await self._roles(run.request)))

        analysable = await run.step(f"{key}-able", able, bool)
        if analysable or self._embeds:
            options: dict[str, OptionValue] = {"script": script, "cards": analysable}
            await run.begin(key, "analysed", options=options, line=f"script:{script}")
        return analysable

    async def catch_up(self, run: Run, script: str) -> None:
        """Start a run that makes the missing vectors, after the embedder was out of reach."""
        options: dict[str, OptionValue] = {"script": script, "cards": False}
        await run.begin("catch-up", "analysed", options=options, line=f"script:{script}")

    async def of(self, asker: Reader, row: ScriptRow, script: Script) -> Analysis:
        """The analysis of a script as far as it is stored."""
        return analysis.from_findings(script, await self._catalogue.rows.findings(asker, row.id))

    def _able(self, models: Models) -> bool:
        if not self._config.analyse:
            return False
        capabilities = models.capabilities(ROLE)
        return capabilities is not None and not capabilities.demo

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Make the vectors that the scenes lack; then look into those that have no card (unless `cards` is off), and
        tell the whole from all cards."""
        asker, id = reader(run.request), str(run.request.options["script"])
        try:
            _, opened = await self._open(asker, id)
            await self._likeness.learn(asker, id, opened)
        except UserError as error:  # made up for by the next question
            _log.info("script %s has not all its vectors: %s", id, error)
        if run.request.options.get("cards") is False:
            yield Answered()
            return

        async def missing() -> list[str]:
            row, opened = await self._open(asker, id)
            return list((await self.of(asker, row, opened.script)).missing)

        async def still_there(content: str) -> bool:
            _, opened = await self._open(asker, id)
            return any(scene.content == content for scene in opened.script.scenes)

        models = self._models.with_roles(
            await run.step("roles", lambda: self._roles(run.request), dict[str, list[str]])
        )
        try:
            for content in await run.step("scenes", missing, list[str]):
                if not await run.step(f"there-{content}", partial(still_there, content), bool):
                    continue  # a newer draft has come, whose own run is behind this one
                prompt = await self._scene_prompt(asker, id, content)
                try:
                    card = await models.json(run, ROLE, f"scene-{content}", prompt, Card)
                except UserError as error:
                    if error.key != "model.format":  # no service, no money: what there is stays, and is used
                        raise
                    card = Card()
                await self._catalogue.rows.put_finding(
                    asker.space, id, f"scene:{content}", analysis.body(card)
                )
            row, opened = await self._open(asker, id)
            if not (await self.of(asker, row, opened.script)).missing:
                whole_script = await models.json(
                    run, ROLE, "whole", await self._whole_prompt(asker, row, opened), Whole
                )
                body = analysis.body_of_whole(whole_script, opened.script)
                await self._catalogue.rows.put_finding(asker.space, id, analysis.WHOLE, body)
                keys = [analysis.WHOLE, *map(analysis.key, opened.script.scenes)]
                await self._catalogue.rows.retain_findings(asker.space, id, keys)
        except UserError as error:
            _log.info("script %s is not analysed to its end: %s", id, error)
        yield Answered()  # it shows nothing

    async def _open(self, asker: Reader, id: str) -> tuple[ScriptRow, OpenScript]:
        row = await self._catalogue.resolve(asker, id)
        return row, await self._catalogue.open(asker, row)

    async def _scene_prompt(self, asker: Reader, id: str, content: str) -> Prompt:
        _, opened = await self._open(asker, id)
        scene = next(scene for scene in opened.script.scenes if scene.content == content)
        prompts = await self._prompts.texts(asker.space, ("script_scene",))
        system, user = prompts["script_scene"].fill(
            language=_language(opened), scene=untrusted.data(scene.text[:SCENE_CHARS])
        )
        return _prompt(system, user, CARD_WORDS)

    async def _whole_prompt(self, asker: Reader, row: ScriptRow, opened: OpenScript) -> Prompt:
        script, analysed = opened.script, await self.of(asker, row, opened.script)
        cards = "\n".join(
            f"Scene {scene.number}: {scene.heading.text}. {analysed.card(scene)}" for scene in script.scenes
        )
        names = ", ".join(presence.name for presence in report(script).presences[:CHARACTERS])
        prompts = await self._prompts.texts(asker.space, ("script_whole",))
        system, user = prompts["script_whole"].fill(
            language=_language(opened),
            characters=untrusted.data(names),
            cards=untrusted.data(cards[:WHOLE_CHARS]),
        )
        return _prompt(system, user, WHOLE_WORDS)


def _language(opened: OpenScript) -> str:
    return LANGUAGES.get(opened.search.language, "the language of the script")


def _prompt(system: str, user: str, words: int) -> Prompt:
    return Prompt(
        system,
        (Message("user", user),),
        max_tokens=room(words, "low"),
        temperature=0,
        cache=True,
        effort="low",
    )
