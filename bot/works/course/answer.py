"""Answers a question about the courses: a model looks things up and its citations are checked, or passages are quoted.

If no model answers, or none that can be trusted to cite, code looks up what the question names.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.budget import prompt_tokens
from bot.citing.gate import CitationGate, beginning
from bot.citing.quoting import excerpt, quoted, why_quoted
from bot.commands import FOLLOW_UP
from bot.conversation import Note, question_of, read_along
from bot.events import (
    Choice,
    Choices,
    Citation,
    Event,
    Notice,
    Request,
    Stage,
    Status,
    Text,
    TransientError,
    UserError,
)
from bot.llm.base import Message, Prompt, room
from bot.llm.completion import ToolCall
from bot.llm.tools import Limits, ToolLoop
from bot.prompts import PromptText
from bot.readers.lines import flowing
from bot.retrieval.chunk import SEPARATOR
from bot.retrieval.language import detect_question
from bot.retrieval.lexical import content_terms
from bot.retrieval.results import Passage, unread_of
from bot.retrieval.titles import normal
from bot.strategies.base import LANGUAGES
from bot.strategies.following import depends_on_previous
from bot.words import Words, words
from bot.work import Run
from bot.works.course.course_names import course_named
from bot.works.course.lookup_plan import LookupPlan, lookup_plan
from bot.works.course.moments import at_moment
from bot.works.course.outline import lesson_heading
from bot.works.course.tools import OUTLINE, SEARCH, CourseTools, SearchResults
from bot.works.library.unread import unread_notices

if TYPE_CHECKING:
    from bot.conversation import Conversations
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.retrieval.library import Library
    from bot.works.course.catalogue import Catalogue, Catalogues
    from bot.works.course.course_names import CourseNames

ROLE: Final = "tool_loop"
MAX_TOKENS: Final = room(1_000, None)
"""The maximum tokens of an answer, with room for a model's thinking."""
LEAST_CACHED: Final = 512
"""The minimum number of tokens of a prefix that some models cache (Anthropic, "Prompt caching"); others require up to
4,096.
"""
TITLES: Final = 40
"""How many titles of courses the prompt lists; the model can look up the others."""
QUOTED_PASSAGES: Final = 3
"""How many passages an answer without a model quotes."""
LEAST_SCORE_SHARE: Final = 0.6
"""The least share of the best passage's score with which a passage is quoted."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a question's run decides first, so that a replay decides the same.

    `answerer` is the model that answers, None without one; `reads` whether its citations can be trusted, `demo` whether
    it is the demo model, which was `introduced` before. `course` (its title) and `lesson` limit the question. `history`
    are the exchanges that the question continues.
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
    notes: list[Note] = field(default_factory=list)
    roles: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CourseQuestions:
    """The verb "ask".

    `_roles` returns the models that a place has chosen, by role; `_memory` how many exchanges are remembered there.
    """

    _library: Library
    _catalogues: Catalogues
    _names: CourseNames
    _models: Models
    _prompts: Prompts
    _conversations: Conversations
    _roles: Callable[[Request], Awaitable[dict[str, list[str]]]]
    _memory: Callable[[Request], Awaitable[int]]
    _rounds: int

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        snapshot = await run.step("snapshot", partial(self._snapshot, run.request), Snapshot)
        say = words(snapshot.language if snapshot.language in ("en", "pt") else run.request.locale)
        space = run.request.place.space
        catalogue = await self._catalogues.of(space)
        tools = CourseTools(
            self._library, catalogue, self._names, space, course=snapshot.course, lesson=snapshot.lesson
        )
        yield Stage("answer", say("rules.answer"), answer=True)
        for notice in read_along(run.request, snapshot.notes, say):
            yield notice
        answer = Answer(run, snapshot, tools, say, self._models.with_roles(snapshot.roles), self._rounds)
        try:
            async with aclosing(answer.events()) as events:
                async for event in events:
                    yield event
            cited = [answer.passages[citation.n - 1] for citation in answer.cited]
            for notice in unread_notices(unread_of(cited), say):
                yield notice
        finally:  # also after a stop: what was shown is kept, and a follow-up can build on it
            await self._remember(run, snapshot, answer)

    async def _snapshot(self, request: Request) -> Snapshot:
        question = question_of(str(request.options.get("question") or "") or request.text)
        space = request.place.space
        catalogue = await self._catalogues.of(space)
        if not catalogue.courses:
            raise TransientError("course.none")
        course, lesson = await course_and_lesson(self._names, catalogue, request)
        follows = bool(request.options.get(FOLLOW_UP))
        memory = await self._memory(request)
        conversation = await self._conversations.of(request, question, memory, follows=follows)
        languages = sorted({course.language for course in catalogue.courses})
        roles = await self._roles(request)
        models = self._models.with_roles(roles)
        capabilities, answerer = models.capabilities(ROLE), models.describe(ROLE)
        return Snapshot(
            question=question,
            language=detect_question(question, languages) or request.locale.split("-")[0],
            session=conversation.session,
            answerer=answerer,
            reads=answerer is not None and (capabilities is None or capabilities.cites),
            demo=capabilities is not None and capabilities.demo,
            introduced=conversation.has_answers,
            follows=follows,
            prompt=(await self._prompts.texts(space, ("course",)))["course"],
            course=course,
            lesson=lesson,
            titles=[course] if course else [course.title for course in catalogue.courses[:TITLES]],
            courses=1 if course else len(catalogue.courses),
            languages=languages,
            history=conversation.exchanges,
            earlier=conversation.earlier,
            notes=conversation.notes,
            roles=roles,
        )

    async def _remember(self, run: Run, snapshot: Snapshot, answer: Answer) -> None:
        # The chunk is opened by `rules see n`.
        sources = [
            {"n": citation.n, "chunk": answer.passages[citation.n - 1].chunk} for citation in answer.cited
        ]
        text = "".join(answer.shown)
        await self._conversations.keep(run, snapshot.session, snapshot.question, text, json.dumps(sources))


async def course_and_lesson(
    names: CourseNames, catalogue: Catalogue, request: Request
) -> tuple[str | None, int | None]:
    """The course's title and the lesson's number that a request's options name. Raises UserError for unknown names."""
    course, lesson = (str(request.options.get(name) or "").strip() for name in ("course", "lesson"))
    resolved = await course_named(names, catalogue, course) if course else None
    if not lesson:
        return (resolved.title if resolved else None), None
    courses = catalogue.courses if resolved is None else (resolved,)
    for candidate in courses:
        for lesson_of_course in candidate.lessons:
            if normal(lesson) in (
                normal(lesson_of_course.title),
                normal(lesson_heading(lesson_of_course.number, lesson_of_course.title)),
            ):
                return candidate.title, lesson_of_course.number
    match = re.fullmatch(r"\D{0,10}(\d{1,6})\D?", lesson)
    if match is not None and any(candidate.numbered(int(match[1])) for candidate in courses):
        return (resolved.title if resolved else None), int(match[1])
    if resolved is None:
        raise UserError("course.no_lesson_anywhere", name=lesson[:80])
    raise UserError("course.no_lesson", name=lesson[:80], title=resolved.title)


async def knows(tools: CourseTools, question: str) -> bool:
    """Whether the courses can answer a question: by an outline, by their content, or by the lesson that it names."""
    plan = lookup_plan(question, tools.catalogue)
    if plan.outline and plan.course is not None:
        return True
    results = await tools.search(plan.query, plan.course, plan.lesson)
    if results.confident or plan.lesson is None:
        return results.confident
    languages = sorted({course.language for course in tools.catalogue.courses})
    terms = partial(content_terms, language=detect_question(question, languages) or "en")
    query_terms = set(terms(plan.query))
    return any(
        query_terms.intersection(terms(f"{passage.heading}\n{passage.text}")) for passage in results.passages
    )


class Answer:
    """One answer. `shown` is its text so far, `cited` its citations; a marker [n] cites `passages[n - 1]`."""

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
        """The answer, its citations, and buttons for outlines."""
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
        titles = dict.fromkeys(self.passages[citation.n - 1].title for citation in self.cited)
        if titles:
            choices = (Choice(title, f"/course outline {title}") for title in list(titles)[:QUOTED_PASSAGES])
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
        gate = CitationGate((), self._terms, other_language=snapshot.language not in snapshot.languages)
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
            if pending := gate.finish():
                self.shown.append(pending)
                yield Text(pending)
        finally:  # also after a stop: a marker that was shown can be looked up
            self.cited = [citation_of(n, self.passages[n - 1], q) for n, q in sorted(gate.quotes.items())]
        for notice in self._notices(loop, gate):
            yield notice

    def _notices(self, loop: ToolLoop, gate: CitationGate) -> list[Notice]:
        """Notices about how the answer was made."""
        say, sentences = self._say, list[str]()
        cut = loop.error is not None and loop.error.key == "model.cut"
        if loop.error is not None:
            sentences.append(say(loop.error.key, **loop.error.values))
        elif loop.ended in ("length", "refusal"):
            sentences.append(say(f"rules.finish_{loop.ended}"))
        if loop.passed_over and loop.error is None:
            failed = ", ".join(dict.fromkeys(model for model, _ in loop.passed_over))
            sentences.append(say("rules.answered_instead", answered=loop.model, failed=failed))
        if gate.unsupported:
            first = beginning(gate.unsupported[0])
            sentences.append(say("rules.unborne", count=len(gate.unsupported), first=first))
        sure = any(self._tools.sure(output) for _, output in loop.tool_results)
        if not sure and self.cited:
            sentences.append(say("course.doubtful"))
        # If no search was sure, a model that says that it found no answer is believed.
        uncited = not (self.cited or gate.unsupported) and "".join(self.shown).strip() != ""
        if sure and uncited and loop.ended == "answer":
            sentences.append(say("rules.uncited"))
        return [Notice(sentence, retry=cut and n == 0) for n, sentence in enumerate(sentences)]

    def _prompt(self) -> Prompt:
        snapshot = self._snapshot
        system, user = snapshot.prompt.fill(
            language=LANGUAGES.get(snapshot.language, "the language of the question"),
            courses=untrusted.lines(
                [*snapshot.titles, *(["…"] if snapshot.courses > len(snapshot.titles) else [])]
            ),
            history=untrusted.earlier(snapshot.history, snapshot.earlier),
            question=untrusted.data(snapshot.question),
        )
        prompt = Prompt(
            system, (Message("user", user),), max_tokens=MAX_TOKENS, tools=self._tools.offered(self._say)
        )
        # Each round of tools reads all of it again; each question repeats the instructions and the tools.
        cache = prompt_tokens(prompt) >= LEAST_CACHED
        return replace(prompt, messages=(Message("user", user, cache=cache),), cache=cache)

    async def _plan(self) -> list[ToolCall]:
        """The lookups for a model that cannot ask for them."""
        plan, calls = await self._lookup_plan(), []
        # For a name that matches no course, the outline's error lists the nearest names.
        if plan.outline or plan.unknown:
            outline_arguments = {"course_name": plan.unknown or plan.course}
            calls.append(ToolCall("plan-1-outline", OUTLINE, json.dumps(outline_arguments)))
        arguments = {"query": plan.query, "course_name": plan.course, "lesson_number": plan.lesson}
        present = {name: value for name, value in arguments.items() if value is not None}
        return [*calls, ToolCall("plan-1", SEARCH, json.dumps(present))]

    async def _lookup_plan(self) -> LookupPlan:
        """The lookups; those of a follow-up are combined with those of the question that it continues."""
        snapshot, catalogue = self._snapshot, self._tools.catalogue
        plan = lookup_plan(snapshot.question, catalogue)
        if snapshot.course:
            plan = replace(plan, course=plan.course or snapshot.course, unknown="")
        if plan.unknown and (named_course := (await self._tools.resolve(plan.unknown)).course) is not None:
            plan = replace(plan, course=named_course.title, unknown="")
        if not snapshot.follows or not snapshot.history:
            return plan
        question, _ = snapshot.history[-1]
        before = lookup_plan(question, catalogue)
        if not depends_on_previous(
            snapshot.question, question, snapshot.languages, confident=plan.course is not None
        ):
            return plan
        course = plan.course or before.course
        lesson = plan.lesson if plan.lesson is not None or plan.course else before.lesson
        return replace(plan, query=f"{before.query} {plan.query}", course=course, lesson=lesson)

    async def _by_code(self) -> AsyncGenerator[Event, None]:
        """Quote passages word for word, or show the outline of the requested course."""
        say = self._say
        plan = await self._run.step("planned", self._lookup_plan, LookupPlan)
        query, course, lesson = plan.query, plan.course, plan.lesson
        if "".join(self.shown).strip():
            yield Text("\n\n")
        if plan.outline and course is not None:

            async def outline_passages() -> list[Passage]:
                return list((await self._tools.get_course_outline(course)).passages)

            self.passages = await self._run.step("outline", outline_passages, list[Passage])
            async for event in self._quoted(self.passages, whole=True):
                yield event
            return
        yield Status(say("course.searching"))
        results = await self._run.step(
            "search", partial(self._tools.search, query, course, lesson), SearchResults
        )
        for key in results.notices:
            yield Notice(say(key))
        no_such = ""
        if plan.unknown:
            nearest = (await self._tools.resolve(plan.unknown)).nearest
            no_such = say("course.no_such", name=plan.unknown[:80], names="; ".join(nearest))
        terms = set(self._terms(query))
        sharing = [
            passage
            for passage in results.passages
            if terms.intersection(self._terms(f"{passage.heading}\n{passage.text}"))
        ]
        # A person who names a course or lesson gets the nearest passages in it.
        in_named_part = (course is not None or lesson is not None) and bool(sharing)
        quotable = results.confident or results.doubtful or in_named_part
        if not results.passages or not quotable:
            key = "nothing"
            if results.refused and lesson is not None:
                key = "no_lesson_anywhere" if course is None else "no_lesson"
            yield Text(no_such or say(f"course.{key}", name=lesson, title=course))
            return
        if no_such:
            yield Notice(no_such)
        yield Notice(
            why_quoted(
                say,
                self._snapshot.answerer,
                demo=self._snapshot.demo,
                introduced=self._snapshot.introduced,
                cites=self._snapshot.reads,
            )
        )
        if not results.confident:
            self.shown.append(say("rules.closest") + "\n\n")
            yield Text(self.shown[-1])
        self.passages = list(results.passages)
        first = (sharing if sharing and not results.confident else results.passages)[0]
        nearby = [
            passage
            for passage in sharing
            if passage is not first and passage.score >= LEAST_SCORE_SHARE * first.score
        ]
        async for event in self._quoted([first, *nearby][:QUOTED_PASSAGES]):
            yield event

    async def _quoted(self, best: Sequence[Passage], *, whole: bool = False) -> AsyncGenerator[Event, None]:
        """Quote the best passages, an excerpt of each unless `whole`, and set `cited`."""
        terms = set(self._terms(self._snapshot.question))
        self.cited = []
        for n, passage in enumerate(self.passages, 1):
            if passage not in best:
                continue
            text = passage.text if whole else flowing(passage.text)
            part = text if whole else excerpt(text, terms, self._snapshot.language)
            shown = quoted(n, replace(passage, heading=_heading(passage)), part)
            self.shown.append(shown)
            yield Text(shown)
            self.cited.append(citation_of(n, passage, part[:2_000]))


def citation_of(n: int, passage: Passage, quote: str) -> Citation:
    """The citation of marker [n]: the lesson, with its address."""
    page = passage.page_of(quote)
    link = at_moment(passage.link, passage.text, quote)
    return Citation(n, passage.source, _heading(passage), quote, page, link)


def _heading(passage: Passage) -> str:
    """The passage's heading below its course's title, which is left out if the source has the same name."""
    title, heading = passage.title, passage.heading
    if passage.source == title:
        return heading
    return title if heading == title else f"{title}{SEPARATOR}{heading}"
