"""Answers from passages: with a model's text, whose citations are checked, or else with the passages' own words.

Knows no library and no session; the caller stores what was shown and cited.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from bot import untrusted
from bot.citing.gate import CitationGate
from bot.citing.quoting import excerpt, quoted, why_quoted
from bot.events import Choice, Choices, Citation, Event, Notice, Status, Text, UserError
from bot.llm.base import Message, Prompt, room
from bot.llm.completion import Completion
from bot.readers.lines import flowing
from bot.retrieval.lexical import content_terms
from bot.retrieval.results import ATTACHED, Passage, SearchResult
from bot.strategies.base import LANGUAGES
from bot.words import Words
from bot.work import Run
from bot.works.rules.house_rules import overrules
from bot.works.rules.question_files import Pictures
from bot.works.rules.snapshot import Snapshot

if TYPE_CHECKING:
    from bot.llm.registry import Models

MAX_TOKENS = room(1_000, None)
"""Room for several times the longest answer, and for the thoughts of a model that thinks first."""

QUOTED = 3
"""How many passages an answer without a model quotes."""

CLOSE = 3
"""How many headings of passages that were found but not cited are offered as buttons."""

NEAR = 0.6
"""The share of the best passage's score below which a passage is neither quoted nor offered."""

SHOWN_CHARS = 80
"""The maximum length of a statement quoted in the notice that no passage supports it."""


class Answer:
    """One answer. `shown` is its text so far, `cited` the citations of its markers, `sources` their passages, and
    `stored` the number and the chunk of each, as they are stored with the question.

    A `guess` comes from passages that may not contain the answer, and says so; a model that finds no answer is
    believed.
    """

    def __init__(
        self,
        run: Run,
        snapshot: Snapshot,
        result: SearchResult,
        say: Words,
        models: Models,
        pictures: Pictures,
        *,
        guess: bool = False,
    ) -> None:
        self._guess = guess
        self._run = run
        self._snapshot = snapshot
        self._result = result
        self._say = say
        self._models = models
        self._pictures = pictures
        self._terms = partial(content_terms, language=snapshot.language)
        least = NEAR * max(map(attrgetter("score"), result.passages))
        self._near = [passage for passage in result.passages if passage.score >= least]
        """The best passages and those close to them, in order."""
        self.shown: list[str] = []
        self.cited: list[Citation] = []
        self.sources: list[Passage] = []
        self.stored: list[dict[str, int | str]] = []

    async def events(self) -> AsyncGenerator[Event, None]:
        """The answer, its citations, and buttons for further reading."""
        # A snapshot of an earlier release may cite without a model.
        if self._snapshot.cites and self._snapshot.answerer is not None:
            async with aclosing(self._by_model()) as events:
                async for event in events:
                    yield event
        declined = self._guess and bool("".join(self.shown).strip())
        if not self.cited and not declined:
            yield Notice(self._why_quoted())
            if self._guess:
                yield Text(self._say("rules.closest") + "\n\n")
            for event in self._by_quoting():
                yield event
        elif self._guess and self.cited:
            yield Notice(self._say("rules.doubtful"))
        for citation in self.cited:
            yield citation
        for choices in self._see_also():
            yield choices

    async def _by_model(self) -> AsyncGenerator[Event, None]:
        passages = self._result.passages
        gate = CitationGate(
            map(flowing, map(attrgetter("text"), passages)),
            self._terms,
            headings=map(attrgetter("heading"), passages),
            abroad=self._snapshot.language not in self._snapshot.languages,
        )
        yield Status(self._say("rules.asking", model=self._snapshot.answerer))
        prompt = rag(self._snapshot, passages, self._pictures)
        try:
            async with aclosing(self._models.stream(self._run, "answerer", "answer", prompt)) as pieces:
                async for piece in pieces:
                    if text := gate.feed(piece) if isinstance(piece, str) else gate.finish():
                        self.shown.append(text)
                        yield Text(text)
                    if not isinstance(piece, Completion):
                        continue
                    if piece.finish in ("length", "refusal", "cut"):
                        yield Notice(self._say(f"rules.finish_{piece.finish}"), retry=piece.finish == "cut")
                    if piece.passed_over:
                        failed = ", ".join(model for model, _ in piece.passed_over)
                        yield Notice(self._say("rules.answered_instead", answered=piece.model, failed=failed))
                    if piece.unseen:
                        yield unseen(self._say, piece.model, self._pictures.names)
        except UserError as error:
            # If the model fails, a notice and quotations take its place.
            if rest := gate.finish():
                self.shown.append(rest)
                yield Text(rest)
            yield Notice(self._say(error.key, **error.values), retry=error.key == "model.cut")
        finally:  # also after a stop: a marker that was shown can be looked up
            for n, quote in sorted(gate.quotes.items()):
                self._cite(n, quote)
        if not self.cited and not self._guess and "".join(self.shown).strip():
            yield Notice(self._say("rules.uncited"))
        elif gate.unborne:
            first = _beginning(gate.unborne[0])
            yield Notice(self._say("rules.unborne", count=len(gate.unborne), first=first))

    def _why_quoted(self) -> str:
        snapshot = self._snapshot
        return why_quoted(
            self._say,
            snapshot.answerer,
            demo=snapshot.demo,
            introduced=snapshot.introduced,
            cites=snapshot.cites,
        )

    def _by_quoting(self) -> list[Text]:
        question_terms = set(self._terms(self._snapshot.question))
        texts = [Text("\n\n")] if "".join(self.shown).strip() else []  # separate from the model's own words
        best = self._near[:QUOTED]
        for n, passage in enumerate(self._result.passages, 1):
            if passage not in best:
                continue
            part = excerpt(flowing(passage.text), question_terms, self._snapshot.language)
            texts.append(Text(quoted(n, passage, part)))
            self._cite(n, part)
        self.shown += [text.text for text in texts]
        return texts

    def _cite(self, n: int, quote: str) -> None:
        passage = self._result.passages[n - 1]
        self.sources.append(passage)
        self.stored.append({"n": n, "chunk": passage.chunk})
        self.cited.append(Citation(n, passage.source, passage.heading, quote, passage.page_of(quote)))

    def _see_also(self) -> list[Choices]:
        """The authors' own references first, then nearby headings, each once."""
        offered = set(map(attrgetter("section_title"), self.sources))
        authors, close = list[str](), list[str]()
        for name in self._result.see_also:
            if name not in offered:
                offered.add(name)
                authors.append(name)
        for passage in self._near:
            name = passage.section_title
            if not (passage.document.startswith(ATTACHED) or name in offered):
                offered.add(name)
                close.append(name)
        choices = [look_ups(self._say("rules.see_also"), authors)] if authors else []
        return choices + ([look_ups(self._say("rules.see_also_near"), close[:CLOSE])] if close else [])


def look_ups(prompt: str, headings: Iterable[str]) -> Choices:
    """Buttons that look up the headings."""
    return Choices(prompt, tuple(Choice(name, f"/rules lookup {name}") for name in headings))


def unseen(say: Words, model: str | None, names: Sequence[str]) -> Notice:
    """The notice that no model has seen the question's pictures, and what to do about it."""
    key = "rules.picture_quoted" if model is None else "rules.picture_unseen"
    return Notice(say(key, model=model, files=", ".join(names), n=len(names)))


def rag(snapshot: Snapshot, passages: list[Passage], pictures: Pictures) -> Prompt:
    """The answerer's prompt: the passages, numbered from 1, and the pictures that came with the question."""
    # All of it is where the history is, after the passages: a space's own text has no placeholder for the rest.
    before = [text for _, text in snapshot.in_view] if snapshot.in_view else []
    if snapshot.house:
        before.append(overrules(passages))
    if pictures.names:
        before.append(untrusted.pictures(pictures.names))
    if snapshot.history or snapshot.earlier:
        before.append(untrusted.earlier(snapshot.history, snapshot.earlier))
    system, user = snapshot.prompts["rag"].fill(
        language=LANGUAGES.get(snapshot.language, "the language of the question"),
        passages=untrusted.passages(passages),
        history="\n".join(filter(None, before)),
        question=untrusted.data(snapshot.question),
    )
    turn = Message("user", user, images=pictures.images)
    return Prompt(system=system, messages=(turn,), max_tokens=MAX_TOKENS)


def _beginning(statement: str) -> str:
    words = " ".join(statement.split())
    return words if len(words) <= SHOWN_CHARS else words[:SHOWN_CHARS].rsplit(" ", 1)[0] + "…"
