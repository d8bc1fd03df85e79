"""A new kind of work needs only a folder and a line in works.ALL: all three platforms then have it, help
included.

The work is the listing of docs/tutorial-new-work.md. A copy of the tree runs it.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.works import ALL

ROOT = Path(__file__).resolve().parents[1]

PAGE = ROOT / "docs" / "tutorial-new-work.md"
LISTED = re.compile(r"(?ms)^`(bot/works/oracle/[^`\n]+)`:\n\n```\w+\n(.+?)^```")
KEPT_BY_HAND = re.compile(r"(?ms)^\d\. `([^`\n]+)`.*?^   ```\w*\n(.+?)^   ```")


def listing() -> dict[str, str]:
    """The files of the tutorial's listing, by their paths."""
    return dict(LISTED.findall(PAGE.read_text(encoding="utf-8")))


def changed(path: Path, pattern: str, new: str) -> None:
    text, number = re.subn(pattern, lambda _: new, path.read_text(encoding="utf-8"), count=1)
    assert number == 1, f"{path.name} has no longer what the tutorial changes: {pattern}"
    path.write_text(text, encoding="utf-8")


DRIVEN = """
import asyncio, json, sys
from pathlib import Path
from tests.wire.conftest import PLATFORMS
from tests.wire.shared_bot import SharedBot

OPTIONS = {"question": "Is the door locked?", "odds": "likely"}
LINES = {
    "discord": ("oracle ask", OPTIONS),
    "slack": ("sutradhar oracle ask Is the door locked? --odds likely", {}),
    "terminal": ("oracle ask Is the door locked? --odds likely", {}),
}

async def main():
    said = {}
    for platform, (line, options) in LINES.items():
        folder = Path(sys.argv[1]) / platform
        folder.mkdir()
        shared = SharedBot(folder, *PLATFORMS[platform], "\\n[oracle]\\nlikely = 90\\n", tables=1)
        try:
            table = await shared.table()
            talk = await table.command("Ana", line, **options)
            await table.rest(1)
            said[platform] = talk.said()
            if platform == "discord":
                typed = {"focused": "odds", "question": "Is it?", "odds": "un"}
                offered = await table.discord.autocomplete(
                    table.people["Ana"], table.channels[0], "oracle ask", **typed
                )
                said["offered"] = [one["value"] for one in offered]
            if platform == "terminal":
                await table.command("Ana", "settings set oracle.likely 60")
                await table.rest(2)
                talk = await table.command("Ana", line)
                await table.rest(3)
                said["set"] = talk.said()
                talk = await table.command("Ana", line.replace("likely", "sure"))
                # A refusal is no request, so nothing ends that `rest` could wait for.
                await table.until(lambda: bool(talk.said()))
                said["refused"] = talk.said()
        finally:
            await shared.close()
    print(json.dumps(said))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of our tree with the tutorial's work in it."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("bot", "cogs", "storage", "tests", "examples", "docs"):
        shutil.copytree(ROOT / name, tree / name)  # including compiled modules
    for name in ("prompts.yml", "config.toml.example", "pyproject.toml"):
        shutil.copy(ROOT / name, tree / name)
    changed(tree / "bot" / "works" / "__init__.py", r"\n\)", '\n    "oracle",\n)')
    by_hand = dict(KEPT_BY_HAND.findall(PAGE.read_text(encoding="utf-8")))
    manifest, table = (
        re.sub("(?m)^   ", "", by_hand.pop(path)) for path in ("docs/slack-manifest.yaml", "tests/matrix.py")
    )
    changed(tree / "docs" / "slack-manifest.yaml", "(?m)^oauth_config:", f"{manifest}oauth_config:")
    changed(tree / "tests" / "matrix.py", "(?m)^house: help", f"{table}house: help")
    changed(tree / "tests" / "test_commands.py", r"rules = \{", 'rules = {"oracle ask", ')
    assert by_hand == {}
    files = listing()
    assert {Path(path).name for path in files} == {"__init__.py", "work.py", "en.toml", "pt-BR.toml"}
    (tree / "bot" / "works" / "oracle").mkdir()
    for path, content in files.items():
        (tree / path).write_text(content, encoding="utf-8")
    return tree


def python(tree: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_new_work_appears_on_all_three_platforms(tree: Path, tmp_path: Path) -> None:
    answer = json.loads(python(tree, "-c", DRIVEN, str(tmp_path)))
    assert answer.pop("offered") == ["unlikely"]
    refused = "\n".join(answer.pop("refused"))
    assert "I don't know the odds “sure”. Choose one of these: even, likely, unlikely." in refused
    assert "up to 60 means yes" in "\n".join(answer.pop("set"))
    assert set(answer) == {"discord", "slack", "terminal"}
    for platform, texts in answer.items():
        said = re.search(r"(Yes|No)\.\*+ You rolled (\d+); up to 90 means yes\.", "\n".join(texts))
        assert said, (platform, texts)
        assert (said[1] == "Yes") == (int(said[2]) <= 90)


def test_the_new_work_has_help_and_names_in_both_languages(tree: Path) -> None:
    told = (
        "import sys; from bot.manual import help_text; from bot.words import words;"
        " print(help_text(words(sys.argv[1]), 'oracle ask'))"
    )
    assert "Ask a question, and let the dice say yes or no." in python(tree, "-c", told, "en")
    assert "Faça uma pergunta e deixe os dados dizerem sim ou não." in python(tree, "-c", told, "pt-BR")
    named = (
        "from bot.adapters.discord.received.commands import path_of; from bot.commands import ROWS;"
        " from bot.words import words;"
        " print(path_of(words('pt-BR'), ROWS['oracle', 'ask']))"
    )
    assert python(tree, "-c", named).strip() == "oráculo perguntar"


def test_its_settings_are_read_from_config_toml_and_a_mistake_is_reported_with_its_line(
    tree: Path, tmp_path: Path
) -> None:
    read = (
        "import sys; from pathlib import Path; from bot.config import load; from bot.events import UserError\n"
        "from bot.words import words; from bot.works.oracle import OracleConfig\n"
        "try: print(load(Path(sys.argv[1]), environ={}).section(OracleConfig).likely)\n"
        "except UserError as sorry: print(words('en')(sorry.key, **sorry.values))"
    )
    file = tmp_path / "config.toml"
    said = []
    for written in ("[budget]", "[oracle]\nlikely = 90", "[oracle]\n\nlikly = 90", "[oracl]"):
        file.write_text(written, encoding="utf-8")
        said.append(python(tree, "-c", read, str(file)).strip())
    assert said[:2] == ["75", "90"]
    assert f"{file}, line 3:" in said[2]
    assert "likely" in said[2]
    assert f"{file}, line 1:" in said[3]
    assert "[oracle]" in said[3]


TRUE_OF_EVERY_WORK = (
    "test_imports.py::test_imports_run_one_way",
    "test_words.py",
    "test_computed_keys.py",
    "test_commands.py",
    "test_slack_manifest.py",
    "works/test_settings.py",
    "works/test_matrix.py",
    "adapters/discord/test_command_names.py",
    "cogs/test_help.py",
    "cogs/test_translator.py",
)
"""Tests that read the table of verbs, the catalogues and the settings."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_new_work_passes_the_tests_for_every_work(tree: Path) -> None:
    (tree / "docs" / "commands.md").write_text(python(tree, "-m", "bot.manual"), encoding="utf-8")
    tests = [f"tests/{name}" for name in TRUE_OF_EVERY_WORK]
    python(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)


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
    # Opus' name for this type of sound.
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


def test_only_its_own_folder_mentions_a_work_by_name() -> None:
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
