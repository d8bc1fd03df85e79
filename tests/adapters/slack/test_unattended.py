"""Background tasks may fail; for programming errors the log names the place."""

from __future__ import annotations

import pytest

from bot.adapters.slack.received.intake import unattended
from bot.adapters.surface import PlaceClosed
from storage.faults import StorageFault


async def failing(fault: Exception) -> None:
    raise fault


@pytest.mark.parametrize("fault", [PlaceClosed("missing_scope"), StorageFault("locked")])
async def test_a_refusal_is_logged_in_one_line(fault: Exception, caplog: pytest.LogCaptureFixture) -> None:
    await unattended("a channel could not be welcomed", failing(fault))
    assert caplog.messages == [f"a channel could not be welcomed: {fault}"]


async def test_a_programming_error_is_logged_with_its_place_and_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await unattended("a channel could not be welcomed", failing(ZeroDivisionError("xoxb-secret")))
    (line,) = caplog.records
    assert line.levelname == "ERROR"
    assert "ZeroDivisionError" in caplog.text
    assert "in failing\n" in caplog.text
    assert "xoxb-secret" not in caplog.text
