"""Measures screenplays: exact counts, and the time for reading, search, reports and a new draft.

Times are processor times, so that other work on the machine does not count.

SUTRADHAR_BENCH_DATA=DIR make bench ARGS=script
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.figures import Figure, data, skipped
from benchmarks.times import ms, p95
from bot.config import load
from bot.models import present
from bot.readers.sandbox import Sandbox
from bot.readers.screenplay import final_draft
from bot.readers.screenplay.elements import Screenplay
from bot.readers.screenplay.fountain import fountain
from bot.retrieval import embedding
from bot.words import words
from bot.works.script import analysis, likeness
from bot.works.script.analysis import Analysis, Card
from bot.works.script.export import fountain as written
from bot.works.script.model import Script, script
from bot.works.script.report_events import report_events
from bot.works.script.scene_search import SceneSearch
from bot.works.script.tools import ScriptTools

SCENES: Final = 2_000
CALLS: Final = 300
FIRST: Final = 5
CHANGED, OF = 5, 150
NAMES: Final = tuple(f"{name} {n}" for name in ("ADA", "BO", "CLARA", "DAVI", "ÉLODIE") for n in "ABCDEFGH")
WORDS: Final = tuple(
    f"{stem}{end}"
    for stem in (
        "lamp",
        "harb",
        "rope",
        "stor",
        "lett",
        "gull",
        "anch",
        "stai",
        "wind",
        "lant",
        "tide",
        "bell",
    )
    for end in (
        "ado",
        "erin",
        "ost",
        "ual",
        "imen",
        "ork",
        "ulla",
        "eth",
        "ingo",
        "ary",
        "ocks",
        "ule",
        "asp",
        "ine",
    )
)
REFERENCE: Final = {
    "synthetic/synthetic_tide.fdx": (120, 1_007, 495, 4),
    "mit_screenplay_tools/TestFDX-FD.fdx": (2, 5, 4, None),
    "mit_screenplay_tools/TestFDX-FI.fdx": (2, 5, 4, None),
    "mit_screenplain_tests/dual-dialogue.fdx": (None, None, 2, 1),
}
"""Scenes, eighths, cues and dual dialogues, as the data's README has them; None where it says nothing."""


def made(scenes: int, seed: int = 1) -> str:
    """A script in Fountain: a page and more a scene, drawn with a seed."""
    draw = random.Random(seed)
    parts = ["Title: Long\n"]
    for n in range(scenes):
        place = f"{draw.choice(WORDS)} {n % 70}".upper()
        parts.append(f"{draw.choice(('INT.', 'EXT.'))} {place} - {draw.choice(('DAY', 'NIGHT'))}")
        for _ in range(draw.randint(2, 6)):
            speech = " ".join(draw.choices(WORDS, k=14))
            parts += [" ".join(draw.choices(WORDS, k=25)) + ".", f"{draw.choice(NAMES)}\n{speech}?"]
    return "\n\n".join(parts) + "\n"


def read(file: Path) -> Screenplay:
    document = final_draft.read(file.name, file.read_bytes(), lambda done, total: None)
    assert document.screenplay is not None
    return document.screenplay


def figures() -> Iterator[Figure]:
    yield from counts()
    text = made(SCENES)
    yield from parsing(text)
    long = script(fountain(text))
    yield from tools(long)
    for label in (
        "the first report, which loads what draws",
        f"a report of {SCENES:,} scenes, with its pictures",
    ):
        began = time.process_time()
        report_events(long, "", words("en"))
        spent = time.process_time() - began
        yield Figure(f"{label}, processor", f"{spent:.1f} s", "≤ 3 s", "", spent <= 3)
    yield draft()
    yield from recall(long)


def recall(long: Script) -> Iterator[Figure]:
    """The cost of a search by words and meaning in the long script, with random vectors; and its recall for a
    short script and our own questions, two thirds of which share no telling word with their scene.
    """
    made_here = Path(__file__).parent / "data"
    salt = script(fountain((made_here / "salt_road.fountain").read_text(encoding="utf-8")))
    lines = (made_here / "salt_road.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    search = SceneSearch(salt)
    like: dict[str, Callable[[str], Any]] = {"words": lambda question: None}
    models = load(None).models_dir
    if present(models, "bge-small"):
        embedder = embedding.embedder("bge-small", models)
        assert embedder is not None
        vectors = likeness.SceneVectors(
            salt.scenes, likeness.scene_vectors(embedder, salt.scenes), embedder.dimensions
        )
        yield searched(long, embedder)
        like["words and meaning"] = lambda question: vectors.cosines(embedder.query(question))
    else:
        yield skipped("scenes found by words and meaning")
    for by, cosines in like.items():
        for kind, how_worded in (("words", "in the script's words"), ("meaning", "in other words")):
            asked_questions = [question for question in questions if question["kind"] == kind]
            rankings = [
                search.ranked(question["question"], FIRST, cosines=cosines(question["question"]))
                for question in asked_questions
            ]
            hits = sum(
                any(scene.number in question["scenes"] for _, scene in ranked)
                for question, ranked in zip(asked_questions, rankings, strict=True)
            )
            yield Figure(
                f"questions {how_worded}, by {by}: scene among the first {FIRST}",
                f"{hits} of {len(asked_questions)}",
                "",
            )


def searched(long: Script, embedder: embedding.Embedder) -> Figure:
    draw = np.random.default_rng(1)
    vectors_by_content = {}
    for scene in long.scenes:
        rows = draw.normal(size=(len(likeness.pieces(scene)), embedder.dimensions))
        vectors_by_content[scene.content] = (
            (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).tobytes()
        )
    vectors, search = (
        likeness.SceneVectors(long.scenes, vectors_by_content, embedder.dimensions),
        SceneSearch(long),
    )
    spent = []
    for n in range(CALLS):
        query = " ".join(long.scenes[n * SCENES // CALLS].text.split()[10:16])
        began = time.process_time()
        search.ranked(query, FIRST, cosines=vectors.cosines(embedder.query(query)))
        spent.append(time.process_time() - began)
    took = p95(spent)
    label = f"by words and meaning, the query's vector made each time, processor, p95 of {CALLS}"
    return Figure(label, ms(took), "≤ 50 ms", "", took <= 0.05)


def counts() -> Iterator[Figure]:
    if (folder := data("screenplay")) is None:
        yield skipped("the reference counts")
        return
    for name, expected in REFERENCE.items():
        read_now = script(read(folder / name))
        cues = sum(element.kind == "cue" for scene in read_now.scenes for element in scene.elements)
        cues += sum(element.kind == "cue" for element in read_now.opening)
        dual = sum(element.kind == "cue" and element.dual == 1 for element in read_now.opening)
        dual += sum(scene.dual for scene in read_now.scenes)
        eighths = sum(scene.eighths for scene in read_now.scenes)
        figures = (len(read_now.scenes), eighths, cues, dual)
        compared = tuple(have for have, want in zip(figures, expected, strict=True) if want is not None)
        reach = tuple(want for want in expected if want is not None)
        yield Figure(
            f"{Path(name).name}: scenes, eighths, cues, dual",
            " / ".join(map(str, compared)),
            " / ".join(map(str, reach)),
            "",
            compared == reach,
        )
    drafts = [script(read(file)) for file in sorted(folder.rglob("*.fdx"))]
    texts = [file.read_text(encoding="utf-8-sig") for file in sorted(folder.rglob("*.fountain"))]
    for source, scripts in (
        ("Final Draft", drafts),
        ("Fountain", [script(fountain(text)) for text in texts]),
    ):
        same, of = sum(map(_same, scripts)), len(scripts)
        yield Figure(f"Fountain out of {source}: files whose scenes read back the same", f"{same} of {of}",
                     f"{of} of {of}", "", same == of)  # fmt: skip


def _same(before: Script) -> bool:
    after = script(fountain(written(before)))
    return [scene.content for scene in after.scenes] == [scene.content for scene in before.scenes]


def parsing(text: str) -> Iterator[Figure]:
    began = _processor()
    document = asyncio.run(Sandbox().read("long.fountain", text.encode()))
    assert document.screenplay is not None
    script(document.screenplay)
    spent = _processor() - began
    read_so = f"{SCENES:,} scenes ({len(text) // 1_000:,} kB) read, their language told, processor"
    yield Figure(read_so, f"{spent:.2f} s", "< 2 s", "", spent < 2)
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_024
    yield Figure("… memory of the parser's process", f"{megabytes:.0f} MB", "≤ 200 MB", "", megabytes <= 200)


def _processor() -> float:
    """Seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def tools(long: Script) -> Iterator[Figure]:
    began = time.process_time()
    search = SceneSearch(long)
    yield Figure("… indexed by words, processor", f"{time.process_time() - began:.2f} s")
    spent = asyncio.run(_called(ScriptTools("long", long, search, Analysis({}, ()))))
    for name, values in spent.items():
        yield Figure(
            f"{name}, processor, p95 of {len(values)}", ms(p95(values)), "≤ 50 ms", "", p95(values) <= 0.05
        )


async def _called(tools: ScriptTools) -> dict[str, list[float]]:
    draw = random.Random(2)
    spent: dict[str, list[float]] = {}
    for _ in range(CALLS):
        number = draw.randint(1, SCENES)
        calls = {
            "get_scenes_context": tools.get_scenes_context([number, number // 2 + 1], 2),
            "get_character_scenes": tools.get_character_scenes(draw.choice(NAMES)),
            "search_script": tools.search_script(" ".join(draw.choices(WORDS, k=5)), {"setting": "INT"}),
            "analyze_pacing": tools.analyze_pacing(),
            "get_plot_threads": tools.get_plot_threads(),
            "get_scene_relationships": tools.get_scene_relationships(number),
        }
        for name, call in calls.items():
            began = time.process_time()
            await call
            spent.setdefault(name, []).append(time.process_time() - began)
    return spent


def draft() -> Figure:
    text = made(OF)
    before = script(fountain(text))
    scenes = text.split("\n\nINT. ")
    step = len(scenes) // CHANGED
    for n in range(CHANGED):
        scenes[n * step + 1] += "\n\nA line that was not there before."
    now = script(fountain("\n\nINT. ".join(scenes)))
    cards = {
        analysis.card_key(scene.content): analysis.body_of_card(Card("A card.")) for scene in before.scenes
    }
    paid = len(analysis.from_findings(now, cards).missing)
    return Figure(
        f"a draft with {CHANGED} changed scenes of {OF} pays for",
        f"{paid} analyses",
        str(CHANGED),
        "",
        paid == CHANGED,
    )
