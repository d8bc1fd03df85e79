"""Verbs for the branches of a story: fork one, here or in a thread of its own, list them, and play one in a place."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.commands import ON_MESSAGE, UNDER
from bot.conversation import session_for
from bot.events import (
    Answered,
    Changed,
    Elsewhere,
    Event,
    Link,
    Picture,
    Place,
    Request,
    Stage,
    Text,
    UserError,
)
from bot.words import Words, words
from bot.work import Run
from bot.works.story.log.logs import WRITING_VERBS, Logs, PlayedStory, node, spot
from bot.works.story.log.turn import SCENE
from bot.works.story.scene.choices import buttons_after, with_dice, words_of
from bot.works.story.table.outcome import Messages, Outcome, ShownScene, title_of
from bot.works.story.table.safety import check_rating
from bot.works.story.table.tree import Branches, lines
from bot.works.story.world.cast import NAME_CHARS
from storage.stories import Spot

if TYPE_CHECKING:
    from bot.kind import Runs
    from bot.works.story.scene.buttons import Buttons
    from bot.works.story.table.safety import Adults
    from storage.sessions import Sessions

APART = "thread"
"""The key of the run that begins a branch in its own thread."""


@dataclass(frozen=True, slots=True)
class OpenedBranch:
    """The beginning of a branch's own thread: its name, the scene after which it begins, and its last scene as
    shown.
    """

    name: str
    n: int
    scene: ShownScene | None = None


@dataclass(frozen=True, slots=True)
class BranchVerbs:
    _logs: Logs
    _sessions: Sessions
    _runs: Runs
    _adults: Adults
    _buttons: Buttons
    _messages: Messages

    async def branches(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show the tree of branches, as text and as a picture."""
        request, say = run.request, words(run.request.locale)

        async def gathered() -> Branches:
            played = await self._logs.played(request)
            rows = await self._logs.stories.branches(request.place.space, played.row.id)
            stories = {
                row.id: await self._logs.story(request.place.space, played.row.id, row.id) for row in rows
            }
            return Branches.of(rows, stories, played.branch, say)

        branches = await run.step("branches", gathered, Branches)
        yield Stage("branches", say("story.branches", n=len(branches.rows)))
        yield Text("\n".join(lines(branches, say)))
        if len(branches.rows) > 1:
            from bot.works.story.table.tree import picture

            alt = say("story.branches_picture", n=len(branches.rows))
            yield Picture("branches.png", await picture(branches), alt)

    async def fork_to_thread(self, run: Run) -> AsyncGenerator[Event, None]:
        """Fork into a new thread; the request's thread does not change."""
        request, say = run.request, words(run.request.locale)

        async def doing() -> Outcome:
            run.new_thread(APART, "…")  # raises an error where threads cannot exist
            played, at, name = await self._fork_point(request, say)
            await self._make_branch(request, played, at, name)
            return Outcome("story.forked_apart", {"n": at, "name": name, "story": played.row.id})

        done = await run.step("done", doing, Outcome)
        name = str(done.values["name"])
        yield Stage("fork", "")
        yield Text(say(done.key, **done.values))
        yield Elsewhere(run.new_thread(APART, name), name)
        yield Answered()  # shown before the new thread links back to it
        await run.begin(APART, "opened", options={"story": done.values["story"]}, thread_title=name)

    async def opened(self, run: Run) -> AsyncGenerator[Event, None]:
        """Begin a branch's own thread: show its last scene, and where the branch comes from."""
        request, say = run.request, words(run.request.locale)
        story, branch = str(request.options.get("story")), request.parent

        async def begun() -> OpenedBranch:
            row = await self._logs.stories.story(request.place.space, story)
            rows = await self._logs.stories.branches(request.place.space, story)
            name = next((row.name for row in rows if row.id == branch), "")
            if row is None or not name:
                raise UserError("story.none_here")
            await session_for(self._sessions, request, name, over=True)
            await self._play(request, story, branch)
            played = await self._logs.played(request)
            turn = played.story.head
            scene = await self._messages.shown(request, played.story, turn) if turn is not None else None
            if turn is not None and turn.scene is not None:
                body = {"scene": turn.scene.id, "run": run.id}
                await self._logs.append(played, node(run.id, "flip", "flip", body, turn=turn.id))
            return OpenedBranch(name, played.story.length, scene)

        branch_opened = await run.step("opened", begun, OpenedBranch)
        yield Stage(
            "branch", branch_opened.name
        )  # separate from the scene, whose message changes with the next turn
        if (scene := branch_opened.scene) is None:
            yield Text(say("story.nothing_yet"))
        else:
            yield Link(scene.run, say("story.back_there"))
            now = await self._logs.story(request.place.space, story, branch)
            turn, say_scene = now.turns.get(scene.turn), words_of(now, request)
            yield Stage(SCENE, say_scene("story.scene", n=scene.n), scene.speaker, answer=True)
            yield with_dice(turn, scene.text)
            for group in buttons_after(scene.choices, turn, say_scene):
                yield group
        yield Answered()
        forked = Text(say("story.forked_apart", n=branch_opened.n, name=branch_opened.name))
        yield Changed(branch, "fork", "", (forked, Link(run.id, branch_opened.name)), in_place=True)

    async def fork(self, request: Request, say: Words) -> Outcome:
        played, at, name = await self._fork_point(request, say)
        await self._make_branch(request, played, at, name)
        await self._play(request, played.row.id, request.id)
        return Outcome("story.forked", {"n": at, "name": name})

    async def _make_branch(self, request: Request, played: PlayedStory, at: int, name: str) -> None:
        """Make the branch, with the request's id."""
        turn = played.story.path[at - 1] if at else ""
        await self._logs.fork(played, request.id, name, turn, request.author.id)

    async def _fork_point(self, request: Request, say: Words) -> tuple[PlayedStory, int, str]:
        """The branch and the scene after which to fork, and the new branch's name. Raises UserError."""
        played = await self._logs.played(request)
        if (place := played.place) is not None and place.away:
            if (player := await self._logs.stories.player(place)) is not None:
                await self.settled(player.spot)
            played = await self._logs.played(request)
        number = request.options.get("scene")
        if UNDER in request.options:
            played, turn = await self._buttons.turn_of(request, played)
            number = played.story.path.index(turn) + 1
        elif stage := request.options.get(ON_MESSAGE):
            played, number = await self._scene_of(played, request.answers, str(stage))
        story = played.story
        at = number if isinstance(number, int) else story.length
        if not 0 <= at <= len(story.path):
            raise UserError("story.no_scene", n=at, count=len(story.path))
        return played, at, " ".join(request.text.split())[:NAME_CHARS] or say("story.branch_of", n=at)

    async def _scene_of(self, played: PlayedStory, run: str, stage: str) -> tuple[PlayedStory, int]:
        """The branch with the scene that a run shows in this stage, and the scene's number.

        Raises UserError if the run shows none.
        """
        space, story = played.row.space, played.row.id
        nodes = await self._logs.stories.of_run(space, run)
        # A run may have several scenes: the stage's own comes first.
        for own in sorted(nodes, key=lambda appended: appended.id != f"{run}/{stage}"):
            if own.kind in ("act", "scene") and own.story_id == story:
                if own.turn not in played.story.path:
                    row_story = await self._logs.story(space, story, own.branch_id)
                    played = replace(played, branch=own.branch_id, story=row_story)
                if own.turn in played.story.path:
                    return played, played.story.path.index(own.turn) + 1
        raise UserError("story.no_scene_here")

    async def switch(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.played(request)
        rows = await self._logs.stories.branches(request.place.space, played.row.id)
        folded = " ".join(request.text.split()).casefold()
        main = say("story.main_branch").casefold()
        matching = [
            row
            for row in rows
            if folded in (row.name.casefold(), row.alias) or (not row.parent and folded == main)
        ]
        if not matching:
            names = ", ".join(row.name or say("story.main_branch") for row in rows)
            raise UserError("story.no_branch", name=request.text.strip(), names=names)
        story = await self._logs.story(request.place.space, played.row.id, matching[-1].id)
        await check_rating(story, request, self._adults)
        taken_from = await self._play(request, played.row.id, matching[-1].id)
        return Outcome(
            "story.switched",
            {"name": matching[-1].name or say("story.main_branch"), "n": story.length},
            title=title_of(played.row, say),
            taken_from=taken_from,
        )

    async def open(self, request: Request, say: Words) -> Outcome:
        """Play a story here that is open to this person, on its first branch; without a name, list those that are
        open.
        """
        rows = await self._logs.open_to(request)
        if not request.text.strip():
            new = f" · {say('story.not_opened')}"
            listed = "\n".join(
                f"- **{title_of(row, say)}** · `{row.alias}`{new if row.offered else ''}" for row in rows[:20]
            )
            return Outcome(
                "" if listed else "story.no_stories", text=listed, title=say("story.stories", n=len(rows))
            )
        row = rows[0]
        await check_rating(await self._logs.story(request.place.space, row.id, row.id), request, self._adults)
        await session_for(self._sessions, request, title_of(row, say), over=True)
        taken_from = await self._play(request, row.id, row.id)
        played = await self._logs.played(request)
        if "language" not in played.story.settings:
            await self._logs.record(played, request, "set", {"language": request.locale})
        return Outcome("story.nothing_yet", title=title_of(row, say), taken_from=taken_from)

    async def _play(self, request: Request, story: str, branch: str) -> list[Spot]:
        """Play the branch here; returns the places where it was played until now."""
        rows = await self._logs.stories.play(spot(request.place), story, branch, request.id)
        return [row.spot for row in rows]

    async def settled(self, spot: Spot) -> None:
        """Wait until no run is writing a scene in this place."""
        place = Place(spot.platform, spot.space, spot.channel, spot.thread)
        await self._runs.settled(place, "story", (*WRITING_VERBS, "more", "cast", "reword"))
