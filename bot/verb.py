"""What a row of the table of verbs can say: a verb, its argument, its options, and the options of several works.

Knows none of the rows (`bot.commands`) and no platform.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Option:
    """One `--name`, or a positional argument, of a verb.

    `most` is the largest number that a form takes; by default more passages than any answer stands on. `completes`
    says what names are offered for the value: a kind of work knows them (`Kind.completes`), the file system a "path",
    and the table itself a "command". A "link" is the address of something on the web. `long`: of many lines, in a form.
    """

    name: str
    summary: str
    kind: Literal["text", "number", "flag", "link"] = "text"
    required: bool = False
    choices: tuple[str, ...] = ()
    completes: str = ""
    most: int = 50
    long: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """What follows the verb: one text up to the end of the line, or a list of words (`many`).

    The text becomes Request.text; a list becomes the option `name`. `most` is how many characters a form takes, where
    that is less than forms take anyway.
    """

    name: str
    summary: str
    required: bool = True
    many: bool = False
    completes: str = ""
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Verb:
    """One row of the table. `plain` verbs take the plain text of a session of their work, and open it; so does one that
    `holds` the place, and takes it over from another work.

    `ordered` runs of a place go one after another; `background` ones leave the prompt usable; `admin`
    ones change what the whole space shares, and are for its admins. `personal` ones tell a person of their own
    doings, so that where others read along the answer is shown to nobody else. `at_once` ones are answered by the
    edge itself, without a run. `bare` ones steer the conversation itself, and are typed without their work's name;
    one of them `stops` what runs. `sets` ones change what the whole space shares where a text comes with them, which
    admins may, and else show it; `for` ME anybody sets what is their own. `planned` ones have many stages, which a
    platform may show as a plan. Of a verb that `rewords`, the argument is a name and a text: today's text is offered to
    be changed where only the name is given.
    A verb with a `form` is asked for in a window where a platform has windows: its text and these options, as many as
    fit; elsewhere by its text alone. Sent without its text from where no window can open, it is answered by a button.
    What has a `menu` (a key of the catalogue) is also in the menu of a message, under that name: its request then
    `answers` the run whose message that is.
    `group` is the command that it is part of on Discord, if its work's is full: one takes 25 verbs and 8,000
    characters.
    `inner` ones are begun by another run of their work (`Run.begin`), and are in nobody's list.
    """

    work: str
    name: str
    summary: str
    example: str
    ordered: bool = False
    plain: bool = False
    holds: bool = False
    background: bool = False
    admin: bool = False
    personal: bool = False
    at_once: bool = False
    bare: bool = False
    stops: bool = False
    sets: bool = False
    planned: bool = False
    rewords: bool = False
    inner: bool = False
    argument: Argument | None = None
    options: tuple[Option, ...] = ()
    form: tuple[str, ...] = ()
    menu: str = ""
    group: str = ""

    @property
    def path(self) -> str:
        """What is typed after the slash: "rules ask", "help"."""
        return self.name if self.bare else f"{self.work} {self.name}"

    def lacks(self, text: str) -> bool:
        """Whether its form has to be filled in first: there is no text, and it needs one."""
        return self.form != () and self.argument is not None and self.argument.required and not text.strip()

    def option(self, name: str) -> Option | None:
        return next((option for option in self.options if option.name == name), None)


PRIVATE: Final = Option("private", "verbs.option_private", "flag")
"""The answer is shown to whoever asks, and to nobody else."""
SHARE: Final = Option("share", "verbs.option_share", "flag")
"""What is personal is shown to everybody all the same."""
SHELF: Final = Option("shelf", "verbs.option_shelf", completes="shelf")
ME: Final = "me"
FOR: Final = Option("for", "verbs.option_for", choices=(ME, "channel", "everyone"))
"""Whom a setting is for: whoever sets it, or others, too."""


def usage(verb: Verb) -> str:
    """One line such as `/library add PATHS… --shelf SHELF [--replace]`."""
    parts = [f"/{verb.path}"]
    if verb.argument:
        name = verb.argument.name.upper() + ("…" if verb.argument.many else "")
        parts.append(name if verb.argument.required else f"[{name}]")
    for option in verb.options:
        value = (
            "" if option.kind == "flag" else " " + ("N" if option.kind == "number" else option.name.upper())
        )
        shown = f"--{option.name}{value}"
        parts.append(shown if option.required else f"[{shown}]")
    return " ".join(parts)
