"""Answers a question about a script: decides the intent, looks things up, answers, and checks each quotation.

A model looks scenes up with tools and answers from the results, or it answers from what the prompt says about the
script. Without a model the nearest scenes are quoted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.citing.quoting import why_quoted
from bot.commands import FOLLOW_UP
from bot.conversation import question_of, read_along
from bot.events import Choice, Choices, Event, Notice, Request, Stage, Status, Text, UserError
from bot.llm.base import Message, Prompt, room
from bot.llm.completion import Completion, ToolCall
from bot.llm.tools import Limits, ToolLoop
from bot.markdown import harmless
from bot.retrieval.language import detect_question
from bot.retrieval.lexical import content_terms
from bot.strategies.following import depends_on_previous
from bot.words import Words, words
from bot.work import Run
from bot.works.script.catalogue import Catalogue, reader
from bot.works.script.prompts import ScriptPrompts
from bot.works.script.question import INTENTS, Intent, Snapshot, by_keywords, scene_named, uses_tools
from bot.works.script.quotations import QuotationGate
from bot.works.script.tools import ScriptTools
from bot.works.script.work import find_scene, scene_title

if TYPE_CHECKING:
    from bot.conversation import Conversations
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.works.script.analysis import Analysis, BackgroundAnalysis
    from bot.works.script.catalogue import OpenScript
    from bot.works.script.config import ScriptConfig
    from bot.works.script.ideas import Ideas
    from bot.works.script.likeness import Likeness
    from bot.works.script.model import Scene
    from bot.works.script.scene_search import Floats

BRAINSTORM: Final = "brainstorm"
"""The verb whose answer consists of ideas, which are stored."""
CHARS_PER_TOKEN: Final = 4
"""The factor from the tier's tokens to the number of characters that all tools of one answer may return."""
LEAST_COVERAGE: Final = 0.5
"""The share of a question's words, weighted by rarity, that one scene must contain for the question to be about it."""
SCENE_BUTTONS: Final = 5
"""The maximum number of scenes in an answer that get a button."""
MOST_IDEAS: Final = 30
"""How many stored ideas, the newest, a brainstorm's prompt lists."""
QUOTED_SCENES: Final = 3
"""How many scenes an answer without a model quotes."""
QUOTED_CHARS: Final = 500
"""The maximum length of each quotation."""
_SCENE_NUMBER: Final = re.compile(r"\b(?:scenes?|cenas?)\s+#?(\d{1,5})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class IntentReply:
    """The small model's reply."""

    intent: Intent


@dataclass(frozen=True, slots=True)
class ScriptQuestions:
    """The verbs "ask" and "brainstorm". `_roles` returns the models that a place has chosen, by role."""

    _catalogue: Catalogue
    _ideas: Ideas
    _models: Models
    _prompts: Prompts
    _conversations: Conversations
    _roles: Callable[[Request], Awaitable[dict[str, list[str]]]]
    _background: BackgroundAnalysis
    _likeness: Likeness
    _config: ScriptConfig

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        snapshot = await run.step("snapshot", partial(self._snapshot, run.request), Snapshot)
        say = words(snapshot.language if snapshot.language in ("en", "pt") else run.request.locale)
        asker = reader(run.request)
        row = await self._catalogue.resolve(asker, snapshot.script)
        opened = await self._catalogue.open(asker, row)
        analysis = await self._background.of(asker, row, opened.script)
        yield Stage("answer", say("rules.answer"), answer=True)
        for notice in read_along(run.request, snapshot.notes, say):
            yield notice
        if analysis.cards and not analysis.done:
            yield Notice(say("script.half_analysed"))
        cosines = partial(self._likeness.cosines, asker, row.id, opened)
        models = self._models.with_roles(snapshot.roles)
        answer = Answer(run, snapshot, opened, analysis, cosines, say, models, self._config)
        try:
            async with aclosing(answer.events()) as events:
                async for event in events:
                    yield event
            if run.request.verb == BRAINSTORM and answer.written_by_model:
                async with aclosing(self._ideas.keep(run, row, "".join(answer.shown), say)) as events:
                    async for event in events:
                        yield event
            if await run.step("lacking", partial(self._likeness.lacks_vectors, asker, row.id, opened), bool):
                await self._background.catch_up(run, row.id)
        finally:  # also after a stop: what was shown is kept, and a follow-up can build on it
            text = "".join(answer.shown)
            await self._conversations.keep(run, snapshot.session, snapshot.question, text)

    async def _snapshot(self, request: Request) -> Snapshot:
        question = question_of(request.text)
        asker, options, config = reader(request), request.options, self._config
        row = await self._catalogue.resolve(asker, str(options.get("script") or ""))
        opened = await self._catalogue.open(asker, row)
        await self._catalogue.rows.set_focus(asker, row.id)
        focus = await self._catalogue.rows.focus(asker)
        scene = focus[1] if focus and focus[0] == row.id else 0
        scene = scene if scene <= len(opened.script.scenes) else 0
        scene_label = scene_named(question)
        if scene_label.isdigit() or (
            scene_label and sum(scene.label.lower() == scene_label for scene in opened.script.scenes) == 1
        ):
            scene = find_scene(opened.script, scene_label).number
        follows = bool(options.get(FOLLOW_UP))
        conversation = await self._conversations.of(request, question, config.memory, follows=follows)
        history = conversation.exchanges
        languages = list(dict.fromkeys([opened.search.language, "en", "pt"]))
        language = detect_question(question, languages) or request.locale.split("-")[0]
        if history and not _continues(question, history[-1][0], language):
            history = []
        ideas: list[str] = []
        if request.verb == BRAINSTORM:
            options = {**options, "intent": "BRAINSTORM"}
            ideas = [idea.text for idea in await self._catalogue.rows.ideas(asker, row.id)]
        roles = await self._roles(request)
        models = self._models.with_roles(roles)
        capabilities, answerer = models.capabilities("answerer"), models.describe("answerer")
        requested_intent, calls = (
            str(options.get("intent") or "").upper().replace("-", "_"),
            options.get("max-tools"),
        )
        texts = await self._prompts.texts(asker.space, ("script", "script_evidence", "script_intent"))
        return Snapshot(
            question=question,
            language=language,
            script=row.id,
            alias=row.alias,
            tier=str(options.get("tier") or "standard"),
            tools=str(options.get("tools") or "auto"),
            calls=int(calls) if isinstance(calls, int | float) else config.calls,
            intent=requested_intent if requested_intent in INTENTS else by_keywords(question) or "",
            scene=scene,
            session=conversation.session,
            answerer=answerer,
            reads=answerer is not None and not (capabilities is not None and capabilities.demo),
            demo=capabilities is not None and capabilities.demo,
            introduced=conversation.has_answers,
            prompts=texts,
            history=history,
            earlier=conversation.earlier,
            notes=conversation.notes,
            roles=roles,
            ideas=ideas[-MOST_IDEAS:],
        )


def knows(opened: OpenScript, question: str, *, reads: bool) -> bool:
    """Whether a question is about the script: it names a scene, a character or the title, or shares a scene's words.

    With `reads` (a model answers) questions about the whole script, such as its structure, count too.
    """
    script, scene = opened.script, scene_named(question)
    if scene and any(scene in (str(each.number), each.label.lower()) for each in script.scenes):
        return True
    question_words = set(re.findall(r"\w+", question.upper()))
    names = (name for name in (script.title, *script.characters) if opened.search.terms(name))
    if any(question_words.issuperset(re.findall(r"\w+", name.upper())) for name in names):
        return True
    if reads and by_keywords(question) == "GLOBAL_QUESTION":
        return True
    return opened.search.coverage(question) >= LEAST_COVERAGE


def _continues(question: str, before: str, language: str) -> bool:
    """Whether the question continues the previous one, `before`, rather than beginning a new topic."""
    shared = set(content_terms(question, language)).intersection(content_terms(before, language))
    return bool(shared) or depends_on_previous(question, before, [language], confident=False)


class Answer:
    """One answer. `shown` is its text so far; `written_by_model`: a model has written all of it."""

    def __init__(
        self,
        run: Run,
        snapshot: Snapshot,
        opened: OpenScript,
        analysis: Analysis,
        cosines: Callable[[str], Awaitable[Floats | None]],
        say: Words,
        models: Models,
        config: ScriptConfig,
    ) -> None:
        self._run = run
        self._snapshot = snapshot
        self._script = opened.script
        self._search = opened.search
        self._cosines = cosines
        tools = ScriptTools(snapshot.script, opened.script, opened.search, analysis, cosines)
        self._prompts = ScriptPrompts(snapshot, opened, analysis, tools, config, say)
        self._say = say
        self._models = models
        self._config = config
        self._gate = QuotationGate(opened.quotations, say("script.not_quoted"))
        self.shown: list[str] = []
        self.written_by_model = False

    async def events(self) -> AsyncGenerator[Event, None]:
        """The answer, and buttons for the scenes that it names."""
        if self._snapshot.reads:
            try:
                async with aclosing(self._by_model()) as events:
                    async for event in events:
                        yield event
                self.written_by_model = True
            except UserError as error:
                yield self._failed(error)
            if pending := self._gate.finish():
                self.shown.append(pending)
                yield Text(pending)
            self.written_by_model = self.written_by_model and "".join(self.shown).strip() != ""
        if not "".join(self.shown).strip():
            async with aclosing(self._by_code()) as events:
                async for event in events:
                    yield event
        scene_numbers = dict.fromkeys(int(match[1]) for match in _SCENE_NUMBER.finditer("".join(self.shown)))
        numbers = [number for number in scene_numbers if 1 <= number <= len(self._script.scenes)][
            :SCENE_BUTTONS
        ]
        if numbers:
            alias, say = self._snapshot.alias, self._say
            choices = [
                Choice(say("script.scene", number=n), f"/script scene {n} --script {alias}") for n in numbers
            ]
            yield Choices(say("script.see_scenes"), tuple(choices))

    async def _by_model(self) -> AsyncGenerator[Event, None]:
        snapshot, say = self._snapshot, self._say
        intent = await self._intent()
        tools = uses_tools(snapshot.question, intent, focus=snapshot.scene > 0, choice=snapshot.tools)
        prompt = self._prompts.question(intent, tools=tools)
        if tools:
            tokens = self._config.tokens(snapshot.tier)
            limits = Limits(
                rounds=self._config.rounds,
                calls=max(1, snapshot.calls),
                chars=min(Limits().chars, max(self._config.evidence_item_chars, tokens * CHARS_PER_TOKEN)),
            )
            loop = ToolLoop(
                self._models, self._run, prompt, step="look", limits=limits, plan=self._plan, closing=False
            )
            yield Status(say("script.looking", model=snapshot.answerer))
            answer_pieces: list[str] = []
            async with aclosing(loop.events()) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Status):
                        yield piece
                    else:
                        answer_pieces.append(piece)
            if not loop.tool_results and (text := self._checked("".join(answer_pieces))):
                yield Text(text)  # it needed no tools: its whole text is the answer
            if loop.error is not None and not loop.tool_results:
                raise loop.error
            if loop.ended == "refusal" or (loop.ended == "length" and not loop.tool_results):
                yield Notice(say(f"rules.finish_{loop.ended}"))
            if loop.ended == "refusal" or not loop.tool_results:
                return
            if loop.error is not None:
                yield self._failed(loop.error)
            prompt = self._prompts.synthesis(intent, loop.tool_results)
        yield Status(say("script.writing"))
        async with aclosing(self._models.stream(self._run, "answerer", "answer", prompt)) as stream:
            async for part in stream:
                if not isinstance(part, Completion):
                    if text := self._checked(part):
                        yield Text(text)
                elif part.finish in ("length", "refusal", "cut"):
                    yield Notice(say(f"rules.finish_{part.finish}"), retry=part.finish == "cut")

    def _failed(self, error: UserError) -> Notice:
        return Notice(self._say(error.key, **error.values), retry=error.key == "model.cut")

    def _checked(self, text: str) -> str:
        shown = self._gate.feed(text)
        self.shown.append(shown)
        return shown

    async def _intent(self) -> Intent:
        """The intent from the option or the keywords, or else from a small model; a default without one."""
        snapshot = self._snapshot
        if intent := next((intent for intent in INTENTS if intent == snapshot.intent), None):
            return intent
        capabilities = self._models.capabilities("extractor")
        if capabilities is None or capabilities.demo:
            return "SCENE_FEEDBACK" if snapshot.scene else "GLOBAL_QUESTION"
        system, user = snapshot.prompts["script_intent"].fill(question=untrusted.data(snapshot.question))
        prompt = Prompt(
            system, (Message("user", user),), max_tokens=room(20, "low"), temperature=0, effort="low"
        )
        try:
            return (await self._models.json(self._run, "extractor", "intent", prompt, IntentReply)).intent
        except UserError:
            return "GLOBAL_QUESTION"

    async def _plan(self) -> list[ToolCall]:
        """The lookups for a model that cannot ask for them."""
        snapshot = self._snapshot
        calls = [ToolCall("plan-search", "search_script", dumps({"query": snapshot.question}))]
        if snapshot.scene:
            calls.append(ToolCall("plan-scene", "get_scene_context", dumps({"scene_number": snapshot.scene})))
        terms = set(re.findall(r"\w+", snapshot.question.upper()))
        names = [name for name in self._script.characters if terms.issuperset(re.findall(r"\w+", name))]
        calls += [
            ToolCall(f"plan-{n}", "get_character_scenes", dumps({"character_name": name}))
            for n, name in enumerate(names[:2], 1)
        ]
        return calls

    async def _by_code(self) -> AsyncGenerator[Event, None]:
        """The nearest scenes, in their own words."""
        snapshot, say = self._snapshot, self._say
        yield Status(say("script.searching"))
        brainstorm = self._run.request.verb == BRAINSTORM and not snapshot.reads
        scenes = [] if brainstorm else await self._nearest_scenes()
        if not scenes:
            creative = brainstorm or snapshot.intent in ("BRAINSTORM", "LOCAL_EDIT")
            needs_model = creative and not snapshot.reads
            self.shown.append(say("script.needs_model" if needs_model else "script.nothing"))
            yield Text(self.shown[-1])
            return
        yield Notice(
            why_quoted(say, snapshot.answerer, demo=snapshot.demo, introduced=snapshot.introduced, cites=True)
        )
        terms = self._search.terms(snapshot.question)
        for scene in scenes:
            # The part with most of the question's words, as a Markdown quotation.
            part = self._search.window(scene.text, terms, QUOTED_CHARS)
            lines = "\n".join(f"> {harmless(line)}" for line in part.split("\n"))
            self.shown.append(f"**{scene_title(scene, say)}**\n{lines}\n\n")
            yield Text(self.shown[-1])

    async def _nearest_scenes(self) -> list[Scene]:
        """The nearest scenes, the best first; none if the script contains no word of the question.

        If the question names a scene, that one comes first.
        """
        question, focus = self._snapshot.question, self._snapshot.scene
        ranked = partial(self._search.ranked, question, QUOTED_SCENES)
        scenes = [scene for _, scene in await asyncio.to_thread(ranked)]
        if scenes and (cosines := await self._cosines(question)) is not None:
            # Some scene is always the nearest: if no word of the question occurs, none is quoted.
            scenes = [scene for _, scene in await asyncio.to_thread(ranked, cosines=cosines)]
        if focus and scene_named(question):
            focus_scene = self._script.scenes[focus - 1]
            scenes = [focus_scene, *(scene for scene in scenes if scene is not focus_scene)][:QUOTED_SCENES]
        return scenes
