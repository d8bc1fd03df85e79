"""The one file that knows the durable engine (DBOS): start, step, stream, status, purge.

Deliberately knows no work, no view and no table of ours: it runs a body by run id, keeps what
finished steps returned, and after a crash runs the body again with those values.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from bot import tracing
from bot.events import Author, Completion, OptionValue, Place, Request, UserError
from storage.db import SCRUB_MS, SCRUBS
from storage.faults import StorageFault, fault_of

if TYPE_CHECKING:
    from dbos import DBOS
    from pydantic import TypeAdapter
    from sqlalchemy import Engine as SqlEngine

T = TypeVar("T")

RECOVERIES = 20
"""A run that the end of a process has interrupted this often is given up."""

KEEP_DAYS = 30
"""Finished runs older than this are purged from the engine's own database at start."""

VERSION = "1"
"""Constant, so that a new release continues the runs of the last one; raise it when steps change shape."""


EXECUTOR = "embedded"
"""Constant, so that a process continues the runs of an earlier one on a machine of another name.
The caller of `launch` makes sure that no other process uses the database."""


class StepFailed(Exception):
    """What a step raised before a crash, as far as its text survived."""


class _Json:
    """DBOS's serializer protocol over JSON: nothing that is loaded back can run code, as pickle could."""

    def name(self) -> str:
        return "sutradhar_json"

    def serialize(self, data: Any) -> str:
        return json.dumps(data, ensure_ascii=False, default=_error_text)

    def deserialize(self, serialized_data: str) -> Any:
        data = json.loads(serialized_data)
        if isinstance(data, dict) and "__error__" in data:
            return StepFailed(data["__error__"])
        return data


def _error_text(value: object) -> dict[str, str]:
    if isinstance(value, BaseException):
        return {"__error__": f"{type(value).__name__}: {value}"}
    raise TypeError(f"{type(value).__name__} cannot be kept by the engine")


class Engine:
    """Durable runs in this process. One at a time: DBOS is a singleton of the process."""

    def __init__(
        self, url: str, body: Callable[[str], Awaitable[str]], *, busy_timeout_s: float = 30.0
    ) -> None:
        """`url` is SQLAlchemy's, sync: "sqlite:///…" or "postgresql+psycopg://…". `body` runs a run by id.

        `busy_timeout_s` bounds the wait for another process's lock. A full, locked or damaged SQLite file
        raises StorageFault from whatever was asked, never a driver's error.
        """
        self._url = url
        self._body = body
        self._busy_timeout_s = busy_timeout_s
        self._dbos: type[DBOS] | None = None
        self._workflow: Callable[[str], Any] | None = None
        self._sqlite: SqlEngine | None = None
        self._loading: asyncio.Future[tuple[type[DBOS], Any]] | None = None

    def load(self) -> None:
        """Start the slow imports in a thread, before `launch` needs them."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(asyncio.to_thread(self._configure))

    async def launch(self) -> None:
        """Open the engine's database; interrupted runs continue within about a second."""
        self.load()
        assert self._loading is not None
        loading, self._loading = self._loading, None
        dbos, config = await loading
        body = self._body

        async def run(run_id: str) -> str:
            return await body(run_id)

        self._workflow = dbos.workflow(name="run", max_recovery_attempts=RECOVERIES)(run)
        dbos(config=config)
        self._dbos = dbos
        try:
            # On the running loop, so that runs share it with the adapters (design: DBOS pitfall 4).
            dbos.launch()
        except StorageFault:
            await self.close()
            raise
        if not self._url.startswith("sqlite"):
            await self._adopt()

    async def _adopt(self) -> None:
        """Continue also the runs that earlier releases began on a server under their machine's name."""
        pending = await self._running.list_workflows_async(
            status="PENDING", load_input=False, load_output=False
        )
        if strays := [workflow.workflow_id for workflow in pending if workflow.executor_id != EXECUTOR]:
            await self._running.resume_workflows_async(strays)

    def _configure(self) -> tuple[type[DBOS], Any]:
        # DBOS logs to the console unless its logger already has a handler.
        logger = logging.getLogger("dbos")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
        from dbos import DBOS

        embedded = self._url.startswith("sqlite")
        config: dict[str, Any] = {
            "name": "sutradhar",
            "application_version": VERSION,
            "executor_id": EXECUTOR,
            "serializer": _Json(),
            "max_executor_threads": 16,
            "log_level": "WARNING",
            "enable_otlp": False,
            # How long `close` may wait for the listener; nothing here sends notifications.
            "notification_listener_polling_interval_sec": 0.2,
        }
        if embedded:
            config["system_database_url"] = self._url
            config["system_database_engine"] = self._sqlite = _sqlite_engine(self._url, self._busy_timeout_s)
        else:
            config["system_database_url"] = self._url
        return DBOS, config

    @property
    def _running(self) -> type[DBOS]:
        if self._dbos is None:
            raise RuntimeError("the engine has not been launched")
        return self._dbos

    async def start(self, run_id: str) -> None:
        """Start the run at once; a run id that was started before is not started again."""
        from dbos import SetWorkflowID

        assert self._dbos is not None
        assert self._workflow is not None
        with SetWorkflowID(run_id):
            await self._dbos.start_workflow_async(self._workflow, run_id)

    async def status(self, run_id: str) -> str | None:
        """None when never started; else "running", "ended", or "given up" after too many crashes."""
        workflow = await self._running.get_workflow_status_async(run_id)
        if workflow is None:
            return None
        if workflow.status in ("PENDING", "ENQUEUED", "DELAYED"):
            return "given up" if (workflow.recovery_attempts or 0) > RECOVERIES else "running"
        return "given up" if workflow.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED" else "ended"

    async def forget(self, *run_ids: str) -> None:
        """Delete what the steps of finished runs returned."""
        await self._running.delete_workflows_async(list(run_ids))

    async def scrub(self) -> None:
        """Remove deleted text from SQLite's write-ahead log; at a later call where readers block it now."""
        if self._sqlite is not None:
            await asyncio.to_thread(_checkpoint, self._sqlite)

    async def purge(self) -> int:
        """Forget finished runs older than KEEP_DAYS; returns how many."""
        before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - KEEP_DAYS * 86_400))
        old = await self._running.list_workflows_async(
            end_time=before,
            status=["SUCCESS", "ERROR", "CANCELLED"],
            limit=1000,
            load_input=False,
            load_output=False,
        )
        if old:
            await self._running.delete_workflows_async([workflow.workflow_id for workflow in old])
        return len(old)

    async def close(self) -> None:
        """Stop; runs that are still going continue at the next launch."""
        if self._dbos is not None:
            dbos, self._dbos = self._dbos, None
            loop = asyncio.get_running_loop()
            # DBOS put its own executor in the loop's place and is about to shut it down.
            loop.set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))
            await loop.run_in_executor(None, functools.partial(dbos.destroy, destroy_registry=True))


def _sqlite_engine(url: str, busy_timeout_s: float) -> SqlEngine:
    """SQLite in WAL mode: stock settings make each step five times slower."""
    from sqlalchemy import create_engine, event
    from sqlalchemy.engine import ExceptionContext

    engine = create_engine(url, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _record: object) -> None:
        busy = f"busy_timeout={int(busy_timeout_s * 1000)}"
        for pragma in (busy, "foreign_keys=ON", "journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}").close()
        if sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42):
            # DBOS calls unixepoch('subsec') there, which these versions of SQLite do not have.
            connection.create_function("unixepoch", 1, lambda _: time.time())

    @event.listens_for(engine, "handle_error")
    def _translated(context: ExceptionContext) -> None:
        # DBOS would retry a locked file for ever, while a person waits.
        fault = fault_of(context.original_exception)
        if fault.kind != "other":
            raise StorageFault(fault.kind, "the engine's database") from context.original_exception

    return engine


def _checkpoint(engine: SqlEngine) -> None:
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        ((busy_ms,),) = cursor.execute("PRAGMA busy_timeout").fetchall()
        cursor.execute(f"PRAGMA busy_timeout={SCRUB_MS}").fetchall()
        for _ in range(SCRUBS):  # writers wait meanwhile, and steps with them
            with suppress(sqlite3.Error):
                ((busy, *_rest),) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                if not busy:
                    break
        cursor.execute(f"PRAGMA busy_timeout={busy_ms}").fetchall()
        cursor.close()
    finally:
        connection.close()


Begin: TypeAlias = Callable[[Request, str], Coroutine[None, None, str]]
NewThread: TypeAlias = Callable[[Request, str, str], tuple[Place, str]]
"""The place and the origin of a new conversation, from a run's request, a child's key and a title. Raises UserError."""
Origin: TypeAlias = Callable[[Place], str]
"""The origin of a request to which no message belongs; "" where the platform has none."""


class DurableRun:
    """`bot.events.Run` on the engine; made inside the engine's body, once per execution."""

    def __init__(
        self,
        request: Request,
        begin: Begin,
        new_thread: NewThread,
        origin: Origin = lambda place: "",
        *,
        alone: bool = True,
        hides: bool = False,
    ) -> None:
        """`begin` starts a child of this run under a key, once, and returns the child's id."""
        self.alone = alone
        self.hides = hides
        self.id = request.id
        self.request = request
        self._begin = begin
        self._new_thread = new_thread
        self._origin = origin

    async def step(self, name: str, call: Callable[[], Awaitable[T]], of: type[T]) -> T:
        from dbos import DBOS

        adapter: TypeAdapter[T] = _adapter(cast("Hashable", of))
        called = False

        async def body() -> dict[str, Any]:
            nonlocal called
            called = True
            try:
                return {"value": adapter.dump_python(await call(), mode="json")}
            except UserError as error:
                return {"sorry": _sorry_to_json(error)}

        result = await DBOS.run_step_async({"name": name}, body)
        if not called:
            tracing.replayed(name)
        if "sorry" in result:
            raise _sorry_from_json(result["sorry"])
        return adapter.validate_python(result["value"])

    async def stream(
        self, name: str, call: Callable[[], AsyncGenerator[str | Completion, None]]
    ) -> AsyncGenerator[str | Completion, None]:
        from dbos import DBOS

        pieces: asyncio.Queue[str | asyncio.Future[dict[str, Any]]] = asyncio.Queue()
        called = False

        async def body() -> dict[str, Any]:
            nonlocal called
            called = True
            text: list[str] = []
            result: dict[str, Any] = {}
            try:
                async with aclosing(call()) as source:
                    async for piece in source:
                        if isinstance(piece, Completion):
                            result["completion"] = _adapter(Completion).dump_python(piece, mode="json")
                        else:
                            text.append(piece)
                            pieces.put_nowait(piece)
            except UserError as error:
                result["sorry"] = _sorry_to_json(error)
            return result | {"text": "".join(text)}

        task = asyncio.ensure_future(DBOS.run_step_async({"name": name}, body))
        task.add_done_callback(pieces.put_nowait)  # behind the last piece
        try:
            while isinstance(piece := await pieces.get(), str):
                yield piece
            result = await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        if not called:
            tracing.replayed(name)
            if result["text"]:
                yield result["text"]
        if "sorry" in result:
            raise _sorry_from_json(result["sorry"])
        if "completion" in result:
            yield _adapter(Completion).validate_python(result["completion"])

    async def begin(
        self,
        key: str,
        verb: str,
        *,
        text: str = "",
        options: Mapping[str, OptionValue] | None = None,
        line: str = "",
        thread_title: str = "",
        for_all: bool = False,
        there: Place | None = None,
    ) -> str:
        mine = self.request
        child = replace(
            mine, verb=verb, text=text, options=options or {}, files=(), line=line, parent=mine.id
        )
        if thread_title:
            place, origin = self._new_thread(mine, key, thread_title)
            child = replace(child, place=place, origin=origin)
        elif for_all:
            place = there or mine.place
            child = replace(child, place=place, author=Author("", ""), origin=self._origin(place))

        async def begun() -> str:
            # In a fresh context: in this run's it would be one of its steps, and be cancelled with it.
            return await asyncio.create_task(self._begin(child, key), context=Context())

        return await self.step(f"begin:{key}", begun, str)

    def new_thread(self, key: str, title: str) -> Place:
        return self._new_thread(self.request, key, title)[0]


@functools.cache
def _adapter(of: Hashable) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cast("Any", of))


def _sorry_to_json(error: UserError) -> dict[str, Any]:
    values = {
        name: v if isinstance(v, str | int | float | bool | None) else str(v)
        for name, v in error.values.items()
    }
    return {"key": error.key, "values": values}


def _sorry_from_json(stored: Mapping[str, Any]) -> UserError:
    return UserError(stored["key"], **stored["values"])
