"""`models list|pull|path`: what bot.models knows, shown; the progress bar goes to standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot import models as files

if TYPE_CHECKING:
    from bot.config import Config


def models(config: Config, verb: str, names: Sequence[str]) -> int:
    """Run one of the three; 0, or Sorry is raised ("models.…")."""
    folder = config.models_dir
    if verb == "list":
        for model in files.MODELS.values():
            mark = "✓" if files.present(folder, model.name) else "–"
            print(f"{mark} {model.name}  {model.size / 1e6:.0f} MB  {model.licence}  {model.wheel}")
    elif verb == "path":
        for name in names:
            print(files.path(folder, name))
        if not names:
            print(folder)
    else:
        wanted = tuple(names) or files.needed(*config.wants)
        files.pull(folder, wanted, progress=files.bar(sys.stderr))
    return 0
