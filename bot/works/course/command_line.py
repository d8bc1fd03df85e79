"""`eval course` of the command line: measures how well the search tool finds the passages of a file of questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bot.llm.tool_arguments import checked
from bot.resources import Resources
from bot.retrieval.evaluate import Passage, Question, SearchOutcome, evaluate, read_questions
from bot.words import words
from bot.works.course.catalogue import Catalogues
from bot.works.course.course_names import CourseNames
from bot.works.course.tools import GUESS, SEARCH, CourseTools

if TYPE_CHECKING:
    from bot.config import Config
    from bot.llm.base import Tool
    from bot.retrieval.evaluate import Report

FILTERS = {"course": "course_name", "lesson": "lesson_number"}
"""The fields of a question that limit its search, with the tool's argument for each."""


async def evaluate_courses(
    config: Config, space: str, file: Path, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Call the tool with each question of the file, as a model would, reporting to `progress`.

    Raises UserError ("eval.…") for a file that cannot be read.
    """
    questions = await asyncio.to_thread(read_questions, file)
    resources = await Resources.open(config)
    try:
        tools = CourseTools(
            resources.library,
            await Catalogues(resources.outlines, resources.shelves).of(space),
            CourseNames(resources.embedding),
            space,
        )
        search = next(tool for tool in tools.offered(words("en")) if tool.name == SEARCH)
        count = 0

        async def search_once(question: Question) -> SearchOutcome:
            nonlocal count
            count += 1
            if progress is not None:
                progress(count, len(questions))
            return await search_outcome(search, question)

        return await evaluate(questions, search_once)
    finally:
        await resources.close()


async def search_outcome(search: Tool, question: Question) -> SearchOutcome:
    """The tool's result for a question."""
    assert search.call is not None
    filters = {FILTERS[name]: value for name, value in question.more.items() if name in FILTERS}
    arguments = checked(search, json.dumps({"query": question.query, **filters}))
    output = await search.call(**arguments)
    passages = [Passage(passage.source, passage.text) for passage in output.passages]
    return SearchOutcome(passages, CourseTools.sure(output), doubtful=output.text == GUESS)
