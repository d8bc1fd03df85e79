"""Markdown inside a line, made to look on Discord as it was meant, and to mislead nobody there.

Pure. Links keep their words and their address but unfurl nothing; HTML, pictures and spoilers do nothing.
"""

from __future__ import annotations

import re
from html import unescape

from bot.adapters.draft import neutralise, shortened
from bot.adapters.links import LINK, misleads

_TAGS = (
    "a|abbr|b|big|blockquote|center|cite|code|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|hr|i|"
    "iframe|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|script|section|small|span|strike|strong|style|sub|summary|sup|"
    "table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|video|wbr"
)
# Every repetition is bounded or cannot backtrack: the text is a stranger's.
_INLINE = re.compile(
    r"(?P<escape>\\[!-/:-@\[-_{-~])"  # a backslash before any punctuation but the backtick
    r"|(?P<code>(?<!`)`[^`\n]+`(?!`)|(?<!`)``(?!`)[^\n]{1,300}?(?<!`)``(?!`)|(?<!`)`{3,9}(?!`)[^`\n]+`{3,9}(?!`))"
    r"|" + LINK.pattern + r"|(?P<auto><https?://[^\s<>]+>)"
    r"|(?P<bare>https?://[^\s<>`|]+)"
    r"|(?P<marks>\[\d{1,3}\](?: ?\[\d{1,3}\]){0,20})"
    r"|(?P<html><!--[^\n]{0,500}?-->|</?(?:" + _TAGS + r")(?:\s[^<>\n]{0,500})?/?>)"
    r"|(?P<br><br\s{0,9}/?>)"
    r"|(?P<entity>&(?:nbsp|amp|lt|gt|quot|apos|mdash|ndash|hellip|#39);)"
    r"|(?P<pipes>\|\|+)",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"\*\*|~~|`|(?<![\w*])\*(?=[^\s*][^*\n]*\*(?![\w*]))|(?<=[^\s*])\*(?![\w*])")
_MARKUP = re.compile(r"[\\*_~`|\[\]]|^[#>]|<(?=/|id:)")
_CLOSING = ".,;:!?'\"*_~]"
_RUN = "`" * 3


def inline(text: str) -> str:
    """The line as Discord is to have it. Headings, quotes and lists are not its business."""
    if _plain(text):
        return text
    return neutralise(unfenced(_INLINE.sub(_shown, text)))


def unfenced(text: str) -> str:
    """The text without three backticks in a row, which Discord takes for a fence wherever they stand."""
    return re.sub("`(?=``)", "`\u200b", text) if _RUN in text else text


def literal(text: str, most: int = 0) -> str:
    """A document's or a person's words as they stand, in one line: nothing in them is markup.

    Their asterisks of emphasis go, since a book's bold is noise in a quotation. `most` cuts the words.
    """
    words = " ".join(text.replace("**", "").split())
    words = shortened(words, most, size) if most else words
    return neutralise(_LITERAL.sub(lambda found: _address(found[0]) or f"\\{found[0]}", words))


def coded(text: str) -> str:
    """A line of Markdown as plain words for a code block, where markup would show."""
    words = text if _plain(text) else _INLINE.sub(_spoken, text)
    return neutralise(_EMPHASIS.sub("", words).replace("\n", " "))


def size(text: str) -> int:
    """How long Discord may hold the text to be: UTF-16 units, the most of what has been observed.

    Its API counts code points (discord-api-docs, issue 1315), its clients UTF-16. Beyond 10,170 bytes of UTF-8
    in a message's text displays it answers 500 (issue 8554), so 4,000 here are never more than 10,000 bytes.
    """
    if text.isascii():
        return len(text)
    return max(len(text.encode("utf-16-le")) // 2, -(-len(text.encode()) * 2 // 5))


_LITERAL = re.compile(r"https?://[^\s<>`|]+|" + _MARKUP.pattern, re.IGNORECASE)
_SPECIAL = re.compile(r"[\\`\[<&@|]|://")


def _plain(text: str) -> bool:
    return not _SPECIAL.search(text)


def _shown(found: re.Match[str]) -> str:
    whole = found[0]
    match found.lastgroup:
        case "escape" | "auto":
            return whole
        case "code":
            return whole if not whole.startswith(_RUN) else f"`{whole.strip('`').strip()}`"
        case "url" | "title":
            return _link(found["label"], found["url"], (found["title"] or "").rstrip())
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
        case _:  # pipes, of which two would hide what follows
            return "\\|" * len(whole)


def _spoken(found: re.Match[str]) -> str:
    whole = found[0]
    match found.lastgroup:
        case "escape":
            return whole[1:]
        case "code":
            return whole.strip("`")
        case "url" | "title":
            return f"{found['label']} ({found['url']})"
        case "html":
            return ""
        case "br":
            return " "
        case "entity":
            return unescape(whole).replace("\xa0", " ")
        case _:
            return whole


def _address(url: str) -> str:
    """A bare address that unfurls nothing; what closes the sentence is not part of it. "" for no address."""
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
    if not words or misleads(label, url):
        return f"{words} (<{url}>{title})" if words else f"<{url}>{title}"
    return f"[{words}](<{url}>{title})"
