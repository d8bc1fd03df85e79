"""Hostile payloads: interactions and messages that no sane client would send.

for event, data in payloads(seed, around=(discord, ana, channel)):
        await discord.send_raw(event, data)

They are seeded, so that a failure can be reproduced. By default only fields that discord.py itself tolerates are
damaged (text, options, files, components, locales, unknown types); with `wild=True` any field may be missing or of
another type, which can break the client's own parser and says nothing about the bot.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tests.fakes.discord.asked import COMMAND, COMPONENT, MODAL, Asked
from tests.fakes.discord.channels import Channel
from tests.fakes.discord.command_rules import CHAT, GROUP, SUBCOMMAND
from tests.fakes.discord.messages import Message
from tests.fakes.discord.world import User

if TYPE_CHECKING:
    from tests.fakes.discord.service import FakeDiscord

Payload = tuple[str, dict[str, Any]]

TEXTS = (
    "",
    " \n\t",
    "x" * 100_000,
    "🎲" * 2500,
    "👩‍👩‍👧‍👦" * 500,
    "\u202eneddih\u202c \u2066left\u2069",
    "a\u200b\u200c\u200d\u2060\ufeffb" * 50,
    "e" + "\u0301" * 4000,
    "@everyone @here <@&1> " * 90,
    " ".join(f"<@{number}>" for number in range(1, 120)),
    "\x00\x01\x1b[31mred\x07",
    "[click](javascript:alert(1)) [x](https://example.com" + "/a" * 900 + ")",
    "```" * 333,
    "||" + "*_~`>#-" * 280,
    "</ask:1> <#1> <:a:1> <t:99999999999999:R> <id:guide>",
    "'; DROP TABLE threads; -- {0} {text} %s %(x)s ${HOME} $(id)",
    "../../../../etc/passwd",
    "ﷺ" * 300,
    "العربية עברית ไทย हिन्दी 中文",
    "\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
)
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**63,
    1.5,
    "",
    "null",
    [],
    {},
    [[]],
    {"a": {"b": []}},
    ["x"] * 300,
)
FILES = (
    "a" * 3000 + ".md",
    "../../x.md",
    "con.txt",
    "\u202efdp.md",
    ".",
    "",
    "a\x00b.md",
    "x.MD",
    "📚.md",
    "a/b\\c.md",
)


def payloads(
    seed: int, n: int = 200, around: tuple[FakeDiscord, User, Channel] | None = None, wild: bool = False
) -> Iterator[Payload]:
    """`n` damaged events. With `around`, they are that person's in that channel, with the registered commands, and
    the fake knows each interaction, so that the bot can answer it.
    """
    if around is None:
        around = _nobody()
    chance = random.Random(seed)
    makers = (_message, _command, _pressed, _submitted)
    for number in range(n):
        event, data = makers[number % len(makers)](chance, *around)
        if wild:
            _anything(chance, data)
        yield event, data


def _nobody() -> tuple[FakeDiscord, User, Channel]:
    from tests.fakes.discord.service import FakeDiscord

    discord = FakeDiscord()
    guild = discord.guild("Nowhere")
    user = discord.user("Ana")
    guild.join(user)
    return discord, user, guild.text("general")


def _message(chance: random.Random, discord: FakeDiscord, user: User, channel: Channel) -> Payload:
    text = chance.choice(TEXTS)
    bot = discord.world.bot
    if chance.random() < 0.7:
        text = f"{bot.mention} {text}"
    message = Message(discord.world.ids.next(), channel, user, text, created=1_700_000_000.0)
    message.named = [bot] if bot.mention in text else []
    data = message.event()
    spoilers: tuple[Callable[[], Any], ...] = (
        lambda: data.update(type=chance.choice((0, 6, 7, 18, 19, 21, 63, 999))),
        lambda: data.update(attachments=[_file(chance, discord) for _ in range(chance.randrange(1, 30))]),
        lambda: data.update(embeds=[{"type": "rich", "description": chance.choice(TEXTS)}, {}]),
        lambda: data.update(components=[{"type": 99, "id": 1}, {"type": 1, "id": 2, "components": []}]),
        lambda: data["author"].update(global_name=chance.choice(TEXTS), username=chance.choice(TEXTS)),
        lambda: data.update(flags=2**31 - 1, nonce=chance.choice(("x" * 4000, 7, None))),
        lambda: data.update(mentions=[user.payload()] * 120, mention_everyone=True),
        lambda: data.update(message_reference={"message_id": "1", "channel_id": "1", "type": 0}),
        lambda: data.update({"something_new": chance.choice(ODD)}),
        lambda: data["author"].update(bot=True),
        lambda: data.update(webhook_id="1"),
    )
    for spoil in chance.sample(spoilers, chance.randrange(1, 4)):
        spoil()
    return chance.choice(("MESSAGE_CREATE", "MESSAGE_CREATE", "MESSAGE_UPDATE")), data


def _command(chance: random.Random, discord: FakeDiscord, user: User, channel: Channel) -> Payload:
    leaves = list(_leaves(discord.commands.all(channel.guild.id if channel.guild else None)))
    command, chain = chance.choice(leaves) if leaves else ({"id": "1", "name": "rules"}, [])
    options = []
    for option in (chain[-1] if chain else command).get("options") or []:
        if chance.random() < 0.8:
            value = chance.choice((chance.choice(TEXTS), chance.choice(TEXTS), chance.choice(ODD)))
            options.append({"name": option["name"], "type": option["type"], "value": value})
    if chance.random() < 0.3:
        options.append(
            {"name": "no_such_option", "type": chance.choice((3, 4, 99)), "value": chance.choice(ODD)}
        )
    if chance.random() < 0.2:
        chain = [{"name": "no_such_command", "type": 1}]
    for option in reversed(chain):
        options = [{"name": option["name"], "type": option["type"], "options": options}]
    data = {"id": command["id"], "name": command["name"], "type": CHAT, "options": options}
    if chance.random() < 0.1:
        data |= {"name": "nobody-registered-this", "id": "999"}
    if chance.random() < 0.3:
        data["resolved"] = {"attachments": {"5": _file(chance, discord) | {"id": "5"}}}
    return "INTERACTION_CREATE", _spoiled(chance, discord, COMMAND, user, channel, data)


def _pressed(chance: random.Random, discord: FakeDiscord, user: User, channel: Channel) -> Payload:
    known = [button.custom_id for post in channel.messages for button in post.buttons if button.custom_id]
    custom_id = chance.choice(
        (*known, *(_mangled(chance, known_id) for known_id in known), *TEXTS, "a:b:c:d:e:f:g", "::::")
    )
    data: dict[str, Any] = {
        "component_type": chance.choice((2, 2, 3, 5, 99)),
        "custom_id": custom_id,
        "id": 1,
    }
    if data["component_type"] != 2:
        data["values"] = [chance.choice(TEXTS) for _ in range(chance.randrange(30))]
    event = _spoiled(chance, discord, COMPONENT, user, channel, data)
    posts = channel.messages
    if posts:
        event["message"] = chance.choice(posts).payload()
    else:
        event["message"] = Message(1, channel, discord.world.bot, "gone", created=1_700_000_000.0).payload()
    return "INTERACTION_CREATE", event


def _submitted(chance: random.Random, discord: FakeDiscord, user: User, channel: Channel) -> Payload:
    fields = [
        {
            "type": 18,
            "id": choice,
            "component": {"type": 4, "id": 50 + choice, "custom_id": name, "value": chance.choice(TEXTS)},
        }
        for choice, name in enumerate(
            chance.choices(("text", "name", "question", "…", "x" * 100), k=chance.randrange(6)), 1
        )
    ]
    data = {"custom_id": chance.choice((*TEXTS, "a:b:c", "edit:1")), "components": fields}
    return "INTERACTION_CREATE", _spoiled(chance, discord, MODAL, user, channel, data)


def _spoiled(
    chance: random.Random, discord: FakeDiscord, type: int, user: User, channel: Channel, data: dict[str, Any]
) -> dict[str, Any]:
    asked = Asked(discord.world.ids.next(), type, user, channel, data, guest=False)
    discord.asked[str(asked.id)] = discord.tokens[asked.token] = asked
    event = copy.deepcopy(discord.people.payload(asked))
    spoilers: tuple[Callable[[], Any], ...] = (
        lambda: None,
        lambda: event.update(locale=chance.choice(("tlh", "", "pt", "x" * 500))),
        lambda: event.update(guild_locale="xx-XX"),
        lambda: event.update(app_permissions=str(2**70)),
        lambda: event.update(app_permissions="0"),
        lambda: event.update(context=9),
        lambda: event.update(authorizing_integration_owners={}),
        lambda: event.update({"something_new": chance.choice(ODD)}),
        lambda: (event.get("member") or event)["user"].update(global_name=chance.choice(TEXTS)),
    )
    for spoil in chance.sample(spoilers, chance.randrange(1, 4)):
        spoil()
    return event


def _file(chance: random.Random, discord: FakeDiscord) -> dict[str, Any]:
    name = chance.choice(FILES)
    return {
        "id": str(discord.world.ids.next()),
        "filename": name,
        "size": chance.choice((0, -1, 1, 2**40)),
        "url": f"{discord.root}/attachments/1/{chance.randrange(10**6)}/gone",
        "proxy_url": f"{discord.root}/attachments/1/1/gone",
        "content_type": chance.choice(("text/markdown", "image/png", "", "x" * 300)),
    }


def _mangled(chance: random.Random, text: str) -> str:
    place = chance.randrange(len(text))
    return chance.choice(
        (text[:place], text + text, text[:place] + "\u200b" + text[place:], text.upper(), text[::-1])
    )


def _leaves(commands: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    def below(
        command: dict[str, Any], chain: list[dict[str, Any]]
    ) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        under = [
            option
            for option in (chain[-1] if chain else command).get("options") or []
            if option["type"] in (SUBCOMMAND, GROUP)
        ]
        if not under:
            yield command, chain
        for option in under:
            yield from below(command, [*chain, option])

    for command in commands:
        if command["type"] == CHAT:
            yield from below(command, [])


def _anything(chance: random.Random, data: dict[str, Any]) -> None:
    """Remove a field anywhere, or replace it by an odd value."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            walk(node[key])

    walk(data)
    node, key = chance.choice(places)
    if isinstance(node, dict) and chance.random() < 0.4:
        del node[key]
    else:
        node[key] = copy.deepcopy(chance.choice((chance.choice(TEXTS), chance.choice(ODD))))
