"""The subject of a rule or a budget: a person, a group or everyone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot import mention
from bot.events import Request, UserError

if TYPE_CHECKING:
    from bot.access import Whose
    from bot.resources import Resources
    from bot.words import Words

NAME_CHARS = 100


async def subject_of(resources: Resources, request: Request) -> tuple[Whose, str, str]:
    """The kind, id and name of the subject that a request names; by default everyone. Raises UserError."""
    options = [(kind, str(value)) for kind in ("person", "group") if (value := request.options.get(kind))]
    if len(options) > 1:
        raise UserError("access.one")
    if not options:
        return "everyone", "", ""
    kind, typed = options[0]
    platform = resources.platforms.get(request.place.platform)
    find = platform.find if platform is not None else None
    id, name = mention.chosen(typed)
    if not id and find is not None:
        id, name = await find(request.place, kind, name.strip()) or ("", name)
    elif not id and kind == "person":  # a platform without a search: the id is typed
        id = name
    if not id:
        raise UserError(f"access.no_{kind}", name=name[:NAME_CHARS])
    return ("person" if kind == "person" else "group"), id, " ".join(name.split())[:NAME_CHARS]


def subject_name(whose: Whose, name: str, say: Words) -> str:
    """A subject's name in a sentence or a table."""
    return say("access.everyone") if whose == "everyone" else say(f"access.named_{whose}", name=name)
