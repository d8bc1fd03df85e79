"""Voice settings: whether scenes and verdicts are narrated, by which voices and how fast, and whether it works."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.check import Check
from bot.kind import Kind, Runs, Setting, Typed
from bot.settings import NARRATE, OFF, ON, SPEED, VOICE
from bot.verb import ME, Argument, Option, Verb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.config import Config
    from bot.events import Request
    from bot.resources import Resources
    from bot.words import Words
    from bot.work import Work

FOR = Option("for", "verbs.option_voice_for", choices=(ME, "thread", "channel", "everyone"))
WORK = Option("work", "verbs.option_voice_work", completes="work")

_verb = partial(Verb, "voice")

VERBS: tuple[Verb, ...] = (
    _verb(
        "join", argument=Argument("channel", "verbs.arg_voice_channel", "channel", required=False, most=100)
    ),
    _verb("leave"),
    _verb("say", "The door opens.", Argument("text", "verbs.arg_voice_text"), speaks=True),
    _verb("stop"),
    _verb("skip"),
    _verb("pause"),
    _verb("resume"),
    _verb(
        "narrate",
        "on",
        Argument("state", "verbs.arg_narrate", required=False, completes="state"),
        (Option("for", "verbs.option_narrate_for", choices=("thread", "channel", "everyone")),),
        sets=True,
    ),
    _verb(
        "voice",
        'hibari:low --as "Mira"',
        Argument("voice", "verbs.arg_voice", required=False, completes="voice", most=600),
        (FOR, Option("as", "verbs.option_voice_as", completes="speaker", most=80), WORK),
        sets=True,
    ),
    _verb(
        "speed",
        "1.2 --for me",
        Argument("speed", "verbs.arg_speed", required=False, most=10, terse=True),
        (FOR, WORK),
        sets=True,
    ),
    _verb("hear", "turn.ogg", Argument("paths", "verbs.arg_hear", many=True, completes="path"), hears=True),
    _verb("doctor"),
    _verb(
        "play",
        argument=Argument("text", "verbs.arg_hear", required=False),
        options=(Option("changed", "verbs.voice_hear", "flag"), Option("leave", "verbs.voice_hear", "flag")),
        ordered=True,
        plain=True,
        inner=True,
    ),
    _verb("taken", inner=True),
)

HEADINGS: Final = {
    "verbs.heading_voice_channel": "join leave pause resume skip stop",
    "verbs.heading_voice_read": "narrate say voice speed doctor",
    "verbs.heading_voice_hear": "hear",
}


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.voice.work import VoiceWork

    return VoiceWork(resources, runs)


def _voice(resources: Resources, value: str) -> str:
    from bot.works.voice.checks import voices

    return voices(resources, value, admin=True)


def _speed(resources: Resources, value: str) -> str:
    from bot.works.voice.checks import speed

    return speed(value)


def _narrate(resources: Resources, value: str) -> str:
    from bot.works.voice.checks import on_or_off

    return on_or_off(value)


def _examine(config: Config, say: Words) -> Iterator[Check]:
    from bot.works.voice.checks import installation_checks

    return installation_checks(config, say)


async def _stands_for(resources: Resources, runs: Runs, request: Request) -> tuple[Request, Request | None]:
    if request.verb != "play":
        return request, None
    from bot.works.voice.hearing import played_request

    return await played_request(resources, runs, request)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        NARRATE,
        "voice.is_narrate",
        ("channel", "space"),
        check=_narrate,
        default=lambda resources: OFF,
        values=lambda resources: (ON, OFF),
        worded=True,
    ),
    Setting(
        VOICE,
        "voice.is_voice",
        ("channel", "space"),
        check=_voice,
        default=lambda resources: " ".join(resources.config.speech.voices),
    ),
    Setting(
        SPEED,
        "voice.is_speed",
        ("person", "channel", "space"),
        check=_speed,
        default=lambda resources: f"{resources.config.speech.speed:g}",
    ),
)


async def _state(resources: Resources, typed: Typed) -> list[str]:
    return [state for state in (ON, OFF, "reset") if state.startswith(typed.prefix.strip().casefold())]


async def _work(resources: Resources, typed: Typed) -> list[str]:
    from bot.commands import KINDS  # bot.commands imports this folder

    return [name for name in KINDS if name.startswith(typed.prefix.strip().casefold())]


async def _voices(resources: Resources, typed: Typed) -> list[str]:
    from bot.works.voice.checks import voice_completions

    return await asyncio.to_thread(voice_completions, resources, typed.prefix)


async def _speaker(resources: Resources, typed: Typed) -> list[str]:
    """The narrator and the chair, and the characters of the story that is played in this place."""
    from bot.commands import KINDS  # bot.commands imports this folder

    prefix = typed.prefix.strip().casefold()
    return [
        *(name for name in ("narrator", "chair") if name.startswith(prefix)),
        *await KINDS["story"].completes["character"](resources, typed),
    ]


KIND = Kind(
    "voice",
    VERBS,
    make,
    completes={"state": _state, "work": _work, "voice": _voices, "speaker": _speaker},
    settings=SETTINGS,
    examine=_examine,
    stands_for=_stands_for,
    headings=HEADINGS,
)
