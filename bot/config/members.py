"""How whoever plays a role is written: a model, then what it is to be like there.

`openai:gpt-6.1-sol effort=high`, or `local:qwen3 temperature=1.1 persona="a sceptic" timeout=60`: the same in
config.toml and in chat. Knows no provider: whether there is such a model is not asked here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from bot.config.text import nearest
from bot.events import Sorry

Effort: TypeAlias = Literal["low", "medium", "high"]

MOST = 12
"""Of one role: where every one reads the answers of all, the cost grows with their square."""

PERSONA_CHARS = 200
SETTINGS = ("persona", "temperature", "effort", "timeout", "tokens")

_QUOTED = """ "[^"]*" | '[^']*' | “[^”]*” """
_SETTING = re.compile(rf"\s+ (\w+) \s*=\s* ({_QUOTED} | [^\s,;\"'“”]+ )", re.VERBOSE)
_MODEL = re.compile(r"[^\s,;:\"'“”=]+:[^\s,;\"'“”=]+")
_ONE = re.compile(rf"(?: {_QUOTED} | [^,;\n] )+", re.VERBOSE)
"""A member of a list: up to a comma, semicolon or line that is not quoted."""


@dataclass(frozen=True, slots=True)
class Member:
    """One seat. `model` is "provider:model"; None leaves a setting to the model or to the config.

    `timeout` is the seconds one of its calls may take, `tokens` the most it may write.
    """

    model: str
    persona: str = ""
    temperature: float | None = None
    effort: Effort | None = None
    timeout: float | None = None
    tokens: int | None = None

    @property
    def short(self) -> str:
        """What people call it: the model without its provider."""
        return self.model.partition(":")[2]

    def __str__(self) -> str:
        """As it is written, so that `parse(str(member)) == member`."""
        settings = {name: getattr(self, name) for name in SETTINGS[1:]}
        persona = [f'persona="{self.persona}"'] if self.persona else []
        others = [f"{name}={_shown(value)}" for name, value in settings.items() if value is not None]
        return " ".join([self.model, *persona, *others])


def model_of(written: str) -> str:
    """The "provider:model" of what `parse` has read before."""
    return written.partition(" ")[0]


@functools.lru_cache(maxsize=200)
def parse(text: str) -> Member:
    """One member. Raises Sorry("members.…") with what is wrong."""
    text = text.strip()
    model = _MODEL.match(text)
    if model is None or not model[0].isprintable():
        raise Sorry("members.model", value=text[:80])
    at, given = model.end(), dict[str, str]()
    while at < len(text):
        found = _SETTING.match(text, at)
        if found is None:
            raise Sorry("members.setting", value=text[at:].strip()[:80], names=", ".join(SETTINGS))
        quoted = found[2][0] in "\"'“"
        given[found[1].lower()] = (found[2][1:-1] if quoted else found[2]).strip()
        at = found.end()
    for name in given:
        if name not in SETTINGS:
            near = nearest(name, list(SETTINGS))
            key = "members.setting_near" if near else "members.setting"
            raise Sorry(key, value=name[:80], near=near, names=", ".join(SETTINGS))
    return Member(
        model[0],
        _persona(given.get("persona", "")),
        _number(given, "temperature", 0.0, 2.0),
        _effort(given),
        _number(given, "timeout", 1.0, 3_600.0),
        None if (tokens := _number(given, "tokens", 50.0, 100_000.0)) is None else int(tokens),
    )


def parse_list(text: str) -> tuple[Member, ...]:
    """Members, parted by commas, semicolons or lines. Raises Sorry("members.…")."""
    return of([one for one in _ONE.findall(text) if one.strip()])


def of(texts: Sequence[str]) -> tuple[Member, ...]:
    """Members, one a text. Raises Sorry("members.…")."""
    members = tuple(parse(one) for one in texts)
    if len(members) > MOST:
        raise Sorry("members.many", n=len(members), limit=MOST)
    return members


def _shown(value: float | str) -> str:
    """A word; or a number in as few digits as say it exactly."""
    return short if isinstance(value, float) and float(short := f"{value:g}") == value else str(value)


def _persona(value: str) -> str:
    """On one line, and without the quotation marks in which it is written."""
    value = "".join(one for one in value if one.isspace() or (one.isprintable() and one != '"'))
    value = " ".join(value.split())
    if len(value) > PERSONA_CHARS:
        raise Sorry("members.persona", length=len(value), limit=PERSONA_CHARS)
    return value


def _effort(given: dict[str, str]) -> Effort | None:
    if "effort" not in given:
        return None
    value = given["effort"].lower()
    if value not in get_args(Effort):
        raise Sorry("members.effort", value=value[:80], choices=", ".join(get_args(Effort)))
    return cast("Effort", value)


def _number(given: dict[str, str], name: str, low: float, high: float) -> float | None:
    if name not in given:
        return None
    try:
        value = float(given[name])
    except ValueError:
        value = -1.0
    if not low <= value <= high:  # NaN is in no range
        raise Sorry("members.number", name=name, value=given[name][:80], low=f"{low:g}", high=f"{high:g}")
    return value
