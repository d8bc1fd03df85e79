"""Untrusted words and lines of Markdown, made safe for Slack: no mentions, no misleading links. Pure.

A `markdown` block, a mrkdwn text (https://docs.slack.dev/messaging/formatting-message-text) and a plain_text object
each have their own syntax. All words of a model, a document or a person go through `literal` or `plain`, or through
`markdown.safe`, `mrkdwn` or `line`.

Three invariants hold for each safe line: backticks occur only around one-line code, `](` occurs only in checked links,
and `<` begins neither a mention nor a tag nor a link in Slack's own syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from urllib.parse import quote

from bot.adapters.markdown import LINK, clean, is_misleading, shortened
from bot.markdown import plain as unmarked

BROKEN = "\u200b"
"""An invisible character that breaks up a construct."""
GRAVE = "\u02cb"
"""Replaces a backtick that would accidentally open or close code."""

_SOLID = 600
"""The most characters of code or of a link that is not cut."""

_NEXT = re.compile(r"[\\`\[\]<&@!]|https?://", re.IGNORECASE)
_TICKS = re.compile(r"`+")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LOUD = re.compile(r"@(?=everyone|here|channel)", re.IGNORECASE)
_TAME = re.compile(r"[\s\d=<-]|\Z")
"""The characters after a `<` that make it a sign of comparison."""
_FENCE = re.compile("`(?=``)")
_CALL = re.compile(
    r"<(?=!(?:channel|here|everyone|group|subteam|date)|(?-i:@[UWB][A-Z0-9]|#[CGD][A-Z0-9])"
    r"|(?:https?|mailto|tel|slack):[^<>\s]*\|)|&(?=(?:amp;)*(?:lt|#0*60|#x0*3c);[!@#])"
    r"|&(?=(?:amp;)*(?:#0*64|#x0*40|commat);(?:everyone|here|channel))|" + _LOUD.pattern,
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[\\*]|(?<!\w)_|_(?!\w)|~(?=~)|(?<=~)~|^[#>+-]|(?<=^\d)[.)](?=\s)|(?<=^\d\d)[.)](?=\s)")
_HALF = re.compile(r"!?\[[^\[\]\n]{0,300}(?:\](?:\([^\n]{0,2000})?)?\Z")
"""The beginning of a possible link in a growing text; at most _LONGEST characters."""
_LONGEST = 2_310
_BARE = re.compile(r"https?://[^\s<>`|\[\]\\]+", re.IGNORECASE)
_AUTO = re.compile(r"<(https?://[^\s<>`|]+)>", re.IGNORECASE)
_LIKE_ENTITY = re.compile(r"&(#?\w{1,31});")

_PART = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|\[(?P<label>[^\[\]\n]*)\]\((?P<url>https?://[^\s()<>]+)\)"
    r"|<(?P<auto>https?://[^\s<>]+)>"
    r"|\\(?P<escape>[!-/:-@\[-`{-~])"
    r"|(?P<strong>\*\*|__)|(?P<strike>~~)|(?P<em>(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*]))"
    r"|(?P<control>[&<>])",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6} +")
_QUOTES = re.compile(r"(?:> ?)+")
_ITEM = re.compile(r"^(\s*)- ")
_PLAIN_CALL = re.compile(
    r"(?:@|&(?:amp;)*(?:#0*64|#x0*40|commat);)(?=everyone|here|channel)"
    r"|(?:<|&(?:amp;)*(?:lt|#0*60|#x0*3c);)(?=[@!#])",
    re.IGNORECASE,
)


def size(text: str) -> int:
    """The text's length in UTF-16 units. Slack does not document how it counts; this is the highest possible count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cost(text: str) -> int:
    """The greatest length of a Markdown text as mrkdwn, where & < > are escaped; at least its own size."""
    return size(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


@dataclass(frozen=True, slots=True)
class Atom:
    """A part of a line. `solid`: it is never divided, not even at blanks."""

    text: str
    solid: bool = False


def inline(line: str) -> str:
    """The inline markup of a line for a `markdown` block. The caller handles headings, quotes and lists."""
    return "".join(atom.text for atom in atoms(line))


def atoms(line: str, *, whole: bool = True) -> list[Atom]:
    """The line's parts. Unless the line is `whole`, they end before anything that its rest may still change.

    The last word of such a line may still grow.
    """
    parts: list[Atom] = []
    at = start = 0
    while mark := _NEXT.search(line, at):
        start_of_mark = mark.start()
        special = _special(line, start_of_mark, mark[0], whole)
        if special is None:
            line = line[:start_of_mark]
            break
        made, at = special
        if made is None:
            continue
        if start_of_mark > start:
            parts.append(Atom(line[start:start_of_mark]))
        parts += made
        start = at
    if line[start:]:
        parts.append(Atom(line[start:]))
    return parts


def words(text: str) -> str:
    """The words of a person or a document, escaped, in one line of Markdown."""
    line = _MARKUP.sub(lambda match: f"\\{match[0]}", " ".join(clean(text).split()))
    line = line.replace("`", GRAVE)
    line = re.sub(r"\](?=[(\[:])", "]" + BROKEN, line)
    line = re.sub(r"<(?![\s\d=<-]|\Z)", "<" + BROKEN, line)
    line = re.sub(r"&(?=#?\w+;)", "&" + BROKEN, line)
    return _LOUD.sub("@" + BROKEN, line)


def coded(text: str) -> str:
    """The text for use inside code, where Slack may still find mentions."""
    return _CALL.sub(lambda match: match[0] + BROKEN, _FENCE.sub("`" + BROKEN, text))


def cell_text(text: str) -> str:
    """A line of Markdown as plain words for a table cell in code, which would show the markup."""
    return coded(clean(unmarked(text, addresses=True)))


_Made = tuple[list[Atom] | None, int] | None
"""The atoms of a construct and its end. None in place of the atoms means unchanged text; None alone means that the
construct is not complete yet.
"""


def _special(line: str, at: int, mark: str, whole: bool) -> _Made:
    match mark:
        case "\\":
            return _backslash(line, at)
        case "`":
            return _code(line, at, whole)
        case "[" | "!":
            return _link(line, at, whole)
        case "]":
            return _broken("]", at) if line[at + 1 : at + 2] in ("(", "[", ":") else (None, at + 1)
        case "<":
            return _angle(line, at)
        case "&":
            return _entity(line, at)
        case "@":
            return _broken("@", at) if _LOUD.match(line, at) else (None, at + 1)
        case _:
            address = _BARE.match(line, at)
            if address is None:
                return None, at + len(mark)
            return _cut(_address(address[0])), address.end()


def _broken(char: str, at: int) -> _Made:
    return [Atom(char + BROKEN)], at + 1


def _backslash(line: str, at: int) -> _Made:
    following = line[at + 1 : at + 2]
    if following == "`":
        return [Atom(GRAVE)], at + 2
    # A backslash does not prevent a mention, but it does prevent a link.
    return None, at + (1 if following in ("<", "&", "@", "]") else 2)


def _code(line: str, at: int, whole: bool) -> _Made:
    opened = _TICKS.match(line, at)
    assert opened is not None
    for closed in _TICKS.finditer(line, opened.end()):
        if len(closed[0]) == len(opened[0]):
            if not whole and closed.end() == len(line):
                return None
            code = line[opened.end() : closed.start()].strip().replace("`", GRAVE)
            if not code:
                break
            code = coded(code)
            parts = (code[offset : offset + _SOLID] for offset in range(0, len(code), _SOLID))
            return [Atom(f"`{offset}`", True) for offset in parts], closed.end()
    if not whole:
        return None
    return [Atom(GRAVE * len(opened[0]))], opened.end()


def _link(line: str, at: int, whole: bool) -> _Made:
    match = LINK.match(line, at)
    if match is None:
        if not whole and len(line) - at <= _LONGEST and _HALF.match(line, at):
            return None
        return None, at + 1
    label, url = match["label"].strip(), match["url"]
    shown_label, goal = inline(label), _target(url)
    if goal and shown_label and not is_misleading(label, url) and len(shown_label) + len(goal) <= _SOLID:
        return [Atom(f"[{shown_label}]({goal})", True)], match.end()
    address = _bare(goal) if goal else atoms(url)
    shown = [*atoms(label), Atom(" ("), *address, Atom(")")] if shown_label else address
    return shown, match.end()


def _angle(line: str, at: int) -> _Made:
    if auto := _AUTO.match(line, at):
        return _bare(_target(auto[1])), auto.end()
    return (None, at + 1) if _TAME.match(line, at + 1) else _broken("<", at)


def _entity(line: str, at: int) -> _Made:
    match = _ENTITY.match(line, at)
    if match is None:
        return None, at + 1
    char = unescape(match[0])
    if char == match[0]:
        return _broken("&", at)
    char = " ".join(clean(char).split("\n")).replace("\xa0", " ").replace("`", GRAVE)
    # A mark that is written as an entity is meant as text, not as markup.
    ascii_mark = char.isascii() and char not in ("'", '"', " ", "")
    return [Atom(BROKEN + char + BROKEN if ascii_mark else char)], match.end()


def _bare(goal: str) -> list[Atom]:
    """An address that is its own label."""
    return [Atom(f"<{goal}>", True)] if len(goal) <= _SOLID else _cut(goal)


def _cut(text: str) -> list[Atom]:
    return [Atom(text[offset : offset + _SOLID], True) for offset in range(0, len(text), _SOLID)]


def _address(url: str) -> str:
    """The address, encoded so that no part of it is a mention or an entity."""
    return _LIKE_ENTITY.sub(r"&\1%3B", _LOUD.sub("%40", url))


def _target(url: str) -> str:
    """The address for a link's parentheses, encoded so that it closes none; "" if it is no http(s) address."""
    if not url.lower().startswith(("http://", "https://")):
        return ""
    return re.sub(r"[()`|\\\[\]]", lambda match: quote(match[0], safe=""), _address(url))


def converted(markdown: str) -> str:
    """The safe Markdown as mrkdwn; never longer than `cost` of the Markdown."""
    code, parts = False, []
    for line in markdown.split("\n"):
        if line.startswith("```"):
            code = not code
            parts.append("```")
        else:
            parts.append(escaped(line) if code else _line(line))
    return "\n".join(parts)


def escaped(text: str) -> str:
    """The text with the three control characters of Slack's markup escaped (Slack's documentation, "Escaping text")."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _line(line: str) -> str:
    if quotes := _QUOTES.match(line):
        return "> " * quotes[0].count(">") + _line(line[quotes.end() :])
    if heading := _HEADING.match(line):
        words = _PART.sub(_shown, re.sub(r"\s+#+$", "", line[heading.end() :])).replace("*", "")
        return f"*{words}*" if words.strip() else ""
    return _PART.sub(_shown, _ITEM.sub(r"\1• ", line))


def _shown(part: re.Match[str]) -> str:
    match part.lastgroup:
        case "code" | "control":
            return escaped(part[0])
        case "url":
            label = escaped(part["label"].replace("**", "").replace("|", "¦"))
            return f"<{escaped(part['url'])}|{label}>"
        case "auto":
            return f"<{escaped(part['auto'])}>"
        case "escape":
            mark = part["escape"]
            return mark + BROKEN if mark in "*_~" else escaped(mark)
        case "strong":
            return "*"
        case "strike":
            return "~"
        case _:
            return "_"


def as_mrkdwn(escape: Callable[[str], str], text: str, most: int) -> str:
    """The text, made Markdown by `escape`, as mrkdwn of at most `most` characters if given. It is shortened until it
    fits, because it is not known beforehand how much escaping adds.
    """
    shown = converted(escape(shortened(text, most, size) if most else text))
    room = most
    while most and size(shown) > most and room > 2:
        room = max(min(room * most // size(shown), room - 1), 2)
        shown = converted(escape(shortened(text, room, size)))
    return shown


def literal(text: str, most: int = 0) -> str:
    """Words as a mrkdwn text: escaped, on one line, of at most `most` characters if given.

    Double asterisks are removed, because a book's bold is noise in a quotation.
    """
    return as_mrkdwn(words, " ".join(clean(text).replace("**", "").split()), most)


def plain(text: str, most: int) -> str:
    """Words for a plain_text object, on one line of at most `most` characters."""
    shown = _PLAIN_CALL.sub(lambda match: match[0] + BROKEN, " ".join(clean(text).split()))
    return shortened(shown, most, size)
