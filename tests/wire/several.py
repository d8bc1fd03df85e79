"""Several processes of the bot on one Postgres, used by the stories like a single process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.fakes.postgres import created
from tests.kill.process import PATIENCE_S
from tests.wire.inbox import DATABASE, rows_of
from tests.wire.on_slack import CONNECTIONS, OnSlack
from tests.wire.process import BotProcess

PROCESSES = 2


class Fleet:
    """Equal processes with separate data folders, with the methods of a BotProcess that the stories use.

    They share one place for files.
    """

    def __init__(
        self,
        data: Path,
        config: Path,
        environ: Mapping[str, str],
        *,
        number: int = PROCESSES,
        kind: type[BotProcess] = BotProcess,
    ) -> None:
        self.data = data
        settings = config.read_text(encoding="utf-8")
        assert settings.count("[storage]\n") == 1
        files = f'[storage]\nfiles = "{data.as_uri()}"\n'
        config.write_text(settings.replace("[storage]\n", files), encoding="utf-8")
        self.all = [kind(data / f"process-{n}", config, environ) for n in range(number)]

    async def start(self) -> None:
        await asyncio.gather(*(process.start() for process in self.all if not process.alive))

    @property
    def alive(self) -> bool:
        return all(process.alive for process in self.all)

    async def kill(self) -> None:
        await asyncio.gather(*(process.kill() for process in self.all))

    async def leave(self) -> int:
        codes = await asyncio.gather(*(process.leave() for process in self.all))
        return max(codes)

    def executing(self, run: str) -> BotProcess:
        """The process that executes the run."""
        rows = rows_of(
            self.data,
            "SELECT machine FROM processes JOIN dbos.workflow_status ON executor_id = id"
            f" WHERE status = 'PENDING' AND workflow_uuid = '{run}'",
        )
        (pid,) = [int(machine.rpartition(":")[2]) for (machine,) in rows]
        return next(process for process in self.all if process.pid == pid)

    def mark(self) -> None:
        for process in self.all:
            process.mark()

    def log(self, *, whole: bool = False) -> str:
        return "\n".join(process.log(whole=whole) for process in self.all)


def several(drive: Callable[..., Any], server: Callable[[], str]) -> Callable[..., Any]:
    """Makes tables of a platform whose bot is several processes; `server` gives the URL of a Postgres server."""

    class Several(drive):  # type: ignore[misc, valid-type]
        process_of = Fleet
        url: str

        def settings(self) -> str:
            return f'{super().settings()}\n[storage]\nurl = "{self.url}"\n'

        def books(self, folder: Path) -> dict[str, list[Path]]:
            data = folder / "data"
            data.mkdir(exist_ok=True)
            (data / DATABASE).write_text(self.url.replace("+psycopg", ""), encoding="utf-8")
            return dict(super().books(folder))

        async def connected(self) -> None:
            await super().connected()
            if drive is OnSlack:  # on Discord, only one of them is connected
                async with asyncio.timeout(PATIENCE_S):
                    while len(self.slack.sockets.live) < CONNECTIONS * PROCESSES:
                        assert self.process.alive, self.process.log()
                        await asyncio.sleep(0.02)

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            if drive is OnSlack:
                # If two processes receive an event, each may request its window.
                self.unavoidable |= {("views.open", "exchanged_trigger_id")}
                # A process cannot know whether a message of another process is still a stream.
                self.unavoidable |= {("chat.stopStream", "message_not_in_streaming_state")}

    urls: dict[int, str] = {}

    def table(fake: Any, *arguments: Any) -> Any:
        driver = Several(fake, *arguments)
        driver.url = urls.setdefault(id(fake), "") or created(server())
        urls[id(fake)] = driver.url
        return driver

    return table
