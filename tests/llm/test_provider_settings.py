"""Settings of a provider or a role reach the service, are left out if it refuses them, and stay secret."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from bot.config import Secrets, load, model_spec
from bot.config.settings import EFFORTS
from bot.events import UserError
from bot.llm.base import ModelError
from tests.fakes.reply import Reply
from tests.llm.desk import provider
from tests.llm.table import Set, Table, good

SECRET = "azure-4711-do-not-show"
WIRES = ("chat", "responses", "messages")


def given(at: Table, base_query: str = "", **settings: Any) -> None:
    """Change the provider's settings, and name the variable of its secret."""
    before = at.config.providers["a"]
    base_url = f"{before.base_url}{base_query}"
    at.change(
        providers={"a": replace(before, base_url=base_url, api_key_env=None, **settings)},
        secrets=Secrets({"AZURE_KEY": SECRET}, {}),
    )


@pytest.mark.parametrize("wire", WIRES)
async def test_headers_query_and_body_go_with_every_request(table: Set, wire: str) -> None:
    at = await table([good(), good()], wires=(wire,), wants=("api-version", "tier"))
    given(
        at,
        "?api-version=2026-10-21",
        headers={"HTTP-Referer": "https://example.org"},
        headers_env={"api-key": "AZURE_KEY"},
        query={"tier": "a b"},
    )
    for step in ("one", "two"):
        await at.ask(step)
    (service,) = at.services
    assert service.queries == [{"api-version": "2026-10-21", "tier": "a b"}] * 2
    for headers in service.headers:
        assert headers["HTTP-Referer"] == "https://example.org"
        assert headers["api-key"] == SECRET
        assert "Authorization" not in headers
    assert SECRET not in repr(at.models._providers)


async def test_a_body_is_merged_into_the_request(table: Set) -> None:
    routing = {
        "provider": {"sort": "price"},
        "transforms": ["middle-out"],
        "safety_settings": [{"category": "X"}],
    }
    at = await table([good()], extra=tuple(routing))
    given(at, body=routing)
    await at.ask()
    assert {name: at.services[0].requests[0][name] for name in routing} == routing
    for wire, unknown in (("responses", "truncation"), ("messages", "service_tier")):
        at = await table([good()], wires=(wire,))
        given(at, body={unknown: "auto"})
        try:
            await at.ask()
        except ModelError as error:
            assert unknown in error.detail  # noqa: PT017  # this fake knows no such parameter, and says so
        assert at.services[0].requests[0][unknown] == "auto"


async def test_a_secret_header_appears_in_no_message_and_no_log(
    table: Set, caplog: pytest.LogCaptureFixture
) -> None:
    refused = Reply(status=401, error={"message": f"Bad api-key {SECRET}.", "type": "x", "code": None})
    at = await table([refused])
    given(at, headers_env={"api-key": "AZURE_KEY"})
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError) as caught:
        await at.ask()
    assert SECRET not in f"{caught.value.values} {caplog.text}"
    given(at, headers_env={"api-key": "NOT_THERE"})
    with pytest.raises(UserError) as missing:
        await at.ask("two")
    assert (missing.value.key, missing.value.values["variable"]) == ("model.key_missing", "NOT_THERE")
    assert at.config.key_missing("a:small") == "NOT_THERE"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_provider_that_may_not_stream_is_called_unstreamed(table: Set, wire: str) -> None:
    at = await table([good(), good()], wires=(wire,), streams=False)
    for step in ("one", "two"):
        text, answer = await at.ask(step)
        assert (text.strip(), answer.finish) == ("It reaches far.", "end")
    asked = [bool(sent.get("stream")) for sent in at.services[0].requests]
    assert asked == [True, False, False], "it is learnt once"
    assert [row.state for row in await at.rows()] == ["settled"] * 2


@pytest.mark.parametrize(
    "sentence",
    [
        '"gemma3" does not support thinking',
        "Thinking level is not supported for this model.",
        "`reasoning_effort` is not supported with this model",
        "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.",
        "Reasoning is not enabled for this endpoint",
    ],
)
async def test_a_refused_effort_is_left_out_from_then_on(table: Set, sentence: str) -> None:
    at = await table([good(), good()], thinks_not=sentence)
    at.change(roles=replace(at.config.roles, answerer=("a:small effort=xhigh",)))
    for step in ("one", "two"):
        await at.ask(step)
    efforts = [sent.get("reasoning_effort") for sent in at.services[0].requests]
    assert efforts == ["xhigh", None, None]


async def test_sampling_settings_reach_a_local_model_and_are_left_out_if_unknown(table: Set) -> None:
    text = 'a:small top_p=0.9 min_p=0.05 repeat_penalty=1.1 stop="###|\\nUser:" logit_bias="50256:-100 198:5"'
    spec = model_spec.parse(text)
    assert model_spec.parse(str(spec)) == spec
    sampling = {
        "top_p": 0.9,
        "min_p": 0.05,
        "repeat_penalty": 1.1,
        "stop": ["###", "\nUser:"],
        "logit_bias": {"50256": -100, "198": 5},
    }
    at = await table([good()], extra=tuple(sampling))
    at.change(roles=replace(at.config.roles, answerer=(text,)))
    await at.ask()
    sent = at.services[0].requests[0]
    assert {name: sent[name] for name in sampling} == sampling
    strict = await table([good(), good()])
    strict.change(roles=replace(strict.config.roles, answerer=(text,)))
    await strict.ask("one")
    await strict.ask("two")
    first, *_, before_last, last = strict.services[0].requests
    assert set(sampling) <= set(first)
    assert not set(sampling) & set(before_last)
    assert before_last == last, "it is learnt once"


def test_the_efforts_are_those_of_the_sdks() -> None:
    import typing

    from anthropic.types import output_config_param
    from openai.types.shared.reasoning_effort import ReasoningEffort

    def words_of(annotation: Any) -> set[str]:
        return {word for literal in get_args(annotation) for word in get_args(literal)}

    assert words_of(ReasoningEffort) == set(get_args(model_spec.Effort))
    known = typing.get_type_hints(output_config_param.OutputConfigParam)["effort"]
    assert words_of(known) == set(EFFORTS["anthropic"])


def test_a_provider_made_without_settings_adds_nothing() -> None:
    from tests.fakes.wires import WIRES as ALL

    made: Any = provider(ALL["chat"], "http://127.0.0.1:9/v1")
    assert (made._headers, made._query, made._body) == ({}, {}, {})


LOCAL = """
[roles]
answerer = {role}
[providers.box]
kind = "openai-compatible"
base_url = "http://127.0.0.1:9/v1"
{more}
"""


@pytest.mark.parametrize(
    ("role", "more", "sentence"),
    [
        ("box:m", "headers = 3", "table of names and texts"),
        ("box:m", '[providers.box.headers]\n"a b" = "c"', "can't be sent as a header"),
        ("box:m", '[providers.box.headers]\nx-a = "caf\u00e9"', "can't be sent as a header"),
        ("box:m", '[providers.box.headers]\napi-key = "c0ffee"', "name as headers_env"),
        ("box:m", '[providers.box.headers]\nAuthorization = "Basic eA=="', "name as headers_env"),
        ("box:m", '[providers.box.headers_env]\napi-key = "sk-12345678"', "name as headers_env"),
        ("box:m", '[providers.box.headers_env]\napi-key = "not a name"', "name of an environment variable"),
        ("box:m", '[providers.box.query]\nkey = "abc"', "name as headers_env"),
        ("box:m", "[providers.box.query]\nv = 3", "table of names and texts"),
        ("box:m", '[providers.box.body]\nmodel = "other"', "Leave it out"),
        ("box:m", "[providers.box.body]\nday = 2026-11-28", "can't hold"),
        ("box:m", '[providers.box.body.provider]\nkey = "sk-12345678"', "name as headers_env"),
        ("box:m", '[providers.box.body]\napi_key = "c0ffee"', "name as headers_env"),
        ("box:m", '[[providers.box.body.upstream]]\nauth-token = "c0ffee"', "name as headers_env"),
        ("box:m", "[providers.box.body]\nmin_p = nan", "can't hold NaN"),
        ("box:m", "[providers.box.body]\nmin_p = [-inf]", "can't hold -Infinity"),
        (
            "box:m",
            '[suggested.anthropic]\nwriter = "m effort=minimal"',
            "Use one of low, medium, high, xhigh, max",
        ),
        ("box:m", '[suggested.openai]\ncouncil = ["m", "m min_p=0.1"]', "openai-compatible"),
        ("anthropic:m effort=minimal", "", "Use one of low, medium, high, xhigh, max"),
        ("openai:m min_p=0.1", "", "openai-compatible"),
        ("box:m top_p=2", "", "from 0 to 1"),
        ("box:m effort=hardest", "", "none, minimal, low"),
        ("box:m logit_bias=cat", "", "token:bias"),
        ("box:m stop=a|b|c|d|e", "", "up to 4 texts"),
    ],
)
def test_unusable_settings_are_refused_at_the_start_in_one_sentence(
    tmp_path: Path, role: str, more: str, sentence: str
) -> None:
    from bot.words import words

    file = tmp_path / "config.toml"
    file.write_text(LOCAL.format(role=f'"{role}"', more=more), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load(file, environ={})
    said = words("en")(caught.value.key, **caught.value.values)
    assert sentence in said
    assert "\n" not in said
    assert f"{file}, line " in said
    words("pt-BR")(caught.value.key, **caught.value.values)


def test_usable_settings_are_read(tmp_path: Path) -> None:
    more = """headers = { "HTTP-Referer" = "https://example.org" }
headers_env = { "api-key" = "AZURE_KEY" }
query = { "api-version" = "2026-10-21" }
[providers.box.body]
transforms = ["middle-out"]
prompt_cache_key = "table"
provider = { sort = "price", allow_fallbacks = false }
"""
    file = tmp_path / "config.toml"
    file.write_text(LOCAL.format(role='"box:m effort=none"', more=more), encoding="utf-8")
    box = load(file, environ={}).providers["box"]
    assert box.headers_env == {"api-key": "AZURE_KEY"}
    assert box.query == {"api-version": "2026-10-21"}
    assert box.body["provider"] == {"sort": "price", "allow_fallbacks": False}
