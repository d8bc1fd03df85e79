"""Session zero: a table agrees on a story before it begins, with one message for each question.

Anybody answers, with a button or in words, or skips the question. The state is kept in the story's log, so that the
session continues after a week or a restart.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bot.conversation import session_for, title_of
from bot.events import Changed, Choice, Choices, Event, Place, Request, Stage, Text, UserError
from bot.markdown import harmless
from bot.words import Words, meant, name_of, named, words
from bot.work import Run
from bot.works.story.limits import AGREED_CHARS
from bot.works.story.log.logs import Logs, PlayedStory, node, spot
from bot.works.story.log.nodes import MODES, RATINGS, Kind
from bot.works.story.log.story import Story
from bot.works.story.sheet.sheet_verbs import SHEETS, template_settings
from bot.works.story.sheet.template import templates
from bot.works.story.table.about import about_lines, in_words
from bot.works.story.table.safety import agreed_lines, check_rating
from bot.works.story.turn.scene_verbs import parse_cast
from bot.works.story.turn.turn_plan import TurnPlan
from bot.works.story.world import cast

if TYPE_CHECKING:
    from bot.works.story.table.safety import Adults
    from bot.works.story.turn.scene_verbs import SceneVerbs
    from storage.sessions import Sessions
    from storage.stories import Node, Stories

STEPS: Final = ("premise", "tone", "rating", "lines", "veils", "cast", "sheets", "mode")
BEGIN: Final = "begin"
"""The step after the last question."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The `next` question; of the one `before`, the run that shows it, and what was `said`, for people.

    `act` is the turn that begins the story, "" until then, and `at` the last node of the log.
    """

    story: str
    branch: str
    next: str
    before: str = ""
    shown_by: str = ""
    said: str = ""
    act: str = ""
    at: int = 0


class SessionZero:
    def __init__(self, logs: Logs, scene_verbs: SceneVerbs, sessions: Sessions, adults: Adults) -> None:
        self._logs = logs
        self._scene_verbs = scene_verbs
        self._sessions = sessions
        self._adults = adults

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        progress = await run.step("zero", lambda: self._progress(request, say), Progress)
        if progress.shown_by and progress.shown_by != run.id:
            text = f"{say(f'story.zero_{progress.before}')}\n\n{progress.said}".strip()
            title = say("story.zero", n=_number(progress.before), of=len(STEPS))
            yield Changed(progress.shown_by, f"zero-{progress.before}", title, (Text(text),), in_place=True)
        if progress.act:
            plan = await run.step("turn", lambda: self._opening_plan(request, progress), TurnPlan)
            async with aclosing(self._scene_verbs.writer.scene(run, plan)) as events:
                async for event in events:
                    yield event
            return
        yield Stage(f"zero-{progress.next}", say("story.zero", n=_number(progress.next), of=len(STEPS)))
        story = await self._logs.story(request.place.space, progress.story, progress.branch)
        if progress.next == BEGIN:
            yield Text("\n".join([*_summary(story, say), "", say("story.zero_begin")]).strip())
        else:
            so_far = _earlier_answer(story, progress.next, say)
            yield Text(say(f"story.zero_{progress.next}"))
            yield Text(f"\n\n{say('story.zero_so_far', text=so_far)}" if so_far else "")
        titles = await run.step("templates", self._template_titles, dict) if progress.next == SHEETS else {}
        locale = request.locale
        yield Choices(
            "", _buttons(progress.next, say, {by_locale[locale]: name for name, by_locale in titles.items()})
        )

    async def _template_titles(self) -> dict[str, dict[str, str]]:
        trees = await templates(self._scene_verbs.settings.sheets)
        return {name: tree["title"] for name, tree in trees.items()}

    async def _opening_plan(self, request: Request, progress: Progress) -> TurnPlan:
        row = await self._logs.stories.story(request.place.space, progress.story)
        if row is None:
            raise UserError("story.none_here")
        story = await self._logs.story(request.place.space, progress.story, progress.branch, progress.at)
        return await self._scene_verbs.plan(
            request, PlayedStory(row, progress.branch, story), progress.act, progress.at
        )

    async def _progress(self, request: Request, say: Words) -> Progress:
        """Begin, or store an answer. Raises UserError."""
        played = await self._logs.played_in(request.place, request.id)
        step = str(request.options.get("step") or "")
        if played is None or played.story.path or not played.story.settings.get("zero"):
            if step:
                raise UserError("story.zero_over")
            return await self._new(request)
        await check_rating(played.story, request, self._adults)
        story, text = played.story, request.text.strip()
        asked, shown_by = str(story.settings["zero"]), str(story.settings.get("zero_run") or "")
        # A button of a question that is already answered, or of another table.
        if step and (step != asked or request.answers not in ("", shown_by)):
            raise UserError("story.zero_answered")
        nodes: list[Node] = []
        skips = bool(request.options.get("skip")) or (asked != BEGIN and meant(text, "skip", "none") != "")
        if request.options.get("back"):
            following, line = _before(asked), f"← {say('story.zero_left')}"
        elif asked == BEGIN:
            if step or meant(text, "yes", "go"):
                return await self._open(request, played, shown_by)
            following, line = BEGIN, ""
        elif skips or text:
            nodes = [] if skips else await self._answer(request, asked, text, say)
            answered = {name for part in nodes for name in _answered_steps(part)}
            following = _next(story, asked, answered)
            said = text if text and not skips else say("story.zero_skipped")
            line = f"✓ {said} · {harmless(request.author.name)}"
        else:  # ask the question again, as after a week
            following, line = asked, ""
        where = {"zero": following, "zero_run": request.id}
        await self._logs.append(
            played, *nodes, node(request.id, "zero", "set", where, author=request.author.id)
        )
        return Progress(played.row.id, played.branch, following, asked, shown_by, line)

    async def _new(self, request: Request) -> Progress:
        """Begin a story without scenes; questions that the request already answers are not asked."""
        say, premise, space = words(request.locale), request.text.strip(), request.place.space
        nodes: list[Node] = []
        options = {name: str(value) for name, value in request.options.items() if isinstance(value, str)}
        for step, answer in (("premise", premise), *((name, options.get(name, "")) for name in STEPS[1:])):
            if answer.strip():
                nodes += await self._answer(request, step, answer.strip(), say)
        title = title_of(options.get("title") or premise or say("story.zero_untitled"))
        await session_for(self._sessions, request, title, over=True)
        await self._logs.stories.create(spot(request.place), request.id, title, request.author.id)
        row = await self._logs.stories.story(space, request.id)
        assert row is not None, "it was made just now"
        following = _next(Story(), "", {answered for part in nodes for answered in _answered_steps(part)})
        optional = {name: options[name] for name in ("genre", "view", "length") if options.get(name)}
        settings = {
            "zero": following,
            "zero_run": request.id,
            "gm": request.author.id,
            "language": request.locale,
        }
        settings |= optional
        settings_node = node(request.id, "zero", "set", settings, author=request.author.id)
        await self._logs.append(PlayedStory(row, row.id, Story()), *nodes, settings_node)
        return Progress(row.id, row.id, following)

    async def _answer(self, request: Request, step: str, text: str, say: Words) -> list[Node]:
        """The nodes for an answer. Raises UserError for an answer that is too long or not one of the options."""
        author, limits = request.author.id, self._scene_verbs.settings
        if step == "premise":
            if len(text) > limits.premise_chars:
                raise UserError("story.long_premise", length=len(text), limit=limits.premise_chars)
            body = {"premise": text, "title": title_of(text)}
            return [node(request.id, step, "set", body, author=author)]
        if len(text) > AGREED_CHARS:
            raise UserError("story.long_agreement", length=len(text), limit=AGREED_CHARS)
        if step == "cast":
            return [
                node(request.id, f"cast-{n}", "cast", {"name": name, "sheet": sheet}, author=author)
                for n, (name, sheet) in enumerate(parse_cast(text)[: cast.MOST_CHARACTERS])
            ]
        if step == SHEETS:
            body = await template_settings(self._scene_verbs.settings.sheets, text, say.locale)
            return [node(request.id, step, "set", body, author=author)]
        if step in ("rating", "mode"):
            text = _one_of(text, step, say)
        if step == "rating":
            await check_rating(Story(settings={"rating": text}), request, self._adults)
        kind: Kind = "safety" if step in ("rating", "lines", "veils") else "set"
        return [node(request.id, step, kind, {step: text}, author=author)]

    async def _open(self, request: Request, played: PlayedStory, shown_by: str) -> Progress:
        author, row = request.author, played.row
        # `is_open` looks for this id. The node belongs to this run, so that a repeated run finds the story as it was.
        begin_node = replace(node(row.id, "begun", "set", {"zero": ""}, author=author.id), run_id=request.id)
        opening = {"mode": "open", "text": "", "name": author.name}
        act = node(request.id, "act", "act", opening, author=author.id)
        at = await self._logs.append(played, begin_node, act)
        return Progress(row.id, played.branch, BEGIN, BEGIN, shown_by, "", act.id, at)


async def is_open(stories: Stories, place: Place) -> bool:
    """Whether the table in this place is in session zero: messages there are then answers."""
    row_and_branch = await stories.played(spot(place))
    if row_and_branch is None:
        return False
    space, id = place.space, row_and_branch[0].id
    return await stories.node(space, f"{id}/zero") is not None and (
        await stories.node(space, f"{id}/begun") is None
    )


def _answered_steps(part: Node) -> set[str]:
    """The steps that a node answers."""
    return {"cast"} if part.kind == "cast" else set(json.loads(part.body))


def _next(story: Story, step: str, answered: set[str]) -> str:
    """The first step after this one without an answer."""
    answered = answered | {name for name, value in story.settings.items() if value}
    answered |= {"cast"} if story.cast else set()
    later = STEPS[STEPS.index(step) + 1 :] if step else STEPS
    return next((following for following in later if following not in answered), BEGIN)


def _before(step: str) -> str:
    """The step before this one; the first one for itself."""
    return STEPS[max(0, (*STEPS, BEGIN).index(step) - 1)]


def _earlier_answer(story: Story, step: str, say: Words) -> str:
    """The earlier answer to a question that is asked again; "" for none."""
    if step == "cast":
        return ", ".join(story.cast)
    return in_words(step, str(story.settings.get(step) or ""), story, say)


def _number(step: str) -> int:
    return STEPS.index(step) + 1 if step in STEPS else len(STEPS)


def _one_of(text: str, step: str, say: Words) -> str:
    """A rating or a mode, by its internal name or its translated label. Raises UserError."""
    options = RATINGS if step == "rating" else MODES
    if option := named(options, step, text):
        return option
    raise UserError("story.zero_one_of", names=", ".join(say(name_of(option, step)) for option in options))


def _buttons(step: str, say: Words, templates: Mapping[str, str] = {}) -> tuple[Choice, ...]:
    """The buttons of a question; `templates` maps the titles of the sheets' templates to their names."""
    line, by_label = f"/story zero --step {step}", dict[str, str]()
    back = (Choice(say("story.zero_back"), f"{line} --back"),) if step != STEPS[0] else ()
    if step == BEGIN:
        return (Choice(say("story.zero_button_begin"), line), *back)
    if step == "tone":
        by_label = {tone: tone for tone in say("story.zero_tones").split("|")}
    elif step == SHEETS:
        by_label = {**templates}
    elif step in ("rating", "mode"):
        names = RATINGS if step == "rating" else MODES
        by_label = {say(f"names.{step}_{option.replace('-', '_')}"): option for option in names}
    choices = [Choice(label, f"{line} -- {value}") for label, value in by_label.items()]
    if step not in ("rating", "mode", SHEETS):
        choices.append(Choice(say("story.button_own_words"), line, say(f"story.zero_{step}")))
    return (*choices, Choice(say("story.zero_skip"), f"{line} --skip"), *back)


def _summary(story: Story, say: Words) -> list[str]:
    lines_of_settings = about_lines(story, ("premise", "tone", "sheets", "mode"), say)
    return [*lines_of_settings, *agreed_lines(story, say), *([cast.lines(story, say)] if story.cast else [])]
