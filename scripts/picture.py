"""Draws docs/session.svg: the terminal's screen in a real session.

Runs the bot under a pseudo-terminal, types the lines, and draws the last screen, colours included.
"""

from __future__ import annotations

import os
import sys
import tempfile
from html import escape
from pathlib import Path

import pexpect
import pyte

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "session.svg"
Style = tuple[str, bool, bool]
"""Colour, bold, struck through."""

COLUMNS, ROWS = 112, 34
WIDE, HIGH, MARGIN = 8.4, 18, 16
PROMPT = "› "
TYPED = (
    "/rules ask How far does a lit lantern show things?",
    "/rules roll 4d6kh3",
)
COLOURS = {
    "default": "#d7dae0",
    "black": "#5c6370",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#d7dae0",
}


def screen() -> pyte.Screen:
    """The terminal after everything was typed and answered."""
    shown = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(shown)
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "LOGNAME": "keeper",
            "SUTRADHAR_LOCALE": "en",
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            # Empty variables hide those of the environment and of .env.
            "ANTHROPIC_API_KEY": "",
            "OPENAI_API_KEY": "",
        }
        bot = ["-m", "bot", "--data", folder]
        book = ["library", "add", "examples/lanterns.md", "--shelf", "rules"]
        pexpect.run(
            f"{sys.executable} {' '.join([*bot, *book])}",
            cwd=str(ROOT),
            env=os.environ | environ,
            timeout=120,
        )
        child = pexpect.spawn(
            sys.executable,
            [*bot, "chat"],
            cwd=str(ROOT),
            env=os.environ | environ,
            dimensions=(ROWS, COLUMNS),
            encoding="utf-8",
            timeout=60,
        )
        _feed(child, shown, stream, 3.0)
        for line in TYPED:
            child.send(line)
            _feed(child, shown, stream, 1.0)
            child.send("\r")
            _feed(child, shown, stream, 4.0)
        child.close(force=True)
    return shown


def _feed(child: pexpect.spawn[str], shown: pyte.Screen, stream: pyte.Stream, quiet_s: float) -> None:
    """Feed output to the screen until none has come for `quiet_s` seconds; cursor queries are answered."""
    while True:
        try:
            text = child.read_nonblocking(65_536, quiet_s)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return
        stream.feed(text)  # first, so that the cursor is where the query found it
        if "\x1b[6n" in text:
            child.send(f"\x1b[{shown.cursor.y + 1};{shown.cursor.x + 1}R")


def drawn(shown: pyte.Screen) -> str:
    """Draw the screen as SVG."""
    used = [row for row in range(ROWS) if shown.display[row].strip()]
    height = (max(used, default=0) + 1) * HIGH + 2 * MARGIN
    width = COLUMNS * WIDE + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">',
        '<rect width="100%" height="100%" rx="8" fill="#21252b"/>',
        '<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">',
    ]
    for row in used:
        y = MARGIN + row * HIGH + 14
        spans = "".join(_span(text, style) for text, style in _runs(shown, row))
        lines.append(f'<text x="{MARGIN}" y="{y}">{spans}</text>')
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _runs(shown: pyte.Screen, row: int) -> list[tuple[str, Style]]:
    runs: list[tuple[str, Style]] = []
    for column in range(len(shown.display[row].rstrip())):
        cell = shown.buffer[row][column]
        colour = COLOURS.get(cell.fg, f"#{cell.fg}" if len(cell.fg) == 6 else COLOURS["default"])
        style = (colour, cell.bold, cell.strikethrough)
        if runs and runs[-1][1] == style:
            runs[-1] = (runs[-1][0] + cell.data, style)
        else:
            runs.append((cell.data, style))
    return runs


def _span(text: str, style: Style) -> str:
    colour, bold, struck = style
    weight = ' font-weight="bold"' if bold else ""
    weight += ' text-decoration="line-through"' if struck else ""
    return f'<tspan fill="{colour}"{weight}>{escape(text)}</tspan>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(screen()), encoding="utf-8")
