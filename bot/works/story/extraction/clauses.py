"""Finds what a text makes a character do, by the shape of its clauses: a beginning, the name, a finite verb.

There is no list of verbs: any word after a subject is its verb, except for function words and for what happens to a
character: what they see, hear and feel, how they are, what becomes of them. For English and Portuguese. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(r"[^\W\d_]++(?:['’\-][^\W\d_]++)*+|[,;:—–…()]")
_MARKS: Final = frozenset(",;:—–…()")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PREPOSITIONS: Final = _set(
    "of to in on at by for from with without between behind beside before after above "
    "below beneath under over near "
    "into onto upon through towards toward past around about against among amid across "
    "along despite during like than "
    "until till unless if whether inside outside off out up down save except since via "
    "de do da dos das em no na nos nas por pelo pela pelos pelas para pra com sem sob "
    "sobre entre até após ante contra "
    "perante desde ao aos à às atrás diante acima abaixo junto perto antes depois que se caso"
)
_BEGINNINGS: Final = _set(
    "and but then so while as when because though although yet now where once or nor whereupon meanwhile "
    "e mas então enquanto quando porque pois assim logo porém ou nem agora depois aí"
)
_FRONTED: Final = _set(
    "with at in on without after by from under out now then finally again soon here there "
    "suddenly today tonight "
    "com em no na sem sob após de por ao à agora então enfim logo depois aqui ali lá hoje devagar finalmente"
)
_SMALL: Final = (
    _PREPOSITIONS
    | _BEGINNINGS
    | _set(
        "the an this that these those my your his her its our their who whom whose which what "
        "he she it they we i you "
        "him them us me no any some every each all both half too as not very more most "
        "os as um uma uns umas este esta esse essa isso isto seu sua seus suas meu minha quem "
        "qual cujo ele ela eles "
        "elas nós vós todos todas ambos muito mais menos como onde "
        "can could may might must would should will shall ought cannot can't couldn't won't wouldn't "
        "pode podia poderia deve devia deveria vai ia iria"
    )
)
_BETWEEN: Final = _set(
    "then also still just only never even now again alone herself himself themselves "
    "itself yourself quickly simply "
    "already always often almost soon once not "
    "não já também ainda só nunca sempre logo então se lhe lhes me te o a os as mesma "
    "mesmo sozinha sozinho apenas quase"
)
_ADVERBIAL: Final = ("ly", "mente")
_BEING: Final = _set(
    "is was are were am be been being é era eram são está estava estão estavam foi foram fui isn't wasn't"
)
_HAVING: Final = _set("has had have having tem tinha têm tinham havia")
_DOING: Final = _set("does did do don't doesn't didn't")
_TAKEN_UP: Final = _set(
    "taken gone given held kept left lost made met put read run said sent set shut slept "
    "spoken stood stolen struck sworn "
    "thrown told torn won written hidden bitten broken chosen drawn driven eaten fallen "
    "forgiven frozen ridden risen "
    "shaken begun drunk sung swum cut hit let bought brought built caught dug fought "
    "found heard led laid aberto dito "
    "escrito feito posto visto"
)
_THINGS: Final = _set("nothing something anything everything king ring string")
_SUFFERED: Final = _set(
    "see sees saw seen seeing hear hears heard hearing feel feels felt feeling smell "
    "smells smelled smelt smelling taste "
    "tastes tasted sense senses sensed know knows knew known lose loses lost losing fall "
    "falls fell fallen falling slip slips "
    "slipped slipping stumble stumbles stumbled stumbling trip trips tripped sink sinks "
    "sank sunk sinking drown drowns "
    "drowned drowning faint faints fainted bleed bleeds bled bleeding shiver shivers "
    "shivered shivering tremble trembles "
    "trembled trembling sway sways swayed seem seems seemed appear appears appeared "
    "remain remains remained belong belongs "
    "belonged need needs needed weigh weighs suffer suffers suffered die dies died dying "
    "wake wakes woke woken receive "
    "receives received stands stood lay hang hangs hung hanging float floats floated floating been "
    "vê viu via vendo visto ouve ouviu ouvia ouvindo ouvido sente sentiu sentia sentindo "
    "sentido percebe percebeu sabe "
    "sabia cai caiu caía caindo caído escorrega escorregou escorregando tropeça tropeçou "
    "perde perdeu perdendo perdido "
    "parece parecia pareceu fica ficou ficava permanece continua continuava treme tremeu "
    "tremendo estremece desmaia "
    "desmaiou afunda afundou afundando sofre sofreu morre morreu morrendo acorda acordou "
    "recebe recebeu sido estado"
)
_REFLEXIVE: Final = _set("herself himself themselves itself yourself myself")
_DIRECTIONS: Final = _set(
    "at up down around over away back into out through for towards toward behind after past along from"
)
_DETERMINERS: Final = _set("the a an his her their its my your this that o os um uma as seu sua")


_REACH: Final = 24
"""How many words after a verb are looked at."""


class Deed(NamedTuple):
    """A verb, and the rest of its clause."""

    verb: str
    rest: tuple[str, ...]


def deeds(sentence: str, name: str) -> Iterator[Deed]:
    """The verbs of a sentence's clauses whose subject is `name`; quoted speech has been removed already."""
    tokens = _TOKEN.findall(sentence.replace("’", "'"))
    named = _TOKEN.findall(name.replace("’", "'"))
    if not named:
        return
    folded = [token.casefold() for token in tokens]
    first, size = named[0].casefold(), len(named)
    wanted = [part.casefold() for part in named]
    for at, token in enumerate(folded):
        is_subject = token == first and folded[at : at + size] == wanted and _begins(folded, at)
        if is_subject and (deed := _deed(tokens, folded, at + size)) is not None:
            yield deed


def may_be_verb(word: str) -> bool:
    """Whether a word next to somebody's name may say what they do."""
    folded = word.casefold()
    return folded not in _SMALL | _SUFFERED | _BETWEEN | _BEING | _HAVING and not _adverb(folded)


def _adverb(word: str) -> bool:
    return word.endswith(_ADVERBIAL) and len(word) > 4


def _begins(folded: Sequence[str], at: int) -> bool:
    """Whether the name at `at` may be the subject of a clause."""
    if at > 0 and folded[at - 1] in ("a", "o") and (at == 1 or folded[at - 2] in _MARKS | _BEGINNINGS):
        at -= 1  # "a Mira"
    if at == 0:
        return True
    before = folded[at - 1]
    if before in ("and", "e", "or", "ou"):
        governed = at > 2 and folded[at - 3] in _PREPOSITIONS
        return not governed and folded[0] not in ("between", "entre")
    if before in _MARKS or before in _BEGINNINGS:
        return True
    fronted = folded[0] in _FRONTED or _adverb(folded[0])
    short = at <= 7 and _MARKS.isdisjoint(folded[:at])
    return fronted and short and before not in _SMALL and before not in _DETERMINERS


def _skipped(folded: Sequence[str], at: int) -> int:
    """The position after adverbs and unstressed pronouns."""
    while at < len(folded) and (folded[at] in _BETWEEN or _adverb(folded[at])):
        at += 1
    return at


def _deed(tokens: Sequence[str], folded: Sequence[str], at: int) -> Deed | None:
    at = _skipped(folded, at)
    if at < len(folded) and folded[at] == ",":  # an apposition: "Mira, still wet, climbs out"
        close = next((n for n in range(at + 1, min(at + 14, len(folded))) if folded[n] == ","), None)
        if close is None:
            return None
        at = _skipped(folded, close + 1)
    elif at + 1 < len(folded) and folded[at] in ("and", "e") and tokens[at + 1][:1].isupper():
        at += 2
        while at < len(folded) and tokens[at][:1].isupper():
            at += 1
        at = _skipped(folded, at)
    if at >= len(folded) or folded[at] in _MARKS or tokens[at][:1].isupper():
        return None
    word, following = folded[at], _skipped(folded, at + 1)
    then = folded[following] if following < len(folded) else ""
    if word in _BEING:
        goes_on = then.endswith(("ing", "ndo")) and then not in _THINGS | _SUFFERED and len(then) > 4
        return _of(folded, following) if goes_on else None
    if word in _HAVING:
        done = then in _TAKEN_UP or (len(then) > 4 and then.endswith(("ed", "ado", "ido")))
        return _of(folded, following) if done and then not in _SUFFERED else None
    if word in _DOING:
        if not then or then in _MARKS | _SMALL | _SUFFERED:
            return None
        return _of(folded, following)
    if word in _SMALL:
        return None
    if _is_suffered(word, folded[at + 1] if at + 1 < len(folded) else ""):
        return _carried(folded, at + 1)
    return _of(folded, at)


def _is_suffered(word: str, then: str) -> bool:
    """Whether the verb says what happens to somebody, or how they are."""
    if word in ("look", "looks", "looked"):
        return bool(then) and then not in _DIRECTIONS | _MARKS and not _adverb(then)
    if word in ("find", "finds", "found", "encontra", "encontrou"):
        return then in _REFLEXIVE
    if word in ("lie", "lies"):
        return then not in ("to", "about")
    return word in _SUFFERED


def _carried(folded: Sequence[str], at: int) -> Deed | None:
    """A second verb of the same subject: "Mira hears the bell and grabs the rope"."""
    for n in range(at, min(at + _REACH, len(folded) - 1)):
        if folded[n] in ("and", "then", "e") and (place := _skipped(folded, n + 1)) < len(folded):
            word = folded[place]
            then = folded[place + 1] if place + 1 < len(folded) else ""
            if word in _SMALL | _SUFFERED | _MARKS:
                continue
            if (word.endswith("ed") and len(word) > 4) or (word.endswith("s") and then in _DETERMINERS):
                return _of(folded, place)
    return None


def _of(folded: Sequence[str], at: int) -> Deed:
    last = min(at + 1 + _REACH, len(folded))
    end = next((n for n in range(at + 1, last) if folded[n] in _MARKS), last)
    return Deed(folded[at], tuple(folded[at + 1 : end]))
