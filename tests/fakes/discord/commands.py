"""The registered commands, and what a client sends when somebody uses one.

As the client does, it fails clearly where the person could not have sent that: no such command, an option that
is missing, too long, or none of its choices.
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


def names(one: Mapping[str, Any]) -> set[str]:
    """Its name, and that in every language."""
    return {one["name"], *(one.get("name_localizations") or {}).values()}


class Commands:
    """`everywhere` are the global ones; a guild's own come before them."""

    def __init__(self) -> None:
        self.everywhere: list[dict[str, Any]] = []
        self.by_guild: dict[int, list[dict[str, Any]]] = {}

    def all(self, guild: int | None) -> list[dict[str, Any]]:
        return [*self.by_guild.get(guild or 0, ()), *self.everywhere]

    def find(self, guild: int | None, kind: int, name: str) -> dict[str, Any]:
        for one in self.all(guild):
            if one["type"] == kind and name in names(one):
                return one
        known = sorted(one["name"] for one in self.all(guild) if one["type"] == kind)
        raise LookupError(f"nobody registered {name!r}; there are {known}")

    def line(self, guild: int | None, line: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The command and the chain of what is under it, for a line such as "rules ask"."""
        first, *rest = line.removeprefix("/").split()
        command = self.find(guild, CHAT, first)
        chain: list[dict[str, Any]] = []
        options = command.get("options") or []
        for word in rest:
            under = [one for one in options if one["type"] in (SUBCOMMAND, GROUP)]
            found = next((one for one in under if word in names(one)), None)
            if found is None:
                raise LookupError(
                    f"no {word!r} in {line!r}; there are {sorted(one['name'] for one in under)}"
                )
            chain.append(found)
            options = found.get("options") or []
        if any(one["type"] in (SUBCOMMAND, GROUP) for one in options):
            raise LookupError(
                f"{line!r} is not a whole command; it goes on with {sorted(one['name'] for one in options)}"
            )
        return command, chain


def filled(
    command: dict[str, Any],
    chain: list[dict[str, Any]],
    given: Mapping[str, Any],
    keep: Keep,
    focused: str | None = None,
) -> dict[str, Any]:
    """The interaction's data: options typed and nested, with everything that they name resolved."""
    leaf = chain[-1] if chain else command
    declared = leaf.get("options") or []
    left = dict(given)
    options: list[dict[str, Any]] = []
    resolved: dict[str, dict[str, Any]] = {}
    for one in declared:
        key = next(
            (name for name in left if name in names(one) or name.replace("_", "-") in names(one)), None
        )
        if key is None:
            if one.get("required") and focused is None:
                raise LookupError(f"/{command['name']} wants the option {one['name']!r}")
            continue
        value = left.pop(key)
        if focused in names(one):
            options.append({"name": one["name"], "type": one["type"], "value": value, "focused": True})
        else:
            options.append(
                {
                    "name": one["name"],
                    "type": one["type"],
                    "value": _value(one, value, resolved, keep, focused),
                }
            )
    if left:
        raise LookupError(
            f"/{command['name']} has no option {sorted(left)}; it has {[one['name'] for one in declared]}"
        )
    if focused is not None and not any(one.get("focused") for one in options):
        raise LookupError(f"/{command['name']} has no option {focused!r} that was given a value")
    for one in reversed(chain):
        options = [{"name": one["name"], "type": one["type"], "options": options}]
    data: dict[str, Any] = {
        "id": command["id"],
        "name": command["name"],
        "type": command["type"],
        "options": options,
    }
    if "guild_id" in command:
        data["guild_id"] = command["guild_id"]
    return data | ({"resolved": resolved} if resolved else {})


def _value(one: dict[str, Any], value: Any, resolved: dict[str, Any], keep: Keep, focused: str | None) -> Any:
    kind, name = one["type"], one["name"]
    if kind == STRING:
        if not isinstance(value, str):
            raise TypeError(f"{name} is a text, not {value!r}")
        low, high = one.get("min_length", 0), one.get("max_length", 6000)
        if focused is None and not low <= len(value) <= high:
            raise ValueError(f"{name} takes {low} to {high} characters, not {len(value)}")
        return _chosen(one, value)
    if kind in (INTEGER, NUMBER):
        if isinstance(value, bool) or not isinstance(value, int if kind == INTEGER else int | float):
            raise TypeError(f"{name} is a number, not {value!r}")
        if not one.get("min_value", value) <= value <= one.get("max_value", value):
            raise ValueError(f"{name} cannot be {value}")
        return _chosen(one, value)
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


def _chosen(one: dict[str, Any], value: Any) -> Any:
    """Where there are choices, the value of the one with that name, in any language, or that value."""
    choices = one.get("choices") or []
    for choice in choices:
        if value == choice["value"] or value in names(choice):
            return choice["value"]
    if choices:
        raise ValueError(f"{one['name']} is one of {[choice['name'] for choice in choices]}, not {value!r}")
    return value
