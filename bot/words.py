"""The catalogue of sentences that people read, in English and Brazilian Portuguese.

Knows neither who asks nor where the sentence is shown. The files are bot/words/<locale>.toml, and for what only one
kind of work says bot/works/<work>/<locale>.toml; a key is `section.name`, and a section may be in several files.
`{n:file|files}` picks the first form when n is 1, `{n:,}` writes its decimals after a comma, and `{n:.}` its thousands
with points.
`{operator:Set|The bot's operator sets} X` picks the first form for a reader who runs the bot, as in the terminal.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache

from bot.works import ALL

LOCALES = ("en", "pt-BR")
_EARLIER = ("ficha-de-personagem", "card-de-personagem")
"""What a character card was called in earlier releases, and what it is called now."""
_FOLDER = __file__.removesuffix(".py")
_SCRIPTS = ("/sutradhar", "\\sutradhar", "\\sutradhar.exe")
PROGRAM = "sutradhar" if sys.argv[:1] and sys.argv[0].endswith(_SCRIPTS) else "python -m bot"
"""The command with which this process was started; the catalogue writes `python -m bot`."""
_WORKS = _FOLDER.removesuffix("words") + "works"


def locale_of(tag: str) -> str:
    """The locale of the catalogue for a tag such as "pt", "pt_PT.UTF-8" or "C"; English by default."""
    return "pt-BR" if tag.replace("_", "-").split("-")[0].split(".")[0].lower() == "pt" else "en"


def locale_from(environ: Mapping[str, str]) -> str:
    """The locale that the process's environment asks for; the first variable that is set decides."""
    for name in ("SUTRADHAR_LOCALE", "LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(name):
            return locale_of(environ[name])
    return "en"


class _Value:
    """A value in a sentence: in its format spec `|` chooses between singular and plural, `,` sets the decimal mark, and
    `.` that of thousands.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __format__(self, spec: str) -> str:
        if "|" in spec:
            singular, plural = spec.split("|", 1)
            return singular if self.value == 1 else plural
        if spec == ",":
            return str(self.value).replace(".", ",")
        if spec == ".":
            return str(self.value).replace(",", ".")
        return format(self.value, spec) if spec else str(self.value)


class _Values(dict[str, _Value]):
    """Shows a missing value as its placeholder instead of raising."""

    def __missing__(self, name: str) -> _Value:
        return _Value("{" + name + "}")


class Words:
    """The sentences of one locale. Call it with a key and values to get the sentence. A value may be a function
    that these words are passed to.
    """

    to_operator = False
    """Whether this process's sentences speak to the person who runs the bot: the command line does, `run` does not."""

    def __init__(self, locale: str, *sources: str) -> None:
        """`sources` are the catalogue's TOML; a section is parsed when one of its keys is asked for."""
        self.locale = locale
        self._sources: dict[str, list[str]] = {}
        for source in sources:
            for part in ("\n" + source).split("\n[")[1:]:
                self._sources.setdefault(part.split("]", 1)[0], []).append("[" + part)
        self._sections: dict[str, dict[str, str]] = {}

    def __call__(self, key: str, **values: object) -> str:
        section, _, name = key.partition(".")
        if section not in self._sections:
            self._parse(section)
        sentence = self._sections[section].get(name)
        if sentence is None:  # a test catches it; a person still gets the key and the values
            return " ".join([key, *(f"{name}={value}" for name, value in values.items())])
        formatted = _Values(operator=_Value(int(self.to_operator)))
        for name, value in values.items():
            formatted[name] = _Value(self._in_words(value))
        return sentence.format_map(formatted)

    def plain(self, values: Mapping[str, object]) -> dict[str, str | int | float | bool | None]:
        """The values of a sentence as they can be stored: functions, errors and other objects in these words."""
        worded = {name: self._in_words(value) for name, value in values.items()}
        return {
            name: value if isinstance(value, str | int | float | bool | None) else str(value)
            for name, value in worded.items()
        }

    def _in_words(self, value: object) -> object:
        """A function's result for these words, the text of a UserError, and other values as they are."""
        if isinstance(value, Exception):
            # Its module's dataclasses would take a third of the time of --help.
            from bot.events import UserError

            return self(value.key, **value.values) if isinstance(value, UserError) else value
        return value(self) if callable(value) else value

    def sentences(self) -> dict[str, str]:
        """Every key with its sentence, placeholders unfilled."""
        for section in self._sources:
            self._parse(section)
        return {
            f"{section}.{name}": sentence
            for section, sentences in self._sections.items()
            for name, sentence in sentences.items()
        }

    def _parse(self, section: str) -> None:
        import tomllib  # parsing everything would take as long as the rest of --help

        parsed = [tomllib.loads(source)[section] for source in self._sources.get(section, ())]
        self._sections[section] = {key: text for part in parsed for key, text in part.items()}


def name_of(name: str, kind: str) -> str:
    """The key of a name of the table of verbs: an "option", a "group", or a choice of the option called `kind`."""
    return f"names.{kind}_{name.replace('-', '_')}"


def name_in(say: Callable[[str], str], name: str, kind: str) -> str:
    """The name in the language of the catalogue `say`: see `name_of`. A name without a translation stays as it is."""
    key = name_of(name, kind)
    translated = say(key)
    return name if translated == key else translated


def folded(name: str) -> str:
    """A name as names are compared: without case and accents, its words joined with hyphens."""
    letters = unicodedata.normalize(
        "NFKD", "-".join(name.casefold().replace("_", " ").replace("-", " ").split())
    )
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def named(names: Sequence[str], kind: str, typed: str) -> str | None:
    """The option, group or choice that is typed by its name in one of our languages, such as "semana" for "week"."""
    wanted = folded(typed).replace(*_EARLIER)
    for say in map(words, LOCALES):
        for name in names:
            if wanted in (folded(name), folded(say(name_of(name, kind)))):
                return name
    return None


def meant(typed: str, *meanings: str) -> str:
    """The first of these meanings that has the typed word in the section `typed` of any catalogue; "" for none."""
    return next((meaning for meaning in meanings if _spelt(typed) in _typed(meaning)), "")


@cache
def _typed(meaning: str) -> frozenset[str]:
    return frozenset(_spelt(word) for say in map(words, LOCALES) for word in say(f"typed.{meaning}").split())


def _spelt(word: str) -> str:
    return folded(word) or word.strip()  # "-" has no letters to fold


@lru_cache(maxsize=100)
def words(locale: str) -> Words:
    """The catalogue for a locale; pt and pt-PT read Brazilian Portuguese, everything else English."""
    return _load(locale_of(locale))


@cache
def _load(locale: str) -> Words:
    sources = []
    for folder in (_FOLDER, *(f"{_WORKS}/{name}" for name in ALL)):
        # Not pathlib: importing it takes a tenth of the time that --help may take.
        with open(f"{folder}/{locale}.toml", encoding="utf-8") as file:  # noqa: PTH123
            sources.append(file.read().replace("python -m bot", PROGRAM))
    return Words(locale, *sources)
