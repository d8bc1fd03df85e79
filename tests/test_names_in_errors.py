"""Errors about a typed line, and other sentences, use names in the reader's language."""

from __future__ import annotations

import re

import pytest

from bot.adapters.discord.received.commands import localized
from bot.adapters.slack.text.render import as_typed
from bot.command_line import parse
from bot.commands import TABLE
from bot.events import UserError
from bot.manual import help_text
from bot.verb import shown_choices, shown_name
from bot.words import LOCALES, name_in, words


def said(line: str) -> tuple[str, str]:
    """The error's sentence in English and in Portuguese."""
    with pytest.raises(UserError) as raised:
        parse(line)
    english, portuguese = (words(locale)(raised.value.key, **raised.value.values) for locale in ("en", "pt"))
    return english, portuguese


@pytest.mark.parametrize(
    ("line", "path", "nearest"),
    [
        ("/historia comessar Uma porta", "story start", "história começar"),
        ("/story comessar Uma porta", "story start", "história começar"),
        ("/curso prgrama", "course outline", "curso programa"),
        ("/conselho pergunta", "council ask", "conselho perguntar"),
        ("/schedule quiz", "course quiz", "curso questionário"),
        ("/ajda", "help", "ajuda"),
        ("/rules aks", "rules ask", "regras perguntar"),
    ],
)
def test_the_nearest_command_is_named_in_the_readers_language(line: str, path: str, nearest: str) -> None:
    english, portuguese = said(line)
    assert f"Did you mean `/{path}`?" in english
    assert f"Você quis dizer `/{nearest}`?" in portuguese
    verb = parse(f"/{nearest} x").verb
    assert verb is not None
    assert verb.path == path


def test_a_name_that_several_works_share_lists_all_of_them() -> None:
    english, portuguese = said("/show rag")
    assert english == (
        "More than one kind of work has `/show`. Which do you mean: "
        "/council show, /story show, /library show, /prompts show, /settings show?"
    )
    assert portuguese == (
        "Mais de um tipo de trabalho tem `/show`. Qual você quer: "
        "/conselho mostrar, /história mostrar, /biblioteca mostrar, /prompts mostrar, /ajustes mostrar?"
    )


def test_a_platform_names_the_nearest_command_as_it_is_typed_there() -> None:
    _, joins = said("/historia entarr")
    assert "`/história entrar`" in joins
    assert "`/mesa entrar`" in localized(words("pt"), joins)
    assert "`/story entrar`" in as_typed(joins, thread=False)
    assert "`story entrar`" in as_typed(joins, thread=True)
    _, helps = said("/ajda")
    assert "`/sutradhar help`" in as_typed(helps, thread=False)


@pytest.mark.parametrize(
    ("line", "english", "portuguese"),
    [
        (
            "/story start Uma porta --tamanho enorme",
            "`--length` of `/story start` must be one of short, medium, long, not “enorme”.",
            "`--tamanho` de `/story start` aceita só curta, média, longa, não “enorme”.",
        ),
        (
            "/story start Uma porta --modo roda",
            "must be one of free, round-robin, vote, gm, not “roda”",
            "aceita só livre, em roda, voto, mestre, não “roda”",
        ),
        ("/rules ask O que é? --estant x", "Did you mean `--shelf`?", "Você quis dizer `--estante`?"),
        ("/rules ask what --shelv x", "Did you mean `--shelf`?", "Você quis dizer `--estante`?"),
        ("/usage --xyz", "--days, --by, --csv", "--dias, --por, --csv"),
        ("/usage --days", "`--days` of `/usage` needs a value", "`--dias` de `/usage` precisa de um valor"),
        (
            "/usage --days x",
            "`--days` of `/usage` needs a whole number",
            "`--dias` de `/usage` precisa de um número",
        ),
    ],
)
def test_options_and_choices_are_named_in_the_readers_language(
    line: str, english: str, portuguese: str
) -> None:
    in_english, in_portuguese = said(line)
    assert english in in_english
    assert portuguese in in_portuguese


def test_every_choice_that_is_shown_can_be_typed() -> None:
    for locale in LOCALES:
        for row in TABLE:
            for option in row.options:
                for choice, shown in zip(option.choices, shown_choices(option, words(locale)), strict=True):
                    needed = "".join(f" --{other.name} x" for other in row.options if other.required)
                    text = " -- x y" if row.argument else ""
                    options = parse(f"/{row.path}{needed} --{option.name} {shown}{text}").options
                    assert options[option.name] == choice, (row.path, shown)


def test_help_names_the_choices_in_the_readers_language() -> None:
    assert "(`curta`, `média`, `longa`)" in help_text(words("pt"), "story start")
    assert "(`short`, `medium`, `long`)" in help_text(words("en"), "story start")


def test_a_portuguese_sentence_has_portuguese_choices_and_lone_options() -> None:
    options = {option.name: option for row in TABLE for option in row.options}
    choices = {(option.name, choice) for row in TABLE for option in row.options for choice in option.choices}
    english = set[str]()
    for key, text in words("pt").sentences().items():
        for code in re.findall("`([^`]*)`", text):
            for name, value in re.findall(r"--([\w-]+)(?:[ =]([\w-]+))?", code):
                lone = (
                    code.startswith("--")
                    and name in options
                    and shown_name(options[name], words("pt")) != name
                )
                english |= {key} if lone else set()
                if (name, value) in choices and name_in(words("pt"), value, name) != value:
                    english.add(key)
    assert not english


ENGLISH_CHOICES = re.compile(
    r"(?<![\w/-])(all|back|books|deep|drop|free|gm|models|multi-hop|multi-question|next|off|on|once|quick|reset|round-robin|"
    r"standard|vote)(?![\w-])"
)


def test_no_portuguese_help_names_an_english_word_that_has_a_portuguese_one() -> None:
    for row in TABLE:
        told = help_text(words("pt"), row.path).replace(f"/{row.path}", "")
        assert not ENGLISH_CHOICES.search(told), row.path


def test_a_word_for_a_change_is_no_text_to_store() -> None:
    for line in (
        "/rules house add",
        "/rules house remove 3",
        "/story remember listar",
        "/story plan Add",
        "/story cast new",
        "/story arc remove 3",
        "/story chapter novo",
    ):
        with pytest.raises(UserError) as refused:
            parse(line)
        assert refused.value.key == "commands.no_sub_verb", line
    for line in ("/story direct remove", "/council criteria add"):
        with pytest.raises(UserError, match="no_sub_verb_only"):
            parse(line)
    assert parse("/rules house Add the proficiency bonus.").text == "Add the proficiency bonus."
