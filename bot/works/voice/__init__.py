"""What is heard: whether scenes and verdicts are narrated, by which voices, how fast, and whether all of that works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.check import Check
from bot.kind import Kind, Runs, Setting
from bot.settings import NARRATE, OFF, ON, SPEED, VOICE
from bot.verb import ME, Argument, Option, Verb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.config import Config
    from bot.events import Request, Work
    from bot.resources import Resources
    from bot.words import Words

FOR = Option("for", "verbs.option_voice_for", choices=(ME, "thread", "channel", "everyone"))
WORK = Option("work", "verbs.option_voice_work")

VERBS: tuple[Verb, ...] = (
    Verb(
        "voice",
        "join",
        "verbs.voice_join",
        "/voice join",
        argument=Argument("channel", "verbs.arg_voice_channel", required=False),
    ),
    Verb("voice", "leave", "verbs.voice_leave", "/voice leave"),
    Verb(
        "voice",
        "say",
        "verbs.voice_say",
        "/voice say The door opens.",
        speaks=True,
        argument=Argument("text", "verbs.arg_voice_text"),
    ),
    Verb("voice", "stop", "verbs.voice_stop", "/voice stop"),
    Verb("voice", "skip", "verbs.voice_skip", "/voice skip"),
    Verb("voice", "pause", "verbs.voice_pause", "/voice pause"),
    Verb("voice", "resume", "verbs.voice_resume", "/voice resume"),
    Verb(
        "voice",
        "narrate",
        "verbs.voice_narrate",
        "/voice narrate on",
        sets=True,
        argument=Argument("state", "verbs.arg_narrate", required=False),
        options=(Option("for", "verbs.option_narrate_for", choices=("thread", "channel", "everyone")),),
    ),
    Verb(
        "voice",
        "voice",
        "verbs.voice_voice",
        '/voice voice hibari:low --as "Mira"',
        sets=True,
        argument=Argument("voice", "verbs.arg_voice", required=False),
        options=(FOR, Option("as", "verbs.option_voice_as"), WORK),
    ),
    Verb(
        "voice",
        "speed",
        "verbs.voice_speed",
        "/voice speed 1.2 --for me",
        sets=True,
        argument=Argument("speed", "verbs.arg_speed", required=False),
        options=(FOR, WORK),
    ),
    Verb(
        "voice",
        "hear",
        "verbs.voice_hear",
        "/voice hear turn.ogg",
        hears=True,
        argument=Argument("paths", "verbs.arg_hear", many=True, completes="path"),
    ),
    Verb("voice", "doctor", "verbs.voice_doctor", "/voice doctor"),
    Verb(
        "voice",
        "play",
        "verbs.voice_hear",
        "/voice play",
        ordered=True,
        plain=True,
        inner=True,
        argument=Argument("text", "verbs.arg_hear", required=False),
        options=(
            Option("changed", "verbs.voice_hear", "flag"),
            Option("leave", "verbs.voice_hear", "flag"),
        ),
    ),
    Verb("voice", "taken", "verbs.voice_hear", "/voice taken", inner=True),
)


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
    from bot.works.voice.checks import examined

    return examined(config, say)


async def _stands_for(resources: Resources, runs: Runs, request: Request) -> tuple[Request, Request | None]:
    if request.verb != "play":
        return request, None
    from bot.works.voice.hearing import spoken

    return await spoken(resources, runs, request)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        NARRATE,
        "voice.is_narrate",
        ("channel", "space"),
        check=_narrate,
        default=lambda resources: OFF,
        values=lambda resources: (ON, OFF),
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
KIND = Kind("voice", VERBS, make, settings=SETTINGS, examine=_examine, stands_for=_stands_for)
