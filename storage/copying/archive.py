"""A backup: one zip file of rows, vectors and files, with a manifest of their numbers and digests.

The format is the same for both kinds of database. Knows no table.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from storage.copying.databases import PARTS, Databases, Part
from storage.copying.rows import Row, Shape, compact
from storage.faults import StorageFault, fault_of

FORMAT = 1
"""The format's number; raise it if earlier releases can no longer read a backup."""

MANIFEST = "manifest.json"
CHUNK = 1 << 20

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, the number of items done, and their total."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in the backup. `rows` is None for a file that is stored unchanged."""

    size: int
    sha256: str
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class VectorsMember:
    """The space, shelf and embedder of a member's vectors."""

    member: str
    space: str
    shelf: str
    embedder: str


@dataclass(slots=True)
class Manifest:
    """The table of contents of a backup. `release` and `made_at` are only for display."""

    release: str
    made_at: str
    versions: dict[str, str]
    shapes: dict[str, dict[str, Any]] = field(default_factory=dict)
    vectors: list[dict[str, str]] = field(default_factory=list)
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    format: int = FORMAT


class Writer:
    """Writes a backup, one member after another; the `manifest` last."""

    def __init__(self, zipped: zipfile.ZipFile, manifest: Manifest) -> None:
        self._zip = zipped
        self.manifest = manifest

    def rows(self, member: str, rows: Iterator[Row]) -> int:
        """Write rows, one per line; returns how many."""
        n = 0
        with self._begun(member) as put:
            for row in rows:
                put(compact(row).encode() + b"\n")
                n += 1
        self.manifest.members[member]["rows"] = n
        return n

    def file(self, member: str, path: Path) -> bool:
        """Write a file; False if it no longer exists."""
        try:
            opened = path.open("rb")
        except FileNotFoundError:
            return False
        with opened, self._begun(member) as put:
            while data := opened.read(CHUNK):
                put(data)
        return True

    def finish(self) -> None:
        with self._zip.open(_info(MANIFEST), "w") as opened:
            opened.write(json.dumps(asdict(self.manifest), ensure_ascii=False, indent=1).encode())

    @contextmanager
    def _begun(self, member: str) -> Iterator[Callable[[bytes], None]]:
        digest, size = hashlib.sha256(), 0
        with self._zip.open(_info(member), "w", force_zip64=True) as opened:

            def put(data: bytes) -> None:
                nonlocal size
                size += len(data)
                digest.update(data)
                opened.write(data)

            yield put
        self.manifest.members[member] = asdict(Member(size, digest.hexdigest()))


@contextmanager
def create(target: Path, manifest: Manifest) -> Iterator[Writer]:
    """Write a backup to `target`, which appears only when it is complete. Other users of this machine cannot read it.

    Raises FileExistsError if `target` exists, StorageFault if the disk is full.
    """
    if os.path.lexists(target):
        raise FileExistsError(target)
    handle, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            with zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as zipped:
                writer = Writer(zipped, manifest)
                yield writer
                writer.finish()
            opened.flush()
            os.fsync(opened.fileno())
        try:
            os.link(name, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if os.path.lexists(target):
                raise FileExistsError(target) from None
            Path(name).replace(target)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


class Archive:
    """A backup to read; a `Source`. Raises StorageFault ("damaged" or "newer") if it cannot be used."""

    def __init__(self, zipped: zipfile.ZipFile) -> None:
        self._zip = zipped
        try:
            manifest = json.loads(zipped.read(MANIFEST))
            if manifest["format"] > FORMAT:
                raise StorageFault("newer", f"format {manifest['format']}")
            self.manifest = Manifest(**manifest)
            self.versions: Mapping[Part, str] = {
                part: str(manifest["versions"][part]) for part in PARTS if part in manifest["versions"]
            }
            self.shapes: Mapping[Part, Mapping[str, Shape]] = {
                part: {name: Shape(**shape) for name, shape in manifest["shapes"][part].items()}
                for part in self.versions
            }
            self.members = {name: Member(**member) for name, member in manifest["members"].items()}
            self.vectors = [VectorsMember(**vectors) for vectors in manifest["vectors"]]
        except (KeyError, TypeError, ValueError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
            raise StorageFault("damaged", "the manifest") from error
        for name in self.files:
            if name.is_absolute() or ".." in name.parts or "\\" in str(name) or ":" in str(name):
                raise StorageFault("damaged", str(name))

    @property
    def files(self) -> list[PurePosixPath]:
        """The paths of the files in the data folder."""
        names = map(PurePosixPath, self.members)
        return [name.relative_to("files") for name in names if name.parts[0] == "files"]

    @property
    def size(self) -> int:
        return sum(member.size for member in self.members.values())

    def verify(self, progress: Progress) -> None:
        """Read the whole backup, and compare it with the manifest. Raises StorageFault ("damaged")."""
        if sorted([*self.members, MANIFEST]) != sorted(self._zip.namelist()):
            raise StorageFault("damaged", "its list of files")
        done = 0
        for name, member in self.members.items():
            digest, size = hashlib.sha256(), 0
            for data in self._chunks(name):
                digest.update(data)
                size += len(data)
                progress("verifying", done + size, self.size)
            done += size
            if (size, digest.hexdigest()) != (member.size, member.sha256):
                raise StorageFault("damaged", name)

    def rows(self, part: Part, table: str) -> Generator[Row, None, None]:
        return self.lines(row_member(part, table))

    def lines(self, member: str) -> Generator[Any, None, None]:
        with self._zip.open(member) as opened:
            for line in opened:
                yield json.loads(line)

    def unpack(self, file: PurePosixPath, to: Path) -> None:
        """Extract a file of the data folder, creating its folders."""
        to.parent.mkdir(parents=True, exist_ok=True)
        with to.open("wb") as opened:
            for data in self._chunks(f"files/{file}"):
                opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())

    def _chunks(self, member: str) -> Iterator[bytes]:
        try:
            with self._zip.open(member) as opened:
                while data := opened.read(CHUNK):
                    yield data
        except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
            raise StorageFault("damaged", member) from error


@contextmanager
def opened(file: Path) -> Iterator[Archive]:
    """Open a backup for reading. Raises StorageFault."""
    try:
        zipped = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise StorageFault("damaged", file.name) from error
    except FileNotFoundError as error:
        raise StorageFault("missing", file.name) from error
    except OSError as error:
        raise fault_of(error) from error
    with zipped:
        yield Archive(zipped)


def row_member(part: Part, table: str) -> str:
    return f"{part}/{table}.jsonl"


def shapes_of(databases: Databases) -> dict[str, dict[str, Any]]:
    """The shapes of all tables, in the form of a manifest."""
    return {
        part: {name: asdict(shape) for name, shape in shapes.items()}
        for part, shapes in databases.shapes.items()
    }


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    info._compresslevel = 3  # type: ignore[attr-defined]
    info.external_attr = 0o600 << 16
    return info
