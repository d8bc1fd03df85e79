"""The notation for members of a council, in config.toml and in chat."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config.model_spec import MOST, PERSONA_CHARS, ModelSpec, parse, parse_each, parse_list
from bot.events import UserError
from bot.words import words
from bot.works.council.values import names


def test_a_model_alone_has_no_settings() -> None:
    assert parse(" openai:gpt-6.1-sol ") == ModelSpec("openai:gpt-6.1-sol")
    assert parse("openrouter:anthropic/claude:free").short == "anthropic/claude:free"


def test_settings_follow_the_model_in_any_order() -> None:
    text = 'local:qwen3 timeout=60 Effort=High persona="a sceptic, and tired" tokens = 900 temperature=1.1'
    assert parse(text) == ModelSpec("local:qwen3", "a sceptic, and tired", 1.1, "high", 60.0, 900)


@pytest.mark.parametrize("quoted", ['"the player\'s friend"', "“the player's friend”"])
def test_an_apostrophe_is_part_of_a_persona(quoted: str) -> None:
    seats = parse_list(f"a:b, c:d persona={quoted}, e:f; g:h\ni:j persona='a \"b\", c'")
    assert [seat.model for seat in seats] == ["a:b", "c:d", "e:f", "g:h", "i:j"]
    assert [seat.persona for seat in seats] == ["", "the player's friend", "", "", "a b, c"]


def test_an_empty_list_has_no_members() -> None:
    assert parse_list(" ,\n; ") == ()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "model"),
        ("gpt-6-luna", "model"),
        ("a:", "model"),
        ("effort=high", "model"),
        ("a:\x00b", "model"),
        ("a:b effort", "setting"),
        ("a:b mood=sunny", "setting"),
        ('a:b persona="open', "setting"),
        ("a:b persona=don't", "setting"),
        ("a:b effort=utmost", "effort"),
        ("a:b temperature=warm", "number"),
        ("a:b temperature=2.1", "number"),
        ("a:b temperature=nan", "number"),
        ("a:b timeout=0", "number"),
        ("a:b tokens=1", "number"),
        (f'a:b persona="{"x" * (PERSONA_CHARS + 1)}"', "persona"),
        (",".join(["a:b"] * (MOST + 1)), "many"),
    ],
)
def test_an_unreadable_notation_gets_one_sentence(text: str, key: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_each([text]) if key != "many" else parse_list(text)
    assert caught.value.key == f"members.{key}"
    for locale in ("en", "pt-BR"):
        assert "{" not in words(locale)(caught.value.key, **caught.value.values)


WRITTEN = st.characters(exclude_characters='"', exclude_categories=("C", "Z"))
members = st.builds(
    ModelSpec,
    st.sampled_from(["a:b", "openrouter:x/y-1.5:free"]),
    st.text(st.sampled_from("“”',;= a") | WRITTEN, max_size=20).map(lambda text: " ".join(text.split())),
    st.none() | st.floats(0, 2),
    st.sampled_from([None, "low", "medium", "high"]),
    st.none() | st.floats(1, 3_600),
    st.none() | st.integers(50, 100_000),
)


@given(st.lists(members, max_size=MOST))
def test_a_written_member_is_read_back_unchanged_alone_and_in_a_list(seats: list[ModelSpec]) -> None:
    assert parse_each([str(seat) for seat in seats]) == tuple(seats)
    assert parse_list(", ".join(map(str, seats))) == tuple(seats)


PIECES = ["a:b", " persona=", " effort=high", " temperature=", " tokens=90", "1.5", *"\"'“”,;\n =é"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_a_member_that_was_read_can_be_written_and_read_again(text: str) -> None:
    with suppress(UserError):
        seats = parse_list(text)
        assert parse_list("\n".join(map(str, seats))) == seats


@given(st.lists(members, max_size=MOST))
def test_no_two_seats_have_the_same_name(seats: list[ModelSpec]) -> None:
    assert len(set(names(seats))) == len(seats)


def test_a_seat_is_named_after_its_model_and_distinguished_if_needed() -> None:
    seats = parse_list("a:big, b:small persona='a sceptic', b:small persona='a poet', b:small, c:big")
    assert names(seats) == ["big #1", "small (a sceptic)", "small (a poet)", "small", "big #2"]


def test_a_personas_markup_is_not_part_of_a_name() -> None:
    seats = [
        ModelSpec("a:small", persona="a *bold* | `coder`"),
        ModelSpec("a:small", persona="**"),
        ModelSpec("a:small"),
    ]
    assert names(seats) == ["small (a bold coder)", "small #1", "small #2"]
