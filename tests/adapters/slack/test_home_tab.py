"""The Home tab: one person's view, in their language, and presses in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal

import pytest

from bot.accounts import Accounts
from bot.adapters.slack.placing import PLATFORM
from bot.adapters.slack.received import home_tab, windows
from bot.adapters.slack.received.home_tab import ARCHIVE, ASK, OPEN, REFRESH, RESUME
from bot.check import model_check
from bot.config import BudgetConfig
from bot.events import Place
from bot.names import Names
from bot.words import LOCALES, words
from storage.buttons import Feedback
from storage.ledger import Ledger
from storage.sessions import SessionRow
from tests.adapters.slack.table import Table
from tests.fakes.slack import User
from tests.fakes.slack.block_rules import HOME, wrong
from tests.fakes.slack.texts import block_pings
from tests.fakes.slack.views import View

pytestmark = pytest.mark.asyncio(loop_scope="module")
WHEN = datetime.fromtimestamp(1_700_000_000, UTC)


async def home(at: Table, who: User) -> View:
    sent = await at.slack.open_home(who)
    assert sent is not None
    assert sent.acked is not None
    await at.slack.until(lambda: at.slack.home(who) is not None)
    return _now(at, who)


async def session(at: Table, who: User, title: str = "The siege", *, thread: str = "1.5") -> SessionRow:
    where = (at.space, PLATFORM, at.channel.id, thread, "rules")
    return await at.app.resources.records.sessions.open(*where, author_id=who.id, title=title)


async def press(at: Table, who: User, view: View, what: str) -> None:
    """Press, and wait until the tab was published again."""
    before = view.hash
    sent = await at.slack.press(who, view, what)
    assert sent.acked is not None
    await at.slack.until(lambda: _now(at, who).hash != before)


def _now(at: Table, who: User) -> View:
    view = at.slack.home(who)
    assert view is not None
    return view


def labels(view: View) -> list[str]:
    rows = [block for block in view.blocks if block["type"] == "actions"]
    return [button["text"]["text"] for row in rows for button in row["elements"]]


async def test_the_tab_shows_examples_usage_and_settings(at: Table) -> None:
    shown = (await home(at, at.ana)).shown
    assert shown.count("\n• ") >= 3, "three examples"
    assert "You have no conversations yet" in shown
    assert "0 calls to models" in shown
    assert "quote the books word for word" in shown
    assert "The library is empty" in shown
    assert "nobody has changed one here" in shown
    assert "slack_home." not in shown


async def test_the_tab_is_in_the_readers_language(at: Table) -> None:
    rui = at.team.user("Rui", locale="pt-BR")
    shown = (await home(at, rui)).shown
    assert "Suas conversas" in shown
    assert "Your conversations" not in shown


async def test_an_admin_sees_more(at: Table) -> None:
    own, more = (await home(at, at.ana)).shown, (await home(at, at.bia)).shown
    for said in ("Everyone, in the last", "You are an admin here", "rated an answer"):
        assert said in more
        assert said not in own


async def test_the_tab_lists_the_workspaces_models_and_the_transcriber(at: Table) -> None:
    app, here = at.app, Place(PLATFORM, at.space, at.channel.id, "")
    config = app.config
    before = [await home(at, who) for who in (at.ana, at.bia)]
    assert all("No language model is set up" in view.shown for view in before)
    await app.settings.set_all(here, at.bia.id, {"model.answerer": "ollama:qwen3"}, "space")
    app.config = replace(config, speech=replace(config.speech, transcriber="whisper"))
    try:
        for who, view in zip((at.ana, at.bia), before, strict=True):
            await press(at, who, view, REFRESH)
        own, more = _now(at, at.ana).shown, _now(at, at.bia).shown
        checks = model_check(config, await app.settings.roles_of_space(at.space), words("en"))
    finally:
        app.config = config
        await app.settings.reset_all(here, at.bia.id, ["model.answerer"], "space")
    assert "ollama:qwen3 writes the answers." in own
    assert checks.text == "ollama:qwen3 writes the answers."
    for line in ("answerer: ollama:qwen3", "writer: ollama:qwen3", "transcriber: whisper (on this machine)"):
        assert line in more
        assert line not in own


async def test_people_see_their_own_usage_and_admins_everybodys(at: Table) -> None:
    before = (await Accounts(*_kept(at)).report(at.space, at.bia.id, everybody=True)).whole
    await spend(at, at.space, at.ana, 700, "0.25")
    await spend(at, at.space, at.bia, 40, "0.50")
    await spend(at, "T0ELSEWHERE", at.ana, 9_000, "9.00")
    own, more = (await home(at, at.ana)).shown, (await home(at, at.bia)).shown
    assert "You, in the last 30 days: 1 call to models, 700 tokens read, 3 written, $0.25." in own
    assert "40 tokens read, 3 written, $0.50." in more
    assert f"{before.input_tokens + 740} tokens read" in more


def _kept(at: Table) -> tuple[Ledger, Feedback, Names, BudgetConfig]:
    resources = at.app.resources
    return resources.ledger, resources.records.feedback, Names(resources), resources.config.budget


async def spend(at: Table, space: str, who: User, tokens: int, usd: str) -> None:
    ledger = at.app.resources.ledger
    entry = await ledger.reserve(space, "0" * 32, "answer", who.id, "m", tokens, Decimal(usd))
    await ledger.settle(space, entry, input_tokens=tokens, output_tokens=3, cost_usd=Decimal(usd))


async def test_people_see_their_own_conversations_with_links(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "Who?", wait=False)
    mine = await session(at, at.ana, "The <!channel> siege", thread="the-first-event")
    await at.app.resources.records.threads.bind(
        at.space, at.channel.id, "the-first-event", f"{at.channel.id}:{root.ts}"
    )
    await session(at, at.bia, "Bia's secret", thread="2.5")
    await at.app.resources.records.sessions.open(
        "T0ELSEWHERE", PLATFORM, "C9", "3.5", "rules", author_id=at.ana.id, title="Another workspace's"
    )
    view = await home(at, at.ana)
    assert "siege" in view.shown
    assert f"`{mine.alias}`" in view.shown
    assert "secret" not in view.shown
    assert "Another" not in view.shown
    assert view.mentions == []
    (row,) = [block for block in view.blocks if block["type"] == "actions" and ASK not in str(block)]
    assert row["elements"][0]["url"].endswith(root.ts.replace(".", ""))
    assert (await at.slack.press(at.ana, view, OPEN + mine.id)).acked is not None


async def test_a_conversation_can_be_archived_and_resumed(at: Table) -> None:
    mine = await session(at, at.ana)
    view = await home(at, at.ana)
    await press(at, at.ana, view, ARCHIVE + mine.id)
    assert await at.app.resources.records.sessions.active(at.space, PLATFORM, at.channel.id, "1.5") is None
    view = _now(at, at.ana)
    assert "archived" in view.shown
    await press(at, at.ana, view, RESUME + mine.id)
    again = await at.app.resources.records.sessions.active(at.space, PLATFORM, at.channel.id, "1.5")
    assert again is not None
    assert again.id == mine.id
    assert "Archive" in labels(_now(at, at.ana))


@pytest.mark.parametrize("what", [ARCHIVE, RESUME])
@pytest.mark.parametrize("space", ["here", "T0ELSEWHERE"])
async def test_a_forged_button_cannot_change_another_persons_conversation(
    at: Table, what: str, space: str
) -> None:
    where = (at.space if space == "here" else space, PLATFORM, at.channel.id, f"{what}.5", "rules")
    owner = at.bia if space == "here" else at.ana
    hers = await at.app.resources.records.sessions.open(*where, author_id=owner.id, title="Hers")
    view = await home(at, at.ana)
    button = home_tab._button(what + hers.id, "Forged")
    view.content["blocks"].append({"type": "actions", "block_id": "forged", "elements": [button]})
    await press(at, at.ana, view, "Forged")
    found = await at.app.resources.records.sessions.active(*where[:4])
    assert found == hers
    assert "Hers" not in _now(at, at.ana).shown
    dm = at.team.dm(at.ana)
    await at.slack.until(lambda: any("no longer have" in message.shown for message in dm.messages))


async def test_a_button_of_another_release_refreshes_the_tab(at: Table) -> None:
    view = await home(at, at.ana)
    button = home_tab._button("home:fly", "Fly")
    view.content["blocks"].append({"type": "actions", "block_id": "old", "elements": [button]})
    await press(at, at.ana, view, "Fly")
    dm = at.team.dm(at.ana)
    await at.slack.until(lambda: any("no longer" in message.shown for message in dm.messages))
    assert "Fly" not in labels(_now(at, at.ana))


async def test_refresh_shows_the_latest_state(at: Table) -> None:
    view = await home(at, at.ana)
    await session(at, at.ana, "Since then")
    await press(at, at.ana, view, REFRESH)
    assert "Since then" in _now(at, at.ana).shown


async def test_a_question_can_be_asked_from_the_tab(at: Table) -> None:
    view = await home(at, at.ana)
    assert (await at.slack.press(at.ana, view, ASK)).acked is not None
    (window,) = await at.slack.until(lambda: [view for view in at.slack.views if view.user is at.ana])
    await at.slack.submit(at.ana, window, {windows.block_id(0): {windows.TYPED: "Who?"}})
    await at.begun()
    assert (at.asked.text, at.origin.channel) == ("Who?", at.team.dm(at.ana).id)


async def test_the_tab_shows_the_settings_of_its_workspace_alone(at: Table) -> None:
    prompts = at.app.resources.prompts
    await prompts.edit(at.space, "rag", await reworded(at, "rag"), at.bia.id)
    await prompts.edit("T0ELSEWHERE", "rewrite", await reworded(at, "rewrite"), "U9")
    try:
        shown = (await home(at, at.ana)).shown
        assert "Changed here: the prompt `rag`" in shown
    finally:
        await prompts.reset(at.space, "rag", at.bia.id)


async def reworded(at: Table, name: str) -> str:
    """A different wording of the named prompt with the same placeholders."""
    wanted = (await at.app.resources.prompts.wording(at.space, name)).text.placeholders
    return "Answer as a bard would. " + " ".join(f"{{{one}}}" for one in sorted(wanted))


async def test_prompts_are_suggested_once_in_direct_messages(at: Table) -> None:
    dm = at.team.dm(at.ana)
    await at.slack.open_home(at.ana, "messages")
    await at.slack.until(lambda: dm.id in at.slack.agents.prompts)
    assert len(at.slack.agents.prompts[dm.id]) == 4
    assert at.slack.home(at.ana) is None
    before = len(at.slack.calls)
    await at.slack.open_home(at.ana, "messages")
    await home(at, at.ana)
    assert "assistant.threads.setSuggestedPrompts" not in [call.method for call in at.slack.calls[before:]]


async def test_a_refused_tab_does_no_harm(at: Table) -> None:
    at.slack.fail("views.publish", error="internal_error")
    sent = await at.slack.open_home(at.ana)
    assert sent is not None
    assert sent.acked is not None
    assert "Usage" in (await home(at, at.ana)).shown


@pytest.mark.parametrize("locale", LOCALES)
async def test_slack_accepts_a_tab_of_any_amount_of_content(locale: str) -> None:
    states: list[Literal["active", "closed", "archived"]] = ["active", "closed", "archived"]
    many = [
        (
            SessionRow(
                f"{n:030}abcdef",
                "T1",
                PLATFORM,
                "C1",
                "1.5",
                "rules",
                state,
                WHEN,
                None,
                "<!here> *A* & " + "long " * 100,
                "U1",
                WHEN,
            ),
            link,
        )
        for n in range(120)
        for state, link in ((states[n % 3], "https://x.test/" if n % 2 else ""),)
    ]
    lines = ["x" * 5_000, *(f"line {n}" for n in range(900))]
    view = home_tab.view("sutradhar", many, 7, lines, lines, words(locale))
    assert wrong(view["blocks"], HOME) == []
    assert block_pings(view["blocks"]) == []
    assert "117" in str(view["blocks"])
