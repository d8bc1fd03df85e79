"""Where a message was written, according to Slack's payloads."""

from __future__ import annotations

from typing import Any

import pytest

from bot.adapters.slack.placing import Location, files_of, location_of_event

SAID = {"type": "message", "user": "U1", "channel": "C1", "ts": "5.5"}


def test_a_reply_names_its_thread_and_a_root_is_in_none() -> None:
    assert location_of_event({"event": SAID}, "T1", None) == Location("U1", "T1", "C1", message="5.5")
    assert location_of_event({"event": SAID | {"thread_ts": "5.5"}}, "T1", None).thread == ""
    assert location_of_event({"event": SAID | {"thread_ts": "1.1"}}, "T1", "E1") == Location(
        "U1", "T1", "C1", "E1", "1.1", "5.5"
    )


@pytest.mark.parametrize(
    ("body", "enterprise", "space"),
    [
        ({"context_team_id": "T2", "team_id": "T_STRANGERS", "enterprise_id": "E2"}, "E1", "T2"),
        ({"context_team_id": None, "team_id": "T2", "enterprise_id": "E1"}, "E1", "T2"),
        ({"team_id": "T_STRANGERS", "enterprise_id": "E2"}, "E1", "E1"),
        ({"team_id": None, "enterprise_id": "E1"}, "E1", "E1"),
        ({"team_id": "T2"}, None, ""),
    ],
)
def test_for_an_organisations_installation_the_event_names_the_workspace(
    body: dict[str, Any], enterprise: str | None, space: str
) -> None:
    assert location_of_event(body | {"event": SAID}, None, enterprise).space == space


@pytest.mark.parametrize("odd", [None, 7, [], {}])
def test_a_value_that_is_not_a_text_is_ignored(odd: Any) -> None:
    event = dict.fromkeys(SAID | {"thread_ts": ""}, odd)
    assert location_of_event({"event": event}, "T1", None) == Location("", "T1", "")


@pytest.mark.parametrize(
    ("name", "type", "shown"),
    [
        ("Untitled", "text/plain", "Untitled.txt"),
        ("notes", "text/markdown", "notes.md"),
        ("rules.pdf", "application/pdf", "rules.pdf"),
        ("rules.v2", "application/pdf", "rules.v2"),
        ("map", "image/x-unknown", "map"),
        ("map", None, "map"),
    ],
)
def test_a_file_without_a_suffix_gets_that_of_its_type(name: str, type: str | None, shown: str) -> None:
    (file,) = files_of({"files": [{"id": "F1", "name": name, "mimetype": type, "mode": "snippet"}]})
    assert file.name == shown
