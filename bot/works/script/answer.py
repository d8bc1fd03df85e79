"""A question to a script: what is wanted, what is looked up for it, and the answer, each quotation in it checked.

A model looks scenes up by tools, and the answer is made from what they found; or from what the prompt tells of the
script. Without a model the scenes that come nearest are quoted.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from bot import fence
from bot.budget import text_tokens
from bot.citing.quoting import why_quoted
from bot.commands import FOLLOW_UP
from bot.events import (
    Choice,
    Choices,
    Completion,
    Event,
    Notice,
    Request,
    Run,
    Sorry,
    Stage,
    Status,
    Text,
    ToolCall,
)
from bot.llm.base import Message, Prompt, room
from bot.llm.tools import Limits, ToolLoop
from bot.place_session import session_for
from bot.prompts import PromptText
from bot.retrieval.language import detect_question
from bot.retrieval.lexical import content_terms
from bot.strategies.base import LANGUAGES
from bot.strategies.following import leans
from bot.words import Words, words
from bot.works.script.catalogue import Catalogue, reader
from bot.works.script.evidence import ranked
from bot.works.script.intent import FORMS, INTENTS, Intent, by_keywords, scene_named, with_tools
from bot.works.script.length import page_of, pages
from bot.works.script.quotations import QuotationGate
from bot.works.script.quoted_scenes import nearest_scenes, quotations
from bot.works.script.tools import ScriptTools, card, outlined
from bot.works.script.work import numbered

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.thread_history import ThreadHistory
    from bot.works.script.analysis import Analysis
    from bot.works.script.background_analysis import BackgroundAnalysis
    from bot.works.script.catalogue import OpenScript
    from bot.works.script.config import ScriptConfig
    from bot.works.script.ideas import Ideas
    from bot.works.script.likeness import Likeness
    from bot.works.script.scene_search import Floats
    from storage.sessions import Sessions

BRAINSTORM: Final = "brainstorm"
"""The verb whose answer is made of ideas, which are kept."""
QUESTION_CHARS: Final = 4_000
"""Of the longest question, in characters."""
CHARS_PER_TOKEN: Final = 4
"""By which the tier's tokens become the characters that all tools of one answer may give."""
LINKED: Final = 5
"""At most so many scenes that an answer names get a button."""
MOST_IDEAS: Final = 30
"""Stored ideas, the newest, that a brainstorm's prompt lists."""
ACKNOWLEDGED: Final = "I have read what is known of the script."
"""The model's own turn between the facts, which are cached, and the question."""
_NAMED: Final = re.compile(r"\b(?:scenes?|cenas?)\s+#?(\d{1,5})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class IntentReply:
    """The form of the small model's reply."""

    intent: Intent


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a question's run decides first, so that a replay decides the same.

    `intent` is "" where a small model has to say it, and `scene` is the scene that is meant, 0 for none. `answerer` is
    who answers, None where nobody does; `reads`: no code has to answer. `history` is empty where a new topic begins.
    `ideas` are kept with the script already: others are wanted.
    """

    question: str
    language: str
    script: str
    alias: str
    tier: str
    tools: str
    calls: int
    intent: str
    scene: int
    session: str | None
    answerer: str | None
    reads: bool
    demo: bool
    introduced: bool
    prompts: dict[str, PromptText]
    history: list[tuple[str, str]] = field(default_factory=list)
    earlier: str = ""
    roles: dict[str, list[str]] = field(default_factory=dict)
    ideas: list[str] = field(default_factory=list)


class ScriptQuestions:
    """The verb "ask", and "brainstorm", whose answer's ideas are kept."""

    def __init__(
        self,
        catalogue: Catalogue,
        ideas: Ideas,
        models: Models,
        prompts: Prompts,
        sessions: Sessions,
        earlier: ThreadHistory,
        roles: Callable[[Request], Awaitable[dict[str, list[str]]]],
        background: BackgroundAnalysis,
        likeness: Likeness,
        config: ScriptConfig,
    ) -> None:
        """`roles`: whose models a place has chosen itself."""
        self._background = background
        self._likeness = likeness
        self._catalogue = catalogue
        self._ideas = ideas
        self._models = models
        self._prompts = prompts
        self._sessions = sessions
        self._earlier = earlier
        self._roles = roles
        self._config = config

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        snapshot = await run.step("snapshot", partial(self._snapshot, run.request), Snapshot)
        say = words(snapshot.language if snapshot.language in ("en", "pt") else run.request.locale)
        asker = reader(run.request)
        row = await self._catalogue.resolve(asker, snapshot.script)
        opened = await self._catalogue.open(asker, row)
        analysis = await self._background.of(asker, row, opened.script)
        yield Stage("answer", say("rules.answer"))
        if analysis.cards and not analysis.done:
            yield Notice(say("script.half_analysed"))
        like = partial(self._likeness.of, asker, row.id, opened)
        models = self._models.with_roles(snapshot.roles)
        answer = Answer(run, snapshot, opened, analysis, like, say, models, self._config)
        try:
            async with aclosing(answer.events()) as events:
                async for event in events:
                    yield event
            if run.request.verb == BRAINSTORM and answer.modelled:
                async with aclosing(self._ideas.keep(run, row, "".join(answer.shown), say)) as events:
                    async for event in events:
                        yield event
            if await run.step("lacking", partial(self._likeness.lacks_vectors, asker, row.id, opened), bool):
                await self._background.catch_up(run, row.id)
        finally:  # also when stopped: what was shown is kept, and a follow-up can build on it
            text, space = "".join(answer.shown), run.request.place.space
            if snapshot.session is not None and text.strip():
                question = " ".join(run.request.text.split()) or snapshot.question
                await self._sessions.add_exchange(space, snapshot.session, run.id, question, text)

    async def _snapshot(self, request: Request) -> Snapshot:
        question = " ".join(request.text.split())
        if not question:
            raise Sorry("rules.no_question")
        if len(question) > QUESTION_CHARS:
            raise Sorry("rules.long_question", length=len(question), limit=QUESTION_CHARS)
        asker, options, config = reader(request), request.options, self._config
        row = await self._catalogue.resolve(asker, str(options.get("script") or ""))
        opened = await self._catalogue.open(asker, row)
        await self._catalogue.rows.set_focus(asker, row.id)
        focus = await self._catalogue.rows.focus(asker)
        scene = focus[1] if focus and focus[0] == row.id else 0
        scene = scene if scene <= len(opened.script.scenes) else 0
        named = scene_named(question)
        if named.isdigit() or (
            named and sum(scene.label.lower() == named for scene in opened.script.scenes) == 1
        ):
            scene = numbered(opened.script, named).number
        session = await session_for(self._sessions, request, question)
        past = (
            await self._sessions.last_exchanges(asker.space, session.id, max(config.memory, 1))
            if session
            else []
        )
        history = (
            [(exchange.question, exchange.answer) for exchange in past[-config.memory :]]
            if config.memory
            else []
        )
        languages = list(dict.fromkeys([opened.search.language, "en", "pt"]))
        language = detect_question(question, languages) or request.locale.split("-")[0]
        if history and not _goes_on(question, history[-1][0], language):
            history = []
        first = bool(options.get(FOLLOW_UP)) and session is not None and not past
        first = first and session is not None and await self._sessions.first_here(session)
        ideas: list[str] = []
        if request.verb == BRAINSTORM:
            options = {**options, "intent": "BRAINSTORM"}
            ideas = [idea.text for idea in await self._catalogue.rows.ideas(asker, row.id)]
        roles = await self._roles(request)
        models = self._models.with_roles(roles)
        try:
            capabilities = models.capabilities("answerer")
        except Sorry:  # asked all the same: the call says what is wrong with the settings
            capabilities = None
        answerer = models.describe("answerer")
        hinted, calls = str(options.get("intent") or "").upper().replace("-", "_"), options.get("max-tools")
        texts = await self._prompts.texts(asker.space, ("script", "script_evidence", "script_intent"))
        return Snapshot(
            question=question,
            language=language,
            script=row.id,
            alias=row.alias,
            tier=str(options.get("tier") or "standard"),
            tools=str(options.get("tools") or "auto"),
            calls=int(calls) if isinstance(calls, int | float) else config.calls,
            intent=hinted if hinted in INTENTS else by_keywords(question) or "",
            scene=scene,
            session=session.id if session else None,
            answerer=answerer,
            reads=answerer is not None and not (capabilities is not None and capabilities.demo),
            demo=capabilities is not None and capabilities.demo,
            introduced=bool(past),
            prompts=texts,
            history=history,
            earlier=await self._earlier.of(request) if first else "",
            roles=roles,
            ideas=ideas[-MOST_IDEAS:],
        )


def _goes_on(question: str, before: str, language: str) -> bool:
    """Whether it is still about what was asked before; else a new topic begins, and the prompt without history."""
    shared = set(content_terms(question, language)).intersection(content_terms(before, language))
    return bool(shared) or leans(question, before, [language], confident=False)


class Answer:
    """One answer. `shown` is its text so far; it is `modelled` once a model has told all of it."""

    def __init__(
        self,
        run: Run,
        snapshot: Snapshot,
        opened: OpenScript,
        analysis: Analysis,
        like: Callable[[str], Awaitable[Floats | None]],
        say: Words,
        models: Models,
        config: ScriptConfig,
    ) -> None:
        self._run = run
        self._analysis = analysis
        self._snapshot = snapshot
        self._script = opened.script
        self._search = opened.search
        self._like = like
        self._tools = ScriptTools(snapshot.script, opened.script, opened.search, analysis, like)
        self._say = say
        self._models = models
        self._config = config
        self._gate = QuotationGate(opened.quotations, say("script.not_quoted"))
        self.shown: list[str] = []
        self.modelled = False

    async def events(self) -> AsyncGenerator[Event, None]:
        """The answer, and ways to the scenes that it names."""
        if self._snapshot.reads:
            try:
                async with aclosing(self._by_model()) as events:
                    async for event in events:
                        yield event
                self.modelled = True
            except Sorry as error:
                yield Notice(self._say(error.key, **error.values))
            if rest := self._gate.finish():
                self.shown.append(rest)
                yield Text(rest)
        if not "".join(self.shown).strip():
            async with aclosing(self._by_code()) as events:
                async for event in events:
                    yield event
        named = dict.fromkeys(int(match[1]) for match in _NAMED.finditer("".join(self.shown)))
        numbers = [number for number in named if 1 <= number <= len(self._script.scenes)][:LINKED]
        if numbers:
            alias, say = self._snapshot.alias, self._say
            choices = [
                Choice(say("script.scene", number=n), f"/script scene {n} --script {alias}") for n in numbers
            ]
            yield Choices(say("script.see_scenes"), tuple(choices))

    async def _by_model(self) -> AsyncGenerator[Event, None]:
        snapshot, say = self._snapshot, self._say
        intent = await self._intent()
        tools = with_tools(snapshot.question, intent, focus=snapshot.scene > 0, choice=snapshot.tools)
        prompt = self._prompt(intent, tools=tools)
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
            pieces_said: list[str] = []
            async with aclosing(loop.events()) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Status):
                        yield piece
                    else:
                        pieces_said.append(piece)
            if not loop.tool_results and loop.error is not None:
                raise loop.error
            if not loop.tool_results:  # it knew enough: all that it said is the answer
                yield Text(self._checked("".join(pieces_said)))
                return
            if loop.error is not None:
                yield Notice(say(loop.error.key, **loop.error.values))
            prompt = self._synthesis(intent, loop)
        yield Status(say("script.writing"))
        async with aclosing(self._models.stream(self._run, "answerer", "answer", prompt)) as stream:
            async for part in stream:
                if not isinstance(part, Completion):
                    if text := self._checked(part):
                        yield Text(text)
                elif part.finish in ("length", "refusal"):
                    yield Notice(say(f"rules.finish_{part.finish}"))

    def _checked(self, text: str) -> str:
        shown = self._gate.feed(text)
        self.shown.append(shown)
        return shown

    async def _intent(self) -> Intent:
        """The hint's, the keywords', else what a small model says; without one, a question about the whole."""
        snapshot = self._snapshot
        if intent := next((intent for intent in INTENTS if intent == snapshot.intent), None):
            return intent
        system, user = snapshot.prompts["script_intent"].fill(question=fence.data(snapshot.question))
        try:
            capabilities = self._models.capabilities("extractor")
            if capabilities is None or capabilities.demo:
                return "SCENE_FEEDBACK" if snapshot.scene else "GLOBAL_QUESTION"
            prompt = Prompt(
                system, (Message("user", user),), max_tokens=room(20, "low"), temperature=0, effort="low"
            )
            return (await self._models.json(self._run, "extractor", "intent", prompt, IntentReply)).intent
        except Sorry:
            return "GLOBAL_QUESTION"

    def _prompt(self, intent: Intent, *, tools: bool) -> Prompt:
        """What comes again stands first, marked for the cache: who the model is, the script; then its scenes' cards,
        where no tools look them up. Then what is of this question alone: conversation, scene and question."""
        snapshot, left = self._snapshot, self._config.tokens(self._snapshot.tier)
        scene = (
            self._focus(left // 2)
            if snapshot.scene and (intent in ("LOCAL_EDIT", "SCENE_FEEDBACK") or not tools)
            else ""
        )
        history = self._history(left // 4)
        left -= text_tokens(scene) + text_tokens(history) + text_tokens(snapshot.question)
        facts = _cut(self._facts(), max(left, 0))
        if not tools:
            facts += _cut(self._cards(), max(left - text_tokens(facts), 0))
        system, user = snapshot.prompts["script"].fill(
            language=LANGUAGES.get(snapshot.language, "the language of the question"),
            form=FORMS[intent],
            history=history,
            scene=f"<scene>\n{scene}\n</scene>" if scene else "",
            question=fence.data(snapshot.question),
        )
        messages = (
            Message("user", f"<screenplay>\n{facts}\n</screenplay>", cache=True),
            Message("assistant", ACKNOWLEDGED),
            Message("user", user),
        )
        offered = self._tools.offered(self._say) if tools else ()
        return Prompt(system, messages, max_tokens=self._config.answer_tokens, tools=offered, cache=True)

    def _synthesis(self, intent: Intent, loop: ToolLoop) -> Prompt:
        snapshot = self._snapshot
        items = ranked(loop.tool_results, snapshot.question, self._search, self._config)
        evidence = "\n\n".join(f"{fence.data(item.name)}\n{fence.data(item.text)}" for item in items)
        system, user = snapshot.prompts["script_evidence"].fill(
            language=LANGUAGES.get(snapshot.language, "the language of the question"),
            form=FORMS[intent],
            history=self._history(self._config.tokens(snapshot.tier) // 4),
            evidence=evidence,
            question=fence.data(snapshot.question),
        )
        return Prompt(system, (Message("user", user),), max_tokens=self._config.answer_tokens)

    def _history(self, tokens: int) -> str:
        """What was said and thought of before, in about so many tokens."""
        snapshot = self._snapshot
        conversation = _cut(fence.exchanges(snapshot.history) or fence.thread(snapshot.earlier), tokens)
        if not snapshot.ideas:
            return conversation
        ideas = _cut(fence.lines(snapshot.ideas), tokens - text_tokens(conversation))
        return f"{conversation}\n<ideas>\n{ideas}\n</ideas>".lstrip()

    def _facts(self) -> str:
        """The script in a few lines: its figures, the writer's own outline, who speaks in most scenes."""
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
        return fence.data("\n".join([*lines, *outlined(script)])) + "\n"

    def _cards(self) -> str:
        before, lines = 0, []
        for scene in self._script.scenes:
            lines.append(f"{card(scene, page_of(before))}. {self._analysis.card(scene)}".rstrip(". "))
            before += scene.eighths
        return fence.data("\n".join(lines))

    def _focus(self, tokens: int) -> str:
        scene = self._script.scenes[self._snapshot.scene - 1]
        return _cut(fence.data(f"Scene {scene.number}\n{scene.text}"), tokens)

    async def _plan(self) -> list[ToolCall]:
        """What to look up for a model that cannot ask for it."""
        from json import dumps

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
        """The scenes that come nearest, in their own words."""
        snapshot, say = self._snapshot, self._say
        yield Status(say("script.searching"))
        scenes = await nearest_scenes(
            snapshot.question, snapshot.scene, self._script, self._search, self._like
        )
        if not scenes:
            self.shown.append(say("script.nothing"))
            yield Text(say("script.nothing"))
            return
        yield Notice(
            why_quoted(say, snapshot.answerer, demo=snapshot.demo, introduced=snapshot.introduced, cites=True)
        )
        for shown in quotations(scenes, snapshot.question, self._search, say):
            self.shown.append(shown)
            yield Text(shown)


def _cut(text: str, tokens: int) -> str:
    """The beginning of the text that has about so many tokens, whole lines of it."""
    if text_tokens(text) <= tokens:
        return text
    lines, left = [], tokens
    for line in text.split("\n"):
        left -= text_tokens(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join([*lines, "…"]) if lines else ""
