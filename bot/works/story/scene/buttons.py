"""The buttons of a story: each acts on the scene above it, or says that the story has continued since then.

`Choice.under` says what a button belongs to: a version of a scene, or a turn without a scene. A press is checked when
it arrives, so that only the person who pressed gets the answer, and again when its run begins, since somebody may have
typed a turn meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bot.commands import RUN, UNDER
from bot.events import Choice, Choices, Event, Link, OptionValue, PressedLate, Request, Stage, Text, UserError
from bot.words import words
from bot.work import Run
from bot.works.story.log.logs import Logs, PlayedStory
from bot.works.story.scene.choices import fork_button, present_buttons_owner

if TYPE_CHECKING:
    from storage.stories import NodeRow

AT_HEAD: Final = frozenset(("act", "say", "continue", "end", "more", "retry", "flip", "undo", "redo", "edit"))
"""The verbs that continue from the present scene: on a button they apply only to the scene above it."""
LATE: Final = "late"
"""The verb whose run answers the person who pressed too late."""


@dataclass(frozen=True, slots=True)
class LatePress:
    """What to answer to a late press: the sentence `key`, and where the story is now.

    `n` and `scene` are the old scene's number and node, 0 and "" if no branch can start there. `story` is the code of
    the story that the button belongs to, if another one is played. `link` is the run that shows the scene `link_n`.
    """

    key: str
    n: int = 0
    scene: str = ""
    story: str = ""
    link: str = ""
    link_n: int = 0


class Buttons:
    """Checks presses on the buttons of stories."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs

    async def checked(self, request: Request, going: Sequence[Request]) -> Request:
        """Implements `bot.kind.Pressed`."""
        if not request.answers:  # the button "Try again"
            return await self._repeated(request)
        if request.verb not in AT_HEAD:
            return request
        played = await self._logs.played_in(request.place)
        if await self._is_late(request, played):
            raise self._late_error(request)
        # With a game master, what others type makes no scene.
        typed_makes_scene = played is None or played.story.settings.get("mode") != "gm"
        for other in going:
            if other.place == request.place and other.verb in AT_HEAD and other.id != request.id:
                typed = UNDER not in other.options
                same_scene = other.options.get(UNDER) == request.options[UNDER]
                if same_scene or (typed and typed_makes_scene):
                    raise self._late_error(request, by=other)
        return request

    def _late_error(self, request: Request, *, by: Request | None = None) -> PressedLate:
        """The error for a late press; `by` is the request that came first, if it is still being carried out."""
        options: dict[str, OptionValue] = {UNDER: request.options[UNDER]}
        if by is not None:
            options |= {"by": by.author.name, "run": by.id, "typed": UNDER not in by.options}
        return PressedLate("story.stale", LATE, options)

    async def _repeated(self, request: Request) -> Request:
        """The request to repeat a run; if that added a turn, a request for another version of its scene.

        Raises PressedLate.
        """
        node = await self._node(request)
        if node is None:
            return replace(request, options={k: v for k, v in request.options.items() if k != UNDER})
        played = await self._logs.played_in(request.place)
        head = played.story.head if played is not None else None
        if played is None or head is None or head.id != node.turn or head.shown_by not in ("", node.run_id):
            raise self._late_error(request)
        soften = {name: value for name, value in request.options.items() if name == "soften"}
        options = soften | {UNDER: present_buttons_owner(played.story, played.row.id)}
        return replace(request, verb="retry", text="", options=options)

    async def is_late(self, request: Request) -> bool:
        """Whether, as the run begins, the present scene is another one than that above the pressed button."""
        return await self._is_late(request, await self._logs.played_in(request.place, request.id))

    async def _is_late(self, request: Request, played: PlayedStory | None) -> bool:
        if request.verb not in AT_HEAD or UNDER not in request.options:
            return False
        if played is None or (played.place is not None and played.place.away):
            return False  # the verb itself says so
        named = str(request.options[UNDER])
        if not named.startswith(RUN):
            return named != present_buttons_owner(played.story, played.row.id)
        # A button of an earlier release: it may be any scene, unless a run is known to show the present one.
        story, run = played.story, named.removeprefix(RUN)
        shows_card = any(story.turns[id].shown_by == run for id in story.withdrawn_turns & story.turns.keys())
        since_card = story.stop_card_seq > (story.head.first if story.head is not None else 0)
        return not (shows_card and since_card) and (story.head is None or story.head.shown_by != run)

    async def _node(self, request: Request) -> NodeRow | None:
        """The scene or the turn that a button belongs to."""
        named, space = str(request.options[UNDER]), request.place.space
        if not named.startswith(RUN):
            return await self._logs.stories.node(space, named)
        nodes = await self._logs.stories.of_run(space, named.removeprefix(RUN))
        return next((node for node in reversed(nodes) if node.kind in ("act", "scene")), None)

    async def answer_late(self, run: Run) -> AsyncGenerator[Event, None]:
        """Say that the story has continued, and offer a branch from the old scene and a link to the present one."""
        request, say = run.request, words(run.request.locale)
        press = await run.step("where", lambda: self._press_place(request), LatePress)
        yield Stage(LATE, "")
        yield Text(say(press.key, name=str(request.options.get("by") or "")))
        if request.text.strip():
            yield Text("\n\n" + "\n".join(f"> {line}" for line in request.text.strip().splitlines()))
        if press.link:
            title = say("story.scene", n=press.link_n) if press.link_n else say("story.where_it_goes_on")
            yield Link(press.link, title)
        if press.scene:
            fork = fork_button(press.scene, press.n, say)
            in_thread = Choice(say("story.fork_apart"), f"{fork.command} --thread", under=press.scene)
            yield Choices(say("story.fork_instead"), (fork, in_thread))
        elif press.story:
            yield Choices("", (Choice(say("story.button_open"), f"/story open {press.story}"),))

    async def _press_place(self, request: Request) -> LatePress:
        space, stories = request.place.space, self._logs.stories
        played, node = await self._logs.played_in(request.place), await self._node(request)
        head = played.story.head if played is not None else None
        press = LatePress("story.stale")
        if played is not None and head is not None and head.shown_by:
            press = LatePress("story.stale", link=head.shown_by, link_n=played.story.length)
        if node is None:
            return press
        if played is None or node.story_id != played.row.id:
            row = await stories.story(space, node.story_id)
            return replace(press, key="story.another_played", story=row.alias if row is not None else "")
        if node.turn in played.story.withdrawn_turns:
            return replace(press, key="story.gone")
        story = played.story
        if node.turn not in story.path:
            story = await self._logs.story(space, node.story_id, node.branch_id)
        if node.turn not in story.path:
            return replace(press, key="story.gone")
        press = replace(press, n=story.path.index(node.turn) + 1, scene=node.id)
        if request.options.get("by"):
            key = "story.typed_first" if request.options.get("typed") else "story.pressed_first"
            return replace(press, key=key, link=str(request.options["run"]), link_n=0)
        if head is not None and head.id == node.turn:
            return replace(press, key="story.another_version", n=0, scene="")
        if node.turn not in played.story.path[: played.story.length]:
            return replace(press, key="story.gone")
        return press

    async def turn_of(self, request: Request, played: PlayedStory) -> tuple[PlayedStory, str]:
        """The turn that a pressed button belongs to, after a branch of the played story that has this turn.

        Raises UserError if no branch has it.
        """
        node = await self._node(request)
        if node is not None and node.story_id == played.row.id and node.turn not in played.story.path:
            story = await self._logs.story(played.row.space, played.row.id, node.branch_id)
            played = replace(played, branch=node.branch_id, story=story)
        if node is None or node.turn not in played.story.path:
            raise UserError("story.gone")
        return played, node.turn
