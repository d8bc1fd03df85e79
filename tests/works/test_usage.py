"""/usage: a person sees what they have spent, an admin what everybody has, and nobody another space's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from bot.accounts import NAMED, Accounts
from bot.app import App
from bot.config import BudgetConfig, Config, load
from bot.events import Attachment, Author, Notice, OptionValue, Picture, Place, Request, Stage, Text
from bot.llm.cache_times import CacheTimes
from bot.names import Names
from bot.platforms import Platform
from bot.runs.requests import row_of
from bot.words import words
from bot.works.house.bars import GROUPS, Bars, bars_of
from bot.works.house.chart import draw
from storage.tables import ledger
from tests.fakes import migrated
from tests.fakes.scripted_app import Recorder, asked

ANA, BIA = Author("ana", "Ana"), Author("bia", "Bia | the *Bold*")
BOSS = Author("boss", "Boss", admin=True)
HERE, THERE = Place("terminal", "here", "c", "t"), Place("terminal", "there", "c", "t")


def config(folder: Path, budget: str = "") -> Config:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f"[budget]\n{budget}\n", encoding="utf-8")
    return load(folder / "config.toml", migrated.folder(folder / "data"), environ={})


class Desk:
    """Spends, then asks for the usage."""

    def __init__(self, app: App, recorder: Recorder) -> None:
        self.app = app
        self._recorder = recorder
        self._runs = 0

    def _request(self, place: Place, author: Author, work: str, verb: str) -> Request:
        self._runs += 1
        return replace(asked(f"r{self._runs:03}", "", work=work, verb=verb), place=place, author=author)

    async def spent(
        self,
        author: Author,
        usd: str | None = "0.25",
        *,
        place: Place = HERE,
        work: str = "rules",
        known: bool = True,
        settled: bool = True,
    ) -> str:
        """One call of 1,000 input tokens, 200 of them cached, and 30 output tokens; returns its run."""
        request = self._request(place, author, work, "ask")
        if known:
            await self.app.resources.records.inbox.receive([row_of(request)])
            await self.app.resources.records.inbox.set_states({request.id: "done"})
        calls, cost = self.app.resources.ledger, None if usd is None else Decimal(usd)
        entry = await calls.reserve(place.space, request.id, "answer", author.id, "p:m", 2_000, cost)
        if settled:
            await calls.settle(
                place.space, entry, input_tokens=800, output_tokens=30, cache_read_tokens=200, cost_usd=cost
            )
        return request.id

    async def usage(
        self, author: Author = ANA, place: Place = HERE, locale: str = "en", **options: OptionValue
    ) -> str:
        request = self._request(place, author, "house", "usage")
        request = replace(request, locale=locale, options=options)
        assert await (await self.app.perform(request)).wait() == "done"
        stage, text = self._recorder.events[request.id]
        assert isinstance(stage, Stage)
        assert isinstance(text, Text)
        return text.text


@pytest.fixture
def budget() -> str:
    """The contents of [budget]."""
    return ""


@pytest.fixture
async def desk(tmp_path: Path, budget: str) -> AsyncIterator[Desk]:
    recorder = Recorder()
    app = await App.open(config(tmp_path, budget))
    app.attach(Platform("terminal", recorder.view))
    await app.start()
    yield Desk(app, recorder)
    await app.close()


def rows(told: str) -> list[str]:
    return [line for line in told.splitlines() if line.startswith("| ") and "Calls" not in line]


async def test_a_person_sees_only_their_own_usage(desk: Desk) -> None:
    await desk.spent(ANA)
    await desk.spent(ANA, "0.5", work="council")
    await desk.spent(BIA, "70")
    events = await desk.usage(ANA)
    assert rows(events) == [
        "| You | 2 | 2,000 | 60 | $0.75 |",
        "| council | 1 | 1,000 | 30 | $0.50 |",
        "| rules | 1 | 1,000 | 30 | $0.25 |",
    ]
    assert "your own use" in events
    assert "Bia" not in events
    assert "70" not in events


async def test_an_admin_sees_everybodys_usage_by_name(desk: Desk) -> None:
    await desk.spent(BIA)
    await desk.spent(replace(BIA, name="Bia  the\nElder"), "0.75")
    await desk.spent(Author("4711", "unknown"), "0.5", known=False)
    await desk.spent(BOSS, "0.125")
    events = await desk.usage(BOSS)
    assert rows(events)[:4] == [
        "| Bia the Elder | 2 | 2,000 | 60 | $1.00 |",
        "| 4711 | 1 | 1,000 | 30 | $0.50 |",
        "| You | 1 | 1,000 | 30 | $0.12 |",
        "| All | 4 | 4,000 | 120 | $1.62 |",
    ]
    assert "| other | 1 | 1,000 | 30 | $0.50 |" in events
    assert "your own use" not in events


async def test_a_conversation_has_its_own_line_with_cached_tokens(desk: Desk) -> None:
    sessions = desk.app.resources.records.sessions
    mine = await sessions.open("here", "terminal", "c", "t", "rules", author_id="ana", title="The mill")
    other = await sessions.open("here", "terminal", "c", "elsewhere", "rules", author_id="ana", title="No")
    for author, session in ((ANA, mine), (BIA, mine), (ANA, other)):
        run = await desk.spent(author)
        await sessions.add_exchange("here", session.id, run, "Who?", "She.")
    line = "This conversation, “The mill”: {}, {} tokens read ({} of them from a service's cache, 0 written to it)"
    assert line.format("1 call", "1,000", "200") in await desk.usage(ANA)
    assert line.format("2 calls", "2,000", "400") in await desk.usage(BOSS)
    assert "This conversation" not in await desk.usage(BOSS, THERE)
    assert "Esta conversa, “The mill”: 1 chamada, 1.000 tokens lidos" in await desk.usage(ANA, locale="pt-BR")


async def test_a_name_does_not_break_the_table(desk: Desk) -> None:
    await desk.spent(BIA)
    assert rows(await desk.usage(BOSS))[0].startswith(r"| Bia \| the \*Bold\* | 1 |")


async def test_two_spaces_with_the_same_people_never_mix(desk: Desk) -> None:
    await desk.spent(ANA)
    await desk.spent(ANA, "9", place=THERE, work="council")
    run = await desk.spent(BIA, "8", place=THERE)
    # As if two spaces had the same id: the other space's request gives this one neither its name nor its work.
    await desk.app.resources.ledger.reserve("here", run, "answer", "bia", "p:m", 10, Decimal(1))
    await desk.app.resources.records.feedback.give("there", run, "ana", "down")
    events = await desk.usage(BOSS)
    assert rows(events) == [
        "| bia | 1 | 0 | 0 | $1.00 |",
        "| Ana | 1 | 1,000 | 30 | $0.25 |",
        "| All | 2 | 1,000 | 30 | $1.25 |",
        "| other | 1 | 0 | 0 | $1.00 |",
        "| rules | 1 | 1,000 | 30 | $0.25 |",
    ]
    assert "Nobody rated" in events
    assert "| You | 1 | 1,000 | 30 | $9.00 |" in await desk.usage(ANA, THERE)


async def test_ratings_are_counted_for_every_asker(desk: Desk) -> None:
    run = await desk.spent(BIA)
    for person, verdict in (("ana", "up"), ("bia", "up"), ("eve", "down"), ("eve", "up"), ("boss", "down")):
        await desk.app.resources.records.feedback.give("here", run, person, verdict)  # type: ignore[arg-type]
    for author in (ANA, BOSS):
        assert "3 helped, 1 did not" in await desk.usage(author)


async def test_unpriced_usage_is_mentioned_and_left_out(desk: Desk) -> None:
    await desk.spent(ANA, None)
    events = await desk.usage()
    assert rows(events)[0] == "| You | 1 | 1,000 | 30 | ? |"
    assert "The price of 1 call is unknown (?), so the sums leave it out." in events
    await desk.spent(ANA, "0.00001")
    assert rows(await desk.usage())[0] == "| You | 2 | 2,000 | 60 | ? |"
    await desk.spent(ANA, "0.01")
    assert rows(await desk.usage())[0] == "| You | 3 | 3,000 | 90 | ≥ $0.0100 |"
    await desk.spent(BOSS, "0.00001")
    assert "| You | 1 | 1,000 | 30 | < $0.0001 |" in await desk.usage(BOSS)
    await desk.spent(BIA, "0")
    events = await desk.usage(BIA)
    assert rows(events)[0] == "| You | 1 | 1,000 | 30 | $0.00 |"
    assert "The price of" not in events


@pytest.mark.parametrize("budget", ["run_usd = 2.5\nspace_usd = 3\nspace_days = 7"])
async def test_caps_and_their_remainders_are_shown(desk: Desk) -> None:
    await desk.spent(ANA, "1.25")
    await desk.spent(BIA, "0.5", settled=False)
    events = await desk.usage(ANA)
    assert "One request may cost up to $2.50." in events
    assert (
        "may spend $3.00 in 7 days. $1.75 are spent or set aside for calls in progress, $1.25 are left."
        in events
    )
    assert "1 call in progress counts" in await desk.usage(BIA)
    await desk.spent(BIA, "5")
    assert "$0.00 are left" in await desk.usage(ANA)


async def test_without_a_cap_usage_says_so_and_without_spending_there_is_no_table(
    desk: Desk,
) -> None:
    events = await desk.usage()
    assert "nothing was spent" in events
    assert "One request may cost up to $5.00." in events
    assert "No limit is set on what this space may spend" in events
    assert "Admins can set budgets, too: see `/settings budget`." in events
    assert "|" not in events


async def test_only_the_requested_days_count(desk: Desk) -> None:
    assert "In the last 30 days:" in await desk.usage()
    assert "In the last 1 day:" in await desk.usage(days=1)
    assert "In the last 366 days:" in await desk.usage(days=99_999_999)


async def test_many_people_are_grouped_in_one_line(desk: Desk) -> None:
    for n in range(NAMED + 3):
        await desk.spent(Author(f"p{n}", f"Person {n}"), f"{n + 1}")
    lines = rows(await desk.usage(BOSS))
    assert lines[0] == f"| Person {NAMED + 2} | 1 | 1,000 | 30 | ${NAMED + 3}.00 |"
    assert lines[NAMED : NAMED + 2] == [
        "| 3 others | 3 | 3,000 | 90 | $6.00 |",
        "| All | 23 | 23,000 | 690 | $276.00 |",
    ]


@pytest.mark.parametrize("budget", ["space_usd = 3"])
async def test_usage_is_shown_in_portuguese(desk: Desk) -> None:
    run = await desk.spent(ANA)
    await desk.spent(ANA, None)
    await desk.app.resources.records.feedback.give("here", run, "ana", "up")
    events = await desk.usage(locale="pt-BR")
    assert events.startswith("Nos últimos 30 dias:\n")
    assert rows(events)[1:2] == ["| Você | 2 | 2.000 | 60 | ≥ US$ 0,25 |"]
    assert "| regras | 2 | 2.000 | 60 | ≥ US$ 0,25 |" in events
    assert "1 chamada foi a um modelo de preço desconhecido" in events
    assert "1 ajudou, 0 não" in events
    assert "restam US$ 2,75" in events
    assert "Este é só o seu uso." in events
    assert (await desk.usage(locale="pt", days=1)).startswith("No último dia:")


async def test_caps_in_tokens_and_cached_tokens_are_shown(desk: Desk) -> None:
    now = 0.0
    times = CacheTimes(lambda: now)
    for _ in range(3):
        times.hour("writer", "a:b", HERE)
        now += 420
    resources = desk.app.resources
    accounts = Accounts(
        resources.ledger,
        resources.records.feedback,
        Names(resources),
        BudgetConfig(space_tokens=9_000),
        times,
    )

    async def usage(place: Place = HERE, locale: str = "en") -> str:
        request = asked("r", "", work="house", verb="usage")
        return await accounts.answer(replace(request, place=place, author=ANA, locale=locale))

    await desk.spent(BIA, None)
    told = await usage()
    assert "kept for an hour. At the pace of the last 2 gaps, that costs 0.10 times" in told
    assert "five minutes would cost 1.25 times" in told
    assert "This space may use 9,000 tokens in 30 days. 1,030 are used" in told
    assert "custa 0,10 vezes" in await usage(locale="pt-BR")
    assert "One request may use up to 5,000,000 tokens." in told
    assert "kept for" not in await usage(THERE)


@pytest.mark.parametrize("by", ["work", "model", "person", "channel", "day"])
async def test_usage_is_shown_as_a_table_and_a_file_for_any_grouping(desk: Desk, by: str) -> None:
    for author, place in ((ANA, HERE), (ANA, HERE), (BIA, HERE), (BIA, THERE)):
        await desk.spent(author, place=place)
    (group, other) = await desk.app.resources.ledger.groups("here", datetime.now(UTC) - timedelta(days=1))
    assert (group.author_id, group.work, group.model, group.totals.calls) == ("ana", "rules", "p:m", 2)
    assert group.day == f"{datetime.now(UTC):%Y-%m-%d}"
    shown = {"work": "rules", "model": "p:m", "person": "| Ana |", "day": group.day}.get(by, "unknown")
    request = desk._request(HERE, BOSS, "house", "usage")
    request = replace(request, options={"by": by, "csv": True})
    assert await (await desk.app.perform(request)).wait() == "done"
    events = desk._recorder.events[request.id]
    (text,) = [event.text for event in events if isinstance(event, Text)]
    assert shown in text or by == "channel"
    assert text.count("\n") == (3 if by == "person" else 2), "two people in one space, and no other space's"
    (file,) = [event for event in events if isinstance(event, Attachment)]
    header, *lines = file.data.decode().splitlines()
    assert header.startswith("day,person,person_name,work,model,channel,channel_name,calls,input_tokens")
    assert [line.split(",")[1:3] for line in lines] == [["ana", "Ana"], ["bia", BIA.name]]
    own = await desk.app.accounts.breakdown(replace(request, author=ANA))
    assert "bia" not in own.table + own.csv
    assert other.author_id == "bia"


async def test_people_and_channels_appear_by_name_or_else_by_id(desk: Desk) -> None:
    async def channel_name(place: Place) -> str:
        return {"c1": "#rules | *lore*"}.get(place.channel, "")

    async def person_name(place: Place, person: str) -> str:
        return {"4711": "Cem"}.get(person, "")

    platform = Platform("terminal", desk._recorder.view, channel_name=channel_name, person_name=person_name)
    desk.app.attach(platform)
    await desk.spent(ANA)
    for person, channel in (("4711", "c1"), ("4712", "=c2"), ("", "c1")):
        await desk.app.resources.ledger.reserve(
            "here", "old", "answer", person, "p:m", 10, None, channel=channel
        )
    request = replace(desk._request(HERE, BOSS, "house", "usage"), options={"by": "person", "csv": True})
    split = await desk.app.accounts.breakdown(request)
    assert [row.split(" | ")[0] for row in rows(split.table)] == [
        "| Ana",
        "| without a name",
        "| Cem",
        "| 4712",
    ]
    named = [line.split(",")[1:7] for line in split.csv.splitlines()]
    assert named[1:] == [
        ["", "", "", "p:m", "c1", "#rules | *lore*"],
        ["4711", "Cem", "", "p:m", "c1", "#rules | *lore*"],
        ["4712", "", "", "p:m", "'=c2", ""],
        ["ana", "Ana", "rules", "p:m", "", ""],
    ]
    request = replace(request, options={"by": "channel"})
    by_channel = rows((await desk.app.accounts.breakdown(request)).table)
    assert {row.rsplit(" | ", 5)[0] for row in by_channel} == {
        "| other",
        r"| #rules \| \*lore\*",
        "| =c2",
    }


async def drawn(desk: Desk, **options: OptionValue) -> list[str]:
    """What follows the text in the answer to an admin: descriptions of pictures, and notices."""
    request = replace(desk._request(HERE, BOSS, "house", "usage"), options=options)
    assert await (await desk.app.perform(request)).wait() == "done"
    shown = list[str]()
    for event in desk._recorder.events[request.id]:
        if isinstance(event, Picture):
            assert event.png.startswith(b"\x89PNG")
            shown.append(event.alt)
        elif isinstance(event, Notice):
            shown.append(event.text)
    return shown


async def backdate(desk: Desk, run: str, days: int) -> None:
    then = datetime.now(UTC) - timedelta(days=days)
    query = ledger.update().where(ledger.c.run_id == run).values(created_at=then)
    await desk.app.resources.records.database.run(query)


async def test_a_picture_shows_days_and_works_or_a_bar_for_each_group(desk: Desk) -> None:
    await backdate(desk, await desk.spent(ANA, "2"), 3)
    assert "too little data for a chart" in (await drawn(desk, picture=True))[0], "one bar would say nothing"
    await desk.spent(BIA, "0.5", work="council")
    await desk.spent(BIA, "9", place=THERE)
    assert await drawn(desk) == []
    assert await drawn(desk, picture=True) == [
        "What was spent in the last 30 days, by day and work, in dollars: rules $2.00, council $0.50"
    ]
    assert await drawn(desk, picture=True, by="person", csv=True) == [
        f"What was spent in the last 30 days, by person, in dollars: Ana $2.00, {BIA.name} $0.50"
    ]
    request = replace(desk._request(HERE, BOSS, "house", "usage"), options={"by": "day"})
    shown = await bars_of(desk.app.accounts, request)
    assert len(shown.names) == 4
    assert shown.parts == {"rules": [2.0, 0.0, 0.0, 0.0], "council": [0.0, 0.0, 0.0, 0.5]}
    in_portuguese = await bars_of(desk.app.accounts, replace(request, locale="pt-BR"))
    assert list(in_portuguese.parts) == ["regras", "conselho"]


async def test_unpriced_usage_is_drawn_in_tokens(desk: Desk) -> None:
    await desk.spent(ANA, None)
    await desk.spent(BIA, None, work="council")
    assert await drawn(desk, picture=True, by="work") == [
        "Tokens used in the last 30 days, by work: council 1.03k, rules 1.03k"
    ]


@pytest.mark.parametrize(
    ("by", "groups"), [("day", 2), ("day", 15), ("day", 366), ("person", 2), ("person", GROUPS)]
)
def test_the_chart_works_for_few_and_many_bars_with_any_names(by: str, groups: int) -> None:
    names = ["日本 🎭", "$\\nothing$", *("W" * 300 for _ in range(groups - 2))]
    parts = {
        name: [float(n) for n in range(groups)] for name in (("a $x$", "日本") if by == "day" else ("",))
    }
    names = [f"2026-01-{n:03}" for n in range(groups)] if by == "day" else names
    bars = Bars("$ spent", by, True, names, parts, "")
    assert draw(bars, lambda value: f"${value:g}").startswith(b"\x89PNG")


async def test_a_terminal_shows_bars_as_characters(desk: Desk) -> None:
    await desk.spent(ANA, "2")
    await desk.spent(BIA, "0.5")
    request = desk._request(HERE, BOSS, "house", "usage")
    table = (await desk.app.accounts.breakdown(replace(request, options={"by": "person"}))).table
    assert [row.count("█") for row in rows(table)] == [20, 5]


async def test_a_terminal_has_no_cost_column_if_nothing_cost_anything(desk: Desk) -> None:
    await desk.spent(ANA, "0")
    request = desk._request(HERE, BOSS, "house", "usage")
    table = (await desk.app.accounts.breakdown(replace(request, options={"by": "person"}))).table
    assert table.splitlines()[0] == words("en")("usage.by_person")
