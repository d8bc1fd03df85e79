"""Quizzes from end to end: made by a model or by code, answered once by each learner, scored, and repeated."""

from __future__ import annotations

import json
import random
import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.app import App
from bot.commands import FOLLOW_UP, OPENLY
from bot.events import Answered, Attachment, Author, Choices, Failed, Place
from bot.kind import Typed
from bot.works.course.questions import GAP, Written, gap_question, option_meant, supported
from tests.fakes.reply import Reply
from tests.llm.test_tool_kills import Killed, Mortal
from tests.works.course.desk import BOSS, cited, course, opened, words_of
from tests.works.course.files import text_of
from tests.works.course.learners import ANA, BIA, Learners, choices, learning

BEES = "Keeping Bees: A First Year"
KNOTS = """Course Title: Knots
Lesson 1: The Bowline
The bowline makes a fixed loop at the end of a rope, and it never slips under load.
Lesson 2: Nothing Yet
"""
WRITTEN: dict[str, Any] = {
    "question": "What does the bowline make?",
    "answer": "a fixed loop",
    "wrong": ["a running noose", "a stopper", "a splice"],
    "quote": "The bowline makes a fixed loop at the end of a rope",
}
PASSAGE = KNOTS.splitlines()[2]


@pytest.mark.parametrize(
    "change",
    [
        {"quote": "The bowline makes a loop that opens by itself"},
        {"quote": "the rope"},
        {"answer": "a sheepshank"},
        {"answer": "the"},
        {"answer": "under load"},  # in the passage, but not in the quote
        {"wrong": ["the end of a rope", "a stopper", "a splice"]},
        {"wrong": ["a splice", "A Splice!", "a stopper"]},
        {"wrong": ["A fixed loop", "a splice", "a stopper"]},
        {"wrong": ["a splice"]},
        {"question": "Is it a fixed loop that the bowline makes?"},
        {"question": "x" * 301},
    ],
    ids=str,
)
def test_questions_that_the_passage_does_not_support_are_refused(change: dict[str, Any]) -> None:
    assert supported(Written(**WRITTEN), PASSAGE, "en") is not None
    assert supported(Written(**{**WRITTEN, **change}), PASSAGE, "en") is None


def test_an_answer_may_be_a_letter_a_number_or_words() -> None:
    options = ["a fixed loop", "a splice", "a stopper", "7"]
    said = {"b": 1, "B)": 1, "letra b": 1, "2": 1, "7": 3, "It makes a fixed loop.": 0, "A Splice!": 1}
    assert {typed: option_meant(typed, options) for typed in said} == said
    for typed in ("", "e", "9", "a knot", "a splice, or a stopper"):
        assert option_meant(typed, options) is None


async def test_a_model_writes_questions_and_each_links_to_its_lesson(tmp_path: Path) -> None:
    (tmp_path / "knots.txt").write_text(KNOTS, encoding="utf-8")
    script = [Reply(json.dumps(WRITTEN))]
    async with learning(tmp_path, script, str(tmp_path / "knots.txt")) as (learners, service):
        events = await learners.do("quiz", "knots", lesson="1")
        assert "What does the bowline make?" in words_of(events)
        assert PASSAGE in str(service.requests[0]["messages"])
        first, end = choices(events)
        assert [choice.command for choice in first.choices] == [
            *(f"/course answer 1 {letter}" for letter in "ABCD"),
            "/course answer 1",
        ]
        assert end.choices[0].command == "/course finish"
        answered = await learners.do("answer", "1 a fixed loop, I think", answers=learners.quiz)
        assert "Right" in words_of(answered)
        assert "You have 1 of 1 right" in words_of(answered)
        (source,) = cited(answered)
        assert (source.quote, source.heading) == (WRITTEN["quote"], "Knots › 1. The Bowline")


async def test_an_unsupported_question_is_never_shown(tmp_path: Path) -> None:
    script = [Reply(json.dumps({**WRITTEN, "question": "Who invented it?", "answer": "Ashley"}), times=3)]
    async with learning(tmp_path, script) as (learners, _):
        answer = await learners.said("quiz", "bees", questions=3)
        assert "Who invented it?" not in answer
        assert answer.count(GAP) == 3
        assert "3 questions are sentences of the lessons with a word left out" in answer


@pytest.mark.slow
async def test_a_quiz_killed_between_any_two_steps_pays_for_no_question_twice(tmp_path: Path) -> None:
    unsupported = Reply(json.dumps({**WRITTEN, "quote": "It was never said."}), times=99)
    async with learning(tmp_path, [unsupported]) as (learners, service):
        app = learners.desk.app
        for kills in range(5):
            asked, run = len(service.requests), Mortal()
            quiz = replace(run.request, id=f"{kills:032x}", work="course", verb="quiz", text="bees")
            quiz, processes = replace(quiz, options={"questions": 1}), 0
            while processes < 9:
                processes += 1
                run.left, run.request = kills, quiz
                try:
                    events = [event async for event in app.works["course"].run(run)]
                except Killed:
                    run = Mortal(steps=run.kept)
                    continue
                break
            assert processes == (6 if kills == 0 else 5 // (kills + 1) + 1), run.kept.keys()
            assert sorted(run.kept) == ["kept", "plan", "question-0", "question-1", "question-2"]
            assert len(service.requests) - asked == 3
            (question,) = await app.resources.quizzes.questions("local", quiz.id)
            assert question.text in words_of([event for event in events if not isinstance(event, Answered)])


async def test_if_the_model_fails_the_quiz_has_gap_questions(tmp_path: Path) -> None:
    async with learning(tmp_path, [Reply(status=401, times=9)]) as (learners, service):
        answer = await learners.said("quiz", "bees", questions=2)
        assert answer.count(GAP) == 2
        assert "a:small" in answer
        assert len(service.requests) == 1


async def test_gaps_are_sentences_of_the_lesson_and_only_one_answer_fits_the_passage(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        await learners.do("quiz", "bees", lesson="5", questions=2)
        questions = await learners.desk.app.resources.quizzes.questions("local", learners.quiz)
        text = " ".join(text_of("keeping_bees.txt").split())
        for question in questions:
            assert question.lesson.startswith("5. ")
            assert question.quote in text
            right = question.options[question.answer]
            assert question.text.replace(GAP, right) == " ".join(question.quote.split())
            assert [option for option in question.options if option in question.quote] == [right]
            assert question.link.startswith("https://example.org/courses/keeping-bees")


async def test_a_daily_lesson_comes_with_a_question_that_is_answered_like_others(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        titles = []
        for fired in (0, 1, 7):  # of six lessons
            learners.quiz = f"{(learners._runs + 1) * 0x5B2C1D:032x}"
            answer = await learners.said("lesson", "bees", answers="scheduled", fired=fired)
            [question] = await learners.desk.app.resources.quizzes.questions("local", learners.quiz)
            titles.append(question.lesson)
            assert question.lesson in answer
            assert "https://example.org/courses/keeping-bees" in answer
            assert "Right" in await learners.press(1)
        assert titles == ["0. Welcome", "1. The Hive and Its Parts", "1. The Hive and Its Parts"]


def test_wrong_answers_of_a_gap_are_of_the_same_kind_as_the_right_one() -> None:
    others = [
        "We sail to Lisbon on the third day. The mate can splice the sheet, but the cook only drinks.",
        "We sail to Faro Harbour. The mate can whip the ends, and the boy has to carry the anchor up.",
        "We sail to Porto when the tide turns. The mate can sing.",
        "Nobody has to swim, for the harbour is near; who has to climb the mast gets the jib.",
    ]

    def options(sentence: str) -> list[str]:
        made = gap_question(sentence, others, set(), "en", random.Random(1))
        assert made is not None
        assert made.text.count(GAP) == 1
        assert made.quote == sentence
        assert made.text.replace(GAP, made.right) == sentence
        return [made.right, *sorted(made.wrong)]

    assert options("When the wind is low we row with them to Madeira.") == [
        "Madeira", "Faro Harbour", "Lisbon", "Porto",
    ]  # fmt: skip
    right, *near = options("The rope is made of hemp and holds 250 kilograms.")
    assert right == "250"
    assert all(number != "250" and len(number) == 3 and number.endswith("0") for number in near)
    right, *verbs = options("Whoever stands on deck by then has to reef.")
    assert right == "reef"
    assert set(verbs) == {"carry", "climb", "swim"}
    marked = "* [A link](there) stands in this line, which nobody asks about."
    assert gap_question(marked, others, set(), "en", random.Random(1)) is None


def test_number_words_are_neither_gaps_nor_wrong_answers() -> None:
    others = [
        "O termômetro da pilha marca sessenta graus ao meio-dia.",
        "A maturação dura noventa dias na sombra da varanda.",
        "O técnico mediu quarenta canteiros com a fita nova.",
        "A turma cavou cinquenta buracos para as mudas.",
    ]
    for n, passage in enumerate(others):
        rest = [other for other in others if other != passage]
        made = gap_question(passage, rest, set(), "pt", random.Random(n))
        assert made is not None
        assert not {made.right, *made.wrong} & {"sessenta", "noventa", "quarenta", "cinquenta"}


async def test_everybody_answers_once_and_the_result_names_nobody(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        await learners.do("quiz", "bees", questions=2)
        assert "Right" in await learners.press(1)
        assert "You have already answered question 1" in await learners.press(1, right=False)
        assert "Not right" in await learners.press(1, BIA, right=False)
        assert "You have 1 of 2 right" in await learners.press(2, BIA)
        assert "Only the person who began" in await learners.said("finish", author=BIA, answers=learners.quiz)
        assert "1 question is left" not in await learners.press(2, right=False)
        quiz, late = learners.quiz, Author("late", "Late")
        ended = await learners.do("finish", answers=quiz)
        answer = words_of(ended)
        assert "2 people have answered" in answer
        assert answer.count("1 of 2 got this right.") == 2
        assert "Ana" not in answer
        assert "Bia" not in answer
        shown = {change.stage: change for change in learners.desk.recorder.changes}
        assert set(shown) == {"question-0", "question-1", "end"}
        assert all(change.in_place for change in shown.values()), "a terminal would print all questions again"
        (taken,) = [event for event in shown["question-0"].contents if isinstance(event, Choices)]
        assert taken.taken is not None
        assert taken.choices[taken.taken].label == await learners.letter(1)
        assert "This quiz has ended" in await learners.press(1, late)
        assert "This quiz has ended" in await learners.said("finish", answers=quiz)
        assert "no quiz question" in (await learners.said("score", author=late)).lower()
        assert f"{BEES}: 1 of 2 right; 0 due again" in await learners.said("score", author=BIA)


async def test_impossible_requests_are_explained_and_change_nothing(tmp_path: Path) -> None:
    knots = tmp_path / "knots.txt"
    knots.write_text(KNOTS, encoding="utf-8")
    async with learning(tmp_path, None, str(knots), course("keeping_bees.txt")) as (learners, _):
        assert "There is no quiz here" in await learners.said("answer", "1 B")
        assert "About which course?" in await learners.said("quiz")
        assert "can't make a question from “Knots”" in await learners.said("quiz", "knots", lesson="2")
        assert "at most 8 questions" in await learners.said("quiz", "bees", questions=9)
        assert "There is no course “jazz piano”" in await learners.said("quiz", "jazz piano")
        assert "There is no lesson “99”" in await learners.said("quiz", "bees", lesson="99")
        await learners.do("quiz", "bees", questions=2)
        assert "Write its number first" in await learners.said("answer", "B")
        assert "no question 9; it has 2" in await learners.said("answer", "9 B")
        assert "cannot tell which answer" in await learners.said("answer", "1 hm")
        assert "There is no quiz here" in await learners.said("answer", "1 B", space="other")
        elsewhere = await learners.do("answer", "1 B", answers=learners.quiz, space="other")
        assert isinstance(elsewhere[-1], Failed)
        assert "You have answered no quiz question yet" in await learners.said("score")


async def test_another_persons_message_does_not_answer_a_private_quiz(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        await learners.do("quiz", "bees", questions=1, private=True)
        assert "There is no quiz here" in await learners.said("answer", "1 B", BIA)
        assert "There is no quiz here" not in await learners.said("answer", "1 B")


async def test_wrong_answers_come_back_until_they_are_known_or_no_longer_taught(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        await learners.do("quiz", "bees", questions=1)
        await learners.press(1, right=False)
        await learners.press(1, BIA)
        quizzes, now = learners.desk.app.resources.quizzes, datetime.now(UTC)
        (first,) = await quizzes.questions("local", learners.quiz)

        async def due(author: Author, days: float) -> list[str]:
            questions = await quizzes.due("local", author.id, BEES, now + timedelta(days=days), 9)
            return [question.text for question in questions]

        assert [await due(ANA, days) for days in (0.5, 1.5)] == [[], [first.text]]
        assert [await due(BIA, days) for days in (1.5, 2.5)] == [[], [first.text]]

        # As if a day had passed.
        await brought_forward(learners.desk.app, ANA)
        again = await learners.said("quiz", "bees", questions=1)
        assert "1 question is repeated" in again
        (back,) = await quizzes.questions("local", learners.quiz)
        assert (back.text, back.first, sorted(back.options)) == (
            first.text,
            first.first,
            sorted(first.options),
        )
        await learners.press(1)
        assert await due(ANA, 0.5) == []
        assert len(await due(ANA, 400)) == 1

        await brought_forward(learners.desk.app, ANA)
        taught = text_of("keeping_bees.txt")
        cut = re.sub(r"\s+".join(map(re.escape, first.quote.split())), "", taught)
        assert cut != taught
        await learners.desk.add(learners.desk.file("keeping_bees.txt", cut), verb="replace")
        assert "is repeated" not in await learners.said("quiz", "bees", questions=1)


async def brought_forward(app: App, author: Author) -> None:
    """Make the learner's cards due now."""
    from storage.tables import quiz_cards as c

    moved = c.update().where(c.c.author_id == author.id, c.c.due.is_not(None))
    await app.resources.records.database.run(moved.values(due=datetime.now(UTC) - timedelta(hours=1)))


async def test_removing_a_course_deletes_its_questions_and_scores(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        await learners.do("quiz", "bees", questions=2)
        await learners.press(1)
        await learners.do("remove", "bees", BOSS)
        assert await learners.desk.app.resources.quizzes.questions("local", learners.quiz) == []
        assert "You have answered no quiz question yet" in await learners.said("score")
        assert "There is no quiz here" in await learners.said("answer", "2 B", answers=learners.quiz)


async def test_a_learners_answers_are_exported_and_deleted_with_them(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        await learners.do("quiz", "bees", BIA, questions=1)
        quiz = learners.quiz
        await learners.press(1)
        await learners.press(1, BIA)
        (file,) = [
            event
            for event in await learners.do("export", author=ANA, work="privacy")
            if isinstance(event, Attachment)
        ]
        rows = json.loads(file.data)["quiz_cards"]
        assert [(row["quiz"], row["author_id"], row["right"]) for row in rows] == [(quiz, "ana", True)]
        await learners.do("delete", author=ANA, work="privacy", yes=True)
        assert "You have answered no quiz question yet" in await learners.said("score")
        assert f"{BEES}: 1 of 1 right" in await learners.said("score", author=BIA)


async def test_plain_text_answers_the_open_question_and_a_question_goes_to_the_course(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        app, place = learners.desk.app, Place("terminal", "local", "c", "t")
        assert await app.plain(place, "ana", "B") == ("course", "ask")
        await learners.do("quiz", "", questions=2)
        plain: dict[str, Any] = {FOLLOW_UP: True}

        async def verb(text: str, author: Author = ANA, thread: str = "t") -> str:
            return "/".join(await app.plain(replace(place, thread=thread), author.id, text))

        assert await verb("the old queen") == "course/answer"
        assert await verb("When do they swarm?") == "course/ask"
        assert await verb("B", thread="another") == "course/ask"
        reminder = "Me lembra toda segunda às 9h de olhar as abelhas"
        assert [await verb(reminder, thread=thread) for thread in ("t", "another")] == ["schedule/offer"] * 2
        (offered,) = [
            each
            for each in await learners.do("offer", reminder, work="schedule", **plain)
            if isinstance(each, Choices)
        ]
        line = '/schedule reminder --when "toda segunda às 9h" -- olhar as abelhas'
        assert [choice.command for choice in offered.choices] == [line]
        assert "cannot tell which answer" in await learners.said("answer", "hm", **plain)
        assert "Right" in await learners.said("answer", await learners.letter(1), **plain)
        # By its number, also not in order; Bia's first one is still open.
        assert "Not right" in await learners.said(
            "answer", f"2 {await learners.letter(2, right=False)}", BIA, **plain
        )
        assert "You have 1 of 2 right" in await learners.said(
            "answer", await learners.letter(1), BIA, **plain
        )
        last = (await app.resources.quizzes.questions("local", learners.quiz))[1]
        answer = await learners.said("answer", f"I think {last.options[last.answer]}.", **plain)
        assert "You have 2 of 2 right" in answer
        # Text that is no longer an answer is a question, and a late answer gets a note.
        assert await verb("Tell me of drones.") == "course/ask"
        assert "You have already answered question 2" in await learners.said("answer", "B", **plain)
        await learners.do("finish")
        late = Author("late", "Late")
        assert [await verb(text, late) for text in ("B", "Tell me of drones.")] == [
            "course/answer",
            "course/ask",
        ]
        assert "This quiz has ended" in await learners.said("answer", "B", late, **plain)


async def test_the_right_answer_is_not_shown_where_others_read_along(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        await learners.do("quiz", "bees", questions=1)
        (question,) = await learners.desk.app.resources.quizzes.questions("local", learners.quiz)
        openly: dict[str, Any] = {FOLLOW_UP: True, OPENLY: True}
        said = {
            author: await learners.do("answer", await learners.letter(1, right=right), author, **openly)
            for author, right in ((ANA, True), (BIA, False))
        }
        for author, right in ((ANA, True), (BIA, False)):
            letter = await learners.letter(1, right=right)
            option = question.options["ABCD".index(letter)]
            assert (
                words_of(said[author])
                .replace(f"{letter}. {option}", "…")
                .startswith("Your answer to question 1\nI noted **…**.")
            )
            assert cited(said[author]) == []
        assert [words_of(events).replace("\n", "").count("right") for events in said.values()] == [1, 1]


async def test_the_verb_ends_a_quiz_too(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        assert "There is no quiz here" in await learners.said("finish")
        await learners.do("quiz", "bees", questions=1)
        quiz = learners.quiz
        assert "Only the person who began" in await learners.said("finish", author=BIA)
        ended = await learners.said("finish")
        assert "nobody has answered" in ended
        assert "got this right" not in ended
        assert {change.run for change in learners.desk.recorder.changes} == {quiz}
        assert "This quiz has ended" in await learners.said("finish")


@pytest.mark.slow
async def test_a_quiz_on_a_course_of_five_thousand_lessons_works_like_any_other(tmp_path: Path) -> None:
    lessons = "\n\n".join(
        f"Lesson {n}: Part {n}\nOn day {n} the harbour master of port {n % 97} weighs {n + 3} barrels of fish."
        for n in range(5_000)
    )
    async with learning(tmp_path) as (learners, _):
        began = time.process_time()
        answer = await learners.desk.add(
            learners.desk.file("long.txt", f"Course Title: Harbour\n\n{lessons}")
        )
        assert "5000 passages" in answer
        assert "Question 3 of 3" in await learners.said("quiz", "harbour")
        assert "4324" in await learners.said(
            "ask", "How many barrels are weighed?", course="harbour", lesson="4321"
        )
        await learners.do("quiz", "harbour", lesson="4321", questions=1)
        (question,) = await learners.desk.app.resources.quizzes.questions("local", learners.quiz)
        assert question.lesson == "4321. Part 4321"
        assert "5000 lessons" in await learners.said("list")
        assert "4321. Part 4321" in await learners.desk.app.complete("lesson", Typed("local", "4321"))
        # 2 s on the machine that it was written on.
        assert time.process_time() - began < 20


async def test_an_open_quiz_continues_after_a_restart(tmp_path: Path) -> None:
    async with learning(tmp_path) as (learners, _):
        await learners.do("quiz", "bees", questions=2)
        await learners.press(1)
        quiz = learners.quiz
    async with opened(tmp_path, "[roles]\nanswerer = []\n") as desk:
        again = Learners(desk)
        again._runs, again.quiz = 100, quiz
        assert "already" in await again.press(1)
        assert "You have 2 of 2 right" in await again.press(2)
        assert "1 person has answered" in await again.said("finish", answers=quiz)
