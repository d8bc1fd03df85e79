"""Builds the statements of a class once in a process: this costs more than executing them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from storage.db import Database

Owner = TypeVar("Owner")


def prepared(build: Callable[[Owner, Database], None]) -> Callable[[Owner, Database], None]:
    """Call `build` for the first database of each kind only; later objects get the attributes that it has set.

    Therefore these may depend on nothing but the kind of database.
    """
    built: dict[bool, dict[str, Any]] = {}

    @wraps(build)
    def share(owner: Owner, db: Database) -> None:
        own = vars(owner)
        if (known := built.get(db.shared)) is None:
            before = set(own)
            build(owner, db)
            known = built[db.shared] = {name: value for name, value in own.items() if name not in before}
        own.update(known)

    return share
