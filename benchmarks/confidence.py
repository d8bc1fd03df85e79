"""Fits the weights of evidence between two languages, `ABROAD` of bot.retrieval.confidence, by logistic
regression.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR SUTRADHAR_BENCH_CACHE=DIR python -m benchmarks.confidence

The data are Portuguese questions to two English rulebooks: questions that the book answers, and questions about other
books. The weights are fitted on the even questions; a table shows the results for the odd ones and the SRD's short
questions, with the current and the new weights.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import data
from benchmarks.retrieval import Corpus, ask, build, crosses, handed, kept_model, shared, with_other
from bot.retrieval.confidence import ABROAD, E5_SMALL, Evidence, features
from bot.retrieval.evaluate import Question, bare, read_questions, score
from bot.retrieval.ranking import Options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CFI, SRD = "cross-pt-en-cfi", "rules-en-srd51"
SHORT_CFI = Path(__file__).parent / "data" / "cfi.pt.jsonl"
SHORT_SRD = Path(__file__).parent / "data" / "srd51.pt.jsonl"
STRANGERS = ("faquad-pt", "rules-pt-fate")
WEIGHED = {"CFI, short": 2.0}
"""The weights of groups; other groups count as one."""

UNIT = 8.0  # this much of the log-odds is one share of the question, as within one language
_RIDGE = 0.01
_ROUNDS = 60


@dataclass(frozen=True)
class Case:
    """A question to a book: its group, its place there, what was found, and whether the book answers it."""

    group: str
    place: int
    evidence: Evidence
    answers: bool
    found: bool

    def row(self) -> list[float]:
        found = features(self.evidence, E5_SMALL)
        return [float(found[name]) for name in ABROAD]


def cases(group: str, corpus: Corpus, questions: Sequence[Question], *, own: bool) -> list[Case]:
    """One case for each question in a language other than the corpus's that the vectors weigh."""
    text = bare(" ".join(corpus.texts.values()))
    made = []
    for place, question in enumerate(questions):
        there = any(bare(gold.quote) in text for gold in question.gold)
        if there != own or (corpus.of, question.id) in shared() or not crosses(corpus, question.query):
            continue
        ranked, _ = ask(corpus, question.query, None, Options())
        evidence = ranked.evidence
        if evidence.foreign and evidence.likeness is not None and evidence.words and not evidence.title:
            found = own and score(question.gold, handed(corpus, ranked.hits, 0)).recall_5 > 0
            made.append(Case(group, place, evidence, own, found))
    return made


def fitted(chosen: Sequence[Case]) -> dict[str, float]:
    """The weights that best separate answered questions from unrelated ones; each group counts as one, or as
    in WEIGHED.
    """
    counts = Counter(case.group for case in chosen)
    x = np.array([case.row() for case in chosen])
    y = np.array([float(case.answers) for case in chosen])
    weight = np.array([200 * WEIGHED.get(case.group, 1.0) / counts[case.group] for case in chosen])
    spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    x = x / spread
    beta = np.zeros(x.shape[1])
    for _ in range(_ROUNDS):
        odds = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        slope = x.T @ (weight * (y - odds)) - _RIDGE * beta
        bend = (x * (weight * odds * (1 - odds))[:, None]).T @ x + _RIDGE * np.eye(len(beta))
        beta = beta + np.linalg.solve(bend, slope)
    return dict(zip(ABROAD, (beta / spread / UNIT).tolist(), strict=True))


def answered(chosen: Sequence[Case], weights: Mapping[str, float]) -> dict[str, float]:
    """The share of each group that gets a confident answer."""
    sums: dict[str, list[bool]] = {}
    for case in chosen:
        worth = sum(value * weight for value, weight in zip(case.row(), weights.values(), strict=True))
        sums.setdefault(case.group, []).append(worth >= 0)
    return {group: sum(told) / len(told) for group, told in sums.items()}


def main() -> int:
    """Print the weights and the table."""
    folders = {name: data(name) for name in (CFI, SRD, *STRANGERS)}
    model = kept_model("e5-enpt")
    if model is None or None in folders.values():
        print("skipped (needs SUTRADHAR_MODELS, and the sets in SUTRADHAR_BENCH_DATA)")
        return 0
    sets = {name: read_questions(folder / "questions.jsonl") for name, folder in folders.items() if folder}
    short = read_questions(SHORT_CFI)
    sets |= {
        "CFI, short": [question for question in short if question.gold],
        "nobody's": [question for question in short if not question.gold],
        "SRD, short": read_questions(SHORT_SRD),
    }
    books = {name: build(folder, None) for name in (CFI, SRD) if (folder := folders[name])}
    every = [question for questions in sets.values() for question in questions]
    with_other(list(books.values()), model, every)
    made: list[Case] = []
    for name, questions in ((CFI, sets[CFI]), ("CFI, short", sets["CFI, short"])):
        made += cases(name, books[CFI], questions, own=True)
    made += cases("SRD, short", books[SRD], sets["SRD, short"], own=True)
    for name in (*STRANGERS, "nobody's"):
        for book in (CFI, SRD):
            made += cases(f"{name} to {book}", books[book], sets[name], own=False)
    made += cases(f"{CFI} to {SRD}", books[SRD], sets[CFI], own=False)
    even = [case for case in made if case.place % 2 == 0]
    weights = fitted([case for case in even if case.group != "SRD, short" and case.answers == case.found])
    print(", ".join(f'"{name}": {weight:.2f}' for name, weight in weights.items()))
    print("\n| answered | n | in use: even | odd | fitted: even | odd |\n|---|---|---|---|---|---|")
    halves = [even, [case for case in made if case.place % 2]]
    told = [answered(half, used) for used in (ABROAD, weights) for half in halves]
    for group, count in Counter(case.group for case in made).items():
        print(f"| {group} | {count} | {' | '.join(f'{half.get(group, 0):.3f}' for half in told)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
