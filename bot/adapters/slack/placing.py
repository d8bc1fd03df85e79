"""The location of an event on Slack, its conversation, and the place of its answer.

Its decisions use plain values only, neither the network nor the storage. The payloads' shapes are in Slack's
documentation, "Events API", "Slash commands" and "Interaction payloads".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from bot.events import File, Place, Request

if TYPE_CHECKING:
    from storage.sessions import ThreadRow

PLATFORM = "slack"
RESPONSE_SECONDS = 30 * 60
"""Seconds for which a response_url is valid, for five messages (Slack's documentation, "Handling user interaction")."""

AnswerPlace = Literal["thread", "here", "channel", "alone", "direct", "there"]
"""The place of a run's messages.

"thread": the thread under a root message that is posted for the run and says who asked what. "here": the thread
`thread`. "channel": the channel itself. "alone": shown to the asker alone, after the run's end. "direct": the asker's
direct conversation with the bot, under a root message. "there": the thread of the request's place, for a run without a
person's message, such as a scheduled one.
"""
Body = Mapping[str, Any]

SUFFIXES: Final = {
    "application/pdf": ".pdf",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
"""The suffixes of files whose names have none, by their types."""


@dataclass(slots=True)
class Location:
    """A person's location.

    `thread` is the ts of the thread's root, "" at the channel's root. `team` is the workspace, "" if only the
    `enterprise` is known. `message` is the ts of the message that they wrote, "" if they did not write. `outside`: they
    belong to another workspace or organisation (Slack Connect); None if the event does not say. `others`: it is a
    direct conversation between other people, without the bot.

    Derived from these: `space` is the tenant (the workspace, or the enterprise if Slack names no workspace). `direct`:
    whether this is a conversation with the bot alone; Slack's ids for direct conversations begin with D. `real` is the
    thread's id in `storage.sessions`; "" if there is none.
    """

    user: str
    team: str
    channel: str
    enterprise: str = ""
    thread: str = ""
    message: str = ""
    outside: bool | None = False
    others: bool = False
    space: str = field(init=False)
    direct: bool = field(init=False)
    real: str = field(init=False)

    def __post_init__(self) -> None:
        self.space = self.team or self.enterprise
        self.direct = self.channel.startswith("D") and not self.others
        self.real = f"{self.channel}:{self.thread}" if self.thread else ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request came from, stored with the request as JSON.

    It holds plain values only, so that an interrupted run finds its messages after a restart.

    `channel` is where the person was, `message` the ts of what they wrote, "" for a command or a press. `team` is the
    workspace whose installation was used, "" for that of a whole `enterprise`. `response_url` can only answer this one
    action; it expires at `until` (seconds since the epoch). `earlier`: the thread existed before the bot was called
    into it. `title` is the conversation's title; `asked` is the question as shown. `others`: see Location.
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
    others: bool = False

    @property
    def private(self) -> bool:
        return self.home in ("alone", "direct") or (self.home == "there" and self.user != "")

    @property
    def location(self) -> Location:
        """The location of the person when they wrote."""
        return Location(
            self.user,
            self.team,
            self.channel,
            self.enterprise,
            self.thread,
            self.message,
            others=self.others,
        )

    def to_json(self, **more: str) -> str:
        """As JSON, with `more` of its fields. Except between other people, it equals an earlier release's form."""
        fields = asdict(self) | more
        if not self.others:
            del fields["others"]
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def origin_of(stored: str) -> Origin:
    """Read `Origin.to_json`. Raises ValueError, KeyError or TypeError for anything else."""
    return Origin(**json.loads(stored))


def origin_at(place: Place) -> str:
    """The origin of an answer that responds to no message: the bot posts it in the place on its own.

    If a whole organisation has installed the app, the place does not name the workspace, so nothing can be posted.
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


def private_place(place: Place, user: str) -> Place:
    """The place of a user's direct conversation with the bot, in the same workspace."""
    return replace(place, channel=f"@{user}", thread="")


def guest(request: Request) -> bool:
    """Whether the request was made in a direct conversation between other people, where the bot can only respond."""
    return request.place.channel.startswith("@") and origin_of(request.origin).home == "channel"


def new_thread(request: Request, id: str, title: str) -> tuple[Place, str]:
    """The place and the origin of a new thread in the request's channel."""
    origin, place = origin_of(request.origin), request.place
    private = place.channel.startswith("@")
    thread_origin = replace(
        origin,
        home="direct" if private else "thread",
        channel=origin.channel if private else place.channel,
        thread="",
        message="",
        response_url="",
        until=0.0,
        earlier=False,
    )
    return replace(place, thread=id), thread_origin.to_json(title=title)


def for_one(stored: str) -> bool:
    """Whether only the asker sees the answer, in private or in their direct conversation with the bot."""
    origin = origin_of(stored)
    return origin.private or (origin.channel.startswith("D") and not origin.others)


def home(location: Location, *, ordered: bool, private: bool = False) -> AnswerPlace:
    """The place of the answer. A private answer of an unordered verb is shown in place, to the asker alone."""
    if private and not location.direct:
        return "direct" if ordered else "alone"
    if location.thread or location.message:
        return "here"
    return "thread" if ordered else "channel"


def place(location: Location, *, event: str, goes: AnswerPlace, thread_row: ThreadRow | None = None) -> Place:
    """The conversation's place. `event` names a conversation whose thread does not exist yet; `thread_row` is the row
    of the bot's thread.
    """
    if goes == "direct" or location.others:
        begun = event if goes in ("direct", "thread") else ""
        return Place(PLATFORM, location.space, f"@{location.user}", begun)
    if goes == "thread":
        return Place(PLATFORM, location.space, location.channel, event)
    if thread_row is not None:
        return Place(PLATFORM, location.space, thread_row.channel, thread_row.thread)
    return Place(PLATFORM, location.space, location.channel, location.thread or location.message)


def parted(real: str) -> tuple[str, str]:
    """The channel and the ts of a thread, from its id in `storage.sessions`; a ts is unique only within its channel."""
    channel, _, thread = real.partition(":")
    return channel, thread


def location_of_event(body: Body, team: str | None, enterprise: str | None) -> Location:
    """The location of a message or another event in a channel; `team` and `enterprise` come from Bolt.

    If a whole organisation has installed the app, Slack's authorizations name no workspace.
    """
    event = body.get("event") or {}
    thread, message = text_of(event, "thread_ts"), text_of(event, "ts")
    return Location(
        user=text_of(event, "user"),
        team=team or _workspace(body, enterprise),
        channel=text_of(event, "channel"),
        enterprise=enterprise or "",
        thread="" if thread == message else thread,  # a root with replies names itself as its thread
        message=message,
        outside=_outside(text_of(event, "user_team") or text_of(event, "team"), team or "", enterprise or "")
        if body.get("is_ext_shared_channel") is True
        else False,
    )


def location_of_interaction(body: Body, team: str | None, enterprise: str | None) -> Location:
    """The location of an interaction; `team` and `enterprise` come from Bolt, which reads them from each kind of
    payload.

    A press in the Home tab or in a window has no channel. If a whole organisation has installed the app, a window's
    team may be the organisation's id; then the person's own team is used.
    """
    return Location(
        user=text_of(body, "user", "id"),
        team=(team or "") if not (team or "").startswith("E") else text_of(body, "user", "team_id"),
        channel=text_of(body, "channel", "id") or text_of(body, "container", "channel_id"),
        enterprise=enterprise or "",
        thread=text_of(body, "container", "thread_ts") or text_of(body, "message", "thread_ts"),
        outside=_outside(text_of(body, "user", "team_id") or team or "", team or "", enterprise or ""),
    )


def action_of(body: Body) -> Mapping[str, Any]:
    """The pressed action; {} if the payload has none."""
    actions = body.get("actions")
    first = actions[0] if isinstance(actions, list) and actions else {}
    return first if isinstance(first, dict) else {}


def message_of(body: Body) -> str:
    """The ts of the message with the button, "" in a view."""
    return text_of(body, "container", "message_ts") or text_of(body, "message", "ts")


def alone(body: Body) -> bool:
    """Whether the message is shown to the presser alone; Slack then does not send its text."""
    container = body.get("container")
    return isinstance(container, dict) and bool(container.get("is_ephemeral"))


def file_name_of(file: Body) -> str:
    """The file's name, with a suffix for its type if it has none: a text snippet is usually called "Untitled"."""
    name = str(file.get("name") or file.get("title") or file.get("id") or "")
    return name if "." in name else name + SUFFIXES.get(text_of(file, "mimetype"), "")


def files_of(event: Body) -> tuple[File, ...]:
    """The files of a request. Their addresses need the workspace's token; works refuse unreadable ones."""
    files = event.get("files")
    attached = [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return tuple(
        File(
            file_name_of(file),
            "",
            size if isinstance(size := file.get("size"), int) else 0,
            text_of(file, "url_private") or text_of(file, "url_private_download"),
        )
        for file in attached
        if file.get("mode") != "tombstone"
    )


def text_of(body: Body, *path: str) -> str:
    """The text at this path of the payload; "" if there is none."""
    value: Any = body
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


def _outside(own: str, team: str, enterprise: str) -> bool | None:
    """Whether `own`, the person's workspace or organisation, is neither the app's workspace nor its organisation.

    None if it is unknown, or may be another workspace of the same organisation. In a shared channel a mention has the
    person's workspace in "user_team", a message in "team" (tests/slack_bolt/request/test_internals.py of bolt-python).
    """
    if own and own in (team, enterprise):
        return False
    return None if enterprise or not own else True


def _workspace(body: Body, enterprise: str | None) -> str:
    if team := text_of(body, "context_team_id"):
        return team
    return text_of(body, "team_id") if enterprise and body.get("enterprise_id") == enterprise else ""
