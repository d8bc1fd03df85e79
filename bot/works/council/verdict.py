"""The verdict of a council: a chair's synthesis, one model's answer, or the best of several, unchanged.

Nothing is called a synthesis before it is complete; the dissent below its DISSENT: line is separated while it streams.
Knows no platform.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from bot.events import Event, Notice, Speak, Speaking, Stage, Status, Text, TransientError, UserError
from bot.llm.completion import Completion
from bot.words import Words
from bot.work import Run
from bot.works.council import formatting

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.works.council.deliberation import Deliberation


_DISSENT = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]*)?[*_]{0,3}DISSENT[*_]{0,3}[ \t]*:[ \t]*[*_]{0,3}", re.IGNORECASE
)
_DISSENT_BEGINS = re.compile(r"[ \t#*_]*(?:D(?:I(?:S(?:S(?:E(?:N(?:T[*_ \t]*)?)?)?)?)?)?)?\Z", re.IGNORECASE)
_NO_DISSENT = re.compile(r"\W*(?:none|nenhum|nenhuma|no dissent|sem dissenso)\W*\Z", re.IGNORECASE)


class Verdict:
    """Streams the verdict, and sets the council's `kind`, `chair`, `shown` and `dissent`."""

    def __init__(self, run: Run, council: Deliberation, models: Models, say: Words) -> None:
        self._run = run
        self._council = council
        self._models = models
        self._say = say

    async def synthesis(self) -> AsyncGenerator[Event, None]:
        """Stage 3: the chair combines the answers; if it cannot, the answer with the first place is the verdict."""
        council, say, answers = self._council, self._say, self._council.answers
        if not self._chairs():
            async for event in self._first_answer(say("council.no_chair")):
                yield event
            return
        yield Stage("synthesis", say("council.chair_writes"), answer=True)
        yield Status(say("council.chair_reads", n=len(answers)))
        chair_text = _ChairText()
        yield Speaking("synthesis", "chair")
        async with aclosing(self._streamed(chair_text)) as events:
            async for event in events:
                yield event
        if not council.verdict:
            yield Stage("synthesis", say("council.chair_empty"))
            reason = "refusal" if chair_text.finish == "refusal" else "silent"
            async for event in self._first_answer(chair_text.fault or say(f"council.chair_{reason}")):
                yield event
            return
        if chair_text.finish != "end":
            yield Stage("synthesis", say("council.unfinished"), answer=True)
            ending = chair_text.finish if chair_text.finish in ("length", "refusal") else "cut"
            yield Notice(chair_text.fault or say(f"council.chair_{ending}"))
            reason_key = "why" if council.tally is not None and council.tally.first else "any"
            async for event in self._first_answer(say(f"council.unfinished_{reason_key}")):
                yield event
            return
        council.kind, council.dissent = "synthesis", chair_text.splitter.dissent
        no_dissent = say(
            "council.no_dissent" if chair_text.splitter.has_dissent_line else "council.dissent_unsaid"
        )
        dissent = formatting.whole(council.dissent) or no_dissent
        yield Speak(council.verdict, "synthesis", "chair")
        yield Text(f"{formatting.closing(council.verdict)}\n\n**{say('council.dissent')}**\n\n{dissent}")
        yield Stage("synthesis", say("council.synthesis"), answer=True)

    async def alone(self) -> AsyncGenerator[Event, None]:
        """The only answer as the verdict, if fewer than two members answered. Raises TransientError if none did."""
        council, say, names = self._council, self._say, self._council.snapshot.names
        single = council.snapshot.level == "single"
        for seat, text in council.answers.items():
            yield Stage("single", say("council.single", name=names[seat]), answer=True)
            if not single:
                yield Notice(say("council.too_few", n=1, m=len(names)))
            council.kind, council.chair, council.shown = "single", council.replies[seat].model, [text]
            yield Text(formatting.whole(text))
            yield Speak(text, "single", names[seat])
            return
        if single:
            raise TransientError(
                "council.did_not_answer", name=names[0], why=formatting.failure(council.replies[0], say)
            )
        raise TransientError("council.none_answered", m=len(names))

    async def _streamed(self, chair_text: _ChairText) -> AsyncGenerator[Event, None]:
        """The chair's words as they arrive, without its dissent."""
        council, say = self._council, self._say
        assert council.tally is not None, "the answers have been judged"
        seats = council.shuffled_seats("chair", 1)[0]
        prompt = council.prompts().chair(seats, council.answers, council.tally.standings, council.ballots)
        try:
            stream = self._models.stream(self._run, "chair", "synthesis", prompt, chain=tuple(self._chairs()))
            async with aclosing(stream) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Completion):
                        chair_text.finish, council.chair = piece.finish, piece.model
                        if passed_over := ", ".join(model for model, _ in piece.passed_over):
                            yield Notice(say("council.chair_instead", chair=piece.model, failed=passed_over))
                    elif text := chair_text.splitter.feed(piece):
                        council.shown.append(text)
                        yield Text(text)
        except UserError as error:
            chair_text.fault = say(error.key, **error.values)
        if rest := chair_text.splitter.finish():
            council.shown.append(rest)
            yield Text(rest)

    async def _first_answer(self, why: str) -> AsyncGenerator[Event, None]:
        """The answer with the first place, unchanged. `why` says why there is no synthesis."""
        council, say, answers = self._council, self._say, self._council.answers
        winners = council.tally.first if council.tally is not None else []
        seat = (winners or list(answers))[0]
        # Likeness is not a judgement, so its first answer is not called the best.
        key = ("best" if council.ballots else "likest") if winners else "any"
        yield Stage("best", say(f"council.{key}", name=council.snapshot.names[seat]), answer=True)
        yield Notice(why)
        council.kind, council.chair, council.shown = "best", council.replies[seat].model, [answers[seat]]
        yield Text(formatting.whole(answers[seat]))
        yield Speak(answers[seat], "best", council.snapshot.names[seat])

    def _chairs(self) -> list[str]:
        """The models that may write the synthesis: the chair's chain, then the members that can judge, the best
        first.
        """
        council, snapshot = self._council, self._council.snapshot
        ranked = [standing.seat for standing in council.tally.standings] if council.tally is not None else []
        members = [snapshot.members[seat].model for seat in ranked if seat in snapshot.judges]
        return list(dict.fromkeys([*snapshot.chair, *members]))


class _ChairText:
    """The chair's text so far. `finish` is how it ended, `fault` a sentence for people, "" if there is none."""

    def __init__(self) -> None:
        self.splitter = DissentSplitter()
        self.finish, self.fault = "cut", ""


class DissentSplitter:
    """Splits a chair's text, while it streams, into the synthesis and the dissent below its DISSENT: line."""

    def __init__(self) -> None:
        self._pending = ""
        self._blank_lines = ""
        """Line ends at the end of the synthesis so far, which are dropped if the dissent follows."""
        self._at_line_start = True
        """Whether the pending text begins a line."""
        self._dissent_pieces: list[str] | None = None

    @property
    def has_dissent_line(self) -> bool:
        """Whether the DISSENT: line has arrived."""
        return self._dissent_pieces is not None

    @property
    def dissent(self) -> str:
        """The text below the DISSENT: line; "" for none, or if the chair writes that there is none."""
        text = _DISSENT.sub("", "".join(self._dissent_pieces or ()), count=1).strip()
        return "" if _NO_DISSENT.match(text) else text

    def feed(self, piece: str) -> str:
        """Add a piece of text; returns the text that certainly belongs to the synthesis."""
        if self._dissent_pieces is not None:
            self._dissent_pieces.append(piece)
            return ""
        self._pending += piece
        visible: list[str] = []
        while self._pending:
            if self._at_line_start and _DISSENT.match(self._pending):
                self._dissent_pieces = [self._pending]
                self._pending = ""
            elif self._at_line_start and _DISSENT_BEGINS.match(self._pending):
                break  # it may become the line
            else:
                line, end, self._pending = self._pending.partition("\n")
                visible.append(line + end)
                self._at_line_start = bool(end)
        text = self._blank_lines + "".join(visible)
        stripped = text.rstrip("\n")
        self._blank_lines = text[len(stripped) :]
        return stripped

    def finish(self) -> str:
        """End the text; returns the pending text of the synthesis."""
        rest, self._pending = self._pending, ""
        return self._blank_lines + rest if rest.strip() else ""
