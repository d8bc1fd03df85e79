"""What remains if ballots, answers or the chair fail: never called more than it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.adapters.markdown import blocks
from bot.events import UserError
from bot.words import words
from bot.works.council.markdown import ballots, verdict_title
from tests.fakes.reply import Reply
from tests.wire.council_model import ANSWERS, GARBAGE, Call
from tests.works.council.table import Table, table

MEMBERS = ("m1", "m2", "m3", "m4")
NO_JUDGES = [
    ('"local:m1", "local:m2", "local:m3", "plain:m4"', '"plain:m1", "plain:m2", "plain:m3", "plain:m4"'),
    ("json_schema = false", "json_schema = false\ncites = false"),
    ('chair = ["local:chair", "local:m1"]\n', "chair = []\n"),
]


def fails(council: Table, task: str, *names: str) -> None:
    for name in names:
        council.fake.once[Call(name, task)].append(Reply(status=404, times=9))


async def test_two_answers_without_self_votes_have_no_winner(tmp_path: Path) -> None:
    async with table(tmp_path, more='[council]\nself_votes = "exclude"\n') as made:
        fails(made, "answer", "m3", "m4")
        fails(made, "synthesis", "chair", *MEMBERS)
        answer = await made.ask()
        assert answer.text("ballots").startswith("No answer is ahead of the others.")
        assert answer.titles[-1] == "One of the answers, unchanged, by m1"
        assert verdict_title(await made.kept(), words("en")) == "One of the answers, unchanged"


async def test_similar_answers_have_no_winner_if_no_member_can_judge(tmp_path: Path) -> None:
    async with table(tmp_path, swap=NO_JUDGES) as made:
        for name in MEMBERS:
            made.fake.once[Call(name, "answer")].append(Reply(pieces=["The same words."]))
        answer = await made.ask()
        assert answer.text("ballots").strip() == "No answer is ahead of the others."


async def test_the_most_similar_answer_is_not_called_the_best(tmp_path: Path) -> None:
    async with table(tmp_path, swap=NO_JUDGES) as made:
        said = ("ferry river boat", "ferry river bridge", "ferry river boat bridge", "pass snow")
        for name, text in zip(MEMBERS, said, strict=True):
            made.fake.once[Call(name, "answer")].append(Reply(pieces=[text]))
        fails(made, "synthesis", "m1")
        answer = await made.ask()
        assert answer.titles[-1] == "The answer most like the others, unchanged, by m3"
        assert verdict_title(await made.kept(), words("en")) == "One of the answers, unchanged"


async def test_the_council_says_for_each_judge_why_it_did_not_vote(four: Table) -> None:
    for name in MEMBERS[:3]:
        four.fake.once[Call(name, "ballot")].append(Reply(pieces=["I will not."], finish="refusal"))
    fails(four, "ballot", "m4")
    shown = (await four.ask()).text("ballots")
    assert shown.startswith("No ballot could be read")
    assert all(f"- **{name}**: abstains. It declined to answer." in shown for name in MEMBERS[:3])
    assert "- **m4**: abstains. The service did not find plain:m4 (404 fault 404)." in shown


@pytest.mark.parametrize(
    ("said", "order", "line"),
    [
        ('{"ranking": ["A", "B", "C"]}', [0, 1, 2], "first > second > third (left some out)"),
        ('{"ranking": ["A", "B", "B", "C", "D"]}', [0, 1, 2, 3], "first > second > third > fourth"),
        ('{"ranking": ["A", ["B", "C"], "D"]}', [0, [1, 2], 3], "first > second = third > fourth"),
        ("FINAL RANKING: A > B = C > D", [0, [1, 2], 3], "first > second = third > fourth"),
    ],
)
async def test_a_ballot_with_a_small_mistake_is_not_requested_again(
    four: Table, said: str, order: list[int | list[int]], line: str
) -> None:
    four.fake.once[Call("m1", "ballot")].append(Reply(pieces=[said]))
    answer = await four.ask()
    assert "m1 ballot-again" not in four.asked
    kept = (await four.kept()).ballots[0]
    shown = json.loads(kept.shown)
    seats = [[shown[at] for at in place] if isinstance(place, list) else shown[place] for place in order]
    assert json.loads(kept.ranking) == seats
    for word, seat in zip(("first", "second", "third", "fourth"), shown, strict=True):
        line = line.replace(word, MEMBERS[seat])
    assert f"- **m1**: {line}" in answer.text("ballots")
    if "=" in line:
        assert " = C (" in ballots(await four.kept(), words("en"), 0)


async def test_a_partly_readable_ballot_counts_if_the_repeated_request_fails(four: Table) -> None:
    part = "FINAL RANKING:\n1. Response B\n2. Response A"
    four.fake.once[Call("m1", "ballot")].append(Reply(pieces=[part]))
    fails(four, "ballot-again", "m1")
    await four.ask()
    kept = (await four.kept()).ballots[0]
    assert (kept.source, kept.partial) == ("ranking", True)


async def test_half_a_synthesis_of_unranked_answers_is_followed_by_one_of_them(four: Table) -> None:
    fails(four, "ballot", *MEMBERS)
    four.fake.once[Call("chair", "synthesis")].append(Reply(pieces=["Take ", "the "], finish="length"))
    answer = await four.ask()
    assert answer.titles[-1] == "One of the answers, unchanged, by m1"
    assert answer.notices("best")[0] == "The synthesis is incomplete, so here is one of the answers."


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(pieces=["DISSENT:\nSome differ."]), "The chair wrote no answer."),
        (Reply(pieces=[" \n"]), "The chair wrote no answer."),
        (Reply(pieces=[" "], finish="refusal"), "The chair declined to continue."),
    ],
)
async def test_a_chair_without_an_answer_leaves_no_message_that_it_is_writing(
    four: Table, reply: Reply, why: str
) -> None:
    four.fake.once[Call("chair", "synthesis")].append(reply)
    answer = await four.ask()
    assert answer.titles[-2:] == ["No answer from the chair", "The best answer, unchanged, by m2"]
    assert answer.notices("best")[0] == why
    assert ANSWERS["m2"] in answer.text("best")
    assert (await four.kept()).row.kind == "best"


async def test_an_open_code_block_of_the_chair_does_not_swallow_the_dissent(four: Table) -> None:
    said = ["So:\n\n```py\n", "ferry()\n", "\nDISSENT:\n", "The pass is faster."]
    four.fake.once[Call("chair", "synthesis")].append(Reply(pieces=said))
    shown = (await four.ask()).text("synthesis")
    assert [block.source.strip() for block in blocks(shown) if block.kind == "text"] == [
        "So:",
        "**Dissent**",
        "The pass is faster.",
    ]


async def test_a_single_failed_member_is_named_in_the_singular(four: Table) -> None:
    fails(four, "answer", "m1")
    with pytest.raises(UserError) as refused:
        await four.ask(level="single")
    assert words("en")(refused.value.key, **refused.value.values).startswith("m1 did not answer. ")


async def test_an_unreadable_ballot_with_a_failed_repair_is_an_abstention(four: Table) -> None:
    four.fake.once[Call("m1", "ballot")].append(Reply(pieces=[GARBAGE]))
    fails(four, "ballot-again", "m1")
    assert "- **m1**: abstains." in (await four.ask()).text("ballots")


async def test_a_limit_below_a_cent_is_shown_exactly(tmp_path: Path) -> None:
    priced = [('council = ["local:m1"', 'council = ["openai:gpt-4o"')]
    async with table(tmp_path, swap=priced, more="[budget]\nask_above_usd = 0.001\n") as made:
        assert "more than $0.0010, so I ask first" in (await made.ask()).text("estimate")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Take the ferry.", "The chair did not say whether the answers disagree."),
        ("Take the ferry.\n\nDISSENT:\nnone", "The answers do not disagree in substance."),
    ],
)
async def test_a_missing_dissent_is_not_taken_for_agreement(four: Table, said: str, shown: str) -> None:
    four.fake.once[Call("chair", "synthesis")].append(Reply(pieces=said.splitlines(keepends=True)))
    assert (await four.ask()).text("synthesis").endswith(f"**Dissent**\n\n{shown}")
