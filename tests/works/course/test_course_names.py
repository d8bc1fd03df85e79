"""A course is found by a part of its title, by initials, or despite a typing mistake; other names find none."""

from __future__ import annotations

import pytest

from bot.works.course.catalogue import Catalogue, Course
from bot.works.course.course_names import best_match, by_words
from bot.works.course.lookup_plan import LookupPlan, lookup_plan
from storage.document_rows import Lesson

TITLES = {
    "Keeping Bees: A First Year": "en",
    "Retrieval Augmented Generation from Scratch": "en",
    "Sourdough from Scratch": "en",
    "MCP: Build Rich-Context Apps": "en",
    "MCP: Servers in Production": "en",
    "Introduction to Statistics": "en",
    "Aquarela para Quem Nunca Pintou": "pt",
    "Introdução à Programação": "pt",
    "Nós do Mar": "pt",
}
LESSONS = tuple(Lesson(str(n), n, f"Part {n}", "", n, n + 1) for n in range(4))
COURSES = tuple(Course(t, t, f"{t}.txt", language, "", "", LESSONS) for t, language in TITLES.items())
CATALOGUE = Catalogue(1, COURSES)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("bees", "Keeping Bees: A First Year"),
        ("the bee course", "Keeping Bees: A First Year"),
        ("RAG", "Retrieval Augmented Generation from Scratch"),
        ("sourdoguh", "Sourdough from Scratch"),
        ("retrieval augmented generation", "Retrieval Augmented Generation from Scratch"),
        ("model context protocol", "MCP: Build Rich-Context Apps"),
        ("Massive Open Courses", None),
        ("mcp servers", "MCP: Servers in Production"),
        ("curso de aquarela", "Aquarela para Quem Nunca Pintou"),
        ("programacao", "Introdução à Programação"),
        ("Nós", "Nós do Mar"),  # which elsewhere is "we"
        ("quantum computing", None),
        ("introduction to law", None),
        ("introdução ao direito", None),
        ("from", None),
        ("???", None),
        ("", None),
        ("a" * 300, None),
    ],
)
def test_a_part_of_a_title_finds_its_course_and_unrelated_words_find_none(
    name: str, title: str | None
) -> None:
    match = best_match(COURSES, by_words(name, COURSES))
    assert (match.course.title if match.course else None) == title
    assert title or len(match.nearest) == 3


@pytest.mark.parametrize("name", ["MCP", "Multi-Channel Platform"])
def test_an_ambiguous_name_finds_no_course(name: str) -> None:
    match = best_match(COURSES, by_words(name, COURSES))
    assert (match.course, match.several) == (None, True)
    assert set(match.nearest) == {"MCP: Build Rich-Context Apps", "MCP: Servers in Production"}


@pytest.mark.parametrize(
    ("question", "plan"),
    [
        (
            "What does lesson 3 of the bees course say about smoke?",
            LookupPlan("What does say about smoke?", "Keeping Bees: A First Year", 3),
        ),
        (
            "Which lessons are in Sourdough from Scratch?",
            LookupPlan("Which lessons are?", "Sourdough from Scratch", None, outline=True),
        ),
        (
            "O que diz a aula 2 do curso de aquarela?",
            LookupPlan("Part 2", "Aquarela para Quem Nunca Pintou", 2),
        ),
        (
            "Quantas aulas tem o curso de aquarela?",
            LookupPlan("Quantas aulas tem?", "Aquarela para Quem Nunca Pintou", None, True),
        ),
        (
            "What is in lesson 9 of sourdough?",
            LookupPlan("Sourdough from Scratch", "Sourdough from Scratch", 9),
        ),
        (
            "What is lesson 2 of the RAG course about?",
            LookupPlan("Part 2", "Retrieval Augmented Generation from Scratch", 2),
        ),
        (
            "What does the bees course teach?",
            LookupPlan("Keeping Bees: A First Year", "Keeping Bees: A First Year", None, True),
        ),
        (
            "O que ensina a aula 1 do curso de aquarela?",
            LookupPlan("Part 1", "Aquarela para Quem Nunca Pintou", 1),
        ),
        ("What happens in lesson 99?", LookupPlan("What happens?", None, 99)),
        ("In the third lesson, who is the queen?", LookupPlan("who is the queen?", None, 3)),
        ("How wide is the bee space?", LookupPlan("How wide is the bee space?")),
        (
            "What does the Jazz Piano course say of swing?",
            LookupPlan("What does the Jazz Piano course say of swing?", unknown="Jazz Piano"),
        ),
        (
            "What does lesson 2 of the Jazz for Poets course say?",
            LookupPlan("What does of the Jazz for Poets course say?", None, 2, unknown="Jazz for Poets"),
        ),
        (
            "O que diz o curso de jardinagem?",
            LookupPlan("O que diz o curso de jardinagem?", unknown="jardinagem"),
        ),
        (
            "Where is “swing” in the course “Jazz”?",
            LookupPlan("Where is “swing” in the course “Jazz”?", unknown="Jazz"),
        ),
        ("Does the whole course need a scale?", LookupPlan("Does the whole course need a scale?")),
        ("What does the lesson of my course say?", LookupPlan("What does the lesson of my course say?")),
        ("What is the course of the river?", LookupPlan("What is the course of the river?")),
        (
            "Who is the instructor of the RAG course?",
            LookupPlan("Who is the instructor?", "Retrieval Augmented Generation from Scratch", None, True),
        ),
    ],
)
def test_code_recognises_the_course_and_lesson_that_a_question_names(question: str, plan: LookupPlan) -> None:
    assert lookup_plan(question, CATALOGUE) == plan


@pytest.mark.parametrize(
    ("question", "outline"),
    [
        ("liste as aulas do curso", True),
        ("Quais são as aulas?", True),
        ("List the lessons", True),
        ("Quais aulas falam de abelhas?", False),
        ("List the lessons of the jazz course", False),
    ],
)
def test_an_outline_of_the_only_course_needs_no_name(question: str, outline: bool) -> None:
    plan = lookup_plan(question, Catalogue(1, COURSES[:1]))
    assert (plan.outline, plan.course) == ((True, COURSES[0].title) if outline else (False, None))
    assert not lookup_plan(question, CATALOGUE).outline, "one of several courses"


def test_a_summary_is_of_the_lesson() -> None:
    for question in ("Me faz um resumo da aula 2", "Please give me a summary of lesson 2"):
        assert lookup_plan(question, Catalogue(1, COURSES[:1])) == LookupPlan("Part 2", None, 2)
