"""The registered commands, and what a client sends when a person uses one.

Like the client, it fails on impossible input: an unknown command, or an option that is missing, too long or not among
its choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.discord.channels import Channel
from tests.fakes.discord.command_rules import (
    ATTACHMENT,
    BOOLEAN,
    CHAT,
    GROUP,
    INTEGER,
    NUMBER,
    STRING,
    SUBCOMMAND,
)
from tests.fakes.discord.messages import File
from tests.fakes.discord.world import User

USER, CHANNEL = 6, 7
Keep = Callable[[str, bytes], File]


def names(command: Mapping[str, Any]) -> set[str]:
    """The command's name in every language."""
    return {command["name"], *(command.get("name_localizations") or {}).values()}


class Commands:
    """`everywhere` are the global ones; a guild's own come before them."""

    def __init__(self) -> None:
        self.everywhere: list[dict[str, Any]] = []
        self.by_guild: dict[int, list[dict[str, Any]]] = {}

    def all(self, guild: int | None) -> list[dict[str, Any]]:
        return [*self.by_guild.get(guild or 0, ()), *self.everywhere]

    def find(self, guild: int | None, kind: int, name: str) -> dict[str, Any]:
        for command in self.all(guild):
            if command["type"] == kind and name in names(command):
                return command
        known = sorted(candidate["name"] for candidate in self.all(guild) if candidate["type"] == kind)
        raise LookupError(f"nobody registered {name!r}; there are {known}")

    def line(self, guild: int | None, line: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The command and its chain of subcommands, for a line such as "rules ask"."""
        first, *words = line.removeprefix("/").split()
        command = self.find(guild, CHAT, first)
        chain: list[dict[str, Any]] = []
        options = command.get("options") or []
        for word in words:
            under = [option for option in options if option["type"] in (SUBCOMMAND, GROUP)]
            found = next((candidate for candidate in under if word in names(candidate)), None)
            if found is None:
                raise LookupError(
                    f"no {word!r} in {line!r}; there are {sorted(candidate['name'] for candidate in under)}"
                )
            chain.append(found)
            options = found.get("options") or []
        if any(option["type"] in (SUBCOMMAND, GROUP) for option in options):
            raise LookupError(
                f"{line!r} is not a whole command; it goes on with {sorted(option['name'] for option in options)}"
            )
        return command, chain


def filled(
    command: dict[str, Any],
    chain: list[dict[str, Any]],
    values: Mapping[str, Any],
    keep: Keep,
    focused: str | None = None,
) -> dict[str, Any]:
    """The interaction's data: options typed and nested, with everything that they name resolved."""
    leaf = chain[-1] if chain else command
    declared = leaf.get("options") or []
    remaining = dict(values)
    options: list[dict[str, Any]] = []
    resolved: dict[str, dict[str, Any]] = {}
    for option in declared:
        key = next(
            (name for name in remaining if name in names(option) or name.replace("_", "-") in names(option)),
            None,
        )
        if key is None:
            if option.get("required") and focused is None:
                raise LookupError(f"/{command['name']} wants the option {option['name']!r}")
            continue
        value = remaining.pop(key)
        if focused in names(option):
            options.append({"name": option["name"], "type": option["type"], "value": value, "focused": True})
        else:
            options.append(
                {
                    "name": option["name"],
                    "type": option["type"],
                    "value": _value(option, value, resolved, keep, focused),
                }
            )
    if remaining:
        raise LookupError(
            f"/{command['name']} has no option {sorted(remaining)}; it has {[known['name'] for known in declared]}"
        )
    if focused is not None and not any(declared_option.get("focused") for declared_option in options):
        raise LookupError(f"/{command['name']} has no option {focused!r} that was given a value")
    for option in reversed(chain):
        options = [{"name": option["name"], "type": option["type"], "options": options}]
    data: dict[str, Any] = {
        "id": command["id"],
        "name": command["name"],
        "type": command["type"],
        "options": options,
    }
    if "guild_id" in command:
        data["guild_id"] = command["guild_id"]
    return data | ({"resolved": resolved} if resolved else {})


def _value(
    option: dict[str, Any], value: Any, resolved: dict[str, Any], keep: Keep, focused: str | None
) -> Any:
    kind, name = option["type"], option["name"]
    if kind == STRING:
        if not isinstance(value, str):
            raise TypeError(f"{name} is a text, not {value!r}")
        low, high = option.get("min_length", 0), option.get("max_length", 6000)
        if focused is None and not low <= len(value) <= high:
            raise ValueError(f"{name} takes {low} to {high} characters, not {len(value)}")
        return _chosen(option, value)
    if kind in (INTEGER, NUMBER):
        if isinstance(value, bool) or not isinstance(value, int if kind == INTEGER else int | float):
            raise TypeError(f"{name} is a number, not {value!r}")
        if not option.get("min_value", value) <= value <= option.get("max_value", value):
            raise ValueError(f"{name} cannot be {value}")
        return _chosen(option, value)
    if kind == BOOLEAN:
        if not isinstance(value, bool):
            raise TypeError(f"{name} is yes or no, not {value!r}")
        return value
    if kind == ATTACHMENT:
        file = keep(*value)
        resolved.setdefault("attachments", {})[str(file.id)] = file.payload() | {"ephemeral": True}
        return str(file.id)
    if kind == USER and isinstance(value, User):
        resolved.setdefault("users", {})[str(value.id)] = value.payload()
        return str(value.id)
    if kind == CHANNEL and isinstance(value, Channel):
        resolved.setdefault("channels", {})[str(value.id)] = value.payload() | {
            "permissions": str(value.permissions)
        }
        return str(value.id)
    raise TypeError(f"{name} (type {kind}) cannot be {value!r}")


def _chosen(option: dict[str, Any], value: Any) -> Any:
    """The value of the choice with this name, in any language, or this value; without choices, the value."""
    choices = option.get("choices") or []
    for choice in choices:
        if value == choice["value"] or value in names(choice):
            return choice["value"]
    if choices:
        raise ValueError(
            f"{option['name']} is one of {[choice['name'] for choice in choices]}, not {value!r}"
        )
    return value
