"""The conversation of a request and the place of its answer, for every kind of place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from discord import ChannelType

from bot.adapters.discord.received.placing import AnswerPlace, Location, home, place
from bot.adapters.markdown import TITLE_CHARS, title
from storage.sessions import ThreadRow

ANA, CHANNEL, THREAD, GUILD, EVENT = 1, 20, 21, 30, 40


def spot(kind: ChannelType = ChannelType.text, *, guild: int | None = GUILD, **more: bool) -> Location:
    if kind is ChannelType.public_thread:
        return Location(ANA, THREAD, kind, parent=CHANNEL, guild=guild, **more)
    return Location(ANA, CHANNEL, kind, guild=guild, **more)


HELD = ThreadRow(str(GUILD), str(CHANNEL), "7", str(THREAD), free_chat=False, explained=False)
IN_THREAD = spot(ChannelType.public_thread)
IN_DM = spot(ChannelType.private, guild=None)
IN_GROUP = spot(ChannelType.group, guild=None, installed=False, member=False)
AS_GUEST = spot(installed=False, member=False)


@pytest.mark.parametrize(
    ("where", "ordered", "goes"),
    [
        (spot(), True, "thread"),
        (spot(ChannelType.news), True, "thread"),
        (spot(ChannelType.forum), True, "thread"),
        (spot(ChannelType.voice), True, "here"),
        (spot(), False, "response"),
        (IN_THREAD, True, "here"),
        (IN_THREAD, False, "response"),
        (IN_DM, True, "here"),
        (IN_DM, False, "response"),
        (IN_GROUP, True, "response"),
        (AS_GUEST, True, "response"),
        (AS_GUEST, False, "response"),
    ],
)
def test_where_an_answer_to_an_interaction_goes(where: Location, ordered: bool, goes: AnswerPlace) -> None:
    assert home(where, ordered=ordered) == goes


@pytest.mark.parametrize(
    ("where", "ordered", "goes"),
    [
        (spot(), True, "thread"),
        (spot(), False, "here"),
        (spot(ChannelType.voice), True, "here"),
        (IN_THREAD, True, "here"),
        (IN_DM, True, "here"),
        (IN_DM, False, "here"),
    ],
)
def test_where_an_answer_to_a_message_goes(where: Location, ordered: bool, goes: AnswerPlace) -> None:
    assert home(replace(where, message=EVENT), ordered=ordered) == goes


@pytest.mark.parametrize("where", [spot(), IN_THREAD, IN_DM, AS_GUEST])
def test_a_private_answer_is_the_response(where: Location) -> None:
    assert home(where, ordered=True, private=True) == "response"


def test_without_threads_answers_stay_in_the_channel() -> None:
    assert home(spot(), ordered=True, threads=False) == "here"


@pytest.mark.parametrize(
    ("where", "space"),
    [
        (spot(), "30"),
        (IN_THREAD, "30"),
        (spot(member=False), "30"),
        (IN_DM, "user:1"),
        (IN_GROUP, "user:1"),
        (AS_GUEST, "user:1"),
    ],
)
def test_the_space_is_the_guilds_only_if_the_guild_has_the_bot(where: Location, space: str) -> None:
    assert where.space == space


@pytest.mark.parametrize(
    ("where", "goes", "thread"),
    [
        (spot(), "thread", "40"),
        (spot(), "here", ""),
        (spot(), "response", ""),
        (IN_THREAD, "here", "21"),
        (IN_THREAD, "response", "21"),
        (IN_DM, "here", ""),
    ],
)
def test_the_conversation_has_a_key_by_its_place(where: Location, goes: AnswerPlace, thread: str) -> None:
    made = place(where, event=EVENT, goes=goes)
    assert (made.channel, made.thread) == (str(CHANNEL), thread)


def test_a_thread_that_the_bot_opened_has_the_key_of_its_first_event() -> None:
    assert place(IN_THREAD, event=EVENT, goes="here", thread_row=HELD).thread == "7"


@pytest.mark.parametrize("where", [spot(), IN_THREAD, AS_GUEST])
def test_a_persons_private_answers_in_a_channel_are_one_conversation(where: Location) -> None:
    made = place(where, event=EVENT, goes="response", thread_row=HELD, private=True)
    assert (made.channel, made.thread) == (str(CHANNEL), "private:1")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Who wins?", "Who wins?"),
        ("  Who\n\nwins?\t", "Who wins?"),
        ("Is that so?\n\n> You can't cast.", "Is that so? You can't cast."),
        ("\u202eabc\x07", "abc"),
        ("", ""),
    ],
)
def test_a_thread_is_named_after_the_question(text: str, name: str) -> None:
    assert title(text) == name


@pytest.mark.parametrize("text", ["word " * 100, "w" * 500, "@everyone " * 30])
def test_a_threads_name_is_short_and_pings_nobody(text: str) -> None:
    assert 0 < len(title(text)) <= TITLE_CHARS + 1
    assert title(text).endswith("…")
    assert "@everyone" not in title(text)
