"""Rules of this project that a program can check.

Imports run one way, heavy ones are deferred, no file is too long, no machine is named.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.sources import imports

ROOT = Path(__file__).resolve().parents[1]

# From the edge inwards; a module imports from its own row and from the rows below it.
LAYERS = (
    ("bot.__main__", "bot.cli", "bot.doctor", "bot.database_commands"),
    ("bot.adapters.serving",),
    ("cogs", "bot.adapters.discord", "bot.adapters.slack"),
    ("bot.adapters.slack.received",),
    ("bot.adapters.slack.shown",),
    ("bot.adapters.slack.installed",),
    ("bot.adapters.slack.text", "bot.adapters.slack.placing", "bot.adapters.slack.manifest"),
    ("bot.adapters",),
    ("bot.app", "bot.faults", "bot.plain_text", "bot.runs"),
    ("bot.works",),
    ("bot.accounts", "bot.space_file"),
    ("bot.access", "bot.outsiders"),
    ("bot.channel_rules", "bot.command_line", "bot.manual", "bot.names", "bot.runs.requests"),
    ("bot.commands",),
    ("bot.kind",),
    ("bot.resources",),
    ("bot.strategies", "bot.citing", "bot.conversation", "bot.incoming", "bot.asking"),
    ("bot.asking_head",),
    ("bot.asking_words",),
    (
        "bot.llm",
        "bot.retrieval",
        "bot.readers",
        "bot.speech",
        "bot.budget",
        "bot.admin_budgets",
        "bot.caches",
        "bot.model_process",
        "bot.prompts",
        "bot.retention",
        "bot.settings",
        "bot.runs.durable_run",
        "bot.runs.engine",
        "bot.runs.engine_database",
        "bot.untrusted",
        "bot.platforms",
        "bot.tracing",
    ),
    ("bot.check", "bot.file_store", "bot.vector_store", "bot.waiting", "storage"),
    ("bot.config", "bot.models"),
    ("bot.verb", "bot.config.settings", "bot.config.model_spec", "bot.config.text"),
    (
        "bot.bundle",
        "bot.words",
        "bot.events",
        "bot.view",
        "bot.work",
        "bot.llm.completion",
        "bot.dates",
        "bot.encoding",
        "bot.markdown",
        "bot.drawing",
        "bot.mention",
        "bot.metrics",
        "bot.blas",
        "bot.heap",
        "bot.child_process",
        "bot.process_limits",
        "bot.text_cache",
    ),
    ("bot.works.ALL",),
)
# The rooms of the story, each with the modules that other rooms may import; a room imports from those below it.
# The modules beside them know no room (CONSTANTS), or put the rooms together.
STORY = "bot.works.story"
ROOMS = {
    "exchange": (),
    "turn": (),
    "screen": ("entries", "screen"),
    "table": ("about", "party", "safety"),
    "memory": ("memory", "excerpts"),
    "extraction": ("extraction", "attribution", "continuity", "stretches"),
    "sheet": ("sheet", "template", "sheet_verbs", "checks", "proposals", "initiative", "initiative_verbs"),
    "world": (
        "cast",
        "selves",
        "state",
        "lorebook",
        "lore_text",
        "lore_timing",
        "presets",
        "agreement",
        "world_verbs",
        "order",
        "to_come",
        "so_far",
        "threads",
        "arc",
        "arc_verb",
        "asides",
        "enlisting",
    ),
    "scene": ("choices", "buttons"),
    "log": ("nodes", "turn", "story", "stop_card", "logs"),
}
CONSTANTS = ("config", "limits")
TOGETHER = ("", "verbs", "grouped_verbs", "work", "completions", "command_line")
HOMES = {
    "discord": ("cogs", "bot.adapters.discord"),
    "aiohttp": (
        "bot.adapters.download",
        "bot.adapters.operating",
        "bot.adapters.discord",
        "bot.adapters.slack",
    ),
    "slack_bolt": ("bot.adapters.slack",),
    "slack_sdk": ("bot.adapters.slack",),
    "anthropic": ("bot.llm.anthropic_messages",),
    "openai": (
        "bot.llm.openai_client",
        "bot.llm.openai_chat",
        "bot.llm.openai_responses",
        "bot.retrieval.embed_openai",
        "bot.speech.engines.service",
        "bot.speech.transcriber",
    ),
    "genai_prices": ("bot.llm.prices",),
    "dbos": ("bot.runs.durable_run", "bot.runs.engine", "bot.runs.engine_database"),
    "chromadb": ("storage.chroma",),
    "opentelemetry": ("bot.tracing",),
    "apscheduler": ("bot.works.schedule",),
    "dateparser": ("bot.dates",),
    "fsspec": ("storage.objects",),
    "obstore": ("storage.objects",),
    "sqlalchemy": ("storage", "bot.runs.engine", "bot.runs.engine_database"),
    "alembic": ("storage.migrations",),
    "matplotlib": (
        "bot.drawing",
        "bot.works.council.chart",
        "bot.works.house.chart",
        "bot.works.story.table.tree",
        "bot.works.story.exchange.book",
        "bot.works.script.picture",
    ),
    "onnxruntime": ("bot.retrieval",),
    "tokenizers": ("bot.retrieval", "bot.speech.listening.whisper"),
    "ctranslate2": ("bot.speech.listening.whisper",),
    "huggingface_hub": ("bot.speech.listening.ears",),
    "hibari": ("bot.speech.engines.child",),
    "piper": ("bot.speech.engines.child",),
    "soundfile": ("bot.speech",),
    "soxr": ("bot.speech",),
    "unicode_rbnf": ("bot.speech",),
    "markdown_it": ("bot.markdown", "bot.speech", "bot.works.story.exchange.book"),
    "xllamacpp": ("bot.llm.demo_process",),
    "lxml": (
        "bot.readers.archive",
        "bot.readers.package",
        "bot.readers.screenplay.final_draft",
        "bot.readers.screenplay.open_screenplay",
        "bot.readers.screenplay.celtx",
        "bot.readers.web.markup",
        "bot.readers.docx.xml",
        "bot.readers.web.epub",
        "bot.readers.web.epub_contents",
    ),
    "pypdfium2": (
        "bot.readers.pdf.reader",
        "bot.readers.pdf.page",
        "bot.readers.pdf.forms",
        "bot.readers.pdf.first_page",
    ),
    "rapidocr": ("bot.readers.pdf.recognizer",),
    "cv2": ("bot.readers.pdf.recognizer",),
    "prompt_toolkit": ("bot.adapters",),
    "rich": ("bot.adapters", "bot.cli"),
    "platformdirs": ("bot.config",),
    "dotenv": ("bot.config",),
}
HEAVY = {
    "sqlalchemy", "chromadb", "dbos", "anthropic", "openai", "onnxruntime", "tokenizers", "numpy", "alembic",
    "pydantic", "rich", "prompt_toolkit", "yaml", "d20", "discord", "aiohttp", "matplotlib",
    "slack_bolt", "slack_sdk", "lxml", "pypdfium2", "opentelemetry", "fsspec", "obstore",
}  # fmt: skip


def imported() -> Iterator[tuple[str, str]]:
    return ((module, f"{name}.{what}" if what else name) for module, name, what in imports())


def under(module: str, homes: tuple[str, ...]) -> bool:
    return any(module == home or module.startswith(home + ".") for home in homes)


@cache
def layer(module: str) -> int | None:
    """The most specific row of LAYERS that matches; the bare packages `bot` and `cogs` have none."""
    found = [(len(home), row) for row, homes in enumerate(LAYERS) for home in homes if under(module, (home,))]
    return max(found)[1] if found else None


def breaches(found: Iterator[tuple[str, str]]) -> list[str]:
    wrong = []
    for module, name in found:
        own, other = layer(module), layer(name)
        if own is None and module not in ("bot", "cogs"):
            wrong.append(f"{module} has no place in LAYERS")
        elif own is not None and other is not None and other < own:
            wrong.append(f"{module} imports {name}, which lies above it")
        elif under(module, ("storage",)) and under(name, ("bot", "cogs")):
            wrong.append(f"{module} imports {name}, but storage knows nothing of the bot")
        elif under(module, ("cogs", "bot.adapters")) and under(name, ("bot.resources",)):
            wrong.append(f"{module} imports {name}, but an edge has App.records")
        elif (homes := HOMES.get(name.partition(".")[0])) and not under(module, homes):
            wrong.append(f"{module} imports {name}, which belongs in {' or '.join(homes)}")
    return wrong


def test_imports_run_one_way() -> None:
    assert breaches(imported()) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports that are only for types count, too."""
    modules = {module for module, _, _ in imports()}
    graph = dict[str, set[str]]()
    for module, name, what in imports():
        inner = f"{name}.{what}"
        graph.setdefault(module, set()).add(inner if inner in modules else name)
    assert len(graph) > 500
    TopologicalSorter(graph).prepare()  # raises CycleError, which names a circle


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("storage.inbox", "bot.events.Request"),
        ("bot.adapters.intake", "bot.resources.Resources"),
        ("bot.adapters.composer", "bot.adapters.discord.text.render.pages"),
        ("bot.adapters.slack.shown.home", "bot.adapters.slack.received.intake.Intake"),
        ("bot.works.rules.work", "bot.app.App"),
        ("bot.strategies.helped", "bot.works.rules.work.Asking"),
        ("bot.retrieval.shelf", "bot.adapters.terminal"),
        ("bot.llm.registry", "openai"),
        ("bot.works.rules.work", "discord.Message"),
        ("bot.words", "bot.config.load"),
        ("bot.newcomer", "json"),
    ],
)
def test_a_forbidden_import_is_found(module: str, name: str) -> None:
    assert breaches(iter([(module, name)]))


def room_breaches(found: Iterator[tuple[str, str]]) -> list[str]:
    wrong, rooms = [], [*ROOMS]
    for module, name in found:
        if not under(module, (STORY,)):
            continue
        room = module.removeprefix(STORY).strip(".").partition(".")[0]
        other, _, inside = name.removeprefix(STORY).strip(".").partition(".")
        if room not in (*ROOMS, *CONSTANTS, *TOGETHER):
            wrong.append(f"{module} has no room")
        elif not under(name, (STORY,)) or other == room or room in TOGETHER:
            continue
        elif other not in ROOMS:
            if other not in CONSTANTS:
                wrong.append(f"{module} imports {name}, which puts the rooms together")
        elif room in CONSTANTS or rooms.index(other) < rooms.index(room):
            wrong.append(f"{module} imports {name}, which lies above it")
        elif inside.partition(".")[0] not in ROOMS[other]:
            wrong.append(f"{module} imports {name}, which lies inside {other}")
    return wrong


def test_no_folder_of_the_story_imports_internals_of_another() -> None:
    assert room_breaches(imported()) == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (f"{STORY}.turn.scene_verbs", f"{STORY}.memory.index.Pieces"),
        (f"{STORY}.turn.scene_verbs", f"{STORY}.memory"),
        (f"{STORY}.memory.recall", f"{STORY}.turn.turn_plan.TurnPlan"),
        (f"{STORY}.log.story", f"{STORY}.work.Stories"),
        (f"{STORY}.config", f"{STORY}.log.nodes"),
        (f"{STORY}.newcomer", "json"),
    ],
)
def test_an_import_of_internals_is_found(module: str, name: str) -> None:
    assert room_breaches(iter([(module, name)]))


def test_no_adapter_reaches_behind_the_app() -> None:
    edges = [file for folder in ("cogs", "bot/adapters") for file in (ROOT / folder).rglob("*.py")]
    assert edges
    assert [
        file for file in edges if re.search(r"\bapp\._?resources\b", file.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        ("bot.cli", {*HEAVY, "asyncio", "bot.events", "dataclasses", "inspect"}),
        ("bot.cli, bot.adapters.terminal, bot.works.council.work, bot.works.council.chart", HEAVY),
    ],
)
def test_the_command_line_starts_without_heavy_imports(modules: str, unwanted: set[str]) -> None:
    code = f"import sys, {modules}; print(*sys.modules)"
    seen = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert sorted(unwanted & set(seen.stdout.split())) == []


def test_no_python_file_is_too_long_to_be_read_in_one_go() -> None:
    lengths = {
        str(file.relative_to(ROOT)): file.read_bytes().count(b"\n")
        for folder in ("bot", "cogs", "storage", "scripts", "benchmarks", "tests")
        for file in (ROOT / folder).rglob("*.py")
    }
    assert {name: lines for name, lines in lengths.items() if lines > 500} == {}


# Homes of people and of build machines; paths inside an image or a system (/usr, /data) are fine.
_MACHINE = re.compile(r"(?<![\w.:~*])/(?:home|Users|root|work|workspace|builds?|tmp)/[\w.-]+")
_INDEX = re.compile(r"--(?:extra-)?index-url|--find-links|(?<!files = .)file:///\w", re.IGNORECASE)


def test_no_file_names_a_machine_or_a_registry() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=False
    )
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    found = []
    for file in files or sorted((ROOT / "bot").rglob("*.py")):
        if not file.is_file() or file == Path(__file__):
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{file.relative_to(ROOT)}: {hit}" for hit in _MACHINE.findall(text)]
        if file.suffix in (".lock", ".toml", ".cfg", ".txt") or file.name in ("Makefile", "Dockerfile"):
            found += [f"{file.relative_to(ROOT)}: {hit}" for hit in _INDEX.findall(text)]
    assert found == []
