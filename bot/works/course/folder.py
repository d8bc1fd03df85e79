"""A folder of lessons as one file: a zip of its files, so that it is kept, read and replaced as one.

Which file comes first and what its title is, is for `readers.bundle`, which reads it.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from bot.events import UserError
from bot.readers.archive import Archive
from bot.readers.bundle import CONFIGS, OPTIONS
from bot.retrieval.files import Candidate, read_whole

_MOMENT: Final = (1980, 1, 1, 0, 0, 0)
"""Of every member: what has the same contents is the same file."""


def pack(
    root: Path, files: Sequence[Candidate], options: Mapping[str, str], target: Path, max_bytes: int
) -> int:
    """Write the folder's files and the command's options to `target`. Returns its size in bytes. Blocking.

    Raises UserError for a file that is gone.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            _write(archive, _within(root, file.name), read_whole(file.path, max_bytes))
        for config in CONFIGS:
            if root.is_dir() and (path := root / config).is_file() and not path.is_symlink():
                _write(archive, config, read_whole(str(path), max_bytes))
        if options:
            _write(archive, OPTIONS, json.dumps(dict(options), sort_keys=True).encode())
    return target.stat().st_size


def named_zip(file: Candidate, options: Mapping[str, str], target: Path, max_bytes: int) -> tuple[str, int]:
    """The path and the size of a zip that somebody made, with the command's options in it if there are any. Blocking.

    Nothing of it is unpacked; a broken one stays as it is, for the reader to refuse.
    """
    if not options:
        return file.path, file.size
    try:
        data = read_whole(file.path, max_bytes)
        Archive(file.name, data)
    except UserError:
        return file.path, file.size
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there already: the last one counts
        _write(archive, OPTIONS, json.dumps(dict(options), sort_keys=True).encode())
    return str(target), target.stat().st_size


def _write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _MOMENT), data, zipfile.ZIP_DEFLATED)


def _within(root: Path, name: str) -> str:
    """A file's name below the folder."""
    parts = PurePosixPath(name).parts
    return "/".join(parts[1:] if len(parts) > 1 and parts[0] == root.name else parts)
