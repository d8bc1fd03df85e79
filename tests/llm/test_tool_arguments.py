"""The arguments that a model writes are checked before a tool gets them, and their cost is bounded."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from bot.llm.base import Tool
from bot.llm.tool_arguments import ARGUMENTS_CHARS, ArgumentsError, checked
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES
from tests.llm.course import SEARCH, Course, events_of, results
from tests.llm.table import Seat, Set

(_, TOOL) = Course().tools
DEEP = '{"query": ' + "[" * 5_000 + "]" * 5_000 + "}"
LONG = json.dumps({"query": "x" * 10_000_000})


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"query": "a"}', {"query": "a"}),
        ('{"query": "a", "lesson_number": null, "course_name": null}', {"query": "a"}),
        ('{"query": "a", "lesson_number": 3.0}', {"query": "a", "lesson_number": 3}),
        (' {"query": "\\u00e9\\n\\u0000"} ', {"query": "é\n"}),
        ('{"query": "a", "query": "b"}', {"query": "b"}),
    ],
)
def test_arguments_that_fit_the_schema_are_read(written: str, arguments: dict[str, Any]) -> None:
    found = checked(TOOL, written)
    assert found == arguments
    assert all(not isinstance(value, float) for value in found.values())


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "'query' is a required property"),
        ("{}", "'query' is a required property"),
        ('{"query": null}', "query: None is not of type 'string'"),
        ('{"query": 7}', "query: 7 is not of type 'string'"),
        ('{"query": ["a"]}', "query: ['a'] is not of type 'string'"),
        ('{"query": "a", "lesson_number": "3"}', "lesson_number: '3' is not of type 'integer'"),
        ('{"query": "a", "lesson_number": true}', "lesson_number: True is not of type 'integer'"),
        ('{"query": "a", "lesson_number": -1}', "lesson_number: -1 is less than the minimum of 0"),
        ('{"query": "a", "lesson_number": 3.5}', "lesson_number: 3.5 is not of type 'integer'"),
        ('{"query": "a", "lesson_number": NaN}', "no valid JSON"),
        ('{"query": "a", "lesson_number": 1e999}', "no valid JSON"),
        ('{"query": "a", "lesson_number": ' + "9" * 5_000 + "}", "no valid JSON"),
        ('{"query": "a", "self": 1}', "'self' was unexpected"),
        ('{"query": "a', "no valid JSON"),
        ('{"query": "a"} and more', "no valid JSON"),
        ('["a"]', "no JSON object"),
        ('"a"', "no JSON object"),
        ("null", "no JSON object"),
        (DEEP, "nested too deeply|not of type"),
        (LONG, "longer than 20000 characters"),
    ],
    ids=lambda value: value[:30],
)
def test_arguments_that_do_not_fit_are_refused_in_a_short_sentence(written: str, why: str) -> None:
    with pytest.raises(ArgumentsError, match=why.replace("[", r"\[")) as caught:
        checked(TOOL, written)
    assert len(str(caught.value)) < 300


def test_hostile_arguments_cost_little() -> None:
    began = time.process_time()
    for written in (LONG, DEEP, '{"query": "' + "x" * (ARGUMENTS_CHARS - 20) + '", "z": 1}'):
        with pytest.raises(ArgumentsError):
            checked(TOOL, written)
    assert time.process_time() - began < 1.0


def test_fractional_numbers_are_accepted() -> None:
    schema = {"type": "object", "properties": {"share": {"type": "number"}}}
    assert checked(Tool("t", "", schema), '{"share": 0.25}') == {"share": 0.25}


BAD = ['{"lesson_number": 3}', '{"query": 7}', '{"query": "a', "[1]", '{"query": "a", "self": 1}']


async def test_wrong_arguments_are_reported_to_the_model_which_may_correct_them(seat: Seat) -> None:
    course = Course()
    at = await seat([Reply(calls=[(SEARCH[0], one) for one in BAD]), Reply(calls=[SEARCH]), Reply("Good.")])
    loop = course.loop(at.models, at.run)
    await events_of(loop)
    assert course.asked == [("search", {"query": "Rerankers"})]
    assert (loop.ended, loop.text, loop.calls) == ("answer", "Good. ", len(BAD) + 1)
    told = results(at.services[0].requests[-1])[: len(BAD)]
    assert all(one.startswith("The arguments do not fit: ") for one in told)


@pytest.mark.parametrize("name", ["search_everything", "x" * 60, "_do"])
async def test_a_call_of_an_unknown_tool_is_reported_to_the_model(seat: Seat, name: str) -> None:
    course = Course()
    at = await seat([Reply(calls=[(name, "{}"), SEARCH]), Reply("Good.")])
    loop = course.loop(at.models, at.run)
    events = await events_of(loop)
    assert course.asked == [("search", {"query": "Rerankers"})]
    assert results(at.services[0].requests[-1])[0] == (
        "There is no tool of this name. There are: get_course_outline, search_course_content."
    )
    assert name not in repr(events), "people read of no tool that there is not"


@pytest.mark.parametrize("hostile", [LONG, DEEP], ids=["long", "deep"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_service_that_goes_on_for_ever_is_not_read_to_its_end(
    table: Set, wire: str, hostile: str
) -> None:
    course = Course()
    at = await table([Reply(calls=[(SEARCH[0], hostile)]), Reply("Good.")], wires=(wire,))
    loop = course.loop(at.models, at.run)
    await events_of(loop)
    assert (course.asked, at.calls, loop.ended, loop.text) == ([], [2], "answer", "Good. ")
    assert all(len(call.arguments) < 2 * ARGUMENTS_CHARS for call, _ in loop.tool_results)


async def test_arguments_are_shown_short_and_on_one_line(table: Set) -> None:
    wanted = json.dumps({"query": "a\nb\x00" + "x" * 5_000, "course_name": ["no"], "lesson_number": 3})
    at = await table([Reply(calls=[(SEARCH[0], wanted)]), Reply("Good.")])
    status, *_ = await events_of(Course().loop(at.models, at.run))
    assert not isinstance(status, str)
    assert status.text.startswith("Searching the lessons: a b")
    assert len(status.text) <= 101
    assert "\n" not in status.text
