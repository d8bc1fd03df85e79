"""A lorebook: which entries a scene activates, as SillyTavern's manual defines it, the same on every replay."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.works.story.world.key_pattern import STATES, WorkLeft, pattern_of
from bot.works.story.world.key_search import KEY_CHARS
from bot.works.story.world.lorebook import SWEEPS, Logic, LoreEntry, triggered


def words_in(text: str) -> int:
    return len(text.split())


def lore(
    entries: Sequence[LoreEntry],
    *scanned: str,
    depth: int = 4,
    budget: int = 10_000,
    recursive: bool = False,
) -> list[str]:
    """The ids of the entries that messages activate, the newest message first. A word is a token."""
    found = triggered(entries, scanned, depth=depth, budget=budget, recursive=recursive, tokens=words_in)
    return [entry.id for entry in found]


def entry(*keys: str, id: str = "", content: str = "", **fields: Any) -> LoreEntry:
    return LoreEntry(id or keys[0], keys, content or f"Of {id or keys[0]}.", **fields)


def found(key: str, text: str, **fields: Any) -> bool:
    return bool(lore([entry(key, **fields)], text))


def test_an_entry_is_activated_by_any_of_its_keys() -> None:
    bessie = entry("Bessie", "cow")
    assert lore([bessie], "A cow stands there.") == lore([bessie], "bessie!") == ["Bessie"]
    assert lore([bessie], "Nobody is there.") == lore([bessie]) == []


@pytest.mark.parametrize("off", [{"enabled": False}, {"probability": 0}, {"content": " "}])
def test_disabled_and_empty_entries_are_never_activated(off: dict[str, Any]) -> None:
    assert lore([entry("cow", **off), entry("cow", id="always", constant=True, **off)], "A cow.") == []


def test_a_probability_is_rolled_the_same_way_on_a_replay() -> None:
    entries = [entry("cow", id=str(percent), probability=percent) for percent in range(1, 101)]
    assert lore(entries, "A cow.") == [str(percent) for percent in range(1, 101)]


def test_a_group_setting_does_not_choose_entries() -> None:
    assert lore([entry("cow", id=name, group="beasts") for name in "ab"], "A cow.") == ["a", "b"]


def test_a_constant_entry_needs_no_key() -> None:
    assert lore([LoreEntry("world", (), "It is flat.", constant=True), LoreEntry("none", (), "x")]) == [
        "world"
    ]


@pytest.mark.parametrize(
    ("logic", "none", "one", "both"),
    [
        ("and any", False, True, True),
        ("and all", False, False, True),
        ("not any", True, False, False),
        ("not all", True, True, False),
    ],
)
def test_secondary_keys_decide_together_with_the_first(
    logic: Logic, none: bool, one: bool, both: bool
) -> None:
    rose = entry("rose", secondary_keys=("red", "thorn"), logic=logic)
    said = {"A rose.": none, "A red rose.": one, "A red rose with a thorn.": both, "Red thorn.": False}
    assert {text: bool(lore([rose], text)) for text in said} == said


def test_without_secondary_keys_the_logic_asks_for_nothing() -> None:
    logics: tuple[Logic, ...] = ("and any", "and all", "not any", "not all")
    assert [lore([entry("rose", logic=logic, secondary_keys=("", " "))], "A rose.") for logic in logics] == [
        ["rose"]
    ] * 4


def test_only_the_set_number_of_messages_is_searched() -> None:
    cow = entry("cow")
    messages = ("Newest.", "Before it.", "A cow.")
    assert [depth for depth in range(6) if lore([cow], *messages, depth=depth)] == [3, 4, 5]
    near, far = entry("cow", id="near", depth=2), entry("cow", id="far", depth=3)
    assert lore([near, far], *messages, depth=10) == ["far"]
    assert lore([far], *messages, depth=0) == ["far"]
    assert lore([entry("newest", depth=-1)], *messages) == []


def test_the_depth_applies_to_secondary_keys_too() -> None:
    rose = entry("rose", secondary_keys=("red",), logic="not any", depth=1)
    assert lore([rose], "A rose.", "Red.") == ["rose"]
    assert lore([rose], "A rose, red.", "") == []


def test_a_key_does_not_match_across_two_messages() -> None:
    assert lore([entry("dark lord", "tower")], "lord of tow", "er dark", "dark") == []


def test_entries_are_sorted_by_order_and_ties_as_written() -> None:
    entries = [
        entry("cow", id=name, order=order) for name, order in (("a", 100), ("b", 50), ("c", 100), ("d", -1))
    ]
    assert lore(entries, "A cow.") == ["d", "b", "a", "c"]


def test_the_budget_goes_to_constant_entries_then_to_the_highest_order() -> None:
    entries = [
        entry("cow", id="low", content="one two", order=1),
        entry("cow", id="high", content="one two", order=9),
        LoreEntry("always", (), "one two", constant=True, order=0),
        entry("cow", id="middle", content="one two", order=5),
    ]
    assert [lore(entries, "A cow.", budget=budget) for budget in (0, 1, 2, 3, 4, 6, 7, 8)] == [
        [],
        [],
        ["always"],
        ["always"],
        ["always", "high"],
        ["always", "middle", "high"],
        ["always", "middle", "high"],
        ["always", "low", "middle", "high"],
    ]


def test_once_the_budget_is_spent_no_smaller_entry_is_added() -> None:
    entries = [
        entry("cow", id="first", content="one two three", order=3),
        entry("cow", id="too much", content="one two three", order=2),
        entry("cow", id="small", content="one", order=1),
    ]
    assert lore(entries, "A cow.", budget=5) == ["first"]


def test_an_entry_larger_than_the_whole_budget_does_not_shut_out_the_others() -> None:
    entries = [
        entry("cow", id="huge", content="word " * 99, order=9),
        entry("cow", id="small", content="one"),
    ]
    assert lore(entries, "A cow.", budget=50) == ["small"]


def test_tokens_are_counted_only_until_the_budget_is_spent() -> None:
    counted: list[str] = []

    def tokens(text: str) -> int:
        counted.append(text)
        return 1

    entries = [entry("cow", id=str(number)) for number in range(100)]
    assert len(triggered(entries, ["A cow."], depth=1, budget=5, recursive=True, tokens=tokens)) == 5
    assert len(counted) == 6


RUFUS = [
    entry("Rufus", content="Rufus is a dog of the mill."),
    entry("Bessie", content="Bessie is a cow and is friends with Rufus."),
    entry("mill", content="The mill has burnt down."),
]


def test_entries_activate_others_only_if_recursion_is_on() -> None:
    assert lore(RUFUS, "Bessie!", recursive=False) == ["Bessie"]
    assert lore(RUFUS, "Bessie!", recursive=True) == ["Rufus", "Bessie", "mill"]
    assert lore(RUFUS, "Nobody.", recursive=True) == []


def test_recursive_entries_come_after_those_activated_by_messages() -> None:
    called = entry("Rufus", id="called", content="one", order=999)
    asked = [
        entry("Bessie", id="asked", content="Rufus", order=1),
        entry("Bessie", id="last", content="one", order=0),
    ]
    assert lore([called, *asked], "Bessie", budget=2, recursive=True) == ["last", "asked"]
    assert lore([called, *asked], "Bessie", budget=3, recursive=True) == ["last", "asked", "called"]


def test_an_entry_of_depth_zero_is_activated_only_by_other_entries() -> None:
    deep = [*RUFUS[1:2], entry("Rufus", depth=0)]
    assert lore(deep, "Rufus!", recursive=True) == []
    assert lore(deep, "Bessie!", recursive=True) == ["Bessie", "Rufus"]


def test_a_key_in_a_message_and_a_secondary_key_in_an_entry_match_together() -> None:
    both = entry("hay", secondary_keys=("dog",))
    assert lore([*RUFUS, both], "Hay for Bessie.", recursive=True) == ["Rufus", "Bessie", "mill", "hay"]


def test_cycles_of_entries_end_and_chains_are_followed_up_to_a_limit() -> None:
    circle = [entry("hen", content="Of the egg."), entry("egg", content="Of the hen.")]
    assert lore(circle, "hen", recursive=True) == ["hen", "egg"]
    chain = [entry(f"k{number}", content=f"k{number + 1}") for number in range(50)]
    assert lore(chain, "k0", recursive=True) == [f"k{number}" for number in range(SWEEPS)]


def test_a_key_matches_whole_words_unless_parts_are_allowed() -> None:
    assert found("king", "Long live the king!")
    assert found("king", "the king's guard, *king*, _king_")
    assert not found("king", "It's not to my liking, kings.")
    assert found("king", "It's not to my liking.", whole_words=False)
    assert found("dark lord", "The dark lords are here."), "only a key of one word is kept whole"
    assert found("C-3PO", "(C-3PO)")
    assert not found("C-3PO", "C-3POs")
    assert found("C++", "I write C++.")
    assert found(" king ", "A king.")


def test_case_matters_if_it_is_set() -> None:
    assert found("Rose", "a rose")
    assert found("rose", "A ROSE")
    assert not found("Rose", "a rose", case_sensitive=True)
    assert found("Rose", "a Rose", case_sensitive=True)
    assert found("STRASSE", "Die Straße")
    assert found("ΣΊΣΥΦΟΣ", "σίσυφος")


def test_portuguese_accents_match_however_they_are_encoded() -> None:
    assert found("dragão", "O DRAGÃO voa.")
    assert found("dragão", "O draga\u0303o voa.")
    assert found("draga\u0303o", "O dragão voa.")
    assert not found("avó", "O avô chegou.")
    assert not found("ação", "A reação veio.")
    assert not found("a", "é à ã")
    assert found("coração de pedra", "Um Coração de Pedra.")


def test_scripts_without_blanks_match_anywhere() -> None:
    assert found("東京", "私は東京都に住む。")
    assert found("ドラゴン", "赤いドラゴンが来た")
    assert found("용", "용이 날아왔다")
    assert found("มังกร", "มีมังกรอยู่")
    assert found("Tokyo", "私はTokyoに住む")
    assert not found("Tokyo", "TokyoX")
    assert found("राम", "राम आया")
    assert not found("राम", "रामायण")


def test_no_key_matches_internal_word_markers() -> None:
    assert not found("\0", "a king")
    assert not found("\0king", "no\0body")
    assert found("king", "the\0king")
    assert not found("", "a king")


def test_only_the_beginning_of_a_long_key_is_searched() -> None:
    long = "a very " * 40 + "long key"
    assert found(long, "Here: " + long)
    assert not found(long, "Here: " + long[: KEY_CHARS - 1])


NO_PATTERNS = (
    *("king", "/king", "king/", "//", "/king/x", "/path/to/", "/(a/", "/a)/", "/[a/", "/(?=a)/", "/(?!a)/"),
    *(
        r"/(a)\1/",
        r"/\p{L}/",
        "/?/",
        "/a??+/",
        "/+a/",
        "/a{3,2}/",
        "/[z-a]/",
        "/a{99}{99}{99}/",
        "/(){9999}/",
    ),
    *("/((){999}){999}/", "/" + "(" * 30 + "a" + ")" * 30 + "/", "/" + "a" * 600 + "/"),
)


def test_an_invalid_pattern_is_plain_text() -> None:
    for key in NO_PATTERNS:
        assert pattern_of(key) is None, key
        assert found(key, f"Here is {key[:KEY_CHARS]} now", whole_words=False), key


@given(
    st.lists(
        st.sampled_from([*"ab|()*+?.^$", "[ab]", "[^a]", "{1,2}", "(?:", r"\b", r"\w", r"\d", r"\S"]),
        max_size=9,
    ).map("".join),
    st.text(alphabet="ab 1\n_", max_size=8),
    st.sampled_from(["", "i", "s", "m", "ims"]),
)
def test_patterns_match_as_in_a_regular_expression_engine(source: str, text: str, flags: str) -> None:
    if (pattern := pattern_of(f"/{source}/{flags}")) is None:
        return
    by = re.IGNORECASE * ("i" in flags) | re.DOTALL * ("s" in flags) | re.MULTILINE * ("m" in flags)
    meant = source.replace("$", "$" if "m" in flags else r"\Z")
    assert pattern.matches(text, WorkLeft()) == (re.search(meant, text, by) is not None)


def test_a_pattern_is_searched_for_in_bounded_time() -> None:
    text = "a" * 40_000 + "b" + "ab" * 10_000
    for key in (
        "/(a+)+c/",
        "/(a|aa)+$/",
        "/(.*)*x/",
        "/(a|b)*a(a|b){9}$/",
        "/(a?){30}a{30}c/",
        "/[ab]*a[ab]{200}c/",
    ):
        pattern, work = pattern_of(key), WorkLeft()
        assert pattern is not None
        pattern.matches(text, work)
        assert work.left > -STATES - 2, f"{key} goes on when there is nothing left"
    spent = WorkLeft(0)
    assert not any(pattern.matches("a king", spent) for pattern in [pattern_of("/k.ng/")] if pattern)


def test_patterns_match_as_intended() -> None:
    assert found("/(?:he|she) (?:is|was) (?:the )?queen/i", "And SHE was queen.")
    assert not found("/(?:he|she) (?:is|was) (?:the )?queen/", "And SHE was queen.")
    assert found("/king/", "liking"), "a pattern says itself where a word ends"
    assert not found(r"/\bking\b/", "liking")
    assert found(r"/\bking/", "the kingdom")
    assert not found(r"/\bking/", "the liking")
    assert found(r"/\b(king|queen) of spades\b/i", "The Queen of Spades.")
    assert found("/k.ng/", "a kong")
    assert found("/^Mira/", "Mira waits.")
    assert not found("/^Mira/", "And Mira.")
    assert found("/drag[oó]n(es)?$/i", "Dois DRAGÓN")
    assert found(r"/\d{2,} gold/", "It costs 300 gold.")
    assert found(r"/[A-Z]{3}-\d+/", "Take NCC-1701.")
    assert not found(r"/[A-Z]{3}-\d+/", "Take ncc-1701.")
    assert found("/(?<beast>wolf|wolves)/", "Wolves and a wolf.")
    assert found(r"/a\/b/", "x a/b y")
    assert found("/mira.*door/s", "mira saw\na door")
    assert not found("/mira.*door/", "mira saw\na door")
    assert found(r"/\bção\b/", "A ção.")
    assert not found(r"/\bção\b/", "A ação.")
    assert lore([entry("rose", secondary_keys=("/reds?/",))], "A rose, all reds.") == ["rose"]


@given(
    st.lists(st.text(alphabet="ab é東_-", max_size=12), min_size=1, max_size=4),
    st.text(alphabet="ab é東_-", min_size=1, max_size=4),
    st.integers(0, 5),
)
def test_a_part_of_a_word_is_found_exactly_where_it_stands(messages: list[str], key: str, depth: int) -> None:
    stands = bool(key.strip()) and any(key.strip() in message for message in messages[:depth])
    assert bool(lore([entry(key, id="it", whole_words=False)], *messages, depth=depth)) == stands


@given(st.text(alphabet="aAbé_-'.", max_size=16), st.text(alphabet="aAbé_-'.", min_size=1, max_size=4))
def test_a_whole_word_is_found_exactly_where_it_stands(message: str, key: str) -> None:
    letter = r"[^\W_]"
    begin = rf"(?<!{letter})" if re.match(letter, key) else ""
    end = rf"(?!{letter})" if re.match(letter, key[-1]) else ""
    stands = re.search(begin + re.escape(key) + end, message, re.IGNORECASE) is not None
    assert found(key, message) == stands


@given(st.text(max_size=30), st.lists(st.text(max_size=60), max_size=3))
def test_any_odd_key_and_text_is_handled(key: str, messages: list[str]) -> None:
    entries = [entry(key, id="it", secondary_keys=(key,)), entry(f"/{key}/i", id="pattern", logic="not any")]
    first = lore(entries, *messages, recursive=True)
    assert first == lore(entries, *messages, recursive=True)


SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "vash", "zo", "quel", "bar", "dün", "ção", "fei")


def name_of(number: int) -> str:
    """A unique name for each number, without digits."""
    name = ""
    for _ in range(4):
        number, rest = divmod(number, len(SYLLABLES))
        name += SYLLABLES[rest]
    return name


@pytest.mark.parametrize("whole_words", [True, False])
@pytest.mark.parametrize("recursive", [True, False])
def test_ten_thousand_entries_with_three_thousand_active_are_quick(
    recursive: bool, whole_words: bool
) -> None:
    """A third of a second of processor time on an idle core; one regular expression per key takes twenty."""
    entries = [
        entry(
            name_of(number),
            f"the {name_of(number)} of {name_of(number + 1)}",
            id=str(number),
            content=f"{name_of(number).title()} is a town. "
            + "It lies by the river, and its walls are old. " * 4,
            order=number % 100,
            whole_words=whole_words,
        )
        for number in range(10_000)
    ]
    names = [name_of(number) for number in range(3_000)]
    random.Random(17).shuffle(names)
    messages = [" and ".join(names[begin : begin + 300]) + "." for begin in range(0, 3_000, 300)]
    began = time.process_time()
    called = lore(entries, *messages, depth=10, budget=1_000_000, recursive=recursive)
    took = time.process_time() - began
    assert len(called) == 3_000
    assert took < 2, f"{took:.2f} s of processor"


HOSTILE = {
    "alike keys": ["a" * 40 + name_of(number) for number in range(4_000)],
    "alike keys, long": ["a" * 150 + name_of(number) for number in range(4_000)],
    "keys of each length": ["a" * (number % 200 + 1) + name_of(number) for number in range(4_000)],
    "patterns": [f"/(a|b|{name_of(number)})(c|d)?(e|f)?(a|b)/i" for number in range(4_000)],
    "patterns for ever": [f"/(a+)+{name_of(number)}$/" for number in range(4_000)],
    "patterns too many": ["/" + "a?" * 60 + name_of(number) + "/" for number in range(4_000)],
    "brackets": ["/" + "(" * 90 + name_of(number) + ")" * 90 + "/" for number in range(4_000)],
    "depths": [f"k{name_of(number)}" for number in range(4_000)],
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_any_lorebook_is_searched_quickly(hostile: str) -> None:
    entries = [
        entry(key, key + "b", id=str(number), whole_words=number % 2 == 0, depth=number % 50 or None)
        for number, key in enumerate(HOSTILE[hostile])
    ]
    messages = ["a" * 100_000, "a " * 50_000, *("ab" * 5_000 for _ in range(48))]
    began = time.process_time()
    lore(entries, *messages, depth=50, recursive=True)
    took = time.process_time() - began
    assert took < 2, f"{took:.2f} s of processor"


def test_a_small_lorebook_costs_next_to_nothing() -> None:
    entries = [entry(name_of(number), f"the {name_of(number)}") for number in range(100)]
    scenes = [" ".join(name_of(number * 7 + at) for at in range(400)) for number in range(4)]
    lore(entries, *scenes)
    took = []
    for _ in range(5):
        began = time.process_time()
        lore(entries, *scenes, recursive=True)
        took.append(time.process_time() - began)
    assert min(took) < 0.1, f"{min(took) * 1000:.0f} ms of processor"
