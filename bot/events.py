"""The values that pass between a platform and a work: requests in, events out.

Imports none of our modules. Knows no platform, no model and no storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Ended: TypeAlias = Literal["done", "failed", "stopped"]
"""How a run can end."""

OptionValue: TypeAlias = str | int | float | bool | list[str] | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation lives. `space` is the tenant: a guild, a workspace, or "local"."""

    platform: str
    space: str
    channel: str
    thread: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Its parts in the order in which the storage takes them."""
        return self.space, self.platform, self.channel, self.thread


@dataclass(frozen=True, slots=True)
class Author:
    """The person who asked."""

    id: str
    name: str
    admin: bool = False
    """Whether the platform lets them change what the whole space shares."""
    zone: str = ""
    """The name of the time zone that the platform gives for them; "" if it gives none."""
    groups: tuple[str, ...] | None = None
    """The ids of their roles on Discord or user groups on Slack; None if they were not requested."""
    outside: bool = False
    """Whether they belong to another workspace or organisation that shares the channel."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that came with a request: its name, its size in bytes, and where it is.

    `path` is a file of this machine; "" for one that is still on the platform, at `url`, until a work
    fetches it.
    """

    name: str
    path: str
    size: int
    url: str = ""


@dataclass(frozen=True, slots=True)
class Quoted:
    """The source of something that a request contains, such as a message that it links.

    `where` is the channel's name, "" for the request's own or for one that not everybody may know; `name` is the
    author's name; `at` is the time in UTC. `refused` is the key of the message that says why it is not read, "" if it
    is. `thread` is the platform's id of a thread whose messages the run reads, "" for a message.
    """

    where: str = ""
    name: str = ""
    at: str = ""
    refused: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a person, a schedule or a folder."""

    id: str
    """Derived from the platform's own event id."""
    place: Place
    author: Author
    work: str
    verb: str
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    text: str = ""
    files: tuple[File, ...] = ()
    locale: str = "en"
    origin: str = field(default="", repr=False)
    """Where the answer goes, in a format that only the adapter reads; it is never logged."""
    line: str = ""
    """The line of its space in which the run waits; "" for the usual line of its place."""
    parent: str = ""
    """The run that began it (`Run.begin`); "" if a person, a schedule or a folder did."""
    answers: str = ""
    """The run of the same space whose choice was pressed, or on whose message the verb was called; "" if there is none.
    """
    adults: bool | None = None
    """Whether the platform admits only adults there; None if it cannot tell."""
    window: bool = False
    """Whether its text was typed into a window, which is closed."""
    asked_in: Place | None = None
    """The channel of a private request whose answer goes to another place, None for the place's own: its settings,
    rules and budgets apply.
    """
    quoted: tuple[Quoted, ...] = ()
    """The sources of the messages that its text quotes."""
    proxied: str = ""
    """The name under which a proxy has posted its author's words; "" for none."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """The speaker of a stage, if not the bot: a name, and the https address of a picture or "".

    `own`: post the words under this name if the platform can do that; otherwise the name is shown above them in bold.
    """

    name: str
    picture: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """Opens a new threaded message. `key` is unique within the run and the same on replay.

    With the key of the open stage it only changes that stage's title. `calls` are the ids of the people whom its
    message mentions, as they have asked for: the bot mentions nobody else. `meanwhile` is a button under the stage
    while it grows, and after it was stopped or has failed; the terminal shows none. `answer`: a model's answer, which
    people can rate.
    """

    key: str
    title: str
    speaker: Speaker | None = None
    calls: tuple[str, ...] = ()
    meanwhile: Choice | None = None
    answer: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """Adds `text` (Markdown) to the open stage."""

    text: str


@dataclass(frozen=True, slots=True)
class Spoiler:
    """Adds lines of plain text to the open stage, below its Text, that are hidden until a reader opens them.

    Only if the platform can do that (`Run.hides`).
    """

    text: str


@dataclass(frozen=True, slots=True)
class Status:
    """The status line under the open stage; the next Status replaces it. `done` of `total`, if known."""

    text: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """The source behind marker [n]. `quote` is a verbatim substring of the source's text, `link` its http or https
    address, or "".
    """

    n: int
    source: str
    heading: str
    quote: str
    page: int | None = None
    link: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One button."""

    label: str
    command: str
    """The command line that a press runs as if it were typed; "" for none."""
    asks: str = ""
    """A question that a press asks first; "" for none. The answer becomes the text of the command, whose verb must take
    one, and is not parsed.
    """
    form: bool = False
    """Whether a press opens the verb's whole form, if a window can open."""
    filled: str = ""
    """The text already in the window."""
    under: str = ""
    """What the button belongs to, in the work's own terms: the work checks it before it does what the line says
    (`Kind.pressed`).
    """
    title: str = ""
    """The title of the conversation that a press begins, if the line's text does not give it."""
    answers: str | None = None
    """The run that a press answers, "" for none; None is the run that offers it."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The buttons that a run offers at its end; a press is a new request.

    With `votes` a press is a vote: each person's last vote counts, and the buttons show the counts. It is also a
    request if the choice has a command. The terminal has no votes. Once one is `taken` (by its index), the buttons stay
    visible but can no longer be pressed; `by` is the name of the person who took it. `only` is the id of the person who
    may press them, "" for everybody.
    """

    prompt: str
    choices: tuple[Choice, ...]
    votes: bool = False
    taken: int | None = None
    only: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG, with an alternative text for those who cannot see it."""

    name: str
    png: bytes
    alt: str

    @property
    def data(self) -> bytes:
        """The bytes, under the name that `Attachment` has for them."""
        return self.png


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file for the reader to keep."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A conversation in another place that the view links to, named `title`.

    If places are threads, the view gives the thread that name, and archives or reopens it.
    """

    place: Place
    title: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A link, named `title`, to the first message of another run of this space."""

    run: str
    title: str


@dataclass(frozen=True, slots=True)
class Speaking:
    """From here on, text of the open stage is read aloud while it is written, up to the Speak of the same key.

    That Speak has the whole text, for platforms that make audio files. `key`, `speaker` and `language` are as there.
    """

    key: str
    speaker: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Speak:
    """Words for the voice channel or for an audio clip, spoken at most once, even after a crash.

    `key` is that of the stage that contains the words. `speaker` is who says them, a role such as "narrator" or a
    character's name; `language` is as in `Request.locale`, "" for the request's own.
    """

    text: str
    key: str
    speaker: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A permanent sentence next to the answer: a label, a limit, a fallback. `retry`: the answer is incomplete, and a
    button offers to ask again.
    """

    text: str
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The run could not finish; `text` says what happened and what to do next. `retry`: the same request may succeed
    later, so a button offers to try again.
    """

    text: str
    retry: bool = True


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer is complete, and the run continues in the background: nothing waits for it, and `stop` no longer stops
    it.

    Of its later events only Changed and Speak are shown.
    """


Shown: TypeAlias = (
    Stage
    | Text
    | Spoiler
    | Status
    | Citation
    | Choices
    | Picture
    | Attachment
    | Elsewhere
    | Link
    | Notice
    | Failed
)
"""The events that a view shows of its run."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Changes the title and contents of a stage, by its key, of an earlier run of this space.

    Without contents the stage is withdrawn: a sentence replaces it. A stage that was never shown is not shown now. One
    that can no longer be edited is posted again, unless `in_place`. `answer`: see Stage.
    """

    run: str
    stage: str
    title: str
    contents: tuple[Text | Citation | Choices | Picture | Attachment | Link | Notice, ...] = ()
    in_place: bool = False
    speaker: Speaker | None = None
    answer: bool = False


@dataclass(frozen=True, slots=True)
class Hush:
    """Takes back what was read aloud of a stage, by its key, of an earlier run of this space."""

    run: str
    stage: str


@dataclass(frozen=True, slots=True)
class Unquoted:
    """Takes back the messages that quote the request of an earlier run of this space; its stages stay."""

    run: str


Event: TypeAlias = Shown | Speaking | Speak | Hush | Unquoted | Changed | Answered


class UserError(Exception):
    """An error that a person can understand and correct, by its key in the catalogue of words.

    Raised anywhere below `App.perform`, which shows `words(key, **values)` as a `Failed`. `transient`: see
    TransientError.
    """

    transient = False

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(f"{key} {values}" if values else key)
        self.key = key
        self.values = values


class TransientError(UserError):
    """An error that the circumstances cause, not the request: a service does not answer, a budget is used up, the
    library is empty. The same request may succeed later, so people are offered to try again.
    """

    transient = True


def user_error(key: str, values: Mapping[str, object], *, transient: bool) -> UserError:
    """A stored or reworded error."""
    return (TransientError if transient else UserError)(key, **values)


class PressedLate(UserError):
    """A button that is no longer valid was pressed. A run of `verb` tells that to the person who pressed, privately,
    and offers ways to continue.
    """

    def __init__(self, key: str, verb: str, options: Mapping[str, OptionValue]) -> None:
        super().__init__(key)
        self.verb = verb
        self.options = options
