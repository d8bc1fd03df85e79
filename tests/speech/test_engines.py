"""The real engines, each with its process or service, and processes that misbehave."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from aiohttp import web

from bot.speech.engines.base import Unspoken
from bot.speech.engines.embedded import Hibari, Piper
from bot.speech.engines.espeak import Espeak
from bot.speech.engines.service import Service
from bot.speech.sound import RATE, pcm
from tests.fakes.speech_service import SpeechService
from tests.speech.services import service as service_at

READY = (
    "import json, struct, sys, time\n"
    "print(json.dumps({'ready': True}), flush=True)\n"
    "line = json.loads(sys.stdin.readline())\n"
)
ANSWER = (
    "data = struct.pack('<24000f', *[.3, -.3] * 12000)\n"
    "head = {'id': line['id'], 'rate': 24000, 'bytes': len(data)}\n"
    "sys.stdout.buffer.write(json.dumps(head).encode() + b'\\n' + data)\n"
    "sys.stdout.flush()\n"
)
TWENTY = """The old man sat by the window and looked at the rain.
She opened the door and saw a long dark hall.
We walked down to the river in the morning.
There was no one in the house when they came home.
He took the letter out of his pocket and read it again.
The children ran across the field to the trees.
I have never seen a night as clear as this one.
They waited for an hour before the train arrived.
My brother told me the story many years ago.
The captain gave the order to leave the ship.
You should not go into the forest after dark.
A small fire was burning in the middle of the room.
The king had three sons and a daughter.
Her voice was so low that he could hardly hear her.
They found a box of gold under the stone floor.
The road goes up the hill and then turns left.
He put his hand on the table and stood up slowly.
At the end of the day they were tired and hungry.
The woman in the red dress smiled at him.
Nobody knows what happened to the other men.""".splitlines()


def child(code: str, timeout_s: float = 60.0) -> Hibari:
    return Hibari(("-c", code), timeout_s)


async def why(
    engine: Hibari | Espeak | Service | Piper, text: str = "The door opens.", voice: str = ""
) -> str:
    try:
        pcm(await engine.say(text, voice, 1.0, "en"), engine.name)
    except Unspoken as unspoken:
        return unspoken.why
    return "said"


@pytest.mark.slow
async def test_the_embedded_voice_says_english_in_three_pitches() -> None:
    engine = Hibari()
    lengths = {}
    for voice in engine.voices:
        made = pcm(await engine.say("The door opens, and a cold wind comes in.", voice, 1.0, "en"), "hibari")
        lengths[voice] = len(made) / 2 / RATE
    assert all(2 < one < 4.5 for one in lengths.values())
    fast = pcm(await engine.say("The door opens, and a cold wind comes in.", "heart", 2.0, "en"), "hibari")
    assert len(fast) / 2 / RATE < 0.7 * lengths["heart"]
    assert await why(engine, "日本語です。") == "silent"
    assert await why(engine, voice="squeaky") == "no_voice"
    await engine.close()


@pytest.mark.slow
async def test_after_a_kill_the_next_sentence_is_said() -> None:
    engine = Hibari()
    assert await why(engine) == "said"
    assert engine.pid is not None
    saying = asyncio.create_task(why(engine, "and on, " * 45))
    os.kill(engine.pid, signal.SIGKILL)
    assert await saying in ("crashed", "said")
    assert await why(engine) == "said"
    await engine.close()


@pytest.mark.slow
async def test_a_cancelled_sentence_leaves_the_next_one_whole() -> None:
    engine = Hibari()
    saying = asyncio.create_task(engine.say("The first sentence, which nobody wants.", "", 1.0, "en"))
    await asyncio.sleep(0)
    saying.cancel()
    short = pcm(await engine.say("No.", "", 1.0, "en"), "hibari")
    assert len(short) / 2 / RATE < 1.2
    await engine.close()


@pytest.mark.slow
async def test_an_idle_process_is_ended() -> None:
    engine = Hibari(idle_s=0.5)
    assert await why(engine) == "said"
    pid = engine.pid
    while engine.pid is not None:  # noqa: ASYNC110  (nothing tells of it)
        await asyncio.sleep(0.01)
    assert pid is not None
    assert await why(engine) == "said"
    await engine.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (READY + ANSWER, "said"),
        (READY + "sys.exit(3)", "crashed"),
        (READY + "import os; os.kill(os.getpid(), 11)", "crashed"),
        ("raise SystemExit", "crashed"),
        ('print("{\\"fault\\": \\"ImportError\\"}", flush=True)', "absent"),
        (READY + 'print("not JSON", flush=True); time.sleep(60)', "noise"),
        (READY + 'print("[1]", flush=True); time.sleep(60)', "noise"),
        (
            READY + 'print(json.dumps({"id": 99, "rate": 24000, "bytes": 0}), flush=True); time.sleep(60)',
            "noise",
        ),
        (
            READY
            + 'print(json.dumps({"id": 1, "rate": 24000, "bytes": 10**12}), flush=True); time.sleep(60)',
            "noise",
        ),
        (
            READY + 'print(json.dumps({"id": 1, "rate": 1e9, "bytes": 8}), flush=True); time.sleep(60)',
            "noise",
        ),
        (READY + 'print(json.dumps({"id": 1, "rate": 24000, "bytes": 0}), flush=True)', "silent"),
        (READY + ANSWER.replace(".3, -.3", "float('nan'), 0"), "noise"),
        (
            READY + 'print(json.dumps({"id": 1, "fault": "ValueError"}), flush=True); time.sleep(60)',
            "refused",
        ),
        (READY + 'sys.stdout.write("x" * 200000); sys.stdout.flush(); time.sleep(60)', "noise"),
    ],
)
async def test_a_process_that_misbehaves_loses_only_its_sentence(code: str, outcome: str) -> None:
    engine = child(code)
    assert await why(engine) == outcome
    await engine.close()


@pytest.mark.slow
@pytest.mark.parametrize("code", [READY + "time.sleep(600)", "import time; time.sleep(600)"])
async def test_a_process_that_hangs_is_killed(code: str) -> None:
    engine = child(code, timeout_s=0.5)
    assert await why(engine) == "hangs"
    assert engine.pid is None
    await engine.close()


@pytest.mark.slow
async def test_its_words_can_be_understood() -> None:
    """`pocketsphinx`, with a language model of its own, hears 20 plain sentences of a tale.

    Of the two deeper voices it hears more.
    """
    import numpy as np
    import soxr
    from pocketsphinx import Decoder

    engine, decoder = Hibari(), Decoder(samprate=16_000, loglevel="FATAL")
    wrong = words = recalled = 0
    for sentence in TWENTY:
        made = pcm(await engine.say(sentence, "heart", 1.0, "en"), "hibari")
        samples = soxr.resample(np.frombuffer(made, "<i2").astype(np.float32) / 32_768, RATE, 16_000)
        decoder.start_utt()
        decoder.process_raw((np.pad(samples, 4_000) * 32_767).astype("<i2").tobytes(), full_utt=True)
        decoder.end_utt()
        hypothesis = decoder.hyp()
        heard = hypothesis.hypstr.lower().split() if hypothesis is not None else []
        wanted = sentence.lower().strip(".").split()
        wrong += _distance(wanted, heard)
        words += len(wanted)
        recalled += sum(one in heard for one in wanted)
    await engine.close()
    print(f"word error {wrong / words:.1%}, recall {recalled / words:.1%}")
    assert wrong / words <= 0.15
    assert recalled / words >= 0.90


def _distance(wanted: list[str], heard: list[str]) -> int:
    """The number of words to change, add or remove (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for i, one in enumerate(wanted, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (one != other))
    return row[-1]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
async def test_espeak_says_portuguese_and_others() -> None:
    engine = Espeak()
    for language, text in (("pt", "A porta se abre."), ("ru", "Дверь открылась."), ("en", "The door opens.")):
        made = pcm(await engine.say(text, "", 1.0, language), "espeak")
        assert 0.5 < len(made) / 2 / RATE < 4
    slow = await engine.say("A porta se abre.", "f2", 0.5, "pt")
    fast = await engine.say("A porta se abre.", "f2", 2.0, "pt")
    assert slow.samples.size > 2 * fast.samples.size
    with pytest.raises(Unspoken):
        await engine.say("Hello.", "", 1.0, "xx")


def program(folder: Path, code: str) -> str:
    """A program in espeak's place that expects espeak-ng's arguments."""
    file = folder / "espeak-ng"
    checks = (
        "import sys, time, os\n"
        "a = sys.argv[1:]\n"
        "assert a[0] == '-v' and a[2] == '-s' and a[4:] == ['-b', '1', '--stdin', '--stdout'], a\n"
        "assert 80 <= int(a[3]) <= 450\n"
        "text = sys.stdin.buffer.read().decode()\n"
    )
    file.write_text(f"#!{sys.executable}\n{checks}{code}\n", encoding="utf-8")
    file.chmod(0o755)
    return str(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("sys.exit(0)", "silent"),
        ("sys.exit(1)", "refused"),
        ("os.kill(os.getpid(), 9)", "crashed"),
        ("print('RIFF? no')", "noise"),
        ("while True: sys.stdout.buffer.write(b'x' * 65536)", "noise"),
        ("sys.stdout.close(); time.sleep(600)", "hangs"),
    ],
)
async def test_a_program_that_misbehaves_loses_only_its_sentence(
    tmp_path: Path, code: str, outcome: str
) -> None:
    engine = Espeak(program(tmp_path, code), timeout_s=1.0 if outcome == "hangs" else 60.0)
    assert await why(engine) == outcome


async def test_espeak_gets_only_known_voice_names(tmp_path: Path) -> None:
    absent = Espeak(str(tmp_path / "nothing"))
    assert await why(absent, voice="-w/etc/x") == "no_voice"
    assert await why(absent, voice="$(id)") == "no_voice"
    assert await why(absent) == "crashed"
    assert Espeak().reads("pt", "")
    assert Espeak().reads("pt", "f2")
    assert Espeak().reads("pt", "pt-br+f2")
    assert not Espeak().reads("en", "pt-br")


async def test_a_service_speaks_or_says_why_it_does_not() -> None:
    async with SpeechService(key="sk-1") as service:
        engine = service_at(service.base_url, "sk-1", timeout_s=30.0)
        assert await why(engine) == "said"
        assert service.requests[0]["model"] == "gpt-4o-mini-tts"
        service.answers += [
            web.Response(status=500),
            web.Response(body=b""),
            web.Response(body=b"ID3 and an MP3", content_type="audio/mpeg"),
            web.json_response({"error": {"message": "slow down", "code": "rate_limit"}}, status=429),
        ]
        assert [await why(engine) for _ in range(4)] == ["refused", "silent", "noise", "refused"]
        assert await why(engine, voice="tts-9/coral") == "refused"
        await engine.close()
        stranger = service_at(service.base_url, "sk-2")
        with pytest.raises(Unspoken) as refused:
            await stranger.say("The door opens.", "", 1.0, "en")
        assert (refused.value.why, "sk-2" in str(refused.value), "401" in str(refused.value)) == (
            "refused",
            False,
            True,
        )
        await stranger.close()
        hasty = service_at(service.base_url, "sk-1", timeout_s=0.2)
        service.answers.append(None)
        assert await why(hasty) == "hangs"
        await hasty.close()
    assert await why(service_at(None)) == "absent"


def test_piper_voices_are_read_from_files(tmp_path: Path) -> None:
    assert Piper(None).voices == ()
    for name, about in (
        ("pt_BR-faber", '{"language": {"code": "pt_BR"}, "espeak": {"voice": "pt-br"}}'),
        ("en-joe", "{"),
    ):
        (tmp_path / f"{name}.onnx").write_bytes(b"")
        (tmp_path / f"{name}.onnx.json").write_text(about)
    (tmp_path / "half.onnx").write_bytes(b"")
    engine = Piper(tmp_path)
    assert engine.voices == ("en-joe", "pt_BR-faber")
    assert engine.reads("pt", "pt_BR-faber")
    assert engine.reads("en", "en-joe")
    assert not engine.reads("pt", "half")


async def test_a_missing_piper_voice_is_reported(tmp_path: Path) -> None:
    assert await why(Piper(tmp_path), voice="../../etc/passwd") == "no_voice"
