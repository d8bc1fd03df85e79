"""A question from end to end on a real shelf: the titles of its stages, and questions in any language."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bot.commands import KINDS
from bot.events import Citation, Event, Notice, Stage, Text
from bot.retrieval.intake import Item
from bot.words import words
from bot.works.library import LibraryConfig
from bot.works.library.no_books import why_no_books
from bot.works.rules.answer import answer_prompt
from bot.works.rules.house_rules import HouseRules
from bot.works.rules.question_files import AttachedTexts, Pictures, QuestionFiles
from bot.works.rules.snapshot import Snapshots
from bot.works.rules.work import Asking
from tests.fakes.chat_completions import Reply
from tests.fakes.run import MemoryRun
from tests.strategies.conftest import Bench, opened


def snapshots(bench: Bench) -> Snapshots:
    resources = bench.resources
    return Snapshots(
        resources.library,
        resources.models,
        resources.prompts,
        resources.conversations,
        resources.settings,
        resources.config.retrieval,
        partial(why_no_books, resources),
        [partial(kind.in_view, resources) for kind in KINDS.values() if kind.in_view is not None],
    )


def asking(bench: Bench) -> Asking:
    resources = bench.resources
    files = QuestionFiles(resources.incoming, resources.intake, LibraryConfig().max_bytes)
    house = HouseRules(resources.settings, resources.intake)
    made = snapshots(bench)
    return Asking(files, resources.library, resources.models, resources.conversations, made, house)


async def asked(bench: Bench, question: str) -> list[Event]:
    run = MemoryRun()
    run.request = replace(run.request, text=question)
    return [event async for event in asking(bench).run(run)]


def titles(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.key, event.title) for event in events if isinstance(event, Stage)]


async def test_a_finished_search_is_titled_by_what_it_found(tmp_path: Path) -> None:
    async with opened(tmp_path) as bench:
        found = await asked(bench, "How long does a candle burn while walking?")
        assert titles(found)[:2] == [("search", "Searching “rules”…"), ("search", "5 passages from 1 book")]
        nothing = await asked(bench, "What is the capital of Mongolia?")
        assert titles(nothing) == [("search", "Searching “rules”…"), ("search", "Nothing found")]


async def test_the_answer_nothing_found_says_what_was_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as bench:
        question = "What is the capital of Mongolia?"
        alone = [event.text for event in await asked(bench, question) if isinstance(event, Notice)]
        assert not any("shelf" in text or "%" in text for text in alone)
        item = Item("map.md", str(tmp_path / "map.md"))
        (tmp_path / "map.md").write_text(
            "# Capitals\n\nUlaanbaatar is Mongolia's capital.\n", encoding="utf-8"
        )
        assert (await bench.resources.intake.take("local", "maps", item, "m", replace=False)).key == ""
        monkeypatch.setattr(type(bench.resources.library), "percent", Percent(40))
        told = [event.text for event in await asked(bench, question) if isinstance(event, Notice)]
        assert any("only the shelf “rules”" in text and "maps" in text for text in told)
        assert any("40 % of “rules”" in text for text in told)
        found = [
            event.text
            for event in await asked(bench, "How long does a candle burn?")
            if isinstance(event, Notice)
        ]
        assert not any("shelf “rules”" in text or "40 %" in text for text in found)


class Percent:
    """The share of a shelf that has vectors."""

    def __init__(self, percent: int) -> None:
        self._percent = percent

    async def __call__(self, space: str, shelf: str) -> int:
        return self._percent


DOUBTFUL = "What does a wagon cost?"
"""Of which the book says that waiting costs a coin."""


async def test_without_a_model_an_uncertain_answer_is_shown_as_a_guess(tmp_path: Path) -> None:
    async with opened(tmp_path) as bench:
        events = await asked(bench, DOUBTFUL)
        text = "".join(event.text for event in events if isinstance(event, Text))
        assert text.index("Closest passages") < text.index("Waiting costs a coin")
        assert [event.n for event in events if isinstance(event, Citation)]


async def test_a_question_that_an_earlier_release_began_without_a_model_is_quoted(tmp_path: Path) -> None:
    question = "How long does a candle burn while walking?"
    async with opened(tmp_path) as bench:
        run = MemoryRun()
        run.request = replace(run.request, text=question)
        snapshot = await snapshots(bench).take(run.request, AttachedTexts())
        run.kept["snapshot"] = replace(snapshot, cites=True)
        events = [event async for event in asking(bench).run(run)]
        assert events == await asked(bench, question)


async def test_a_model_judges_an_uncertain_answer_and_may_reject_it(tmp_path: Path) -> None:
    doubt = words("en")("rules.doubtful")
    async with opened(tmp_path, "answerer") as bench:
        bench.answers.append(Reply(pieces=["Waiting costs a coin [1]."]))
        events = await asked(bench, DOUBTFUL)
        assert Notice(doubt) in events
        bench.answers.append(Reply(pieces=["The passages do not say what a wagon costs."]))
        declined = await asked(bench, DOUBTFUL)
        text = "".join(event.text for event in declined if isinstance(event, Text))
        assert "do not say" in text
        assert "Waiting" not in text
        assert not [event for event in declined if isinstance(event, Citation)]
        bench.answers.append(Reply(pieces=["A candle burns four hours while walking [1]."]))
        sure = await asked(bench, "How long does a candle burn while walking?")
        assert Notice(doubt) not in sure


async def test_a_model_translates_a_question_into_the_books_language(tmp_path: Path) -> None:
    questions = [
        ("nl", "Hoe lang brandt een kaars tijdens het lopen?"),
        ("pl", "Jak długo pali się świeca?"),
        ("ru", "Сколько горит свеча?"),
        ("zh", "蜡烛能烧多久？"),
        ("ja", "ろうそくはどのくらい燃えますか"),
        ("ar", "كم من الوقت تحترق الشمعة؟"),
    ]
    async with opened(tmp_path) as bench:
        for language, question in questions:
            bench.answers.append({"question": question, "translations": ["How long does a candle burn?"]})
            events = await asked(bench, question)
            text = "".join(event.text for event in events if isinstance(event, Text))
            assert "A candle burns four hours" in text, question
            run = MemoryRun()
            snapshot = await snapshots(bench).take(replace(run.request, text=question), AttachedTexts())
            assert snapshot.language == language
            told = answer_prompt(snapshot, [], Pictures())
            assert "the language of the question" in told.system + told.messages[0].text
        assert bench.service.calls == len(questions)
