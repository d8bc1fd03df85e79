"""prompts.yml is checked at start, read again after a change, and never breaks a running bot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.events import UserError
from bot.prompts import BUNDLED, PromptFile, parse

GOOD = "rag:\n  placeholders: [question]\n  system: Be brief.\n  user: '{question}'\n"


def touched(file: Path, text: str) -> None:
    before = file.stat().st_mtime_ns
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(before + 1_000_000, before + 1_000_000))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.yml"
    file.write_text(GOOD, encoding="utf-8")
    return file


def test_the_bundled_file_is_good() -> None:
    prompt = PromptFile(BUNDLED).read()["rag"]
    system, user = prompt.fill(language="English", passages="P", history="H", question="Q")
    assert "English" in system
    assert "{" not in user


def test_a_change_is_seen_at_the_next_use(file: Path) -> None:
    prompts = PromptFile(file)
    before = prompts.read()["rag"]
    touched(file, GOOD.replace("Be brief.", "Be long."))
    assert prompts.read()["rag"].system == "Be long."
    assert prompts.read()["rag"].version != before.version


def test_a_text_is_parsed_once_however_often_it_is_opened() -> None:
    assert PromptFile(BUNDLED).read() is PromptFile(BUNDLED).read()


@pytest.mark.parametrize(
    "broken",
    [
        *("rag: [", "", "rag: 3", GOOD.replace("{question}", ""), "other:\n  system: a\n  user: b\n"),
        *(GOOD.replace("[question]", one) for one in ("", "3", "2001-99-99", "[" * 5_000)),
    ],
)
def test_a_broken_change_keeps_the_last_good_version(file: Path, broken: str) -> None:
    prompts = PromptFile(file)
    touched(file, broken)
    assert prompts.read()["rag"].system == "Be brief."


def test_a_broken_file_at_the_start_is_refused_with_its_line() -> None:
    with pytest.raises(UserError) as caught:
        parse("rag:\n  system: [\n")
    assert caught.value.key == "prompts.unreadable"
    assert caught.value.values["line"]


def test_placeholders_must_be_listed() -> None:
    with pytest.raises(UserError) as caught:
        parse(GOOD.replace("{question}", "{question} {secret}"))
    assert caught.value.values == {"prompt": "rag", "placeholder": "secret"}


def test_filled_in_text_is_not_parsed_for_placeholders(file: Path) -> None:
    _, user = PromptFile(file).read()["rag"].fill(question="{question} {system}")
    assert user == "{question} {system}"
