"""The catalogue: both languages have the same keys, and the code uses no other."""

from __future__ import annotations

import ast
import re
import string
import tomllib
from functools import cache
from pathlib import Path

import pytest

from bot.commands import TABLE
from bot.words import LOCALES, Words, locale_from, locale_of, meant, words
from bot.works import ALL

CODE = [path for folder in ("bot", "storage", "cogs") for path in sorted(Path(folder).rglob("*.py"))]
ENGLISH, PORTUGUESE = (words(locale).sentences() for locale in LOCALES)
SPEAKERS = {"UserError", "TransientError", "say", "words", "_say", "Refused"}


def placeholders(sentence: str) -> set[str]:
    parts = [part for part in string.Formatter().parse(sentence) if part[1] is not None]
    return {str(name) for _, name, _, _ in parts}.union(
        *(placeholders(spec or "") for _, _, spec, _ in parts)
    )


@cache
def literals() -> list[tuple[str, str, bool]]:
    """(where, string, whether it is certainly a key) for every string in the code; f-strings as prefixes with
    *.
    """
    found: list[tuple[str, str, bool]] = []
    for path in CODE:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                first = node.args[0]
                if (
                    name in SPEAKERS
                    and isinstance(first, ast.Constant)
                    and re.fullmatch(r"\w+\.\w+", str(first.value))
                ):
                    found.append((f"{path}:{node.lineno}", str(first.value), True))
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append((f"{path}:{node.lineno}", node.value, False))
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                found.append((f"{path}:{node.lineno}", str(node.values[0].value) + "*", False))
    return found


def test_both_files_have_the_same_keys() -> None:
    samples = {
        f"samples.{row.path.replace(' ', '_')}" for row in TABLE if row.sample
    }  # English: in the table
    assert set(ENGLISH) | samples == set(PORTUGUESE)


@pytest.mark.parametrize(
    "words_of", ["anew", "whoever", "takes? in", "stands", "(is|are) told", "by the calendar"]
)
def test_no_message_has_words_that_no_native_writer_would_use(words_of: str) -> None:
    pattern = re.compile(rf"\b{words_of}\b", re.IGNORECASE)
    assert not {key: text for key, text in ENGLISH.items() if pattern.search(text)}


ELSEWHERE = ("buttons.", "discord.", "own_name.", "policy.", "slack", "welcome.")
"""Keys of sentences that the terminal never says, and of the page on privacy, which is written for others."""
OPERATOR = {
    "en": re.compile(r"operator|\b(person|people|who) (runs?|keeps?) (me|the bot)\b", re.IGNORECASE),
    "pt-BR": re.compile(r"operador|\bquem (opera|mantém|me|cuida)\b", re.IGNORECASE),
}


@pytest.mark.parametrize("locale", LOCALES)
def test_no_sentence_of_the_terminal_names_the_operator_who_reads_it(
    locale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    say, asked = words(locale), {key: placeholders(text) - {"operator"} for key, text in ENGLISH.items()}

    def naming() -> list[str]:
        keys = [key for key in ENGLISH if key == "policy.file" or not key.startswith(ELSEWHERE)]
        return [key for key in keys if OPERATOR[locale].search(say(key, **dict.fromkeys(asked[key], 2)))]

    assert len(naming()) > 50, "on Discord and Slack"
    monkeypatch.setattr(Words, "to_operator", True)
    assert not naming()


FOR_OPERATORS = (
    "cli.",
    "config.",
    "db.",
    "discord_",
    "doctor.",
    "operate.",
    "probe.",
    "slack_run.",
    "storage.",
)
"""Keys of sentences for the person who runs the bot, also where they are shown on a platform."""


@pytest.mark.parametrize("locale", LOCALES)
def test_a_sentence_in_chat_names_config_toml_only_with_its_operator(locale: str) -> None:
    say, naming = words(locale), set[str]()
    for key, text in ENGLISH.items():
        said = say(key, **dict.fromkeys(placeholders(text) - {"operator"}, 2))
        if "config.toml" in said and not key.startswith(FOR_OPERATORS) and not OPERATOR[locale].search(said):
            naming.add(key)
    assert not naming


def test_a_sentence_speaks_to_the_operator_or_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    say = Words("en", '[a]\nkey = "{operator:Set|The bot\'s operator sets} {name}."\n')
    assert say("a.key", name="KEY") == "The bot's operator sets KEY."
    monkeypatch.setattr(Words, "to_operator", True)
    assert say("a.key", name="KEY") == "Set KEY."


@pytest.mark.parametrize(
    "words_of",
    [
        r"ficheiros?", r"utilizador\w*", r"ecrãs?", r"telemóve\w+", r"partilh\w+", r"apag\w+", r"está a \w+r",
        r"t[eê]m de \w+r", r"de novo e de novo", r"(é|são) contad[oa]s?", r"vem pel[oa]", r"quem quer que", r"p\. ex\.",
        r"falta-me", r"línguas?", r"(?<!\.)lorebook", r"(uma|as|das?|nas?) personage(m|ns)", r"quem me opera",
        r"opera o bot", r"quem administra(?! (este|um))", r"em (config\.toml|\.env)",
    ],
)  # fmt: skip
def test_no_portuguese_message_has_words_that_no_brazilian_writer_would_use(words_of: str) -> None:
    pattern = re.compile(rf"\b{words_of}", re.IGNORECASE)
    told = {
        key: re.sub(r"`[^`]*`", "", text)  # examples are a player's words
        for key, text in PORTUGUESE.items()
        if not key.startswith(("names.", "samples.", "typed."))
    }
    assert not {key: text for key, text in told.items() if pattern.search(text)}


def test_portuguese_describes_commands_and_names_buttons_in_the_imperative() -> None:
    described = {
        key: text
        for key, text in PORTUGUESE.items()
        if re.match(
            r"verbs\.(?!arg|option|group|heading|setting_|help_more|plain_text|example|story_fork_menu)", key
        )
        or re.search(r"button", key.partition(".")[2])
    }
    other = re.compile(r"\w+[aei]r\b|(Que|Quem|O que|Como|Se|Os?|As?|Um|Uma) ")
    assert len(described) > 150
    assert not {key: text for key, text in described.items() if other.match(text)}


def test_both_languages_have_the_same_placeholders() -> None:
    assert {key: placeholders(text) for key, text in ENGLISH.items()} == {
        key: placeholders(PORTUGUESE[key]) for key in ENGLISH
    }


@pytest.mark.parametrize("locale", LOCALES)
def test_sections_read_one_by_one_are_the_whole_catalogue(locale: str) -> None:
    files = [f"bot/words/{locale}.toml", *(f"bot/works/{work}/{locale}.toml" for work in ALL)]
    trees = [tomllib.loads(Path(file).read_text(encoding="utf-8")) for file in files]
    pairs = [
        (f"{section}.{name}", text)
        for tree in trees
        for section, entries in tree.items()
        for name, text in entries.items()
    ]
    assert words(locale).sentences() == dict(pairs)
    assert len(dict(pairs)) == len(pairs), "no key is in two files"


def test_every_key_that_the_code_uses_exists() -> None:
    assert not [(where, key) for where, key, sure in literals() if sure and key not in ENGLISH]


def test_no_key_is_unused() -> None:
    texts = {text for _, text, _ in literals()}
    prefixes = tuple(text[:-1] for text in texts if re.fullmatch(r"[a-z_]+\.\w*\*", text))
    suffixes = tuple(text for text in texts if re.fullmatch(r"_[a-z]+", text))
    made = {text + suffix for text in texts.intersection(ENGLISH) for suffix in suffixes}
    known = texts | made
    assert not [key for key in ENGLISH if key not in known and not key.startswith(prefixes)]


def test_a_word_that_people_type_is_understood_in_every_language() -> None:
    for sentences in (ENGLISH, PORTUGUESE):
        for meaning in (key.removeprefix("typed.") for key in ENGLISH if key.startswith("typed.")):
            typed = sentences[f"typed.{meaning}"].split()
            assert {meant(f" {word.upper()} ", "?", meaning) for word in typed} == {meaning}
    assert meant("próxima", "back", "next") == meant("proxima", "next") == "next"
    assert meant("no one", "no") == meant("", "no") == ""


def test_only_the_catalogue_has_portuguese_words_for_none_for_all_and_for_verbs() -> None:
    typed = re.compile(r"typed\.(all|no(ne|body)|verb_\w+)")
    words_of = [
        {word for key, text in sentences.items() if typed.match(key) for word in text.split()}
        for sentences in (ENGLISH, PORTUGUESE)
    ]
    prose = ("bot/works/story/extraction/", "bot/speech/")  # what models write, and names of voices
    found = [where for where, text, _ in literals() if text in words_of[1] - words_of[0]]
    assert [where for where in found if not where.startswith(prose)] == []


@pytest.mark.parametrize(
    ("tag", "locale"),
    [
        ("pt", "pt-BR"),
        ("pt_PT.UTF-8", "pt-BR"),
        ("pt-BR", "pt-BR"),
        ("en_GB", "en"),
        ("C", "en"),
        ("fr", "en"),
    ],
)
def test_locales_fall_back(tag: str, locale: str) -> None:
    assert locale_of(tag) == locale


def test_the_first_set_variable_decides_the_locale() -> None:
    assert locale_from({"LANG": "pt_BR.UTF-8"}) == "pt-BR"
    assert locale_from({"LC_ALL": "C", "LANG": "pt_BR.UTF-8"}) == "en"
    assert locale_from({"SUTRADHAR_LOCALE": "pt", "LC_ALL": "C"}) == "pt-BR"
    assert locale_from({}) == "en"


def test_a_sentence_has_plurals_and_survives_missing_values() -> None:
    say = Words("en", '[a]\nfiles = "{n} {n:file|files} in {place}"\n')
    assert say("a.files", n=1, place="x") == "1 file in x"
    assert say("a.files", n=0, place="{n}") == "0 files in {n}"
    assert say("a.files", n=2) == "2 files in {place}"
    assert say("a.lost", n=2) == "a.lost n=2"


@pytest.mark.parametrize(
    "key", ["verbs.library_add", "discord.option_file", "welcome.server", "slack_welcome.installer"]
)
def test_a_request_for_a_book_lists_every_kind_that_is_read(key: str) -> None:
    for sentence in (ENGLISH[key], PORTUGUESE[key]):
        assert not {
            kind for kind in ("PDF", "Word", "EPUB", "HTML", "Markdown", "text") if kind not in sentence
        }
