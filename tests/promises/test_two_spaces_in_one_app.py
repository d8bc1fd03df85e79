"""Two spaces with the same names for everything never share anything that one application stores."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from bot.app import App
from bot.events import Author, OptionValue, Place, Request, Text
from bot.kind import Typed
from bot.platforms import Platform
from tests.fakes.chat_completions import ChatService, Reply
from tests.fakes.scripted_app import Recorder
from tests.promises.conftest import VECTORS
from tests.promises.talk import settings

SPACES = ("north", "south")


def asks(space: str, id: str, work: str, verb: str, text: str = "", **options: OptionValue) -> Request:
    place = Place("terminal", space, "channel", "thread")
    return Request(f"{space}-{id}", place, Author("same", "Same", admin=True), work, verb, options, text)


async def test_two_spaces_with_the_same_names_stay_separate(
    tmp_path: Path, stocked_with_vectors: Path
) -> None:
    seen = Recorder()

    def shown(space: str, id: str) -> str:
        return "".join(event.text for event in seen.events[f"{space}-{id}"] if isinstance(event, Text))

    def answered(body: object) -> Reply:
        return Reply(text="The gate of the town opens with a key [1].")

    async with ChatService(answered) as service:
        app = await App.open(settings(tmp_path / "shared", service, toml=VECTORS))
        try:
            app.attach(Platform("terminal", seen.view))
            await app.start()

            async def perform(request: Request) -> str:
                return await (await app.perform(request)).wait()

            for space in SPACES:
                folder = tmp_path / space
                folder.mkdir()
                body = f"# Town\n\n## Gate of {space}\n\nThe gate of the town opens with a {space}ern key.\n"
                (folder / "town.md").write_text(body, encoding="utf-8")
                path = [str(folder / "town.md")]
                assert (
                    await perform(asks(space, "add", "library", "add", paths=path, shelf="rules")) == "done"
                )
            resources = app.resources
            for space, other in (SPACES, SPACES[::-1]):
                question = "What does the gate of the town open with?"
                assert await perform(asks(space, "ask", "rules", "ask", question)) == "done"
                prompt = service.requests[-1]["messages"][-1]["content"]
                assert f"{space}ern key" in prompt
                assert f"{other}ern key" not in prompt
                assert other not in prompt
                assert await perform(asks(space, "lookup", "rules", "lookup", f"Gate of {other}")) == "done"
                assert f"{other}ern key" not in shown(space, "lookup")
                assert await app.complete("section", Typed(space, "Gate")) == [f"Gate of {space}"]
                (book,) = await resources.records.documents.list(space)
                assert await resources.records.documents.get(other, book.id) is None
                assert await resources.vectors.count(space, "rules", "bge-small") == book.chunk_count
                session = await resources.records.sessions.active(space, "terminal", "channel", "thread")
                assert session is not None
                assert len(await resources.records.sessions.last_exchanges(space, session.id, 9)) == 1
                assert await resources.records.sessions.last_exchanges(other, session.id, 9) == []
                assert [job.id for job in await resources.jobs.list(space)] == [f"{space}-add"]
                assert await app.complete("session", Typed(space, "", author="same")) == [
                    f"{question} ({session.alias})"
                ]
                rename = asks(space, "rename", "sessions", "rename", f"The {space}ern gate")
                assert await perform(rename) == "done"
                assert await perform(asks(space, "list", "sessions", "list")) == "done"
                assert f"{other}ern" not in shown(space, "list")
                asked = f"{space}-ask"
                assert await app.request_of(other, asked) is None
                assert not await app.forget(other, asked)
                assert not await app.reword(other, asked, "something else")
                await resources.records.threads.bind(space, "channel", "thread", "same")
                await resources.records.offers.keep(space, "same", "choice", [space])
                await resources.records.feedback.give(space, "same", "same", "up")
                await resources.records.outbox.claim(space, "same", "answer")
                await resources.records.outbox.mark_sent(space, "same", "answer", f"message of {space}")
            for space in SPACES:
                assert await resources.records.offers.all(space, "same", "choice") == [space]
                assert await resources.records.feedback.count(space) == {"up": 1, "down": 0}
                row = await resources.records.outbox.get(space, "same", "answer")
                assert row is not None
                assert row.message_id == f"message of {space}"
                held = await resources.records.threads.get(space, "same")
                assert held is not None
                assert held.space == space
            nouns = ("query_vectors", "ledger", "sessions", "exchanges", "jobs", "shelves")
            for noun in (*nouns, "threads", "offers", "feedback"):
                async with app.resources.records.database.read() as connection:
                    from storage import tables

                    rows = list(await connection.execute(getattr(tables, noun).select()))
                assert sorted(row.space for row in rows) == list(SPACES), noun
            (theirs,) = await resources.records.documents.list("south")
            for id in ("replace", "reindex"):
                (old,) = await resources.records.documents.list("north")
                body = "# Town\n\n## Gate of north\n\nThe gate of the town opens with a silver key.\n"
                (tmp_path / "north" / "town.md").write_text(body, encoding="utf-8")
                paths = [str(tmp_path / "north" / "town.md")]
                renewal = asks("north", id, "library", "add", paths=paths, shelf="rules", replace=True)
                if id == "reindex":
                    renewal = asks("north", id, "library", "reindex", shelf="rules")
                assert await perform(renewal) == "done"
                (new,) = await resources.records.documents.list("north")
                assert new.id != old.id
                assert old.id in await resources.records.documents.unseen("north", "rules")
                assert await resources.records.documents.unseen("south", "rules") == set()
                assert await resources.records.documents.list("south") == [theirs]
                assert await resources.vectors.count("south", "rules", "bge-small") == theirs.chunk_count
                assert await perform(asks("north", f"{id}-see", "rules", "lookup", "Gate of north")) == "done"
                assert "silver key" in shown("north", f"{id}-see")
                assert await perform(asks("south", f"{id}-see", "rules", "lookup", "Gate of south")) == "done"
                assert "southern key" in shown("south", f"{id}-see")
                result = await resources.library.search(
                    "south", "rules", "What does the gate of the town open with?"
                )
                assert {passage.document for passage in result.passages} == {theirs.id}
            await resources.intake.clear(timedelta())
            assert await resources.vectors.count("north", "rules", "bge-small") == new.chunk_count
            assert await resources.vectors.count("south", "rules", "bge-small") == theirs.chunk_count
            assert await resources.records.documents.list("south") == [theirs]
            remove = asks("north", "remove", "library", "remove", "town.md", shelf="rules")
            assert await perform(remove) == "done"
            assert await app.resources.records.documents.list("north") == []
            assert await app.complete("section", Typed("south", "Gate")) == ["Gate of south"]
            assert await app.resources.vectors.count("south", "rules", "bge-small") > 0
        finally:
            await app.close()
