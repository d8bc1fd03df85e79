"""What the buttons under an answer do for each person who presses one, however old the answer is.

A press needs only the button's id, the storage and the pressed message. For a press that is too late or not allowed,
only the presser sees a sentence. Independent of platforms: each acknowledges presses and changes messages its own way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from bot.adapters import footer, stored_choices

if TYPE_CHECKING:
    from bot.adapters.intake import Intake, Location
    from bot.adapters.stored_choices import StoredChoice
    from bot.events import Citation

T = TypeVar("T")


class Press(Protocol):
    @property
    def intake(self) -> Intake: ...

    @property
    def location(self) -> Location:
        """The presser and the place. Runs are looked up only in its space, whatever id a button has."""

    def acknowledge(self) -> Awaitable[object]:
        """Acknowledge the press; the answer may come later."""

    async def soon(self, looked_up: Awaitable[T]) -> T:
        """Wait for a look-up; acknowledge the press meanwhile if it takes long."""

    async def tell(self, key: str, **values: object) -> None:
        """Show a sentence of the catalogue to the presser alone."""

    async def hidden(self, run: str) -> bool:
        """Whether the presser may not see the run."""

    async def begin(self, chosen: StoredChoice, run: str) -> None:
        """Begin what the choice's line says, or first ask for its words."""

    def recount(self, run: str) -> None:
        """Schedule an update of the votes on the pressed message."""

    async def stopped(self) -> None:
        """Tell everybody who sees the answer who stopped the run."""

    async def remove_button(self, custom_id: str) -> None:
        """Remove a button from the pressed message, if it can be edited."""


async def stop(press: Press, run: str) -> None:
    """Stop the run. Anyone who sees the answer may do so, as with "stop"."""
    app, space = press.intake.app, press.location.space
    hidden, _ = await asyncio.gather(press.hidden(run), press.acknowledge())
    if hidden:
        await press.tell("buttons.stale")
    elif await app.stop_run(space, run):
        await press.stopped()
    elif await app.goes_on(space, run):
        await press.tell("buttons.stopping")
    else:
        await press.tell("buttons.ended")
        await press.remove_button(f"stop:{run}")


async def choose(press: Press, run: str, n: str, *, kind: str = stored_choices.KIND) -> None:
    """Act as if the presser had typed the choice's line, if it has one.

    A vote is stored; the run of its line answers it, or else a sentence.
    """
    records, space = press.intake.app.records, press.location.space
    stored = await records.offers.get(space, run, kind, int(n))
    if stored is None or await press.hidden(run):
        await press.tell("buttons.stale")
        return
    chosen = stored_choices.from_json(stored)
    if chosen.only not in ("", str(press.location.user)):
        await press.tell("buttons.not_yours")
        return
    if chosen.over:
        await press.tell("buttons.taken")
        return
    if chosen.votes:
        if not chosen.command:
            await press.acknowledge()
        await records.votes.give(space, run, chosen.group, str(press.location.user), int(n))
    if chosen.command:
        await press.begin(chosen, run)
    elif chosen.votes:
        await press.tell("buttons.voted", label=chosen.label)
    else:  # the buttons stay, for other people
        await press.tell("buttons.dismissed")
    if chosen.votes:
        press.recount(run)


async def choose_meanwhile(press: Press, run: str, n: str) -> None:
    """The same for the choices that are shown under a stage while it grows."""
    await choose(press, run, n, kind=stored_choices.MEANWHILE)


async def rate(press: Press, run: str, verdict: Literal["up", "down"]) -> None:
    """Store a thumb up or down; only each person's last one counts."""
    if not await press.soon(visible(press, run)):
        await press.tell("buttons.stale")
        return
    feedback = press.intake.app.records.feedback
    await press.soon(feedback.give(press.location.space, run, str(press.location.user), verdict))
    await press.tell(f"buttons.thanks_{verdict}")


async def visible(press: Press, run: str) -> bool:
    """Whether the run belongs to the presser's space and they may see it."""
    past = await press.intake.app.request_of(press.location.space, run)
    return past is not None and not await press.hidden(run)


async def citations(press: Press, run: str) -> list[Citation]:
    """The sources of the run's answer; none if the presser may not see it."""
    if await press.hidden(run):
        return []
    return footer.citations(await press.intake.app.records.offers.all(press.location.space, run, "source"))
