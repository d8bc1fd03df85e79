"""Takes off a message what only makes sense while its run goes on: the button that stops it, the cursor.

Knows the message as it stands on Discord, and nothing of what it says.
"""

from __future__ import annotations

from typing import Any

import discord
from discord.ui import ActionRow, Container, LayoutView, TextDisplay, View

from bot.adapters import custom_ids
from bot.adapters.discord.text.render import CURSOR


def buttons_without(message: discord.Message, custom_id: str) -> LayoutView | View | None:
    """The message's components but for one button; None where it has none of that id.

    Raises ValueError or ClientException for components that the library does not know.
    """
    view = _view(message)
    return view if _without(view, custom_id) else None


def put_out(message: discord.Message, run: str, note: str) -> dict[str, Any]:
    """The edit that ends a message in the middle of its text: no cursor, no stop button, `note` below it."""
    view = _view(message)
    _without(view, custom_ids.stop(run))
    if not isinstance(view, LayoutView):
        return {"content": f"{_bare(message.content)}\n{note}"[:2_000], "view": view}
    texts = [one for one in view.walk_children() if isinstance(one, TextDisplay)]
    for one in texts:
        one.content = _bare(one.content) or "…"
    last = texts[-1].parent if texts else None
    (last if isinstance(last, Container) else view).add_item(TextDisplay(note))
    return {"view": view}


def _view(message: discord.Message) -> LayoutView | View:
    kind = LayoutView if message.flags.components_v2 else View
    view = kind.from_message(message, timeout=None)
    view.stop()  # presses come through their custom_ids: nothing has to be remembered of it
    return view


def _without(view: LayoutView | View, custom_id: str) -> bool:
    found = next((one for one in view.walk_children() if getattr(one, "custom_id", None) == custom_id), None)
    if found is None:
        return False
    row = found.parent
    if isinstance(row, ActionRow) and len(row.children) > 1:
        row.remove_item(found)
    else:
        view.remove_item(row or found)
    return True


def _bare(text: str) -> str:
    return text.rstrip().removesuffix(CURSOR).rstrip()
