"""Measures what a book loses in each format: recall and cited pages of one text as Markdown, HTML, EPUB, DOCX
and PDF.

    SUTRADHAR_BENCH_DATA=DIR python -m benchmarks.formats [FOLDER [ENDING ...]]

`scripts.books` makes the files from the SRD's Markdown and records what is on each page; with FOLDER they stay there
for the next run. Each file is added through the command line to a separate shelf and searched by words alone, because
vectors would hide some of what a reader loses.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from benchmarks.bench_env import PYTHON, lacking
from benchmarks.figures import Figure, data, skipped
from bot.config import load
from bot.events import UserError
from bot.readers.sandbox import Sandbox
from bot.resources import Resources
from bot.retrieval.evaluate import Gold, Question, bare, read_questions, score, summary
from bot.retrieval.evaluate import Passage as Judged
from bot.retrieval.results import Passage

ROOT = Path(__file__).resolve().parents[1]
BOOKS = (".html", ".epub", ".docx", ".pdf", "-plain.pdf", "-columns.pdf")
SHARE, RIGHT, SECONDS, MEGABYTES = 0.97, 0.98, 60, 600
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Parsed:
    """One file, parsed as the bot parses it, in a separate process, which `cpu_s` and `peak_mb` measure (0:
    unknown).
    """

    seconds: float
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A book's recall on the set's questions; and how many of its citations with a page name the right one."""

    recall_5: float
    recall_10: float
    right: int
    cited: int


def figures() -> Iterator[Figure]:
    from benchmarks.kinds import figures as of_every_kind

    yield from of_every_kind()
    label = "the SRD as HTML, EPUB, DOCX and PDF"
    folder = data("rules-en-srd51")
    if folder is None:
        yield skipped(label)
    elif why := lacking():
        yield Figure(label, why)
    else:
        with tempfile.TemporaryDirectory() as folder_of_books:
            yield from compared(folder, Path(folder_of_books))


def compared(folder: Path, books: Path, endings: Sequence[str] = BOOKS) -> Iterator[Figure]:
    """Every format's figures compared with Markdown's; missing books are made in `books`."""
    original = next((folder / "corpus").iterdir())
    questions = read_questions(folder / "questions.jsonl")
    name = original.stem
    if not (books / f"{name}{BOOKS[-1]}").exists():
        subprocess.run([PYTHON, "-m", "scripts.books", books, original], cwd=ROOT, check=True)
    plain = asked(original, questions)
    yield Figure(f"{original.suffix}: recall@5, @10", f"{plain.recall_5:.3f}, {plain.recall_10:.3f}")
    for ending in endings:
        book = books / f"{name}{ending}"
        try:
            took = asyncio.run(parsed(book.name, book.read_bytes()))
        except UserError as error:
            yield Figure(f"{ending}: parsed in, peak", f"refused: {error.key}", "", "", good=False)
            continue
        pages = f", {len(truth(book))} pages" if truth(book) else ""
        yield Figure(
            f"{ending}{pages}: parsed in, peak",
            f"{took.seconds:.1f} s ({took.cpu_s:.1f} s of processor), {took.peak_mb:.0f} MB",
            f"≤ {SECONDS} s, ≤ {MEGABYTES} MB",
            "",
            took.seconds <= SECONDS and took.peak_mb <= MEGABYTES,
        )
        results = asked(book, questions)
        share = results.recall_5 / plain.recall_5
        yield Figure(
            f"{ending}: recall@5 (share of {original.suffix}'s), @10",
            f"{results.recall_5:.3f} ({share:.1%}), {results.recall_10:.3f}",
            f"≥ {SHARE:.0%}",
            "",
            share >= SHARE,
        )
        if results.cited:
            right = results.right / results.cited
            shown = f"{results.right} of {results.cited} ({right:.1%})"
            yield Figure(
                f"{ending}: citations with the right page", shown, f"≥ {RIGHT:.0%}", "", right >= RIGHT
            )


def truth(book: Path) -> list[str]:
    """The text drawn on each page; empty for a format without pages."""
    file = book.with_name(f"{book.name}.pages.json")
    return list(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else []


async def parsed(name: str, data: bytes) -> Parsed:
    """The seconds include the process's start; memory is measured every few hundredths of a second."""
    began = time.perf_counter()
    reading = asyncio.create_task(Sandbox().read(name, data))
    cpu = peak = 0.0
    while not reading.done():
        await asyncio.wait([reading], timeout=0.03)
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                used = child.cpu_times()
                cpu, peak = max(cpu, used.user + used.system), max(peak, _high_water(child.pid))
    await reading
    return Parsed(time.perf_counter() - began, cpu, peak)


def _high_water(pid: int) -> float:
    """The peak in MB according to Linux (proc_pid_status(5), VmHWM); 0 on other systems."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        return 0.0


def asked(book: Path, questions: Sequence[Question]) -> Asked:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.toml"
        config.write_text('[embedding]\nmodel = "none"\n', encoding="utf-8")
        command = [sys.executable, "-m", "bot", "--config", str(config), "--data", folder]
        subprocess.run(
            [*command, "library", "add", str(book), "--shelf", "book"],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return asyncio.run(_asked(Path(folder), config, book, questions))


async def _asked(folder: Path, config: Path, book: Path, questions: Sequence[Question]) -> Asked:
    pages = Pages(truth(book))
    rows = []
    right = cited = 0
    resources = await Resources.open(load(config, data=folder, environ=os.environ))
    try:
        for question in questions:
            gold = [replace(local_gold, source=book.name) for local_gold in question.gold]
            passages = (await resources.library.search("local", "book", question.query)).passages
            rows.append(score(gold, [Judged(passage.source, passage.text) for passage in passages]))
            for gold_quote in gold:
                if (named := page_cited(gold_quote, passages)) and (true := pages.of(gold_quote.quote)):
                    cited += 1
                    right += named == true
    finally:
        await resources.close()
    totals = summary(rows)
    return Asked(totals["recall@5"], totals["recall@10"], right, cited)


def page_cited(gold: Gold, passages: Sequence[Passage]) -> int | None:
    """The page cited for the gold's words: that of the first passage with these words."""
    bare_quote = bare(gold.quote)
    for passage in passages:
        if bare_quote in bare(passage.text):
            return passage.page_of(verbatim(passage.text, bare_quote))
    return None


def verbatim(text: str, bare_quote: str) -> str:
    """The part of `text` whose letters and digits are those of `bare_quote`."""
    places = [at for word in _WORD.finditer(text) for at in range(word.start(), word.end())]
    # One character may become several in lower case; each keeps its place.
    spread = [at for at in places for _ in text[at].lower()]
    begins = "".join(text[at].lower() for at in places).index(bare_quote)
    return text[spread[begins] : spread[begins + len(bare_quote) - 1] + 1]


class Pages:
    """Finds the page on which a text begins, if the text occurs once in the book."""

    def __init__(self, drawn: Sequence[str]) -> None:
        self._whole = ""
        self._starts: list[int] = []
        for page in drawn:
            self._starts.append(len(self._whole))
            self._whole += bare(page)

    def of(self, quote: str) -> int | None:
        """The page number from 1; None for a text that occurs never or several times."""
        bare_quote = bare(quote)
        if self._whole.count(bare_quote) != 1:
            return None
        at = self._whole.index(bare_quote)
        return sum(start <= at for start in self._starts)


def main(arguments: list[str]) -> int:
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    folder = data("rules-en-srd51")
    if folder is None or not arguments:
        rows = figures()
    else:
        rows = compared(folder, Path(arguments[0]), arguments[1:] or BOOKS)
    for figure in rows:
        print(
            f"| {figure.what} | {figure.measured}{'' if figure.good is not False else ' **misses**'} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
