"""The work "council": each verb to who does it; and `council ask`: its cost, its stages, and what is kept of them.

Knows no platform and no provider. What a stage does is in `deliberation`.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.budget import dollars
from bot.events import (
    Changed,
    Choice,
    Choices,
    Event,
    Notice,
    OptionValue,
    Request,
    Run,
    Stage,
    Text,
    Work,
)
from bot.words import Words, words
from bot.works.council import estimate, keeping, telling
from bot.works.council.deliberation import Deliberation
from bot.works.council.ending import Ending
from bot.works.council.estimate import Estimate, Estimates
from bot.works.council.telling import Bill
from bot.works.council.values import Level, Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.llm.registry import Models
    from bot.works.council.keeping import Keeping
    from bot.works.council.settings import Settings
    from bot.works.council.showing import Showing
    from bot.works.council.snapshot import Snapshots
    from bot.works.council.stats import Stats
    from storage.offers import Offers
    from storage.sessions import Sessions

ALIAS = 6
"""Characters of a run's id that people name it by."""

ESTIMATE = "estimate"
"""The stage of the question about the cost, and the kind of the storage's offers by which it is kept."""


@dataclass(frozen=True, slots=True)
class Question:
    """Whether it is worth that much. `ways` to go on are each a label, a command and the council's level."""

    title: str
    text: str
    prompt: str
    ways: list[list[str]]

    def choices(self, taken: int | None = None) -> Choices:
        made = tuple(Choice(label, command) for label, command, _ in self.ways)
        return Choices(self.prompt, made, taken=taken)

    def taken(self, request: Request) -> Changed:
        """The question once `request` has taken one of its ways."""
        level = request.options.get("level")
        way = next((n for n, one in enumerate(self.ways) if one[2] == level), 0)
        return Changed(request.answers, ESTIMATE, self.title, (Text(self.text), self.choices(way)))


class Council:
    """Several models asked at once, judged by each other, and summed up."""

    def __init__(self, asking: Asking, settings: Settings, showing: Showing, stats: Stats) -> None:
        self._asking = asking
        self._settings = settings
        self._showing = showing
        self._stats = stats

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        who: dict[str, Work] = {
            "ask": self._asking,
            "members": self._settings,
            "chair": self._settings,
            "criteria": self._settings,
            "show": self._showing,
            "export": self._showing,
            "stats": self._stats,
        }
        async with aclosing(who[run.request.verb].run(run)) as events:
            async for event in events:
                yield event


class Asking:
    def __init__(
        self,
        models: Models,
        sessions: Sessions,
        snapshots: Snapshots,
        keeping: Keeping,
        offers: Offers,
        mini: int,
    ) -> None:
        self._models = models
        self._sessions = sessions
        self._snapshots = snapshots
        self._keeping = keeping
        self._offers = offers
        self._mini = mini

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request = run.request
        snapshot = await run.step("snapshot", lambda: self._snapshots.take(request), Snapshot)
        say = words(request.locale)
        guess = await run.step(
            "estimate", lambda: estimate.estimates(snapshot, self._models, self._mini), Estimates
        )
        if guess.asked.usd > Decimal(str(snapshot.ask_above)) and not request.options.get("yes"):
            question = _question(snapshot, guess, request.options, say)
            await run.step("keep-question", lambda: self._keep(request, question), bool)
            yield Stage(ESTIMATE, question.title)
            yield Text(question.text)
            yield question.choices()
            return
        asked: list[Question] = []
        if request.answers:
            asked = await run.step("question", lambda: self._asked(request), list[Question])
        council = Deliberation(run, snapshot, self._models, say)
        try:
            async with aclosing(self._stages(run, council, guess.asked, say)) as events:
                async for event in events:
                    yield event
                    for question in asked if isinstance(event, Stage) else ():
                        yield question.taken(request)  # behind the first stage, which somebody waits for
                        asked = []
        finally:
            # Also when stopped: what was shown is kept, and a follow-up can build on it.
            await self._remember(run, council, say)

    async def _keep(self, request: Request, question: Question) -> bool:
        """The question as it was put, for the run that goes on from it."""
        kept = json.dumps(asdict(question), ensure_ascii=False)
        await self._offers.keep(request.place.space, request.id, ESTIMATE, [kept])
        return True

    async def _asked(self, request: Request) -> list[Question]:
        """The question about the cost that this run goes on from, if it does."""
        kept = await self._offers.all(request.place.space, request.answers, ESTIMATE)
        return [Question(**json.loads(one)) for one in kept]

    async def _stages(
        self, run: Run, council: Deliberation, guess: Estimate, say: Words
    ) -> AsyncGenerator[Event, None]:
        request, one = run.request, council.snapshot
        stages = [council.research] if one.research else []
        stages.append(council.answer)
        for n, stage in enumerate(stages):
            async with aclosing(stage()) as events:
                async for event in events:
                    yield event
                    if n == 0 and isinstance(event, Stage):
                        for notice in _beforehand(one, guess, say):
                            yield notice
        if len(council.answers) > 1 and one.debate:
            async with aclosing(council.debate()) as events:
                async for event in events:
                    yield event
        await run.step("keep-answers", lambda: self._keeping.begin(request, council), bool)
        ending = Ending(run, council, self._models, say)
        if len(council.answers) < 2:
            events_of = ending.alone
        else:
            async with aclosing(council.vote()) as events:
                async for event in events:
                    yield event
            await run.step("keep-ballots", lambda: self._keeping.ballots(request, council), bool)
            events_of = ending.synthesis
        async with aclosing(events_of()) as events:
            async for event in events:
                yield event
        bill = await run.step("bill", lambda: self._keeping.bill(request.place.space, run.id), Bill)
        await run.step("keep-verdict", lambda: self._keeping.end(request, council, bill), bool)
        seconds = await run.step("seconds", lambda: _since(one.began), float)
        cast = sum(1 for ballot in council.ballots if ballot.order)
        told = telling.footer(one, bill, len(council.answers), cast, seconds, say)
        yield Notice(f"{told} · {say('council.number', run=run.id[-ALIAS:])}")
        yield _look_closer(run.id, council, say)

    async def _remember(self, run: Run, council: Deliberation, say: Words) -> None:
        session = council.snapshot.session
        # Without a verdict, too: with the conversation its councils are deleted.
        if session is not None and council.replies:
            await self._sessions.add_exchange(
                run.request.place.space,
                session,
                run.id,
                # As it reads now: whoever asked may have changed it while a crash had cut the run off.
                run.request.text.strip() or council.snapshot.question,
                keeping.remembered(council.snapshot, council, say("council.dissent")),
            )


async def _since(began: float) -> float:
    return time.time() - began


def _beforehand(one: Snapshot, guess: Estimate, say: Words) -> list[Notice]:
    """What people should know before it begins: the cost, and that the demo is a demo."""
    said = [say("council.demo")] if one.demo else []
    if guess.usd:
        about = say("council.about", cost=telling.dollars(guess.usd, say), calls=guess.calls)
        said.append(" ".join([about, *_uncounted(guess, say)]))
    if one.most is not None and float(guess.usd) > one.most:
        said.append(say("council.over_cap", most=telling.dollars(Decimal(str(one.most)), say)))
    return [Notice(text) for text in said]


def _question(one: Snapshot, guess: Estimates, options: Mapping[str, OptionValue], say: Words) -> Question:
    """What it would cost, and the ways to go on: as asked, cheaper, or not at all."""
    cost = telling.dollars(guess.asked.usd, say)
    ways = [[say("council.go_on", cost=cost), _line(one, options, one.level), one.level]]
    for level, other in guess.cheaper:
        label = say(f"council.ask_{level}", cost=telling.dollars(other.usd, say))
        ways.append([label, _line(one, options, level), level])
    ways.append([say("council.leave"), "", ""])
    limit = say("council.usd", n=dollars(Decimal(str(one.ask_above))))
    lines = [say("council.would_cost", cost=cost, calls=guess.asked.calls, limit=limit)]
    lines += _uncounted(guess.asked, say)
    return Question(say("council.estimate"), " ".join(lines), say("council.go_on_how"), ways)


def _uncounted(guess: Estimate, say: Words) -> list[str]:
    """The models whose prices are not known, in a sentence."""
    return [say("council.uncounted", models=", ".join(guess.unpriced))] if guess.unpriced else []


def _line(one: Snapshot, options: Mapping[str, OptionValue], level: Level) -> str:
    """The line that asks the same again, without asking about the cost."""
    said = ["/council ask --yes", f"--level {level}"]
    if one.research:
        said.append(f"--research {','.join(one.research)}")
    said += [f"--{name}" for name in ("debate", "private") if options.get(name)]
    if one.history or one.earlier:
        said.append("--follow")
    return " ".join([*said, "--", one.question])


def _look_closer(run: str, council: Deliberation, say: Words) -> Choices:
    """Buttons to everything raw."""
    alias = run[-ALIAS:]
    what = ["answers"]
    if council.ballots:
        what += ["ballots", "key"]
    if council.findings:
        what.append("research")
    shown = [Choice(say(f"council.show_{one}"), f"/council show {one} --run {alias}") for one in what]
    export = Choice(say("council.export"), f"/council export --run {alias}")
    return Choices(say("council.look_closer"), (*shown, export))
