"""The Web API of the fake Slack, driven by the real client: authorisation, and the content of the responses."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import FakeSlack
from tests.fakes.slack.small_app import Table, table


async def raw(slack: FakeSlack, verb: str, path: str, **more: Any) -> dict[str, Any]:
    async with aiohttp.ClientSession() as http, http.request(verb, slack.api + path, **more) as response:
        answer: dict[str, Any] = await response.json()
        return answer


async def test_the_token_is_taken_from_the_header_a_form_or_the_query_and_not_from_json() -> None:
    async with table(socket=False) as t:
        token = {"token": t.slack.bot_token}
        header = {"Authorization": f"Bearer {t.slack.bot_token}"}
        assert (await raw(t.slack, "GET", "auth.test", headers=header))["ok"]
        assert (await raw(t.slack, "POST", "auth.test", json={}, headers=header))["ok"]
        assert (await raw(t.slack, "POST", "auth.test", data=token))["ok"]
        assert (await raw(t.slack, "GET", "auth.test", params=token))["ok"]
        assert (await raw(t.slack, "POST", "auth.test", json=token))["error"] == "not_authed"


@pytest.mark.parametrize(
    ("error", "path", "more"),
    [
        ("not_authed", "auth.test", {}),
        ("invalid_auth", "auth.test", {"data": {"token": "xoxb-wrong"}}),
        ("not_allowed_token_type", "auth.test", {"data": {"token": "xapp-1-A0LOOPBACK-1-loopback"}}),
        (
            "not_allowed_token_type",
            "apps.connections.open",
            {"data": {"token": "xoxb-100000000000-loopback"}},
        ),
        ("unknown_method", "chat.shout", {"data": {"token": "xoxb-100000000000-loopback"}}),
        ("invalid_json", "auth.test", {"data": b"{", "headers": {"Content-Type": "application/json"}}),
        ("json_not_object", "auth.test", {"json": []}),
        ("invalid_post_type", "auth.test", {"data": b"<a/>", "headers": {"Content-Type": "text/xml"}}),
    ],
)
async def test_malformed_calls_are_refused(error: str, path: str, more: dict[str, Any]) -> None:
    async with table(socket=False) as t:
        answer = await raw(t.slack, "POST", path, **more)
        assert (answer["ok"], answer["error"]) == (False, error)
        assert (t.slack.refused[-1].error, t.slack.calls[-1].error) == (error, error)


async def test_a_missing_scope_is_named() -> None:
    async with table(socket=False) as t:
        t.team.scopes -= {"chat:write", "im:history"}
        await t.refused("missing_scope", "chat.postMessage", channel=t.channel.id, text="x")
        await t.refused("missing_scope", "conversations.history", channel=t.team.dm(t.ana).id)
        await t.client.conversations_history(channel=t.channel.id)
        t.team.scopes.add("chat:write")
        why = await t.refused(
            "missing_scope", "chat.postMessage", channel=t.channel.id, text="x", username="Bia"
        )
        assert "needed=chat:write.customize" in why
        why = await t.refused(
            "missing_scope",
            "chat.startStream",
            channel=t.channel.id,
            thread_ts=(await t.post()).ts,
            icon_emoji=":x:",
        )
        assert "needed=chat:write.customize" in why


async def test_a_custom_name_is_shown_as_posted_and_belongs_to_no_user() -> None:
    async with table(socket=False) as t:
        t.team.scopes.add("chat:write.customize")
        posted = await t.client.chat_postMessage(
            channel=t.channel.id, text="x", username="Mira", icon_url="https://example.org/m.png"
        )
        await t.client.chat_update(channel=t.channel.id, ts=posted["ts"], text="y")
        (message,) = (await t.client.conversations_history(channel=t.channel.id))["messages"]
        assert (message["text"], message["username"], message["subtype"]) == ("y", "Mira", "bot_message")
        assert message["icons"] == {"image_48": "https://example.org/m.png"}
        assert "user" not in message
        await t.refused("invalid_arguments", "chat.postMessage", channel=t.channel.id, text="x", username=[1])


async def test_updating_only_the_text_keeps_the_blocks() -> None:
    async with table(socket=False) as t:
        divided = [{"type": "section", "text": {"type": "mrkdwn", "text": "in a block"}}]
        message = await t.post("fallback", blocks=divided, metadata={"event_type": "t", "event_payload": {}})
        where: dict[str, Any] = {"channel": t.channel.id, "ts": message.ts}
        await t.client.chat_update(**where, text="new")
        assert (message.text, message.shown) == ("new", "in a block")
        await t.client.chat_update(**where, text="new", blocks=[])
        assert message.shown == "new"
        await t.client.api_call("chat.update", json=where | {"metadata": {}})
        assert (message.shown, message.metadata) == ("new", None)
        await t.client.chat_update(**where, markdown_text="**newest**")
        assert message.shown == "**newest**"


async def test_with_its_scope_the_bot_can_post_in_channels_without_it() -> None:
    async with table(socket=False) as t:
        t.team.scopes.add("chat:write.public")
        away = t.team.channel("away", bot=False)
        await t.client.chat_postMessage(channel=away.id, text="x")


async def test_auth_test_describes_the_bot() -> None:
    async with table(socket=False) as t:
        auth = await t.client.auth_test()
        assert (auth["team_id"], auth["user_id"], auth["bot_id"]) == (t.team.id, t.team.bot.id, t.team.bot_id)
        assert "chat:write" in auth.headers["x-oauth-scopes"]


async def test_a_message_is_posted_changed_and_deleted() -> None:
    async with table(socket=False) as t:
        message = await t.post("one")
        await t.client.chat_update(channel=t.channel.id, ts=message.ts, text="two")
        assert (message.shown, [edit.shown for edit in message.edits]) == ("two", ["one"])
        link = await t.client.chat_getPermalink(channel=t.channel.id, message_ts=message.ts)
        assert message.ts.replace(".", "") in link["permalink"]
        await t.client.chat_delete(channel=t.channel.id, ts=message.ts)
        assert t.channel.messages == []


async def test_a_post_to_a_person_is_a_direct_message_and_an_ephemeral_one_is_private() -> None:
    async with table(socket=False) as t:
        await t.client.chat_postMessage(channel=t.ana.id, text="psst")
        assert [message.shown for message in t.team.dm(t.ana).messages] == ["psst"]
        await t.client.chat_postEphemeral(channel=t.channel.id, user=t.ana.id, text="only you")
        assert [message.ephemeral_to for message in t.channel.messages] == [t.ana]
        assert (await t.client.conversations_history(channel=t.channel.id))["messages"] == []


async def _refusals(t: Table) -> list[tuple[str, str, dict[str, Any]]]:
    channel, dm = t.channel.id, t.team.dm(t.ana).id
    hers = (await t.slack.say(t.ana, t.channel, "hers")).ts
    root = await t.post("root")
    reply = await t.post("reply", thread_ts=root.ts)
    away = t.team.channel("away", bot=False)
    secret = t.team.channel("secret", private=True, bot=False)
    old = t.team.channel("old")
    old.archived = True
    stranger = t.slack.workspace("Other").user("Bia")
    post, update, nowhere = "chat.postMessage", "chat.update", "1700000000.000001"
    good = {"event_type": "t", "event_payload": {}}
    return [
        ("invalid_arguments", post, {"text": "x"}),
        ("channel_not_found", post, {"channel": "C0NOWHERE", "text": "x"}),
        ("channel_not_found", post, {"channel": secret.id, "text": "x"}),
        ("not_in_channel", post, {"channel": away.id, "text": "x"}),
        ("is_archived", post, {"channel": old.id, "text": "x"}),
        ("no_text", post, {"channel": channel}),
        ("no_text", post, {"channel": channel, "text": ""}),
        ("msg_too_long", post, {"channel": channel, "text": "x" * 40_001}),
        ("msg_too_long", post, {"channel": channel, "markdown_text": "x" * 12_001}),
        ("markdown_text_conflict", post, {"channel": channel, "markdown_text": "x", "text": "y"}),
        ("invalid_arguments", post, {"channel": channel, "text": 7}),
        ("as_user_not_supported", post, {"channel": channel, "text": "x", "as_user": True}),
        ("thread_not_found", post, {"channel": channel, "text": "x", "thread_ts": nowhere}),
        ("cannot_reply_to_message", post, {"channel": channel, "text": "x", "thread_ts": reply.ts}),
        ("invalid_metadata_format", post, {"channel": channel, "text": "x", "metadata": {"a": 1}}),
        ("invalid_metadata_schema", post, {"channel": channel, "text": "x", "metadata": good | {"a": 1}}),
        ("too_many_attachments", post, {"channel": channel, "attachments": [{}] * 101}),
        ("invalid_blocks_format", post, {"channel": channel, "blocks": "[{"}),
        ("invalid_blocks_format", post, {"channel": channel, "blocks": [7]}),
        ("invalid_attachments", post, {"channel": channel, "attachments": "[{"}),
        ("invalid_attachments", post, {"channel": channel, "attachments": {}}),
        ("invalid_metadata_format", post, {"channel": channel, "text": "x", "metadata": "{"}),
        ("invalid_arguments", post, {"channel": 7, "text": "x"}),
        ("message_not_found", update, {"channel": channel, "ts": nowhere, "text": "x"}),
        ("cant_update_message", update, {"channel": channel, "ts": hers, "text": "x"}),
        ("no_text", update, {"channel": channel, "ts": root.ts}),
        ("msg_too_long", update, {"channel": channel, "ts": root.ts, "text": "x" * 4_001}),
        ("cant_delete_message", "chat.delete", {"channel": channel, "ts": hers}),
        ("message_not_found", "chat.delete", {"channel": channel, "ts": nowhere}),
        ("message_not_found", "chat.getPermalink", {"channel": channel, "message_ts": nowhere}),
        (
            "user_not_in_channel",
            "chat.postEphemeral",
            {"channel": dm, "user": t.team.user("Bia").id, "text": "x"},
        ),
        ("user_not_found", "chat.postEphemeral", {"channel": channel, "user": stranger.id, "text": "x"}),
        ("thread_not_found", "conversations.replies", {"channel": channel, "ts": nowhere}),
        ("not_in_channel", "conversations.history", {"channel": away.id}),
        ("invalid_cursor", "conversations.history", {"channel": channel, "cursor": "x"}),
        ("invalid_arguments", "conversations.history", {"channel": channel, "limit": 1001}),
        ("invalid_arguments", "conversations.history", {"channel": channel, "limit": "x"}),
        ("invalid_arguments", "conversations.open", {"users": f"{t.ana.id},U0NOBODY"}),
        ("invalid_ts_oldest", "conversations.history", {"channel": channel, "oldest": "x"}),
        ("channel_not_found", "conversations.info", {"channel": "C0NOWHERE"}),
        ("users_list_not_supplied", "conversations.open", {}),
        ("user_not_found", "conversations.open", {"users": "U0NOBODY"}),
        ("method_not_supported_for_channel_type", "conversations.join", {"channel": dm}),
        ("is_archived", "conversations.join", {"channel": old.id}),
        ("user_not_found", "users.info", {"user": "U0NOBODY"}),
        ("user_not_found", "users.info", {"user": stranger.id}),
        ("team_not_found", "team.info", {"team": "T0NOWHERE"}),
        ("no_item_specified", "reactions.add", {"name": "eyes"}),
        ("invalid_name", "reactions.add", {"name": "Eyes!", "channel": channel, "timestamp": hers}),
        ("message_not_found", "reactions.add", {"name": "eyes", "channel": channel, "timestamp": nowhere}),
        ("no_reaction", "reactions.remove", {"name": "eyes", "channel": channel, "timestamp": hers}),
    ]


async def test_invalid_calls_are_refused() -> None:
    async with table(socket=False) as t:
        t.slack.limits.on = False
        for error, method, args in await _refusals(t):
            with pytest.raises(SlackApiError) as caught:
                await t.client.api_call(method, json=args)
            assert (caught.value.response["error"], method, args) == (error, method, args)


async def test_a_thread_is_returned_with_its_metadata_on_request() -> None:
    async with table(socket=False) as t:
        metadata = {"event_type": "turn", "event_payload": {"run": "r1"}}
        root = await t.post("root", metadata=metadata)
        for number in range(3):
            await t.post(str(number), thread_ts=root.ts)
        plain = await t.client.conversations_replies(channel=t.channel.id, ts=root.ts)
        assert [message["text"] for message in plain["messages"]] == ["root", "0", "1", "2"]
        assert (plain["messages"][0]["reply_count"], "metadata" in plain["messages"][0]) == (3, False)
        full = await t.client.conversations_replies(
            channel=t.channel.id, ts=root.ts, include_all_metadata=True
        )
        assert full["messages"][0]["metadata"] == metadata
        pages = [
            [message["text"] for message in page["messages"]]
            async for page in await t.client.conversations_replies(channel=t.channel.id, ts=root.ts, limit=3)
        ]
        assert pages == [["root", "0", "1"], ["2"]]
        roots = await t.client.conversations_history(channel=t.channel.id)
        assert [message["text"] for message in roots["messages"]] == ["root"]


async def test_a_thread_outlives_its_first_message() -> None:
    async with table(socket=False) as t:
        lonely, root = await t.post("lonely"), await t.post("root")
        reply = await t.post("reply", thread_ts=root.ts)
        for message in (lonely, root):
            await t.client.chat_delete(channel=t.channel.id, ts=message.ts)
        post = {"channel": t.channel.id, "text": "x", "thread_ts": lonely.ts}
        await t.refused("thread_not_found", "chat.postMessage", **post)
        await t.client.chat_postMessage(channel=t.channel.id, text="more", thread_ts=root.ts)
        replies = await t.client.conversations_replies(channel=t.channel.id, ts=root.ts)
        assert [reply.get("subtype") for reply in replies["messages"]] == ["tombstone", None, None]
        assert replies["messages"][1]["ts"] == reply.ts


async def test_users_channels_and_teams_are_listed() -> None:
    async with table(socket=False) as t:
        group = t.team.group("players", [t.ana])
        user = await t.client.users_info(user=t.ana.id, include_locale=True)
        assert (user["user"]["locale"], user["user"]["is_admin"]) == ("pt-BR", False)
        listed = await t.client.users_list()
        assert [member["id"] for member in listed["members"]] == list(t.team.users)
        groups = await t.client.usergroups_list(include_users=True)
        assert [(usergroup["id"], usergroup["users"]) for usergroup in groups["usergroups"]] == [
            (group.id, [t.ana.id])
        ]
        members = await t.client.conversations_members(channel=t.channel.id)
        assert members["members"] == [t.team.bot.id, t.ana.id]
        info = await t.client.conversations_info(channel=t.channel.id)
        assert (info["channel"]["is_member"], info["channel"]["name"]) == (True, "general")
        opened = await t.client.conversations_open(users=[t.ana.id])
        assert opened["channel"]["id"] == t.team.dm(t.ana).id
        assert (await t.client.team_info())["team"]["name"] == "Table"


async def test_the_bot_joins_a_public_channel_and_reacts_once() -> None:
    async with table(socket=False) as t:
        away = t.team.channel("away", bot=False)
        await t.client.conversations_join(channel=away.id)
        message = await t.slack.say(t.ana, away, "look")
        await t.client.reactions_add(channel=away.id, timestamp=message.ts, name="eyes")
        assert message.reactions == [("eyes", t.team.bot)]
        history = await t.client.conversations_history(channel=away.id)
        assert history["messages"][0]["reactions"] == [{"name": "eyes", "users": [t.team.bot.id]}]
        await t.refused(
            "already_reacted", "reactions.add", channel=away.id, timestamp=message.ts, name="eyes"
        )
        await t.client.reactions_remove(channel=away.id, timestamp=message.ts, name="eyes")
        assert message.reactions == []


async def test_a_message_lists_whom_it_would_ping() -> None:
    async with table(socket=False) as t:
        ana, group = t.ana.id, t.team.group("players").id
        loud = f"<!channel> <!here|all> <@{ana}|ana> <!subteam^{group}|@players>"
        pings = ["<!channel>", "<!here>", f"<@{ana}>", f"<!subteam^{group}>"]
        assert (await t.post(loud)).mentions == pings
        section = {"type": "section", "text": {"type": "mrkdwn", "text": loud}}
        plain = {"type": "section", "text": {"type": "plain_text", "text": loud}}
        marked = {"type": "markdown", "text": loud}
        assert (await t.post("x", blocks=[section, plain, marked])).mentions == pings * 2
        quiet = "&lt;!channel&gt; @channel <https://a.b|@here> ‹@U1› <!date^1^{date}|x>"
        assert (await t.post(quiet)).mentions == []
        assert (await t.post("@here", parse="full")).mentions == ["<!here>"]
        kinds = [
            {"type": "user", "user_id": ana},
            {"type": "usergroup", "usergroup_id": group},
            {"type": "broadcast", "range": "here"},
            {"type": "text", "text": loud},
        ]
        blocks = [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": kinds}]}]
        t.slack.limits.on = False
        assert (await t.post("x", blocks=blocks)).mentions == [f"<@{ana}>", f"<!subteam^{group}>", "<!here>"]


async def test_a_channel_accepts_about_one_post_a_second() -> None:
    async with table(socket=False) as t:
        t.slack.limits.clock = lambda: 0.0
        t.slack.limits.posts_a_second = 0.1
        for _ in range(5):
            await t.post()
        with pytest.raises(SlackApiError) as caught:
            await t.post()
        assert (caught.value.response.status_code, caught.value.response["error"]) == (429, "ratelimited")
        assert caught.value.response.headers["Retry-After"] == "10"
        assert [wait.method for wait in t.slack.limited] == ["chat.postMessage"]
        await t.client.chat_postMessage(channel=t.ana.id, text="elsewhere it may")


async def test_each_method_has_its_rate_limit_per_workspace() -> None:
    async with table(socket=False) as t:
        message = await t.post()
        t.slack.limits.clock = lambda: 0.0
        t.slack.limits.per_minute["chat.update"] = 2
        for number in range(2):
            await t.client.chat_update(channel=t.channel.id, ts=message.ts, text=str(number))
        with pytest.raises(SlackApiError) as caught:
            await t.client.chat_update(channel=t.channel.id, ts=message.ts, text="2")
        assert caught.value.response.headers["Retry-After"] == "30"
        other_workspace = t.slack.workspace("Other")
        theirs = other_workspace.channel("general")
        client = AsyncWebClient(other_workspace.bot_token, base_url=t.slack.api)
        sent = await client.chat_postMessage(channel=theirs.id, text="x")
        await client.chat_update(channel=theirs.id, ts=sent["ts"], text="y")


async def test_workspaces_are_isolated() -> None:
    async with table(socket=False) as t:
        other_workspace = t.slack.workspace("Other")
        stranger = AsyncWebClient(other_workspace.bot_token, base_url=t.slack.api)
        with pytest.raises(SlackApiError, match="channel_not_found"):
            await stranger.chat_postMessage(channel=t.channel.id, text="x")
        assert t.slack.calls[-1].team == other_workspace.id
