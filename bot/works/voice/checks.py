"""Checks values for voices, speeds and narration, and whether the configured voices are available."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from shutil import which
from typing import TYPE_CHECKING

from bot.check import Check
from bot.events import TransientError, UserError
from bot.settings import OFF, ON, permitted
from bot.speech.engines.service import Service
from bot.speech.listening.ears import Ears
from bot.speech.listening.samples import PROGRAM
from bot.speech.speech import Speech
from bot.speech.voices import FASTEST, SLOWEST, parse_list
from bot.words import meant

if TYPE_CHECKING:
    from bot.config import Config
    from bot.resources import Resources
    from bot.words import Words

MOST_VOICES = 5
FOR_CHANNELS = {"opuslib_next": "opuslib-next-bundled", "davey": "davey", "nacl": "PyNaCl"}
"""The packages for Discord's voice channels: libopus, and two kinds of encryption, end to end and on the way to the
voice server.
"""


def voices(resources: Resources, text: str, *, admin: bool) -> str:
    """The voices as they are stored. Raises UserError for an unknown or missing voice, and for one that costs money
    unless an admin sets it.
    """
    speech = resources.speech
    try:
        chosen = parse_list(text)
    except ValueError:
        raise UserError("voice.no_voice", value=text[:60], engines=", ".join(speech.names)) from None
    for voice in chosen[:MOST_VOICES]:
        engine = speech.engine(voice.engine)
        if engine is None:
            raise UserError("voice.no_voice", value=str(voice)[:60], engines=", ".join(speech.names))
        if isinstance(engine, Service):
            listed = str(voice) in resources.config.speech.voices
            if not (listed or permitted(resources.config, f"{voice.engine}:{engine.model(voice.name)}")):
                raise UserError("voice.not_offered", value=str(voice))
            if not (admin or listed):
                raise UserError("voice.admins", value=str(voice))
        elif voice.name and voice.engine != "espeak" and voice.name not in engine.voices:
            known_names = ", ".join(f"{voice.engine}:{name}" for name in engine.voices) or "–"
            raise UserError("voice.no_such", value=str(voice)[:60], voices=known_names)
        if reason := engine.absent():
            raise TransientError("voice.absent", engine=voice.engine, reason=reason)
    return " ".join(map(str, chosen[:MOST_VOICES]))


def voice_completions(resources: Resources, prefix: str) -> list[str]:
    """The available voices, as completions of the last place in a typed list, each with the list before it."""
    before, blank, typed = prefix.rpartition(" ")
    speech, typed = resources.speech, typed.casefold()
    engines = [(name, engine) for name in speech.names if (engine := speech.engine(name)) is not None]
    names = [
        f"{name}:{voice}" if voice else name
        for name, engine in engines
        if not engine.absent()
        for voice in ("", *engine.voices)
    ]
    return [f"{before}{blank}{name}" for name in [*names, "reset"] if typed in name.casefold()]


def speed(text: str) -> str:
    """The speed as it is stored. Raises UserError."""
    try:
        value = float(text.strip().replace(",", ".").rstrip("x×"))
    except ValueError:
        value = 0.0
    if not SLOWEST <= value <= FASTEST:
        raise UserError("voice.no_speed", value=text[:40], slowest=SLOWEST, fastest=int(FASTEST))
    return f"{value:g}"


def on_or_off(text: str) -> str:
    """The value as it is stored. Raises UserError."""
    value = meant(text, "on", "yes", "none", "no")
    if not value:
        raise UserError("voice.on_or_off", value=text[:40])
    return ON if value in ("on", "yes") else OFF


def installation_checks(config: Config, say: Words) -> Iterator[Check]:
    """The doctor's checks of the configured voices, with the reason if one is missing, and of the requirements of voice
    channels. Starts none of them.
    """
    speech = Speech(config)
    for voice in parse_list(config.speech.voices):
        engine = speech.engine(voice.engine)
        if engine is None:
            yield Check(False, say("voice.doctor_unknown", voice=str(voice)))
        elif reason := engine.absent():
            # The default voices are optional: the program may not be installed.
            yield Check(
                (None if config.speech == type(config.speech)() else False),
                say("voice.doctor_absent", voice=str(voice), reason=reason),
            )
        else:
            yield Check(True, say("voice.doctor_there", voice=str(voice)))
    yield from transcriber_checks(config, say)
    lacking = [package for module, package in FOR_CHANNELS.items() if find_spec(module) is None]
    if lacking:
        yield Check(None, say("voice.doctor_channels_lack", packages=" ".join(lacking)))
    else:
        yield Check(True, say("voice.doctor_channels"))


def transcriber_checks(config: Config, say: Words) -> Iterator[Check]:
    """The doctor's checks of the transcriber of recordings, and of what it lacks. Starts nothing; reads model files."""
    local, services = Ears(config), ", ".join(config.roles.transcriber)
    if not local:
        heard = (
            say("voice.doctor_ears_service", models=services) if services else say("voice.doctor_ears_none")
        )
        yield Check(bool(services) or None, heard)
        return
    missing = local.missing()
    yield from (Check(False, say(fault.key, **fault.values)) for fault in missing)
    if not missing:
        fetches = local.to_be_fetched()
        key = "voice.doctor_ears_fetches" if fetches else "voice.doctor_ears"
        yield Check(None if fetches else True, say(key, model=local.model))
    if which(PROGRAM) is None:
        yield Check(None, say("voice.doctor_ears_program"))
    if services:
        yield Check(True, say("voice.doctor_ears_both", models=services))
