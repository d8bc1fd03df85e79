"""When a model fails: a sentence, the passages or the text so far, and a correct ledger."""

from __future__ import annotations

import asyncio
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from bot.llm.answer import MOST_CHARS_PER_TOKEN
from bot.works.rules.answer import MAX_TOKENS
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES, Wire
from tests.promises.talk import (
    ANSWER,
    ASK,
    EXTRACTIVE,
    KEY,
    Events,
    answer,
    asked,
    bot,
    heard,
    ledger_of,
    of,
    quick,
    settings,
    status,
    talking,
    texts,
)


def no_key_anywhere(data: Path, events: Events) -> None:
    assert KEY not in str(events)
    for file in data.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file


def later(status: int, **more: Any) -> Reply:
    return Reply(status=status, headers={"retry-after": "0"}, times=3, **more)


FAULTS: dict[str, tuple[Reply, str]] = {
    "unauthorised": (Reply(status=401), "refused the API key. Put the right key into"),
    "forbidden": (Reply(status=403), "This API key may not use"),
    "too often": (Reply(status=429, headers={"retry-after": "60"}), "is getting too many requests right now"),
    "a storm of 429": (later(429), "is getting too many requests right now"),
    "a fault of its own": (later(503), "had an error of its own"),
    "overloaded": (later(529), "had an error of its own"),
    "no credit": (Reply(status=402), "has no credit left"),
    "unknown model": (Reply(status=404), "did not find"),
    "too long": (Reply(status=413), "more text than"),
    "not understood": (Reply(status=400), "did not accept"),
    "a page": (
        Reply(body="<html>hello</html>", headers={"retry-after": "0"}, times=3),
        "had an error of its own",
    ),
    "nothing": (Reply(text=""), "gave an empty answer"),
    "a refusal": (Reply(refusal="I would rather not.", finish="refusal"), "declined to answer"),
    "filtered": (Reply(text="", finish="refusal"), "declined to answer"),
}


async def test_a_model_without_an_answer_is_replaced_by_the_passages(wire: Wire, stocked: Path) -> None:
    calls = input_tokens = output_tokens = 0
    async with (
        wire.service([reply for reply, _ in FAULTS.values()]) as service,
        talking(settings(stocked, service)) as talk,
    ):
        for name, (reply, said) in FAULTS.items():
            await talk.say("/new")
            events = await talk.say(ASK)
            assert (name, service.calls) == (name, calls + reply.times)
            assert status(events) == "done", name
            notices = [notice["text"] for notice in of(events, "notice")]
            assert [notice for notice in notices if said in notice], (name, notices)
            assert EXTRACTIVE in notices, name
            assert "speed becomes zero" in texts(events), name
            assert of(events, "citation"), name
            row = (await ledger_of(talk))[-1]
            assert row.state in ("failed", "settled"), name
            assert row.output_tokens == service.output_tokens - output_tokens, name
            assert row.input_tokens == service.input_tokens - input_tokens or name == "a page"
            calls, input_tokens, output_tokens = service.calls, service.input_tokens, service.output_tokens
        assert len(await ledger_of(talk)) == len(FAULTS)
    no_key_anywhere(stocked, talk.events)


async def test_the_passages_are_separate_from_a_models_uncited_words(wire: Wire, stocked: Path) -> None:
    async with wire.service([Reply("Certainly not.")]) as service:
        events, _ = await asked(settings(stocked, service))
    text, passages = texts(events).split("\n\n", 1)
    assert text.rstrip().endswith("Certainly not.")
    assert passages.startswith("**")


@pytest.mark.parametrize("fault", ["drop", "truncate", "malformed", "error"])
async def test_text_from_before_a_cut_stays_and_is_billed(fault: str, wire: Wire, stocked: Path) -> None:
    error = {"message": "overloaded", "type": "overloaded_error", "code": "server_error"}
    async with wire.service([Reply(text=ANSWER, fault=fault, at=6, error=error)]) as service:
        events, (row,) = await asked(settings(stocked, service))
        assert service.calls == 1, "a started answer is not requested again"
    assert status(events) == "done"
    assert "The speed of a grappled creature" in texts(events)
    assert [notice for notice in of(events, "notice") if "cut off in the middle" in notice["text"]]
    assert row.state == "failed"
    assert row.output_tokens > 0
    assert row.input_tokens > 0
    no_key_anywhere(stocked, events)


async def test_brief_failures_go_unnoticed(wire: Wire, stocked: Path) -> None:
    storm = Reply(status=429, headers={"retry-after": "0"}, times=2)
    async with wire.service([storm, Reply(text=ANSWER)]) as service:
        events, (row,) = await asked(settings(stocked, service))
    assert not of(events, "notice")
    assert answer(events) == ANSWER
    assert (row.state, row.input_tokens) == ("settled", service.input_tokens)


@pytest.mark.parametrize(
    ("reply", "shown", "sentence"),
    [
        (Reply(text=ANSWER, fault="hang", at=4), "The speed of a", "cut off"),
        (Reply(fault="half_open", times=3), EXTRACTIVE, "took too long to answer"),
    ],
    ids=["hang", "half-open"],
)
async def test_a_service_that_falls_silent_is_abandoned(
    reply: Reply, shown: str, sentence: str, wire: Wire, stocked: Path
) -> None:
    async with wire.service([reply]) as service:
        async with quick(settings(stocked, service)) as talk:
            events = await talk.say(ASK)
            (row,) = await ledger_of(talk)
        assert 0 < service.calls <= reply.times  # on a busy machine a try may end before its request arrives
    assert status(events) == "done"
    assert shown in texts(events) + texts(events, "notice")
    assert [notice for notice in of(events, "notice") if sentence in notice["text"]]
    assert row.state == "failed"
    assert (row.output_tokens > 0) == (row.input_tokens > 0) == (reply.fault == "hang")


async def test_a_paused_turn_continues(stocked: Path) -> None:
    words = ANSWER.split()
    parts = [Reply(" ".join(words[:4]), finish="pause"), Reply(" ".join(words[4:]))]
    async with WIRES["messages"].service(parts) as service:
        events, (row,) = await asked(settings(stocked, service))
        assert service.calls == 2
    assert answer(events) == ANSWER
    assert not of(events, "notice")
    assert row.state == "settled"
    assert (row.input_tokens, row.output_tokens) == (service.input_tokens, service.output_tokens)


async def test_an_endless_answer_is_stopped(wire: Wire, stocked: Path) -> None:
    async with wire.service([Reply(pieces=["on and on and on " * 10], endless=True)]) as service:
        events, (row,) = await asked(settings(stocked, service))
        async with asyncio.timeout(30):
            await service.closed.wait()
    assert status(events) == "done"
    assert [notice for notice in of(events, "notice") if "length limit" in notice["text"]]
    assert len(answer(events)) < MAX_TOKENS * MOST_CHARS_PER_TOKEN + 2_000
    assert row.output_tokens > 1_000


async def test_an_unreachable_service_is_replaced_by_the_passages(wire: Wire, stocked: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        service = wire.service(port=free.getsockname()[1])
    async with quick(settings(stocked, service)) as talk:
        events = await talk.say(ASK)
        (row,) = await ledger_of(talk)
    assert status(events) == "done"
    assert [notice for notice in of(events, "notice") if "I could not reach fake:small" in notice["text"]]
    assert EXTRACTIVE in texts(events, "notice")
    assert (row.state, row.input_tokens, row.output_tokens) == ("failed", 0, 0)


async def test_a_complete_answer_is_billed_to_the_token(wire: Wire, stocked: Path) -> None:
    async with wire.service([Reply(text=ANSWER, cached=3, cache_writes=2)]) as service:
        events, (row,) = await asked(settings(stocked, service))
        (body,) = service.requests
    assert status(events) == "done"
    assert answer(events) == ANSWER
    assert row.state == "settled"
    assert row.input_tokens == service.input_tokens == service.prompt_tokens(body) - 5
    assert (row.cache_read_tokens, row.cache_write_tokens) == (3, 2)
    assert row.output_tokens == len(ANSWER.split())
    no_key_anywhere(stocked, events)


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ('[roles]\nanswerer = "nobody:small"\n', "nobody"),
        pytest.param(
            '[providers.x]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\n'
            'api_key_env = "NO_SUCH_KEY"\n[roles]\nanswerer = "x:small"\n',
            "NO_SUCH_KEY",
            marks=pytest.mark.slow,
        ),
        ('[roles]\nanswerer = "anthropic:claude"\n', "ANTHROPIC_API_KEY"),
    ],
)
def test_a_role_without_a_usable_model_gets_one_sentence(toml: str, sentence: str, stocked: Path) -> None:
    file = stocked.parent / "c.toml"
    file.write_text(f'[embedding]\nmodel = "none"\n{toml}', encoding="utf-8")
    done = bot("chat", "--json", data=stocked, config=file, stdin=ASK.encode())
    if done.stdout:  # the app opens: passages replace the model
        events = heard(done)
        assert status(events) == "done"
        assert sentence in texts(events, "notice")
        assert "speed becomes zero" in texts(events)
        assert done.returncode == 0
    else:  # refused before anything is opened
        assert done.returncode == 2
        assert len(re.findall(r"\n", done.stderr.decode().strip())) == 0
        assert sentence in done.stderr.decode()


async def test_no_file_or_output_of_a_process_contains_the_key(wire: Wire, stocked: Path) -> None:
    async with wire.service([], key="another") as service:
        settings(stocked, service)
        done = await asyncio.to_thread(
            bot,
            "chat",
            "--json",
            data=stocked,
            config=stocked.with_name("data.toml"),
            stdin=ASK.encode(),
            FAKE_KEY=KEY,
        )
    events = heard(done)
    assert status(events) == "done"
    assert "refused the API key. Put the right key into" in texts(events, "notice")
    assert KEY.encode() not in done.stdout + done.stderr
    no_key_anywhere(stocked, events)
