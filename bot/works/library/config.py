"""What config.toml's [library] says: which folders are watched, and how large a file may be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.config.settings import within


@dataclass(frozen=True, slots=True)
class LibraryConfig:
    """Folders that are kept in step with the library of a space, and how large one file may be (megabytes)."""

    watch: tuple[Path, ...] = ()
    watch_space: str = "local"
    max_mb: int = within(20, 1, 1_000)

    @property
    def max_bytes(self) -> int:
        return self.max_mb * 1_000_000
