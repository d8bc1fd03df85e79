"""A line of a stranger's Markdown, taken apart and made to call and mislead nobody on Slack. Pure.

What comes out keeps three promises, whatever goes in: backticks stand only around code of one line, `](` only in
links that have been looked at, and `<` begins neither a mention nor a tag nor a link of Slack's own kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from urllib.parse import quote

from bot.adapters.markdown import LINK, clean, is_misleading

BROKEN = "\u200b"
"""Stands where a construct is to fall apart; nobody sees it."""
GRAVE = "\u02cb"
"""Stands for a backtick that would open or end code it does not belong to."""

_SOLID = 600
"""Characters of code or a link that is not cut."""

_NEXT = re.compile(r"[\\`\[\]<&@!]|https?://", re.IGNORECASE)
_TICKS = re.compile(r"`+")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LOUD = re.compile(r"@(?=everyone|here|channel)", re.IGNORECASE)
_TAME = re.compile(r"[\s\d=<-]|\Z")
"""What after a `<` makes it a sign of comparison."""
_CALL = re.compile(
    r"<(?=!(?:channel|here|everyone|group|subteam|date)|(?-i:@[UWB][A-Z0-9]|#[CGD][A-Z0-9])"
    r"|(?:https?|mailto|tel|slack):[^<>\s]*\|)|&(?=(?:amp;)*(?:lt|#0*60|#x0*3c);[!@#])"
    r"|&(?=(?:amp;)*(?:#0*64|#x0*40|commat);(?:everyone|here|channel))|" + _LOUD.pattern,
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"\*\*|~~|`|(?<![\w*])\*(?=[^\s*][^*\n]*\*(?![\w*]))|(?<=[^\s*])\*(?![\w*])")
_MARKUP = re.compile(r"[\\*]|(?<!\w)_|_(?!\w)|~(?=~)|(?<=~)~|^[#>+-]|(?<=^\d)[.)](?=\s)|(?<=^\d\d)[.)](?=\s)")
_HALF = re.compile(r"!?\[[^\[\]\n]{0,300}(?:\](?:\([^\n]{0,2000})?)?\Z")
"""What may yet become a link, as more is written; at most _LONGEST characters."""
_LONGEST = 2_310
_BARE = re.compile(r"https?://[^\s<>`|\[\]\\]+", re.IGNORECASE)
_AUTO = re.compile(r"<(https?://[^\s<>`|]+)>", re.IGNORECASE)
_LIKE_ENTITY = re.compile(r"&(#?\w{1,31});")


def size(text: str) -> int:
    """UTF-16 units: Slack does not say how it counts, and this is the most of what it may."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cost(text: str) -> int:
    """How long a Markdown text can become as mrkdwn, where & < > are escaped; never less than its own size."""
    return size(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


@dataclass(frozen=True, slots=True)
class Atom:
    """`solid`: it stays together, though there may be blanks in it."""

    text: str
    solid: bool = False


def inline(line: str) -> str:
    """One line as a `markdown` block may have it. Headings, quotes and lists are not its business."""
    return "".join(one.text for one in atoms(line))


def atoms(line: str, *, whole: bool = True) -> list[Atom]:
    """The line's parts. Of one that is not `whole` they end before what the rest of it may yet change.

    The last word of such a line may still grow.
    """
    found: list[Atom] = []
    at = start = 0
    while mark := _NEXT.search(line, at):
        here = mark.start()
        made = _special(line, here, mark[0], whole)
        if made is None:
            line = line[:here]
            break
        shown, at = made
        if shown is None:
            continue
        if here > start:
            found.append(Atom(line[start:here]))
        found += shown
        start = at
    if line[start:]:
        found.append(Atom(line[start:]))
    return found


def words(text: str) -> str:
    """A person's or a document's words as they stand, in one line of Markdown: nothing in them is markup."""
    line = _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(clean(text).split()))
    line = line.replace("`", GRAVE)
    line = re.sub(r"\](?=[(\[:])", "]" + BROKEN, line)
    line = re.sub(r"<(?![\s\d=<-]|\Z)", "<" + BROKEN, line)
    line = re.sub(r"&(?=#?\w+;)", "&" + BROKEN, line)
    return _LOUD.sub("@" + BROKEN, line)


def coded(text: str) -> str:
    """Words for inside of code, where Slack may look for mentions all the same."""
    return _CALL.sub(lambda found: found[0] + BROKEN, text.replace("```", "`" + BROKEN + "``"))


def cell_text(text: str) -> str:
    """A line of Markdown as plain words for a table's cell in code, where markup would show."""
    said = re.sub(r"<br\s{0,9}/?>", " ", text, flags=re.IGNORECASE)
    said = LINK.sub(lambda found: f"{found['label']} ({found['url']})", said)
    said = _EMPHASIS.sub("", re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", unescape(said)))
    return coded(" ".join(clean(said).split()))


_Made = tuple[list[Atom] | None, int] | None
"""What is shown and where it ends; no atoms for what stays as it is; None for what is not whole yet."""


def _special(line: str, at: int, mark: str, whole: bool) -> _Made:
    match mark:
        case "\\":
            return _escaped(line, at)
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
            found = _BARE.match(line, at)
            if found is None:
                return None, at + len(mark)
            return _cut(_address(found[0])), found.end()


def _broken(char: str, at: int) -> _Made:
    return [Atom(char + BROKEN)], at + 1


def _escaped(line: str, at: int) -> _Made:
    following = line[at + 1 : at + 2]
    if following == "`":
        return [Atom(GRAVE)], at + 2
    # What calls somebody does so behind a backslash, too; what opens a link does not.
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
            parts = (code[one : one + _SOLID] for one in range(0, len(code), _SOLID))
            return [Atom(f"`{one}`", True) for one in parts], closed.end()
    if not whole:
        return None
    return [Atom(GRAVE * len(opened[0]))], opened.end()


def _link(line: str, at: int, whole: bool) -> _Made:
    found = LINK.match(line, at)
    if found is None:
        if not whole and len(line) - at <= _LONGEST and _HALF.match(line, at):
            return None
        return None, at + 1
    label, url = found["label"].strip(), found["url"]
    said, goal = inline(label), _target(url)
    if goal and said and not is_misleading(label, url) and len(said) + len(goal) <= _SOLID:
        return [Atom(f"[{said}]({goal})", True)], found.end()
    where = _bare(goal) if goal else atoms(url)
    shown = [*atoms(label), Atom(" ("), *where, Atom(")")] if said else where
    return shown, found.end()


def _angle(line: str, at: int) -> _Made:
    if auto := _AUTO.match(line, at):
        return _bare(_target(auto[1])), auto.end()
    return (None, at + 1) if _TAME.match(line, at + 1) else _broken("<", at)


def _entity(line: str, at: int) -> _Made:
    found = _ENTITY.match(line, at)
    if found is None:
        return None, at + 1
    char = unescape(found[0])
    if char == found[0]:
        return _broken("&", at)
    char = " ".join(clean(char).split("\n")).replace("\xa0", " ").replace("`", GRAVE)
    # What somebody has written in so odd a way is to be read, not to be markup.
    ascii_mark = char.isascii() and char not in ("'", '"', " ", "")
    return [Atom(BROKEN + char + BROKEN if ascii_mark else char)], found.end()


def _bare(goal: str) -> list[Atom]:
    """An address that is its own label."""
    return [Atom(f"<{goal}>", True)] if len(goal) <= _SOLID else _cut(goal)


def _cut(text: str) -> list[Atom]:
    return [Atom(text[one : one + _SOLID], True) for one in range(0, len(text), _SOLID)]


def _address(url: str) -> str:
    """The address in a form in which nothing of it is taken for a mention or an entity."""
    return _LIKE_ENTITY.sub(r"&\1%3B", _LOUD.sub("%40", url))


def _target(url: str) -> str:
    """The address as it stands between a link's parentheses, none of which it may close; "" if it leads nowhere."""
    if not url.lower().startswith(("http://", "https://")):
        return ""
    return re.sub(r"[()`|\\\[\]]", lambda found: quote(found[0], safe=""), _address(url))
