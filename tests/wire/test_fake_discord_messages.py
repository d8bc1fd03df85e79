"""Channels and messages of the fake Discord, driven by the real client: what it stores, shows and refuses."""

from __future__ import annotations

import io
from typing import Any

import discord
import pytest

from tests.fakes.discord import Message
from tests.wire.small_bot import table

V2 = 1 << 15
TEXT, ROW, BUTTON = 10, 1, 2


def button(custom_id: str | None = "a", **more: Any) -> dict[str, Any]:
    return {"type": BUTTON, "style": 2, "label": "Go", "custom_id": custom_id} | more


def row(*inside: dict[str, Any]) -> dict[str, Any]:
    return {"type": ROW, "components": list(inside)}


def text(content: str) -> dict[str, Any]:
    return {"type": TEXT, "content": content}


async def test_a_layout_has_texts_buttons_and_files() -> None:
    class Card(discord.ui.LayoutView):
        box = discord.ui.Container[Any](
            discord.ui.TextDisplay("## Title"),
            discord.ui.Section[Any](
                discord.ui.TextDisplay("body"), accessory=discord.ui.Button(label="More", custom_id="more")
            ),
            discord.ui.Separator(),
            discord.ui.MediaGallery(discord.MediaGalleryItem("attachment://map.png")),
            discord.ui.File("attachment://notes.txt"),
            discord.ui.ActionRow(discord.ui.Button(label="Site", url="https://example.com")),
        )

    async with table() as t:
        channel = t.bot.get_channel(t.channel.id)
        assert isinstance(channel, discord.TextChannel)
        files = [discord.File(io.BytesIO(b"png"), "map.png"), discord.File(io.BytesIO(b"txt"), "notes.txt")]
        sent = await channel.send(view=Card(), files=files)
        [post] = t.channel.messages
        assert post.text == "## Title\nbody"
        assert post.content == ""
        assert [button.label for button in post.buttons] == ["More", "Site"]
        assert [file.data for file in post.files] == [b"png", b"txt"]
        assert await sent.attachments[0].read() == b"png"
        again = await channel.fetch_message(sent.id)
        assert discord.ui.LayoutView.from_message(again).content_length() == len("## Titlebody")
        await sent.edit(view=Card(), attachments=[*sent.attachments])
        assert len(post.files) == 2


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"content": "x" * 2001}, "content: BASE_TYPE_MAX_LENGTH"),
        ({"content": 5}, "content: STRING_TYPE_CONVERT"),
        ({"content": "x", "nonce": {}}, "nonce: "),
        ({"content": "x", "nonce": True}, "nonce: "),
        ({"content": "x", "nonce": "n" * 26}, "nonce: BASE_TYPE_MAX_LENGTH"),
        ({"content": "x", "embeds": [{"description": "x" * 4097}]}, "embeds.0.description"),
        ({"content": "x", "embeds": [{"description": "x" * 4000}] * 2}, "embeds: MAX_EMBED_SIZE_EXCEEDED"),
        ({"content": "x", "embeds": [{"title": "x"}] * 11}, "embeds: BASE_TYPE"),
        ({"content": "x", "components": [row(button("x" * 101))]}, "components.0.components.0.custom_id"),
        ({"content": "x", "components": [row(button(label="x" * 81))]}, "components.0.components.0.label"),
        ({"content": "x", "components": [row(button(label=None))]}, "BUTTON_COMPONENT_INVALID_LABEL"),
        (
            {"content": "x", "components": [row(button(emoji={"name": "a"}))]},
            "BUTTON_COMPONENT_INVALID_EMOJI",
        ),
        ({"content": "x", "components": [row(button(style=9))]}, "components.0.components.0.style"),
        ({"content": "x", "components": [row(button(style=5))]}, "components.0.components.0.url"),
        ({"content": "x", "components": [row(button(style=5, url="ftp://x", custom_id=None))]}, "URL_TYPE"),
        ({"content": "x", "components": [row(button(), button())]}, "COMPONENT_CUSTOM_ID_DUPLICATED"),
        ({"content": "x", "components": [row(*(button(str(n)) for n in range(6)))]}, "BASE_TYPE_BAD_LENGTH"),
        ({"content": "x", "components": [row(button(str(n))) for n in range(6)]}, "BASE_TYPE_BAD_LENGTH"),
        ({"content": "x", "components": [row()]}, "BASE_TYPE_BAD_LENGTH"),
        ({"content": "x", "components": [{"type": 77}]}, "UNION_TYPE_CHOICES"),
        ({"content": "x", "components": [text("x")]}, "UNION_TYPE_CHOICES"),
        ({"content": "x", "flags": V2, "components": [text("x")]}, "MESSAGE_CANNOT_USE_LEGACY_FIELDS"),
        ({"embeds": [{"title": "x"}], "flags": V2, "components": [text("x")]}, "MESSAGE_CANNOT_USE_LEGACY"),
        (
            {"flags": V2, "components": [text("x" * 2001), text("x" * 2000)]},
            "COMPONENT_DISPLAYABLE_TEXT_SIZE",
        ),
        ({"flags": V2, "components": [text("x")] * 41}, "components: BASE_TYPE_BAD_LENGTH"),
        (
            {"flags": V2, "components": [{"type": 17, "components": [text("x")] * 30}, *[text("x")] * 10]},
            "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
        ),
        ({"flags": V2, "components": [text("")]}, "components.0.content"),
        ({"flags": V2, "components": [{"type": 99}]}, "UNION_TYPE_CHOICES"),
        ({"flags": V2, "components": [{"type": 9, "components": [text("x")]}]}, "components.0.accessory"),
        (
            {"flags": V2, "components": [{"type": 13, "file": {"url": "attachment://no.txt"}}]},
            "ATTACHMENT_NOT_FOUND",
        ),
        (
            {"flags": V2, "components": [text("x") | {"id": 1}, text("y") | {"id": 1}]},
            "COMPONENT_ID_DUPLICATED",
        ),
        ({"content": "x", "attachments": [{"id": 0, "filename": "a"}]}, "ATTACHMENT_NOT_FOUND"),
        ({"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}}, "mutually exclusive"),
        ({"content": "x", "allowed_mentions": {"parse": ["all"]}}, "allowed_mentions.parse"),
        ({"content": "x", "message_reference": {"message_id": "1"}}, "MESSAGE_REFERENCE_UNKNOWN_MESSAGE"),
    ],
)
async def test_the_refusal_of_an_invalid_form_names_the_place(body: dict[str, Any], why: str) -> None:
    async with table() as t:
        assert why in await t.refused(50035, "POST", f"/channels/{t.channel.id}/messages", body, status=400)
        assert t.channel.messages == []


@pytest.mark.parametrize(
    "body", [{}, {"content": ""}, {"content": " \n "}, {"content": None, "components": []}]
)
async def test_an_empty_message_is_refused(body: dict[str, Any]) -> None:
    async with table() as t:
        await t.refused(50006, "POST", f"/channels/{t.channel.id}/messages", body)


async def test_a_layout_with_too_many_bytes_gets_a_500() -> None:
    async with table() as t:
        body = {"flags": V2, "components": [text("語" * 3387)]}
        # The client would retry a 500 five times.
        async with t.bot.http._HTTPClient__session.post(  # type: ignore[attr-defined]
            f"{t.fake.api}/channels/{t.channel.id}/messages",
            json=body,
            headers={"Authorization": f"Bot {t.fake.token}"},
        ) as answer:
            assert answer.status == 500
        await t.post(t.channel, flags=V2, components=[text("語" * 3386)])


async def test_a_layout_cannot_be_removed_and_excludes_the_old_fields() -> None:
    async with table() as t:
        old = await t.post(t.channel, content="old")
        path = f"/channels/{t.channel.id}/messages/{old.id}"
        assert "LEGACY" in await t.refused(50035, "PATCH", path, {"flags": V2, "components": [text("x")]})
        await t.bot.raw("PATCH", path, {"flags": V2, "content": None, "components": [text("new")]})
        assert old.text == "new"
        assert "CANNOT_REMOVE" in await t.refused(
            50035, "PATCH", path, {"flags": 0, "content": "x", "components": []}
        )
        await t.bot.raw("PATCH", path, {"components": [text("newer")]})
        assert [edit for _, edit in old.edits] == ["new", "newer"]


async def test_a_repeated_nonce_returns_the_same_message() -> None:
    async with table() as t:
        first = await t.post(t.channel, content="x", nonce="n1", enforce_nonce=True)
        assert await t.post(t.channel, content="x", nonce="n1", enforce_nonce=True) is first
        assert await t.post(t.channel, content="x", nonce="n1") is not first
        assert len(t.channel.messages) == 2
        t.fake.post.forget_nonces()
        assert await t.post(t.channel, content="x", nonce="n1", enforce_nonce=True) is not first


async def test_only_allowed_mentions_notify() -> None:
    async with table() as t:
        words = f"{t.ana.mention} @everyone `<@{t.fake.world.bot.id}>`"
        assert (await t.post(t.channel, content=words)).mentions == [t.ana]
        assert (await t.post(t.channel, content=words, allowed_mentions={"parse": []})).mentions == []
        t.guild.permit("MENTION_EVERYONE")
        other_channel = t.guild.text("other")
        assert (await t.post(other_channel, content=words)).mentions == [t.ana, "@everyone"]
        only = {"parse": ["everyone"], "users": [str(t.ana.id)]}
        assert (await t.post(other_channel, content=words, allowed_mentions=only)).mentions == [
            t.ana,
            "@everyone",
        ]
        layout = await t.post(other_channel, flags=V2, components=[text(t.ana.mention)])
        assert layout.mentions == [t.ana]


async def test_a_reply_notifies_its_author_unless_forbidden() -> None:
    async with table() as t:
        question = await t.fake.say(t.ana, t.channel, "hello?")
        reference = {"message_id": str(question.id)}
        assert (await t.post(t.channel, content="a", message_reference=reference)).mentions == [t.ana]
        quiet = await t.post(
            t.channel, content="b", message_reference=reference, allowed_mentions={"parse": []}
        )
        assert quiet.mentions == []
        assert quiet.reply_to is question


async def test_the_bot_cannot_edit_other_peoples_messages() -> None:
    async with table() as t:
        message = await t.fake.say(t.ana, t.channel, "mine")
        path = f"/channels/{t.channel.id}/messages/{message.id}"
        await t.refused(50005, "PATCH", path, {"content": "yours"}, status=403)
        await t.refused(50013, "DELETE", path)
        t.guild.permit("MANAGE_MESSAGES")
        await t.bot.raw("DELETE", path)
        assert message.deleted
        await t.refused(10008, "GET", path)


async def test_messages_are_listed_newest_first_in_pages() -> None:
    async with table() as t:
        messages = [await t.fake.say(t.ana, t.channel, str(number)) for number in range(7)]
        path = f"/channels/{t.channel.id}/messages"

        async def page(query: str) -> list[str]:
            return [message["content"] for message in await t.bot.raw("GET", f"{path}?{query}")]

        assert await page("limit=3") == ["6", "5", "4"]
        assert await page(f"limit=3&before={messages[3].id}") == ["2", "1", "0"]
        assert await page(f"limit=2&after={messages[3].id}") == ["5", "4"]
        assert await page(f"limit=3&around={messages[3].id}") == ["4", "3", "2"]
        await t.refused(50035, "GET", f"{path}?limit=101")


async def test_files_are_limited_in_number_and_size() -> None:
    async with table() as t:
        channel = t.bot.get_channel(t.channel.id)
        assert isinstance(channel, discord.TextChannel)
        with pytest.raises(discord.HTTPException) as caught:
            await channel.send(file=discord.File(io.BytesIO(b"x" * (10 * 1024 * 1024 + 1)), "big.txt"))
        assert (caught.value.status, caught.value.code) == (413, 40005)


async def test_the_client_receives_peoples_messages_edits_and_deletions() -> None:
    async with table() as t:
        message = await t.fake.say(t.ana, t.channel, "hi", mention=True, files=[("a.md", b"# A")])
        await t.fake.until(lambda: t.bot.heard)
        [received] = t.bot.heard
        assert received.content == f"<@{t.fake.world.bot.id}> hi"
        assert await received.attachments[0].read() == b"# A"
        await t.fake.edit(message, f"<@{t.fake.world.bot.id}> bye")
        await t.fake.delete(message)
        await t.fake.until(lambda: t.bot.events[-2:] == ["MESSAGE_UPDATE", "MESSAGE_DELETE"])


async def test_a_file_with_an_expired_address_is_not_found() -> None:
    async with table() as t:
        message = await t.fake.say(t.ana, t.fake.dm(t.ana), "", files=[("a.md", b"# A")])
        await t.fake.until(lambda: t.bot.heard)
        t.fake.files.gone.add(message.files[0].id)
        with pytest.raises(discord.NotFound):
            await t.bot.heard[0].attachments[0].read()


async def test_typing_and_reactions_are_recorded() -> None:
    async with table() as t:
        message: Message = await t.fake.say(t.ana, t.channel, "x")
        await t.bot.raw("POST", f"/channels/{t.channel.id}/typing")
        await t.bot.raw("PUT", f"/channels/{t.channel.id}/messages/{message.id}/reactions/👀/@me")
        assert (len(t.channel.typing), message.reactions) == (1, ["👀"])


async def test_an_unknown_route_is_not_found() -> None:
    async with table() as t:
        await t.refused(0, "GET", "/no/such/route", status=404)
        await t.refused(10003, "GET", "/channels/1", status=404)
