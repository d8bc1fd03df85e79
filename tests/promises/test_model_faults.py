"""A model that fails in any way: a sentence, the passages or what had arrived, and a ledger that is right."""

from __future__ import annotations

import asyncio
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.app import App
from bot.config import Config
from bot.house import House
from bot.llm.openai_chat import Timeouts
from bot.llm.registry import Models
from storage.ledger import Ledger
from tests.fakes.chat_completions import ChatService, Reply, prompt_tokens
from tests.promises.talk import (
    ANSWER,
    ASK,
    KEY,
    Events,
    Talk,
    bot,
    heard,
    of,
    settings,
    status,
    talking,
    texts,
)

QUICK = Timeouts(connect=2, first=0.5, idle=0.3, total=6)
EXTRACTIVE = "Here are the passages themselves, word for word."


async def ledger_of(talk: Talk) -> list[Any]:
    from storage.tables import ledger

    assert talk.app is not None
    async with talk.app.house.database.read() as connection:
        return list(await connection.execute(ledger.select().order_by(ledger.c.id)))


async def asked(config: Config) -> tuple[Events, list[Any]]:
    """Ask once; the events, and the ledger's rows."""
    async with talking(config) as talk:
        events = await talk.say(ASK)
        rows = await ledger_of(talk)
        assert status(await talk.say("/rules books")) == "done"
    return events, rows


def no_key_anywhere(data: Path, events: Events) -> None:
    assert KEY not in str(events)
    for file in data.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file


FAULTS: dict[str, tuple[list[Reply], str]] = {
    "unauthorised": ([Reply(status=401)], "refused the API key"),
    "too often": (
        [Reply(status=429, headers={"retry-after": "60"})],
        "is being asked too often right now",
    ),
    "too often, and again": (
        [Reply(status=429, headers={"retry-after": "0"})] * 3,
        "is being asked too often right now",
    ),
    "a fault of its own": ([Reply(status=503, headers={"retry-after": "0"})] * 3, "had a fault of its own"),
    "no credit": ([Reply(status=402)], "has no credit left"),
    "unknown model": ([Reply(status=404)], "does not know"),
    "a page": (
        [Reply(body="<html>hello</html>", headers={"retry-after": "0"})] * 3,
        "had a fault of its own",
    ),
    "nothing": ([Reply(text="")], "answered with nothing"),
    "a refusal": ([Reply(refusal="I would rather not.", finish="stop")], "declined to answer"),
    "filtered": ([Reply(text="", finish="content_filter")], "declined to answer"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_model_that_gives_nothing_is_replaced_by_the_passages(name: str, stocked: Path) -> None:
    replies, said = FAULTS[name]
    async with ChatService(list(replies)) as service:
        events, rows = await asked(settings(stocked, service))
        assert service.calls == len(replies)
    assert status(events) == "done"
    notices = [one["text"] for one in of(events, "notice")]
    assert [one for one in notices if said in one], notices
    assert EXTRACTIVE in notices
    assert "speed becomes zero" in texts(events)
    assert of(events, "citation")
    (row,) = rows
    assert row.state in ("failed", "settled")
    assert row.output_tokens == service.output_tokens
    assert row.input_tokens == service.input_tokens or name == "a page"
    no_key_anywhere(stocked, events)


@pytest.mark.parametrize("fault", ["drop", "truncate", "malformed", "error"])
async def test_what_arrived_before_a_cut_stays_and_is_billed(fault: str, stocked: Path) -> None:
    cut = Reply(text=ANSWER, fault=fault, at=6, error={"message": "overloaded", "type": "server_error"})
    async with ChatService([cut]) as service:
        events, (row,) = await asked(settings(stocked, service))
        assert service.calls == 1, "what was begun is not asked again"
    assert status(events) == "done"
    assert "The speed of a grappled creature" in texts(events)
    assert [one for one in of(events, "notice") if "cut off in the middle" in one["text"]]
    assert row.state == "failed"
    assert row.output_tokens > 0
    assert row.input_tokens > 0
    no_key_anywhere(stocked, events)


async def test_a_service_that_hangs_is_given_up(stocked: Path) -> None:
    async with ChatService(lambda body: Reply(text=ANSWER, fault="hang", at=4)) as service:
        config = settings(stocked, service)
        async with quick(config) as talk:
            events = await talk.say(ASK)
            (row,) = await ledger_of(talk)
    assert status(events) == "done"
    assert "The speed of a" in texts(events)
    assert [one for one in of(events, "notice") if "cut off" in one["text"]]
    assert row.state == "failed"
    assert row.output_tokens > 0


def quick(config: Config) -> Any:
    """A chat whose models are waited for a moment only."""

    class Impatient(App):
        @classmethod
        async def open(cls, config: Config, *, busy_timeout_s: float = 10.0) -> App:
            house = await House.open(config, busy_timeout_s=busy_timeout_s)
            models = Models(config, Ledger(house.database), timeouts=QUICK, sleep=lambda _: asyncio.sleep(0))
            return cls(replace(house, models=models), house.engine_url, busy_timeout_s=busy_timeout_s)

    return talking(config, application=Impatient)


async def test_an_endless_answer_is_ended(stocked: Path) -> None:
    async with ChatService([Reply(text="on and on and on ", endless=True)]) as service:
        events, (row,) = await asked(settings(stocked, service))
        async with asyncio.timeout(10):
            await service.closed.wait()
    assert status(events) == "done"
    assert [one for one in of(events, "notice") if "length limit" in one["text"]]
    assert len(texts(events)) < 30_000
    assert row.output_tokens > 1_000


async def test_a_service_that_is_not_there(stocked: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        service = ChatService(port=free.getsockname()[1])
    async with quick(settings(stocked, service)) as talk:
        events = await talk.say(ASK)
        (row,) = await ledger_of(talk)
    assert status(events) == "done"
    assert [one for one in of(events, "notice") if "I could not reach fake:small" in one["text"]]
    assert EXTRACTIVE in texts(events, "notice")
    assert (row.state, row.input_tokens, row.output_tokens) == ("failed", 0, 0)


async def test_a_whole_answer_is_billed_to_the_token(stocked: Path) -> None:
    async with ChatService([Reply(text=ANSWER, cached=3)]) as service:
        events, (row,) = await asked(settings(stocked, service))
        (body,) = service.requests
    assert status(events) == "done"
    assert texts([one for one in events if one.get("stage") == "answer"]).strip() == ANSWER
    assert row.state == "settled"
    assert row.input_tokens + row.cache_read_tokens == prompt_tokens(body)
    assert row.cache_read_tokens == 3
    assert row.output_tokens == len(ANSWER.split())
    no_key_anywhere(stocked, events)


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('[roles]\nanswerer = "nobody:small"\n', "nobody"),
        (
            '[providers.x]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\n'
            'api_key_env = "NO_SUCH_KEY"\n[roles]\nanswerer = "x:small"\n',
            "NO_SUCH_KEY",
        ),
        ('[roles]\nanswerer = "anthropic:claude"\n', "later release"),
    ],
)
def test_a_part_that_nobody_can_play_is_one_sentence(toml: str, said: str, stocked: Path) -> None:
    file = stocked.parent / "c.toml"
    file.write_text(f'[embedding]\nmodel = "none"\n{toml}', encoding="utf-8")
    done = bot("chat", "--json", data=stocked, config=file, stdin=ASK.encode())
    if done.stdout:  # opened: the passages stand in for the model
        events = heard(done)
        assert status(events) == "done"
        assert said in texts(events, "notice")
        assert "speed becomes zero" in texts(events)
        assert done.returncode == 0
    else:  # refused before anything was opened
        assert done.returncode == 2
        assert len(re.findall(r"\n", done.stderr.decode().strip())) == 0
        assert said in done.stderr.decode()


async def test_the_key_stays_out_of_everything_a_process_leaves(stocked: Path) -> None:
    async with ChatService(lambda body: Reply(status=401), key="another") as service:
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
    assert "refused the API key" in texts(events, "notice")
    assert KEY.encode() not in done.stdout + done.stderr
    no_key_anywhere(stocked, events)
