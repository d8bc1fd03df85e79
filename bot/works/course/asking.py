"""A question to the courses: a model looks things up and answers, its citations checked; else passages are quoted.

Where no model answers, or none that can be trusted to cite, code looks up what the question names.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from bot import fence
from bot.citing.gate import CitationGate
from bot.citing.quoting import excerpt, flowing, quoted, why_quoted
from bot.commands import FOLLOW_UP
from bot.events import (
    Choice,
    Choices,
    Citation,
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
from bot.llm.base import Message, Prompt
from bot.llm.tools import Limits, ToolLoop
from bot.place_session import session_for
from bot.prompts import PromptText
from bot.retrieval.chunk import SEPARATOR
from bot.retrieval.language import detect_question
from bot.retrieval.lexical import content_terms
from bot.retrieval.results import Passage
from bot.retrieval.titles import normal
from bot.strategies.base import LANGUAGES
from bot.strategies.following import leans
from bot.words import Words, words
from bot.works.course.naming import named
from bot.works.course.planning import Plan, planned
from bot.works.course.reading import shown
from bot.works.course.tools import OUTLINE, SEARCH, CourseTools, Searched

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.retrieval.library import Library
    from bot.thread_history import ThreadHistory
    from bot.works.course.catalogue import Catalogue, Catalogues
    from bot.works.course.naming import CourseNames
    from storage.sessions import Sessions

ROLE: Final = "tool_loop"
QUESTION_CHARS: Final = 4_000
MAX_TOKENS: Final = 4_000
"""Several times the longest answer: models that think first count their thoughts here, too."""
TITLES: Final = 40
"""Of the space's courses so many are told to the model, which can look up the others."""
QUOTED: Final = 3
"""Passages that an answer without a model quotes."""
NEAR: Final = 0.6
"""… each: those of at least this share of the best one's score."""
SHOWN_CHARS: Final = 80
"""… of a statement, where it is said that nothing bears it out."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a question's run decides first, so that a replay decides the same.

    `answerer` is who answers, None where nobody does; `reads` whether its citations can be trusted, `demo` whether it
    is the demo model, which was `introduced` before. `course` (its title) and `lesson` are what the question keeps to.
    `history` are the exchanges that the question is read with.
    """

    question: str
    language: str
    session: str | None
    answerer: str | None
    reads: bool
    demo: bool
    introduced: bool
    follows: bool
    prompt: PromptText
    course: str | None = None
    lesson: int | None = None
    titles: list[str] = field(default_factory=list)
    courses: int = 0
    languages: list[str] = field(default_factory=list)
    history: list[tuple[str, str]] = field(default_factory=list)
    earlier: str = ""
    roles: dict[str, list[str]] = field(default_factory=dict)


class Asking:
    """The verb "ask"."""

    def __init__(
        self,
        library: Library,
        catalogues: Catalogues,
        names: CourseNames,
        models: Models,
        prompts: Prompts,
        sessions: Sessions,
        earlier: ThreadHistory,
        roles: Callable[[Request], Awaitable[dict[str, list[str]]]],
        memory: Callable[[Request], Awaitable[int]],
        rounds: int,
    ) -> None:
        """`roles`: whose models a place has chosen itself; `memory`: how many exchanges are remembered there."""
        self._library = library
        self._catalogues = catalogues
        self._names = names
        self._models = models
        self._prompts = prompts
        self._sessions = sessions
        self._earlier = earlier
        self._roles = roles
        self._memory = memory
        self._rounds = rounds

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        snapshot = await run.step("snapshot", partial(self._snapshot, run.request), Snapshot)
        say = words(snapshot.language if snapshot.language in ("en", "pt") else run.request.locale)
        space = run.request.place.space
        catalogue = await self._catalogues.of(space)
        tools = CourseTools(
            self._library, catalogue, self._names, space, course=snapshot.course, lesson=snapshot.lesson
        )
        yield Stage("answer", say("rules.answer"))
        answer = Answer(run, snapshot, tools, say, self._models.with_roles(snapshot.roles), self._rounds)
        try:
            async with aclosing(answer.events()) as events:
                async for event in events:
                    yield event
        finally:  # also when stopped: what was shown is kept, and a follow-up can build on it
            await self._remember(run, snapshot, answer)

    async def _snapshot(self, request: Request) -> Snapshot:
        question = " ".join((str(request.options.get("question") or "") or request.text).split())
        if not question:
            raise Sorry("rules.no_question")
        if len(question) > QUESTION_CHARS:
            raise Sorry("rules.long_question", length=len(question), limit=QUESTION_CHARS)
        space = request.place.space
        catalogue = await self._catalogues.of(space)
        if not catalogue.courses:
            raise Sorry("course.none")
        course, lesson = await self.kept_to(catalogue, request)
        mine = await session_for(self._sessions, request, question)
        memory = await self._memory(request)
        past = await self._sessions.last_exchanges(space, mine.id, max(memory, 1)) if mine else []
        follows = bool(request.options.get(FOLLOW_UP))
        first = follows and mine is not None and not past and await self._sessions.first_here(mine)
        languages = sorted({one.language for one in catalogue.courses})
        roles = await self._roles(request)
        models = self._models.with_roles(roles)
        try:
            can = models.capabilities(ROLE)
        except Sorry:  # asked all the same: the call says what is wrong with the settings
            can = None
        named = models.describe(ROLE)
        return Snapshot(
            question=question,
            language=detect_question(question, languages) or request.locale.split("-")[0],
            session=mine.id if mine else None,
            answerer=named,
            reads=named is not None and (can is None or can.cites),
            demo=can is not None and can.demo,
            introduced=bool(past),
            follows=follows,
            prompt=(await self._prompts.texts(space, ("course",)))["course"],
            course=course,
            lesson=lesson,
            titles=[course] if course else [one.title for one in catalogue.courses[:TITLES]],
            courses=1 if course else len(catalogue.courses),
            languages=languages,
            history=[(one.question, one.answer) for one in past[-memory:]] if memory else [],
            earlier=await self._earlier.of(request) if first else "",
            roles=roles,
        )

    async def kept_to(self, catalogue: Catalogue, request: Request) -> tuple[str | None, int | None]:
        """The course and the lesson that the request's options name. Raises Sorry where they name none."""
        course, lesson = (str(request.options.get(name) or "").strip() for name in ("course", "lesson"))
        found = await named(self._names, catalogue, course) if course else None
        if not lesson:
            return (found.title if found else None), None
        courses = catalogue.courses if found is None else (found,)
        for one in courses:
            for each in one.lessons:
                if normal(lesson) in (normal(each.title), normal(shown(each.number, each.title))):
                    return one.title, each.number
        number = re.fullmatch(r"\D{0,10}(\d{1,6})\D?", lesson)
        if number is not None and any(one.numbered(int(number[1])) for one in courses):
            return (found.title if found else None), int(number[1])
        if found is None:
            raise Sorry("course.no_lesson_anywhere", name=lesson[:80])
        raise Sorry("course.no_lesson", name=lesson[:80], title=found.title)

    async def _remember(self, run: Run, snapshot: Snapshot, answer: Answer) -> None:
        text = "".join(answer.shown)
        if snapshot.session is None or not text.strip():
            return
        # The chunk is what `rules see n` opens.
        sources = [{"n": one.n, "chunk": answer.passages[one.n - 1].chunk} for one in answer.cited]
        question = " ".join(run.request.text.split()) or snapshot.question
        space, kept = run.request.place.space, json.dumps(sources)
        await self._sessions.add_exchange(space, snapshot.session, run.id, question, text, kept)


class Answer:
    """One answer. `shown` is its text so far, `cited` what its markers stand for, `passages` what they number."""

    def __init__(
        self, run: Run, snapshot: Snapshot, tools: CourseTools, say: Words, models: Models, rounds: int
    ) -> None:
        self._run = run
        self._snapshot = snapshot
        self._tools = tools
        self._say = say
        self._models = models
        self._rounds = rounds
        self._terms = partial(content_terms, language=snapshot.language)
        self.shown: list[str] = []
        self.cited: list[Citation] = []
        self.passages: list[Passage] = []

    async def events(self) -> AsyncGenerator[Event, None]:
        """The answer, its citations, and outlines to look at."""
        answered = False
        if self._snapshot.reads:
            async with aclosing(self._by_model()) as events:
                async for event in events:
                    yield event
            answered = "".join(self.shown).strip() != ""
        if not answered:
            async with aclosing(self._by_code()) as events:
                async for event in events:
                    yield event
        for citation in self.cited:
            yield citation
        titles = dict.fromkeys(self.passages[one.n - 1].title for one in self.cited)
        if titles:
            choices = (Choice(title, f"/course outline {title}") for title in list(titles)[:QUOTED])
            yield Choices(self._say("course.see_outline"), tuple(choices))

    async def _by_model(self) -> AsyncGenerator[Event, None]:
        snapshot, say = self._snapshot, self._say
        loop = ToolLoop(
            self._models,
            self._run,
            self._prompt(),
            role=ROLE,
            limits=Limits(rounds=self._rounds),
            plan=self._plan,
        )
        self.passages = loop.passages
        gate = CitationGate((), self._terms, abroad=snapshot.language not in snapshot.languages)
        checked = 0
        yield Status(say("rules.asking", model=snapshot.answerer))
        try:
            async with aclosing(loop.events()) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Status):
                        yield piece
                        continue
                    for passage in loop.passages[checked:]:
                        gate.add(flowing(passage.text), passage.heading)
                    checked = len(loop.passages)
                    if text := gate.feed(piece):
                        self.shown.append(text)
                        yield Text(text)
            if rest := gate.finish():
                self.shown.append(rest)
                yield Text(rest)
        finally:  # also when stopped: a marker that was shown can be looked up
            self.cited = [citation_of(n, self.passages[n - 1], q) for n, q in sorted(gate.quotes.items())]
        for notice in self._about(loop, gate):
            yield notice

    def _about(self, loop: ToolLoop, gate: CitationGate) -> list[Notice]:
        """What a person should know of how the answer came about."""
        say, told = self._say, []
        if loop.error is not None:
            told.append(say(loop.error.key, **loop.error.values))
        elif loop.ended in ("length", "refusal"):
            told.append(say(f"rules.finish_{loop.ended}"))
        if loop.passed_over and loop.error is None:
            failed = ", ".join(dict.fromkeys(model for model, _ in loop.passed_over))
            told.append(say("rules.answered_instead", answered=loop.model, failed=failed))
        if gate.unborne:
            first = gate.unborne[0]
            first = first if len(first) <= SHOWN_CHARS else first[:SHOWN_CHARS].rsplit(" ", 1)[0] + "…"
            told.append(say("rules.unborne", count=len(gate.unborne), first=first))
        elif "".join(self.shown).strip() and loop.passages and not self.cited and loop.ended == "answer":
            told.append(say("rules.uncited"))
        return [Notice(one) for one in told]

    def _prompt(self) -> Prompt:
        one = self._snapshot
        system, user = one.prompt.fill(
            language=LANGUAGES.get(one.language, "the language of the question"),
            courses=fence.lines([*one.titles, *(["…"] if one.courses > len(one.titles) else [])]),
            history=fence.exchanges(one.history) or fence.thread(one.earlier),
            question=fence.data(one.question),
        )
        return Prompt(
            system, (Message("user", user),), max_tokens=MAX_TOKENS, tools=self._tools.offered(self._say)
        )

    async def _plan(self) -> list[ToolCall]:
        """What to look up for a model that cannot ask for it."""
        plan, calls = await self._asked(), []
        # Of a name that means no course the outline's error tells, with the nearest names.
        if plan.outline or plan.unknown:
            named = {"course_name": plan.unknown or plan.course}
            calls.append(ToolCall("plan-1-outline", OUTLINE, json.dumps(named)))
        found = {"query": plan.query, "course_name": plan.course, "lesson_number": plan.lesson}
        given = {name: value for name, value in found.items() if value is not None}
        return [*calls, ToolCall("plan-1", SEARCH, json.dumps(given))]

    async def _asked(self) -> Plan:
        """What to look up: a follow-up goes with what it leans on, and a course may be named by its meaning."""
        one, catalogue = self._snapshot, self._tools.catalogue
        plan = planned(one.question, catalogue)
        if one.course:
            plan = replace(plan, course=plan.course or one.course, unknown="")
        if plan.unknown and (meant := (await self._tools.meant(plan.unknown)).course) is not None:
            plan = replace(plan, course=meant.title, unknown="")
        if not one.follows or not one.history:
            return plan
        question, _ = one.history[-1]
        before = planned(question, catalogue)
        if not leans(one.question, question, one.languages, confident=plan.course is not None):
            return plan
        course = plan.course or before.course
        lesson = plan.lesson if plan.lesson is not None or plan.course else before.lesson
        return replace(plan, query=f"{before.query} {plan.query}", course=course, lesson=lesson)

    async def _by_code(self) -> AsyncGenerator[Event, None]:
        """Passages word for word, or the outline of the course that is asked about."""
        say = self._say
        plan = await self._run.step("planned", self._asked, Plan)
        query, course, lesson = plan.query, plan.course, plan.lesson
        if "".join(self.shown).strip():
            yield Text("\n\n")
        if plan.outline and course is not None:

            async def outlined() -> list[Passage]:
                return list((await self._tools.get_course_outline(course)).passages)

            self.passages = await self._run.step("outline", outlined, list[Passage])
            async for event in self._quoted(self.passages, whole=True):
                yield event
            return
        yield Status(say("course.searching"))
        found = await self._run.step("search", partial(self._tools.search, query, course, lesson), Searched)
        for key in found.notices:
            yield Notice(say(key))
        no_such = ""
        if plan.unknown:
            nearest = (await self._tools.meant(plan.unknown)).nearest
            no_such = say("course.no_such", name=plan.unknown[:80], names="; ".join(nearest))
        wanted = set(self._terms(query))
        sharing = [
            one for one in found.passages if wanted.intersection(self._terms(f"{one.heading}\n{one.text}"))
        ]
        # Who has named where to look gets what comes nearest there.
        near_enough = found.confident or ((course is not None or lesson is not None) and bool(sharing))
        if not found.passages or not near_enough:
            key = "nothing"
            if found.refused and lesson is not None:
                key = "no_lesson_anywhere" if course is None else "no_lesson"
            yield Text(no_such or say(f"course.{key}", name=lesson, title=course))
            return
        if no_such:
            yield Notice(no_such)
        yield Notice(self._why_quoted() if found.confident else say("course.unsure"))
        self.passages = list(found.passages)
        first = found.passages[0] if found.confident else sharing[0]
        near = [one for one in sharing if one is not first and one.score >= NEAR * first.score]
        async for event in self._quoted([first, *near][:QUOTED]):
            yield event

    async def _quoted(self, best: Sequence[Passage], *, whole: bool = False) -> AsyncGenerator[Event, None]:
        wanted = set(self._terms(self._snapshot.question))
        self.cited = []
        for n, passage in enumerate(self.passages, 1):
            if passage not in best:
                continue
            text = passage.text if whole else flowing(passage.text)
            part = text if whole else excerpt(text, wanted, self._snapshot.language)
            shown = quoted(n, replace(passage, heading=_heading(passage)), part)
            self.shown.append(shown)
            yield Text(shown)
            self.cited.append(citation_of(n, passage, part[:2_000]))

    def _why_quoted(self) -> str:
        one = self._snapshot
        return why_quoted(self._say, one.answerer, demo=one.demo, introduced=one.introduced, cites=one.reads)


def citation_of(n: int, passage: Passage, quote: str) -> Citation:
    """What marker [n] stands for: the lesson, with its address."""
    page = passage.page_of(quote)
    return Citation(n, passage.source, _heading(passage), quote, page, passage.link)


def _heading(passage: Passage) -> str:
    """Where it stands, the course first."""
    title, heading = passage.title, passage.heading
    return title if heading == title else f"{title}{SEPARATOR}{heading}"
