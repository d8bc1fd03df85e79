"""Budgets of people, groups, channels and the space: who sets them, whom they stop, and the note at 80 %."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bot.admin_budgets import SetBudget, budget_of, setting_of
from bot.events import Author, Notice, Place, Text, UserError
from bot.platforms import Platform, Standing
from bot.retrieval.intake import Item
from bot.words import words
from storage.settings import SettingRow
from tests.fakes.chat_completions import ChatService, Reply
from tests.works.test_settings import ANA, BIA, CONFIG, ELSEWHERE, HERE, Asker, opened

CEM = Author("cem", "Cem")
OTHER_SPACE = replace(HERE, space="other")


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Asker]:
    async def standing(place: Place, person: str, groups: Any) -> Standing:
        return Standing({"ana": ("p1", "g1")}.get(person, ()))

    async def find(place: Place, kind: str, typed: str) -> tuple[str, str] | None:
        return {"players": ("p1", "Players"), "guests": ("g1", "Guests"), "ana": ("ana", "Ana")}.get(typed)

    async with opened(tmp_path) as asker:
        recorder: Any = asker._recorder
        asker.app.attach(Platform("terminal", recorder.view, standing=standing, find=find))
        yield asker


async def budget(ask: Asker, text: str = "", author: Author = BIA, place: Place = HERE, **to: Any) -> str:
    events = await ask.perform(ask.request("settings", "budget", text, place, author, **to))
    return "".join(getattr(event, "text", "") for event in events)


async def spend(ask: Asker, tokens: int, author: Author = ANA, place: Place = HERE) -> None:
    """Use this many tokens of a model without a known price."""
    entry = await ask.app.resources.ledger.reserve(
        place.space, "run", "step", author.id, "p:m", tokens, None, channel=place.channel
    )
    await ask.app.resources.ledger.settle(
        place.space, entry, input_tokens=tokens, output_tokens=0, cost_usd=None
    )


async def refusal(ask: Asker, author: Author = ANA, place: Place = HERE, path: str = "rules ask") -> str:
    work, verb = path.split()
    try:
        await ask.perform(ask.request(work, verb, "1d6" if verb == "roll" else "Who?", place, author))
    except UserError as error:
        return error.key
    return ""


@pytest.mark.parametrize("per", ["day", "month"])
@pytest.mark.parametrize(
    ("to", "key", "others"),
    [
        ({"person": "ana"}, "person", {CEM: "", BIA: ""}),
        ({"whose": "each"}, "person", {CEM: "", BIA: ""}),
        ({"group": "players"}, "person", {CEM: "", BIA: ""}),
        ({"whose": "channel"}, "channel", {CEM: "channel", BIA: "channel"}),
        ({}, "space", {CEM: "space", BIA: "space"}),
    ],
    ids=["person", "each", "group", "channel", "space"],
)
async def test_an_exhausted_budget_stops_only_its_own_people(
    ask: Asker, per: str, to: dict[str, Any], key: str, others: dict[Author, str]
) -> None:
    assert "1000 tokens" in await budget(ask, "1000 tokens", per=per, **to)
    assert await refusal(ask) == ""
    await spend(ask, 1_000)
    assert await refusal(ask) == f"budget.over_{key}_{per}"
    assert await refusal(ask, path="rules roll") == "", "what asks no model goes on"
    assert await refusal(ask, place=OTHER_SPACE) == "", "another space has budgets of its own"
    for author, stopped_by in others.items():
        assert await refusal(ask, author) == (f"budget.over_{stopped_by}_{per}" if stopped_by else "")
    elsewhere = await refusal(ask, place=ELSEWHERE)
    assert elsewhere == ("" if key == "channel" else f"budget.over_{key}_{per}")
    assert "Removed the budget" in await budget(ask, "off", per=per, **to)
    assert await refusal(ask) == ""


async def test_a_personal_budget_overrides_group_budgets_and_the_general_one(
    ask: Asker,
) -> None:
    await budget(ask, "10 tokens", whose="each")
    await budget(ask, "100 tokens", group="guests")
    await budget(ask, "200 tokens", group="players")
    known = replace(ANA, groups=("p1", "g1"))
    request = ask.request("rules", "ask", "Who?", HERE, known)
    (largest,) = await ask.app.resources.budgets.of(request)
    assert (largest.whose, largest.of, largest.tokens) == ("person", "ana", 200)
    await budget(ask, "5 tokens", person="ana")
    (own,) = await ask.app.resources.budgets.of(request)
    assert own.tokens == 5
    (everyones,) = await ask.app.resources.budgets.of(replace(request, author=CEM))
    assert everyones.tokens == 10


async def test_admins_may_exceed_budgets_if_that_is_set(ask: Asker) -> None:
    await budget(ask, "100 tokens")
    await spend(ask, 100)
    assert await refusal(ask, BIA) == "budget.over_space_day"
    await ask("set", "admins_exempt on", author=BIA)
    assert await refusal(ask, BIA) == ""
    assert await refusal(ask) == "budget.over_space_day"


async def test_a_call_that_needs_more_than_is_left_is_not_made(ask: Asker) -> None:
    await budget(ask, "1 usd", whose="each")
    (allowance,) = await ask.app.resources.budgets.of(ask.request("rules", "ask", "Who?", HERE, ANA))
    assert (allowance.usd, allowance.tokens) == (Decimal(1), None)
    caps = await ask.app.resources.models.budget._caps(ask.request("rules", "ask", "Who?", HERE, ANA))
    assert caps.allowances == [allowance], "each call of a model is made within it"


async def test_a_note_comes_once_at_80_percent_and_for_the_spaces_budget_to_admins(ask: Asker) -> None:
    await budget(ask, "1000 tokens", whose="each")
    await budget(ask, "1000 tokens", per="month")
    await spend(ask, 799)
    request = ask.request("rules", "ask", "Who?", HERE, ANA)
    assert await ask.app.resources.budgets.words(request) == []
    await spend(ask, 1)

    async def warned() -> list[str]:
        return [words("en")(key, **values) for key, values in await ask.app.resources.budgets.words(request)]

    warning = "Most of your budget here is used: 800 tokens of 1000 tokens a day."
    assert await warned() == [warning]
    assert await warned() == [warning], "the same run gives it again"
    again = ask.request("rules", "ask", "Who?", HERE, ANA)
    assert await ask.app.resources.budgets.words(again) == []
    by_admin = replace(again, id="admins", author=BIA)
    assert [key for key, _ in await ask.app.resources.budgets.words(by_admin)] == ["budget.most_space_month"]
    assert await ask.app.resources.budgets.words(replace(by_admin, id="another")) == []


async def test_the_note_is_shown_beside_an_answer(tmp_path: Path) -> None:
    said = Reply(pieces=["A candle burns four hours [1]."])
    async with (
        ChatService(lambda body: said, models=("one",)) as service,
        opened(tmp_path, CONFIG.format(url=service.base_url)) as ask,
    ):
        book = tmp_path / "light.md"
        book.write_text("# Light\n\nA candle burns four hours.\n")
        intake = ask.app.resources.intake
        assert (
            await intake.take("local", "rules", Item(book.name, str(book)), "rules", replace=False)
        ).key == ""
        await budget(ask, "1000000 tokens", whose="channel")
        await spend(ask, 900_000)
        shown = []
        for author in (CEM, ANA):
            question = "How long does a candle burn?"
            request = ask.request("rules", "ask", question, HERE, author)
            events = await ask.perform(request)
            notices = [event.text for event in events if isinstance(event, Notice)]
            shown.append([text for text in notices if text.startswith("Most of the budget of this channel")])
        assert [len(texts) for texts in shown] == [1, 0]
        entries = await ask.app.resources.ledger.entries("local", request.id)
        assert {entry.channel for entry in entries} == {HERE.channel}


async def test_only_admins_set_budgets_and_others_see_their_own(ask: Asker) -> None:
    assert "Only admins" in await budget(ask, "5 usd", ANA)
    await budget(ask, "5 usd", person="ana")
    await budget(ask, "2.50 usd", whose="each", per="month")
    await budget(ask, "7 usd", place=OTHER_SPACE)
    shown = await budget(ask, author=BIA)
    assert "| `Ana` | $5.00 | day |" in shown
    assert "| each person | $2.50 | month |" in shown
    assert "$7" not in shown
    cems = await budget(ask, author=CEM)
    assert "Ana" not in cems
    assert "- Your budget here: $0.00 used of $2.50 a month." in cems


@pytest.mark.parametrize("typed", ["-1", "0 usd", "five", "1.5 tokens", "1 euro", "9" * 30])
async def test_an_invalid_amount_is_refused(ask: Asker, typed: str) -> None:
    assert "I don't understand the amount" in await budget(ask, typed)
    assert await ask.app.resources.budgets.all("local") == []


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("5", "$5.00"),
        ("$5", "$5.00"),
        ("US$ 5", "$5.00"),
        ("0,25 usd", "$0.25"),
        ("2000 Tokens", "2000 tokens"),
    ],
)
async def test_amounts_are_written_in_several_ways(ask: Asker, typed: str, shown: str) -> None:
    await budget(ask, typed)
    (kept,) = await ask.app.resources.budgets.all("local")
    assert kept.shown(words("en")) == shown
    if kept.unit == "usd":
        assert kept.shown(words("pt")) == "US$ " + shown.removeprefix("$").replace(".", ",")


def test_an_id_with_dots_is_kept_complete() -> None:
    name = setting_of("person", "ana.b", "day", "usd")
    row = SettingRow("s", "space", "", name, "5 Ana B", "bia", None)  # type: ignore[arg-type]
    assert budget_of(row) == SetBudget("person", "ana.b", "day", "usd", Decimal(5), "Ana B")
    assert budget_of(replace(row, name="budget.person.x")) is None
    assert budget_of(replace(row, value="much")) is None


async def test_the_history_shows_who_changed_what(ask: Asker) -> None:
    await ask("set", "works rules", to="channel", author=BIA)
    await ask("reset", "works", to="channel", author=BIA)
    await ask("set", "language en")
    await ask("set", "works rules, course", to="channel", author=BIA)
    await budget(ask, "5 usd", whose="each")
    await budget(ask, "7 usd", place=OTHER_SPACE)
    await budget(ask, "nenhum", whose="each")
    await ask("deny", "story", author=BIA)
    await ask("allow", "models", author=BIA)
    await ask("house", "Potions are free.", work="rules", author=BIA)
    shown = (await ask("history", author=BIA)).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[2:-1]] for line in shown[-8:]]
    assert cells == [
        ["Bia", "everyone", "house rule 1", "`Potions are free.`"],
        ["Bia", "everyone", "access to `models`, everyone", "allowed"],
        ["Bia", "everyone", "access to `story`, everyone", "denied"],
        ["Bia", "everyone", "budget per day of each person", "reset"],
        ["Bia", "everyone", "budget per day of each person", "$5.00"],
        ["Bia", "`here`", "`works`", "`rules, course`"],
        ["Bia", "`here`", "`works`", "reset"],
        ["Bia", "`here`", "`works`", "`rules`"],
    ]
    with pytest.raises(UserError, match=r"app\.admins"):
        await ask("history")


async def test_admins_get_a_message_on_the_spaces_budget_once(tmp_path: Path) -> None:
    said = Reply(pieces=["A candle burns four hours [1]."])
    async with (
        ChatService(lambda body: said, models=("one",)) as service,
        opened(tmp_path, CONFIG.format(url=service.base_url)) as ask,
    ):
        recorder: Any = ask._recorder
        book = tmp_path / "light.md"
        book.write_text("# Light\n\nA candle burns four hours.\n")
        await ask.app.resources.intake.take(
            "local", "rules", Item(book.name, str(book)), "rules", replace=False
        )

        def alone(place: Place, person: str) -> Place:
            return replace(place, channel=f"@{person}")

        platform = Platform(
            "terminal", recorder.view, origin=lambda place: f"at {place.channel}", private_place=alone
        )
        ask.app.attach(platform)

        async def messages() -> list[str]:
            """The messages that admins got through another person's question."""
            before = set(recorder.events)
            await ask.perform(ask.request("rules", "ask", "How long does a candle burn?", HERE, ANA))
            await ask.app.idle()
            told = []
            for run in set(recorder.events) - before:
                past = await ask.app.request_of("local", run)
                assert past is not None
                if past.verb == "used":
                    (text,) = [event.text for event in recorder.events[run] if isinstance(event, Text)]
                    assert text.startswith("Most of the budget of this space is used: ")
                    told.append(f"{past.origin}: {past.author.id}")
            return sorted(told)

        await budget(ask, "1000000 tokens")
        await budget(ask, "10 tokens", place=OTHER_SPACE)
        await spend(ask, 700_000)
        assert await messages() == []
        await spend(ask, 200_000)
        assert await messages() == ["at @bia: bia"], "the admin who has set the budget"
        assert await messages() == []
        await ask("set", "admin_notes on", to="channel", author=BIA, place=ELSEWHERE)
        await budget(ask, "1000000 tokens", per="month")
        assert await messages() == ["at elsewhere: "], "another budget"
        changes = await ask.app.settings.store.changes("local", 50)
        assert not [change for change in changes if change.name.startswith("told")]


async def test_only_admins_decide_where_their_notes_go(ask: Asker) -> None:
    assert "Only admins" in await ask("set", "admin_notes on")
    assert "In this channel, `admin_notes` is now `on`." in await ask("set", "admin_notes on", author=BIA)
