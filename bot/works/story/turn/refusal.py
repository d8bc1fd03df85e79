"""Recognises a model's refusal in prose, in English and Portuguese: a short text that speaks only to the user.

Each sentence must be an apology, an offer, a mention of the model's rules, or say that it cannot write. A single
sentence of story, a quotation, a line of dialogue or text between asterisks makes the text a scene.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 900
"""The maximum length of a refusal, in characters."""
_STORY_SIGNS: Final = re.compile(
    r"[“”„«»\"]|(?<!\w)'|^[^\S\n]*+(?:[-—–]|\*(?!\*)|\w[^:\n.!?]{0,40}:)|[A-Z]{3,}\s[A-Z]{3,}", re.MULTILINE
)
"""Signs of a story: a quotation, a line of speech or stage directions, a notice in capitals."""
_BREAK: Final = re.compile(r"(?<=[.!?…])\s++|\n++")

_CANNOT: Final = (
    r"\bi(?: really| just| simply)? (?:can'?t|cannot|can not|won'?t|will not|don'?t|do not|wouldn'?t|shouldn'?t)\b"
    r"|\bi(?:'m| am) (?:\w+ )?(?:unable|not (?:able|allowed|comfortable|permitted|willing|going|designed))\b"
    r"|\bi(?:'m| am) (?:declining|going to decline)\b"
    r"|\bi(?:'d| would) (?:rather|prefer) not\b|\bi(?: \w+)?(?: to)? (?:decline|refuse)\b|\bnot something i can\b"
    r"|\bi (?:have|need|must|'ll have)(?: to)? (?:stop|decline)\b"
    r"|\bnão (?:posso|consigo|vou|devo|quero|sou capaz|estou (?:apt[oa]|autorizad[oa])|tenho permissão|me sinto"
    r"|é possível|participo|escrevo)\b|\bprefiro não\b|\b(?:preciso|devo|tenho (?:de|que)) (?:recusar|parar)\b"
)
_THING: Final = (
    r"(?:requests?|content|scenes?|story|storyline|stories|role-?play(?:ing)?|scenario|material|prompt|guidelines"
    r"|polic(?:y|ies)|kind of|type of|sort of|this one|depictions?|explicit|sexual|sexuali[sz]\w+|graphic|self-harm"
    r"|violence|non-consensual|minors?|an ai|language model|ai (?:assistant|model)|artificial intelligence"
    r"|conteúdo|cenas?|pedido|solicitação|história|explícit[oa]|sexual|violênci\w+|violent[oa]|diretrizes|políticas?"
    r"|esse tipo|este tipo|desse tipo|material|impróprio|menores|uma ia|modelo de linguagem|inteligência artificial)"
)
_TASK: Final = (
    r"(?:help|assist|write|writing|create|generate|produce|provide|continue|continuing|fulfill?|comply|engage"
    r"|participate|depict|describe|describing|proceed|decline"
    r"|ajudar|te ajudar|escrever|criar|gerar|produzir|fornecer|continuar|atender|participar|descrever|recusar|fazer)"
)
_GENERIC: Final = (
    rf"\b{_TASK}(?: you)?(?: further)?(?: with| in| to| a| com| de| d?)?"
    r" ?(?:that|this|it|isso|isto|nisso|disso)(?: in detail)?\s*(?:$|[.!,;:]|\bas\b|\bpois\b|\bporque\b|\bbecause\b)"
)
_AS_AN_AI: Final = (
    r"\b(?:as|i am|i'm|being) (?:just )?an? (?:ai|artificial intelligence|(?:large )?language model|assistant)\b"
    r"|\b(?:como|sou) (?:uma? )?(?:ia|inteligência artificial|modelo de linguagem|assistente)\b"
)
_RULES: Final = (
    r"\b(?:my|the|content|usage|minhas?|de) (?:\w+ )?(?:guidelines|polic(?:y|ies)|programming)\b"
    r"|\b(?:minhas|as) (?:diretrizes|políticas)\b|\b(?:usage|content) polic"
)
_RULED_OUT: Final = (
    r"\b(?:goes? against|violates?|don'?t allow|doesn'?t allow|do not allow|does not allow|prohibit|contra|viol[ae]m?"
    r"|não permitem?|proíbem?)\b"
)
_APOLOGY: Final = (
    r"^(?:i(?:'m| am)(?: \w+)? sorry|sorry|i apologi[sz]e|my apologies|desculp[ae]|peço desculpas|sinto muito|lamento)"
    r"[^.!?]{0,20}[.!]?$"
)
_TO_THE_USER: Final = (
    r"\b(?:would|do) you (?:like|want)|\byou(?:'d| would) (?:like|prefer)|\blet me know\b|\bfeel free\b"
    r"|\b(?:something|anything|what) else\b[^.!?]{0,40}\?|\bi(?:'d| would)(?: \w+)? be (?:happy|glad)\b"
    r"|\bi'?m happy to\b"
    r"|\bi can (?:take|offer|write|suggest|help|continue|try)\b|\blet'?s (?:take|try|explore|find)\b"
    r"|\bperhaps (?:we|i) (?:can|could)\b"
    r"|\bi (?:understand|appreciate)\b[^.!?]{0,30}\b(?:fiction\w*|creativ\w+|story)\b"
    r"|\bthank you for (?:your )?understanding\b"
    r"|\bse quiser\b|\bgostaria de\b|\bquer (?:tentar|que eu)\b|\bposso (?:ajudar|sugerir|escrever|criar)\b"
    r"|\bfico feliz em ajudar\b|\bem que eu possa ajudar\b|\bque tal (?:seguirmos|tentarmos|irmos)\b"
    r"|\b(?:entendo|agradeço)\b[^.!?]{0,30}\b(?:ficção|criatividade|história)\b"
)


_OF_A_TEXT: Final = rf"\b{_THING}\b"
_USER_TALK: Final = (_APOLOGY, _TO_THE_USER, _AS_AN_AI)
_OPENS: Final = (
    r"^(?:i|i'm|i'd|sorry|my|as|that's|this|unfortunately|thank|while|desculpa|desculpe|como|sou|sinto|lamento|peço"
    r"|não|infelizmente|agradeço|entendo|prefiro|preciso|devo|tenho|isso|esse|este|essa|esta)\b"
)


def _has(pattern: str, sentence: str) -> bool:
    return re.search(pattern, sentence) is not None


def _refuses(sentence: str) -> bool:
    """Whether the sentence says that the requested text is not written."""
    cannot = _has(_CANNOT, sentence)
    if cannot and (
        _has(_GENERIC, sentence) or (_has(rf"\b{_TASK}\b", sentence) and _has(_OF_A_TEXT, sentence))
    ):
        return True
    if cannot and _has(r"\bnot something i can (?:help|assist|write)", sentence):
        return True
    return _has(_RULED_OUT, sentence) and _has(_RULES, sentence)


def _is_to_the_user(sentence: str) -> bool:
    stops = _has(_CANNOT, sentence) and _has(r"\b(?:stop here|parar aqui)\b", sentence)
    return stops or _refuses(sentence) or any(_has(way, sentence) for way in _USER_TALK)


def _sentences(text: str) -> list[str]:
    """The sentences in lower case; none if the text has signs of a story."""
    if _STORY_SIGNS.search(text):
        return []
    return [part.strip().casefold() for part in _BREAK.split(text) if part.strip()]


def _plain(text: str) -> str:
    return text.strip().replace("’", "'").replace("**", "")


def may_become_refusal(beginning: str) -> bool:
    """Whether a text with this beginning may still turn out to be a refusal."""
    plain = _plain(beginning).rstrip("*")
    if len(plain) > LONGEST or not (sentences := _sentences(plain)):
        return not plain
    *whole, last = sentences
    return all(map(_is_to_the_user, whole)) and (bool(whole) or " " not in last or _has(_OPENS, last))


def is_refusal(text: str, *, spoken: bool = False) -> bool:
    """Whether the text only says that the model will not write.

    With `spoken` it is a character's reply, which must mention writing or a model's rules, since characters, too, may
    say that they cannot help.
    """
    plain = _plain(text)
    sentences = _sentences(plain) if len(plain) <= LONGEST else []
    refusing = [sentence for sentence in sentences if _refuses(sentence)]
    if not refusing or (spoken and not any(_has(_OF_A_TEXT, sentence) for sentence in refusing)):
        return False
    return all(map(_is_to_the_user, sentences))
