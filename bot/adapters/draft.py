"""Markdown made fit for a platform: free of control codes and mentions, cut at a length.

Pure: no I/O, no platform. The limits are the caller's.
"""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    "(?:\x1b\\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"  # OSC, such as a window title or a link
    "|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\\\|\x9c)"  # DCS, SOS, PM, APC
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI, such as a colour or a cursor movement (ECMA-48, 5.4)
    "|\x1b[ -/]*[0-~]"
)
# C0 but tab and newline, DEL, C1, bidirectional embeddings, overrides and isolates (UAX 9), BOM.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MENTION = re.compile(r"@(?=everyone\b|here\b|channel\b)|<(?=[@!#])", re.IGNORECASE)
_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})([^\n]*)$")
_BROKEN = "\u200b"


def clean(text: str) -> str:
    """The text without what could steer a terminal or turn its reading direction; line ends as \\n."""
    text = text.replace("\r\n", "\n")
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", _SEQUENCE.sub("", text)))


def neutralise(text: str) -> str:
    """The text with @everyone, <@…>, <!channel> and their like made words that call nobody."""
    return _MENTION.sub(lambda found: found[0] + _BROKEN, text)


def split(markdown: str, limit: int) -> list[str]:
    """Parts of at most `limit` characters, in order, cut where it hurts least.

    Between paragraphs rather than inside one, between lines rather than inside one; fenced code,
    lists and tables stay whole while they fit. A fence that must be cut is closed and opened again.
    Raises ValueError for a limit too small to hold a reopened fence.
    """
    if limit < 40:
        raise ValueError("a limit below 40 characters leaves no room for a fence")
    parts: list[str] = []
    part = ""
    for block in _blocks(markdown):
        if len(part) + len(block) <= limit:
            part += block
            continue
        if len(block.strip("\n")) <= limit:
            parts.append(part)
            part = block.lstrip("\n") if len(block) > limit else block
            part = part[:limit]
            continue
        # Too long to stay whole wherever it goes, so it may as well begin here.
        parts.append(part)
        *full, part = _cut(block, limit)
        parts += full
    parts.append(part)
    return [shown for one in parts if (shown := one.strip("\n")).strip()]


def _blocks(markdown: str) -> list[str]:
    """What should stay together, with the blank lines after it: paragraphs, lists, tables, fences."""
    blocks: list[str] = []
    fence, was_list, blank = "", False, True
    for line in markdown.splitlines(keepends=True):
        bare = line.rstrip("\n")
        if fence:
            blocks[-1] += line
            fence = "" if _closes(bare, fence) else fence
            continue
        item = _in_list(bare, was_list)
        opened = _FENCE.match(bare)
        joins = bool(blocks) and (not bare.strip() or (not blank and not opened) or (was_list and item))
        if joins:
            blocks[-1] += line
        else:
            blocks.append(line)
        fence = opened[2] if opened else ""
        was_list = item if bare.strip() else was_list
        blank = not bare.strip()
    return blocks


def _in_list(line: str, was_list: bool) -> bool:
    return bool(re.match(r"\s*([-*+]|\d{1,9}[.)])\s", line)) or (was_list and line.startswith("  "))


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and bare == fence[0] * len(bare)


def _cut(block: str, limit: int) -> list[str]:
    """A block that no part can hold whole, by lines, then words, then characters."""
    lines = block.splitlines(keepends=True)
    opened = _FENCE.match(lines[0].rstrip("\n"))
    head, foot = "", ""
    if opened and len(lines[0]) + len(opened[2]) + 20 <= limit:
        head, foot = lines[0], opened[2]
        if _closes(lines[-1].rstrip("\n"), opened[2]):
            lines = lines[:-1]
        lines = lines[1:]
    elif not opened and len(lines) > 2 and re.match(r"\s*\|?[\s:|-]*-{2,}[\s:|-]*$", lines[1]):
        head = "".join(lines[:2])  # a table's header is repeated, or its rows mean nothing
        if len(head) * 2 > limit:
            head = ""
        lines = lines[2:] if head else lines
    room = limit - len(head) - len(foot) - 1
    parts, body = [], ""
    for line in lines:
        for piece in _pieces(line, room):
            if body and len(body) + len(piece) > room:
                parts.append(body)
                body = ""
            body += piece
    parts.append(body)
    return [head + (one if not foot or one.endswith("\n") else one + "\n") + foot for one in parts]


def _pieces(line: str, room: int) -> list[str]:
    """A line in pieces of at most `room`, cut after a space where there is one."""
    pieces = []
    while len(line) > room:
        at = line.rfind(" ", 0, room) + 1 or room
        pieces.append(line[:at])
        line = line[at:]
    return [*pieces, line]
