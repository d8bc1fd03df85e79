"""One process per data folder: an exclusive lock that dies with its holder. Knows nothing of what the folder holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from storage.faults import StorageFault, fault_of

if TYPE_CHECKING:
    from filelock import BaseFileLock


class StorageBusy(StorageFault):
    """Another process holds the data folder; `pid` is its process id, if it could be read."""

    def __init__(self, path: Path, pid: int | None) -> None:
        super().__init__("locked", f"{path.parent} is in use by process {pid or 'unknown'}")
        self.path = path
        self.pid = pid


class Lock:
    """A held lock; `release` it, or use it as a context manager."""

    def __init__(self, lock: BaseFileLock, note: Path) -> None:
        self._lock = lock
        self._note = note

    def release(self) -> None:
        if self._lock.is_locked:
            self._note.unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


def hold(path: Path) -> Lock:
    """Take the lock file at `path` (made with its folder if need be), at once or not at all.

    Raises StorageBusy if another process, or another part of this one, holds it. The operating system frees it
    when the holder dies, however it dies.
    """
    from filelock import FileLock, Timeout

    # The pid lies beside the lock: on Windows a locked file cannot be read by others.
    note = path.with_name(path.name + ".pid")
    # Taken on a worker thread and released on another: the lock belongs to the process.
    lock = FileLock(path, thread_local=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
        try:
            note.write_text(str(os.getpid()), encoding="ascii")
        except OSError:
            lock.release()
            raise
    except Timeout as error:
        raise StorageBusy(path, _pid(note)) from error
    except OSError as error:
        raise fault_of(error) from error
    return Lock(lock, note)


def _pid(note: Path) -> int | None:
    try:
        return int(note.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
