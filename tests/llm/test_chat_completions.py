"""The provider, the registry and the ledger against a strict loopback service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, get_args

import pytest

from bot.budget import prompt_tokens, text_tokens
from bot.config import Config, ProviderConfig, RolesConfig
from bot.events import Completion, Sorry, Usage
from bot.llm.base import Message, ModelError, ModelFault, Prompt
from bot.llm.openai_chat import Timeouts
from bot.llm.registry import Models
from bot.words import LOCALES, words
from storage.db import Database
from storage.ledger import Ledger, LedgerRow
from tests.fakes.chat_completions import ChatService, Reply
from tests.fakes.run import MemoryRun

KEY = "sk-very-secret-0123456789"
PROMPT = Prompt("Answer from the book.", (Message("user", "How far does a fireball reach?"),), max_tokens=50)
WORDS_IN = 10
QUICK = Timeouts(connect=2, first=0.4, idle=0.3, total=5)


class Desk:
    """A service, a ledger in memory and the models between them."""

    def __init__(self, service: ChatService, ledger: Ledger, kind: str, key: str | None) -> None:
        self.service = service
        self.ledger = ledger
        self.waits: list[float] = []
        self.run = MemoryRun()
        provider = ProviderConfig("here", kind, service.base_url, "THE_KEY" if key else None)
        from bot.config import Secrets

        self.config = Config(
            Path("data"),
            Path("models"),
            providers={"here": provider},
            roles=RolesConfig(answerer="here:small", writer="gone:x"),
            secrets=Secrets({"THE_KEY": key} if key else {}, {}),
        )
        self.models = Models(self.config, ledger, timeouts=QUICK, sleep=self._wait)

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def ask(self, prompt: Prompt = PROMPT, step: str = "answer") -> tuple[str, Completion]:
        text, last = "", None
        async with aclosing(self.models.stream(self.run, "answerer", step, prompt)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion):
                    last = piece
                else:
                    text += piece
        assert last is not None
        return text, last

    async def row(self) -> LedgerRow:
        (row,) = await self.ledger.entries("local", "run-1")
        return row


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    db = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/sutradhar.db")
    yield Ledger(db)
    await db.close()


class Open:
    """Opens desks and closes them after the test."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.desks: list[Desk] = []

    async def __call__(
        self, *replies: Reply, kind: str = "openai-compatible", key: str | None = None, **service: Any
    ) -> Desk:
        fake = await ChatService(list(replies), key=key, **service).__aenter__()
        self.desks.append(Desk(fake, self.ledger, kind, key))
        return self.desks[-1]

    async def close(self) -> None:
        for desk in self.desks:
            await desk.models.close()
            await desk.service.__aexit__()


@pytest.fixture
async def desk(ledger: Ledger) -> AsyncIterator[Open]:
    opener = Open(ledger)
    yield opener
    await opener.close()


async def test_an_answer_streams_and_is_billed_as_the_service_counted(desk: Open) -> None:
    at = await desk(Reply("one two three", cached=4))
    text, completion = await at.ask()
    assert text == completion.text == "one two three "
    assert (completion.finish, completion.model) == ("end", "here:small")
    assert completion.usage == Usage(WORDS_IN - 4, 3, 4, 0)
    row = await at.row()
    assert (row.state, row.input_tokens, row.output_tokens, row.cache_read_tokens) == ("settled", 6, 3, 4)
    assert row.estimate_tokens == prompt_tokens(PROMPT) + 50
    assert row.author_id == "ana"


async def test_a_replay_pays_nothing(desk: Open) -> None:
    at = await desk(Reply("one"))
    first = await at.ask()
    at.run = at.run.replay()
    assert await at.ask() == first
    assert at.service.calls == 1
    await at.row()


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("content_filter", "refusal"),
        ("tool_calls", "tool"),
        ("function_call", "tool"),
        ("something_new", "end"),
    ],
)
async def test_every_finish_reason(desk: Open, reason: str, finish: str) -> None:
    at = await desk(Reply("one two", finish=reason))
    assert (await at.ask())[1].finish == finish


async def test_a_refusal_is_the_answer_and_thinking_aloud_is_not(desk: Open) -> None:
    at = await desk(Reply(refusal="I will not.", reasoning=["hm", "hm"]))
    text, completion = await at.ask()
    assert (text, completion.finish) == ("I will not.", "refusal")
    assert completion.usage.output_tokens == 2


@pytest.mark.parametrize("how", ["refused", "ignored"])
async def test_usage_that_is_not_given_is_estimated_and_marked(desk: Open, how: str) -> None:
    at = await desk(Reply("one two"), Reply("one two"), stream_options=how)
    _, completion = await at.ask()
    assert completion.usage == Usage(prompt_tokens(PROMPT), text_tokens("one two "), estimated=True)
    assert (await at.row()).output_tokens == text_tokens("one two ")
    before = at.service.calls
    await at.ask(step="again")
    assert at.service.calls == before + 1  # the refusal was learnt


@pytest.mark.parametrize(
    ("kind", "takes"), [("openai-compatible", "max_completion_tokens"), ("openai", "max_tokens")]
)
async def test_the_other_name_of_the_limit_is_tried_and_remembered(desk: Open, kind: str, takes: str) -> None:
    at = await desk(Reply("one"), Reply("two"), kind=kind, limit=(takes,))
    await at.ask()
    await at.ask(step="again")
    assert at.service.calls == 3
    assert at.service.requests[-1][takes] == 50


async def test_a_refused_temperature_is_left_out(desk: Open) -> None:
    at = await desk(Reply("one"), temperature=False)
    await at.ask(Prompt("", (Message("user", "hi"),), temperature=0.3))
    assert ["temperature" in request for request in at.service.requests] == [True, False]


def said(status: int, code: str | None = None, message: str = "no", **headers: str) -> Reply:
    error = {"message": message, "type": "t", "code": code}
    return Reply(status=status, error=error, headers={k.replace("_", "-"): v for k, v in headers.items()})


@pytest.mark.parametrize(
    ("reply", "fault", "calls"),
    [
        (said(401), "auth", 1),
        (said(403), "auth", 1),
        (said(404, "model_not_found"), "not_found", 1),
        (said(400), "bad_request", 1),
        (said(400, "context_length_exceeded"), "context", 1),
        (said(400, None, "This model's maximum context length is 10 tokens; max_tokens"), "context", 1),
        (said(408), "timeout", 3),
        (said(409), "server", 3),
        (said(429), "rate_limit", 3),
        (said(429, "insufficient_quota"), "quota", 1),
        (said(402), "quota", 1),
        (said(429, Retry_After="3600"), "rate_limit", 1),
        (said(500), "server", 3),
        (said(503), "server", 3),
        (Reply(status=502, body="<html>Bad gateway</html>"), "server", 3),
    ],
)
async def test_a_refused_call_costs_nothing(desk: Open, reply: Reply, fault: str, calls: int) -> None:
    at = await desk(reply, reply, reply)
    with pytest.raises(ModelError) as caught:
        await at.ask()
    assert (caught.value.fault, at.service.calls) == (fault, calls)
    row = await at.row()
    assert (row.state, row.input_tokens, row.output_tokens) == ("failed", 0, 0)


async def test_retry_after_is_honoured(desk: Open) -> None:
    at = await desk(said(429, Retry_After="2"), said(503), Reply("one"))
    assert (await at.ask())[0] == "one "
    assert at.waits[0] == 2
    assert 0 < at.waits[1] <= 8


@pytest.mark.parametrize("fault", ["truncate", "drop", "hang", "malformed", "error"])
async def test_a_cut_after_text_is_shown_billed_and_not_retried(desk: Open, fault: str) -> None:
    at = await desk(Reply("one two three", fault=fault, at=2, error={"message": "boom", "code": 500}))
    with pytest.raises(ModelError) as caught:
        await at.ask()
    assert caught.value.fault == "cut"
    assert caught.value.partial is not None
    assert caught.value.partial.text == "one two "
    row = await at.row()
    assert (row.state, row.input_tokens, row.output_tokens) == ("failed", prompt_tokens(PROMPT), 2)
    assert at.service.calls == 1


@pytest.mark.parametrize("fault", ["truncate", "drop", "hang", "malformed"])
async def test_a_cut_before_text_is_retried_and_both_are_billed(desk: Open, fault: str) -> None:
    at = await desk(Reply("one", fault=fault, at=0), Reply("one"))
    assert (await at.ask())[0] == "one "
    row = await at.row()
    assert (row.state, row.input_tokens, row.output_tokens) == (
        "settled",
        prompt_tokens(PROMPT) + WORDS_IN,
        1,
    )


async def test_no_finish_reason_is_a_cut(desk: Open) -> None:
    at = await desk(Reply("one two", finish=None))
    with pytest.raises(ModelError) as caught:
        await at.ask()
    assert caught.value.fault == "cut"
    assert (await at.row()).output_tokens == 2  # the service still said


async def test_a_missing_done_is_no_fault(desk: Open) -> None:
    at = await desk(Reply("one", fault="no_done"))
    assert (await at.ask())[1].finish == "end"


async def test_nothing_is_a_fault_of_its_own_and_billed(desk: Open) -> None:
    at = await desk(Reply("", reasoning=["hm"], finish="length"))
    with pytest.raises(ModelError) as caught:
        await at.ask()
    assert caught.value.fault == "empty"
    assert (await at.row()).output_tokens == 1


async def test_a_page_instead_of_a_stream(desk: Open) -> None:
    page = Reply(body="<html>Log in</html>")
    at = await desk(page, page, page)
    with pytest.raises(ModelError) as caught:
        await at.ask()
    assert caught.value.fault == "server"


async def test_an_endless_answer_is_ended(desk: Open) -> None:
    at = await desk(Reply("word " * 3, endless=True))
    text, completion = await at.ask()
    assert (completion.finish, len(text)) == ("length", 2_000)
    await asyncio.wait_for(at.service.closed.wait(), 5)


async def test_a_stop_closes_the_connection_and_bills_what_came(desk: Open) -> None:
    gate = asyncio.Event()
    at = await desk(Reply("one two three", gates={2: gate}))
    heard = asyncio.Event()

    async def listen() -> None:
        seen = ""
        async with aclosing(at.models.stream(at.run, "answerer", "answer", PROMPT)) as pieces:
            async for piece in pieces:
                seen += str(piece)
                if seen == "one two ":
                    heard.set()

    task = asyncio.create_task(listen())
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    row = await at.row()
    assert (row.state, row.input_tokens, row.output_tokens) == ("stopped", prompt_tokens(PROMPT), 2)
    gate.set()
    await asyncio.wait_for(at.service.closed.wait(), 5)


async def test_nobody_listens_at_the_port(desk: Open) -> None:
    at = await desk()
    await at.service.__aexit__()
    with pytest.raises(ModelError) as caught:
        await at.ask()
    assert caught.value.fault == "connection"
    assert len(at.waits) == 2


async def test_the_key_goes_to_the_service_and_nowhere_else(
    desk: Open, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    at = await desk(Reply("one"), said(400, None, f"bad key {KEY}"), key=KEY)
    await at.ask()
    assert at.service.headers[-1]["Authorization"] == f"Bearer {KEY}"
    with pytest.raises(ModelError) as caught:
        await at.ask(step="again")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    shown = f"{caplog.text} {caught.value!r} {caught.value.values} {at.models.__dict__} {at.config}"
    assert KEY not in shown


async def test_no_key_is_sent_where_none_is_set(desk: Open) -> None:
    at = await desk(Reply("one"))
    await at.ask()
    assert "Authorization" not in at.service.headers[0]


async def test_roles_that_cannot_be_asked_are_named(desk: Open) -> None:
    at = await desk()
    assert at.models.available("answerer")
    assert at.models.describe("answerer") == "here:small"
    assert not at.models.available("chair")
    for role, key in (("chair", "config.role_empty"), ("writer", "config.role_provider")):
        with pytest.raises(Sorry) as caught:
            at.models.stream(at.run, role, "answer", PROMPT)
        assert caught.value.key == key


@pytest.mark.parametrize("locale", LOCALES)
def test_every_fault_has_its_sentence(locale: str) -> None:
    assert all(
        words(locale)(f"model.{fault}", model="m", detail="d") != f"model.{fault} model=m detail=d"
        for fault in get_args(ModelFault)
    )
