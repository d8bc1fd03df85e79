"""Isolates every test from the environment of the person who runs it.

The tests do not see their keys, their trace collector, their language or their home with the bot's data. Only the
folder of model files is passed on, in SUTRADHAR_MODELS, for tests that need a model's files.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bot.config import load
from tests.fakes import compiled

_SWITCHES = ("SUTRADHAR_KILLS", "SUTRADHAR_EXTRAS")

# An empty settings file: the developer's may say anything, and the models' folder is not set there.
_models = load(Path(os.devnull)).models_dir.absolute()
_theirs = ("ANTHROPIC_", "OPENAI_", "OTEL_", "SUTRADHAR_", "XDG_", "LC_", "LANGUAGE")
for _name in [name for name in os.environ if name.startswith(_theirs) and name not in _SWITCHES]:
    del os.environ[_name]
_home = tempfile.mkdtemp(prefix="sutradhar-home-")
atexit.register(shutil.rmtree, _home, ignore_errors=True)
os.environ |= {
    "HOME": _home,
    "LANG": "C.UTF-8",
    "SUTRADHAR_MODELS": str(_models),
    "OPENBLAS_NUM_THREADS": "1",  # as in the bot: see bot.blas
    # Empty instead of removed, so that a developer's .env does not count either, here or in child processes.
    "ANTHROPIC_API_KEY": "",
    "OPENAI_API_KEY": "",
    "OPENROUTER_API_KEY": "",
    "GEMINI_API_KEY": "",
    "MISTRAL_API_KEY": "",
    "GROQ_API_KEY": "",
    "DEEPSEEK_API_KEY": "",
}

# Tests that were started in a shell's background would ignore Ctrl-C, as would every bot that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

compiled.share()

gc.disable()  # until all tests are collected: collecting makes no garbage

# The time for an example says more about the machine than about the code.
settings.register_profile(
    "anywhere", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("anywhere")

_WAIT = ("tests/wire/", "tests/kill/", "tests/promises/", "tests/adapters/", "tests/cogs/")
"""The folders whose tests wait more than they compute: for processes, sockets, pauses and deadlines."""
_LONGEST = tuple(
    f"tests/{module}.py"
    for module in (
        *(
            "wire/test_stories_played",
            "wire/test_outages",
            "test_a_new_work",
            "works/council/test_ballots_at_once",
        ),
        *("adapters/slack/test_matrix", "cogs/test_matrix", "wire/test_slack", "kill/test_postgres_vectors"),
        *("wire/test_chaos", "works/story/test_log", "works/test_two_processes", "wire/test_taken_back"),
        *("wire/test_voice_shards", "llm/test_demo", "works/test_files_failing", "wire/test_processes"),
        *("wire/test_party", "works/story/test_exchange", "wire/test_voice", "wire/test_shards"),
        *("adapters/test_serving", "storage/test_copying", "wire/test_stories_slack", "kill/test_library"),
        *("wire/test_stories_discord", "wire/test_discord", "wire/test_late_presses"),
        *("promises/test_two_spaces_in_one_app", "test_other_systems", "works/test_hearing"),
        *("adapters/test_outages", "works/test_matrix", "wire/test_kill", "wire/test_slack_kill"),
        *("llm/test_provider_faults", "works/test_channels", "works/story/test_scene_verbs"),
        *("storage/test_files_shared", "adapters/test_operating_postgres", "test_asking_head"),
        *("speech/test_engines", "wire/test_voice_kill", "wire/test_continuity", "wire/test_courses"),
        *("storage/test_away", "readers/test_sandbox", "kill/test_ledger", "test_docs"),
        *("storage/test_one_process", "works/story/test_sheets", "works/test_other_spaces"),
        *("wire/test_stories_terminal", "test_hostile_text", "works/test_settings", "works/test_usage"),
    )
)


_SLOW = re.compile(r"\bmark\.slow\b|\bby_turns\(|\bwire: Wire\b")
"""Matches a module that marks a slow test, or gets slow parameters."""


@cache
def _says_slow(module: Path) -> bool:
    return _SLOW.search(module.read_text(encoding="utf-8")) is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """For `make test-slow`, skip modules without a slow test, because every worker would import them."""
    if config.option.markexpr != "slow" or not collection_path.match("test_*.py"):
        return None
    return None if _says_slow(collection_path) else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests so that no process is left at the end with a long module or with all waiting tests."""
    for module in {item.path for item in items if item.get_closest_marker("slow")}:
        if not _says_slow(module):
            raise pytest.UsageError(
                f"{module} has slow tests, which `make test-slow` would not find: see _SLOW"
            )
    if config.getoption("forks", 0):
        items[:] = _mixed(items)


def _mixed(items: list[pytest.Item]) -> list[pytest.Item]:
    """The modules, the longest first, with waiting and computing modules mixed evenly."""
    modules = {item.path: item.nodeid.partition("::")[0] for item in items}
    places: dict[Path, float] = {}
    for waiting in (True, False):
        of_kind = [path for path, name in modules.items() if name.startswith(_WAIT) is waiting]
        of_kind.sort(
            key=lambda path: _LONGEST.index(modules[path]) if modules[path] in _LONGEST else len(_LONGEST)
        )
        places |= {path: place / len(of_kind) for place, path in enumerate(of_kind)}
    return sorted(items, key=lambda item: places[item.path])


_failed: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Drop what a failed test has left open; otherwise the next test would fail because of it."""
    if nodeid not in _failed:
        return
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):  # pytest keeps them for a debugger
        with suppress(AttributeError):
            delattr(sys, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


def pytest_collection_finish() -> None:
    """Exclude the objects made by collecting from garbage collection: scanning them took a tenth of the time.

    Collect garbage less often, too, because most of what tests load stays: Python's default took a fifth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of an empty database on a running Postgres server."""
    from tests.fakes.postgres import running

    with running() as url:
        yield url
