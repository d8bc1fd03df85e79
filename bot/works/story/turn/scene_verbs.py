"""The verbs for which the writer writes a scene: appends each turn to the log, and plans its scene.

A run decides everything in its first step (`TurnPlan`); the prompt is made from the log as it was then, so that a
replay, and another version of the scene, read the same bytes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bot.conversation import session_for, title_of
from bot.events import Author, Event, Request, Stage, Text, TransientError, UserError
from bot.llm.base import room
from bot.words import words
from bot.work import Run
from bot.works.story.extraction import continuity
from bot.works.story.log.logs import Logs, PlayedStory, node, spot
from bot.works.story.log.story import Story
from bot.works.story.log.turn import SCENE, Mode
from bot.works.story.scene.choices import PreviousMessage
from bot.works.story.sheet.checks import checks_for
from bot.works.story.sheet.initiative_verbs import check_turn, nodes_of_turn
from bot.works.story.table.safety import agreement, check_rating
from bot.works.story.turn import dice
from bot.works.story.turn.scene_writer import SceneWriter
from bot.works.story.turn.turn_plan import TurnPlan
from bot.works.story.world import cast
from bot.works.story.world.agreement import agreed
from bot.works.story.world.order import leader, mode_of, next_in_order, skipped_turns
from bot.works.story.world.selves import speaker_and_words

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.works.story.config import RecallConfig, StoryConfig
    from bot.works.story.log.turn import Turn
    from bot.works.story.table.safety import Adults
    from storage.buttons import Votes
    from storage.sessions import Sessions
    from storage.stories import Node

NEVER = 10**9
"""A number of scenes that no story reaches."""
PROMPTS = (
    "story",
    "story_opening",
    "story_scene",
    "story_speak",
    "story_again",
    "story_soften",
    "story_hint",
    "story_secrets",
    "story_cast",
    "story_chapter",
    "story_choices",
    "story_question",
    "story_ideas",
    "story_interview",
    "story_arc",
    "story_suggest",
    "story_ending",
    "story_more",
    "story_recap",
    "story_parts",
)


@dataclass(frozen=True, slots=True)
class SceneVerbs:
    """The verbs for which the writer writes a scene.

    `_roles` gives the models that are chosen in a request's place, `_own_names` whether characters post under their own
    names there.
    """

    _logs: Logs
    models: Models
    _prompts: Prompts
    _sessions: Sessions
    _votes: Votes
    _roles: Callable[[Request], Awaitable[dict[str, list[str]]]]
    _own_names: Callable[[Request], Awaitable[bool]]
    settings: StoryConfig
    writer: SceneWriter
    _recall: RecallConfig
    _adults: Adults

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        plans = {
            "start": self._start,
            "retry": self._retry,
            "act": self._act,
            "say": self._act,
            "continue": self._act,
            "end": self._act,
        }[request.verb]
        plan = await run.step("turn", lambda: plans(request), TurnPlan)
        if plan.intent:
            yield Stage(SCENE, "")
            yield Text(say("story.intent"))
            return
        async with aclosing(self.writer.scene(run, plan)) as events:
            async for event in events:
                yield event

    async def _start(self, request: Request) -> TurnPlan:
        """Create the story, and plan its opening scene. Raises UserError."""
        limits, space = self.settings, request.place.space
        premise = request.text.strip()
        if not any(map(str.isalnum, premise)):
            raise UserError("story.no_premise")
        if len(premise) > limits.premise_chars:
            raise UserError("story.long_premise", length=len(premise), limit=limits.premise_chars)
        options = {name: str(value) for name, value in request.options.items() if isinstance(value, str)}
        title, agreed = title_of(options.get("title") or premise), agreement(request)
        await check_rating(Story(settings={**agreed}), request, self._adults)
        await session_for(self._sessions, request, title)
        await self._logs.stories.create(spot(request.place), request.id, title, request.author.id)
        row = await self._logs.stories.story(space, request.id)
        assert row is not None, "it was made just now"
        roles = {
            name: options[name] for name in ("genre", "tone", "view", "length", "mode") if options.get(name)
        }
        author = request.author.id
        settings = {"title": title, "premise": premise, "gm": author, "language": request.locale, **roles}
        nodes = [node(request.id, "set", "set", settings, author=author)]
        if agreed:
            nodes.append(node(request.id, "safety", "safety", agreed, author=author))
        for n, (name, sheet) in enumerate(parse_cast(options.get("cast", ""))):
            nodes.append(node(request.id, f"cast-{n}", "cast", {"name": name, "sheet": sheet}, author=author))
        opening = node(
            request.id, "act", "act", {"mode": "open", "text": "", "name": request.author.name}, author=author
        )
        played = PlayedStory(row, request.id, Story())
        at = await self._logs.append(played, *nodes, opening)
        story = await self._logs.story(space, row.id, row.id, at)
        return await self.plan(request, PlayedStory(row, row.id, story), opening.id, at)

    async def _act(self, request: Request) -> TurnPlan:
        """Append the player's turn, and plan its scene. Raises UserError."""
        played = await self._logs.writable(request)
        story, text, limit = played.story, request.text.strip(), self.settings.turn_chars
        await check_rating(story, request, self._adults)
        if request.verb not in ("continue", "end") and not text:
            raise UserError("story.no_turn" if not request.files else "story.file_no_turn", limit=limit)
        if len(text) > limit:
            raise UserError("story.long_turn", length=len(text), limit=limit)
        if request.verb == "continue" and mode_of(story, self.settings) == "vote":
            return await self._tally(request, played)
        # After `/new` in its place, a turn makes plain text part of the story again.
        await session_for(self._sessions, request, played.row.title, over=True)
        if story.settings.get("zero"):  # the table begins without finishing session zero
            await self._logs.append(played, node(played.row.id, "begun", "set", {"zero": ""}))
        modes: dict[str, Mode] = {"continue": "continue", "say": "say", "end": "end"}
        mode = modes.get(request.verb, "act")
        self._check_turn(request, story)
        if mode_of(story, self.settings) != "gm":
            check_turn(story, request.author)
        character, text = speaker_and_words(story, request.author, text, request.proxied)
        body: dict[str, Any] = {"mode": mode, "text": text, "name": request.author.name}
        checks = checks_for(story, character, request.locale)
        body |= dice.roll_turn(text, words(request.locale), checks)
        if character:
            body["character"] = character
        author = request.author.id
        waits = mode_of(story, self.settings) == "gm" and not skipped_turns(story)
        if waits and story.settings.get("gm") not in (author, None):
            if mode == "end":
                raise UserError("story.gm_ends")
            intent = {"name": character or request.author.name, "text": text}
            await self._logs.record(played, request, "intent", intent)
            return TurnPlan(intent=True)
        # Speech does not use up a turn in a fight.
        fight, line = (
            nodes_of_turn(request, story, f"{request.id}/act", words(request.locale))
            if mode == "act"
            else ([], "")
        )
        if line:
            body["dice"] = [*body.get("dice", ()), line]
        return await self._append_act(request, played, body, fight)

    async def _append_act(
        self, request: Request, played: PlayedStory, body: dict[str, Any], more: Sequence[Node] = ()
    ) -> TurnPlan:
        act = node(request.id, "act", "act", body, author=request.author.id)
        return await self.append_turn(request, played, act, body["text"], more)

    async def append_turn(
        self, request: Request, played: PlayedStory, act: Node, text: str = "", more: Sequence[Node] = ()
    ) -> TurnPlan:
        """Append the turn `act` with the words `text` and the nodes `more`, and plan its scene.

        Raises UserError if the story's rating is not allowed here.
        """
        story, head = played.story, played.story.head
        await check_rating(story, request, self._adults)
        own_names = await self._own_names(request)
        # Dead characters stay dead unless a player says otherwise, which is stored before the scene is written.
        revivals = [
            node(request.id, f"lives-{n}", "corrected", body, turn=act.id, author=request.author.id)
            for n, name in enumerate(continuity.revived(text, story) if request.verb != "say" else ())
            if (body := {"character": name, "field": "dead", "value": "no"})
        ]
        # The story uses the language of the person who leads it; other people's presses do not change it.
        leads, language = story.settings.get("gm") == request.author.id, {"language": request.locale}
        settings: list[Node] = []
        if leads and story.settings.get("language") != request.locale:
            settings.append(node(request.id, "language", "set", language, author=request.author.id))
        at = await self._logs.append(played, *settings, act, *revivals, *more)
        story_then = await self._logs.story(played.row.space, played.row.id, played.branch, at)
        before = None
        if head is not None and (scene := head.scene) is not None:
            speaker = cast.speaker(story, head.act.speaker, own=own_names)
            before = PreviousMessage(head.shown_by, scene.text, head.stage, speaker, head.id)
        plan = await self.plan(request, replace(played, story=story_then), act.id, at)
        action = story_then.turns[act.id].act
        shown = own_names and not request.proxied and action.mode in ("act", "say")
        said_by = cast.speaker(story, action.character, own=True) if shown else None
        return replace(plan, before=before, said_by=said_by)

    async def votes_counted(self, run: Run) -> AsyncGenerator[Event, None]:
        """Write the scene of the choice with the most votes. Raises UserError without a vote."""
        request = run.request

        async def turn() -> TurnPlan:
            return await self._tally(request, await self._logs.played(request))

        plan = await run.step("turn", turn, TurnPlan)
        async with aclosing(self.writer.scene(run, plan)) as events:
            async for event in events:
                yield event

    async def _tally(self, request: Request, played: PlayedStory) -> TurnPlan:
        """Append the choice with the most votes, the first one in a tie, as the table's turn. Raises UserError."""
        head = played.story.head
        choices = head.scene.choices if head is not None and head.scene is not None else ()
        # Votes on the buttons of an earlier version do not count.
        if head is None or head.scene is None or not choices or head.scene.run != head.shown_by:
            raise TransientError("story.no_votes")
        # The scene's choices are the first group of buttons that its run has offered.
        counts = await self._votes.counts(request.place.space, head.shown_by, 0)
        votes = [counts.get(n, 0) for n in range(len(choices))]
        if not any(votes):
            raise TransientError("story.no_votes")
        winner = votes.index(max(votes))
        say = words(request.locale)
        result = say("story.voted", n=votes[winner], of=sum(votes), choice=choices[winner])
        body = {"mode": "act", "text": choices[winner], "name": say("story.table"), "dice": [result]}
        return await self._append_act(replace(request, author=Author("", "")), played, body)

    async def _retry(self, request: Request) -> TurnPlan:
        """Plan another version of the last scene (`plan_again`). Raises UserError."""
        played = await self._logs.writable(request)
        head = played.story.head
        if head is None:
            raise UserError("story.nothing_yet")
        plan = await self.plan_again(request, played, head)
        plan = replace(plan, soften=bool(request.options.get("soften")), hint=request.text.strip())
        scene = head.scene
        if scene is None or head.shown_by == request.id:
            return plan
        by = request.author.name
        before = PreviousMessage(
            head.shown_by, scene.text, head.stage, plan.speaker, head.id, plan.n, again=True, by=by
        )
        return replace(plan, before=before)

    async def plan_again(self, request: Request, played: PlayedStory, head: Turn) -> TurnPlan:
        """The plan for another version of the last turn's scene: from the same prompt, unless what that says about the
        turn, the state or the table's agreement has changed.

        Raises UserError if the story's rating is not allowed here.
        """
        at = head.scene.at if head.scene is not None else None
        if at is not None:
            then = await self._logs.story(played.row.space, played.row.id, played.branch, at)
            same = head.id in then.turns and then.turns[head.id].act_shown == head.act_shown
            same = same and played.story.corrections == then.corrections and played.story.ticks == then.ticks
            same = same and played.story.hidden & then.turns.keys() == then.hidden
            # The new version follows a safety agreement that was made since.
            same = same and agreed(then) == agreed(played.story) and then.arc == played.story.arc
            at = at if same and head.act == then.turns[head.id].act else None
        plan = await self.plan(request, played, head.id, at or played.story.seq)
        if at is not None and head.scene is not None:
            recalled, lore = await self._logs.searches_of(played.row.space, head.scene.id)
            plan = replace(plan, recalled=recalled, lore=lore or [])
        return plan

    def _check_turn(self, request: Request, story: Story) -> None:
        """Raise UserError if it is somebody else's turn. In a fight its own order counts, and the game master may
        end the story at any time.
        """
        ends = request.verb == "end" and leader(story) == request.author.id
        if story.initiative is not None or ends:
            return
        if mode_of(story, self.settings) == "round-robin" and (expected := next_in_order(story)) is not None:
            author, name = expected
            if author != request.author.id:
                raise TransientError("story.not_your_turn", name=name)

    async def plan_task(self, request: Request, may: Callable[[Story], None]) -> TurnPlan:
        """The plan for a task that adds to the story; `may` raises UserError if the task is not allowed."""
        played = await self._logs.writable(request)
        may(played.story)
        return await self.plan(request, played, "", played.story.seq)

    async def plan(self, request: Request, played: PlayedStory | None, turn: str, at: int) -> TurnPlan:
        """The plan for the turn's scene, or, if `turn` is "", for a task; `played` is None for a task without a story.

        Raises UserError if the story's rating is not allowed here.
        """
        story, limits = played.story if played is not None else Story(), self.settings
        await check_rating(story, request, self._adults)
        speaks = story.turns[turn].act.speaker if turn else ""
        own = bool(speaks) and await self._own_names(request)
        roles = await self._roles(request)
        models = self.models.with_roles(roles)
        writer = models.describe("writer")
        can = models.capabilities("writer") if writer is not None else None
        demo = can is not None and can.demo
        window = (await models.window("writer") if writer is not None else None) or limits.window
        length = str(story.settings.get("length") or limits.length)
        target_words = {"short": limits.short, "medium": limits.medium, "long": limits.long}.get(
            length, limits.medium
        )
        answer = min(room(target_words, None), window // 3)
        number = story.path.index(turn) + 1 if turn else 0
        recalls = self._recall.share if self._recall.strategy == "hybrid" and not demo else 0.0
        return TurnPlan(
            story=played.row.id if played is not None else "",
            branch=played.branch if played is not None else "",
            turn=turn,
            at=at,
            n=number,
            opening=number == 1,
            writer=writer,
            demo=demo,
            rolls=list(story.turns[turn].act.dice) if turn else [],
            prompts=await self._prompts.texts(request.place.space, PROMPTS),
            roles=roles,
            tokens=int(window * (limits.share - recalls)) - answer,
            window=window,
            recall_tokens=int(window * recalls),
            answer=answer,
            words=min(target_words, limits.short) if speaks else target_words,
            speaker=cast.speaker(story, speaks, own=own),
            recent=limits.recent,
            batch=limits.aligned,
            lore_depth=limits.lore_depth,
            lore_tokens=int(window * limits.lore_share),
            lore_near=limits.lore_near if story.lore and not demo else 0,
            choices=0 if turn and story.turns[turn].act.mode == "end" else limits.choices,
            check=str(story.settings.get("plot_check_mode") or limits.plot_check_mode),
            # Without extraction the bot never learns that an event has happened.
            nudge_after=limits.nudge_after if limits.extract else NEVER,
            phrase_scenes=limits.phrase_scenes,
            phrase_times=limits.phrase_times,
            ask_again=limits.ask_again and not demo,
            seconds=limits.choices_seconds,
            votes=mode_of(story, limits) == "vote",
            told=bool(turn),
        )


def parse_cast(listed: str) -> list[tuple[str, dict[str, str]]]:
    """The names and sheets of characters in a list such as "Mira: a diver; Bo, Kit"."""
    cast = []
    for part in listed.split(";"):
        names, _, about = part.partition(":")
        tidy = [" ".join(name.split())[:80] for name in names.split(",")]
        *others, last = [name for name in tidy if name] or [""]
        cast += [(name, {"about": ""}) for name in others]
        if last:
            cast.append((last, {"about": about.strip()[:2_000]}))
    return cast
