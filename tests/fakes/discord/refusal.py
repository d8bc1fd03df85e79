"""Discord's error answers: a status, its own code and, for an invalid form, the place in the form.

https://docs.discord.com/developers/topics/opcodes-and-status-codes. Knows no route.
"""

from __future__ import annotations

from typing import Any

WORDS = {
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10013: (404, "Unknown User"),
    10014: (400, "Unknown Emoji"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    10063: (404, "Unknown application command"),
    10065: (404, "Unknown Voice State"),
    30007: (400, "Maximum number of webhooks reached (15)"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    40067: (400, "A tag is required to create a forum post in this channel"),
    40094: (400, "This interaction has hit the maximum number of follow up messages"),
    50001: (403, "Missing Access"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50013: (403, "Missing Permissions"),
    50021: (403, "Cannot execute action on a system message"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50035: (400, "Invalid Form Body"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    160002: (403, "Cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
    160006: (400, "Maximum number of active threads reached"),
    220001: (400, "Webhooks posted to forum channels must have a thread_name or thread_id"),
}


class Refusal(Exception):
    """The error response of a request."""

    def __init__(self, status: int, code: int, message: str, errors: dict[str, Any] | None = None) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"message": self.message, "code": self.code}
        if self.errors is not None:
            body["errors"] = self.errors
        return body

    @property
    def why(self) -> str:
        """One line for people who read `discord.refused`."""
        if self.errors is None:
            return self.message
        places: list[str] = []

        def walk(node: dict[str, Any], path: str) -> None:
            for key, value in node.items():
                if key == "_errors":
                    places.extend(f"{path}: {item['code']}: {item['message']}" for item in value)
                else:
                    walk(value, f"{path}.{key}" if path else key)

        walk(self.errors, "")
        return "; ".join(places)


def no(code: int) -> Refusal:
    """The refusal with this code, in Discord's words."""
    status, message = WORDS[code]
    return Refusal(status, code, message)


def locked() -> Refusal:
    """The refusal in a locked thread: as in an archived one, with another status."""
    return Refusal(403, 50083, WORDS[50083][1])


def bad(path: str, code: str, message: str) -> Refusal:
    """The refusal of a form with an error at `path`, such as components.0.label."""
    errors: dict[str, Any] = {"_errors": [{"code": code, "message": message}]}
    for part in reversed(path.split(".")):
        errors = {part: errors}
    return Refusal(400, 50035, "Invalid Form Body", errors)


def too_long(path: str, limit: int) -> Refusal:
    return bad(path, "BASE_TYPE_MAX_LENGTH", f"Must be {limit} or fewer in length.")


def bad_length(path: str, low: int, high: int) -> Refusal:
    return bad(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {low} and {high} in length.")


def missing(path: str) -> Refusal:
    return bad(path, "BASE_TYPE_REQUIRED", "This field is required")


def text(value: Any, path: str, low: int, high: int) -> str:
    """`value` as a string with a length in this range, or the refusal; None counts as absent."""
    if value is None and low > 0:
        raise missing(path)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise bad(path, "STRING_TYPE_CONVERT", "Could not interpret value as string.")
    if not low <= len(value) <= high:
        raise too_long(path, high) if low == 0 else bad_length(path, low, high)
    return value


def number(value: Any, path: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise bad(path, "NUMBER_TYPE_COERCE", f"Value {value!r} is not an int.")
    if not low <= value <= high:
        raise bad(
            path,
            "NUMBER_TYPE_MIN" if value < low else "NUMBER_TYPE_MAX",
            f"int value should be between {low} and {high}.",
        )
    return value


def items(value: Any, path: str, low: int, high: int) -> list[Any]:
    if not isinstance(value, list):
        raise bad(path, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    if not low <= len(value) <= high:
        raise bad_length(path, low, high)
    return value


def table(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise bad(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
    return value
