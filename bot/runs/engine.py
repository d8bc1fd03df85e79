"""Runs bodies in the durable engine (DBOS): start, status, lines across processes, purge.

Knows no work, no view and none of our tables: it runs a body by run id, and after a crash runs it again with the stored
results of its steps.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.runs.durable_run import Json
from bot.runs.engine_database import checkpoint, keep_quiet, prepare, server_engine, sqlite_engine
from storage.db import close_when_returned
from storage.faults import StorageFault
from storage.patience import patient_in_a_run

if TYPE_CHECKING:
    from dbos import DBOS, WorkflowStatus
    from sqlalchemy import Engine as SqlEngine

    from storage.lease import Lease

RECOVERIES = 20
"""How often a run may be interrupted by the end of a process before it is given up."""

KEEP_DAYS = 30
"""After how many days finished runs are purged from the engine's own database, at each start."""

VERSION = "1"
"""The application version for DBOS. Constant, so that a new release continues the runs of the last one; raise it when
steps change shape.
"""

EXECUTOR = "embedded"
"""The executor id for DBOS. Constant, so that a process continues the runs of an earlier one even if the machine's name
has changed. Processes that share a database are told apart by their leases."""

POLL_S = 0.1
"""Seconds between two looks for runs whose turn has come, if several processes share a database; a look takes two
transactions.
"""

SELDOM_S = 0.5
"""The same for runs that nobody waits for, and for runs of a process that has ended."""

UNUSED_S, ALONE_S = 1.0, 30.0
"""Seconds between DBOS's searches for delayed runs, deadlines and schedules, which we do not use: with a shared
database, where it keeps a transaction open in between, and without.
"""

STARTED_S = 5.0
"""How many seconds a turn waits until an earlier run of its line is started by the process that received it."""

_TURN = "turn:"
"""The prefix of the id of a run's turn in its line; the rest is the run's id."""


@dataclass(frozen=True, slots=True)
class Going:
    """A run in progress: its workflow id in the engine, its run id, and the process that began it."""

    id: str
    run: str
    process: str


class Engine:
    """Durable runs in this process. Only one engine at a time: DBOS is a singleton of the process."""

    def __init__(
        self,
        url: str,
        body: Callable[[str], Awaitable[str]],
        *,
        busy_timeout_s: float = 30.0,
        lease: Lease | None = None,
        earlier: Callable[[str], Awaitable[Sequence[str]]] | None = None,
        answered: Callable[[str], Awaitable[object]] | None = None,
    ) -> None:
        """`url` is SQLAlchemy's, sync: "sqlite:///…" or "postgresql+psycopg://…". `body` runs a run by id.

        `busy_timeout_s` bounds the wait for another process's lock. A full, locked or damaged SQLite file raises
        StorageFault from whatever was asked, never a driver's error. With a `lease`, other processes share the
        database: runs then wait in the engine's lines, `earlier` returns the runs before one in its line that have not
        begun, and `answered` waits until the next run of a line may begin.
        """
        self._url = url
        self._body = body
        self._lease = lease
        self._earlier = earlier
        self._answered = answered
        self._turn: Callable[[str], Any] | None = None
        self._routes: set[str] = set()
        """The routes whose runs this process executes."""
        self._busy_timeout_s = busy_timeout_s
        self._dbos: type[DBOS] | None = None
        self._workflow: Callable[[str], Any] | None = None
        self._sqlite: SqlEngine | None = None
        self._server: SqlEngine | None = None
        self._loading: asyncio.Future[tuple[type[DBOS], Any]] | None = None

    def load(self) -> None:
        """Start the slow imports in a thread, before `launch` needs them."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(asyncio.to_thread(self._configure))

    async def launch(self, routes: Collection[str] = (), patient: Collection[str] = ()) -> None:
        """Open the engine's database; interrupted runs continue within about a second.

        If other processes share it, this one takes runs of these `routes`, and later of others: see `listen`. The
        `patient` routes are those for whose runs nobody waits.
        """
        self.load()
        assert self._loading is not None
        loading, self._loading = self._loading, None
        dbos, config = await loading
        body = self._body

        async def run(run_id: str) -> str:
            return await body(run_id)

        async def turn(run_id: str) -> None:
            assert self._earlier is not None
            assert self._answered is not None
            patient_in_a_run()
            # An earlier request may join the line later, if its process was slow or has died.
            for run in (*await self._earlier(run_id), run_id):
                if run != run_id:
                    await self._wait_until_started(run)
                # In a fresh context: it is no part of this one.
                await asyncio.create_task(self.begin(run), context=Context())
                await wait_for_answer(self._answered, run)

        self._workflow = dbos.workflow(name="run", max_recovery_attempts=RECOVERIES)(run)
        self._turn = dbos.workflow(name="turn", max_recovery_attempts=RECOVERIES)(turn)
        dbos(config=config)
        self._dbos = dbos
        if self._lease is not None:
            # In a thread, because a new index waits for the transactions of this loop, which must be able to end them.
            await asyncio.to_thread(prepare, self._url)
            dbos.listen_queues([])
        try:
            # On the running loop, so that runs share it with the adapters.
            dbos.launch()
        except StorageFault:
            await self.close()
            raise
        if self._lease is None:
            await self._adopt()
            return
        self._end_unlistened_threads()
        for route in routes:
            await self.listen(route, seldom=route in patient)

    async def _adopt(self) -> None:
        """Also continue runs that other processes left in the database when they still shared it with this one."""
        if strays := [going.id for going in await self.going() if going.process != EXECUTOR]:
            await self._running.resume_workflows_async(strays)

    async def listen(self, route: str, *, seldom: bool = False) -> None:
        """Take runs of this route from now on; `seldom` looks for them less often."""
        await self._running.register_queue_async(
            _line_queue(route), partition_concurrency=1, polling_interval_sec=SELDOM_S if seldom else POLL_S
        )
        await self._running.register_queue_async(_recovery_queue(route), polling_interval_sec=SELDOM_S)
        self._routes.add(route)
        self._listen()

    def unlisten(self, route: str) -> None:
        """Take no more runs of this route; runs that this process executes continue to their end."""
        self._routes.discard(route)
        self._listen()

    def _listen(self) -> None:
        from dbos._dbos import _get_dbos_instance

        # The engine reads this every second, and offers no way to add to it.
        _get_dbos_instance()._listening_queues = [
            queue for route in sorted(self._routes) for queue in (_line_queue(route), _recovery_queue(route))
        ]

    def _end_unlistened_threads(self) -> None:
        """End the threads of queues that are no longer listened to, as if their queues were deleted."""
        from dbos._dbos import _get_dbos_instance

        engine = _get_dbos_instance()
        system = engine._sys_db
        get_queue = system.get_queue

        def get_queue_listened_to(name: str, **more: Any) -> Any:
            unlistened = name not in (engine._listening_queues or ())
            if unlistened and threading.current_thread().name == f"queue-worker-{name}":
                return None
            return get_queue(name, **more)

        system.get_queue = get_queue_listened_to  # type: ignore[method-assign]

    async def move_waiting(self, platform: str, route: Callable[[str], Awaitable[str | None]]) -> None:
        """Move waiting runs between the platform's queues; `route` returns a run's route, or None if unknown.

        For a start with a different number of parts than before, while no other process serves any.
        """
        for workflow in await self._list(status="ENQUEUED"):
            kind, separator, part = (workflow.queue_name or "").partition(f"-{platform}")
            if not separator or kind not in (_LINES, _TAKEN_OVER) or not (part == "" or part.startswith(".")):
                continue
            should_be = await route(workflow.workflow_id.removeprefix(_TURN))
            if should_be is not None and should_be != platform + part:
                await self._running.resume_workflows_async(
                    [workflow.workflow_id], queue_name=f"{kind}-{should_be}"
                )

    async def going(self) -> list[Going]:
        """The runs that any process executes, or was executing when it ended."""
        pending = await self._list(status="PENDING")
        ids = [(workflow.workflow_id, workflow.executor_id or "") for workflow in pending]
        return [Going(id, id.removeprefix(_TURN), process) for id, process in ids]

    async def take_over(self, going: Going, route: str) -> None:
        """Let a process that serves the route continue a run whose process has ended. Calling it again has no
        effect.
        """
        from dbos._dbos import _get_dbos_instance

        system = _get_dbos_instance()._sys_db
        await asyncio.to_thread(
            system.reenqueue_for_recovery, going.id, [going.process], _recovery_queue(route)
        )

    def _configure(self) -> tuple[type[DBOS], Any]:
        keep_quiet()
        from dbos import DBOS, _scheduler, _workflow_commands

        seldom = ALONE_S if self._lease is None else UNUSED_S
        _workflow_commands._BACKGROUND_JOBS_INTERVAL_SEC = _scheduler._STARTUP_FAST_POLL_INTERVAL_SEC = seldom
        own: SqlEngine | None = None
        if self._url.startswith("sqlite"):
            own = self._sqlite = sqlite_engine(self._url, self._busy_timeout_s)
        elif self._lease is not None:
            own = self._server = server_engine(self._url, self._lease)
        config: dict[str, Any] = {
            "name": "sutradhar",
            "system_database_url": self._url,
            "system_database_engine": own,
            # With a lease, `launch` has migrated in a thread already.
            "run_migrations": self._lease is None,
            "application_version": VERSION,
            "executor_id": self._lease.id if self._lease is not None else EXECUTOR,
            "serializer": Json(),
            "max_executor_threads": 16,
            "log_level": "WARNING",
            "enable_otlp": False,
            # How long `close` may wait for the listener; nothing here sends notifications.
            "notification_listener_polling_interval_sec": 0.2,
        }
        return DBOS, config

    @property
    def _running(self) -> type[DBOS]:
        if self._dbos is None:
            raise RuntimeError("the engine has not been launched")
        return self._dbos

    async def _list(self, **which: Any) -> list[WorkflowStatus]:
        """The workflows, without their inputs and results."""
        return await self._running.list_workflows_async(**which, load_input=False, load_output=False)

    async def start(self, run_id: str, route: str = "", line: str = "", number: int = 0) -> None:
        """Start the run here or in a process that serves the route, unless it was started before.

        With a `line`, it begins when the runs with lower numbers in that line are answered.
        """
        from dbos import SetEnqueueOptions, SetWorkflowID

        assert self._dbos is not None
        assert self._workflow is not None
        assert self._turn is not None
        if line and self._lease is not None:
            with (
                SetWorkflowID(_TURN + run_id),
                SetEnqueueOptions(priority=number, queue_partition_key=line),
            ):
                await self._dbos.enqueue_workflow_async(_line_queue(route), self._turn, run_id)
            return
        if self._lease is not None and route not in self._routes:
            with SetWorkflowID(run_id):
                await self._dbos.enqueue_workflow_async(_recovery_queue(route), self._workflow, run_id)
            return
        await self.begin(run_id)

    async def _wait_until_started(self, run_id: str) -> None:
        """Wait until the process that received the run has started it, but not for one that has died."""
        ends = time.monotonic() + STARTED_S
        while await self.status(run_id) is None and time.monotonic() < ends:  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)

    async def begin(self, run_id: str) -> None:
        """Start the run in this process; a run id that was started before is not started again."""
        from dbos import SetWorkflowID

        assert self._dbos is not None
        assert self._workflow is not None
        with SetWorkflowID(run_id):
            await self._dbos.start_workflow_async(self._workflow, run_id)

    async def status(self, run_id: str) -> str | None:
        """None when never started; else "running", "ended", or "given up" after too many crashes."""
        return (await self.statuses(run_id)).get(run_id)

    async def statuses(self, *run_ids: str) -> dict[str, str]:
        """The `status` of the runs that were started, in one query."""
        if not run_ids:
            return {}
        turns = [_TURN + run for run in run_ids] if self._lease is not None else []
        query = self._list(workflow_ids=[*run_ids, *turns])
        # In a fresh context: in a run's own it would be one of its steps.
        workflows = await asyncio.create_task(query, context=Context())
        # A run's own status replaces that of its turn.
        turns_first = sorted(workflows, key=lambda workflow: not workflow.workflow_id.startswith(_TURN))
        return {workflow.workflow_id.removeprefix(_TURN): _status(workflow) for workflow in turns_first}

    async def forget(self, *run_ids: str) -> None:
        """Delete the stored results of finished runs."""
        turns = [_TURN + run for run in run_ids] if self._lease is not None else []
        await self._running.delete_workflows_async([*run_ids, *turns])

    async def scrub(self) -> None:
        """Remove deleted text from SQLite's write-ahead log. If readers block this, a later call does it."""
        if self._sqlite is not None:
            await asyncio.to_thread(checkpoint, self._sqlite)

    async def purge(self) -> int:
        """Delete finished runs older than KEEP_DAYS; returns how many."""
        before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - KEEP_DAYS * 86_400))
        old = await self._list(end_time=before, status=["SUCCESS", "ERROR", "CANCELLED"], limit=1000)
        if old:
            await self._running.delete_workflows_async([workflow.workflow_id for workflow in old])
        return len(old)

    async def close(self) -> None:
        """Stop the engine; unfinished runs continue at the next launch."""
        if self._dbos is not None:
            dbos, self._dbos = self._dbos, None
            loop = asyncio.get_running_loop()
            # DBOS replaced the loop's executor with its own and is about to shut that down.
            loop.set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))
            await loop.run_in_executor(None, functools.partial(dbos.destroy, destroy_registry=True))
            if self._server is not None:  # it is ours, so DBOS leaves its connections open
                close_when_returned(self._server)
                await loop.run_in_executor(None, self._server.dispose)


def _status(workflow: WorkflowStatus) -> str:
    if workflow.status in ("PENDING", "ENQUEUED", "DELAYED"):
        return "given up" if (workflow.recovery_attempts or 0) > RECOVERIES else "running"
    return "given up" if workflow.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED" else "ended"


async def wait_for_answer(answered: Callable[[str], Awaitable[object]], run_id: str) -> None:
    """Wait for the run's answer, even while the database is down; then the next run of its line begins."""
    patient_in_a_run()
    await answered(run_id)


_LINES, _TAKEN_OVER = "lines", "taken-over"


def _line_queue(route: str) -> str:
    """The queue of the route's runs that wait in lines."""
    return f"{_LINES}-{route}"


def _recovery_queue(route: str) -> str:
    """The queue of the route's runs whose process has ended."""
    return f"{_TAKEN_OVER}-{route}"
