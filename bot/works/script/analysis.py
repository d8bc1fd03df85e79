"""The analysis of a script: a card for each scene, and the acts, characters and plot threads of the whole.

It runs in the background, as a separate run with a step for each scene; after a crash no step is repeated. Cards are
stored by the content of their scenes, so that a new draft needs new ones only for its changes. An incomplete analysis
is used as far as it exists.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.events import Answered, Event, OptionValue, Request, UserError
from bot.llm.base import Message, Prompt, room
from bot.strategies.base import LANGUAGES
from bot.work import Run
from bot.works.script.catalogue import Catalogue, OpenScript, reader
from bot.works.script.model import Scene, Script
from bot.works.script.report import report

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.works.script.config import ScriptConfig
    from bot.works.script.likeness import Likeness
    from storage.scripts import Reader, ScriptRow

ROLE: Final = "extractor"
SCENE_CHARS: Final = 12_000
"""The maximum length of a scene that the model reads."""
WHOLE_CHARS: Final = 80_000
"""The maximum length of all cards together from which the model sums up the script."""
CHARACTERS: Final = 12
"""How many main characters are named to the model that sums up the script."""
CARD_WORDS, WHOLE_WORDS = 80, 1_500
"""The words for which a card, and the analysis of the whole, have room."""

_log = logging.getLogger(__name__)

WHOLE: Final = "whole"
"""The key under which the analysis of the whole script is stored."""
_TEXT_CHARS: Final = 600
"""The maximum length of one text in the analysis."""


@dataclass(frozen=True, slots=True)
class Card:
    """A scene's card: its events in a sentence, and its function in the script."""

    summary: str = ""
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """Scenes `first` to `last`, by their numbers."""

    title: str = ""
    first: int = 1
    last: int = 1
    summary: str = ""


@dataclass(frozen=True, slots=True)
class CharacterSheet:
    """A character: who they are, and how they change."""

    name: str = ""
    who: str = ""
    arc: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """A line of the plot, and the numbers of the scenes that carry it."""

    title: str = ""
    summary: str = ""
    scenes: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Whole:
    """The analysis of the whole script."""

    acts: list[Act] = field(default_factory=list)
    characters: list[CharacterSheet] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analysis of one script as far as it exists.

    `missing` are the contents of scenes without a card. `current` is False if `whole` is of an earlier draft.
    """

    cards: dict[str, Card]
    missing: tuple[str, ...]
    whole: Whole | None = None
    current: bool = False

    def card(self, scene: Scene) -> str:
        """The events of the scene, "" if it has no card."""
        card = self.cards.get(scene.content)
        return card.summary if card else ""

    def sheet(self, name: str) -> CharacterSheet | None:
        characters = self.whole.characters if self.whole else []
        return next((sheet for sheet in characters if sheet.name.upper() == name), None)

    @property
    def done(self) -> bool:
        return not self.missing and self.current


def card_key(content: str) -> str:
    """The key under which the card of a scene with this content is stored."""
    return f"scene:{content}"


def from_findings(script: Script, findings: Mapping[str, str]) -> Analysis:
    """The stored analysis of a script, from bodies by their keys."""
    contents = dict.fromkeys(scene.content for scene in script.scenes)
    cards = {
        content: Card(**json.loads(findings[card_key(content)]))
        for content in contents
        if card_key(content) in findings
    }
    missing = tuple(content for content in contents if content not in cards)
    if WHOLE not in findings:
        return Analysis(cards, missing)
    stored = json.loads(findings[WHOLE])
    whole = Whole(
        [Act(**act) for act in stored["acts"]],
        [CharacterSheet(**sheet) for sheet in stored["characters"]],
        [Thread(**thread) for thread in stored["threads"]],
    )
    return Analysis(cards, missing, whole, stored["basis"] == basis(script))


def body_of_card(card: Card) -> str:
    """The stored form of a card."""
    return json.dumps({name: _short(text) for name, text in asdict(card).items()}, ensure_ascii=False)


def body_of_whole(whole: Whole, script: Script) -> str:
    """The stored form of the whole, without scenes that do not exist."""
    last = len(script.scenes)
    values = {
        "basis": basis(script),
        "acts": [
            {**asdict(act), "title": _short(act.title), "summary": _short(act.summary)}
            for act in whole.acts
            if 1 <= act.first <= act.last <= last
        ],
        "characters": [
            {name: _short(text) for name, text in asdict(sheet).items()}
            for sheet in whole.characters
            if sheet.name.strip()
        ],
        "threads": [
            {
                "title": _short(thread.title),
                "summary": _short(thread.summary),
                "scenes": [number for number in dict.fromkeys(thread.scenes) if 1 <= number <= last],
            }
            for thread in whole.threads
        ],
    }
    return json.dumps(values, ensure_ascii=False)


def basis(script: Script) -> str:
    """A hash of all scenes in their order, which identifies what the whole was made from."""
    return hashlib.sha256("".join(scene.content for scene in script.scenes).encode()).hexdigest()


def _short(text: str) -> str:
    return " ".join(text.split())[:_TEXT_CHARS]


@dataclass(frozen=True, slots=True)
class BackgroundAnalysis:
    """The inner verb "analysed", a background run that `begin` starts. `_embeds`: an embedder is configured."""

    _catalogue: Catalogue
    _models: Models
    _prompts: Prompts
    _roles: Callable[[Request], Awaitable[dict[str, list[str]]]]
    _config: ScriptConfig
    _likeness: Likeness
    _embeds: bool

    @property
    def off(self) -> bool:
        """Whether config.toml switches the analysis off."""
        return not self._config.analyse

    async def begin(self, run: Run, key: str, script: str) -> bool:
        """Start a run that analyses the script. Returns whether there is a model for it."""

        async def able() -> bool:
            return self._has_model(self._models.with_roles(await self._roles(run.request)))

        analysable = await run.step(f"{key}-able", able, bool)
        if analysable or self._embeds:
            options: dict[str, OptionValue] = {"script": script, "cards": analysable}
            await run.begin(key, "analysed", options=options, line=f"script:{script}")
        return analysable

    async def catch_up(self, run: Run, script: str) -> None:
        """Start a run that makes only the missing vectors."""
        options: dict[str, OptionValue] = {"script": script, "cards": False}
        await run.begin("catch-up", "analysed", options=options, line=f"script:{script}")

    async def of(self, asker: Reader, row: ScriptRow, script: Script) -> Analysis:
        """The stored analysis of a script, as far as it exists."""
        return from_findings(script, await self._catalogue.rows.findings(asker, row.id))

    def _has_model(self, models: Models) -> bool:
        if self.off:
            return False
        capabilities = models.capabilities(ROLE)
        return capabilities is not None and not capabilities.demo

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Make the missing vectors and, unless the option `cards` is off, the missing cards; then sum up all cards."""
        asker, id = reader(run.request), str(run.request.options["script"])
        try:
            _, opened = await self._open(asker, id)
            await self._likeness.learn(asker, id, opened)
        except UserError as error:  # the next question makes up for it
            _log.info("script %s lacks some vectors: %s", id, error)
        if run.request.options.get("cards") is False:
            yield Answered()
            return

        async def missing() -> list[str]:
            row, opened = await self._open(asker, id)
            return list((await self.of(asker, row, opened.script)).missing)

        async def is_current(content: str) -> bool:
            _, opened = await self._open(asker, id)
            return any(scene.content == content for scene in opened.script.scenes)

        models = self._models.with_roles(
            await run.step("roles", lambda: self._roles(run.request), dict[str, list[str]])
        )
        try:
            for content in await run.step("scenes", missing, list[str]):
                if not await run.step(f"there-{content}", partial(is_current, content), bool):
                    continue  # there is a newer draft, whose own run comes after this one
                prompt = await self._scene_prompt(asker, id, content)
                try:
                    card = await models.json(run, ROLE, f"scene-{content}", prompt, Card)
                except UserError as error:
                    # For instance no service, no money: the existing analysis stays in use.
                    if error.key not in ("model.format", "model.refusal"):
                        raise
                    card = Card()
                await self._catalogue.rows.put_finding(asker.space, id, card_key(content), body_of_card(card))
            row, opened = await self._open(asker, id)
            if not (await self.of(asker, row, opened.script)).missing:
                whole_script = await models.json(
                    run, ROLE, "whole", await self._whole_prompt(asker, row, opened), Whole
                )
                body = body_of_whole(whole_script, opened.script)
                await self._catalogue.rows.put_finding(asker.space, id, WHOLE, body)
                keys = [WHOLE, *(card_key(scene.content) for scene in opened.script.scenes)]
                await self._catalogue.rows.retain_findings(asker.space, id, keys)
        except UserError as error:
            _log.info("the analysis of script %s is incomplete: %s", id, error)
        yield Answered()  # this run shows nothing

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
        script, analysis = opened.script, await self.of(asker, row, opened.script)
        cards = "\n".join(
            f"Scene {scene.number}: {scene.heading.text}. {analysis.card(scene)}" for scene in script.scenes
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
