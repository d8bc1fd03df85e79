"""The table's verbs besides writing: undo and redo, branches, cast, notes, whose turn it is.

Asks no model. Each verb appends to the log, or only reads it, and says in a sentence what holds now.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from bot import mention
from bot.commands import ON_MESSAGE, UNDER
from bot.conversation import session_for
from bot.events import (
    Answered,
    Changed,
    Choice,
    Choices,
    Elsewhere,
    Event,
    Hush,
    Link,
    Picture,
    Place,
    Request,
    Run,
    Speaker,
    Stage,
    Status,
    Text,
    UserError,
)
from bot.words import Words, words
from bot.works.story import limits
from bot.works.story.extraction.stretches import is_line
from bot.works.story.log.logs import WRITTEN, Logs, PlayedStory, node, spot
from bot.works.story.log.nodes import MODES
from bot.works.story.log.story import Story
from bot.works.story.log.turn import SCENE, Turn
from bot.works.story.scene.choices import below_dice, scene_changed, ways, words_of
from bot.works.story.table.order import last_taken, masters, mode_of, passed, whose
from bot.works.story.table.safety import agreed_lines, check_rating
from bot.works.story.table.tree import Branches, lines
from bot.works.story.world import cast
from bot.works.story.world.cast import CAST, NAME_CHARS
from bot.works.story.world.lorebook import LORE, LORE_CHARS
from storage.stories import Spot

if TYPE_CHECKING:
    from bot.kind import Runs
    from bot.works.story.config import StoryConfig
    from bot.works.story.scene.buttons import Buttons
    from bot.works.story.table.safety import Adults
    from bot.works.story.world.presets import Presets
    from storage.sessions import Sessions
    from storage.stories import StoryRow

MEMORY_CHARS: Final = limits.NOTE_CHARS
MEMORIES = 50
LISTED = 40
LAST_LINES = 3
"""The last lines of a chat log, shown where it is opened."""
IDEAS_SHOWN = 10
APART = "thread"
"""The key of the run that begins a branch in its own thread."""


@dataclass(frozen=True, slots=True)
class ShownScene:
    """The new content of a scene's message."""

    run: str
    turn: str
    n: int
    text: str
    choices: list[str] = field(default_factory=list)
    stage: str = SCENE
    speaker: Speaker | None = None


@dataclass(frozen=True, slots=True)
class OpenedBranch:
    """The beginning of a branch's own thread: its name, the scene after which it begins, and its last scene as
    shown.
    """

    name: str
    n: int
    scene: ShownScene | None = None


@dataclass(frozen=True, slots=True)
class TurnShown:
    """A turn whose message changes: `speaker` is who speaks in its scene."""

    turn: str
    speaker: Speaker | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a verb: a key of the catalogue or a text, and what changes in other messages."""

    key: str = ""
    values: dict[str, str | int] = field(default_factory=dict)
    text: str = ""
    title: str = ""
    turns: list[TurnShown] = field(default_factory=list)
    choices: list[list[str]] = field(default_factory=list)
    """A label and a command line each."""
    taken_from: list[Spot] = field(default_factory=list)
    """The threads that played the branch until now; a scene may still be being written there."""
    form: str = ""
    """The line whose form a button opens for a new character."""
    hush: Hush | None = None
    """A version that does not count any more; it is not read aloud either."""
    posts: bool = False
    """No message shows the present scene yet: a run of its own posts it for everybody."""


@dataclass(frozen=True, slots=True)
class Table:
    """`_own_names`: whether characters post under their own names in the request's place."""

    _logs: Logs
    _sessions: Sessions
    _presets: Presets
    _own_names: Callable[[Request], Awaitable[bool]]
    _settings: StoryConfig
    _runs: Runs
    _adults: Adults
    _buttons: Buttons

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        verbs: dict[str, Callable[[Request, Words], Awaitable[Outcome]]] = {
            "undo": self._undo,
            "redo": self._redo,
            "flip": self._flip,
            "edit": self._edit,
            "fork": self._fork,
            "switch": self._switch,
            "cast": self._cast,
            "direct": self._direct,
            "remember": self._remember,
            "lore": self._lore,
            "relation": self._relation,
            "mode": self._mode,
            "pass": self._pass,
            "show": self._show,
            "open": self._open,
            "ooc": self._ooc,
        }
        done = await run.step("done", lambda: verbs[request.verb](request, say), Outcome)
        if done.hush is not None:
            yield done.hush
        for place in done.taken_from:
            yield Status(say("story.waits_for_scene"))
            await self._settled(place)
        yield Stage(request.verb, done.title)
        if done.key == "story.nothing_yet" and await run.step("told", lambda: self._told(request), bool):
            yield Text(say("story.opened"))
            async with aclosing(self.posted(run)) as events:
                async for event in events:
                    yield event
            return
        text = done.text or say(done.key, **done.values)
        if done.key == "story.nothing_yet":  # once no other thread writes to it any more
            text = _last(await self._logs.played(request)) or text
        yield Text(text)
        if done.choices:
            yield Choices(say("story.what_now"), tuple(Choice(label, line) for label, line in done.choices))
        if done.form:
            new = Choice(say("story.new_character"), done.form, say("story.who_is_it"), form=True)
            yield Choices(say("story.add_to_cast"), (new,))
        if done.posts:
            await run.begin("posted", "posted", for_all=True)
        for shown in done.turns:
            if (played := await self._logs.here(request.place)) is None:
                return
            story, turn = played.story, played.story.turns.get(shown.turn)
            if turn is not None and turn.scene is not None and turn.shown_by and turn.id not in story.carded:
                by = request.author.name
                yield scene_changed(story, turn, words_of(story, request), shown.speaker, by=by)

    async def _told(self, request: Request) -> bool:
        """Whether a scene is the last of what was told, and not a line of a chat log."""
        head = (await self._logs.played(request)).story.head
        return head is not None and head.scene is not None

    async def posted(self, run: Run) -> AsyncGenerator[Event, None]:
        """Post the present scene in a message that shows it from now on; the one that has shown it loses its buttons.

        Begun by another run, only where no message shows it yet.
        """
        request = run.request

        async def moved() -> list[ShownScene]:
            played = await self._logs.played(request)
            turn = played.story.head
            if turn is None or turn.scene is None or (request.parent and turn.shown_by):
                return []
            shown = await self._shown(request, played.story, turn)
            body = {"scene": turn.scene.id, "run": run.id}
            await self._logs.append(played, node(run.id, "flip", "flip", body, turn=turn.id))
            return [shown] if shown is not None else []

        for before in await run.step("posted", moved, list[ShownScene]):
            if (played := await self._logs.here(request.place)) is None:
                return
            say, turn = words_of(played.story, request), played.story.turns[before.turn]
            if turn is not played.story.head:  # after a crash, it may have gone on
                return
            scene = scene_changed(played.story, turn, say, before.speaker)
            yield Stage(SCENE, scene.title, before.speaker, answer=True)
            for content in scene.contents:
                yield content
            if before.run:
                moved_to = (scene.contents[0], Link(run.id, say("story.where_it_goes_on")))
                yield Changed(
                    before.run, before.stage, scene.title, moved_to, in_place=True, speaker=before.speaker
                )

    async def _settled(self, spot: Spot) -> None:
        place = Place(spot.platform, spot.space, spot.channel, spot.thread)
        await self._runs.settled(place, "story", (*WRITTEN, "cast", "reword"))

    async def _play(self, request: Request, story: str, branch: str) -> list[Spot]:
        """Play it here; returns where it was played until now."""
        rows = await self._logs.stories.play(spot(request.place), story, branch, request.id)
        return [row.spot for row in rows]

    async def branches(self, run: Run) -> AsyncGenerator[Event, None]:
        """The tree of branches, as text and as a picture."""
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

    async def _speaker(self, request: Request, story: Story, turn: Turn) -> Speaker | None:
        speaks = turn.act.speaker
        return cast.speaker(story, speaks, own=bool(speaks) and await self._own_names(request))

    async def _changed(self, request: Request, story: Story, *turns: Turn | None) -> list[TurnShown]:
        shown = [turn for turn in turns if turn is not None and turn.shown_by]
        return [TurnShown(turn.id, await self._speaker(request, story, turn)) for turn in shown]

    async def _shown(self, request: Request, story: Story, turn: Turn) -> ShownScene | None:
        """The turn's message with the version that counts; None where nothing was written."""
        if (scene := turn.scene) is None:
            return None
        speaks, number = await self._speaker(request, story, turn), story.path.index(turn.id) + 1
        choices = list(scene.choices)
        return ShownScene(turn.shown_by, turn.id, number, scene.text, choices, turn.stage, speaks)

    async def _undo(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        story = played.story
        if (head := story.head) is None:
            raise UserError("story.nothing_to_undo")
        number = story.length
        to = story.before(head.id)
        await self._logs.record(played, request, "head", {}, turn=to)
        ways = [[say("story.button_redo"), "/story redo"]]
        turns = await self._changed(request, story, head, story.turns.get(to))
        return Outcome("story.undone", {"n": number}, choices=ways, hush=_hush_of(head), turns=turns)

    async def _redo(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        if (after := played.story.next) is None:
            raise UserError("story.nothing_to_redo")
        number, head = played.story.length + 1, played.story.head
        await self._logs.record(played, request, "head", {}, turn=after.id)
        turns = await self._changed(request, played.story, after, head)
        return Outcome("story.redone", {"n": number}, turns=turns)

    async def _flip(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        turn = played.story.head
        if turn is None or turn.scene is None:
            raise UserError("story.nothing_yet")
        versions, now = turn.versions, turn.versions.index(turn.scene)
        to = request.text.strip().casefold()
        if to.isdecimal():
            chosen = int(to) - 1
        else:
            chosen = (now + (-1 if to in ("back", "previous", "voltar", "anterior") else 1)) % len(versions)
        if not 0 <= chosen < len(versions):
            raise UserError("story.no_version", n=to, count=len(versions))
        scene, number = versions[chosen], played.story.path.index(turn.id) + 1
        body = {"scene": scene.id}
        await self._logs.record(played, request, "flip", body, turn=turn.id)
        values: dict[str, str | int] = {"at": chosen + 1, "count": len(versions), "n": number}
        hush = _hush_of(turn) if chosen != now else None
        turns = await self._changed(request, played.story, turn)
        return Outcome("story.flipped", values, turns=turns, hush=hush, posts=not turn.shown_by)

    async def _edit(self, request: Request, say: Words) -> Outcome:
        """A version of the last scene in a person's own words."""
        played = await self._logs.writable(request)
        turn, text = played.story.head, request.text.strip()
        if turn is None:
            raise UserError("story.nothing_yet")
        if not text:
            raise UserError("story.no_turn")
        run, stage = turn.shown_by, turn.stage
        turns = await self._changed(request, played.story, turn)
        body: dict[str, Any] = {"text": text, "edited": True, "run": run or request.id}
        if stage != SCENE:
            body["stage"] = stage
        await self._logs.record(played, request, "scene", body, turn=turn.id)
        number = played.story.path.index(turn.id) + 1
        return Outcome("story.edited", {"n": number}, turns=turns, hush=_hush_of(turn), posts=not run)

    async def apart(self, run: Run) -> AsyncGenerator[Event, None]:
        """Fork into a new thread; the thread of the request is not changed."""
        request, say = run.request, words(run.request.locale)

        async def doing() -> Outcome:
            run.new_thread(APART, "…")  # raises where there can be none
            played, at, name = await self._leaving(request, say)
            await self._leave(request, played, at, name)
            return Outcome("story.forked_apart", {"n": at, "name": name, "story": played.row.id})

        done = await run.step("done", doing, Outcome)
        name = str(done.values["name"])
        yield Stage("fork", "")
        yield Text(say(done.key, **done.values))
        yield Elsewhere(run.new_thread(APART, name), name)
        yield Answered()  # shown before the new thread links back to it
        await run.begin(APART, "opened", options={"story": done.values["story"]}, thread_title=name)

    async def opened(self, run: Run) -> AsyncGenerator[Event, None]:
        """Begin a branch's own thread: its last scene, and where it comes from."""
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
            scene = await self._shown(request, played.story, turn) if turn is not None else None
            if turn is not None and turn.scene is not None:
                body = {"scene": turn.scene.id, "run": run.id}
                await self._logs.append(played, node(run.id, "flip", "flip", body, turn=turn.id))
            return OpenedBranch(name, played.story.length, scene)

        branch_opened = await run.step("opened", begun, OpenedBranch)
        yield Stage(
            "branch", branch_opened.name
        )  # apart from the scene, whose message changes with the next turn
        if (scene := branch_opened.scene) is None:
            yield Text(say("story.nothing_yet"))
        else:
            yield Link(scene.run, say("story.back_there"))
            now = await self._logs.story(request.place.space, story, branch)
            turn, say_scene = now.turns.get(scene.turn), words_of(now, request)
            yield Stage(SCENE, say_scene("story.scene", n=scene.n), scene.speaker, answer=True)
            yield below_dice(turn, scene.text)
            for group in ways(scene.choices, turn, say_scene):
                yield group
        yield Answered()
        forked = Text(say("story.forked_apart", n=branch_opened.n, name=branch_opened.name))
        yield Changed(branch, "fork", "", (forked, Link(run.id, branch_opened.name)), in_place=True)

    async def _fork(self, request: Request, say: Words) -> Outcome:
        played, at, name = await self._leaving(request, say)
        await self._leave(request, played, at, name)
        await self._play(request, played.row.id, request.id)
        return Outcome("story.forked", {"n": at, "name": name})

    async def _leave(self, request: Request, played: PlayedStory, at: int, name: str) -> None:
        """Make the branch, which has the request's id."""
        turn = played.story.path[at - 1] if at else ""
        await self._logs.fork(played, request.id, name, turn, request.author.id)

    async def _leaving(self, request: Request, say: Words) -> tuple[PlayedStory, int, str]:
        """The branch and the scene after which to fork, and the new branch's name. Raises UserError."""
        played = await self._logs.played(request)
        if (place := played.place) is not None and place.away:
            if (player := await self._logs.stories.player(place)) is not None:
                await self._settled(player.spot)
            played = await self._logs.played(request)
        number = request.options.get("scene")
        if UNDER in request.options:
            played, turn = await self._buttons.scene(request, played)
            number = played.story.path.index(turn) + 1
        elif stage := request.options.get(ON_MESSAGE):
            played, number = await self._scene_of(played, request.answers, str(stage))
        story = played.story
        at = number if isinstance(number, int) else story.length
        if not 0 <= at <= len(story.path):
            raise UserError("story.no_scene", n=at, count=len(story.path))
        return played, at, " ".join(request.text.split())[:NAME_CHARS] or say("story.branch_of", n=at)

    async def _scene_of(self, played: PlayedStory, run: str, stage: str) -> tuple[PlayedStory, int]:
        """The branch with the scene that a run shows as this stage, and the scene's number.

        Raises UserError where it shows none.
        """
        space, story = played.row.space, played.row.id
        nodes = await self._logs.stories.of_run(space, run)
        # A run may have several scenes: the stage's own comes first.
        for own in sorted(nodes, key=lambda row_of_run: row_of_run.id != f"{run}/{stage}"):
            if own.kind in ("act", "scene") and own.story_id == story:
                if own.turn not in played.story.path:
                    own_story = await self._logs.story(space, story, own.branch_id)
                    played = replace(played, branch=own.branch_id, story=own_story)
                if own.turn in played.story.path:
                    return played, played.story.path.index(own.turn) + 1
        raise UserError("story.no_scene_here")

    async def _switch(self, request: Request, say: Words) -> Outcome:
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
            title=_title(played.row, say),
            taken_from=taken_from,
        )

    async def _cast(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        sheets, options = played.story.cast, request.options
        word, typed = cast.typed(request.text, options)
        if word in ("mute", "unmute"):
            return await self._mute(request, played, typed, muted=word == "mute")
        name, _, about = request.text.partition(":")
        name = " ".join(name.split())[:NAME_CHARS]
        if not name:
            text = f"{cast.lines(played.story, say)}\n\n{say('story.cast_words')}"
            return Outcome(text=text, title=say("story.cast", n=len(sheets)), form="/story cast")
        character = cast.called(played.story, name) or name
        if options.get("remove"):
            if character not in sheets:
                raise UserError("story.no_character", name=name)
            sheet = None
        else:
            if character not in sheets and len(sheets) >= CAST:
                raise UserError("story.many_characters", limit=CAST)
            sheet = dict(sheets.get(character, {}))
            fields = {
                "about": (about.strip() or str(options.get("about") or ""))[:4_000],
                "style": options.get("style"),
                "player": mention.chosen(str(options.get("player") or ""))[1],
            }
            sheet |= {key: value for key, value in fields.items() if value}
            if address := options.get("picture"):
                sheet["picture"] = cast.picture(str(address))
        body = {"name": character, "sheet": sheet}
        await self._logs.record(played, request, "cast", body)
        return Outcome("story.left" if sheet is None else "story.joined", {"name": character})

    async def _mute(self, request: Request, played: PlayedStory, name: str, *, muted: bool) -> Outcome:
        """Tell the writer to keep the character quiet, or to stop doing so."""
        character = cast.may_speak(played.story, name)
        sheet = {key: value for key, value in played.story.cast[character].items() if key != "muted"}
        body = {"name": character, "sheet": sheet | ({"muted": "yes"} if muted else {})}
        await self._logs.record(played, request, "cast", body)
        return Outcome("story.muted" if muted else "story.unmuted", {"name": character})

    async def _direct(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        note = request.text.strip()[:MEMORY_CHARS]
        before = str(played.story.settings.get("note") or "")
        if not note:
            return Outcome("story.note", {"note": before}) if before else Outcome("story.no_note")
        kept_note = "" if note.casefold() in ("-", "off", "none", "nada") else note
        body = {"note": kept_note}
        await self._logs.record(played, request, "set", body)
        return Outcome("story.note_set" if kept_note else "story.note_gone")

    async def _remember(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        memories, number = played.story.memories, request.options.get("remove")
        text = request.text.strip()
        if isinstance(number, int):
            if not 1 <= number <= len(memories):
                raise UserError("story.no_memory", n=number, count=len(memories))
            body: dict[str, Any] = {"id": list(memories)[number - 1], "text": None}
            await self._logs.record(played, request, "memory", body)
            return Outcome("story.forgotten", {"n": number})
        if not text:
            listed = "\n".join(f"{n}. {text}" for n, text in enumerate(memories.values(), 1))
            return Outcome("" if listed else "story.no_memories", text=listed, title=say("story.memories"))
        if len(text) > MEMORY_CHARS:
            raise UserError("story.long_memory", length=len(text), limit=MEMORY_CHARS)
        if len(memories) >= MEMORIES:
            raise UserError("story.many_memories", limit=MEMORIES)
        body, count = {"id": request.id, "text": text}, len(memories) + 1
        await self._logs.record(played, request, "memory", body)
        return Outcome("story.remembered", {"n": count})

    async def _lore(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        lore, number = played.story.lore, request.options.get("remove")
        if isinstance(number, int):
            if not 1 <= number <= len(lore):
                raise UserError("story.no_lore_number", n=number, count=len(lore))
            removal = {"id": list(lore)[number - 1], "entry": None}
            await self._logs.record(played, request, "lore", removal)
            return Outcome("story.lore_gone", {"n": number})
        if not request.text.strip():
            listed = [
                f"{n}. **{', '.join(entry['keys']) or say('story.lore_always')}**: {entry['content'][:200]}"
                for n, entry in enumerate(list(lore.values())[:LISTED], 1)
            ]
            if len(lore) > LISTED:
                listed.append(say("story.lore_more", n=len(lore) - LISTED))
            title = say("story.lore", n=len(lore))
            return Outcome("" if listed else "story.no_lore", text="\n".join(listed), title=title)
        typed_keys, _, content = request.text.partition(":")
        keys = [key for part in typed_keys.split(",") if (key := " ".join(part.split()))]
        always = bool(request.options.get("always"))
        if not content.strip() or not (keys or always):
            raise UserError("story.lore_format")
        if len(content) > LORE_CHARS:
            raise UserError("story.long_lore", length=len(content), limit=LORE_CHARS)
        if len(lore) >= LORE:
            raise UserError("story.many_lore", limit=LORE)
        entry = {"keys": keys[:50], "content": content.strip()} | ({"constant": True} if always else {})
        body, count = {"id": request.id, "entry": entry}, len(lore) + 1
        await self._logs.record(played, request, "lore", body)
        return Outcome("story.lore_kept", {"n": count})

    async def _relation(self, request: Request, say: Words) -> Outcome:
        """How two characters deal with each other, by a preset; "none" for nothing said."""
        played = await self._logs.writable(request)
        presets = await self._presets.all()
        pair, _, name = request.text.partition(":")
        names = [spaced for part in pair.split(",") if (spaced := " ".join(part.split())[:NAME_CHARS])]
        if not request.text.strip():
            chosen = [
                f"- **{', '.join(preset['pair'])}**: {presets[preset['preset']].title[say.locale]}"
                for preset in played.story.presets.values()
                if preset["preset"] in presets
            ]
            described = [
                f"- `{preset.name}`: {preset.description[say.locale]}" for preset in presets.values()
            ]
            text = "\n".join([*chosen, *([""] if chosen else []), say("story.presets"), *described])
            return Outcome(text=text, title=say("story.relations"))
        if len(names) != 2:
            raise UserError("story.relation_format")
        preset_name = "-".join(name.casefold().split())
        if preset_name in ("none", "nada", "off", ""):
            body: dict[str, Any] = {"pair": names, "preset": "", "lines": []}
        elif preset_name in presets:
            body = {"pair": names, "preset": preset_name, "lines": presets[preset_name].lines(*names)}
        else:
            raise UserError("story.no_preset", name=name.strip(), names=", ".join(presets))
        await self._logs.record(played, request, "preset", body)
        key = "story.relation_set" if body["preset"] else "story.relation_gone"
        return Outcome(key, {"first": names[0], "second": names[1]})

    async def _mode(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        mode = "-".join(request.text.casefold().split())
        if not mode:
            return Outcome("story.mode_is", {"mode": mode_of(played.story, self._settings)})
        if mode not in MODES:
            raise UserError("story.no_mode", name=request.text.strip(), names=", ".join(MODES))
        if mode == "gm" and not masters(played.story, request.author):
            raise UserError("story.only_gm")
        body = {"mode": mode} | ({"gm": request.author.id} if mode == "gm" else {})
        await self._logs.record(played, request, "set", body)
        return Outcome(f"story.mode_{mode.replace('-', '_')}")

    async def _pass(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        expected = whose(played.story)
        if expected is None or played.story.head is None:
            raise UserError("story.nobody_waits")
        if request.author.id != expected[0] and not masters(played.story, request.author):
            raise UserError("story.only_gm_passes", name=expected[1])
        body = {"passed": {"after": last_taken(played.story), "count": passed(played.story) + 1}}
        await self._logs.record(played, request, "set", body)
        now = await self._logs.here(request.place)
        following = whose(now.story) if now is not None else None
        return Outcome("story.passed", {"name": expected[1], "next": following[1] if following else "?"})

    async def _show(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.played(request)
        story = played.story
        rows = await self._logs.stories.branches(request.place.space, played.row.id)
        branch = next((row.name for row in rows if row.id == played.branch), "")
        about = [
            say(
                "story.about",
                scenes=story.length,
                branch=branch or say("story.main_branch"),
                code=played.row.alias,
            ),
            *(
                f"**{say(f'story.about_{name}')}:** {story.settings[name]!s}"
                for name in ("premise", "genre", "tone", "view", "length", "mode", "note")
                if story.settings.get(name)
            ),
        ]
        about += agreed_lines(story, say)
        if story.cast:
            about.append(cast.lines(story, say))
        if story.ideas:
            ideas = [f"- {idea}" for idea in list(story.ideas.values())[-IDEAS_SHOWN:]]
            about.append("\n".join([f"**{say('story.ideas')}:**", *ideas]))
        return Outcome(text="\n\n".join(about), title=_title(played.row, say))

    async def _open(self, request: Request, say: Words) -> Outcome:
        """Play a story here that is open to this person, as its first branch stands; without a name, say which are."""
        rows = await self._logs.open_to(request)
        if not request.text.strip():
            listed = "\n".join(f"- **{_title(row, say)}** · `{row.alias}`" for row in rows[:20])
            return Outcome(
                "" if listed else "story.no_stories", text=listed, title=say("story.stories", n=len(rows))
            )
        row = rows[0]
        await check_rating(await self._logs.story(request.place.space, row.id, row.id), request, self._adults)
        await session_for(self._sessions, request, _title(row, say), over=True)
        taken_from = await self._play(request, row.id, row.id)
        played = await self._logs.played(request)
        if "language" not in played.story.settings:
            await self._logs.record(played, request, "set", {"language": request.locale})
        return Outcome("story.nothing_yet", title=_title(row, say), taken_from=taken_from)

    async def _ooc(self, request: Request, say: Words) -> Outcome:
        return Outcome("story.talk")


def _title(row: StoryRow, say: Words) -> str:
    """A story's title; a placeholder once its author withdrew it."""
    return row.title or say("story.untitled")


def _last(played: PlayedStory) -> str:
    """The last scene, or the last lines of a chat log; "" for nothing told."""
    story, head = played.story, played.story.head
    if head is None or head.scene is not None:
        return head.scene.text if head is not None and head.scene is not None else ""
    last = [story.turns[id] for id in story.path[max(0, story.length - LAST_LINES) : story.length]]
    return "\n".join(f"> **{turn.act.name}**: {turn.act.text}" for turn in last if is_line(turn))


def _hush_of(turn: Turn) -> Hush | None:
    """The event that withdraws the reading of its scene; None where no message shows one."""
    return Hush(turn.shown_by, turn.stage) if turn.shown_by else None
