"""The work "council": dispatches its verbs, and runs `council ask`: its cost, its stages, its records.

Knows no platform and no provider. The stages are in `deliberation`.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.budget import dollars
from bot.conversation import read_along
from bot.events import Changed, Choice, Choices, Event, Notice, OptionValue, Request, Stage, Text
from bot.verb import LAST
from bot.words import Words, words
from bot.work import Run, Work
from bot.works.council import estimate, formatting, records
from bot.works.council.deliberation import Deliberation
from bot.works.council.estimate import Estimate, Estimates
from bot.works.council.formatting import Bill
from bot.works.council.values import Level, Snapshot
from bot.works.council.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.llm.registry import Models
    from bot.works.council.display import Display
    from bot.works.council.records import CouncilRecords
    from bot.works.council.settings import Settings
    from bot.works.council.snapshot import Snapshots
    from bot.works.council.stats import Stats
    from storage.buttons import Offers
    from storage.sessions import Sessions

ALIAS_CHARS = 6
"""How many characters of a run's id name it for people."""

ESTIMATE = "estimate"
"""The key of the stage that asks about the cost, and the kind of the offer stored behind its buttons."""


@dataclass(frozen=True, slots=True)
class CostQuestion:
    """The question whether to go on at this cost. Each of `ways` is an option: its label, command and level."""

    title: str
    text: str
    prompt: str
    ways: list[list[str]]

    def choices(self, chosen: int | None = None) -> Choices:
        offered = tuple(Choice(label, command) for label, command, _ in self.ways)
        return Choices(self.prompt, offered, taken=chosen)

    def answered_by(self, request: Request) -> Changed:
        """The question after `request` has chosen one of its options."""
        level = request.options.get("level")
        chosen = next((n for n, option in enumerate(self.ways) if option[2] == level), 0)
        taken = replace(self.choices(chosen), by=request.author.name)
        return Changed(request.answers, ESTIMATE, self.title, (Text(self.text), taken))


class Council:
    """The work: several models answer one question and rank each other's answers, and a chair sums up."""

    def __init__(self, asking: Asking, settings: Settings, display: Display, stats: Stats) -> None:
        self._asking = asking
        self._settings = settings
        self._display = display
        self._stats = stats

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs: dict[str, Work] = {
            "ask": self._asking,
            "members": self._settings,
            "chair": self._settings,
            "criteria": self._settings,
            "show": self._display,
            "export": self._display,
            "stats": self._stats,
        }
        return verbs[run.request.verb].run(run)


@dataclass(frozen=True, slots=True)
class Asking:
    """The verb "ask". `_mini` is the number of members at the level of that name."""

    _models: Models
    _sessions: Sessions
    _snapshots: Snapshots
    _records: CouncilRecords
    _offers: Offers
    _mini: int

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request = run.request
        snapshot = await run.step("snapshot", lambda: self._snapshots.take(request), Snapshot)
        say = words(request.locale)
        guess = await run.step(
            "estimate", lambda: estimate.estimates(snapshot, self._models, self._mini), Estimates
        )
        if guess.asked.usd > Decimal(str(snapshot.ask_above)) and not request.options.get("yes"):
            question = _cost_question_for(snapshot, guess, request.options, say)
            await run.step("keep-question", lambda: self._keep(request, question), bool)
            yield Stage(ESTIMATE, question.title)
            yield Text(question.text)
            yield question.choices()
            return
        questions: list[CostQuestion] = []
        if request.answers:
            questions = await run.step("question", lambda: self._cost_question(request), list[CostQuestion])
        council = Deliberation(run, snapshot, self._models, say)
        try:
            async with aclosing(self._stages(run, council, guess.asked, say)) as events:
                async for event in events:
                    yield event
                    if isinstance(event, Stage):  # somebody is waiting for the first stage
                        for question in questions:
                            yield question.answered_by(request)
                        questions = []
        finally:
            # Also after a stop: what was shown is kept, and a follow-up can build on it.
            await self._remember(run, council, say)

    async def _keep(self, request: Request, question: CostQuestion) -> bool:
        """Store the question for the run that will continue from it."""
        stored = json.dumps(asdict(question), ensure_ascii=False)
        await self._offers.keep(request.place.space, request.id, ESTIMATE, [stored])
        return True

    async def _cost_question(self, request: Request) -> list[CostQuestion]:
        """The stored question about the cost that this run continues from: a list of one, or []."""
        stored = await self._offers.all(request.place.space, request.answers, ESTIMATE)
        return [CostQuestion(**json.loads(question)) for question in stored]

    async def _stages(
        self, run: Run, council: Deliberation, guess: Estimate, say: Words
    ) -> AsyncGenerator[Event, None]:
        request, snapshot = run.request, council.snapshot
        stages = [council.research] if snapshot.research else []
        stages.append(council.answer)
        for n, stage in enumerate(stages):
            async with aclosing(stage()) as events:
                async for event in events:
                    yield event
                    if n == 0 and isinstance(event, Stage):
                        for notice in _initial_notices(snapshot, guess, say):
                            yield notice
                        for notice in read_along(request, snapshot.notes, say):
                            yield notice
        if len(council.answers) > 1 and snapshot.debate:
            async with aclosing(council.debate()) as events:
                async for event in events:
                    yield event
        await run.step("keep-answers", lambda: self._records.begin(request, council), bool)
        verdict = Verdict(run, council, self._models, say)
        if len(council.answers) < 2:
            verdict_stage = verdict.alone
        else:
            async with aclosing(council.vote()) as events:
                async for event in events:
                    yield event
            await run.step("keep-ballots", lambda: self._records.ballots(request, council), bool)
            verdict_stage = verdict.synthesis
        async with aclosing(verdict_stage()) as events:
            async for event in events:
                yield event
        bill = await run.step("bill", lambda: self._records.bill(request.place.space, run.id), Bill)
        await run.step("keep-verdict", lambda: self._records.end(request, council, bill), bool)
        seconds = await run.step("seconds", lambda: _since(snapshot.began), float)
        ballots_cast = sum(1 for ballot in council.ballots if ballot.order)
        summary = formatting.footer(snapshot, bill, len(council.answers), ballots_cast, seconds, say)
        yield Notice(f"{summary} · {say('council.number', run=run.id[-ALIAS_CHARS:])}")
        yield _detail_buttons(run.id, council, say)

    async def _remember(self, run: Run, council: Deliberation, say: Words) -> None:
        session = council.snapshot.session
        # Also without a verdict: its councils are deleted with the conversation.
        if session is not None and council.replies:
            await self._sessions.add_exchange(
                run.request.place.space,
                session,
                run.id,
                # The current text: the asker may have changed it while a crash had interrupted the run.
                run.request.text.strip() or council.snapshot.question,
                records.follow_up_text(council, say("council.dissent")),
            )


async def _since(began: float) -> float:
    return time.time() - began


def _initial_notices(snapshot: Snapshot, guess: Estimate, say: Words) -> list[Notice]:
    """Notices before the first answer: the estimated cost, and a warning about the demo model."""
    sentences = [say("council.demo")] if snapshot.demo else []
    if guess.usd:
        about = say("council.about", cost=formatting.dollars(guess.usd, say), calls=guess.calls)
        sentences.append(" ".join([about, *_unpriced_sentences(guess, say)]))
    if snapshot.most is not None and float(guess.usd) > snapshot.most:
        sentences.append(say("council.over_cap", most=formatting.dollars(Decimal(str(snapshot.most)), say)))
    return [Notice(text) for text in sentences]


def _cost_question_for(
    snapshot: Snapshot, guess: Estimates, options: Mapping[str, OptionValue], say: Words
) -> CostQuestion:
    """The question about the cost, with its options: as requested, cheaper, or not at all."""
    cost = formatting.dollars(guess.asked.usd, say)
    offers = [
        [say("council.go_on", cost=cost), _command_line(snapshot, options, snapshot.level), snapshot.level]
    ]
    for level, cheaper in guess.cheaper:
        label = say(f"council.ask_{level}", cost=formatting.dollars(cheaper.usd, say))
        offers.append([label, _command_line(snapshot, options, level), level])
    offers.append([say("council.leave"), "", ""])
    limit = say("council.usd", n=dollars(Decimal(str(snapshot.ask_above))))
    lines = [say("council.would_cost", cost=cost, calls=guess.asked.calls, limit=limit)]
    lines += _unpriced_sentences(guess.asked, say)
    return CostQuestion(say("council.estimate"), " ".join(lines), say("council.go_on_how"), offers)


def _unpriced_sentences(guess: Estimate, say: Words) -> list[str]:
    """A sentence about the models whose prices are not known."""
    return [say("council.uncounted", models=", ".join(guess.unpriced))] if guess.unpriced else []


def _command_line(snapshot: Snapshot, options: Mapping[str, OptionValue], level: Level) -> str:
    """The command line that asks the same again, without asking about the cost."""
    parts = ["/council ask --yes", f"--level {level}"]
    if snapshot.research:
        parts.append(f"--research {','.join(snapshot.research)}")
    parts += [f"--{name}" for name in ("debate", "private") if options.get(name)]
    if last := options.get(LAST.name):
        parts.append(f"--last {last}")
    if snapshot.history or (snapshot.earlier and not last):
        parts.append("--follow")
    return " ".join([*parts, "--", snapshot.question])


def _detail_buttons(run: str, council: Deliberation, say: Words) -> Choices:
    """Buttons that show the answers, ballots, key and research, and export the council."""
    alias = run[-ALIAS_CHARS:]
    parts = ["answers"]
    if council.ballots:
        parts += ["ballots", "key"]
    if council.findings:
        parts.append("research")
    buttons = [Choice(say(f"council.show_{part}"), f"/council show {part} --run {alias}") for part in parts]
    export = Choice(say("council.export"), f"/council export --run {alias}")
    return Choices(say("council.look_closer"), (*buttons, export))
