"""Windows that ask for what a command was sent without: a long question, a prompt's new text.

What a window will complete is kept in the storage under the id in its custom_id, so that one which was
opened before a restart, or hours ago, is still answered. Knows no work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import discord
from discord import ui

from bot.adapters import custom_ids
from bot.adapters.discord.received.origin import TOKEN_SECONDS

TYPED = "text"
"""The custom_id of the field that is typed into."""
CHARS = 4_000
"""The most that can be typed into a field: Discord's limit, as is that of a title and of a label."""
LABEL_CHARS = 45


class Window(ui.Modal):
    """One field to type into. Its answer is taken by `finished`, not by this object, which a restart loses."""

    def __init__(
        self,
        run: str,
        title: str,
        label: str,
        *,
        filled: str = "",
        required: bool = True,
        hint: str = "",
        long: bool = True,
        most: int = CHARS,
    ) -> None:
        super().__init__(
            title=title[:LABEL_CHARS], custom_id=custom_ids.modal(run), timeout=float(TOKEN_SECONDS)
        )
        typed: ui.TextInput[Window] = ui.TextInput(
            custom_id=TYPED,
            style=discord.TextStyle.paragraph if long else discord.TextStyle.short,
            default=filled or None,
            placeholder=hint[:100] or None,
            required=required,
            max_length=most,
        )
        self.add_item(ui.Label(text=label[:LABEL_CHARS], component=typed))

    async def on_submit(self, interaction: discord.Interaction) -> None:
        """Nothing: every submission comes to the listener, whether or not this object is still there."""


def opened(interaction: discord.Interaction) -> str | None:
    """The id of the window that this interaction answers; None for one that is no window of ours."""
    if interaction.type is not discord.InteractionType.modal_submit or not isinstance(interaction.data, dict):
        return None
    found = re.fullmatch(custom_ids.MODAL, str(interaction.data.get("custom_id", "")))
    return found["run"] if found else None


def typed(interaction: discord.Interaction) -> str:
    """What was typed into the window, "" where nothing was."""
    data: Any = interaction.data
    for component in _components(data.get("components")):
        if component.get("custom_id") == TYPED:
            return str(component.get("value") or "")
    return ""


def _components(nodes: object) -> Iterator[dict[str, Any]]:
    """Every component under these, rows and labels opened."""
    for node in nodes if isinstance(nodes, list) else []:
        if isinstance(node, dict):
            yield node
            yield from _components(node.get("components"))
            yield from _components([node.get("component")])
