"""A request as the inbox stores it."""

from __future__ import annotations

from storage.inbox import NewRequest


def request(id: str, thread: str = "t", platform: str = "terminal", space: str = "local") -> NewRequest:
    return NewRequest(id, platform, space, "c", thread, "me", "rules", "ask", True, "{}")
