"""Checks the components of a message as Discord does, in both layouts.

https://docs.discord.com/developers/components/reference. Forms are in modal_rules.
"""

from __future__ import annotations

from typing import Any

from tests.fakes.discord.messages import walk
from tests.fakes.discord.refusal import Refusal, bad, items, missing, number, table, text

ROW, BUTTON, SELECT = 1, 2, 3
SECTION, TEXT, THUMBNAIL, GALLERY, FILE, SEPARATOR, CONTAINER = 9, 10, 11, 12, 13, 14, 17
SELECTS = (3, 5, 6, 7, 8)
TOP = (ROW, SECTION, TEXT, GALLERY, FILE, SEPARATOR, CONTAINER)

COMPONENTS, TEXTS = 40, 4000
# Not documented: above this the service breaks down (github.com/discord/discord-api-docs/issues/8554).
TEXT_BYTES, TEXT_OVERHEAD = 10170, 12
LINK, PREMIUM = 5, 6


class Seen:
    """Counts what may occur only once or only a limited number of times."""

    def __init__(self, uploads: set[str]) -> None:
        self.custom_ids: set[str] = set()
        self.ids: set[int] = set()
        self.uploads = uploads
        self.used: set[str] = set()


def check_message(value: Any, v2: bool, uploads: set[str]) -> list[dict[str, Any]]:
    """The checked components of a message, each with an id."""
    components = items(value, "components", 0, COMPONENTS if v2 else 5)
    seen = Seen(uploads)
    for index, component in enumerate(components):
        path = f"components.{index}"
        kind = kind_of(component, path, TOP if v2 else (ROW,))
        _component(component, kind, path, seen)
    everything = list(walk(components))
    if len(everything) > COMPONENTS:
        raise bad(
            "components",
            "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
            f"Total number of components exceeds the maximum of {COMPONENTS}",
        )
    _texts([part["content"] for part in everything if part["type"] == TEXT])
    numbered(everything, seen)
    return components


def _texts(texts: list[str]) -> None:
    if sum(map(len, texts)) > TEXTS:
        raise bad(
            "components",
            "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
            f"Total displayable text size exceeds the maximum of {TEXTS}",
        )
    if sum(len(text.encode()) + TEXT_OVERHEAD for text in texts) > TEXT_BYTES:
        raise Refusal(500, 0, "500: Internal Server Error")


def kind_of(component: Any, path: str, among: tuple[int, ...]) -> int:
    kind = table(component, path).get("type")
    if isinstance(kind, bool) or kind not in among:
        raise bad(f"{path}.type", "UNION_TYPE_CHOICES", f'Value of field "type" must be one of {among}.')
    return int(kind)


def _component(component: dict[str, Any], kind: int, path: str, seen: Seen) -> None:
    once(component.get("id"), path, seen)
    if kind == ROW:
        _row(component, path, seen)
    elif kind == SECTION:
        for index, inner in enumerate(items(component.get("components"), f"{path}.components", 1, 3)):
            _component(
                inner,
                kind_of(inner, f"{path}.components.{index}", (TEXT,)),
                f"{path}.components.{index}",
                seen,
            )
        accessory = table(component.get("accessory"), f"{path}.accessory")
        _component(
            accessory, kind_of(accessory, f"{path}.accessory", (BUTTON, THUMBNAIL)), f"{path}.accessory", seen
        )
    elif kind == TEXT:
        if not text(component.get("content"), f"{path}.content", 1, TEXTS).strip():
            raise missing(f"{path}.content")
    elif kind == THUMBNAIL:
        _media(component.get("media"), f"{path}.media", seen)
        text(component.get("description"), f"{path}.description", 0, 1024)
    elif kind == GALLERY:
        for index, item in enumerate(items(component.get("items"), f"{path}.items", 1, 10)):
            _media(table(item, f"{path}.items.{index}").get("media"), f"{path}.items.{index}.media", seen)
            text(item.get("description"), f"{path}.items.{index}.description", 0, 1024)
    elif kind == FILE:
        url = _media(component.get("file"), f"{path}.file", seen)
        if not url.startswith("attachment://"):
            raise bad(f"{path}.file.url", "FILE_COMPONENT_URL", "Only attachment://<filename> is supported.")
    elif kind == SEPARATOR:
        number(component.get("spacing", 1), f"{path}.spacing", 1, 2)
    elif kind == CONTAINER:
        if component.get("accent_color") is not None:
            number(component["accent_color"], f"{path}.accent_color", 0, 0xFFFFFF)
        for index, inner in enumerate(
            items(component.get("components"), f"{path}.components", 1, COMPONENTS)
        ):
            place = f"{path}.components.{index}"
            _component(inner, kind_of(inner, place, TOP[:-1]), place, seen)
    elif kind == BUTTON:
        _button(component, path, seen)


def _row(row: dict[str, Any], path: str, seen: Seen) -> None:
    inside = items(row.get("components"), f"{path}.components", 1, 5)
    kinds = [
        kind_of(inner, f"{path}.components.{index}", (BUTTON, *SELECTS)) for index, inner in enumerate(inside)
    ]
    if any(kind in SELECTS for kind in kinds) and len(kinds) > 1:
        raise bad(
            f"{path}.components",
            "COMPONENT_LAYOUT_WIDTH_EXCEEDED",
            "The specified component exceeds the maximum width",
        )
    for index, (inner, kind) in enumerate(zip(inside, kinds, strict=True)):
        place = f"{path}.components.{index}"
        once(inner.get("id"), place, seen)
        if kind == BUTTON:
            _button(inner, place, seen)
        else:
            select(inner, kind, place, seen)


def _button(button: dict[str, Any], path: str, seen: Seen) -> None:
    style = number(button.get("style"), f"{path}.style", 1, 6)
    text(button.get("label"), f"{path}.label", 0, 80)
    if style == PREMIUM:
        if not button.get("sku_id"):
            raise missing(f"{path}.sku_id")
        return
    if not button.get("label") and not button.get("emoji"):
        raise bad(path, "BUTTON_COMPONENT_INVALID_LABEL", "A button must have a label or an emoji.")
    if button.get("emoji") is not None:
        _emoji(button["emoji"], f"{path}.emoji")
    if style == LINK:
        url = text(button.get("url"), f"{path}.url", 1, 512)
        if not url.startswith(("http://", "https://", "discord://")):
            raise bad(
                f"{path}.url",
                "URL_TYPE_INVALID_SCHEME",
                f"Scheme must be one of ('http', 'https', 'discord') in \"{url}\".",
            )
        if button.get("custom_id") is not None:
            raise bad(
                f"{path}.custom_id",
                "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
                "A custom id and url cannot both be specified.",
            )
        return
    if button.get("url") is not None:
        raise bad(
            f"{path}.url",
            "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
            "A custom id and url cannot both be specified.",
        )
    custom_id_of(button, path, seen)


def select(menu: dict[str, Any], kind: int, path: str, seen: Seen) -> None:
    custom_id_of(menu, path, seen)
    text(menu.get("placeholder"), f"{path}.placeholder", 0, 150)
    low = number(menu.get("min_values", 1), f"{path}.min_values", 0, 25)
    high = number(menu.get("max_values", 1), f"{path}.max_values", 1, 25)
    if low > high:
        raise bad(
            f"{path}.min_values", "SELECT_COMPONENT_MIN_VALUES", "min_values may not exceed max_values."
        )
    if kind == SELECT:
        options = options_of(menu, path, 25)
        if high > len(options):
            raise bad(
                f"{path}.max_values", "SELECT_COMPONENT_MAX_VALUES", "max_values may not exceed the options."
            )


def options_of(menu: dict[str, Any], path: str, most: int) -> list[Any]:
    options = items(menu.get("options"), f"{path}.options", 1, most)
    values: set[str] = set()
    for index, option in enumerate(options):
        place = f"{path}.options.{index}"
        text(table(option, place).get("label"), f"{place}.label", 1, 100)
        text(option.get("description"), f"{place}.description", 0, 100)
        value = text(option.get("value"), f"{place}.value", 1, 100)
        if value in values:
            raise bad(
                f"{place}.value",
                "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
                "The specified option value is already used",
            )
        values.add(value)
        if option.get("emoji") is not None:
            _emoji(option["emoji"], f"{place}.emoji")
    return options


def custom_id_of(component: dict[str, Any], path: str, seen: Seen) -> None:
    custom_id = text(component.get("custom_id"), f"{path}.custom_id", 1, 100)
    if custom_id in seen.custom_ids:
        raise bad(
            f"{path}.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated"
        )
    seen.custom_ids.add(custom_id)


def _emoji(value: Any, path: str) -> None:
    emoji = table(value, path)
    name = emoji.get("name")
    # Discord looks a unicode emoji up in its list, which has no letters or words.
    if emoji.get("id") is None and (
        not isinstance(name, str) or not name or any(letter.isalpha() for letter in name)
    ):
        raise bad(f"{path}.name", "BUTTON_COMPONENT_INVALID_EMOJI", "Invalid emoji")


def _media(value: Any, path: str, seen: Seen) -> str:
    url = text(table(value, path).get("url"), f"{path}.url", 1, 2048)
    if url.startswith("attachment://"):
        name = url.removeprefix("attachment://")
        if name not in seen.uploads:
            raise bad(
                f"{path}.url", "ATTACHMENT_NOT_FOUND", f"The referenced attachment was not found: {name}"
            )
        seen.used.add(name)
    elif not url.startswith(("http://", "https://")):
        raise bad(f"{path}.url", "URL_TYPE_INVALID_URL", "Not a well formed URL.")
    return url


def once(id: Any, path: str, seen: Seen) -> None:
    if not id:
        return
    number(id, f"{path}.id", 1, 2**31 - 1)
    if id in seen.ids:
        raise bad(f"{path}.id", "COMPONENT_ID_DUPLICATED", "Component id cannot be duplicated")
    seen.ids.add(id)


def numbered(components: list[dict[str, Any]], seen: Seen) -> None:
    following = 1
    for component in components:
        if component.get("id"):
            continue
        while following in seen.ids:
            following += 1
        component["id"] = following
        following += 1
