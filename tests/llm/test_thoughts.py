"""Thoughts that a model writes into its answer's text are cut out, counted, and stored beside the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from bot.budget import text_tokens
from bot.llm.answer import REASONING_CHARS
from bot.llm.thoughts import LONGEST_GAP, Thoughts
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES, Wire
from tests.llm.desk import QUICK, WITH_TOOLS, Open, both

UNOPENED = ["Hm", ".\n", "</think>", "\n\n", "Far."]
on = pytest.mark.parametrize


@pytest.fixture
def wire() -> Wire:
    return WIRES["chat"]


def parted(pieces: list[str], *, how: str = "end", expected: bool = False) -> tuple[str, str, bool | None]:
    """(the text, the thoughts, whether the opening tag was missing)."""
    thoughts = Thoughts(expected=expected)
    fed = [thoughts.feed(piece) for piece in pieces]
    fed.append(thoughts.finish(how))
    text, thought = ("".join(parts) for parts in zip(*fed, strict=True))
    return text, thought.removeprefix(thoughts.taken_back).strip(), thoughts.unopened


# However it comes

OPENED = {
    "<think>\nHm.\n</think>\n\nThe pass.": ("The pass.", "Hm."),
    "\n <Thinking>Hm.</THINKING>The pass.": ("The pass.", "Hm."),
    "<think>\n\n</think>\n\nThe pass.": ("The pass.", ""),
    "<think>a < b </thin, c</think>The pass.": ("The pass.", "a < b </thin, c"),
    "<think>a</think>b<think>c</think>": ("b<think>c</think>", "a"),
    "<think>a</think>\n<think>b</think>\nc": ("c", "a\nb"),
    "<think>İİİ</think>The pass.": ("The pass.", "İİİ"),
    "<think>Hm. And then </th": ("", "Hm. And then </th"),
    "<think>Hm.</think>\n\n": ("", "Hm."),
}
PLAIN = (
    "The pass.",
    "  The pass.",
    "",
    "\n\n",
    " " * (LONGEST_GAP + 1) + "<think>a</think>",
    "<thi",
    "<thing>x</thing>",
    "< think>x</think>",
    "Write <think>x</think> in front.",
    "`<think>` opens, and\n</think>\ncloses.",
    "```\n<think>\nx\n</think>\n```",
    "```\nx\n</think>\n```\nThat is how it ends.",
    "The tag </think> closes it. Or `</think>`.",
    '{"a": "It ends.</think>So"}',
)


def ways(text: str) -> Iterator[list[str]]:
    """Every way in which it may arrive: letter by letter, in two pieces, in one."""
    yield list(text)
    yield from ([text[:at], text[at:]] for at in range(len(text) + 1))


@on("text", OPENED)
def test_thoughts_at_the_beginning_of_a_text_are_separated_from_it(text: str) -> None:
    assert {parted(pieces) for pieces in ways(text)} == {(*OPENED[text], None)}


@on("text", PLAIN)
def test_text_that_only_looks_like_thoughts_is_shown(text: str) -> None:
    assert {parted(pieces) for pieces in ways(text)} == {(text, "", None)}


@on(
    ("text", "how", "wanted"),
    [
        ("Hm.\n</think>\n\nFar.", "end", ("Far.", "Hm.", True)),
        ("</think>Far.", "end", ("Far.", "", True)),
        ("<think>Hm.</think>Far.", "end", ("Far.", "Hm.", None)),
        ("Hm. And th", "length", ("", "Hm. And th", None)),
        ("Hm. And th", "refusal", ("", "Hm. And th", None)),
        (" Far, and </th", "end", (" Far, and </th", "", False)),
        ("Let me look.", "tool", ("Let me look.", "", None)),
        ('{"a": "x </think> y"}', "end", ('{"a": "x </think> y"}', "", None)),
    ],
)
def test_a_model_known_for_it_is_assumed_to_start_inside_its_thoughts(
    text: str, how: str, wanted: tuple[str, str, bool | None]
) -> None:
    assert {parted(pieces, how=how, expected=True) for pieces in ways(text)} == {wanted}


def test_only_a_possible_tag_is_held_back() -> None:
    thoughts = Thoughts()
    fed = [thoughts.feed(piece)[0] for piece in ("\n", "<", "b>", "B", "<", "think>")]
    assert fed == ["", "", "\n<b>", "B", "<", "think>"]


# From a service


@both
async def test_thoughts_are_never_shown_and_are_kept_beside_the_answer(desk: Open, whole: bool) -> None:
    at = await desk(Reply(pieces=["<thi", "nk>", "\nHm.", "\n</thi", "nk>", "\n\n", "Far."]))
    texts, completion = await at.ask(whole=whole)
    assert "".join(texts) == completion.text == "Far."
    assert (completion.reasoning, completion.finish) == ("Hm.", "end")


@both
async def test_a_tag_after_the_thoughts_is_shown(desk: Open, whole: bool) -> None:
    text = "They end so.\n</think>\nNothing else."
    at = await desk(Reply(pieces=["<think>", "Hm.", "</think>", text]))
    texts, completion = await at.ask(whole=whole)
    assert "".join(texts) == completion.text == text


async def test_thoughts_are_counted_if_the_service_does_not_count_them(desk: Open) -> None:
    thought = "First the bow, then the arrow."
    at = await desk(Reply(pieces=["<think>", thought, "</think>", "Far."], usage="none"))
    assert (await at.ask())[1].usage.output_tokens == text_tokens(thought + "Far.")


async def test_thoughts_count_while_they_arrive(desk: Open) -> None:
    gate = asyncio.Event()
    at = await desk(Reply(pieces=["<think>", "0123" * 10, "</think>", "Far.", " Out"], gates={4: gate}))
    async with aclosing(at.pieces()) as pieces:
        assert await anext(pieces) == "Far."
    gate.set()
    assert (await at.paid())[:3:2] == ("stopped", text_tokens("0123" * 10 + "Far."))


@both
@on(("finish", "detail"), [("end", "end"), ("length", "length")])
async def test_an_answer_that_is_only_thoughts_is_empty(
    desk: Open, whole: bool, finish: str, detail: str
) -> None:
    at = await desk(Reply(pieces=["<think>", "Hm."], finish=finish))
    error = await at.fail(whole=whole)
    assert (error.fault, error.detail) == ("empty", detail)
    assert error.partial is not None
    assert (error.partial.text, error.partial.reasoning) == ("", "Hm.")


async def test_endless_thoughts_are_cut_off_and_stored_in_part(desk: Open) -> None:
    at = await desk(Reply(pieces=["<think>", "0123456789" * 400], endless=True))
    error = await at.fail()
    assert (error.fault, error.detail) == ("empty", "length")
    assert error.partial is not None
    assert 0 < len(error.partial.reasoning) <= REASONING_CHARS


async def test_an_answer_cut_off_in_its_thoughts_is_requested_again(desk: Open) -> None:
    again = Reply(pieces=["<think>", "So.", "</think>", "Far."])
    at = await desk(Reply(pieces=["<think>", "Hm.", "</th"], fault="drop"), again, timeouts=QUICK)
    texts, completion = await at.ask()
    assert (texts, completion.text, completion.reasoning) == (["Far."], "Far.", "So.")


async def test_a_tool_may_be_called_after_thoughts(desk: Open) -> None:
    calls: list[tuple[str, str | list[str]]] = [("search", '{"query": "fire"}')]
    at = await desk(Reply(pieces=["<think>", "Hm.", "</think>", "\n\n"], calls=calls))
    _, completion = await at.ask(WITH_TOOLS)
    assert (completion.text, completion.finish, completion.reasoning) == ("", "tool", "Hm.")


@both
async def test_thoughts_in_both_places_are_stored_once(desk: Open, whole: bool) -> None:
    at = await desk(Reply(pieces=["<think>", "Hm.", "</think>", "Far."], reasoning=["Hm."]))
    _, completion = await at.ask(whole=whole)
    assert (completion.text, completion.reasoning) == ("Far.", "Hm.")


# Thoughts that only close: the server's template has opened them


async def test_thoughts_in_an_unstreamed_answer_are_recognised_at_once(desk: Open) -> None:
    at = await desk(Reply(pieces=UNOPENED))
    texts, completion = await at.ask(whole=True)
    assert ("".join(texts), completion.text, completion.reasoning) == ("Far.", "Far.", "Hm.")


async def test_after_the_first_thoughts_the_next_answers_are_held_back_until_theirs_close(desk: Open) -> None:
    at = await desk(Reply(pieces=UNOPENED, times=3))
    texts, completion = await at.ask()
    assert "".join(texts).startswith("Hm."), "nobody could know"
    assert (completion.text, completion.reasoning) == ("Far.", "Hm.")
    for step in ("second", "third"):
        texts, completion = await at.ask(step=step)
        assert (texts, completion.text, completion.reasoning) == (["Far."], "Far.", "Hm.")


async def test_an_answer_without_thoughts_is_shown_at_its_end_and_the_next_one_streams_again(
    desk: Open,
) -> None:
    plain = Reply(pieces=["It reaches", " far."], usage="none", times=2)
    at = await desk(Reply(pieces=UNOPENED), plain)
    await at.ask()
    texts, completion = await at.ask(step="held")
    assert (texts, completion.text, completion.reasoning) == (["It reaches far."], "It reaches far.", "")
    assert completion.usage.output_tokens == text_tokens("It reaches far.")
    assert (await at.ask(step="streamed"))[0] == ["It reaches", " far."]


async def test_a_model_that_reaches_the_limit_in_its_thoughts_has_not_answered(desk: Open) -> None:
    at = await desk(Reply(pieces=UNOPENED), Reply(pieces=["Hm", "."], finish="length"))
    await at.ask()
    error = await at.fail(step="cut")
    assert (error.fault, error.detail) == ("empty", "length")


async def test_a_model_known_for_it_may_refuse(desk: Open) -> None:
    at = await desk(Reply(pieces=UNOPENED), Reply(refusal="I will not."))
    await at.ask()
    texts, completion = await at.ask(step="refused")
    assert (texts, completion.text, completion.finish) == (["I will not."], "I will not.", "refusal")


async def test_nothing_is_held_back_if_the_server_separates_thoughts(desk: Open) -> None:
    apart = Reply(pieces=["It reaches", " far."], reasoning=["Hm."])
    at = await desk(Reply(pieces=UNOPENED), apart, Reply(pieces=["It reaches", " far."]))
    await at.ask()
    for step in ("apart", "without"):
        assert (await at.ask(step=step))[0] == ["It reaches", " far."]
