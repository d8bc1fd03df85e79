"""Links of strangers, for Slack: whether the words of one lead where they seem to. Pure."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, urlsplit

LINK = re.compile(
    # Every repetition is bounded or cannot backtrack: the text is a stranger's.
    r"!?\[(?P<label>[^\[\]\n]{0,300})\]\(\s{0,9}<?(?P<url>[^\s<>()]{1,1000}(?:\([^\s<>()]{0,300}\)[^\s<>()]{0,300})?)"
    r">?(?:\s{1,9}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?\s{0,9}\)"
)
HALF = re.compile(r"!?\[[^\[\]\n]{0,300}(?:\](?:\([^\n]{0,2000})?)?\Z")
"""What may yet become a link, as more is written; at most LONGEST characters."""
LONGEST = 2_310
BARE = re.compile(r"https?://[^\s<>`|\[\]\\]+", re.IGNORECASE)
AUTO = re.compile(r"<(https?://[^\s<>`|]+)>", re.IGNORECASE)

_HOST = re.compile(r"(?:[\w-]{1,63}\.){1,8}[^\W\d]{2,63}")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u00ad"), None)
_LOUD = re.compile(r"@(?=everyone|here|channel)", re.IGNORECASE)
_ENTITY = re.compile(r"&(#?\w{1,31});")
_WEB = ("http://", "https://")


def address(url: str) -> str:
    """The address in a form in which nothing of it is taken for a mention or an entity."""
    return _ENTITY.sub(r"&\1%3B", _LOUD.sub("%40", url))


def target(url: str) -> str:
    """The address as it stands between a link's parentheses, none of which it may close; "" if it leads nowhere."""
    if not url.lower().startswith(_WEB):
        return ""
    return re.sub(r"[()`|\\\[\]]", lambda found: quote(found[0], safe=""), address(url))


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
