"""A scene that speaks or acts for a player's character is recognised by code, continued once more, then shown
with a note.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.works.story.extraction.attribution import Players, WatchedScene, forms
from tests.fakes.reply import Body, Reply
from tests.fakes.wires import WIRES
from tests.promises.talk import Events, settings, talking
from tests.works.story.tale import Tale
from tests.works.story.writer import START, Writer, choices, last, texts

WIND = "The wind turns, and the lamp gutters. "
LINE = "“I will go down alone,” Mira said. Bo laughed."
GULL = "A gull calls from below."


def players(turn: str = "I light the lamp.", *, by: str = "Mira", intent: str = "") -> Players:
    """Mira's player takes a turn, and Bo is somebody else's; Zoe is nobody's."""
    tale = Tale()
    tale.turn("I take the brass key of the lower stairs.", "Steps sound below.")
    if intent:
        tale.add("intent", {"name": "Bo", "text": intent})
    tale.add("act", {"mode": "act", "text": turn, "name": "Ana", "character": by})
    *before, now = tale.story.current_turns
    return Players.of(["Mira", "Bo"], now, before)


@pytest.mark.parametrize(
    ("passage", "turn", "found"),
    [
        ("“I will go down alone,” Mira said.", "I light the lamp.", ["Mira"]),
        ("“Who is down there?” Mira asked.", "Who is down there?", []),
        ("“Come up to us, whoever you are,” Mira calls.", "I call down the stairs.", []),
        ("“Ah!” Mira cried.", "I light the lamp.", []),
        ("“I take the brass key,” Mira said again.", "I light the lamp.", []),
        ("— Eu desço sozinha — disse Mira.", "Acendo a lâmpada.", ["Mira"]),
        ("“Never in my life,” said Bo.", "I ask Bo to come along.", ["Bo"]),
        ("“Never in my life,” said Zoe.", "I light the lamp.", []),
        ("Mira nods, and the lamp burns.", "I light the lamp.", []),
        ("Mira decides to leave.", "I light the lamp.", ["Mira"]),
        ("Mira agrees at once.", "I agree with the old man.", []),
        ("Bo nods and lifts his pack.", "I light the lamp.", ["Bo"]),
        ("Bo climbs after the others.", "We all go down.", []),
        ("Bo takes the rope.", "I throw Bo the rope.", []),
        ("Bo agrees at once.", "I throw Bo the rope.", ["Bo"]),
        ("They speak of Bo, who once nodded.", "I light the lamp.", []),
        ("The captain asked Bo to step back.", "I light the lamp.", []),
    ],
)
def test_the_code_recognises_for_whom_a_scene_speaks_or_acts(
    passage: str, turn: str, found: list[str]
) -> None:
    assert players(turn).acted_for(passage) == found


@pytest.mark.parametrize(
    ("passage", "view", "acted"),
    [
        ("“I will go down alone,” Mira says.", "third", True),
        ("Vale decides to marry Bo.", "third", True),
        ("You decide to marry Bo.", "second", True),
        ("You decide to marry Bo.", "third", False),
        ("You climb the stairs, and the lamp gutters.", "second", False),
        ("“I will go down alone,” you say.", "second", True),
        ("“I will go down alone,” I say.", "first", True),
        ("Mira: “I will go down alone.”", "third", True),
        ("“I will go down alone,” Mira hissed.", "third", True),
    ],
)
def test_a_character_is_known_by_a_part_of_its_name_and_by_the_storys_person(
    passage: str, view: str, acted: bool
) -> None:
    tale = Tale()
    tale.add("act", {"mode": "act", "text": "I light the lamp.", "name": "Ana", "character": "Mira Vale"})
    now = tale.story.current_turns[-1]
    watching = Players.of(["Mira Vale"], now, [], cast=["Mira Vale", "Bo Larsen"], view=view)
    assert bool(watching.acted_for(passage)) == acted


def test_a_part_that_two_names_share_identifies_nobody() -> None:
    assert forms("Mira Vale", ["Bo Vale", "Mira Vale"]) == ("Mira Vale", "Mira")


def test_if_everybody_goes_on_only_speech_and_decisions_count() -> None:
    goes_on = players("", by="")
    assert goes_on.acted_for("Bo nods and lifts his pack.") == []
    assert goes_on.acted_for("Bo refuses.") == ["Bo"]


def test_a_players_announced_action_may_be_told_by_the_scene() -> None:
    wanting = players("So be it.", by="", intent="I warn the harbour master.")
    assert wanting.acted_for("“Close the gates,” Bo said. Bo opened the window.") == []
    assert wanting.acted_for("“Close the gates,” Mira said.") == ["Mira"]


@given(
    st.lists(st.sampled_from([WIND, LINE, GULL, " ", "\n\n", "“Go. Now.", "— Vamos. ", "Bo nods. ", "…"])),
    st.data(),
)
def test_the_pieces_in_which_a_scene_arrives_do_not_change_what_is_shown(
    parts: list[str], data: st.DataObject
) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    for stop in (True, False):
        whole, pieces = WatchedScene(players(), stop=stop), WatchedScene(players(), stop=stop)
        told = whole.feed(text) + whole.feed("", last=True)
        came = [
            pieces.feed(text[start:end]) for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)
        ]
        assert "".join(came) + pieces.feed("", last=True) == told
        assert pieces.acted_for == whole.acted_for
        assert told + whole.kept_back == text
        assert stop or told == text


def test_a_line_is_shown_once_its_speaker_is_known() -> None:
    watched = WatchedScene(players(), stop=True)
    assert watched.feed(WIND + "“Stay here. ") == WIND
    assert watched.feed("I go alone.” ") == ""
    assert watched.feed("Mira said. " + GULL, last=True) == ""
    assert watched.kept_back.startswith("“Stay here.")
    assert watched.acted_for == ["Mira"]


@pytest.mark.parametrize(
    "text", [" " * 100_000, "x" * 30_000, "“ Mira said, " * 3_000, "“Go. " * 5_000, f"{WIND}\n" * 1_000]
)
def test_the_longest_scene_costs_little(text: str) -> None:
    watched, began = WatchedScene(players(), stop=False), time.process_time()
    for at in range(0, len(text), 4):
        watched.feed(text[at : at + 4])
    watched.feed("", last=True)
    assert watched.kept_back == ""
    assert time.process_time() - began < 2


class Overstepping(Writer):
    """Writes Mira's part in every scene; `again` is its continuation."""

    def __init__(self, again: str) -> None:
        super().__init__()
        self.again, self.told = again, list[Body]()

    def __call__(self, asked: Body) -> Reply:
        if "Go on with the scene." in last(asked):
            self.told.append(asked)
            return Reply(self.again)
        if "next scene" in last(asked):
            self.next.append(Reply(WIND + LINE))
        return super().__call__(asked)


async def played(tmp_path: Path, writer: Overstepping, *then: str, toml: str = "") -> Events:
    """What is shown of a turn in a story where Mira is a player's character; or of the last line `then`."""
    async with (
        WIRES["chat"].service(writer) as service,
        talking(settings(tmp_path / "data", service, toml=toml)) as talk,
    ):
        await talk.say(START)
        await talk.say("/story cast Mira: a diver --player Ana")
        shown = await talk.say("I light the lamp.")
        for line in then:
            shown = await talk.say(line)
        return shown


async def test_a_scene_that_acts_for_a_player_is_continued_once_more(tmp_path: Path) -> None:
    writer = Overstepping(GULL)
    shown = await played(tmp_path, writer)
    assert texts(shown).strip() == WIND + GULL, "what was shown stays, and what acts for her is never seen"
    assert "speaks or acts" not in str(shown)
    assert len(writer.told) == 1
    *_, scene, task = writer.told[0]["messages"]
    assert scene == {"role": "assistant", "content": WIND.strip()}
    assert "Mira, whom players play" in task["content"]


@pytest.mark.parametrize(("again", "shown"), [("Mira agrees at once.", "Mira agrees at once."), ("", LINE)])
async def test_a_scene_that_does_so_again_is_shown_with_a_note(
    tmp_path: Path, again: str, shown: str
) -> None:
    events = await played(tmp_path, Overstepping(again))
    assert texts(events).strip() == WIND + shown
    assert "speaks or acts for Mira" in str(events)
    offered = [choice["label"] for choice in choices(events)]
    assert {"Walk away.", "Write it another way"} <= set(offered), "it is gone on from as from any other"


async def test_the_note_stays_when_the_scene_is_shown_again(tmp_path: Path) -> None:
    events = await played(tmp_path, Overstepping(LINE), "/story retry", "/story flip 1")
    (changed,) = (event for event in events if event["event"] == "changed")
    assert "speaks or acts for Mira" in str(changed)


async def test_scenes_are_unchanged_if_the_setting_is_off(tmp_path: Path) -> None:
    writer = Overstepping(GULL)
    shown = await played(tmp_path, writer, toml="[story]\nask_again = false\n")
    assert texts(shown).strip() == WIND + LINE
    assert not writer.told
