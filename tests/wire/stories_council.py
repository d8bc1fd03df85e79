"""What people see of a council, written once for all platforms.

A story is a coroutine over a `Driver` and the council's models; `COUNCIL_STORIES` has them by name, as in stories.
The council has four members, m1 to m4, and every judge ranks them alike: see council_model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from tests.fakes.reply import Reply
from tests.kill.remains import live
from tests.wire.council_model import ANSWERS, DISSENT, FOUND, GARBAGE, QUESTION, SYNTHESIS, Call, CouncilModel
from tests.wire.driver import Driver, Talk
from tests.wire.story import ANA, BIA, count

MEMBERS = ("m1", "m2", "m3", "m4")
CATEGORY = "cultural_context"
TITLES = ["Research", "Answers", "Ballots", "Synthesis"]
WRITING = "The chair writes the synthesis"
WRITTEN = 17
"""Pieces of a synthesis after which every platform shows its beginning."""

RESEARCH, SYNTHESIZE = Call("scout", f"research-{CATEGORY}"), Call("chair", "synthesis")
ONE_COUNCIL = Counter(
    [RESEARCH, SYNTHESIZE, *(Call(member, task) for member in MEMBERS for task in ("answer", "ballot"))]
)
"""What is paid when all goes well."""

CouncilStory = Callable[[Driver, CouncilModel], Awaitable[None]]
COUNCIL_STORIES: dict[str, CouncilStory] = {}
SLOW_COUNCIL_STORIES: dict[str, CouncilStory] = {}


def story(story: CouncilStory) -> CouncilStory:
    COUNCIL_STORIES[story.__name__.replace("_", " ")] = story
    return story


def slow_story(story: CouncilStory) -> CouncilStory:
    SLOW_COUNCIL_STORIES[story.__name__.replace("_", " ")] = story
    return story


async def convene(d: Driver, person: str = ANA, *, research: str = CATEGORY, **options: Any) -> Talk:
    """Ask the council; `research=""` for none."""
    if research:
        options["research"] = research
    return await d.ask(person, QUESTION, verb="council ask", **options)


def title(text: str) -> str:
    """The title of a message."""
    return text.partition("\n")[0].strip("#*_ ")


def titles(talk: Talk) -> list[str]:
    return [title(text) for text in talk.said()]


def shown(talk: Talk) -> list[str]:
    """The members whose answers are visible."""
    return [name for name in MEMBERS if count(talk.said(), ANSWERS[name])]


def stoppable(talk: Talk) -> bool:
    return any("stop" in post.actions for post in talk.posts())


def kept(d: Driver, run: str) -> set[str]:
    """The names of the stored steps of a run."""
    query = f"SELECT function_name FROM operation_outputs WHERE workflow_uuid = '{run}'"
    return {name for (name,) in live(d.process.data / "engine.db", query)}


def plain(talk: Talk) -> list[list[str]]:
    """The lines of the messages, without times, tokens, the council's number and the order of arrival."""
    spans = r"\b[\d.,]+ (?:s|seconds?|minutes?|tokens?)\b|\bno\. \w+"
    return [sorted(re.sub(r"\n?-# ↻ .*", "", re.sub(spans, "N", text)).splitlines()) for text in talk.said()]


@story
async def four_stages_in_four_messages(d: Driver, council: CouncilModel) -> None:
    talk = await convene(d)
    await d.rest(1)
    assert titles(talk) == TITLES, talk.said()
    research, answers, ballots, synthesis = talk.said()
    assert FOUND[CATEGORY] in research
    for name in MEMBERS:
        assert answers.count(ANSWERS[name]) == 1
        assert name in ballots
    assert not count([research, ballots, synthesis], ANSWERS["m1"]), "each answer is in its stage's message"
    assert ballots.index("m2") < ballots.index("m1") < ballots.index("m3") < ballots.index("m4"), ballots
    assert SYNTHESIS in synthesis
    assert DISSENT in synthesis
    assert "DISSENT:" not in synthesis, "people do not read the chair's instructions"
    assert "4 of 4" in talk.said()[-1]
    assert not stoppable(talk)
    assert QUESTION in "".join(post.text for post in d.channel().posts()), "everybody sees the question"
    assert council.asked == ONE_COUNCIL


@story
async def each_message_grows_as_its_stage_does(d: Driver, council: CouncilModel) -> None:
    last, writing = council.hold(Call("m4", "answer")), council.hold(SYNTHESIZE, at=WRITTEN)
    talk = await convene(d)
    await d.until(lambda: shown(talk) == ["m1", "m2", "m3"])
    assert titles(talk) == TITLES[:2]
    assert not [call for call in council.asked if call.task == "ballot"], (
        "no judge begins before all have answered"
    )
    last.set()
    await d.until(lambda: count(talk.said(), SYNTHESIS[:8]) == 1)
    assert titles(talk) == [*TITLES[:3], WRITING], "an incomplete text is not called a synthesis"
    assert DISSENT not in talk.said()[-1]
    writing.set()
    await d.rest(1)
    assert titles(talk) == TITLES


@story
async def a_council_redelivered(d: Driver, council: CouncilModel) -> None:
    talk = await convene(d)
    await d.rest(1)
    before = talk.posts()
    await d.redeliver()
    again = await d.command(ANA, "rules roll", expression="1d1")
    await d.rest(2)
    assert again.said()
    assert talk.posts() == before
    assert council.asked == ONE_COUNCIL


@story
async def one_member_fails(d: Driver, council: CouncilModel) -> None:
    error = {
        "message": "Incorrect API key provided",
        "type": "invalid_request_error",
        "code": "invalid_api_key",
    }
    council.once[Call("m3", "answer")] += [Reply(status=401, error=error) for _ in range(3)]
    talk = await convene(d)
    await d.rest(1)
    assert titles(talk) == TITLES
    answers, synthesis = talk.said()[1], talk.said()[-1]
    assert "3 of 4" in answers
    assert "m3" in answers
    assert "refused the API key" in answers, answers
    assert shown(talk) == ["m1", "m2", "m4"]
    assert SYNTHESIS in synthesis
    assert "3 of 4" in synthesis
    assert not council.asked[Call("m3", "ballot")], "a member without an answer does not judge"
    assert len(council.prompts[Call("m1", "ballot")][0].split("<response ")) == 1 + 3


@story
async def one_garbage_ballot(d: Driver, council: CouncilModel) -> None:
    for task in ("ballot", "ballot-again"):
        council.once[Call("m3", task)].append(Reply(pieces=[GARBAGE]))
    talk = await convene(d)
    await d.rest(1)
    assert titles(talk) == TITLES
    ballots = talk.said()[2]
    assert "m3**: abstains" in ballots, ballots
    assert not count(talk.said(), GARBAGE), "its invalid ballot is shown on request"
    assert SYNTHESIS in talk.said()[-1]
    assert council.asked == ONE_COUNCIL + Counter([Call("m3", "ballot-again")]), (
        "it is asked again once, not twice"
    )


@story
async def a_follow_up_to_a_council(d: Driver, council: CouncilModel) -> None:
    days = [
        f"On day {n} they rest where the road is dry, and send the guides ahead of them. " for n in range(30)
    ]
    council.once[SYNTHESIZE].append(Reply(pieces=["".join(days), f"{SYNTHESIS}\n\nDISSENT:\n", DISSENT]))
    talk = await convene(d)
    await d.rest(1)
    count_before = len(talk.said())
    assert count(talk.said(), SYNTHESIS) == 1
    await d.mention(BIA, talk, "and with children among them?")
    await d.rest(2)
    assert titles(talk)[count_before:] == TITLES[1:], "the council answers the follow-up, without research"
    assert SYNTHESIS in talk.said()[-1]
    for call in (Call("m1", "answer"), Call("m4", "ballot"), SYNTHESIZE):
        first, again = council.prompts[call]
        assert days[0] not in first
        for words in (QUESTION, days[0], DISSENT, "and with children among them?"):
            assert words in again, f"{call} must be mentioned: {words}"


@story
async def a_council_is_stopped(d: Driver, council: CouncilModel) -> None:
    gate = council.hold(Call("m4", "answer"))
    talk = await convene(d)
    await d.until(lambda: shown(talk) == ["m1", "m2", "m3"])
    await d.press(ANA, talk, "stop")
    await d.until(lambda: not stoppable(talk))
    gate.set()
    await d.rest(1)
    again = await d.command(ANA, "rules roll", expression="1d1")
    await d.rest(2)
    assert again.said()
    assert [title for title in titles(talk) if title in TITLES] == TITLES[:2]
    assert shown(talk) == ["m1", "m2", "m3"], "the shown text stays"
    assert {call.task for call in council.asked} == {RESEARCH.task, "answer"}, "and no further call is paid"


@story
async def anybody_at_the_table_looks_closer(d: Driver, council: CouncilModel) -> None:
    talk = await convene(d, research="")
    await d.rest(1)
    count_before = len(talk.said())
    pressed = await d.press(BIA, talk, "choice")
    await d.rest(2)
    answers = "".join([*pressed.said(), *talk.said()[count_before:]])
    assert [name for name in MEMBERS if ANSWERS[name] in answers] == list(MEMBERS), answers
    count_before = len(talk.said())
    typed = await d.command(BIA, "council show", talk=talk, what="ballots 4")
    await d.rest(3)
    ballot = "".join([*typed.said(), *talk.said()[count_before:]])
    assert "FINAL RANKING:" in ballot, "a ballot is shown as the judge wrote it"
    assert "m2" in ballot, "and the members behind its letters are named below it"
    assert council.asked == ONE_COUNCIL - Counter([RESEARCH]), "no model is asked again for that"


@story
async def a_private_council_stays_private(d: Driver, council: CouncilModel) -> None:
    before = d.channel().posts()
    talk = await convene(d, research="", private=True)
    await d.rest(1)
    assert shown(talk) == list(MEMBERS)
    assert count(talk.said(), SYNTHESIS) == 1
    (run,) = d.runs()
    answers = await d.command(BIA, "council show", what="answers")
    named = await d.command(BIA, "council show", what="answers", run=run[-6:])
    exported = await d.command(BIA, "council export", run=run[-6:])
    own = await d.press(ANA, talk, "choice")
    await d.rest(5)
    for talk_shown in (answers, named, exported):
        assert talk_shown.said()
        assert not shown(talk_shown), talk_shown.said()
        assert not count(talk_shown.said(), SYNTHESIS)
    assert shown(own) == list(MEMBERS), own.said()
    assert d.channel().posts() == before, "nobody else sees anything"


HELD = (RESEARCH, Call("m4", "answer"), Call("m4", "ballot"), SYNTHESIZE)
"""One call of each stage, the one that ends it."""


@slow_story
async def kill_9_in_every_stage(d: Driver, council: CouncilModel) -> None:
    reference = await convene(d)
    await d.rest(1)
    for call in HELD:
        council.hold(call, at=WRITTEN if call == SYNTHESIZE else 0)
    talk = await convene(d)
    for n, call in enumerate(HELD, 1):
        other_steps = {other_call.step for other_call in ONE_COUNCIL if stage(other_call) == stage(call)} - {
            call.step
        }

        def alone(n: int = n, call: Call = call, others: set[str] = other_steps) -> bool:
            return council.asked[call] == 2 and others <= kept(d, d.runs()[-1]) and len(talk.said()) == n

        await d.until(alone)
        await d.restart()
    await d.rest(2)
    assert plain(talk) == plain(reference)
    assert not stoppable(talk)
    assert council.asked == ONE_COUNCIL + ONE_COUNCIL + Counter(HELD), (
        "only the calls that were cut off are paid again"
    )


def stage(call: Call) -> str:
    return call.task.partition("-")[0]
