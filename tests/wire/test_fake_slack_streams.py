"""Streaming to the fake Slack with the real client, agent sessions, and the stop button."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.models.messages.chunk import PlanUpdateChunk, TaskUpdateChunk

from tests.fakes.slack import Message
from tests.fakes.slack.small_app import Table, table

CLOSING = [{"type": "context", "elements": [{"type": "mrkdwn", "text": "SRD, p. 7"}]}]


async def begun(t: Table, **more: Any) -> tuple[Message, Message]:
    """Ana's question, and the stream that answers it."""
    root = await t.slack.say(t.ana, t.channel, "what?")
    to: dict[str, Any] = {"recipient_team_id": t.team.id, "recipient_user_id": t.ana.id}
    started = await t.client.chat_startStream(channel=t.channel.id, thread_ts=root.ts, **to, **more)
    return root, t.channel.posts[started["ts"]]


async def test_an_answer_is_streamed_and_closed_with_blocks() -> None:
    async with table(socket=False) as t:
        root = await t.slack.say(t.ana, t.channel, "what?")
        stream = await t.client.chat_stream(
            channel=t.channel.id,
            thread_ts=root.ts,
            recipient_team_id=t.team.id,
            recipient_user_id=t.ana.id,
            buffer_size=4,
        )
        await stream.append(markdown_text="**four ")
        [answer] = root.thread
        assert (answer.shown, answer.streaming) == ("**four ", True)
        await stream.append(markdown_text="hours**")
        assert answer.shown == "**four hours**"
        await stream.stop(blocks=CLOSING)
        assert (answer.shown, answer.streaming) == ("**four hours**\nSRD, p. 7", False)
        assert answer.text == "**four hours**"
        methods = [call.method for call in t.slack.calls]
        assert methods == ["chat.startStream", "chat.appendStream", "chat.stopStream"]


async def test_tasks_keep_their_place_and_a_plan_groups_them() -> None:
    async with table(socket=False) as t:
        _, answer = await begun(t, task_display_mode="plan")
        chunks = [
            PlanUpdateChunk(title="Council"),
            TaskUpdateChunk(id="a", title="Ask Ana", status="in_progress"),
            TaskUpdateChunk(id="b", title="Ask Bia", status="pending"),
        ]
        where: dict[str, Any] = {"channel": t.channel.id, "ts": answer.ts}
        await t.client.chat_appendStream(**where, chunks=chunks)
        task = TaskUpdateChunk(id="a", title="Asked Ana", status="complete", output="yes")
        await t.client.chat_appendStream(**where, chunks=[task])
        await t.client.chat_appendStream(**where, markdown_text="So be it.")
        assert answer.shown == "Council\nAsked Ana\nyes\nAsk Bia\nSo be it."
        assert [block["type"] for block in answer.blocks] == ["plan", "markdown"]


async def test_blocks_can_be_streamed_too() -> None:
    async with table(socket=False) as t:
        _, answer = await begun(t, chunks=[{"type": "markdown_text", "text": "See:"}])
        where: dict[str, Any] = {"channel": t.channel.id, "ts": answer.ts}
        await t.client.chat_appendStream(**where, chunks=[{"type": "blocks", "blocks": CLOSING}])
        assert answer.shown == "See:\nSRD, p. 7"
        assert answer.blocks[1]["block_id"]


async def test_in_a_direct_message_no_recipient_is_needed() -> None:
    async with table(socket=False) as t:
        dm = t.team.dm(t.ana)
        root = await t.slack.say(t.ana, dm, "what?")
        await t.client.chat_startStream(channel=dm.id, thread_ts=root.ts, markdown_text="well")
        assert [(message.shown, message.streaming) for message in root.thread] == [("well", True)]


async def test_a_stream_refuses_invalid_content() -> None:
    async with table(socket=False) as t:
        t.slack.limits.on = False
        root, answer = await begun(t)
        address = {"channel": t.channel.id, "thread_ts": root.ts}
        to: dict[str, Any] = {"recipient_team_id": t.team.id, "recipient_user_id": t.ana.id}
        on: dict[str, Any] = {"channel": t.channel.id, "ts": answer.ts}
        other_address = {"channel": t.channel.id, "ts": root.ts}
        finished = (await t.post("posted")).ts
        cards = [{"type": "divider"}] * 51
        start, append, stop = "chat.startStream", "chat.appendStream", "chat.stopStream"
        table_of: list[tuple[str, str, dict[str, Any]]] = [
            ("missing_recipient_team_id", start, address),
            ("missing_recipient_user_id", start, address | {"recipient_team_id": t.team.id}),
            ("team_not_found", start, address | to | {"recipient_team_id": "T0NOWHERE"}),
            ("user_not_found", start, address | to | {"recipient_user_id": "U0NOBODY"}),
            ("invalid_arguments", start, {"channel": t.channel.id} | to),
            ("thread_not_found", start, address | to | {"thread_ts": "1.1"}),
            ("invalid_arguments", start, address | to | {"task_display_mode": "list"}),
            ("msg_too_long", append, on | {"markdown_text": "x" * 12_001}),
            ("no_text", append, on),
            ("no_text", append, on | {"markdown_text": ""}),
            ("invalid_arguments", append, on | {"markdown_text": "x", "chunks": []}),
            ("invalid_chunks", append, on | {"chunks": [{"type": "picture"}]}),
            ("invalid_chunks", append, on | {"chunks": [{"type": "task_update", "id": "a", "title": "x"}]}),
            (
                "invalid_chunks",
                append,
                on | {"chunks": [{"type": "task_update", "id": "a", "title": "x", "status": "done"}]},
            ),
            ("invalid_blocks", append, on | {"chunks": [{"type": "blocks", "blocks": [{"type": "x"}]}]}),
            ("msg_blocks_too_many", append, on | {"chunks": [{"type": "blocks", "blocks": cards[:26]}] * 2}),
            ("message_not_owned_by_app", append, other_address | {"markdown_text": "x"}),
            ("message_not_found", append, on | {"ts": "1.1", "markdown_text": "x"}),
            ("message_not_in_streaming_state", append, on | {"ts": finished, "markdown_text": "x"}),
            ("message_not_in_streaming_state", stop, on | {"ts": finished}),
            ("invalid_blocks", stop, on | {"markdown_text": "x", "blocks": cards}),
            ("no_text", stop, on),
            ("invalid_status", stop, on | {"session_status": "asleep"}),
            ("streaming_state_conflict", "chat.update", on | {"text": "x"}),
        ]
        for error, method, args in table_of:
            with pytest.raises(SlackApiError) as caught:
                await t.client.api_call(method, json=args)
            assert (caught.value.response["error"], method, args) == (error, method, args)
        assert answer.streaming


async def test_the_total_text_of_a_stream_is_limited() -> None:
    async with table(socket=False) as t:
        _, answer = await begun(t, markdown_text="x" * 11_999)
        await t.client.chat_appendStream(channel=t.channel.id, ts=answer.ts, markdown_text="y")
        await t.refused(
            "msg_too_long", "chat.appendStream", channel=t.channel.id, ts=answer.ts, markdown_text="z"
        )
        await t.client.chat_stopStream(channel=t.channel.id, ts=answer.ts)
        assert len(answer.shown) == 12_000


async def test_an_expired_stream_can_still_be_edited() -> None:
    async with table(socket=False) as t:
        _, first = await begun(t, markdown_text="half")
        t.slack.expire(first)
        t.slack.stream_seconds = 0.0
        _, second = await begun(t, markdown_text="half")
        for answer in (first, second):
            on: dict[str, Any] = {"channel": t.channel.id, "ts": answer.ts}
            await t.refused("message_not_in_streaming_state", "chat.appendStream", **on, markdown_text="x")
            await t.refused("message_not_in_streaming_state", "chat.stopStream", **on, markdown_text="x")
            await t.client.chat_update(**on, text="whole")
            assert (answer.shown, answer.streaming) == ("whole", False)


async def test_the_stop_button_ends_the_streams_and_sends_the_bot_an_event() -> None:
    async with table() as t:
        root, answer = await begun(t, markdown_text="so far")
        with pytest.raises(PermissionError, match="no stop button"):
            await t.slack.stop_session(t.ana, root)
        where: dict[str, Any] = {"channel_id": t.channel.id, "thread_ts": root.ts}
        told = await t.client.agents_sessions_setStatus(**where, status="processing", title="What?")
        assert (told["status"], told.get("warning")) == ("processing", None)
        await t.slack.stop_session(t.ana, root)
        [event] = [event for event in t.small.events if event["type"] == "agent_session_stopped"]
        assert (event["thread_ts"], event["streaming_message_ts"]) == (root.ts, [answer.ts])
        on: dict[str, Any] = {"channel": t.channel.id, "ts": answer.ts}
        await t.refused("stopped_by_user", "chat.appendStream", **on, markdown_text="more")
        await t.client.chat_stopStream(**on)
        session = t.slack.session(root)
        assert session is not None
        assert (session.past, session.title) == (["processing", "active"], "What?")
        assert answer.shown == "so far"


async def test_sessions_have_their_own_refusals_and_a_warning() -> None:
    async with table(socket=False) as t:
        root = await t.slack.say(t.ana, t.channel, "what?")
        where: dict[str, Any] = {"channel_id": t.channel.id, "thread_ts": root.ts}
        set_status = "agents.sessions.setStatus"
        await t.refused("invalid_status", set_status, **where, status="asleep")
        await t.refused("thread_ts_required", set_status, channel_id=t.channel.id, status="active")
        away = t.team.channel("away", bot=False)
        await t.refused("not_authorized", set_status, channel_id=away.id, thread_ts=root.ts, status="active")
        await t.refused("session_not_found", "agents.sessions.rename", **where, title="x")
        t.slack.events.discard("agent_session_stopped")
        answer = await t.client.agents_sessions_setStatus(**where, status="processing")
        await t.refused("invalid_arguments", set_status, **where, status="active", title="x" * 201)
        nobody = {"initiator_user_id": "U0NOBODY"}
        await t.refused("user_not_found", set_status, **where, status="active", **nobody)
        assert answer["warning"] == "missing_agent_session_stopped_event_subscription"
        await t.client.agents_sessions_rename(**where, title="Named")
        session = t.slack.session(root)
        assert session is not None
        assert session.title == "Named"


async def test_the_next_post_clears_the_status_line() -> None:
    async with table(socket=False) as t:
        root = await t.slack.say(t.ana, t.team.dm(t.ana), "what?")
        where: dict[str, Any] = {"channel_id": root.channel.id, "thread_ts": root.ts}
        await t.client.assistant_threads_setStatus(**where, status="is reading…")
        assert t.slack.status(root) == "is reading…"
        await t.client.assistant_threads_setStatus(**where, status="")
        assert t.slack.status(root) == ""
        await t.client.assistant_threads_setStatus(**where, status="is writing…")
        await t.client.chat_postMessage(channel=root.channel.id, thread_ts=root.ts, text="here")
        assert t.slack.status(root) == ""
        await t.client.assistant_threads_setTitle(**where, title="Bonus")
        prompts = [{"title": "Rules", "message": "rules ask"}]
        await t.client.assistant_threads_setSuggestedPrompts(**where, prompts=prompts)
        assert t.slack.agents.prompts == {}
        await t.client.assistant_threads_setSuggestedPrompts(channel_id=root.channel.id, prompts=prompts)
        key = (root.channel.id, root.ts)
        assert (t.slack.agents.titles[key], t.slack.agents.prompts[key[0]]) == ("Bonus", prompts)
        method = "assistant.threads.setSuggestedPrompts"
        await t.refused("invalid_arguments", method, **where, prompts=prompts * 5)
        await t.refused("invalid_arguments", method, **where, prompts=[{"title": "x"}])
        await t.refused("invalid_arguments", "assistant.threads.setStatus", **where)
        nowhere = {"channel_id": t.channel.id, "status": "x"}
        await t.refused("invalid_arguments", "assistant.threads.setStatus", **nowhere)
        away = t.team.channel("away", bot=False)
        await t.refused(
            "channel_not_found", "assistant.threads.setStatus", **nowhere | {"channel_id": away.id}
        )
        await t.refused(
            "invalid_thread_ts", "assistant.threads.setStatus", **where | {"thread_ts": "1.1"}, status="x"
        )
