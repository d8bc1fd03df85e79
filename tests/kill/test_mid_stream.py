"""kill -9 while a model's answer arrives, on every API: nothing is lost, and no call is repeated without need."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.wires import WIRES
from tests.kill.conftest import CHAT, QUESTION, Reference, Service, serving, settings
from tests.kill.instants import ALL, sequences
from tests.kill.process import Bot, Events, Instant, course
from tests.kill.remains import cut_off, ends, inbox, rows, shown, steps

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LEDGER = (
    "SELECT state, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens"
    " FROM ledger WHERE run_id = ? ORDER BY id"
)


class Undisturbed(NamedTuple):
    """A service with one of the APIs, a config that uses it, and the undisturbed answer."""

    service: Service
    settings: Path
    reference: Reference


@pytest.fixture(scope="module", params=WIRES if ALL else ["chat"])
def undisturbed(
    request: pytest.FixtureRequest, shelf: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Undisturbed]:
    folder = tmp_path_factory.mktemp(request.param)
    with serving(WIRES[request.param], folder) as service:
        file = settings(service, "none", folder)
        data = Path(shutil.copytree(shelf, folder / "data"))
        with Bot(*CHAT, data=data, config=file, stdin=QUESTION) as bot:
            yield Undisturbed(service, file, Reference(course(bot), data))


def shows(wanted: int, events: Events) -> bool:
    return texts(events) >= wanted


def asked(service: Service, before: int) -> bool:
    return service.calls() > before


def texts(events: Events) -> int:
    return sum(event["event"] == "text" and event["stage"] == "answer" for event in events)


@pytest.mark.parametrize(("seed", "shares"), sequences("stream", kills=2, some=1, every=8))
def test_an_answer_killed_mid_stream_is_completed_once(
    seed: int, shares: tuple[float, ...], data: Path, undisturbed: Undisturbed
) -> None:
    service, config, answered = undisturbed
    chance = random.Random(f"{service.wire.name} {seed}")
    (reference,) = {event["run"] for event in answered.course.events}
    before = service.calls()
    told: list[Events] = []
    calls_when_kept: int | None = None
    for share in shares:
        # At any instant from the request to the service until the last words are shown.
        wanted = int(share * (texts(answered.course.events) + 1))
        with Bot(*CHAT, data=data, config=config, stdin="" if told else QUESTION) as bot:
            if wanted:
                bot.until(partial(shows, wanted))
                struck = bot.strike(Instant(0, chance.random() * 0.03))
            else:
                struck = bot.strike_once(partial(asked, service, service.calls()))
            assert struck == -signal.SIGKILL, bot.complaints()
        told.append(bot.events)
        if calls_when_kept is None and any(name == "answer" for _, name in steps(data)):
            calls_when_kept = service.calls() - before
            break
    with Bot(*CHAT, data=data, config=config) as bot:
        assert bot.end() == 0, bot.complaints()
    told.append(bot.events)

    ((run, _, thread, state),) = inbox(data)[1:]
    assert (thread, state) == ("t", "done")
    assert ends(told, run) == ["done"]
    assert shown(told, run) == shown([answered.course.events], reference)
    calls = service.calls() - before
    assert calls == (calls_when_kept or 1 + len(shares)), (
        "each kill costs one call, and the final answer one more"
    )
    (whole,) = rows(answered.data / "sutradhar.db", LEDGER, reference)
    assert whole[0] == "settled"
    assert all(whole[1:3]), "the service has reported its count"
    paid_for = rows(data / "sutradhar.db", LEDGER, run)
    assert len(paid_for) == calls
    assert whole in paid_for
    assert all(row == whole or cut_off(row) for row in paid_for), paid_for
    assert len(rows(data / "sutradhar.db", "SELECT 1 FROM exchanges WHERE run_id = ?", run)) == 1
