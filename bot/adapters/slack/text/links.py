"""Links of strangers, for Slack: where one begins, and its address in a form that does no harm. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote

HALF = re.compile(r"!?\[[^\[\]\n]{0,300}(?:\](?:\([^\n]{0,2000})?)?\Z")
"""What may yet become a link, as more is written; at most LONGEST characters."""
LONGEST = 2_310
BARE = re.compile(r"https?://[^\s<>`|\[\]\\]+", re.IGNORECASE)
AUTO = re.compile(r"<(https?://[^\s<>`|]+)>", re.IGNORECASE)

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
