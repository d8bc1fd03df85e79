"""What a person calls a verb with on a platform with messages: typed, pressed, spoken or filled into a window."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from bot import commands
from bot.adapters.markdown import clean
from bot.command_line import Parsed, lacking_text, parse, value_of
from bot.commands import HEAR, NAME_FILES, ROWS, RUN, UNDER
from bot.events import File, OptionValue, PressedLate, Quoted, Request, UserError
from bot.verb import LINE_CHARS, Verb
from bot.words import Words, name_of

if TYPE_CHECKING:
    from bot.adapters.stored_choices import StoredChoice
    from bot.platforms import Transcript

FIELD = "option:"
"""The prefix of a field's id."""
QUESTION_FILES = 10
"""The most files of one question, with those of the messages that come with it; a message on Discord has as many."""
QUOTED_CHARS = 1_500
"""The most characters of a quoted message, in addition to the question about it."""

QUOTABLE: Final = tuple(row for row in ROWS.values() if row.plain and row.asks)
"""The verbs whose text a message that comes with them becomes part of: questions, not turns in a story."""

_TAKES_FILES = "|".join(path.replace(" ", r"\s+") for path in sorted(NAME_FILES))
_READS_FILES = re.compile(rf"/\s*(?:{_TAKES_FILES}|add|(?:rules\s+)?ask)\b", re.IGNORECASE)
_UNSAFE = re.compile(r"[^\w.-]")


@dataclass(frozen=True, slots=True)
class Invocation:
    """A verb with its text, options and files, as a person has called it.

    `plain`: it was typed without a command. `again`: the request that it repeats. `answers`, `window`, `quoted`: see
    Request. `title`: see `bot.events.Choice`.
    """

    row: Verb
    text: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    plain: bool = False
    again: Request | None = None
    answers: str = ""
    title: str = ""
    window: bool = False
    quoted: tuple[Quoted, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """An option's field in a window. `values`: the (value, label) pairs to choose from. `most`: the most characters."""

    name: str
    label: str
    hint: str
    long: bool = False
    required: bool = False
    values: tuple[tuple[str, str], ...] = ()
    most: int = LINE_CHARS

    @property
    def id(self) -> str:
        """The field's id on the platform."""
        return f"{FIELD}{self.name}"


@dataclass(frozen=True, slots=True)
class PendingForm:
    """An invocation that waits for its text from a window; the text is put between `before` and `after`.

    `author` is the person for whom the window is open. `channel` and `thread` are the person's place, on platforms
    whose windows do not carry it. `answers` is the run whose choice opened the window, "" for a command. `quoted` is
    the source of the message that `after` quotes.
    """

    work: str
    verb: str
    author: str = ""
    before: str = ""
    after: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    channel: str = ""
    thread: str = ""
    answers: str = ""
    quoted: tuple[Quoted, ...] = ()

    @property
    def row(self) -> Verb:
        return commands.ROWS[self.work, self.verb]

    def most(self, limit: int) -> int:
        """The most characters of its text in a window that allows `limit`, because the text around it counts too."""
        argument = self.row.argument
        most = argument.most if argument is not None and argument.most and not self.before else limit
        return min(limit, most) - len(self.after)

    def to_json(self) -> str:
        tree = asdict(self)
        if not self.quoted:  # an earlier release that shares the database does not know the field
            del tree["quoted"]
        return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))

    def asked(self, typed: str, filled: Mapping[str, str] | None = None) -> Invocation:
        """The completed invocation. `filled`: the form's options, typed or chosen. Raises UserError ("commands.*")."""
        text, options, row = f"{self.before}{typed}{self.after}".strip(), dict(self.options), self.row
        for name in row.form:
            option, value = row.option(name), (filled or {}).get(name, "").strip()
            if option is not None and value:
                options[name] = value_of(row, option, value)
        return Invocation(
            row, text, options, self.files, answers=self.answers, window=True, quoted=self.quoted
        )

    def form(self, say: Words) -> list[Field]:
        """The window's fields for the options of the verb's form that are not set yet; the text's field is not
        included.
        """
        fields = []
        for option in filter(None, map(self.row.option, self.row.form)):
            if option.name not in self.options:
                values = tuple((value, say(name_of(value, option.name))) for value in option.choices)
                label = say(name_of(option.name, "option"))
                fields.append(
                    Field(
                        option.name,
                        label[:1].upper() + label[1:],
                        say(option.summary),
                        option.long,
                        option.required,
                        values,
                        option.limit,
                    )
                )
        return fields


def pending_form(stored: str) -> PendingForm:
    """Read `PendingForm.to_json`, including an earlier release's. Raises ValueError or TypeError for anything else."""
    tree = json.loads(stored)
    files = tuple(File(**file) for file in tree.get("files", ()))
    return PendingForm(
        **tree | {"files": files, "quoted": tuple(Quoted(**row) for row in tree.get("quoted", ()))}
    )


def parsed_of(line: str, files: Sequence[File]) -> Parsed:
    """Parse the line; attached files replace a missing list of files, a form replaces a missing text.
    Raises UserError.
    """
    try:
        return parse(line)
    except UserError as error:
        if error.key != "commands.missing":
            raise
        if (formed := lacking_text(line)) is not None:
            return formed
        if not files or error.values["verb"] not in NAME_FILES:
            raise
    return parse(" ".join([line, *(_UNSAFE.sub("_", file.name) for file in files)]))


def spoken(file: File, transcript: Transcript | None = None, *, id: str = "") -> Invocation:
    """The invocation of a spoken message with the platform's own transcript.

    `id` is that of a file that the platform is still transcribing.
    """
    if transcript is None:
        return Invocation(HEAR, "", {"listens": id} if id else {}, (file,))
    return Invocation(HEAR, transcript.text, {"part": True} if transcript.part else {}, (file,))


def reads_files(line: str) -> bool:
    """Whether the line reads attached files: plain text, a question, or a command that imports files."""
    return bool(line) and (not line.startswith("/") or _READS_FILES.match(line) is not None)


def choice_invocation(chosen: StoredChoice, run: str, *, private: bool = False) -> Invocation:
    """The invocation of a choice's line, such as "/rules lookup Grappled". Raises UserError.

    `private`: the choice was offered to one person alone.
    """
    parsed = parse(chosen.command)
    if parsed.verb is None:
        raise UserError("edge.gone")
    options = _pressed(chosen, run, parsed, private)
    answers = run if chosen.answers is None else chosen.answers
    return Invocation(parsed.verb, parsed.text, options, answers=answers, title=chosen.title)


def choice_form(chosen: StoredChoice, run: str, *, private: bool = False) -> PendingForm:
    """The pending form of a choice that asks for words, which are added to the line's own text. Raises UserError."""
    parsed = parse(chosen.command, asks=True)
    if parsed.verb is None:
        raise UserError("edge.gone")
    before = f"{parsed.text} " if parsed.text else ""
    options = _pressed(chosen, run, parsed, private)
    answers = run if chosen.answers is None else chosen.answers
    return PendingForm(parsed.verb.work, parsed.verb.name, before=before, options=options, answers=answers)


def late_invocation(pressed: Request, late: PressedLate) -> Invocation:
    """The invocation that answers a late press, with the text that the person had typed."""
    run = pressed.answers or str(pressed.options[UNDER]).removeprefix(RUN)
    return Invocation(commands.ROWS[pressed.work, late.verb], pressed.text, late.options, answers=run)


def _pressed(chosen: StoredChoice, run: str, parsed: Parsed, private: bool) -> dict[str, OptionValue]:
    """The line's options, with the options that tie it to the button's place. An earlier release has stored only the
    run.
    """
    options, verb = dict(parsed.options), parsed.verb
    if private and verb is not None and verb.option("private") is not None:
        options["private"] = True
    if verb is not None and commands.KINDS[verb.work].pressed is not None:
        options |= (
            {UNDER: f"{RUN}{run}"} if chosen.under is None else {UNDER: chosen.under} if chosen.under else {}
        )
    return options


def quotation(text: str) -> str:
    """A message, cut, as a Markdown quotation under the question about it; "" if there is nothing."""
    text = clean(text[: 4 * QUOTED_CHARS].lstrip()).strip()
    if len(text) > QUOTED_CHARS:
        text = text[: QUOTED_CHARS - 1].rstrip() + "…"
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


@dataclass(frozen=True, slots=True)
class Brought:
    """What comes with a message: `text` is a Markdown quotation. `unseen`: the words of a message are hidden."""

    text: str = ""
    files: tuple[File, ...] = ()
    unseen: bool = False
    quoted: tuple[Quoted, ...] = ()

    def __bool__(self) -> bool:
        return self.text != "" or self.files != ()


NOTHING: Final = Brought()


def with_brought(invocation: Invocation, along: Brought) -> Invocation:
    """The question together with what comes with its message."""
    return replace(
        invocation,
        text=with_quotation(invocation.text, along.text),
        files=(*invocation.files, *along.files)[:QUESTION_FILES],
        quoted=(*invocation.quoted, *along.quoted),
    )


def shown_time(at: datetime, now: datetime) -> str:
    """The time in UTC, with the day if it differs from that of `now`."""
    at = at.astimezone(UTC)
    return f"{at:%H:%M}" if at.date() == now.astimezone(UTC).date() else f"{at:%Y-%m-%d %H:%M}"


def with_quotation(text: str, quoted: str) -> str:
    """A question with a quoted message under it, or the quotation alone."""
    return f"{text}\n\n{quoted}".strip() if quoted else text
