"""How well passages are found: recall, rank and time over a file of questions, and which of them failed.

Independent of shelves: it gets a search to await. A passage matches a gold when it comes from that source and contains
the quote; both are compared in lower case with only letters and digits. A question without golds is a stranger:
refusing it is right.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.events import UserError

_CHARS = 4000
_OTHER = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Gold:
    source: str
    quote: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its golds. `more` is the rest of its line, for callers who search by it."""

    id: str
    query: str
    gold: tuple[Gold, ...]
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that a search returned, as an answerer would get it."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """One search: its passages, and whether it was confident enough to answer from them, or to show them as a guess."""

    passages: Sequence[Passage]
    confident: bool
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one question. `recall_4k` counts the first 4,000 characters returned, so that larger passages gain
    nothing.

    Recall is that of the ranked passages, `confident` or not. `ranks`: that of each gold, from 1; None if not found.
    """

    recall_5: float
    recall_10: float
    recall_4k: float
    reciprocal_rank: float
    chars_5: int
    seconds: float
    confident: bool
    ranks: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that failed: a gold not in the first five (`ranks`, from 1), refused, only guessed, or a stranger
    answered.
    """

    id: str
    query: str
    stranger: bool
    refused: bool
    guessed: bool
    ranks: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an evaluation. `figures` are those of `summary`, and guessed: the share of questions whose passages
    are shown as a guess; refused is then without them. If there are strangers, also strangers (their number),
    strangers_answered and strangers_guessed (shares).

    `failures`: strangers answered, then questions refused, guessed, and those that lack a passage; in the file's order.
    """

    figures: dict[str, float]
    failures: list[Failure]


Search = Callable[[Question], Awaitable[SearchOutcome]]


def read_lines(path: Path) -> list[str]:
    """The lines of the file. Raises UserError: "eval.no_file", "eval.unreadable"."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise UserError("eval.no_file", path=str(path)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError("eval.unreadable", path=str(path)) from error


def read_questions(path: Path) -> list[Question]:
    """The questions of a JSON Lines file. Raises UserError: see `read_lines`, or "eval.line" with its number."""
    questions = []
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            gold = tuple(Gold(str(entry["source"]), str(entry["quote"])) for entry in row["gold"])
            more = {name: value for name, value in row.items() if name not in ("id", "query", "gold")}
            questions.append(Question(str(row.get("id", number)), str(row["query"]), gold, more))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError("eval.line", path=str(path), line=number) from error
    if not questions:
        raise UserError("eval.unreadable", path=str(path))
    return questions


def bare(text: str) -> str:
    """The text in lower case with only letters and digits."""
    return _OTHER.sub("", text.lower())


def score(
    gold: Sequence[Gold], passages: Sequence[Passage], seconds: float = 0.0, *, confident: bool = True
) -> Scores:
    """One question's scores; recall is the share of its golds found."""
    texts = [bare(passage.text) for passage in passages]
    ranks: list[int | None] = []
    found_within = 0
    for expected in gold:
        quote = bare(expected.quote)
        rank = next(
            (at for at, text in enumerate(texts) if passages[at].source == expected.source and quote in text),
            None,
        )
        ranks.append(rank)
        room = _CHARS
        for passage in passages:
            if room <= 0:
                break
            if passage.source == expected.source and quote in bare(passage.text[:room]):
                found_within += 1
                break
            room -= len(passage.text)
    count = len(gold) or 1
    found_ranks = [rank for rank in ranks if rank is not None]
    return Scores(
        recall_5=sum(rank < 5 for rank in found_ranks) / count,
        recall_10=sum(rank < 10 for rank in found_ranks) / count,
        recall_4k=found_within / count,
        reciprocal_rank=1 / (1 + min(found_ranks)) if found_ranks else 0.0,
        chars_5=sum(len(passage.text) for passage in passages[:5]),
        seconds=seconds,
        confident=confident,
        ranks=tuple(None if rank is None else rank + 1 for rank in ranks),
    )


async def evaluate(questions: Sequence[Question], search: Search) -> Report:
    """Ask all questions, one after another."""
    rows: list[Scores] = []
    answered: list[bool] = []
    guesses: list[bool] = []
    strange_guesses: list[bool] = []
    failures: list[Failure] = []
    for question in questions:
        began = time.perf_counter()
        result = await search(question)
        spent = time.perf_counter() - began
        stranger = not question.gold
        row = score(question.gold, result.passages, spent, confident=result.confident)
        if stranger:
            answered.append(result.confident)
            strange_guesses.append(result.doubtful)
        else:
            rows.append(row)
            guesses.append(result.doubtful)
        if result.confident if stranger else row.recall_5 < 1 or not result.confident:
            refused = not (result.confident or result.doubtful)
            failures.append(
                Failure(question.id, question.query, stranger, refused, result.doubtful, row.ranks)
            )
    figures = summary(rows)
    figures["guessed"] = sum(guesses) / (len(guesses) or 1)
    figures["refused"] -= figures["guessed"]
    if answered:
        figures |= {"strangers": len(answered), "strangers_answered": sum(answered) / len(answered)}
        figures["strangers_guessed"] = sum(strange_guesses) / len(answered)
    failures.sort(key=lambda failure: (not failure.stranger, not failure.refused, not failure.guessed))
    return Report(figures, failures)


def summary(rows: Sequence[Scores]) -> dict[str, float]:
    """recall@5, recall@10, recall@4k, mrr, chars@5 (means), refused (share not confident), p50_ms, p95_ms, n."""
    count = len(rows) or 1
    times = sorted(row.seconds * 1000 for row in rows) or [0.0]
    return {
        "recall@5": sum(row.recall_5 for row in rows) / count,
        "recall@10": sum(row.recall_10 for row in rows) / count,
        "recall@4k": sum(row.recall_4k for row in rows) / count,
        "mrr": sum(row.reciprocal_rank for row in rows) / count,
        "chars@5": sum(row.chars_5 for row in rows) / count,
        "refused": sum(not row.confident for row in rows) / count,
        "p50_ms": times[len(times) // 2],
        "p95_ms": times[min(len(times) - 1, int(0.95 * len(times)))],
        "n": len(rows),
    }
