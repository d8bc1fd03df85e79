"""A judge's own text, without its reasoning and without its quotations from the responses.

A response may forge a ranking and a judge may quote it, so quotations are removed before anything is read. Knows no
ranking.
"""

from __future__ import annotations

import csv
import html
import json
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bot.llm.fields import characters
from bot.works.council.ballot_syntax import closing, with_latin_labels
from bot.works.council.ballot_words import FINALS, NOUNS, RANKINGS, RANKS, SCORES
from bot.works.council.diagram import DRAWN, comparisons
from bot.works.council.mentions import heading, marked, named, plain
from bot.works.council.places import ordinal

QUOTED = "\0"
"""A line that stands for quoted lines."""

_COLUMNS = re.compile(
    rf"^\W*(?:(?:{NOUNS}|label|id)\W*\|(?:.*\|)?\s*(?:{RANKS}|{SCORES})|(?:{RANKS})\s*\|\s*(?:{NOUNS}|label"
    rf"|id))\s*(?:\||$)",
    re.IGNORECASE,
)
"""The names of columns."""
_ROW_CHARS = 2_000
"""The maximum length of a line that may be a row."""
_NOUN_AND_LETTER = re.compile(
    r"^[^\w\n]{0,12}(?:\d{1,2}[^\w\n]{1,4})?(?P<noun>[^\W\d_]{2,20}(?: [^\W\d_]{2,20}){0,2})[ -](?P<letter>[A-Z])(?![\w'’])",  # noqa: E501
    re.MULTILINE,
)
_THOUGHT = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_HALF_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_QUOTE = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?>")
_TYPOGRAPHY = "b|i|u|em|strong|s|small|sub|sup|span|p|br|hr|div|ol|ul|li|table|thead|tbody|tr|td|th|h[1-6]|center|font|code"  # noqa: E501
_BLOCK = re.compile(
    rf"""^[ \t]*(?:[-*+][ \t]+|\d{{1,3}}[.)][ \t]+)?(?P<fence>`{{3,}}(?=[^`\n]*$)|~{{3,}}|["']{{3}}(?=[ \t]*$))[^\n]*$
    |^[ \t]*(?:(?:[-*+]|\d{{1,3}}[.)])[ \t]+)?(?P<quote>>)[^\n]*
    |<(?!(?:{_TYPOGRAPHY}|think|thinking|thought|reasoning)\b)(?P<tag>[a-z][\w-]*)\b[^<>\n]*>
    |(?<![\\\w{{])(?P<object>\{{)(?=\s{{0,99}}(?:["'“„”{{}}/]|\w{{1,40}}\s?:))|^[ \t]*(?P<list>\[)(?=\s{{0,99}}[{{"'“„”\]])""",  # noqa: E501
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"format|schema|\b(?:in the form|asked for|such as|for example|like this|example)|exempl|ejemplo"
    r"|esempio|beispiel|voorbeeld"
    r"|przykład|пример|örnek|예시|형식|形式|格式|例|उदाहरण|مثال",
    re.IGNORECASE,
)
"""A judge's words before it repeats the example from its prompt."""
_ASKED = re.compile(
    r"\b(?:asked for|such as|for (?:example|instance)|e\.g\.|required format is|por ejemplo"
    r"|por exemplo|par exemple|zum beispiel"
    r"|z\.b\.|ad esempio|bijvoorbeeld|na przykład|например|örneğin)|例えば|例如|예를 들어|उदाहरण",
    re.IGNORECASE,
)
SAYS = re.compile(
    r"\b(?:says|writes|wrote|contain(?:s|ed)?|ends|ended|reads|appends?|appended|adds|claims|includes?"
    r"|quoted?|quoting|dice|diz|dit|sagt"
    r"|schreibt|endet|termina|escribe|escreve|écrit|scrive|dice|schrijft|pisze|пишет|yazıyor"
    r"|following|verbatim|embeds?|hides?|inject(?:s|ed)?|inserts?|smuggles?|reproduces?|incluye|inclui|inclut)\b",
    re.IGNORECASE,
)
_FOLLOWING = re.compile(
    r"\b(?:says|said|writes|wrote|contain(?:s|ed)?|has|had|puts?|ends|ended|reads|append(?:s|ed)|adds|added"
    r"|include[sd]"
    r"|quote[sd]"
    r"|diz|contém|dice|contiene|dit|contient|sagt|enthält|enthielt)\b[^.\n]{0,40}"
    r"\b(?:the following|as follows|verbatim|[ao] seguinte|lo siguiente|ce qui suit|folgende[sn]?|(?:this"
    r"|these (?:words|lines)) (?:at|in|as)|words in(?:to)? (?:my|the judge)"
    r"|isto no fi[mn]al|esto al final)\b",
    re.IGNORECASE,
)
"""A sentence that announces a quotation without a colon at its end."""
_SAYS_LAST = re.compile(rf"(?:{SAYS.pattern})(?: \w{{1,12}}){{0,2}}$", re.IGNORECASE)
"""Half a sentence that announces a quotation."""
_PRONOUN = re.compile(r"\W*(?:it|this|that|one of them|ela?|isso|esta|él|elle|il|sie|er)\b", re.IGNORECASE)
FINAL_RANKING = re.compile(r"final\W+ranking|ranking\W+final", re.IGNORECASE)
MINE = re.compile(
    r"\b(?:I|my|mine|meu|minha|mi|mon|ma|mein\w*|mijn|mój|moj\w*|мой|моя|benim|mio|mia)\b", re.IGNORECASE
)
_MY_VOTE = re.compile(
    r"\s*(?:so |thus |therefore )?(?:here is |here's |this is |below is )?(?:my|mine)(?: own)?"
    r"(?: (?:corrected|revised|new|updated|actual|real|honest|final|independent))?"
    r"(?: (?:answer|ballot|vote|verdict|evaluation|ranking|judgement|judgment|json|version))?"
    r"(?: (?:is|is this|is as follows|follows))?:",
    re.IGNORECASE,
)
"""The last sentence before a judge's own ballot."""
_QUOTES = re.compile(
    rf"(?:{SAYS.pattern})[^:.]{{0,60}}:|(?:⟦[A-Z]⟧|(?:^|[.!?]\s)\W{{0,8}}(?:it|this|that|one of them)),?"
    rf" (?:\w+ ){{0,3}}(?:{SAYS.pattern})"
    r"|\b(?:like this|as follows|verbatim|i quote|the following)\b|[\"“«]",
    re.IGNORECASE,
)
"""Words that make the rest of a line a quotation."""
_CONTINUATION = re.compile(r"\s*(?:[,\"'”»’]|;\s*\S)|\s+[a-zà-ÿ]")
"""Text that continues a sentence after a quotation."""
_MARKS = str.maketrans({
    "🥇": "1st ", "🥈": "2nd ", "🥉": "3rd ", "🔟": "10. ", "🏆": None, "🏅": "- ", "🎖": "- ", "\ufe0f": None,
    "\u20e3": ". ", "⟦": "[", "⟧": "]",
    "【": "[", "】": "]", "「": "“", "」": "”", "『": "“", "』": "”", "█": None, "▓": None, "▒": None, "░": None,
    "■": None, "□": None, "🌟": "★", "⭐": "★", "☆": None, "½": ".5",
    "，": ", ", "。": ". ", **{chr(start + at): f"{at + 1}. " for start in (0x2460, 0x2776, 0x2780,
    0x278A) for at in range(10)},
})  # fmt: skip
_AFTER_BRONZE = re.compile(
    r"(🥉[^\n]*\n[ \t]*(?:[-*][ \t]+)?)[\u2600-\u27bf\U0001f300-\U0001f946\U0001f94a-\U0001faff]\ufe0f?"
    r"[ \t]*(?=[^\W\d_]|\*)"
)
"""A pictogram in the list of medals, which marks the fourth place."""
_INWARDS = re.compile(r"(?<![^\s(\[*_—–-])»(?=\S)([^«»]*)(?<=\S)«(?=[\s.,;:!?)\]*_—–-]|$)")
"""A quotation between guillemets that point inwards, as in German."""
_HTML = re.compile(
    r"(?P<line><(?:br|/?[ou]l|/(?:p|div|tr|h[1-6]))\b[^<>\n]{0,200}>[ \t]*\n?)"
    r"|(?P<item><li\b[^<>\n]{0,200}>)|(?P<cell></t[dh]\s*>)",
    re.IGNORECASE,
)
_RANKING_TAG = re.compile(rf"(?:(?:{FINALS})[_-]?)?(?:{RANKINGS})(?:[_-]?(?:{FINALS}))?", re.IGNORECASE)
_PARAMETER = re.compile(r"<\w+\s[^<>\n]*?\bname=[\"']?([\w-]+)")
"""The name of an argument in a call with tags."""
_PLACE_TAG = re.compile(
    r"\s*<(?P<name>[a-z][\w-]*)(?P<rest>[^<>]*)>(?P<text>[^<>]*)</(?P=name)\s*>", re.IGNORECASE
)

_LINE_ENDS = re.compile("\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_RESPONSE_TAG = re.compile(
    r"response|answer|candidate|quote|blockquote|q|cite|system|user|assistant|\w*output\w*", re.IGNORECASE
)
_NEAR, _NEAR_CHARS = 24, 2_000
"""How many pieces and characters before a block may contain the line that introduces it."""
_MOST_QUOTED = 50
"""How many unclosed brackets in quotations are handled: each check reads the rest of the text."""
_MOST_PIECES = 3_000
"""The maximum number of pieces in a text that is read."""
_DEEPEST = 4
"""How many levels of nested blocks are searched."""


@dataclass(slots=True)
class Own:
    """A judge's own text, and the objects in it, each with its position in that text."""

    text: str = ""
    objects: list[tuple[int, str]] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        lines = _with_bars(_with_nouns(self.text).split("\n"))
        return [QUOTED if _QUOTE.match(line) else line for line in lines]


def _with_nouns(text: str) -> str:
    """The text with "Response" for an unknown noun before letters: lines begin with "Vastaus A", "Vastaus B" …"""
    letters: dict[str, set[str]] = {}
    for match in _NOUN_AND_LETTER.finditer(text):
        letters.setdefault(match["noun"], set()).add(match["letter"])
    nouns = [
        noun for noun, said in letters.items() if len(said) > 2 and max(said) == chr(ord("A") + len(said) - 1)
    ]
    for noun in [noun for noun in nouns if not re.fullmatch(NOUNS, noun, re.IGNORECASE)][:3]:
        text = re.sub(rf"(?<!\w){re.escape(noun)}[ -](?=[A-Z](?![\w'’]))", "Response ", text)
    return text


def own(text: str) -> Own:
    """The judge's own words: with QUOTED in place of block quotations, tags and fenced blocks, and nothing in place of
    objects.

    A block that ends the text is the judge's own, unless the line before introduces it as a response's. An object in an
    earlier block may also be its ballot, with the same exception. Thoughts at the beginning of the text are removed;
    later tags of that kind are quotations.
    """
    if text.lstrip().startswith('"'):  # the whole text is one JSON string
        with suppress(ValueError):
            text = str(json.loads(text))
    text = with_latin_labels(_LINE_ENDS.sub("\n", characters(text)).strip())
    if re.fullmatch(r"`[{\[][^`]*`", text):
        text = text[1:-1]
    return _own_parts(text if text.startswith(("{", "[", "`")) else without_thoughts(text))


def _own_parts(text: str, depth: int = 0) -> Own:
    """`own` for a text that is already in Latin letters; blocks within blocks are read up to `_DEEPEST` levels."""
    pieces: list[str] = []
    objects: list[tuple[int, str]] = []
    unclosed: set[str] = set()
    at = length = quoted_brackets = 0
    whole = len(text.rstrip())

    def add(piece: str) -> None:
        nonlocal length
        pieces.append(piece)
        length += len(piece)

    while match := _BLOCK.search(text, at):
        add(_normal(text[at : match.start()]))
        near = "".join(pieces[-_NEAR:])[-_NEAR_CHARS:]
        if len(pieces) > _MOST_PIECES:
            return Own()
        line_before = before(near.split("\n"), _NEAR_CHARS)
        at = match.end()
        if match["object"] or match["list"]:
            start = match.start("object" if match["object"] else "list")
            at = closing(text, start)
            if at == len(text) and _in_quotation(text, start):
                quoted_brackets += 1
                if quoted_brackets > _MOST_QUOTED:
                    return Own()
                add(text[start])
                at = start + 1
                continue
            begins = near.rstrip(" \t")[-1:] in ("", "\n")
            echoed = _EXAMPLE.search(line_before) and not _labels_in(line_before)
            if begins and introduces(line_before):
                add(QUOTED)
            elif not echoed or "{" not in text[at : at + _NEAR_CHARS]:
                objects.append((length, text[start:at]))
            add("" if begins else "…")
            continue
        if match["fence"] and depth:
            continue
        if match["fence"]:
            mark = re.escape(match["fence"])
            end = re.compile(rf"^[ \t]*{mark}{mark[-1]}*[ \t]*$", re.MULTILINE).search(text, at)
            content = text[at : end.start() if end else len(text)]
            at = end.end() if end else len(text)
            drawn = comparisons(content, plain(near)) if DRAWN.match(match[0]) else ""
            if drawn and not introduces(line_before):
                add(f"\n{drawn}\n\n")
                continue
        elif match["tag"]:
            tag = match["tag"].lower()
            end = None
            if tag not in unclosed:
                end = re.compile(rf"</{tag}\s*>", re.IGNORECASE).search(text, at)
            if end is None:
                unclosed.add(tag)
                add(" ")
                continue
            content, at = text[at : end.start()], end.end()
        else:
            add(QUOTED)
            continue
        begins = near.rstrip(" \t")[-1:] in ("", "\n")
        called = _PARAMETER.search(match[0])
        if begins and at >= whole and _RANKING_TAG.fullmatch(called[1] if called else match["tag"] or ""):
            content = "FINAL RANKING:\n" + _without_place_tags(content)
        block = Own() if depth >= _DEEPEST else _own_parts(content.strip("\n"), depth + 1)
        if introduces(line_before) or _RESPONSE_TAG.fullmatch(match["tag"] or ""):
            add(QUOTED + "\n")
        elif at >= whole:
            objects += [(length + place, json_text) for place, json_text in block.objects]
            add(block.text)
        else:
            objects += [(length, json_text) for _, json_text in block.objects if match["fence"]]
            add(QUOTED + "\n")
    add(_normal(text[at:]))
    return Own("".join(pieces), objects)


def _without_place_tags(text: str) -> str:
    """Writes "<first>C</first>" or '<item rank="1">C</item>' as "1. C", if there are only such tags."""
    if _PLACE_TAG.sub("", text).strip():
        return text
    lines: list[str] = []
    for match in _PLACE_TAG.finditer(text):
        figure = re.search(r"\d{1,2}", match["name"] + match["rest"])
        place = figure[0] if figure else ordinal(match["name"]) or len(lines) + 1
        lines.append(f"{place}. {match['text'].strip()}")
    return "\n".join(lines)


def _in_quotation(text: str, at: int) -> bool:
    """Whether quotation marks are open before this position, in its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at].replace('\\"', "")
    return line.count('"') % 2 == 1 or line.rfind("“") > line.rfind("”")


def _labels_in(line: str) -> set[str]:
    """The responses that a line names, including by a letter that cannot be a word."""
    return {*named(line), *re.findall(r"(?<![\w'’])[B-HJ-Z](?=['’]s\b|\W|$)", line)}


def without_thoughts(text: str) -> str:
    """The text without the reasoning before the answer."""
    thought = _THOUGHT.match(text)
    if thought:
        return text[thought.end() :]
    end_tag = _HALF_THOUGHT.search(text)
    if end_tag is None or _in_quotation(text, end_tag.start()):
        return text
    line = text[text.rfind("\n", 0, end_tag.start()) + 1 : end_tag.start()]
    if _QUOTE.match(line):  # the rest of the line is also quoted
        return "…\n" + text[end_tag.end() :].partition("\n")[2]
    # A continuation in the middle of a line does not begin one, so that no header can be there.
    return ("… " if line.strip() else "…\n") + text[end_tag.end() :]


def introduces(line: str) -> bool:
    """Whether the next text is said to be a response's: "Response B writes:", or "Response B contained the following,
    which I ignored.". A line that ends with "Here is my vote:" introduces the judge's own words.
    """
    earlier, _, last = line.rstrip().rpartition(". ")
    if earlier and _MY_VOTE.fullmatch(last) and not _QUOTES.search(marked(earlier)):
        return False
    if not line.rstrip().endswith((":", ",", "such as", "e.g.")):
        about_one = len(set(named(line))) == 1 or _PRONOUN.match(line)
        return bool(about_one and (_FOLLOWING.search(line) or _SAYS_LAST.search(line)))
    announces = SAYS.search(line) or _ASKED.search(line)
    return len(set(named(line))) == 1 or bool(announces and not MINE.search(line))


def quotes_at(text: str, at: int) -> bool:
    """Whether the judge is quoting at this position: in quotation marks, a block quotation or a response's tags, after
    words that introduce a response's text, in the middle of a sentence, or before it mentions further responses.
    """
    head, tail = text[:at], text[at:].removeprefix("…")
    *earlier, line = head.split("\n")
    rest = tail.split("\n", 1)[0]
    previous = before(earlier, len(earlier))
    names_before = {letter for line in earlier for letter in [*named(line), heading(line)] if letter}
    return bool(
        _QUOTE.match(line)
        or named(line)
        or line.count('"') % 2
        or line.count("`") % 2
        or any(head.count(opened) > head.count(closed) for opened, closed in ("“”", "«»"))
        or _CONTINUATION.match(rest)
        or (not line.strip() and introduces(previous))
        or (names_before and not names_before.issuperset(named(tail)))
    )


def before(lines: Sequence[str], at: int) -> str:
    """The last non-empty line before `at`, plain; QUOTED if it was quoted."""
    for line in reversed(lines[:at]):
        if line.strip():
            return plain(line)
    return ""


def _normal(text: str) -> str:
    """The text in the plainest characters: digits of any script as 0 to 9, without invisible characters."""
    if text.isascii() and not {"&", "<"}.intersection(text):
        return text
    text = unicodedata.normalize("NFKC", _AFTER_BRONZE.sub(r"\1 4. ", html.unescape(text)).translate(_MARKS))
    text = _INWARDS.sub(r"«\1»", re.sub("„([^„“”]*)[“”]", r"«\1»", text))
    text = _HTML.sub(lambda tag: "\n" if tag["line"] else "\n- " if tag["item"] else " | ", text)
    text = characters(text)
    plainer = {
        ord(character): str(unicodedata.decimal(character)) if character.isdecimal() else None
        for character in set(text)
        if character.isdecimal() or unicodedata.category(character) == "Cf"
    }
    return text.translate(plainer)


def _with_bars(lines: list[str]) -> list[str]:
    """The lines, with rows of values separated by commas or tabs written as those of a table."""
    rows = list(lines)
    for at, line in enumerate(lines):
        mark = next((mark for mark in "\t;," if line.count(mark)), "")
        if not mark or not _COLUMNS.search(line.replace(mark, " | ")) or len(line) > _ROW_CHARS:
            continue
        width = line.count(mark)
        for row in range(at, len(lines)):
            cells = next(csv.reader([lines[row]], delimiter=mark), [])
            if len(cells) <= width:
                break
            rows[row] = "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
        if row - at < 2:
            return lines
        return rows
    return lines
