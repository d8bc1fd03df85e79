"""The fake refuses what the real service refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.chat_completions import ChatService

GOOD: dict[str, Any] = {"model": "small", "messages": [{"role": "user", "content": "hi"}], "stream": True}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, None),
        ({"top_secret": 1}, 400),
        ({"model": 3}, 400),
        ({"model": "other"}, 404),
        ({"messages": []}, 400),
        ({"messages": [{"role": "wizard", "content": "hi"}]}, 400),
        ({"messages": [{"role": "user", "content": None}]}, 400),
        ({"messages": [{"role": "user"}]}, 400),
        ({"max_tokens": 5, "max_completion_tokens": 5}, 400),
        ({"max_tokens": True}, 400),
        ({"max_tokens": 0}, 400),
        ({"temperature": 2.5}, 400),
        ({"stream": False}, 400),
        ({"stream": False, "stream_options": {"include_usage": True}}, 400),
        ({"stream_options": {"usage": True}}, 400),
    ],
)
def test_a_refusal(change: dict[str, Any], status: int | None) -> None:
    refused = ChatService().refusal(GOOD | change, None)
    assert (refused[0] if refused else None) == status


@pytest.mark.parametrize("name", ["model", "messages"])
def test_a_missing_parameter(name: str) -> None:
    refused = ChatService().refusal({k: v for k, v in GOOD.items() if k != name}, None)
    assert refused is not None
    assert refused[2] == name


@pytest.mark.parametrize("sent", [None, "Bearer wrong"])
def test_a_key_that_is_required(sent: str | None) -> None:
    refused = ChatService(key="right").refusal(GOOD, sent)
    assert refused is not None
    assert refused[0] == 401
    assert ChatService(key="right").refusal(GOOD, "Bearer right") is None


@pytest.mark.parametrize(
    ("service", "change"),
    [
        (ChatService(limit=("max_tokens",)), {"max_completion_tokens": 5}),
        (ChatService(temperature=False), {"temperature": 1}),
        (ChatService(stream_options="refused"), {"stream_options": {"include_usage": True}}),
    ],
)
def test_a_model_with_manners_of_its_own(service: ChatService, change: dict[str, Any]) -> None:
    assert service.refusal(GOOD | change, None) is not None
