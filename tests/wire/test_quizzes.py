"""A quiz on each of the three platforms: made, answered with buttons and words, continued after kill -9, ended, and
scored.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.kill.instants import on_one_of
from tests.kill.remains import live
from tests.wire.conftest import Take
from tests.wire.story import ANA, BIA
from tests.wire.test_courses import shown, taken_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

WRITTEN = (
    '{"question": "What does the reef knot never hold?", "answer": "two ropes of different thickness",'
    ' "wrong": ["a single wet line", "anything at sea", "three sails"],'
    ' "quote": "it never holds two ropes of different thickness"}'
)


def letter(talk: Any) -> str:
    """The letter of the right answer, in the order shown below the question."""
    lines = shown(talk).replace("*", "").replace("\\", "").splitlines()
    (right,) = {line.strip(" •-")[0] for line in lines if line.endswith("two ropes of different thickness")}
    return right


@pytest.mark.parametrize("platform", ["discord", "slack", "terminal"])
async def test_a_quiz_is_answered_ended_and_scored(platform: str, take: Take, tmp_path: Path) -> None:
    d = await take(platform)
    runs = len(d.states())
    await taken_in(d, platform, tmp_path)
    await d.rest(runs + 1)
    d.model.form = WRITTEN
    of = {"lesson": "2", "questions": 1}
    if platform == "terminal":
        quiz = await d.command(ANA, "course quiz", course="knots", **of)
    else:
        quiz = await d.ask(ANA, "knots", verb="course quiz", **of)
    await d.rest(runs + 2)
    right = letter(quiz)
    wrong = "A" if right != "A" else "B"

    await d.restart()
    if platform == "terminal":
        await d.mention(ANA, quiz, right)
        await d.rest(runs + 3)
        again = await d.command(ANA, f"course answer 1 {wrong}")
        await d.rest(runs + 4)
        assert "You have 1 of 1 right" in shown(quiz)
    else:
        opened = await d.choose(ANA, quiz, "In words…")
        await d.fill(ANA, quiz, opened, "two ropes of different thickness")
        await d.rest(runs + 3)
        again = await d.choose(ANA, quiz, wrong)
        await d.rest(runs + 4)
        private_talk = d.told(d.people[BIA], quiz.channel, quiz.root) if platform == "slack" else quiz
        await d.mention(BIA, quiz, "It is three sails.")
        await d.rest(runs + 5)
        # On Slack only Bia gets a note; on Discord, where a message cannot be private, nobody does.
        assert ("Not right" if platform == "slack" else "Your answer to question 1") in shown(private_talk)
        # Nobody else reads how somebody has answered.
        assert "1 of 1 right" not in shown(quiz)
        assert "Not right" not in shown(quiz)
        assert "already" not in shown(quiz)
    assert "You have already answered question 1" in shown(again)

    ended = len(d.states())
    if platform == "terminal":  # offers are forgotten there, questions are not
        finished = await d.command(ANA, "course finish")
    else:
        finished = quiz
        await d.choose(ANA, quiz, "End the quiz")
    await d.rest(ended + 1)
    learners = 1 if platform == "terminal" else 2
    await d.until(lambda: f"1 of {learners} got this right" in shown(finished))
    if platform != "terminal":
        assert "End the quiz" not in str(d.open_buttons(quiz))
        late = d.told(d.people[BIA], quiz.channel, quiz.root) if platform == "slack" else quiz
    else:
        late = quiz
    await d.mention(BIA, quiz, "three sails")
    await d.rest(ended + 2)
    await d.until(lambda: "This quiz has ended" in shown(late))
    before, everybody = len(d.states()), shown(d.channel()) if platform != "terminal" else ""
    score = await d.command(ANA, "course score")
    await d.rest(before + 1)
    assert "Knots at Sea: 1 of 1 right" in shown(score)
    if platform != "terminal":
        assert "Knots at Sea" not in shown(d.channel())[len(everybody) :]
        await d.command(BIA, "course score", share=True)
        await d.rest(before + 2)
        await d.until(lambda: "Knots at Sea: 0 of 1 right" in shown(d.channel()))
    d.check()


# The engine is still storing that the answer's step is done when the process is killed.
FOR_EVER = """
CREATE TRIGGER for_ever BEFORE INSERT ON operation_outputs WHEN new.function_name = 'answered' BEGIN
SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n);
END
"""


@pytest.mark.parametrize("platform", on_one_of("discord", "slack", "terminal"))
async def test_an_answer_stored_without_its_step_counts_once(
    platform: str, take: Take, tmp_path: Path
) -> None:
    d = await take(platform)
    runs = len(d.states())
    await taken_in(d, platform, tmp_path)
    await d.rest(runs + 1)
    d.model.form = WRITTEN
    of = {"lesson": "2", "questions": 1}
    if platform == "terminal":
        quiz = await d.command(ANA, "course quiz", course="knots", **of)
    else:
        quiz = await d.ask(ANA, "knots", verb="course quiz", **of)
    await d.rest(runs + 2)
    engine(d, FOR_EVER)
    answered = await d.choose(ANA, quiz, letter(quiz))
    await d.until(lambda: cards(d) == 1)
    await d.kill() if platform != "terminal" else await d.process.kill()
    engine(d, "DROP TRIGGER for_ever")
    await d.begin(d.process)
    await d.rest(runs + 3)
    assert cards(d) == 1
    if platform == "terminal":
        await d.until(lambda: "You have 1 of 1 right" in shown(answered))
    score = await d.command(ANA, "course score")
    await d.rest(runs + 4)
    assert "Knots at Sea: 1 of 1 right" in shown(score)
    assert d.states()[-2:] == ["done", "done"]


def engine(d: Any, statement: str) -> None:
    with closing(sqlite3.connect(d.process.data / "engine.db", timeout=60)) as database, database:
        database.execute(statement)


def cards(d: Any) -> int:
    """The number of stored answers."""
    ((count,),) = live(d.process.data / "sutradhar.db", "SELECT count(*) FROM quiz_cards")
    return int(count)
