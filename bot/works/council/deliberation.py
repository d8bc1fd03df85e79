"""One council, stage by stage: research, answers, debate, ballots. What comes of it is in `ending`.

Each stage is a message of its own; the calls of a stage go side by side, each a durable step. Knows no platform.
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

from bot.config.members import Member, model_of
from bot.events import Event, Notice, Run, Sorry, Stage, Status, Text
from bot.llm.base import ModelError, Prompt
from bot.words import Words
from bot.works.council import ballot as ballots_
from bot.works.council import rotation, tally, telling
from bot.works.council.prompting import Prompts
from bot.works.council.values import Ballot, Kind, Reading, Reply, Snapshot, Tally, Vote

if TYPE_CHECKING:
    from bot.llm.registry import Models

Call = Callable[[], Awaitable[Reply]]

TOGETHER_S = 0.05
"""Replies that were kept before a crash come back within this of each other, and are sorted as they first came."""


class Deliberation:
    """Its state is what has come of the stages so far; each stage's generator is run once, in order.

    `kind` is what the verdict is: "synthesis", "single" (one model's answer), "best" (the best of several, as
    it stands), or "" while there is none.
    """

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
        """The answers that there are, by seat."""
        return {seat: one.text for seat, one in sorted(self.replies.items()) if one.usable}

    @property
    def verdict(self) -> str:
        return "".join(self.shown).strip()

    async def research(self) -> AsyncGenerator[Event, None]:
        """Stage 0: what the members are to know."""
        one, say = self.snapshot, self._say
        yield Stage("research", say("council.research"))
        if not one.researchers:
            yield Notice(say("council.no_researcher"))
            return
        total = len(one.research)
        yield Status(say("council.researching"), 0, total)
        prompts = Prompts(one, {})
        calls: dict[str, Call] = {}
        for n, category in enumerate(one.research):
            step = f"research-{category}"
            prompt = prompts.research(category)
            calls[step] = partial(
                self._reply, "researcher", step, prompt, tuple(one.researchers), one.timeout, n
            )
        async with aclosing(self._replies(calls)) as replies:
            async for found in replies:
                category = one.research[found.seat]
                self.findings[category] = found
                yield Text(telling.answered(found, category.replace("_", " ").capitalize(), say))
                yield Status(say("council.researching"), len(self.findings), total)

    async def answer(self) -> AsyncGenerator[Event, None]:
        """Stage 1: every member by itself."""
        one, say = self.snapshot, self._say
        if one.level == "single":  # one answer is all there will be
            yield Stage("single", say("council.single", name=one.names[0]))
        else:
            yield Stage("answers", say("council.answers"))
        yield Status(say("council.answering"), 0, len(one.members))
        prompts = self.prompts()
        calls = {
            f"answer-{seat + 1}": self._member(seat, f"answer-{seat + 1}", prompts.answer(member))
            for seat, member in enumerate(one.members)
        }
        async with aclosing(self._replies(calls)) as replies:
            async for answer in replies:
                self.replies[answer.seat] = answer
                if one.level == "single":
                    return
                yield Text(telling.answered(answer, one.names[answer.seat], say))
                yield Status(say("council.answering"), len(self.replies), len(one.members))
        if len(self.answers) < len(one.members):
            yield Notice(say("council.only", n=len(self.answers), m=len(one.members)))

    async def debate(self) -> AsyncGenerator[Event, None]:
        """One round: a devil's advocate speaks against all answers, then each member may change its own."""
        one, say, answers = self.snapshot, self._say, self.answers
        yield Stage("debate", say("council.debate"))
        prompts, texts = self.prompts(), [answers[seat] for seat in self.seen_by("attack", 1)[0]]
        advocate = random.Random(f"{self._run.id} advocate").choice(list(answers))
        member = one.members[advocate]
        yield Status(say("council.attacking", name=one.names[advocate]))
        call = self._member(advocate, "attack", prompts.attack(member, texts))
        self.attack = attack = await self._run.step("attack", call, Reply)
        yield Text(telling.answered(attack, say("council.advocate", name=one.names[advocate]), say))
        if not attack.usable:
            yield Notice(say("council.no_debate"))
            return
        self.first_answers = dict(answers)
        others = [seat for seat in answers if seat != advocate]
        shown = dict(zip(others, self.seen_by("revise", len(others)), strict=True))
        calls: dict[str, Call] = {}
        for seat in others:
            step, seen = f"revise-{seat + 1}", [answers[other] for other in shown[seat] if other != seat]
            prompt = prompts.revise(one.members[seat], answers[seat], seen, attack.text)
            calls[step] = self._member(seat, step, prompt)
        done = 0
        yield Status(say("council.revising"), 0, len(calls))
        async with aclosing(self._replies(calls)) as replies:
            async for revised in replies:
                done += 1
                if revised.usable:
                    self.replies[revised.seat] = replace(
                        revised, seconds=revised.seconds + self.replies[revised.seat].seconds
                    )
                else:
                    yield Notice(say("council.keeps", name=one.names[revised.seat]))
                yield Text(telling.answered(revised, one.names[revised.seat], say))
                yield Status(say("council.revising"), done, len(calls))

    async def vote(self) -> AsyncGenerator[Event, None]:
        """Stage 2: each judge ranks the answers under letters, in an order of its own."""
        one, say, answers = self.snapshot, self._say, self.answers
        # Who could not answer is not asked to judge: it would most likely fail again, for the same money.
        judges = [seat for seat in one.judges if seat in answers]
        yield Stage("ballots", say("council.ballots" if judges else "council.compared"))
        votes: list[Vote]
        if judges:
            async with aclosing(self._judged(judges)) as events:
                async for event in events:
                    yield event
            votes = [tally.vote(cast, one.members[cast.seat].model) for cast in self.ballots if cast.order]
        else:
            yield Notice(say("council.cannot_judge"))
            votes = tally.likeness_votes(answers)
        counted = tally.count(list(answers), votes, one.self_votes if judges else "exclude")
        self.tally = replace(counted, abstained=len(judges) - len(votes)) if judges else counted
        lines = [telling.ballot_line(cast, one.names, say) for cast in self.ballots]
        if not votes:
            yield Text("\n\n".join([say("council.nobody_voted"), "\n".join(lines)]))
            return
        yield Text(telling.winners(self.tally, one.names, say) + "\n\n")
        if counted.first or counted.other_first:
            yield Text(telling.table(self.tally, one.names, say) + "\n\n")
        if judges:
            yield Text(telling.plainly(self.tally, one.names, say) + "\n\n")
            yield Text("\n".join(lines) + f"\n\n*{say('council.letters_only')}*")

    async def _judged(self, judges: list[int]) -> AsyncGenerator[Event, None]:
        one, say, answers = self.snapshot, self._say, self.answers
        prompts = self.prompts()
        asked: dict[int, Prompt] = {}
        shown = dict(zip(judges, rotation.shown(self._run.id, len(judges), list(answers)), strict=True))
        for seat in judges:
            texts = [answers[other] for other in shown[seat]]
            prompt = prompts.ballot(one.members[seat], texts, one.criteria)
            asked[seat] = replace(prompt, schema=ballots_.schema(len(texts)))
        cast: dict[int, Ballot] = {}
        yield Status(say("council.judging"), 0, len(judges))
        calls = {
            f"ballot-{seat + 1}": self._member(seat, f"ballot-{seat + 1}", asked[seat]) for seat in judges
        }
        wrong: dict[int, str] = {}
        async with aclosing(self._replies(calls)) as replies:
            async for said in replies:
                reading, reason = _read(said, len(answers))
                cast[said.seat] = Ballot(said.seat, shown[said.seat], said, None, reading)
                if reason:
                    wrong[said.seat] = reason
                yield Status(say("council.judging"), len(cast), len(judges))
        # All repairs begin once all ballots are there: the engine numbers steps as they begin, and must find
        # them in the same order after a crash.
        again: dict[str, Call] = {}
        for seat in sorted(wrong):
            step = f"ballot-{seat + 1}-again"
            prompt = ballots_.repair(asked[seat], cast[seat].first.text, wrong[seat])
            again[step] = self._member(seat, step, prompt)
        if again:
            yield Status(say("council.asking_again", n=len(again)))
        async with aclosing(self._replies(again)) as replies:
            async for said in replies:
                first = cast[said.seat]
                newer, _ = _read(said, len(answers))
                # Of two parts of an order the longer one, of two that are as long the newer.
                reading = max(newer, first.reading, key=_worth)
                cast[said.seat] = replace(first, again=said, reading=reading)
        self.ballots = [cast[seat] for seat in sorted(cast)]

    def prompts(self) -> Prompts:
        """What the members are told, with what has been found out."""
        return Prompts(self.snapshot, {name: one.text for name, one in self.findings.items() if one.usable})

    def seen_by(self, whom: str, readers: int) -> list[list[int]]:
        """The seats with an answer as each reader sees them, in an order that says nothing."""
        return rotation.shown(f"{self._run.id} {whom}", readers, list(self.answers))

    def _member(self, seat: int, step: str, prompt: Prompt) -> Call:
        member: Member = self.snapshot.members[seat]
        within = member.timeout or self.snapshot.timeout
        return partial(self._reply, "council", step, prompt, (member.model,), within, seat)

    async def _reply(
        self, role: str, step: str, prompt: Prompt, chain: tuple[str, ...], within: float, seat: int
    ) -> Reply:
        """Ask, and say how it went; a call that fails is a reply, too. `within` are seconds."""
        began = time.monotonic()
        try:
            answer = await self._models.ask(self._run, role, step, prompt, chain=chain, within=within)
        except Sorry as sorry:
            partly = sorry.partial if isinstance(sorry, ModelError) else None
            return Reply(
                seat,
                text=partly.text if partly else "",
                finish="cut",
                model=model_of(chain[0]),
                seconds=time.monotonic() - began,
                at=time.time(),
                fault=sorry.key,
                values={name: str(value) for name, value in sorry.values.items()},
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
        """Make all calls, each as the step it is keyed by; yield each reply as soon as it is there."""
        began = time.time()
        # The engine numbers steps as they begin, and tasks begin in the order they were made.
        tasks = [asyncio.ensure_future(self._run.step(name, call, Reply)) for name, call in calls.items()]
        waiting = set(tasks)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if waiting and any(task.result().at < began for task in done):
                    more, waiting = await asyncio.wait(waiting, timeout=TOGETHER_S)
                    done |= more
                for reply in sorted((task.result() for task in done), key=lambda one: (one.at, one.seat)):
                    yield reply
        finally:
            for task in tasks:
                task.cancel()
            # None outlives the stage, or fails with nobody listening.
            await asyncio.gather(*tasks, return_exceptions=True)


def _worth(reading: Reading) -> tuple[bool, int]:
    """How much an order says: one that was read from mentions only less than any other."""
    return reading.source in ("schema", "ranking"), len(reading.ranking)


def _read(said: Reply, answers: int) -> tuple[Reading, str]:
    """A ballot, and why it should be asked for again; "" also where there is no use in that."""
    return ballots_.read(said.text, answers) if said.usable else (Reading(), "")
