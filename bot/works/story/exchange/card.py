"""Character cards (V1, V2 and V3 specifications): turns a card into a sheet of the cast, and a sheet into a card.

Fields with no meaning here stay unchanged in the card, which is kept in the sheet: `system_prompt` and the like are a
stranger's instructions to a model, and no model gets them. Pure.
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
from bot.works.story.exchange.numbers import dump
from bot.works.story.world.cast import NAME_CHARS, STYLE_CHARS

ABOUT_CHARS: Final = 8_000
"""The maximum length of a description for the writer; the card keeps all of it."""
CARD_CHARS: Final = 2_000_000
CARD_MB: Final = 8
"""The maximum size of a card's file that is kept for its picture: a message on Discord has room for it."""
GREETINGS: Final = 30
GREETING_CHARS: Final = 20_000
CARD_JSON: Final = "card.json"
"""The path of the card in a .charx."""
V2, V3 = "chara_card_v2", "chara_card_v3"
_MAIN: Final = {"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}
"""The entry for a PNG's picture in its own card (V3 specification, "assets")."""
_EMBEDDED: Final = "embeded://"
"""The prefix of a path in a .charx; the specification spells it this way."""
_PICTURE: Final = "assets/icon/images/main.png"
_TEXTS: Final = ("name", "description", "personality", "scenario", "first_mes", "mes_example", "nickname")
_MARKS: Final = ("first_mes", "mes_example", "personality", "description", "scenario")
"""The fields that identify a V1 card, which has no other mark."""
_MACRO = re.compile(r"\{\{\s*(char|user)\s*\}\}|<(BOT|USER)>", re.IGNORECASE)
PLAYER: Final = "the player"
"""The text for `{{user}}` in a sheet: only the writer reads it, and the player is not known there."""


@dataclass(frozen=True, slots=True)
class Card:
    """`sheet` is that of the cast, including the card itself (JSON); `greetings` begin with the first message."""

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
    """The card of a parsed file. `player` replaces `{{user}}` in greetings. Raises UserError ("story.import_card_…"),
    which names `file`.
    """
    data = _data(tree)
    for name in _TEXTS:
        if not isinstance(data.get(name) or "", str):
            raise UserError("story.import_card_field", file=file, where=name)
    name = name_of(tree)
    if not name:
        raise UserError("story.import_card_field", file=file, where="name")
    card_json = dump(tree)
    if len(card_json) > CARD_CHARS:
        raise UserError("story.import_card_large", file=file, limit=CARD_CHARS)
    listed = data.get("alternate_greetings") or []
    if not isinstance(listed, list):
        raise UserError("story.import_card_field", file=file, where="alternate_greetings")
    called = str(data.get("nickname") or "").strip() or name
    greetings = [
        with_names(text, called, player)[:GREETING_CHARS]
        for text in (data.get("first_mes"), *listed)
        if isinstance(text, str) and text.strip()
    ]
    book = data.get("character_book")
    return Card(
        name,
        {key: text for key, text in {**description_and_style(tree), "card": card_json}.items() if text},
        with_names(str(data.get("scenario") or ""), called, player).strip()[:ABOUT_CHARS],
        greetings[:GREETINGS],
        lorebook_of(book) if isinstance(book, dict) else Lorebook("", []),
    )


def name_of(tree: dict[str, Any]) -> str:
    """The character's name for the cast."""
    return " ".join(str(_data(tree).get("name") or "").replace(":", " ").replace("\0", "").split())[
        :NAME_CHARS
    ]


def description_and_style(tree: dict[str, Any]) -> dict[str, str]:
    """What the writer reads about a card's character: who they are, and how they talk."""
    data, name = _data(tree), name_of(tree)
    called = str(data.get("nickname") or "").strip() or name
    parts = [
        with_names(str(data.get(key) or ""), called, PLAYER).strip() for key in ("description", "personality")
    ]
    style = with_names(str(data.get("mes_example") or ""), called, PLAYER).replace("<START>", "").strip()
    return {"about": "\n".join(filter(None, parts))[:ABOUT_CHARS], "style": style[:STYLE_CHARS]}


def with_names(text: str, name: str, player: str) -> str:
    """A card's text with its macros replaced by names."""
    return _MACRO.sub(
        lambda macro: name if (macro[1] or macro[2]).lower() in ("char", "bot") else player, text
    )


def card(name: str, sheet: Mapping[str, Any], scenario: str, greeting: str) -> dict[str, Any]:
    """The card of a character of the cast: its original card with the changes, or else a new V3 card.

    `scenario` and `greeting` are for a new card.
    """
    if tree := kept_fields(sheet.get("card")):
        data, before = _data(tree), description_and_style(tree)
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
    """The key of the stored file from which a character's card came; "" if there was none."""
    card_json = str(sheet.get("card") or "")
    return sha256(card_json.encode()).hexdigest() if card_json else ""


def file_of(
    name: str, sheet: Mapping[str, Any], tree: dict[str, Any], original: bytes | None, suffix: str = ""
) -> tuple[str, bytes]:
    """A file that holds the card, and its suffix: the `original` file with the changes, or else a PNG.

    `suffix`, ".png" or ".charx", converts it to that type, with its main picture. Raises UserError if the original file
    cannot be unpacked.
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
    """A .charx with the card, as a V3 card, and its main picture."""
    other_files = [asset for asset in _assets(tree) if not _is_main(asset)]
    tree = _with_assets(tree, [{**_MAIN, "uri": f"{_EMBEDDED}{_PICTURE}"}, *other_files])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packing:
        packing.writestr(CARD_JSON, dump(tree), zipfile.ZIP_DEFLATED)
        packing.writestr(_PICTURE, picture)
    return out.getvalue()


def _for_png(tree: dict[str, Any], archive: Archive) -> tuple[dict[str, Any], bytes | None]:
    """The card of a .charx for a file made of its main picture, and that picture, None if it is not a PNG.

    The card no longer names the archive's other files.
    """
    assets = _assets(tree)
    path = next((_packed_at(asset) for asset in assets if _is_main(asset)), "")
    picture = archive.read(path) if path in archive else b""
    other_chunks = [asset for asset in assets if not _is_main(asset) and not _packed_at(asset)]
    return _with_assets(tree, [_MAIN, *other_chunks]), picture if picture.startswith(png.SIGNATURE) else None


def _with_assets(tree: dict[str, Any], assets: list[dict[str, Any]]) -> dict[str, Any]:
    """The card as a V3 card with these assets, which older versions lack."""
    above = {} if _data(tree) is tree else tree
    marks = {} if tree.get("spec") == V3 else {"spec": V3, "spec_version": "3.0"}
    return {**above, **marks, "data": {**_data(tree), "assets": assets}}


def _assets(tree: dict[str, Any]) -> list[dict[str, Any]]:
    assets = _data(tree).get("assets")
    return [asset for asset in assets if isinstance(asset, dict)] if isinstance(assets, list) else []


def _is_main(asset: dict[str, Any]) -> bool:
    return asset.get("type") == "icon" and asset.get("name") == "main"


def _packed_at(asset: dict[str, Any]) -> str:
    """The path of the asset in the archive, "" for one that is elsewhere."""
    uri = str(asset.get("uri"))
    return uri.removeprefix(_EMBEDDED) if uri.startswith(_EMBEDDED) else ""


def _repacked(file: str, original: bytes, tree: dict[str, Any]) -> bytes:
    """The .charx with another card, and its own pictures and sounds."""
    archive, out = Archive(file, original), io.BytesIO()
    with zipfile.ZipFile(out, "w") as packing:
        for name in archive.names:
            if name == CARD_JSON:
                packing.writestr(name, dump(tree), zipfile.ZIP_DEFLATED)
            else:
                packing.writestr(name, b"" if name.endswith("/") else archive.read(name))
    return out.getvalue()


def chunks(tree: dict[str, Any]) -> dict[str, str]:
    """The text chunks of a PNG that hold the card: V3 has its own, and older programs look for V2 in another."""
    if tree.get("spec") != V3:
        return {"chara": dump(tree)}
    older = {**tree, "spec": V2, "spec_version": "2.0"}
    return {"chara": dump(older), "ccv3": dump(tree)}


def _data(tree: dict[str, Any]) -> dict[str, Any]:
    """A card's fields; in V1 they are at the top level."""
    data = tree.get("data")
    return data if isinstance(data, dict) and "spec" in tree else tree
