"""The prompts of an answer to a question about a script, each within its tier's tokens. Pure.

The results of tools are the evidence, ranked by the question and cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.budget import text_tokens
from bot.llm.base import THOUGHTS, Message, Prompt
from bot.strategies.base import LANGUAGES
from bot.words import Words
from bot.works.script.length import pages
from bot.works.script.model import first_pages
from bot.works.script.question import FORMS, Intent
from bot.works.script.tools import ScriptTools, card, outlined

if TYPE_CHECKING:
    from bot.llm.base import ToolOutput
    from bot.llm.completion import ToolCall
    from bot.works.script.analysis import Analysis
    from bot.works.script.catalogue import OpenScript
    from bot.works.script.config import ScriptConfig
    from bot.works.script.model import Scene
    from bot.works.script.question import Snapshot
    from bot.works.script.scene_search import SceneSearch

ACKNOWLEDGED: Final = "I have read what is known of the script."
"""The model's own message between the facts, which are cached, and the question."""

MOST_SCENES: Final = 40
"""The maximum number of scenes whose pages are in a prompt without tools."""
LEAST_CHARS: Final = 100
"""The minimum length of a part of an item that is worth its place."""


@dataclass(frozen=True, slots=True)
class Item:
    """A scene, or a tool's result about the whole script (`scene` 0)."""

    scene: int
    name: str
    text: str
    relevance: float


def ranked(
    results: Iterable[tuple[ToolCall, ToolOutput]],
    question: str,
    search: SceneSearch,
    config: ScriptConfig,
    tier: str = "standard",
) -> list[Item]:
    """The items of the tools' results, the most relevant first, within the config's limits for the tier.

    Each scene comes once. Failures count only if all calls failed: that there is no scene 9,999 is also an answer.
    """
    results = list(results)
    terms = dict.fromkeys(search.terms(question))
    items: dict[object, Item] = {}
    for call, output in [result for result in results if not result[1].failed] or results:
        texts = [
            (passage.section, passage.heading, passage.text, passage.score) for passage in output.passages
        ]
        if output.text:
            texts.append((0, call.name, output.text, 1.0))
        for scene, name, text, score in texts:
            item_terms = set(search.terms(f"{name}\n{text}"))
            relevance = score + sum(search.rarity(term) for term in terms if term in item_terms)
            key = scene or (name, text)
            if key not in items or items[key].relevance < relevance:
                items[key] = Item(scene, name, text, relevance)
    deeper = max(1.0, config.tokens(tier) / config.standard)
    most_items, chars_left, items_cut = (
        int(config.evidence_items * deeper),
        int(config.evidence_chars * deeper),
        [],
    )
    for item in sorted(items.values(), key=lambda item: -item.relevance)[:most_items]:
        room = min(config.evidence_item_chars, chars_left)
        if room < LEAST_CHARS:
            break
        text = search.window(item.text, terms, room)
        chars_left -= len(text)
        items_cut.append(Item(item.scene, item.name, text, item.relevance))
    return items_cut


class ScriptPrompts:
    """The prompts of one answer."""

    def __init__(
        self,
        snapshot: Snapshot,
        opened: OpenScript,
        analysis: Analysis,
        tools: ScriptTools,
        config: ScriptConfig,
        say: Words,
    ) -> None:
        """`say` gives the sentences that people see while a tool works."""
        self._snapshot = snapshot
        self._script = opened.script
        self._search = opened.search
        self._analysis = analysis
        self._tools = tools
        self._config = config
        self._say = say

    def question(self, intent: Intent, *, tools: bool) -> Prompt:
        """The prompt of a question: first what can be cached, then the conversation, scenes and question.

        Cached are the model's role and the facts of the script; without tools also the cards of the scenes, and all
        pages if they fit.
        """
        snapshot, tokens_left = self._snapshot, self._config.tokens(self._snapshot.tier)
        scene = (
            self._focus(tokens_left // 2)
            if snapshot.scene and (intent in ("LOCAL_EDIT", "SCENE_FEEDBACK") or not tools)
            else ""
        )
        history = self._history(tokens_left // 4)
        tokens_left -= text_tokens(scene) + text_tokens(history) + text_tokens(snapshot.question)
        facts = _cut(self._facts(), max(tokens_left, 0))
        scenes = [scene] if scene else []
        if not tools:
            facts += _cut(self._cards(), max(tokens_left - text_tokens(facts), 0))
            tokens_left -= text_tokens(facts)
            pages_of_all = self._pages(self._script.scenes)
            if sum(map(text_tokens, pages_of_all)) <= tokens_left:
                facts += "\n" + "\n\n".join(pages_of_all)
            else:
                scenes += self._best_scenes(tokens_left)
        system, user = snapshot.prompts["script"].fill(
            language=LANGUAGES.get(snapshot.language, "the language of the question"),
            form=FORMS[intent],
            history=history,
            scene="\n".join(f"<scene>\n{scene}\n</scene>" for scene in scenes),
            question=untrusted.data(snapshot.question),
        )
        messages = (
            Message("user", f"<screenplay>\n{facts}\n</screenplay>", cache=True),
            Message("assistant", ACKNOWLEDGED),
            Message("user", user),
        )
        offered = self._tools.offered(self._say) if tools else ()
        return Prompt(system, messages, max_tokens=self._answer_tokens(), tools=offered, cache=True)

    def synthesis(self, intent: Intent, results: Sequence[tuple[ToolCall, ToolOutput]]) -> Prompt:
        """The prompt of an answer made from the results of the tools."""
        snapshot = self._snapshot
        items = ranked(results, snapshot.question, self._search, self._config, snapshot.tier)
        evidence = "\n\n".join(f"{untrusted.data(item.name)}\n{untrusted.data(item.text)}" for item in items)
        system, user = snapshot.prompts["script_evidence"].fill(
            language=LANGUAGES.get(snapshot.language, "the language of the question"),
            form=FORMS[intent],
            history=self._history(self._config.tokens(snapshot.tier) // 4),
            evidence=evidence,
            question=untrusted.data(snapshot.question),
        )
        return Prompt(system, (Message("user", user),), max_tokens=self._answer_tokens())

    def _answer_tokens(self) -> int:
        """The tokens of an answer, with room for thinking, which counts towards a model's limit."""
        return self._config.answer_tokens + THOUGHTS[None]

    def _history(self, tokens: int) -> str:
        """Earlier exchanges and ideas, in about this many tokens."""
        snapshot = self._snapshot
        conversation = _cut(untrusted.earlier(snapshot.history, snapshot.earlier), tokens)
        if not snapshot.ideas:
            return conversation
        ideas = _cut(untrusted.lines(snapshot.ideas), tokens - text_tokens(conversation))
        return f"{conversation}\n<ideas>\n{ideas}\n</ideas>".lstrip()

    def _facts(self) -> str:
        """The script in a few lines: its figures, main characters, acts and the writer's own outline."""
        script, figures = self._script, self._tools.report
        lines = [
            f"Title: {script.title}",
            f"{len(script.scenes)} scenes, {pages(sum(scene.eighths for scene in script.scenes))} pages, "
            f"{round(100 * figures.dialogue)} % dialogue.",
        ]
        lines += [
            f"{presence.name}: speaks in {len(presence.scenes)} scenes, from scene {presence.scenes[0]} to scene "
            f"{presence.scenes[-1]}."
            for presence in figures.presences[: self._config.characters]
        ]
        sheets = [
            self._analysis.sheet(presence.name) for presence in figures.presences[: self._config.characters]
        ]
        lines += [f"{sheet.name}: {sheet.who} {sheet.arc}" for sheet in sheets if sheet]
        acts = self._analysis.whole.acts if self._analysis.whole else []
        lines += [f"{act.title} (scenes {act.first} to {act.last}): {act.summary}" for act in acts]
        return untrusted.data("\n".join([*lines, *outlined(script)])) + "\n"

    def _cards(self) -> str:
        """One line for each scene, with its events if it is analysed."""
        scenes = self._script.scenes
        return untrusted.data(
            "\n".join(
                f"{card(scene, page)}. {self._analysis.card(scene)}".rstrip(". ")
                for scene, page in zip(scenes, first_pages(scenes), strict=True)
            )
        )

    def _pages(self, scenes: Iterable[Scene]) -> list[str]:
        """The text of each scene under its number."""
        return [untrusted.data(f"Scene {scene.number}\n{scene.text}") for scene in scenes]

    def _best_scenes(self, tokens: int) -> list[str]:
        """The scenes with most of the question's words, in the script's order, in about this many tokens."""
        best = [scene for _, scene in self._search.ranked(self._snapshot.question, MOST_SCENES)]
        chosen: list[Scene] = []
        for scene in best:
            if scene.number != self._snapshot.scene and scene.tokens <= tokens:
                chosen.append(scene)
                tokens -= scene.tokens + text_tokens("Scene 100")
        return self._pages(sorted(chosen, key=lambda scene: scene.number))

    def _focus(self, tokens: int) -> str:
        """The beginning of the scene in question, in about this many tokens."""
        scene = self._script.scenes[self._snapshot.scene - 1]
        return _cut(untrusted.data(f"Scene {scene.number}\n{scene.text}"), tokens)


def _cut(text: str, tokens: int) -> str:
    """The beginning of the text, in whole lines, of about this many tokens."""
    if text_tokens(text) <= tokens:
        return text
    lines, tokens_left = [], tokens
    for line in text.split("\n"):
        tokens_left -= text_tokens(line) + 1
        if tokens_left < 0:
            break
        lines.append(line)
    return "\n".join([*lines, "…"]) if lines else ""
