"""Where something happens on Slack, as its payloads say, which conversation that is, and where the answer goes.

Decides by plain values alone: asks neither the network nor the storage. The payloads' shapes are in Slack's
documentation, "Events API", "Slash commands" and "Interaction payloads".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from bot.events import Place, Request

if TYPE_CHECKING:
    from storage.threads import ThreadRow

PLATFORM = "slack"
RESPONSE_SECONDS = 30 * 60
"""How long a response_url lives, for five messages (Slack's documentation, "Handling user interaction")."""

AnswerPlace = Literal["thread", "here", "channel", "alone", "direct", "there"]
"""Where a run's messages stand.

"thread": in the thread under a message that is posted for it, and says who asked what. "here": in the thread
`thread`. "channel": in the channel itself, below everything. "alone": shown to the asker alone, once it has
ended. "direct": in the asker's direct conversation with the bot, under a message that is posted for it there.
"there": in the thread that the request's place is, for nobody has written: a schedule, say, has begun the run.
"""
Kind = Literal["message", "command", "action", "view", "shortcut"]
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Location:
    """Where a person is.

    `thread` is the ts of the thread's root, "" at the channel's root. `team` is the workspace, "" where only the
    `enterprise` is known. `message`: the ts of what they wrote there, "" if they did not write.
    """

    user: str
    team: str
    channel: str
    enterprise: str = ""
    thread: str = ""
    message: str = ""

    @property
    def space(self) -> str:
        """The tenant: the workspace, or the enterprise where Slack names no workspace."""
        return self.team or self.enterprise

    @property
    def direct(self) -> bool:
        """A conversation with the bot alone; Slack's ids of those begin with D."""
        return self.channel.startswith("D")

    @property
    def real(self) -> str:
        """What `storage.threads` calls the thread, "" where there is none: a message may only begin one."""
        return real(self.channel, self.thread) if self.thread else ""

    @property
    def root(self) -> str:
        """The ts of the thread in which an answer to what was written here stands, "" if nothing was."""
        return self.thread or self.message


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request came from, and so where its answer goes: kept with the request, as JSON.

    Deliberately plain values, so that a run which a crash cut off finds its messages again after a restart.

    `channel` is where the person was, `message` the ts of what they wrote, "" for a command or a press.

    `team` is the workspace whose installation was used, "" for one of a whole `enterprise`. `response_url` can
    only answer this one action; it dies at `until` (seconds since the epoch). `earlier`: the thread was there
    before the bot was called into it. `title` is what the conversation is called; `asked` is what the person
    asked, to be shown.
    """

    home: AnswerPlace
    channel: str
    user: str
    team: str
    enterprise: str = ""
    thread: str = ""
    message: str = ""
    response_url: str = field(default="", repr=False)
    until: float = 0.0
    earlier: bool = False
    title: str = ""
    asked: str = ""

    @property
    def private(self) -> bool:
        return self.home in ("alone", "direct") or (self.home == "there" and self.user != "")

    def to_json(self, **more: str) -> str:
        """As JSON, with `more` of its fields."""
        return json.dumps(asdict(self) | more, ensure_ascii=False, separators=(",", ":"))


def origin_of(kept: str) -> Origin:
    """The origin that `kept` wrote. Raises ValueError, KeyError or TypeError for anything else."""
    return Origin(**json.loads(kept))


def origin_at(place: Place) -> str:
    """The origin of an answer in a place where nobody has written: the bot posts it there by itself.

    Of a workspace of an organisation that has installed the app as a whole, the place does not say which: there nothing
    can be posted.
    """
    user = place.channel.removeprefix("@") if place.channel.startswith("@") else ""
    organisation = place.space.startswith("E")
    return Origin(
        home="there" if place.thread or user else "channel",
        channel="" if user else place.channel,
        user=user,
        team="" if organisation else place.space,
        enterprise=place.space if organisation else "",
        thread=place.thread,
    ).to_json()


def new_thread(request: Request, id: str, title: str) -> tuple[Place, str]:
    """Where a thread of its own stands in the request's channel, and the origin of what begins it."""
    origin, place = origin_of(request.origin), request.place
    private = place.channel.startswith("@")
    there = replace(
        origin,
        home="direct" if private else "thread",
        channel=origin.channel if private else place.channel,
        thread="",
        message="",
        response_url="",
        until=0.0,
        earlier=False,
    )
    return replace(place, thread=id), there.to_json(title=title)


def for_one(kept: str) -> bool:
    """Whether the answer is for whoever asked alone: in private, or in their direct conversation with the bot."""
    origin = origin_of(kept)
    return origin.private or origin.channel.startswith("D")


def home(here: Location, *, ordered: bool, private: bool = False) -> AnswerPlace:
    """Where the answer stands. What is private and quickly done is shown on the spot, to the asker alone."""
    if private and not here.direct:
        return "direct" if ordered else "alone"
    if here.root:
        return "here"
    return "thread" if ordered else "channel"


def place(here: Location, *, event: str, goes: AnswerPlace, held: ThreadRow | None = None) -> Place:
    """The conversation. `event` names one whose thread is still to be made.

    `held` says what a thread of the bot's own is called.
    """
    if goes == "direct":
        return Place(PLATFORM, here.space, f"@{here.user}", event)
    if goes == "thread":
        return Place(PLATFORM, here.space, here.channel, event)
    if held is not None:
        return Place(PLATFORM, here.space, held.channel, held.thread)
    return Place(PLATFORM, here.space, here.channel, here.root)


def real(channel: str, thread: str) -> str:
    """What `storage.threads` calls a thread of Slack's: a ts is unique only in its channel."""
    return f"{channel}:{thread}"


def parted(real: str) -> tuple[str, str]:
    """The channel and the ts of the thread that `real` named."""
    channel, _, thread = real.partition(":")
    return channel, thread


def event_of(kind: Kind, *parts: str) -> str:
    """The event's own id: the same however often, and as however many events, Slack tells of it.

    A message's are its channel and ts, under which a mention arrives twice; a command's its trigger_id; an
    action's channel, message, action_ts and user; a window's its view id.
    """
    return ":".join((kind, *parts))


def spot_of_event(body: Body, team: str | None, enterprise: str | None) -> Location:
    """Where a message stands, or whatever else names a channel; `team` and `enterprise` are Bolt's.

    For an app that a whole organisation has installed, Slack's authorizations name no workspace.
    """
    event = body.get("event") or {}
    thread, message = text_of(event, "thread_ts"), text_of(event, "ts")
    return Location(
        user=text_of(event, "user"),
        team=team or _workspace(body, enterprise),
        channel=text_of(event, "channel"),
        enterprise=enterprise or "",
        thread="" if thread == message else thread,  # a root that has replies names itself as its thread
        message=message,
    )


def spot_of_command(body: Body, team: str | None, enterprise: str | None) -> Location:
    """Where a command was typed, which is never in a thread."""
    return Location(text_of(body, "user_id"), team or "", text_of(body, "channel_id"), enterprise or "")


def spot_of_interaction(body: Body, team: str | None, enterprise: str | None) -> Location:
    """Where the person is; `team` and `enterprise` are Bolt's, who reads them from each kind of payload.

    Nowhere (no channel) for what was pressed in the Home tab or in a window. Where a whole organisation has installed
    the app, a window's workspace may be called by the organisation's id: then it is the person's own.
    """
    return Location(
        user=text_of(body, "user", "id"),
        team=(team or "") if not (team or "").startswith("E") else text_of(body, "user", "team_id"),
        channel=text_of(body, "channel", "id") or text_of(body, "container", "channel_id"),
        enterprise=enterprise or "",
        thread=text_of(body, "container", "thread_ts") or text_of(body, "message", "thread_ts"),
    )


def event_of_press(body: Body, here: Location) -> str:
    """The event id of a press: that of this action on this message, by this person."""
    action = action_of(body)
    where = here.channel or text_of(body, "container", "view_id")
    return event_of("action", where, message_of(body), str(action.get("action_ts", "")), here.user)


def action_of(body: Body) -> Mapping[str, Any]:
    """What was pressed; {} where the payload does not say."""
    actions = body.get("actions")
    first = actions[0] if isinstance(actions, list) and actions else {}
    return first if isinstance(first, dict) else {}


def message_of(body: Body) -> str:
    """The ts of the message with the button, "" in a view."""
    return text_of(body, "container", "message_ts") or text_of(body, "message", "ts")


def alone(body: Body) -> bool:
    """Whether the message is shown to the presser alone. Slack does not send its text along then."""
    container = body.get("container")
    return isinstance(container, dict) and bool(container.get("is_ephemeral"))


def response_url(body: Body) -> str:
    """A secret, good for five posts within half an hour; "" in a view."""
    return str(body.get("response_url") or "")


def text_of(body: Body, *path: str) -> str:
    """What stands there in the payload; "" if no text does."""
    found: Any = body
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""


def _workspace(body: Body, enterprise: str | None) -> str:
    if found := text_of(body, "context_team_id"):
        return found
    return text_of(body, "team_id") if enterprise and body.get("enterprise_id") == enterprise else ""
