"""A past council is shown word for word, only to those who could see it, and nothing breaks the page."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.events import Attachment, Author, Event, Link, Place, Stage, Text, UserError
from bot.words import words
from bot.works.council import markdown, page
from bot.works.council.display import Display
from storage.councils import Council, Councils
from storage.db import Database
from storage.sessions import Sessions
from tests.fakes import migrated
from tests.fakes.run import MemoryRun
from tests.fakes.scripted_app import settings_of
from tests.storage.council_rows import ballot, council, seat

HERE = Place("terminal", "local", "c", "t")
ELSEWHERE = replace(HERE, thread="another")
ANA, BIA = Author("ana", "Ana"), Author("bia", "Bia", admin=True)
SAY = words("en")

TALLY = {
    "standings": [
        {"seat": 1, "place": 1, "score": 0.75, "other": 1.0, "mean_rank": 1.5, "votes": 2, "ranks": [1, 1]},
        {"seat": 0, "place": 2, "score": 0.25, "other": 0.0, "mean_rank": 1.5, "votes": 2, "ranks": [1, 1]},
    ],
    "self_votes": "count", "ballots": 2, "abstained": 1, "agreement": 0.25, "effective": 2.0, "first": [1],
    "other_first": [1], "disputed": 0,
}  # fmt: skip

SEATS = (
    seat(0, name="sol", model="p:sol", settings="p:sol", answer="Yes.\n\n# Mine\n```\nopen", place=2, score=0.25),
    seat(1, name="opus", model="p:opus", settings="p:opus effort=high", first_answer="Perhaps.", answer="No.",
         reasoning="Let me think.", place=1, score=0.75),
    seat(2, name="qwen", model="p:qwen", settings="p:qwen", state="failed", fault="model.timeout", answer="",
         reasoning="", tokens=None, cost_usd=None),
)  # fmt: skip
BALLOTS = (
    ballot(0, shown="[1, 0]", ranking="[1, 0]", raw='{"critiques": {"A": "brief"}, "ranking": ["A", "B"]}'),
    ballot(1, shown="[0, 1]", ranking="[0]", source="mention", partial=True, raw="Well.", again="I like A.\n> FINAL"),
    ballot(2, shown="[0, 1]", ranking="[]", source="none", raw="No idea."),
)  # fmt: skip


class Archive:
    """Past councils, and a person who asks for them."""

    def __init__(self, db: Database) -> None:
        self.councils, self.sessions = Councils(db), Sessions(db)
        self._showing = Display(self.councils, self.sessions, settings_of(db).zone)

    async def hold(self, run: str, place: Place = HERE, author: Author = ANA, *, minute: int = 0) -> None:
        row = council(
            run, place.space, minute=minute, platform=place.platform, channel=place.channel,
            thread=place.thread, author_id=author.id, question=f"The question of {run}?",
            research='{"cultural_context": "It is *old*.", "plot": ""}',
        )  # fmt: skip
        await self.councils.begin(row)
        await self.councils.keep_ballots(place.space, run, BALLOTS)
        await self.councils.end(
            place.space, run, kind="synthesis", verdict="It depends.", dissent="Sol disagrees.",
            chair="p:chair", tally=json.dumps(TALLY), seats=SEATS,
        )  # fmt: skip

    async def events(
        self, what: str = "answers", run: str = "", place: Place = HERE, author: Author = ANA, form: str = ""
    ) -> list[Event]:
        asking, options = MemoryRun(), {"run": run, "as": form}
        asking.request = replace(
            asking.request, place=place, author=author, work="council", text=what,
            verb="export" if what == "export" else "show", options={k: v for k, v in options.items() if v},
        )  # fmt: skip
        async with aclosing(self._showing.run(asking)) as events:
            return [event async for event in events]

    async def __call__(
        self, what: str = "answers", run: str = "", place: Place = HERE, author: Author = ANA
    ) -> str:
        events = await self.events(what, run, place, author)
        return "".join(event.text for event in events if isinstance(event, Text))

    async def refused(
        self, what: str = "answers", run: str = "", place: Place = HERE, author: Author = ANA
    ) -> str:
        with pytest.raises(UserError) as error:
            await self.events(what, run, place, author)
        return error.value.key.removeprefix("council_show.")


@pytest.fixture
async def archive(tmp_path: Path) -> AsyncIterator[Archive]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    yield Archive(db)
    await db.close()


async def test_every_answer_is_shown_word_for_word_and_failures_with_their_reason(archive: Archive) -> None:
    await archive.hold("run-000001")
    text = await archive()
    assert "### 1. sol\n\n`p:sol` · place 2, 0.25 points" in text
    assert "> Yes.\n>\n> # Mine\n> ```\n> open" in text
    assert "**Before the debate**\n\n> Perhaps.\n\n**After the debate**\n\n> No." in text
    assert "*p:qwen took too long to answer." in text
    assert "Let me think" not in text
    assert "Yes." not in await archive("answers 2")
    assert "> No." in await archive("Answers  2")
    assert "> No." in await archive("respostas 2")


async def test_what_is_shown_leads_to_the_council_itself(archive: Archive) -> None:
    await archive.hold("run-000001")
    for what in ("answers", "export"):
        assert Link("run-000001", "This council, no. 000001") in await archive.events(what)


async def test_below_each_raw_ballot_is_what_was_read_from_it(archive: Archive) -> None:
    await archive.hold("run-000001")
    first, second, third = (await archive("ballots")).split("\n### ")[1:]
    assert '"A": "brief"' in first
    assert first.endswith("**Read as:** A (opus) > B (sol)\n")
    assert (
        "> Well.\n\n**Asked again, because the first ballot was unreadable:**\n\n> I like A.\n> > FINAL"
        in second
    )
    assert "**Read as:** A (sol), from the order in which it names them." in second
    assert "left the others out" in second
    assert "> No idea.\n\n**No ranking could be read**" in third
    assert "only letters" in await archive("ballots 3")
    assert "### 2." not in await archive("ballots 3")


async def test_above_the_ballots_is_the_count_with_its_votes_per_rank(archive: Archive) -> None:
    await archive.hold("run-000001")
    rows = [line for line in (await archive("ballots")).splitlines() if line.startswith("| 1 | opus")]
    assert "1 · 1" in rows[0]


async def test_the_key_shows_for_each_judge_whose_letter_was_whose(archive: Archive) -> None:
    await archive.hold("run-000001")
    text = await archive("key")
    assert "| Judge | A | B |\n|---|---|---|\n| sol | opus | sol |\n| opus | sol | opus |" in text
    assert "- 2. opus: `p:opus effort=high`" in text


async def test_research_is_shown_by_category(archive: Archive) -> None:
    await archive.hold("run-000001")
    text = await archive("research")
    assert text == "### Cultural context\n\n> It is *old*.\n\n### Plot\n\n> Nothing was found."


async def test_a_private_council_is_shown_only_to_the_person_who_asked(archive: Archive) -> None:
    private = replace(HERE, thread="private:ana")
    await archive.hold("run-000001", private)
    for place in (HERE, ELSEWHERE, replace(private, thread="private:bia")):
        assert await archive.refused("answers", "000001", place, BIA) == "unknown"
        assert await archive.refused("export", "run-000001", place, BIA) == "unknown"
    assert "Yes." in await archive("answers", "000001", ELSEWHERE, ANA)
    assert await archive.refused("answers", "", HERE, ANA) == "none_here"


async def test_people_in_the_place_see_its_councils_and_other_spaces_none(archive: Archive) -> None:
    await archive.hold("run-000001")
    assert "Yes." in await archive("answers", "000001", HERE, BIA)
    for twin in (replace(HERE, space="other"), replace(HERE, platform="discord")):
        assert await archive.refused("answers", "000001", twin, ANA) == "unknown"
        assert await archive.refused("answers", "", twin, ANA) == "none_here"


async def test_without_a_name_the_places_newest_council_is_shown(archive: Archive) -> None:
    await archive.hold("run-000001")
    await archive.hold("run-000002", minute=1)
    await archive.hold("run-000003", ELSEWHERE, minute=2)
    stage = (await archive.events())[0]
    assert stage == Stage("council", "Answers · The question of run-000002?")


async def test_of_two_ids_with_the_same_end_this_places_council_is_chosen_or_the_bot_asks(
    archive: Archive,
) -> None:
    await archive.hold("a-000001")
    await archive.hold("b-000001", ELSEWHERE, minute=1)
    assert "a-000001" in str((await archive.events("key", "000001"))[0])
    assert "b-000001" in str((await archive.events("key", "000001", ELSEWHERE))[0])
    assert await archive.refused("key", "000001", replace(HERE, thread="third")) == "which"
    assert "b-000001" in str((await archive.events("key", "b-000001", replace(HERE, thread="third")))[0])


@pytest.mark.parametrize(
    ("what", "key"),
    [("", "what"), ("names", "what"), ("key 2", "what"), ("answers two", "what"), ("answers 9", "no_seat")],
)
async def test_missing_councils_and_parts_get_a_sentence(archive: Archive, what: str, key: str) -> None:
    await archive.hold("run-000001")
    assert await archive.refused(what) == key


async def test_an_export_holds_everything_in_one_file(archive: Archive) -> None:
    await archive.hold("run-000001")
    *_, file = await archive.events("export")
    assert isinstance(file, Attachment)
    assert (file.name, file.media_type) == ("council-000001.md", "text/markdown")
    text = file.data.decode()
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Question", "## Synthesis", "## Dissent", "## Count of the votes", "## Answers", "## Ballots",
        "## Which letter was whose answer", "## Research",
    ]  # fmt: skip
    for said in ("> It depends.", "> Sol disagrees.", "> Let me think.", "> No idea.", "Answered: 2 of 3"):
        assert said in text


async def test_a_page_holds_everything_under_the_title_of_its_conversation(archive: Archive) -> None:
    await archive.hold("run-000001")
    *_, file = await archive.events("export", form="html")
    assert isinstance(file, Attachment)
    assert (file.name, file.media_type) == ("council-000001.html", "text/html")
    text = file.data.decode()
    assert "<h1>The question of run-000001?</h1>" in text
    assert re.findall("<h2>(.*?)</h2>", text) == [
        "Question", "Synthesis", "Dissent", "Answers", "Ballots", "Count of the votes",
        "Which letter was whose answer", "Research",
    ]  # fmt: skip
    for said in (
        "<p>It depends.</p>",
        "<p>Let me think.</p>",
        "<p>No idea.</p>",
        "<em>old</em>",
        "Answered: 2 of 3",
    ):
        assert said in text
    tabs = re.findall(r'<input type="radio" name="(\w+)" id="([\w-]+)"( checked)?><label for="\2">', text)
    assert [id for _, id, opened in tabs if opened] == ["part-0", "answer-0", "ballot-0"]
    session = await archive.sessions.open(
        HERE.space,
        HERE.platform,
        HERE.channel,
        HERE.thread,
        "council",
        author_id=ANA.id,
        title="Ends & means <b>",
    )
    await archive.sessions.add_exchange(HERE.space, session.id, "run-000001", "?", "It depends.", "[]")
    *_, file = await archive.events("export", form="html")
    assert isinstance(file, Attachment)
    assert "<title>Ends &amp; means &lt;b&gt;</title>" in file.data.decode()


@example("</section><script>alert(1)</script>")
@example("![](https://example.com/eye.png) <img src=x onerror=alert(1)>")
@example("[press](javascript:alert(1)) <javascript:alert(1)>")
@given(st.text(st.sampled_from("a<>/\"'&#`|![]()\n "), max_size=40))
def test_a_page_runs_no_script_and_loads_no_file(said: str) -> None:
    text = "x" + said
    row = council(
        "run", kind="synthesis", question=text, verdict=text, dissent=text, criteria=text,
        research=json.dumps({text: text}),
    )  # fmt: skip
    seats = [seat(n, name=f"n{text}", settings=text, answer=text, reasoning=text) for n in range(2)]
    votes = [ballot(n, raw=text, again=text, reasoning=text) for n in range(2)]
    shown = page.whole(Council(row, tuple(seats), tuple(votes)), text, SAY)
    body = shown.partition("<body>")[2]
    elements = set(re.findall(r"<(/?[a-z][a-z0-9]*)", body))
    assert not {name.lstrip("/") for name in elements} & {
        "script",
        "img",
        "iframe",
        "style",
        "object",
        "link",
    }
    assert not re.search(r"<[^>]*\s(on\w+|src|style)=", body)
    assert not re.search(r'href="\s*(javascript|data|vbscript):', body, re.IGNORECASE)
    assert body.count("<section>") == body.count("</section>") == 2 + 2 + 5


@pytest.mark.parametrize(
    ("kind", "title"),
    [("single", "The answer of one model"), ("best", "The best answer, unchanged"), ("", "Not finished")],
)
def test_only_a_whole_synthesis_is_called_one(kind: str, title: str) -> None:
    row = council("run", kind=kind, verdict="Something.")
    text = markdown.whole(Council(row, SEATS, ()), SAY)
    assert f"## {title}\n\n> Something." in text
    assert "Synthesis" not in text


@example("\u2028## mine")
@example("\r## mine")
@example("\n```\n## mine")
@given(st.text(st.sampled_from("a#`~>|-*[]<\n\r\v\x1c\u2028 "), max_size=40))
def test_no_quoted_text_opens_an_element_of_the_page(said: str) -> None:
    text = "x" + said
    row = council(
        "run", kind="synthesis", question=text, verdict=text, dissent=text, criteria=text,
        research=json.dumps({"plot": text}),
    )  # fmt: skip
    seats = [seat(n, name=f"n{text}", settings=text, answer=text, reasoning=text) for n in range(2)]
    votes = [ballot(n, raw=text, again=text, reasoning=text) for n in range(2)]
    page = markdown.whole(Council(row, tuple(seats), tuple(votes)), SAY)
    assert [line for line in page.splitlines() if line.startswith(("## ", "```", "~~~"))] == [
        "## Question", "## Synthesis", "## Dissent", "## Answers", "## Ballots", "## Which letter was whose answer",
        "## Research",
    ]  # fmt: skip
