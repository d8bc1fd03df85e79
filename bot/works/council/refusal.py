"""Recognises a judge that declines to vote: anything like a ballot in its answer is then an example."""

from __future__ import annotations

import re

from bot.works.council.ballot_words import NOUNS

_NOT = (
    r"(?:(?:not|n['’]t|un)[ -]?(?:able|willing|prepared|going)(?: to)?|cannot|can['’]?t|won['’]?t|will not"
    r"|(?:must |have to )?(?:decline|refuse)(?: to)?|(?:would|['’]d) rather not|prefer not to"
    r"|não (?:posso|vou|consigo|quero)|recuso-me a|me recuso a|no (?:puedo|voy a|quiero)|me niego a"
    r"|(?:ne|n['’]) ?(?:peux|vais|veux) pas|refuse de|non (?:posso|voglio)|mi rifiuto di|не могу|не буду)"
)
_VOTE = (
    r"(?:rank|vote|judge|evaluate|order|compare|ordenar|classificar|avaliar|votar|clasificar|evaluar|classer|voter"
    r"|évaluer|classificare|votare|valutare|ранжировать|голосовать)"
)
_GIVE = r"(?:give|cast|submit|provide|produce|make|offer|dar|emitir|dare|fornecer|donner|rendre)"
_BALLOT = (
    r"(?:ranking|vote|ballot|judge?ments?|evaluation|voto|classificação|clasificación|classement|classifica)"
)
_THEM = (
    rf"(?:any|these|those|them|the|all|as|estas?|essas?|las?|los|ces|les|queste|le|эти)\b"
    rf"(?: (?:\w+ )?(?:{NOUNS}|of them))?"
    r"(?! (?:best|worst|first|last)\b)"
)
_REFUSAL = re.compile(
    rf"\b{_NOT} (?:{_VOTE}(?: {_THEM})?(?=\s*(?:$|[.,;:!—–]|because|since|as\b|on (?:this|such)|at all))"
    rf"|{_VOTE} {_THEM}(?=\s*(?:$|[.,;:!—–]|because|since|on (?:this|such)|at all|fairly|honestly|in good))"
    rf"|{_GIVE} (?:an?|any|my|the|um|uma|un|une|nenhum) {_BALLOT}\b)"
    rf"|\b(?:leave|leaving|left) (?:the|my|this) {_BALLOT} (?:empty|blank|out)\b"
    rf"|\b(?:not|no|never) (?:an?|my|any) (?:\w+ )?{_BALLOT}(?: of mine| from me)?(?=\s*(?:$|[.,;:!)—–]))"
    r"|\bI (?:must |have to |will |['’]ll )?abstain\b"
    r"|\b(?:me abstenho|me abstengo|m['’]abstiens|mi astengo|enthalte mich)\b"
    r"|\b(?:diese|die|alle) (?:\w+ )?antworten (?:\w+ )?nicht (?:\w+ )?(?:bewerten|ordnen|reihen|einordnen)\b"
    r"|\bkeine (?:rangliste|rangfolge|reihenfolge|stimme|wertung|bewertung) (?:abgeben|erstellen|vergeben|nennen)\b"
    r"|評価できません|順位(?:は|を)?(?:つけ|付け)(?:られ|でき)?ません"
    r"|无法(?:对\S{0,8})?(?:排名|排序|评判)|순위를 (?:매길|정할) 수 없",
    re.IGNORECASE,
)
"""Words that decline to vote on all responses, not just on a single one."""


def refuses(text: str) -> bool:
    """Whether a judge's own text, without its quotations and objects, says that it does not vote."""
    return _REFUSAL.search(text) is not None
