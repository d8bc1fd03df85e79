"""An fsspec store in memory that refuses, stalls or loses its connection, for tests: `weak://…`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

Fault = Callable[[str], None]
"""Called with the name of each operation before it is made; raises what is to happen instead, or waits."""


class WeakStore(MemoryFileSystem):  # type: ignore[misc]  # it has no types
    """One store for all of its URLs in this process."""

    protocol = "weak"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    fault: ClassVar[Fault | None] = None
    calls: ClassVar[list[str]] = []

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(path.removeprefix("weak://")))

    @classmethod
    def _meet(cls, operation: str) -> None:
        cls.calls.append(operation)
        if cls.fault is not None:
            cls.fault(operation)

    def put_file(self, *arguments: Any, **named: Any) -> None:
        self._meet("put")
        super().put_file(*arguments, **named)
        self._meet("has put")

    def info(self, path: str, **named: Any) -> Any:
        self._meet("info")
        return super().info(path, **named)

    def cat_file(self, *arguments: Any, **named: Any) -> Any:
        self._meet("get")
        return super().cat_file(*arguments, **named)

    def open(self, path: str, mode: str = "rb", *arguments: Any, **named: Any) -> Any:
        if mode == "rb":
            self._meet("open")
        return super().open(path, mode, *arguments, **named)

    def ls(self, path: str, detail: bool = True, **named: Any) -> Any:
        self._meet("list")
        return super().ls(path, detail, **named)

    def rm_file(self, path: str) -> None:
        self._meet("delete")
        if path not in self.store and f"/{path.lstrip('/')}" not in self.store:
            raise FileNotFoundError(path)
        super().rm_file(path)


fsspec.register_implementation("weak", WeakStore, clobber=True)


def emptied() -> type[WeakStore]:
    """The store, emptied and without faults."""
    WeakStore.store.clear()
    WeakStore.pseudo_dirs[:] = [""]
    WeakStore.fault = None
    WeakStore.calls.clear()
    return WeakStore


class CutOnce:
    """Loses the connection at the first of each operation, and again after a number of successful calls."""

    def __init__(self) -> None:
        self._met: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, operation: str) -> None:
        with self._lock:
            first = operation not in self._met
            self._met.add(operation)
        if first:
            raise ConnectionResetError(f"{operation}: connection reset by peer")


def gone(operation: str) -> None:
    """Let the store stop answering this operation."""
    raise ConnectionRefusedError(f"{operation}: connection refused")


def refuses(operation: str) -> None:
    """Let the store refuse this operation for lack of permission."""
    raise PermissionError(f"{operation}: access denied")
