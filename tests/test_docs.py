"""The documentation is true: its commands exist and run, and decisions have consistent numbers."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.documented_commands import ROOT, commands, fault


def test_every_command_in_the_pages_exists() -> None:
    shown = commands()
    assert len(shown) > 300
    assert [(command, reason) for command in shown if (reason := fault(command.text))] == []


@pytest.mark.parametrize(
    "command",
    [
        "/rules roll",
        "/story begin A door",
        "/rules ask Why? --shelves x",
        "/memory act",
        "make tests",
        "python -m bot library ad x",
        "sutradhar model pull",
        "python -m benchmarks.none",
        ".ci/none",
        "python -m pytest tests/test_docs.py::test_of_nothing",
    ],
)
def test_a_wrong_command_is_found(command: str) -> None:
    if command == "/rules roll":
        assert fault(command) is None  # a verb's name alone is a name
        command = "/rules roll --private"
    assert fault(command)


def test_no_page_has_the_marks_of_an_unfinished_merge() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.yaml")]
    assert len(pages) > 20
    marks = re.compile(r"(?m)^(?:<{7} |>{7} |={7}$)")
    assert [page.name for page in pages if marks.search(page.read_text(encoding="utf-8"))] == []


def defined(path: str) -> set[str]:
    """The names of a module's functions and classes, and of their methods as `Class.method`."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            within = node.body if isinstance(node, ast.ClassDef) else []
            found |= {
                f"{node.name}.{part.name}"
                for part in within
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
            }
    return found


def test_the_names_on_the_architecture_page_are_where_it_says() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## Where to look\n")[2].partition("\n## ")[0]
    places = re.findall(r"`([\w/]+\.py)`: ((?:`[\w.]+`(?:, )?)+)", section)
    assert len(places) > 20
    assert len(places) == section.count(".py`"), "each file with a name after it"
    for path, names in places:
        assert set(re.findall(r"`([\w.]+)`", names)) <= defined(path), path


def test_decisions_have_unique_numbers_and_references_to_them_exist() -> None:
    text = (ROOT / "docs/decisions.md").read_text(encoding="utf-8")
    paragraphs = [part for part in text.split("\n\n")[2:] if not part.startswith("#")]
    heads = [re.match(r"\*\*(\d+(?:, \d+)*)\. \S", paragraph) for paragraph in paragraphs]
    assert not [part for part, head in zip(paragraphs, heads, strict=True) if head is None]
    numbers = [int(number) for head in heads if head for number in head[1].split(", ")]
    assert len(numbers) == len(set(numbers)) > 400
    assert f"the next number, {max(numbers) + 1}," in " ".join(text.split("\n\n")[1].split())
    assert not re.findall(r"\d{4}-\d\d-\d\d", text), "git log has the dates"
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    named = re.findall(r"[Dd]ecisions? (\d+)|\bdecisions\.md [^.]*\(([\d, ]+)\)", pages)
    others = {int(number) for one, several in named for number in re.findall(r"\d+", one or several)}
    assert {262, 267, 268, 270} <= others <= set(numbers)


@pytest.mark.slow
def test_the_commands_of_the_readme_and_the_guides_run_as_they_are_written(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(ROOT / "examples", tmp_path / "rulebooks")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    scenes = re.findall(r"(?ms)^```\n(/.+?)^```", readme)
    assert len(scenes) == 5
    # A story and a council need a model.
    session = "".join(scene for scene in scenes if not scene.startswith(("/story", "/council")))
    guide = [shown.text for shown in commands(iter([ROOT / "docs/slack.md"])) if "--space" in shown.text]
    runs = [("python -m bot chat", session), *((command, "") for command in guide)]
    outputs = []
    for command, typed in runs:
        environ = {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "SUTRADHAR_DATA": str(tmp_path / "data"),
            "SUTRADHAR_MODELS": str(tmp_path / "no-models"),
            "SUTRADHAR_LOCALE": "en",
        }
        done = subprocess.run(
            [sys.executable, *command.split()[1:]],
            input=typed, capture_output=True, text=True, cwd=tmp_path, env=environ, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr)
        outputs.append(done.stdout)
    for result in (
        "shows everything within ten paces",
        "Find the Plough",
        "4 scenes, 1 1/8 pages",
        "189 words",
    ):
        assert result in " ".join(outputs[0].split())
        assert result in " ".join(readme.replace("*", "").replace("\n> ", " ").split())
    assert "lanterns.md" in outputs[-1]
