"""Compares how we and another library read each kind of file: headings, words, tables, time; and imported
stories.

    SUTRADHAR_BENCH_PEERS=PYTHON python -m benchmarks.kinds

The files are those of `tests/readers/files`, which other programs wrote, and scripts and stories that their tests have.
PYTHON is the interpreter of a venv with the peers (see `peers`); without it only our own counts are printed.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.figures import Figure
from bot.events import UserError
from bot.readers.sandbox import Sandbox
from bot.works.story.exchange.passages import Destination
from bot.works.story.exchange.reading import Strangers

ROOT: Final = Path(__file__).resolve().parents[1]
FILES: Final = ROOT / "tests" / "readers" / "files"
BOOKS: Final = (
    "libreoffice.docx", "libreoffice-marks.odt", "libreoffice-marks.rtf", "harbour.rtf", "python-pptx.pptx",
    "libreoffice.odp", "openpyxl.xlsx", "libreoffice.xlsx", "libreoffice.ods", "harbour.csv", "nbformat.ipynb",
    "harbour.rst", "harbour.adoc", "harbour.vtt",
)  # fmt: skip
_RULE: Final = re.compile(r"^\|(?: ?:?-+:? ?\|)+$", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        files = [FILES / name for name in BOOKS] + list(made(Path(folder)))
        peers = counted(files)
        for file in files:
            yield asyncio.run(book(file.name, file.read_bytes(), peers.get(str(file))))
        yield from asyncio.run(stories())


def made(folder: Path) -> Iterator[Path]:
    """Captions, a table and scripts from the tests."""
    from tests.readers import test_screenplay_programs as programs
    from tests.works.script.test_answer import FERRY

    texts: dict[str, str | bytes] = {
        "harbour.srt": "1\n00:00:01,000 --> 00:00:03,000\n<i>The tide</i> turns at noon.\n\n2\n00:00:04,000 --> "
        "00:00:06,000\nNobody crosses then.\n",
        "harbour.tsv": "tide\thour\nhigh\t6\nlow\t12\n",
        "ferry.fountain": FERRY,
        "pier.osf": programs.FADE_IN,
        "pier.fadein": programs.packed(document_dot_xml=programs.FADE_IN),
        "sea.celtx": programs.packed(
            project_dot_rdf="<x/>", **{"script-a.html": programs.page(programs.CELTX)}
        ),
        "sea.trelby": programs.TRELBY,
        "sea.highland": programs.packed(**{"sea.textbundle/text.md": "EXT. SEA - DAY\n\nANA\nWait.\n"}),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        yield folder / name


def counted(files: list[Path]) -> dict[str, list[Any]]:
    """The other libraries' counts, by file path."""
    python = os.environ.get("SUTRADHAR_BENCH_PEERS")
    if not python:
        return {}
    command = [python, str(ROOT / "benchmarks" / "peers.py"), *map(str, files)]
    told: dict[str, list[Any]] = json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    )
    return told


async def book(name: str, data: bytes, peer: list[Any] | None) -> Figure:
    from benchmarks.formats import parsed

    took = await parsed(name, data)
    document = await Sandbox().read(name, data)
    ours = (
        sum(section.level > 0 for section in document.sections),
        len(_WORD.findall(document.text)),
        len(_RULE.findall(document.text)),
    )
    shown = " / ".join(map(str, ours))
    if peer is not None:
        theirs = " / ".join("–" if count is None else str(count) for count in peer[1:])
        shown += f"; {peer[0]}: {theirs}"
    return Figure(
        f"{name}: headings / words / tables", f"{shown}; {took.seconds:.1f} s, {took.peak_mb:.0f} MB", "≤ 600 MB",
        "", took.peak_mb <= 600,
    )  # fmt: skip


async def stories() -> Iterator[Figure]:
    """Two thousand turns for each program whose stories are read; the number of passages written and read."""
    from tests.works.story.exchange import test_other_programs as programs

    said = [f"The tide turns for the {n}th time, and somebody knocks at the door." for n in range(2_000)]
    trees: dict[str, Any] = {
        "KoboldAI": programs.of_kobold(1, *said),
        "AI Dungeon": {
            "title": "T", "memory": "", "authorsNote": "", "storyCards": [], "prompt": "",
            "actions": [{"text": text, "type": "continue"} for text in said],
        },
        "Agnai": {**programs.CHAT, "messages": [{"handle": "Bo", "userId": "u", "msg": text} for text in said]},
        "DiscordChatExporter": {
            **programs.DISCORD,
            "messages": [{**programs.message(1, text), "id": str(n + 1)} for n, text in enumerate(said)],
        },
    }  # fmt: skip
    rows = []
    for name, tree in trees.items():
        began = asyncio.get_running_loop().time()
        data = json.dumps(tree).encode()
        try:
            found: Any = await Strangers().found(
                data, "a.json", Destination("local", "", "Ana"), lambda done, total: None
            )
        except UserError as error:
            rows.append(Figure(f"{name}: passages of {len(said)}", error.key, good=False))
            continue
        bodies = [json.loads(node.body).get("text") for node in found.nodes if node.kind in ("act", "scene")]
        kept = sum(text in said for text in bodies)
        took = asyncio.get_running_loop().time() - began
        rows.append(
            Figure(f"{name}: passages of {len(said)}", f"{kept}; {took:.1f} s", "all", "", kept == len(said))
        )
    return iter(rows)


def main() -> int:
    for figure in figures():
        print(
            f"| {figure.what} | {figure.measured}{'' if figure.good is not False else ' **misses**'} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
