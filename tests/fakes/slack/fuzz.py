"""A stock of hostile envelopes: events, commands and interactions as no sane client would send them.

    for kind, payload in payloads(seed, around=(slack, ana, channel)):
        await slack.send_envelope(channel.team, kind, payload)

They are seeded, so that a failure can be reproduced. By default only fields that Bolt itself tolerates are damaged
(texts, values, files, blocks, unknown types); with `wild=True` any field may be missing or of another type.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.fakes.slack import events, interactions
from tests.fakes.slack.channels import Channel
from tests.fakes.slack.delivery import COMMAND, EVENT, INTERACTIVE
from tests.fakes.slack.messages import Message
from tests.fakes.slack.people import User
from tests.fakes.slack.service import FakeSlack
from tests.fakes.slack.views import View

Payload = tuple[str, dict[str, Any]]
Around = tuple[FakeSlack, User, Channel]

TEXTS = (
    "",
    " \n\t",
    "x" * 100_000,
    "🎲" * 2500,
    "👩‍👩‍👧‍👦" * 500,
    "\u202eneddih\u202c \u2066left\u2069",
    "a\u200b\u200c\u200d\u2060\ufeffb" * 50,
    "e" + "\u0301" * 4000,
    "<!channel> <!here|here> <!everyone> <!subteam^S1|@x> " * 90,
    " ".join(f"<@U{number}>" for number in range(1, 120)),
    "<@> <#> <!> <|> <<<>>> <https://|x> <mailto:> <!date^x^{}|>",
    "&lt;!channel&gt; &amp;lt; &#60;",
    "\x00\x01\x1b[31mred\x07",
    "<javascript:alert(1)|click> <https://example.com" + "/a" * 900 + "|x>",
    "```" * 333,
    "*_~`>#-" * 280,
    "rules ask " + "--a " * 500,
    "'; DROP TABLE threads; -- {0} {text} %s %(x)s ${HOME} $(id)",
    "../../../../etc/passwd",
    "ﷺ" * 300,
    "العربية עברית ไทย हिन्दी 中文",
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
FILES = ("a" * 3000 + ".md", "../../x.md", "\u202efdp.md", ".", "", "a\x00b.md", "x.MD", "📚.md", "a/b\\c.md")
TS = ("", "0", "x", "-1.0", "9" * 40, "1700000000", "1700000000.000001", "NaN")


def payloads(seed: int, around: Around, n: int = 200, wild: bool = False) -> Iterator[Payload]:
    """`n` damaged envelopes of that person in that channel."""
    chance = random.Random(seed)
    makers = (_message, _command, _press, _submission, _shortcut, _event)
    for number in range(n):
        kind, payload = makers[number % len(makers)](chance, *around)
        if wild:
            _anything(chance, payload)
        yield kind, payload


def _envelope(slack: FakeSlack, channel: Channel, event: dict[str, Any]) -> Payload:
    id = slack.world.ids.next("Ev")
    return EVENT, events.envelope(channel.team, event, id, slack.verification_token)


def _spoil(chance: random.Random, spoilers: tuple[Callable[[], Any], ...]) -> None:
    for spoil in chance.sample(spoilers, chance.randrange(1, 4)):
        spoil()


def _message(chance: random.Random, slack: FakeSlack, user: User, channel: Channel) -> Payload:
    text = chance.choice(TEXTS)
    if chance.random() < 0.7:
        text = f"{channel.team.bot.mention} {text}"
    message = Message(channel, slack.world.ids.ts(), user, text)
    event = (
        events.mention(message) if chance.random() < 0.4 and channel.kind != "im" else events.message(message)
    )
    _spoil(
        chance,
        (
            lambda: event.update(
                subtype=chance.choice(("bot_message", "thread_broadcast", "x", "me_message"))
            ),
            lambda: event.update(files=[_file(chance, slack, user) for _ in range(chance.randrange(1, 30))]),
            lambda: event.update(blocks=[{"type": "hologram"}, {}, {"type": "rich_text"}]),
            lambda: event.update(attachments=[{"text": chance.choice(TEXTS)}, {}]),
            lambda: event.update(thread_ts=chance.choice(TS)),
            lambda: event.update(ts=chance.choice(TS), event_ts=chance.choice(TS)),
            lambda: event.update(channel=chance.choice(("C0NOWHERE", "", "D0", channel.id.lower()))),
            lambda: event.update(something_new=chance.choice(ODD)),
            lambda: event.update(metadata={"event_type": "x", "event_payload": chance.choice(ODD)}),
            lambda: event.update(user=chance.choice(("USLACKBOT", "U0NOBODY", "W0"))),
        ),
    )
    return _envelope(slack, channel, event)


def _file(chance: random.Random, slack: FakeSlack, user: User) -> dict[str, Any]:
    file = slack.files.new(user, chance.choice(FILES), b"x", chance.choice((0, 1, 2**40))).payload()
    for name in chance.sample(("mimetype", "size", "url_private", "url_private_download", "mode"), 2):
        file[name] = chance.choice(("", "tombstone", "http://127.0.0.1:9/x", "file:///etc/passwd", 2**60))
    if chance.random() < 0.2:
        return {"id": file["id"], "mode": "hidden_by_limit"}
    return file


def _command(chance: random.Random, slack: FakeSlack, user: User, channel: Channel) -> Payload:
    name = chance.choice(("/sutradhar", "/rules", "/RULES", "/", "/" + "x" * 300))
    text = chance.choice((chance.choice(TEXTS), "rules " + chance.choice(TEXTS)))
    url = slack.hooks.new(user, channel).url
    payload = interactions.command(slack, user, channel, name, text, url)
    if chance.random() < 0.3:
        payload["channel_id"] = chance.choice(("C0NOWHERE", "D0NOWHERE"))
    if chance.random() < 0.2:
        payload["something_new"] = chance.choice(TEXTS)
    return COMMAND, payload


def _press(chance: random.Random, slack: FakeSlack, user: User, channel: Channel) -> Payload:
    mine = [message for message in channel.everything if message.user.bot]
    message = chance.choice(mine) if mine else Message(channel, slack.world.ids.ts(), channel.team.bot, "x")
    action = {
        "type": chance.choice(("button", "static_select", "hologram", "feedback_buttons")),
        "action_id": chance.choice((*TEXTS, "stop:1", "choose:" + "9" * 200, ":", "::")),
        "block_id": "b",
        "value": chance.choice(TEXTS),
        "text": {"type": "plain_text", "text": chance.choice(TEXTS)},
    }
    payload = interactions.pressed(slack, user, message, action, slack.hooks.new(user, channel).url)
    _spoil(
        chance,
        (
            lambda: payload.update(message={"type": "message", "ts": chance.choice(TS), "text": ""}),
            lambda: payload["actions"][0].pop("value"),
            lambda: payload.update(state={"values": chance.choice(({}, {"b": {}}))}),
            lambda: payload["container"].update(type="hologram"),
            lambda: payload.update(something_new=chance.choice(ODD)),
        ),
    )
    return INTERACTIVE, payload


def _submission(chance: random.Random, slack: FakeSlack, user: User, channel: Channel) -> Payload:
    content = {
        "type": "modal",
        "callback_id": chance.choice((*TEXTS, "ask", "ask:1")),
        "title": {"type": "plain_text", "text": "x"},
        "private_metadata": chance.choice((*TEXTS, "{", "[]", '{"channel": 7}')),
        "blocks": [],
    }
    view = View(slack.world.ids.next("V"), user, content, slack.world.ids.ts())
    value = chance.choice((None, *TEXTS))
    view.values = {
        chance.choice(("text", "question", "x")): {"text": {"type": "plain_text_input", "value": value}}
    }
    if chance.random() < 0.3:
        return INTERACTIVE, interactions.closed(slack, user, view, all=chance.random() < 0.5)
    return INTERACTIVE, interactions.submission(slack, user, view)


def _shortcut(chance: random.Random, slack: FakeSlack, user: User, channel: Channel) -> Payload:
    callback = chance.choice((*TEXTS, "ask_about", "ask"))
    if chance.random() < 0.5:
        return INTERACTIVE, interactions.shortcut(slack, user, callback)
    message = Message(channel, slack.world.ids.ts(), user, chance.choice(TEXTS))
    url = slack.hooks.new(user, channel).url
    return INTERACTIVE, interactions.message_action(slack, user, callback, message, url)


def _event(chance: random.Random, slack: FakeSlack, user: User, channel: Channel) -> Payload:
    message = Message(channel, slack.world.ids.ts(), user, chance.choice(TEXTS))
    ts = slack.world.ids.ts()
    event = chance.choice(
        (
            events.changed(message, message.payload(), ts),
            events.deleted(message, ts),
            events.home_opened(user, channel, chance.choice(("home", "messages", "hologram")), None, ts),
            events.session_stopped(user, channel, chance.choice(TS), list(TS), ts),
            events.reaction(user, chance.choice(TEXTS), message, ts),
            events.joined(user, channel, None, ts),
            {"type": "hologram_opened", "something_new": chance.choice(ODD)},
            {"type": "tokens_revoked", "tokens": {"bot": ["U0NOBODY"], "oauth": []}},
        )
    )
    return _envelope(slack, channel, event)


def _anything(chance: random.Random, payload: dict[str, Any]) -> None:
    """Remove a field anywhere, or change its type."""
    for _ in range(chance.randrange(1, 4)):
        node: Any = payload
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = chance.choice(keys)
            inner = node[key]
            if isinstance(inner, dict | list) and inner and chance.random() < 0.7:
                node = inner
                continue
            if isinstance(node, dict) and chance.random() < 0.4:
                del node[key]
            else:
                node[key] = copy.deepcopy(chance.choice(ODD))
            break
        if not payload:
            return
