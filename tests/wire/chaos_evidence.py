"""Gathers from the fakes, the database and the network what happened to each event in a run under faults."""

from __future__ import annotations

import re
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bot
from tests.fakes.slack import Message
from tests.wire.chaos_faults import Member
from tests.wire.chaos_people import KEY, Did, Model, People
from tests.wire.chaos_watch import Watch
from tests.wire.histories import Answer, Event, History, Paid, Run, Write
from tests.wire.on_discord import OnDiscord
from tests.wire.on_slack import OnSlack

ANSWERED = re.compile(r"Answer ([qp]\d+x) begins|\[(q\d+x)\] =")
TOLD_S = 90.0
"""For how many seconds after an event a message to its person counts as about it."""
HEARD_S = 4.0
"""An event counts as reachable if nothing was cut off for this many seconds after it came, at least once."""
STOPPED_S = 8.0
"""For how many seconds a slow answer continues at least after its first words."""
SHOWN = re.compile(
    r"/(chat\.|files\.complete|views\.|agents\.|assistant\.|channels/|interactions/|webhooks/)"
)
"""The calls with results that people see."""
WAITS = "in line; I begin"
_LEAST = 15

Query = Callable[[str], list[tuple[Any, ...]]]


def sorry() -> re.Pattern[str]:
    """A pattern that matches every sentence about a refusal or a fault, and no other."""
    words = tomllib.loads((Path(bot.__file__).parent / "words" / "en.toml").read_text(encoding="utf-8"))
    templates = [
        text
        for section in ("storage", "model", "app", "edge", "budget")
        for name, text in words.get(section, {}).items()
        if isinstance(text, str) and name != "in_line"
    ]
    longest = {max(re.split(r"{[^}]*}|[`*_\n]", text), key=len).strip() for text in templates}
    return re.compile("|".join(re.escape(text) for text in longest if len(text) >= _LEAST))


@dataclass
class Evidence:
    slack: OnSlack
    discord: OnDiscord
    people: People
    model: Model
    watch: Watch
    members: Sequence[Member]
    query: Query
    cut: list[tuple[float, float]]
    down: list[tuple[float, float]]

    def history(self) -> History:
        history = History(calls=self.model.calls, cut=self.cut, down=self.down)
        history.taken_over = self.watch.taken_over
        history.lost = {str(pid): at for pid, at in self.watch.lost.items()}
        self._wall_s = time.time() - time.monotonic()
        self._sorry = sorry()
        self._of_database(history)
        self._of_answers(history)
        history.events = [self._event(did) for did in self.people.did if did.what is not None]
        for member in self.members:
            for sent in (*member.slack.sent, *member.discord.sent):
                if SHOWN.search(sent.path):
                    pid = max((life for life in member.lives if life[0] <= sent.at), default=(0.0, 0))[1]
                    history.writes.append(Write(str(pid), sent.at, f"{sent.method} {sent.path}"))
        return history

    def _of_database(self, history: History) -> None:
        self._runs: dict[str, str] = {}
        self._verbs: dict[str, str] = {}
        self._states: dict[str, str] = {}
        for run, state, verb, payload in self.query(
            "SELECT id, state, verb, payload FROM inbox WHERE parent = '' ORDER BY seq"
        ):
            if found := KEY.search(payload):
                self._runs[run], self._verbs[found[0]], self._states[found[0]] = found[0], verb, state
                history.runs.append(Run(found[0], state))
        for run, step, at in self.query(
            "SELECT run_id, step, settled_at FROM ledger WHERE state = 'settled'"
        ):
            history.paid.append(Paid(self._runs.get(str(run), str(run)), step, at.timestamp() - self._wall_s))
        self._messages: dict[str, set[str]] = defaultdict(set)
        self._alone: set[str] = set()
        for run, stage, message in self.query(
            "SELECT run_id, stage, message_id FROM outbox WHERE message_id IS NOT NULL"
        ):
            if run in self._runs:
                self._messages[self._runs[run]].add(message)
                if stage == "alone":
                    self._alone.add(self._runs[run])
        owed = {run for (run,) in self.query("SELECT run_id FROM unshown")}
        history.left += [f"owed: {self._runs[run]}" for run in owed if run in self._runs]

    def _of_answers(self, history: History) -> None:
        self._first: dict[str, float] = {}
        self._shown: dict[str, str] = {}
        """What each message shows, by its id."""
        homes = {
            message.id: did.key
            for did in self.people.did
            if did.platform == "discord" and did.what is not None and did.place == did.key
            for message in self.discord.talk(did.what, did.what.channel).messages()
        }
        # Where the response to a command was cut off, the thread is under a message that quotes it.
        threads = {
            message.id: found[0]
            for message in self.discord.everything()
            if message.author.bot and "asked:" in message.text and (found := KEY.search(message.text))
        }
        working = {
            key for key, session in self.slack.slack.agents.sessions.items() if session.status == "processing"
        }
        for message in self.slack.everything():
            if not (message.user.bot and not message.deleted):
                continue
            self._shown[message.ts] = message.shown
            place = message.thread_ts or ""
            live = message.streaming or (message.channel.id, place) in working
            self._add(history, message.shown, place, float(message.ts), live)
        for message in self.discord.everything():
            if message.author.bot and not message.deleted:
                self._shown[str(message.id)] = message.text
                live = any(str(button.custom_id).startswith("stop:") for button in message.buttons)
                place = homes.get(message.id) or threads.get(message.channel.id) or str(message.channel.id)
                self._add(history, message.text, place, message.created, live)

    def _add(self, history: History, shown: str, place: str, wall: float, live: bool) -> None:
        if WAITS in shown:
            history.left.append(f"{place}: {shown[:80]}")
        if (found := ANSWERED.search(shown)) is None:
            return
        key = found[1] or found[2]
        at = wall - self._wall_s
        whole = bool(found[2]) or f"ends {key}" in shown
        if found[2]:  # rolls do not wait for other runs of a place
            place = ""
        self._first[key] = min(at, self._first.get(key, at))
        history.answers.append(Answer(key, place, at, whole, live))

    def _event(self, did: Did) -> Event:
        once = True
        if isinstance(did.what, Message):
            once, acked = False, did.what.sent[0].acked if did.what.sent else None
        elif did.platform == "discord" and did.kind == "turn":
            acked = 0.0 if did.key in self._states else None
        else:
            acked = did.what.acked
        tries = [attempt.at for attempt in did.what.sent[0].tries] if not once and did.what.sent else []
        quiet = any(
            not any(began - 1 <= at + HEARD_S and at <= ended for began, ended in self.cut)
            for at in tries or [did.at]
        )
        if did.platform == "discord" and did.kind == "turn" and quiet:
            acked = 0.0
        return Event(
            did.key,
            did.place,
            did.at,
            acked,
            reachable=quiet,
            stopped=self._stopped(did),
            ordered=did.kind in ("turn", "press") or (did.platform == "slack" and did.kind == "question"),
            told=self._told(did),
        )

    def _stopped(self, did: Did) -> bool:
        if did.stop is None or did.stop.acked is None:
            return False
        began = did.stop.tries[-1].at if did.platform == "slack" else did.stop.sent
        return bool(began + did.stop.acked < did.began_at + STOPPED_S)

    def _told(self, did: Did) -> str:
        """The error message that the person saw, or that their button had expired."""
        if self._verbs.get(did.key) == "late":
            return "late"
        if did.key in self._alone:
            return "alone"
        texts = [self._shown.get(message, "") for message in self._messages[did.key]]
        texts += self._whispered(did)
        if self._states.get(did.key) == "failed":  # the shown text is not an answer
            return next((text[:120] for text in texts if text), "")
        found = next(filter(None, map(self._sorry.search, texts)), None)
        return found[0] if found is not None else ""

    def _whispered(self, did: Did) -> list[str]:
        later = [other.at for other in self.people.did if other.person is did.person and other.at > did.at]
        ends = min([did.at + TOLD_S, *later])
        if did.platform == "slack":
            team = self.slack.teams[0]
            dm = team.dm(did.person)
            return [
                message.shown
                for channel in (*team.channels.values(), dm)
                for message in channel.everything
                if message.user.bot
                and (message.ephemeral_to is did.person or channel is dm)
                and did.at <= float(message.ts) - self._wall_s <= ends
            ]
        if did.kind == "turn":
            return [
                message.text
                for message in self.discord.everything()
                if message.author.bot and getattr(message.reply_to, "id", None) == did.what.id
            ]
        return [did.what.text, *(message.text for message in did.what.followups)]
