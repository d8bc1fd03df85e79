"""kill -9 during a council: it ends with the same stages, and no finished call is paid again."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.kill.conftest import CHAT
from tests.kill.instants import ALL, sequences
from tests.kill.process import ROOT, Bot, Course, Events, course
from tests.kill.remains import ends, inbox, rows, shown, steps
from tests.wire import council_model
from tests.wire.council_model import CATEGORIES, QUESTION, Call

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MEMBERS = ("m1", "m2", "m3", "m4")
ASKED = f"/council ask {QUESTION} --research all --debate\n"
LATENCY_S = {
    f"{name} {task}": 0.1 + 0.06 * n
    for task in ("answer", "revise", "ballot")
    for n, name in enumerate(MEMBERS)
} | {f"scout research-{name}": 0.1 + 0.06 * n for n, name in enumerate(CATEGORIES)}
HELD = {
    "research": "scout research-philosophical_themes",
    "answers": "m4 answer",
    "ballots": "m4 ballot",
    "synthesis": "chair synthesis",
}
"""The last call of each stage, by its key; of the debate nobody knows beforehand who opens it."""

LEDGER = "SELECT step, state, output_tokens FROM ledger WHERE run_id = ?"


@dataclass(frozen=True)
class Council:
    """The models in a separate process, which survives kills of the bot."""

    config: Path
    log: Path

    def paid(self) -> Counter[Call]:
        """The number of answers to each call."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        calls = [json.loads(line) for line in lines]
        return Counter(Call(call["model"], call["task"]) for call in calls if call["state"] == "asked")


@contextmanager
def sitting(folder: Path, **script: Any) -> Iterator[Council]:
    folder.mkdir(exist_ok=True)
    file, log, config = folder / "script.json", folder / "calls.jsonl", folder / "config.toml"
    file.write_text(json.dumps({"latency_s": LATENCY_S, **script}), encoding="utf-8")
    command = (sys.executable, "-m", "tests.wire.council_model", "--script", str(file), "--log", str(log))
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        config.write_text(council_model.settings(url), encoding="utf-8")
        try:
            yield Council(config, log)
        finally:  # otherwise an error here would wait for it for ever
            process.kill()


@dataclass(frozen=True)
class Reference:
    """The undisturbed council: its end, its paid calls and its stored rows."""

    course: Course
    stages: dict[str | None, Any]
    paid: Counter[Call]
    ledger: list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    folder = tmp_path_factory.mktemp("council")
    data = folder / "data"
    with sitting(folder / "models") as council:
        with Bot(*CHAT, data=data, config=council.config, stdin=ASKED) as bot:
            undisturbed = course(bot)
        ((run, *_),) = inbox(data)
        return Reference(undisturbed, stages([undisturbed.events], run), council.paid(), ledger(data, run))


def ledger(data: Path, run: str) -> list[tuple[Any, ...]]:
    return sorted(rows(data / "sutradhar.db", LEDGER, run))


def stages(told: list[Events], run: str) -> dict[str | None, Any]:
    """The final stages without the parts that differ between councils, such as the opener of the debate."""
    return {
        key: (one.title, [] if key == "debate" else plain(one.text), [plain(repr(it)) for it in one.beside])
        for key, one in shown(told, run).items()
    }


def plain(text: str) -> list[str]:
    """The lines, without times, tokens, the run's id and the order of arrival."""
    spans = re.sub(r"\b[\d.,]+ (?:s|seconds?|minutes?|tokens?)\b|\bno\. \w+", "N", text)
    return sorted(re.sub(r"--run \w+", "--run X", spans).splitlines())


def check(told: list[Events], data: Path, council: Council, reference: Reference) -> None:
    """Check that the run ended once, like the undisturbed one, and that every call is settled or was repeated."""
    ((run, verb, thread, state),) = inbox(data)
    assert (verb, thread, state) == ("ask", "t", "done")
    assert ends(told, run) == ["done"]
    assert stages(told, run) == reference.stages
    settled = [row for row in ledger(data, run) if row[1] == "settled"]
    assert len(settled) >= len(reference.ledger)
    assert len(ledger(data, run)) >= council.paid().total()
    for table in ("councils", "exchanges"):
        assert len(rows(data / "sutradhar.db", f"SELECT 1 FROM {table} WHERE run_id = ?", run)) == 1


@pytest.mark.skipif(not ALL, reason="make test-kill strikes here; make test, in every stage on Discord")
def test_a_council_killed_in_every_stage_pays_only_for_what_was_cut_off(
    tmp_path: Path, reference: Reference
) -> None:
    data = tmp_path / "data"
    hangs = {
        call: {"pieces": ["A", " word"], "fault": "hang", "at": stage == "synthesis"}
        for stage, call in HELD.items()
    }
    told: list[Events] = []
    with sitting(tmp_path / "models", once=hangs) as council:
        for stage, name in HELD.items():
            with Bot(*CHAT, data=data, config=council.config, stdin="" if told else ASKED) as bot:
                bot.until(partial(alone, stage))
                struck = bot.strike_once(partial(asked, council, Call(*name.split())))
                assert struck == -signal.SIGKILL, bot.complaints()
            told.append(bot.events)
        with Bot(*CHAT, data=data, config=council.config) as bot:
            assert bot.end() == 0, bot.complaints()
        told.append(bot.events)
        check(told, data, council, reference)
        repeated = Counter(Call(*name.split()) for name in HELD.values())
        assert by_task(council.paid()) == by_task(reference.paid + repeated)


def alone(stage: str, events: Events) -> bool:
    """Whether only the last call of a stage is missing, or the chair has begun to write."""
    here = [event for event in events if event.get("stage") == stage]
    if stage == "synthesis":
        return any(one["event"] == "text" for one in here)
    return any(one["event"] == "status" and one["done"] == one["total"] - 1 for one in here)


def asked(council: Council, call: Call) -> bool:
    return council.paid()[call] == 1


@pytest.mark.parametrize(("seed", "shares"), sequences("council", kills=1, some=1, every=36))
def test_a_killed_council_is_completed_once(
    seed: int, shares: tuple[float, ...], tmp_path: Path, reference: Reference
) -> None:
    data, chance = tmp_path / "data", random.Random(seed)
    told: list[Events] = []
    with sitting(tmp_path / "models") as council:
        for share in (*sorted(shares), None):
            received = inbox(data)
            over = bool(received) and received[0][3] == "done"
            before, safe = council.paid(), {name for _, name in steps(data)}
            with Bot(*CHAT, data=data, config=council.config, stdin="" if received else ASKED) as bot:
                if share is None:
                    assert bot.end() == 0, bot.complaints()
                else:
                    course = reference.course
                    when = course.starting(chance.random()) if over else course.instant(share)
                    assert bot.strike(when) == -signal.SIGKILL, bot.complaints()
            told.append(bot.events)
            assert not [one for one in council.paid() - before if one.step in safe], (
                "stored calls are not paid again"
            )
        check(told, data, council, reference)
        most = len(MEMBERS) * len(shares)
        assert council.paid().total() <= reference.paid.total() + most, (
            "and each kill repeats at most one stage"
        )


def by_task(paid: Counter[Call]) -> Counter[str]:
    """The opener of the debate, who revises nothing, is drawn again for each council."""
    return Counter(call.task.partition("-")[0] for call in paid.elements())
