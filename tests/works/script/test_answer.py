"""A question to a script from end to end: intents and tiers, tools and evidence, checked quotations; and
without a model.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands import FOLLOW_UP
from bot.events import Choices, Event, Notice, Status
from bot.llm.base import THOUGHTS, ToolOutput
from bot.llm.completion import ToolCall
from bot.readers.screenplay.fountain import fountain
from bot.works.script.analysis import Analysis
from bot.works.script.config import ScriptConfig
from bot.works.script.model import Script, script
from bot.works.script.prompts import ranked
from bot.works.script.question import by_keywords, scene_named, uses_tools
from bot.works.script.quotations import QuotationGate, Quotations
from bot.works.script.scene_search import SceneSearch
from bot.works.script.tools import ScriptTools
from storage.scripts import Reader
from tests.fakes.chat_completions import ChatService
from tests.fakes.reply import Reply
from tests.works.course.desk import opened, words_of
from tests.works.script.test_scripts import ADA, BO, Room

FERRY = """Title: The Ferry

# The storm

INT. WHEELHOUSE - DAY

Ada grips the wheel. The lighthouse is dark.

ADA
The lamp has been out for three nights.

EXT. PIER - NIGHT #12A#

BO (O.S.)
Whose boat is that?

ADA
Not ours. Ours went down with the lamp oil.

INT. KITCHEN - NIGHT

CLARA
Eat something, Bo.

EXT. LIGHTHOUSE - DAWN

Bo climbs the stairs and lights the lamp.
"""
SEARCH = ("search_script", '{"query": "lamp oil"}')
FOLLOWS: dict[str, Any] = {FOLLOW_UP: True}


def ferry() -> Script:
    return script(fountain(FERRY))


@asynccontextmanager
async def asked(
    folder: Path, replies: list[Reply], more: str = ""
) -> AsyncIterator[tuple[Room, ChatService]]:
    """A room with the ferry's script in the thread "t", and a model that follows the replies."""
    async with ChatService(replies, models=("small", "large")) as service:
        settings = (
            f'[providers.a]\nkind = "openai-compatible"\nbase_url = "{service.base_url}"\n'
            f'[roles]\nanswerer = "a:large"\n{more}'
        )
        async with opened(folder, settings) as desk:
            room = Room(desk)
            await room.has(ADA, FERRY)
            yield room, service


def prompts(service: ChatService) -> list[str]:
    return [json.dumps(request["messages"], ensure_ascii=False) for request in service.requests]


async def test_tools_are_asked_and_the_answer_is_made_from_what_they_found(tmp_path: Path) -> None:
    replies = [
        Reply(
            "Let me look.",
            calls=[("search_script", '{"query": "lamp oil"}'), ("get_scene", '{"scene_number": 9999}')],
        ),
        Reply(calls=[("get_character_scenes", '{"character_name": "ada (V.O.)"}')]),
        Reply("I have it."),
        Reply(
            'The lamp is out in Scene 1, and "Ours went down with the lamp oil." in Scene 2. She says "all is lost".'
        ),
    ]
    async with asked(tmp_path, replies) as (room, service):
        events = await room.events(ADA, "script ask", "How does the theme of the lamp run through it?")
        texts = [event.text for event in events if isinstance(event, Status)]
        assert "Searching the scenes: lamp oil · Reading scenes: 9999" in texts
        assert "Following a character: ada (V.O.)" in texts
        answer = words_of(events)
        # Words from the script keep their quotation marks; others lose them, and a note says so.
        assert '"Ours went down with the lamp oil." in Scene 2' in answer
        assert "She says all is lost (not in the screenplay word for word)." in answer
        assert "Let me look" not in answer
        (named,) = [event for event in events if isinstance(event, Choices)]
        assert [choice.label for choice in named.choices] == ["Scene 1", "Scene 2"]
        first, second, _, last = prompts(service)
        assert "There is no scene 9999: the scenes are 1 to 4." in second
        assert "ADA speaks in 2 of 4 scenes" in last
        assert "<evidence>" in last
        assert "Scene 2 · EXT. PIER - NIGHT" in last
        assert "Ours went down with the lamp oil." in last
        assert "ADA: speaks in 2 scenes" in first
        assert "before scene 1: The storm" in first
        assert len(service.requests[0]["tools"]) == 9
        assert "tools" not in service.requests[-1]
        assert 1200 + THOUGHTS[None] in service.requests[-1].values()


@pytest.mark.slow
async def test_reaching_the_limit_of_rounds_needs_no_extra_call(tmp_path: Path) -> None:
    replies = [Reply(calls=[("analyze_pacing", "{}")], times=2), Reply("It runs fast.")]
    async with asked(tmp_path, replies, "[script]\nrounds = 2\n") as (room, service):
        answer = words_of(await room.events(ADA, "script ask", "How is the pacing?"))
        assert "It runs fast." in answer
        assert len(service.requests) == 3
        assert "4 scenes, 4/8 pages" in prompts(service)[-1]


@pytest.mark.slow
async def test_a_model_may_answer_without_tools(tmp_path: Path) -> None:
    async with asked(tmp_path, [Reply("It has four scenes.")]) as (room, service):
        assert "It has four scenes." in words_of(
            await room.events(ADA, "script ask", "What is its structure?")
        )
        assert len(service.requests) == 1


def notices(events: list[Event]) -> list[Notice]:
    return [event for event in events if isinstance(event, Notice)]


@pytest.mark.parametrize("looked", [False, True])
async def test_a_refused_or_cut_off_loop_says_so(tmp_path: Path, looked: bool) -> None:
    for name in ("cut", "length"):
        (tmp_path / name).mkdir()
    look = [Reply(calls=[("get_scene", '{"scene_number": 1}')])] if looked else []
    question = ("script ask", "What is its structure?")
    async with asked(tmp_path, [*look, Reply(finish="content_filter")]) as (room, service):
        (notice,) = notices(await room.events(ADA, *question))
        assert "declined" in notice.text
        assert len(service.requests) == len(look) + 1
    replies = [*look, Reply("It has four", finish="something_new"), Reply("It has four scenes.")]
    async with asked(tmp_path / "cut", replies) as (room, _):
        events = await room.events(ADA, *question)
        (notice,) = notices(events)
        assert ("cut off" in notice.text, notice.retry) == (True, True)
        assert "It has four" in words_of(events)
    replies = [Reply("It has", finish="length", times=9)]
    async with asked(tmp_path / "length", [*look, *replies]) as (room, _):
        assert notices(await room.events(ADA, *question))


@pytest.mark.slow
async def test_a_local_edit_of_the_scene_in_focus_takes_no_tools_and_its_scene_whole(tmp_path: Path) -> None:
    async with asked(tmp_path, [Reply("> Whose boat, Ada?")]) as (room, service):
        await room.events(ADA, "script scene", "2")
        await room.events(ADA, "script ask", "Punch up the first line, please")
        (request,) = service.requests
        assert "tools" not in request
        prompt = prompts(service)[0]
        assert "<scene>\\nScene 2\\nEXT. PIER - NIGHT\\nBO (O.S.)\\nWhose boat is that?" in prompt
        assert "Scene 3 (p. 1, 1/8): INT. KITCHEN - NIGHT; CLARA" in prompt
        assert "as it would stand in the script" in prompt


@pytest.mark.parametrize(
    ("given", "tools"), [({"tools": "off"}, False), ({"tools": "on"}, True), ({}, False)]
)
async def test_the_option_tools_decides_whether_tools_are_offered(
    tmp_path: Path, given: dict[str, str], tools: bool
) -> None:
    async with asked(tmp_path, [Reply("Good.")]) as (room, service):
        await room.events(ADA, "script ask", "Your feedback on scene 3?", **given)
        assert ("tools" in service.requests[0]) == tools
        assert "Eat something, Bo." in prompts(service)[0]


async def test_a_small_model_finds_the_intent_if_the_words_do_not_tell_it(tmp_path: Path) -> None:
    replies = [Reply('{"intent": "BRAINSTORM"}'), Reply("1. A fog.")]
    async with asked(tmp_path, replies, 'extractor = "a:small"\n') as (room, service):
        await room.events(ADA, "script ask", "Something for the night before the storm")
        assert [request["model"] for request in service.requests] == ["small", "large"]
        assert "three to five different ideas" in prompts(service)[1]
    replies = [Reply("Fine.")]
    (tmp_path / "hint").mkdir()
    async with asked(tmp_path / "hint", replies, 'extractor = "a:small"\n') as (room, service):
        await room.events(ADA, "script ask", "Something for the night", intent="scene-feedback")
        assert "Say what works" in prompts(service)[0]


async def test_a_new_topic_clears_the_prompt_but_not_the_stored_exchanges(tmp_path: Path) -> None:
    replies = [Reply(f"Answer {n}.") for n in range(3)]
    async with asked(tmp_path, replies) as (room, service):
        await room.events(ADA, "script ask", "What is the theme of the lamp?")
        await room.events(ADA, "script ask", "And what does it stand for in the arc?", **FOLLOWS)
        await room.events(ADA, "script ask", "Judge the structure of Clara's kitchen", **FOLLOWS)
        _, second, third = prompts(service)
        assert "Answer 0." in second
        assert "<earlier>" not in third
        sessions = room.desk.app.resources.records.sessions
        active = await sessions.active("local", "terminal", "c", "t")
        assert active is not None
        assert (active.work, active.title) == ("script", "What is the theme of the lamp?")
        assert len(await sessions.last_exchanges("local", active.id, 9)) == 3


@pytest.mark.slow
async def test_a_tier_limits_how_much_of_the_script_is_sent(tmp_path: Path) -> None:
    long = "Title: Long\n\n" + "".join(f"INT. ROOM {n} - DAY\n\nWords of room {n}.\n\n" for n in range(900))
    async with asked(tmp_path, [Reply("Yes.", times=3)]) as (room, service):
        await room.has(ADA, long)
        for tier in ("quick", "standard", "deep"):
            await room.events(ADA, "script ask", "How is the pacing?", tools="off", tier=tier, script="Long")
        sizes = [len(prompt) for prompt in prompts(service)]
        assert sizes[0] < sizes[1] < sizes[2]
        assert [size / 4 < most for size, most in zip(sizes, (2_000, 6_500, 26_000), strict=True)] == [
            True
        ] * 3


async def test_a_deeper_tier_sends_more_scenes_starting_with_those_that_share_words(tmp_path: Path) -> None:
    rooms = "".join(
        f"INT. ROOM {n} - DAY\n\n{f'Somebody counts the lamps of room {n}. ' * 20}\n\n" for n in range(40)
    )
    whale = "A whale sings in the flooded cellar."
    async with asked(tmp_path, [Reply("Yes.", times=99)]) as (room, service):
        await room.has(ADA, f"Title: Long\n\n{rooms}INT. CELLAR - NIGHT\n\n{whale}\n")

        async def told(question: str, tier: str, script: str = "Long") -> str:
            await room.events(ADA, "script ask", question, tools="off", tier=tier, script=script)
            return prompts(service)[-1]

        assert whale in await told("Why does the whale sing?", "standard")
        quick, standard, deep = [
            await told("Who counts lamps?", tier) for tier in ("quick", "standard", "deep")
        ]
        shown = [prompt.count("counts the lamps") // 20 for prompt in (quick, standard, deep)]
        assert 4 * shown[0] < 2 * shown[1] < shown[2] == 40, shown
        # A script that fits is shown whole, where the service's cache keeps it.
        ferry = await told("Is it sad?", "standard", "The Ferry")
        assert "Ours went down with the lamp oil." in ferry.partition("</screenplay>")[0]


async def test_without_a_model_the_nearest_scenes_are_quoted(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        room = Room(desk)
        await room.has(ADA, FERRY)
        events = await room.events(ADA, "script ask", "Who lights the lamp on the stairs?")
        answer = words_of(events)
        assert (
            "**Scene 4 · EXT. LIGHTHOUSE - DAWN**\n> EXT. LIGHTHOUSE - DAWN\n> Bo climbs the stairs" in answer
        )
        assert any(isinstance(event, Notice) for event in events)
        assert "No scene has these words." in words_of(await room.events(ADA, "script ask", "Zeppelins?"))
        missing = words_of(await room.events(ADA, "script ask", "What happens in scene 9,999?"))
        assert "There is no scene 9999: this screenplay has scenes 1 to 4." in missing
        assert "12A" in words_of(await room.events(ADA, "script ask", "What happens in scene 12A?"))
        # Nobody can ask about a script that they may not read.
        await room.events(ADA, "script share", "The Ferry", visible="me")
        (row,) = await desk.app.resources.scripts.all(Reader("local", "ada"))
        for name in ("", row.id, row.alias, "The Ferry"):
            assert (
                "no screenplay"
                in words_of(await room.events(BO, "script ask", "The lamp?", script=name)).lower()
            )


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Punch up the fight", "LOCAL_EDIT"),
        ("Please change the ending", "LOCAL_EDIT"),
        ("Reescreva a última fala", "LOCAL_EDIT"),
        ("How does Anna change?", None),
        ("Any ideas for a rewrite?", "BRAINSTORM"),
        ("E se a Ana não fosse?", "BRAINSTORM"),
        ("Your feedback on this?", "SCENE_FEEDBACK"),
        ("Analyze the scene", "SCENE_FEEDBACK"),
        ("What is Bo's arc?", "GLOBAL_QUESTION"),
        ("O ritmo está bom?", "GLOBAL_QUESTION"),
        ("Who is Clara?", None),
    ],
)
def test_words_of_the_question_decide_the_intent(question: str, intent: str | None) -> None:
    assert by_keywords(question) == intent


@pytest.mark.parametrize(
    ("question", "scene"),
    [
        ("What happens in scene 12?", "12"),
        ("cena 12A", "12a"),
        ("Scene 9,999", "9999"),
        ("A scene, 12 lines", ""),
    ],
)
def test_a_scene_named_in_a_question_is_recognised(question: str, scene: str) -> None:
    assert scene_named(question) == scene


def test_intent_and_focus_decide_whether_tools_are_offered() -> None:
    assert uses_tools("Track Bo", "LOCAL_EDIT", focus=True)
    assert not uses_tools("Shorten it", "LOCAL_EDIT", focus=True)
    assert uses_tools("Shorten it", "LOCAL_EDIT", focus=False)
    assert uses_tools("The arc?", "GLOBAL_QUESTION", focus=True)


async def test_tools_find_scenes_by_their_position_only() -> None:
    made = ferry()
    tools = ScriptTools("id", made, SceneSearch(made), Analysis({}, ()))
    assert [passage.section for passage in (await tools.get_scene(2)).passages] == [2]
    assert [passage.section for passage in (await tools.get_scenes_context([1, 4, 77], 1)).passages] == [
        1,
        2,
        3,
        4,
    ]
    assert (await tools.get_scene(0)).failed
    assert "no scene 5" in (await tools.get_scene_relationships(5)).text
    found = await tools.search_script("lamp", {"setting": "EXT", "character": "ada"})
    assert [passage.section for passage in found.passages] == [2]
    assert "Those who speak: ADA, BO, CLARA." in (await tools.get_character_scenes("Zoe")).text
    related = await tools.get_scene_relationships(1)
    assert "The same characters:\nScene 2" in related.text
    assert "before scene 1: The storm" in (await tools.get_plot_threads()).text


@given(
    st.lists(st.text(alphabet="lamp bo\n", max_size=4_000), max_size=15),
    st.integers(1, 12),
    st.integers(100, 2_000),
    st.integers(100, 9_000),
)
def test_evidence_never_exceeds_its_limits(texts: list[str], items: int, each: int, whole: int) -> None:
    config = ScriptConfig(evidence_items=items, evidence_item_chars=each, evidence_chars=whole)
    done = [(ToolCall(str(n), "t", "{}"), ToolOutput(text)) for n, text in enumerate(texts)]
    found = ranked(done, "Where is the lamp?", SceneSearch(ferry()), config)
    assert len(found) <= items
    assert all(len(passage.text) <= each for passage in found)
    assert sum(len(passage.text) for passage in found) <= whole


def test_evidence_that_the_question_names_comes_first() -> None:
    made = ferry()
    done = [
        (ToolCall("1", "a", "{}"), ToolOutput("Nothing of it.\n" * 300)),
        (
            ToolCall("2", "b", "{}"),
            ToolOutput("x\n" * 2_000 + "Clara cooks in the kitchen.\n" + "y\n" * 2_000),
        ),
    ]
    first, *_ = ranked(done, "What does Clara do in the kitchen?", SceneSearch(made), ScriptConfig())
    assert first.name == "b"
    assert "Clara cooks in the kitchen." in first.text


_PIECES = st.sampled_from(
    [
        '"',
        "“",
        "”",
        "«",
        "»",
        "„",
        "\n",
        " ",
        "Not ours. ",
        "not   OURS.",
        "Whose boat is that?",
        "Zeppelin",
        "5",
    ]
)


@given(st.lists(_PIECES, max_size=14), st.lists(st.integers(0, 80), max_size=6))
def test_quotations_are_checked_the_same_way_however_the_answer_arrives(
    parts: list[str], cuts: list[int]
) -> None:
    quotations, answer = Quotations(ferry()), "".join(parts)
    gate = QuotationGate(quotations, "(not there)")
    at = [0, *sorted(cuts), len(answer)]
    pieces = [answer[first:last] for first, last in pairwise(at)]
    shown = "".join([*map(gate.feed, pieces), gate.finish()])
    assert shown == quotations.checked(answer, "(not there)")
