"""Initiative: the order of a fight, whose turn it is, and what ends with a turn. Pure except for the dice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bot import untrusted
from bot.events import Author, UserError
from bot.works.story.log.turn import Change, Fighter, Initiative
from bot.works.story.sheet.checks import Sheets
from bot.works.story.sheet.sheet import sheets
from bot.works.story.sheet.template import LARGEST, folded
from bot.works.story.world.order import leader, members
from bot.works.story.world.selves import selves

if TYPE_CHECKING:
    from bot.works.story.log.story import Story

MOST: Final = 40
"""The maximum number of fighters in an order."""
NAME_CHARS: Final = 60
_FIGHTER = re.compile(r"(?P<name>.+?)(?:\s+(?P<sign>[+-])?\s*(?P<number>\d{1,4}))?")


def fighters(story: Story, typed: str) -> list[Fighter]:
    """The fighters in a text such as "Mira, Goblin +2, Bo 15": a number is the initiative, a number with a sign is
    added to the dice, and without a number the modifier comes from the character's sheet. Without names: all characters
    who are played. Rolls dice. Raises UserError.
    """
    parts = [" ".join(part.split()) for part in typed.replace("−", "-").replace(";", ",").split(",")]
    parts = [part for part in parts if part] or [name for name in story.cast if player_of(story, name)]
    found = []
    for part in parts[: MOST + 1]:
        match = _FIGHTER.fullmatch(part)
        assert match is not None, "a name matches any text"
        own = next((name for name in story.cast if folded(name) == folded(match["name"])), match["name"])
        if len(own) > NAME_CHARS:
            raise UserError("story.initiative_how")
        if match["number"] and not match["sign"]:
            score = int(match["number"])
        else:
            bonus = int(f"{match['sign']}{match['number']}") if match["number"] else modifier(story, own)
            score = _rolled(bonus)
        found.append(Fighter(own, score))
    return found


def modifier(story: Story, name: str) -> int:
    """A character's initiative modifier: that of the sheet, or else its dexterity's, or 0."""
    if (sheet := sheets(story).get(folded(name))) is None:
        return 0
    found = (Sheets(sheet).check(own) for own in ("initiative", "dex"))
    return next((check.modifier for check in found if check is not None), 0)


def _rolled(bonus: int) -> int:
    import d20

    return int(d20.roll(f"1d20{bonus:+}").total)


def begun(order: Sequence[Fighter]) -> Initiative:
    return Initiative(tuple(sorted(order, key=lambda fighter: -fighter.score)))


def added(now: Initiative, new: Sequence[Fighter]) -> Initiative:
    """The order with these added, after those with an equal number; a fighter that is already in it gets the new
    number.
    """
    acting = now.order[now.at].name
    names = {folded(fighter.name) for fighter in new}
    kept = [fighter for fighter in now.order if folded(fighter.name) not in names]
    order = begun([*kept, *new]).order
    if len(order) > MOST:
        raise UserError("story.initiative_many", limit=MOST)
    at = next((n for n, fighter in enumerate(order) if folded(fighter.name) == folded(acting)), 0)
    return replace(now, order=order, at=at)


def advanced(now: Initiative) -> Initiative:
    """The order at the next fighter's turn; after the last one a new round begins."""
    at = now.at + 1
    return (
        replace(now, at=at) if at < len(now.order) else replace(now, at=0, round=min(now.round + 1, LARGEST))
    )


def delayed(now: Initiative) -> Initiative:
    """The order with the acting fighter moved behind the next one, from now on; if it is the last one, the next round
    begins.
    """
    if now.at + 1 >= len(now.order):
        return advanced(now)
    order, acting = [*now.order], now.order[now.at]
    order[now.at], order[now.at + 1] = order[now.at + 1], Fighter(acting.name, order[now.at + 1].score)
    return replace(now, order=tuple(order))


def removed(now: Initiative, name: str) -> Initiative:
    """The order without this fighter. Raises UserError for an unknown name."""
    place = next((n for n, fighter in enumerate(now.order) if folded(fighter.name) == folded(name)), None)
    if place is None:
        names = ", ".join(fighter.name for fighter in now.order)
        raise UserError("story.initiative_nobody", name=name[:NAME_CHARS], names=names)
    order = (*now.order[:place], *now.order[place + 1 :])
    at = now.at - 1 if place < now.at else now.at
    if at >= len(order):
        return replace(now, order=order, at=0, round=now.round + 1)
    return replace(now, order=order, at=at)


def acting(now: Initiative) -> Fighter:
    return now.order[now.at]


def player_of(story: Story, character: str) -> tuple[str, str] | None:
    """The id and the name of the person at the table who plays the character; None for nobody."""
    people = members(story).items()
    return next(((id, name) for id, name in people if character in selves(story, Author(id, name))), None)


def may_act(story: Story, author: Author) -> bool:
    """Whether this person may take the turn: it is their character's. The turn of a character that nobody plays is the
    game master's, or anybody's without a game master.
    """
    if (now := story.initiative) is None:
        return True
    player = player_of(story, acting(now).name)
    if player is None:
        return leader(story) in ("", author.id)
    return player[0] == author.id


def ending(story: Story, character: str) -> list[Change]:
    """The changes to a character's sheet at the end of its turn: conditions with a duration lose one round."""
    sheet = sheets(story).get(folded(character))
    return [
        Change(condition.name, on=condition.rounds > 1, rounds=max(0, condition.rounds - 1))
        for condition in (sheet.conditions.values() if sheet is not None else ())
        if condition.rounds
    ]


def body(now: Initiative) -> dict[str, Any]:
    """The order as a node stores it."""
    order = [{"name": fighter.name, "score": fighter.score} for fighter in now.order]
    return {"order": order, "round": now.round, "at": now.at}


def as_prompt(story: Story) -> str:
    """The fight as the writer reads it; "" for none."""
    if (now := story.initiative) is None:
        return ""
    order = ", ".join(fighter.name for fighter in now.order)
    told = f"round {now.round}; order: {order}; the turn after this scene: {acting(now).name}"
    return f"<initiative>{untrusted.data(' '.join(told.split()))}</initiative>"
