"""Dice inside a player's turn: finds where they are asked for, rolls them, and formats results for people and the
writer.

Dice are in brackets, or at the beginning or the end of a line after a word such as "roll" or "check", in English or
Portuguese; anything else is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.events import UserError
from bot.works.story.sheet.checks import Check, Checks, Results

if TYPE_CHECKING:
    from bot.words import Words

MOST_ROLLS = 10
"""The maximum number of rolls in one turn."""
EXPRESSION_CHARS = 200
"""The maximum length of an expression; longer ones are refused before they are parsed."""
MOST_DICE = 100
"""The maximum number of dice in one expression, including exploded and repeated ones, since each is shown."""

NOBODY = Checks()
"""Checks for a character without a sheet."""

_SIGNS = str.maketrans({"−": "-", "×": "*"})

# These patterns never backtrack (*+), so that no text is read more than once or twice.
_DIE = r"[0-9]*+d(?:[0-9]++|%)(?:(?:rr|ro|ra|mi|ma|[ekp])[hl<>]?[0-9]++)*+"
_NUMBER = r"[0-9]++(?:\.[0-9]++)?+"
_FLAT = rf"(?:[-+−]\s*+)?(?:{_DIE}|{_NUMBER})(?:\s*+(?://|[-+−×*/])\s*+(?:{_DIE}|{_NUMBER}))*+"
"""What d20 reads, without parentheses: in a sentence, parentheses belong to the sentence."""
_ANY = rf"(?:\s*+(?:{_DIE}|{_NUMBER}|//|[<>=!]=|[-+−×*/%(),<>]|[kp][hl<>]?[0-9]++))++"
_ROLL = r"/?(?:roll|rola|rolo|role|rolar|damage|dano)\b:?(?:\s+(?:an?|um))?+"
_WORD = r"[^\W\d_][^\W_]*+(?:['’.-][^\W_]++)*+"
_CHECK = (
    rf"/?(?:check|teste)\b:?(?:\s+(?:for|de|da|do)\b)?\s+(?P<name>{_WORD}(?:\s+{_WORD}){{0,4}}?)"
    rf"(?P<modifier>(?:\s*+[-+−]\s*+(?:{_DIE}|[0-9]++))*+)\s*+,?\s*+(?:dc|cd)\s*+:?\s*+(?P<dc>[0-9]{{1,3}})"
)
_KNOWN = re.compile(
    rf"(?<![\w/])/?(?:(?P<save>sav(?:e|ing\s+throw)|salvaguarda|(?:teste\s+de\s+)?resist[eê]ncia)|check|teste)\b:?"
    rf"(?:\s+(?:for|of|de|da|do)\b)?\s+(?P<words>{_WORD}(?:\s+{_WORD}){{0,4}}+)",
    re.IGNORECASE,
)
"""A check whose name may be on a sheet."""
_ADVANTAGE = (
    r"(?:\s*+,?\s*+(?:(?:with|at|com)\s++)?"
    r"(?:(?P<higher>adv(?:antage)?|vant(?:agem)?)|(?P<lower>dis(?:adv(?:antage)?)?|desv(?:antagem)?))\b)?"
)
_END = r"(?![\w%]|\.[0-9])"

_TAIL = re.compile(
    rf"(?P<modifier>(?:\s*+[-+−]\s*+(?:{_DIE}|[0-9]++))*+)(?:\s*+,?\s*+(?:dc|cd)\s*+:?\s*+(?P<dc>[0-9]{{1,3}}))?"
    rf"{_ADVANTAGE}{_END}",
    re.IGNORECASE,
)
"""What may follow the name of such a check."""
_ADDED = re.compile(
    rf"(?P<dice>{_DIE}(?:\s*+[-+−]\s*+[0-9]++)*+\s*+)(?P<sign>[-+−])\s*+(?P<name>{_WORD})", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?…,;:—–\0-]\s*$")
_BRACKETS = re.compile(r"\[\[([^\[\]\n]*+)\]\]|\[([^\[\]\n]*+)\](?![(\[])|\(([^()\n]*+)\)")
_IN_SQUARE = re.compile(rf"\s*+(?:{_CHECK}|(?:{_ROLL}\s+)?(?P<dice>{_ANY})){_ADVANTAGE}\s*+", re.IGNORECASE)
_IN_ROUND = re.compile(rf"\s*+(?:{_CHECK}|{_ROLL}\s+(?P<dice>{_FLAT})){_ADVANTAGE}\s*+", re.IGNORECASE)
_IN_LINE = re.compile(rf"(?<![\w/])(?:{_CHECK}|{_ROLL}\s+(?P<dice>{_FLAT})){_ADVANTAGE}{_END}", re.IGNORECASE)
_ALONE = re.compile(rf"(?P<dice>{_FLAT}){_ADVANTAGE}{_END}", re.IGNORECASE)
_MEANT = re.compile(r"[-+(\s]*+[0-9]*+d[0-9%]", re.IGNORECASE)
_HAS_DIE = re.compile(r"d[0-9%]", re.IGNORECASE)
_OPENING = re.compile(r"[\s>*_`~\"'“”«]*+(?:[-—–]\s+)?+(?:(?:I|eu)\s++)?+", re.IGNORECASE)
_CLOSING = re.compile(r"[\s*_`~\"'“”»).!…;,]*+")
_QUESTION = re.compile(r"[\s*_`~\"'”»)]*+\?")
_GOES_ON = re.compile(
    r"\s*+(?:[.,;:!…)—–-]|(?:to|for|as|while|before|when|and|then|against|with|if|because|so"
    r"|para|pra|por|enquanto|antes|quando|e|então|contra|com|se|porque|ao)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DiceRequest:
    """Dice that a turn asks for.

    `expression` is in d20's notation, without blanks; `advantage` is 1 for the higher of two rolls, -1 for the lower.
    For a check, `check` is the name of what is tried, and `dc` the number to reach, or with `under` the number not to
    exceed. `results` are the outcomes of a check without `dc` (`Check.results`).
    """

    expression: str
    advantage: int = 0
    check: str = ""
    dc: int | None = None
    under: bool = False
    results: Results = ()


@dataclass(frozen=True, slots=True)
class Roll:
    """The result of a roll: `expression` is what was rolled, including advantage; `shown` lists each die in Markdown.

    `natural` is 20 or 1 if the d20 that counts shows that, otherwise 0; the total alone decides whether a check
    succeeds.
    """

    expression: str
    shown: str
    total: int
    natural: int = 0
    check: str = ""
    dc: int | None = None
    under: bool = False
    results: Results = ()

    @property
    def margin(self) -> int | None:
        """The margin of a check against its DC: positive for a success, negative for a failure; None without a DC."""
        if self.dc is None:
            return None
        return self.dc - self.total if self.under else self.total - self.dc

    @property
    def success(self) -> bool | None:
        """Whether the check succeeds; None without a DC. A natural 20 fails where the dice must stay under a number."""
        return None if self.margin is None else self.margin >= 0 and not (self.under and self.natural == 20)

    def result(self, locale: str) -> str:
        """The name of the total's outcome by `results`; "" for none."""
        if self.dc is not None or not self.results:
            return ""
        names = (names[locale] for least, names in self.results if self.total >= least)
        return next(names, "") or self.results[-1][1][locale]


def find(text: str, sheets: Checks = NOBODY) -> list[DiceRequest]:
    """The dice that a turn asks for, in its order; `roll_dice` decides whether they can be rolled.

    - Anywhere: `[2d6+3]`, `[[2d6+3]]` and `(roll 2d6+3 adv)`.
    - At the beginning or the end of a line: `roll 2d6+3` and `check Stealth +4 dc 15 adv`, with `rola`, `teste`, `cd`
      and `vantagem` in Portuguese.
    - A line that consists of dice alone. A question ("roll 2d6?") is not rolled.

    For a check on the character's sheet, the dice and the modifier come from the sheet, a typed modifier is added, and
    the DC may be missing: `check Athletics`, `save Dex dc 15`. Other dice may name a modifier of the sheet: `roll
    1d8+str`. Raises UserError for more than MOST_ROLLS.
    """
    rolls: list[DiceRequest] = []
    for line in text.splitlines():
        rolls += (roll for _, roll in sorted(_find_in_line(line, sheets), key=lambda placed: placed[0]))
        if len(rolls) > MOST_ROLLS:
            raise _error("many", limit=MOST_ROLLS)
    return rolls


def _find_in_line(line: str, sheets: Checks) -> list[tuple[int, DiceRequest]]:
    """The dice of one line, each with its position; those in brackets first."""
    if sheets.sheet is not None:
        line = _ADDED.sub(lambda match: _with_number(match, sheets), line)
    opening = _OPENING.match(line)
    begin = opening.end() if opening else 0
    alone = _ALONE.match(line, begin)
    if alone and _HAS_DIE.search(alone["dice"]) and _CLOSING.fullmatch(line, alone.end()):
        return [(begin, _request(alone, sheets))]
    placed: list[tuple[int, DiceRequest]] = []

    def taken(brackets: re.Match[str]) -> str:
        """Record the dice of the brackets, and return a filler of the same length, so that the rest of the line keeps
        its positions.
        """
        inside = next(part for part in brackets.groups() if part is not None).strip()
        known = _sheet_check(inside, _KNOWN.match(inside), sheets)
        roll = known[1] if known is not None and known[0] == len(inside) else _bracketed(brackets, sheets)
        if roll is None:
            return brackets[0]
        placed.append((brackets.start(), roll))
        return "\0" * len(brackets[0])

    unbracketed = _BRACKETS.sub(taken, line)
    for match in _KNOWN.finditer(unbracketed) if sheets.sheet is not None else ():
        if (known := _sheet_check(unbracketed, match, sheets)) is None:
            continue
        until, roll = known
        before = unbracketed[: match.start()].strip(" >*_`~\"'“”«")
        first = not before or _SENTENCE_END.search(before) is not None
        last = _CLOSING.fullmatch(unbracketed, until) is not None
        if not _QUESTION.match(unbracketed, until) and first and (last or _GOES_ON.match(unbracketed, until)):
            placed.append((match.start(), roll))
            gap = "\0" * (until - match.start())
            unbracketed = f"{unbracketed[: match.start()]}{gap}{unbracketed[until:]}"
    for match in _IN_LINE.finditer(unbracketed):
        if _QUESTION.match(unbracketed, match.end()) or (
            match["dice"] and not _HAS_DIE.search(match["dice"])
        ):
            continue
        begins = match.start() == begin and (match["dice"] or _GOES_ON.match(unbracketed, match.end()))
        if begins or _CLOSING.fullmatch(unbracketed, match.end()):
            placed.append((match.start(), _request(match, sheets)))
    return placed


def _with_number(match: re.Match[str], sheets: Checks) -> str:
    """The dice with the sheet's number in place of its name; unchanged if the sheet has no such number."""
    number = sheets.number(match["name"])
    if number is None:
        return match[0]
    number = number if match["sign"] == "+" else -number
    return f"{match['dice']}{'+' if number >= 0 else '-'}{abs(number)}"


def _sheet_check(text: str, match: re.Match[str] | None, sheets: Checks) -> tuple[int, DiceRequest] | None:
    """The position where a check that begins here ends, and the check, for the longest name that is on the sheet."""
    if match is None or sheets.sheet is None:
        return None
    ends = [match.start("words") + part.end() for part in re.finditer(_WORD, match["words"])]
    for end in reversed(ends):
        known = sheets.check(text[match.start("words") : end], save=match["save"] is not None)
        if known is not None and (tail := _TAIL.match(text, end)) is not None:
            advantage = 1 if tail["higher"] else -1 if tail["lower"] else 0
            dc = int(tail["dc"]) if tail["dc"] else None
            return tail.end(), _check_request(known, _plain(tail["modifier"]), advantage, dc)
    return None


def _check_request(known: Check, typed: str, advantage: int, dc: int | None) -> DiceRequest:
    """The dice of a sheet's check, with the typed modifier added."""
    if known.under is not None and dc is None and (not typed or re.fullmatch(r"(?:[-+][0-9]{1,3})+", typed)):
        more = sum(map(int, re.findall(r"[-+][0-9]+", typed)))
        return DiceRequest(known.dice, advantage, known.name, known.under + more, under=True)
    modifier = f"{known.modifier:+}" if known.modifier else ""
    return DiceRequest(f"{known.dice}{modifier}{typed}", advantage, known.name, dc, results=known.results)


def _bracketed(brackets: re.Match[str], sheets: Checks) -> DiceRequest | None:
    double, single, rounded = brackets.groups()
    if rounded is not None:
        match = _IN_ROUND.fullmatch(rounded)
    else:
        match = _IN_SQUARE.fullmatch(single if double is None else double)
    if match and (not match["dice"] or _HAS_DIE.search(match["dice"])):
        return _request(match, sheets)
    # [[ ]] always means dice, so what cannot be read in it is an error.
    return DiceRequest(double.strip()) if double is not None and _MEANT.match(double) else None


def _request(match: re.Match[str], sheets: Checks) -> DiceRequest:
    parts = match.groupdict()
    advantage = 1 if parts["higher"] else -1 if parts["lower"] else 0
    if parts["dice"]:
        return DiceRequest(_plain(parts["dice"]), advantage)
    name = " ".join(parts["name"].split())
    if (known := sheets.check(name)) is not None:
        return _check_request(known, _plain(parts["modifier"]), advantage, int(parts["dc"]))
    return DiceRequest("1d20" + _plain(parts["modifier"]), advantage, name, int(parts["dc"]))


def _plain(dice: str) -> str:
    return "".join(dice.translate(_SIGNS).lower().split()).rstrip(",")


def roll_dice(requested: DiceRequest) -> Roll:
    """Roll the dice; a run must do this in a step, since each call gives new results. Raises UserError.

    Advantage on 1d20 is d20's own; anything else is rolled twice as a whole. A division rounds down.
    """
    expression = requested.expression
    if len(expression) > EXPRESSION_CHARS:
        raise _error("long", length=len(expression), limit=EXPRESSION_CHARS)
    import d20

    roller = d20.Roller(d20.RollContext(MOST_DICE))
    try:
        if "." in expression:  # the grammar has decimals
            raise d20.RollValueError("not a whole number")
        divided = re.sub("//?", "//", expression)
        tree = roller.parse(divided)
        first = d20.utils.leftmost(tree)
        twice = requested.advantage and not (isinstance(first, d20.ast.Dice) and str(first) == "1d20")
        if twice:
            tree = roller.parse(f"({divided}, {divided})k{'h' if requested.advantage > 0 else 'l'}1")
        result = roller.roll(tree, advantage=0 if twice else requested.advantage)
        shown, total = str(result.result), int(result.total)
    except d20.TooManyRolls as error:
        raise _error("crowd", expression=_short(expression), limit=MOST_DICE) from error
    except (d20.RollError, ArithmeticError, RecursionError, ValueError) as error:
        raise _error("bad", expression=_short(expression)) from error
    natural = 0 if twice else {d20.CritType.CRIT: 20, d20.CritType.FAIL: 1}.get(result.crit, 0)
    check = requested.check, requested.dc, requested.under, requested.results
    return Roll(str(result.ast), shown, total, natural, *check)


def roll_turn(text: str, say: Words, sheets: Checks = NOBODY) -> dict[str, list[str]]:
    """Roll the dice in a turn's text: `rolls` for the writer and `dice` for people, as its node stores them."""
    rolls = [roll_dice(wanted) for wanted in find(text, sheets)]
    if not rolls:
        return {}
    return {"rolls": [for_writer(roll) for roll in rolls], "dice": [for_people(roll, say) for roll in rolls]}


def roll_typed(text: str, say: Words) -> tuple[str, str]:
    """Roll an expression; returns the results for people and for the writer. Raises UserError."""
    expression = " ".join(text.split())
    if not (wanted := find(f"[{expression}]")):
        raise _error("bad", expression=_short(expression))
    rolls = [roll_dice(roll) for roll in wanted]
    return "; ".join(for_people(roll, say, titled=False) for roll in rolls), "; ".join(map(for_writer, rolls))


def for_people(roll: Roll, say: Words, *, titled: bool = True) -> str:
    """The result as a line of Markdown; without `titled`, dice alone get no "Rolled:"."""
    result = roll.result(say.locale)
    outcome = "result" if result else "checked" if roll.check else "rolled"
    if roll.success is not None:
        outcome = f"{'under_' if roll.under else ''}{'success' if roll.success else 'failure'}"
    values = {"dice": roll.shown, "check": roll.check, "dc": roll.dc, "margin": roll.margin, "result": result}
    line = say(f"story.dice_{outcome}", **values) if titled or outcome != "rolled" else roll.shown
    return f"{line}, {say(f'story.dice_natural_{roll.natural}')}" if roll.natural else line


def for_writer(roll: Roll) -> str:
    """The result in English, for prompts."""
    return ", ".join(_facts(roll))


def _facts(roll: Roll) -> Iterator[str]:
    yield f"{f'check {roll.check}' if roll.check else 'roll'}: {roll.expression}"
    yield f"total {roll.total}"
    if roll.margin is not None:
        yield f"at most {roll.dc} succeeds" if roll.under else f"DC {roll.dc}"
        yield f"{'success' if roll.success else 'failure'} by {abs(roll.margin)}"
    if result := roll.result("en"):
        yield result
    if roll.natural:
        yield f"natural {roll.natural}"


def _short(expression: str) -> str:
    return expression if len(expression) <= 40 else expression[:39] + "…"


def _error(what: str, **values: object) -> UserError:
    return UserError(f"story.dice_{what}", **values)
