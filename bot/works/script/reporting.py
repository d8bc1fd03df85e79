"""`script report`: a script's figures as tables, and as pictures with the words for who cannot see them.

Blocking, for the pictures are drawn here: to be called in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bot.events import Event, Picture, Sorry, Text
from bot.markdown import harmless
from bot.words import Words
from bot.works.script import picture
from bot.works.script.length import page_of, pages
from bot.works.script.report import Presence, Report, report

if TYPE_CHECKING:
    from bot.works.script.model import Script

ROWS: Final = 12
"""Of each table."""
TOLD: Final = 5
"""Characters, and pairs of them, that a picture's words name."""


def reported(script: Script, character: str, say: Words) -> list[Event]:
    """Tables, then pictures; of one character alone where one is named. Raises Sorry where nobody is called so."""
    made = report(script)
    if character.strip():
        return _of_one(script, _called(made, character), say)
    return [Text(_tables(script, made, say)), *_pictures(script, made, say)]


def _called(made: Report, name: str) -> Presence:
    wanted = " ".join(name.split()).upper()
    fits = [one for one in made.presences if one.name == wanted]
    fits = fits or [one for one in made.presences if wanted in one.name]
    if len(fits) == 1:
        return fits[0]
    names = ", ".join(one.name for one in (fits or made.presences)[:ROWS])
    raise Sorry("script.no_character", name=name.strip()[:60], names=names)


def _of_one(script: Script, one: Presence, say: Words) -> list[Event]:
    starts, before = [], 0
    for scene in script.scenes:
        starts.append(page_of(before))
        before += scene.eighths
    rows = []
    for number in one.scenes:
        scene = script.scenes[number - 1]
        others = ", ".join(name for name in scene.characters if name != one.name)
        rows.append(
            [
                str(number),
                str(starts[number - 1]),
                _cell(scene.heading.text),
                pages(scene.eighths),
                _cell(others),
            ]
        )
    head = [say(f"script.column_{name}") for name in ("scene", "page", "heading", "length", "others")]
    told = say("script.presence_of", name=_cell(one.name), n=len(one.scenes), of=len(script.scenes))
    first, last = one.scenes[0], one.scenes[-1]
    alt = say("script.presence_alt_one", name=one.name, n=len(one.scenes), first=first, last=last)
    shown = _table(head, rows[: 4 * ROWS]) + (f"\n… {len(rows) - 4 * ROWS}" if len(rows) > 4 * ROWS else "")
    png = picture.presence([one], len(script.scenes), say("script.presence"))
    return [Text(f"{told}\n\n{shown}"), Picture("presence.png", png, alt)]


def _tables(script: Script, made: Report, say: Words) -> str:
    total = sum(one.eighths for one in script.scenes)
    counted = sum(one.counted for one in script.scenes)
    parts = [
        say(
            "script.totals",
            n=len(script.scenes),
            pages=pages(total),
            characters=len(made.presences),
            words=script.words,
            dialogue=round(100 * made.dialogue),
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

    shares("script.column_setting", made.settings, "script.setting_none")
    shares("script.column_light", made.lights, "script.light_none", "script.light_")
    shares("script.column_place", made.places, "script.place_none")
    speakers = [[_cell(one.name), str(len(one.scenes)), _spans(one)] for one in made.presences[:ROWS]]
    if speakers:
        head = [say("script.column_character"), say("script.column_scenes"), say("script.column_first_last")]
        parts.append(_table(head, speakers))
    return "\n\n".join(parts)


def _spans(one: Presence) -> str:
    return f"{one.scenes[0]}–{one.scenes[-1]}"


def _pictures(script: Script, made: Report, say: Words) -> list[Event]:
    total = len(script.scenes)
    longest = max(script.scenes, key=lambda scene: scene.eighths)
    alt = say(
        "script.pace_alt",
        n=total,
        number=longest.number,
        pages=pages(longest.eighths),
        dialogue=round(100 * made.dialogue),
    )
    png = picture.pace(script, say("script.pace"), say("script.pace_length"), say("script.pace_dialogue"))
    events: list[Event] = [Picture("pace.png", png, alt)]
    if made.presences:
        most = "; ".join(f"{one.name}: {len(one.scenes)}" for one in made.presences[:TOLD])
        png = picture.presence(made.presences, total, say("script.presence"))
        events.append(Picture("presence.png", png, say("script.presence_alt", told=most)))
    if len(made.together) > 1:
        pairs = sorted(
            (
                (count, made.presences[row].name, made.presences[column].name)
                for row, counts in enumerate(made.together)
                for column, count in enumerate(counts)
                if row < column and count
            ),
            key=lambda pair: -pair[0],
        )
        told = "; ".join(f"{one} + {other}: {count}" for count, one, other in pairs[:TOLD])
        png = picture.together(made.presences, made.together, say("script.together"))
        events.append(Picture("together.png", png, say("script.together_alt", told=told or "–")))
    return events


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _cell(words: str) -> str:
    return harmless(words) or "–"
