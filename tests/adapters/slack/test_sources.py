"""The full sources of an answer, page by page, in a window or in an ephemeral message."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from bot.events import Citation
from tests.adapters.slack.pressing import done, press, shown
from tests.adapters.slack.table import Table

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_sources_are_shown_in_full_to_the_presser_alone(at: Table) -> None:
    request = await done(at)
    cited = [
        Citation(1, "Handbook <!channel>", "Combat › Grappling", "A *grappled* creature's speed is 0.", 195),
        Citation(2, "Monsters", "", "<@U0BIA> @everyone flees.\n\nAnd comes back."),
    ]
    kept = [json.dumps(asdict(source)) for source in cited]
    await at.app.resources.records.offers.keep(at.space, request.id, "source", kept)
    answer = await shown(at, f"sources:{request.id}")
    await press(at, at.ana, answer, "sources")
    (view,) = await at.slack.until(lambda: [view for view in at.slack.views if view.user is at.ana])
    assert view.shown == (
        "Sources\nClose\n[1] Handbook <!channel> › Combat › Grappling, p. 195A *grappled* creature's speed is 0.\n"
        "[2] Monsters<@U0BIA> @everyone flees.\n\nAnd comes back."
    ).replace("Close\n", "")
    assert view.mentions == []


async def test_many_sources_have_pages_in_their_window(at: Table) -> None:
    request = await done(at)
    cited = [Citation(n, f"Book {n}", "A section", f"Sentence {n}. " * 200) for n in range(1, 13)]
    kept = [json.dumps(asdict(source)) for source in cited]
    await at.app.resources.records.offers.keep(at.space, request.id, "source", kept)
    answer = await shown(at, f"sources:{request.id}")
    await press(at, at.ana, answer, "sources")
    (view,) = await at.slack.until(lambda: [view for view in at.slack.views if view.user is at.ana])
    seen = view.shown
    assert "Book 12" not in seen
    with pytest.raises(LookupError):  # there is nothing before the first page
        await at.slack.press(at.ana, view, "Back")
    while "Book 12" not in view.shown:
        before = view.hash
        assert (await at.slack.press(at.ana, view, "Next")).acked is not None
        await at.slack.until(lambda before=before: view.hash != before)  # type: ignore[misc]
        seen += view.shown
    for n in range(1, 13):
        assert f"[{n}] Book {n} › A section" in seen
    assert sum(seen.count(f"Sentence {n}.") for n in range(1, 13)) == 12 * 200
    before = view.hash
    await at.slack.press(at.ana, view, "Back")
    await at.slack.until(lambda: view.hash != before)
    assert "Book 12" not in view.shown


async def test_sources_are_ephemeral_with_pages_if_it_is_too_late_for_a_window(at: Table) -> None:
    request = await done(at)
    cited = [Citation(n, f"Book {n}", "", "Words. " * 500) for n in range(1, 4)]
    kept = [json.dumps(asdict(source)) for source in cited]
    await at.app.resources.records.offers.keep(at.space, request.id, "source", kept)
    answer = await shown(at, f"sources:{request.id}")
    at.slack.fail("views.open", error="expired_trigger_id")
    await press(at, at.ana, answer, "sources")
    page = await at.whispered(at.ana)
    assert "Book 1" in page.shown
    await press(at, at.ana, page, "Next")
    await at.slack.until(lambda: "Book 2" in page.shown)
    assert "Book 1" not in page.shown
    assert page.ephemeral_to is at.ana
    assert at.channel.messages == [answer, page]
