"""Only its owner can read a data folder; other programs' files in it are left alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from storage.permissions import exposed, restrict

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="its files have no such rights")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def made(folder: Path, *names: str) -> Path:
    """A folder as an earlier release left it, with files and (names without a dot) folders in it."""
    folder.mkdir()
    for name in names:
        if "." in name:
            (folder / name).write_text("secret")
        else:
            (folder / name).mkdir()
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def test_permissions_that_an_earlier_release_left_open_are_tightened(tmp_path: Path) -> None:
    data = made(tmp_path / "data", "sutradhar.db", "engine.db", "originals", "chroma", "models")
    assert exposed(data) == ["chroma", "engine.db", "originals", "sutradhar.db"]
    restrict(data)
    assert exposed(data) == []
    assert mode(data) == mode(data / "originals") == 0o700
    assert mode(data / "sutradhar.db") == 0o600
    assert mode(data / "models") == 0o755


def test_only_our_files_in_a_shared_folder_are_closed(tmp_path: Path) -> None:
    shared = made(tmp_path / "shared", "sutradhar.db", "letter.txt")
    (shared / "chroma").symlink_to(tmp_path)
    outside = mode(tmp_path)
    restrict(shared)
    assert (mode(shared), mode(shared / "letter.txt"), mode(tmp_path)) == (0o755, 0o644, outside)
    assert (mode(shared / "sutradhar.db"), exposed(shared)) == (0o600, [])


def test_new_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = [sys.executable, "-m", "bot", "--data", str(data), "chat", "--json"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("SUTRADHAR_")}
    subprocess.run(
        command, input=b"/sessions list\n", cwd=ROOT, capture_output=True, check=True, umask=0o022, env=env
    )
    found = {path.relative_to(data).as_posix(): mode(path) for path in (data, *data.rglob("*"))}
    assert {"sutradhar.db", "engine.db", "sutradhar.log"} <= found.keys()
    assert {name: hex for name, hex in found.items() if hex & 0o077} == {}
