"""Windows: the typed text becomes the request for which the window was opened, only for its person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.adapters.intake import WINDOW
from bot.adapters.invocation import Invocation, PendingForm
from bot.adapters.slack.placing import PLATFORM, Location
from bot.adapters.slack.received import windows
from bot.adapters.slack.received.windows import PART_CHARS, block_id, parts
from bot.commands import ROWS
from bot.config import LimitsConfig
from bot.prompts import as_yaml
from bot.runs.requests import event_id
from bot.words import LOCALES, words
from tests.adapters.slack.table import Table
from tests.fakes.slack import User
from tests.fakes.slack.views import View

QUESTION = "Can a grappled creature cast spells?"


pytestmark = pytest.mark.asyncio(loop_scope="module")


def typed(*texts: str) -> dict[str, dict[str, Any]]:
    return {block_id(n): {windows.TYPED: text} for n, text in enumerate(texts)}


async def opened(
    at: Table, who: User | None = None, text: str = "ask --k 3", command: str = "/rules"
) -> View:
    who = who or at.ana
    n = len(views(at, who))
    sent = await at.slack.command(who, at.channel, command, text)
    assert sent.acked is not None
    return (await at.slack.until(lambda: views(at, who)[n:]))[0]


def views(at: Table, who: User) -> list[View]:
    """All windows that this person has seen."""
    return [view for view in at.slack.views if view.user is who]


async def test_a_command_without_its_text_opens_a_window_that_asks_for_it(at: Table) -> None:
    view = await opened(at)
    assert (view.title, len(view.blocks)) == ("/rules ask", 1)
    sent = await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.begun()
    assert sent.acked is not None
    assert not view.open
    assert (at.asked.text, at.asked.options, at.asked.author.id) == (QUESTION, {"k": 3}, at.ana.id)
    assert (at.origin.home, at.origin.channel) == ("thread", at.channel.id)


@pytest.mark.parametrize(
    ("command", "text", "hint"),
    [
        ("/rules", "ask", "Uma criatura agarrada pode conjurar magias?"),
        ("/council", "ask", "Qual final serve melhor à história?"),
        ("/rules", "roll", "2d20kh1+5"),
    ],
)
async def test_a_windows_hint_is_in_the_readers_language(
    at: Table, command: str, text: str, hint: str
) -> None:
    view = await opened(at, at.team.user("Rui", locale="pt-BR"), text, command)
    assert view.blocks[0]["element"]["placeholder"]["text"] == hint


async def test_a_window_can_be_submitted_after_a_restart(at: Table) -> None:
    """Everything about the window is stored."""
    run = event_id(PLATFORM, at.space, "command:before")
    asked = PendingForm("rules", "ask", at.ana.id, options={"k": 3}, channel=at.channel.id, thread="1.0")
    await at.app.resources.records.offers.keep(at.space, run, WINDOW, [asked.to_json()])
    content = windows.modal(f"modal:{run}", "/rules ask", [windows.field(0, "Question")], submit="Send")
    view = at.slack.views_kept.open(at.ana, at.slack.views_kept.accept(content, "modal"))
    await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.begun()
    assert (at.asked.text, at.asked.options) == (QUESTION, {"k": 3})
    assert (at.origin.home, at.origin.channel, at.origin.thread) == ("here", at.channel.id, "1.0")


async def test_a_window_submitted_twice_is_one_request(at: Table) -> None:
    view = await opened(at)
    first = await at.slack.submit(at.ana, view, typed(QUESTION))
    view.open = True  # as if the acknowledgement had been lost
    second = await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.ended()
    assert (first.response, second.response) == (None, None)
    assert at.asked.text == QUESTION


PREMISE = "A lighthouse keeper finds a door in the sea"


async def test_a_form_asks_for_the_verbs_missing_values(at: Table) -> None:
    view = await opened(at, text="start --tone eerie", command="/story")
    labels = [block["label"]["text"] for block in view.blocks]
    assert labels == ["What the story is about", "Cast", "Genre", "View", "Length"]
    chosen = {
        "option:cast": {windows.TYPED: "Mira: a diver"},
        "option:view": {windows.TYPED: "third"},
    }
    await at.slack.submit(at.ana, view, typed(PREMISE) | chosen)
    await at.begun()
    assert at.asked.text == PREMISE
    assert at.asked.options == {"tone": "eerie", "cast": "Mira: a diver", "view": "third"}


async def form(at: Table, work: str, verb: str) -> View:
    """The window behind a button that asks for the verb's text."""
    run = event_id(PLATFORM, at.space, f"action:{work}:{verb}")
    asked = PendingForm(work, verb, at.ana.id, channel=at.channel.id, thread="1.0")
    await at.app.resources.records.offers.keep(at.space, run, WINDOW, [asked.to_json()])
    fields = [windows.field(0, "Name"), *map(windows.option_field, asked.form(words("en")))]
    content = windows.modal(f"modal:{run}", f"/{work} {verb}", fields, submit="Send")
    return at.slack.views_kept.open(at.ana, at.slack.views_kept.accept(content, "modal"))


async def test_input_that_the_run_would_refuse_stays_in_the_window(at: Table) -> None:
    verbs = ("cast", "direct", "remember", "lore", "relation", "leave", "play", "gm", "deadline", "whisper")
    windowed = {("story", name): "no story is played here" for name in verbs}
    windowed |= {("rules", "roll"): "2x", ("settings", "set"): "language klingon"}
    for (work, name), text in windowed.items():
        view = await form(at, work, name)
        await at.slack.submit(at.ana, view, typed(text))
        assert view.open, (work, name)
        assert view.errors[block_id(0)], (work, name)
    assert at.requests == []


async def test_an_error_in_a_form_is_shown_under_its_field(at: Table) -> None:
    view = await form(at, "story", "cast")
    picture = {"option:picture": {windows.TYPED: "javascript:alert(1)"}}
    await at.slack.submit(at.ana, view, typed("Mira") | picture)
    assert view.open
    assert "must be a web address" in view.errors["option:picture"]
    picture = {"option:picture": {windows.TYPED: "https://example.org/mira.png"}}
    await at.slack.submit(at.ana, view, typed("Mira") | picture)
    assert list(view.errors) == [block_id(0)], "the error is now that there is no story here"


async def test_a_form_for_a_message_is_opened_by_a_button(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "story start", mention=True, wait=False)
    await at.ended()
    assert (at.asked.text, at.origin.thread) == ("", root.ts)


async def test_a_window_of_another_release_keeps_its_text(at: Table) -> None:
    view = await opened(at)
    gone = PendingForm("rules", "sing", at.ana.id, channel=at.channel.id)
    run = view.callback_id.removeprefix("modal:")
    await at.app.resources.records.offers.keep(at.space, run, WINDOW, [gone.to_json()])
    await at.slack.submit(at.ana, view, typed(QUESTION))
    assert view.open
    assert "is still here" in view.errors[block_id(0)]
    dm = at.team.dm(at.ana)
    await at.slack.until(lambda: dm.messages)
    assert at.requests == []


async def test_blanks_alone_are_no_question(at: Table) -> None:
    view = await opened(at)
    await at.slack.submit(at.ana, view, typed("  \n "))
    assert view.open
    assert view.errors == {block_id(0): "Write something here first."}
    await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.begun()
    assert at.asked.text == QUESTION


async def test_refused_input_stays_in_the_window_and_can_be_submitted_later(at: Table) -> None:
    view = await opened(at)
    clock = Clock()
    at.bot.intake._asks._clock = clock
    for _ in range(LimitsConfig().questions):
        at.bot.intake.count(_spot(at), Invocation(ROWS["rules", "ask"]))
    await at.slack.submit(at.ana, view, typed(QUESTION))
    assert view.open
    assert "is still here" in view.errors[block_id(0)]
    assert "a lot at once" in (await at.whispered(at.ana)).shown
    clock.now += 60
    await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.begun()
    assert at.asked.text == QUESTION
    assert not view.open


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def _spot(at: Table) -> Location:
    return Location(at.ana.id, at.space, at.channel.id)


@pytest.mark.parametrize("who", ["somebody else", "a made-up id"])
async def test_nobody_can_submit_another_persons_window(at: Table, who: str) -> None:
    view = await opened(at)
    content = dict(view.content)
    thief = at.bia
    if who == "a made-up id":
        thief = at.ana
        content["callback_id"] = f"modal:{'0' * 32}"
    copied = at.slack.views_kept.open(thief, content)
    await at.slack.submit(thief, copied, typed("A secret?"))
    assert copied.open, "the typed text is not lost"
    assert copied.errors
    assert at.requests == []
    await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.begun()
    assert at.asked.text == QUESTION


async def test_a_prompts_window_has_its_current_text(at: Table) -> None:
    view = await opened(at, at.bia, "edit rag", "/prompts")
    text = as_yaml((await at.app.resources.prompts.wording(at.space, "rag")).text)
    shown = [block["element"]["initial_value"] for block in view.blocks]
    assert "".join(shown) == text
    wording = "system: Answer in {language}."
    await at.slack.submit(at.bia, view, typed(wording))
    await at.begun()
    assert (at.asked.verb, at.asked.text) == ("edit", f"rag {wording}")


async def test_only_an_admin_can_edit_a_prompt(at: Table) -> None:
    await at.slack.command(at.ana, at.channel, "/prompts", "edit rag")
    assert "manage" in (await at.whispered(at.ana)).shown
    assert views(at, at.ana) == []


async def test_a_long_prompt_has_several_fields_that_become_one_text(at: Table) -> None:
    text = "system: |\n" + "".join(f"  Line {n} of what the model is told.\n" for n in range(200))
    text += "  {language}\n" + "user: {question} {passages} {history} " + "x" * 5_000 + "\n"
    intake = at.bot.intake
    trigger = at.slack.triggers.new(at.bia)
    here = _spot(at)
    row = ROWS["prompts", "edit"]
    bia = replace(here, user=at.bia.id)
    await windows.ask(intake, trigger, bia, "e", PendingForm(row.work, row.name, before="rag "), filled=text)
    (view,) = views(at, at.bia)
    assert len(view.blocks) > 4
    await at.slack.submit(at.bia, view)
    await at.begun()
    assert at.asked.text == f"rag {text}".strip()


async def test_line_breaks_at_the_end_of_a_field_are_kept(at: Table) -> None:
    fields = [windows.field(n, "x", part) for n, part in enumerate(["one\n", "tw", "o\n", "three"])]
    values = {block_id(n): {windows.TYPED: {"value": text}} for n, text in enumerate(["one", "tw", "o", ""])}
    body = {"view": {"blocks": fields, "state": {"values": values}}}
    assert windows.typed(body) == "one\ntwo\n"


async def test_an_expired_trigger_gets_a_sentence(at: Table) -> None:
    at.slack.triggers.seconds, usual = -1.0, at.slack.triggers.seconds
    try:
        await at.slack.command(at.ana, at.channel, "/rules", "ask")
        assert "three seconds" in (await at.whispered(at.ana)).shown
    finally:
        at.slack.triggers.seconds = usual
    assert views(at, at.ana) == []


async def test_an_abandoned_window_is_forgotten(at: Table) -> None:
    view = await opened(at)
    run = view.callback_id.removeprefix("modal:")
    await at.slack.submit(at.ana, view, typed(QUESTION))
    await at.begun()
    assert await at.app.resources.records.offers.all(at.space, run, WINDOW) == []
    assert at.asked.id == event_id(PLATFORM, at.space, f"view:{view.id}")


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.parametrize(
    "text", ["", "one line", "a\nb\n", "x" * 4_500, "\n\n", "".join(f"{n}\n" for n in range(2_000))]
)
async def test_the_parts_of_a_long_text_joined_are_the_text(text: str) -> None:
    pieces = parts(text)
    assert "".join(pieces) == text
    assert all(len(piece) <= PART_CHARS for piece in pieces)
    assert pieces


async def test_every_verb_whose_window_takes_a_text_has_an_example_in_both_languages() -> None:
    for row in ROWS.values():
        if row.argument is not None and not (row.argument.many or row.inner):
            for locale in LOCALES:
                hint = windows._hint(row, words(locale))
                assert "slack_window." not in hint, row.path
                assert hint or not row.argument.required, row.path


async def test_a_window_has_the_same_limit_as_its_command(at: Table) -> None:
    reminder = await opened(at, text="reminder", command="/schedule")
    assert reminder.blocks[0]["element"]["max_length"] == 1_500
    when = next(block for block in reminder.blocks if block["block_id"] == "option:when")
    assert when["element"]["max_length"] == 100
    question = await opened(at)
    assert question.blocks[0]["element"]["max_length"] == windows.FIELD_CHARS


async def test_a_reminder_without_its_words_opens_a_window_for_words_and_time(at: Table) -> None:
    view = await opened(at, text="reminder", command="/schedule")
    required = {block["label"]["text"]: not block["optional"] for block in view.blocks}
    assert required == {"The text of the reminder": True, "When": True, "Every": False, "Missed": False}
    when = {"option:when": {windows.TYPED: "the day after never"}}
    await at.slack.submit(at.ana, view, typed("Bring your sheets") | when)
    assert view.open
    assert "the day after never" in view.errors["option:when"]
    when = {"option:when": {windows.TYPED: "in 2 hours"}}
    await at.slack.submit(at.ana, view, typed("Bring your sheets") | when)
    await at.begun()
    assert (at.asked.text, at.asked.options) == ("Bring your sheets", {"when": "in 2 hours"})


async def test_a_recap_without_its_time_opens_a_window_with_no_text_field(at: Table) -> None:
    view = await opened(at, text="recap", command="/schedule")
    assert [block["block_id"] for block in view.blocks] == ["option:when", "option:every", "option:missed"]
    await at.slack.submit(at.ana, view, {"option:when": {windows.TYPED: "in 2 hours"}})
    await at.begun()
    assert (at.asked.verb, at.asked.options) == ("recap", {"when": "in 2 hours"})


async def test_a_window_without_a_text_field_shows_errors_under_its_first_field(at: Table) -> None:
    view = await opened(at, text="recap", command="/schedule")
    offers, run = at.app.resources.records.offers, view.callback_id.removeprefix("modal:")
    (kept,) = await offers.all(at.space, run, WINDOW)
    gone = PendingForm("schedule", "sing", at.ana.id, channel=at.channel.id)
    when = {"option:when": {windows.TYPED: "in 2 hours"}}
    for stored, said in (([gone.to_json()], "is still here"), ([], "no longer have the command")):
        await offers.keep(at.space, run, WINDOW, stored)
        sent = await at.slack.submit(at.ana, view, when)
        assert sent.failed is None
        assert said in view.errors["option:when"]
    await offers.keep(at.space, run, WINDOW, [kept])
    await at.slack.submit(at.ana, view, when)
    await at.begun()
    assert at.asked.verb == "recap"


async def test_a_refused_setting_stays_in_its_window(at: Table) -> None:
    view = await opened(at, text="set", command="/settings")
    await at.slack.submit(at.ana, view, typed("language klingon"))
    assert view.open
    assert "klingon" in view.errors[windows.block_id(0)]
    await at.slack.submit(at.ana, view, typed("language pt-BR"))
    await at.begun()
    assert at.asked.text == "language pt-BR"


async def test_a_refused_prompt_stays_in_its_window(at: Table) -> None:
    view = await opened(at, at.bia, "edit rag", "/prompts")
    fields = len([block for block in view.blocks if block["block_id"].startswith(f"{windows.TYPED}:")])
    broken = {
        windows.block_id(n): {windows.TYPED: "system: Answer." if n == 0 else ""} for n in range(fields)
    }
    await at.slack.submit(at.bia, view, broken)
    assert view.open
    assert "{" in view.errors[windows.block_id(0)]  # the error names the missing placeholder
    assert await at.app.resources.prompts.all(at.space)
    assert all(wording.own is None for wording in await at.app.resources.prompts.all(at.space))


async def test_a_window_of_another_workspace_cannot_be_submitted_here(at: Table) -> None:
    """Not even by the person who opened it there."""
    run = event_id(PLATFORM, "T0ELSEWHERE", "command:theirs")
    asked = PendingForm("settings", "deny", at.bia.id, before="secret ", channel=at.channel.id)
    await at.app.resources.records.offers.keep("T0ELSEWHERE", run, WINDOW, [asked.to_json()])
    content = windows.modal(f"modal:{run}", "/settings deny", [windows.field(0, "Right")], submit="Send")
    view = at.slack.views_kept.open(at.bia, at.slack.views_kept.accept(content, "modal"))
    sent = await at.slack.submit(at.bia, view, typed("story"))
    assert sent.acked is not None
    assert "secret" not in str(view.shown)
    assert at.requests == []
