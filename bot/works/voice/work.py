"""`voice narrate|voice|speed|doctor`: shows and changes the settings, and tests them; needs no voice channel.

`voice join|leave|say|stop|skip|pause|resume`: controls what the platform reads aloud now.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.events import Event, Request, Speak, Stage, Text, UserError
from bot.kind import value_in, values_in
from bot.platforms import VoiceChannels
from bot.settings import NARRATE, OFF, ON, SPEED, VOICE
from bot.speech.clips import fault_sentence
from bot.speech.engines.base import Unspoken
from bot.speech.engines.service import Service
from bot.speech.voices import Voice, as_name, manner_of
from bot.words import Words, named, words
from bot.work import Run
from bot.works.voice import checks
from bot.works.voice.hearing import Hearing

if TYPE_CHECKING:
    from bot.kind import Runs
    from bot.platforms import Reader
    from bot.resources import Resources
    from storage.settings import Scope

SCOPES: Final[dict[str, Scope]] = {
    "me": "person",
    "thread": "thread",
    "channel": "channel",
    "everyone": "space",
}
RESET: Final = "reset"
"""Typed instead of a value, this removes the setting."""
TRIAL_TEXT: Final = "One, two, three."


class VoiceWork:
    """The work."""

    def __init__(self, resources: Resources, runs: Runs) -> None:
        self._resources = resources
        self._settings = resources.settings
        self._hearing = Hearing(resources, runs)

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "doctor": self._doctor,
            "hear": self._hearing.hear,
            "taken": self._hearing.taken,
            **dict.fromkeys(("narrate", "voice", "speed"), self._set),
        }
        return verbs.get(run.request.verb, self._control)(run)

    async def _control(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        reader = self._resources.platforms[request.place.platform].reader
        answer = await run.step(request.verb, lambda: self._carry_out(request, reader, say), str)
        yield Stage("voice", say(f"voice.title_{request.verb}"))
        yield Text(answer)
        if request.verb == "say":
            yield Text(f"\n\n{request.text.strip()}")
            yield Speak(request.text.strip(), "voice")

    async def _carry_out(self, request: Request, reader: Reader | VoiceChannels | None, say: Words) -> str:
        """Carry out the verb; returns the sentence about the result. Raises UserError."""
        channels = reader if isinstance(reader, VoiceChannels) else None
        match request.verb:
            case "say":
                if not any(map(str.isalnum, request.text)):
                    raise UserError("voice.nothing_to_say")
                name = channels.where(request) if channels is not None else ""
                return say("voice.says_in", channel=name) if name else say("voice.says_here")
            case "stop" if reader is not None:
                n = await reader.stop(request)
                return say("voice.stopped" if n else "voice.nothing_waits", n=n)
            case "skip" if reader is not None:
                return say("voice.skipped" if await reader.skip(request) else "voice.nothing_waits")
        if channels is None:
            raise UserError("voice.no_channels")
        match request.verb:
            case "join":
                return await channels.join(request, request.text)
            case "leave":
                return say("voice.left", channel=await channels.leave(request))
            case "pause":
                return say("voice.paused" if channels.pause(request) else "voice.nothing_waits")
        return say("voice.resumed" if channels.resume(request) else "voice.not_paused")

    async def _set(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        verb, text = request.verb, request.text.strip()
        if text:
            name, scope = self._name(request), self._scope(request)

            async def changed() -> str:
                if named([RESET], "value", text):
                    await self._settings.reset(request.place, request.author.id, name, scope)
                    return ""
                value = await asyncio.to_thread(self._checked, request, text)
                await self._settings.set(request.place, request.author.id, name, value, scope)
                return value

            value = await run.step("set", changed, str)
        answer = await run.step("show", lambda: self._current(request, say), str)
        yield Stage("voice", say(f"voice.title_{verb}"))
        if text:
            key = f"voice.saved_{scope}" if value else f"voice.reset_{scope}"
            if key == "voice.saved_thread" and not request.place.thread:
                key = "voice.saved_root"
            shown = value_in(say, value) if verb == "narrate" else value
            yield Text(f"{say(key, name=_setting_name(request, say), value=shown)} ")
        yield Text(answer)

    def _name(self, request: Request) -> str:
        """The setting's name. Raises UserError for an unknown kind of work."""
        from bot.commands import KINDS  # bot.commands imports this folder

        base = {"voice": VOICE, "speed": SPEED, "narrate": NARRATE}[request.verb]
        if speaker := str(request.options.get("as") or "").strip():
            return as_name(speaker)
        if work := self._work(request):
            if work not in KINDS:
                raise UserError("voice.no_work", value=work[:40], works=partial(values_in, tuple(KINDS)))
            return f"{base}.{work}"
        return base

    def _scope(self, request: Request) -> Scope:
        """The scope of the setting, if this person may set it there. Raises UserError."""
        own = request.verb == "narrate" or bool(request.options.get("as"))
        scope = SCOPES[str(request.options.get("for") or ("thread" if own else "me"))]
        if scope in ("channel", "space") and not request.author.admin:
            raise UserError("voice.for_admins")
        return scope

    def _checked(self, request: Request, text: str) -> str:
        match request.verb:
            case "voice":
                return checks.voices(self._resources, text, admin=request.author.admin)
            case "speed":
                return checks.speed(text)
        return checks.on_or_off(text)

    async def _current(self, request: Request, say: Words) -> str:
        """The settings that apply to the asker in this place."""
        if request.verb == "narrate":
            narrated = await self._settings.narrated(request)
            reader = self._resources.platforms[request.place.platform].reader
            nowhere = narrated and isinstance(reader, VoiceChannels) and reader.where(request) == ""
            more = f" {say('voice.narrated_nowhere')}" if nowhere else ""
            return say(f"voice.narrated_{ON if narrated else OFF}") + more
        speak = Speak("", "", str(request.options.get("as") or "").strip())
        manner = await manner_of(
            self._settings, self._resources.config.speech, request, self._work(request), speak
        )
        if request.verb == "speed":
            return say("voice.speed_is", speed=f"{manner.speed:g}")
        return say("voice.voices_are", voices=", ".join(f"`{voice}`" for voice in manner.voices))

    def _work(self, request: Request) -> str:
        """The kind of work that the request names, as typed if there is none of that name."""
        from bot.commands import KINDS  # bot.commands imports this folder

        typed = str(request.options.get("work") or "").strip().casefold()
        return named(tuple(KINDS), "group", typed) or typed

    async def _doctor(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        answer = await run.step("doctor", lambda: self._examined(request, say), str)
        yield Stage("doctor", say("voice.title_doctor"))
        yield Text(answer)

    async def _examined(self, request: Request, say: Words) -> str:
        speech = self._resources.speech
        lines = [say("voice.header"), "|---|---|---|"]
        for name in speech.names:
            engine = speech.engine(name)
            assert engine is not None, "every listed name has an engine"
            if reason := engine.absent():
                state = f"– {say(reason.key, **reason.values)}"
            elif isinstance(engine, Service):
                state = say("voice.not_tried")  # it would cost money
            else:
                state = await self._trial(name, say)
            lines.append(f"| `{name}` | {', '.join(engine.voices) or '–'} | {state} |")
        manner = await manner_of(self._settings, self._resources.config.speech, request, "")
        names = say("voice.voices_are", voices=", ".join(f"`{voice}`" for voice in manner.voices))
        narrated = say(f"voice.narrated_{ON if await self._settings.narrated(request) else OFF}")
        last = (
            say("voice.last_fault", fault=speech.last_fault) if speech.last_fault else say("voice.no_fault")
        )
        reader = self._resources.platforms[request.place.platform].reader
        voice = reader.state(request, say) if isinstance(reader, VoiceChannels) else []
        ears = await asyncio.to_thread(
            lambda: [check.line for check in checks.transcriber_checks(self._resources.config, say)]
        )
        listed = [f"- {line}" for line in (*ears, *voice)]
        return "\n".join([*lines, "", *listed, "", f"{narrated} {names} {last}"])

    async def _trial(self, name: str, say: Words) -> str:
        """Speak a few words; returns how long that took."""
        speech = self._resources.speech
        began = time.perf_counter()
        try:
            # The speed varies by thousandths: that avoids the cache, and sounds the same.
            await speech.sentence(TRIAL_TEXT, Voice(name), 1.0 + (time.time_ns() % 90) / 1000, "en")
        except Unspoken as fault:
            return (
                f"✗ {fault_sentence(fault, say)}" if fault.why != "language" else say("voice.other_language")
            )
        return say("voice.took", ms=round((time.perf_counter() - began) * 1000))


def _setting_name(request: Request, say: Words) -> str:
    """The setting's name for people."""
    base = say(f"voice.called_{request.verb}")
    if speaker := str(request.options.get("as") or "").strip():
        return say("voice.called_as", name=speaker[:80])
    work = str(request.options.get("work") or "").strip()
    return say("voice.called_of", what=base, work=work[:40]) if work else base
