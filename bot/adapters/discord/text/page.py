"""One message of the bot, with layout (Components V2) and without; and what is changed on one that stands there.

Both forms are built from the same parts. Views are made inert: what a button does is found by its custom_id, so
that it works after a restart, too, and nothing is kept in memory for a message. Knows no run and no channel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import discord
from discord import ui

from bot.adapters.buttons_row import PER_ROW, Button, custom_id
from bot.adapters.markdown import clean, without_line
from bot.events import Speaker

TEXT = 4_000
"""Over all text displays of a message (discord-api-docs, pull request 8562; discord.py does not check it).

Discord has also answered 500 to more than 10,170 bytes of them (issue 8554).
"""

CONTENT = 2_000
"""Of a message without layout (Discord's documentation, "Create Message")."""

ALT = 256
"""Of a picture's description, as discord.py documents it."""

ANSWER, WORKING, FAILED, STOPPED = 0x61AFEF, 0xE5C07B, 0xE06C75, 0x8B919E

USERNAME = 80
"""Of the name under which a webhook posts (Discord's documentation, "Create Webhook")."""
_REFUSED = re.compile(r"(disc)(ord)|(cly)(de)", re.IGNORECASE)
_RESERVED = ("everyone", "here")

CURSOR = "▍"
"""Behind a text that grows."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A file that came with the answer; a picture is looked at, with `alt` for who cannot."""

    name: str
    data: bytes
    picture: bool
    alt: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across the card."""


Part = str | Rule | Shown | tuple[Button, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """Parts on a ground of their own, with a coloured edge; without a colour they lie open."""

    parts: tuple[Part, ...]
    colour: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """`plain` says the same without layout, at most 2,000 characters; quotations may have to stay out.

    `speaker` says it; `name` is the line of the text that tells so, "" where it stands on a page before. `calls` are
    the ids of people whom the text mentions and who are called when it is posted.
    """

    cards: tuple[Card, ...]
    plain: str
    speaker: Speaker | None = None
    name: str = ""
    calls: tuple[int, ...] = ()
    wordless = False

    @property
    def nameless(self) -> Page:
        """The same for where the name stands above it anyway."""
        if not self.name:
            return self
        card, *cards = self.cards
        parts = [without_line(part, self.name) if isinstance(part, str) else part for part in card.parts[:1]]
        first = replace(card, parts=(*parts, *card.parts[1:]))
        return replace(self, cards=(first, *cards), plain=without_line(self.plain, self.name), name="")

    def layout(self) -> ui.LayoutView:
        view = ui.LayoutView(timeout=None)
        for card in self.cards:
            items = _items(card.parts)
            if card.colour is None:
                for item in items:
                    view.add_item(item)
            else:
                view.add_item(ui.Container(*items, accent_colour=card.colour))
        # A view that is not stopped stays in the client's memory, to answer presses that our own items answer.
        view.stop()
        return view

    def plain_buttons(self) -> ui.View | None:
        if not self.rows:
            return None
        view = ui.View(timeout=None)
        for at, row in enumerate(self.rows):
            for one in row:
                view.add_item(_button(one, at))
        view.stop()
        return view

    @property
    def rows(self) -> tuple[tuple[Button, ...], ...]:
        return tuple(part for card in self.cards for part in card.parts if isinstance(part, tuple))

    @property
    def files(self) -> tuple[tuple[str, bytes], ...]:
        return tuple(
            (part.name, part.data) for card in self.cards for part in card.parts if isinstance(part, Shown)
        )

    @property
    def text(self) -> str:
        """What its text displays say."""
        return "\n".join(part for card in self.cards for part in card.parts if isinstance(part, str))

    @property
    def shown(self) -> str:
        """16 hexadecimal digits that are the same as long as the page is."""
        made = blake2b(digest_size=8)
        for card in self.cards:
            made.update(f"{card.colour}:{len(card.parts)};".encode())
            for part in card.parts:
                known = f"{part.name}:{part.alt}" if isinstance(part, Shown) else repr(part)
                made.update(f"{type(part).__name__}:{known};".encode())
        for _, data in self.files:
            made.update(blake2b(data).digest())
        made.update(self.plain.encode())
        if self.speaker is not None:
            made.update(repr(self.speaker).encode(errors="replace"))
        return made.hexdigest()


def username(name: str) -> str:
    """The name as Discord takes it for a webhook's message; "" where nothing is left of it.

    At most 80 characters; neither "discord" nor "clyde" in it, no name of a mention.
    """
    said = " ".join(clean(name).replace("```", "").replace("@", "").replace("#", "").replace(":", "").split())
    said = _REFUSED.sub(lambda found: "-".join(part for part in found.groups() if part), said)
    said = said[:USERNAME].strip()
    return f"{said}." if said.casefold() in _RESERVED else said


def _items(parts: Sequence[Part]) -> list[ui.Item[Any]]:
    items: list[ui.Item[Any]] = []
    gallery: ui.MediaGallery[Any] | None = None
    for part in parts:
        match part:
            case Shown(picture=True):
                if gallery is None:
                    gallery = ui.MediaGallery()
                    items.append(gallery)
                gallery.add_item(media=f"attachment://{part.name}", description=part.alt or None)
                continue
            case Shown():
                items.append(ui.File(f"attachment://{part.name}"))
            case Rule():
                items.append(ui.Separator())
            case str():
                items.append(ui.TextDisplay(part))
            case _:
                items.append(ui.ActionRow(*map(_button, part[:PER_ROW])))
        gallery = None
    return items


def _button(one: Button, row: int | None = None) -> ui.Button[Any]:
    return ui.Button(
        style=discord.ButtonStyle.primary if one.loud else discord.ButtonStyle.secondary,
        label=one.label or None,
        emoji=one.emoji or None,
        custom_id=one.custom_id,
        disabled=one.disabled,
        row=row,
    )


def buttons_without(message: discord.Message, custom_id: str) -> ui.LayoutView | ui.View | None:
    """The message's components but for one button; None where it has none of that id.

    Raises ValueError or ClientException for components that the library does not know.
    """
    view = _view(message)
    return view if _without(view, custom_id) else None


def relabelled(message: discord.Message, labels: Mapping[str, str]) -> ui.LayoutView | ui.View | None:
    """The message's components with other labels, by custom_ids; None where that changes nothing.

    Raises ValueError or ClientException for components that the library does not know.
    """
    view, changed = _view(message), False
    for one in view.walk_children():
        if isinstance(one, ui.Button) and one.label != labels.get(one.custom_id or "", one.label):
            one.label, changed = labels[one.custom_id or ""], True
    return view if changed else None


def end_messages(message: discord.Message, run: str, note: str) -> dict[str, Any]:
    """The edit that ends a message in the middle of its text: no cursor, no stop button, `note` below it."""
    view = _view(message)
    _without(view, custom_id("stop", run))
    if not isinstance(view, ui.LayoutView):
        return {"content": f"{_bare(message.content)}\n{note}"[:2_000], "view": view}
    texts = [one for one in view.walk_children() if isinstance(one, ui.TextDisplay)]
    for one in texts:
        one.content = _bare(one.content) or "…"
    last = texts[-1].parent if texts else None
    (last if isinstance(last, ui.Container) else view).add_item(ui.TextDisplay(note))
    return {"view": view}


def _view(message: discord.Message) -> ui.LayoutView | ui.View:
    kind = ui.LayoutView if message.flags.components_v2 else ui.View
    view = kind.from_message(message, timeout=None)
    view.stop()  # presses come through their custom_ids: nothing has to be remembered of it
    return view


def _without(view: ui.LayoutView | ui.View, custom_id: str) -> bool:
    found = next((one for one in view.walk_children() if getattr(one, "custom_id", None) == custom_id), None)
    if found is None:
        return False
    row = found.parent
    if isinstance(row, ui.ActionRow) and len(row.children) > 1:
        row.remove_item(found)
    else:
        view.remove_item(row or found)
    return True


def _bare(text: str) -> str:
    return text.rstrip().removesuffix(CURSOR).rstrip()
