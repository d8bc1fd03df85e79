"""What only Slack has: its own stop button, shortcuts, windows, the Home tab, organisations, and removing the app."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.reply import Reply
from tests.fakes.slack import Message, View
from tests.fakes.slack.elements import held
from tests.wire.conftest import Opened, Take
from tests.wire.on_slack import CONNECTIONS, OnSlack
from tests.wire.on_slack_otherwise import OverHttp
from tests.wire.slack_talk import SlackTalk
from tests.wire.story import ANA, BIA, QUESTION, count

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def d(take: Take) -> OnSlack:
    table: OnSlack = await take("slack")
    return table


def under(d: OnSlack, root: Message) -> SlackTalk:
    return d.under(lambda: root, root.channel)


def filled(view: View, text: str) -> dict[str, dict[str, Any]]:
    """Values for the window: the text in its first text field."""
    block, element = next(
        (block, element) for block, element in held(view.blocks) if element["type"] == "plain_text_input"
    )
    return {block: {element["action_id"]: text}}


async def test_slacks_own_stop_button_stops_in_the_middle_of_an_answer(d: OnSlack) -> None:
    sentences = [f"Sentence {n} says that a candle burns four hours of walking. " for n in range(2000)]
    d.model.queue.append(Reply(pieces=sentences, delay_s=0.02, gates={1000: asyncio.Event()}))
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "Sentence 9 ") == 1)
    assert talk.root is not None
    assert d.processing()
    # Words sent meanwhile may reach the stream that Slack has ended.
    d.unavoidable |= {("chat.appendStream", "stopped_by_user")}
    await d.slack.stop_session(d.people[ANA], talk.root)
    await d.until(lambda: d.states() == ["stopped"])
    # Slack removes its button itself, so the button does not show when the end is displayed.
    await d.until(lambda: "What was shown so far is kept" in talk.said()[-1])
    await d.until(lambda: not [message for message in talk.messages() if message.streaming])
    # If words were refused, their stream ended first, and the status follows the last edit.
    await d.until(lambda: not d.processing())
    d.check()


async def test_a_mention_opens_a_thread_whose_replies_need_no_mention(d: OnSlack) -> None:
    root = await d.slack.say(d.people[ANA], d.channels[0], QUESTION, mention=True)
    await d.rest(1)
    talk = under(d, root)
    assert count(talk.said(), "the Night takes the next turn") == 1
    await d.say(BIA, talk, "and while running?")
    await d.rest(2)
    assert count(talk.said(), "the Night takes the next turn") == 2
    assert QUESTION in d.model.prompts[-1]
    assert not d.channel().said(), "nothing of it is in the channel itself"
    d.check()


async def test_the_bot_ignores_people_who_talk_among_themselves(d: OnSlack) -> None:
    root = await d.slack.say(d.people[BIA], d.channels[0], "Who brings the crisps on Friday?")
    await d.slack.say(d.people[ANA], d.channels[0], "I do, if we play until ten.", thread=root)
    asked = await d.ask(ANA, QUESTION)
    await d.rest(1)
    assert asked.said()
    assert not under(d, root).said()
    assert "crisps" not in "".join(d.model.prompts)
    d.check()


async def test_a_mention_in_a_thread_of_others_includes_its_messages(d: OnSlack) -> None:
    root = await d.slack.say(d.people[BIA], d.channels[0], "How many hours of walking does a candle burn?")
    await d.slack.say(d.people[ANA], d.channels[0], "Two, I believe.", thread=root)
    await d.slack.say(d.people[ANA], d.channels[0], "who of us is right?", thread=root, mention=True)
    await d.rest(1)
    assert count(under(d, root).said(), "four hours of walking or") == 1
    assert "Two, I believe." in d.model.prompts[-1]
    assert [call.method for call in d.slack.calls].count("conversations.replies") == 1
    d.check()


async def test_a_deleted_question_is_not_read_again_in_its_thread(d: OnSlack) -> None:
    talk = await d.direct(ANA, QUESTION)
    await d.rest(1)
    await d.say(ANA, talk, "and while running?")
    await d.rest(2)
    assert QUESTION in d.model.prompts[-1]
    await d.delete(talk, QUESTION)
    await d.say(ANA, talk, "and while standing?")
    await d.rest(3)
    assert QUESTION not in d.model.prompts[-1], "deleted words are not read again"
    d.check()


async def test_a_command_in_a_channel_without_the_bot_is_answered_in_direct_messages(d: OnSlack) -> None:
    """In the channel, Ana alone sees a note."""
    ana, private = d.people[ANA], d.teams[0].channel("elsewhere", private=True, bot=False)
    dm = d.teams[0].dm(ana)
    talk, private_talk = d.next(dm, QUESTION), d.told(ana, private)
    await d.typed(ana, private, "rules ask", QUESTION)
    await d.rest(1)
    assert count(talk.said(), "the Night takes the next turn") == 1
    await d.until(lambda: bool(private_talk.said()))
    assert all(message.ephemeral_to is ana for message in private_talk.messages())
    d.unavoidable |= {("chat.postMessage", "not_in_channel"), ("chat.postMessage", "channel_not_found")}
    d.check()


async def test_the_message_shortcut_asks_about_the_message(d: OnSlack) -> None:
    ana = d.people[ANA]
    message = await d.slack.say(d.people[BIA], d.channels[0], QUESTION)
    await d.slack.shortcut(ana, "ask_about", message)
    await d.until(lambda: bool(d.slack.views))
    await d.slack.submit(ana, d.slack.views[-1], filled(d.slack.views[-1], "What does the book say?"))
    await d.rest(1)
    assert count(under(d, message).said(), "four hours of walking or") == 1
    d.check()


async def test_the_global_shortcut_asks_in_direct_messages(d: OnSlack) -> None:
    ana = d.people[ANA]
    talk = d.next(d.teams[0].dm(ana), QUESTION)
    await d.slack.global_shortcut(ana, "ask")
    await d.until(lambda: bool(d.slack.views))
    await d.slack.submit(ana, d.slack.views[-1], filled(d.slack.views[-1], QUESTION))
    await d.rest(1)
    assert count(talk.said(), "four hours of walking or") == 1
    d.check()


async def test_a_command_without_its_question_asks_for_it(d: OnSlack) -> None:
    ana = d.people[ANA]
    talk = d.next(d.channels[0], QUESTION)
    await d.slack.command(ana, d.channels[0], "/rules", "ask")
    await d.until(lambda: bool(d.slack.views))
    await d.slack.submit(ana, d.slack.views[-1], filled(d.slack.views[-1], QUESTION))
    await d.rest(1)
    assert count(talk.said(), "four hours of walking or") == 1
    d.check()


async def test_the_home_tab_shows_the_persons_own_sessions(d: OnSlack) -> None:
    await d.ask(ANA, QUESTION)
    await d.rest(1)
    for person in (ANA, BIA):
        await d.slack.open_home(d.people[person])
    await d.until(lambda: all(d.slack.home(d.people[who]) for who in (ANA, BIA)))
    ana, bia = (str(d.slack.home(d.people[who]).blocks) for who in (ANA, BIA))  # type: ignore[union-attr]
    assert "How many hours of walking" in ana
    assert "How many hours of walking" not in bia
    d.check()


async def test_a_person_whose_slack_is_portuguese_gets_portuguese_answers(d: OnSlack) -> None:
    bia = d.teams[0].user("Bia", locale="pt-BR")
    talk = d.next(d.channels[0], QUESTION)
    await d.typed(bia, d.channels[0], "rules ask", QUESTION)
    await d.rest(1)
    assert talk.root is not None
    assert "perguntou" in talk.root.shown
    private_talk = d.told(bia, d.channels[0])
    await d.slack.command(bia, d.channels[0], "/rules", "adivinhar Quem?")
    await d.until(lambda: bool(private_talk.said()))
    assert "Não conheço" in private_talk.said()[-1]
    d.check()


async def test_a_models_words_ping_nobody(d: OnSlack) -> None:
    calls = "<!channel> <!here|here> <@U099100001> <!subteam^S0991|x> @channel [x](<!everyone>) "
    d.model.queue.append(
        Reply(f"{calls}\n\n| a | b |\n|---|---|\n| {calls}| 1 |\n\n- {calls}[1]", delay_s=0.01)
    )
    ana = d.people[ANA]
    talk = d.next(d.channels[0], QUESTION)
    await d.typed(ana, d.channels[0], "rules ask", f"{QUESTION} <!channel>")
    await d.rest(1)
    assert talk.root is not None
    assert "channel" in "".join(talk.said())
    await d.press(ANA, talk, "sources")
    d.model.queue.append(Reply(f"```\n{calls}\n```\n# {calls}"))
    private = d.next(d.teams[0].dm(ana), QUESTION)
    await d.typed(ana, d.channels[0], "rules ask", f"{QUESTION} <!here|here>", private=True)
    await d.rest(2)
    assert "channel" in "".join(private.said())
    d.check()


@pytest.mark.slow
async def test_a_workspace_can_remove_the_app_and_install_it_again(take: Take) -> None:
    d: OverHttp = await take("slack over http")
    assert (await d.ask(ANA, QUESTION, table=1)).channel is d.channels[1]
    await d.rest(1)
    d.unavoidable |= {("auth.test", "account_inactive")}
    for sent in d.slack.uninstall(d.teams[1]):
        await sent.first.wait()
        assert sent.acked is not None
    calls = len(d.slack.calls)
    assert (await d.typed(d.tables[1][ANA], d.channels[1], "rules ask", QUESTION)).acked is not None
    assert len(d.states()) == 1
    assert not [call for call in d.slack.calls[calls:] if call.team == d.teams[1].id]
    await d.sit_down(d.teams[1], d.tables[1])
    talk = await d.ask(ANA, QUESTION, table=1)
    await d.rest(2)
    assert count(talk.said(), "the Night takes the next turn") == 1
    d.check()


@pytest.mark.slow
async def test_an_organisations_installation_serves_all_its_workspaces(opened: Opened) -> None:
    d: OnSlack = await opened(platform="slack in an organisation")
    d.model.usual = Reply(status=500)
    first, second = await d.ask(ANA, QUESTION), await d.ask(ANA, QUESTION, table=1)
    await d.rest(2)
    assert "four hours of walking" in first.said()[-1]
    assert "six hours of walking" in second.said()[-1]
    direct = await d.direct(ANA, QUESTION)
    await d.rest(3)
    assert "four hours of walking" in direct.said()[-1]
    d.check()


@pytest.mark.parametrize("place", ["channel", "thread", "direct"])
async def test_an_event_on_two_sockets_and_redelivered_is_answered_once(place: str, d: OnSlack) -> None:
    slack, ana, channel = d.slack, d.people[ANA], d.channels[0]
    thread: Any = None
    if place == "thread":
        thread = await slack.say(ana, channel, "Who has the lantern?")
    where = d.teams[0].dm(ana) if place == "direct" else channel
    gate = d.model.hold()
    message = await slack.say(ana, where, QUESTION, mention=place != "direct", thread=thread)
    assert len(message.sent) == (1 if place == "direct" else 2), "a mention arrives as two events"
    for _ in range(2):
        slack.redeliver(message)
        slack.duplicate(message)
    await d.until(lambda: all(len(sent.tries) == 5 for sent in message.sent))
    gate.set()
    await d.until(lambda: all(attempt.acked is not None for sent in message.sent for attempt in sent.tries))
    assert len({attempt.socket for sent in message.sent for attempt in sent.tries}) == CONNECTIONS
    await d.rest(1)
    slack.redeliver(message)
    await d.until(lambda: all(attempt.acked is not None for sent in message.sent for attempt in sent.tries))
    sent = await d.typed(ana, channel, "rules roll", "1d1", private=True)
    await d.until(lambda: bool(sent.responses))
    assert len(d.states()) == 2
    assert len(d.model.prompts) == 1
    assert count(under(d, message.root).said(), "the Night takes the next turn") == 1
    d.check()
