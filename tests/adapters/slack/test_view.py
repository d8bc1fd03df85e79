"""How Slack shows a complete run, from its events to the final messages."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from bot.adapters.slack.installed.clients import Client, Clients
from bot.config import SlackConfig
from bot.events import (
    Attachment,
    Author,
    Changed,
    Choice,
    Choices,
    Elsewhere,
    Failed,
    Place,
    Request,
    Stage,
    Status,
    Text,
)
from tests.adapters.slack.desk import ANSWER, SEARCH, Desk, Known, body, called, show, shows

pytestmark = pytest.mark.asyncio(loop_scope="module")

HINT = "To continue, reply in this thread; you need not mention me here."


async def test_each_stage_is_a_message_in_the_thread(bench: Desk) -> None:
    root = await bench.root()
    await bench.run(bench.request(root), *SEARCH, *ANSWER)
    search, answer = root.thread
    assert search.shown == "### Searching\nFound 3 passages."
    assert body(answer) == "### Answer\nIt is Ana."
    assert answer.buttons == ["This helped", "This did not help"]
    assert bench.fake.refused == []


async def test_a_workspace_without_agent_sessions_is_asked_for_them_once(bench: Desk) -> None:
    clients = Clients(SlackConfig(api_base=bench.fake.api))

    class Limited(Known):
        async def client(self, team: str, enterprise: str = "") -> Client:
            return clients.client(team, bench.team.bot_token)

    usual, bench.workspaces = bench.workspaces, Limited(bench.fake)
    for method in ("agents.*", "assistant.*", "chat.startStream"):
        bench.fake.fail(method, error="feature_not_enabled", times=99)
    made: list[list[str]] = []
    for _ in range(2):
        before = len(bench.fake.calls)
        root = await bench.root(channel=bench.dm)
        view = bench.view(bench.request(root))
        await show(view, *SEARCH, *ANSWER[:2])
        await bench.fake.until(partial(shows, root, "It"))
        await show(view, *ANSWER[2:])
        await view.flush("done")
        await bench.beside()
        assert [body(message) for message in root.thread][1] == "### Answer\nIt is Ana."
        made.append([call.method for call in bench.fake.calls[before:]])
    await clients.close()
    await bench.workspaces.session.close()
    bench.workspaces = usual
    vain = {"chat.startStream", "agents.sessions.setStatus", "assistant.threads.setStatus"}
    assert vain < set(made[0])
    assert set(made[1]) == {"chat.postMessage", "chat.update"}


async def test_progress_before_the_first_words_is_posted_or_in_the_status_line(
    bench: Desk,
) -> None:
    root = await bench.root()
    view = bench.view(bench.request(root))
    await show(view, Stage("search", "Searching"), Status("Looking", 1, 3))
    await bench.fake.until(lambda: "1/3" in bench.fake.status(root))
    await show(view, *ANSWER)
    await view.flush("done")
    assert bench.fake.status(root) == ""


async def test_an_unordered_run_is_posted_and_edited(bench: Desk) -> None:
    request = bench.request(bench.channel, ordered=False, verb=("library", "add"))
    view = bench.view(request)
    await show(view, Stage("job", "Adding"), Status("Reading", 1, 2))
    await bench.fake.until(lambda: bench.channel.messages)
    (message,) = bench.channel.messages
    assert message.buttons == ["⏹️ Stop"]
    await show(view, Text("One book."))
    await view.flush("done")
    assert message.shown == "### Adding\nOne book."
    assert called(bench, "chat.startStream") == 0


async def test_after_a_crash_the_same_messages_are_completed(bench: Desk) -> None:
    root = await bench.root()
    request = bench.request(root)
    await show(bench.view(request), *SEARCH, *ANSWER[:2])
    await bench.fake.until(lambda: len(root.thread) == 2)
    bench.crash()
    await bench.run(request, *SEARCH, *ANSWER)
    assert [body(message) for message in root.thread] == [
        "### Searching\nFound 3 passages.",
        "### Answer\nIt is Ana.",
    ]
    assert not any(message.streaming for message in root.thread)


async def test_messages_of_a_stopped_run_are_closed_after_a_crash(bench: Desk) -> None:
    root = await bench.root()
    request = bench.request(root)
    view = bench.view(request)
    await show(view, *ANSWER[:2])
    await bench.fake.until(lambda: root.thread)
    (message,) = root.thread
    await bench.noted(request, message)
    bench.crash()
    await bench.view(request).flush("stopped")
    assert not message.streaming
    assert "Stopped. What was shown so far is kept." in message.shown
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and session.status == "active")


async def test_a_run_shown_to_its_end_before_a_crash_is_not_working_afterwards(bench: Desk) -> None:
    """The process died between the end of the last stream and the status of the thread."""
    root = await bench.root()
    request = bench.request(root)
    await bench.run(request, *SEARCH, *ANSWER)
    session = bench.fake.session(root)
    assert session is not None
    await bench.fake.until(lambda: session.status == "active")
    session.status = "processing"
    bench.crash()
    await bench.run(request, *SEARCH, *ANSWER)
    await bench.fake.until(lambda: session.status == "active")


async def test_a_stopped_run_shown_to_its_end_before_a_crash_is_not_working_afterwards(bench: Desk) -> None:
    """The process died between the edit that showed the end and the status of the thread."""
    root = await bench.root()
    request = bench.request(root)
    await bench.run(request, *ANSWER, status="stopped")
    session = bench.fake.session(root)
    assert session is not None
    await bench.fake.until(lambda: session.status == "active")
    session.status = "processing"
    bench.crash()
    shown = [message.shown for message in root.thread]
    await bench.run(request, status="stopped")
    assert session.status == "active"
    assert [message.shown for message in root.thread] == shown


async def test_the_asker_alone_sees_why_a_run_failed(bench: Desk) -> None:
    root = await bench.root()
    await bench.run(bench.request(root), Failed("There is no model."), status="failed")
    (message,) = [message for message in bench.channel.everything if message is not root]
    assert message.ephemeral_to is bench.ana
    assert message.thread_ts is None  # Slack shows no ephemeral messages in a thread without replies
    assert "There is no model." in message.shown
    assert message.buttons == ["🔁 Try again"]


async def test_a_failure_names_commands_as_they_are_typed_in_its_place(bench: Desk) -> None:
    """In a channel only a command with its slash reaches the bot without a mention."""
    root, told = await bench.root(), Failed("Begin with `/story start`.")
    for request, typed in (
        (bench.request(bench.channel, text="a command"), "`/story start`"),
        (bench.request(root), "`/story start`"),
        (bench.request(root, thread=root.ts, message=""), "`story start`"),
        (bench.request(bench.channel, private=True), "`story start`"),
        (bench.request(await bench.root(channel=bench.dm)), "`story start`"),
    ):
        await bench.run(request, told, status="failed")
        shown = [*bench.channel.everything, *bench.dm.everything]
        last = max((message for message in shown if "Begin with" in message.shown), key=lambda one: one.ts)
        assert typed in last.shown


async def test_a_refusal_that_would_be_repeated_has_no_retry_button(bench: Desk) -> None:
    root = await bench.root()
    await bench.run(bench.request(root), Failed("I can't roll “2x6”.", retry=False), status="failed")
    (message,) = [message for message in bench.channel.everything if message is not root]
    assert "I can't roll" in message.shown
    assert message.buttons == []


async def test_in_direct_messages_a_failure_is_shown_there(bench: Desk) -> None:
    root = await bench.root(channel=bench.dm)
    await bench.run(bench.request(root), Failed("There is no model."), status="failed")
    (message,) = root.thread
    assert message.ephemeral_to is None


async def test_a_file_follows_its_stage(bench: Desk) -> None:
    root = await bench.root()
    export = Attachment("notes.md", "text/markdown", b"# Notes")
    await bench.run(bench.request(root), *ANSWER, export)
    answer, sent = root.thread
    assert "It is Ana." in answer.shown
    assert [(file.name, file.data) for file in sent.files] == [("notes.md", b"# Notes")]
    assert bench.fake.refused == []


async def test_a_refused_file_is_named_as_missing(bench: Desk) -> None:
    bench.team.scopes.discard("files:write")
    root = await bench.root()
    await bench.run(bench.request(root), *ANSWER, Attachment("notes.md", "text/markdown", b"# Notes"))
    shown = "\n".join(message.shown for message in root.thread)
    assert "Slack did not accept the file notes.md." in shown
    assert shown.count("It is Ana.") == 1


async def test_another_conversation_is_linked_and_renamed(bench: Desk) -> None:
    root, other = await bench.root(), await bench.root("Before")
    client = await bench.workspaces.client(bench.team.id)
    await client.agents_sessions_setStatus(channel_id=bench.channel.id, thread_ts=other.ts, status="active")
    there = Place("slack", bench.team.id, bench.channel.id, other.ts)
    foreign = Place("slack", "T0OTHER", bench.channel.id, other.ts)
    await bench.run(
        bench.request(root),
        Stage("sessions", ""),
        Elsewhere(there, "<!channel> & co"),
        Elsewhere(foreign, "Secret"),
    )
    (message,) = root.thread
    link = f"<https://{bench.team.domain}.slack.com/archives/{bench.channel.id}/p{other.ts.replace('.', '')}|"
    assert link in message.shown
    assert message.mentions == []
    assert message.shown.count("https://") == 1
    await bench.fake.until(lambda: (session := bench.fake.session(other)) and session.title)
    assert called(bench, "agents.sessions.rename") == 1


async def test_a_plain_message_after_refused_blocks_has_the_same_text(bench: Desk) -> None:
    root = await bench.root()
    bench.fake.fail("chat.postMessage", error="invalid_blocks")
    await bench.run(bench.request(root), *ANSWER)
    (message,) = root.thread
    assert "It is Ana." in message.shown
    assert [block["type"] for block in message.blocks if block["type"] == "markdown"] == []


async def test_a_quoted_question_pings_nobody(bench: Desk) -> None:
    request = bench.request(bench.channel, text=f"<!channel> <@{bench.ana.id}> what?")
    request = Request(
        request.id,
        request.place,
        Author(bench.ana.id, f"<@{bench.ana.id}> & <!here>"),
        request.work,
        request.verb,
        text=request.text,
        origin=request.origin,
    )
    await bench.run(request, Stage("answer", "<!here>"), Text("<!channel> and @channel"), Status("<!here>"))
    for message in bench.channel.everything:
        assert message.mentions == []


async def test_an_earlier_stage_is_changed_in_its_own_message_or_withdrawn(bench: Desk) -> None:
    root = await bench.root()
    request = bench.request(root)
    await bench.run(request, *SEARCH, *ANSWER, Choices("Now?", (Choice("Go", "/rules ask go"),)))
    search, answer = root.thread
    for _ in range(2):  # as after a crash
        await bench.view(request).change(
            Changed(
                request.id, "answer", "Answer", (Text("It is Bia."), Choices("Now?", (Choice("Stay", "x"),)))
            )
        )
    assert root.thread == [search, answer]
    assert body(answer) == "### Answer\nIt is Bia."
    assert "Stay" in answer.buttons
    assert "Go" not in answer.buttons
    await bench.view(request).change(Changed(request.id, "search", "Searching"))
    assert "taken back" in search.shown
    assert "3 passages" not in search.shown
    assert bench.fake.refused == []


@pytest.mark.parametrize("pressed", [False, True])
@pytest.mark.parametrize("crashes", [False, True])
async def test_a_failure_after_a_wait_removes_the_waiting_message(
    bench: Desk, pressed: bool, crashes: bool
) -> None:
    """A failed press concerns only one person."""
    root = await bench.root()
    request = replace(bench.request(root), answers="another run" if pressed else "")
    view = bench.view(request)
    await view.show(Status("Number 2 in line"))
    await bench.fake.until(lambda: bench.said(root))
    if crashes:
        await bench.noted(request, root.thread[0])
        bench.crash()
        view = bench.view(request)
    await view.show(Failed("The story has gone on."))
    await view.flush("failed")
    told = [message for message in bench.channel.everything if "gone on" in message.shown]
    assert [message.ephemeral_to for message in told] == [bench.ana if pressed else None]
    assert not [text for text in bench.said(root) if "in line" in text]
    assert not [message for message in root.thread if message.streaming and not message.deleted]
    assert bench.fake.refused == []
