"""A script in other formats: Fountain, Markdown, a scene's page in typewriter layout, and a CSV table of the scenes.

The Fountain written here reads back as the same scenes (`Scene.content`), except for dialogue without a cue, which
Fountain cannot represent. Pure.
"""

from __future__ import annotations

import csv
import re
import textwrap
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import groupby, zip_longest
from typing import Final

from bot.readers.screenplay.elements import LEFT, RIGHT, SPOKEN, UNPRINTED, Element, Kind, literal, plain
from bot.readers.screenplay.fountain import is_cue, is_heading, is_transition
from bot.works.script.model import Script, first_pages, speaker

_TITLE_KEY: Final = re.compile(r"[^\s:：][^:：\n]{0,60}")
_NOTE: Final = re.compile(r"\[(?=\[)")
_MARKS: Final = "!@#=~>."
"""Marks that, at the beginning of a line of action, would turn it into another element."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet would read as a formula."""

WIDTH: Final = 60
"""The width of a line, in characters."""
_FORMATS: Final[dict[Kind, tuple[int, int]]] = {
    "cue": (22, 35),
    "parenthetical": (16, 25),
    "dialogue": (11, 36),
    "lyric": (11, 36),
}
"""The indent and the width of each kind of element; all others begin at the left and have WIDTH."""
_COLUMN_WIDTH: Final = 28
"""The width of one column of a dual dialogue."""


def fountain(script: Script) -> str:
    """The whole script, including its notes and synopses."""
    blocks = [_title_page(script)] if script.title_page or script.title else []
    elements = [*script.opening, *(element for scene in script.scenes for element in scene.elements)]
    speech: list[str] = []
    for at, element in enumerate(elements):
        in_speech = element.kind in SPOKEN
        if speech and (in_speech or (element.kind == "note" and _speech_continues(elements, at))):
            speech += _speech_lines(element)
            continue
        if speech:
            blocks.append("\n".join(speech))
            speech = []
        if element.kind == "cue":
            follows = at + 1 < len(elements) and elements[at + 1].kind in SPOKEN
            speech = [_cue(element, followed=follows)]
        elif text := "\n".join(_fountain_lines(element)):
            blocks.append(text)
    if speech:
        blocks.append("\n".join(speech))
    return "\n\n".join(blocks) + "\n"


def _speech_continues(elements: list[Element], at: int) -> bool:
    """Whether the speech continues after the notes at this index."""
    while at < len(elements) and elements[at].kind == "note":
        at += 1
    return at < len(elements) and elements[at].kind in SPOKEN


def _title_page(script: Script) -> str:
    lines: list[str] = []
    for key, text in script.title_page or (("Title", script.title),):
        if _TITLE_KEY.fullmatch(key):
            first, *more_lines = _safe(text).split("\n")
            lines += [f"{key}: {first}".rstrip(), *(f"    {line}" for line in more_lines)]
    return "\n".join(lines)


def _cue(element: Element, *, followed: bool) -> str:
    name = " ".join(_safe(element.text).split())
    unmarked = followed and is_cue(name) and name[:1] not in _MARKS and not is_heading(name)
    # Many programs recognise a cue only by its capitals: if the script has no case, they need the mark.
    unmarked = unmarked and any(map(str.isupper, speaker(name)[0]))
    return f"{'' if unmarked else '@'}{name}{' ^' if element.dual == RIGHT else ''}"


def _speech_lines(element: Element) -> list[str]:
    lines = _safe(element.text).split("\n")
    if element.kind == "note":
        return [f"[[{' '.join(element.text.split())}]]"]
    if element.kind == "lyric":
        return [f"~{line}" for line in lines]
    if element.kind == "parenthetical":
        words = " ".join(lines)
        return [words if words[:1] in "(（" and words[-1:] in ")）" else f"({words})"]
    return lines


def _fountain_lines(element: Element) -> Iterator[str]:
    """Lines for an element outside a speech."""
    lines = _safe(element.text).split("\n")
    line = " ".join(lines)
    match element.kind:
        case "heading":
            number = f" #{element.number}#" if element.number else ""
            yield f"{'' if is_heading(line) else '.'}{line}{number}"
        case "transition":
            yield line if is_transition(line) and not is_heading(line) else f">{line}"
        case "centered":
            yield from (f">{each}<" for each in lines)
        case "shot":
            yield f"!!{line}"
        case "lyric":
            yield from (f"~{each}" for each in lines)
        case "section":
            yield f"{'#' * max(1, element.level)} {line}"
        case "synopsis":
            yield f"= {line}"
        case "note":
            yield f"[[{element.text}]]"
        case "page_break":
            yield "==="
        case _:
            yield from (_action(each, first=not at) for at, each in enumerate(lines))


def _action(line: str, *, first: bool) -> str:
    if line.startswith("!"):
        return f"! {line}"
    if line[:1] in _MARKS or (
        first and (is_heading(line) or is_cue(line.removesuffix("^").rstrip()) or is_transition(line))
    ):
        return f"!{line}"
    return line


def _safe(text: str) -> str:
    """The text with the marks of notes and boneyards escaped."""
    safe = _escaped(text)
    return safe if plain(safe) == plain(text) else _escaped(literal(plain(text)))


def _escaped(text: str) -> str:
    return _NOTE.sub(r"[\\", text).replace("/*", "/\\*")


def markdown(script: Script) -> str:
    """The printed parts, for people to read: a heading for each scene, cues in bold, speech indented."""
    blocks = [f"# {_one_line(script.title)}"] if script.title else []
    blocks += [
        f"{key}: {_one_line(plain(text))}" for key, text in script.title_page if key.casefold() != "title"
    ]
    blocks += [text for element in script.opening if (text := _markdown_block(element, ""))]
    for scene in script.scenes:
        blocks += [text for element in scene.elements if (text := _markdown_block(element, scene.label))]
    return "\n\n".join(blocks) + "\n"


def _markdown_block(element: Element, label: str) -> str:
    words = element.text
    match element.kind:
        case "note" | "synopsis":
            return ""
        case "section":
            return f"{'#' * min(element.level, 1)} {_one_line(words)}"
        case "heading":
            return f"## {label}. {_one_line(words)}"
        case "cue":
            return f"**{_one_line(plain(words))}**"
        case "page_break":
            return "---"
        case _ if element.kind in SPOKEN:
            return "\n".join(f"> {line}" for line in words.split("\n"))
        case _:
            return re.sub(r"^(?=[#>~=]|[-+*] |\d+[.)] )", r"\\", words, flags=re.MULTILINE)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def scenes_csv(script: Script) -> str:
    """One row for each scene; in UTF-8 with a byte order mark, since spreadsheets would guess otherwise."""
    out = StringIO()
    rows = csv.writer(out)
    rows.writerow((
        "number", "label", "heading", "setting", "place", "time", "page", "eighths", "counted", "characters",
        "dialogue_words", "action_words", "dual",
    ))  # fmt: skip
    for scene, page in zip(script.scenes, first_pages(script.scenes), strict=True):
        heading = scene.heading
        cells = (
            scene.number, scene.label, heading.text, heading.setting, heading.place, heading.time, page,
            scene.eighths, "yes" if scene.counted else "no", ", ".join(scene.characters), scene.dialogue_words,
            scene.action_words, scene.dual,
        )  # fmt: skip
        rows.writerow([_cell(cell) for cell in cells])
    return "\ufeff" + out.getvalue()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def page(elements: Iterable[Element]) -> str:
    """The printed parts of the elements, with empty lines between paragraphs."""
    blocks: list[list[str]] = []
    left_column: list[list[Element]] = []
    for dual, group in groupby(
        _speeches(elements), lambda speech: speech[0].kind == "cue" and speech[0].dual
    ):
        speeches = list(group)
        if left_column:
            blocks += _columns(left_column, speeches if dual == RIGHT else [])
            left_column = []
            if dual == RIGHT:
                continue
        if dual == LEFT:
            left_column = speeches
        else:
            blocks += map(_speech_page, speeches)
    blocks += _columns(left_column, [])
    return "\n\n".join("\n".join(block) for block in blocks)


def _speeches(elements: Iterable[Element]) -> Iterator[list[Element]]:
    """The printed elements in groups: each cue with its speech, other elements alone."""
    speech: list[Element] = []
    for element in elements:
        if element.kind in UNPRINTED or element.kind == "page_break":
            continue
        if element.kind not in SPOKEN and speech:
            yield speech
            speech = []
        speech.append(element)
    if speech:
        yield speech


def _speech_page(speech: Iterable[Element]) -> list[str]:
    lines: list[str] = []
    for element in speech:
        indent, width = _FORMATS.get(element.kind, (0, WIDTH))
        words = plain(element.text)
        if element.kind == "heading":
            words = words.upper()
        wrapped = _wrapped(words, width)
        if element.kind == "transition":
            lines += [line.rjust(WIDTH) for line in wrapped]
        elif element.kind == "centered":
            lines += [line.center(WIDTH).rstrip() for line in wrapped]
        else:
            lines += [" " * indent + line for line in wrapped]
    return lines


def _columns(left_column: list[list[Element]], right: list[list[Element]]) -> list[list[str]]:
    """Dual dialogue: each speech of the left column beside the one of the right."""
    rows: list[list[str]] = []
    no_speech: list[Element] = []
    for pair in zip_longest(left_column, right, fillvalue=no_speech):
        columns = [[line for element in speech for line in _column_lines(element)] for speech in pair]
        rows.append(
            [
                f"{first:<{_COLUMN_WIDTH + 4}}{second}".rstrip()
                for first, second in zip_longest(*columns, fillvalue="")
            ]
        )
    return rows


def _column_lines(element: Element) -> list[str]:
    lines = _wrapped(plain(element.text), _COLUMN_WIDTH)
    return [line.center(_COLUMN_WIDTH).rstrip() for line in lines] if element.kind == "cue" else lines


def _wrapped(words: str, width: int) -> list[str]:
    return [line for paragraph in words.split("\n") for line in (textwrap.wrap(paragraph, width) or [""])]
