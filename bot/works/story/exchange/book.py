"""A story as a book in Markdown or EPUB: its characters, and its chapters with the players' actions and the scenes.

An EPUB 3.3 (W3C) is a zip with a package document, a table of contents and a page for each chapter. It is written by
hand, since the libraries that write EPUB are under the AGPL or write files that `epubcheck` rejects. Blocking: the
cover takes half a second the first time.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Final
from uuid import NAMESPACE_OID, uuid5

from bot.drawing import COLOURS, PAPER, alone
from bot.works.story.world import state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it import MarkdownIt

    from bot.words import Words
    from bot.works.story.log.story import Story
    from bot.works.story.log.turn import Turn
    from storage.stories import StoryRow

_MADE: Final = (1980, 1, 1, 0, 0, 0)
"""The time of each file in the zip, fixed so that the same book gives the same bytes."""
_UNFIT: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow (XML 1.0, 2.2)."""
_MARKUP: Final = (
    "blockquote", "heading", "hr", "emphasis", "strikethrough", "backticks", "escape", "entity", "newline",
)  # fmt: skip
"""The Markdown with which scenes are read. Without lists, since in many languages a dash begins a line of speech."""
_STYLE: Final = """body { font-family: serif; line-height: 1.5; margin: 1em; }
h1, h2 { font-family: sans-serif; font-weight: normal; }
blockquote { margin: 1em 0; padding-left: 1em; border-left: 3px solid #b0aca2; font-style: italic; }
.cover { margin: 0; text-align: center; }
.cover img { max-width: 100%; max-height: 100%; }
.premise { font-style: italic; }
"""
_OPS: Final = "http://www.idpf.org/2007/ops"
_CONTAINER: Final = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
"""

SCENES: Final = 50
"""The maximum number of scenes in a part without a chapter's title: readers are slow with more at once."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A turn: who did what ("" for nothing), and the scene that followed, told by `speaker` or the narrator ("")."""

    who: str
    act: str
    speaker: str
    scene: str


@dataclass(frozen=True, slots=True)
class BookChapter:
    title: str
    passages: list[Passage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Book:
    """A book. Each entry of `cast` is a name, a description, and the player's name, "" for none."""

    id: str
    title: str
    premise: str
    players: list[str]
    cast: list[tuple[str, str, str]]
    chapters: list[BookChapter]
    changed: datetime


def book_of(row: StoryRow, story: Story, say: Words) -> Book:
    """The book of a story as it counts, without undone turns and versions that were not chosen."""
    turns = story.current_turns
    cast = [
        (name, str(sheet.get("about") or ""), str(sheet.get("player") or ""))
        for name, sheet in story.cast.items()
    ]
    players = dict.fromkeys(turn.act.name for turn in turns if turn.act.name and turn.act.text)
    return Book(
        row.id,
        row.title or say("story.untitled"),
        str(story.settings.get("premise") or ""),
        list(players),
        cast,
        list(_chapters(story, turns, say)),
        row.updated_at,
    )


def _chapters(story: Story, turns: list[Turn], say: Words) -> Iterator[BookChapter]:
    begins = {
        at: title for at, title in state.chapter_titles(story, [turn.id for turn in turns]) if at < len(turns)
    }
    titled = bool(begins)
    chapter: BookChapter | None = None
    for at, turn in enumerate(turns):
        full = chapter is not None and not titled and len(chapter.passages) == SCENES
        if at in begins or chapter is None or full:
            if chapter is not None:
                yield chapter
            last = min(at + SCENES, len(turns))
            chapter = BookChapter(begins.get(at) or say("story.book_scenes", first=at + 1, last=last))
        chapter.passages.append(_passage(turn))
    if chapter is not None:
        yield chapter


def _passage(turn: Turn) -> Passage:
    act = "" if turn.act.withdrawn else turn.act.text.strip()
    speaker = turn.act.character or turn.act.name
    scene = turn.scene.text.strip() if turn.scene is not None else ""
    return Passage(speaker if act else "", act, turn.act.speaker, scene)


def markdown(book: Book, say: Words) -> str:
    """The whole book as one text."""
    lines = [f"# {_line(book.title)}"]
    if book.players:
        lines.append(say("story.book_by", names=", ".join(map(_line, book.players))))
    if book.premise:
        lines.append(f"*{_line(book.premise)}*")
    if book.cast:
        lines.append(f"## {say('story.book_cast')}")
        rows = []
        for name, about, player in book.cast:
            player_note = f" ({say('story.played_by', name=_line(player))})" if player else ""
            rows.append(f"- **{_line(name)}**{player_note}{': ' + _line(about) if about else ''}")
        lines.append("\n".join(rows))
    for chapter in book.chapters:
        lines.append(f"## {_line(chapter.title)}")
        for passage in chapter.passages:
            if passage.act:
                quoted = passage.act.replace("\n", "\n> ")
                lines.append(f"> **{_line(passage.who)}:** {quoted}")
            if passage.scene:
                speaker = f"**{_line(passage.speaker)}:** " if passage.speaker else ""
                lines.append(f"{speaker}{passage.scene}")
    return "\n\n".join(lines) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def epub(book: Book, language: str, say: Words) -> bytes:
    """The EPUB file. `language` is the story's, a BCP 47 tag."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:

        def put(name: str, data: str | bytes, *, packed: bool = True) -> None:
            info = zipfile.ZipInfo(name, _MADE)
            info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
            archive.writestr(info, data)

        put("mimetype", "application/epub+zip", packed=False)  # first, and not compressed (EPUB 3.3, 4.2.6.3)
        put("META-INF/container.xml", _CONTAINER)
        put("book/cover.png", cover(book.title), packed=False)
        put("book/style.css", _STYLE)
        alt = _text(say("story.book_cover", title=book.title))
        image = f'<p class="cover"><img src="cover.png" alt="{alt}"/></p>'
        put("book/cover.xhtml", _page(book.title, image, language))
        put("book/title.xhtml", _page(book.title, "\n".join(_front(book, say)), language))
        pages = {f"chapter-{n:04}.xhtml": chapter for n, chapter in enumerate(book.chapters, 1)}
        for name, chapter in pages.items():
            put(f"book/{name}", _page(chapter.title, "\n".join(_chapter(chapter)), language))
        titles = {name: chapter.title for name, chapter in pages.items()}
        put("book/contents.xhtml", _contents(book.title, titles, language, say))
        put("book/package.opf", _package(book, list(pages), language))
    return out.getvalue()


def cover(title: str) -> bytes:
    """A PNG with the title, in a colour of its own; without the title if the font lacks some of its letters."""
    from matplotlib.figure import Figure
    from matplotlib.font_manager import findfont, get_font
    from matplotlib.lines import Line2D

    colour = COLOURS[sha256(title.encode("utf-8", "replace")).digest()[0] % len(COLOURS)]
    plain = " ".join(title.split())
    with alone, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the font reports every letter that it lacks
        font = get_font(findfont("DejaVu Serif"))
        if not all(font.get_char_index(ord(letter)) for letter in plain):
            plain = ""
        figure = Figure(figsize=(6, 9), dpi=150, facecolor=colour)
        lines = textwrap.wrap(plain, 16, break_long_words=True)[:8]
        text = "\n".join(lines).replace("$", r"\$")
        size = 40 if len(lines) <= 4 else 28
        figure.text(
            0.5, 0.62, text, color=PAPER, fontsize=size, ha="center", va="center", family="DejaVu Serif"
        )
        for y in (0.3, 0.315, 0.93):
            figure.add_artist(Line2D([0.12, 0.88], [y, y], color=PAPER, linewidth=2))
        out = io.BytesIO()
        figure.savefig(out, format="png", facecolor=colour)
    return out.getvalue()


def _front(book: Book, say: Words) -> Iterable[str]:
    yield f"<h1>{_text(book.title)}</h1>"
    if book.players:
        yield f"<p>{_text(say('story.book_by', names=', '.join(book.players)))}</p>"
    if book.premise:
        yield f'<p class="premise">{_text(book.premise)}</p>'
    if book.cast:
        yield f"<h2>{_text(say('story.book_cast'))}</h2>\n<dl>"
        for name, about, player in book.cast:
            player_note = f" ({say('story.played_by', name=player)})" if player else ""
            yield f"<dt>{_text(name + player_note)}</dt><dd>{_text(about)}</dd>"
        yield "</dl>"


def _chapter(chapter: BookChapter) -> Iterable[str]:
    yield f"<h1>{_text(chapter.title)}</h1>"
    for passage in chapter.passages:
        if passage.act:
            speaker = f"<p><strong>{_text(passage.who)}</strong></p>" if passage.who else ""
            yield f"<blockquote>{speaker}{_prose(passage.act)}</blockquote>"
        if passage.speaker and passage.scene:
            yield f"<p><strong>{_text(passage.speaker)}</strong></p>"
        if passage.scene:
            yield _prose(passage.scene)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero", {"xhtmlOut": True, "breaks": True}).enable(_MARKUP)


def _prose(text: str) -> str:
    """A scene's Markdown as XHTML; a heading is a paragraph, since the chapters have the headings."""
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        token.tag = "p" if token.type.startswith("heading") else token.tag
    return _UNFIT.sub("\ufffd", parser.renderer.render(tokens, parser.options, {}).rstrip())


def _text(text: str) -> str:
    return escape(_UNFIT.sub("\ufffd", text))


def _page(title: str, body: str, language: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="{language}" lang="{language}">
<head><title>{_text(title)}</title><link rel="stylesheet" type="text/css" href="style.css"/></head>
<body>
{body}
</body>
</html>
"""


def _contents(title: str, chapters: dict[str, str], language: str, say: Words) -> str:
    entries = [f'<li><a href="title.xhtml">{_text(title)}</a></li>']
    entries += [f'<li><a href="{name}">{_text(title) or name}</a></li>' for name, title in chapters.items()]
    heading = _text(say("story.book_contents"))
    listed = "\n".join(entries)
    nav = f'<nav xmlns:epub="{_OPS}" epub:type="toc"><h1>{heading}</h1>\n<ol>\n{listed}\n</ol></nav>'
    return _page(title, nav, language)


def _package(book: Book, chapters: list[str], language: str) -> str:
    texts = [("title.xhtml", ""), *((name, "") for name in chapters)]
    items = [
        '<item id="cover-image" href="cover.png" media-type="image/png" properties="cover-image"/>',
        '<item id="style" href="style.css" media-type="text/css"/>',
        '<item id="contents" href="contents.xhtml" media-type="application/xhtml+xml" properties="nav"/>',
        '<item id="cover" href="cover.xhtml" media-type="application/xhtml+xml"/>',
        *(
            f'<item id="{name.partition(".")[0]}" href="{name}" media-type="application/xhtml+xml"/>'
            for name, _ in texts
        ),
    ]
    spine = ["cover", *(name.partition(".")[0] for name, _ in texts)]
    creators = "\n".join(f"<dc:creator>{_text(name)}</dc:creator>" for name in book.players if name.strip())
    about = f"\n<dc:description>{_text(book.premise)}</dc:description>" if book.premise.strip() else ""
    listed, order = "\n".join(items), "\n".join(f'<itemref idref="{id}"/>' for id in spine)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="{language}">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{uuid5(NAMESPACE_OID, book.id)}</dc:identifier>
<dc:title>{_text(book.title)}</dc:title>
<dc:language>{language}</dc:language>
{creators}{about}
<meta property="dcterms:modified">{book.changed.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}</meta>
</metadata>
<manifest>
{listed}
</manifest>
<spine>
{order}
</spine>
</package>
"""
