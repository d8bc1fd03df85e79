"""Lists and cancels the library's jobs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bot.commands import JOBS
from bot.events import Event, OptionValue, Request, Stage, Text, UserError
from bot.markdown import table_row
from bot.runs.requests import readable
from bot.words import Words, words
from bot.work import Run

if TYPE_CHECKING:
    from storage.jobs import JobRow, JobRunRow, Jobs

Stop = Callable[[str, str], Awaitable[int]]
"""Stops a run of a space; returns how many were stopped."""

PHASES = ("reading", "vectors")
LEAST_TYPED = 4
"""The minimum number of characters that name a job: fewer are probably a typing error."""


class JobBoard:
    """The verbs "jobs" and "cancel"."""

    def __init__(self, jobs: Jobs, stop: Stop) -> None:
        self._jobs = jobs
        self._stop = stop

    async def show(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show the latest jobs, and those that are waiting."""
        space, say = run.request.place.space, words(run.request.locale)
        jobs = await self._jobs.list(space)
        runs_begun = {job.run for job in jobs}
        waiting = [run_row for run_row in await self._jobs.runs(space, JOBS) if run_row.id not in runs_begun]
        yield Stage("jobs", say("library.jobs", n=len(jobs) + len(waiting)))
        table = _table(jobs, waiting, self._jobs.remaining, say)
        yield Text(table if jobs or waiting else say("library.no_jobs"))

    async def cancel(self, run: Run) -> AsyncGenerator[Event, None]:
        """Stop the job whose id ends as the request's text says, or the only job.

        The person who asked for a job may stop it, and so may the admins of the space.
        """
        request, say = run.request, words(run.request.locale)
        space = request.place.space

        # The choice comes first and is stored: after a crash another job may be running, or none.
        async def job() -> tuple[str, bool]:
            job_run = await self._find_job(request)
            return job_run.id, bool(_option(job_run, "replace"))

        async def stopped() -> int:
            return await self._stop(space, run_id)

        run_id, replaces = await run.step("job", job, tuple[str, bool])
        n = await run.step("cancel", stopped, int)
        yield Stage("cancel", "")
        jobs_of_run = [job_row for job_row in await self._jobs.list(space) if job_row.run == run_id]
        sentence = _cancelled_sentence(run_id, jobs_of_run, say, replaces=replaces)
        yield Text(sentence if n else say("library.job_over", job=short(run_id)))

    async def _find_job(self, request: Request) -> JobRunRow:
        space, author = request.place.space, request.author
        name = request.text.strip().strip("`#…").lower()
        jobs = await self._jobs.runs(space, JOBS)
        if name:
            matches = [running for running in jobs if len(name) >= LEAST_TYPED and running.id.endswith(name)]
            if not matches:
                is_over = any(job.run.endswith(name) for job in await self._jobs.list(space))
                is_over = is_over and len(name) >= LEAST_TYPED
                raise UserError("library.job_over" if is_over else "library.no_such_job", job=name)
        else:
            permitted = [running for running in jobs if author.admin or running.author_id == author.id]
            runs_begun = {job.run for job in await self._jobs.list(space)}
            # A running job takes precedence over waiting ones.
            matches = (
                [running for running in permitted if running.id in runs_begun] or permitted or list(jobs)
            )
            if not matches:
                raise UserError("library.no_job_running")
        if not all(author.admin or running.author_id == author.id for running in matches):
            raise UserError("library.not_your_job", job=short(matches[0].id))
        if len(matches) > 1:
            raise UserError(
                "library.which_job", names=", ".join(f"`{short(running.id)}`" for running in matches)
            )
        return matches[0]


async def names(jobs: Jobs, space: str, prefix: str) -> list[str]:
    """Completions: the short names of jobs that can be stopped."""
    ids = [short(running.id) for running in await jobs.runs(space, JOBS)]
    return [name for name in ids if name.startswith(prefix.strip().lower())]


def short(run: str) -> str:
    """The short name of a job: the end of its run's id."""
    return run[-6:]


def _cancelled_sentence(id: str, jobs: Sequence[JobRow], say: Words, *, replaces: bool) -> str:
    if not jobs:
        return say("library.cancelled_waiting", job=short(id))
    if jobs[0].kind == "reindex":
        return say("library.cancelled_reindex", job=short(id))
    (job,) = jobs
    files = {"done": job.files_done, "total": job.files_total}
    sentence = say("library.cancelled", job=short(id), shelf=job.shelf, **files)
    return f"{sentence} {say('library.cancelled_replace')}" if replaces else sentence


def _table(
    jobs: Sequence[JobRow],
    waiting: Sequence[JobRunRow],
    remaining: Callable[[JobRow], timedelta | None],
    say: Words,
) -> str:
    now = datetime.now(UTC)
    lines = [say("library.jobs_header"), "|---|---|---|---|--:|---|"]
    for run in reversed(waiting):
        since = say("library.ago", span=_span(now - run.created_at, say))
        shelf = str(_option(run, "shelf") or "")
        kind, state = say(f"library.kind_{run.kind}"), say("library.state_waiting")
        lines.append(table_row(short(run.id), kind, shelf, state, "", since))
    for job in jobs:
        added = max(min(job.files_done, job.files_total - len(job.errors)), 0)
        files = f"{added}/{job.files_total}"
        kind = say(f"library.kind_{job.kind}")
        progress = _progress(job, remaining(job), say)
        lines.append(table_row(short(job.run), kind, job.shelf, progress, files, _when(job, now, say)))
    # The same file may have failed in several jobs, as in a watched folder.
    errors = dict.fromkeys(say(error.key, **json.loads(error.values)) for job in jobs for error in job.errors)
    return "\n".join([*lines, "", *(f"- {sentence}" for sentence in errors)]).strip()


def _option(run: JobRunRow, name: str) -> OptionValue:
    request = readable(run.payload)
    return request.options.get(name) if request is not None else None


def _progress(job: JobRow, remaining: timedelta | None, say: Words) -> str:
    state = say(f"library.state_{job.state}")
    if job.state != "running" or job.phase not in PHASES or not job.total:
        return state
    percent = min(100 * job.done // job.total, 100)
    progress = f"{state} · {say(f'library.phase_{job.phase}', percent=percent)}"
    return (
        f"{progress} · {say('library.remaining', span=_span(remaining, say))}"
        if remaining is not None
        else progress
    )


def _when(job: JobRow, now: datetime, say: Words) -> str:
    ago = say("library.ago", span=_span(now - job.created_at, say))
    if job.state == "running":
        return ago
    return say("library.ago_took", ago=ago, span=_span(job.updated_at - job.created_at, say))


def _span(time: timedelta, say: Words) -> str:
    seconds = max(int(time.total_seconds()), 0)
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= size:
            return say(f"library.span_{unit}", n=seconds // size)
    return say("library.span_seconds", n=seconds)
