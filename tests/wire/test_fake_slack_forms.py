"""Modals, the Home tab, shortcuts and files of the fake Slack, driven by the real Bolt app."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncAck
from slack_sdk.errors import SlackApiError

from tests.fakes.slack import View
from tests.fakes.slack.small_app import Body, Table, acknowledge, table

PLAIN = {"type": "plain_text", "text": "x"}


GO = {"type": "button", "action_id": "go", "text": PLAIN}
OPTIONS = [{"text": {"type": "plain_text", "text": name}, "value": name} for name in ("one", "two")]
MENU = {"type": "static_select", "action_id": "menu", "options": OPTIONS}


def form(**more: Any) -> dict[str, Any]:
    question = {"type": "plain_text_input", "action_id": "text", "max_length": 20}
    shelves = [
        {"text": {"type": "plain_text", "text": code.upper()}, "value": code} for code in ("srd", "fate")
    ]
    menu = {"type": "static_select", "action_id": "shelf", "options": shelves, "initial_option": shelves[0]}
    return {
        "type": "modal",
        "callback_id": "ask",
        "title": {"type": "plain_text", "text": "Ask"},
        "submit": {"type": "plain_text", "text": "Go"},
        "blocks": [
            {"type": "input", "block_id": "question", "label": PLAIN, "element": question},
            {"type": "input", "block_id": "where", "label": PLAIN, "element": menu},
        ],
    } | more


async def opened(t: Table, view: dict[str, Any] | None = None) -> View:
    """Open the view through a global shortcut."""

    async def open_(body: Body, ack: AsyncAck) -> None:
        await ack()
        await t.client.views_open(trigger_id=body["trigger_id"], view=view or form())

    t.small.doing = open_
    count = len(t.slack.views)
    await t.slack.global_shortcut(t.ana, "ask")
    await t.slack.until(lambda: len(t.slack.views) > count)
    t.small.doing = acknowledge
    return t.slack.views[-1]


def answering(t: Table, **answer: Any) -> None:
    async def answered(body: Body, ack: AsyncAck) -> None:
        await ack(**answer)

    t.small.doing = answered


async def test_a_form_is_opened_filled_in_and_sent() -> None:
    async with table() as t:
        view = await opened(t)
        answering(t)
        await t.slack.submit(t.ana, view, {"question": {"text": "what?"}, "where": {"shelf": "fate"}})
        sent = t.small.done[-1]
        values = sent["view"]["state"]["values"]
        assert (sent["type"], sent["view"]["callback_id"]) == ("view_submission", "ask")
        assert values["question"]["text"]["value"] == "what?"
        assert values["where"]["shelf"]["selected_option"]["value"] == "fate"
        assert not view.open


async def test_every_kind_of_field_submits_its_value() -> None:
    def field(name: str, kind: str, **more: Any) -> dict[str, Any]:
        element = {"type": kind, "action_id": "f"} | more
        return {"type": "input", "block_id": name, "label": PLAIN, "element": element}

    fields = [
        field("boxes", "checkboxes", options=OPTIONS, initial_options=OPTIONS[:1]),
        field("day", "datepicker", initial_date="2026-11-21"),
        field("who", "users_select"),
        field("note", "plain_text_input"),
        field("file", "file_input") | {"optional": True},
        {"type": "divider"},
    ]
    async with table() as t:
        view = await opened(t, form(blocks=fields[:4]))
        problems = {"who": {"f": t.ana.id}, "note": {"f": "x"}}
        await t.slack.submit(t.ana, view, problems)
        values = t.small.done[-1]["view"]["state"]["values"]
        assert [option["value"] for option in values["boxes"]["f"]["selected_options"]] == ["one"]
        assert (values["day"]["f"]["selected_date"], values["who"]["f"]["selected_user"]) == (
            "2026-11-21",
            t.ana.id,
        )
        with pytest.raises(LookupError, match="does not see"):
            await t.slack.submit(t.ana, view, problems)
        with pytest.raises(LookupError, match="does not see"):
            await t.slack.press(t.ana, view, "go")
        view = await opened(t, form(blocks=fields[3:]))
        with pytest.raises(TypeError, match="takes text"):
            await t.slack.submit(t.ana, view, {"note": {"f": 7}})
        with pytest.raises(ValueError, match="cannot fill in a file_input"):
            await t.slack.submit(t.ana, view, {"note": {"f": "x"}, "file": {"f": "x"}})


async def test_a_form_with_impossible_values_is_not_submitted() -> None:
    async with table() as t:
        view = await opened(t)
        for values, problem in (
            ({}, "must be filled in"),
            ({"question": {"text": "x" * 21}}, "0 to 20 characters"),
            ({"question": {"nothing": "x"}}, "no field"),
            ({"question": {"text": "x"}, "where": {"shelf": "gurps"}}, "no option"),
        ):
            with pytest.raises((LookupError, ValueError), match=problem):
                await t.slack.submit(t.ana, view, values)
        assert len(t.small.done) == 1


async def test_a_form_can_be_answered_with_errors_or_another_view() -> None:
    async with table() as t:
        view = await opened(t)
        values = {"question": {"text": "what?"}}
        answering(t, response_action="errors", errors={"question": "too short"})
        await t.slack.submit(t.ana, view, values)
        assert (view.errors, view.open) == ({"question": "too short"}, True)
        answering(t, response_action="errors", errors={"nowhere": "x"})
        assert (await t.slack.submit(t.ana, view, values)).failed == "invalid_arguments"
        answering(t, response_action="dance")
        assert (await t.slack.submit(t.ana, view, values)).failed == "invalid_arguments"
        answering(t, response_action="update", view=form(title={"type": "plain_text", "text": "Again"}))
        await t.slack.submit(t.ana, view, values)
        assert view.title == "Again"
        answering(t, response_action="push", view=form(callback_id="more"))
        await t.slack.submit(t.ana, view, values)
        above = t.slack.views[-1]
        assert (above.below, above.callback_id) == (view, "more")
        answering(t, response_action="clear")
        await t.slack.submit(t.ana, above, values)
        assert [view.open for view in t.slack.views] == [False, False]


async def test_closing_a_form_is_an_event_only_if_requested() -> None:
    async with table() as t:
        await t.slack.close(t.ana, await opened(t))
        await t.slack.close(t.ana, await opened(t, form(notify_on_close=True)))
        assert [payload["type"] for payload in t.small.done] == ["shortcut", "shortcut", "view_closed"]


async def test_a_trigger_can_be_used_once_and_expires_soon() -> None:
    async with table() as t:
        view = await opened(t)
        used = t.small.done[0]["trigger_id"]
        await t.refused("exchanged_trigger_id", "views.open", trigger_id=used, view=form())
        await t.refused("invalid_trigger_id", "views.open", trigger_id="1.2.x", view=form())
        await t.refused("invalid_arguments", "views.open", view=form())
        await t.refused("not_found", "views.update", view_id="V0", view=form())
        await t.slack.global_shortcut(t.ana, "ask")
        fresh = t.small.done[-1]["trigger_id"]
        await t.refused("not_found", "views.push", trigger_id=fresh, view=form())
        await t.refused("invalid_arguments", "views.open", trigger_id=fresh)
        for wrong in ("{", "[]", 7):
            await t.refused("invalid_arguments", "views.open", trigger_id=fresh, view=wrong)
        await t.refused("invalid_arguments", "views.update", view=form())
        await t.refused("view_too_large", "views.open", view=form(private_metadata="x" * 250_000))
        t.slack.triggers.seconds = 0.0
        answering(t, response_action="update", view=form())
        await t.slack.submit(t.ana, view, {"question": {"text": "x"}})
        late = t.small.done[-1]["trigger_id"]
        await t.refused("expired_trigger_id", "views.push", trigger_id=late, view=form())


async def test_at_most_three_forms_can_be_stacked() -> None:
    async with table() as t:
        view = await opened(t)
        for _ in range(2):
            answering(t, response_action="push", view=form())
            await t.slack.submit(t.ana, view, {"question": {"text": "x"}})
            view = t.slack.views[-1]
        sent = await t.slack.submit(t.ana, view, {"question": {"text": "x"}})
        assert sent.failed == "push_limit_reached"


async def test_a_form_can_be_opened_above_another() -> None:
    async with table() as t:
        view = await opened(t, form(blocks=[{"type": "actions", "elements": [GO, MENU]}]))

        async def push(body: Body, ack: AsyncAck) -> None:
            await ack()
            await t.client.views_push(trigger_id=body["trigger_id"], view=form(callback_id="more"))

        await t.slack.choose(t.ana, view, "menu", "two")
        assert [
            value["selected_option"]["value"] for value in view.values[view.blocks[0]["block_id"]].values()
        ] == ["two"]
        t.small.doing = push
        await t.slack.press(t.ana, view, "go")
        await t.slack.until(lambda: len(t.slack.views) == 2)
        above = t.slack.views[1]
        assert (above.below, above.depth) == (view, 2)


@pytest.mark.parametrize(
    ("view", "problem"),
    [
        (form(blocks={}), "must provide an array of blocks"),
        (form(title={"type": "plain_text", "text": "x" * 25}), "must be less than 25 characters"),
        (form(private_metadata="x" * 3001), "must be less than 3001 characters"),
        (form(callback_id="x" * 256), "must be less than 256 characters"),
        (form(type="dialog"), "must provide a view of type modal"),
        (form(color="red"), "additional property: color"),
        ({name: value for name, value in form().items() if name != "submit"}, "submit is required"),
        ({name: value for name, value in form().items() if name != "title"}, "missing required field: title"),
        (form(blocks=[{"type": "markdown", "text": "x"}]), "unsupported type: markdown"),
    ],
)
async def test_an_invalid_form_is_refused(view: dict[str, Any], problem: str) -> None:
    async with table(socket=False) as t:
        why = await t.refused("invalid_arguments", "views.open", trigger_id="1.2.x", view=view)
        assert problem in why


async def test_a_view_is_updated_only_with_its_current_hash() -> None:
    async with table() as t:
        view = await opened(t, form(external_id="mine"))
        before = view.hash
        await t.client.views_update(external_id="mine", hash=before, view=form(external_id="mine"))
        await t.refused("hash_conflict", "views.update", view_id=view.id, hash=before, view=form())
        twice = form(external_id="mine")
        answering(t, response_action="push", view=twice)
        sent = await t.slack.submit(t.ana, view, {"question": {"text": "x"}})
        assert sent.failed == "duplicate_external_id"


async def test_the_home_tab_is_published_opened_and_pressed() -> None:
    async with table() as t:
        await t.slack.open_home(t.ana)
        assert (t.small.events[0]["tab"], "view" in t.small.events[0]) == ("home", False)
        view = {"type": "home", "blocks": [{"type": "actions", "elements": [GO]}]}
        await t.client.views_publish(user_id=t.ana.id, view=view)
        home = t.slack.home(t.ana)
        assert home is not None
        await t.slack.press(t.ana, home, "go")
        assert (t.small.done[0]["container"], "response_url" in t.small.done[0]) == (
            {"type": "view", "view_id": home.id},
            False,
        )
        await t.slack.open_home(t.ana)
        assert t.small.events[1]["view"]["id"] == home.id
        await t.refused("invalid_arguments", "views.publish", user_id=t.ana.id, view=form())
        await t.refused("user_not_found", "views.publish", user_id="U0NOBODY", view=view)
        await t.refused("hash_conflict", "views.publish", user_id=t.ana.id, view=view, hash="old")


async def test_a_message_shortcut_includes_the_message() -> None:
    async with table() as t:
        message = await t.slack.say(t.ana, t.channel, "look at this")
        sent = await t.slack.shortcut(t.ana, "ask_about", message=message)
        body = t.small.done[0]
        assert (body["type"], body["message"]["text"]) == ("message_action", "look at this")
        assert (sent.acked is not None, body["message_ts"]) == (True, message.ts)
        t.slack.shortcuts = {"ask"}
        with pytest.raises(LookupError, match="ask_about"):
            await t.slack.shortcut(t.ana, "ask_about", message=message)


async def test_a_press_includes_its_message_unless_it_is_ephemeral() -> None:
    async with table() as t:
        blocks = [{"type": "actions", "elements": [GO]}]
        await t.slack.press(t.ana, await t.post("x", blocks=blocks), "go")
        await t.client.chat_postEphemeral(channel=t.channel.id, user=t.ana.id, text="y", blocks=blocks)
        await t.slack.press(t.ana, t.channel.messages[-1], "go")
        seen, alone = t.small.done
        assert seen["message"]["text"] == "x"
        assert "message" not in alone
        assert alone["container"]["is_ephemeral"]


async def test_a_shared_file_can_be_downloaded_only_with_the_token() -> None:
    async with table() as t:
        await t.slack.say(t.ana, t.channel, "read", mention=True, files=[("a.md", b"# A")])
        event = next(event for event in t.small.events if event["type"] == "message")
        [file] = event["files"]
        assert (event["subtype"], file["mimetype"], file["size"]) == ("file_share", "text/markdown", 3)
        token = {"Authorization": f"Bearer {t.slack.bot_token}"}
        async with aiohttp.ClientSession() as http:
            async with http.get(file["url_private_download"], headers=token) as response:
                assert await response.read() == b"# A"
            async with http.get(file["url_private_download"]) as response:
                assert (response.status, response.content_type) == (200, "text/html")
            t.team.scopes.discard("files:read")
            async with http.get(file["url_private_download"], headers=token) as response:
                assert response.content_type == "text/html"


async def test_a_file_is_uploaded_in_three_steps_into_a_thread() -> None:
    async with table(socket=False) as t:
        root = await t.slack.say(t.ana, t.channel, "draw")
        upload = await t.client.files_upload_v2(
            channel=t.channel.id,
            thread_ts=root.ts,
            filename="chart.png",
            content=b"\x89PNG",
            initial_comment="here",
        )
        [answer] = root.thread
        assert (answer.shown, answer.files[0].data) == ("here\nchart.png", b"\x89PNG")
        info = await t.client.files_info(file=upload["file"]["id"])
        assert info["file"]["channels"] == [t.channel.id]


async def test_a_file_is_deleted_with_the_message_that_shared_it() -> None:
    async with table(socket=False) as t:
        root = await t.slack.say(t.ana, t.channel, "draw")
        upload = await t.client.files_upload_v2(
            channel=t.channel.id, thread_ts=root.ts, filename="chart.png", content=b"\x89PNG"
        )
        await t.client.files_delete(file=upload["file"]["id"])
        assert root.thread == []
        await t.refused("file_deleted", "files.delete", file=upload["file"]["id"])
        await t.refused("file_not_found", "files.delete", file="F0NOWHERE")


async def test_an_incomplete_upload_is_refused() -> None:
    async with table(socket=False) as t:
        asked = await t.client.files_getUploadURLExternal(filename="a.txt", length=3)
        complete = "files.completeUploadExternal"
        files = [{"id": asked["file_id"], "title": "a"}]
        await t.refused("file_not_found", complete, files=files, channel_id=t.channel.id)
        async with aiohttp.ClientSession() as http:
            async with http.post(asked["upload_url"], data=b"toolong") as response:
                assert response.status == 400
            async with http.post(asked["upload_url"], data=b"abc") as response:
                assert response.status == 404
        with pytest.raises(SlackApiError, match="invalid_arguments"):
            await t.client.files_getUploadURLExternal(filename="a.txt", length=0)
        again = await t.client.files_getUploadURLExternal(filename="a.txt", length=3)
        async with aiohttp.ClientSession() as http, http.post(again["upload_url"], data=b"abc") as response:
            assert (response.status, await response.text()) == (200, "OK - 3")
        away = t.team.channel("away", bot=False)
        files = [{"id": again["file_id"]}]
        await t.refused("not_in_channel", complete, files=files, channel_id=away.id)
        await t.refused("channel_not_found", complete, files=files, channel_id="C0NOWHERE")
        await t.refused("file_not_found", "files.info", file="F0NOWHERE")
        await t.refused("invalid_arguments", complete, files=[])
        long = {"filename": "a.txt", "length": 3, "alt_txt": "x" * 1001}
        await t.refused("alt_txt_too_large", "files.getUploadURLExternal", **long)
        t.slack.files.all[again["file_id"]].deleted = True
        await t.refused("file_deleted", "files.info", file=again["file_id"])
