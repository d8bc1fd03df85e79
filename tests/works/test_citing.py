"""Each citation marker that a reader sees stands for a passage that supports its sentence."""

from __future__ import annotations

import html
import re
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.citing.gate import CitationGate, sentences
from bot.retrieval.lexical import content_terms
from tests.pace import slowness

PASSAGES = [
    "Fireball. A bright streak flashes to a point within range. Each creature takes 8d6 fire damage.",
    "Grappling. You can use the Attack action to make a grapple.\nThe target must be no larger.",
]


def terms(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if len(word) > 3]


def through(*pieces: str, other_language: bool = False) -> tuple[str, CitationGate]:
    gate = CitationGate(PASSAGES, terms, other_language=other_language)
    return "".join([*(gate.feed(piece) for piece in pieces), gate.finish()]), gate


def test_a_supported_marker_stays_with_a_verbatim_quote() -> None:
    text, gate = through("It deals 8d6 fire damage [1].")
    assert text == "It deals 8d6 fire damage [1]."
    assert gate.quotes == {1: "Each creature takes 8d6 fire damage."}


def test_a_marker_with_an_unknown_number_is_removed() -> None:
    text, gate = through("It deals fire damage [7].")
    assert text == "It deals fire damage."
    assert gate.dropped == 1


def test_a_marker_whose_passage_does_not_support_the_sentence_is_removed() -> None:
    assert through("Swimming costs extra movement [2].")[0] == "Swimming costs extra movement."


def test_a_marker_after_the_full_stop_belongs_to_the_sentence_before_it() -> None:
    assert through("You grapple with an attack action. [2] Then you move.")[1].quotes == {
        2: "You can use the Attack action to make a grapple."
    }


def test_an_unfinished_marker_is_held_back_until_it_closes() -> None:
    gate = CitationGate(PASSAGES, terms)
    assert gate.feed("Fire damage [") == "Fire damage"
    assert gate.feed("1") == ""
    assert gate.feed("] burns") == " [1] burns"


def test_a_marker_that_never_closes_never_shows() -> None:
    assert through("Fire damage [1")[0] == "Fire damage"


def test_lists_and_ranges_of_numbers_are_checked_one_by_one() -> None:
    assert (
        through("Fire damage and the attack action [1, 2-3]")[0] == "Fire damage and the attack action [1][2]"
    )


def test_other_brackets_pass_unchanged() -> None:
    assert through("Roll [1d6] or see [the table].")[0] == "Roll [1d6] or see [the table]."


def test_a_verbatim_quotation_supports_a_sentence_in_another_language() -> None:
    text, gate = through('O agarrão usa a ação de ataque [2 "use the Attack action"].')
    assert text == "O agarrão usa a ação de ataque [2]."
    assert gate.quotes == {2: "use the Attack action"}


def test_without_a_quotation_a_sentence_in_another_language_is_not_supported() -> None:
    assert through("O agarrão usa a ação de ataque [2].")[0] == "O agarrão usa a ação de ataque."


@pytest.mark.parametrize(
    "quote",
    [
        "“use the\n attack ACTION”",
        "«use the Attack action»",
        "'use the **Attack** action'",
        '"use the Attack action',  # never closed: up to the bracket
    ],
)
def test_typography_white_space_and_emphasis_are_ignored_in_quotations(quote: str) -> None:
    text, gate = through(f"O agarrão [2 {quote}].", other_language=True)
    assert text == "O agarrão [2]."
    assert gate.quotes == {2: "use the Attack action"}


@pytest.mark.parametrize(
    "quote",
    ["use the Dodge action", "the Attack", "can", "se the Attack action to make a grappl", "", "."],
)
def test_missing_or_too_few_quoted_words_do_not_count(quote: str) -> None:
    text, gate = through(f'O agarrão [2 "{quote}"].', other_language=True)
    assert text == "O agarrão."
    assert gate.dropped == 1


def test_invented_words_remove_the_marker_even_if_the_sentence_is_supported() -> None:
    assert through('Make a grapple [2 "with the Dodge action"].')[0] == "Make a grapple."


def test_a_quotation_may_hold_brackets_and_marks_of_its_own() -> None:
    passages = ['Roll [1d6] and shout "stop, 3 times" at the wolf.']
    for quote in ("Roll [1d6] and shout", 'shout "stop, 3 times" at', "Roll [1d6]"):
        gate = CitationGate(passages, terms, other_language=True)
        assert gate.feed(f'Grite [1 "{quote}"].') + gate.finish() == "Grite [1]."
        assert gate.quotes == {1: quote}


def test_several_quotations_in_one_marker_are_checked_one_by_one() -> None:
    text, gate = through(
        'Fogo e luta [1 "8d6 fire damage", 2 "Attack action"; 1 "8d6 cold damage"].', other_language=True
    )
    assert text == "Fogo e luta [1][2]."
    assert gate.dropped == 1


def test_a_quotation_that_never_closes_is_held_back_no_longer_than_a_marker_may_be() -> None:
    gate = CitationGate(PASSAGES, terms)
    shown = [gate.feed(piece) for piece in ["Fire [2 ", '"', *["word "] * 200]]
    assert "".join(shown[:80]) == "Fire"
    assert "".join(shown).startswith("Fire word word")
    assert "[" not in "".join(shown)


def test_a_paragraph_ends_a_quotation_and_the_text_goes_on() -> None:
    text, _ = through('Fire [1 "8d6 fire\n\nFire damage [1] follows.')
    assert text == "Fire 8d6 fire\n\nFire damage [1] follows."


def test_a_hostile_text_is_read_quickly() -> None:
    began = time.process_time()
    through('[1 "a",' * 2_000, '[1 "1 ' * 2_000, "[" * 10_000, '[1,"]' * 2_000)
    assert time.process_time() - began < 2.5


ANSWERS = st.lists(
    st.sampled_from(
        [
            "[", "]", "[1", "[2]", "[7]", "[1, 2-3]", ' "', '"]', "“", "”]", "【2】", "8d6 fire damage",
            "the Attack action", '[2 "use the Attack action"]', '[1 "no such words"]', ", 3", "\n", "\n\n", " ",
            ". ", "Fire damage", "attack", "d", "x" * 90, "[^", "\\", "&#91;", "&#93;", "&", "Passage ", "†source",
            "［", "］", "９", "\u200b", " and ", "*", ".", "(", ")", "<cite>", "</cite>", "<", "IX", "I", "n",
        ]
    ),
    max_size=24,
).map("".join)  # fmt: skip


@given(ANSWERS | st.text(alphabet="ab. \n[]12,;-\"'“”【】", max_size=80), st.data())
def test_however_the_text_is_cut_the_output_is_the_same(text: str, data: st.DataObject) -> None:
    whole, gate = through(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    pieces, other = through(*[text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)])
    assert pieces == whole
    assert other.quotes == gate.quotes


def as_read(text: str) -> str:
    """The visible text: entities and escapes resolved, without invisible characters, in plain characters."""
    text = unicodedata.normalize("NFKC", html.unescape(text))
    text = re.sub("[\\\\*_`\u200b]", "", text).replace("【", "[").replace("】", "]")
    return re.sub(r"\[\s*(?:\^|Passage)?\s*(\d+)(?:\.|†[^\[\]]*)?\s*\]", r"[\1]", text)


@example("[1[2]]")
@example("[[2]1]")
@example(r"[1\, 3]")
@example(r"[1\†source]")
@given(ANSWERS)
def test_no_unchecked_marker_is_shown_and_every_quote_is_in_its_passage(text: str) -> None:
    shown, gate = through(text)
    for numbers in re.findall(r"[\[【](\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)[\]】]", as_read(shown)):
        assert int(numbers) in gate.quotes
    assert not re.search(r"[\[【]\d{1,3}\s*[:,]?\s*[\"“”].*?[\"“”]\s*[\]】]", shown)
    assert all(quote in PASSAGES[n - 1] for n, quote in gate.quotes.items())


@given(st.text(max_size=300))
def test_split_sentences_are_substrings_and_lose_no_word(text: str) -> None:
    parts = sentences(text)
    assert all(sentence in text for sentence in parts)
    assert set("".join(text.split())) - set("".join("".join(parts).split())) <= set("\"'”’)*_")


FORMS = [
    "[{}]", "[ {} ]", "［{}］", "[{}.]", "[^{}]", r"\[{}\]", "&#91;{}&#93;", "&lbrack;{}&rsqb;", "&#x5B;{}&#x5d;",
    "[{}\u200b]", "[\u2060{}]", "【{}】", "【{}†source】", "[{}†L1]", "[{}†L1-L3]", "【{}:0†source】", "[Passage {}]",
    "[passages {}]", "[Source: {}]", "[Fonte {}]", "[ref. {}]", "[#{}]", "[**{}**]", "[`{}`]", "[{},]", "[_{}_]",
    "[n{}]", "[{}/]", "❲{}❳", "⁅{}⁆", "(Passage {})", "( passages: {} )", "(Fonte {})", "（Source {}）",
    "<cite>{}</cite>", "<Cite> {} </cite>", "<source>passage {}</source>",
]  # fmt: skip


def test_anything_that_readers_would_take_for_a_marker_is_checked_as_one() -> None:
    for form in FORMS:
        assert through(f"It deals 8d6 fire damage {form.format(1)}.")[0] == "It deals 8d6 fire damage [1]."
        shown, gate = through(f"It deals fire damage {form.format(99)}. So be it.")
        assert shown == "It deals fire damage. So be it.", form
        assert gate.dropped == 1
        letters = through(*f"It deals fire damage {form.format(99)}. So be it.")[0]
        assert letters == shown, form


def test_roman_numbers_are_numbers() -> None:
    assert through("It deals 8d6 fire damage (Passage I).")[0] == "It deals 8d6 fire damage [1]."
    assert through("You grapple with an attack action [II].")[0] == "You grapple with an attack action [2]."
    for marker in (
        "[IX]",
        "[XIV]",
        "[XX]",
        "[passage V]",
        "[II-IV]",
        "<cite>X</cite>",
        "(sources IX and XI)",
    ):
        said = f"Swimming costs extra movement {marker}."
        assert through(said)[0] == through(*said)[0] == "Swimming costs extra movement.", marker


def test_full_width_and_other_digits_are_numbers() -> None:
    assert through("It deals 8d6 fire damage ［１］.")[0] == "It deals 8d6 fire damage [1]."
    assert through("It deals 8d6 fire damage [９９].")[0] == "It deals 8d6 fire damage."


def test_words_and_numbers_that_cite_nothing_pass() -> None:
    said = "See [Table 4], [level 3], [1d6], [2.5], [1/2], [2024], [ ], [x] and [^note]; \\* & &amp; stay."
    assert through(said)[0] == said
    said = (
        "[I] am, [X], [XL], [Iron], (3), (see passage 3), (passage 3 of 9), (no. 3), a < b, <b>3</b>, (source"
    )
    assert through(said)[0] == through(*said)[0] == said


def test_removing_a_marker_never_forms_a_new_marker() -> None:
    for text in ("[1[9]]", "[Passage [9] 1]", "[\\[9\\]1]", "&#91;[9]1]", "[1[9]†source]"):
        shown, _ = through(f"Fire damage {text}.")
        assert "?" in shown, shown


def test_words_of_a_passage_do_not_support_a_statement_about_something_else() -> None:
    shown, gate = through('The moon is made of cheese. [1 "a bright streak flashes"]', other_language=True)
    assert shown == "The moon is made of cheese."
    assert gate.unsupported == ["The moon is made of cheese."]
    shown, gate = through('It flashes as a bright streak. [1 "a bright streak flashes"]')
    assert gate.quotes == {1: "A bright streak flashes"}


def test_one_shared_word_does_not_support_a_longer_statement() -> None:
    assert (
        through("Creatures never follow smells of tallow. [1]")[0]
        == "Creatures never follow smells of tallow."
    )
    assert through("Grapple. [2]")[0] == "Grapple. [2]"


def test_words_of_a_passages_heading_count_but_not_alone() -> None:
    passages = ["Each creature takes 8d6 damage.", "Swimming costs movement."]
    gate = CitationGate(passages, terms, headings=["Spells › Fireball", "Spells › Fireball"])
    assert (
        gate.feed("Fireball damage [1]. Fireball spells [2].") + gate.finish()
        == "Fireball damage [1]. Fireball spells."
    )


def test_statements_that_lost_their_markers_are_reported_once_each() -> None:
    said = (
        "Dragons hoard amethysts [9]. It deals 8d6 fire damage [1][7]. Wolves hide silver [8] and copper [9]."
    )
    shown, gate = through(said)
    assert shown == "Dragons hoard amethysts. It deals 8d6 fire damage [1]. Wolves hide silver and copper."
    assert gate.unsupported == ["Dragons hoard amethysts", "Wolves hide silver and copper"]
    _, gate = through("Dragons deal [9] 8d6 fire damage [1].")
    assert gate.unsupported == []


def test_a_shortened_statement_begins_with_a_whole_word() -> None:
    statement = " ".join(f"amethyst{n}" for n in range(400))
    _, gate = through(f"{statement} [9].")
    (unsupported,) = gate.unsupported
    assert unsupported.split()[0] in statement.split()


def test_a_marker_is_checked_quickly() -> None:
    passage = "A lit lantern shows everything within ten paces. " * 16
    began = time.process_time()
    for text in ('[1 "a', "[1]", "word [1] ", "[1-20]", '[1 "a]', '[1 "a" ', "[[[[[[[9]"):
        gate = CitationGate([passage] * 10, lambda said: content_terms(said, "en"))
        gate.feed((text * 8_000)[:8_000])
        gate.finish()
    took = time.process_time() - began
    assert took < 1.75 or took < 1.75 * slowness()
