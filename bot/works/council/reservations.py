"""Recognises words around a list which say that it is somebody else's, a draft, or no vote at all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.works.council.judge_text import QUOTED

OTHER = re.compile(
    r"\b(?:other|another|previous|earlier|draft|initial|provisional|preliminary|example|vorläufig\w*"
    r"|provis\w+|anterior|alphabetical|lengths?|longest|shortest|words|errors?|mistakes?|harmful"
    r"|risk\w*|costs?|price|reverse\w*|invers\w*|umgekehrt\w*)\b",
    re.I,
)
"""Words in a header that make a ranking provisional."""
HEDGED = re.compile(
    r"\b(?:cannot|can['’]?t|can not|won['’]t|will not|not going to|declin\w+|disagree|abstain\w*|refus\w+|unfair"
    r"|would be|could|might|no ranking|not (?:a |my )?rank\w*"
    r"|not a vote|hypothetical\w*|placeholder|example|format|ranking like|não posso|no puedo"
    r"|ne peux pas|kann nicht|weigere|enthalte|non posso"
    r"|kan niet|nie mogę|не могу|воздерж\w+)\b|できません|无法|不能|할 수 없",
    re.IGNORECASE,
)
"""Words around a list that is not the judge's vote."""
ABOUT_ONE = re.compile(r"⟦[A-Z]⟧ (?:could|might|would be)\b")
"""A remark on how one response could be better, which does not make the list hypothetical."""
REVISED = re.compile(
    r"\b(?:wait|hold on|on (?:second thoughts?|reflection)|reconsider\w*|scratch that|correct(?:ion"
    r"| myself)|swap(?:ping)?"
    r"|switch(?:ing)?|I(?:['’]ve| have)? (?:now )?(?:swapped|switched)"
    r"|pensando (?:melhor|bem)|troco|inverto|j['’]inverse|en relisant|réflexion faite"
    r"|korrigiere|tausche|doch lieber"
    r"|pensándolo (?:mejor|bien)|intercambi\w*|corrijo|ripensandoci|scambio|bij nader inzien|wissel"
    r"|po namyśle|zamieniam"
    r"|поразмыслив|подумав|меняю|düşününce|değiştir\w*)\b|다시 생각|바꾸|訂正|修正|考え直|重新考虑|更正|पुनर्विचार",
    re.IGNORECASE,
)
"""Words of a judge that changes its mind."""
PENALTY = re.compile(
    r"penalt|(?:^|[\s:(])[-−]\d|\b(?:los(?:es|t)|deduct\w*|minus)\b|\b(?:fewer|lower|less|smaller"
    r"|fewest|lowest|menos|menor|moins|weniger|niedriger|kleiner|meno|minder|lager|mniej|niż"
    r"|меньше|ниже|düşük|az)\b[^.\n]{0,30}\b(?:better|best|wins|melhor|mejor|mieux|meilleur|besser"
    r"|meglio|migliore|beter|lepi?ej"
    r"|lepszy|лучше|iyi)|\b(?:errors|mistakes|faults|fehler|erros|errores)\b[^\n]{0,12}:\s*\d"
    r"|schulnote|\bnoten?\b[\s:=]*[1-6]\b(?!\s*/)",
    re.IGNORECASE,
)
"""Words that say that smaller figures are better, or that figures count faults."""
_DISOWNED = re.compile(
    r"\b(?:this|that|the (?:above|table|list|block|ranking|json|text))\b[^.\n]{0,20}\b(?:is|was|comes?|came"
    r"|appears?|stood) "
    r"(?:\w+ )?(?:from|by|in|copied|taken|quoted|part of|what) \W*(?:response|answer|it)\b"
    r"|\b(?:this|that) (?:is|was) (?:its|their|the (?:text|end|ending) of)\b|\bwas the end of\b|\b(?:isso|isto"
    r"|esto|das|ceci) (?:é|es|steht|est) (?:de|da|en|in|na) \W*(?:resposta"
    r"|respuesta|antwort|réponse)",
    re.IGNORECASE,
)
"""Words of a judge after something that it copied."""


NO_JSON = re.compile(
    r"\b(?:cannot|can['’]?t|can not|won['’]t|will not|não (?:posso|consigo)|no (?:puedo|consigo)|n['’]arrive pas"
    r"|ne (?:peux|sais) pas|kann|non (?:posso|riesco))\b[^.;:\n]{0,40}\b(?:JSON|XML|YAML)\b"
    r"|(?:JSON|XML|YAML)[^。；\n]{0,12}(?:できません|できない)|(?:无法|不能)[^。；\n]{0,12}(?:JSON|XML|YAML)",
    re.IGNORECASE,
)
"""Words of a judge that cannot use the requested form, and votes in another one."""
_TAKEN = re.compile(
    r"\b(?:los(?:es?|t|ing)|minus|deduct\w*|docked|takes? off|taken off)\b[^.\n]{0,16}?\b(?:stars?|points?|marks?)\b",
    re.IGNORECASE,
)
"""Reasons why a response lacks points."""


def counts_faults(text: str, *, scores: bool) -> bool:
    """Whether figures are penalties. `scores`: they can only be scores, such as stars or points out of ten."""
    return PENALTY.search(_TAKEN.sub("", text) if scores else text) is not None


def hedged(text: str) -> bool:
    """Whether a judge says that its text is not its vote; saying that it cannot write JSON does not count."""
    return HEDGED.search(NO_JSON.sub("", text)) is not None


def disowned(lines: Sequence[str], end: int) -> bool:
    """Whether the judge says after its text that it copied the text, rather than a later quotation."""
    later = list(lines[end + 1 :])
    own_lines = later[: later.index(QUOTED)] if QUOTED in later else later
    return _DISOWNED.search("\n".join(own_lines)) is not None
