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
from bot.works.rules.question_files import files_of

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.platforms import Platform
    from bot.works.rules.house_rules import HouseRules
    from storage.buttons import Offers

OFFER: Final = "house rules"
"""The kind of the storage's offers that hold imported rules until they are stored."""
SOURCE_BUTTONS: Final = 5
"""How many pinned messages get their own button; the newest."""
HIGHEST: Final = 9_999
"""The highest number that a list can give a rule."""
_PARAGRAPH = re.compile(r"\n\s*\n")
_NUMBER = re.compile(r"^\s*(\d{1,4})[.)]")


@dataclass(frozen=True, slots=True)
class ImportedRule:
    """A rule in a file or message, with its number in a numbered list, or None."""

    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """The rules in a file or a message; `name` is for people."""

    name: str
    rules: list[ImportedRule]


@dataclass(frozen=True, slots=True)
class Plan:
    """The rules to store, and how many are left out as `known` or too `long`; `moved` ones get another number."""

    new: list[ImportedRule]
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
        sources = await (self._pin_sources(run) if request.options.get("pins") else self._file_sources(run))
        rows = await run.step("rows", lambda: self._house.rows(space), list[Rule])
        plan = import_plan(rows, [rule for source in sources for rule in source.rules])
        yield Stage("house", say("rules.house"))
        lines = list[str]()
        for source in sources:
            lines += [f"**{source.name}**", *map(_line, source.rules), ""]
        yield Text("\n".join([*lines, *_outcome_lines(plan, say)]).strip())
        if not plan.new:
            return
        items = [json.dumps([[rule.number, rule.text] for rule in source.rules]) for source in sources]

        async def store_offer() -> bool:
            await self._offers.keep(space, run.id, OFFER, items, author_id=asker)
            return True

        await run.step("offer", store_offer, bool)
        choices = [Choice(say("rules.house_keep", n=len(plan.new)), "/rules adopt all")]
        if len(sources) > 1:
            plans = [(n, import_plan(rows, source.rules)) for n, source in enumerate(sources)]
            choices += [
                Choice(say("rules.house_keep_of", name=sources[n].name[:40]), f"/rules adopt {n}")
                for n, source_plan in plans
                if source_plan.new
            ][:SOURCE_BUTTONS]
        yield Choices(say("rules.house_nothing_kept"), tuple(choices), only=asker)

    async def adopt(self, run: Run) -> AsyncGenerator[Event, None]:
        """Store the rules that `preview` has shown: all, or those of the source with an index. Raises UserError."""
        request, say = run.request, words(run.request.locale)
        space, typed = request.place.space, request.text.strip()

        async def store_rules() -> list[list[int]]:
            items = await self._offers.all(space, request.answers, OFFER)
            chosen = items if typed == "all" else items[int(typed) :][:1] if typed.isdecimal() else []
            if not chosen:
                raise UserError("edge.gone")
            shown_rules = [ImportedRule(number, text) for item in chosen for number, text in json.loads(item)]
            plan = import_plan(await self._house.rows(space), shown_rules)
            rules = [(rule.number, rule.text) for rule in plan.new]
            return [await self._house.add_numbered(space, request.author.id, rules), [plan.known, plan.long]]

        numbers, (known, long) = await run.step("adopt", store_rules, list[list[int]])
        yield Stage("house", say("rules.house"))
        if numbers:
            yield Text(
                say("rules.house_added", n=len(numbers), numbers=", ".join(map(str, numbers))) + "\n\n"
            )
        yield Text("\n".join(_outcome_lines(Plan([], known, long, 0), say, kept=bool(numbers))))

    async def _file_sources(self, run: Run) -> list[Source]:
        files, refused = await self._incoming.bring(run, KINDS, FILE_BYTES, files=files_of(run.request))
        if refused:
            raise refused[0].error
        sources = []
        for file in files:
            data = await self._incoming.read(file.path, FILE_BYTES)
            sources.append(Source(file.name, parse_rules(await asyncio.to_thread(decode, file.name, data))))
        return _with_rules(sources)

    async def _pin_sources(self, run: Run) -> list[Source]:
        request = run.request
        platform = self._platforms.get(request.place.platform)
        if platform is None or (read := platform.read_pins) is None:
            raise UserError("rules.house_no_pins_here")
        messages = await run.step("pins", lambda: read(request), list[ThreadMessage])
        return _with_rules(
            [
                Source(f"{message.name}, {message.at:%Y-%m-%d}", parse_rules(message.text))
                for message in messages
            ]
        )


def _with_rules(sources: Sequence[Source]) -> list[Source]:
    if not (filled := [source for source in sources if source.rules]):
        raise UserError("rules.house_none_read")
    return filled


def parse_rules(text: str) -> list[ImportedRule]:
    """The rules of a text, one for each item of its lists, or else for each paragraph; headings are not rules."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if not any(ITEM.match(line) for line in lines):
        paragraphs = (" ".join(part.split()) for part in _PARAGRAPH.split("\n".join(lines)))
        return [ImportedRule(None, paragraph) for paragraph in paragraphs if paragraph]
    rules = list[ImportedRule]()
    for line in lines:
        if ITEM.match(line):
            number = _NUMBER.match(line)
            rules.append(ImportedRule(int(number[1]) if number else None, ITEM.sub("", line).strip()))
        elif rules and line.strip():
            rules[-1] = ImportedRule(rules[-1].number, f"{rules[-1].text} {line.strip()}")
    return [rule for rule in rules if rule.text]


def import_plan(rows: Sequence[Rule], rules: Sequence[ImportedRule]) -> Plan:
    """What importing these rules does to the existing `rows`; removed rules have no words but keep their numbers."""
    known_texts, taken_numbers = (
        {_comparison_key(text) for _, text in rows if text},
        {number for number, _ in rows},
    )
    new, known, long, moved = list[ImportedRule](), 0, 0, 0
    for rule in rules:
        if len(rule.text) > RULE_CHARS:
            long += 1
        elif _comparison_key(rule.text) in known_texts:
            known += 1
        else:
            known_texts.add(_comparison_key(rule.text))
            number = rule.number if rule.number is not None and 0 < rule.number <= HIGHEST else None
            moved += number in taken_numbers
            number = None if number in taken_numbers else number
            taken_numbers |= {number} if number is not None else set()
            new.append(ImportedRule(number, rule.text))
    return Plan(new, known, long, moved)


def _comparison_key(text: str) -> str:
    """A key that is the same for texts that differ only in case, spaces and punctuation."""
    return " ".join(re.findall(r"\w+|[+\-−]\d+", text.casefold()))


def _line(rule: ImportedRule) -> str:
    text = rule.text if len(rule.text) <= RULE_CHARS else f"{rule.text[: RULE_CHARS - 1]}…"
    return f"{rule.number}. {text}" if rule.number is not None else f"- {text}"


def _outcome_lines(plan: Plan, say: Words, *, kept: bool = False) -> list[str]:
    counts = (
        ("rules.house_known", plan.known),
        ("rules.house_too_long", plan.long),
        ("rules.house_moved", plan.moved),
    )
    lines = [say(key, n=n, limit=RULE_CHARS) for key, n in counts if n]
    return lines if plan.new or kept else [*lines, say("rules.house_nothing_new")]
