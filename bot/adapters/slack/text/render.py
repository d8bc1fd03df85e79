"""Renders the present content of a stage to pages for Slack. Pure; independent of clients and channels.

Text fills one message after another, each short enough for its plain form without blocks. Notes, sources and buttons
are on the last one; files are messages of their own.

The end of a message depends only on its content and the next piece, not on later ones, so a growing text never removes
anything from a message that has been shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from bot import manual
from bot.adapters.footer import NOTE, PASSING, Button, Footer, Offer, controls, offers
from bot.adapters.markdown import clean, file_name, shortened
from bot.adapters.slack.manifest import COMMAND, SETUP
from bot.adapters.slack.text.escaping import converted, cost, literal, size, words
from bot.adapters.slack.text.markdown import Piece, line, mrkdwn, pieces, safe
from bot.adapters.slack.text.page import (
    LABEL,
    SMALL,
    TEXT,
    Block,
    Page,
    Task,
    actions_of,
    plan_of,
    rows_of,
    section,
    small,
)
from bot.adapters.stage_content import PageContext, StageContent
from bot.commands import BARE, NAME_FILES, TABLE
from bot.events import Picture
from bot.text_cache import GROWING_S, cached
from bot.verb import Verb, shown_path
from bot.words import LOCALES, Words, name_of
from bot.words import words as catalogue

SPARE = 12
"""Characters kept free of the limit for line ends between the parts."""
TITLE = 200
NAME = 80
"""The most characters of a speaker's name."""
CALLS = 25
"""The most people mentioned in one message."""
SOURCES = 1_900
PROMPT = 120
LISTED = 200
"""The most characters of a choice that is listed above its button."""
ASKED = 2_400
ALT = 1_000
"""The most characters of a picture's alternative text; Slack's limit (its documentation,
"files.getUploadURLExternal").
"""
FOOTER = Footer(literal, line, size, number="*[{}]*")
_MEMBER = re.compile(r"[UW][A-Z0-9]+")
_UNSAFE = re.compile(r"[^\w .()-]+")
"""Characters of a file's name that might form a mention, or that some systems refuse."""

BODY = 3_200
"""Units of a message's text, as `cost` counts. Its plain form, which chat.update limits to 4,000 characters, then holds
all of it, with some room for the parts below; it is about three screens in a thread.
"""
BLOCK, LINE, SENTENCE, WORD = 2_500, 2_800, 3_000, 3_100
"""The lengths from which a message ends before the next block, line, sentence or word."""

CLOSING = "\n```"
_cost = cached(500_000, seconds=GROWING_S)(cost)
"""Cached, because each render of a growing text repeats its words."""
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’)\]*_]*\Z")


@dataclass(slots=True)
class Filled:
    """The text of a message. `code`: it ends inside code that is still open. `tables`: each table as in the text, and
    in the form for a `markdown` block; "" if such a block does not accept it.
    """

    text: str = ""
    used: int = 0
    code: bool = False
    tables: tuple[tuple[str, str], ...] = ()

    @property
    def closed(self) -> str:
        return self.text + CLOSING if self.code else self.text

    @property
    def tabled(self) -> str:
        """The text for a `markdown` block; "" if it is the same text. A message may have one table."""
        if len(self.tables) != 1 or not self.tables[0][1]:
            return ""
        in_text, table = self.tables[0]
        before, _, after = self.closed.partition(in_text)
        return "\n\n".join(filter(None, (before.rstrip("\n"), table, after.lstrip("\n"))))


def pages(stage: StageContent, context: PageContext) -> list[Page]:
    """The stage's pages in order, at least one.

    While the text grows, each page's body is the beginning of its final body, and only the last page changes. If a page
    ends in the middle of code, the code is closed and opened again on the next page. Files are sent once the stage is
    finished, so that each is uploaded once.
    """
    growing = stage.growing and not context.ended
    # The line with the speaker's name, as Markdown and as mrkdwn; "" for the bot.
    named = words(shortened(stage.speaker.name, NAME, size)) if stage.speaker is not None else ""
    names = (f"**{named}**", converted(f"**{named}**")) if named else ("", "")
    *full, last = _texts(stage, names[0], growing)
    stage_pages = [Page(filled.closed, plain=_full(filled.closed), tabled=filled.tabled) for filled in full]
    called = [f"<@{id}>" for id in stage.calls if _MEMBER.fullmatch(id)][:CALLS]
    links = [*([" ".join(called)] if called else []), *[link for link in stage.links if size(link) <= NOTE]]
    notes = FOOTER.notes(stage, context, links)
    # A failure is shown at the end, because a growing text with its status line may leave no room for it.
    failed = [] if growing else FOOTER.failed(stage, context)
    offered = _offered(stage, context.run) if stage.choices and not growing else []
    room = TEXT - SPARE - _length([*failed, *[offer.prompt for offer in offered]])
    if growing:
        notes = FOOTER.as_fit(notes, room - cost(last.closed) - PASSING)
    elif cost(last.text) + _length(notes) > room:  # then the notes get messages of their own
        alone_page = Page(last.closed, plain=_full(last.closed), tabled=last.tabled)
        stage_pages += [alone_page] if last.text else []
        *packed, notes = _packed(notes, room)
        stage_pages += [Page("", closing=(small(note),), plain=note) for note in map("\n".join, packed)]
        last = Filled()
    files = [] if growing or context.no_files else stage.files
    file_names = [literal(file.name, 100) for file in files] if not stage_pages else []
    stage_pages.append(_last(stage, context, last, names, notes, failed, offered, file_names))
    used_names: set[str] = set()
    for file in files:
        name = file_name(file.name, used_names, _UNSAFE)
        alt = shortened(words(file.alt), ALT, size) if isinstance(file, Picture) else ""
        stage_pages.append(Page(alt, plain=converted(alt) or literal(name), files=((name, file.data),)))
    if names[0]:
        stage_pages = [replace(page, speaker=stage.speaker) for page in stage_pages]
        stage_pages[0] = replace(stage_pages[0], names=names)
    return stage_pages


def root_page(question: str, asker: str, say: Words, *, tasks: Sequence[Task] = (), title: str = "") -> Page:
    """The root message: who asked what, and below it the plan of `tasks` with this `title`. `asker` is a name."""
    lines = [say("page.asked", who=f"**{words(asker) or '…'}**")]
    room = ASKED
    for question_line in filter(None, map(words, shortened(clean(question), ASKED, size).split("\n"))):
        if cost(question_line) + 3 > room:
            lines.append(f"> {shortened(question_line, room, cost) if room > 40 else '…'}")
            break
        room -= cost(question_line) + 3
        lines.append(f"> {question_line}")
    body = "\n".join(lines)
    plan = (plan_of(tasks, title or say("slack_page.plan")),) if tasks else ()
    return Page(body, closing=plan, plain=converted(body))


def help_page(say: Words, topic: str, name: str) -> Page:
    """The help page for all commands, those of one work, or one command. `name` is the bot's name after the @."""
    # In the form for a channel; the last sentence is about threads.
    text = manual.help_text(say, topic, table=tuple(_rows()), plain="", example=_example)
    text = as_typed(text, thread=False)
    for row in _bringing():
        for end in " `":
            text = text.replace(f"`/{row.path}{end}", f"`@{name} {row.path}{end}")
    if all(f"`{COMMAND} {name_of_verb}" in text for name_of_verb in ("help", "stop")):  # help for everything
        text = f"{text}\n- `{COMMAND} {SETUP}`  {say('welcome.setup')}"
    text = f"{text}\n\n{say('slack.help_talk', name=name)}"
    plain = mrkdwn(text)
    return Page(safe(text), plain=plain if len(plain) <= TEXT else plain[:TEXT].rpartition("\n")[0])


def as_typed(sentence: str, *, thread: bool, files: str = "") -> str:
    """The sentence with each command in the form for this place, its work by its English name. Slack has no commands in
    threads, so there they are written without the slash; nor can its commands have files, so `files`, which says how to
    send them, follows commands that need one.
    """

    def with_file(match: re.Match[str]) -> str:
        path = _commands()[match[1]]
        return f"`{path}{match[2]}` ({files})"

    def typed(match: re.Match[str]) -> str:
        tick, path = match[1], _commands()[match[2]]
        if not thread:
            return f"{tick}{COMMAND} {path}" if path in (SETUP, *BARE) else f"{tick}/{path}"
        return f"{tick}{path}" if tick else f"`{path}`"

    return _command().sub(typed, _file_command().sub(with_file, sentence) if files else sentence)


@cache
def _file_command() -> re.Pattern[str]:
    names = {shown_path(row, say) for row in _bringing() for say in map(catalogue, LOCALES)} | NAME_FILES
    return re.compile(rf"`/({'|'.join(map(re.escape, names))})(?![\w-])([^`\n]*)`")


@cache
def _command() -> re.Pattern[str]:
    paths = sorted(_commands(), key=len, reverse=True)
    return re.compile(rf"(`?)(?<![\w/])/({'|'.join(map(re.escape, paths))})(?![\w-])")


@cache
def _commands() -> dict[str, str]:
    """The commands as they are typed on Slack, by their names in sentences: "story começar" for "história começar"."""
    names = {row.path: row.path for row in TABLE} | {SETUP: SETUP}
    for say in map(catalogue, LOCALES):
        for row in TABLE:
            path = row.path if row.bare else f"{row.work} {say(f'names.{row.work}_{row.name}')}"
            names[shown_path(row, say)] = path
    return names


def _rows() -> Iterator[Verb]:
    """The table without arguments for files, because files are attached to the message."""
    for row in TABLE:
        yield replace(row, argument=None) if row in _bringing() else row


def _example(say: Words, row: Verb) -> str:
    """The row's example; files are attached to the message."""
    if row.argument is None and row.path in NAME_FILES:
        needed = [
            f"--{say(name_of(option.name, 'option'))} rules" for option in row.options if option.required
        ]
        return " ".join([f"/{row.path}", *needed])
    return manual.example(say, row)


def _bringing() -> list[Verb]:
    return [row for row in TABLE if row.argument is not None and row.argument.many]


def _texts(stage: StageContent, name: str, growing: bool) -> list[Filled]:
    """The title, the line with the speaker's name and the text, in at least one page."""
    title = words(shortened(" ".join(clean(stage.title).split()), TITLE, size))
    text_pieces = pieces(stage.text, whole=not growing)
    titled = [Piece(f"### {title}")] if title else []
    if name:
        titled.append(Piece(name, lead="\n", glued=True) if titled else Piece(name))
    if titled and text_pieces:
        text_pieces[0] = replace(text_pieces[0], lead="\n\n" if name else "\n", glued=True)
    # A cut comes after the pieces that were shown when the text had grown that far, but never after the title alone.
    breaks = {len(titled) + max(1, _settled(stage.text[:at])) for at in stage.cuts}
    return fill([*titled, *text_pieces], breaks) or [Filled()]


@cached(500_000, seconds=GROWING_S)
def _settled(text: str) -> int:
    """The number of the text's pieces that no continuation can change."""
    return len(pieces(text, whole=False))


_full = cached(1_000_000, seconds=GROWING_S)(converted)
"""Cached for the full messages while the last one grows."""


def _offered(stage: StageContent, run: str) -> list[Offer]:
    result = []
    for offer in offers(stage, run, LABEL, size):
        prompt = offer.prompt and literal(offer.prompt, PROMPT)
        lines = [f"{n}. {literal(text, LISTED)}" for n, text in enumerate(offer.listed, 1)]
        if offer.over:  # Slack has no disabled buttons
            lines = [literal(offer.taken, LISTED)]
        prompt = "\n".join(filter(None, [prompt, *lines]))
        result.append(replace(offer, prompt=prompt, buttons=() if offer.over else offer.buttons))
    return result


def _last(
    stage: StageContent,
    context: PageContext,
    text: Filled,
    names: tuple[str, str],
    notes: list[str],
    failed: list[str],
    offered: list[Offer],
    files: list[str],
) -> Page:
    """The page with everything below the text. `files` are the files' names if there is nothing else."""
    growing = stage.growing and not context.ended
    body = text.text if growing else text.closed
    plain = converted(text.closed)
    # The beginning of the text may be held back.
    passing = FOOTER.passing(stage, context, wordless=Page(body, names=names).wordless)
    prompts = [offer.prompt for offer in offered]
    used = SPARE + size(plain) + _length([*notes, passing, *failed, *prompts])
    sources = FOOTER.sources(stage.citations, stage.text, context.say)
    listed, hidden = FOOTER.fitting(sources, SOURCES, context.say, quotes=True)
    closing = [small(listed)] if listed else []
    quoted, short = FOOTER.fitting(sources, TEXT - used, context.say, quotes=True)
    plainly, left_out = FOOTER.fitting(sources, TEXT - used, context.say, quotes=False)
    if short == left_out:
        plainly = quoted
    if not (body or notes or failed or offered or closing or passing):
        notes = [f"📎 {shortened(', '.join(files), NOTE, size)}"] if files else [context.say("page.nothing")]
    blocks = [*closing, *map(small, filter(None, map("\n".join, _packed(notes, SMALL))))]
    rows: list[Block] = []
    for offer in offered:
        blocks += [small(offer.prompt)] if offer.prompt else []
        if offer.buttons:
            blocks.append(actions_of(offer.buttons))
            rows.append(actions_of(offer.buttons))
    if failed:
        blocks += [section(failed[0]), small(failed[1])]
    buttons = rows_of(controls(stage, context, more=bool(hidden or left_out)), context.run, context.say)
    says = [plain, plainly, *notes, passing, *prompts, *failed]
    return Page(
        body,
        passing,
        (*blocks, *buttons),
        "\n".join(filter(None, says)) or "…",
        (*rows, *buttons),
        growing,
        meanwhile=actions_of([Button(*stage.meanwhile)]) if growing and stage.meanwhile else None,
        tabled="" if growing else text.tabled,
    )


def _packed(lines: list[str], room: int) -> list[list[str]]:
    """The lines in groups of at most `room` characters; at least one group."""
    most = min(room, SMALL)
    groups: list[list[str]] = [[]]
    for packed_line in lines:
        if groups[-1] and _length(groups[-1]) + size(packed_line) > most:
            groups.append([])
        groups[-1].append(packed_line)
    return groups


def _length(lines: Sequence[str]) -> int:
    shown = list(filter(None, lines))
    return sum(map(size, shown)) + len(shown)


def fill(found_pieces: Iterable[Piece], breaks: Collection[int] = ()) -> list[Filled]:
    """The pieces in messages of at most BODY units. Another message begins at, or soon after, each of `breaks`, counted
    in pieces.
    """
    messages: list[Filled] = []
    wanted = False
    for at, piece in enumerate(found_pieces):
        wanted = wanted or at in breaks
        length = len(piece.lead) + _cost(piece.text)
        if not messages or (wanted and not piece.glued) or _ends(messages[-1], piece, length):
            wanted = False
            if messages and messages[-1].code:
                messages[-1] = Filled(messages[-1].closed)
            messages.append(Filled(piece.head + piece.text, cost(piece.head + piece.text), piece.code))
            page = messages[-1]
        else:
            page = messages[-1]
            page.text += piece.lead + piece.text
            page.used += length
            page.code = piece.code
        if piece.table is not None:
            page.tables += ((piece.text, piece.table),)
    return messages


def _ends(page: Filled, piece: Piece, length: int) -> bool:
    """Whether the piece begins another message."""
    if page.used < BLOCK and page.used + length <= BODY - len(CLOSING):
        return False
    if page.code and not piece.code:
        return False
    closing = len(CLOSING) if piece.code else 0
    if page.used + length + closing > BODY:
        return True
    if piece.glued or not piece.lead:
        return False
    if "\n" in piece.lead:
        enough = SENTENCE if page.code else BLOCK if "\n\n" in piece.lead else LINE
    else:
        enough = SENTENCE if _SENTENCE.search(page.text[-8:]) else WORD
    return page.used >= enough
