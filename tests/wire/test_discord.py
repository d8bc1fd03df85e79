"""What only Discord has: archived, forbidden and too many threads, expiring tokens, and user installs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.reply import Reply
from tests.wire.conftest import Opened
from tests.wire.on_discord import DiscordTalk, OnDiscord, actions
from tests.wire.story import ANA, BIA, QUESTION, count

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


async def test_a_user_install_works_in_a_guild_without_the_bot(driver: OnDiscord) -> None:
    d, discord = driver, driver.discord
    elsewhere = d.channels[0]
    asked = await discord.slash(d.people[ANA], elsewhere, "rules ask", question=QUESTION, guest=True)
    await d.rest(1)
    await d.until(lambda: count([asked.text], "four hours of walking") == 1)
    assert len(asked.followups) <= 5
    assert not [
        message for message in elsewhere.messages if message is not asked.response and message.author.bot
    ]
    assert not elsewhere.threads
    d.check()


async def test_a_guest_does_not_read_the_books_of_the_guild(driver: OnDiscord) -> None:
    """Bia has no books; asking from the guild does not give her access to the guild's."""
    d = driver
    asked = await d.discord.slash(d.people[BIA], d.channels[0], "rules ask", question=QUESTION, guest=True)
    await d.rest(1)
    talk = d.talk(asked, d.channels[0], private=True)
    await d.until(lambda: bool(talk.said()))
    assert "four hours" not in "".join(talk.said())
    assert not d.model.prompts
    d.check()


async def test_an_archived_thread_is_resumed(driver: OnDiscord) -> None:
    d = driver
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    thread = talk.home()
    (name,) = [choice["value"] for choice in await d.discord.autocomplete(
        d.people[ANA], d.channels[0], "sessions resume", focused="session", session=""
    )]  # fmt: skip
    await d.discord.archive(thread)
    answer = await d.command(ANA, "sessions resume", session=name)
    await d.rest(2)
    assert f"<#{thread.id}>" in answer.said()[-1], "it links to the thread"
    await d.until(lambda: not thread.archived)
    await d.mention(ANA, talk, "and while running?")
    await d.rest(3)
    assert QUESTION in d.model.prompts[-1]
    d.check()


async def test_a_conversation_continues_in_a_new_thread_if_its_own_was_deleted(driver: OnDiscord) -> None:
    d = driver
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    d.discord.remove_channel(talk.home())
    answer = await d.command(ANA, "sessions resume", session=QUESTION)
    await d.rest(2)
    (thread,) = d.channels[0].threads
    said = answer.said()[-1]
    assert "was deleted, so the conversation continues in a new one." in said
    assert f"<#{thread.id}>" in said
    assert QUESTION in d.channels[0].messages[-1].text, (
        "the message above the new thread says what it is about"
    )
    await d.until(lambda: d.people[ANA].id in thread.people)
    await d.mention(ANA, DiscordTalk(lambda: thread.messages, lambda: thread), "and while running?")
    await d.rest(3)
    assert QUESTION in d.model.prompts[-1]
    assert {refusal.code for refusal in d.discord.refused} == {10003}, (
        "only the deleted thread was looked for"
    )


async def test_a_conversation_that_can_get_no_new_thread_continues_where_its_person_is(
    driver: OnDiscord,
) -> None:
    d = driver
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    d.discord.remove_channel(talk.home())
    other = d.discord.thread(d.people[ANA], d.channels[0], "Talk")
    d.guilds[0].forbid("CREATE_PUBLIC_THREADS")
    posted = len(d.channels[0].messages)
    answer = await d.command(ANA, "sessions resume", session=QUESTION)
    await d.rest(2)
    assert "I can't open another one in its channel" in answer.said()[-1]
    asked = await d.discord.slash(d.people[ANA], other, "sessions resume", session=QUESTION)
    await d.rest(3)
    assert "was deleted, so the conversation continues here" in asked.text
    assert [message for message in d.channels[0].messages[posted:] if not message.ephemeral] == []
    await d.mention(ANA, DiscordTalk(lambda: other.messages, lambda: other), "and while running?")
    await d.rest(4)
    assert QUESTION in d.model.prompts[-1]
    assert {refusal.code for refusal in d.discord.refused} == {10003}, (
        "only the deleted thread was looked for"
    )


async def test_a_message_in_an_archived_thread_is_answered(driver: OnDiscord) -> None:
    d = driver
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    await d.discord.archive(talk.home())
    await d.mention(ANA, talk, "and while running?")
    await d.rest(2)
    assert count(talk.said(), "four hours of walking") == 2
    d.check()


@pytest.mark.parametrize(
    "missing",
    ["CREATE_PUBLIC_THREADS", "SEND_MESSAGES_IN_THREADS", "SEND_MESSAGES", "EMBED_LINKS", "VIEW_CHANNEL"],
)
async def test_an_answer_arrives_whatever_permission_is_missing(missing: str, driver: OnDiscord) -> None:
    """The answer arrives in the channel or as the response to the command."""
    d = driver
    d.guilds[0].forbid(missing)
    asked = await d.discord.slash(d.people[ANA], d.channels[0], "rules ask", question=QUESTION)
    await d.rest(1)
    seen = [message.text for message in (*d.everything(), *asked.followups, *filter(None, (asked.response,)))]
    assert count(list(dict.fromkeys(seen)), "four hours of walking") == 1, (seen, d.discord.refused)
    assert len(d.discord.refused) <= 2, "forbidden calls are not repeated"
    assert "Traceback" not in d.process.log()


async def test_an_answer_that_lost_its_permissions_loses_its_stop_button_when_they_return(
    driver: OnDiscord,
) -> None:
    d = driver
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    gate = d.model.hold()
    await d.mention(ANA, talk, "and while running?")
    await d.until(lambda: count(talk.said(), "A candle burns for") == 2)
    d.guilds[0].forbid("VIEW_CHANNEL")
    gate.set()
    await d.rest(2)
    cut = next(message for message in talk.messages() if "stop" in actions(message))
    d.guilds[0].permit("VIEW_CHANNEL")
    await d.until(lambda: "stop" not in actions(cut))
    assert "I lost the permission to write here, so the rest is missing." in cut.text
    assert "Traceback" not in d.process.log()


async def test_with_too_many_threads_the_answer_is_in_the_channel(driver: OnDiscord) -> None:
    d = driver
    d.discord.fail("POST", "*/threads", status=400, code=160006)
    await d.ask(ANA, QUESTION)
    await d.rest(1)
    assert count(d.channel().said(), "four hours of walking") == 1, "the answer is then in the channel"
    assert not d.channels[0].threads


async def test_an_answer_outlives_its_tokens_15_minutes(driver: OnDiscord) -> None:
    d = driver
    gate = d.model.hold()
    asked = await d.discord.slash(d.people[ANA], d.channels[0], "rules ask", question=QUESTION)
    talk = d.talk(asked, d.channels[0])
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.discord.expire(asked)
    gate.set()
    await d.rest(1)
    assert count(talk.said(), "the Night takes the next turn") == 1
    assert not [message for message in talk.messages() if "stop" in actions(message)]
    assert "Traceback" not in d.process.log()


async def test_a_private_answer_with_an_expired_token_does_not_crash(driver: OnDiscord) -> None:
    d = driver
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION, private=True)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.discord.expire(talk.asked)
    gate.set()
    await d.rest(1)
    assert d.process.alive
    assert "Traceback" not in d.process.log()
    again = await d.ask(ANA, QUESTION)
    await d.rest(2)
    assert count(again.said(), "four hours of walking") == 1


async def test_an_answer_deleted_while_it_grows_is_not_posted_again(driver: OnDiscord) -> None:
    d = driver
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    (growing,) = [message for message in talk.messages() if "A candle burns for" in message.text]
    await d.discord.delete(growing)
    gate.set()
    await d.rest(1)
    assert count(talk.said(), "the Night takes the next turn") <= 1
    await d.mention(ANA, talk, "and while running?")
    await d.rest(2)
    assert count(talk.said()[-1:], "four hours of walking") == 1
    assert "Traceback" not in d.process.log()


@pytest.mark.slow
async def test_with_free_chat_threads_need_no_mention(opened: Opened) -> None:
    d = await opened("free_chat = true\n")
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    await d.say(ANA, talk, "and while running?")
    await d.rest(2)
    assert count(talk.said(), "four hours of walking") == 2
    channel = d.channel()
    before = len(channel.posts())
    await d.say(BIA, channel, "Who brings the crisps on Friday?")
    await d.mention(ANA, talk, "and while standing?")
    await d.rest(3)
    assert len(channel.posts()) == before + 1, "outside its threads the bot stays silent"
    d.check()


async def test_without_free_chat_only_a_mention_is_answered(driver: OnDiscord) -> None:
    """People can talk among themselves in the thread; the bot answers only mentions."""
    d = driver
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    before = len(talk.said())
    await d.say(BIA, talk, "Who brings the crisps on Friday?")
    await d.mention(ANA, talk, "and while running?")
    await d.rest(2)
    assert len(d.model.prompts) == 2
    assert len(talk.said()) > before
    assert "crisps" not in "".join(d.model.prompts)
    d.check()


async def test_a_server_is_welcomed_and_setup_answers(driver: OnDiscord) -> None:
    d = driver
    channel, talk = await d.invited()
    await d.until(lambda: bool(talk.said()))
    (welcome,) = talk.said()
    assert welcome.count("/") >= 3, "three examples"
    setup = await d.discord.slash(d.people[BIA], channel, "setup")
    await d.until(lambda: bool(setup.text))
    assert setup.ephemeral
    d.check()


async def test_a_question_in_a_forum_post_is_answered_there(driver: OnDiscord) -> None:
    d = driver
    forum = d.guilds[0].forum("questions")
    post = d.discord.thread(d.people[ANA], forum, "Candles", "About candles.")
    talk = DiscordTalk(lambda: post.messages, lambda: post)
    await d.mention(ANA, talk, QUESTION)
    await d.rest(1)
    assert count(talk.said(), "four hours of walking") == 1
    d.check()


async def test_a_messages_context_menu_asks_about_it(driver: OnDiscord) -> None:
    d = driver
    message = await d.discord.say(d.people[BIA], d.channels[0], QUESTION)
    asked = await d.discord.menu(d.people[ANA], message, "Ask about this message")
    if asked.modal:
        fields = dict.fromkeys(modal_fields(asked.modal), QUESTION)
        asked = await d.discord.submit(d.people[ANA], asked, fields)
    await d.rest(1)
    talk = d.talk(asked, d.channels[0])
    assert count(talk.said(), "four hours of walking") == 1
    d.check()


def modal_fields(modal: Any) -> list[str]:
    """The custom_ids of what can be typed into a modal."""
    places = []

    def look(component: Any) -> None:
        if component.get("type") == 4:
            places.append(component["custom_id"])
        for inner in (*component.get("components", ()), *filter(None, (component.get("component"),))):
            look(inner)

    look(modal)
    return places


async def test_a_mention_in_a_channel_is_answered_and_followed_up(driver: OnDiscord) -> None:
    d = driver
    message = await d.discord.say(d.people[ANA], d.channels[0], QUESTION, mention=True)
    await d.rest(1)
    place = message.thread or d.channels[0]
    talk = DiscordTalk(lambda: place.messages, lambda: place)
    assert count(talk.said(), "the Night takes the next turn") == 1
    await d.mention(ANA, talk, "and while running?")
    await d.rest(2)
    assert QUESTION in d.model.prompts[-1]
    d.check()


async def test_a_person_whose_discord_is_portuguese_gets_portuguese_answers(driver: OnDiscord) -> None:
    d = driver
    bia = d.discord.user("Bia", locale="pt-BR")
    d.guilds[0].join(bia)
    asked = await d.discord.slash(bia, d.channels[0], "rules ask", question=QUESTION)
    await d.rest(1)
    assert "perguntou" in asked.text
    wrong = await d.discord.slash(bia, d.channels[0], "library add", file=("a.md", b"# A"), shelf="a")
    await d.until(lambda: bool(wrong.text))
    assert "administra" in wrong.text.lower() or "admin" in wrong.text.lower()
    assert "Only" not in wrong.text
    d.check()


@pytest.mark.slow
async def test_three_waiting_questions_are_answered_in_order(driver: OnDiscord) -> None:
    d = driver
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    gate = d.model.hold("The first burns four hours of walking [1].", 2)
    d.model.queue += [Reply(f"The {n} burns four hours of walking [1].") for n in ("second", "third")]
    for n in ("first", "second", "third"):
        await d.mention(ANA, talk, f"How long does the {n} candle burn while walking?")
    await d.until(lambda: count(talk.said(), "in line") + count(talk.said(), "next") > 0)
    gate.set()
    await d.rest(4)
    text = "".join(talk.said())
    places = [text.index(f"The {n} burns") for n in ("first", "second", "third")]
    assert places == sorted(places)
    assert "in line" not in text
    d.check()
