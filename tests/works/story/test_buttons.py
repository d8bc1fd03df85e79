"""Each button of a story acts on its own scene, no matter who presses it or how late."""

from __future__ import annotations

import ast
import asyncio
import re
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.adapters import footer
from bot.adapters.discord.received.placing import Origin, origin_of
from bot.adapters.intake import request_of
from bot.adapters.invocation import Invocation, choice_form, choice_invocation, late_invocation
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.stored_choices import StoredChoice
from bot.commands import ROWS, RUN, UNDER
from bot.events import Author, Choice, Choices, Place, PressedLate, Request
from bot.words import words
from bot.works.story.scene.buttons import AT_HEAD
from bot.works.story.scene.choices import scene_changed, struck_out
from tests.fakes.reply import Reply
from tests.pace import slowness
from tests.promises.talk import Events, Talk
from tests.works.story.exchange.test_card import V3, a_png, b64
from tests.works.story.tale import Tale
from tests.works.story.writer import START, Writer, choices, playing, texts

PLACE = Place("terminal", "local", "terminal", "t")
WORKS = Path(__file__).resolve().parents[3] / "bot" / "works"
NAMED = {
    "story arc": "says itself what the arc is, or has one proposed",
    "story as": "names one of the person's own characters",
    "story chapter": "begins a chapter of an idea, which stands in the line",
    "story correct": "names the scene that was flagged, by `under`",
    "story fork": "names the scene after which the branch begins, by `under`",
    "story enlist": "names somebody whom one scene has offered",
    "story export": "names the story, or is of that which is played",
    "story forget": "names what is to be forgotten",
    "story settle": "names the version of the scene",
    "story ideas": "goes on from the ideas above it, by the run that was answered",
    "story interview": "names the character",
    "story lore": "says itself what is to be kept",
    "story open": "names the story",
    "story plan": "names the plan by its number, or asks for a new one",
    "story reveal": "names the roll by its number",
    "story roll": "asks for new dice",
    "story try": "names the tried scene by its number, or asks for a new one",
    "story screen": "shows what the person keeps, or names the story",
    "story proxied": "names what the person who presses was asked to confirm",
    "story recap": "tells, and changes nothing",
    "story remember": "says itself what is to be remembered",
    "story reword": "names the branch; its question knows the turn, and is answered once",
    "story start": "begins a story of its own",
    "story stopcard": "names the turn",
    "story threads": "says itself what is left open",
    "story unhide": "names the scene",
    "story switch": "names the branch",
    "story whisper": "shows one's own whispers",
    "story apply": "names the version of the scene",
    "story initiative": "names the turn of the fight; ending it twice ends it once",
    "story sheet": "names the character",
    "story zero": "names the question; the message that asks it is known",
    "story cast": "opens the form of a new character",
    "council ask": "the question about its cost is known by the run that was answered",
    "council export": "names the council",
    "council show": "names the council",
    "course answer": "the quiz is known by the run that was answered",
    "course finish": "the quiz is known by the run that was answered",
    "course outline": "names the course",
    "privacy delete": "one's own data",
    "rules adopt": "names the house rules that stand above the button",
    "rules lookup": "names the section",
    "schedule follow": "names the schedule",
    "schedule reminder": "names what to remember and when",
    "schedule remove": "names the schedule",
    "schedule unfollow": "names the schedule",
    "script drop": "names the idea and the script",
    "script scene": "names the scene and the script",
    "sessions resume": "names the conversation",
    "settings import": "names the file that was read and shown above the button",
    "settings set": "one's own setting, in words that are asked for",
    "voice play": "the recording is known by the run that was answered",
}
"""What may stand behind a button that is not for the present scene of a story: what keeps it from acting on another."""


def lines_in_code() -> set[str]:
    """The work and verb of each line in the code of a work that a button could send."""
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in WORKS.rglob("*.py")]
    texts_of = [
        node.value
        for tree in trees
        for node in ast.walk(tree)  # the first part of an f-string, too
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    found = [re.match(r"/(\w+) (\w+)(?= |$)", text) for text in texts_of]
    return {f"{line[1]} {line[2]}" for line in found if line}


def test_each_button_acts_on_the_scene_above_it_or_names_its_object() -> None:
    offered = lines_in_code()
    assert {"story undo", "story redo", "story act", "course finish"} <= offered, "they are found"
    for line in offered:
        assert tuple(line.split()) in ROWS
    of_scenes = {f"story {name}" for name in AT_HEAD}
    assert not of_scenes & NAMED.keys()
    assert offered - of_scenes == NAMED.keys() & offered, "say here what keeps a new button off other scenes"


class Table:
    """Presses buttons as the adapters do."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self._ids = count()

    async def press(
        self, choice: dict[str, Any], run: str, *, who: str = "Bia", said: str = "", locale: str = "en"
    ) -> Events:
        """The events after the press; `said` is typed into its form."""
        stored = StoredChoice(choice["label"], choice["command"], choice["asks"], under=choice["under"])
        asked = choice_form(stored, run).asked(said) if choice["asks"] else choice_invocation(stored, run)
        return await self.ask(asked, who=who, locale=locale)

    async def ask(self, asked: Invocation, *, who: str = "Bia", locale: str = "en") -> Events:
        assert self.talk.app is not None
        run, start = f"press-{next(self._ids)}", len(self.talk.events)
        request = Request(
            run, PLACE, Author(who.lower(), who), asked.row.work, asked.row.name, dict(asked.options),
            asked.text, locale=locale, answers=asked.answers, adults=True,
        )  # fmt: skip
        try:
            ticket = await self.talk.app.perform(request)
        except PressedLate as late:
            instead = late_invocation(request, late)
            assert instead.row.personal, "only the person who pressed sees it"
            request = replace(
                request,
                verb=instead.row.name,
                options=dict(instead.options),
                answers=instead.answers,
                text=instead.text,
            )
            ticket = await self.talk.app.perform(request)
        await ticket.wait()
        live = self.talk.app.runs.by_id.get(run)
        if live is not None:
            await live.end
        # A link's own run takes the place of its message's run.
        shown = [
            event for event in self.talk.events[start:] if event["event"] == "link" or event["run"] == run
        ]
        return [event for event in shown if event["event"] != "link" or event["stage"] != "scene"]

    async def nodes(self) -> list[str]:
        """All nodes in the logs of all stories."""
        assert self.talk.app is not None
        stories = self.talk.app.resources.stories
        wholes = [await stories.load("local", row.id) for row in await stories.all("local")]
        return [node.id for whole in wholes if whole is not None for node in whole[2]]

    async def story(self) -> Any:
        assert self.talk.app is not None
        work: Any = self.talk.app.works["story"]
        return (await work.logs.played_in(PLACE)).story

    def changes(self, run: str, start: int = 0) -> Events:
        """The changes to a run's messages."""
        found = [event for event in self.talk.events[start:] if event["event"] == "changed"]
        return [event for event in found if event["run"] == run]


def pressable(events: Events) -> list[tuple[str, dict[str, Any]]]:
    """The buttons that these events offer, with the runs under whose messages they stand."""
    groups = [
        (event["run"], group)
        for event in events
        for group in ([event] if event["event"] == "choices" else event.get("contents", ()))
        if group["event"] == "choices" and group["taken"] is None
    ]
    return [(run, choice) for run, group in groups for choice in group["choices"]]


def goes_on(choice: dict[str, Any]) -> bool:
    return choice["command"].startswith("/story ") and choice["command"].split()[1] in AT_HEAD


def labels(changed: dict[str, Any]) -> list[str]:
    return [choice["label"] for run, choice in pressable([changed])]


async def test_no_button_of_a_story_acts_on_another_scene(tmp_path: Path) -> None:
    """Every button of every kind of play is pressed two turns later."""
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        table = Table(talk)
        await talk.say(START)
        for line in (
            "I knock.",
            "/story retry",
            "/story flip back",
            "/story undo",
            "/story redo",
            "/story say Hello?",
        ):
            await talk.say(line)
        writer.next.append(Reply("No.", finish="content_filter"))
        await talk.say("I break the door.")
        await talk.say("/story edit The lamp goes out.")
        await talk.say("/story mode vote")
        await talk.say("I wait.")
        await talk.say("/story mode free")
        await talk.say("/story stopcard")
        await talk.say("/story undo")
        await talk.say("/story undo")
        offered = [(run, choice) for run, choice in pressable(talk.events) if goes_on(choice)]
        assert {choice["command"].split()[1] for _, choice in offered} >= AT_HEAD - {"say", "end", "more"}
        assert all(choice["under"] for _, choice in offered), "each knows its scene"
        await talk.say("I turn back.")
        await talk.say("I go home.")
        before, called = await table.nodes(), len(writer.asked)
        distinct = {(choice["command"], choice["under"]): (run, choice) for run, choice in offered}
        for run, choice in distinct.values():
            told = await table.press(choice, run, said="I dance.")
            assert re.search("has moved on|no longer part of|another version", texts(told)), (choice, told)
            assert [event["title"] for event in told if event["event"] == "link"] == ["Scene 4"], choice
            if choice["asks"]:
                assert "> I dance." in texts(told), "what was typed is not lost"
        assert await table.nodes() == before, "nothing was done to any scene"
        assert len(writer.asked) == called


async def test_old_buttons_fork_at_their_scene_and_current_ones_work(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        table = Table(talk)
        opening = await talk.say(START)
        await talk.say("I knock.")
        await talk.say("I wait.")
        (run, back), *_ = [pair for pair in pressable(opening) if pair[1]["command"] == "/story undo"]
        told = await table.press(back, run)
        assert "has moved on" in texts(told)
        fork, apart = choices(told)
        assert [fork["command"], apart["command"]] == [
            "/story fork --scene 1",
            "/story fork --scene 1 --thread",
        ]
        # On a branch without that scene the button still means the scene, and not its number.
        await talk.say("/story fork other --scene 1")
        await talk.say("I sing.")
        (_, third), *_ = [pair for pair in pressable(talk.events) if "has moved on" in texts(told)]
        assert "of its own" not in texts(await table.press(fork, told[0]["run"]))
        assert (await table.story()).length == 1
        await talk.say("/story switch main")
        assert (await table.story()).length == 3
        present = [
            pair for pair in pressable(talk.events) if pair[1]["under"] == (await table.story()).head.scene.id
        ]
        (run, undo), *_ = [pair for pair in present if pair[1]["command"] == "/story undo"]
        assert "Scene 3 and its turn are taken back" in texts(await table.press(undo, run))
        assert third


async def test_if_two_people_press_at_once_the_second_one_learns_privately_who_was_first(
    tmp_path: Path,
) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        table = Table(talk)
        ((run, first), (_, second), *_) = pressable(await talk.say(START))
        one, two = await asyncio.gather(
            table.press(first, run, who="Ana"), table.press(second, run, who="Bia")
        )
        assert "number 2" in texts(one)
        assert texts(two).startswith("Ana pressed first")
        assert [choice["label"] for choice in choices(two)] == ["Fork there", "… in its own thread"]
        assert (await table.story()).length == 2
        (passed,) = table.changes(run)
        (group,) = [content for content in passed["contents"] if content["event"] == "choices"][:1]
        assert (group["taken"], group["by"]) == (0, "Ana")


async def test_an_undone_scene_is_struck_out_until_it_is_redone(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        table = Table(talk)
        opening = (await talk.say(START))[-1]["run"]
        events = await talk.say("I knock.")
        second, start = events[-1]["run"], len(talk.events)
        (run, undo), *_ = [pair for pair in pressable(events) if pair[1]["command"] == "/story undo"]
        undone = await table.press(undo, run)
        (struck_out,), (present,) = table.changes(second, start), table.changes(opening, start)
        assert struck_out["title"] == "Scene 2 · taken back · Bia"
        assert struck_out["contents"][0]["text"] == "~~This is what was written as number 2.~~"
        assert labels(struck_out) == [], "also the stop card goes: the scene counts no more"
        assert not struck_out["answer"], "nobody rates it"
        assert "Take it back" in labels(present), "the scene before is the present one again"
        ((run, redo),) = pressable(undone)
        start = len(talk.events)
        await table.press(redo, run)
        (restored,), (passed,) = table.changes(second, start), table.changes(opening, start)
        assert restored["title"] == "Scene 2"
        assert restored["contents"][0]["text"] == "This is what was written as number 2."
        assert "Take it back" in labels(restored)
        assert labels(passed) == ["✋ Stop card"]


async def test_another_version_strikes_out_the_one_it_replaces(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        table = Table(talk)
        run = (await talk.say(START))[-1]["run"]
        offered = [choice for _, choice in pressable(talk.events) if choice["command"] == "/story retry"]
        again = [choice for choice in offered if not choice["asks"]]
        assert len(again) == 1, "it is there once"
        shown = await table.press(again[0], run)
        (replaced,) = table.changes(run)
        assert replaced["title"] == "Scene 1 · replaced by another version below · Bia"
        assert replaced["contents"][0]["text"].startswith("~~")
        assert labels(replaced) == []
        assert "◀ 2/2" in [choice["label"] for choice in choices(shown)]
        assert "another version" in texts(await table.press(again[0], run))


def test_a_flagged_scene_offers_another_version_once() -> None:
    tale = Tale()
    turn = tale.turn("I knock.", "Bo laughs.")
    scene = tale.nodes[-1].id
    tale.add("extracted", {"scene": scene, "flags": ["Bo is dead"]}, turn)
    story = tale.story
    changed = scene_changed(story, story.turns[turn], words("en"))
    lines = [
        choice.command
        for group in changed.contents
        if isinstance(group, Choices)
        for choice in group.choices
        if not choice.asks
    ]
    assert lines.count("/story retry") == 1
    assert f"/story settle {scene}" in lines


async def test_a_retry_after_a_stop_or_an_error_is_about_that_scene(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        table = Table(talk)
        await talk.say(START)
        writer.next.append(Reply(status=500))
        writer.next.append(Reply(status=500))
        failed = (await talk.say("I knock."))[-1]["run"]
        assert talk.app is not None
        turns = (await table.story()).length
        again = Invocation(ROWS["story", "act"], "I knock.", {UNDER: f"{RUN}{failed}"})
        writer.next.clear()
        assert "number" in texts(await table.ask(again))
        assert (await table.story()).length == turns, "the turn is not taken twice"
        await talk.say("I wait.")
        before = await table.nodes()
        assert "has moved on" in texts(await table.ask(again))
        assert await table.nodes() == before
        fresh = Invocation(ROWS["story", "act"], "I rest.", {UNDER: f"{RUN}{'0' * 32}"})
        await table.ask(fresh)
        assert (await table.story()).length == turns + 2, "a run that has taken no turn is simply asked again"


async def test_a_button_of_an_earlier_release_says_that_the_story_has_gone_on(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        table = Table(talk)
        run = (await talk.say(START))[-1]["run"]
        old = {"label": "Go on", "command": "/story continue", "asks": "", "under": None}
        assert "number 2" in texts(await table.press(old, run))
        before = await table.nodes()
        assert "has moved on" in texts(await table.press(old, run))
        undo = (await talk.say("/story undo"))[-1]["run"]
        before = await table.nodes()
        redo = {"label": "Bring it back", "command": "/story redo", "asks": "", "under": None}
        assert "has moved on" in texts(await table.press(redo, undo)), "nobody knows what it was for"
        assert await table.nodes() == before


async def test_scenes_keep_the_language_of_the_story_whoever_presses(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        table = Table(talk)
        events = await talk.say(START)
        run = events[-1]["run"]
        way = next(choice for _, choice in pressable(events) if choice["command"] == "/story continue")
        shown = await table.press(way, run, locale="pt-BR")
        assert [event["title"] for event in shown if event["event"] == "stage"] == ["Scene 2"]
        assert "Take it back" in [choice["label"] for choice in choices(shown)]
        undo = next(choice for choice in choices(shown) if choice["command"] == "/story undo")
        start = len(talk.events)
        told = await table.press(undo, shown[0]["run"], locale="pt-BR")
        assert "desfeita" in texts(told), "what is said to the person is in their language"
        (changed,) = table.changes(shown[0]["run"], start)
        assert changed["title"] == "Scene 2 · taken back · Bia"
        late = await table.press(way, run, locale="pt-BR")
        assert "A história já passou" in texts(late) or "faz parte" in texts(late) or "number" in texts(late)


async def test_another_greeting_changes_it_for_everybody(tmp_path: Path) -> None:
    card = tmp_path / "mira.png"
    card.write_bytes(a_png((b"tEXt", b"ccv3\0" + b64(V3))))
    async with playing(tmp_path, Writer()) as talk:
        table = Table(talk)
        [way] = choices(await talk.say(f"/story import {card}"))
        chosen = StoredChoice(way["label"], way["command"], title=way["title"])
        pressed = choice_invocation(chosen, "")
        origin = Origin("thread", 1, 1)
        request = request_of(pressed, "run", PLACE, Author("bia", "Bia"), "en", origin)
        assert origin_of(request.origin).title == "Mira", "and not the code in the line"
        opened = await talk.say(way["command"])
        run = opened[-1]["run"]
        following = next(choice for choice in choices(opened) if choice["command"] == "/story flip next")
        await table.press(following, run)
        (changed,) = table.changes(run)
        assert "The door is open" in changed["contents"][0]["text"]
        assert [label for label in labels(changed) if "/3" in label] == ["◀ 2/3", "2/3 ▶"]


def test_the_buttons_of_a_stop_card_disappear_once_one_was_used() -> None:
    from bot.works.story.scene.choices import stop_card_changed

    tale = Tale()
    tale.turn("I knock.", "It opens.")
    turn = tale.turn("I go in.", "Spiders.")
    tale.add("stopcard", {}, turn)
    following = tale.turn("I go home.", "The sea is flat.")
    later = tale.turn("I sleep.", "It is night.")
    cleared = stop_card_changed(tale.story, following, words("en"))
    assert cleared is not None
    assert cleared.run == f"run-{turn}"
    assert not [content for content in cleared.contents if isinstance(content, Choices)]
    assert stop_card_changed(tale.story, later, words("en")) is None


def test_a_taken_choice_says_who_took_it() -> None:
    choice = Choice(
        "Row back to the lighthouse before the storm comes in from the west", "/story act -- Row back"
    )
    group = Choices("What do you do?", (choice,), taken=0, by="Ana Maria\n*Silva*")
    (offer,) = footer.offers(StageContent("scene", "", choices=[group]), "0" * 32, 75)
    assert re.fullmatch(r"✓ Row back to .*… · Ana Maria \*Silva\*", offer.taken)
    assert len(offer.taken) <= 75


def test_only_answers_have_rating_buttons() -> None:
    context = PageContext("0" * 32, words("en"), ended="done", feedback=True)
    for answer, thumbs in ((True, 2), (False, 0)):
        buttons = footer.controls(StageContent("scene", "", answer=answer), context, more=False)
        assert len([button for button in buttons if button.custom_id.startswith("feedback")]) == thumbs


@pytest.mark.parametrize(
    ("text", "struck"),
    [
        ("It rains.\n\n- One\n> Two\n", "~~It rains.~~\n\n- ~~One~~\n> ~~Two~~\n"),
        ("**She** ~~runs~~ walks.  \n", "~~**She** runs walks.~~  \n"),
    ],
)
def test_text_is_struck_out_line_by_line(text: str, struck: str) -> None:
    assert struck_out(text) == struck


def test_a_scene_is_struck_out_line_by_line_in_time_proportional_to_its_text() -> None:
    assert struck_out("# A door\n\n- it ~~is~~ open  \n> 1. for you") == (
        "# ~~A door~~\n\n- ~~it is open~~  \n> 1. ~~for you~~"
    )
    began = time.process_time()
    struck_out("a" + " " * 20_000 + "b")
    assert time.process_time() - began < 0.1 * slowness()
