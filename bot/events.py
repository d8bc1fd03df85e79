"""What goes between a platform and a work: requests in, events out.

A leaf: imports nothing of ours. It deliberately knows no platform, no model and no storage.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Author:
    """Who asked. `admin` says whether the platform lets them change what the whole space shares. `zone` is the name of
    the time zone that the platform gives for them, "" where it gives none. `groups` are the ids of their roles on
    Discord or user groups on Slack, None where nobody has asked for them. `outside`: they belong to another workspace
    or organisation, which shares the channel.
    """

    id: str
    name: str
    admin: bool = False
    zone: str = ""
    groups: tuple[str, ...] | None = None
    outside: bool = False


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
    """Where something is from that a request brings along, such as a message that it links.

    `where` is the channel's name, "" for the request's own or one that not everybody may know; `name` is the author's;
    `at` is the time in UTC. `refused` is the key of the sentence that says why it is not read, "" if it is. `thread` is
    the platform's id of a thread whose messages the run reads, "" for a message.
    """

    where: str = ""
    name: str = ""
    at: str = ""
    refused: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that somebody asked for. `id` is derived from the platform's own event id.

    `origin` says where the answer goes, in a format that only the adapter reads; it is never logged. `line` names the
    line of its space in which the run waits; "" for the usual line of its place. `parent` is the run that has begun it
    (`Run.begin`); "" where a person, a schedule or a folder has. `answers` is the run of the same space whose choice
    was pressed, or on whose message the verb was called; "" where none was. `adults`: whether the platform lets only
    adults in there; None where it cannot tell. `window`: its text was typed into a window, which is closed.
    `asked_in` is the channel of a private request whose answer has a place of its own, "" for the place's own.
    `quoted` says where the messages are from that its text quotes. `proxied`: the name under which a proxy has posted
    its author's words, "" for none.
    """

    id: str
    place: Place
    author: Author
    work: str
    verb: str
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    text: str = ""
    files: tuple[File, ...] = ()
    locale: str = "en"
    origin: str = field(default="", repr=False)
    line: str = ""
    parent: str = ""
    answers: str = ""
    adults: bool | None = None
    window: bool = False
    asked_in: str = ""
    quoted: tuple[Quoted, ...] = ()
    proxied: str = ""

    @property
    def ruled_by(self) -> Place:
        """The place whose settings, rules and budgets hold: where it was asked for."""
        return replace(self.place, channel=self.asked_in, thread="") if self.asked_in else self.place


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks in a stage, if not the bot: a name, and the https address of a picture or "".

    `own`: post the words under this name where the platform can; elsewhere the name stands above them in bold.
    """

    name: str
    picture: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """Opens a new threaded message. `key` is unique within the run and the same on replay.

    With the key of the open stage it only changes that stage's title. `calls` are the ids of the people whom its
    message mentions, as they have asked for: the bot mentions nobody else. `meanwhile` is a button under it while it
    grows, and where it was stopped or has failed; a terminal, where lines can be typed, has none. `answer`: a model
    answers here, so that people can rate it.
    """

    key: str
    title: str
    speaker: Speaker | None = None
    calls: tuple[str, ...] = ()
    meanwhile: Choice | None = None
    answer: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """Grows the open stage by `text` (Markdown)."""

    text: str


@dataclass(frozen=True, slots=True)
class Spoiler:
    """Grows the open stage by lines of plain text, below its Text, that are hidden until a reader opens them.

    Only where the platform can do that (`Run.hides`).
    """

    text: str


@dataclass(frozen=True, slots=True)
class Status:
    """The line under the open stage that is replaced by the next; `done` of `total` where they are known."""

    text: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """What marker [n] stands for. `quote` is a verbatim substring of the source's text, `link` its http or https
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
    """One button: its label, and the line that a press stands for as if it were typed; "" for none.

    `asks` is a question that a press asks first: the answer becomes the text of the command, and no option or command
    is read from it. The command's verb has to take a text. With `form` a press opens the verb's whole form, where a
    window can open. `filled` is what stands in the window for the answer already. `under` names what the button
    belongs to, in the work's own terms: the work checks it before it does what the line says (`Kind.pressed`). `title`
    names the conversation that a press begins, where the line's own text would not. `answers` is the run that a press
    answers, "" for none; None is the run that offers it.
    """

    label: str
    command: str
    asks: str = ""
    form: bool = False
    filled: str = ""
    under: str = ""
    title: str = ""
    answers: str | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """The run ends by offering these; a press is a new request.

    With `votes` a press is a vote: each person's last one counts, and the buttons show the counts. It is a request,
    too, only where the choice has a command. A terminal has no votes. Once one is `taken`, by its index, they stay
    visible and cannot be pressed any more; `by` is the name of the person who took it. `only` is the id of the person
    who may press them, "" for everybody.
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

    Where places are threads, the view gives the thread that name, and archives it or wakes it up.
    """

    place: Place
    title: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A line, named `title`, that leads to the first message of another run of this space."""

    run: str
    title: str


@dataclass(frozen=True, slots=True)
class Speaking:
    """What the open stage gets from here on is said aloud while it is written, up to the Speak of the same key.

    That has the whole of it, for platforms that make files. `key`, `speaker` and `language` are as there.
    """

    key: str
    speaker: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Speak:
    """Words for the voice channel or for an audio clip, spoken at most once, also after a crash.

    `key` is that of the stage whose words they are. `speaker` is who says it, a role such as "narrator" or a
    character's name; `language` is as in `Request.locale`, "" for the request's own.
    """

    text: str
    key: str
    speaker: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A lasting sentence beside the answer: a label, a limit, a degraded path. `retry`: the answer is not whole, and a
    button offers to ask again.
    """

    text: str
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The run could not finish; `text` says what happened and what to do next."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer is whole, and the run continues in the background: nobody waits for it, and `stop` no longer stops it.

    Of what it yields from now on only Changed and Speak are shown.
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
"""What a view shows of its run."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Gives a stage of an earlier run of this space, by its key, this title and these contents.

    Without contents it is withdrawn: a sentence replaces it. A stage that was never shown is not shown now; one that
    can no longer be edited is posted again, but not with `in_place`. `answer`: see Stage.
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
    """Take back what was read aloud of a stage of an earlier run of this space, by the stage's key."""

    run: str
    stage: str


@dataclass(frozen=True, slots=True)
class Unquoted:
    """Take back the messages that quote the request of an earlier run of this space; its stages stay."""

    run: str


Event: TypeAlias = Shown | Speaking | Speak | Hush | Unquoted | Changed | Answered


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, with cache reads and writes counted separately; `estimated`: counted by us.

    `cost_usd` is the price in dollars that the service reports, None where it reports none. Of the cache writes,
    `cache_hour_tokens` are kept for an hour, which costs more.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = None
    cache_hour_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Both calls together, with the price of those that have one."""
        usd = [usage.cost_usd for usage in (self, other) if usage.cost_usd is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.estimated or other.estimated,
            sum(usd) if usd else None,
            self.cache_hour_tokens + other.cache_hour_tokens,
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model asks for. `arguments` is the JSON object it wrote, not yet checked by anyone."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole model answer. `finish` is one of `bot.llm.base.FINISHES`.

    `calls` are the tools asked for ("tool"). `raw` is the turn as the service's own blocks (JSON), to be
    handed back to the same model in a tool loop. `passed_over` are the models of the role's chain that
    failed before this one, each as (model, fault). `reasoning` is what the service shows of the thinking,
    if anything: not part of the answer. `unseen`: the prompt's images were left out, which the model does not take.
    """

    text: str
    finish: str
    model: str
    usage: Usage = Usage()
    calls: tuple[ToolCall, ...] = ()
    raw: str = ""
    passed_over: tuple[tuple[str, str], ...] = ()
    reasoning: str = ""
    unseen: bool = False


class Run(Protocol):
    """One request being worked on, durably: a finished step is not repeated after a crash."""

    @property
    def id(self) -> str: ...

    @property
    def request(self) -> Request: ...

    @property
    def alone(self) -> bool:
        """Whether only the asker reads its answer."""
        ...

    @property
    def hides(self) -> bool:
        """Whether its answer can hide text until a reader opens it."""
        ...

    async def step(self, name: str, call: Callable[[], Awaitable[T]], of: type[T]) -> T:
        """Run `call` once and store its value; a replay returns the stored value.

        `name` is unique within the run. `of` is the value's type, which is how it comes back
        from storage (anything pydantic can round-trip through JSON: dataclasses, lists, dicts).
        """
        ...

    def stream(
        self, name: str, call: Callable[[], AsyncGenerator[str | Completion, None]]
    ) -> AsyncGenerator[str | Completion, None]:
        """Pass on pieces of text while `call` yields them, then the Completion that ends it.

        A replay yields the stored text in one piece, then the same Completion.
        """
        ...

    async def begin(
        self,
        key: str,
        verb: str,
        *,
        text: str = "",
        options: Mapping[str, OptionValue] | None = None,
        line: str = "",
        thread_title: str = "",
        for_all: bool = False,
        there: Place | None = None,
    ) -> str:
        """Begin a child run of an `inner` verb of this work; its id, made from this run's and `key`.

        It is as durable as this run, and begun once also when this one is replayed. It shows nothing before it opens a
        stage, and nobody waits for it. Children of one `line` go one after another; one without a line waits for no
        other run, unless its verb is ordered.
        With a `thread_title` it begins a new conversation, in the place that `new_thread` gives. `for_all`: it is
        nobody's, and everybody sees it, also where only one person sees this run: `there`, or in this run's place.
        """
        ...

    def new_thread(self, key: str, title: str) -> Place:
        """The place of the new conversation, in this run's channel, that `begin` begins by this key and title.

        Raises UserError where there can be none.
        """
        ...


class Work(Protocol):
    """What to do; knows no platform."""

    def run(self, run: Run) -> AsyncGenerator[Event, None]: ...


class View(Protocol):
    """How it looks; knows no work. One view per run."""

    async def show(self, event: Shown) -> None:
        """Take the event; it may be shown after this returns."""
        ...

    async def change(self, changed: Changed) -> None:
        """Show new contents of a stage of this view's run, which has ended; idempotent. Returns as `flush` does."""
        ...

    async def flush(self, status: Ended) -> None:
        """Show everything that was taken: the run's end, as `status`, is about to be stored.

        Returns once all of it is on the screen, or was given up for good, however long that takes. Cancelled, it shows
        nothing more.
        """
        ...

    async def close(self, status: Ended) -> None:
        """The run's end, as `status`, is stored."""
        ...


@runtime_checkable
class Waiting(Protocol):
    """A view that can show that its run waits, before another view, perhaps in another process, shows the run."""

    async def show_waiting(self, status: Status, seconds: float) -> None:
        """Return once that is on the screen; if it is not within so many seconds, it never is."""
        ...

    async def unless_shown(self, seconds: float) -> None:
        """Take it back if another view, which has begun meanwhile, shows the run in other messages."""
        ...


class UserError(Exception):
    """A fault that a person can understand and mend, by its key in the catalogue of words.

    Raised anywhere below `App.perform`, which shows `words(key, **values)` as a `Failed`.
    """

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(f"{key} {values}" if values else key)
        self.key = key
        self.values = values


class PressedLate(UserError):
    """A button was pressed whose time is over. A run of `verb`, which only the person who pressed sees, tells them so
    and offers ways to go on.
    """

    def __init__(self, key: str, verb: str, options: Mapping[str, OptionValue]) -> None:
        super().__init__(key)
        self.verb = verb
        self.options = options
