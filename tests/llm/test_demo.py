"""The demo model with its real file and runtime; without them these tests are skipped.

How the provider handles a process that lies, hangs or dies is tested with small processes that do so.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest

from bot import models
from bot.config import load
from bot.events import UserError
from bot.llm.base import Message, Meter, ModelError, Prompt, Tool, ToolResult
from bot.llm.completion import Completion, ToolCall, Usage
from bot.llm.demo import Demo

ROOT = Path(__file__).resolve().parents[2]
FOLDER = load(environ=os.environ).models_dir
real = pytest.mark.skipif(
    not models.present(FOLDER, "smollm2") or find_spec("xllamacpp") is None,
    reason="the demo model's file or its runtime is not there: python -m bot models pull smollm2",
)
TALE = "Tell a long story of a lantern keeper who enters a drowned chapel at night."
SCENE = {
    "type": "object",
    "properties": {
        "place": {"type": "string"},
        "danger": {"type": "integer"},
        "mood": {"type": "string", "enum": ["calm", "grim"]},
        "dark": {"type": "boolean"},
        "exits": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    },
    "required": ["place", "danger", "mood", "dark", "exits"],
    "additionalProperties": False,
}
Make = Callable[..., Demo]
SLOW = pytest.mark.slow
SOON_S = 20.0
"""Far less than the rest of a long answer takes, and enough for a machine with much else to do."""


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes providers: `make(idle_s=1)`; they are closed afterwards."""
    made: list[Demo] = []

    def make(**settings: Any) -> Demo:
        made.append(Demo(settings.pop("models_dir", FOLDER), **settings))
        return made[-1]

    yield make
    for demo in made:
        await demo.close()


def prompt(text: str = TALE, **settings: Any) -> Prompt:
    return Prompt("You tell stories.", (Message("user", text),), **{"max_tokens": 3000, **settings})


async def ask(demo: Demo, asked: Prompt, meter: Meter | None = None, **how: bool) -> list[str | Completion]:
    async with aclosing(demo.stream("smollm2", asked, meter, **how)) as answer:
        return [piece async for piece in answer]


async def strike(
    demo: Demo, blow: Callable[[psutil.Process], None], heard: list[str | Completion], meter: Meter
) -> None:
    """Read a long answer, and apply `blow` to its process at the fifth piece."""
    async for piece in demo.stream("smollm2", prompt(), meter):
        heard.append(piece)
        if len(heard) == 5:
            blow(running(demo))


async def still_works(demo: Demo) -> None:
    async with asyncio.timeout(90):
        *_, last = await ask(demo, prompt(max_tokens=2))
    assert isinstance(last, Completion)
    assert last.text


def running(demo: Demo) -> psutil.Process:
    assert demo.pid is not None
    return psutil.Process(demo.pid)


@real
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=SLOW)])
async def test_an_answer_streams_and_is_counted(make: Make, whole: bool) -> None:
    demo, meter = make(), Meter()
    *pieces, last = await ask(demo, prompt(max_tokens=20, temperature=0), meter, whole=whole)
    assert isinstance(last, Completion)
    assert "".join(map(str, pieces)) == last.text
    assert len(pieces) == 1 if whole else len(pieces) > 10
    assert (last.finish, last.model) == ("length", "demo:smollm2")
    assert last.usage == meter.usage == Usage(await demo.count("smollm2", prompt()) or 0, 20)


@real
@pytest.mark.slow
async def test_an_answer_that_ends_by_itself_has_finish_reason_stop(make: Make) -> None:
    *_, last = await ask(make(), prompt("Say hello.", temperature=0))
    assert isinstance(last, Completion)
    assert last.finish == "end"
    assert "<|" not in last.text


@real
@pytest.mark.slow
async def test_tokens_that_were_read_before_count_as_cache_reads(make: Make) -> None:
    demo = make()
    await ask(demo, prompt(max_tokens=2))
    *_, last = await ask(demo, prompt(max_tokens=2))
    assert isinstance(last, Completion)
    assert last.usage.cache_read_tokens > 10
    whole = await demo.count("smollm2", prompt())
    assert last.usage.input_tokens + last.usage.cache_read_tokens == whole


@real
@pytest.mark.parametrize(
    "text",
    [TALE, pytest.param("Answer in plain prose, never in JSON.", marks=SLOW), pytest.param("{]", marks=SLOW)],
)
async def test_a_schema_is_obeyed(make: Make, text: str) -> None:
    *_, last = await ask(make(), prompt(text, schema=SCENE, temperature=0))
    assert isinstance(last, Completion)
    answer = json.loads(last.text)
    assert answer.keys() == SCENE["properties"].keys()  # type: ignore[attr-defined]  # a dict of dicts
    assert [type(answer[name]) for name in ("place", "danger", "dark", "exits")] == [str, int, bool, list]
    assert answer["mood"] in ("calm", "grim")
    assert (last.finish, last.usage.output_tokens < 1000) == ("end", True)


@real
@pytest.mark.slow
async def test_an_invalid_schema_is_refused_and_the_next_question_is_answered(make: Make) -> None:
    demo = make()
    with pytest.raises(ModelError) as caught:
        await ask(demo, prompt(schema={"type": "nonsense"}))
    assert caught.value.fault == "bad_request"
    await still_works(demo)


@real
@pytest.mark.slow
async def test_simultaneous_questions_are_answered_one_after_the_other(make: Make) -> None:
    demo = make()
    await still_works(demo)
    process = running(demo)
    order: list[str] = []

    async def listen(name: str) -> None:
        async with aclosing(demo.stream("smollm2", prompt(max_tokens=10))) as answer:
            order.extend([name async for _ in answer])

    await asyncio.gather(listen("first"), listen("second"), listen("third"))
    assert list(dict.fromkeys(order)) == ["first", "second", "third"]
    assert order == sorted(order, key=["first", "second", "third"].index)
    assert running(demo) == process


@real
@pytest.mark.slow
async def test_markup_in_peoples_text_stays_text(make: Make) -> None:
    demo = make()
    plain, sly = [await demo.count("smollm2", prompt(text * 20)) for text in ("lantern", "<|im_end|>")]
    assert plain is not None
    assert sly is not None
    assert sly > plain + 60  # as the end of a turn it would be one token, like a lantern


@real
@pytest.mark.slow
async def test_a_prompt_that_is_too_long_is_refused_and_counted(make: Make) -> None:
    demo = make()
    long = prompt("lantern " * 5000)
    with pytest.raises(ModelError) as caught:
        await ask(demo, long)
    assert caught.value.fault == "context"
    assert 5000 < (await demo.count("smollm2", long) or 0) < 6000
    await still_works(demo)


@real
@pytest.mark.slow
async def test_an_answer_stops_where_the_context_ends(make: Make) -> None:
    demo = make(context=256)
    *_, last = await ask(demo, prompt(temperature=0))
    assert isinstance(last, Completion)
    assert last.finish == "length"
    assert last.usage.input_tokens + last.usage.output_tokens <= 256


@real
@pytest.mark.slow
async def test_a_stop_ends_the_generation(make: Make) -> None:
    demo = make()
    answer = demo.stream("smollm2", prompt())
    await anext(answer)
    process = running(demo)
    await answer.aclose()
    async with asyncio.timeout(SOON_S):
        await demo.settled()
    # One at a time: were the 3,000 tokens still on their way, this would not be quick.
    await still_works(demo)
    assert running(demo) == process


@real
@pytest.mark.slow
async def test_a_stop_takes_effect_while_a_long_prompt_is_read(make: Make) -> None:
    demo, meter = make(), Meter()
    asking = asyncio.create_task(ask(demo, prompt("lantern " * 3500), meter))
    while not meter.usage.input_tokens:  # noqa: ASYNC110 - the meter is all that is seen of it
        await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    async with asyncio.timeout(SOON_S):
        await demo.settled()
    assert meter.usage.input_tokens > 3500
    await still_works(demo)


@real
@pytest.mark.slow
async def test_a_process_that_ignores_the_stop_is_killed(make: Make) -> None:
    demo = make()
    answer = demo.stream("smollm2", prompt())
    await anext(answer)
    process = running(demo)
    process.suspend()
    await answer.aclose()
    async with asyncio.timeout(SOON_S):
        await demo.settled()
    await still_works(demo)
    assert running(demo) != process


@real
async def test_after_a_kill_in_the_middle_the_answer_is_cut_off_and_the_next_one_works(make: Make) -> None:
    demo, meter = make(), Meter()
    heard: list[str | Completion] = []
    with pytest.raises(ModelError) as caught:
        await strike(demo, psutil.Process.kill, heard, meter)
    assert caught.value.fault == "cut"
    assert "SIGKILL" in caught.value.detail
    assert caught.value.partial is not None
    assert caught.value.partial.text == "".join(map(str, heard))
    assert caught.value.partial.usage == meter.usage
    assert meter.usage.output_tokens >= 5
    await still_works(demo)


@real
@pytest.mark.slow
async def test_a_process_that_hangs_in_the_middle_is_noticed_and_the_next_answer_works(make: Make) -> None:
    demo = make(silence_s=15)
    with pytest.raises(ModelError) as caught:
        await strike(demo, psutil.Process.suspend, [], Meter())
    assert caught.value.fault == "cut"
    assert "15 s" in caught.value.detail
    await still_works(demo)


@real
@pytest.mark.slow
async def test_a_kill_while_idle_goes_unnoticed(make: Make) -> None:
    demo = make()
    await still_works(demo)
    process = running(demo)
    process.kill()
    while demo.pid is not None:  # noqa: ASYNC110 - until the event loop has heard of it
        await asyncio.sleep(0.01)
    await still_works(demo)
    assert running(demo) != process


@real
@pytest.mark.slow
async def test_the_process_ends_when_idle_to_free_its_memory(make: Make) -> None:
    demo = make(idle_s=0.05)
    await still_works(demo)
    process = running(demo)
    await asyncio.to_thread(process.wait, 20)
    await still_works(demo)


@real
@pytest.mark.slow
async def test_closing_ends_the_process(make: Make) -> None:
    demo = make()
    answer = demo.stream("smollm2", prompt())
    await anext(answer)
    process = running(demo)
    await demo.close()
    assert not process.is_running()
    await answer.aclose()


PARENT = """
import asyncio, sys
from pathlib import Path
from bot.llm.base import Message, Prompt
from bot.llm.demo import Demo

async def main():
    demo = Demo(Path(sys.argv[1]))
    question = Prompt("", (Message("user", sys.argv[2]),), max_tokens=int(sys.argv[3]))
    async for _ in demo.stream("smollm2", question):
        if question.max_tokens > 10:
            print(demo.pid, flush=True)
    print(demo.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@real
@pytest.mark.parametrize("tokens", [3000, 3], ids=["in the middle of an answer", "while idle"])
@pytest.mark.slow
def test_the_death_of_the_bot_ends_the_process(tokens: int) -> None:
    command = [sys.executable, "-c", PARENT, str(FOLDER), TALE, str(tokens)]
    parent = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        process = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        process.wait(SOON_S)


@real
async def test_the_process_gets_no_secret_and_opens_no_port(make: Make, tmp_path: Path) -> None:
    secrets = {"OPENAI_API_KEY": "sk-shh", "ANTHROPIC_API_KEY": "shh", "DISCORD_TOKEN": "shh", "X": "shh"}
    demo = make(environ={**os.environ, **secrets, "TMPDIR": str(tmp_path)})
    await still_works(demo)
    process = running(demo)
    assert process.environ()["TMPDIR"] == str(tmp_path)
    assert "shh" not in " ".join([*process.environ().values(), *process.cmdline()])
    assert process.net_connections(kind="inet") == []
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - a Path's own would be called blocking


@pytest.mark.parametrize(
    ("model", "asked", "fault"),
    [
        ("smollm3", prompt(), "not_found"),
        ("smollm2", prompt(tools=(Tool("roll", "rolls dice", {"type": "object"}),)), "bad_request"),
        (
            "smollm2",
            Prompt(
                "",
                (
                    Message("assistant", calls=(ToolCall("a", "roll", "{}"),)),
                    Message("user", results=(ToolResult("a", "7"),)),
                ),
            ),
            "bad_request",
        ),
    ],
)
async def test_unsupported_requests_are_refused_before_anything_starts(
    make: Make, model: str, asked: Prompt, fault: str
) -> None:
    demo = make(command=["no-such-program"])
    with pytest.raises(ModelError) as caught:
        await anext(demo.stream(model, asked))
    assert caught.value.fault == fault
    assert await demo.count(model, asked) is None
    capabilities = demo.capabilities("smollm2")
    assert (capabilities.tools, capabilities.json_schema, capabilities.cites, capabilities.demo) == (
        False,
        True,
        False,
        True,
    )


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the runtime is not installed")
async def test_without_its_file_or_with_a_damaged_one_it_says_what_to_do(make: Make, tmp_path: Path) -> None:
    demo = make(models_dir=tmp_path)
    with pytest.raises(UserError) as caught:
        await ask(demo, prompt())
    assert caught.value.key == "model.demo_absent"
    for file in models.MODELS["smollm2"].files:
        (tmp_path / "smollm2").mkdir(exist_ok=True)
        with (tmp_path / "smollm2" / file.name).open("wb") as hollow:
            hollow.truncate(file.size)
    with pytest.raises(UserError) as caught:
        await ask(demo, prompt())
    assert caught.value.key == "model.demo_broken"


# What a process says after it has heard the question; {"ready": 9} came before.
TEXT = b'{"id": 1, "text": "One ", "output": 1}\n'
LYING = {
    "not JSON": (b"llama: hello\n", "server", "no answer"),
    "no object": (b"[]\n", "server", "no answer"),
    "a number for a text": (b'{"id": 1, "text": 5}\n', "server", "no answer"),
    "a field that there is not": (b'{"id": 1, "word": "x"}\n', "server", "no answer"),
    "no UTF-8": (b'{"id": 1, "text": "\xff"}\n', "server", "no answer"),
    "a line without end": (b"x" * 3_000_000, "server", "no answer"),
    "text, then nonsense": (TEXT + b"?\n", "cut", "no answer"),
    "nothing": (b'{"id": 1, "finish": "end"}\n', "empty", "end"),
    "a fault": (b'{"id": 1, "fault": "server", "detail": "broken"}\n', "server", "broken"),
    "a fault after text": (TEXT + b'{"id": 1, "fault": "server", "detail": "broken"}\n', "cut", "broken"),
    "an unknown fault": (b'{"id": 1, "fault": "gremlins"}\n', "server", ""),
    "another's answer": (b'{"id": 7, "text": "x", "output": 1}\n{"id": 7, "finish": "end"}\n', "timeout", "1 s"),
    "half a line, then its end": (TEXT + b'{"id": 1, "te', "cut", "code 3"),
}  # fmt: skip
LIAR = """
import sys
print('{"ready": 9}', flush=True)
sys.stdin.readline()
lines = open(sys.argv[1], "rb").read()
sys.stdout.buffer.write(lines)
sys.stdout.flush()
if not lines.endswith((b"\\n", b"x")):
    sys.exit(3)
sys.stdin.read()
"""


@pytest.mark.parametrize("lie", LYING)
async def test_a_process_that_talks_nonsense_is_a_model_error(make: Make, tmp_path: Path, lie: str) -> None:
    lines, fault, detail = LYING[lie]
    script = tmp_path / "lines"
    script.write_bytes(lines)
    demo = make(command=[sys.executable, "-c", LIAR, str(script)], silence_s=1)
    with pytest.raises(ModelError) as caught:
        await ask(demo, prompt())
    assert caught.value.fault == fault
    assert detail in caught.value.detail
    assert (caught.value.partial is not None) == (fault == "cut" or lie == "nothing")


@pytest.mark.parametrize(
    ("says", "key", "detail"),
    [
        ("pass", "model.server", "code 0"),
        ("raise SystemExit(4)", "model.server", "code 4"),
        ("import os; os.abort()", "model.server", "SIGABRT"),
        ("print('hello')", "model.server", "no answer"),
        ("import sys; sys.stdin.read()", "model.timeout", "0.5 s"),
        ("""print('{"fault": "load", "detail": "no memory"}')""", "model.server", "no memory"),
        ("""print('{"fault": "runtime", "detail": "no libgomp"}')""", "model.demo_runtime", "no libgomp"),
    ],
)
async def test_a_process_that_does_not_start_is_a_model_error(
    make: Make, says: str, key: str, detail: str
) -> None:
    demo = make(command=[sys.executable, "-c", says], start_s=0.5 if "stdin" in says else 20)
    for _ in range(2):  # each question tries again
        with pytest.raises(UserError) as caught:
            await ask(demo, prompt())
        assert caught.value.key == key
        assert detail in str(caught.value.values)
        assert demo.pid is None


async def test_a_missing_program_is_a_model_error(make: Make) -> None:
    with pytest.raises(ModelError) as caught:
        await ask(make(command=["no-such-program"]), prompt())
    assert caught.value.fault == "server"


DEAF = """
import sys, time
print('{"ready": 9}', flush=True)
sys.stdin.readline()
print('{"id": 1, "text": "One", "output": 1}', flush=True)
time.sleep(60)
"""


async def test_a_deaf_process_is_killed_and_reaped(make: Make) -> None:
    demo = make(command=[sys.executable, "-c", DEAF])
    answer = demo.stream("smollm2", prompt())
    assert await anext(answer) == "One"
    process = running(demo)
    await answer.aclose()
    async with asyncio.timeout(SOON_S):
        await demo.settled()
    await demo.close()
    assert not process.is_running()
