"""Several learners at one desk, and their answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.events import Author, Choices, Event, OptionValue, Place, Request
from storage.quizzes import Quizzes
from tests.fakes.chat_completions import ChatService
from tests.fakes.reply import Reply
from tests.works.course.desk import Desk, course, opened, words_of

ANA, BIA = Author("ana", "Ana"), Author("bia", "Bia")


class Learners:
    """Several people at one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.quiz = ""
        self._runs = 0

    async def do(
        self,
        verb: str,
        text: str = "",
        author: Author = ANA,
        *,
        work: str = "course",
        answers: str = "",
        space: str = "local",
        **options: OptionValue,
    ) -> list[Event]:
        self._runs += 1
        id = f"{self._runs * 0x5B2C1D:032x}"
        place = Place("terminal", space, "c", "t")
        request = Request(id, place, author, work, verb, options, text, answers=answers)
        await self.desk.app.perform(request)
        await self.desk.app.ended(id)
        self.quiz = id if verb == "quiz" else self.quiz
        return self.desk.recorder.events[id]

    async def said(self, verb: str, text: str = "", author: Author = ANA, **options: Any) -> str:
        return words_of(await self.do(verb, text, author, **options))

    async def letter(self, n: int, *, right: bool = True) -> str:
        """The button for an answer to question `n` of the last quiz."""
        question = (await Quizzes(self.desk.app.resources.records.database).questions("local", self.quiz))[
            n - 1
        ]
        return "ABCD"[question.answer if right else (question.answer + 1) % 4]

    async def press(self, n: int, author: Author = ANA, *, right: bool = True) -> str:
        return await self.said(
            "answer", f"{n} {await self.letter(n, right=right)}", author, answers=self.quiz
        )


@asynccontextmanager
async def learning(
    folder: Path, script: list[Reply] | None = None, *courses: str
) -> AsyncIterator[tuple[Learners, ChatService]]:
    async with ChatService(script or []) as service:
        answerer = '"a:small"' if script else "[]"
        settings = (
            f'[providers.a]\nkind = "openai-compatible"\nbase_url = "{service.base_url}"\n'
            f"[roles]\nanswerer = {answerer}\n"
        )
        async with opened(folder, settings) as desk:
            await desk.add(*(courses or (course("keeping_bees.txt"),)))
            yield Learners(desk), service


def choices(events: list[Event]) -> list[Choices]:
    return [event for event in events if isinstance(event, Choices)]
