"""Ideas that are stored with a script: keeps those of a brainstorm, lists them, and drops them.

Everybody who may read the script can see them. They are deleted with the script, with their asker's data, or with the
question.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from functools import partial
from typing import Final

from bot.events import Attachment, Choice, Choices, Event, Notice, Request, Stage, Text, UserError
from bot.markdown import harmless
from bot.words import Words, words
from bot.work import Run
from bot.works.script.catalogue import Catalogue, reader
from storage.scripts import IdeaRow, ScriptRow

MOST_KEPT: Final = 10
"""The maximum number of stored ideas from one answer."""
IDEA_CHARS: Final = 2_000
LISTED: Final = 40
"""The maximum number of ideas in a message; a longer list comes as a file as well."""
DROP_BUTTONS: Final = 5
"""How many of the newest ideas get a button that drops them."""
_ITEM: Final = re.compile(r"^\s{0,3}(?:\*\*)?(?:\d{1,2}[.)]|[-*•])(?:\*\*)?\s+", re.MULTILINE)
_NUMBERED: Final = re.compile(r"^\s{0,3}(?:\*\*)?\d{1,2}[.)]", re.MULTILINE)


def in_answer(text: str) -> list[str]:
    """The ideas in an answer: its numbered items, or else those with bullets; an answer without a list is one idea.

    An item ends at the next one, or at an empty line before a paragraph that does not belong to it.
    """
    item = (
        re.compile(f"{_NUMBERED.pattern}(?:\\*\\*)?\\s+", re.MULTILINE) if _NUMBERED.search(text) else _ITEM
    )
    starts = list(item.finditer(text))
    if not starts:
        return [answer] if (answer := _one_line(text)) else []
    ideas = []
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        body = text[start.end() : after.start() if after else len(text)]
        ideas.append(_one_line(re.split(r"\n\s*\n(?=\S)", body, maxsplit=1)[0]))
    return [idea for idea in ideas if idea][:MOST_KEPT]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:IDEA_CHARS]


class Ideas:
    """The verbs "ideas" and "drop"; `keep` stores a brainstorm's ideas."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def keep(self, run: Run, row: ScriptRow, answer: str, say: Words) -> AsyncGenerator[Event, None]:
        """Store the answer's ideas with the script, once."""
        keep = partial(
            self._catalogue.rows.keep_ideas, reader(run.request), row.id, run.id, in_answer(answer)
        )
        numbers = await run.step("keep-ideas", keep, list[int])
        if numbers:
            number_range = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
            yield Notice(
                say("script.ideas_kept", n=len(numbers), numbers=number_range, title=harmless(row.title))
            )

    async def listing(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        asker = reader(request)
        row = await self._catalogue.resolve(asker, request.text)
        ideas = await self._catalogue.rows.ideas(asker, row.id)
        yield Stage("ideas", say("script.ideas_of", title=harmless(row.title), n=len(ideas)))
        if not ideas:
            yield Text(say("script.no_ideas"))
            return
        lines = [f"- **{idea.number}** · {harmless(idea.text)}" for idea in ideas]
        yield Text("\n".join(lines[-LISTED:]))
        if len(lines) > LISTED:
            yield Text("\n" + say("script.more_ideas", n=len(lines) - LISTED))
            yield Attachment("ideas.md", "text/markdown", "\n".join(lines).encode())
        droppable = [idea for idea in ideas if _may_drop(request, row, idea)][-DROP_BUTTONS:]
        if droppable:
            yield Choices("", tuple(
                Choice(say("script.drop_idea", number=idea.number), f"/script drop {idea.id} --script {row.alias}")
                for idea in droppable
            ))  # fmt: skip

    async def drop(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)

        asker = reader(request)

        # The choice comes first and is stored: after a crash the idea no longer exists.
        async def find_idea() -> tuple[str, int]:
            row = await self._catalogue.resolve(asker, str(request.options.get("script") or ""))
            typed = request.text.strip().strip("#.")
            ideas = await self._catalogue.rows.ideas(asker, row.id)
            idea = next((idea for idea in ideas if typed in (str(idea.number), idea.id)), None)
            if idea is None:
                raise UserError("script.no_idea", number=request.text.strip()[:20], title=row.title)
            if not _may_drop(request, row, idea):
                raise UserError("script.not_your_idea", number=idea.number)
            return idea.id, idea.number

        async def drop_idea() -> bool:
            await self._catalogue.rows.drop_idea(asker.space, idea)
            return True

        idea, number = await run.step("idea", find_idea, tuple[str, int])
        await run.step("drop", drop_idea, bool)
        yield Stage("drop", "")
        yield Text(say("script.idea_dropped", number=number))


def _may_drop(request: Request, row: ScriptRow, idea: IdeaRow) -> bool:
    """Whether the person may drop the idea: as its owner, as the script's owner, or as an admin if the whole space may
    read the script.
    """
    admin = request.author.admin and row.visibility == "space"
    return admin or request.author.id in (idea.author_id, row.author_id)
