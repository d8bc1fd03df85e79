"""A judge's own text: without its reasoning, and without its quotations from the responses.

A response may forge a ranking and a judge may quote it, so that quotations are left out before anything is
read. Knows no ranking.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bot.llm.fields import characters

QUOTED = "\0"
"""The line that stands for lines that are quoted."""

NOUNS = (
    "responses?|answers?|options?|candidates?|submissions?|respostas?|respuestas?|réponses?|rispost[ae]|antwort(?:en)?"
    "|antwoord(?:en)?|odpowied(?:ź|zi)|odpověď|svar|vastaus|yanıt|cevap|ответ[аы]?|відповідь|ال(?:إجابة|اجابة|رد|جواب)|إجابة"
    "|回答|答案|答复|解答|उत्तर|जवाब|응답|답변|대답|jawaban"
)
"""What judges call a response in the languages that they write."""
_AND = "and|e|et|y|und|en|i|и|ve|와|과|と|和|与|और|و"

_LABEL = re.compile(
    rf"(?<![^\W\d_])(?i:{NOUNS})[\s:#-]{{0,3}}[(\[\"'“]?"
    r"(?P<letter>[A-Z])(?![0-9A-Za-zÀ-ɏ_])(?!['’](?!s\b))[)\]\"'”]?"
)
_BEHIND = re.compile(
    rf"(?<![\w'’⟦])(?P<letter>[A-Z])(?:['’]?s?[ -]|の|)(?i:{NOUNS})(?![\w⟦])(?![\s:#-]{{0,3}}[A-Z]\b)"
)
_PLURAL = re.compile(rf"(⟦[A-Z]⟧(?:\s*,\s*[A-Z])*\s*(?:{_AND}|[,/&=]))\s*(?P<letter>[A-Z])(?![\w'’])")

_UNKNOWN = re.compile(
    r"^[^\w\n]{0,12}(?:\d{1,2}[^\w\n]{1,4})?(?P<noun>[^\W\d_]{2,20}(?: [^\W\d_]{2,20}){0,2})[ -](?P<letter>[A-Z])(?![\w'’])",  # noqa: E501
    re.MULTILINE,
)
_SMALL = re.compile(rf"^\W*(?:\d{{1,2}}\W+)?(?:{NOUNS})\s+[a-z]\W*$", re.IGNORECASE)
_HEADED = re.compile(
    r"[\s#|-]*(?:\d+[.)]\s*)?[(\[]?(?:⟦(?P<named>[A-Z])⟧|(?P<bare>[A-Z])[)\]]?(?=\s*(?:[:.–—|)-]|$)))"
)
_THOUGHT = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_HALF_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_QUOTE = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?>")
_TYPOGRAPHY = "b|i|u|em|strong|s|small|sub|sup|span|p|br|hr|div|ol|ul|li|table|thead|tbody|tr|td|th|h[1-6]|center|font|code"  # noqa: E501
_BLOCK = re.compile(
    rf"""^[ \t]*(?:[-*+][ \t]+|\d{{1,3}}[.)][ \t]+)?(?P<fence>`{{3,}}(?=[^`\n]*$)|~{{3,}}|["']{{3}}(?=[ \t]*$))[^\n]*$
    |^[ \t]*(?:(?:[-*+]|\d{{1,3}}[.)])[ \t]+)?(?P<quote>>)[^\n]*
    |<(?!(?:{_TYPOGRAPHY}|think|thinking|thought|reasoning)\b)(?P<tag>[a-z][\w-]*)\b[^<>\n]*>
    |(?<![\\\w{{])(?P<object>\{{)(?=\s{{0,99}}(?:["'{{}}/]|\w{{1,40}}\s?:))|^[ \t]*(?P<list>\[)(?=\s{{0,99}}[{{"'\]])""",  # noqa: E501
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
STRING = r'"(?:[^"\\]|\\.)*(?:"|\Z)'
COMMENT = r"//[^\n]*|/\*(?:(?!\*/).)*(?:\*/|\Z)|(?<=[\s,])\#[^\n]*"
_BRACKET = re.compile(rf"{STRING}|{COMMENT}|[{{}}\[\]]", re.DOTALL)
_PYTHON_BRACKET = re.compile(rf"{STRING}|'(?:[^'\\]|\\.)*(?:'|\Z)|{COMMENT}|[{{}}\[\]]", re.DOTALL)
_EXAMPLE = re.compile(
    r"format|schema|\b(?:in the form|asked for|such as|for example|like this|example)|exempl|ejemplo"
    r"|esempio|beispiel|voorbeeld"
    r"|przykład|пример|örnek|예시|형식|形式|格式|例|उदाहरण|مثال",
    re.IGNORECASE,
)
"""What a judge says before it repeats the example that it was given."""
_ASKED = re.compile(
    r"\b(?:asked for|such as|for (?:example|instance)|e\.g\.|required format is|por ejemplo"
    r"|por exemplo|par exemple|zum beispiel"
    r"|z\.b\.|ad esempio|bijvoorbeeld|na przykład|например|örneğin)|例えば|例如|예를 들어|उदाहरण",
    re.IGNORECASE,
)
SAYS = re.compile(
    r"\b(?:says|writes|wrote|contains?|ends|ended|reads|appends?|appended|adds|claims|includes?"
    r"|quoted?|quoting|dice|diz|dit|sagt"
    r"|schreibt|endet|termina|escribe|escreve|écrit|scrive|dice|schrijft|pisze|пишет|yazıyor"
    r"|following|verbatim)\b",
    re.IGNORECASE,
)
_MINE = re.compile(
    r"\b(?:I|my|mine|meu|minha|mi|mon|ma|mein\w*|mijn|mój|moj\w*|мой|моя|benim|mio|mia)\b", re.IGNORECASE
)
_GOES_ON = re.compile(r"\s*(?:[,\"'”»’]|;\s*\S)|\s+[a-zà-ÿ]")
"""What follows a quotation within a sentence."""
_MARKS = str.maketrans({
    "🥇": "1st ", "🥈": "2nd ", "🥉": "3rd ", "🔟": "10. ", "🏆": None, "🏅": None, "\ufe0f": None,
    "\u20e3": ". ", "⟦": "[", "⟧": "]",
    "【": "[", "】": "]", "「": "“", "」": "”", "『": "“", "』": "”", "█": None, "▓": None, "▒": None, "░": None,
    "■": None, "□": None, "🌟": "★", "⭐": "★", "☆": None, "½": ".5",
    "，": ", ", "。": ". ", **{chr(start + at): f"{at + 1}. " for start in (0x2460, 0x2776, 0x2780,
    0x278A) for at in range(10)},
})  # fmt: skip
_HTML = re.compile(
    r"(?P<line><(?:br|/(?:p|div|tr|ol|ul|h[1-6]))\b[^<>\n]{0,200}>[ \t]*\n?)"
    r"|(?P<item><li\b[^<>\n]{0,200}>)|(?P<cell></t[dh]\s*>)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^(\s*)(?:[*+•·–—‣▪●○◦➤►-]\s+|\\item\b\s*)")
_TEX_BLOCK = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}(?:\[[^\[\]]*\])?")
_TEX_HEADING = re.compile(r"\\(?:sub)*(?:section|paragraph)\*?\s*\{([^{}]*)\}")
_TEX_WORDS = re.compile(r"\\(?:text|textbf|textit|emph|mathrm|mathbf|mathit|operatorname)\s*\{([^{}]*)\}")
_TEX_BOX = re.compile(r"^[\s$*\\(\[]*\\boxed\s*\{([^{}]*)\}[\s$*.\\)\]]*$")
_TEX_SIGNS = {
    **dict.fromkeys(("succ", "succsim", "succeq", "gt", "gg"), " > "),
    **dict.fromkeys(("prec", "precsim", "preceq", "lt", "ll"), " < "),
    **dict.fromkeys(("sim", "approx", "simeq", "equiv", "eq"), " = "),
    **dict.fromkeys(("rightarrow", "to", "Rightarrow"), " → "),
    **dict.fromkeys(("quad", "qquad", "left", "right"), " "),
    **dict.fromkeys(("star", "bigstar"), "★"),
}
_TEX_SIGN = re.compile(rf"\\({'|'.join(_TEX_SIGNS)})(?![A-Za-z])")
_TAG = re.compile(r"</?[a-z]\w*\s*/?>", re.IGNORECASE)

_LINE_ENDS = re.compile("\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_RESPONSE_TAG = re.compile(
    r"response|answer|candidate|quote|blockquote|q|cite|system|user|assistant|\w*output\w*", re.IGNORECASE
)
_NEAR, _NEAR_CHARS = 24, 2_000
"""Pieces and characters before a block among which the line is that introduces it."""
_MOST_QUOTED = 50
"""Brackets in quotations that are not closed: each costs a look at the rest of the text."""
_MOST_PIECES = 3_000
"""Of a text that is in more pieces than this, nothing is read."""
_DEEPEST = 4
"""Blocks within blocks that are looked into."""

Groups = list[list[str]]
"""Letters, best first; those of one group share a place."""

RANKS = (
    r"rank|place|tier|position|platz|rang|lugar|posi[çc][ãa]o|puesto|posici[óo]n|posto|posizione"
    r"|coloca[çc][ãa]o|plaats|plek"
    r"|miejsce|pozycja|lokata|место|позиция|sıra|순위|順位|名次|排名|स्थान|रैंक|(?:ال)?مركز|(?:ال)?مرتبة"
    r"|(?:ال)?ترتيب|plats|№"
)
SCORES = (
    r"score|points?|pts|grade|rating|marks?|nota|pontos?|pontua[çc][ãa]o|puntos?|puntuaci[óo]n"
    r"|punkte?|punkty|pkt|punkt[óo]w"
    r"|punti|punteggio|voto|cijfer|punten|ocena|оценка|баллы?|баллов|puan|점수|점|点|点数|得点|分|分数|评分|अंक|درجة|النقاط"
    r"|total|overall|verdict"
)
_ORDINALS = (
    r"first|primeir[oa]|primer[oa]?|prim[oa]|premi[eè]re?|erste[nrs]?|erstens|eerste|pierwsz[eya]"
    r"|перв(?:ый|ое|ая)|birinci|첫 ?번?째"
    r"|(?:ال)?[أا]ول[ىي]?|पहला|पहले|प्रथम|första|winner|best|melhor|gold|第一[名位]?|一[位等]",
    r"second[oae]?|segund[oa]|zweite[nrs]?|zweitens|deuxi[eè]me|tweede|drugi[ea]?|втор(?:ой|ое|ая)"
    r"|ikinci|두 ?번째|(?:ال)?ثاني[ةه]?"
    r"|दूसरा|दूसरे|द्वितीय|andra|runner-?up|silver|第二[名位]?|二[位等]",
    r"third|terceir[oa]|tercer[oa]?|terz[oa]|dritte[nrs]?|drittens|troisi[eè]me|derde|trzeci[ea]?"
    r"|трет(?:ий|ье|ья)|üçüncü|세 ?번째"
    r"|(?:ال)?ثالث[ةه]?|तीसरा|तीसरे|तृतीय|tredje|bronze|第三[名位]?|三[位等]",
    r"fourth|quart[oa]|cuart[oa]|vierte[nrs]?|viertens|quatri[eè]me|vierde|czwart[eya]"
    r"|четв[её]рт(?:ый|ое|ая)|dördüncü|네 ?번째"
    r"|(?:ال)?رابع[ةه]?|चौथा|चौथे|चतुर्थ|fjärde|第四[名位]?|四[位等]",
    r"fifth|quint[oa]|fünfte[nrs]?|fünftens|cinqui[eè]me|vijfde|piąt[eya]|пят(?:ый|ое|ая)|beşinci"
    r"|다섯 ?번째|(?:ال)?خامس[ةه]?"
    r"|पाँचवाँ|पांचवा[ं]?|femte|第五[名位]?|五[位等]",
    r"sixth|sext[oa]|sest[oa]|sechste[nrs]?|sechstens|sixi[eè]me|zesde|szóst[eya]|шест(?:ой|ое|ая)"
    r"|altıncı|여섯 ?번째"
    r"|(?:ال)?سادس[ةه]?|छठा|छठे|sjätte|第六[名位]?|六[位等]",
    r"seventh|s[ée]tim[oa]|s[ée]ptim[oa]|settim[oa]|siebte[nrs]?|septi[eè]me|zevende|siódm[eya]"
    r"|седьм(?:ой|ое|ая)|yedinci|第七[名位]?",
    r"eighth|oitav[oa]|octav[oa]|ottav[oa]|achte[nrs]?|huiti[eè]me|achtste|ósm[eya]|восьм(?:ой|ое|ая)"
    r"|sekizinci|第八[名位]?",
)
ORDINALS = "|".join(_ORDINALS)
_ORDINAL = re.compile("|".join(f"(?P<o{n}>{words})" for n, words in enumerate(_ORDINALS, 1)), re.IGNORECASE)
_IN_WORDS = re.compile(
    rf"(?:(?<!\w)(?P<rank>{RANKS})[\s:]+(?P<behind>{ORDINALS})"
    rf"|(?<!\w)(?P<before>{ORDINALS})\s*(?:{RANKS}))(?!\w)"
    rf"|(?P<start>^(?:[\s(:=,–—-]|\bis\b)*)(?P<alone>{ORDINALS})(?=\s*(?:$|[)(:;.,–—-]))",
    re.IGNORECASE,
)
COUNTER = (
    r"st|nd|rd|th|\.?[ºª°oa]|er|[eè]?re|e|[eè]me|\.|위|등|位|名|-?[йея]|-?oe|'?(?:inci|ıncı|üncü"
    r"|uncu)|ste|de|\s번|번"
)
_RANK = re.compile(
    rf"""[\s:(=,\[–—-]*(?:(?:{RANKS})\b[\s:#=.]*(?P<after>\d{{1,2}})(?![\d/%])|\#(?P<hash>\d{{1,2}})
    |(?P<th>\d{{1,2}})(?:st|nd|rd|th|\.?[ºª°oa]|er|è?re|e|위|등|位|名|(?:{COUNTER})?\s*(?:{RANKS}))(?![\w/]))""",
    re.VERBOSE | re.IGNORECASE,
)
_RANK_WITHIN = re.compile(
    rf"(?<!\w)(?:{RANKS})\b[\s:#=.]*(?P<after>\d{{1,2}})(?![\d/%])"
    rf"|(?<![\d/.,])(?P<th>\d{{1,2}})(?:{COUNTER})?\s*(?:{RANKS})(?!\w)",
    re.IGNORECASE,
)
_SCORE = re.compile(
    rf"""[\s:(=,\[–—-]*(?:
    (?:{SCORES})\b[\s:=]*(?P<after>\d{{1,3}}(?:[.,]\d+)?)
    |(?:note\s*:?\s*)?(?P<of>\d{{1,3}}(?:[.,]\d+)?)\s*(?:/|out\ of|of|von|de|sur|su|van|na|из)\s*\d+
    |(?P<unit>\d{{1,3}}(?:[.,]\d+)?)\s*(?:%|(?:{SCORES})(?![^\W\d_]))
    |(?P<stars>★+(?:\.5)?)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_SCORE_WITHIN = re.compile(
    rf"""(?<![\w/.,])(?:(?P<of>\d{{1,3}}(?:[.,]\d+)?)\s*(?:/|out\ of|von|sur|su|van|из)\s*(?:5|10|20|100)(?![\d/])
    |(?:{SCORES})\s*[:=]\s*(?P<after>\d{{1,3}}(?:[.,]\d+)?)(?!\d|\s*/)
    |(?P<unit>\d{{1,3}}(?:[.,]\d+)?)\s*(?:{SCORES})(?![^\W\d_]))|(?P<stars>★+(?:\.5)?)""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE = re.compile(r"[\s:(=–—-]*(?P<n>\d{1,3}(?:[.,]\d+)?)\s*(?=$|[)(–—;,.|-](?!\d))")
TIE = re.compile(
    r"\b(?:tie|tied|ties|equal|equally|empat\w*|igual\w*|gleich\w*|ex\s+(?:aequo|æquo)|égal\w*|pari"
    r"|gelijk\w*|remis\w*|berabere)\b",
    re.I,
)


@dataclass(slots=True)
class Own:
    """A judge's own text, and the objects in it, each with where it stands in that text."""

    text: str = ""
    objects: list[tuple[int, str]] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        lines = _with_nouns(self.text).split("\n")
        return [QUOTED if _QUOTE.match(line) else line for line in lines]


def _with_nouns(text: str) -> str:
    """Where lines begin with "Vastaus A", "Vastaus B", "Vastaus C", that word is what the judge calls a response."""
    letters: dict[str, set[str]] = {}
    for match in _UNKNOWN.finditer(text):
        letters.setdefault(match["noun"], set()).add(match["letter"])
    nouns = [
        noun for noun, said in letters.items() if len(said) > 2 and max(said) == chr(ord("A") + len(said) - 1)
    ]
    for noun in [noun for noun in nouns if not re.fullmatch(NOUNS, noun, re.IGNORECASE)][:3]:
        text = re.sub(rf"(?<!\w){re.escape(noun)}[ -](?=[A-Z](?![\w'’]))", "Response ", text)
    return text


def own(text: str) -> Own:
    """What a judge says itself: QUOTED in place of block quotations, tags and fenced blocks, and nothing in place of
    objects.

    A block that ends the whole text is the judge's own, unless the line before introduces it as a response's. An
    object in a block further up may be its ballot, too, with the same exception. Thoughts are cut off where they
    begin the text; later tags of the kind are quoted from somewhere.
    """
    text = _LINE_ENDS.sub("\n", characters(text)).strip()
    return _scanned(text if text.startswith(("{", "[", "`")) else without_thoughts(text))


def _scanned(text: str, depth: int = 0) -> Own:
    pieces: list[str] = []
    objects: list[tuple[int, str]] = []
    unclosed: set[str] = set()
    at = length = quoted = 0
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
            at = _closing(text, start)
            if at == len(text) and _in_quotation(text, start):
                quoted += 1
                if quoted > _MOST_QUOTED:
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
            inner = text[at : end.start() if end else len(text)]
            at = end.end() if end else len(text)
        elif match["tag"]:
            tag = match["tag"].lower()
            end = None
            if tag not in unclosed:
                end = re.compile(rf"</{tag}\s*>", re.IGNORECASE).search(text, at)
            if end is None:
                unclosed.add(tag)
                add(" ")
                continue
            inner, at = text[at : end.start()], end.end()
        else:
            add(QUOTED)
            continue
        block = Own() if depth >= _DEEPEST else _scanned(inner.strip("\n"), depth + 1)
        if introduces(line_before) or _RESPONSE_TAG.fullmatch(match["tag"] or ""):
            add(QUOTED + "\n")
        elif at >= whole:
            objects += [(length + place, said) for place, said in block.objects]
            add(block.text)
        else:
            objects += [(length, said) for _, said in block.objects if match["fence"]]
            add(QUOTED + "\n")
    add(_normal(text[at:]))
    return Own("".join(pieces), objects)


def _in_quotation(text: str, at: int) -> bool:
    """Whether quotation marks are open before this place, in its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at].replace('\\"', "")
    return line.count('"') % 2 == 1 or line.rfind("“") > line.rfind("”")


def _closing(text: str, start: int) -> int:
    """Where the object ends that begins at `start`; the end of the text if it breaks off."""
    tokens = _PYTHON_BRACKET if re.match(r"[\[{\s]*'", text[start : start + 200]) else _BRACKET
    depth = 0
    for token in tokens.finditer(text, start):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)


def _labels_in(line: str) -> set[str]:
    """The responses that a line names, also by a letter that can be no word."""
    return {*named(line), *re.findall(r"(?<![\w'’])[B-HJ-Z](?=['’]s\b|\W|$)", line)}


def without_thoughts(text: str) -> str:
    """The text without the reasoning before the answer."""
    whole = _THOUGHT.match(text)
    if whole:
        return text[whole.end() :]
    half = _HALF_THOUGHT.search(text)
    if half is None:
        return text
    line = text[text.rfind("\n", 0, half.start()) + 1 : half.start()]
    # What goes on in the middle of a line begins none, so that no header can stand there.
    return ("… " if line.strip() else "…\n") + text[half.end() :]


def plain(line: str) -> str:
    """A line without emphasis, its bullet as "- ", LaTeX's signs as they are typed."""
    line = _BULLET.sub(r"\1- ", re.sub(r"~~[^~]*~~", " ", line))
    if "\\" in line or "$" in line:
        line = _TEX_WORDS.sub(r"\1", _TEX_HEADING.sub(r"# \1", _TEX_BLOCK.sub("", line)))
        line = _TEX_SIGN.sub(lambda match: _TEX_SIGNS[match[1]], line)
        # A box is what a mathematician ends with.
        boxed = _TEX_BOX.match(line)
        line = f"FINAL RANKING: {boxed[1]}" if boxed else re.sub(r"\\boxed\s*|\\[()\[\]]|\$", "", line)
    return re.sub(r"[*`~\\]", "", _TAG.sub(" ", line)).replace("_", " ").rstrip()


_SIGNS = re.compile(
    "^ {0,3}(?:[\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\ufe0f\U0001f300-\U0001faff]+ *)+(?=[A-Z#])"
)
"""Pictures before a line's first word."""
_PLACED = re.compile(r"^\s*\d{1,2}[.)]\s+[\[(]?[a-l][\])]?\s*$")
"""A small letter that is all of a line of a list."""


def marked(line: str) -> str:
    """`plain`, each response that it names as ⟦C⟧."""
    if not line.strip():
        return line
    line = _SIGNS.sub("", _PLACED.sub(lambda match: match[0].upper(), plain(line)))
    line = _LABEL.sub(r"⟦\g<letter>⟧", _SMALL.sub(lambda match: match[0].upper(), line))
    line = _BEHIND.sub(r"⟦\g<letter>⟧", line)
    for _ in range(3 if "⟦" in line else 0):
        line = _PLURAL.sub(r"\1 ⟦\g<letter>⟧", line)
    return line


def named(line: str) -> list[str]:
    """The letters of the responses that a line names, as often as it does: "Response C". They are capitals,
    since "resposta a isto" names none.
    """
    return re.findall(r"⟦([A-Z])⟧", marked(line))


def heading(line: str) -> str:
    """The letter of the response that a line is headed by: "**Response C** is …", "### C", "C: …"; else ""."""
    match = _HEADED.match(marked(line)) if line.strip() else None
    return (match["named"] or match["bare"]) if match else ""


def introduces(line: str) -> bool:
    """Whether what follows this line is said to be a response's: "Response B writes:"."""
    if not line.rstrip().endswith((":", ",", "such as", "e.g.")):
        return False
    spoken = SAYS.search(line) or _ASKED.search(line)
    return len(set(named(line))) == 1 or bool(spoken and not _MINE.search(line))


def quotes_at(text: str, at: int) -> bool:
    """Whether the judge quotes what stands there: in quotation marks, a block quotation or a response's tags, after
    words that introduce a response's, in the middle of a sentence, or before it speaks of further responses.
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
        or _GOES_ON.match(rest)
        or (not line.strip() and introduces(previous))
        or (names_before and not names_before.issuperset(named(tail)))
    )


def before(lines: Sequence[str], at: int) -> str:
    """The last line before `at` in which there is something, plain; QUOTED where that was quoted."""
    for line in reversed(lines[:at]):
        if line.strip():
            return plain(line)
    return ""


def _normal(text: str) -> str:
    """In the plainest characters: digits of any script as 0 to 9, without signs that cannot be seen."""
    if text.isascii() and not {"&", "<"}.intersection(text):
        return text
    text = unicodedata.normalize("NFKC", html.unescape(text).translate(_MARKS))
    text = re.sub("„([^„“”]*)[“”]", r"«\1»", text)
    text = _HTML.sub(lambda tag: "\n" if tag["line"] else "\n- " if tag["item"] else " | ", text)
    return "".join(
        str(unicodedata.decimal(character)) if character.isdecimal() else character
        for character in characters(text)
        if unicodedata.category(character) != "Cf"
    )


@dataclass(slots=True)
class Item:
    """The letters that share a place, its number in a list or table, and the text beside them."""

    letters: list[str]
    numbers: list[int] = field(default_factory=list)
    remark: str = ""

    @property
    def tied(self) -> bool:
        return bool(TIE.search(self.remark))


def ordered(items: Sequence[Item]) -> Groups:
    """The items in the judge's order, best first; [] where the judge contradicts itself.

    Scores or places beside every response decide where the responses stand in the order in which they were
    shown: nobody ranks them so by accident, and a score in the list of another order has to agree with it. Words
    beside each, in that order and without numbers, are a verdict on each and no ranking.
    """
    items = _once(items)
    letters = [letter for item in items for letter in item.letters]
    alphabetical = letters == sorted(letters) and len(letters) > 1
    figures = _figures([item.remark for item in items])
    if (
        figures is None
        and alphabetical
        and all(item.remark.strip(" .") and not item.numbers for item in items)
    ):
        return []  # verdicts, one by one
    if figures is None:
        return [list(item.letters) for item in items]
    falling = [-figure for figure in figures]
    if all(low <= high for low, high in pairwise(falling)):
        if all(item.numbers for item in items):
            return [list(item.letters) for item in items]
    elif not alphabetical:
        return []
    return by_value(items, falling)


def by_value(items: Sequence[Item], values: Sequence[float]) -> Groups:
    """The smallest value first, equal ones together."""
    places: dict[float, list[str]] = {}
    for value, item in sorted(zip(values, items, strict=True), key=lambda pair: pair[0]):
        places.setdefault(value, []).extend(item.letters)
    return list(places.values())


def ranks(values: Sequence[float], n: int) -> bool:
    """Whether these can be the places of so many: whole, from 1 on, and none left out but behind a tie."""
    sorted_values = sorted(values)
    steps = all(
        place in (before, before + 1, at) for at, (before, place) in enumerate(pairwise(sorted_values), 2)
    )
    return (
        bool(sorted_values)
        and sorted_values[0] == 1
        and sorted_values[-1] <= n
        and steps
        and all(value == int(value) for value in sorted_values)
    )


def _figures(texts: Sequence[str]) -> list[float] | None:
    """For each text its figure, the larger, the better; None where not every text begins with one of a kind."""
    texts = [in_digits(text) for text in texts]
    for kind in (_RANK, _SCORE, _BARE):
        matches = [kind.match(text) for text in texts]
        if not all(matches):
            continue
        values = [_value(match) for match in matches if match]
        if kind is _RANK or (kind is _BARE and ranks(values, len(values))):
            return [-value for value in values]
        return values
    return None


def figure_of(text: str) -> float | None:
    """The figure that a text begins with, place or score; None where there is none."""
    match = next((match for kind in (_RANK, _SCORE, _BARE) if (match := kind.match(text))), None)
    return _value(match) if match else None


def _value(match: re.Match[str]) -> float:
    text = next(value for value in match.groups() if value is not None)
    half = 0.5 if text.endswith("★.5") else 0.0
    return text.count("★") + half if "★" in text else float(text.replace(",", "."))


def ordinal(word: str) -> int | None:
    """The place that a word says, from 1: "first", "primeira"."""
    match = _ORDINAL.fullmatch(word.strip())
    return int(str(match.lastgroup)[1:]) if match else None


def in_digits(text: str) -> str:
    """ "third place" and, where the text begins with it, "third" as "rank 3"."""
    return _IN_WORDS.sub(
        lambda match: (
            f"{match['start'] or ''} rank {ordinal(match['behind'] or match['before'] or match['alone'])}"
        ),
        text,
    )


def figures_within(text: str) -> tuple[set[float], set[float]]:
    """The places and the scores that the text says anywhere."""
    text = in_digits(text)
    places = {_value(match) for match in _RANK_WITHIN.finditer(text)}
    if (first := _RANK.match(text)) and re.match(
        r"\s*(?:$|[])(:;.,|–—-])", text[first.end() : first.end() + 20]
    ):
        places.add(_value(first))
    return places, {_value(match) for match in _SCORE_WITHIN.finditer(text)}


def _once(items: Sequence[Item]) -> list[Item]:
    """Each letter at its first mention; neighbours that are both marked as ties share a place."""
    letters_seen: set[str] = set()
    items_made: list[Item] = []
    before: Item | None = None
    for item in items:
        new_letters = [letter for letter in dict.fromkeys(item.letters) if letter not in letters_seen]
        letters_seen.update(new_letters)
        if new_letters and before is not None and before.tied and item.tied:
            items_made[-1].letters += new_letters
        elif new_letters:
            items_made.append(Item(new_letters, item.numbers, item.remark))
        before = item
    return items_made
