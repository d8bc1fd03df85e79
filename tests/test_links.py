"""The pages have no dead link inside the repository, and the site's navigation has every page once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def pages() -> list[Path]:
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").glob("README.md")),
    ]


def prose(text: str) -> str:
    """The page without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"(?ms)^```.*?^```", "", text))


def anchor(heading: str) -> str:
    """The anchor that GitHub makes from a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().casefold()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    return frozenset(map(anchor, re.findall(r"(?m)^#+ (.+)$", text))) | frozenset(
        re.findall(r'id="([^"]+)"', text)
    )


def dead(page: Path, text: str) -> Iterator[str]:
    for target in LINK.findall(prose(text)):
        if ELSEWHERE.match(target):
            continue
        path, _, place = target.partition("#")
        file = (page.parent / unquote(path)).resolve() if path else page
        if not file.exists() or (place and file.suffix == ".md" and place not in anchors(file)):
            yield f"{page.relative_to(ROOT)}: {target}"


def test_a_dead_link_is_found() -> None:
    page = ROOT / "docs" / "index.md"
    written = "[a](absent.md) [b](hosting.md#absent) [c](hosting.md#docker) ![d](session.svg) `[e](code.md)`"
    assert list(dead(page, written)) == ["docs/index.md: absent.md", "docs/index.md: hosting.md#absent"]


def test_no_page_has_a_dead_link() -> None:
    assert len(pages()) > 30
    assert [fault for page in pages() for fault in dead(page, page.read_text(encoding="utf-8"))] == []


def in_nav(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values():
            yield from in_nav(value) if isinstance(value, list) else [value]


def test_the_navigation_of_the_site_has_every_page_once() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    there = sorted(page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))
    assert sorted(in_nav(site["nav"])) == there
