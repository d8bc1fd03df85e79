"""The suite passes wherever it is run, and is judged as a newcomer would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from bot.models import MODELS
from bot.retrieval.embedding import Embedding
from tests.fakes import scripted_app

ROOT = Path(__file__).resolve().parents[1]
# Tests that would notice other settings or another time zone.
CURIOUS = (
    "tests/test_config.py::test_an_empty_key_counts_as_none_and_hides_the_one_in_dotenv",
    "tests/test_config.py::test_relative_watched_folders_start_at_the_files_folder",
    "tests/adapters/slack/test_setup.py",
)


def test_the_tests_do_not_see_the_home_of_the_person_who_runs_them(tmp_path: Path) -> None:
    """They see neither the demo model that `make run` downloads, nor the person's language or time zone."""
    models = tmp_path / ".local" / "share" / "sutradhar" / "models"
    for file in MODELS["smollm2"].files:
        target = models / "smollm2" / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
        os.truncate(target, file.size)
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("SUTRADHAR_", "PYTEST_"))
    }
    personal = {
        "HOME": str(tmp_path),
        "TZ": "Asia/Kolkata",
        "LC_ALL": "pt_BR.UTF-8",
        "SUTRADHAR_LOCALE": "pt",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *CURIOUS],
        cwd=ROOT,
        env=kept | personal,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_application_that_tests_open_at_a_platform_downloads_a_model(tmp_path: Path) -> None:
    embedding = Embedding(scripted_app.config(tmp_path))
    assert not embedding.configured
    assert not embedding.other_languages


LEAVING = """
import asyncio, gc, socket

async def test_it_fails_and_leaves_a_socket_open():
    kept = [socket.socket()]
    kept.append(kept)
    raise AssertionError

def test_it_has_nothing_to_do_with_that():
    gc.collect()
"""
ENDING = """
import os

def test_it_passes():
    pass

def test_it_ends_its_process():
    os._exit(0)

def test_it_would_have_passed():
    pass
"""


def test_only_the_test_that_failed_is_reported(tmp_path: Path) -> None:
    """The next test does not fail for what it left open, and no test is forgotten if a process ends."""
    (tmp_path / "test_leaving.py").write_text(LEAVING)
    (tmp_path / "test_ending.py").write_text(ENDING)
    options = ("-q", "-c", "pyproject.toml", "-p", "tests.conftest", "-p", "no:cacheprovider", "--tb=no")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "tests.forks", "--forks=2", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    failed = re.findall(r"^FAILED .*::(\w+)", done.stdout, re.MULTILINE)
    names = [
        "test_it_ends_its_process",
        "test_it_fails_and_leaves_a_socket_open",
        "test_it_would_have_passed",
    ]
    assert sorted(failed) == names, done.stdout + done.stderr
    assert "\n3 failed, 2 passed" in done.stdout


def test_the_release_check_follows_the_readme() -> None:
    """It uses an empty home, none of our variables, and `make run` before `make test`."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    script = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    assert re.findall(r"(?:SUTRADHAR|XDG)_\w*=", script) == []
    steps = re.findall(r"^(?:(?:step|beside) .*|.*\bmake run\b.*|(?:unset|export) .*)$", script, re.MULTILINE)
    order = [
        next(place for place, step in enumerate(steps) if re.search(pattern, step))
        for pattern in (
            r"^unset .*\$\{!SUTRADHAR_@\} \$\{!XDG_@\}",
            r'^export HOME="\$work/',
            r"^step .* first_run$",
            r"^step .* tested test$",
            r"^beside .* make check$",
            r"^step .* tested test-slow$",
        )
    ]
    assert order == sorted(order)
    assert re.search(r"^first_run\(\) \{.*\n.*\| make run >", script, re.MULTILINE)


def test_a_workflow_calls_it_and_holds_no_secret() -> None:
    (workflow,) = (ROOT / ".github" / "workflows").iterdir()
    text = workflow.read_text(encoding="utf-8")
    assert "- run: .ci/run\n" in text
    assert "secrets" not in text
