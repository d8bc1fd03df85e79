"""`script report`: a script's figures as tables, and as pictures with alternative texts.

Blocking, since it draws the pictures: call it in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bot.events import Event, Picture, Text, UserError
from bot.markdown import harmless
from bot.words import Words
from bot.works.script import picture
from bot.works.script.length import in_pages, pages
from bot.works.script.model import first_pages
from bot.works.script.report import Presence, Report, report

if TYPE_CHECKING:
    from bot.works.script.model import Script

ROWS: Final = 12
"""The maximum number of rows in each table."""
NAMED: Final = 5
"""How many characters, and pairs of them, a picture's alternative text names."""


def report_events(script: Script, character: str, say: Words) -> list[Event]:
    """The report of a script or, if a name is given, of that character. Raises UserError for an unknown name."""
    figures = report(script)
    if character.strip():
        return _character_report(script, _presence_of(figures, character), say)
    return [Text(_tables(script, figures, say)), *_pictures(script, figures, say)]


def _presence_of(figures: Report, name: str) -> Presence:
    typed = " ".join(name.split()).upper()
    matches = [presence for presence in figures.presences if presence.name == typed]
    matches = matches or [presence for presence in figures.presences if typed in presence.name]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(presence.name for presence in (matches or figures.presences)[:ROWS])
    raise UserError("script.no_character", name=name.strip()[:60], names=names)


def _character_report(script: Script, presence: Presence, say: Words) -> list[Event]:
    first_page = first_pages(script.scenes)
    rows = []
    for number in presence.scenes:
        scene = script.scenes[number - 1]
        page = str(first_page[number - 1])
        others = ", ".join(name for name in scene.characters if name != presence.name)
        rows.append([str(number), page, _cell(scene.heading.text), pages(scene.eighths), _cell(others)])
    head = [say(f"script.column_{name}") for name in ("scene", "page", "heading", "length", "others")]
    heading = say(
        "script.presence_of", name=_cell(presence.name), n=len(presence.scenes), of=len(script.scenes)
    )
    first, last = presence.scenes[0], presence.scenes[-1]
    alt = say("script.presence_alt_one", name=presence.name, n=len(presence.scenes), first=first, last=last)
    shown = _table(head, rows[: 4 * ROWS]) + (f"\n… {len(rows) - 4 * ROWS}" if len(rows) > 4 * ROWS else "")
    png = picture.presence([presence], len(script.scenes), say("script.presence"))
    return [Text(f"{heading}\n\n{shown}"), Picture("presence.png", png, alt)]


def _tables(script: Script, figures: Report, say: Words) -> str:
    total = sum(scene.eighths for scene in script.scenes)
    counted = sum(scene.counted for scene in script.scenes)
    parts = [
        say(
            "script.totals",
            n=len(script.scenes),
            length=in_pages(total, say),
            characters=len(figures.presences),
            words=script.words,
            dialogue=round(100 * figures.dialogue),
        )
    ]
    if counted:
        parts.append(
            say("script.counted_all" if counted == len(script.scenes) else "script.counted_some", n=counted)
        )
    length, share = say("script.column_length"), say("script.column_share")

    def shares(title: str, rows: Sequence[tuple[str, int]], blank: str, prefix: str = "") -> None:
        table = [
            [
                _cell(say(f"{prefix}{name}") if prefix and name else name or say(blank)),
                pages(n),
                f"{100 * n / max(1, total):.0f} %",
            ]
            for name, n in rows[:ROWS]
        ]
        parts.append(_table([say(title), length, share], table))

    shares("script.column_setting", figures.settings, "script.setting_none")
    shares("script.column_light", figures.lights, "script.light_none", "script.light_")
    shares("script.column_place", figures.places, "script.place_none")
    speakers = [
        [_cell(presence.name), str(len(presence.scenes)), f"{presence.scenes[0]}–{presence.scenes[-1]}"]
        for presence in figures.presences[:ROWS]
    ]
    if speakers:
        head = [say("script.column_character"), say("script.column_scenes"), say("script.column_first_last")]
        parts.append(_table(head, speakers))
    return "\n\n".join(parts)


def _pictures(script: Script, figures: Report, say: Words) -> list[Event]:
    total = len(script.scenes)
    longest = max(script.scenes, key=lambda scene: scene.eighths)
    alt = say(
        "script.pace_alt",
        n=total,
        number=longest.number,
        length=in_pages(longest.eighths, say),
        dialogue=round(100 * figures.dialogue),
    )
    png = picture.pace(script, say("script.pace"), say("script.pace_length"), say("script.pace_dialogue"))
    events: list[Event] = [Picture("pace.png", png, alt)]
    if figures.presences:
        most = "; ".join(f"{presence.name}: {len(presence.scenes)}" for presence in figures.presences[:NAMED])
        png = picture.presence(figures.presences, total, say("script.presence"))
        events.append(Picture("presence.png", png, say("script.presence_alt", told=most)))
    if len(figures.together) > 1:
        pairs = sorted(figures.pairs(), key=lambda pair: -pair[0])
        pair_counts = "; ".join(
            f"{first_name} + {second_name}: {count}" for count, first_name, second_name in pairs[:NAMED]
        )
        png = picture.together(figures.presences, figures.together, say("script.together"))
        events.append(Picture("together.png", png, say("script.together_alt", told=pair_counts or "–")))
    return events


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _cell(words: str) -> str:
    return harmless(words) or "–"
