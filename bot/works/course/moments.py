"""Makes addresses that start a recording where a quotation is said, from the times in its transcript.

Pure. Times are at the beginnings of lines: `[12:34] …`, as in captions and as people write them.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

TIME: Final = re.compile(
    r"^[ \t>*_-]*[\[(]?(?:(\d{1,2}):)?(\d{1,2}):(\d{2})(?:[.,]\d{1,3})?[\])]?(?=[\s*_:–—-]|$)", re.MULTILINE
)
_YOUTUBE: Final = ("youtube.com", "youtu.be", "youtube-nocookie.com")
_VIMEO: Final = ("vimeo.com", "player.vimeo.com")
_MEDIA: Final = (".mp4", ".m4v", ".webm", ".mov", ".ogv", ".mp3", ".m4a", ".ogg", ".oga", ".wav")


def at_moment(link: str, text: str, quote: str) -> str:
    """The address of a recording, starting where `quote` is said in `text`; any other address unchanged."""
    if (seconds := _second_of(text, quote)) is None:
        return link
    parts = urlsplit(link)
    host = (parts.hostname or "").removeprefix("www.").removeprefix("m.").removeprefix("music.")
    if host in _YOUTUBE:
        parameters = [(name, value) for name, value in parse_qsl(parts.query) if name not in ("t", "start")]
        start = "start" if parts.path.startswith("/embed/") else "t"
        return urlunsplit(parts._replace(query=urlencode([*parameters, (start, str(seconds))])))
    if host in _VIMEO or parts.path.lower().endswith(_MEDIA):
        return urlunsplit(parts._replace(fragment=f"t={seconds}s" if host in _VIMEO else f"t={seconds}"))
    return link


def _second_of(text: str, quote: str) -> int | None:
    """The second at which a quotation is said: the last time before it, or else the first time in it.

    If the text does not contain the quotation, the first time in the text; None without times.
    """
    times = list(TIME.finditer(text))
    words = quote.split()
    if not times or not words:
        return None
    match = re.search(r"\s+".join(map(re.escape, words[:40])), text)
    if match is None:
        moment = times[0]
    else:
        earlier = [time for time in times if time.start() <= match.start()]
        within = [time for time in times if match.start() < time.start() < match.end()]
        if not (nearest := earlier[-1:] or within[:1]):
            return None
        moment = nearest[0]
    hours, minutes, seconds = moment.groups()
    return 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds)
