"""What flows between a platform and a work: requests in, events out.

A leaf: imports nothing of the house. It deliberately knows no platform, no model and no storage.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeVar

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
    """Who asked. `admin` says whether the platform lets them change what the whole space shares."""

    id: str
    name: str
    admin: bool = False


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
class Request:
    """One thing that somebody asked for. `id` is derived from the platform's own event id.

    `origin` is the adapter's own note of where the answer goes; nobody else looks into it, and it is
    never logged. `line` is the line of its own, within its space, in which it waits; "" for the usual one of its place.
    `parent` is the run that has begun it (`Run.begin`); "" where a person, a schedule or a folder has.
    `answers` is the run whose choice was pressed, or on whose message the verb was called, "" where none was: of the
    same space.
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


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who says what a stage holds, where that is not the bot: a name, and the https address of a picture or "".

    `own`: the words are posted under this name where the platform lets them be; else it stands above them in bold.
    """

    name: str
    picture: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """Opens a new threaded message. `key` is unique within the run and the same on replay.

    With the key of the open stage it only gives that one another title. `calls` are the ids of people who have asked to
    be called by name when it is posted: nobody else ever is.
    """

    key: str
    title: str
    speaker: Speaker | None = None
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """Grows the open stage by `text` (Markdown)."""

    text: str


@dataclass(frozen=True, slots=True)
class Status:
    """The passing line under the open stage; `done` of `total` where they are known."""

    text: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """What marker [n] stands for. `quote` is a verbatim substring of the source's text, `link` where it is on the web:
    an http or https address, or "".
    """

    n: int
    source: str
    heading: str
    quote: str
    page: int | None = None
    link: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One button: its label, and the line that pressing it is the same as typing; "" for doing nothing.

    `asks` is a question: pressing asks it, and the words that the person answers with are put behind the command as its
    text. Nothing in them is read as an option or as a command. The command's verb has to take a text. With `form` all
    that the verb's form has is asked for at once, where a window can open.
    """

    label: str
    command: str
    asks: str = ""
    form: bool = False


@dataclass(frozen=True, slots=True)
class Choices:
    """The run ends by offering these; a press is a new request.

    With `votes` it is the presser's vote, the last one of each person counts, and the buttons say how many there are.
    It is a request only where the choice has a command, too. In a terminal there is nobody to vote with.
    Once one is `taken`, by its index, they stand there as they were, and can be pressed no more.
    """

    prompt: str
    choices: tuple[Choice, ...]
    votes: bool = False
    taken: int | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG to look at, with the words for who cannot."""

    name: str
    png: bytes
    alt: str

    @property
    def data(self) -> bytes:
        """As an attachment has it."""
        return self.png


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file to keep."""

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
class Speak:
    """Words for the voice channel, or for an audio clip: spoken once, whatever a crash repeats.

    `key` is unique within the run and the same on replay. `speaker` is who says it, a role such as "narrator" or a
    character's name; `language` is as in `Request.locale`, "" for the request's own.
    """

    text: str
    key: str
    speaker: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence beside the answer that stays: a label, a limit, a degraded path."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The run could not finish; `text` says what happened and what to do next."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer is whole, and the run goes on quietly: nobody waits for it or can stop it with `stop` any more.

    What it yields from now on is not shown, but for Changed and Speak.
    """


Shown: TypeAlias = (
    Stage | Text | Status | Citation | Choices | Picture | Attachment | Elsewhere | Link | Notice | Failed
)
"""What a view shows of its run."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A stage of an earlier run of this space has this title and these contents from now on.

    With none it is withdrawn: a sentence stands in its place. `stage` is the key that it was shown by. What was never
    shown stays so; what can no longer be edited is shown anew, unless it is to be changed `in_place` or not at all.
    """

    run: str
    stage: str
    title: str
    contents: tuple[Text | Citation | Choices | Picture | Attachment | Link | Notice, ...] = ()
    in_place: bool = False
    speaker: Speaker | None = None


Event: TypeAlias = Shown | Speak | Changed | Answered


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, cache reads and writes told apart; `estimated` where we counted ourselves.

    `cost_usd` are the dollars that the service itself says it took, None where it does not say.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = None


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
    """One request being worked on, durably: what was finished is not done again after a crash."""

    @property
    def id(self) -> str: ...

    @property
    def request(self) -> Request: ...

    async def step(self, name: str, call: Callable[[], Awaitable[T]], of: type[T]) -> T:
        """Run `call` once and keep its value; a replay returns what was kept.

        `name` is unique within the run. `of` is the value's type, which is how it comes back
        from storage (anything pydantic can round-trip through JSON: dataclasses, lists, dicts).
        """
        ...

    def stream(
        self, name: str, call: Callable[[], AsyncGenerator[str | Completion, None]]
    ) -> AsyncGenerator[str | Completion, None]:
        """Pass on pieces of text while `call` yields them, then the Completion that ends it.

        A replay yields the kept text in one piece, then the same Completion.
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
        apart: str = "",
    ) -> str:
        """Have an `inner` verb of this work done by a run of its own: its id, made from this run's and `key`.

        It is as durable as this one, and begun once however often this one is replayed. It shows nothing unless it
        opens a stage, and nobody waits for it. Those of one `line` go one after another; without one it waits
        for nobody, unless its verb is ordered.
        With `apart` it begins a conversation of that title, where `apart` says.
        """
        ...

    def apart(self, key: str, title: str) -> Place:
        """The conversation of its own, in this run's channel, that `begin` would begin by this key and title.

        Raises Sorry where there can be none.
        """
        ...


class Work(Protocol):
    """What to do; knows no platform."""

    def run(self, run: Run) -> AsyncGenerator[Event, None]: ...


class View(Protocol):
    """How it looks; knows no work. One view per run."""

    async def show(self, event: Shown) -> None:
        """Take the event in; it need not be on the screen when this returns."""
        ...

    async def change(self, changed: Changed) -> None:
        """Show another content of a stage of this view's run, which is over; again the same for the same."""
        ...

    async def flush(self, status: Ended) -> None:
        """Bring everything to the screen: the run is about to be written down as ended, as `status`.

        A crash before that is written shows the run again; one after it does not.
        """
        ...

    async def close(self, status: Ended) -> None:
        """The run has ended as `status`, and that is written down."""
        ...


class Sorry(Exception):
    """Something a person can understand and mend, named by a key of the catalogue of words.

    Raised anywhere below `App.perform`, which shows `words(key, **values)` as a `Failed`.
    """

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(f"{key} {values}" if values else key)
        self.key = key
        self.values = values
