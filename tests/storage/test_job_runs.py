"""A job and its run: which jobs still go on, and how the others ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from storage.db import Database
from storage.inbox import Inbox, InboxState, NewRequest
from storage.jobs import Jobs


async def received(inbox: Inbox, id: str, verb: str = "add", space: str = "local") -> None:
    await inbox.receive(
        [NewRequest(id, "terminal", space, "c", "t", "ana", "library", verb, ordered=True, payload="{}")]
    )


async def test_unfinished_runs_are_listed_in_order_for_their_space_only(db: Database) -> None:
    inbox, jobs = Inbox(db), Jobs(db)
    for id, verb in (("b", "add"), ("a", "reindex"), ("over", "add"), ("look", "jobs")):
        await received(inbox, id, verb)
    await received(inbox, "theirs", space="other")
    await inbox.set_states({"b": "running", "over": "stopped"})
    runs = await jobs.runs("local", (("library", "add"), ("library", "reindex")))
    assert [(run.id, run.kind, run.author_id) for run in runs] == [
        ("b", "add", "ana"),
        ("a", "reindex", "ana"),
    ]
    assert [run.id for run in await jobs.runs("other", (("library", "add"),))] == ["theirs"]


ENDS: tuple[tuple[str, InboxState, str], ...] = (
    ("running", "running", "running"),
    ("stopped", "running", "running"),  # the process left in the middle
    ("running", "stopped", "stopped"),  # and nobody ever took it up again
    ("done", "running", "done"),  # one shelf of a reindex, while others follow
    ("done", "stopped", "done"),
    ("failed", "done", "failed"),
    ("running", "failed", "failed"),
)
"""The state that a job noted, that of its run, and what that comes to."""


async def test_a_jobs_state_depends_on_its_runs(db: Database) -> None:
    inbox, jobs = Inbox(db), Jobs(db)
    wanted = {}
    for n, (job, run, state) in enumerate(ENDS):
        await received(inbox, f"run{n}")
        await inbox.set_states({f"run{n}": run})
        for id in (f"run{n}", f"spe:lls:run{n}"):
            await jobs.create("local", id, "rules", "add", 1)
            if job != "running":
                await jobs.finish("local", id, job)  # type: ignore[arg-type]
            wanted[id] = (f"run{n}", state)
    assert {job.id: (job.run, job.state) for job in await jobs.list("local")} == wanted


async def test_files_that_a_failed_run_could_not_read_are_listed_for_its_space_only(db: Database) -> None:
    inbox, jobs = Inbox(db), Jobs(db)
    for id in ("whole", "run1"):
        await received(inbox, id)
        await jobs.create("local", id, "rules", "add", 2)
        await jobs.add_error("local", id, f"{id}.pdf", "library.file_locked")
    await inbox.set_states({"run1": "failed"})
    assert await jobs.refused("local", "run1") == {"run1.pdf": "library.file_locked"}
    assert await jobs.refused("other", "run1") == {}
    assert await jobs.refused("local", "whole") == {"whole.pdf": "library.file_locked"}, (
        "its end could not be kept"
    )
    for state in ("done", "stopped"):
        await inbox.set_states({"run1": state})
        assert await jobs.refused("local", "run1") is None


async def test_a_jobs_remaining_time_is_estimated_from_its_pace_in_this_process(db: Database) -> None:
    clock = [datetime(2026, 3, 1, tzinfo=UTC)]
    jobs = Jobs(db, lambda: clock[0])
    await jobs.create("local", "a", "rules", "add", 1)

    async def remaining(phase: str, done: int, minutes: int) -> timedelta | None:
        clock[0] += timedelta(minutes=minutes)
        await jobs.progress("local", "a", phase, done, 1_100)
        (job,) = await jobs.list("local")
        return jobs.remaining(job)

    assert await remaining("reading", 100, 1) is None  # where a restarted process goes on from
    assert await remaining("reading", 300, 0) is None  # what an earlier process had done
    assert await remaining("reading", 300, 1) == timedelta(minutes=4)
    assert await remaining("vectors", 0, 30) is None  # another phase has another pace
    assert await remaining("vectors", 550, 5) == timedelta(minutes=5)
    (job,) = await jobs.list("local")
    assert Jobs(db).remaining(job) is None  # another process does it
