"""The verbs that show and correct a story's world: state, characters, plot, threads, arc and chapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from bot.commands import UNDER
from bot.events import Choices, Event, Link, Request, Stage, Text, UserError
from bot.words import Words, meant, words
from bot.work import Run
from bot.works.story import limits
from bot.works.story.log.logs import node
from bot.works.story.log.story import Story
from bot.works.story.log.turn import Chapter, KeyEvent, Turn
from bot.works.story.scene.choices import scene_changed, words_of
from bot.works.story.world import arc_verb, cast, state, threads, to_come
from bot.works.story.world.answer import Answer
from bot.works.story.world.enlisting import first_sheet
from bot.works.story.world.order import leader, may_lead, names_of

if TYPE_CHECKING:
    from bot.works.story.log.logs import Logs
    from bot.works.story.scene.buttons import Buttons
    from storage.stories import Node

VALUE_CHARS: Final = limits.VALUE_CHARS
TEXT_CHARS: Final = limits.TEXT_CHARS
TITLE_CHARS: Final = limits.TITLE_CHARS
EVENTS: Final = 20
CHAPTERS: Final = 200
OPTIONS: Final = ("location", "time", "scenario", "climax", "resolution")
_FIELDS: Final = {
    "where": "where", "holding": "holding", "wearing": "wearing", "mood": "mood", "dead": "dead",
    "onde": "where", "segura": "holding", "segurando": "holding", "veste": "wearing", "vestindo": "wearing",
    "humor": "mood", "morto": "dead", "morta": "dead",
}  # fmt: skip
MEMORIES: Final = 20
"""How many of a character's last memories are shown."""
LINKS: Final = 5
"""The maximum number of links to scenes in an answer."""


class WorldVerbs:
    """The verbs for a story's world; none asks a model."""

    def __init__(self, logs: Logs, own_names: Callable[[Request], Awaitable[bool]], buttons: Buttons) -> None:
        self._logs = logs
        self._buttons = buttons
        self._own_names = own_names

    async def show(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        do = {
            "state": self._state,
            "correct": self._state,
            "settle": self._settle,
            "keep": self._settle,  # the name on buttons of earlier releases
            "enlist": self._enlist,
            "characters": self._characters,
            "plot": self._plot,
            "threads": self._threads,
            "arc": self._arc,
            "chapter": self._chapter,
        }[request.verb]
        answer = await run.step("told", lambda: do(request, say), Answer)
        yield Stage(request.verb, answer.title)
        yield Text(answer.text)
        for event in to_come.events_showing(run, answer.coming, f"story {request.verb}", say):
            yield event
        if answer.choices and to_come.may_show(run, answer.coming):
            yield Choices("", tuple(answer.choices))
        for shown_by, title in answer.links:
            yield Link(shown_by, title)
        if answer.turn:
            played = await self._logs.played_in(request.place)
            assert played is not None, "it has just been changed"
            story = played.story
            turn = story.turns[answer.turn]
            own = bool(turn.act.speaker) and await self._own_names(request)
            speaker = cast.speaker(story, turn.act.speaker, own=own)
            yield scene_changed(story, turn, words_of(story, request), speaker)

    async def _state(self, request: Request, say: Words) -> Answer:
        """Show the state, or correct a field of one character."""
        field, colon, value = request.text.partition(":")
        if colon or request.verb == "correct":
            return await self._correct(request, field, value, say)
        played = await self._logs.played(request)
        characters = state.characters(played.story)
        if name := " ".join(request.text.split()):
            if (character := characters.get(name.casefold())) is None:
                raise cast.unknown_error(name, [character.name for character in characters.values()])
            characters = {name: character}
        if not characters:
            return Answer(text=say("story.no_state"))
        parts = [_card(character, say) for character in characters.values()]
        return Answer(say("story.state"), "\n\n".join(parts))

    async def _correct(self, request: Request, field: str, value: str, say: Words) -> Answer:
        """Correct a field: "Mira holding: the lamp", "Mira Bo: trusts him", "Mira dead: no"."""
        played = await self._logs.writable(request, asks=False)
        characters, typed = state.characters(played.story), field.split()
        names = {name: character.name for name, character in characters.items()} | {
            name.casefold(): name for name in played.story.cast
        }
        if len(typed) < 2:
            raise UserError("story.correct_how")
        # A name may have several words: take the longest known one, otherwise all but the last word.
        lengths = (n for n in range(len(typed) - 1, 0, -1) if " ".join(typed[:n]).casefold() in names)
        cut = next(lengths, len(typed) - 1)
        name, typed_field = " ".join(typed[:cut]), " ".join(typed[cut:])
        character = names.get(name.casefold(), name)[: cast.NAME_CHARS]
        field_name = _FIELDS.get(typed_field.casefold()) or names.get(typed_field.casefold())
        if field_name is None:
            raise UserError("story.correct_field", name=typed_field[: cast.NAME_CHARS])
        value = " ".join(value.split())[:VALUE_CHARS]
        if field_name == "dead":
            value = "no" if not value or meant(value, "no") else "yes"
        body = {"character": character, "field": field_name, "value": value}
        head, turn = played.story.head, None
        # From the button under a flagged scene, which then no longer contradicts the state.
        if UNDER in request.options:
            _, id = await self._buttons.turn_of(request, played)
            if id not in played.story.path[: played.story.length]:
                raise UserError("story.gone")
            turn = head = played.story.turns[id]
        correction = node(
            request.id, "corrected", "corrected", body,
            turn=head.id if head is not None else "", author=request.author.id,
        )  # fmt: skip
        settled = _settling_nodes(request, turn)
        await self._logs.append(played, correction, *settled)
        return Answer(
            text=say("story.corrected", name=character),
            turn=turn.id if turn is not None and settled else "",
        )

    async def _settle(self, request: Request, say: Words) -> Answer:
        """Settle the flags of a scene, so that it is no longer flagged."""
        played = await self._logs.writable(request, asks=False)
        scene_id = request.text.strip()
        if (turn := played.story.turn_showing(scene_id)) is None:
            raise UserError("story.gone")
        if settled := _settling_nodes(request, turn):
            await self._logs.append(played, *settled)
        number = played.story.path.index(turn.id) + 1
        return Answer(text=say("story.kept", n=number), turn=turn.id)

    async def _enlist(self, request: Request, say: Words) -> Answer:
        """Add somebody whom a scene's extraction has noticed to the cast, as long as that scene counts."""
        played = await self._logs.writable(request, asks=False)
        story, key = played.story, " ".join(request.text.casefold().split())
        noticed = _noticed_people(story.current_turns)
        if key not in noticed:
            if key in _noticed_people(story.turns.values()):
                raise UserError("story.gone")
            raise UserError("story.not_noticed", name=request.text.strip()[:60])
        name, turn = noticed[key]
        if cast.find(story, name):
            return Answer(text=say("story.in_cast", name=name), turn=turn.id)
        if len(story.cast) >= cast.MOST_CHARACTERS:
            raise UserError("story.many_characters", limit=cast.MOST_CHARACTERS)
        assert turn.scene is not None, "see _noticed_people"
        body = {"name": name, "sheet": first_sheet(story, name), "scene": turn.scene.id}
        await self._logs.record(played, request, "cast", body, turn=turn.id)
        return Answer(text=say("story.enlisted", name=name), turn=turn.id)

    async def _characters(self, request: Request, say: Words) -> Answer:
        """Show who is in the story, with links to the scenes where they were last seen, or all about one character."""
        story = (await self._logs.played(request)).story
        if name_typed := " ".join(request.text.split()):
            return _character(story, name_typed, say)
        characters, lines, links = state.characters(story), list[str](), list[list[str]]()
        for name in dict.fromkeys([*(character.name for character in characters.values()), *story.cast]):
            character = characters.get(name.casefold())
            if name in story.cast and character is not None and character.name != name:
                continue
            if character is None or not character.turn:
                lines.append(f"- **{name}**: {say('story.not_seen')}")
                continue
            number = story.path.index(character.turn) + 1
            place = character.fields.get("where", "")
            dead = f" ({say('story.dead')})" if character.dead else ""
            seen = say("story.last_seen", n=number, count=character.scenes)
            lines.append(f"- **{character.name}**{dead}: {seen}{' · ' + place if place else ''}")
            if shown_by := story.turns[character.turn].shown_by:
                links.append([shown_by, f"{character.name}: {say('story.scene', n=number)}"])
        title = say("story.characters", n=len(lines))
        return Answer(title, "\n".join(lines) or say("story.no_state"), links)

    async def _plot(self, request: Request, say: Words) -> Answer:
        """Show the plot, or set whether one event has happened."""
        if request.text.strip():
            return await self._tick(request, say)
        story = (await self._logs.played(request)).story
        happened, parts, coming = state.happened_ids(story), list[str](), list[str]()
        chapters = state.chapters(story)
        for n, chapter in enumerate(chapters, 1):
            past, ahead = _past_and_ahead(chapter, happened, say, later=n < len(chapters))
            title = f"**{n}. {chapter.title}**"
            parts.append("\n".join([f"{title}\n", *past]))
            coming += [f"{title}\n", *ahead, ""] if ahead else []
        loose = [
            f"- {event}"
            for turn in story.current_turns
            if (extracted := turn.extracted) is not None
            for event in extracted.events
        ]
        if loose:
            parts.append("\n".join([f"**{say('story.events')}**", *loose[-EVENTS:]]))
        text = "\n\n".join(parts) or say("story.no_plot")
        return Answer(say("story.plot"), text, coming=to_come.for_person(story, request, coming))

    async def _tick(self, request: Request, say: Words) -> Answer:
        """Set whether an event has happened: "the bell is found: no", "climax: yes", or by number in the present
        chapter, "2: yes".
        """
        played = await self._logs.writable(request, asks=False)
        if not may_lead(played.story, request.author):  # an answer would reveal the event
            raise UserError("story.only_gm_sees", name=names_of(played.story).get(leader(played.story), "?"))
        event_typed, _, answer_typed = request.text.rpartition(":")
        event_key, answer = " ".join(event_typed.casefold().split()), meant(answer_typed, "yes", "no")
        event = _event(played.story, event_key) if event_key and answer else None
        if event is None:
            raise UserError("story.tick_how")
        happened = answer == "yes"
        body = {"event": event.id, "happened": happened}
        await self._logs.record(played, request, "ticked", body, turn=played.story.head_id)
        # An event that is open again is to come, so it is not named here.
        return Answer(text=say("story.ticked", event=event.text) if happened else say("story.unticked"))

    async def _threads(self, request: Request, say: Words) -> Answer:
        """Show the plot threads, or open, close or rename one."""
        if not request.text.strip():
            return _threads((await self._logs.played(request)).story, say)
        played = await self._logs.writable(request, asks=False)
        thread = threads.parse_change(played.story, request.text, request.id)
        body = {"id": thread.id, "text": thread.text, "open": thread.open}
        await self._logs.record(played, request, "thread", body, turn=played.story.head_id)
        key = "story.thread_open" if thread.open else "story.thread_closed"
        return Answer(text=say(key, thread=thread.text))

    async def _arc(self, request: Request, say: Words) -> Answer:
        return await arc_verb.arc(self._logs, request, say)

    async def _chapter(self, request: Request, say: Words) -> Answer:
        """Show the chapter, change it, or begin the next one."""
        options, title = request.options, " ".join(request.text.split())[:TITLE_CHARS]
        fields = {
            name: " ".join(str(options[name]).split())[:TEXT_CHARS] for name in OPTIONS if options.get(name)
        }
        listed = str(options.get("events") or "").strip()
        adds, events = listed.startswith("+"), _events(listed.lstrip("+"))
        check = str(options.get("check") or "")
        if not (title or fields or events or check):
            story = (await self._logs.played(request)).story
            return chapter_answer(story, request, say)
        played = await self._logs.writable(request, asks=False)
        story, author = played.story, request.author.id
        chapters = state.chapters(story)
        nodes = [node(request.id, "set", "set", {"plot_check_mode": check}, author=author)] if check else []
        chapter = chapters[-1] if chapters else None
        if title and (chapter is None or title.casefold() != chapter.title.casefold()):
            if len(chapters) >= CHAPTERS:
                raise UserError("story.many_chapters", limit=CHAPTERS)
            id, turn = request.id, story.head_id
            body: dict[str, Any] = {"id": id, "title": title}
        elif chapter is not None:
            id, turn = chapter.id, chapter.turn
            # After a person's change the chapter no longer depends on the writer's scene.
            body = {name: value for name, value in asdict(chapter).items() if name not in ("turn", "scene")}
        elif fields or events:
            raise UserError("story.chapter_title")
        else:
            body = {}
        if body and (title or fields or events):
            if events:
                ids = {event["text"]: event["id"] for event in body.get("key_events", ())}
                events = list(dict.fromkeys([*ids, *events]))[:EVENTS] if adds else events
                body["key_events"] = [
                    {"id": ids.get(text, f"{request.id}/{n}"), "text": text}
                    for n, text in enumerate(events, 1)
                ]
            nodes.append(node(request.id, "chapter", "chapter", body | fields, turn=turn, author=author))
        await self._logs.append(played, *nodes)
        changed = await self._logs.played_in(request.place)
        return chapter_answer(changed.story if changed is not None else story, request, say)


def _threads(story: Story, say: Words) -> Answer:
    """The plot threads, open ones first, with links to the scenes in which they began."""
    lines, links = dict[bool, list[str]](), dict[str, str]()
    for n, thread in enumerate(threads.threads(story), 1):
        began = "story.thread" if thread.began else "story.thread_before"
        ended = "story.thread_ended" if thread.ended > thread.began else "story.thread_short"
        key = ended if thread.ended else began
        text = say(key, n=n, thread=thread.text, began=max(1, thread.began), ended=thread.ended)
        lines.setdefault(thread.open, []).append(f"- {text}")
        began_in = story.turns[story.path[thread.began - 1]] if thread.open and thread.began else None
        if began_in is not None and began_in.shown_by:
            links[began_in.shown_by] = say("story.scene", n=thread.began)
    parts = [
        "\n".join([f"**{say(key)}**", *lines[is_open]])
        for is_open, key in ((True, "story.threads_open"), (False, "story.threads_closed"))
        if is_open in lines
    ]
    text = "\n\n".join(parts) or say("story.no_threads")
    return Answer(say("story.threads"), text, [[run, title] for run, title in list(links.items())[-LINKS:]])


def _noticed_people(turns: Iterable[Turn]) -> dict[str, tuple[str, Turn]]:
    """The people whom these turns' scenes offer for the cast, each with the last such turn, by casefolded name."""
    return {
        name.casefold(): (name, turn)
        for turn in turns
        if turn.scene is not None and turn.extracted is not None
        for name in turn.extracted.noticed
    }


def _settling_nodes(request: Request, turn: Turn | None) -> list[Node]:
    """The node that settles the flags of the turn's scene, if it has any."""
    if turn is None or turn.scene is None or not (turn.scene.flags or turn.scene.crossed):
        return []
    body = {"scene": turn.scene.id}
    return [node(request.id, "settled", "settled", body, turn=turn.id, author=request.author.id)]


def _events(text: str) -> list[str]:
    parts = (" ".join(part.split())[:VALUE_CHARS] for part in text.split(";"))
    return list(dict.fromkeys(part for part in parts if part))[:EVENTS]


def chapter_answer(story: Story, request: Request, say: Words) -> Answer:
    """The current chapter, for the person who asks."""
    if not (chapters := state.chapters(story)):
        return Answer(text=say("story.no_chapter"))
    chapter = chapters[-1]
    lines = [
        f"**{say(f'story.chapter_{name}')}:** {value}"
        for name in ("location", "time", "scenario")
        if (value := getattr(chapter, name))
    ]
    past, ahead = _past_and_ahead(chapter, state.happened_ids(story), say)
    return Answer(
        say("story.chapter", n=len(chapters), title=chapter.title),
        "\n".join([*lines, *([""] if lines and past else []), *past]) or chapter.title,
        coming=to_come.for_person(story, request, ahead),
    )


def _past_and_ahead(
    chapter: Chapter, happened: Container[str], say: Words, *, later: bool = False
) -> tuple[list[str], list[str]]:
    """Lines of what has happened in the chapter, and of what is to come.

    `later` says that another chapter has begun since: then the resolution has happened if everything before it has.
    """
    past, ahead = list[str](), list[str]()
    for n, event in enumerate(chapter.key_events, 1):
        (past if event.id in happened else ahead).append(f"{n}. {_box(event.id, happened)} {event.text}")
    if chapter.climax:
        line = f"- {_box(chapter.id, happened)} **{say('story.chapter_climax')}:** {chapter.climax}"
        (past if chapter.id in happened else ahead).append(line)
    if chapter.resolution:
        line = f"- **{say('story.chapter_resolution')}:** {chapter.resolution}"
        (past if later and past and not ahead else ahead).append(line)
    return past, ahead


def _event(story: Story, text: str) -> KeyEvent | None:
    """The event with this number in the present chapter, its climax, or the event of the latest chapter that begins
    with this text.
    """
    chapters = state.chapters(story)
    if not chapters:
        return None
    chapter = chapters[-1]
    if text.isdecimal():
        number = int(text[:9])
        return chapter.key_events[number - 1] if 1 <= number <= len(chapter.key_events) else None
    if chapter.climax and text in ("climax", "clímax"):
        return KeyEvent(chapter.id, chapter.climax)
    events = [event for chapter in reversed(chapters) for event in chapter.key_events]
    return next((event for event in events if " ".join(event.text.casefold().split()).startswith(text)), None)


def _box(event: str, happened: Container[str]) -> str:
    return "☑" if event in happened else "☐"


def _character(story: Story, name_typed: str, say: Words) -> Answer:
    """A character's state and memories, with links to the scenes. Raises UserError for an unknown name."""
    key, characters = name_typed.casefold(), state.characters(story)
    memories = state.memories(story, name_typed)
    names = {
        name.casefold(): name
        for name in [*(character.name for character in characters.values()), *story.cast]
    }
    if memories:
        names.setdefault(key, memories[0][1].character)
    if key not in names:
        raise cast.unknown_error(name_typed, list(names.values()))
    parts, links = [_card(characters.get(key) or state.Character(names[key]), say)], dict[str, str]()
    if memories:
        lines = [f"**{say('story.remembers', n=len(memories))}**"]
        for turn, memory in memories[-MEMORIES:]:
            number = story.path.index(turn.id) + 1
            kind = say(f"story.remembers_{memory.kind}")
            lines.append(f"- {say('story.remembers_line', n=number, kind=kind)} {memory.text}")
            if turn.shown_by:
                links[turn.shown_by] = say("story.scene", n=number)
        parts.append("\n".join(lines))
    latest = [[run, title] for run, title in list(links.items())[-LINKS:]]
    return Answer(names[key], "\n\n".join(parts), latest)


def _card(character: state.Character, say: Words) -> str:
    lines: Sequence[str] = [
        f"- {say(f'story.state_{name}')}: {character.fields[name]}"
        for name in state.FIELDS
        if character.fields.get(name)
    ]
    towards = [
        f"- {say('story.state_towards', name=other)}: {text}"
        for other, text in character.relations.items()
        if text
    ]
    dead = f" ({say('story.dead')})" if character.dead else ""
    return "\n".join([f"**{character.name}**{dead}", *lines, *towards])
