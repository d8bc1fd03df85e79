"""Reads the order that a judge states in sentences: which response is best, second or last, or better than or equal to
another.

All statements must fit one order of all responses. Sentences that report, doubt, depend on a condition or are about one
criterion do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product

from bot.works.council.ballot_words import BESTS, LASTS, ORDINALS, RANKS, WORSTS
from bot.works.council.final_ranking import inside_quotes, is_introduced
from bot.works.council.judge_text import QUOTED, SAYS
from bot.works.council.mentions import marked
from bot.works.council.places import Groups, ordinal
from bot.works.council.reservations import HEDGED, OTHER, REVISED
from bot.works.council.rotation import labels

_NAME = r"⟦(?P<{}>[A-Z])⟧"
_ONE, _TWO = _NAME.format("one"), _NAME.format("two")
_VERB = (
    r"is|was|comes?|came|takes?|ranks?|finishes|gets|deserves|wins?|é|foi|fica|vem|leva|es|queda|va|viene|est|vient"
    r"|sería|pondría|pongo|coloco|colocaría|dejo|seria|colocaria|deixo|serait|mettrais|wäre|sarebbe|metterei"
    r"|arrive|prend|ist|kommt|belegt|landet|è|resta|arriva|komt|staat|jest|zajmuje|—|goes|lands|ends up|vai|cabe"
    r"|pertence|corresponde|revient|geht|gebührt|spetta"
)
_ADVERBS = r"(?:\w+ly|in|on|at|em|no|na|en|au|à|auf|op|an|am|al|a|o|os|as|the|le|la|el|il|lo|der|die|das|de|het|um|un|ein|my|by a wide margin|by|far|much|still|also|for me)"  # noqa: E501
_NTH = (
    rf"(?:{ORDINALS}|[1-9](?:st|nd|rd|th|[ºª°])(?=[ ](?:{RANKS}|goes|is)\b|[.,;]|$))"
    rf"(?:[ ](?:and|e|y|et|und)[ ](?:{LASTS}))?"
)
_PLACE = rf"(?P<place>runner-?up|{LASTS}|(?:{BESTS})\w*|(?:{WORSTS})\w*|{_NTH})"
_OF_WHAT = (
    rf"(?:[ ](?:{RANKS}|spot|prize|honou?rs|answer|response|one|overall|by far|by a mile|disparad[oa]|de longe"
    rf"|con diferencia|de loin|mit abstand|di gran lunga|here|resposta|respuesta|réponse"
    rf"|antwort|risposta|antwoord"
    rf"|de todas"
    rf"|de tod[oa]s|of (?:all|them|these|those)|of (?:all |the |these )*(?:two|three|four|five|six|seven|eight"
    rf"|lot|bunch|set)"
    rf"|by (?:a|some)[\w ]{{0,16}}? (?:margin|distance|way)|d[aeo]s? \w+)){{0,4}}"
)
_END = (
    r"[ ]*(?=$|[.,;:!?)(—–-]|\b(?:because|since|as|due|mainly|and|while|but|e|y|et|und|en|porque"
    r"|weil|car|perché)\b)"
)
_AFTER = re.compile(
    rf"{_ONE}[ ,]*(?:(?:{_VERB})[ ])?(?:{_ADVERBS}[ ]){{0,6}}{_PLACE}{_OF_WHAT}{_END}", re.IGNORECASE
)
_BEFORE = re.compile(
    rf"(?:^|(?<=[ ,;:—(]))(?:{_ADVERBS}[ ]){{0,6}}{_PLACE}{_OF_WHAT}[ ]*(?::|=|—|,|\b(?:{_VERB}"
    rf"|I (?:would )?put|para|für))?"
    rf"[ ]*(?:(?:{_ADVERBS}|to|para|für|would be|com|con|d[aeo]|pour|per)[ ]){{0,6}}{_ONE}",
    re.IGNORECASE,
)
_BETTER = re.compile(
    rf"{_ONE} (?:(?:is|was|é|es|est|ist|è|comes)[ ])?(?:{_ADVERBS}[ ]){{0,6}}(?:better than|stronger than|superior to"
    rf"|ahead of|above"
    r"|preferable to|beats|outperforms|outranks|edges out|surpasses|melhor (?:do )?que|superior a|mejor que"
    r"|meilleure? que"
    rf"|besser als|migliore d[ei]|beter dan|лучше|over|>)[ ]*(?:{_ADVERBS}[ ]){{0,6}}{_TWO}",
    re.IGNORECASE,
)
_PREFERRED = re.compile(
    rf"\b(?:prefer|prefiro|prefiero|préfère|bevorzuge|preferisco)[ ]{_ONE}[^.;]{{0,60}}?"
    rf"\b(?:to|over|a|à|al?|vor|gegenüber)[ ]{_TWO}",
    re.IGNORECASE,
)
_WORSE = re.compile(
    rf"{_ONE} (?:(?:is|was|é|es|est|ist|è|comes)[ ])?(?:{_ADVERBS}[ ]){{0,6}}(?:worse than|weaker than|inferior to"
    rf"|behind|below"
    r"|pior (?:do )?que|peor que|moins bonne? que|schlechter als|peggiore d[ei]|slechter dan|хуже|loses to)"
    rf"[ ]*(?:{_ADVERBS}[ ]){{0,6}}{_TWO}",
    re.IGNORECASE,
)
_EQUAL = re.compile(
    rf"(?:no|nenhuma|ninguna|aucune|keinen?|nessuna)[ ](?:\w+[ ]){{0,2}}(?:difference|gap|diferença|diferencia"
    rf"|différence"
    rf"|unterschied|differenza)[ ](?:\w+[ ])?{_ONE}[ ](?:and|e|y|et|und)[ ]{_TWO}"
    rf"|(?:between|entre|zwischen|tra)[ ]{_NAME.format('three')}[ ](?:and|e|y|et|und)[ ]{_NAME.format('four')}[ ,]"
    rf"[^.;]{{0,20}}\b(?:no|nenhuma|ninguna|aucune|keinen?|nessuna)[ ](?:\w+[ ]){{0,2}}(?:difference|diferença"
    rf"|diferencia"
    rf"|différence|unterschied|differenza)"
    rf"|{_NAME.format('five')}[ ](?:and|e|y|et|und)[ ]{_NAME.format('six')}[ ](?:(?:are|is|são|son|sont|sind"
    rf"|sono)[ ])?"
    rf"(?:equally|equal|tied|tie|on a par|even|empatam|empatad\w+|empatan|igual\w*|gleich\w*|à égalité|ex aequo"
    rf"|share)",
    re.IGNORECASE,
)
_OUT = re.compile(
    rf"{_ONE} (?:is|was|gets|goes|drops)[ ](?:\w+ )?(?:eliminated|knocked out|voted off|sent home|home|out)"
    r"(?=\s*(?:$|[.,;!]))",
    re.IGNORECASE,
)
"""Words for the weakest of the remaining responses."""
_DUEL = re.compile(
    rf"^[\s-]*{_ONE}\s*(?:vs?\.?|versus|x|contra|gegen|contre|/|–|×)\s*{_TWO}\s*(?::|→|=+>|—|-+>)\s*⟦(?P<wins>[A-Z])⟧"
    r"(?=\s*(?:$|[.,;:(—–-]|is better|wins|is stronger|vence|gana|gewinnt|besser|melhor|mejor|meilleure|by\b))",
    re.IGNORECASE,
)
REPORTED = re.compile(
    r"\b(?:according|injected|forged|fake|proposed|attacker\w*|hostile|puts? it|own words|claim\w*|ask\w*"
    r"|wants?|demand\w*|tells?|told|insist\w*|instruct\w*"
    r"|urge\w*|allege\w*|call\w*"
    r"|suppos\w*|itself|themsel\w*|pretend\w*|afirma|pede|pide|demande|behauptet|fordert|verlangt|si mesma|sí misma"
    r"|утверждает|просит|elle-même|sich selbst)\b",
    re.IGNORECASE,
)
_READ = re.compile(
    r"\b(?:I|we) (?:read|saw|opened|got|received|looked)\b|appearance|alphabetical", re.IGNORECASE
)
"""Words for an order that is not one of merit."""
_CONDITION = re.compile(
    r"\b(?:if|unless|when|whether|for (?:a |an |the )?\w*(?:beginner|expert|reader|child|user|style|tone)\w*"
    r"|in terms of"
    r"|regarding|concerning|stylistic\w*|style|accuracy|clarity|tone|length|depth|at first|first (?:glance"
    r"|reading|impression)"
    r"|initially|next|from the bottom|almost|nearly|perhaps|maybe|probably|arguably|was it not|were it not"
    r"|se(?! (?:basa|limita|queda|centra|equivoca|olvida|entiende|pide|pregunta)\b)|si|falls|wenn|quando|cuando|estilo"
    r"|если|talvez|quizás?|peut-être|vielleicht|second thoughts)\b"
    r"|\b(?:mejor|melhor|meilleure?|migliore|beste)\b[^.;\n]{0,30}\b(?:sería|seria|serait|wäre|sarebbe)\b"
    r"|\b(?:sería|seria|serait|wäre|sarebbe)\b[^.;\n]{0,30}\b(?:mejor|melhor|meilleure?|migliore|beste)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|n['’]t|neither|nor|não|no es|nicht|ne|pas|не)\b", re.IGNORECASE)
_LETTER = re.compile(
    r"(?<![\w'’⟦])(?P<letter>[A-L])(?![\w'’⟧])(?=\s*(?:[.,;:()=>/×—–]|-+>|$)|\s+(?:vs?\.?|versus|x|contra|gegen"
    r"|contre|is|are|was|wins?"
    rf"|comes?|vem|fica|viene|vient|kommt|fall|sit|tie|takes|beats|follows|over|above|to|and|e|y|et|und|{LASTS}|{ORDINALS})(?!\w))"
)
_MOST_LINES = 500
"""The maximum number of lines in a text that is read: each line costs a look at those around it."""
_REST_EQUAL = re.compile(
    r"\b(?:other|others|rest|remaining)\b[^.;⟦]{0,80}(?:\bno(?: real)?|n['’]t \w+ any|\bnot \w+ any)"
    r" (?:reason to (?:separate|distinguish|split|rank)|difference between)(?: between)?"
    r"(?: them| the (?:two|others|rest))?"
    r" *[.!]?$"
    r"|(?:\bno|\bnot|n['’]t)(?: (?:got|have|hold))?(?: an?| any)? (?:view|opinion|preference)\b[^.;⟦]{0,40}"
    r"\b(?:others?|rest|remaining)\b[^.;⟦]{0,40}[.!]?$",
    re.IGNORECASE,
)
"""Words which say that responses without a place share the last one."""
_REST_LEVEL = re.compile(
    r"\b(?:others?|rest|remaining)\b[^.;⟦]{0,40}\b(?:equal|equally(?: good)?|tied|level|on a par|indistinguishable)"
    r" *[.!]?$",
    re.IGNORECASE,
)
_NONE_AHEAD = re.compile(
    r"\b(?:cannot|can['’]?t|will not|won['’]t|would not|do not|don['’]t)\b[^.;⟦]{0,30}\b(?:put|place|rank|prefer|set)"
    r" (?:any|one)(?: one)?(?: of (?:these|them|the|those)(?: \w+)?)? (?:ahead of|above|over|before|to)"
    r" (?:another|any other|the others?|the rest) *[.!]?$",
    re.IGNORECASE,
)
"""A refusal to put any response ahead of the others, which makes them equal."""
_OF_ONE = re.compile(
    r"^(?:It|This|That)(?: one| answer| response)?(?= (?:is|was|comes|ranks|takes|lands|ends up)\b)"
)
_THE_REST = re.compile(
    r"\b(?:other|remaining)(?= (?:two|three|four|five|ones|answers|responses)\b)", re.IGNORECASE
)
_REASON = re.compile(
    r"(?<=[⟧\w])(?::(?= )|[,;] (?:which|who|whose|que|qui|die|der|das|che|although|though|even though)\b)"
    r"(?!\W*(?:for|at least|but|not|no|para|pour|für)\b"
    r"|.*\b(?:if|unless|when|only|solo|só|nur|se|si|wenn|falls|quando)\b).*$",
    re.IGNORECASE,
)
"""Reasons for a response's place, which are not conditions."""
_FIRST = rf"(?:{ORDINALS}|1\.?(?:st|[ºª°oa]|er|[eè]?re)?)"
_SHARE = (
    rf"(?:share|tie for|are tied for)(?: the)? {_FIRST}\b"
    r"|(?:compart\w+|divid\w+|condivid\w+|partag\w+|teilen sich|teilen|empat\w+)"
    r"(?: (?:em|en|a|no|na|o|el|la|il|le|den|am|in))*"
    rf" {_FIRST}\b"
    r"|(?:sind|são|son|sont|sono)(?: (?:alle|todas|todos|toutes|tous|tutte|völlig|genau))*"
    r" (?:gleich gut|gleichwertig|gleichauf|iguais|equivalentes|iguales"
    r"|égales|équivalentes|à égalité|equivalenti|uguali|alla pari)\b"
)
"""What several equal responses do."""
_SERIES = r"(?P<all>⟦[A-Z]⟧(?:(?:, | and |, and | e | y | et | und )⟦[A-Z]⟧){1,8})"
_LEVEL = re.compile(
    rf"{_SERIES} (?:(?:are|rank|come out)(?: all| both)?(?: exactly)? "
    r"(?:equal|equally good|tied|level|on a par|indistinguishable)\b"
    rf"|(?:(?:all|both|todas|todos|tous|toutes|alle|tutte|tutti|se|sich|os|as|las|los|si) )?(?:{_SHARE}))",
    re.IGNORECASE,
)
_SAME = re.compile(rf"{_SERIES} (?:are|say|give)\b", re.IGNORECASE)
_THEM_LEVEL = re.compile(
    r"^I (?:would )?(?:rank|rate|put|place|call|consider|judge) "
    r"(?:them|these|all (?:two|three|four|five)(?: of them)?)(?: all)?"
    r"(?: as)? (?:equal|equally|level|tied|on a par)[^⟦]{0,40}$",
    re.IGNORECASE,
)
"""Words right after a sentence about several responses, which say that they are equal."""
_SENTENCE_CHARS = 2_000
"""The maximum length of a sentence that may state something."""
_NOT_STATEMENTS = (SAYS, REPORTED, _CONDITION, _READ, HEDGED, OTHER)
_ASIDE = re.compile(
    r",\s(?:sin (?:ninguna )?duda|a mi juicio|para mí|sem dúvida|para mim|sans (?:aucun )?doute|à mon avis|pour moi"
    r"|ohne zweifel|meiner meinung nach|für mich|senza dubbio|per me|zonder twijfel|without (?:a )?doubt|for me"
    r"|in my (?:view|opinion)|clearly|of course|(?:who|which|que|qui|che)\s[^,.;:⟦]{1,80}),(?=\s)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.;!?])\s+")


@dataclass(slots=True)
class _Facts:
    """What the sentences state: `places` by letter; in `above` (better, worse); `equal` pairs; `out`, worst first."""

    places: dict[str, int] = field(default_factory=dict)
    above: set[tuple[str, str]] = field(default_factory=set)
    equal: set[tuple[str, str]] = field(default_factory=set)
    out: list[str] = field(default_factory=list)
    contradictory: bool = False
    rest_equal: bool = False

    def set_place(self, letter: str, place: int) -> None:
        self.contradictory = self.contradictory or self.places.setdefault(letter, place) != place


def stated_order(lines: Sequence[str], n: int) -> Groups:
    """The order of all `n` letters that the sentences state; [] if they are incomplete or contradictory."""
    letters = labels(n)
    facts = _Facts()
    if len(lines) > _MOST_LINES or REVISED.search("\n".join(lines)):
        return []
    before = ""
    for sentence in _sentences(lines):
        series = _LEVEL.search(sentence) or (_SAME.search(before) if _THEM_LEVEL.search(sentence) else None)
        before = sentence
        if len(sentence) > _SENTENCE_CHARS:
            return []
        sentence = _without_reason(sentence)
        facts.rest_equal = facts.rest_equal or _NONE_AHEAD.search(sentence) is not None
        if not any(pattern.search(sentence) for pattern in _NOT_STATEMENTS if pattern is not OTHER):
            rest_is_level = _REST_LEVEL.search(sentence) and not _NEGATED.search(sentence)
            facts.rest_equal = facts.rest_equal or bool(rest_is_level or _REST_EQUAL.search(sentence))
        if not any(pattern.search(sentence) for pattern in _NOT_STATEMENTS):
            if not _NEGATED.search(sentence):
                _add_facts(facts, sentence, n)
                facts.equal |= set(pairwise(re.findall("[A-Z]", series["all"]))) if series else set()
        elif any(
            pattern.search(sentence) for pattern in (_AFTER, _BEFORE, _BETTER, _PREFERRED, _EQUAL)
        ) or _READ.search(sentence):
            return []
    if n - 2 <= len(facts.out) < n and facts.out:
        for at, letter in enumerate(facts.out):
            facts.set_place(letter, n - at)
    if facts.contradictory or not {
        *facts.places,
        *(letter for pair in facts.above for letter in pair),
    } <= set(letters):
        return []
    unplaced = [letter for letter in letters if letter not in facts.places]
    if facts.rest_equal and len(facts.places) == 1 and not facts.above:
        facts.equal |= set(pairwise(unplaced))
    free_places = set(range(1, n + 1)) - set(facts.places.values())
    if len(unplaced) == len(free_places) == 1:
        facts.places[unplaced[0]] = free_places.pop()
    return _ordered(letters, facts)


def stated_places(lines: Sequence[str], n: int) -> dict[str, int]:
    """The places that sentences give to single responses; {} if the judge is unsure, or contradicts itself."""
    facts = _Facts()
    for sentence in _sentences(lines) if len(lines) <= _MOST_LINES else ():
        if len(sentence) > _SENTENCE_CHARS or _NEGATED.search(sentence):
            continue
        sentence = _without_reason(sentence)
        if not any(pattern.search(sentence) for pattern in _NOT_STATEMENTS):
            _add_facts(facts, sentence, n)
    return {} if facts.contradictory else facts.places


def _sentences(lines: Sequence[str]) -> Iterator[str]:
    """The judge's sentences about responses, which are written as ⟦C⟧: without text in quotation marks, and without
    text introduced as a response's, up to the next empty line.
    """
    introduced = False
    for at, line in enumerate(lines):
        hedged = line.rstrip().endswith(":") and HEDGED.search(line)
        introduced = bool(hedged or (introduced and line.strip()))
        if line == QUOTED or line.count("|") > 1 or not re.search("[A-Z]", line):
            continue
        text = marked(line)
        for quotation in (r"\"[^\"]*(?:\"|\Z)", r"“[^”]*(?:”|\Z)", r"«[^»]*(?:»|\Z)"):
            text = re.sub(quotation, _quotation_removed, text)
        text = _LETTER.sub(r"⟦\g<letter>⟧", text)
        introduced = introduced or ("⟦" in text and is_introduced(lines, at))
        if "⟦" not in text or introduced or inside_quotes(lines, at, at):
            continue
        subject = ""
        for sentence in _SENTENCE.split(text):
            names = set(re.findall("⟦[A-Z]⟧", sentence))
            if names or REPORTED.search(sentence):
                subject = names.pop() if len(names) == 1 and not REPORTED.search(sentence) else ""
            elif subject:
                sentence = _OF_ONE.sub(subject, sentence)
            yield " ".join(_THE_REST.sub("rest of", _ASIDE.sub(" ", sentence)).split())


def _without_reason(sentence: str) -> str:
    """The sentence "In second place comes ⟦C⟧, which lacks an exercise" without the explanation of the place."""
    statement = _REASON.sub("", sentence)
    if any(pattern.search(sentence, len(statement)) for pattern in (SAYS, REPORTED, HEDGED)):
        return sentence
    match = _AFTER.search(statement) or _BEFORE.search(statement)
    nth = match and not re.match(rf"{BESTS}|{WORSTS}", match["place"], re.IGNORECASE)
    return statement if nth and statement.count("⟦") == 1 else sentence


def _quotation_removed(quotation: re.Match[str]) -> str:
    """ " … " for a closed quotation; an unclosed one is returned unchanged."""
    return " … " if quotation[0][-1] in '"”»' and len(quotation[0]) > 1 else quotation[0]


def _add_facts(facts: _Facts, sentence: str, n: int) -> None:
    """Add what a sentence says of places, comparisons, duels, eliminations and ties."""
    for pattern in (_AFTER, _BEFORE):
        for clause in re.split(r",? (?:and|while|but|e|y|et|und|aber)\b|[,;] ", sentence):
            if len(re.findall("⟦", clause)) == 1 and (match := pattern.search(clause)):
                facts.set_place(match["one"].upper(), _place(match["place"], n))
    for match in (*_BETTER.finditer(sentence), *_PREFERRED.finditer(sentence)):
        facts.above.add((match["one"], match["two"]))
    facts.above.update((match["two"], match["one"]) for match in _WORSE.finditer(sentence))
    if (duel := _DUEL.match(sentence)) and duel["wins"] in (pair := (duel["one"], duel["two"])):
        facts.above.add(pair if duel["wins"] == pair[0] else pair[::-1])
    facts.out += [match["one"] for match in _OUT.finditer(sentence)]
    for match in _EQUAL.finditer(sentence):
        first, second = filter(None, match.groups())
        facts.equal.add((first, second))


def _place(words: str, n: int) -> int:
    """The place that words such as "second" or "the weakest" mean among `n` responses."""
    if re.match(r"runner", words, re.IGNORECASE):
        return 2
    words = re.split(r" (?:and|e|y|et|und) ", words)[0]
    if figure := re.match(r"\d", words):
        return int(figure[0])
    if place := ordinal(words):
        return place
    return n if re.match(rf"{LASTS}|{WORSTS}", words, re.IGNORECASE) else 1


def _ordered(letters: Sequence[str], facts: _Facts) -> Groups:
    """The only order that fits the facts; [] if there are several or none."""
    same = {letter: {letter} for letter in letters}
    for first, second in facts.equal:
        both = same[first] | same[second]
        same |= dict.fromkeys(both, both)
    above = set(facts.above)
    for first, place in facts.places.items():
        others = set(letters) - same[first]
        above |= {(first, second) for second in others if place == 1 or facts.places.get(second, 0) > place}
        above |= {(second, first) for second in others if place == len(letters)}
    above = {pair for first, second in above for pair in product(same[first], same[second])}
    for between, first, second in product(letters, repeat=3):
        if (first, between) in above and (between, second) in above:
            above.add((first, second))
    for first, second in combinations(letters, 2):
        relations = ((first, second) in above) + ((second, first) in above) + (second in same[first])
        if relations != 1:
            return []
    groups = {tuple(sorted(same[letter])) for letter in letters}
    order = sorted(groups, key=lambda group: -sum(first == group[0] for first, _ in above))
    return [list(group) for group in order] if len(order) > 1 else []
