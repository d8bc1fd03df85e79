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
        """Stage 3: a chair that does not know the authors combines the answers into one; it is called a synthesis once
        it is complete.
        """
        council, say, answers = self._council, self._say, self._council.answers
        if not self._chairs():
            async for event in self._best(say("council.no_chair")):
                yield event
            return
        yield Stage("synthesis", say("council.chair_writes"), answer=True)
        yield Status(say("council.chair_reads", n=len(answers)))
        written = _ChairText()
        yield Speaking("synthesis", "chair")
        async with aclosing(self._streamed(written)) as events:
            async for event in events:
                yield event
        if not council.verdict:
            yield Stage("synthesis", say("council.chair_empty"))
            declined = "refusal" if written.finish == "refusal" else "silent"
            async for event in self._best(written.fault or say(f"council.chair_{declined}")):
                yield event
            return
        if written.finish != "end":
            yield Stage("synthesis", say("council.unfinished"), answer=True)
            how = written.finish if written.finish in ("length", "refusal") else "cut"
            yield Notice(written.fault or say(f"council.chair_{how}"))
            which = "why" if council.tally is not None and council.tally.first else "any"
            async for event in self._best(say(f"council.unfinished_{which}")):
                yield event
            return
        council.kind, council.dissent = "synthesis", written.parting.dissent
        no_dissent = say("council.no_dissent" if written.parting.parted else "council.dissent_unsaid")
        dissent = formatting.whole(council.dissent) or no_dissent
        yield Speak(council.verdict, "synthesis", "chair")
        yield Text(f"{formatting.closing(council.verdict)}\n\n**{say('council.dissent')}**\n\n{dissent}")
        yield Stage("synthesis", say("council.synthesis"), answer=True)

    async def alone(self) -> AsyncGenerator[Event, None]:
        """The verdict if fewer than two have answered: the only answer, presented as such. Raises UserError."""
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

    async def _streamed(self, written: _ChairText) -> AsyncGenerator[Event, None]:
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
                        written.finish, council.chair = piece.finish, piece.model
                        if passed := ", ".join(model for model, _ in piece.passed_over):
                            yield Notice(say("council.chair_instead", chair=piece.model, failed=passed))
                    elif text := written.parting.feed(piece):
                        council.shown.append(text)
                        yield Text(text)
        except UserError as error:
            written.fault = say(error.key, **error.values)
        if rest := written.parting.finish():
            council.shown.append(rest)
            yield Text(rest)

    async def _best(self, why: str) -> AsyncGenerator[Event, None]:
        """The answer with the first place, unchanged, if no chair could combine them."""
        council, say, answers = self._council, self._say, self._council.answers
        ahead = council.tally.first if council.tally is not None else []
        first = (ahead or list(answers))[0]
        # Likeness is not a judgement, so its first answer is not called the best.
        key = ("best" if council.ballots else "likest") if ahead else "any"
        yield Stage("best", say(f"council.{key}", name=council.snapshot.names[first]), answer=True)
        yield Notice(why)
        council.kind, council.chair, council.shown = "best", council.replies[first].model, [answers[first]]
        yield Text(formatting.whole(answers[first]))
        yield Speak(answers[first], "best", council.snapshot.names[first])

    def _chairs(self) -> list[str]:
        """The models that may write the synthesis: the chair's chain, then the members that can judge, the best
        first.
        """
        council, snapshot = self._council, self._council.snapshot
        ranked = [standing.seat for standing in council.tally.standings] if council.tally is not None else []
        members = [snapshot.members[seat].model for seat in ranked if seat in snapshot.judges]
        return list(dict.fromkeys([*snapshot.chair, *members]))


class _ChairText:
    """The chair's text so far, and its end: `fault` is a sentence, "" if there is none."""

    def __init__(self) -> None:
        self.parting = DissentSplitter()
        self.finish, self.fault = "cut", ""


class DissentSplitter:
    """Splits a chair's text into the synthesis and the dissent below its DISSENT: line.

    `feed` returns text of the synthesis; `dissent` is the text below the line so far.
    """

    def __init__(self) -> None:
        self._held = ""
        self._gap = ""
        """Blank lines that were held back; they are dropped before the dissent."""
        self._fresh = True
        """Whether the held text begins a line."""
        self._below: list[str] | None = None

    @property
    def parted(self) -> bool:
        """Whether the dissent's line has arrived; without it the chair wrote nothing about dissent."""
        return self._below is not None

    @property
    def dissent(self) -> str:
        """The dissent; "" if there is none, or if the text says that there is none."""
        text = _DISSENT.sub("", "".join(self._below or ()), count=1).strip()
        return "" if _NO_DISSENT.match(text) else text

    def feed(self, piece: str) -> str:
        """Add some text; returns text that is certainly above the line."""
        if self._below is not None:
            self._below.append(piece)
            return ""
        self._held += piece
        visible: list[str] = []
        while self._held:
            if self._fresh and _DISSENT.match(self._held):
                self._below = [self._held]
                self._held = ""
            elif self._fresh and _DISSENT_BEGINS.match(self._held):
                break  # it may become the line
            else:
                line, end, self._held = self._held.partition("\n")
                visible.append(line + end)
                self._fresh = bool(end)
        text = self._gap + "".join(visible)
        stripped = text.rstrip("\n")
        self._gap = text[len(stripped) :]
        return stripped

    def finish(self) -> str:
        """End the text; returns the text that was held back."""
        rest, self._held = self._held, ""
        return self._gap + rest if rest.strip() else ""
