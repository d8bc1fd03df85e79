"""Parses and writes a model with its settings in a role.

`openai:gpt-6.1-sol effort=high`, or `local:qwen3 temperature=1.1 persona="a sceptic" timeout=60`: the same in
config.toml and in chat. Knows no provider and does not check whether the model exists.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from bot.config.text import nearest
from bot.events import UserError

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

MOST = 12
"""The most members of one role. In some councils each member reads all answers, so the cost grows with the square."""

PERSONA_CHARS = 200
SAMPLING = ("top_p", "min_p", "repeat_penalty", "stop", "logit_bias")
"""Settings for drawing the next token, for servers on one's own machine."""

SETTINGS = ("persona", "temperature", "effort", "timeout", "tokens", *SAMPLING)
STOPS = 4
"""The most stop texts; most services accept no more."""

_TEXTS = ("persona", "stop", "logit_bias")
_QUOTED = """ "[^"]*" | '[^']*' | “[^”]*” """
_SETTING = re.compile(rf"\s+ (\w+) \s*=\s* ({_QUOTED} | [^\s,;\"'“”]+ )", re.VERBOSE)
_MODEL = re.compile(r"[^\s,;:\"'“”=]+:[^\s,;\"'“”=]+")
_ONE = re.compile(rf"(?: {_QUOTED} | [^,;\n] )+", re.VERBOSE)
"""One member of a list: the text up to an unquoted comma, semicolon or line break."""


@dataclass(frozen=True)
class ModelSpec:
    """A model and its settings. `model` is "provider:model"; None leaves a setting to the model or to the config.

    `timeout` is the seconds one of its calls may take, `tokens` the most it may write. `stop` and `logit_bias` are kept
    as written: texts between bars, and "token:bias" pairs between blanks.
    """

    model: str
    persona: str = ""
    temperature: float | None = None
    effort: Effort | None = None
    timeout: float | None = None
    tokens: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    stop: str = ""
    logit_bias: str = ""

    @functools.cached_property
    def sampling(self) -> dict[str, Any]:
        """The settings of SAMPLING that are set, as parameters of chat completions."""
        values: dict[str, Any] = {
            "top_p": self.top_p,
            "min_p": self.min_p,
            "repeat_penalty": self.repeat_penalty,
            "stop": [text.replace("\\n", "\n") for text in self.stop.split("|") if text],
            "logit_bias": {token: float(bias) for token, bias in _biases(self.logit_bias)},
        }
        return {name: value for name, value in values.items() if value not in (None, [], {})}

    @functools.cached_property
    def short(self) -> str:
        """The name people use: the model without its provider."""
        return self.model.partition(":")[2]

    def __str__(self) -> str:
        """The text form, so that `parse(str(member)) == member`."""
        quoted = [f"{name}={_quoted(text)}" for name in _TEXTS if (text := getattr(self, name))]
        settings = {name: getattr(self, name) for name in SETTINGS if name not in _TEXTS}
        options = [f"{name}={_formatted(value)}" for name, value in settings.items() if value is not None]
        first = 1 if self.persona else 0
        return " ".join([self.model, *quoted[:first], *options, *quoted[first:]])


def model_of(text: str) -> str:
    """The "provider:model" of a text that `parse` has accepted before."""
    return text.partition(" ")[0]


@functools.lru_cache(maxsize=200)
def parse(text: str) -> ModelSpec:
    """Parse one member. Raises UserError("members.…") with what is wrong."""
    text = text.strip()
    model = _MODEL.match(text)
    if model is None or not model[0].isprintable():
        raise UserError("members.model", value=text[:80])
    at, settings = model.end(), dict[str, str]()
    while at < len(text):
        match = _SETTING.match(text, at)
        if match is None:
            raise UserError("members.setting", value=text[at:].strip()[:80], names=", ".join(SETTINGS))
        quoted = match[2][0] in "\"'“"
        settings[match[1].lower()] = (match[2][1:-1] if quoted else match[2]).strip()
        at = match.end()
    for name in settings:
        if name not in SETTINGS:
            suggestion = nearest(name, list(SETTINGS))
            key = "members.setting_near" if suggestion else "members.setting"
            raise UserError(key, value=name[:80], near=suggestion, names=", ".join(SETTINGS))
    return ModelSpec(
        model[0],
        _persona(settings.get("persona", "")),
        _number(settings, "temperature", 0.0, 2.0),
        _effort(settings),
        _number(settings, "timeout", 1.0, 3_600.0),
        None if (tokens := _number(settings, "tokens", 50.0, 100_000.0)) is None else int(tokens),
        _number(settings, "top_p", 0.0, 1.0),
        _number(settings, "min_p", 0.0, 1.0),
        _number(settings, "repeat_penalty", 0.1, 10.0),
        _stop(settings.get("stop", "")),
        _logit_bias(settings.get("logit_bias", "")),
    )


def parse_list(text: str) -> tuple[ModelSpec, ...]:
    """Parse members separated by commas, semicolons or line breaks. Raises UserError("members.…")."""
    return parse_each([member for member in _ONE.findall(text) if member.strip()])


def parse_each(texts: Sequence[str]) -> tuple[ModelSpec, ...]:
    """Parse members, one per text. Raises UserError("members.…")."""
    members = tuple(parse(text) for text in texts)
    if len(members) > MOST:
        raise UserError("members.many", n=len(members), limit=MOST)
    return members


def _formatted(value: float | str) -> str:
    """A word as it is, or a number in the fewest digits that are exact."""
    return short if isinstance(value, float) and float(short := f"{value:g}") == value else str(value)


def _quoted(text: str) -> str:
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}"


def _persona(value: str) -> str:
    """The persona on one line, without the quotation marks around it."""
    value = "".join(char for char in value if char.isspace() or (char.isprintable() and char != '"'))
    value = " ".join(value.split())
    if len(value) > PERSONA_CHARS:
        raise UserError("members.persona", length=len(value), limit=PERSONA_CHARS)
    return value


def _effort(settings: dict[str, str]) -> Effort | None:
    if "effort" not in settings:
        return None
    value = settings["effort"].lower()
    if value not in get_args(Effort):
        raise UserError("members.effort", value=value[:80], choices=", ".join(get_args(Effort)))
    return cast("Effort", value)


def _stop(value: str) -> str:
    if sum(1 for text in value.split("|") if text) > STOPS or not value.isprintable():
        raise UserError("members.stop", value=value[:80], limit=STOPS)
    return value


def _biases(value: str) -> list[tuple[str, str]]:
    return re.findall(r"(\d+):(-?\d+(?:\.\d+)?)(?:\s+|$)", value)


def _logit_bias(value: str) -> str:
    biases = _biases(value)
    if len(biases) != len(value.split()) or not all(-100 <= float(bias) <= 100 for _, bias in biases):
        raise UserError("members.logit_bias", value=value[:80])
    return " ".join(f"{token}:{bias}" for token, bias in biases)


def _number(settings: dict[str, str], name: str, low: float, high: float) -> float | None:
    if name not in settings:
        return None
    try:
        value = float(settings[name])
    except ValueError:
        value = -1.0
    if not low <= value <= high:  # also NaN
        raise UserError(
            "members.number", name=name, value=settings[name][:80], low=f"{low:g}", high=f"{high:g}"
        )
    return value
