"""A streamed message: what was appended, and whether more is allowed.

https://docs.slack.dev/reference/methods/chat.startStream. Slack ends a stream by itself after about five minutes,
and when a person presses stop.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

LIVE, STOPPED, EXPIRED, STOPPED_BY_USER = "live", "stopped", "expired", "stopped_by_user"


@dataclass(eq=False)
class Stream:
    seconds: float
    mode: str = "timeline"
    began: float = field(default_factory=time.monotonic)
    # In the order of appending: text, tasks by id, blocks; a plan's title is separate.
    parts: list[dict[str, Any]] = field(default_factory=list)
    plan: str | None = None
    closing: list[dict[str, Any]] = field(default_factory=list)
    _state: str = LIVE

    @property
    def state(self) -> str:
        if self._state == LIVE and time.monotonic() - self.began >= self.seconds:
            self._state = EXPIRED
        return self._state

    @property
    def live(self) -> bool:
        return self.state == LIVE

    def end(self, state: str) -> None:
        if self.live:
            self._state = state

    @property
    def text(self) -> str:
        return "".join(part["text"] for part in self.parts if part["type"] == "markdown")

    @property
    def tasks(self) -> list[dict[str, Any]]:
        return [part for part in self.parts if part["type"] == "task_card"]

    def append(self, chunk: dict[str, Any]) -> None:
        kind = chunk["type"]
        if kind == "markdown_text":
            if self.parts and self.parts[-1]["type"] == "markdown":
                self.parts[-1]["text"] += chunk["text"]
            elif chunk["text"]:
                self.parts.append({"type": "markdown", "text": chunk["text"]})
        elif kind == "task_update":
            self._task(chunk)
        elif kind == "plan_update":
            self.plan = chunk["title"]
        else:
            self.parts += chunk["blocks"]

    def _task(self, chunk: dict[str, Any]) -> None:
        """Details and output are appended to the task's; title and status replace the old ones."""
        for earlier in self.tasks:
            if earlier["task_id"] == chunk["id"]:
                task = earlier
                break
        else:
            task = {"type": "task_card", "task_id": chunk["id"]}
            self.parts.append(task)
        task |= {name: chunk[name] for name in ("title", "status", "sources") if name in chunk}
        for name in ("details", "output"):
            if chunk.get(name):
                task[name] = task.get(name, "") + chunk[name]

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The stream's blocks; in "plan" mode all tasks are together at the place of the first one."""
        if self.mode != "plan":
            title = [{"type": "plan", "title": self.plan}] if self.plan else []
            return [*title, *self.parts, *self.closing]
        plan = {"type": "plan", "title": self.plan or "Thinking", "tasks": self.tasks}
        blocks = [part for part in self.parts if part["type"] != "task_card"]
        at = self.parts.index(self.tasks[0]) if self.tasks else 0
        shown = [plan] if self.tasks or self.plan else []
        return [*blocks[:at], *shown, *blocks[at:], *self.closing]
