"""Links in a stranger's Markdown, and whether the words of one lead where they seem to. Pure; knows no platform."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import urlsplit

LINK = re.compile(
    # Every repetition is bounded or cannot backtrack: the text is a stranger's.
    r"!?\[(?P<label>[^\[\]\n]{0,300})\]\(\s{0,9}<?(?P<url>[^\s<>()]{1,1000}(?:\([^\s<>()]{0,300}\)[^\s<>()]{0,300})?)"
    r">?(?P<title>\s{1,9}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?\s{0,9}\)"
)

_HOST = re.compile(r"(?:[\w-]{1,63}\.){1,8}[^\W\d]{2,63}")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u00ad"), None)


def misleads(label: str, url: str) -> bool:
    """Whether the label reads as one address, or as a citation, and the link leads to another place."""
    said = unicodedata.normalize("NFKC", label.translate(_INVISIBLE)).lower()
    if said.strip("[]() ").isdigit():
        return True
    try:
        host = (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return True
    return any(one[0].removeprefix("www.") != host for one in _HOST.finditer(said)) or (
        "://" in said and host not in said
    )
