"""A kind of work more: a folder, a line in works.ALL, and it is there on all three places, with help and completion.

Tried in a copy of the tree, which is driven as a user would.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.works import ALL

ROOT = Path(__file__).resolve().parents[1]

KIND = '''"""Says again what was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.config.settings import within
from bot.kind import Kind, Runs, Typed
from bot.verb import Argument, Verb

if TYPE_CHECKING:
    from bot.events import Work
    from bot.resources import Resources

VERBS = (
    Verb("echo", "say", "hello", Argument("greeting", "verbs.arg_greeting", completes="greeting")),
)


@dataclass(frozen=True, slots=True)
class EchoConfig:
    """[echo] of config.toml."""

    times: int = within(1, 1, 9)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.echo.work import Echo

    return Echo()


async def _greetings(resources: Resources, typed: Typed) -> list[str]:
    return [one for one in ("hello", "hello again", "bye") if one.startswith(typed.prefix)]


KIND = Kind("echo", VERBS, make, completes={"greeting": _greetings}, sections={"echo": EchoConfig})
'''
WORK = '''"""The work "echo"."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from bot.events import Event, Run, Stage, Text
from bot.words import words


class Echo:
    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("echo", "")
        yield Text(words(run.request.locale)("echo.said", text=run.request.text))
'''
ENGLISH = """[verbs]
group_echo = "Says again what was said."
echo_say = "Say it again."
arg_greeting = "what to say"

[names]
group_echo = "echo"
echo_say = "say"
option_greeting = "greeting"

[echo]
said = "You said: {text}"
"""
PORTUGUESE = """[verbs]
group_echo = "Diz de novo o que foi dito."
echo_say = "Diz de novo."
arg_greeting = "o que dizer"

[names]
group_echo = "eco"
echo_say = "dizer"
option_greeting = "saudacao"

[echo]
said = "Você disse: {text}"
"""

DRIVEN = """
import asyncio, json, sys
from pathlib import Path
from tests.wire.conftest import PLATFORMS
from tests.wire.shared_bot import SharedBot

LINES = {
    "discord": ("echo say", {"greeting": "hello"}),
    "slack": ("sutradhar echo say hello", {}),
    "terminal": ("echo say hello", {}),
}

async def main():
    said = {}
    for platform, (line, options) in LINES.items():
        folder = Path(sys.argv[1]) / platform
        folder.mkdir()
        shared = SharedBot(folder, *PLATFORMS[platform], tables=1)
        try:
            table = await shared.table()
            talk = await table.command("Ana", line, **options)
            await table.rest(1)
            said[platform] = talk.said()
            if platform == "discord":
                typed = {"focused": "greeting", "greeting": "hel"}
                offered = await table.discord.autocomplete(table.people["Ana"], table.channels[0], "echo say", **typed)
                said["offered"] = [one["value"] for one in offered]
        finally:
            await shared.close()
    print(json.dumps(said))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of ours, with the work in it."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("bot", "cogs", "storage", "tests", "examples"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("prompts.yml", "config.toml.example", "pyproject.toml"):
        shutil.copy(ROOT / name, tree / name)
    listed = tree / "bot" / "works" / "__init__.py"
    text = listed.read_text(encoding="utf-8")
    assert '"house"' in text
    listed.write_text(text.replace('"house"', '"house", "echo"'), encoding="utf-8")
    folder = tree / "bot" / "works" / "echo"
    folder.mkdir()
    files = {"__init__.py": KIND, "work.py": WORK, "en.toml": ENGLISH, "pt-BR.toml": PORTUGUESE}
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return tree


def python(tree: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_is_there_on_all_three_places(tree: Path, tmp_path: Path) -> None:
    answer = json.loads(python(tree, "-c", DRIVEN, str(tmp_path)))
    assert answer.pop("offered") == ["hello", "hello again"]
    assert set(answer) == {"discord", "slack", "terminal"}
    for platform, texts in answer.items():
        assert "You said: hello" in "\n".join(texts), (platform, texts)


def test_it_has_its_help_and_its_names_in_both_languages(tree: Path) -> None:
    told = (
        "import sys; from bot.manual import help_text; from bot.words import words;"
        " print(help_text(words(sys.argv[1]), 'echo say'))"
    )
    assert "Say it again." in python(tree, "-c", told, "en")
    assert "Diz de novo." in python(tree, "-c", told, "pt-BR")
    named = (
        "from bot.adapters.discord.received.commands import path_of; from bot.commands import verb;"
        " from bot.words import words;"
        " print(path_of(words('pt-BR'), verb('echo', 'say')))"
    )
    assert python(tree, "-c", named).strip() == "eco dizer"


def test_what_is_set_in_config_toml_is_read_and_a_slip_is_told_with_its_line(
    tree: Path, tmp_path: Path
) -> None:
    read = (
        "import sys; from pathlib import Path; from bot.config import load; from bot.events import UserError\n"
        "from bot.words import words; from bot.works.echo import EchoConfig\n"
        "try: print(load(Path(sys.argv[1]), environ={}).section(EchoConfig).times)\n"
        "except UserError as sorry: print(words('en')(sorry.key, **sorry.values))"
    )
    file = tmp_path / "config.toml"
    said = []
    for written in ("[budget]", "[echo]\ntimes = 3", "[echo]\n\ntims = 3", "[eco]"):
        file.write_text(written, encoding="utf-8")
        said.append(python(tree, "-c", read, str(file)).strip())
    assert said[:2] == ["1", "3"]
    assert f"{file}, line 3:" in said[2]
    assert "times" in said[2]
    assert f"{file}, line 1:" in said[3]
    assert "[echo]" in said[3]


@pytest.mark.slow
def test_nothing_else_was_touched(tree: Path) -> None:
    """Neither the rules of imports nor the catalogue's."""
    python(
        tree,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/test_imports.py::test_imports_run_one_way",
    )
    python(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_words.py")


NAMED = {
    # What `eval` measures, and commands of the command line alone.
    "bot/cli.py": {
        "library",
        "story",
        "course",
        "script",
        "from bot.works.story.command_line",
        "from bot.works.story.exchange.imports",
        "from bot.works.course.command_line",
        "from bot.works.script.intake",
    },
    # The table of a file for what is set for everyone.
    "bot/space_file.py": {"settings"},
    # What Opus is told of the sound.
    "bot/adapters/discord/voice/channels.py": {"voice"},
    # Commands that no direct message offers.
    "bot/adapters/discord/received/commands.py": {"voice"},
    # The name of a role.
    "bot/llm/cache_times.py": {"council"},
    # The name of a shelf.
    "bot/verb.py": {"rules"},
    # The title of a script without one.
    "bot/readers/screenplay/celtx.py": {"script"},
    # HTML's element.
    "bot/readers/web/markup.py": {"script"},
    # Tables and columns of that name.
    "storage/tables.py": {"sessions", "settings"},
    "storage/tables_council.py": {"settings"},
}
"""Where the name of a work is said outside of its folder, and means something else."""


def test_nobody_but_its_own_folder_knows_a_work_by_name() -> None:
    found: dict[str, set[str]] = {}
    for folder in ("bot", "cogs", "storage"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if path.startswith(("bot/works/", "storage/migrations/")):
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and node.value in ALL:
                    found.setdefault(path, set()).add(str(node.value))
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bot.works."):
                    found.setdefault(path, set()).add(f"from {node.module}")
    assert found == NAMED
