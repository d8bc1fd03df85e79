"""A script's drafts are stored, listed and compared, only for people who may read it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bot.events import Attachment
from bot.readers.screenplay.fountain import fountain as parsed
from bot.works.script.catalogue import body_of
from bot.works.script.model import script
from storage.scripts import FORMER, Reader, ScriptRow
from tests.works.script.test_scripts import ADA, BO, PIER, Room, room

SECOND = PIER.replace("knots", "knots, and one").replace("EXT. PIER - DAWN #12A#\n\nNobody is there.\n", "")
SECOND += "\nINT. BOAT - DAY\n\nRain.\n"


async def gives(here: Room, draft: int, text: str) -> None:
    """Store this draft as `/script replace` does, without the process that parses files."""
    made, now = parsed(text), datetime(2026, 2, draft % 28 + 1, tzinfo=UTC)
    row = ScriptRow(
        "ada:The Pier", "local", "The Pier", f"pier-{draft}.fountain", "ada", "thread", "terminal", "c", "t",
        f"run {draft}", draft, len(script(made).scenes), now, now,
    )  # fmt: skip
    for _ in range(2):  # a step may run twice
        await here.desk.app.resources.scripts.put(row, body_of(made))


async def test_two_drafts_are_compared_scene_by_scene(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await gives(here, 1, PIER)
        assert "only one draft" in await here.said(ADA, "compare")
        await gives(here, 2, SECOND)
        listed = await here.said(BO, "drafts", "pier")
        assert "“The Pier”: 2 drafts" in listed
        assert listed.index("**2** · pier-2.fountain · 3 scenes") < listed.index(
            "**1** · pier-1.fountain · 3 scenes"
        )
        assert "`/script compare 1 2`" in listed
        events = await here.events(BO, "script compare")
        compared = await here.said(BO, "compare", "draft 1 and 2")
        assert "1 scene changed, 1 cut, 1 new. 3/8 → 3/8 of a page." in compared
        assert "- **1** INT. HUT - DAY · changed, +2 words" in compared
        assert "- **3** INT. BOAT - DAY · new, 5 words" in compared
        assert "- ~~3 EXT. PIER - DAWN~~ · cut, 7 words" in compared
        (difference,) = [event for event in events if isinstance(event, Attachment)]
        assert difference.name == "drafts-1-2.diff"
        lines = difference.data.decode().split("\n")
        assert "-           Three hundred knots." in lines
        assert "+           Three hundred knots, and one." in lines
        assert "+Rain." in lines
        assert "-Nobody is there." in lines
        # The other way round, and with itself.
        assert "- ~~3 INT. BOAT - DAY~~ · cut" in await here.said(ADA, "compare", "2 1")
        assert "The words of all scenes are the same" in await here.said(ADA, "compare", "2, 2")
        for typed, sentence in (
            ("2", "does not name two drafts"),
            ("1 7", "There is no draft 7 of “The Pier”"),
        ):
            assert sentence in await here.said(ADA, "compare", typed)
        (file,) = [
            event
            for event in await here.events(ADA, "script export", draft=1)
            if isinstance(event, Attachment)
        ]
        assert "Nobody is there." in file.data.decode()
        assert "These are kept: 1, 2." in await here.said(ADA, "export", draft=9)


async def test_only_people_with_access_read_earlier_drafts_which_are_deleted_with_the_script(
    tmp_path: Path,
) -> None:
    async with room(tmp_path) as here:
        scripts = here.desk.app.resources.scripts
        for draft in range(1, FORMER + 4):
            await gives(here, draft, PIER.replace("Three", f"{draft} times three"))
        ada, bo = Reader("local", "ada"), Reader("local", "bo")
        kept = [row.draft for row in await scripts.drafts(ada, "ada:The Pier")]
        assert kept == list(range(FORMER + 3, 2, -1))
        assert "5 times three" in (await scripts.former(ada, "ada:The Pier", 5) or "")
        for stranger in (bo, replace(ada, space="other")):
            assert await scripts.drafts(stranger, "ada:The Pier") == []
            assert await scripts.former(stranger, "ada:The Pier", 5) is None
        await here.said(ADA, "remove", "The Pier")
        await gives(here, 1, PIER)
        assert [row.draft for row in await scripts.drafts(ada, "ada:The Pier")] == [1]
