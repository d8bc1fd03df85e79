"""Draws docs/seeds.svg, the recall of our design compared with two others, from the table in docs/retrieval-lab.md.

    python scripts/picture_seeds.py

Runs no benchmark: the picture shows the page's figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = DOCS / "retrieval-lab.md", DOCS / "seeds.svg"
HEADING = "## Compared with other designs"
MEASURES = ("recall@5", "recall@4k")
COLOURS = ("#2f6f4f", "#c9853b", "#8a8f98")
BACK, TEXT, FAINT, LINE = "#ffffff", "#22252a", "#6a7079", "#e3e5e8"
WIDTH, HIGH, LEFT, TOP, BAR, GAP = 880, 220, 44, 74, 26, 3

Row = dict[str, str]


def rows(page: str) -> list[Row]:
    """The rows of the first table below the heading, by column name."""
    below = page.split(f"\n{HEADING}\n", 1)[1]
    lines = [line for line in below.split("\n## ")[0].splitlines() if line.startswith("|")]
    head, _, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(head, cells, strict=True)) for cells in body if len(cells) == len(head)]


def drawn(table: list[Row]) -> str:
    """Draw two panels, one for each measure, with a group of bars for each set."""
    designs = list(dict.fromkeys(row["design"] for row in table))
    height = TOP + len(MEASURES) * (HIGH + 62)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
        f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>',
        '<g font-family="Helvetica, Arial, sans-serif" font-size="13">',
    ]
    x = LEFT
    for design, colour in zip(designs, COLOURS, strict=False):
        parts += [
            f'<rect x="{x}" y="16" width="14" height="14" fill="{colour}"/>',
            f'<text x="{x + 20}" y="28" fill="{TEXT}">{escape(design)}</text>',
        ]
        x += 48 + 7 * len(design)
    for at, measure in enumerate(MEASURES):
        parts += _panel(table, designs, measure, TOP + at * (HIGH + 62))
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _panel(table: list[Row], designs: list[str], measure: str, top: int) -> Iterator[str]:
    yield f'<text x="{LEFT}" y="{top - 16}" fill="{TEXT}" font-weight="bold">{escape(measure)}</text>'
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + HIGH * (1 - share)
        yield f'<line x1="{LEFT}" x2="{WIDTH - 16}" y1="{y}" y2="{y}" stroke="{LINE}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4}" fill="{FAINT}" text-anchor="end" font-size="11">{share:g}</text>'
    sets = list(dict.fromkeys(row["set"] for row in table))
    room = (WIDTH - 16 - LEFT) / len(sets)
    for at, name in enumerate(sets):
        left = LEFT + at * room + (room - len(designs) * (BAR + GAP)) / 2
        for bar, (design, colour) in enumerate(zip(designs, COLOURS, strict=False)):
            row = next((row for row in table if (row["set"], row["design"]) == (name, design)), None)
            if row is None:
                continue
            tall = HIGH * float(row[measure])
            x, y = left + bar * (BAR + GAP), top + HIGH - tall
            yield f'<rect x="{x:.0f}" y="{y:.1f}" width="{BAR}" height="{tall:.1f}" fill="{colour}"/>'
            shown = f"{float(row[measure]):.2f}".removeprefix("0")
            yield (
                f'<text x="{x + BAR / 2:.0f}" y="{y - 4:.1f}" fill="{TEXT}" text-anchor="middle" '
                f'font-size="11">{shown}</text>'
            )
        middle = LEFT + (at + 0.5) * room
        yield f'<text x="{middle:.0f}" y="{top + HIGH + 18}" fill="{TEXT}" text-anchor="middle">{escape(name)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(rows(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
