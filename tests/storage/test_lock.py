"""Only one process at a time holds a data folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import storage
from storage.lock import StorageBusy, hold


def test_a_second_process_learns_who_holds_the_folder(tmp_path: Path) -> None:
    with hold(tmp_path / "data" / "lock"):
        with pytest.raises(StorageBusy) as caught:
            hold(tmp_path / "data" / "lock")
        assert caught.value.pid == os.getpid()
        assert str(os.getpid()) in str(caught.value)
    hold(tmp_path / "data" / "lock").release()


def test_a_killed_process_releases_the_folder(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from storage.lock import hold; "
        f"lock = hold(Path({str(tmp_path / 'lock')!r})); print('held', flush=True); sys.stdin.read()"
    )
    root = Path(storage.__file__).parent.parent
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StorageBusy) as caught:
            hold(tmp_path / "lock")
        assert caught.value.pid == other.pid
        other.kill()
        other.wait()
        hold(tmp_path / "lock").release()
