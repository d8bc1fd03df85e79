"""Character cards (V1, V2 and V3 specifications), as a sheet of the cast, and a sheet as a card.

What means nothing here stays in the card as it came, which lies in the sheet: `system_prompt` and the like are a
stranger's words to a model, and nobody is told to follow them. Pure.
"""

from __future__ import annotations

import base64
import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from bot.events import UserError
from bot.readers.archive import Archive
from bot.works.story.exchange import png
from bot.works.story.exchange.lorebook import Lorebook, kept_fields, lorebook_of
from bot.works.story.exchange.numbers import written
from bot.works.story.world.cast import NAME_CHARS, STYLE_CHARS

ABOUT_CHARS: Final = 8_000
"""Of who somebody is, as the writer is told it; the card has all of it."""
CARD_CHARS: Final = 2_000_000
CARD_MB: Final = 8
"""Of the file of a card that is kept for its picture: with it a message of Discord's has room for it."""
GREETINGS: Final = 30
GREETING_CHARS: Final = 20_000
CARD_JSON: Final = "card.json"
"""Where a .charx has the card."""
V2, V3 = "chara_card_v2", "chara_card_v3"
_MAIN: Final = {"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}
"""The picture of a PNG in its own card (V3 specification, "assets")."""
_EMBEDDED: Final = "embeded://"
"""Before the path in a .charx; spelt so in the specification."""
_PICTURE: Final = "assets/icon/images/main.png"
_TEXTS: Final = ("name", "description", "personality", "scenario", "first_mes", "mes_example", "nickname")
_MARKS: Final = ("first_mes", "mes_example", "personality", "description", "scenario")
"""A V1 card has no mark but its fields."""
_MACRO = re.compile(r"\{\{\s*(char|user)\s*\}\}|<(BOT|USER)>", re.IGNORECASE)
PLAYER: Final = "the player"
"""Who `{{user}}` is in a sheet: it is told to the writer alone, and of whom is not known there."""


@dataclass(frozen=True, slots=True)
class Card:
    """`sheet` is that of the cast, the card itself (JSON) among it; `greetings` begin with the first message."""

    name: str
    sheet: dict[str, str]
    scenario: str
    greetings: list[str]
    book: Lorebook = field(default_factory=lambda: Lorebook("", []))


def is_card(tree: dict[str, Any]) -> bool:
    spec = tree.get("spec")
    if isinstance(spec, str) and spec.startswith("chara_card"):
        return True
    return isinstance(tree.get("name"), str) and sum(name in tree for name in _MARKS) > 1


def card_of(tree: dict[str, Any], file: str, player: str) -> Card:
    """`player` is who `{{user}}` is in a greeting. Raises UserError ("story.import_card_…"), which names `file`."""
    data = _data(tree)
    for name in _TEXTS:
        if not isinstance(data.get(name) or "", str):
            raise UserError("story.import_card_field", file=file, where=name)
    name = name_of(tree)
    if not name:
        raise UserError("story.import_card_field", file=file, where="name")
    card_json = written(tree)
    if len(card_json) > CARD_CHARS:
        raise UserError("story.import_card_large", file=file, limit=CARD_CHARS)
    listed = data.get("alternate_greetings") or []
    if not isinstance(listed, list):
        raise UserError("story.import_card_field", file=file, where="alternate_greetings")
    called = str(data.get("nickname") or "").strip() or name
    greetings = [
        said(text, called, player)[:GREETING_CHARS]
        for text in (data.get("first_mes"), *listed)
        if isinstance(text, str) and text.strip()
    ]
    book = data.get("character_book")
    return Card(
        name,
        {key: text for key, text in {**told(tree), "card": card_json}.items() if text},
        said(str(data.get("scenario") or ""), called, player).strip()[:ABOUT_CHARS],
        greetings[:GREETINGS],
        lorebook_of(book) if isinstance(book, dict) else Lorebook("", []),
    )


def name_of(tree: dict[str, Any]) -> str:
    """The character's name as the cast has it."""
    return " ".join(str(_data(tree).get("name") or "").replace(":", " ").replace("\0", "").split())[
        :NAME_CHARS
    ]


def told(tree: dict[str, Any]) -> dict[str, str]:
    """What the writer is told of a card's character: who that is, and how it talks."""
    data, name = _data(tree), name_of(tree)
    called = str(data.get("nickname") or "").strip() or name
    parts = [said(str(data.get(key) or ""), called, PLAYER).strip() for key in ("description", "personality")]
    style = said(str(data.get("mes_example") or ""), called, PLAYER).replace("<START>", "").strip()
    return {"about": "\n".join(filter(None, parts))[:ABOUT_CHARS], "style": style[:STYLE_CHARS]}


def said(text: str, name: str, player: str) -> str:
    """A card's text with the names that its macros stand for."""
    return _MACRO.sub(
        lambda macro: name if (macro[1] or macro[2]).lower() in ("char", "bot") else player, text
    )


def card(name: str, sheet: Mapping[str, Any], scenario: str, greeting: str) -> dict[str, Any]:
    """The card of a character of the cast: the one that it came by, with what has changed; else one of V3.

    `scenario` and `greeting` are a new card's.
    """
    if tree := kept_fields(sheet.get("card")):
        data, before = _data(tree), told(tree)
        if (about := str(sheet.get("about") or "")) != before["about"]:
            data |= {"description": about, "personality": ""}
        if (style := str(sheet.get("style") or "")) != before["style"]:
            data["mes_example"] = style
        return tree
    return {
        "spec": V3,
        "spec_version": "3.0",
        "data": {
            "name": name,
            "description": str(sheet.get("about") or ""),
            "personality": "",
            "scenario": scenario,
            "first_mes": greeting,
            "mes_example": str(sheet.get("style") or ""),
            "creator_notes": "",
            "system_prompt": "",
            "post_history_instructions": "",
            "alternate_greetings": [],
            "group_only_greetings": [],
            "tags": [],
            "creator": "",
            "character_version": "",
            "extensions": {},
        },
    }


def key_of(sheet: Mapping[str, Any]) -> str:
    """By which the file is kept that a character's card came in; "" where it came by none."""
    card_json = str(sheet.get("card") or "")
    return sha256(card_json.encode()).hexdigest() if card_json else ""


def file_of(
    name: str, sheet: Mapping[str, Any], tree: dict[str, Any], original: bytes | None, suffix: str = ""
) -> tuple[str, bytes]:
    """A file that holds the card, and its suffix: the `original` one, with what has changed; else a PNG.

    `suffix`, ".png" or ".charx", makes that of it, with its main picture. Raises UserError where the file that it came
    in cannot be unpacked.
    """
    came_as = "" if not original else ".png" if original.startswith(png.SIGNATURE) else ".charx"
    suffix = suffix or came_as or ".png"
    if original and suffix == came_as and tree == kept_fields(sheet.get("card")):
        return suffix, original
    picture = original
    if original and came_as == ".charx":
        if suffix == came_as:
            return suffix, _repacked(f"{name}.charx", original, tree)
        tree, picture = _for_png(tree, Archive(f"{name}.charx", original))
    if suffix == ".charx":
        return suffix, _packed(tree, png.with_texts(picture, {}) if picture else png.portrait(name, {}))
    texts = {key: base64.b64encode(text.encode()) for key, text in chunks(tree).items()}
    return suffix, png.with_texts(picture, texts) if picture else png.portrait(name, texts)


def _packed(tree: dict[str, Any], picture: bytes) -> bytes:
    """A .charx of the card, as one of V3, and its main picture."""
    other_files = [asset for asset in _assets(tree) if not _is_main(asset)]
    tree = _with_assets(tree, [{**_MAIN, "uri": f"{_EMBEDDED}{_PICTURE}"}, *other_files])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packing:
        packing.writestr(CARD_JSON, written(tree), zipfile.ZIP_DEFLATED)
        packing.writestr(_PICTURE, picture)
    return out.getvalue()


def _for_png(tree: dict[str, Any], archive: Archive) -> tuple[dict[str, Any], bytes | None]:
    """The card of a .charx as it stands in its main picture, and that, None where it is no PNG.

    What else the archive has the card names no more.
    """
    assets = _assets(tree)
    path = next((_packed_at(asset) for asset in assets if _is_main(asset)), "")
    picture = archive.read(path) if path in archive else b""
    other_chunks = [asset for asset in assets if not _is_main(asset) and not _packed_at(asset)]
    return _with_assets(tree, [_MAIN, *other_chunks]), picture if picture.startswith(png.SIGNATURE) else None


def _with_assets(tree: dict[str, Any], assets: list[dict[str, Any]]) -> dict[str, Any]:
    """The card as one of V3, which alone has them."""
    above = {} if _data(tree) is tree else tree
    marks = {} if tree.get("spec") == V3 else {"spec": V3, "spec_version": "3.0"}
    return {**above, **marks, "data": {**_data(tree), "assets": assets}}


def _assets(tree: dict[str, Any]) -> list[dict[str, Any]]:
    assets = _data(tree).get("assets")
    return [asset for asset in assets if isinstance(asset, dict)] if isinstance(assets, list) else []


def _is_main(asset: dict[str, Any]) -> bool:
    return asset.get("type") == "icon" and asset.get("name") == "main"


def _packed_at(asset: dict[str, Any]) -> str:
    """Where its file lies in the archive, "" for one that lies elsewhere."""
    uri = str(asset.get("uri"))
    return uri.removeprefix(_EMBEDDED) if uri.startswith(_EMBEDDED) else ""


def _repacked(file: str, original: bytes, tree: dict[str, Any]) -> bytes:
    """A .charx with another card beside its pictures and sounds."""
    archive, out = Archive(file, original), io.BytesIO()
    with zipfile.ZipFile(out, "w") as packing:
        for name in archive.names:
            if name == CARD_JSON:
                packing.writestr(name, written(tree), zipfile.ZIP_DEFLATED)
            else:
                packing.writestr(name, b"" if name.endswith("/") else archive.read(name))
    return out.getvalue()


def chunks(tree: dict[str, Any]) -> dict[str, str]:
    """The texts of a PNG that hold the card: V3 has one of its own, beside which older programs look for V2."""
    if tree.get("spec") != V3:
        return {"chara": written(tree)}
    older = {**tree, "spec": V2, "spec_version": "2.0"}
    return {"chara": written(older), "ccv3": written(tree)}


def _data(tree: dict[str, Any]) -> dict[str, Any]:
    """A card's fields: V1 has them at once."""
    data = tree.get("data")
    return data if isinstance(data, dict) and "spec" in tree else tree
