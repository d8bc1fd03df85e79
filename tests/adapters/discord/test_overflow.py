"""Long answers that Discord accepts only in part, or not at all: nothing is lost, and the asker learns of it."""

from __future__ import annotations

import pytest

from bot.adapters.discord.installed.traffic import PACE
from bot.adapters.discord.received.placing import missing
from bot.events import Attachment, Citation, Shown, Stage, Text
from tests.adapters.discord.wire import Bench
from tests.fakes.discord import Asked, Channel, Message, User

FILE = "The whole answer is in the file."
DIRECT = "I have sent you the whole answer in a direct message."
KEPT = "`/sessions resume`"


def sentences(n: int) -> list[str]:
    return [
        f"Sentence {k:03d} tells what the keeper of the lantern saw that night by the river."
        for k in range(n)
    ]


def answer(n: int) -> list[Shown]:
    stages: list[Shown] = [Stage("search", "Searching"), Text("Found 3 passages."), Stage("answer", "Answer")]
    cited = Citation(1, "lanterns.md", "Oil", "A lantern burns six hours.", 4)
    return [*stages, *(Text(f"{sentence} ") for sentence in sentences(n)), cited]


def answered(asked: Asked) -> list[Message]:
    return [
        message
        for message in (asked.original, *asked.followups)
        if message is not None and not message.deleted
    ]


def arrived(n: int, messages: list[Message]) -> tuple[list[int], list[int]]:
    """How often each sentence occurs in the messages and in their files."""
    text = "\n".join(message.text for message in messages)
    files = "\n".join(file.data.decode() for message in messages for file in message.files)
    return [text.count(sentence) for sentence in sentences(n)], [
        files.count(sentence) for sentence in sentences(n)
    ]


async def known(desk: Bench, channel: Channel, permission: str) -> None:
    """Wait until the client has received the permission's change."""
    await desk.fake.until(lambda: missing(desk.client, channel.id, permission) is not None)


async def test_a_long_private_answer_arrives_in_order_and_once(
    desk: Bench, channel: Channel, ana: User
) -> None:
    asked, request = await desk.ask(ana, channel, "response", private=True)
    await desk.run(request, *answer(100))  # more messages than may be posted at once
    assert len(answered(asked)) > PACE.posts
    in_text, in_files = arrived(100, answered(asked))
    assert (set(in_text), set(in_files)) == ({1}, {0})


@pytest.mark.parametrize(
    ("follow_ups", "long"), [(1, 60), *(pytest.param(n, 168, marks=pytest.mark.slow) for n in (0, 3))]
)
async def test_the_last_possible_follow_up_has_the_whole_answer_as_a_file(
    desk: Bench, channel: Channel, ana: User, follow_ups: int, long: int
) -> None:
    desk.fake.follow_ups = follow_ups
    asked, request = await desk.ask(ana, channel, "response", private=True)
    await desk.run(request, *answer(long))
    in_text, in_files = arrived(long, answered(asked))
    assert set(in_files) == {1}
    assert max(in_text) <= 1
    *before, last = answered(asked)
    assert FILE in last.text
    assert not any(one.files for one in before)
    assert "[1] lanterns.md › Oil, p. 4: “A lantern burns six hours.”" in last.files[0].data.decode()
    assert "Share here" in [button.label for button in last.buttons]
    assert desk.fake.dm(ana).messages == []


@pytest.mark.parametrize("denied", ["SEND_MESSAGES", "VIEW_CHANNEL"])
@pytest.mark.parametrize("home", ["here", "thread"])
async def test_where_the_bot_may_not_write_the_response_has_the_whole_answer(
    desk: Bench, channel: Channel, ana: User, denied: str, home: str
) -> None:
    channel.deny(denied, "SEND_MESSAGES_IN_THREADS")
    await known(desk, channel, denied.lower())
    desk.fake.follow_ups = 2
    asked, request = await desk.ask(ana, channel, home)  # type: ignore[arg-type]
    await desk.run(request, *answer(50))
    in_text, in_files = arrived(50, answered(asked))
    dm = desk.fake.dm(ana)
    if denied == "VIEW_CHANNEL":  # and no files can be sent there
        assert DIRECT in answered(asked)[-1].text
        assert set(arrived(50, dm.messages)[1]) == {1}
    else:
        assert set(in_files) == {1}
        assert dm.messages == []
    assert max(in_text) <= 1


@pytest.mark.parametrize("closed", [False, True])
async def test_a_guest_without_the_permission_for_files_gets_a_direct_message_or_is_told(
    desk: Bench, channel: Channel, ana: User, closed: bool
) -> None:
    channel.deny("ATTACH_FILES")
    dm = desk.fake.dm(ana)
    dm.closed = closed
    asked, request = await desk.ask(ana, channel, "response", member=False)
    await desk.run(request, *answer(50))
    (shown,) = answered(asked)
    assert shown.files == []
    assert FILE not in shown.text
    if closed:
        assert KEPT in shown.text
    else:
        assert DIRECT in shown.text
        assert set(arrived(50, dm.messages)[1]) == {1}
        assert dm.messages[0].buttons == []


@pytest.mark.slow
async def test_a_guests_token_that_dies_meanwhile_leaves_the_direct_message(
    desk: Bench, channel: Channel, ana: User
) -> None:
    asked, request = await desk.ask(ana, channel, "response", member=False)
    view = desk.view(request)
    *first, last, cited = answer(50)
    for event in first:
        await view.show(event)
    await desk.fake.until(lambda: "Sentence 000" in asked.text)
    await desk.fake.expire(asked)
    await view.show(last)
    await view.show(cited)
    await view.flush("done")
    assert set(arrived(50, desk.fake.dm(ana).messages)[1]) == {1}
    await desk.run(request, *answer(50))  # as after a crash
    assert len(desk.fake.dm(ana).messages) == 1


async def test_an_answer_refused_in_every_form_becomes_a_direct_message_that_says_so(
    desk: Bench, channel: Channel, ana: User
) -> None:
    asked, request = await desk.ask(ana, channel, "here")
    desk.fake.fail("POST", f"/channels/{channel.id}/messages", status=400, code=200000, times=50)
    await desk.run(request, *answer(5))
    (message,) = asked.followups
    assert message.ephemeral
    assert DIRECT in message.text
    assert set(arrived(5, desk.fake.dm(ana).messages)[0]) == {1}


async def test_the_asker_learns_that_an_answer_without_a_place_is_stored(
    desk: Bench, channel: Channel, ana: User
) -> None:
    desk.fake.dm(ana).closed = True
    asked, request = await desk.ask(ana, channel, "here")
    desk.fake.fail("POST", f"/channels/{channel.id}/messages", status=400, code=200000, times=50)
    await desk.run(request, *answer(5))
    (message,) = asked.followups
    assert message.ephemeral
    assert KEPT in message.text


async def test_a_refused_file_is_not_mentioned_as_attached(desk: Bench, channel: Channel, ana: User) -> None:
    asked, request = await desk.ask(ana, channel, "here")
    export = Attachment("notes.md", "text/markdown", b"# Notes")
    view = desk.view(request)
    for event in (Stage("answer", "Answer"), Text("It is Ana.")):
        await view.show(event)
    await desk.fake.until(lambda: any("It is Ana." in message.text for message in channel.messages))
    for method in ("PATCH", "POST"):  # the layout, and the plain message that takes its place
        desk.fake.fail(method, f"/channels/{channel.id}/messages*", status=413, code=40005)
    await view.show(export)
    await view.flush("done")
    (shown,) = [message for message in channel.messages if "It is Ana." in message.text]
    assert shown.files == []
    assert DIRECT in shown.text
    (sent,) = desk.fake.dm(ana).messages
    assert [file.name for file in sent.files] == ["notes.md"]
    assert asked.followups == []


async def test_an_answer_for_a_deleted_channel_is_sent_nowhere_else(
    desk: Bench, channel: Channel, ana: User
) -> None:
    _, request = await desk.ask(ana, channel, "here")
    view = desk.view(request)
    await view.show(Stage("answer", "Answer"))
    await desk.fake.until(lambda: channel.messages)
    desk.fake.remove_channel(channel)
    await view.show(Text("It is Ana."))
    await view.flush("done")
    assert desk.fake.dm(ana).messages == []
