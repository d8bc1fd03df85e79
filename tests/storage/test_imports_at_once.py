"""The engine loads in a thread while the bot goes on: modules that both need must be imported before.

The test runs in a new process, because only there the libraries are not imported yet.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.fakes import migrated

ROOT = Path(__file__).resolve().parents[2]

BOTH = """
import asyncio, importlib, importlib.abc, sys, threading
from bot.runs.engine import Engine
from storage.db import Database

begun = threading.Event()

class Slow(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        begun.set()
        threading.Event().wait(0.5)  # by then the other thread holds a module that this one needs
        super().exec_module(module)

class Slowly(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "sqlalchemy.dialects.postgresql.asyncpg":
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec

def repository():
    from sqlalchemy.dialects.postgresql import insert
    begun.set()

async def main():
    database = await Database.open(sys.argv[1])
    sys.meta_path.insert(0, Slowly())
    importing = asyncio.create_task(asyncio.to_thread(repository))
    await asyncio.to_thread(begun.wait)
    engine = Engine("sqlite:///:memory:", None)
    engine.load()
    await asyncio.gather(importing, engine._loading)
    await database.close()

asyncio.run(main())
"""


def test_the_engine_loads_while_a_repository_is_imported(tmp_path: Path) -> None:
    url = migrated.database(tmp_path / "sutradhar.db")  # nothing is due, so nothing is imported for that
    done = subprocess.run(
        [sys.executable, "-c", BOTH, url], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
