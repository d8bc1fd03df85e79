"""A turn of a story: taken, told to the writer, its scene shown as it comes and kept, and the ways to go on from it.

Knows no platform. What a run decides, it decides in its first step (`Taken`); the prompt is made from the log as it
stood then, so that a replay, and another version of the scene, read the same bytes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot import untrusted
from bot.conversation import session_for, title_of
from bot.events import (
    Author,
    Choice,
    Choices,
    Event,
    Notice,
    Request,
    Run,
    Speak,
    Speaking,
    Stage,
    Text,
    Unsaid,
    UserError,
)
from bot.llm.base import Message, Prompt, room
from bot.words import Words, words
from bot.works.story import cast, context, continuity, dice
from bot.works.story.choices import (
    Before,
    read_choices,
    stopcard,
    taken_away,
    ways,
    ways_after_refusal,
)
from bot.works.story.logs import Logs, Played, TakenAway, node, spot
from bot.works.story.order import mode_of, passed, whose
from bot.works.story.party import plays
from bot.works.story.presence import unknown_to
from bot.works.story.recalling import excerpts, query_of
from bot.works.story.safety import agreement, check_rating
from bot.works.story.story import Story
from bot.works.story.taken import Taken, called_up, choices_task, players, prompt, searched
from bot.works.story.turn import SCENE, Excerpt, Mode
from bot.works.story.writing import Writing

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.works.story.config import StoryConfig
    from bot.works.story.memory.config import RecallConfig
    from bot.works.story.memory.memory import Memory
    from bot.works.story.safety import Adults
    from storage.records import Records
    from storage.stories import Node

NEVER = 10**9
"""Scenes that no story has."""
PROMPTS = (
    "story",
    "story_opening",
    "story_scene",
    "story_speak",
    "story_again",
    "story_soften",
    "story_cast",
    "story_chapter",
    "story_choices",
    "story_question",
    "story_ideas",
    "story_recap",
    "story_parts",
)
PARTED = 5
"""Words of a turn that is worth parting."""

_log = logging.getLogger(__name__)


class Playing:
    """The verbs that have the writer write."""

    def __init__(
        self,
        logs: Logs,
        models: Models,
        prompts: Prompts,
        records: Records,
        roles: Callable[[Request], Awaitable[dict[str, list[str]]]],
        own_names: Callable[[Request], Awaitable[bool]],
        settings: StoryConfig,
        memory: Memory,
        recall: RecallConfig,
        adults: Adults,
    ) -> None:
        """`roles`: whose models a place has chosen itself. `own_names`: whether characters speak under theirs there."""
        self._logs = logs
        self.models = models
        self._own_names = own_names
        self._prompts = prompts
        self._sessions = records.sessions
        self._votes = records.votes
        self._roles = roles
        self.settings = settings
        self._memory = memory
        self._recall = recall
        self._adults = adults

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        take = {
            "start": self._start,
            "retry": self._retry,
            "act": self._act,
            "say": self._act,
            "continue": self._act,
        }[request.verb]

        async def turn() -> Taken:
            try:
                return await take(request)
            except TakenAway as error:
                return Taken(away=error.away)

        taken = await run.step("turn", turn, Taken)
        if taken.away is not None:
            for event in taken_away(taken.away, say):
                yield event
            return
        if taken.stale:
            yield Stage(SCENE, "")
            yield Text(say("story.stale"))
            way = Choice(say("story.fork_here"), f"/story fork --scene {taken.n}")
            apart = Choice(say("story.fork_apart"), f"{way.command} --thread")
            yield Choices(say("story.fork_instead"), (way, apart))
            return
        if taken.intent:
            yield Stage(SCENE, "")
            yield Text(say("story.intent"))
            return
        async with aclosing(self.scene(run, taken, say)) as events:
            async for event in events:
                yield event

    async def _start(self, request: Request) -> Taken:
        """Raises UserError."""
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
        settings = {"title": title, "premise": premise, "gm": author, **roles}
        nodes = [node(request.id, "set", "set", settings, author=author)]
        if agreed:
            nodes.append(node(request.id, "safety", "safety", agreed, author=author))
        for n, (name, sheet) in enumerate(people(options.get("cast", ""))):
            nodes.append(node(request.id, f"cast-{n}", "cast", {"name": name, "sheet": sheet}, author=author))
        opening = node(
            request.id, "act", "act", {"mode": "open", "text": "", "name": request.author.name}, author=author
        )
        played = Played(row, request.id, Story())
        at = await self._logs.append(played, *nodes, opening)
        story = await self._logs.story(space, row.id, row.id, at)
        return await self.taken(request, Played(row, row.id, story), opening.id, at)

    async def _act(self, request: Request) -> Taken:
        """Raises UserError, or TakenAway."""
        played = await self._logs.going_on(request)
        story, text, limit = played.story, request.text.strip(), self.settings.turn_chars
        await check_rating(story, request, self._adults)
        if request.verb != "continue" and not text:
            raise UserError("story.no_turn" if not request.files else "story.file_no_turn", limit=limit)
        if len(text) > limit:
            raise UserError("story.long_turn", length=len(text), limit=limit)
        if (stale := pressed_late(request, story)) is not None:
            return stale
        if request.verb == "continue" and mode_of(story, self.settings) == "vote":
            return await self._tally(request, played)
        if story.settings.get("zero"):  # the table begins without the rest of its session zero
            await self._logs.append(played, node(played.row.id, "begun", "set", {"zero": ""}))
        mode: Mode = "continue" if request.verb == "continue" else "say" if request.verb == "say" else "act"
        self._may(request, story)
        body: dict[str, Any] = {"mode": mode, "text": text, "name": request.author.name}
        rolls = [dice.rolled(roll) for roll in dice.find(text)]
        if rolls:
            body["rolls"] = dice.for_writer(rolls).splitlines()
            body["dice"] = dice.as_text(rolls, words(request.locale)).splitlines()
        if character := plays(story, request.author):
            body["character"] = character
        author = request.author.id
        waits = mode_of(story, self.settings) == "gm" and not passed(story)
        if waits and story.settings.get("gm") not in (author, None):
            intent = {"name": character or request.author.name, "text": text}
            await self._logs.append(played, node(request.id, "intent", "intent", intent, author=author))
            return Taken(intent=True)
        return await self._played(request, played, body)

    async def _played(self, request: Request, played: Played, body: dict[str, Any]) -> Taken:
        act = node(request.id, "act", "act", body, author=request.author.id)
        taken = await self.taken_up(request, played, act, body["text"])
        return replace(taken, rolls=list(body.get("dice", ())))

    async def taken_up(self, request: Request, played: Played, act: Node, text: str = "") -> Taken:
        """The turn is taken: from now on the story goes on from it. `text` may be one of the choices before.

        Raises UserError where the story is not to be told.
        """
        story, head = played.story, played.story.head
        await check_rating(story, request, self._adults)
        own = await self._own_names(request)
        # Who is dead stays so unless a player says otherwise, which counts before the scene is written.
        lives = [
            node(request.id, f"lives-{n}", "corrected", body, turn=act.id, author=request.author.id)
            for n, name in enumerate(continuity.raised(text, story) if request.verb != "say" else ())
            if (body := {"character": name, "field": "dead", "value": "no"})
        ]
        at = await self._logs.append(played, act, *lives)
        story_then = await self._logs.story(played.row.space, played.row.id, played.branch, at)
        before = None
        if head is not None and (scene := head.scene) is not None and scene.choices:
            chosen = [n for n, choice in enumerate(scene.choices) if choice == text]
            number = story.path.index(head.id) + 1
            title = words(request.locale)("story.scene", n=number)
            before = Before(
                head.shown_by,
                title,
                scene.text,
                list(scene.choices),
                chosen[0] if chosen else None,
                head.stage,
                cast.speaker(story, head.act.speaker, own=own),
                head.id,
                scene.id,
                number,
            )
        return replace(
            await self.taken(request, replace(played, story=story_then), act.id, at), before=before
        )

    async def votes_counted(self, run: Run) -> AsyncGenerator[Event, None]:
        """The scene of what the table has voted for, whoever asks. Raises UserError where nobody has."""
        request = run.request

        async def turn() -> Taken:
            return await self._tally(request, await self._logs.played(request))

        taken = await run.step("turn", turn, Taken)
        async with aclosing(self.scene(run, taken, words(request.locale))) as events:
            async for event in events:
                yield event

    async def _tally(self, request: Request, played: Played) -> Taken:
        """The choice that most people want, as the table's turn; of several the first. Raises UserError."""
        head = played.story.head
        choices = head.scene.choices if head is not None and head.scene is not None else ()
        # Under a version that was flipped to, the buttons are no vote.
        if head is None or head.scene is None or not choices or head.scene.run != head.shown_by:
            raise UserError("story.no_votes")
        # The scene's choices are the first group that its run has offered.
        counts = await self._votes.counts(request.place.space, head.shown_by, 0)
        counted = [counts.get(n, 0) for n in range(len(choices))]
        if not any(counted):
            raise UserError("story.no_votes")
        winner = counted.index(max(counted))
        say = words(request.locale)
        voted = say("story.voted", n=counted[winner], of=sum(counted), choice=choices[winner])
        body = {"mode": "act", "text": choices[winner], "name": say("story.table")}
        taken = await self._played(replace(request, author=Author("", "")), played, body)
        return replace(taken, rolls=[voted, *taken.rolls])

    async def _retry(self, request: Request) -> Taken:
        """From the same words as the version that stands there, unless the turn was worded anew or the state corrected.

        Raises UserError, or TakenAway.
        """
        played = await self._logs.going_on(request)
        head = played.story.head
        if head is None:
            raise UserError("story.nothing_yet")
        if (stale := pressed_late(request, played.story)) is not None:
            return stale
        at = head.scene.at if head.scene is not None else None
        if at is not None:
            then = await self._logs.story(played.row.space, played.row.id, played.branch, at)
            same = head.id in then.turns and then.turns[head.id].act_shown == head.act_shown
            same = same and played.story.corrections == then.corrections and played.story.ticks == then.ticks
            # What the table has agreed on since holds for another version, too.
            same = same and context.agreed(then) == context.agreed(played.story)
            at = at if same and head.act == then.turns[head.id].act else None
        taken = await self.taken(request, played, head.id, at or played.story.seq)
        taken = replace(taken, soften=bool(request.options.get("soften")))
        scene = head.scene
        if at is not None and scene is not None and scene.recalled is not None:
            taken = replace(taken, recalled=list(scene.recalled))
        if at is not None and scene is not None:
            taken = replace(taken, lore=list(scene.lore or ()))
        if scene is None or head.shown_by == request.id:
            return taken
        title = words(request.locale)("story.scene", n=taken.n)
        version, choices = head.shown_by, list(scene.choices)
        before = Before(
            version,
            title,
            scene.text,
            choices,
            stage=head.stage,
            speaker=taken.speaker,
            turn=head.id,
            again=True,
        )
        return replace(taken, before=before)

    def _may(self, request: Request, story: Story) -> None:
        """Raises UserError where it is somebody else's turn."""
        if mode_of(story, self.settings) == "round-robin" and (expected := whose(story)) is not None:
            author, name = expected
            if author != request.author.id:
                raise UserError("story.not_your_turn", name=name)

    async def task(self, request: Request, may: Callable[[Story], None]) -> Taken:
        """A task about the story as it stands, which is to be added to; `may` raises a UserError where it may not be.

        Raises UserError.
        """
        try:
            played = await self._logs.going_on(request)
        except TakenAway as error:
            return Taken(away=error.away)
        may(played.story)
        return await self.taken(request, played, "", played.story.seq)

    async def taken(self, request: Request, played: Played | None, turn: str, at: int) -> Taken:
        """`played` is None for a task that is about no story; `turn` is then "".

        Raises UserError where the story is not to be told.
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
        wordings = await self._prompts.all(request.place.space)
        return Taken(
            story=played.row.id if played is not None else "",
            branch=played.branch if played is not None else "",
            turn=turn,
            at=at,
            n=number,
            opening=number == 1,
            writer=writer,
            demo=demo,
            prompts={wording.text.name: wording.text for wording in wordings if wording.text.name in PROMPTS},
            roles=roles,
            tokens=int(window * (limits.share - recalls - (limits.lore_share if story.lore else 0))) - answer,
            recall_tokens=int(window * recalls),
            answer=answer,
            words=min(target_words, limits.short) if speaks else target_words,
            speaker=cast.speaker(story, speaks, own=own),
            recent=limits.recent,
            batch=limits.aligned,
            lore_depth=limits.lore_depth,
            lore_tokens=int(window * limits.lore_share),
            lore_near=limits.lore_near if story.lore and not demo else 0,
            choices=limits.choices,
            check=str(story.settings.get("plot_check_mode") or limits.plot_check_mode),
            # Where nobody looks into scenes, nothing is ever seen to happen.
            nudge_after=limits.nudge_after if limits.extract else NEVER,
            phrase_scenes=limits.phrase_scenes,
            phrase_times=limits.phrase_times,
            ask_again=limits.ask_again and not demo,
            seconds=limits.choices_seconds,
            votes=mode_of(story, limits) == "vote",
        )

    async def scene(self, run: Run, taken: Taken, say: Words) -> AsyncGenerator[Event, None]:
        """The scene as it is written, and what can be done after it; nothing of one that a stop card has taken away."""
        with self._logs.being_written(taken.turn, run.id):
            story = await self._logs.story(run.request.place.space, taken.story, taken.branch)
            if taken.turn in story.carded:  # a crash came in between
                yield Stage(taken.stage, "")
                yield Text(say("story.carded"))
                return
            async with aclosing(self._scene(run, taken, say)) as events:
                async for event in events:
                    yield event

    async def _scene(self, run: Run, taken: Taken, say: Words) -> AsyncGenerator[Event, None]:
        space = run.request.place.space
        if taken.lore is None and taken.lore_near:
            lore = await run.step(f"lore-{taken.turn}", lambda: self._near(space, taken), list[str])
            taken = replace(taken, lore=lore)
        if taken.recalled is None and taken.recall_tokens and taken.n > taken.recent + taken.batch:
            recalled = await run.step(
                f"recalled-{taken.turn}", lambda: self._recalled(run, taken), list[Excerpt]
            )
            taken = replace(taken, recalled=recalled)
        prompt_sent = await self.asked(space, taken)
        card = stopcard(taken.turn, say)
        yield Stage(taken.stage, say("story.scene", n=taken.n), taken.speaker, meanwhile=card)
        if run.request.files:
            yield Notice(say("story.file_unread"))
        if taken.branched:
            yield Notice(say("story.edited_branched", name=taken.branched))
        for line in taken.rolls:
            yield Text(f"🎲 {line}\n\n")
        if taken.demo and taken.opening:
            yield Notice(say("story.demo"))
        if taken.writer is None:
            yield Notice(say("story.no_writer"))
            return
        story = await self._logs.story(space, taken.story, taken.branch, taken.at)
        writing = Writing(self.models.with_roles(taken.roles), run, taken, players(story, taken))
        narrator = taken.speaker.name if taken.speaker else "narrator"
        if taken.before is not None and taken.before.again:
            yield Unsaid(taken.before.run, taken.before.stage)
        yield Speaking(taken.stage, narrator)
        try:
            async with aclosing(writing.events(prompt_sent, say)) as events:
                async for event in events:
                    yield event
        except UserError as error:
            yield Notice(say(error.key, **error.values))
        finally:
            # Also when stopped: what was shown has happened, and the story can go on from it.
            if text := writing.text:
                await self._keep(run, taken, text, writing.acted_for, stopped=writing.ended is None)
        if taken.before is not None:  # not sooner: on some platforms it would keep the first words waiting
            now = await self._logs.story(space, taken.story, taken.branch)
            yield taken.before.greyed(now, say)
        text, completion = writing.text, writing.ended
        if writing.acted_for:
            yield Notice(say("story.acts_for", names=", ".join(writing.acted_for)))
        if completion is not None and completion.finish == "refusal":
            yield Notice(say("story.finish_refusal"))
            yield ways_after_refusal(say)
        elif not text:
            yield Notice(say("story.nothing_written"))
        elif completion is not None and completion.finish in ("length", "cut") and not taken.demo:
            yield Notice(say(f"story.finish_{completion.finish}"))
        elif text in (message.text for message in prompt_sent.messages[-4:]):
            yield Notice(say("story.repeated"))
        if text:
            yield Speak(text, taken.stage, narrator)
        if taken.more:
            yield Choices("", (card,))
            return
        offered: list[str] = []
        if text and completion is not None and (completion.finish == "end" or taken.demo) and taken.choices:
            offered = await run.step(
                "choices", lambda: self._choices(run, taken, prompt_sent, text), list[str]
            )
        story_now = await self._logs.story(space, taken.story, taken.branch)
        turn = story_now.turns.get(taken.turn)
        for group in ways(offered, turn, say, votes=taken.votes):
            yield group

    async def asked(self, space: str, taken: Taken) -> Prompt:
        """The prompt for the turn. A lorebook may be long, so it is looked through in a thread."""
        story = await self._logs.story(space, taken.story, taken.branch, taken.at)
        lore: list[str] = []
        if story.lore:
            lore = await asyncio.to_thread(called_up, *searched(story, taken), taken)
            # While the thread ran, the story may have gone on.
            story = await self._logs.story(space, taken.story, taken.branch, taken.at)
        return prompt(story, taken, lore)

    async def _near(self, space: str, taken: Taken) -> list[str]:
        """The entries of the lorebook that are near the turn in meaning."""
        story = await self._logs.story(space, taken.story, taken.branch, taken.at)
        text = query_of(story, story.turns[taken.turn], self._recall).text
        return await self._memory.lore(
            space, taken.story, story, text, taken.lore_near, self.settings.lore_likeness
        )

    async def _recalled(self, run: Run, taken: Taken) -> list[Excerpt]:
        """The past that bears on the turn and that its prompt does not tell."""
        space = run.request.place.space
        prompt_sent = await self.asked(space, taken)
        story = await self._logs.story(space, taken.story, taken.branch, taken.at)
        turn = story.turns[taken.turn]
        without = {turn.id, *context.told_in(story, prompt_sent)}
        if turn.act.speaker:  # who replies knows no more than what it was there for
            without |= unknown_to(story, turn.act.speaker)
        query = query_of(story, turn, self._recall)
        query = replace(query, parts=await self._parts(run, taken, query.text))
        return await excerpts(
            self._memory,
            space,
            taken.story,
            taken.branch,
            story,
            query,
            self._recall,
            taken.recall_tokens,
            without,
        )

    async def _parts(self, run: Run, taken: Taken, text: str) -> tuple[str, ...]:
        """The things that a turn speaks of, each by itself; none where no small model of its own tells in time."""
        models, by = self.models.with_roles(taken.roles), self._recall
        can = models.capabilities("extractor")
        if can is None or can.demo or models.describe("extractor") == taken.writer:
            return ()  # another answer of the writer's would keep the first words waiting
        if not by.decomposition or len(text.split()) < PARTED:
            return ()
        system, task = taken.prompts["story_parts"].fill(text=untrusted.data(text), most=str(by.sub_queries))
        prompt_of_parts = Prompt(system, (Message("user", task),), max_tokens=room(20 * by.sub_queries, None))
        try:
            answer = await models.ask(run, "extractor", "parts", prompt_of_parts, within=by.seconds)
        except UserError as error:
            _log.info("a turn of %s is searched for as a whole: %s", run.id, error)
            return ()
        return tuple(read_choices(answer.text, by.sub_queries))

    async def _keep(
        self, run: Run, taken: Taken, text: str, acted_for: Sequence[str], *, stopped: bool
    ) -> None:
        body: dict[str, Any] = {"text": text, "at": taken.at}
        if acted_for:
            body["acts_for"] = list(acted_for)
        if taken.recalled is not None:
            body["recalled"] = [[part.turns, part.start, part.chars] for part in taken.recalled]
        if taken.lore is not None:
            body["lore"] = taken.lore
        if taken.stage != SCENE:
            body["stage"] = taken.stage
        if stopped:
            body["stopped"] = True
        kept = node(run.id, taken.stage, "scene", body, turn=taken.turn)
        await self._logs.stories.append(run.request.place.space, taken.story, taken.branch, [kept])

    async def _choices(self, run: Run, taken: Taken, asked: Prompt, scene: str) -> list[str]:
        """Ways to go on, and kept with the scene; none where the writer gives none in time."""
        if taken.demo:
            return words(run.request.locale)("story.demo_choices").split("|")[: taken.choices]
        story = await self._logs.story(run.request.place.space, taken.story, taken.branch)
        task = choices_task(story, taken)
        # In words and not by a schema: on some services another form of answer would empty the cache.
        later = context.then(asked, scene, task, answer=min(room(25 * taken.choices, None), taken.answer))
        try:
            models = self.models.with_roles(taken.roles)
            told = await models.ask(run, "writer", "choices", later, within=taken.seconds)
        except UserError as error:
            _log.info("no choices for %s: %s", run.id, error)
            return []
        choices = read_choices(told.text, taken.choices)
        if choices:
            body = {"scene": f"{run.id}/{taken.stage}", "choices": choices}
            kept = node(run.id, "choices", "choices", body, turn=taken.turn)
            await self._logs.stories.append(run.request.place.space, taken.story, taken.branch, [kept])
        return choices


def pressed_late(request: Request, story: Story) -> Taken | None:
    """Whether a button was pressed under a scene that the story has left behind. Raises UserError for what is gone."""
    if not request.answers or (story.head is not None and story.head.shown_by == request.answers):
        return None
    pressed = next((turn for turn in story.told if turn.shown_by == request.answers), None)
    if any(turn.shown_by == request.answers for id, turn in story.turns.items() if id in story.carded):
        return None  # under what stands there since a stop card was played
    if pressed is not None:
        return Taken(stale=pressed.id, n=story.path.index(pressed.id) + 1)
    # In a terminal "continue" is typed, and no press of what was taken back; another version is offered elsewhere, too.
    if request.verb not in ("continue", "retry"):
        raise UserError("story.gone")
    return None


def people(given: str) -> list[tuple[str, dict[str, str]]]:
    """Characters as people list them, each a name and a sheet: "Mira: a diver; Bo", or "Mira, Bo" without sheets."""
    cast = []
    for part in given.split(";"):
        names, _, about = part.partition(":")
        tidy = [" ".join(name.split())[:80] for name in names.split(",")]
        *others, last = [name for name in tidy if name] or [""]
        cast += [(name, {"about": ""}) for name in others]
        if last:
            cast.append((last, {"about": about.strip()[:2_000]}))
    return cast
