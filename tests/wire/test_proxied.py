"""A story with a proxy on Discord: a button binds it, its messages and edits count as turns, the originals do not."""

from __future__ import annotations

import pytest

from tests.adapters.discord.test_proxied import PLURALKIT
from tests.fakes.reply import Reply
from tests.wire.conftest import Opened
from tests.wire.stories_played import over
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]


async def test_a_players_proxied_words_are_turns_of_their_character(opened: Opened) -> None:
    d = await opened("free_chat = true\n")
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start", cast="Mira: a diver; Bo")
    await d.rest(1)
    for name in ("Mira", "Bo"):
        await d.command(BIA, "story play", talk=talk, character=name)
    await d.command(ANA, "story proxy", talk=talk, name="Mira", player=d.people[BIA])
    await over(d)
    label = "Yes, they are mine"
    refused = await d.choose(ANA, talk, label)
    await d.until(lambda: count([*refused.said(), *talk.said()], "Only the player who was asked") == 1)
    await d.choose(BIA, talk, label)
    await d.until(lambda: count(talk.said(), "are now turns of Bia") == 1)

    hook = d.discord.webhook(d.channels[0], "PluralKit Proxy", d.people[BIA], PLURALKIT)
    home = talk.home()
    d.model.queue += [Reply("The door swings open."), CHOICES]
    own = await d.discord.say(d.people[BIA], home, "M: I open the lid.")
    posted = await d.discord.proxy(hook, home, "Mira", "I open the lid.")
    await d.discord.delete(own)
    await d.until(lambda: count(talk.said(), "The door swings open.") == 1)
    assert 'by="Bia" plays="Mira" how="act">\nI open the lid.' in "".join(d.model.prompts)
    await over(d)
    await d.discord.edit(posted, "I open the lid slowly.")
    await d.until(lambda: count(talk.said(), "has the new words") == 1)
    d.model.queue += [Reply("It creaks."), CHOICES]
    await d.discord.say(d.people[ANA], home, "I listen.")
    await d.until(lambda: count(talk.said(), "It creaks.") == 1)
    await over(d)
    prompt = next(prompt for prompt in d.model.prompts if "I listen." in prompt)
    assert "I open the lid slowly." in prompt
    assert prompt.count("I open the lid") == 1, "the player's own message was no turn"
    d.check()
