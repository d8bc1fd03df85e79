"""Other forms of a title under which it is found."""

from __future__ import annotations

import pytest

from bot.retrieval.titles import Titles, aliases, plain


@pytest.mark.parametrize(
    ("title", "alias"),
    [("1.1 North", "north"), ("2.10.3. Ferries", "ferries"), ("IV. Oil", "oil"), ("3) Wicks", "wicks")],
)
def test_a_title_is_found_without_its_number(title: str, alias: str) -> None:
    assert alias in aliases(title, "en")


@pytest.mark.parametrize("title", ["12 Lanterns", "5e Rules", "7 Towers of Glass"])
def test_a_number_that_counts_things_stays_in_a_title(title: str) -> None:
    assert [alias for alias in aliases(title, "en") if alias[0] not in "~"] == [title.casefold()]


def test_a_title_is_found_without_its_numbering() -> None:
    for title, alias in (
        ("Level 10: Tireless", "tireless"),
        ("Nível 3: Conjuração Inata", "conjuracao inata"),
        ("3rd Level: Grace", "grace"),
        ("Chapter 4. Combat", "combat"),
        ("Capítulo IV – Combate", "combate"),
        ("Step 2: Roll the Dice", "roll the dice"),
        ("Appendix A: Monsters", "monsters"),
        ("A. Foo", "foo"),
        ("Level 2: Action Surge (One Use)", "action surge"),
        ("Channel Divinity: Turn Undead", "turn undead"),
    ):
        assert alias in aliases(title, "en"), title
    assert "tireless" not in aliases("Tireless Steps: 10", "en")


def test_a_plain_name_has_no_number_and_no_parentheses() -> None:
    for name, expected in (
        ("Step 8: Passions", "Passions"),
        ("Capítulo 7: Sistema de Jogo", "Sistema de Jogo"),
        ("11. Introduce Your Character", "Introduce Your Character"),
        ("Craft (DEX+INT)", "Craft"),
        ("Engodo (INT+CAR)", "Engodo"),
        ("Bag (large) of Holding", "Bag of Holding"),
        ("CD: lending", "CD: lending"),
        ("7 Towers of Glass", "7 Towers of Glass"),
        ("(DEX+INT)", ""),
    ):
        assert plain(name) == expected, name


def test_the_parentheses_of_a_title_are_another_name_for_it() -> None:
    titles = [
        "Pontos de Vida (PV)",
        "HP (Hit Points)",
        "Gnome, Deep (Svirfneblin)",
        "Goblin (Rank ½)",
        "Range (X)",
    ]
    kinds = [f"{name} (Optional)" for name in ("Feats", "Flanking", "Mass Combat", "Sanity")]
    known = Titles(
        [(title, at, "pt" if "de" in title else "en") for at, title in enumerate([*titles, *kinds])]
    )
    for query, title in (
        ("PV", 0), ("0 PV", 0), ("0 pv", 0), ("HP", 1), ("0 HP", 1), ("Hit Points (HP)", 1), ("svirfneblin", 2),
    ):  # fmt: skip
        assert [match.entry for match in known.lookup(query)] == [title], query
    for query in ("x", "optional", "3 goblins"):
        assert not known.lookup(query), query


def test_a_name_of_several_numbered_titles_stays_ambiguous_and_is_completed() -> None:
    titles = ["Level 4: Ability Score Improvement"] * 3 + ["Level 1: Innate Sorcery"]
    known = Titles([(title, at, "en") for at, title in enumerate(titles)])
    assert [match.entry for match in known.lookup("ability score improvement")] == [0, 1, 2]
    assert known.complete("innate") == ["Level 1: Innate Sorcery"]
