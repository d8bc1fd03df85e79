"""A process of the bot for tests: it carries out lines of JSON and reports the results.

Attachments are files in the folder of the second argument. One with a file `….held` beside it never arrives.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

from bot.app import App
from bot.config import load
from bot.events import Attachment, Author, Failed, File, Notice, Picture, Place, Request, Text
from bot.platforms import Platform
from tests.fakes.scripted_app import Recorder


async def main(config: Path, attachments: Path) -> None:
    async def fetch(request: Request, file: File, path: Path, limit: int) -> None:
        if (attachments / f"{file.name}.held").exists():
            tell({"held": file.name})
            await asyncio.Event().wait()
        await asyncio.to_thread(shutil.copy, attachments / file.url, path)
        tell({"fetched": file.name})

    recorder = Recorder()
    app = await App.open(load(config, config.with_name("data")))
    app.attach(Platform("discord", recorder.view, fetch, origin=lambda place: ""))
    await app.start()
    tell({"ready": True})
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        files = tuple(File(name, "", 1, name) for name in asked.get("files", ()))
        place = Place("discord", "guild", "channel", "")
        author = Author("ana", "Ana", admin=True)
        request = Request(
            asked["id"],
            place,
            author,
            asked["work"],
            asked["verb"],
            {"shelf": "rules", **asked.get("options", {})},
            asked.get("text", ""),
            files,
        )
        if asked.get("await"):
            status = await app.ended(asked["id"])
        else:
            ticket = await app.perform(request)
            if asked.get("leave"):
                continue
            status = await ticket.wait()
        events = recorder.events.get(asked["id"], [])
        said = "\n".join(event.text for event in events if isinstance(event, Text | Notice | Failed))
        shown = [type(event).__name__ for event in events if isinstance(event, Attachment | Picture)]
        tell({"status": status, "said": said, "shown": shown})
    await app.close()


def tell(what: dict[str, object]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
