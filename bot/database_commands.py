"""The commands `db backup|restore|move|size`: they run `storage.copying` and `storage.disk_usage`, and print progress
and errors.

Nothing that is printed or raised here contains a URL's password.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bot import __version__
from bot.config.text import without_credentials
from bot.events import UserError
from bot.file_store import file_store, keeps_files
from bot.words import Words

if TYPE_CHECKING:
    from bot.config import Config
    from storage.copying.archive import Manifest
    from storage.disk_usage import DiskUsage

DELAY_S = 1.0
"""After how many seconds progress is shown."""

LINE_S = 5.0
"""How many seconds pass between two lines of progress if standard error is not a terminal."""


class Bar:
    """Shows progress on standard error: on one line of a terminal, or as a line from time to time."""

    def __init__(self, say: Words) -> None:
        self._say = say
        self._next = time.monotonic() + DELAY_S
        self._shown = False

    def __call__(self, what: str, done: int, whole: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        terminal = sys.stderr.isatty()
        self._next = now + (0.1 if terminal else LINE_S)
        line = self._say(f"db.progress_{what}", percent=100 * done // max(whole, 1))
        print(
            f"\r\x1b[2K{line}" if terminal else line,
            end="" if terminal else "\n",
            file=sys.stderr,
            flush=True,
        )
        self._shown = terminal

    def wipe(self) -> None:
        """Clear the terminal's line."""
        if self._shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def backup(config: Config, say: Words, file: Path) -> int:
    """Write a backup, also while the bot runs."""
    from bot.runs.engine_database import addresses
    from storage.copying import backup as copying

    with _reported(say, file) as progress:
        try:
            manifest = asyncio.run(
                copying.write(
                    addresses(config.storage.url, config.data_dir),
                    config.data_dir,
                    config.storage.chroma_url,
                    file,
                    __version__,
                    progress,
                    files=file_store(config),
                )
            )
        except FileExistsError:
            raise UserError("db.exists", file=file) from None
    print(say("db.backed_up", file=file, size=_size(file.stat().st_size), **_counts(manifest)))
    return 0


def restore(config: Config, say: Words, file: Path) -> int:
    """Restore a backup into an empty data folder and database."""
    from bot.runs.engine_database import addresses, prepare
    from storage.copying.archive import opened
    from storage.copying.restore import restore as restore_archive

    with _locked(config), _reported(say, file) as progress, opened(file) as archive:
        archive.verify(progress)
        target = addresses(config.storage.url, config.data_dir)
        files = file_store(config)
        asyncio.run(
            restore_archive(
                archive,
                target,
                config.data_dir,
                config.storage.chroma_url,
                prepare,
                progress,
                files=files if files.shared else None,
            )
        )
    counts = _counts(archive.manifest)
    print(say("db.restored", file=file, folder=config.data_dir, at=archive.manifest.made_at, **counts))
    return 0


def move(config: Config, say: Words, url: str) -> int:
    """Move the databases to `url`, and print the settings to change."""
    from bot.config.file import URLS
    from bot.runs.engine_database import addresses, prepare
    from storage.copying import MOVED, vectors_in_postgres
    from storage.copying.databases import without_password
    from storage.copying.move import move as move_databases
    from storage.copying.move import put_aside, set_aside

    starts = URLS["url"]
    if keeps_files(url):
        return _move_files(config, say, url)
    try:
        shown_url = without_password(url)
    except ValueError:
        shown_url = ""
    if not shown_url.startswith(starts):
        raise UserError("db.url", starts=", ".join(starts))
    source, target = (addresses(of, config.data_dir) for of in (config.storage.url, url))
    if without_password(source.storage) == without_password(target.storage):
        raise UserError("db.same", url=shown_url)
    folder = config.data_dir / "chroma"
    with _locked(config):
        with _reported(say, shown_url, url, config.storage.url or "") as progress:
            chroma = None if config.storage.chroma_url else folder
            filled = move_databases(source, target, prepare, progress, chroma)
            vectors = vectors_in_postgres.count_in(target)
        (config.data_dir / MOVED).write_text(without_password(target.storage), encoding="utf-8")
        old_files = set_aside(source)
        if vectors is not None and chroma is not None:
            old_files += put_aside(folder)
    rows = sum(shape.rows for shapes in filled.shapes.values() for shape in shapes.values())
    print(say("db.moved", n=rows, tables=sum(map(len, filled.shapes.values())), url=shown_url))
    print(f'\n[storage]\nurl = "{shown_url}"\n')
    if shown_url != url:
        print(say("db.password"))
    if vectors:
        print(say("db.moved_vectors", n=vectors))
    files = config.storage.files
    if files == "folder":
        print(say("db.moved_files", folder=config.data_dir))
    else:
        print(say("db.moved_beside", folder=config.data_dir, files=files))
    if old_files:
        print(say("db.moved_aside", names=", ".join(path.name for path in old_files)))
    return 0


def _move_files(config: Config, say: Words, url: str) -> int:
    """Copy the files of books and attachments to `url`, and print the settings to change."""
    from storage.copying.kept_files import copy

    source = config.storage.files
    shown_url = without_credentials(url)
    if url == source:
        raise UserError("db.same", url=shown_url)
    target = replace(config, storage=replace(config.storage, files=url))
    with _locked(config), _reported(say, shown_url) as progress:
        n = asyncio.run(copy(file_store(config), file_store(target), progress))
    print(say("db.copied_files", n=n, url=shown_url))
    print(f'\n[storage]\nfiles = "{shown_url}"\n')
    print(say("db.copied_left", where=config.data_dir if source == "folder" else source))
    return 0


def size(config: Config, say: Words, out: BinaryIO | None) -> int:
    """Print what takes up space, the largest first; on `out` as one line of JSON."""
    from bot.runs.engine_database import addresses
    from storage.disk_usage import disk_usage, file_store_usage

    with _reported(say, config.data_dir):
        usages = disk_usage(
            addresses(config.storage.url, config.data_dir), config.data_dir, config.models_dir
        )
        if config.storage.files != "folder":
            usages += asyncio.run(file_store_usage(file_store(config), config.storage.files))
            usages.sort(key=lambda usage: (-usage.bytes, usage.name))
    if out is not None:
        with out:
            report = {
                "bytes": sum(usage.bytes for usage in usages),
                "parts": [_record(usage) for usage in usages],
            }
            out.write(json.dumps(report, ensure_ascii=False).encode() + b"\n")
        return 0
    empty = [usage for usage in usages if usage.rows == 0]
    lines = [(usage.name, say(f"db.kind_{usage.kind}"), usage.rows, usage.bytes) for usage in usages]
    lines = [line for line in lines if line[2] != 0 and line[3]]
    if empty:
        lines.append((say("db.empty", n=len(empty)), "", None, sum(usage.bytes for usage in empty)))
    width = max((len(name) for name, *_ in lines), default=0)
    kinds = max((len(kind) for _, kind, *_ in lines), default=0)
    for name, kind, rows, bytes_used in lines:
        count = "" if rows is None else f"{rows:,}"
        print(f"{_size(bytes_used):>10}  {kind:<{kinds}}  {name:<{width}}  {count:>12}".rstrip())
    print(f"{_size(sum(usage.bytes for usage in usages)):>10}  {say('db.whole')}")
    return 0


def _record(usage: DiskUsage) -> dict[str, object]:
    record: dict[str, object] = {"kind": usage.kind, "name": usage.name, "bytes": usage.bytes}
    return record if usage.rows is None else record | {"rows": usage.rows}


def _counts(manifest: Manifest) -> dict[str, int]:
    """The numbers of rows, vectors and files in a backup."""
    files = [name for name in manifest.members if name.startswith("files/")]
    rows = sum(shape["rows"] for shapes in manifest.shapes.values() for shape in shapes.values())
    vectors = sum(manifest.members[of["member"]]["rows"] for of in manifest.vectors)
    return {"n": rows, "vectors": vectors, "files": len(files)}


def _size(n: int) -> str:
    """A number of bytes in kB or MB."""
    return f"{n / 1000:,.0f} kB" if n < 1_000_000 else f"{n / 1_000_000:,.1f} MB"


@contextmanager
def _locked(config: Config) -> Iterator[None]:
    """Lock the data folder, as a running bot does."""
    from bot.resources import locked

    lock = asyncio.run(locked(config))
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _reported(say: Words, what: object, *urls: str) -> Iterator[Bar]:
    """Show progress, and turn faults into messages without the passwords of `urls`, whatever a driver's error
    contains.
    """
    from storage.advisory_locks import DatabaseBusy
    from storage.copying.databases import passwords
    from storage.copying.restore import Occupied
    from storage.faults import StorageFault

    bar = Bar(say)
    try:
        yield bar
    except DatabaseBusy as busy:
        raise UserError("storage.busy_database", machine=busy.machine or "?") from None
    except Occupied as occupied:
        key = "db.occupied" if occupied.name else "db.occupied_server"
        raise UserError(key, what=occupied.name) from None
    except StorageFault as fault:
        reason = fault.detail
        for password in passwords(*urls):
            reason = reason.replace(password, "***")
        raise UserError(f"db.fault_{fault.kind}", what=what, reason=reason) from None
    finally:
        bar.wipe()
