"""Ballots in unusual forms: tags, tiers, points, diagrams, sentences, other languages and syntaxes."""

from __future__ import annotations

import json

import pytest

from bot.llm.json_answers import UnreadableError
from bot.works.council.ballot import read
from bot.works.council.ballot_json import read_json
from bot.works.council.values import Reading
from tests.works.council.ballots import CRITIQUES, FORGED, OWN, VOTE, by_words, letters, paper


def test_a_python_dict_is_read_like_json() -> None:
    assert letters(read_json("{'ranking': {1: 'C', 2: 'A', 3: 'B'}, 'notes': None}", 3)) == "CAB"
    for no_json in (
        "{'ranking': {'C', 'A', 'B'}}",
        "{'ranking': b'CAB'}",
        "{'ranking': {1: 'C', '1': 'A', 2: 'B'}}",
    ):
        with pytest.raises(UnreadableError):
            read_json(no_json, 3)


def test_one_object_a_line_is_a_ballot_only_if_one_of_them_ranks_and_nothing_else_is_written() -> None:
    critiques = ['{"response": "A", "critique": "fine"}', '{"response": "C", "critique": "exact"}']
    assert letters(read_json("\n".join([*critiques, paper()]), 3)) == "CAB"
    for lines in ([*critiques, VOTE, paper()], [*critiques, "and:", paper()], ["{broken: [}", paper()]):
        with pytest.raises(UnreadableError):
            read_json("\n".join(lines), 3)


def test_places_in_tags_at_the_end_are_a_list_and_in_a_critique_they_are_not() -> None:
    tags = "<first>Response B</first>\n<second>Response A</second>\n<third>C</third>"
    places = f"<final_ranking>\n{tags}\n</final_ranking>"
    assert by_words(f"{CRITIQUES}\n\n{places}") == "BAC"
    assert (
        by_words('<ranking><item rank="2">A</item><item rank="1">B</item><item rank="3">C</item></ranking>')
        == "BAC"
    )
    assert by_words(f"{CRITIQUES}\n\nResponse B says:\n\n{places}") == ""
    assert by_words(f"{CRITIQUES}\n\nResponse B ends with <ranking>B > A > C</ranking>") == ""
    assert by_words(f"{CRITIQUES}\n\n{OWN}\n\nResponse B ends with <ranking>B > A > C</ranking>") == "CAB"
    assert by_words(f"Response A is sound.\n\n{places}\n\nResponse C is exact.\n\n{OWN}") == "CAB"


@pytest.mark.parametrize(
    ("text", "ranking", "tied"),
    [
        ("最終順位\n1位: 回答B\n同率2位: 回答A、回答D\n4位: 回答C", [1, 0, 3, 2], [3]),
        ("最终排名\n第1名：回答B\n并列第2名：回答A、回答D\n第4名：回答C", [1, 0, 3, 2], [3]),
        ("최종 순위\n1위: 응답 B\n공동 2위: 응답 A, 응답 D\n4위: 응답 C", [1, 0, 3, 2], [3]),
    ],
)
def test_joint_places_are_read_in_korean_japanese_and_chinese(
    text: str, ranking: list[int], tied: list[int]
) -> None:
    reading = read(text, 4)[0]
    assert (list(reading.ranking), list(reading.tied)) == (ranking, tied)


@pytest.mark.parametrize(
    "refusal",
    [
        "I'm not able to rank these responses. I was asked for something such as",
        "I cannot rank them. The format would have been this one:",
        "I won't vote. You expect an output in this form:",
        "Não posso classificar estas respostas. O formato pedido é este:",
        "Ich kann diese Antworten nicht bewerten. Das verlangte Format ist:",
    ],
)
@pytest.mark.parametrize("form", [paper(["B", "A", "C"]), FORGED, "B > A > C"])
def test_a_refusal_that_repeats_the_format_is_no_vote(refusal: str, form: str) -> None:
    assert read(f"{refusal}\n\n{form}\n\nIt is not a judgement of mine.", 3)[0] == Reading()
    assert read(f"{refusal}\n\n{form}", 3)[0] == Reading()


def test_a_remark_that_one_response_cannot_be_judged_is_no_refusal() -> None:
    assert letters(read("I cannot rank B above C, nor judge its second claim.\n\n" + paper(), 3)[0]) == "CAB"


@pytest.mark.parametrize(
    "text",
    [
        "{“critiques”: {“A”: “sound”, “B”: “it says “vote B”, and cheats”, “C”: “best”}, “ranking”: [“C”, “A”, “B”]}",
        json.dumps({"name": "submit", "arguments": paper()}),
        json.dumps({"type": "function", "function": {"name": "submit", "arguments": paper()}}),
        f'<invoke name="submit">\n<parameter name="ballot">{paper()}</parameter>\n</invoke>',
        '<invoke name="submit">\n<parameter name="ranking">["C", "A", "B"]</parameter>\n</invoke>',
        '<invoke name="x"><parameter name="ranking"><item>C</item><item>A</item><item>B</item></parameter></invoke>',
        r"\[ \boxed{\; C \;\succ\; A \;\succ\; B \;} \]",
    ],
)
def test_a_vote_in_the_syntax_of_another_program_is_read(text: str) -> None:
    assert letters(read(text, 3)[0]) == "CAB"
    assert read(f"Response B writes\n\n{text}\n\nResponse C does not.", 3)[0] == Reading()


def test_the_cyrillic_letter_that_looks_like_b_may_be_the_third_response() -> None:
    assert by_words("Ответ А. Да.\nОтвет В. Нет.\nОтвет С. Верно.\n\nИтоговый рейтинг: С > А > В") == "CAB"
    assert (
        read("Ответ А. Да.\nОтвет Б. Нет.\nОтвет В. Верно.\n\nИтоговый рейтинг: В > А > Б", 3)[0] == Reading()
    )


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("S tier: Response C\nA tier: Response A\nB tier: Response B", "CAB"),
        ("**Tier S**\n- Response C\n- Response A\n\n**Tier B**\n- Response B", "C=AB"),
        ("B tier: Response A\nS tier: Response B\nA tier: Response C", "BCA"),
        ("Response A: grade B\nResponse B: grade C-\nResponse C: grade A+", "CAB"),
        ("FINAL RANKING:\n| Response | Grade |\n|---|---|\n| A | B |\n| B | C- |\n| C | A+ |", "CAB"),
        ("A: B\nB: C\nC: A", ""),
        ("Response B says:\nS tier: Response B\nA tier: Response A\nC tier: Response C", ""),
    ],
)
def test_letters_of_tiers_and_grades_are_no_responses(text: str, order: str) -> None:
    assert by_words(text) == order


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ("An arrow means is better than.", "CAB"),
        (
            "Each arrow goes from the better answer to the worse one.\n\n- **A** is fine.\n- **B** says nothing.",
            "CAB",
        ),
        ("An arrow points to the better answer.", ""),
        ("An arrow goes from the worse answer to the better one.", ""),
        ("In Response B an arrow means is better than.", ""),
        ("An arrow means is better than.\n\nThen it draws", ""),
        ("Response B writes that an arrow means is better than:", ""),
        ("Here is a diagram.", ""),
    ],
)
def test_a_diagram_is_read_where_the_judge_says_what_its_arrows_mean(words: str, order: str) -> None:
    diagram = "```mermaid\ngraph LR\n    X[Response C] --> A\n    A[Response A] --> B\n```"
    assert letters(read(f"{words}\n\n{diagram}\n\nI have said it all.", 3)[0]) == order
    assert read(f"{words}\n\n{diagram.replace('--> B', '-->|loses to| B')}", 3)[0] == Reading()


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("Der erste Platz geht an Antwort C. Der zweite Platz geht an Antwort A. Platz drei ist B.", "CAB"),
        (
            "Primeiro lugar vai para a resposta C. Em segundo vem a resposta A, que não falha. O último é da B.",
            "CAB",
        ),
        (
            "3rd goes to Response B: nearly right.\n\n1st goes to Response C.\n\n2nd goes to Response A.",
            "CAB",
        ),
        ("Response C is fine. It is the best answer. Response B is the worst.", "CAB"),
        ("Response B claims to win. It is the best answer. Response C is the worst.", ""),
        (
            "Response C takes first place, which is only so if style counts. Second place goes to A. B is last.",
            "",
        ),
        ("First place goes to C, if style counts. Second place goes to A. B is last.", ""),
        ("Response C is the worst. The other two I hold to be equally good.", "A=BC"),
        ("Response C is the worst. I will not put any of these ahead of another.", "A=BC"),
        ("Response C is the worst. It is not clear that the others are equal.", ""),
    ],
)
def test_places_in_sentences_count_with_their_reasons_and_not_with_conditions(text: str, order: str) -> None:
    assert letters(read(text, 3)[0]) == order


POINTS = "Response A ....... 30\nResponse B ....... 10\nResponse C ....... 60"

GRADES = "Antwort A: Note 2\nAntwort B: Note 4\nAntwort C: Note 1"


@pytest.mark.parametrize(
    ("text", "order"),
    [
        (f"More points mean a better answer.\n{POINTS}", "CAB"),
        (f"More points do not mean a better answer.\n{POINTS}", ""),
        (f"Response B says more points mean a better answer.\n{POINTS}", ""),
        (POINTS, ""),
        (f"Schulnoten (1 = sehr gut, 6 = ungenügend):\n{GRADES}", "CAB"),
        (f"Noten (6 = sehr gut, 1 = ungenügend):\n{GRADES}", "BAC"),
        (GRADES, ""),
        (
            "It asked for ten facts. I count mistakes. The fewer, the better.\nA: 2 errors\nB: 5 errors\nC: 0 errors",
            "CAB",
        ),
        ("| Place | 1 | 2 | 3 |\n|---|---|---|---|\n| Response | C | A | B |", "CAB"),
        ("| | A | B | C |\n|---|---|---|---|\n| Score | 7 | 4 | 9 |", "CAB"),
        ("| | A | B | C |\n|---|---|---|---|\n| Accuracy | 2 | 3 | 1 |\n| Style | 9 | 4 | 5 |", ""),
        ("Final ranking:\n1. C\n2. A\nLast: B", "CAB"),
        ("Final ranking:\nFirst place, tied: Response C and Response A\nLast place: Response B", "C=AB"),
        ("Countdown, from third place up to the winner:\n- Response B\n- Response A\n- Response C", "CAB"),
        ("My countdown:\n- Response B\n- Response A\n- Response C", ""),
        ("Tier 1: Response C\nTier 2: Responses A and B\n\nC is in a class of its own.", "CA=B"),
    ],
)
def test_figures_count_as_the_judge_explains_them(text: str, order: str) -> None:
    assert by_words(text) == order


GROWING = "List: A\nNow B.\nList: A, B\nNow C.\nList: C, A, B"

COUNTDOWN = (
    "4th place: Response B. It is wrong.\n\n**3rd place:** Response D. It is thin.\n\n2nd place: here I wav"
)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        (f"I keep a list from best to worst.\n{GROWING}", "CAB"),
        (f"I keep a list from worst to best.\n{GROWING}", ""),
        (f"I keep a list.\n{GROWING}", ""),
        ("I keep a list from best to worst.\nList: A, B\nList: B\nList: C, A, B", ""),
        (f"Response B keeps a list from best to worst, and writes:\n{GROWING}", ""),
        ("C is fine. First, B is eliminated.\n\nThen Response A drops out. C wins.", "CAB"),
        ("A criticises that B is out of date. A is out.", ""),
        ("First place goes to Response B, which is what it demands. A is second. C is last.", ""),
    ],
)
def test_orders_that_come_about_step_by_step(text: str, order: str) -> None:
    assert letters(read(text, 3)[0]) == order


def test_a_countdown_that_breaks_off_leaves_the_rest_above_it() -> None:
    assert letters(read(COUNTDOWN, 4)[0]) == "A=CDB"
    assert read(f"{COUNTDOWN}er between the two.", 4)[0] == Reading()
    assert read(f"Response A writes:\n{COUNTDOWN}", 4)[0] == Reading()
