"""/privacy exports and deletes a person's own data and touches nobody else's, through the real application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.app import App
from bot.conversation import session_for
from bot.events import Attachment, Author, Choices, Event, OptionValue, Request, Text
from bot.work import Run
from bot.works.privacy.work import FILE, without_words
from tests.fakes.scripted_app import Recorder, Script, asked, open_scripted
from tests.works.schedule.test_calendar import row
from tests.works.test_deleting import words_in

ANA, BIA = Author("ana", "Ana Quaresma"), Author("bia", "Bia Lisboa", admin=True)
HERS = ("quokka", "zanzibar", "wombat", "dingo", "marsupial", "Quaresma")
"""Of Ana's: a question, its answer, one that failed, one under way, what it had said, and her name."""
OTHERS = ("lantern", "four hours", "Lisboa")


def scripts(app: list[App], begun: asyncio.Event) -> dict[str, Script]:
    def answering(answer: str, *, ends: bool = True) -> Script:
        async def script(run: Run) -> AsyncGenerator[Event, None]:
            sessions, space = app[0].resources.records.sessions, run.request.place.space
            session = await session_for(sessions, run.request, run.request.text)
            assert session is not None

            async def said() -> str:
                # As the rules' snapshot does: with what was said here before.
                past = await sessions.last_exchanges(space, session.id, 2)
                return answer * 300 + " ".join(turn.question for turn in past)

            await run.step("said", said, str)
            yield Text(answer)
            if not ends:
                begun.set()
                await asyncio.Event().wait()
            await sessions.add_exchange(space, session.id, run.id, run.request.text, answer)

        return script

    async def failing(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("")
        raise ValueError

    return {
        "the quokka": answering("zanzibar "),
        "the wombat": failing,
        "the dingo": answering("marsupial ", ends=False),
        "the lantern": answering("four hours "),
    }


def request(run: str, text: str, author: Author, **where: str) -> Request:
    return replace(asked(run, text, **where), author=author)


class Conversations:
    """Ana and Bia in one thread of Ana's, each in one of her own, and Ana in another space, too."""

    def __init__(self, app: App, recorder: Recorder) -> None:
        self.app = app
        self._recorder = recorder

    async def ask(
        self, run: str, text: str, author: Author, options: dict[str, OptionValue] | None = None, **where: str
    ) -> list[Event]:
        made = replace(request(run, text, author, **where), options=options or {})
        await (await self.app.perform(made)).wait()
        return self._recorder.events[run]

    async def privacy(self, run: str, verb: str, author: Author = ANA, **options: OptionValue) -> list[Event]:
        return await self.ask(run, "", author, options, work="privacy", verb=verb, thread="p")

    async def export(self, run: str, author: Author = ANA) -> dict[str, Any]:
        (file,) = [
            event for event in await self.privacy(run, "export", author) if isinstance(event, Attachment)
        ]
        assert (file.name, file.media_type) == (FILE, "application/json")
        tree: dict[str, Any] = json.loads(file.data)
        return tree


async def opened(folder: Path, begun: asyncio.Event) -> Conversations:
    apps: list[App] = []
    recorder = Recorder()
    app = await open_scripted(folder, scripts(apps, begun), recorder)
    apps.append(app)
    await app.start()
    conversations = Conversations(app, recorder)
    await conversations.ask("one", "the quokka", ANA)
    await conversations.ask("two", "the lantern", BIA)
    await conversations.ask("three", "the wombat", ANA, thread="u")
    await conversations.ask("four", "the lantern", BIA, thread="v")
    await conversations.ask("five", "the lantern", replace(ANA, name="A"), space="other")
    await conversations.ask("set", "language pt-BR", ANA, work="settings", verb="set")
    await conversations.ask("hers", "language pt-BR", BIA, work="settings", verb="set")
    await app.resources.records.feedback.give("local", "two", "ana", "up")
    for run, person in (("one", "ana"), ("two", "bia")):
        entry = await app.resources.ledger.reserve("local", run, "answer", person, "p:m", 9, None)
        await app.resources.ledger.settle("local", entry, input_tokens=7, output_tokens=1, cost_usd=None)
    await app.resources.records.feedback.give("local", "one", "bia", "down")
    return conversations


async def test_the_export_has_all_of_the_askers_words_and_nobody_elses(tmp_path: Path) -> None:
    conversations = await opened(tmp_path, asyncio.Event())
    try:
        tree = await conversations.export("export")
        assert (tree["about"]["person"], tree["about"]["space"]) == ("ana", "local")
        assert [row["payload"]["text"] for row in tree["inbox"]] == [
            "the quokka",
            "the wombat",
            "language pt-BR",
        ]
        assert [(row["question"], row["answer"]) for row in tree["exchanges"]] == [
            ("the quokka", "zanzibar ")
        ]
        assert {row["title"] for row in tree["sessions"]} == {"the quokka", "the wombat"}
        assert [(row["name"], row["value"]) for row in tree["settings"]] == [("language", "pt-BR")]
        assert [row["run_id"] for row in tree["feedback"]] == ["two"]
        text = json.dumps(tree)
        assert not [word for word in (*OTHERS, "origin") if word in text]
        theirs = json.dumps(await conversations.export("other export", BIA))
        assert not [word for word in HERS if word in theirs]
        assert "the lantern" in theirs
    finally:
        await conversations.app.close()


async def test_the_bot_asks_before_it_deletes(tmp_path: Path) -> None:
    conversations = await opened(tmp_path, asyncio.Event())
    try:
        await conversations.app.records.schedules.add(row("dice"))
        events = await conversations.privacy("delete", "delete")
        text = "".join(event.text for event in events if isinstance(event, Text))
        (choices,) = [event for event in events if isinstance(event, Choices)]
        assert [choice.command for choice in choices.choices] == ["/privacy delete --yes", ""]
        assert "2 conversas suas" in text, "Ana has set Portuguese"
        assert "o texto de 3 pedidos" in text
        assert "1 publicação sua agendada" in text
        assert [row["payload"]["text"] for row in (await conversations.export("export"))["inbox"]][:1] == [
            "the quokka"
        ]
        new = await conversations.privacy("nobody", "delete", Author("caio", "Caio"))
        assert [one for one in new if isinstance(one, Choices)] == []
    finally:
        await conversations.app.close()


async def test_no_file_contains_a_word_of_a_deleted_person(tmp_path: Path) -> None:
    begun = asyncio.Event()
    conversations = await opened(tmp_path, begun)
    app = conversations.app
    try:
        under_way = await app.perform(request("six", "the dingo", ANA, thread="w"))
        await begun.wait()
        await conversations.export("export")
        assert words_in(tmp_path, (*HERS, *OTHERS)) == {*HERS, *OTHERS}
        theirs = await conversations.export("before", BIA)

        me = replace(ANA, name="A")  # the request to delete stays, with who asked for it
        events = await conversations.privacy("seven", "delete", me, yes=True)
        text = "".join(event.text for event in events if isinstance(event, Text))
        assert "3 conversas suas" in text
        assert "o texto de 5 pedidos" in text
        assert "1 pergunta com sua resposta" in text
        assert "1 ajuste seu" in text
        assert "1 avaliação de respostas" in text
        assert words_in(tmp_path, HERS) == set()
        assert await under_way.wait() == "stopped"
        assert words_in(tmp_path, OTHERS) == set(OTHERS)

        after = await conversations.export("after", BIA)
        for tree in (theirs, after):
            del tree["about"]
            tree["inbox"] = [row for row in tree["inbox"] if row["work"] != "privacy"]
        assert after == theirs
        there = await app.resources.people.rows_about("other", "ana", "seven")
        assert [row["question"] for row in there["exchanges"]] == ["the lantern"]
        assert [row["title"] for row in there["sessions"]] == ["the lantern"]
        usage = await conversations.ask("usage", "", BIA, work="house", verb="usage", thread="x")
        told = "".join(event.text for event in usage if isinstance(event, Text))
        assert [line.split("|")[1:4] for line in told.splitlines() if "sem nome" in line] == [
            [" sem nome ", " 1 ", " 7 "]
        ], "what was spent stays"
        again = await app.perform(request("one", "the quokka", me))
        assert (again.fresh, words_in(tmp_path, HERS)) == (False, set())
        assert await app.resources.settings.locale(request("later", "", ANA).place, ANA.id, "en") == "en"
        left = await conversations.export("last", me)
        assert [row["payload"]["verb"] for row in left["inbox"]] == ["delete"]
        assert {*left} == {"about", "inbox"}
    finally:
        await app.close()
    assert words_in(tmp_path, HERS) == set()


def test_only_the_id_of_a_request_stays() -> None:
    left = json.loads(without_words(json.dumps({"gibberish": "quokka"})))
    assert "quokka" not in json.dumps(left)
    assert left["author"] == {"id": "", "name": "", "admin": False, "zone": ""}
