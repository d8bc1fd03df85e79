"""Socket Mode of the fake Slack, driven by the real Bolt app: people's messages and actions reach it."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncAck
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.fakes.slack.small_app import Body, table


async def test_a_mention_in_a_channel_arrives_as_two_events_of_one_message() -> None:
    async with table() as t:
        message = await t.slack.say(t.ana, t.channel, "what is a <bonus> & why?", mention=True)
        assert sorted(event["type"] for event in t.small.events) == ["app_mention", "message"]
        assert {event["ts"] for event in t.small.events} == {message.ts}
        assert len({body["event_id"] for body in t.small.heard}) == 2
        me = t.team.bot.mention
        assert {event["text"] for event in t.small.events} == {f"{me} what is a &lt;bonus&gt; &amp; why?"}
        assert message.shown == f"{me} what is a <bonus> & why?"
        assert all(sent.acked is not None for sent in message.sent)


async def test_a_message_without_a_mention_is_one_event_and_names_its_thread() -> None:
    async with table() as t:
        root = await t.slack.say(t.ana, t.channel, "aside")
        reply = await t.slack.say(t.ana, t.channel, "and", thread=root)
        assert [event["type"] for event in t.small.events] == ["message", "message"]
        assert [event.get("thread_ts") for event in t.small.events] == [None, root.ts]
        assert t.small.events[0]["channel_type"] == "channel"
        assert (t.channel.messages, root.thread) == ([root], [reply])


async def test_a_direct_message_is_never_a_mention() -> None:
    async with table() as t:
        await t.slack.say(t.ana, t.team.dm(t.ana), "hello", mention=True)
        assert [(event["type"], event["channel_type"]) for event in t.small.events] == [("message", "im")]


async def test_the_bot_gets_no_events_of_channels_without_it() -> None:
    async with table() as t:
        elsewhere = t.team.channel("elsewhere", bot=False)
        message = await t.slack.say(t.ana, elsewhere, "psst", mention=True)
        assert (message.sent, t.small.heard) == ([], [])
        await t.slack.invite(t.ana, elsewhere)
        await t.slack.say(t.ana, elsewhere, "now")
        assert [event["type"] for event in t.small.events] == ["member_joined_channel", "message"]


async def test_the_app_gets_only_events_that_it_subscribes_to() -> None:
    async with table() as t:
        t.slack.events.discard("message.channels")
        await t.slack.say(t.ana, t.channel, "aside")
        await t.slack.say(t.ana, t.channel, "named", mention=True)
        assert [event["type"] for event in t.small.events] == ["app_mention"]


async def test_slack_sends_the_bots_own_posts_and_bolt_drops_them() -> None:
    async with table() as t:
        message = await t.post("mine")
        await t.slack.until(lambda: message.sent[0].acked is not None)
        assert t.small.heard == []


async def test_edits_and_deletions_are_events() -> None:
    async with table() as t:
        message = await t.slack.say(t.ana, t.channel, "frist")
        await t.slack.edit(message, "first")
        await t.slack.delete(message)
        await t.slack.until(lambda: len(t.small.heard) == 3)
        changed, deleted = t.small.events[1:]
        assert (changed["subtype"], changed["message"]["text"]) == ("message_changed", "first")
        assert changed["previous_message"]["text"] == "frist"
        assert (deleted["subtype"], deleted["deleted_ts"]) == ("message_deleted", message.ts)
        assert (deleted["previous_message"]["user"], deleted["previous_message"]["text"]) == (
            t.ana.id,
            "first",
        )
        assert (t.channel.messages, message.deleted, message.edits[0].shown) == ([], True, "frist")


async def test_a_command_is_answered_with_its_acknowledgement() -> None:
    async with table() as t:

        async def answer(body: Body, ack: AsyncAck) -> None:
            await ack(f"you said {body['text']}")

        t.small.doing = answer
        sent = await t.slack.command(t.ana, t.channel, "/sutradhar", "rules ask")
        assert sent.response is not None
        assert sent.response["text"] == "you said rules ask"
        assert sent.acked is not None
        [shown] = t.channel.messages
        assert (shown.shown, shown.ephemeral_to) == ("you said rules ask", t.ana)
        body = t.small.done[0]
        assert (body["command"], body["channel_name"], body["user_id"]) == ("/sutradhar", "general", t.ana.id)


async def test_a_command_can_be_answered_later_five_times() -> None:
    async with table() as t:
        sent = await t.slack.command(t.ana, t.channel, "/sutradhar")
        hook = t.small.done[0]["response_url"]
        later = AsyncWebhookClient(hook)
        for number in range(5):
            response = await later.send(text=str(number), response_type="in_channel")
            assert (response.status_code, response.body) == (200, "ok")
        assert (await later.send(text="six")).status_code == 404
        assert [one["text"] for one in sent.responses] == ["0", "1", "2", "3", "4"]
        assert [message.shown for message in t.channel.messages] == ["0", "1", "2", "3", "4"]
        assert t.slack.refused[-1].error == "used_url"
        stranger = AsyncWebhookClient(f"{t.slack.root}/actions/{t.team.id}/nobody")
        assert (await stranger.send(text="x")).status_code == 404
        assert t.slack.refused[-1].error == "expired_url"


async def test_responses_have_the_rules_of_posts() -> None:
    async with table() as t:

        async def wrong(body: Body, ack: AsyncAck) -> None:
            await ack(text="x", blocks=[{"type": "carousel"}])

        await t.slack.command(t.ana, t.channel, "/sutradhar")
        hook = t.small.done[0]["response_url"]
        later = AsyncWebhookClient(hook)
        async with aiohttp.ClientSession() as http, http.post(hook, json=[]) as response:
            assert (response.status, t.slack.refused[-1].error) == (404, "invalid_payload")
        expected: list[tuple[str, dict[str, Any]]] = [
            ("no_text", {"text": ""}),
            ("invalid_blocks", {"blocks": [{"type": "carousel"}]}),
            ("thread_not_found", {"text": "x", "thread_ts": "1.1"}),
        ]
        for error, body in expected:
            assert (await later.send_dict(body)).status_code == 404
            assert t.slack.refused[-1].error == error
        t.small.doing = wrong
        assert (await t.slack.command(t.ana, t.channel, "/sutradhar")).failed == "invalid_blocks"
        assert t.channel.messages == []


async def test_a_reaction_is_an_event_and_a_stranger_cannot_write() -> None:
    async with table() as t:
        message = await t.slack.say(t.ana, t.channel, "look")
        await t.slack.react(t.ana, message, "eyes")
        await t.slack.until(lambda: len(t.small.events) == 2)
        assert (t.small.events[1]["reaction"], t.small.events[1]["item"]["ts"]) == ("eyes", message.ts)
        stranger = t.slack.workspace("Other").user("Bia")
        with pytest.raises(PermissionError, match="Bia"):
            await t.slack.say(stranger, t.channel, "hello")


async def test_an_unacknowledged_command_fails_visibly() -> None:
    async with table() as t:
        t.slack.ack_seconds = 0.05

        async def sleep(body: Body, ack: AsyncAck) -> None:
            await asyncio.Event().wait()

        t.small.doing = sleep
        sent = await t.slack.command(t.ana, t.channel, "/sutradhar")
        assert (sent.acked, sent.failed, len(sent.tries)) == (None, "operation_timeout", 1)


async def test_a_command_that_the_manifest_does_not_name_is_not_sent() -> None:
    async with table() as t:
        t.slack.commands = {"/sutradhar"}
        with pytest.raises(LookupError, match="/story"):
            await t.slack.command(t.ana, t.channel, "/story")


async def test_without_a_socket_a_command_fails_at_once() -> None:
    async with table(socket=False) as t:
        sent = await t.slack.command(t.ana, t.channel, "/sutradhar")
        assert (sent.failed, t.small.done) == ("dispatch_failed", [])


BUTTONS: list[dict[str, Any]] = [
    {
        "type": "actions",
        "elements": [
            {
                "type": "button",
                "action_id": "stop",
                "text": {"type": "plain_text", "text": "Stop"},
                "value": "7",
            },
            {
                "type": "static_select",
                "action_id": "shelf",
                "options": [{"text": {"type": "plain_text", "text": "SRD"}, "value": "srd"}],
            },
        ],
    },
    {
        "type": "context_actions",
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": "feedback",
                "positive_button": {"text": {"type": "plain_text", "text": "Good"}, "value": "up"},
                "negative_button": {"text": {"type": "plain_text", "text": "Bad"}, "value": "down"},
            }
        ],
    },
]


async def test_buttons_are_pressed_by_name_or_label_and_menus_chosen_from() -> None:
    async with table() as t:
        message = await t.post(blocks=BUTTONS)
        assert message.buttons == ["Stop", "Good", "Bad"]
        await t.slack.press(t.ana, message, "stop")
        await t.slack.press(t.ana, message, "Bad")
        await t.slack.choose(t.ana, message, "shelf", "srd")
        actions = [payload["actions"][0] for payload in t.small.done]
        assert [action["action_id"] for action in actions] == ["stop", "feedback", "shelf"]
        assert [action.get("value") for action in actions] == ["7", "down", None]
        assert actions[2]["selected_option"]["value"] == "srd"
        assert all(action["block_id"] for action in actions)
        container = t.small.done[0]["container"]
        assert (container["message_ts"], container["channel_id"]) == (message.ts, t.channel.id)


async def test_a_person_cannot_press_an_invisible_button() -> None:
    async with table() as t:
        message = await t.post(blocks=BUTTONS)
        with pytest.raises(LookupError, match="'Go'"):
            await t.slack.press(t.ana, message, "Go")
        with pytest.raises(LookupError, match="no menu 'book'"):
            await t.slack.choose(t.ana, message, "book", "srd")
        with pytest.raises(LookupError, match="nothing to press"):
            await t.slack.press(t.ana, None, "Go")
        await t.client.chat_delete(channel=t.channel.id, ts=message.ts)
        with pytest.raises(LookupError, match="does not see"):
            await t.slack.press(t.ana, message, "stop")


async def test_a_press_can_replace_or_delete_its_message() -> None:
    async with table() as t:
        message = await t.post(blocks=BUTTONS)
        await t.slack.press(t.ana, message, "stop")
        later = AsyncWebhookClient(t.small.done[0]["response_url"])
        await later.send(text="stopped", replace_original=True)
        assert (message.shown, message.buttons) == ("stopped", [])
        await later.send(delete_original=True)
        assert t.channel.messages == []
