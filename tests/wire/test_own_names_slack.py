"""Characters of a story under their own names on Slack, where the app may post so, and in bold where it may not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.reply import Reply
from tests.wire.on_slack import OnSlack
from tests.wire.slack_talk import SlackTalk
from tests.wire.stories_played import over
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, count
from tests.wire.test_own_names import PICTURE, REPLY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

SCOPE = "chat:write.customize"


async def told(d: OnSlack, *, table: int = 0, own: bool = True) -> SlackTalk:
    """A story with Mira and Bo in its cast."""
    if own:
        await d.command(BIA, "settings set story.own_names on --for everyone")
        await over(d)
    runs = len(d.states())
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start", table=table, cast="Mira: a diver; Bo")
    await d.rest(runs + 1)
    await d.mention(ANA, talk, f"/story cast Mira --picture {PICTURE}")
    await d.rest(runs + 2)
    return talk


async def speak(d: OnSlack, talk: SlackTalk, line: str, *replies: Reply) -> None:
    d.model.queue += [*replies, CHOICES]
    runs = len(d.states())
    await d.mention(ANA, talk, f"/story cast {line}")
    await d.rest(runs + 1)


def spoken(talk: SlackTalk, name: str) -> list[Any]:
    return [message for message in talk.messages() if message.username == name]


async def slack(take: Any) -> OnSlack:
    d: OnSlack = await take("slack")
    return d


async def test_a_character_has_its_own_name_and_picture(take: Any) -> None:
    d = await slack(take)
    d.teams[0].scopes.add(SCOPE)
    talk = await told(d)
    await speak(d, talk, "speak Mira", Reply(pieces=[REPLY[:20], REPLY[20:], " <!channel> @here"]))
    (message,) = spoken(talk, "Mira")
    assert REPLY in message.shown
    assert "*Mira*" not in message.shown
    assert message.icon == PICTURE
    d.model.queue += [Reply("The door swings open."), CHOICES]
    runs = len(d.states())
    await d.press(ANA, talk, "choice")
    await d.rest(runs + 1)
    await d.until(lambda: count(talk.said(), "The door swings open.") == 1)
    assert spoken(talk, "Mira") == [message]
    assert count(talk.said(), REPLY) == 1
    d.check()


async def test_every_character_replies_in_a_separate_message(take: Any) -> None:
    d = await slack(take)
    d.teams[0].scopes.add(SCOPE)
    talk = await told(d)
    await speak(d, talk, "all", Reply("“One.”"), Reply("“Two.”"))
    names = [message.username for message in talk.messages() if "Scene" in message.shown]
    assert names == ["", "Mira", "Bo"]
    await d.redeliver()
    await d.command(BIA, "story show", talk=talk)
    assert [message.username for message in talk.messages() if "Scene" in message.shown] == names
    await d.menu(BIA, talk, "“One.”", "Fork the story here")
    await d.until(lambda: count(talk.said(), "it continues after scene 2") == 1)


async def test_without_the_scope_the_name_is_bold_and_the_reason_is_given_once(take: Any) -> None:
    d = await slack(take)
    talk = await told(d)
    await speak(d, talk, "speak Mira", Reply(pieces=[REPLY]))
    assert count(talk.said(), SCOPE) == 1
    await speak(d, talk, "speak Mira", Reply("“And now?”"))
    first, second = [message for message in talk.messages() if "**Mira**" in message.shown]
    assert not first.username
    assert REPLY in first.shown
    assert SCOPE not in second.shown
    assert [refusal.error for refusal in d.slack.refused] == ["missing_scope"]
    d.slack.refused.clear()
    d.check()


async def test_a_kill_in_the_middle_of_a_reply_duplicates_nothing(take: Any) -> None:
    d = await slack(take)
    d.teams[0].scopes.add(SCOPE)
    talk = await told(d)
    gate = asyncio.Event()
    halves = [f"{REPLY} ", "“Or do not.”"]
    d.model.queue += [Reply(pieces=halves, gates={1: gate}), Reply(pieces=halves), CHOICES]
    runs = len(d.states())
    await d.mention(ANA, talk, "/story cast speak Mira")
    await d.until(lambda: any(REPLY[:20] in message.shown for message in spoken(talk, "Mira")))
    await d.kill()
    gate.set()
    await d.begin(d.process)
    await d.rest(runs + 1)
    (message,) = spoken(talk, "Mira")
    assert count([message.shown], REPLY) == 1
    assert "“Or do not.”" in message.shown
    assert "*Mira*" not in message.shown
    assert count(talk.said(), REPLY) == 1


async def test_another_workspace_is_not_affected(take: Any) -> None:
    d = await slack(take)
    for team in d.teams:
        team.scopes.add(SCOPE)
    await told(d)
    talk = await told(d, table=1, own=False)
    await speak(d, talk, "speak Mira", Reply(pieces=[REPLY]))
    (message,) = [message for message in talk.messages() if REPLY in message.shown]
    assert not message.username
    assert "**Mira**" in message.shown
    d.check()


async def test_a_players_words_have_their_characters_name_and_picture(take: Any) -> None:
    d = await slack(take)
    d.teams[0].scopes.add(SCOPE)
    talk = await told(d)
    for name in ("Bo", "Mira"):
        await d.mention(BIA, talk, f"/story play {name}")
    await over(d)
    d.model.queue += [Reply("It is empty."), CHOICES]
    runs = len(d.states())
    await d.mention(BIA, talk, "Mira: I open the lid <!channel>.")
    await d.rest(runs + 1)
    (message,) = [message for message in spoken(talk, "Mira") if "open the lid" in message.shown]
    assert message.icon == PICTURE
    assert "Mira:" not in message.shown
    assert "<!channel>" not in message.text
    d.check()
