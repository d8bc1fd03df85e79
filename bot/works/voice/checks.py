"""What may be set as a voice, a speed, or as narrated; and whether the configured voices are there."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bot.check import Check
from bot.events import UserError
from bot.settings import OFF, ON, permitted
from bot.speech.engines.service import Service
from bot.speech.speech import Speech
from bot.speech.voices import FASTEST, SLOWEST, parse_list

if TYPE_CHECKING:
    from bot.config import Config
    from bot.resources import Resources
    from bot.words import Words

MOST_VOICES = 5
FOR_CHANNELS = {"opuslib_next": "opuslib-next-bundled", "davey": "davey", "nacl": "PyNaCl"}
"""What Discord's voice channels need, and the packages that bring it: libopus, and two encryptions, from end to end and
on the way to the voice server."""
_ON = frozenset({"on", "yes", "true", "1", "sim", "ligado", "ligada"})
_OFF = frozenset({"off", "no", "false", "0", "não", "nao", "desligado", "desligada"})


def voices(resources: Resources, given: str, *, admin: bool) -> str:
    """The voices as they are kept. Raises UserError for what is none, is not here, or costs money and is for admins."""
    speech = resources.speech
    try:
        chosen = parse_list(given)
    except ValueError:
        raise UserError("voice.no_voice", value=given[:60], engines=", ".join(speech.names)) from None
    for one in chosen[:MOST_VOICES]:
        engine = speech.engine(one.engine)
        if engine is None:
            raise UserError("voice.no_voice", value=str(one)[:60], engines=", ".join(speech.names))
        if isinstance(engine, Service):
            listed = str(one) in resources.config.speech.voices
            if not (listed or permitted(resources.config, f"{one.engine}:{engine.model(one.name)}")):
                raise UserError("voice.not_offered", value=str(one))
            if not (admin or listed):
                raise UserError("voice.admins", value=str(one))
        elif one.name and one.engine != "espeak" and one.name not in engine.voices:
            known = ", ".join(f"{one.engine}:{name}" for name in engine.voices) or "–"
            raise UserError("voice.no_such", value=str(one)[:60], voices=known)
        if reason := engine.absent():
            raise UserError("voice.absent", engine=one.engine, reason=reason)
    return " ".join(map(str, chosen[:MOST_VOICES]))


def speed(given: str) -> str:
    """As it is kept. Raises UserError."""
    try:
        value = float(given.strip().replace(",", ".").rstrip("x×"))
    except ValueError:
        value = 0.0
    if not SLOWEST <= value <= FASTEST:
        raise UserError("voice.no_speed", value=given[:40], slowest=SLOWEST, fastest=int(FASTEST))
    return f"{value:g}"


def on_or_off(given: str) -> str:
    """As it is kept. Raises UserError."""
    said = given.strip().casefold()
    if said not in _ON | _OFF:
        raise UserError("voice.on_or_off", value=given[:40])
    return ON if said in _ON else OFF


def examined(config: Config, say: Words) -> Iterator[Check]:
    """For the doctor: each of the configured voices, and why it is not there; what voice channels need. Starts none."""
    speech = Speech(config)
    for voice in parse_list(config.speech.voices):
        engine = speech.engine(voice.engine)
        if engine is None:
            yield Check(False, say("voice.doctor_unknown", voice=str(voice)))
        elif reason := engine.absent():
            # The default ones are a wish, not an order: the program may not be there.
            yield Check(
                (None if config.speech == type(config.speech)() else False),
                say("voice.doctor_absent", voice=str(voice), reason=reason),
            )
        else:
            yield Check(True, say("voice.doctor_there", voice=str(voice)))
    lacking = [package for module, package in FOR_CHANNELS.items() if find_spec(module) is None]
    if lacking:
        yield Check(None, say("voice.doctor_channels_lack", packages=" ".join(lacking)))
    else:
        yield Check(True, say("voice.doctor_channels"))
