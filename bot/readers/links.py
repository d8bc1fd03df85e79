"""The authors' own references between sections: "see X", "ver X", "[text](#anchor)".

Similarity finds fewer than half of these, so they are read as written. Knows no other document.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from bot.readers.document import Link, Section

_MARKDOWN = re.compile(r"(?<!!)\[[^\]\n]{1,200}\]\(([^)\s]{1,300})(?:\s+\"[^\"\n]*\")?\)")
_WIKI = re.compile(r"\[\[([^\]|\n]{1,120})(?:\|[^\]\n]*)?\]\]")
_SEE = re.compile(
    r"\b(?:[Ss]ee(?: also)?|[Vv]e(?:r|ja)(?: também)?|[Cc]onsulte|[Vv]éase(?: también)?)[:\s]+"
    r"(?:the |o |a |os |as )?(?:[“\"«](?P<quoted>[^“”\"«»\n]{2,80})[”\"»]"
    r"|(?P<mark>\*{1,3}|_)(?P<marked>[^*_\n]{2,80})(?P=mark))"
)
_SEE_BARE = re.compile(
    r"\b(?:[Ss]ee(?: also)?|[Vv]e(?:r|ja)(?: também)?|[Vv]éase(?: también)?)[*_]*[:\s]\s*[*_]*"
    r"(?P<list>[^.;:()\n]{2,200})"
)
_BETWEEN = re.compile(r",\s*(?:and |or |e |ou |y |o )?|\s(?:and|or|e|ou|y)\s")
_ARTICLES = {"see": ("the",), "ver": ("o", "a", "os", "as", "el", "la", "los", "las")}
_TITLE_WORDS = 8


def links(text: str, sections: tuple[Section, ...]) -> tuple[Link, ...]:
    """Every reference in `text`, in order, each once per section.

    A target is a title as written, or "#anchor" / "file.md#anchor" as a link has it; links out to the web
    are left out.
    """
    starts = [section.start for section in sections]
    found: list[tuple[int, str]] = []
    for match in _MARKDOWN.finditer(text):
        target = match.group(1)
        if "://" not in target and not target.startswith(("mailto:", "/")):
            found.append((match.start(), target))
    found.extend((match.start(), match.group(1).strip()) for match in _WIKI.finditer(text))
    for match in _SEE.finditer(text):
        target = (match.group("quoted") or match.group("marked")).strip(" .,;:")
        if target:
            found.append((match.start(), target))
    titles = {_plain(section.title): section.title for section in sections if section.title}
    for match in _SEE_BARE.finditer(text):
        articles = _ARTICLES["see" if match[0][0] in "Ss" else "ver"]
        named = (_named(part, titles, articles) for part in _BETWEEN.split(match["list"]))
        found.extend((match.start(), title) for title in named if title)
    found.sort()
    places = ((max(0, bisect_right(starts, at) - 1), target) for at, target in found)
    return tuple(Link(section, target) for section, target in dict.fromkeys(places))


def _named(part: str, titles: dict[str, str], articles: tuple[str, ...]) -> str | None:
    """The longest title that `part` begins with: words without quotation marks count only when a heading bears them."""
    words = _plain(part).split()[:_TITLE_WORDS]
    words = words[1:] if words and words[0] in articles else words
    tried = (" ".join(words[:length]) for length in range(len(words), 0, -1))
    return next((titles[name] for name in tried if name in titles), None)


def _plain(title: str) -> str:
    return " ".join(re.sub(r"[*_“”\"«»]", "", title.casefold()).split())
