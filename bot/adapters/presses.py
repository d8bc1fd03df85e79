"""What the buttons under an answer do, for everybody who presses one, however long ago it was posted.

All that a press needs stands in the button's id, in the storage, and in the pressed message. A press that comes too
late, or from where it does not belong, gets a sentence that only the presser sees. Knows no platform: each says how a
press is acknowledged, and how its message is changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from bot.adapters import footer, offered

if TYPE_CHECKING:
    from bot.adapters.intake import Intake, Spot
    from bot.adapters.offered import KeptChoice
    from bot.events import Citation

T = TypeVar("T")


class Press(Protocol):
    @property
    def intake(self) -> Intake: ...

    @property
    def here(self) -> Spot:
        """Where the presser is. Its space is theirs: an id that was copied from elsewhere finds nothing there."""
        ...

    def acknowledge(self) -> Awaitable[object]:
        """There is no answer to be told at once."""
        ...

    async def soon(self, looked_up: Awaitable[T]) -> T:
        """What was looked up; should that take long, the press is acknowledged meanwhile."""
        ...

    async def tell(self, key: str, **values: object) -> None:
        """A sentence of the catalogue, to the presser alone."""
        ...

    async def hidden(self, run: str) -> bool:
        """Whether the run is not for the presser to see."""
        ...

    async def begin(self, chosen: KeptChoice, run: str) -> None:
        """Do what the line of the run's choice says, or ask for the words that it lacks."""
        ...

    def recount(self, run: str) -> None:
        """Have the pressed message show the votes, soon."""
        ...

    async def stopped(self) -> None:
        """Say who has stopped the run, to everybody who sees its answer."""
        ...

    async def take_off(self, custom_id: str) -> None:
        """Take a button off the pressed message, as that stands now. Nothing where that can't be."""
        ...


async def stop(press: Press, run: str) -> None:
    """Anyone who sees the answer may stop it, as with "stop"."""
    app, space = press.intake.app, press.here.space
    hidden, _ = await asyncio.gather(press.hidden(run), press.acknowledge())
    if hidden:
        await press.tell("buttons.stale")
    elif await app.stop_run(space, run):
        await press.stopped()
    elif app.live(space, run):
        await press.tell("buttons.stopping")
    else:
        await press.tell("buttons.ended")
        await press.take_off(f"stop:{run}")


async def choose(press: Press, run: str, n: str) -> None:
    """As if the presser had typed the choice's line; nothing where it has none.

    A vote is kept: with a line the run that it begins is the answer, else a sentence is.
    """
    records, space = press.intake.app.records, press.here.space
    kept = await records.offers.get(space, run, offered.KIND, int(n))
    if kept is None or await press.hidden(run):
        await press.tell("buttons.stale")
        return
    chosen = offered.kept_choice(kept)
    if chosen.over:
        await press.tell("buttons.taken")
        return
    if chosen.votes:
        if not chosen.command:
            await press.acknowledge()
        await records.votes.give(space, run, chosen.group, str(press.here.user), int(n))
    if chosen.command:
        await press.begin(chosen, run)
    elif chosen.votes:
        await press.tell("buttons.voted", label=chosen.label)
    else:  # the buttons stay: somebody else may think otherwise
        await press.tell("buttons.dismissed")
    if chosen.votes:
        press.recount(run)


async def judge(press: Press, run: str, verdict: Literal["up", "down"]) -> None:
    """A thumb; the last one of a person counts."""
    if not await press.soon(known(press, run)):
        await press.tell("buttons.stale")
        return
    feedback = press.intake.app.records.feedback
    await press.soon(feedback.give(press.here.space, run, str(press.here.user), verdict))
    await press.tell(f"buttons.thanks_{verdict}")


async def known(press: Press, run: str) -> bool:
    """Whether the run is of the presser's space, and for them to see."""
    past = await press.intake.app.request_of(press.here.space, run)
    return past is not None and not await press.hidden(run)


async def cited(press: Press, run: str) -> list[Citation]:
    """The sources of the run's answer; none where it is not for the presser to see."""
    if await press.hidden(run):
        return []
    return footer.cited(await press.intake.app.records.offers.all(press.here.space, run, "source"))
