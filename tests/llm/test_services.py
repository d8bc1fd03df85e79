"""Fifteen services, played on loopback as they are documented: what the bot makes of their errors and odd
answers.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bot.config import Config, ProviderConfig
from bot.llm.base import Image, Message, Meter, ModelError, Prompt
from bot.llm.completion import Completion
from bot.llm.error_report import error_report
from bot.llm.faults import LONGEST_DETAIL, Cooldowns, safe
from bot.llm.registry import provider_of
from bot.llm.service import LONGEST_WAIT_S
from bot.words import LOCALES, words
from tests.fakes.images import png
from tests.fakes.model_service import ModelService
from tests.fakes.reply import Gate, Reply
from tests.fakes.wires import WIRES, kind_of
from tests.llm.desk import PATIENT, SEARCH
from tests.llm.service_cases import CASES, SERVICES, Case, table

Open: TypeAlias = "Callable[[str, Mapping[str, Any]], Awaitable[Here]]"

ASK = Prompt("Be brief.", (Message("user", "How far does a fireball reach?"),), max_tokens=2_000)
MAP = Image("image/png", png(28, 28), 28, 28)
ASKS: dict[str, Prompt] = {
    "": ASK,
    "picture": replace(ASK, messages=(replace(ASK.messages[0], images=(MAP,)),)),
    "effort": replace(ASK, effort="low"),
    "tools": replace(ASK, tools=(SEARCH,)),
}
PAGE = Path(__file__).parents[2] / "docs" / "models.md"
FEET = {
    "type": "object",
    "properties": {"feet": {"type": "integer"}},
    "required": ["feet"],
    "additionalProperties": False,
}


class Here:
    """A provider of this service. Each question goes to another model, about which nothing is known yet."""

    def __init__(self, service: ModelService) -> None:
        self.service = service
        self._waits: list[float] = []
        self._asked = 0
        settings = ProviderConfig("here", kind_of(service), service.base_url)
        config = Config(Path("data"), Path("models"))
        self.provider = provider_of(settings, config, timeouts=PATIENT, sleep=self._wait)

    async def _wait(self, seconds: float) -> None:
        self._waits.append(seconds)

    async def ask(self, prompt: Prompt, *, whole: bool = False) -> Asked:
        self._asked += 1
        self._waits.clear()
        self.service.requests.clear()
        model = f"model-{self._asked}"
        self.service.models = (model,)
        asked = Asked()
        try:
            async with aclosing(self.provider.stream(model, prompt, whole=whole)) as pieces:
                async for piece in pieces:
                    asked.last = piece if isinstance(piece, Completion) else None
        except ModelError as error:
            asked.error = error
        asked.again = bool(self._waits)
        asked.sent = self.service.requests[-1]
        return asked

    async def answer(self, prompt: Prompt, *, whole: bool = False) -> Completion:
        asked = await self.ask(prompt, whole=whole)
        assert asked.last is not None, asked.error
        return asked.last


@dataclass
class Asked:
    """The outcome of a question; `again`: it was retried after a pause. `sent`: the last request."""

    last: Completion | None = None
    error: ModelError | None = None
    again: bool = False
    sent: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    """Opens a service of this wire with these settings."""
    async with AsyncExitStack() as stack:

        async def open(wire: str, settings: Mapping[str, Any]) -> Here:
            here = Here(await stack.enter_async_context(WIRES[wire].service(**settings)))
            stack.push_async_callback(here.provider.close)
            return here

        yield open


def wrong(case: Case, asked: Asked) -> str:
    """The difference from the expected outcome; "" if there is none."""
    error, last = asked.error, asked.last
    if case.comes == "refusal":
        return "" if last is not None and last.finish == "refusal" else f"no refusal: {error or last}"
    if case.comes == "answer":
        if last is None:
            return f"no answer: {error!r} {error.detail if error else ''}"
        if case.asks == "picture" and not last.unseen:
            return "the picture counts as seen"
        learnt = {name: asked.sent.get(name) for name in case.learnt}
        if learnt != case.learnt:
            return f"learnt {learnt}"
        return "" if case.says in last.text else f"said {last.text!r}"
    if error is None:
        return f"answered {last}"
    if error.fault != case.comes:
        return f"{error.fault}: {error.detail}"
    if asked.again is not case.again:
        return f"asked again: {asked.again}"
    if case.wait is not None and abs((error.retry_after_s or 0) - case.wait) > 1:
        return f"waits {error.retry_after_s}"
    for locale in LOCALES:
        said = words(locale)(error.key, **error.values)
        if case.says.replace("`", "") not in said:
            return f"people read {said}"
        if "org_" in said or "proj_9" in said or len(error.detail) > LONGEST_DETAIL:
            return f"too much is said: {said}"
    return ""


async def test_every_unusual_answer_is_handled_as_its_service_documents_it(opened: Open) -> None:
    heres = {wire: await opened(wire, {}) for wire in WIRES}
    wires = {service.name: service.wire for service in SERVICES}
    failed: list[str] = []
    for line, case in enumerate(CASES, 1):
        here = heres[wires[case.service]]
        for whole in case.ways:
            fails = case.comes != "answer"
            here.service.script = [case.reply(times=9)] if fails else [case.reply(), Reply("Far.")]
            if why := wrong(case, await here.ask(ASKS[case.asks], whole=whole)):
                how = "whole" if whole else "streamed"
                failed.append(f"line {line}, {case.service} {case.column} {how}: {why}\n    {case}")
    assert not failed, f"{len(failed)} of {len(CASES)}\n" + "\n".join(failed)


async def test_ordinary_requests_work_with_every_service(opened: Open) -> None:
    """Each of `WORKING` is tried."""
    for service in SERVICES:
        here = await opened(service.wire, service.settings)
        fake, name = here.service, service.name
        for whole in (True, False):
            fake.script = [Reply("Far enough.", reasoning=["hm", "hm"])]
            answer = await here.answer(ASK, whole=whole)
            assert (answer.text, answer.finish) == ("Far enough. ", "end"), name
            assert answer.usage.output_tokens > 0, name
            # OpenAI's summaries come where they are asked for, and Gemini's thoughts not at all.
            silent = service.wire == "responses" or service.settings.get("dialect") == "gemini"
            assert answer.reasoning == ("" if silent else "hmhm"), name
        fake.script = [Reply(calls=[("search", '{"query": "fire"}')])]
        (call,) = (await here.answer(ASKS["tools"])).calls
        assert (call.name, json.loads(call.arguments)) == ("search", {"query": "fire"}), name
        fake.script = [Reply('{"feet": 150}')]
        assert json.loads((await here.answer(replace(ASK, schema=FEET))).text) == {"feet": 150}, name
        fake.script = [Reply("A ford.")]
        assert (await here.answer(ASKS["picture"])).unseen is not fake.sees, name
        gate, meter = Gate(), Meter()
        fake.script = [Reply("one two", gates={1: gate})]
        async with aclosing(here.provider.stream(fake.models[0], ASK, meter)) as pieces:
            assert await anext(pieces) == "one ", name
            await gate.reached.wait()
        await fake.closed.wait()
        assert meter.usage.output_tokens == 1, name
        gate.set()


async def test_a_kept_alive_connection_does_not_cut_off_an_answer(opened: Open) -> None:
    idle = "data:\n\ndata: \n\nevent: ping\n\nid: 7\n\n: ping\n\nretry: 3000\n\n\n\n"
    for wire in WIRES:
        here = await opened(wire, {})
        here.service.script = [
            Reply("one two three", idle=idle),
            Reply("one", idle=idle.replace("\n", "\r\n")),
        ]
        assert [(await here.answer(ASK)).text for _ in range(2)] == ["one two three ", "one "], wire


def test_the_page_has_the_table_of_services() -> None:
    """`python -m tests.llm.service_cases` prints it."""
    assert table() in PAGE.read_text(encoding="utf-8")
    named = {case.service for case in CASES}
    assert named == {service.name for service in SERVICES}


def test_service_messages_are_shown_without_secrets_pings_or_markup() -> None:
    said: dict[str, str] = {
        "Incorrect key sk-proj-abcdef or AIzaSyA1234567890123": "Incorrect key *** or ***",
        "@everyone see <@123> and <!channel>, ask a@b.org": "everyone see and , ask a@b.org",
        "**No** `max_tokens` > 8, _really_ [here](https://x.org/y)": "No max_tokens > 8, really here (https://x.org/y)",
        "<h1>502</h1>\n||spoiler|| # heading": "502 spoiler # heading",
        "in organization `org_01kgg5588eftc8k70aes4864eb`": "in organization …",
    }
    for raw, clean in said.items():
        assert safe(raw, None) == clean
    long = safe("word " * 200, None)
    assert (len(long) <= LONGEST_DETAIL, long.endswith(" word…")) == (True, True)
    assert safe("the key is secret-1 here", "secret-1") == "the key is *** here"


def test_a_prompt_repeated_in_an_error_does_not_decide_its_kind() -> None:
    prompt = "the prompt was flagged, exceeds the context window, and has insufficient credits"
    wrong = {
        "type": "missing",
        "loc": ["body", "widget"],
        "msg": "Field required",
        "input": {"messages": prompt},
    }
    report = error_report(422, {"detail": [wrong]})
    assert (report.fault, report.message) == ("bad_request", "body.widget: Field required")
    report = error_report(400, {"error": {"message": f"bad template, messages = [{prompt}]", "code": 400}})
    assert report.fault == "bad_request"


def test_a_hostile_error_is_read_quickly() -> None:
    began = time.process_time()
    for text in (
        f"wait{' ' * 300_000}",
        "maximum context length is 1 tokens " * 9_000,
        '{"error": ' * 30_000,
        "[" * 300_000,
        "try again in " + "1s " * 90_000,
        "model " * 50_000,
        "<a" * 150_000 + "[" * 50_000 + "@" * 50_000,
    ):
        for body in (text, {"error": {"message": text, "metadata": {"raw": text}}}, {"detail": [text]}):
            report = error_report(400, body, {"x-ratelimit-reset-tokens": text})
            assert report.fault
            assert report.most_output(100) is None
            assert len(safe(text, None)) <= LONGEST_DETAIL
    assert time.process_time() - began < 10


def test_a_model_is_paused_for_as_long_as_its_service_asked() -> None:
    now: list[float] = [0.0]
    cooldowns = Cooldowns(lambda: now[0])
    cooldowns.start("a:b", ModelError("rate_limit", "a:b", retry_after_s=34.0))
    cooldowns.start("c:d", ModelError("permission", "c:d"))
    for at, resting in ((33.0, {"a:b", "c:d"}), (35.0, {"c:d"}), (301.0, set[str]())):
        now[0] = at
        assert set(cooldowns.active(["a:b", "c:d"])) == resting
    assert LONGEST_WAIT_S < 34
