"""`/story sheet`: shows a character's numbers, changes them, and chooses the template.

A change counts as long as the scene after which it was made; changes to attributes and skills count always.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bot.command_line import escaped
from bot.events import Changed, Choice, Choices, Event, Request, Stage, Text, UserError
from bot.words import Words, words
from bot.work import Run
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.log.turn import Change
from bot.works.story.scene.choices import open_proposals, scene_changed, words_of
from bot.works.story.sheet import changes as typed
from bot.works.story.sheet.card import card, line, result
from bot.works.story.sheet.proposals import body as body_of
from bot.works.story.sheet.sheet import Sheet, sheet_of, sheets, template_of
from bot.works.story.sheet.template import RULES, from_log, plain_name, templates
from bot.works.story.world import cast
from bot.works.story.world.order import leader, may_lead, names_of
from bot.works.story.world.selves import own_character, selves

if TYPE_CHECKING:
    from pathlib import Path

    from bot.events import Author
    from bot.works.story.log.story import Story
    from storage.stories import Node

COUNTERS = 2
"""How many counters have buttons; the others are changed in the window."""
SHEETS = "sheets"
"""The setting that holds the name of a story's template."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A title and a text; the `character` whose sheet gets buttons, and the `turn` whose scene's message changes."""

    title: str
    text: str
    character: str = ""
    turn: str = ""


@dataclass(frozen=True, slots=True)
class SheetVerbs:
    _logs: Logs
    _files: tuple[Path, ...]
    _own_names: Callable[[Request], Awaitable[bool]]

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        do = {"sheet": self._sheet, "apply": self._apply}[request.verb]
        shown = await run.step("sheet", lambda: do(request, say), Shown)
        played, sheet = await self._logs.played_in(request.place), None
        if shown.character and played is not None:
            sheet = sheet_of(played.story, shown.character)
        if sheet is not None and request.answers:
            title = f"{shown.character} · {title_of(played.story, request.locale, say)}" if played else ""
            contents = (Text(card(sheet, say, request.locale)), buttons(sheet, say, request.locale))
            yield Changed(request.answers, "sheet", title, contents, in_place=True)
        yield Stage("sheet", shown.title)
        yield Text(shown.text)
        if sheet is not None and not request.answers:
            yield buttons(sheet, say, request.locale)
        if shown.turn and played is not None:
            turn = played.story.turns[shown.turn]
            own = bool(turn.act.speaker) and await self._own_names(request)
            speaker = cast.speaker(played.story, turn.act.speaker, own=own)
            yield scene_changed(played.story, turn, words_of(played.story, request), speaker)

    async def _apply(self, request: Request, say: Words) -> Shown:
        """Apply a scene's change to a character's sheet, or with the number 0 ignore all remaining ones.

        Raises UserError once the scene no longer counts, and for people who may not change the sheet.
        """
        played = await self._logs.writable(request, asks=False)
        story = played.story
        number, _, scene_id = request.text.strip().partition(" ")
        turn = story.turn_showing(scene_id)
        if turn is None or turn.scene is None:
            raise UserError("story.gone")
        applies = number != "0"
        proposals = [
            (n, proposal)
            for n, proposal in open_proposals(story, turn.scene)
            if not applies or str(n) == number
        ]
        if not proposals:
            raise UserError("story.sheet_decided")
        mine = [
            (n, proposal) for n, proposal in proposals if _may_change(story, request.author, proposal.name)
        ]
        if not mine:
            check_may_change(story, request.author, proposals[0][1].name)
        nodes = []
        for n, proposal in mine:
            changes = [body_of(change) for change in proposal.changes] if applies else []
            body = {"name": proposal.name, "changes": changes, "scene": scene_id, "proposal": n}
            # The id is the same for everybody who presses, so that of two simultaneous presses one counts.
            decided = node(f"{scene_id}/{played.branch}", f"sheet-{n}", "sheet", body, turn=turn.id)
            nodes.append(replace(decided, run_id=request.id, author_id=request.author.id))
        await self._logs.append(played, *nodes)
        if not applies:
            return Shown("", say("story.sheet_ignored"), turn=turn.id)
        _, applied = mine[0]
        changed = await self._logs.played_in(request.place)
        values = _new_values(changed, applied.name, applied.changes, request.locale)
        return Shown("", say("story.sheet_changed", name=applied.name, changes=values), turn=turn.id)

    async def _sheet(self, request: Request, say: Words) -> Shown:
        """Show or change a sheet, or choose the template. Raises UserError."""
        options = request.options
        change = str(options.get("change") or "").strip()
        if name := str(options.get("template") or "").strip():
            return await self._choose(request, name, say)
        played = await self._logs.played(request)
        story = played.story
        if name := str(options.get("of") or "").strip():
            character, rest = cast.find(story, name), request.text.strip()
            if not character:
                raise _not_in_cast(story, name)
        else:
            character, rest = named_character(story, request.text, request.author)
            if character and rest == " ".join(request.text.split()):
                _check_names(story, character, "; ".join(part for part in (rest, change) if part))
        rest = "; ".join(part for part in (rest, change) if part)
        if rest or options.get("remove"):
            return await self._change(request, character, rest, say)
        if not character:
            return await self._all(played.story, say, request.locale)
        title = f"{character} · {title_of(played.story, request.locale, say)}"
        return Shown(title, card(sheet_of(played.story, character), say, request.locale), character)

    async def _all(self, story: Story, say: Words, locale: str) -> Shown:
        """Every sheet in one line, and the available templates."""
        lines = [line(sheet, locale) for sheet in sheets(story).values()]
        how = say("story.sheet_templates", names=_listed(await templates(self._files), locale))
        return Shown(title_of(story, locale, say), "\n".join([*lines, "", how]).strip())

    async def _choose(self, request: Request, name: str, say: Words) -> Shown:
        """Choose the template. Raises UserError."""
        played = await self._logs.writable(request)
        if not may_lead(played.story, request.author):
            raise UserError("story.only_gm")
        body = await template_settings(self._files, name, request.locale)
        await self._logs.record(played, request, "set", body)
        title = from_log(body[RULES]).title[request.locale]
        return Shown("", say("story.sheet_template_set", name=title))

    async def _change(self, request: Request, character: str, text: str, say: Words) -> Shown:
        """Change or remove a character's sheet. Raises UserError."""
        played = await self._logs.writable(request)
        story = played.story
        if not character:
            if not story.cast:
                raise _not_in_cast(story, text.partition(" ")[0])
            raise UserError("story.sheet_whose", names=", ".join(story.cast))
        check_may_change(story, request.author, character)
        if request.options.get("remove"):
            body: dict[str, Any] = {"name": character, "removed": True}
            await self._logs.record(played, request, "sheet", body)
            return Shown("", say("story.sheet_removed", name=character))
        changes = typed.parse(text, template_of(story))
        await self._logs.append(played, *nodes_of(request, played, character, changes))
        changed = await self._logs.played_in(request.place)
        values = _new_values(changed, character, changes, request.locale)
        return Shown("", say("story.sheet_changed", name=character, changes=values), character)


def title_of(story: Story, locale: str, say: Words) -> str:
    """The name of the story's template, in this language."""
    return template_of(story).title.get(locale) or say("story.sheet_no_template")


def _listed(trees: Mapping[str, Mapping[str, Any]], locale: str) -> str:
    return ", ".join(f"`{name}` ({tree['title'][locale]})" for name, tree in trees.items())


async def template_settings(files: tuple[Path, ...], name: str, locale: str) -> dict[str, str]:
    """The settings of a story that has the template with this name or title. Raises UserError."""
    trees, key = await templates(files), plain_name(name)
    for template, tree in trees.items():
        if key in (plain_name(template), *map(plain_name, tree["title"].values())):
            return {SHEETS: template, RULES: json.dumps({"name": template, **tree}, ensure_ascii=False)}
    raise UserError("story.sheet_no_such", name=name[:60], names=_listed(trees, locale))


def named_character(story: Story, text: str, author: Author) -> tuple[str, str]:
    """The character whose name begins the text, and the rest; without a name, the author's own character, or "".

    Raises UserError for a single unknown name, and for a fighter who is not in the cast.
    """
    parts = text.split()
    for count in range(len(parts), 0, -1):
        key = plain_name(" ".join(parts[:count]).rstrip(":"))
        if character := next((name for name in story.cast if plain_name(name) == key), ""):
            return character, " ".join(parts[count:])
    if parts and all(part.isalpha() for part in parts) and not template_of(story).field(text):
        raise _not_in_cast(story, text)
    fight = story.initiative
    for fighter in fight.order if fight is not None else ():
        if f"{plain_name(text)} ".startswith(f"{plain_name(fighter.name)} "):
            raise _not_in_cast(story, fighter.name)
    own = own_character(story, author)
    return own, " ".join(parts)


def _not_in_cast(story: Story, name: str) -> UserError:
    if not story.cast:
        return cast.unknown_error(name, [])
    return UserError("story.no_character_of", name=name[:60], names=", ".join(story.cast))


def _check_names(story: Story, character: str, text: str) -> None:
    """Raise UserError if a change to the character's sheet seems to begin with another name, as in "Zed hp 1".

    So a thing whose name ends like a field ("belt of strength") is added only with the character's name before it.
    """
    template, sheet = template_of(story), sheet_of(story, character)
    for change in typed.parse(text, template) if text else ():
        parts = change.field.split()
        if change.on is not None or template.field(change.field) or plain_name(change.field) in sheet.things:
            continue
        for count in range(1, len(parts)):
            if template.field(" ".join(parts[count:])):
                name, names = " ".join(parts[:count]), ", ".join(story.cast) or "…"
                raise UserError(
                    "story.sheet_unknown", name=name, names=names, thing=change.field, character=character
                )


def sheet_in_view(story: Story, author: Author, text: str) -> Sheet | None:
    """The sheet of the first character that a text names, or else of the author's own; None for neither."""
    by_name, plain = sheets(story), _plain(text)
    for key, sheet in by_name.items():
        if f" {_plain(key)} " in f" {plain} ":
            return sheet
    return by_name.get(plain_name(own_character(story, author)))


def _plain(text: str) -> str:
    return plain_name(re.sub(r"\W+", " ", text))


def check_may_change(story: Story, author: Author, character: str) -> None:
    """Raise UserError for people who neither play the character nor may lead the table."""
    if not _may_change(story, author, character):
        raise UserError("story.sheet_not_yours", name=character, gm=names_of(story).get(leader(story), "?"))


def _may_change(story: Story, author: Author, character: str) -> bool:
    return may_lead(story, author) or character in selves(story, author)


def _new_values(played: PlayedStory | None, character: str, changes: Sequence[Change], locale: str) -> str:
    """The values of the changed fields, for people."""
    if played is None:
        return "…"
    sheet = sheet_of(played.story, character)
    return ", ".join(dict.fromkeys(result(change, sheet, locale) for change in changes))


def buttons(sheet: Sheet, say: Words, locale: str) -> Choices:
    """The buttons of a sheet: minus and plus for its first counters, and a window for the rest."""
    choices = list[Choice]()
    counters = [field for field in sheet.template.group("counters") if sheet.score(field) is not None]
    for field in counters[:COUNTERS]:
        for sign, by in (("−", "-1"), ("+", "+1")):
            choices.append(
                Choice(f"{field.names[locale]} {sign}1", f"/story sheet {sheet.name} {field.key} {by}")
            )
    window = f"/story sheet --of {escaped(sheet.name)}"
    return Choices("", (*choices, Choice(say("story.sheet_button"), window, say("story.sheet_window"))))


def nodes_of(request: Request, played: PlayedStory, character: str, changes: list[Change]) -> list[Node]:
    """The nodes that store these changes; those that are not lasting count as long as the last scene does."""
    template, head = template_of(played.story), played.story.head
    bounds = [Change(change.field, most=change.most) for change in changes if change.most is not None]
    changes = [*bounds, *(replace(change, most=None) for change in changes)]
    changes = [change for change in changes if change != Change(change.field)]
    nodes = []
    for key, lasts in (("sheet", True), ("sheet-now", False)):
        rows = [body_of(change) for change in changes if typed.is_lasting(change, template) == lasts]
        if rows:
            turn = head.id if head is not None and not lasts else ""
            body = {"name": character, "changes": rows}
            nodes.append(node(request.id, key, "sheet", body, turn=turn, author=request.author.id))
    return nodes
