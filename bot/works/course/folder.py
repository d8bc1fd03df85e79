"""A folder of lessons as one file: a zip of its files, so that it is stored, read and replaced as one.

`readers.bundle`, which reads it, decides the order of the files and their titles.
"""

from __future__ import annotations

import asyncio
import json
import warnings
import zipfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from bot.readers.bundle import CONFIGS, OPTIONS
from bot.retrieval.files import Candidate

Read: TypeAlias = "Callable[[str], Awaitable[bytes]]"
"""The bytes of a Candidate's file, by its path. Raises UserError."""

_MOMENT: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every member, so that equal contents give an equal file."""


async def pack(
    root: Path, files: Sequence[Candidate], options: Mapping[str, str], target: Path, read: Read
) -> int:
    """Write the folder's files and the command's options to `target`. Returns its size in bytes.

    Raises UserError for a file that is gone.
    """

    def configs() -> list[tuple[str, str]]:
        paths = [(config, root / config) for config in CONFIGS if root.is_dir()]
        return [(config, str(path)) for config, path in paths if path.is_file() and not path.is_symlink()]

    lessons = [(_within(root, file.name), file.path) for file in files]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in (*lessons, *await asyncio.to_thread(configs)):
            await asyncio.to_thread(_write, archive, name, await read(path))
        if options:
            _write(archive, OPTIONS, json.dumps(dict(options), sort_keys=True).encode())
    return (await asyncio.to_thread(target.stat)).st_size


def add_options(data: bytes, options: Mapping[str, str], target: Path) -> int:
    """Write an existing zip with the command's options added to `target`. Returns its size in bytes. Blocking."""
    target.write_bytes(data)
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a duplicate name: the last file counts
        _write(archive, OPTIONS, json.dumps(dict(options), sort_keys=True).encode())
    return target.stat().st_size


def _write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _MOMENT), data, zipfile.ZIP_DEFLATED)


def _within(root: Path, name: str) -> str:
    """A file's name below the folder."""
    parts = PurePosixPath(name).parts
    return "/".join(parts[1:] if len(parts) > 1 and parts[0] == root.name else parts)
