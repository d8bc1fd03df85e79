"""A stored council as Markdown: its answers, its ballots, the key of the letters, or everything in one file.

Pure. Text by a model or a person is quoted line by line in Markdown, so that nothing in it can end the quotation or
begin a section.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bot.markdown import code, one_line
from bot.words import Words
from bot.works.council import formatting
from bot.works.council.rotation import label, labels
from bot.works.council.values import Tally

if TYPE_CHECKING:
    from storage.councils import BallotRow, Council, SeatRow

TITLE_CHARS = 80

_MARKUP = re.compile(r"[*`~|\\\[\]<>]|^#+")
_KEY = re.compile(r"\w+\.\w+")


def answers(council: Council, say: Words, seat: int | None = None) -> str:
    """Every answer word for word, or one seat's (from 0)."""
    return "\n\n".join(answer(row, say) for row in council.seats if seat in (None, row.seat))


def ballots(council: Council, say: Words, seat: int | None = None) -> str:
    """Every ballot word for word with what was read from it, or the one of the judge in a seat (from 0)."""
    chosen = [row for row in council.ballots if seat in (None, row.seat)]
    if not chosen:
        return say("council_show.no_ballots" if seat is None else "council_show.no_ballot", n=(seat or 0) + 1)
    parts = [say("council_show.letters"), *(ballot(council, row, say) for row in chosen)]
    if seat is None and (counted := standings(council, say)):
        parts = [counted, *parts]
    return "\n\n".join(parts)


def key(council: Council, say: Words) -> str:
    """Which seat's answer each judge saw under which letter, and the model in each seat."""
    seats = [f"- {_seat_name(seat)}: {code(seat.settings or seat.model)}" for seat in council.seats]
    if not council.ballots:
        return "\n\n".join([say("council_show.no_ballots"), "\n".join(seats)])
    names = _names(council)
    orders = [_seats(ballot.shown) for ballot in council.ballots]
    most = max(map(len, orders))
    lines = [f"| {' | '.join([say('council_show.judge'), *labels(most)])} |", "|---" * (most + 1) + "|"]
    for ballot, order in zip(council.ballots, orders, strict=True):
        cells = [names[ballot.seat], *(names[seat] for seat in order), *[""] * (most - len(order))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n\n".join([say("council_show.key_why"), "\n".join(lines), "\n".join(seats)])


def research(council: Council, say: Words) -> str:
    """The findings that the members received before they answered."""
    findings = _findings(council)
    if not findings:
        return say("council_show.no_research")
    return "\n\n".join(
        f"### {_category(name, say)}\n\n{formatting.quoted(text or say('council_show.no_finding'))}"
        for name, text in findings.items()
    )


def _category(name: str, say: Words) -> str:
    if name == "attack":  # the devil's advocate's attack is stored with the findings
        return say("council_show.attack")
    return _without_markup(name.replace("_", " ")).capitalize()


def whole(council: Council, say: Words) -> str:
    """The council as a document, with the models' reasoning where available."""
    parts = [
        f"# {title(council)}",
        facts(council, say),
        question(council, say),
        _section(verdict_title(council, say), verdict(council, say)),
        _section(say("council_show.standings"), standings(council, say)),
        _section(say("council_show.answers"), *(answer(seat, say, reasoning=True) for seat in council.seats)),
        _section(
            say("council_show.ballots"),
            say("council_show.letters"),
            *(ballot(council, row, say, reasoning=True) for row in council.ballots),
        )
        if council.ballots
        else "",
        _section(say("council_show.key"), key(council, say)),
        _section(say("council_show.research"), research(council, say)) if has_findings(council) else "",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def facts(council: Council, say: Words) -> str:
    """The time, the number of answers, the chair and its criteria, as a list."""
    row = council.row
    answered = sum(seat.state == "answered" for seat in council.seats)
    lines = [
        say("council_show.when", when=f"{row.created_at:%Y-%m-%d %H:%M %Z}", run=row.alias),
        say("council_show.who", n=answered, m=len(council.seats), level=row.level),
    ]
    if row.chair and row.kind == "synthesis":
        lines.append(say("council_show.chair", chair=code(row.chair)))
    if council.ballots:
        lines.append(say("council_show.criteria", criteria=_without_markup(row.criteria)))
    return "\n".join(f"- {line}" for line in lines)


def question(council: Council, say: Words) -> str:
    return _section(say("council_show.question"), formatting.quoted(council.row.question))


def verdict(council: Council, say: Words) -> str:
    """The verdict with its dissent, without a title; "" if there is none."""
    row = council.row
    dissent = (
        _section(say("council_show.dissent"), formatting.quoted(row.dissent)) if row.dissent.strip() else ""
    )
    return "\n\n".join(filter(None, [formatting.quoted(row.verdict), dissent]))


def has_findings(council: Council) -> bool:
    """Whether the council had research."""
    return bool(_findings(council))


def title(council: Council) -> str:
    """The question on one line of at most TITLE_CHARS."""
    return one_line(_without_markup(council.row.question), TITLE_CHARS)


def verdict_title(council: Council, say: Words) -> str:
    """The title of the verdict; an answer is called the best only if judges have put it first."""
    tally = tally_of(council)
    kind: str = council.row.kind or "open"
    if kind == "best" and tally is not None and not (tally.first and council.ballots):
        kind = "any"
    return say(f"council_show.kind_{kind}")


def tally_of(council: Council) -> Tally | None:
    """The result of the vote; None if there is none, or if only an earlier release could read it."""
    if not council.row.tally:
        return None
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(Tally).validate_json(council.row.tally)
    except ValueError:
        return None


def answer(seat: SeatRow, say: Words, *, reasoning: bool = False) -> str:
    """One member's answer; with `reasoning` also the reasoning that the model showed."""
    parts = [f"### {_seat_name(seat)}", " · ".join(_bill(seat, say))]
    if seat.state != "answered":
        parts.append(f"*{_fault(seat.state, seat.fault, seat.model, say)}*")
    if seat.first_answer.strip() and seat.first_answer.strip() != seat.answer.strip():
        parts += [f"**{say('council_show.before')}**", formatting.quoted(seat.first_answer)]
        parts.append(f"**{say('council_show.after')}**")
    if seat.answer.strip():
        parts.append(formatting.quoted(seat.answer))
    if reasoning and seat.reasoning.strip():
        parts += [f"**{say('council_show.reasoning')}**", formatting.quoted(seat.reasoning)]
    return "\n\n".join(parts)


def _bill(seat: SeatRow, say: Words) -> Iterable[str]:
    yield code(seat.settings or seat.model)
    if seat.place is not None:
        score = "" if seat.score is None else f"{seat.score:.2f}"
        yield say("council_show.place" if score else "council_show.place_only", place=seat.place, score=score)
    yield formatting.duration(seat.seconds, say)
    if seat.tokens is not None:
        yield say("council_show.tokens", tokens=f"{seat.tokens:,}")
        if seat.cost_usd is None:
            yield say("council_show.unpriced")
        else:
            yield formatting.dollars(seat.cost_usd, say)


def ballot(council: Council, ballot: BallotRow, say: Words, *, reasoning: bool = False) -> str:
    """One judge's ballot, and its ranking as read; with `reasoning` as in `answer`."""
    names, seats_shown = _names(council), _seats(ballot.shown)
    parts = [f"### {ballot.seat + 1}. {names[ballot.seat]}"]
    if ballot.fault:
        parts.append(f"*{_fault('failed', ballot.fault, _model(council, ballot.seat), say)}*")
    if ballot.raw.strip():
        parts.append(_raw(ballot.raw))
    if ballot.again.strip():
        parts += [f"**{say('council_show.again')}**", _raw(ballot.again)]
    places = [place if isinstance(place, list) else [place] for place in json.loads(ballot.ranking)]
    order = [
        " = ".join(
            f"{label(seats_shown.index(seat))} ({names[seat]})" for seat in place if seat in seats_shown
        )
        for place in places
    ]
    read_line = say(f"council_show.source_{ballot.source}", order=" > ".join(order))
    parts.append(f"{read_line} {say('council_show.partial')}" if ballot.partial and order else read_line)
    if reasoning and ballot.reasoning.strip():
        parts += [f"**{say('council_show.reasoning')}**", formatting.quoted(ballot.reasoning)]
    return "\n\n".join(parts)


def standings(council: Council, say: Words) -> str:
    """The table with the votes for each rank, and its meaning; "" if nothing was counted."""
    tally, names = tally_of(council), _names(council)
    if tally is None or not tally.standings:
        return ""
    if not council.ballots:  # the answers were compared by likeness, without judges
        return f"{say('council.cannot_judge')}\n\n{formatting.table(tally, names, say, judged=False)}"
    if not tally.ballots:
        return say("council.nobody_voted")
    return f"{formatting.table(tally, names, say)}\n\n{formatting.explanation(tally, names, say)}"


def _section(title: str, *parts: str) -> str:
    filled_parts = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *filled_parts]) if filled_parts else ""


def _fault(state: str, fault: str, model: str, say: Words) -> str:
    """Why there is no text, in a sentence."""
    if not fault:
        return say("council.refused" if state == "refused" else "council.empty")
    sentence = say(fault, model=model) if _KEY.fullmatch(fault) else _without_markup(fault)
    # The details are not stored for every fault.
    return say("council_show.failed") if "{" in sentence else sentence


def _names(council: Council) -> list[str]:
    """The name of each seat, by its number."""
    names_by_seat = {seat.seat: _without_markup(seat.name) for seat in council.seats}
    most = max([*names_by_seat, *(ballot.seat for ballot in council.ballots)], default=-1)
    return [names_by_seat.get(seat, str(seat + 1)) for seat in range(most + 1)]


def _model(council: Council, seat: int) -> str:
    return next((seat_row.model for seat_row in council.seats if seat_row.seat == seat), "")


def _seat_name(seat: SeatRow) -> str:
    return f"{seat.seat + 1}. {_without_markup(seat.name)}"


def _seats(stored: str) -> Sequence[int]:
    return [int(seat) for seat in json.loads(stored or "[]")]


def _findings(council: Council) -> dict[str, str]:
    return {str(name): str(text) for name, text in json.loads(council.row.research or "{}").items()}


def _raw(text: str) -> str:
    """A ballot as it was written: indented JSON, or words as a quotation."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return formatting.quoted(text)
    if not isinstance(tree, dict):
        return formatting.quoted(text)
    indented = json.dumps(tree, ensure_ascii=False, indent=2)
    ticks = "```"
    while ticks in indented:
        ticks += "`"
    return f"{ticks}json\n{indented}\n{ticks}"


def _without_markup(text: str) -> str:
    """One line without markup, for a heading or a cell."""
    return _MARKUP.sub("", " ".join(text.split())).strip()
