from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.speech.figures import roman, spoken_year
from bot.speech.languages import ENGLISH, PORTUGUESE
from bot.speech.narration import Narration, Sentence
from bot.speech.reading import read_aloud

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
FENCE = "```python\nprint(1)\n```"

ENGLISH_CASES = [
    # Markdown
    ("# The Door", "The Door."),
    ("The **door** _opens_ `slowly`.", "The door opens slowly."),
    ("**Stop.", "Stop."),
    ("Go.**", "Go."),
    ("~~Never~~ again", "Never again."),
    ("- a rope", "a rope."),
    ("1. Wait", "one: Wait."),
    ("> Who goes there?", "Who goes there?"),
    ("first\nsecond", "first second."),
    ("one\n\ntwo", "one. two."),
    ("<div>hi <b>you</b></div>", "hi you."),
    ("![a map](https://e.com/m.png)", "A picture: a map."),
    ("-----", ""),
    (TABLE, "A table of two rows."),
    ("| a |\n|---|\n| 1 |", "A table of one row."),
    (FENCE, "A block of code."),
    ("((brackets)) [note]", "brackets, note."),
    ("2*3", "two times three."),
    # Addresses
    ("Read [the rules](https://example.com/a?b=c) now.", "Read the rules now."),
    ("See https://www.example.com/x_y/z?q=1.", "See a link to example dot com."),
    ("<https://example.org>", "a link to example dot org."),
    ("Visit example.com soon", "Visit example dot com soon."),
    ("mail bob_x@ex.com or open notes.txt", "mail bob x at ex dot com or open notes dot txt."),
    # Citations, mentions, emoji, commands
    ("The door opens [1], [2, 3] and closes[4].", "The door opens, and closes."),
    ("It may [12][^3].", "It may."),
    ("<@123456> <:smile:12345> :tada: hi", "hi."),
    ("<!channel> <#C123> go", "go."),
    ("Great 🎉🎉 work 👩‍🚀!", "Great work!"),
    ("🎉", ""),
    ("1️⃣ first", "one first."),
    ("🇧🇷 Brazil ❤️", "Brazil."),
    ("Use `/story act` here.", "Use slash story act here."),
    ("Type /free-chat", "Type slash free chat."),
    ("#3 and #quest", "number three and quest."),
    # Dice and the table's figures
    ("Mira rolls **2d6+3** and hits.", "Mira rolls two d six plus three and hits."),
    ("d20", "d twenty."),
    ("1d8 - 1", "one d eight minus one."),
    (
        "Roll 4d6kh3, then 2d20kl1.",
        "Roll four d six, keep the highest three, then two d twenty, keep the lowest one.",
    ),
    ("HP 12/20", "H P twelve of twenty."),
    ("HP: 12/20, AC 15", "H P: twelve of twenty, A C fifteen."),
    ("Sanity 45/99", "Sanity forty-five of ninety-nine."),
    ("-3 to hit, +2 bonus", "minus three to hit, plus two bonus."),
    ("3x damage", "three times damage."),
    ("arrows x3", "arrows times three."),
    ("5-10 wolves", "five to ten wolves."),
    ("level 5/lvl 5", "level five level five."),
    ("DC 15 check", "D C fifteen check."),
    # Numbers
    ("1,234,567 gold", "one million two hundred thirty-four thousand five hundred sixty-seven gold."),
    ("4111111111111111", "four" + 15 * " one" + "."),
    ("agent 007", "agent zero zero seven."),
    ("call 555-1234", "call five five five one two three four."),
    ("3.14 and 0.05", "three point one four and zero point zero five."),
    ("version 3.11.2", "version three point eleven point two."),
    ("50% of 3/4 and 1/2", "fifty percent of three quarters and one half."),
    ("7/8 of a page, 17/20", "seven eighths of a page, seventeen of twenty."),
    ("open 24/7", "open twenty-four seven."),
    ("~50 people", "about fifty people."),
    ("the 3rd of May, the 21st century", "the third of May, the twenty-first century."),
    ("1st, 2nd, 100th", "first, second, one hundredth."),
    ("HP20", "HP twenty."),
    # Roman numerals
    ("Chapter XIV", "Chapter fourteen."),
    ("Act III, Scene II", "Act three, Scene two."),
    ("World War II began in 1939.", "World War two began in nineteen thirty-nine."),
    ("Henry VIII and Louis XIV.", "Henry the eighth and Louis the fourteenth."),
    ("I am here.", "I am here."),
    ("MIX and CIVIC", "MIX and CIVIC."),
    # Dates, times, money, units
    ("May 5, 2026", "May fifth, twenty twenty-six."),
    ("On 2026-12-05 we met.", "On December fifth, twenty twenty-six we met."),
    ("12/25/2026", "December twenty-fifth, twenty twenty-six."),
    ("in 1805, in 1900, since 2005", "in eighteen oh five, in nineteen hundred, since two thousand five."),
    ("the 1990s", "the nineteen nineties."),
    ("at 19:30 and 7:05 pm and 3:00", "at nineteen thirty and seven oh five P M and three o'clock."),
    ("at 7 p.m. sharp", "at seven P M sharp."),
    ("$5.50, $1, $0.99, €20", "five dollars and fifty cents, one dollar, ninety-nine cents, twenty euros."),
    ("$3 million", "three million dollars."),
    ("It costs 10 gp.", "It costs ten gold pieces."),
    ("20°C and 30 ft. away", "twenty degrees Celsius and thirty feet away."),
    ("It is 30 ft. Run!", "It is thirty feet. Run!"),
    ("1 km, 2.5 kg, 60 mph", "one kilometre, two point five kilograms, sixty miles per hour."),
    # Abbreviations and signs
    ("e.g. wolves, i.e. dogs, etc.", "for example wolves, that is dogs, et cetera."),
    ("Dr. Smith vs. Mr. Brown", "Doctor Smith versus Mister Brown."),
    ("p. 12, pp. 3-5, ch. 3", "page twelve, pages three to five, chapter three."),
    ("No. 5", "Number five."),
    ("No. Never.", "No. Never."),
    ("A & B = C", "A and B equals C."),
    ("he/she and/or", "he she and or."),
    ("snake_case_name", "snake case name."),
    ("INT. HOUSE - DAY", "Interior: HOUSE, DAY."),
    # Voices
    ("Noooooooo!!!!", "Noo!"),
    ("Hahahahahaha...", "HaHaHa…"),
    ("What?!?!", "What?"),
    ("Wait.....", "Wait…"),
    ("He said — quietly — “go”.", "He said, quietly, go."),
    ("Don't, it's Mira's.", "Don't, it's Mira's."),
    ("Z\u0338\u0337\u0336\u0334\u0321a", "Za."),
    ("", ""),
    (" \n ", ""),
]
PORTUGUESE_CASES = [
    ("Mira joga **2d6+3** e acerta.", "Mira joga dois dê seis mais três e acerta."),
    ("Role 4d6kh3.", "Role quatro dê seis, fique com os três maiores."),
    ("PV 12/20, CA 15", "P V doze de vinte, C A quinze."),
    ("Veja https://www.exemplo.com.br/a?b=1.", "Veja um link para exemplo ponto com ponto br."),
    ("A porta abre [1].", "A porta abre."),
    ("Use `/story act` aqui.", "Use barra story act aqui."),
    (TABLE, "Uma tabela de duas linhas."),
    (FENCE, "Um bloco de código."),
    ("Capítulo XIV", "Capítulo catorze."),
    ("Ato III, Cena II", "Ato três, Cena dois."),
    ("século XIX", "século dezenove."),
    ("Dom Pedro II e Luís XIV", "Dom Pedro segundo e Luís catorze."),
    ("1.234.567 moedas", "um milhão duzentos e trinta e quatro mil quinhentos e sessenta e sete moedas."),
    ("1.500 peças", "mil e quinhentas peças."),
    ("3,14 e 0,05", "três vírgula catorze e zero vírgula zero cinco."),
    ("a 1ª vez, o 3º dia, 2.º lugar", "a primeira vez, o terceiro dia, segundo lugar."),
    ("5 de maio de 2026", "cinco de maio de dois mil e vinte e seis."),
    ("2026-12-05", "cinco de dezembro de dois mil e vinte e seis."),
    ("25/12/2026", "vinte e cinco de dezembro de dois mil e vinte e seis."),
    ("1/12/2026", "primeiro de dezembro de dois mil e vinte e seis."),
    ("às 19h30, 20h, 21:05, 1h00", "às dezenove e trinta, vinte horas, vinte e uma e cinco, uma hora."),
    ("R$ 10, R$ 5,50, US$ 3", "dez reais, cinco reais e cinquenta centavos, três dólares."),
    ("R$ 2 milhões", "dois milhões de reais."),
    ("50% de 3/4, 1/2 e 1/3", "cinquenta por cento de três quartos, meio e um terço."),
    ("2 páginas, 1 semana, 2 dias, 21 horas", "duas páginas, uma semana, dois dias, vinte e uma horas."),
    ("1 mulher e 2 homens", "uma mulher e dois homens."),
    ("20°C, 30 km, 5 kg", "vinte graus Celsius, trinta quilômetros, cinco quilos."),
    ("Sr. Silva, Dra. Ana, p. ex. lobos, etc.", "Senhor Silva, Doutora Ana, por exemplo lobos, et cetera."),
    ("p. 12, págs. 3-5, cap. 3", "página doze, páginas três a cinco, capítulo três."),
    ("nº 5 e #3", "número cinco e número três."),
    ("— Corra! — disse ela. — Agora!", "Corra! disse ela. Agora!"),
    ("A mata — escura — esperava.", "A mata, escura, esperava."),
    ("-3 e +2", "menos três e mais dois."),
    ("tel. 99999-1234", "telefone nove nove nove nove nove um dois três quatro."),
    ("em 1939", "em mil novecentos e trinta e nove."),
    ("200 moedas", "duzentas moedas."),
    ("c/ pão", "com pão."),
    ("Nãããããão!!!", "Nãão!"),
    ("10 PO", "dez peças de ouro."),
    ("3x dano", "três vezes dano."),
    ("2 + 2 = 4", "dois mais dois igual a quatro."),
    ("🎲 **Vida** 3/10", "Vida três de dez."),
    ("- uma corda", "uma corda."),
    ("<@123> olá", "olá."),
]
OTHER_CASES = [
    ("fr", "**bonjour** [1] https://x.fr/a 🎉 le 3", "bonjour x.fr le 3."),
    ("ja", "吾輩は猫である。", "吾輩は猫である。"),
    ("ru", "# Дверь", "Дверь."),
    ("fr", TABLE, ""),
]


@pytest.mark.parametrize(("text", "said"), ENGLISH_CASES)
def test_english_is_read_as_a_person_would(text: str, said: str) -> None:
    assert read_aloud(text, "en") == said


@pytest.mark.parametrize(("text", "said"), PORTUGUESE_CASES)
def test_portuguese_is_read_as_a_person_would(text: str, said: str) -> None:
    assert read_aloud(text, "pt-BR") == said


@pytest.mark.parametrize(("language", "text", "said"), OTHER_CASES)
def test_other_languages_lose_only_signs_that_are_no_words(language: str, text: str, said: str) -> None:
    assert read_aloud(text, language) == said


@pytest.mark.parametrize(
    ("letters", "value"),
    [
        ("I", 1),
        ("IV", 4),
        ("XIV", 14),
        ("XLIX", 49),
        ("XC", 90),
        ("CCCXCIX", 399),
        ("IIII", None),
        ("VX", None),
        ("D", None),
        ("", None),
    ],
)
def test_roman_numerals_are_read_as_numbers(letters: str, value: int | None) -> None:
    assert roman(letters) == value


def test_years_are_said_by_hundreds_in_english_alone() -> None:
    assert spoken_year(1805, ENGLISH) == "eighteen oh five"
    assert spoken_year(2005, ENGLISH) == "two thousand five"
    assert spoken_year(1805, PORTUGUESE) == "mil oitocentos e cinco"


STORY = f"""# The Door

Mira waits. She rolls **2d6**. **Stop. Go.**

{TABLE}

Then:
```
a. B

d. e
```
- one
- two

`x` is it."""
HEARD = [
    "The Door.", "Mira waits.", "She rolls two d six.", "Stop.", "Go.", "A table of two rows.", "Then:",
    "A block of code.", "one.", "two.", "x is it.",
]  # fmt: skip


def narrated(text: str, language: str) -> list[str]:
    """The spoken sentences of a complete text."""
    narration = Narration(language)
    return [sentence.words for sentence in narration.feed(text) + narration.end()]


def test_a_text_is_heard_sentence_by_sentence() -> None:
    assert narrated(STORY, "en") == HEARD


def test_a_sentence_is_heard_while_the_next_one_is_written() -> None:
    narration = Narration("en")
    assert narration.feed("The *door* opens. ") == []
    assert narration.feed("A wolf") == [Sentence("The door opens.", "The *door* opens.")]
    assert narration.feed("!\n| a |\n|---|\n") == [Sentence("A wolf!", "A wolf!")]
    assert narration.feed("| 1 |\n") == []
    assert narration.feed("So it is") == [Sentence("A table of one row.", "| a |\n|---|\n| 1 |\n")]
    assert narration.end() == [Sentence("So it is.", "So it is")]


PLAYED = """Mira waits
**Mira Vale:** Come in. It is late.
The wolf: growls. MIRA VALE : No!
mira vale:
Miranda: who is that?
"""
BY_WHOM = [
    ("", "Mira waits."), ("mira vale", "Come in."), ("mira vale", "It is late."), ("", "The wolf: growls."),
    ("", "MIRA VALE: No!"), ("", "mira vale: Miranda: who is that?"),
]  # fmt: skip


@pytest.mark.parametrize("length", [1, 7, 1_000])
def test_a_line_that_begins_with_a_speakers_name_has_their_voice(length: int) -> None:
    narration, said = Narration("en", ("mira vale", "bo")), list[Sentence]()
    for at in range(0, len(PLAYED), length):
        said += narration.feed(PLAYED[at : at + length])
    said += narration.end()
    assert [(sentence.speaker, sentence.words) for sentence in said] == BY_WHOM
    assert said[1].text == "Come in."


@given(st.lists(st.integers(1, 9), max_size=60))
def test_the_pieces_in_which_a_text_arrives_change_nothing(lengths: list[int]) -> None:
    narration, said, at = Narration("en"), list[Sentence](), 0
    for length in lengths:
        said += narration.feed(STORY[at : at + length])
        at += length
    said += narration.feed(STORY[at:]) if at < len(STORY) else []
    assert [sentence.words for sentence in said + narration.end()] == HEARD


@given(st.text(max_size=300))
def test_no_text_is_too_strange_to_read(text: str) -> None:
    for language in ("en", "pt", "xx"):
        for sentence in narrated(text, language):
            assert any(one.isalnum() for one in sentence)
            assert "\n" not in sentence


@pytest.mark.parametrize(
    "text",
    [
        "1,",
        "(",
        "*a",
        "1/",
        "[1",
        "e.g.",
        "\u0301",
        "http://",
        "XIV ",
        "a@",
        "| ",
        "<",
        "![",
        "_a",
        "5 m ",
        "😀",
        " \t",
        "1d6+",
        "é ",
    ],
)
def test_a_long_text_is_prepared_quickly(text: str) -> None:
    began = time.process_time()
    read_aloud(text * (5_000 // len(text)), "en")
    assert time.process_time() - began < 2
