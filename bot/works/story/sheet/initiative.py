"""Initiative: the order of a fight, whose turn it is, and what ends with a turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bot import untrusted
from bot.events import Author, UserError
from bot.works.story.log.turn import Change, Fighter, Initiative
from bot.works.story.sheet.checks import Checks
from bot.works.story.sheet.sheet import sheets
from bot.works.story.sheet.template import LARGEST, plain_name
from bot.works.story.world.order import leader, members
from bot.works.story.world.selves import selves

if TYPE_CHECKING:
    from bot.works.story.log.story import Story

MOST: Final = 40
"""The maximum number of fighters in an order."""
NAME_CHARS: Final = 60
_FIGHTER = re.compile(r"(?P<name>.+?)(?:\s+(?P<sign>[+-])?\s*(?P<number>\d{1,4}))?")


def fighters(story: Story, typed: str) -> list[Fighter]:
    """Roll the initiative of the fighters in a text such as "Mira, Goblin +2, Bo 15". Raises UserError.

    A number is the initiative itself; one with a sign is the modifier, which otherwise comes from the character's
    sheet. Without names, all characters that people play are fighters.
    """
    parts = [" ".join(part.split()) for part in typed.replace("−", "-").replace(";", ",").split(",")]
    parts = [part for part in parts if part] or [name for name in story.cast if player_of(story, name)]
    order = []
    for part in parts[: MOST + 1]:
        match = _FIGHTER.fullmatch(part)
        assert match is not None, "a name matches any text"
        key = plain_name(match["name"])
        name = next((character for character in story.cast if plain_name(character) == key), match["name"])
        if len(name) > NAME_CHARS:
            raise UserError("story.initiative_how")
        if match["number"] and not match["sign"]:
            score = int(match["number"])
        else:
            bonus = int(f"{match['sign']}{match['number']}") if match["number"] else modifier(story, name)
            score = _roll(bonus)
        order.append(Fighter(name, score))
    return order


def modifier(story: Story, name: str) -> int:
    """A character's modifier for initiative: the sheet's field "initiative", or else "dex", or 0."""
    if (sheet := sheets(story).get(plain_name(name))) is None:
        return 0
    checks = (Checks(sheet).check(field) for field in ("initiative", "dex"))
    return next((check.modifier for check in checks if check is not None), 0)


def _roll(bonus: int) -> int:
    import d20

    return int(d20.roll(f"1d20{bonus:+}").total)


def first_round(order: Sequence[Fighter]) -> Initiative:
    """A fight at the first turn of these fighters, by descending initiative."""
    return Initiative(tuple(sorted(order, key=lambda fighter: -fighter.score)))


def add(now: Initiative, new: Sequence[Fighter]) -> Initiative:
    """The fight with these fighters added, or with their new initiative if they are in it already. Raises UserError."""
    acting_key = plain_name(acting(now).name)
    names = {plain_name(fighter.name) for fighter in new}
    others = [fighter for fighter in now.order if plain_name(fighter.name) not in names]
    order = first_round([*others, *new]).order
    if len(order) > MOST:
        raise UserError("story.initiative_many", limit=MOST)
    at = next((n for n, fighter in enumerate(order) if plain_name(fighter.name) == acting_key), 0)
    return replace(now, order=order, at=at)


def advance(now: Initiative) -> Initiative:
    """The fight at the next fighter's turn; after the last one a new round begins."""
    if now.at + 1 < len(now.order):
        return replace(now, at=now.at + 1)
    return replace(now, at=0, round=min(now.round + 1, LARGEST))


def delay(now: Initiative) -> Initiative:
    """The fight with the acting fighter moved behind the next one; if it is the last, the next round begins."""
    if now.at + 1 >= len(now.order):
        return advance(now)
    order, following = [*now.order], now.order[now.at + 1]
    order[now.at : now.at + 2] = [following, Fighter(acting(now).name, following.score)]
    return replace(now, order=tuple(order))


def remove(now: Initiative, name: str) -> Initiative:
    """The fight without this fighter. Raises UserError for an unknown name."""
    index = next(
        (n for n, fighter in enumerate(now.order) if plain_name(fighter.name) == plain_name(name)), None
    )
    if index is None:
        names = ", ".join(fighter.name for fighter in now.order)
        raise UserError("story.initiative_nobody", name=name[:NAME_CHARS], names=names)
    order = (*now.order[:index], *now.order[index + 1 :])
    at = now.at - 1 if index < now.at else now.at
    if at >= len(order):
        return replace(now, order=order, at=0, round=now.round + 1)
    return replace(now, order=order, at=at)


def acting(now: Initiative) -> Fighter:
    """The fighter whose turn it is."""
    return now.order[now.at]


def player_of(story: Story, character: str) -> tuple[str, str] | None:
    """The id and the name of the person at the table who plays the character; None for nobody."""
    people = members(story).items()
    return next(((id, name) for id, name in people if character in selves(story, Author(id, name))), None)


def may_act(story: Story, author: Author) -> bool:
    """Whether it is the turn of a character that this person plays, or no fight is going on.

    The turn of a character that nobody plays is the game master's, or anybody's without a game master.
    """
    if (now := story.initiative) is None:
        return True
    player = player_of(story, acting(now).name)
    if player is None:
        return leader(story) in ("", author.id)
    return player[0] == author.id


def changes_at_end(story: Story, character: str) -> list[Change]:
    """The changes to a character's sheet at the end of its turn: conditions with a duration lose one round."""
    sheet = sheets(story).get(plain_name(character))
    return [
        Change(condition.name, on=condition.rounds > 1, rounds=max(0, condition.rounds - 1))
        for condition in (sheet.conditions.values() if sheet is not None else ())
        if condition.rounds
    ]


def body(now: Initiative) -> dict[str, Any]:
    """The fight as a node stores it."""
    order = [{"name": fighter.name, "score": fighter.score} for fighter in now.order]
    return {"order": order, "round": now.round, "at": now.at}


def as_prompt(story: Story) -> str:
    """The fight for the writer; "" for none."""
    if (now := story.initiative) is None:
        return ""
    order = ", ".join(fighter.name for fighter in now.order)
    text = f"round {now.round}; order: {order}; the turn after this scene: {acting(now).name}"
    return f"<initiative>{untrusted.data(' '.join(text.split()))}</initiative>"
