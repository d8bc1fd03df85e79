"""A council's calls share one long beginning, which is marked for the cache; each call's own task follows."""

from __future__ import annotations

from typing import Any

import pytest

from bot.llm.base import Message, Prompt
from tests.fakes.reply import Reply
from tests.llm.desk import Open

BOOK = " ".join(f"word{n}" for n in range(1_500))
TASKS = ("Answer it.", "Judge the answers.")


def asked(task: str, book: str = BOOK) -> Prompt:
    turns = (Message("user", book, cache=True), Message("assistant", "Read."), Message("user", task))
    return Prompt("You sit in a council.", turns, max_tokens=50)


def said(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


async def test_the_three_turns_are_sent_unchanged(desk: Open) -> None:
    at = await desk(Reply("one", times=2))
    for task in TASKS:
        await at.ask(asked(task), step=task)
    for task, sent in zip(TASKS, at.service.requests, strict=True):
        turns = [(turn["role"], said(turn["content"])) for turn in sent.get("messages") or sent["input"]]
        assert [turn for turn in turns if turn[0] != "system"] == [
            ("user", BOOK),
            ("assistant", "Read."),
            ("user", task),
        ]


on = pytest.mark.parametrize


@on("wire", ["responses", "messages"], indirect=True)
async def test_the_second_task_reads_the_beginning_from_the_cache(desk: Open) -> None:
    at = await desk(Reply("one", times=2))
    first, second = [(await at.ask(asked(task), step=task))[1].usage for task in TASKS]
    assert first.cache_read_tokens == 0
    assert first.cache_write_tokens >= 1_024
    assert second.cache_read_tokens >= 1_024


@on("wire", ["messages"], indirect=True)
async def test_only_the_beginning_is_marked(desk: Open) -> None:
    at = await desk(Reply("one"))
    await at.ask(asked(TASKS[0]))
    sent = at.service.requests[0]
    marked = ["cache_control" in block for turn in sent["messages"] for block in turn["content"]]
    assert marked == [True, False, False]
    assert "cache_control" not in sent["system"][0]


@on("wire", ["responses"], indirect=True)
async def test_the_cache_key_depends_only_on_the_shared_beginning(desk: Open) -> None:
    at = await desk(Reply("one", times=3))
    for step, prompt in enumerate([*map(asked, TASKS), asked(TASKS[0], book=f"{BOOK} more")]):
        await at.ask(prompt, step=str(step))
    keys = [sent["prompt_cache_key"] for sent in at.service.requests]
    assert keys[0] == keys[1] != keys[2]


@on("wire", ["chat"], indirect=True)
async def test_chat_completions_get_no_cache_mark(desk: Open) -> None:
    at = await desk(Reply("one"))
    await at.ask(asked(TASKS[0]))
    assert set(at.service.requests[0]) == {"model", "messages", "max_tokens", "stream", "stream_options"}
    assert all(set(turn) == {"role", "content"} for turn in at.service.requests[0]["messages"])
