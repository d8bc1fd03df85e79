"""Resolves the paths that a person typed to files, and says why a file is refused.

Uses file systems only: nothing here reads a document.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from unicodedata import normalize

from bot.events import UserError, user_error
from bot.readers.kinds import SUFFIXES, suffix_of, unread
from storage.files import TooLarge, key_of

if TYPE_CHECKING:
    from storage.files import Files

_ORDINARY = (
    os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to add. `name` is its name in the library: the path below the given folder.

    `path` is on this machine, or that of a stored file (`storage.files`).
    """

    name: str
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused file, with the key and the values of the sentence that says why."""

    name: str
    key: str
    values: dict[str, str | int | float | bool | None]
    transient: bool = False

    @property
    def error(self) -> UserError:
        return user_error(self.key, self.values, transient=self.transient)


def gather(
    paths: Iterable[str], max_bytes: int, kinds: Sequence[str] = SUFFIXES
) -> tuple[list[Candidate], list[Refused]]:
    """The files at `paths`, with folders walked in order of name; blocking.

    In folders only files of a readable kind count; a path that was named itself is refused with a reason if it is of
    none of `kinds`. Symbolic links are refused, so that a folder never reaches outside itself.
    """
    candidates: list[Candidate] = []
    refused: list[Refused] = []
    for text in paths:
        root = Path(text).expanduser()
        if root.is_dir() and not root.is_symlink():

            def unreadable(within: str, error: OSError, root: Path = root) -> None:
                name = _printable(f"{root.name}/{within}".rstrip("/"))
                refused.append(Refused(name, "library.file_unreadable", {"name": name}))

            for name, entry in walk(root, unreadable):
                _check_file(Path(entry.path), name, candidates, refused, max_bytes, kinds)
        else:
            _check_file(root, composed(root.name), candidates, refused, max_bytes, kinds)
    return candidates, refused


def walk(root: Path, unreadable: Callable[[str, OSError], None]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The entries below a folder whose names look like a file of a readable kind, with their paths within it, in order
    of name; blocking.

    Hidden ones are left out, and links to folders are not followed. `unreadable` is called with each folder that cannot
    be listed, as its path within the root ("" for the root).
    """
    folders = [("", iter(_entries(str(root), "", unreadable)))]
    while folders:
        parent, entries = folders[-1]
        if (entry := next(entries, None)) is None:
            folders.pop()
        elif entry.is_dir(follow_symlinks=False):
            path = f"{parent}{entry.name}/"
            folders.append((path, iter(_entries(entry.path, path, unreadable))))
        elif entry.name.lower().endswith(SUFFIXES):
            yield composed(parent + entry.name), entry


def _entries(folder: str, within: str, unreadable: Callable[[str, OSError], None]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name
            )
    except OSError as error:
        unreadable(within.rstrip("/"), error)
        return []


def composed(name: str) -> str:
    """The name with accents in composed form, so that equal letters give equal names on every system."""
    return normalize("NFC", name)


def passed_over(paths: Iterable[str], used: Container[str] = ()) -> dict[str, int]:
    """How many files of each kind, by suffix, are in the folders among `paths` but are not read; blocking.

    Hidden ones and those with a name in `used` do not count; links to folders are not followed.
    """
    counted: Counter[str] = Counter()
    for text in paths:
        root = Path(text).expanduser()
        for place, folders, names in os.walk(root) if not root.is_symlink() else ():
            folders[:] = [name for name in folders if not name.startswith(".")]
            counted.update(
                Path(place, name).suffix.lower()
                for name in names
                if not name.startswith(".") and name not in used and not name.lower().endswith(SUFFIXES)
            )
    return dict(counted.most_common())


def sayable(name: str) -> bool:
    """Whether the name is valid UTF-8; any other could be neither stored nor shown."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _printable(name: str) -> str:
    return name if sayable(name) else os.fsencode(name).decode(errors="replace")


async def read_file(files: Files, path: str, max_bytes: int) -> bytes:
    """The bytes of a file on this machine, or of a stored one. Raises UserError as `read_whole` does, and
    StorageFault.
    """
    if (key := key_of(path)) is None:
        return await asyncio.to_thread(read_whole, path, max_bytes)
    name = PurePosixPath(key).name
    try:
        return await files.read(key, max_bytes)
    except FileNotFoundError as error:
        raise UserError("library.file_missing", name=name) from error
    except TooLarge as error:
        raise _too_large(name, error.size, max_bytes) from error


def read_whole(path: str, max_bytes: int) -> bytes:
    """The file's bytes; blocking. Raises UserError if it is gone, unreadable, or has grown beyond `max_bytes`."""
    name = Path(path).name
    try:
        # Checked again here, because meanwhile it may have become a pipe, which would block, or a link.
        with os.fdopen(os.open(path, _ORDINARY), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UserError("library.file_special", name=name)
            data = file.read(max_bytes + 1)
            size = max(len(data), os.fstat(file.fileno()).st_size)
    except FileNotFoundError as error:
        raise UserError("library.file_missing", name=name) from error
    except OSError as error:
        raise UserError("library.file_unreadable", name=name) from error
    if len(data) > max_bytes:
        raise _too_large(name, size, max_bytes)
    return data


def _too_large(name: str, size: int, limit: int) -> UserError:
    return UserError("library.file_large", name=name, mb=megabytes(size), limit=limit // 1_000_000)


def _check_file(
    path: Path,
    name: str,
    candidates: list[Candidate],
    refused: list[Refused],
    max_bytes: int,
    kinds: Sequence[str],
) -> None:
    def no(key: str, **values: str | int) -> None:
        refused.append(Refused(name, f"library.{key}", {"name": name, **values}))

    if not sayable(str(path)):
        name = _printable(name)
        return no("file_name")
    try:
        status = path.lstat()
    except FileNotFoundError:
        link = re.search(r"(?:^|/)https?:/", path.as_posix()) is not None
        return no("file_link" if link else "file_missing")
    except OSError:
        return no("file_unreadable")
    if stat.S_ISLNK(status.st_mode):
        return no("file_symlink")
    if not stat.S_ISREG(status.st_mode):
        return no("file_special")
    if suffix_of(path.name) not in kinds:
        fault = unread(name, kinds)
        refused.append(Refused(name, fault.key, {key: str(value) for key, value in fault.values.items()}))
        return None
    if status.st_size > max_bytes:
        return no("file_large", mb=megabytes(status.st_size), limit=max_bytes // 1_000_000)
    if status.st_size == 0:
        return no("file_empty")
    candidates.append(Candidate(name, str(path.absolute()), status.st_size))
    return None


def megabytes(size: int) -> str:
    """A size over a limit in megabytes, rounded up so that it reads as more than the limit."""
    return f"{-(-size // 100_000) / 10:g}"
