"""The faults of a store: a few kinds instead of a hundred driver errors.

Knows no messages: the caller chooses one by the kind.
"""

from __future__ import annotations

import errno
from typing import Literal

FaultKind = Literal["full", "locked", "damaged", "missing", "newer", "files", "other"]

# Primary result codes: https://www.sqlite.org/rescode.html
_SQLITE: dict[int, FaultKind] = {5: "locked", 6: "locked", 11: "damaged", 13: "full", 26: "damaged"}
# SQLSTATE codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRES: dict[str, FaultKind] = {
    "53100": "full",
    "40001": "locked",
    "40P01": "locked",
    "55P03": "locked",
    "57014": "locked",
    "XX001": "damaged",
    "XX002": "damaged",
}


_AWAY = ("08", "57P01", "57P02", "57P03", "53300")
"""Connection failures, a server that ends or begins, and one whose connections are all in use."""


class StorageFault(Exception):
    """A store failed; nothing was half-written.

    `kind`: "full" (no space), "locked" (another process holds it), "damaged" (unreadable), "missing" (does not exist),
    "newer" (written by a later release), "files" (the file store is unreachable or refuses), "other" (unreachable,
    refused, a violated constraint). `away`: the database server was down, or the connection to it broke; a statement
    already sent may have been executed.
    """

    def __init__(self, kind: FaultKind, detail: str = "", *, away: bool = False) -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind: FaultKind = kind
        self.detail = detail
        self.away = away


def fault_of(error: BaseException) -> StorageFault:
    """The fault behind a driver's (or the operating system's) error."""
    detail = " ".join(str(error).split())[:500]
    cause: BaseException | None = error
    while cause is not None:
        code = getattr(cause, "sqlite_errorcode", None)
        if isinstance(code, int) and code & 0xFF in _SQLITE:
            return StorageFault(_SQLITE[code & 0xFF], detail)
        state = getattr(cause, "sqlstate", None)
        if isinstance(state, str) and state in _POSTGRES:
            return StorageFault(_POSTGRES[state], detail)
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return StorageFault("full", detail)
        if type(cause).__module__.startswith("psycopg") and _away(type(cause).__name__, state):
            return StorageFault("other", detail, away=True)
        cause = getattr(cause, "orig", None) or cause.__cause__
    return StorageFault("other", detail)


def _away(name: str, state: object) -> bool:
    """Whether a psycopg error means that the server is down; connection errors have no SQLSTATE."""
    if not isinstance(state, str):
        return name in ("OperationalError", "ConnectionTimeout", "InterfaceError")
    return state.startswith(_AWAY)
