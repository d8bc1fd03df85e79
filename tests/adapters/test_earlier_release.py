"""Requests, windows and choices that commit c9014b7 stored can still be read: its code wrote the strings below."""

from __future__ import annotations

from bot import commands
from bot.adapters.discord.received import placing as discord
from bot.adapters.invocation import pending_form
from bot.adapters.slack import placing as slack
from bot.adapters.stored_choices import from_json
from bot.events import Place

DISCORD = (
    '{"home":"thread","channel":31,"application":7,"guild":11,"user":21,"message":41,"token":"aaa","until":9.5,'
    '"member":true,"private":false,"title":"Grapple","asked":"How do I grapple?"}'
)
SLACK = (
    '{"home":"thread","channel":"C1","user":"U1","team":"T1","enterprise":"","thread":"","message":"1.0002",'
    '"response_url":"https://hooks.example/1","until":9.5,"earlier":false,"title":"Grapple","asked":"grapple?"}'
)
WINDOW = (
    '{"work":"rules","verb":"ask","author":"21","before":"","after":"\\n\\n> text","options":{"private":true},'
    '"channel":"C1","thread":"1.0002"}'
)


def test_an_origin_stored_by_an_earlier_release_is_read() -> None:
    origin = discord.origin_of(DISCORD)
    assert (origin.home, origin.channel, origin.guild, origin.message) == ("thread", 31, 11, 41)
    assert origin.to_json() == DISCORD
    whence = slack.origin_of(SLACK)
    assert (whence.home, whence.channel, whence.user, whence.message) == ("thread", "C1", "U1", "1.0002")
    assert whence.to_json() == SLACK
    assert Place("slack", "T1", "C1", "1.0002").channel == whence.channel


def test_a_window_opened_by_an_earlier_release_can_be_submitted() -> None:
    lacking = pending_form(WINDOW)
    assert lacking.author == "21"
    asked = lacking.asked("What is this?")
    assert (asked.row, asked.text) == (commands.ROWS["rules", "ask"], "What is this?\n\n> text")
    assert (asked.options, asked.files, asked.answers) == ({"private": True}, (), "")


def test_a_choice_stored_by_an_earlier_release_is_read() -> None:
    kept = from_json('{"label": "Grappled", "command": "/rules lookup Grappled"}')
    assert (kept.label, kept.command) == ("Grappled", "/rules lookup Grappled")
    assert not kept.over
    assert not kept.votes
