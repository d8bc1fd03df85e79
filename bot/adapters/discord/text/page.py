"""A page: one message of the bot, with layout (Components V2) and without; and the edits of existing messages.

Both forms are built from the same parts. Views are inert: a button is handled by its custom_id, so that it works after
a restart and no message is kept in memory. Independent of runs and channels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import discord
from discord import ui

from bot.adapters.footer import PER_ROW, Button
from bot.adapters.markdown import clean, without_line
from bot.events import Speaker

TEXT = 4_000
"""The most units of all text displays of a message (discord-api-docs, pull request 8562; discord.py does not check it).

Discord has also answered 500 to more than 10,170 bytes of them (issue 8554).
"""

CONTENT = 2_000
"""The most units of a message without layout (Discord's documentation, "Create Message")."""

ALT = 256
"""The most characters of a picture's description, as discord.py documents it."""

ANSWER, WORKING, FAILED, STOPPED = 0x61AFEF, 0xE5C07B, 0xE06C75, 0x8B919E

USERNAME = 80
"""The most characters of the name of a webhook's post (Discord's documentation, "Create Webhook")."""
_REFUSED = re.compile(r"(disc)(ord)|(cly)(de)", re.IGNORECASE)
_RESERVED = ("everyone", "here")

CURSOR = "▍"
"""Shown after a growing text."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A file of the answer; a picture is displayed, with `alt` as alternative text."""

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
    """Parts in a container with a coloured edge; without a colour, parts without a container."""

    parts: tuple[Part, ...]
    colour: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One message. `plain` is the form without layout, at most 2,000 characters; it may leave out quotations.

    `speaker` is the page's speaker; `name` is the line of the text with their name, "" if an earlier page has it.
    `calls` are the ids of the people whom the post mentions.
    """

    cards: tuple[Card, ...]
    plain: str
    speaker: Speaker | None = None
    name: str = ""
    calls: tuple[int, ...] = ()
    wordless = False

    @property
    def nameless(self) -> Page:
        """The same page without the line with the speaker's name."""
        if not self.name:
            return self
        card, *cards = self.cards
        parts = [without_line(part, self.name) if isinstance(part, str) else part for part in card.parts[:1]]
        first = replace(card, parts=(*parts, *card.parts[1:]))
        return replace(self, cards=(first, *cards), plain=without_line(self.plain, self.name), name="")

    def under(self, line: str) -> Page:
        """The same page below a line of text."""
        plain = f"{line}\n{self.plain}"[:CONTENT]
        return replace(self, cards=(Card((line,)), *self.cards), plain=plain)

    def layout(self) -> ui.LayoutView:
        view = ui.LayoutView(timeout=None)
        for card in self.cards:
            items = _items(card.parts)
            if card.colour is None:
                for item in items:
                    view.add_item(item)
            else:
                view.add_item(ui.Container(*items, accent_colour=card.colour))
        # An unstopped view stays in the client's memory to handle presses, which our own items handle.
        view.stop()
        return view

    def plain_buttons(self) -> ui.View | None:
        if not self.rows:
            return None
        view = ui.View(timeout=None)
        for at, row in enumerate(self.rows):
            for button in row:
                view.add_item(_button(button, at))
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
        """The text of all its text displays."""
        return "\n".join(part for card in self.cards for part in card.parts if isinstance(part, str))

    @property
    def shown(self) -> str:
        """A digest of 16 hexadecimal digits; equal pages have equal digests."""
        digest = blake2b(digest_size=8)
        for card in self.cards:
            digest.update(f"{card.colour}:{len(card.parts)};".encode())
            for part in card.parts:
                described = f"{part.name}:{part.alt}" if isinstance(part, Shown) else repr(part)
                digest.update(f"{type(part).__name__}:{described};".encode())
        for _, data in self.files:
            digest.update(blake2b(data).digest())
        digest.update(self.plain.encode())
        if self.speaker is not None:
            digest.update(repr(self.speaker).encode(errors="replace"))
        return digest.hexdigest()


def username(name: str) -> str:
    """The name in the form that Discord accepts for a webhook's message; "" if nothing remains.

    At most 80 characters, without "discord", "clyde" and names of mentions.
    """
    cleaned = " ".join(
        clean(name).replace("```", "").replace("@", "").replace("#", "").replace(":", "").split()
    )
    cleaned = _REFUSED.sub(lambda match: "-".join(part for part in match.groups() if part), cleaned)
    cleaned = cleaned[:USERNAME].strip()
    return f"{cleaned}." if cleaned.casefold() in _RESERVED else cleaned


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


def _button(button: Button, row: int | None = None) -> ui.Button[Any]:
    return ui.Button(
        style=discord.ButtonStyle.primary if button.loud else discord.ButtonStyle.secondary,
        label=button.label or None,
        emoji=button.emoji or None,
        custom_id=button.custom_id,
        disabled=button.disabled,
        row=row,
    )


def buttons_without(message: discord.Message, custom_id: str) -> ui.LayoutView | ui.View | None:
    """The message's components without one button; None if none has that id.

    Raises ValueError or ClientException for components that the library does not know.
    """
    view = _view(message)
    return view if _without(view, custom_id) else None


def relabelled(message: discord.Message, labels: Mapping[str, str]) -> ui.LayoutView | ui.View | None:
    """The message's components with new labels, keyed by custom_id; None if that changes nothing.

    Raises ValueError or ClientException for components that the library does not know.
    """
    view, changed = _view(message), False
    for item in view.walk_children():
        if isinstance(item, ui.Button) and item.label != labels.get(item.custom_id or "", item.label):
            item.label, changed = labels[item.custom_id or ""], True
    return view if changed else None


def ending_edit(message: discord.Message, run: str, note: str) -> dict[str, Any]:
    """The edit that finishes an interrupted message: no cursor, no stop button, and `note` below it."""
    view = _view(message)
    _without(view, f"stop:{run}")
    if not isinstance(view, ui.LayoutView):
        return {"content": f"{_bare(message.content)}\n{note}"[:2_000], "view": view}
    texts = [display for display in view.walk_children() if isinstance(display, ui.TextDisplay)]
    for display in texts:
        display.content = _bare(display.content) or "…"
    last = texts[-1].parent if texts else None
    (last if isinstance(last, ui.Container) else view).add_item(ui.TextDisplay(note))
    return {"view": view}


MARK = "\u2060🔊 "
"""Precedes the sentence that is being read aloud; the word joiner distinguishes it from what people write."""


def marked(texts: Sequence[str], sentence: str) -> list[str] | None:
    """The texts of a message with the mark before the sentence. The search begins at the present mark.

    With "" the mark is removed. None if the texts do not contain the sentence.
    """
    bare = [text.replace(MARK, "") for text in texts]
    if not sentence:
        return bare
    first, start = next(((n, at) for n, text in enumerate(texts) if (at := text.find(MARK)) >= 0), (0, 0))
    for n in range(first, len(bare)):
        at = bare[n].find(sentence, start if n == first else 0)
        if at >= 0:
            bare[n] = bare[n][:at] + MARK + bare[n][at:]
            return bare
    return None


def texts_of(message: discord.Message) -> list[str]:
    """The message's texts: its content, or its text displays."""
    if not message.flags.components_v2:
        return [message.content]
    return [item.content for item in _view(message).walk_children() if isinstance(item, ui.TextDisplay)]


def reworded(message: discord.Message, texts: Sequence[str]) -> dict[str, Any]:
    """The edit that makes these the message's `texts_of`."""
    if not message.flags.components_v2:
        return {"content": texts[0]}
    view = _view(message)
    displays = [item for item in view.walk_children() if isinstance(item, ui.TextDisplay)]
    for display, text in zip(displays, texts, strict=True):
        display.content = text
    return {"view": view}


def _view(message: discord.Message) -> ui.LayoutView | ui.View:
    kind = ui.LayoutView if message.flags.components_v2 else ui.View
    view = kind.from_message(message, timeout=None)
    view.stop()  # custom_ids handle presses, so the client need not keep it
    return view


def _without(view: ui.LayoutView | ui.View, custom_id: str) -> bool:
    item = next(
        (child for child in view.walk_children() if getattr(child, "custom_id", None) == custom_id), None
    )
    if item is None:
        return False
    row = item.parent
    if isinstance(row, ui.ActionRow) and len(row.children) > 1:
        row.remove_item(item)
    else:
        view.remove_item(row or item)
    return True


def _bare(text: str) -> str:
    return text.rstrip().removesuffix(CURSOR).rstrip()
