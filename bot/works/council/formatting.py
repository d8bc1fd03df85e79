"""Formats a council's stages: an answer as it arrives, the result of the vote in plain words, the cost. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from bot import budget
from bot.markdown import table_row
from bot.words import Words
from bot.works.council.values import Ballot, Reply, Snapshot, Standing, Tally, groups

WHOLE_CHARS = 1_200
"""The maximum length of an answer that is shown whole in its stage."""

EXCERPT_CHARS = 800
"""The length of a longer answer's excerpt; a button shows the whole answer."""

AGREE = ((0.7, "strong"), (0.5, "some"), (0.0, "little"))
"""The least values of Kendall's W for strong, some and little agreement (Schmidt 1997, "Managing Delphi surveys
using nonparametric statistical techniques", has .5 for moderate and .7 for strong agreement).
"""

_FENCE = re.compile(r"((?:\s|>|[-*+](?=\s)|\d{1,9}[.)](?=\s)){0,40})(`{3,}|~{3,})[^`]*")


@dataclass(frozen=True, slots=True)
class Bill:
    """The usage of a run: `tokens` of all kinds, dollars where prices are known. `seats` by seat."""

    tokens: int = 0
    usd: Decimal = Decimal(0)
    unpriced: list[str] = field(default_factory=list)
    seats: dict[int, tuple[int, Decimal | None]] = field(default_factory=dict)


def whole(text: str) -> str:
    """The Markdown, stripped, with an unclosed code block closed."""
    text = text.strip()
    return text + closing(text)


def closing(text: str) -> str:
    """The line that closes the code block that `text` leaves open; "" if it leaves none open."""
    opening: re.Match[str] | None = None
    for line in text.split("\n"):
        if opening and ">" in opening[1] and not line.lstrip().startswith(">"):
            opening = None  # including the quotation around it
        bare = line.lstrip("> \t").rstrip()
        if opening is None:
            opening = _FENCE.fullmatch(line)
        elif len(bare) >= len(opening[2]) and not bare.strip(opening[2][0]):
            opening = None
    # In the same quotation or list item; repeating the marks at the beginning of the line would leave it.
    return "" if opening is None else "\n" + re.sub(r"[^\s>]", " ", opening[1]) + opening[2]


def excerpt(text: str, say: Words) -> str:
    """An answer as a quotation; for a long one, its beginning, up to a paragraph, a sentence or a word."""
    text = text.strip()
    if len(text) <= WHOLE_CHARS:
        return quoted(whole(text))
    cut = text[:EXCERPT_CHARS]
    ends = (cut.rfind(mark) + len(mark) - 1 for mark in ("\n\n", ". ", ".\n", " "))
    at = next((end for end in ends if end > EXCERPT_CHARS // 2), EXCERPT_CHARS)
    left_out = len(text) - at
    return f"{quoted(whole(cut[:at]))}\n\n*… {say('council.more', n=f'{left_out:,}')}*"


def quoted(text: str) -> str:
    """The text as a quotation, so that it cannot pose as another member's or as a stage of the bot's."""
    # Split at every kind of line end: a platform may show one as a line end that is not split here.
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def answered(reply: Reply, name: str, say: Words) -> str:
    """A member's answer, or the reason why there is none, as a block of the stage."""
    head = say("council.member", name=name, seconds=f"{reply.seconds:.0f}")
    if not reply.usable:
        return f"{head}\n\n*{failure(reply, say)}*\n\n"
    cut = f"\n\n*{say('council.cut_short')}*" if reply.finish == "length" else ""
    return f"{head}\n\n{excerpt(reply.text, say)}{cut}\n\n"


def failure(reply: Reply, say: Words) -> str:
    """Why a call failed, in a sentence."""
    if reply.fault:
        # The values are stored as text; a number selects the singular or the plural.
        return say(reply.fault, **{name: int(v) if v.isdecimal() else v for name, v in reply.values.items()})
    return say("council.refused" if reply.finish == "refusal" else "council.empty")


def ballot_line(ballot: Ballot, names: Sequence[str], say: Words) -> str:
    """One judge's vote with names, best first."""
    judge = names[ballot.seat]
    last = ballot.again or ballot.first
    if not ballot.reading.ranking:
        why = failure(last, say) if not last.usable else say("council.unreadable")
        return f"- **{judge}**: {say('council.abstains', why=why)}"
    order = " > ".join(" = ".join(names[seat] for seat in group) for group in groups(ballot))
    notes = [say("council.low_confidence")] if ballot.reading.source == "mention" else []
    if ballot.reading.partial:
        notes.append(say("council.partial"))
    return f"- **{judge}**: {order}" + (f" ({'; '.join(notes)})" if notes else "")


def table(tally: Tally, names: Sequence[str], say: Words, *, judged: bool = True) -> str:
    """The standings as a Markdown table.

    `judged`: with the mean rank, the votes for each rank and, where it differs, the count by the other rule for
    self-votes; without it, answers that were compared by likeness have a place and points only.
    """
    columns = ("place", "answer", "points", "rank", "votes") if judged else ("place", "answer", "points")
    heads = [say(f"council.column_{column}") for column in columns]
    has_other = judged and any(
        standing.other is not None and standing.other != standing.score for standing in tally.standings
    )
    if has_other:
        heads.append(say(f"council.column_{'without' if tally.self_votes == 'count' else 'with'}_self"))
    lines = [table_row(*heads), "|" + "---|" * len(heads)]
    for standing in tally.standings:
        ranks = " · ".join(str(votes) for votes in standing.ranks) or "–"
        cells = [
            str(standing.place),
            names[standing.seat],
            figure(standing.score, say),
            figure(standing.mean_rank, say),
            ranks,
        ][: len(columns)]
        lines.append(table_row(*cells, *([figure(standing.other, say)] if has_other else [])))
    return "\n".join(lines)


def explanation(tally: Tally, names: Sequence[str], say: Words) -> str:
    """The tally in sentences: the votes, the judges' agreement, the disputed answer and the rule for self-votes."""
    sentences = [say("council.votes", n=tally.ballots, voices=f"{tally.effective:.1f}")]
    if tally.abstained:
        sentences.append(say("council.abstained", n=tally.abstained))
    if tally.agreement is not None:
        degree = next(name for least, name in AGREE if tally.agreement >= least)
        sentences.append(say(f"council.agree_{degree}", w=f"{tally.agreement:.2f}"))
    if tally.disputed is not None:
        sentences.append(say("council.disputed", name=names[tally.disputed]))
    counted = "counted" if tally.self_votes == "count" else "left_out"
    sentences.append(say(f"council.self_{counted}"))
    if set(tally.other_first) != set(tally.first) and tally.other_first:
        sentences.append(say("council.otherwise", names=_name_list(names, tally.other_first)))
    return " ".join(sentences)


def winners(tally: Tally, names: Sequence[str], say: Words) -> str:
    """A sentence with the winner, or those who share the first place, or that there is none."""
    if not tally.first:
        return say("council.none_first")
    key = "council.winner" if len(tally.first) == 1 else "council.winners"
    return say(key, names=_name_list(names, tally.first))


def footer(snapshot: Snapshot, bill: Bill, answers: int, ballots: int, seconds: float, say: Words) -> str:
    """The footer: n of m answers, tokens, cost and time."""
    parts = [say("council.answered", n=answers, m=len(snapshot.members))]
    if ballots:
        parts.append(say("council.voted", n=ballots))
    parts.append(say("council.tokens", tokens=f"{bill.tokens:,}"))
    if bill.usd or not bill.unpriced:
        parts.append(dollars(bill.usd, say))
    if bill.unpriced:
        models = ", ".join(bill.unpriced)
        parts.append(say("council.unpriced", models=models) if bill.usd else say("council.cost_unknown"))
    parts.append(duration(seconds, say))
    return " · ".join(parts)


def dollars(usd: Decimal, say: Words) -> str:
    """An amount in people's notation, or a note that it was free."""
    if not usd:
        return say("council.free")
    below = usd < Decimal("0.0001")
    return ("< " if below else "") + say("council.usd", n="0.0001" if below else budget.dollars(usd))


def duration(seconds: float, say: Words) -> str:
    if seconds < 90:
        return say("council.seconds", n=f"{seconds:.0f}")
    return say("council.minutes", n=f"{seconds / 60:.1f}")


def _name_list(names: Sequence[str], seats: Sequence[int]) -> str:
    return ", ".join(names[seat] for seat in seats)


def figure(value: float | None, say: Words) -> str:
    """A number with two decimals, "–" for none."""
    return "–" if value is None else say("council.figure", n=f"{value:.2f}")


def standing_of(standings: Sequence[Standing], seat: int) -> Standing | None:
    """The standing of a seat's answer, None for one that was not judged."""
    return next((standing for standing in standings if standing.seat == seat), None)
