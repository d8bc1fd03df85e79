"""Markdown in Discord's format, in pieces that fit a message. Pure; independent of pages and clients.

Discord renders headings up to ###, lists, quotes of one line and code between backticks; no tables, no rules, no ~~~,
no HTML. Untrusted text cannot mention, hide or unfurl anything, nor change the text after it: links keep their label
and address but show no preview; HTML, pictures and spoilers have no effect.
"""

from __future__ import annotations

import re
from html import unescape

from bot.adapters.discord.text.columns import PERHAPS, with_columns_as_code
from bot.adapters.markdown import (
    LINK,
    Kind,
    Piece,
    blocks,
    clean,
    cut,
    fence,
    is_misleading,
    neutralise,
    shortened,
)
from bot.adapters.tables import tables
from bot.markdown import TAGS, plain
from bot.text_cache import GROWING_S, cached

_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:\s+(.*))?$")
_QUOTE = re.compile(r"^\s*(?:>[ \t]*)+(?![=<-])")
_RULE = re.compile(r"^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_ITEM = re.compile(r"^(\s*)(?:[+](?=\s)|(\d{1,9})\)(?=\s))")
_LANGUAGE = re.compile(r"[\w+#.-]{1,20}", re.ASCII)
_OPENING = re.compile(r"^(?=#{1,3} |-# |>|[-*] |\d{1,9}\. )")
_RULED = "─" * 24
_FENCES = re.compile("`(?=``)")
"""A backtick before two more: Discord treats three in a row as a fence anywhere."""
_BROKEN = "`\u200b"
_KEPT = 8_000
ADDED = len("> ")
"""The length of the longest prefix that a piece may get."""


def pieces(markdown: str, limit: int) -> list[Piece]:
    """The text in pieces of at most `limit` units.

    Finished blocks of a growing text are rendered only once.
    """
    text = clean(markdown)
    parsed = blocks(with_columns_as_code(text) if PERHAPS.search(text) else text)
    result: list[Piece] = []
    for at, block in enumerate(parsed):
        source = block.source.rstrip()
        if not source:
            continue
        finished = at + 1 < len(parsed) and len(source) < _KEPT
        texts = (_rendered_once if finished else _rendered)(block.kind, source, limit)
        result += [Piece(part, "\n") for part in texts]
        if texts:
            leads = block.kind == "heading"
            spaced = block.source.count("\n", len(source)) > 1 and not leads
            result[-1] = Piece(texts[-1], "\n\n" if spaced else "\n", leads)
    return result


def hidden(text: str, limit: int) -> list[Piece]:
    """Lines of plain text as pieces that Discord hides until a reader opens each one."""
    lines = [line for line in clean(text).splitlines() if line.strip()]
    # An escaped character takes two units; a piece is not divided further.
    return [
        Piece(f"||{literal(part)}||", "\n")
        for line in lines
        for part in cut(line, (limit - len("||||")) // 2, size)
        if part.strip()
    ]


def _rendered(kind: Kind, source: str, limit: int) -> tuple[str, ...]:
    match kind:
        case "fence":
            marker, code = _fenced(source)
            shown = [*([marker] if marker else []), *cut(code, limit, size)]
        case "table":
            parts = tables(source, limit - ADDED, size, code=coded, prose=inline)
            shown = [piece for part in parts for piece in _cut_lines(part, limit)]
        case _:
            shown = _cut_lines("\n".join(map(_line, source.split("\n"))), limit)
    return tuple(filter(None, map(str.rstrip, shown)))


_rendered_once = cached(2_000_000, seconds=GROWING_S)(_rendered)


def _fenced(source: str) -> tuple[str, str]:
    """The list marker before the block, and the block in a fence of three backticks, closed if it was open."""
    first, *lines = source.split("\n")
    opened = fence(first)
    if opened is None:
        return "", source
    if lines and opened.closed_by(lines[-1]):
        lines = lines[:-1]
    indent = len(opened.before) - len(opened.before.lstrip(" ")) if not opened.before.strip() else 0
    if ">" in opened.before:
        lines = [re.sub(r"^\s*(?:> ?)+", "", line) for line in lines]
    elif indent:
        lines = [line[indent:] if not line[:indent].strip() else line for line in lines]
    language = _LANGUAGE.match(opened.info)
    info = f"{opened.info}\n" if opened.info and not (language and language[0] == opened.info) else ""
    code = neutralise(_FENCES.sub(_BROKEN, info + "\n".join(lines)))
    marker = opened.before.replace(">", " ").strip()
    return marker, f"```{language[0] if language and not info else ''}\n{code or ' '}\n```"


def _line(line: str) -> str:
    if _RULE.match(line):
        return _RULED
    if heading := _HEADING.match(line):
        words = inline((heading[2] or "").rstrip("# \t"))
        if not words:
            return ""
        return f"{heading[1]} {words}" if len(heading[1]) <= 3 else f"**{words.replace('**', '')}**"
    if quote := _QUOTE.match(line):
        # One mark: Discord does not nest quotes, and three marks would quote everything that follows.
        return "\n".join(f"> {quoted}" for quoted in _line(line[quote.end() :].lstrip("> \t")).split("\n"))
    if item := _ITEM.match(line):
        line = f"{item[1]}{item[2] + '.' if item[2] else '-'}{line[item.end() :]}"
    return inline(line)


def _cut_lines(text: str, limit: int) -> list[str]:
    """The text cut to pieces; each keeps its quote mark and begins with no accidental markup."""
    parts = cut(text, limit - ADDED, size)
    for at in range(1, len(parts)):
        parts[at] = _resumed(parts[at - 1], parts[at])
    return parts


def _resumed(before: str, text: str) -> str:
    if before.endswith("\n"):
        return text
    if before.rsplit("\n", 1)[-1].startswith("> "):
        return "> " + text
    return _OPENING.sub(r"\\", text)


def divided(text: str, room: int) -> tuple[str, str]:
    """Divide a piece longer than `room` in two, the first as long as possible. Code and hidden text are not divided."""
    if text.startswith(("```", "||")):
        return "", text
    head = cut(text, room, size)[0]
    return head.rstrip(), _resumed(head, text[len(head) :])


# Every repetition is bounded or cannot backtrack, because the text is untrusted.
_INLINE = re.compile(
    r"(?P<escape>\\[!-/:-@\[-_{-~])"  # a backslash before any punctuation but the backtick
    r"|(?P<code>(?<!`)`[^`\n]+`(?!`)|(?<!`)``(?!`)[^\n]{1,300}?(?<!`)``(?!`)|(?<!`)`{3,9}(?!`)[^`\n]+`{3,9}(?!`))"
    r"|" + LINK.pattern + r"|(?P<auto><https?://[^\s<>]+>)"
    r"|(?P<bare>https?://[^\s<>`|]+)"
    r"|(?P<marks>\[\d{1,3}\](?: ?\[\d{1,3}\]){0,20})"
    r"|(?P<br><br\s{0,9}/?>)"
    r"|(?P<html><!--[^\n]{0,500}?-->|</?(?:" + TAGS + r")(?:\s[^<>\n]{0,500})?/?>)"
    r"|(?P<entity>&(?:nbsp|amp|lt|gt|quot|apos|mdash|ndash|hellip|#39);)"
    r"|(?P<pipes>\|\|+)",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[\\*_~`|\[\]]|^[#>]|<(?=/|id:)")
_CLOSING = ".,;:!?'\"*_~]"
_RUN = "`" * 3


def inline(text: str) -> str:
    """The inline markup of a line in Discord's format. The caller handles headings, quotes and lists."""
    if not _SPECIAL.search(text):
        return text
    return neutralise(_FENCES.sub(_BROKEN, _INLINE.sub(_shown, text)))


def literal(text: str, most: int = 0) -> str:
    """The words of a document or a person, escaped, on one line.

    Double asterisks are removed, because a book's bold is noise in a quotation. `most` cuts the words.
    """
    words = " ".join(text.replace("**", "").split())
    words = shortened(words, most, size) if most else words
    return neutralise(_LITERAL.sub(lambda match: _address(match[0]) or f"\\{match[0]}", words))


@cached(500_000, seconds=GROWING_S)
def coded(text: str) -> str:
    """A line of Markdown as plain words for a code block, which would show the markup."""
    return neutralise(_FENCES.sub(_BROKEN, plain(text, addresses=True)))


def size(text: str) -> int:
    """The greatest length that Discord may count for the text: UTF-16 units, or a share of its bytes.

    Discord's API counts code points (discord-api-docs, issue 1315), its clients UTF-16. It answers 500 to more than
    10,170 bytes of UTF-8 in a message's text displays (issue 8554), so 4,000 units here never exceed 10,000 bytes.
    """
    if text.isascii():
        return len(text)
    return max(len(text.encode("utf-16-le")) // 2, -(-len(text.encode()) * 2 // 5))


_LITERAL = re.compile(r"https?://[^\s<>`|]+|" + _MARKUP.pattern, re.IGNORECASE)
_SPECIAL = re.compile(r"[\\`\[<&@|]|://")


def _shown(match: re.Match[str]) -> str:
    whole = match[0]
    match match.lastgroup:
        case "escape" | "auto":
            return whole
        case "code":
            return whole if not whole.startswith(_RUN) else f"`{whole.strip('`').strip()}`"
        case "url" | "title":
            return _link(match["label"], match["url"], (match["title"] or "").rstrip())
        case "bare":
            return _address(whole)
        case "marks":
            return f"`{whole}`"
        case "html":
            return ""
        case "br":
            return "\n"
        case "entity":
            return unescape(whole).replace("\xa0", " ")
        case _:  # pipes, two of which would hide the text after them
            return "\\|" * len(whole)


def _address(url: str) -> str:
    """A bare address without a preview and without the sentence's closing marks; "" if it is no address."""
    if "://" not in url:
        return ""
    address = url.rstrip(_CLOSING)
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(_CLOSING)
    return f"<{address}>{url[len(address) :]}"


def _link(label: str, url: str, title: str) -> str:
    words = _INLINE.sub(_shown, label).strip()
    if not url.lower().startswith(("http://", "https://")):
        return f"{words} ({url}{title})" if words else f"({url}{title})"
    if not words or is_misleading(label, url):
        return f"{words} (<{url}>{title})" if words else f"<{url}>{title}"
    return f"[{words}](<{url}>{title})"
