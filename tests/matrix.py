"""The matrix of rules, verbs and ways in: what each verb needs, how it can be reached, and what the door
answers.

`NEEDS` is written by hand: a new verb fails until somebody has decided what may forbid it.

    work        a channel's setting `works`, and a rule for its kind of work
    models      a rule for models, and budgets
    books       a rule for books
    strangers   members of another workspace may do it, too; "always": even where nothing is for them
    admin       admins alone may do it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from bot.access import RULED, setting_of, value_of
from bot.admin_budgets import setting_of as budget_of
from bot.app import App
from bot.channel_rules import GOVERNED
from bot.commands import ROWS
from bot.events import Ended, Place, Request, UserError
from bot.runs.dispatcher import Ticket
from bot.settings import DEFAULT_WORK, EVERYTHING, LISTENS, WORKS
from bot.verb import Option, Verb
from bot.works.schedule.calendar import SCHEDULED
from storage.settings import Scope

_TABLE: Final = """
rules: ask work models strangers | lookup work strangers | roll work strangers | books work | house work
rules: adopt work admin | see work strangers
council: ask work models strangers | members work | chair work | criteria work | show work | export work | stats work
story: start work models strangers | act work models strangers | say work models strangers
story: continue work models strangers | retry work models strangers | flip work | suggest work models strangers
story: end work models strangers | more work models strangers | undo work | redo work | edit work | fork work
story: opened work strangers | posted work strangers | late work strangers | edited work strangers
story: reword work strangers | branches work | switch work | cast work | ask work models strangers | ooc work
story: direct work | remember work | lore work | relation work | ideas work models strangers | prose work
story: prompt work admin | mode work | pass work | show work | open work | recall work
story: recap work models strangers | context work | hide work | unhide work | stopcard always | safety work
story: zero work | join work | leave work | play work | as work | proxy work | proxied work strangers
story: gm work | deadline work | missed work models strangers
story: screen work | plan work | roll work | reveal work | try work models strangers | revealed work strangers
story: tried work strangers
story: whisper work | whispered work strangers | overdue work strangers | forget work strangers | nudge work strangers
story: extracted work strangers | correct work strangers | settle work strangers | keep work | bring work
story: state work | characters work
story: plot work | chapter work | import work books models | history work books models | export work | share work
story: sheet work | apply work strangers | threads work | enlist work strangers
story: interview work models strangers | arc work | initiative work
course: add work books models admin | replace work books models admin | remove work admin
course: ask work models strangers | list work | outline work | quiz work models strangers | answer work strangers
course: score work strangers | lesson work strangers | finish work strangers
schedule: reminder | recap | nudge | lesson | list | remove | follow | unfollow | remind | offer
script: add work books models | replace work books models | remove work | share work | ask work models strangers
script: brainstorm work models strangers | ideas work | drop work | drafts work | compare work | list work
script: scenes work | scene work | report work | analysis work | analysed work strangers | export work
voice: join work | leave work | say work models strangers | stop work | skip work | pause work | resume work
voice: narrate work | voice work | speed work | hear work models strangers | doctor work | play work strangers
voice: taken work strangers
library: add books models admin | list | show | remove admin | reindex books models admin | jobs | cancel
prompts: list | show | edit admin | reset admin
sessions: list | resume | rename | archive | delete
settings: show | set | reset | channels | access | allow admin | deny admin | budget | history admin | export admin
settings: import admin | used
privacy: export always | delete always | policy always
house: help | stop always | new | tour | usage | models admin
"""


def _read() -> Iterator[tuple[tuple[str, str], frozenset[str]]]:
    for line in _TABLE.strip().splitlines():
        work, _, verbs = line.partition(": ")
        for verb in verbs.split(" | "):
            name, *needed = verb.split()
            yield (work, name), frozenset(needed)


NEEDS: Final = dict(_read())
"""What each verb needs, by its work and its name, the inner ones too."""


def needs(row: Verb) -> frozenset[str]:
    assert (row.work, row.name) in NEEDS, f"say in _TABLE of tests/matrix.py what may forbid `{row.path}`"
    return NEEDS[row.work, row.name]


WAYS: Final = (
    "typed",
    "mention",
    "reply",
    "overheard",
    "button",
    "menu",
    "window",
    "schedule",
    "voice message",
)
ENTRANCES: Final = {
    "bot/adapters/discord/received/intake.py": (
        "typed",
        "mention",
        "reply",
        "overheard",
        "button",
        "menu",
        "window",
    ),
    "bot/adapters/slack/received/intake.py": (
        "typed",
        "mention",
        "reply",
        "overheard",
        "button",
        "menu",
        "window",
    ),
    "bot/works/schedule/calendar.py": ("schedule",),
    # A terminal has one person, who is its admin.
    "bot/adapters/terminal/feed.py": (),
    "bot/adapters/terminal/prompt.py": (),
    "bot/adapters/terminal/one_shot.py": (),
}
"""The files that call `App.perform`, and the ways in that they are. Spoken words come in as the press of a button."""
SCHEDULES: Final = {(kind.work, kind.verb): name for name, kind in SCHEDULED.items()}


def ways(row: Verb) -> set[str]:
    """The ways in that exist for a verb on Discord and Slack."""
    if row.at_once:
        return set()  # answered at once, without a run
    found = {"button"}
    if not row.inner:
        found |= {"typed", "mention", "reply"}
        if row.argument is not None and not row.argument.many:
            found.add("window")
    if row.menu:
        found.add("menu")
    if (row.work, row.name) in SCHEDULES:
        found.add("schedule")
    if row.plain or row.hears:
        found.add("voice message")
    if row.plain and not row.inner:
        found.add("overheard")
    return found


QUESTION: Final = "Does anyone know how far it reaches?"
"""A message that asks the bot although it does not address it."""


TEXT: Final = "x"
FILE: Final = ("a.md", b"# A\n")


def value(option: Option) -> str | int:
    """A value for a required option."""
    return 1 if option.kind == "number" else option.choices[0] if option.choices else TEXT


def line(row: Verb) -> str:
    """A typed line: the verb, its text, and the required options."""
    text = ""
    if row.argument is not None:
        text = FILE[0] if row.argument.many else row.argument.choices[0] if row.argument.choices else TEXT
        text = " ".join([text] * len(row.argument.name.split())) if row.rewords else text
    given = [f"--{option.name} {value(option)}" for option in row.options if option.required]
    return " ".join([f"/{row.path}", text, *given]).strip()


@dataclass(frozen=True, slots=True)
class Rule:
    """`sets` are the settings to write: their scope, name and value. `key` is that of the refusal, `of` what it is
    about among the needs; `spent`: a budget, all of which is used."""

    name: str
    sets: tuple[tuple[Scope, str, str], ...]
    key: str
    of: frozenset[str]
    spent: bool = False

    def refuses(self, row: Verb) -> str:
        """The key of the sentence with which a member is refused, "" if admitted."""
        needed = needs(row)
        if "admin" in needed:
            return "app.admins"
        return self.key if needed & self.of else ""


def rules(person: str, group: str, channel: str) -> list[Rule]:
    """Every rule that can refuse this person, who is in the group, something in the channel."""
    anything = frozenset({"work", "models", "books"})
    none_of_them = " ".join(f"-{work}" for work in GOVERNED)
    found = [
        Rule("nothing", (), "", frozenset()),
        Rule(
            "works of the channel",
            (("channel", WORKS, none_of_them),),
            "channels.work_channel",
            frozenset({"work"}),
        ),
        Rule(
            "works of the space",
            (("space", WORKS, none_of_them),),
            "channels.work_space",
            frozenset({"work"}),
        ),
    ]
    for whose, of in (("person", person), ("group", group), ("everyone", "")):
        deny = value_of(False, "Them")
        for name, whats in (("everything", RULED), ("models", ["models"]), ("books", ["books"])):
            sets = tuple(("space", setting_of(what, whose, of), deny) for what in whats)  # type: ignore[arg-type]
            about = anything if name == "everything" else frozenset({name})
            found.append(Rule(f"{name} for {whose}", sets, f"access.by_{whose}", about))  # type: ignore[arg-type]
    for holder, of, key in (
        ("person", person, "person"),
        ("each", "", "person"),
        ("group", group, "person"),
        ("channel", channel, "channel"),
        ("space", "", "space"),
    ):
        sets = (("space", budget_of(holder, of, "day", "tokens"), "100 Them"),)  # type: ignore[arg-type]
        found.append(Rule(f"budget of {holder}", sets, f"budget.over_{key}_day", frozenset({"models"}), True))  # type: ignore[arg-type]
    return found


async def put(app: App, place: Place, person: str, rule: Rule) -> None:
    """Write the rule; a budget is used up."""
    for scope, name, text in rule.sets:
        await app.settings.set(place, "admin", name, text, scope)
    if rule.spent:
        ledger = app.resources.ledger
        row = await ledger.reserve(
            place.space, "run", "step", person, "p:m", 100, None, channel=place.channel
        )
        await ledger.settle(place.space, row, input_tokens=100, output_tokens=0, cost_usd=None)


async def listen(app: App, place: Place, row: Verb) -> None:
    """Let the channel read every message for the verb's work."""
    await app.settings.set(place, "admin", LISTENS, EVERYTHING, "channel")
    await app.settings.set(place, "admin", DEFAULT_WORK, row.work, "channel")


async def lift(app: App, place: Place, rule: Rule) -> None:
    """Remove the rule."""
    for scope, name, _ in rule.sets:
        await app.settings.reset(place, "admin", name, scope)


FOR_STRANGERS: Final = ("questions", "nothing", "everything")


def refuses_strangers(row: Verb, allowed: str) -> str:
    """The key with which the door refuses a member of another workspace, by the channel's setting."""
    needed = needs(row)
    if "admin" in needed:
        return "app.admins"
    if allowed == "everything" or "always" in needed:
        return ""
    if allowed == "nothing":
        return "outsiders.nothing"
    return "" if "strangers" in needed else "outsiders.members"


class Door:
    """Watches an application's door: the requests, and the key of each refusal. Admitted requests do not run."""

    def __init__(self, app: Any) -> None:
        self.seen: list[tuple[Request, str]] = []
        self.touch: Any = lambda: None
        self.app = app
        self._perform, self._received = app.perform, app.dispatcher._receive
        self.app.perform, self.app.dispatcher._receive = self.perform, self.let_in

    def close(self) -> None:
        self.app.perform, self.app.dispatcher._receive = self._perform, self._received

    async def perform(self, request: Request, acknowledge: Any = None) -> Ticket:
        before = len(self.seen)
        try:
            ticket: Ticket = await self._perform(request, acknowledge)
        except UserError as error:
            if len(self.seen) == before:
                self.seen.append((request, error.key))
                self.touch()
            raise
        return ticket

    async def let_in(self, request: Request, acknowledge: Any, *_: object) -> Ticket:
        if acknowledge is not None:
            await acknowledge()
        self.seen.append((request, ""))
        self.touch()

        async def ended(run: str) -> Ended:
            return "done"

        return Ticket(request.id, True, ended)


def rows_of(way: str) -> list[Verb]:
    return [row for row in ROWS.values() if way in ways(row)]
