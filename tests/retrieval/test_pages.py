"""The page of a citation is the one on which its words begin, however much text was added around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.config import load
from bot.events import Citation
from bot.readers.document import Document
from bot.readers.writer import PAGE, Writer
from bot.resources import Resources
from bot.retrieval.chunk import chunks
from bot.retrieval.lexical import Segment
from bot.retrieval.results import Passage
from bot.works.rules.work import Rules
from storage.db import new_id
from storage.document_rows import NewDocument
from tests.fakes import migrated
from tests.fakes.run import MemoryRun

WALLS = ("northern", "eastern", "southern", "western", "inner", "outer")


def paged() -> Document:
    """A preface on page 1, a chapter on pages 2 to 8 with a wall on each but the last, a blank page, another on 10."""
    writer = Writer()
    writer.page()
    writer.paragraph("A preface that says who paid for it.")
    writer.page()
    writer.heading(1, "The walls")
    for n, wall in enumerate(WALLS):
        if n:
            writer.page()
        # Its second sentence is split between two pages.
        broken = PAGE if wall == "outer" else ""
        writer.paragraph(
            f"The {wall} wall has {n + 2} gates. Whoever passes the {wall} one at night {broken}has to name the "
            f"{wall} watchman and pay him a coin."
        )
    writer.page()
    writer.page()
    writer.heading(1, "The moat")
    writer.paragraph("The moat holds pike, and nobody fishes there.")
    return writer.document("The Fortress")


@asynccontextmanager
async def fortress(folder: Path, child_chars: int, parent_chars: int) -> AsyncIterator[Resources]:
    (folder / "config.toml").write_text(
        f'[retrieval]\nchild_chars = {child_chars}\nparent_chars = {parent_chars}\n[embedding]\nmodel = "none"\n',
        encoding="utf-8",
    )
    document = paged()
    parts = chunks(document, child_chars=child_chars, parent_chars=parent_chars)
    resources = await Resources.open(
        load(folder / "config.toml", migrated.folder(folder / "data"), environ={})
    )
    try:
        await resources.records.documents.add(
            NewDocument(
                id=new_id(),
                space="local",
                shelf="rules",
                source="fortress.pdf",
                title=document.title,
                language="en",
                sha256="",
                size=1,
                text=document.text,
                sections=document.sections,
                chunks=parts,
                links=document.links,
                segment=Segment.build(parts, "en").to_bytes(),
                pages=document.pages,
            )
        )
        yield resources
    finally:
        await resources.close()


def where(passages: Sequence[Passage], words: str) -> int | None:
    (match,) = [passage for passage in passages if words in passage.text]
    return match.page_of(words)


@pytest.mark.parametrize(
    ("child_chars", "parent_chars"),
    [(160, 160), (400, 400), (160, 800), (160, 2000), (800, 2000)],
    ids=["a chunk a page", "chunks over pages", "grown", "grown far", "large"],
)
async def test_a_quote_has_the_page_on_which_it_begins(
    tmp_path: Path, child_chars: int, parent_chars: int
) -> None:
    async with fortress(tmp_path, child_chars, parent_chars) as resources:
        for n, wall in enumerate(WALLS):
            quote = f"Whoever passes the {wall} one at night"
            result = (await resources.library.search("local", "rules", quote + "?", lookup=False)).passages
            assert where(result, f"The {wall} wall has {n + 2} gates.") == n + 2
            assert where(result, quote) == n + 2
            assert where(result, f"{wall} watchman and pay him a coin.") == n + 2 + (wall == "outer")
            assert all(one.page_of("words that stand nowhere") == one.page for one in result)
        result = (
            await resources.library.search("local", "rules", "Who fishes for pike in the moat?")
        ).passages
        assert where(result, "The moat holds pike") == 10


@pytest.mark.parametrize(("name", "page"), [("The walls", 2), ("The moat", 10)])
async def test_a_looked_up_section_has_its_first_page(tmp_path: Path, name: str, page: int) -> None:
    nobody: Any = _Silent()
    run = MemoryRun()
    async with fortress(tmp_path, 160, 160) as resources:
        run.request = replace(run.request, verb="lookup", text=name)
        rules = Rules(nobody, resources.library, nobody, nobody, nobody, nobody)
        cited = [event async for event in rules.run(run) if isinstance(event, Citation)]
        passage = (await resources.library.search("local", "rules", name)).passages[0]
        seen = await resources.library.section_of("local", passage.chunk)
    assert [(citation.heading, citation.page) for citation in cited] == [(name, page)]
    assert seen is not None
    assert seen.page == page


class _Silent:
    run: Any = None
    adopt: Any = None
