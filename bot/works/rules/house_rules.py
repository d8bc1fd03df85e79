"""House rules: a space's own rulings, stored by number, which take precedence over its books."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.events import Event, Request, Stage, Text, UserError
from bot.retrieval.attached import Attached
from bot.retrieval.intake import Item
from bot.retrieval.results import ATTACHED, Passage, SearchResult, SectionText
from bot.settings import HOUSE_RULES
from bot.words import words
from bot.work import Run

if TYPE_CHECKING:
    from bot.retrieval.intake import Intake
    from bot.retrieval.library import Library
    from bot.settings import Settings
    from bot.strategies.base import Searchable
    from storage.settings import SettingRow

PREFIX: Final = HOUSE_RULES
"""The prefix of their rows' names; the number follows."""
CHUNK: Final = "house:"
"""The prefix of their passages' ids; the number follows."""
MOST = 200
"""The maximum number of rules in a space."""
RULE_CHARS = 1_000
MOST_PASSAGES = 3
"""The maximum number of house rules next to the passages of a book."""
FILE_BYTES = 200_000
KINDS = (".txt", ".md")
CACHED = 100
"""How many sets of rules have a search in memory."""
ITEM = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"(\d+)$")

Rule = tuple[int, str]
"""A rule's number and words."""


class HouseRules:
    """Stores and searches house rules."""

    def __init__(self, settings: Settings, intake: Intake) -> None:
        self._settings = settings
        self._intake = intake
        self._opened: OrderedDict[tuple[str, str, tuple[Rule, ...]], Attached] = OrderedDict()

    async def all(self, space: str) -> list[Rule]:
        """Every rule of the space, by number."""
        return rules_of(await self._settings.of_space(space, PREFIX))

    async def rows(self, space: str) -> list[Rule]:
        """All rules, including removed ones, whose words are "": their numbers are not used again."""
        rows = await self._settings.store.of_space(space, PREFIX)
        return sorted((int(number), row.value) for number, row in rows.items())

    async def add(self, space: str, author: str, texts: Sequence[str]) -> list[int]:
        """Store these rules; returns their numbers. Raises UserError for too many."""
        rows = await self._rows_with_room(space, len(texts))
        number, numbers = max((number for number, _ in rows), default=0), list[int]()
        for text in texts:
            number += 1
            # Somebody else may use the number at the same time.
            while not await self._settings.add(space, author, f"{PREFIX}{number}", text):
                number += 1
            numbers.append(number)
        return numbers

    async def add_numbered(
        self, space: str, author: str, rules: Sequence[tuple[int | None, str]]
    ) -> list[int]:
        """Store these rules, under their own numbers where these are free; returns the numbers. Raises UserError for
        too many.
        """
        await self._rows_with_room(space, len(rules))
        numbers, unnumbered = list[int](), list[str]()
        for number, text in rules:
            if number is not None and await self._settings.add(space, author, f"{PREFIX}{number}", text):
                numbers.append(number)
            else:
                unnumbered.append(text)
        return sorted([*numbers, *(await self.add(space, author, unnumbered) if unnumbered else ())])

    async def _rows_with_room(self, space: str, more: int) -> Sequence[Rule]:
        """`rows`. Raises UserError if the space would have too many rules with `more` of them."""
        rows = await self.rows(space)
        if sum(text != "" for _, text in rows) + more > MOST:
            raise UserError("rules.house_many", limit=MOST)
        return rows

    async def change(self, space: str, author: str, number: int, text: str) -> None:
        """Give a rule other words. Raises UserError for an unknown rule."""
        await self._existing(space, number)
        await self._set(space, author, number, text)

    async def remove(self, space: str, author: str, number: int) -> str:
        """Remove a rule; returns its words. Raises UserError for an unknown rule."""
        text = await self._existing(space, number)
        await self._set(space, author, number, "")
        return text

    async def get(self, space: str, number: int) -> str:
        """The words of a rule, "" for an unknown one."""
        row = await self._settings.store.get(space, f"{PREFIX}{number}")
        return row.value if row is not None else ""

    async def _set(self, space: str, author: str, number: int, text: str) -> None:
        await self._settings.write(space, author, {("space", "", f"{PREFIX}{number}"): text})

    async def _existing(self, space: str, number: int) -> str:
        text = await self.get(space, number)
        if not text:
            raise UserError("rules.house_unknown", n=number)
        return text

    async def combined_search(
        self,
        space: str,
        rules: Sequence[Rule],
        title: str,
        heading: str,
        library: Library,
        base: Searchable | None,
    ) -> Searchable:
        """A search of these rules and of `base`; the rules appear as a book `title` whose headings are `heading` N."""
        key = (space, title, tuple(rules))
        attached = self._opened.get(key)
        if attached is None:
            attached = self._opened[key] = await self._open(space, rules, title, heading)
            if len(self._opened) > CACHED:
                self._opened.popitem(last=False)
        return _WithHouseRules(library.on_files(attached), base, title)

    async def _open(self, space: str, rules: Sequence[Rule], title: str, heading: str) -> Attached:
        text = f"# {title}\n\n" + "\n\n".join(
            f"## {heading} {number}\n\n{_unmarked(text)}" for number, text in rules
        )

        def write_rules() -> Path:
            folder = Path(tempfile.mkdtemp(prefix="house-rules-"))
            (folder / "rules.md").write_text(text, encoding="utf-8")
            return folder

        folder = await asyncio.to_thread(write_rules)
        try:
            attached = Attached(self._intake, [Item("rules.md", str(folder / "rules.md"))])
            await attached.open(space, "")
        finally:
            await asyncio.to_thread(_remove_folder, folder)
        return attached


def rules_of(rows: Iterable[SettingRow]) -> list[Rule]:
    """The rules that these rows store, by number, without removed ones."""
    return sorted((int(row.name.removeprefix(PREFIX)), row.value) for row in rows if row.value)


def _remove_folder(folder: Path) -> None:
    (folder / "rules.md").unlink(missing_ok=True)
    folder.rmdir()


def _unmarked(text: str) -> str:
    """The text without marks that would begin a heading or a list."""
    return " ".join(text.split()).lstrip("#>-*+ ")


class _WithHouseRules:
    """A `Searchable` in which house rules that answer come before the passages of `base`."""

    def __init__(self, house: Library, base: Searchable | None, title: str) -> None:
        self._house = house
        self._base = base
        self._title = title

    async def search(self, space: str, shelf: str, question: str, *, k: int | None = None) -> SearchResult:
        house = await self._house.search(space, "", question, k=MOST_PASSAGES, lookup=False)
        passages = house.passages if house.confident or house.doubtful else []
        rules = [self._rule(passage) for passage in passages]
        if self._base is None:
            return replace(house, passages=rules, nearest=[], see_also=[], notices=[])
        books = await self._base.search(space, shelf, question, k=k)
        # A doubtful rule must not come before a book that answers.
        if not rules or (house.doubtful and books.confident):
            return books
        best = max((passage.score for passage in books.passages), default=1.0)
        rules = [replace(rule, score=max(best, rule.score)) for rule in rules]
        if not books.confident and not (books.doubtful and house.doubtful):
            books = replace(books, passages=[], nearest=[], see_also=[])
        return replace(
            books,
            passages=[*rules, *books.passages],
            confident=house.confident,
            doubtful=house.doubtful,
        )

    def _rule(self, passage: Passage) -> Passage:
        number = _HEADING.search(passage.section_title)
        return replace(
            passage,
            chunk=f"{CHUNK}{number[1] if number else 0}",
            document=f"{ATTACHED}house",
            source=self._title,
            title=self._title,
            heading=passage.section_title,
            page=None,
            turns=(),
        )


def precedence_note(passages: Sequence[Passage]) -> str:
    """The note for the model that house rules take precedence over the books; "" if no passage is a house rule."""
    if not any(passage.chunk.startswith(CHUNK) for passage in passages):
        return ""
    title = next(passage.title for passage in passages if passage.chunk.startswith(CHUNK))
    return (
        f"<note>\nThe passages from “{title}” are this group's own rulings and come before the books. Where a book "
        "says otherwise, give the house rule first, then say in a few words what the book says, and cite both.\n</note>"
    )


class HouseRulesVerb:
    """The verb "house": shows, adds, changes, removes and imports house rules."""

    def __init__(self, house: HouseRules, preview: Callable[[Run], AsyncGenerator[Event, None]]) -> None:
        self._house = house
        self._preview = preview

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        space, author = request.place.space, request.author
        remove, change = (_number(request, name) for name in ("remove", "change"))
        imports = request.files or request.options.get("file") or request.options.get("pins")
        changes = remove is not None or change is not None or imports or request.text.strip()
        if changes and not author.admin:
            raise UserError("rules.house_admins")
        if imports:
            async with aclosing(self._preview(run)) as events:
                async for event in events:
                    yield event
            return
        yield Stage("house", say("rules.house"))
        if remove is not None:
            text = await run.step("remove", lambda: self._house.remove(space, author.id, remove), str)
            yield Text(say("rules.house_removed", n=remove, text=text))
        elif change is not None:
            text = checked(request.text)

            async def changed() -> bool:
                await self._house.change(space, author.id, change, text)
                return True

            await run.step("change", changed, bool)
            yield Text(say("rules.house_changed", n=change, text=text))
        elif changes:
            texts = [checked(text) for text in rules_in(request.text)]
            numbers = await run.step("add", lambda: self._house.add(space, author.id, texts), list[int])
            yield Text(say("rules.house_added", n=len(numbers), numbers=", ".join(map(str, numbers))))
        else:
            rules = await run.step("show", lambda: self._house.all(space), list[tuple[int, str]])
            lines = [f"{number}. {text}" for number, text in rules]
            yield Text("\n".join([*lines, "", say("rules.house_how")]) if lines else say("rules.house_none"))

    async def section(self, space: str, chunk: str, locale: str) -> SectionText:
        """The rule of a passage with this id. Raises UserError if it has been removed."""
        say, number = words(locale), int(chunk.removeprefix(CHUNK))
        text = await self._house.get(space, number)
        if not text:
            raise UserError("rules.house_gone", n=number)
        return SectionText(say("rules.house"), f"{say('rules.house_heading')} {number}", None, text)


def rules_in(text: str) -> list[str]:
    """The rules of a text: its list items, or else the whole text as one rule."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not any(ITEM.match(line) for line in lines):
        return [" ".join(" ".join(lines).split())] if lines else []
    rules = list[str]()
    for line in lines:
        if ITEM.match(line):
            rules.append(ITEM.sub("", line).strip())
        elif rules:
            rules[-1] = f"{rules[-1]} {line.strip()}"
    return rules


def checked(text: str) -> str:
    """The words of a rule as they are stored. Raises UserError."""
    rule = " ".join(text.split()).strip('"“”')
    if not rule:
        raise UserError("rules.house_empty")
    if len(rule) > RULE_CHARS:
        raise UserError("rules.house_long", length=len(rule), limit=RULE_CHARS)
    return rule


def _number(request: Request, name: str) -> int | None:
    value = request.options.get(name)
    return value if isinstance(value, int) else None
