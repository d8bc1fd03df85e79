"""Checks the arguments that a model writes against a tool's schema before the tool gets them.

They are untrusted and may have any shape.
"""

from __future__ import annotations

import json
from typing import Any, Final

from bot.llm.base import Tool
from bot.llm.json_answers import clean

ARGUMENTS_CHARS: Final = 20_000
"""The longest arguments in characters: a tool takes a question or a name, not a document."""


class ArgumentsError(Exception):
    """Arguments that do not fit, with an explanation for the model that wrote them."""


def checked(tool: Tool, text: str) -> dict[str, Any]:
    """The arguments that a model wrote, if they fit the tool's schema; null values that are not required are left out.

    Raises ArgumentsError. Call it in a thread: the library takes a moment to load.
    """
    from jsonschema import Draft202012Validator

    if len(text) > ARGUMENTS_CHARS:
        raise ArgumentsError(f"they are longer than {ARGUMENTS_CHARS} characters")
    try:
        arguments = json.loads(text or "{}", parse_float=_number, parse_constant=_number)
        if not isinstance(arguments, dict):
            raise ArgumentsError("they are no JSON object")
        needed = tool.parameters.get("required", ())
        arguments = {
            name: clean(value) for name, value in arguments.items() if value is not None or name in needed
        }
        fault = next(Draft202012Validator(tool.parameters).iter_errors(arguments), None)
    except RecursionError:
        raise ArgumentsError("they are nested too deeply") from None
    except ValueError:
        raise ArgumentsError("they are no valid JSON") from None
    if fault is not None:
        location = ".".join(map(str, fault.absolute_path))
        raise ArgumentsError(f"{location or 'they'}: {fault.message[:200]}")
    return arguments


def _number(text: str) -> int | float:
    """Parse a JSON number; 5.0 becomes the integer 5. Raises ValueError for NaN and infinity."""
    number = float(text)
    if number - number:  # infinity or NaN
        raise ValueError(text)
    return int(number) if number.is_integer() else number
