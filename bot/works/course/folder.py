"""A folder of lessons as one file: a zip of its files, so that it is kept, read and replaced as one.

Which file comes first and what its title is, is for `readers.bundle`, which reads it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

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


def _write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _MOMENT), data, zipfile.ZIP_DEFLATED)


def _within(root: Path, name: str) -> str:
    """A file's name below the folder."""
    parts = PurePosixPath(name).parts
    return "/".join(parts[1:] if len(parts) > 1 and parts[0] == root.name else parts)
