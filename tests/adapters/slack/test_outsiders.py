"""Members of another workspace in a channel that is shared with them (Slack Connect)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.adapters.slack.placing import PLATFORM, location_of_event, location_of_interaction
from bot.adapters.slack.received import fetched
from bot.adapters.slack.received.people import Person, person_of
from bot.events import Place
from bot.settings import EVERYTHING, LISTENS, NOTHING, OUTSIDERS
from tests.adapters.slack.table import Table
from tests.adapters.slack.test_channel_settings import acknowledged
from tests.fakes.slack import Channel, User

together = pytest.mark.asyncio(loop_scope="module")


def shared(at: Table) -> tuple[Channel, User]:
    """A shared channel with Eva, whose workspace does not have the bot."""
    other = at.slack.workspace("Guests", installed=False)
    channel, eva = at.team.channel("shared"), other.user("Eva", admin=True)
    channel.members.append(eva)
    return channel, eva


async def put(at: Table, channel: Channel, name: str, value: str) -> None:
    await at.app.settings.set(Place(PLATFORM, at.space, channel.id, ""), at.bia.id, name, value, "channel")


@together
async def test_outsiders_may_ask_but_not_list_the_library(at: Table) -> None:
    channel, eva = shared(at)
    await at.slack.say(eva, channel, "Who is the regent?", mention=True)
    await at.slack.until(lambda: len(at.bot.record.requests) > 0)
    asked = next(request for request in at.bot.record.requests if request.author.id == eva.id)
    assert (asked.place.space, asked.author.name, asked.author.outside) == (at.space, "Eva", True)
    assert not asked.author.admin, "an admin of another workspace is no admin here"
    for line in ("library list", "usage", "settings show"):
        before = len(at.whispers(eva, channel))
        await at.slack.say(eva, channel, f"/{line}", mention=True)
        await at.slack.until(lambda before=before: len(at.whispers(eva, channel)) > before)  # type: ignore[misc]
    assert all("is for members of this workspace" in told for told in at.whispers(eva, channel))
    await at.slack.say(at.ana, channel, "/library list", mention=True)
    await at.ended()
    assert (at.asked.work, at.asked.author.outside) == ("library", False)


@together
async def test_outsiders_without_rights_are_refused_only_when_they_ask_the_bot(at: Table) -> None:
    channel, eva = shared(at)
    await put(at, channel, LISTENS, EVERYTHING)
    await put(at, channel, OUTSIDERS, NOTHING)
    before = len(at.bot.record.requests)
    said = await at.slack.say(eva, channel, "Does anyone know how grappling works?")
    await at.slack.until(lambda: acknowledged(said))
    assert at.whispers(eva, channel) == []
    await at.slack.say(eva, channel, "Who?", mention=True)
    assert "not available to members of other workspaces" in (await at.whispered(eva, channel)).text
    assert len(at.bot.record.requests) == before
    await at.slack.say(at.ana, channel, "Does anyone know how grappling works?")
    await at.ended()
    assert at.asked.author.id == at.ana.id


@together
async def test_files_in_a_shared_channel_are_read_by_their_ids(
    at: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetched, "FILES_S", 60.0)
    channel, eva = shared(at)
    book = [("regents.md", b"# Regents")]
    await at.slack.say(eva, channel, "Who is the regent in this?", mention=True, files=book)
    said = await at.slack.say(at.ana, channel, "My notes", files=book)
    await at.slack.say(at.ana, channel, "Who is the regent here?", mention=True, shares=said)
    await at.slack.until(lambda: {eva.id, at.ana.id} <= {asked.author.id for asked in at.bot.record.requests})
    asked = [request for request in at.bot.record.requests if request.author.id in (eva.id, at.ana.id)]
    assert [[(file.name, file.size) for file in request.files] for request in asked] == [
        [("regents.md", 9)],
        [("regents.md", 9)],
    ]
    files = fetched.Files(at.bot.workspaces, at.bot.settings)
    for request in asked:
        await files.fetch(request, request.files[0], tmp_path / "read", 100)
        assert (tmp_path / "read").read_bytes() == b"# Regents"


@together
async def test_a_question_is_answered_even_if_slack_does_not_describe_its_file(at: Table) -> None:
    channel, _ = shared(at)
    at.slack.fail("files.info", status=500, times=2)
    await at.slack.say(at.ana, channel, "Who?", mention=True, files=[("regents.md", b"# Regents")])
    await at.ended()
    assert at.asked.text == "Who?"


def test_events_name_the_persons_workspace() -> None:
    """The shapes of https://github.com/slackapi/bolt-python/blob/main/tests/slack_bolt/request/test_internals.py."""
    message: dict[str, Any] = {"type": "message", "user": "U1", "ts": "1.1", "team": "T9", "channel": "C1"}
    mention = {**message, "type": "app_mention", "team": "T1", "user_team": "T9", "source_team": "T9"}
    of_grid = {**mention, "user_team": "E9", "source_team": "E9"}
    own = {**mention, "user_team": "E1"}
    for event, outside in ((message, True), (mention, True), (of_grid, True)):
        body = {"event": event, "is_ext_shared_channel": True, "team_id": "T9", "context_team_id": "T1"}
        assert location_of_event(body, "T1", None).outside is outside
        assert location_of_event({**body, "is_ext_shared_channel": False}, "T1", None).outside is False
    external: dict[str, Any] = {"is_ext_shared_channel": True}
    assert location_of_event({"event": own, **external}, "T1", "E1").outside is False
    assert location_of_event({"event": message, **external}, "T1", "E1").outside is None, (
        "the workspaces may belong to the same Grid"
    )
    press = {"user": {"id": "U1", "team_id": "T9"}, "channel": {"id": "C1"}}
    assert location_of_interaction(press, "T1", None).outside is True
    assert location_of_interaction(press, "T9", None).outside is False
    assert location_of_interaction(press, "T1", "E1").outside is None


def test_slack_marks_strangers_and_unknown_people_in_shared_channels_count_as_strangers() -> None:
    unknown = location_of_event(
        {"event": {"user": "U1", "ts": "1.1"}, "is_ext_shared_channel": True}, "T1", "E1"
    )
    assert unknown.outside is None
    assert Person().outside_of(unknown)
    people: list[tuple[dict[str, Any], bool]] = [
        ({"team_id": "T1"}, False),
        ({"team_id": "T2", "enterprise_user": {"enterprise_id": "E1"}}, False),
        ({"team_id": "T2"}, True),
        ({"team_id": "T1", "is_stranger": True}, True),
        ({"team_id": "T9", "enterprise_user": {"enterprise_id": "E9"}, "is_admin": True}, True),
    ]
    for user, outside in people:
        person = person_of(unknown, {"name": "eva", **user}, ())
        assert (person.outside_of(unknown), person.admin) == (outside, False)
