"""Nothing behind a game master's screen reaches the table: every verb is played as a player and as an admin."""

from __future__ import annotations

import base64
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.commands import ROWS
from bot.events import Author, OptionValue, Place, Request, UserError
from tests.fakes.reply import Reply
from tests.promises.talk import Talk
from tests.works.story.test_party import begin
from tests.works.story.test_safety import HERE, asks, whole
from tests.works.story.test_screen import alone
from tests.works.story.test_to_come import ALONE, in_public
from tests.works.story.writer import Writer, last, playing

UNTOLD, TOLD, ROLLED, TRIED, SCENE = "zanzibar", "quagga", "xylophone", "okapi", "axolotl"
MARKERS = (UNTOLD, TOLD, ROLLED, TRIED, SCENE)
LAST = frozenset(
    (
        *(
            "story stopcard",
            "story undo",
            "story leave",
            "story zero",
            "story start",
            "story open",
            "story gm",
        ),
        "sessions delete",
    )
)
"""What leaves the table, its story or its scenes is played after everything else."""
CLOSES = ("privacy delete", "stop")


async def planted(talk: Talk, writer: Writer) -> None:
    await begin(talk, mode="free")
    await asks(talk, "join", who="bia")
    await asks(talk, "act", "I wait.", who="bia")
    in_public(talk)
    await alone(talk, "plan", f"The word is {UNTOLD}.")
    await alone(talk, "plan", f"The keeper is a {TOLD}.")
    await alone(talk, "plan", options={"tell": 2})
    await alone(talk, "roll", "1d20+3", options={"for": f"a {ROLLED}"})
    writer.next.append(Reply(f"An {SCENE} comes out of the water."))
    await alone(talk, "try", f"The {TRIED} calls.")
    seen = await alone(talk, "screen")
    assert all(marker in seen for marker in (UNTOLD, TOLD, ROLLED, TRIED)), seen


def found(text: str) -> list[str]:
    return [marker for marker in MARKERS if marker in text.casefold()]


async def played_as(
    talk: Talk, path: str, author: Author, text: str, options: dict[str, OptionValue], at: Place
) -> str:
    """Everything that a person's request shows, files as text."""
    assert talk.app is not None
    row = next(row for row in ROWS.values() if row.path == path)
    start = len(talk.events)
    for origin in ("", ALONE):
        id = f"leak-{author.id}-{path}-{len(talk.events)}-{origin}"
        request = Request(id, at, author, row.work, row.name, options, text, origin=origin)
        try:
            await (await talk.app.perform(request)).wait()
        except UserError as refused:
            talk.events.append({"event": "text", "text": str(refused.values)})
    events = talk.events[start:]
    files = (base64.b64decode(event.get("data", "")).decode("utf-8", "replace") for event in events)
    return "\n".join((str(events), *files))


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_no_verb_shows_a_player_or_an_admin_what_is_behind_the_screen(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await planted(talk, writer)
        rows = [row for row in ROWS.values() if not row.inner and row.path not in CLOSES]
        rows.sort(key=lambda row: row.path in LAST)
        before = len(writer.asked)
        for row in rows:
            required = row.argument is not None and row.argument.required
            text = (row.sample.partition(" --")[0] or "bell") if required else ""
            forms: list[dict[str, OptionValue]] = [{}]
            if (of := row.option("as")) is not None:
                forms = [{"as": form, "character": "Mira"} for form in of.choices]
            if row.path in ("story plan", "story try", "story screen"):
                forms += [
                    {name: 1} for name in ("tell", "remove", "play", "drop", "download") if row.option(name)
                ]
            for author in (Author("bia", "Bia"), Author("root", "Root", admin=True)):
                for options in forms:
                    shown = await played_as(talk, row.path, author, text, options, HERE)
                    assert found(shown) == [], (row.path, author.id, options)
        for asked in writer.asked[before:]:
            prompt = whole(asked)
            assert not set(found(prompt)) - {TOLD}, prompt[-500:]
            if TOLD in prompt:  # only the scene's writer gets it, not the model that offers choices
                assert "<turn by=" in prompt.rpartition("</secrets>")[2], prompt[-900:]
                assert "offer the players" not in last(asked)


@pytest.mark.slow
async def test_nothing_behind_the_screen_reaches_another_space(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await planted(talk, writer)
        assert talk.app is not None
        (row,) = await talk.app.resources.stories.all("local")
        for space in ("other", "local2"):
            at = Place("terminal", space, "terminal", "t")
            tries: list[tuple[str, str, dict[str, OptionValue]]] = [
                ("screen", row.alias, {}),
                ("screen", row.title, {}),
                ("plan", "", {"tell": 2}),
                ("reveal", "3", {}),
                ("try", "", {"play": 4}),
            ]
            for name, text, options in tries:
                shown = await played_as(
                    talk, f"story {name}", Author("ana", "Ana", admin=True), text, options, at
                )
                assert found(shown) == []
                assert "story.no_screen" in shown or "not the game master of a story" in shown, (name, shown)
            for name in ("revealed", "tried"):  # as no person can send them
                forged: dict[str, OptionValue] = {"story": row.id, "n": 3 if name == "revealed" else 4}
                assert (
                    found(await played_as(talk, f"story {name}", Author("ana", "Ana"), "", forged, at)) == []
                )


async def test_data_behind_the_screen_is_deleted_with_the_person(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await planted(talk, writer)
        assert found(everything(tmp_path)) == list(MARKERS)
        assert talk.app is not None
        gone = Request("gone", HERE, Author("ana", "Ana"), "privacy", "delete", {"yes": True})
        await (await talk.app.perform(gone)).wait()
        assert found(everything(tmp_path)) == []


def everything(folder: Path) -> str:
    """All rows of the bot's databases."""
    rows: list[Any] = []
    for file in (folder / "data").glob("*.db"):
        with closing(sqlite3.connect(file)) as connection:
            names = [
                name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            for name in names:
                rows += connection.execute(f'SELECT * FROM "{name}"').fetchall()
    return str(rows)
