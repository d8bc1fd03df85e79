"""The shape of a row of the table of verbs: a verb, its argument, its options, and options that several works share.

Knows none of the rows (`bot.commands`) and no platform.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from bot.words import meant, name_in

MOST_NUMBER: Final = 50
"""The largest number for an option without a limit of its own: more passages than an answer uses."""
NAME_CHARS: Final = 300
"""The most characters of a name that is completed: the longest title of a course."""
LINE_CHARS: Final = 6_000
"""The most characters of a text without a limit of its own: the most that Discord accepts."""


def _most_chars(completes: str) -> int:
    return NAME_CHARS if completes else LINE_CHARS


@dataclass(frozen=True, slots=True)
class Option:
    """One `--name` of a verb."""

    name: str
    summary: str
    kind: Literal["text", "number", "flag", "link", "person", "group"] = "text"
    """A "link" is an address on the web. A "person" or a "group" is chosen from the platform's list if it has one,
    otherwise typed (`bot.mention`).
    """
    required: bool = False
    choices: tuple[str, ...] = ()
    completes: str = ""
    """The kind of name that is offered for the value: a "path" of the file system, a "command" of this table, or a name
    that a kind of work knows (`Kind.completes`).
    """
    most: int | None = None
    """The largest number, or the most characters of a text, if it has a limit of its own: see `limit`."""
    long: bool = False
    """Whether a form shows a field of many lines."""
    asks: bool = False
    """Whether the verb asks a model if it has this option."""

    @property
    def limit(self) -> int:
        """The largest number, or the most characters of a text."""
        return self.most or (MOST_NUMBER if self.kind == "number" else _most_chars(self.completes))


@dataclass(frozen=True, slots=True)
class Argument:
    """What follows the verb: one text up to the end of the line, or a list of words (`many`).

    The text becomes Request.text; a list becomes the option `name`. `choices`, `completes` and `most` are as an
    option's.
    """

    name: str
    summary: str
    kind: Literal["text", "person", "channel"] = "text"
    """A "person" or a "channel" is chosen from the platform's list if it has one."""
    required: bool = True
    many: bool = False
    choices: tuple[str, ...] = ()
    completes: str = ""
    most: int | None = None
    terse: bool = False
    """Whether no word of the text begins with two hyphens: see `rejects_dashes`."""
    kept: bool = False
    """Whether the text is stored word for word: "add" or "remove 3", which name no text, are refused."""

    @property
    def limit(self) -> int:
        """The most characters."""
        return self.most or _most_chars(self.completes)

    @property
    def rejects_dashes(self) -> bool:
        """Whether a word with two hyphens before it is an unknown option, not part of the text: the text is `terse`, or
        only a name that is completed.
        """
        is_name = self.completes not in ("", "command") and self.most is None and " " not in self.name
        return self.terse or is_name


@dataclass(frozen=True, slots=True)
class Verb:
    """One row of the table of verbs."""

    work: str
    name: str
    sample: str = ""
    """What follows the verb in its English example; its translation has the key `samples.…` in the catalogue."""
    argument: Argument | None = None
    options: tuple[Option, ...] = ()
    ordered: bool = False
    """Whether its runs in one place run one after another."""
    plain: bool = False
    """Whether it receives the plain text of a session of its work, and opens the session."""
    holds: bool = False
    """As `plain`; it also closes another work's session in the place."""
    background: bool = False
    """Whether it is a job, during which the prompt stays usable."""
    admin: bool = False
    """Whether it changes what the whole space shares, and is for its admins."""
    personal: bool = False
    """Whether it is about a person's own data: in public only that person sees the answer."""
    urgent: bool = False
    """Personal, but answered in public if the platform cannot answer a person privately."""
    at_once: bool = False
    """Whether the adapter itself answers it, without a run."""
    bare: bool = False
    """Whether it is about the conversation itself, and typed without its work's name."""
    stops: bool = False
    """Whether it stops the runs of the place."""
    asks: bool = False
    """Whether it asks a model, so that a person may send only a limited number in a period."""
    turn: bool = False
    """Whether it asks a model as a turn of a story: only the number of waiting turns is limited."""
    brief: bool = False
    """Whether it is answered in a few lines, without a message that repeats the command."""
    sets: bool = False
    """Whether it shows what the whole space shares and, with a text, changes it, which only admins may do. With `for`
    ME anybody changes their own.
    """
    planned: bool = False
    """Whether it has many stages, which a platform may show as a plan."""
    rewords: bool = False
    """Whether its argument is a name and a text; given only the name, a form offers the present text for editing."""
    speaks: bool = False
    """Whether it reads aloud on request, even where nothing else is narrated."""
    hears: bool = False
    """Whether it receives a recording of what somebody said."""
    inner: bool = False
    """Whether another run of its work begins it (`Run.begin`); it is not listed."""
    tells_admins: bool = False
    """Inner; whether it shows admins a note."""
    outside: Literal["", "where they may ask", "always"] = ""
    """Whether it is for people from outside (`bot.outsiders`), too, though it asks no model."""
    secret: bool = False
    """Whether its text is for one person only, and is refused if it was typed in public; the request then has the
    option TYPED and no text.
    """
    guarded: bool = False
    """Whether its private answer may contain what others there must not read, so that no button shares it."""
    asks_by: tuple[str, ...] = ()
    """The first words of its text with which it asks a model, too."""
    form: tuple[str, ...] = ()
    """The options that a window asks for together with the text, as many as fit; platforms without windows ask only for
    the text.

    If the verb is sent without its text and no window can open, the answer is a button.
    """
    menu: str = ""
    """The key of its name in the menu of a message, "" if it is not in the menu; its request then `answers` the
    message's run.
    """
    group: str = ""
    """The command that it is part of on Discord, where its work's command is full: a command takes 25 verbs and 8,000
    characters.
    """

    @property
    def path(self) -> str:
        """The words to type after the slash: "rules ask", "help"."""
        return self.name if self.bare else f"{self.work} {self.name}"

    @property
    def example(self) -> str:
        """A line that calls it: "/rules roll 2d20kh1+5"."""
        return f"/{self.path} {self.sample}".rstrip()

    def example_in(self, say: Callable[[str], str]) -> str:
        """The example in the language of the catalogue `say`, but for the command."""
        return f"/{self.path} {self.sample_in(say)}".rstrip()

    def sample_in(self, say: Callable[[str], str]) -> str:
        """The sample in the language of the catalogue `say`."""
        key = f"samples.{self.path.replace(' ', '_')}"
        translated = say(key)
        return self.sample if translated == key else translated

    @property
    def summary(self) -> str:
        """The key of its summary in the catalogue: "verbs.rules_ask", "verbs.help". An inner verb needs none."""
        return f"verbs.{self.path.replace(' ', '_')}"

    def lacks(self, text: str) -> bool:
        """Whether its form must be filled in first, because its required text is missing."""
        return self.form != () and self.argument is not None and self.argument.required and not text.strip()

    def missing(self, options: Mapping[str, object]) -> list[Option]:
        """The required options that are not among these."""
        return [option for option in self.options if option.required and option.name not in options]

    def asks_models(self, text: str, options: Mapping[str, object]) -> bool:
        """Whether it asks a model, or reads a book or a recording, with this text and these options."""
        if self.asks or self.background or self.hears:
            return True
        by_option = any(option.asks and options.get(option.name) for option in self.options)
        return by_option or meant(text.strip().partition(" ")[0], *self.asks_by) != ""

    def for_admins(self, text: str, options: Mapping[str, object]) -> bool:
        """Whether only admins may do it with this text and these options."""
        return self.admin or (self.sets and text.strip() != "" and options.get(FOR.name) != ME)

    def option(self, name: str) -> Option | None:
        """The option of this name, None if the verb has none."""
        return next((option for option in self.options if option.name == name), None)


PRIVATE: Final = Option("private", "verbs.option_private", "flag")
"""Only the person who asks sees the answer."""
SHARE: Final = Option("share", "verbs.option_share", "flag")
"""Everybody sees the answer to a personal verb."""
LAST: Final = Option("last", "verbs.option_last", "number", most=50)
"""How many of the newest messages of the place are read together with a question."""
SHELF: Final = Option("shelf", "verbs.option_shelf", completes="shelf")
DEFAULT_SHELF: Final = "rules"
"""The shelf for books and questions if none is named."""
TYPED: Final = "typed"
"""The option that marks the request of a secret verb whose text was typed in public."""
ME: Final = "me"
FOR: Final = Option("for", "verbs.option_for", choices=(ME, "channel", "category", "everyone"))
"""The scope of a setting: the person who sets it, the channel, its category, or everyone."""


def shown_name(parameter: Argument | Option, say: Callable[[str], str]) -> str:
    """The name of an argument or an option in the language of the catalogue `say`."""
    return " ".join(name_in(say, word, "option") for word in parameter.name.split())


def shown_choices(parameter: Argument | Option, say: Callable[[str], str]) -> list[str]:
    """The names of the choices in the language of the catalogue `say`."""
    return [name_in(say, choice, parameter.name) for choice in parameter.choices]


def shown_path(verb: Verb, say: Callable[[str], str]) -> str:
    """The words to type after the slash in the language of the catalogue `say`: "regras perguntar", "ajuda"."""
    if verb.bare:
        return say(f"names.{verb.name}")
    return f"{say(f'names.group_{verb.work}')} {say(f'names.{verb.work}_{verb.name}')}"


def usage(verb: Verb, say: Callable[[str], str]) -> str:
    """One line such as `/library add PATHS… --shelf SHELF [--replace]`, in the language of the catalogue `say`."""
    parts = [f"/{verb.path}"]
    if verb.argument:
        name = shown_name(verb.argument, say).upper() + ("…" if verb.argument.many else "")
        parts.append(name if verb.argument.required else f"[{name}]")
    for option in verb.options:
        name = shown_name(option, say)
        value = "" if option.kind == "flag" else " " + ("N" if option.kind == "number" else name.upper())
        shown = f"--{name}{value}"
        parts.append(shown if option.required else f"[{shown}]")
    return " ".join(parts)
