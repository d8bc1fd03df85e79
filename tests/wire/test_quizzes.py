"""A quiz on each of the three places: made, answered by buttons and in words, through kill -9, ended, and scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.wire.conftest import Take
from tests.wire.stories import ANA, BIA
from tests.wire.test_courses import shown, taken_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

WRITTEN = (
    '{"question": "What does the reef knot never hold?", "answer": "two ropes of different thickness",'
    ' "wrong": ["a single wet line", "anything at sea", "three sails"],'
    ' "quote": "it never holds two ropes of different thickness"}'
)


def letter(talk: Any) -> str:
    """The letter of the right answer, as it stands under the question."""
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
    if platform == "terminal":  # what was offered there is forgotten; what was asked is not
        answered = await d.command(ANA, f"course answer 1 {right}")
        await d.rest(runs + 3)
        again = await d.command(ANA, f"course answer 1 {wrong}")
        await d.rest(runs + 4)
    else:
        answered = await d.choose(ANA, quiz, right)
        await d.rest(runs + 3)
        again = await d.choose(ANA, quiz, wrong)
        await d.rest(runs + 4)
        opened = await d.choose(BIA, quiz, "In words…")
        await d.fill(BIA, quiz, opened, "three sails")
        await d.rest(runs + 5)
        # Nobody else reads how somebody has answered.
        assert "1 of 1 right" not in shown(quiz)
        assert "Not right" not in shown(quiz)
        assert "already" not in shown(quiz)
    assert "You have 1 of 1 right" in shown(answered)
    assert "You have answered question 1 already" in shown(again)

    if platform != "terminal":
        await d.choose(ANA, quiz, "End the quiz")
        await d.rest(runs + 6)
        await d.until(lambda: "1 of 2 had this right" in shown(quiz))
        assert "End the quiz" not in str(d.open_buttons(quiz))
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
