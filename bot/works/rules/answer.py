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
from bot.citing.gate import CitationGate, beginning
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
from bot.works.rules.house_rules import precedence_note
from bot.works.rules.question_files import Pictures
from bot.works.rules.snapshot import Snapshot

if TYPE_CHECKING:
    from bot.llm.registry import Models

MAX_TOKENS = room(1_000, None)
"""The maximum tokens of an answer, with room for a model's thinking."""

QUOTED_PASSAGES = 3
"""How many passages an answer without a model quotes."""

CLOSE_HEADINGS = 3
"""How many headings of passages that were found but not cited are offered as buttons."""

LEAST_SCORE_SHARE = 0.6
"""The least share of the best passage's score with which a passage is quoted or offered."""


class Answer:
    """One answer. `shown` is its text so far, `cited` its citations, and `sources` their passages.

    `stored` has the number and the chunk of each source, as they are stored with the question. With `guess` the
    passages may not contain the answer: a notice below a cited answer says so, and an answer without citations stays
    as it is, although passages are quoted instead of it elsewhere.
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
        least = LEAST_SCORE_SHARE * max(map(attrgetter("score"), result.passages))
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
            snapshot = self._snapshot
            yield Notice(
                why_quoted(
                    self._say,
                    snapshot.answerer,
                    demo=snapshot.demo,
                    introduced=snapshot.introduced,
                    cites=snapshot.cites,
                )
            )
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
            other_language=self._snapshot.language not in self._snapshot.languages,
        )
        yield Status(self._say("rules.asking", model=self._snapshot.answerer))
        prompt = answer_prompt(self._snapshot, passages, self._pictures)
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
                        yield unseen_notice(self._say, piece.model, self._pictures.names)
        except UserError as error:
            # If the model fails, a notice and quotations take its place.
            if pending := gate.finish():
                self.shown.append(pending)
                yield Text(pending)
            yield Notice(self._say(error.key, **error.values), retry=error.key == "model.cut")
        finally:  # also after a stop: a marker that was shown can be looked up
            for n, quote in sorted(gate.quotes.items()):
                self._cite(n, quote)
        if not self.cited and not self._guess and "".join(self.shown).strip():
            yield Notice(self._say("rules.uncited"))
        elif gate.unsupported:
            first = beginning(gate.unsupported[0])
            yield Notice(self._say("rules.unborne", count=len(gate.unsupported), first=first))

    def _by_quoting(self) -> list[Text]:
        """Excerpts of the best passages, which are cited."""
        question_terms = set(self._terms(self._snapshot.question))
        texts = [Text("\n\n")] if "".join(self.shown).strip() else []  # separate from the model's own words
        best = self._near[:QUOTED_PASSAGES]
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
        """Buttons for the headings that the books refer to, and for those of passages close to the best."""
        offered = set(map(attrgetter("section_title"), self.sources))
        references, nearby = list[str](), list[str]()
        for name in self._result.see_also:
            if name not in offered:
                offered.add(name)
                references.append(name)
        for passage in self._near:
            name = passage.section_title
            if not (passage.document.startswith(ATTACHED) or name in offered):
                offered.add(name)
                nearby.append(name)
        choices = [lookup_buttons(self._say("rules.see_also"), references)] if references else []
        return choices + (
            [lookup_buttons(self._say("rules.see_also_near"), nearby[:CLOSE_HEADINGS])] if nearby else []
        )


def lookup_buttons(prompt: str, headings: Iterable[str]) -> Choices:
    """Buttons that look up the headings."""
    return Choices(prompt, tuple(Choice(name, f"/rules lookup {name}") for name in headings))


def unseen_notice(say: Words, model: str | None, names: Sequence[str]) -> Notice:
    """The notice that no model has seen the question's pictures, and what to do about it."""
    key = "rules.picture_quoted" if model is None else "rules.picture_unseen"
    return Notice(say(key, model=model, files=", ".join(names), n=len(names)))


def answer_prompt(snapshot: Snapshot, passages: list[Passage], pictures: Pictures) -> Prompt:
    """The answerer's prompt: the passages, numbered from 1, and the pictures that came with the question."""
    # Everything goes where the history is: a space's own prompt may have no other placeholder for it.
    context = [text for _, text in snapshot.in_view] if snapshot.in_view else []
    if snapshot.house:
        context.append(precedence_note(passages))
    if pictures.names:
        context.append(untrusted.pictures(pictures.names))
    if snapshot.history or snapshot.earlier:
        context.append(untrusted.earlier(snapshot.history, snapshot.earlier))
    system, user = snapshot.prompts["rag"].fill(
        language=LANGUAGES.get(snapshot.language, "the language of the question"),
        passages=untrusted.passages(passages),
        history="\n".join(filter(None, context)),
        question=untrusted.data(snapshot.question),
    )
    turn = Message("user", user, images=pictures.images)
    return Prompt(system=system, messages=(turn,), max_tokens=MAX_TOKENS)
