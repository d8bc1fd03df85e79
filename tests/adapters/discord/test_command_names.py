"""Commands have the names that each person's Discord shows, in the bot's sentences and in typed lines."""

from __future__ import annotations

import re

import pytest

from bot.adapters.discord.received.commands import as_in_table, localized, slots
from bot.command_line import parse
from bot.commands import TABLE
from bot.words import Words, name_of, words

PORTUGUESE, ENGLISH = words("pt-BR"), words("en")


@pytest.mark.parametrize(
    ("sentence", "read"),
    [
        ("A biblioteca: `/library add`.", "A biblioteca: `/biblioteca adicionar`."),
        ("`/help library add` mostra.", "`/ajuda biblioteca adicionar` mostra."),
        ("`/sessions resume 7d66fe` a retoma.", "`/conversas retomar 7d66fe` a retoma."),
        ("`/story state Mira` mostra.", "`/mundo estado Mira` mostra."),
        ("A opção `replace`.", "A opção `substituir`."),
        ("A opção `max-tools`.", "A opção `max-ferramentas`."),
        ("`/script export A --draft 2 a--draft`", "`/roteiro exportar A --tratamento 2 a--draft`"),
        ("`git add --file x` e `--file`", "`git add --file x` e `--file`"),
        ("`/free-chat` e `/setup`", "`/conversa-livre` e `/preparar`"),
        ("`/library addenda` e /library add", "`/library addenda` e /library add"),
        ("`python -m bot doctor`, `file` e `2d6+3`", "`python -m bot doctor`, `file` e `2d6+3`"),
    ],
)
def test_a_sentence_names_commands_as_the_reader_sees_them(sentence: str, read: str) -> None:
    assert localized(PORTUGUESE, sentence) == read


def test_english_sentences_change_only_for_discords_own_groups() -> None:
    sentences = ENGLISH.sentences()
    shown = {key: localized(ENGLISH, sentence) for key, sentence in sentences.items()}
    for row in TABLE:
        if row.group:
            shown = {
                key: text.replace(f"/{row.group} {row.name}", f"/{row.path}") for key, text in shown.items()
            }
    assert shown == sentences


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (
            "/regras perguntar O que é agarrado? --estante regras",
            "/rules ask O que é agarrado? --estante regras",
        ),
        ("/Ajuda", "/help"),
        ("/character sheet Mira hp -4", "/story sheet Mira hp -4"),
        ("/personagem ficha Mira", "/story sheet Mira"),
        ("/HISTÓRIA comecar Uma porta", "/story start Uma porta"),
        ("/historia começar Uma porta", "/story start Uma porta"),
        ("/story sheet Mira", "/story sheet Mira"),
        ("/rules roll 2d6", "/rules roll 2d6"),
        ("/roll 2d6", "/roll 2d6"),
        ("O que é --estante?", "O que é --estante?"),
    ],
)
def test_a_line_may_be_typed_in_any_language(line: str, known: str) -> None:
    assert as_in_table(line) == known


def test_a_line_in_portuguese_becomes_the_same_request() -> None:
    for line, known in (
        ("/regras consultar Agarrado —estante regras", "/rules lookup Agarrado --shelf regras"),
        ("/mundo prosa sparse --tempo passado", "/story prose sparse --tense past"),
        ("/regras consultar Agarrado --Estante a--b", "/rules lookup Agarrado --shelf a--b"),
        ("/historia comecar Uma porta --genero noir", "/story start Uma porta --genre noir"),
        ("/roteiro relatorio A balsa", "/script report A balsa"),
    ):
        assert parse(as_in_table(line)) == parse(known)


@pytest.mark.parametrize("say", [PORTUGUESE, ENGLISH], ids=["pt-BR", "en"])
def test_every_option_and_choice_has_a_valid_name_and_description(say: Words) -> None:
    """If one is missing, Discord refuses all commands."""
    sentences = say.sentences()
    for row in TABLE:
        for summary in (row.summary, *(slot.summary for slot in slots(row))):
            assert 0 < len(say(summary)) <= 100, (row.path, summary)
        for slot in slots(row):
            key = name_of("file" if slot.name.startswith("file") else slot.name, "option")
            assert key in sentences, (
                f"{row.path}: name {slot.name} in [names], as {key.removeprefix('names.')}"
            )
            assert re.fullmatch(r"[-_\w]{1,32}", sentences[key]), key
            for choice in slot.choices:
                assert 0 < len(say(name_of(choice, slot.name))) <= 100, (row.path, choice)
