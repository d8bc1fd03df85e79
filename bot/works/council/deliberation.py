"""One council, stage by stage: research, answers, debate, ballots. Its result is in `verdict`.

Each stage is a message of its own; the calls of a stage run in parallel, each as a durable step. Knows no platform.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bot.config.model_spec import ModelSpec, model_of
from bot.events import Event, Notice, Stage, Status, Text, UserError
from bot.llm.base import ModelError, Prompt
from bot.words import Words
from bot.work import Run
from bot.works.council import formatting, rotation, tally
from bot.works.council.ballot import read as read_ballot
from bot.works.council.ballot import repair, schema
from bot.works.council.prompts import CouncilPrompts
from bot.works.council.values import Ballot, Kind, Reading, Reply, Snapshot, Tally, Vote

if TYPE_CHECKING:
    from bot.llm.registry import Models

Call = Callable[[], Awaitable[Reply]]

TOGETHER_S = 0.05
"""Replies that were stored before a crash arrive within this time of each other, and are sorted in their original
order.
"""


class Deliberation:
    """One council and the results of its stages so far; each stage's generator runs once, in order."""

    def __init__(self, run: Run, snapshot: Snapshot, models: Models, say: Words) -> None:
        self._run = run
        self._models = models
        self._say = say
        self.snapshot = snapshot
        self.findings: dict[str, Reply] = {}
        self.replies: dict[int, Reply] = {}
        self.attack: Reply | None = None
        self.first_answers: dict[int, str] = {}
        self.ballots: list[Ballot] = []
        self.tally: Tally | None = None
        self.kind: Kind = ""
        self.chair = ""
        self.shown: list[str] = []
        self.dissent = ""

    @property
    def answers(self) -> dict[int, str]:
        """The usable answers, by seat."""
        return {seat: reply.text for seat, reply in sorted(self.replies.items()) if reply.usable}

    @property
    def verdict(self) -> str:
        return "".join(self.shown).strip()

    async def research(self) -> AsyncGenerator[Event, None]:
        """Stage 0: the researcher answers for each category; the members read its findings."""
        snapshot, say = self.snapshot, self._say
        yield Stage("research", say("council.research"))
        if not snapshot.researchers:
            yield Notice(say("council.no_researcher"))
            return
        total = len(snapshot.research)
        yield Status(say("council.researching"), 0, total)
        prompts = CouncilPrompts(snapshot, {})
        calls: dict[str, Call] = {}
        for n, category in enumerate(snapshot.research):
            step = f"research-{category}"
            prompt = prompts.research(category)
            calls[step] = partial(
                self._reply, "researcher", step, prompt, tuple(snapshot.researchers), snapshot.timeout, n
            )
        async with aclosing(self._replies(calls)) as replies:
            async for reply in replies:
                category = snapshot.research[reply.seat]
                self.findings[category] = reply
                yield Text(formatting.answered(reply, category.replace("_", " ").capitalize(), say))
                yield Status(say("council.researching"), len(self.findings), total)

    async def answer(self) -> AsyncGenerator[Event, None]:
        """Stage 1: every member answers by itself."""
        snapshot, say = self.snapshot, self._say
        if snapshot.level == "single":  # there will be only one answer
            yield Stage("single", say("council.single", name=snapshot.names[0]))
        else:
            yield Stage("answers", say("council.answers"))
        yield Status(say("council.answering"), 0, len(snapshot.members))
        prompts = self.prompts()
        calls = {
            f"answer-{seat + 1}": self._member_call(seat, f"answer-{seat + 1}", prompts.answer(member))
            for seat, member in enumerate(snapshot.members)
        }
        async with aclosing(self._replies(calls)) as replies:
            async for answer in replies:
                self.replies[answer.seat] = answer
                if snapshot.level == "single":
                    return
                yield Text(formatting.answered(answer, snapshot.names[answer.seat], say))
                yield Status(say("council.answering"), len(self.replies), len(snapshot.members))
        if len(self.answers) < len(snapshot.members):
            yield Notice(say("council.only", n=len(self.answers), m=len(snapshot.members)))

    async def debate(self) -> AsyncGenerator[Event, None]:
        """One round of debate: a devil's advocate attacks all answers, then each member may change its own."""
        snapshot, say, answers = self.snapshot, self._say, self.answers
        yield Stage("debate", say("council.debate"))
        prompts, texts = self.prompts(), [answers[seat] for seat in self.shuffled_seats("attack", 1)[0]]
        advocate = random.Random(f"{self._run.id} advocate").choice(list(answers))
        member = snapshot.members[advocate]
        yield Status(say("council.attacking", name=snapshot.names[advocate]))
        call = self._member_call(advocate, "attack", prompts.attack(member, texts))
        self.attack = attack = await self._run.step("attack", call, Reply)
        yield Text(formatting.answered(attack, say("council.advocate", name=snapshot.names[advocate]), say))
        if not attack.usable:
            yield Notice(say("council.no_debate"))
            return
        self.first_answers = dict(answers)
        other_seats = [seat for seat in answers if seat != advocate]
        orders = dict(zip(other_seats, self.shuffled_seats("revise", len(other_seats)), strict=True))
        calls: dict[str, Call] = {}
        for seat in other_seats:
            step = f"revise-{seat + 1}"
            others_texts = [answers[other_seat] for other_seat in orders[seat] if other_seat != seat]
            prompt = prompts.revise(snapshot.members[seat], answers[seat], others_texts, attack.text)
            calls[step] = self._member_call(seat, step, prompt)
        replies_done = 0
        yield Status(say("council.revising"), 0, len(calls))
        async with aclosing(self._replies(calls)) as replies:
            async for revised in replies:
                replies_done += 1
                if revised.usable:
                    self.replies[revised.seat] = replace(
                        revised, seconds=revised.seconds + self.replies[revised.seat].seconds
                    )
                else:
                    yield Notice(say("council.keeps", name=snapshot.names[revised.seat]))
                yield Text(formatting.answered(revised, snapshot.names[revised.seat], say))
                yield Status(say("council.revising"), replies_done, len(calls))

    async def vote(self) -> AsyncGenerator[Event, None]:
        """Stage 2: each judge ranks the answers, which it sees under letters and in an order of its own."""
        snapshot, say, answers = self.snapshot, self._say, self.answers
        # A member that could not answer is not asked to judge: it would probably fail again, at the same cost.
        judges = [seat for seat in snapshot.judges if seat in answers]
        yield Stage("ballots", say("council.ballots" if judges else "council.compared"))
        votes: list[Vote]
        if judges:
            async with aclosing(self._collect_ballots(judges)) as events:
                async for event in events:
                    yield event
            votes = [
                tally.vote(ballot, snapshot.members[ballot.seat].model)
                for ballot in self.ballots
                if ballot.order
            ]
        else:
            yield Notice(say("council.cannot_judge"))
            votes = tally.likeness_votes(answers)
        tallied = tally.count(list(answers), votes, snapshot.self_votes if judges else "exclude")
        self.tally = replace(tallied, abstained=len(judges) - len(votes)) if judges else tallied
        lines = [formatting.ballot_line(ballot, snapshot.names, say) for ballot in self.ballots]
        if not votes:
            yield Text("\n\n".join([say("council.nobody_voted"), "\n".join(lines)]))
            return
        yield Text(formatting.winners(self.tally, snapshot.names, say) + "\n\n")
        if tallied.first or tallied.other_first:
            yield Text(formatting.table(self.tally, snapshot.names, say, judged=bool(judges)) + "\n\n")
        if judges:
            yield Text(formatting.explanation(self.tally, snapshot.names, say) + "\n\n")
            yield Text("\n".join(lines) + f"\n\n*{say('council.letters_only')}*")

    async def _collect_ballots(self, judges: list[int]) -> AsyncGenerator[Event, None]:
        """Ask each judge, unreadable ones a second time, and set `ballots`."""
        snapshot, say, answers = self.snapshot, self._say, self.answers
        prompts = self.prompts()
        prompts_by_seat: dict[int, Prompt] = {}
        orders = dict(
            zip(judges, rotation.display_orders(self._run.id, len(judges), list(answers)), strict=True)
        )
        for seat in judges:
            texts = [answers[answer_seat] for answer_seat in orders[seat]]
            prompt = prompts.ballot(snapshot.members[seat], texts, snapshot.criteria)
            prompts_by_seat[seat] = replace(prompt, schema=schema(len(texts)))
        ballots: dict[int, Ballot] = {}
        yield Status(say("council.judging"), 0, len(judges))
        calls = {
            f"ballot-{seat + 1}": self._member_call(seat, f"ballot-{seat + 1}", prompts_by_seat[seat])
            for seat in judges
        }
        repair_reasons: dict[int, str] = {}
        async with aclosing(self._replies(calls)) as replies:
            async for reply in replies:
                reading, reason = _read(reply, len(answers))
                ballots[reply.seat] = Ballot(reply.seat, orders[reply.seat], reply, None, reading)
                if reason:
                    repair_reasons[reply.seat] = reason
                yield Status(say("council.judging"), len(ballots), len(judges))
        # Repairs begin after all ballots have arrived: the engine numbers steps as they begin, and must find them in
        # the same order after a crash.
        repairs: dict[str, Call] = {}
        for seat in sorted(repair_reasons):
            step = f"ballot-{seat + 1}-again"
            prompt = repair(prompts_by_seat[seat], ballots[seat].first.text, repair_reasons[seat])
            repairs[step] = self._member_call(seat, step, prompt)
        if repairs:
            yield Status(say("council.asking_again", n=len(repairs)))
        async with aclosing(self._replies(repairs)) as replies:
            async for reply in replies:
                first = ballots[reply.seat]
                newer, _ = _read(reply, len(answers))
                # Of two partial orders the longer one counts; of equal ones the newer.
                reading = max(newer, first.reading, key=_certainty)
                ballots[reply.seat] = replace(first, again=reply, reading=reading)
        self.ballots = [ballots[seat] for seat in sorted(ballots)]

    def prompts(self) -> CouncilPrompts:
        """The members' prompts, with the findings of the research."""
        return CouncilPrompts(
            self.snapshot, {name: finding.text for name, finding in self.findings.items() if finding.usable}
        )

    def shuffled_seats(self, purpose: str, readers: int) -> list[list[int]]:
        """For each reader, the seats with an answer in a random order, which depends on the run and the `purpose`."""
        return rotation.display_orders(f"{self._run.id} {purpose}", readers, list(self.answers))

    def _member_call(self, seat: int, step: str, prompt: Prompt) -> Call:
        """The call that asks the member in a seat."""
        member: ModelSpec = self.snapshot.members[seat]
        within = member.timeout or self.snapshot.timeout
        return partial(self._reply, "council", step, prompt, (member.model,), within, seat)

    async def _reply(
        self, role: str, step: str, prompt: Prompt, chain: tuple[str, ...], within: float, seat: int
    ) -> Reply:
        """Ask a model; a failed call also gives a reply. `within` is in seconds."""
        began = time.monotonic()
        try:
            answer = await self._models.ask(self._run, role, step, prompt, chain=chain, within=within)
        except UserError as error:
            partly = error.partial if isinstance(error, ModelError) else None
            return Reply(
                seat,
                text=partly.text if partly else "",
                finish="cut",
                model=model_of(chain[0]),
                seconds=time.monotonic() - began,
                at=time.time(),
                fault=error.key,
                values={name: str(value) for name, value in error.values.items()},
            )
        return Reply(
            seat,
            answer.text,
            answer.finish,
            answer.model,
            time.monotonic() - began,
            time.time(),
            answer.reasoning,
        )

    async def _replies(self, calls: Mapping[str, Call]) -> AsyncGenerator[Reply, None]:
        """Make all calls at once, each as the step of its key; yields each reply when it arrives."""
        began = time.time()
        # The engine numbers steps as they begin, and tasks begin in the order of their creation.
        tasks = [asyncio.ensure_future(self._run.step(name, call, Reply)) for name, call in calls.items()]
        waiting = set(tasks)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if waiting and any(task.result().at < began for task in done):
                    also_done, waiting = await asyncio.wait(waiting, timeout=TOGETHER_S)
                    done |= also_done
                for reply in sorted(
                    (task.result() for task in done), key=lambda reply: (reply.at, reply.seat)
                ):
                    yield reply
        finally:
            for task in tasks:
                task.cancel()
            # No task may outlive the stage, or fail unnoticed.
            await asyncio.gather(*tasks, return_exceptions=True)


def _certainty(reading: Reading) -> tuple[bool, int]:
    """The sort key of a reading: first how certain it is, then how many responses it ranks."""
    return reading.source in ("schema", "ranking"), len(reading.ranking)


def _read(reply: Reply, answers: int) -> tuple[Reading, str]:
    """The ballot in a reply, and why the judge should be asked again; "" if it should not."""
    return read_ballot(reply.text, answers) if reply.usable else (Reading(), "")
