"""Characters of a story under their own names on Discord: by the bot's webhook, and without one in bold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.reply import Reply
from tests.wire.on_discord import DiscordTalk, OnDiscord
from tests.wire.stories_played import over
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

PICTURE = "https://example.org/mira.png"
REPLY = "“Put that lamp down before it goes out, and come here.”"


async def told(d: OnDiscord, *, own: bool = True, permit: bool = True) -> DiscordTalk:
    """A story with Mira and Bo in its cast, in a space where characters have their own names."""
    if permit:
        d.guilds[0].permit("MANAGE_WEBHOOKS")
    else:
        d.guilds[0].forbid("MANAGE_WEBHOOKS")
    if own:
        await switch(d, "on")
    runs = len(d.states())
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start", cast="Mira: a diver; Discord Dan; everyone: a crowd")
    await d.rest(runs + 1)
    await d.command(ANA, "story cast", talk=talk, character="Mira", picture=PICTURE)
    await d.rest(runs + 2)
    return talk


async def switch(d: OnDiscord, value: str) -> None:
    options: dict[str, Any] = {"setting": "story.own_names", "value": value, "for": "everyone"}
    await d.command(BIA, "settings set", **options)
    await over(d)


async def speak(d: OnDiscord, talk: DiscordTalk, line: str, *replies: Reply) -> None:
    d.model.queue += [*replies, CHOICES]
    runs = len(d.states())
    await d.command(ANA, "story cast", talk=talk, character=line)
    await d.rest(runs + 1)


def spoken(talk: DiscordTalk, name: str) -> list[Any]:
    return [message for message in talk.messages() if message.author.name == name]


async def test_a_character_has_its_own_name_and_picture(driver: OnDiscord) -> None:
    d = driver
    talk = await told(d)
    await speak(d, talk, "speak Mira", Reply(pieces=[REPLY[:20], REPLY[20:], " @everyone <@1>"]))
    (message,) = spoken(talk, "Mira")
    assert REPLY in message.text
    assert "**Mira**" not in message.text
    assert message.avatar == PICTURE
    assert count(talk.said(), REPLY) == 1
    d.model.queue += [Reply("The door swings open."), CHOICES]
    runs = len(d.states())
    choice = next(
        button.custom_id for button in message.buttons if str(button.custom_id).startswith("choice:")
    )
    await d.discord.press(d.people[ANA], message, choice)  # below a webhook's message, too
    await d.rest(runs + 1)
    await d.until(lambda: count(talk.said(), "The door swings open.") == 1)
    assert spoken(talk, "Mira") == [message], "its buttons are greyed out in place"
    assert all(button.disabled for button in message.buttons if button.label == "Open the door.")
    assert len([hook for hook in d.discord.hooks.values() if hook.channel is d.channels[0]]) == 1
    d.check()


async def test_every_character_replies_and_refused_names_are_adapted(driver: OnDiscord) -> None:
    d = driver
    talk = await told(d)
    await speak(d, talk, "all", Reply("“One.”"), Reply("“Two.”"), Reply("“Three.”"))
    names = [message.author.name for message in talk.messages() if "Scene" in message.text]
    assert names == ["Sutradhar", "Mira", "Disc-ord Dan", "everyone."]
    await d.redeliver()
    await d.command(BIA, "story show", talk=talk)
    assert [message.author.name for message in talk.messages() if "Scene" in message.text] == names
    forked = await d.menu(BIA, talk, "“One.”", "Fork the story here")
    await d.until(lambda: count([*forked.said(), *talk.said()], "it continues after scene 2") == 1)
    d.check()


async def test_without_the_permission_the_name_is_bold_and_the_reason_is_given_once(
    driver: OnDiscord,
) -> None:
    d = driver
    talk = await told(d, permit=False)
    await speak(d, talk, "speak Mira", Reply(pieces=[REPLY]))
    assert count(talk.said(), "I lack the permission “Manage Webhooks”") == 1
    await speak(d, talk, "speak Mira", Reply("“And now?”"))
    first, second = [message for message in talk.messages() if "**Mira**" in message.text]
    assert first.author.name == second.author.name == "Sutradhar"
    assert REPLY in first.text
    assert "Manage Webhooks" not in second.text
    d.check()


async def test_names_are_bold_without_a_note_if_own_names_are_off(driver: OnDiscord) -> None:
    d = driver
    d.guilds[0].permit("MANAGE_WEBHOOKS")
    await switch(d, "off")
    talk = await told(d, own=False)
    await speak(d, talk, "speak Mira", Reply(pieces=[REPLY]))
    (message,) = [message for message in talk.messages() if "**Mira**" in message.text]
    assert message.author.name == "Sutradhar"
    assert count(talk.said(), "Manage Webhooks") == 0
    assert not d.discord.hooks or d.channels[0] not in [hook.channel for hook in d.discord.hooks.values()]
    d.check()


async def test_a_channel_full_of_webhooks_gets_no_other(driver: OnDiscord) -> None:
    d = driver
    for n in range(15):
        d.discord.webhook(d.channels[0], f"News {n}", d.people[BIA])
    talk = await told(d)
    await speak(d, talk, "speak Mira", Reply(pieces=[REPLY]))
    assert count(talk.said(), "15 webhooks") == 1
    await speak(d, talk, "speak Mira", Reply("“And now?”"))
    assert count(talk.said(), "**Mira**") == 2
    assert "15 webhooks" not in talk.said()[-1]
    assert [refusal.code for refusal in d.discord.refused] == [30007], (
        "the bot does not try again with each message"
    )
    d.discord.refused.clear()
    d.check()


async def test_a_scene_continues_after_its_webhook_is_deleted(driver: OnDiscord) -> None:
    d = driver
    talk = await told(d)
    d.guilds[0].permit("MANAGE_MESSAGES")
    gate = asyncio.Event()
    halves = [f"{REPLY} ", "“Or do not.”"]
    d.model.queue += [Reply(pieces=halves, gates={1: gate}), CHOICES]
    runs = len(d.states())
    await d.command(ANA, "story cast", talk=talk, character="speak Mira")
    await d.until(lambda: any(REPLY in message.text for message in spoken(talk, "Mira")))
    (hook,) = [hook for hook in d.discord.hooks.values() if hook.channel is d.channels[0]]
    d.discord.delete_webhook(hook)
    gate.set()
    await d.rest(runs + 1)
    assert spoken(talk, "Mira") == [], "the unfinished message is deleted"
    (message,) = [message for message in talk.messages() if REPLY in message.text]
    assert message.author.name == "Sutradhar"
    assert "**Mira**" in message.text
    assert "“Or do not.”" in message.text
    assert count(talk.said(), "somebody has deleted my webhook") == 1
    assert [refusal.code for refusal in d.discord.refused] == [10015]
    d.discord.refused.clear()
    await speak(d, talk, "speak Mira", Reply("“And now?”"))
    assert "deleted my webhook" not in talk.said()[-1]
    assert spoken(talk, "Mira") == [], "no new webhook is created at once"
    d.check()


async def test_the_bot_waits_for_the_webhooks_rate_limit(driver: OnDiscord) -> None:
    d = driver
    talk = await told(d)
    await speak(d, talk, "speak Mira", Reply("“First.”"))
    d.discord.fail("POST", "/webhooks/*", status=429, times=1, retry_after=0.3)
    await speak(d, talk, "speak Mira", Reply(pieces=[REPLY]))
    assert count([message.text for message in spoken(talk, "Mira")], REPLY) == 1
    assert count(talk.said(), REPLY) == 1


@pytest.mark.parametrize("lost", [False, True], ids=["before it is noted", "when nobody knows"])
async def test_a_kill_after_the_first_words_duplicates_nothing(lost: bool, driver: OnDiscord) -> None:
    """The kill comes between the post and the edit; `lost`: Discord's response to the post never arrived."""
    d = driver
    talk = await told(d)
    await speak(d, talk, "speak Mira", Reply("“First.”"))
    gate = asyncio.Event()
    halves = [f"{REPLY} ", "“Or do not.”"]
    d.model.queue += [Reply(pieces=halves, gates={1: gate}), Reply(pieces=halves), CHOICES]
    if lost:
        d.discord.fail("POST", "/webhooks/*", lost=True)
    runs = len(d.states())
    await d.command(ANA, "story cast", talk=talk, character="speak Mira")
    await d.until(lambda: any(REPLY in message.text for message in spoken(talk, "Mira")))
    await d.kill()
    gate.set()
    await d.begin(d.process)
    await d.rest(runs + 1)
    assert [REPLY in message.text for message in spoken(talk, "Mira")] == [False, True]
    assert count(talk.said(), REPLY) == 1
    assert count(talk.said(), "“Or do not.”") == 1
    d.check()


async def test_another_server_is_not_affected(driver: OnDiscord) -> None:
    d = driver
    await told(d)
    other_channel = d.channels[1]
    d.guilds[1].permit("MANAGE_WEBHOOKS")
    d.model.queue += [Reply("Elsewhere."), CHOICES]
    runs = len(d.states())
    talk = await d.ask(ANA, PREMISE, verb="story start", table=1, cast="Mira: a smith")
    await d.rest(runs + 1)
    await speak(d, talk, "speak Mira", Reply(pieces=[REPLY]))
    (message,) = [message for message in talk.messages() if REPLY in message.text]
    assert message.author.name == "Sutradhar"
    assert other_channel not in [hook.channel for hook in d.discord.hooks.values()]
    d.check()


async def test_a_players_words_have_their_characters_name_and_picture(driver: OnDiscord) -> None:
    d = driver
    talk = await told(d)
    for name in ("Mira", "everyone"):
        await d.command(BIA, "story play", talk=talk, character=name)
    await over(d)
    for what, scene in (("Mira: I open the lid @everyone.", "It is empty."), ("We cheer.", "An echo.")):
        d.model.queue += [Reply(scene), CHOICES]
        runs = len(d.states())
        await d.command(BIA, "story act", talk=talk, what=what)
        await d.rest(runs + 1)
    (hers,), (theirs,) = spoken(talk, "Mira"), spoken(talk, "everyone.")
    assert (hers.avatar, theirs.avatar) == (PICTURE, "")
    assert "I open the lid" in hers.text
    assert "Mira:" not in hers.text
    assert theirs.text == "We cheer."
    said = [text for text in talk.said() if "open the lid" in text or "It is empty." in text]
    assert "open the lid" in said[0], "above the scene"
    (scene_message,) = [message for message in talk.messages() if "An echo." in message.text]
    card = next(button.custom_id for button in scene_message.buttons if "Stop card" in str(button.label))
    await d.discord.press(d.people[ANA], scene_message, card)
    await d.until(lambda: count(talk.said(), "We cheer.") == 0)
    assert count(talk.said(), "I open the lid") == 2, "once in the quoted request and once as her character's"
    d.model.queue += [Reply("The water is cold."), CHOICES]
    runs = len(d.states())
    await d.mention(BIA, talk, "Mira: I dive.")
    await d.rest(runs + 1)
    await d.edit(BIA, talk, "I dive.", "Mira: I dive deep.")
    await d.until(lambda: [message.text for message in spoken(talk, "Mira")][1:] == ["I dive deep."])
    (typed,) = [message for message in talk.messages() if "I dive" in message.text and not message.author.bot]
    await d.discord.delete(typed)
    await d.until(lambda: count(talk.said(), "I dive deep.") == 0)
    d.check()
