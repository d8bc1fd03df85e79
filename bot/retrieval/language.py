"""The language of a text or a question as ISO 639-1, and which models may vote on it.

It has no model of its own: it uses py3langid's n-gram classifier, loaded on first use.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from copy import copy
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

STEMMED = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""ISO 639-1 codes and the names of their Snowball stemmers."""

_FUNCTION_WORDS = {
    "en": (
        "a about all also am an and any are as at be been both but by can could did do does each either "
        "for from had has have he her him his how i if in into is it its itself me more most much many "
        "my no not of on one or other our out over own she should so some such than that the their them "
        "then there these they this those to too under up us use used was we were what when where which "
        "while who whom whose why will with would you your"
    ),
    "pt": (
        "a à ao aos aquela aquele aqueles aquilo as às até cada com como da das de dela dele deles "
        "depois do dos e é ela elas ele eles em entre era eram essa essas esse esses esta está estão "
        "estas este estes eu foi foram há isso isto já lhe lhes mais mas me mesmo meu minha muito na não "
        "nas nem no nos nós num numa o onde os ou para pela pelas pelo pelos pode podem podemos por porque "
        "posso qual quais quando quanto quantos quantas que quê quem são se segundo sem ser será seu seus só sob "
        "sobre sua suas também te tem têm ter teve um uma umas uns você"
    ),
    "es": (
        "a al algo como con cual cuál cuales cuáles cuando cuándo cuanto cuántos de del desde donde "
        "dónde e el él ella ellas ellos en entre era es esa ese eso esta está estas este esto estos fue "
        "fueron ha hay la las le les lo los más me mi muy no nos o para pero por porque qué que quien "
        "quién se ser si sin sobre son su sus también te tiene un una uno unos y ya"
    ),
    "zh": (
        "的 了 吗 呢 吧 是 什么 是什么 有什么 为什么 怎么 怎样 怎么样 如何 多少 是多少 有多少 多久 多大 几个 哪个 哪些 "
        "哪里 什么时候 可以 能否 是否 一个 这个 那个 这些 那些 我们 你们 他们 它们 以及 或者 因为 所以 如果 但是"
    ),
}
FUNCTION_WORDS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
"""Words that bind a question together without asking for anything; they do not count as evidence."""

_ASKING_WORDS = {
    "en": (
        "after against before during enough exist exists get gets happen happening happens make makes mean means must "
        "need needs often since somebody someone still there through time times until while work works"
    ),
    "pt": (
        "acontece acontecem acontecer alguém antes após consegue conseguem consigo contra desde deve devem devo "
        "durante enquanto existe existem faz fazem fazer fica ficam ficar funciona funcionam funcionar ocorre "
        "ocorrem precisa precisam preciso serve servem significa significam trata tratam usa usam usar uso vez vezes"
    ),
}
ASKING_WORDS = {language: frozenset(words.split()) for language, words in _ASKING_WORDS.items()}
"""Words that questions use and answers seldom do: "o que acontece com". They are ignored only in foreign questions; in
the books' language an answer may use them.
"""

_HEADING_WORDS = {
    "en": (
        "about appendix chapter conclusion contents credits description detail details example examples "
        "faq general index introduction license miscellaneous name names note notes option options other "
        "others overview part section step summary table title work works"
    ),
    "pt": (
        "anexo apêndice capítulo conclusão conteúdo créditos descrição detalhe detalhes diversos "
        "exemplo exemplos funciona funcionam geral índice introdução licença nome nomes nota notas opção "
        "opções outra outras outro outros parte passo resumo seção sumário tabela "
        "título visão"
    ),
    "es": (
        "anexo apéndice capítulo conclusión contenido créditos descripción detalle detalles ejemplo "
        "ejemplos funciona funcionan general índice introducción licencia nombre nombres nota "
        "notas opción opciones otra otras otro otros parte paso resumen sección tabla "
        "título visión"
    ),
}
HEADING_WORDS = {language: frozenset(words.split()) for language, words in _HEADING_WORDS.items()}
"""Words that head sections in any book; a title of nothing else names nothing."""

PREFIXES = {
    "en": "anti auto co hyper inter intra macro meta micro multi non post pre pseudo re semi sub",
    "pt": "anti auto co hiper infra inter intra macro meta micro multi pós pré pseudo re recém semi sub",
}
"""Prefixes that are written with or without a hyphen. Those that are common words ("over") are left out."""

COLUMN_WORDS = {
    "en": (
        "cost costs price prices priced",
        "weight weights weigh weighs heavy",
        "speed fast",
        "range far",
        "length long",
    ),
    "pt": (
        "custo custos custa custam custar preço preços",
        "peso pesos pesa pesam pesado pesada",
        "deslocamento velocidade rápido rápida",
        "alcance distância",
    ),
    "es": (
        "coste costo cuesta cuestan precio precios",
        "peso pesa pesan pesado pesada",
        "velocidad rápido rápida",
    ),
}
"""Names of table columns and the words that ask for them, one group per line. In a row they count as one word."""

_ASKED = frozenset({"en", "pt", "es", "fr", "de", "it"})
"""The languages among which a question is classified first, because with few candidates even a short question is
certain.
"""

_LATIN_WRITTEN = "en pt es fr de it ca cs da eu fi ga hu id lt nl no pl ro sk sv tr vi"
_ELSE_WRITTEN = "ar bg el fa he hi ja ko ru th uk zh"
_IN_LATIN = frozenset(_LATIN_WRITTEN.split())
_WORLD = _IN_LATIN - {"eu", "ga", "lt"} | frozenset(_ELSE_WRITTEN.split())
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
"""Chinese and Japanese characters, which have no spaces between words."""

_KANA = re.compile("[\u3040-\u30ff]")
_LATIN = re.compile("[\0-\u024f]")
"""Characters up to the last letter of Latin Extended-B; letters beyond them are in another script."""

_SURE = 0.9
_SAMPLE = 3000
_LIKELY = 0.6  # a language this likely needs only one function word: "Quanto pesam mil moedas?"
_FEW_LETTERS = 12  # too few for the classifier
_BINDING = 2  # so many more function words than in the books' languages reveal a question's own
_LETTERS = re.compile(r"[^\W\d_]+")
_lock = threading.Lock()


@cache
def _of_all() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@lru_cache(maxsize=8)
def _identifier(languages: frozenset[str]) -> LanguageIdentifier:
    identifier = copy(_of_all())  # its tables are shared, because reading them takes a tenth of a second
    if languages:
        supported = languages & set(identifier.labels)
        identifier.set_languages(sorted(supported))
    return identifier


def detect(text: str) -> str:
    """The language of a whole text, judged by three samples; "en" if it has hardly any letters."""
    middle = len(text) // 2
    parts = (
        (text[:_SAMPLE], text[middle : middle + _SAMPLE], text[-_SAMPLE:]) if len(text) > 9000 else (text,)
    )
    words = " ".join(_LETTERS.findall(" ".join(parts)))
    unspaced = "".join(UNSPACED.findall(words))
    if 3 * len(unspaced) > len(words):
        return "ja" if 20 * len(_KANA.findall(unspaced)) > len(unspaced) else "zh"
    if len(words) < 20:
        return "en"
    with _lock:
        language, _ = _identifier(frozenset(STEMMED)).classify(words)
    return str(language)


def detect_question(question: str, shelf: Iterable[str]) -> str | None:
    """The language of a question put to books in the languages `shelf`, or None when it is uncertain.

    One or two words say too little, and names say nothing. An uncertain question is assumed to be in the books'
    language, unless its function words ("como … o …") are of another, or it is in no language of `_ASKED` and certainly
    in one of all languages. Another script is another language.
    """
    words = " ".join(_LETTERS.findall(question[:2000]))
    shelf_languages = frozenset(shelf)
    if 2 * len(_LATIN.findall(words)) < len(words):
        language, certainty = _classified(words, _WORLD | shelf_languages)
        return language if certainty >= _SURE or not shelf_languages - _IN_LATIN else None
    if " " not in words:
        return None
    among_known, certainty = _classified(words, _ASKED | shelf_languages)
    if len(words) < _FEW_LETTERS:
        return _bound(words, shelf_languages, among_known, _BINDING)
    if certainty >= _SURE and among_known in shelf_languages:
        return among_known
    likely, likelihood = _classified(words.lower(), _WORLD | shelf_languages)
    if likelihood >= _SURE and (certainty >= _SURE or likely not in _ASKED | shelf_languages):
        return likely
    if certainty >= _SURE:
        return among_known
    enough = 1 if certainty >= _LIKELY and among_known == likely else _BINDING
    return _bound(words, shelf_languages, among_known, enough)


def _classified(words: str, candidates: frozenset[str]) -> tuple[str, float]:
    with _lock:
        language, certainty = _identifier(candidates).classify(words)
    return str(language), float(certainty)


def _bound(words: str, shelf_languages: frozenset[str], likely: str, enough: int) -> str | None:
    """The language that has `enough` more function words in these than any of the books' languages. `likely` breaks a
    tie; for that language a single word is enough.
    """
    question_words = set(words.casefold().split())
    counts = {
        language: len(question_words & function_words) for language, function_words in FUNCTION_WORDS.items()
    }
    most = max(counts.values())
    surplus = most - max((counts.get(language, 0) for language in shelf_languages), default=0)
    tied = [language for language, count in counts.items() if count == most]
    if surplus < _BINDING and (surplus < enough or likely not in tied):
        return None
    return likely if likely in tied else tied[0]


def may_vote(model: frozenset[str] | None, question: str | None, document: str) -> bool:
    """Whether a dense model of these languages (None = all) may rank a document for a question.

    An English-only model also returns a cosine for Portuguese texts, but it is noise.
    """
    if model is None:
        return True
    return document in model and (question is None or question in model)
