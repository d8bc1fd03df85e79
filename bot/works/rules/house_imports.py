"""Imports house rules from a file or from pinned messages: shows them first, and stores them after a press."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot.events import Choice, Choices, Event, Stage, Text, UserError
from bot.platforms import ThreadMessage
from bot.readers.decode import decode
from bot.words import Words, words
from bot.work import Run
from bot.works.rules.house_rules import FILE_BYTES, ITEM, KINDS, RULE_CHARS, Rule
from bot.works.rules.question_files import brought_by

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.platforms import Platform
    from bot.works.rules.house_rules import HouseRules
    from storage.buttons import Offers

OFFERED: Final = "house rules"
"""The kind of the storage's offers that hold imported rules until they are stored."""
SOURCES: Final = 5
"""How many pinned messages get their own button; the newest."""
HIGHEST: Final = 9_999
"""The highest number that a list can give a rule."""
_PARAGRAPH = re.compile(r"\n\s*\n")
_NUMBER = re.compile(r"^\s*(\d{1,4})[.)]")


@dataclass(frozen=True, slots=True)
class Found:
    """A rule as it was read, with its number in a numbered list, or None."""

    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file or a message, by its name for people, and the rules in it."""

    name: str
    found: list[Found]


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be stored, and how many rules are left out: existing ones, and those that are too long. `moved`:
    another rule has their number.
    """

    new: list[Found]
    known: int
    long: int
    moved: int


class HouseImports:
    """Answers `rules house` with a file or with pins, and handles the press that stores what was shown."""

    def __init__(
        self, house: HouseRules, incoming: Incoming, offers: Offers, platforms: Mapping[str, Platform]
    ) -> None:
        self._house = house
        self._incoming = incoming
        self._offers = offers
        self._platforms = platforms

    async def preview(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show the rules that were read, with a button that stores them. Raises UserError if there are none."""
        request, say = run.request, words(run.request.locale)
        space, asker = request.place.space, request.author.id
        sources = await (self._pinned(run) if request.options.get("pins") else self._filed(run))
        rows = await run.step("rows", lambda: self._house.rows(space), list[Rule])
        plan = planned(rows, [found for source in sources for found in source.found])
        yield Stage("house", say("rules.house"))
        lines = list[str]()
        for source in sources:
            lines += [f"**{source.name}**", *map(_line, source.found), ""]
        yield Text("\n".join([*lines, *_outcome(plan, say)]).strip())
        if not plan.new:
            return
        items = [json.dumps([[found.number, found.text] for found in source.found]) for source in sources]

        async def offered() -> bool:
            await self._offers.keep(space, run.id, OFFERED, items, author_id=asker)
            return True

        await run.step("offer", offered, bool)
        choices = [Choice(say("rules.house_keep", n=len(plan.new)), "/rules adopt all")]
        if len(sources) > 1:
            each = [(n, planned(rows, source.found)) for n, source in enumerate(sources)]
            choices += [
                Choice(say("rules.house_keep_of", name=sources[n].name[:40]), f"/rules adopt {n}")
                for n, part in each
                if part.new
            ][:SOURCES]
        yield Choices(say("rules.house_nothing_kept"), tuple(choices), only=asker)

    async def adopt(self, run: Run) -> AsyncGenerator[Event, None]:
        """Store the rules that the answered run has shown: all, or those of one source by its index. Raises
        UserError.
        """
        request, say = run.request, words(run.request.locale)
        space, which = request.place.space, request.text.strip()

        async def kept() -> list[list[int]]:
            items = await self._offers.all(space, request.answers, OFFERED)
            chosen = items if which == "all" else items[int(which) :][:1] if which.isdecimal() else []
            if not chosen:
                raise UserError("edge.gone")
            found = [Found(number, text) for item in chosen for number, text in json.loads(item)]
            plan = planned(await self._house.rows(space), found)
            rules = [(each.number, each.text) for each in plan.new]
            return [await self._house.add_numbered(space, request.author.id, rules), [plan.known, plan.long]]

        numbers, (known, long) = await run.step("adopt", kept, list[list[int]])
        yield Stage("house", say("rules.house"))
        if numbers:
            yield Text(
                say("rules.house_added", n=len(numbers), numbers=", ".join(map(str, numbers))) + "\n\n"
            )
        yield Text("\n".join(_outcome(Plan([], known, long, 0), say, kept=bool(numbers))))

    async def _filed(self, run: Run) -> list[Source]:
        brought, refused = await self._incoming.bring(run, KINDS, FILE_BYTES, files=brought_by(run.request))
        if refused:
            raise refused[0].error
        sources = []
        for file in brought:
            data = await self._incoming.read(file.path, FILE_BYTES)
            sources.append(Source(file.name, rules_of(await asyncio.to_thread(decode, file.name, data))))
        return _filled(sources)

    async def _pinned(self, run: Run) -> list[Source]:
        request = run.request
        platform = self._platforms.get(request.place.platform)
        if platform is None or (read := platform.read_pins) is None:
            raise UserError("rules.house_no_pins_here")
        pinned = await run.step("pins", lambda: read(request), list[ThreadMessage])
        return _filled([Source(f"{each.name}, {each.at:%Y-%m-%d}", rules_of(each.text)) for each in pinned])


def _filled(sources: Sequence[Source]) -> list[Source]:
    if not (filled := [source for source in sources if source.found]):
        raise UserError("rules.house_none_read")
    return filled


def rules_of(text: str) -> list[Found]:
    """The rules of a text, one for each item of its lists, or else for each paragraph; headings are not rules."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if not any(ITEM.match(line) for line in lines):
        paragraphs = (" ".join(part.split()) for part in _PARAGRAPH.split("\n".join(lines)))
        return [Found(None, paragraph) for paragraph in paragraphs if paragraph]
    found = list[Found]()
    for line in lines:
        if ITEM.match(line):
            number = _NUMBER.match(line)
            found.append(Found(int(number[1]) if number else None, ITEM.sub("", line).strip()))
        elif found and line.strip():
            found[-1] = Found(found[-1].number, f"{found[-1].text} {line.strip()}")
    return [each for each in found if each.text]


def planned(rows: Sequence[Rule], found: Sequence[Found]) -> Plan:
    """Which of these become new rules next to those of `rows`; removed rules have no words but keep their number."""
    said, taken = {_same(text) for _, text in rows if text}, {number for number, _ in rows}
    new, known, long, moved = list[Found](), 0, 0, 0
    for each in found:
        if len(each.text) > RULE_CHARS:
            long += 1
        elif _same(each.text) in said:
            known += 1
        else:
            said.add(_same(each.text))
            number = each.number if each.number is not None and 0 < each.number <= HIGHEST else None
            moved += number in taken
            number = None if number in taken else number
            taken |= {number} if number is not None else set()
            new.append(Found(number, each.text))
    return Plan(new, known, long, moved)


def _same(text: str) -> str:
    """A key that is the same for texts that differ only in case, spaces and punctuation."""
    return " ".join(re.findall(r"\w+|[+\-−]\d+", text.casefold()))


def _line(found: Found) -> str:
    text = found.text if len(found.text) <= RULE_CHARS else f"{found.text[: RULE_CHARS - 1]}…"
    return f"{found.number}. {text}" if found.number is not None else f"- {text}"


def _outcome(plan: Plan, say: Words, *, kept: bool = False) -> list[str]:
    counts = (
        ("rules.house_known", plan.known),
        ("rules.house_too_long", plan.long),
        ("rules.house_moved", plan.moved),
    )
    lines = [say(key, n=n, limit=RULE_CHARS) for key, n in counts if n]
    return lines if plan.new or kept else [*lines, say("rules.house_nothing_new")]
