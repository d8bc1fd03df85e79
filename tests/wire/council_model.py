"""The models of a council, on the strict chat completions fake: their answers at each stage, and the delays.

It recognises a council's tasks by the words of prompts.yml. A judge ranks answers by their text, not by their letters
or order: every council on the same question has the same result.

`python -m tests.wire.council_model --script FILE --log FILE` serves it as a process of its own, which prints
its port. The script is {"latency_s": {"m1 answer": 0.2}, "once": {"m4 answer": {Reply}}}; for each answered call, the
log has {"model", "task", "state"}, first "asked", then "done".
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.fakes.chat_completions import ChatService
from tests.fakes.reply import Body, Frame, Reply, Turn

QUESTION = "Which way should the caravan take in winter?"

ANSWERS = {
    "m1": "The pass: it is short, and by noon the snow is packed hard.",
    "m2": "The ferry: the river never freezes, and nobody watches the far bank.",
    "m3": "The old bridge: slow, but a loaded wagon crosses it in any weather.",
    "m4": "The coast road: two days longer, with an inn at every stage.",
    "m5": "The mine: dry all the way through, and too narrow for the mules.",
    "m6": "The frozen lake: level and quick, as long as the frost lasts.",
    "m7": "None of them: winter here, and leave with the first thaw.",
    "m8": "Two ways at once: riders ahead over the hills, wagons behind.",
}
"""The answer of each model."""

BEST = ("m2", "m1", "m3", "m4", "m5", "m6", "m7", "m8")
"""How every judge ranks the models."""

SYNTHESIS = (
    "Take the ferry, send what is heavy over the old bridge, and let the riders go ahead of both of them."
)
DISSENT = "The pass is faster while the frost holds."
ATTACK = "All of you assume that the caravan has to arrive before spring."
REVISED = "And the attack does not change that."
CATEGORIES = ("cultural_context", "narrative_structure", "philosophical_themes")
FOUND = {name: f"What is known of it by the way of {name.replace('_', ' ')}." for name in CATEGORIES}
GARBAGE = "I am sorry, there is nothing here that I would put above anything else."

TASKS = {
    "answer the question": "answer",
    "be the devil's advocate": "attack",
    "write your final answer": "revise",
    "judge": "ballot",
    "you are the chair": "synthesis",
}
"""What follows "Your task: " in the prompt."""

_RESPONSE = re.compile(r"<response\b(.*?)</response>", re.DOTALL)
_LETTER = re.compile(r"\b[A-L]\b")


class Call(NamedTuple):
    """One paid call. `task` is one of TASKS, "ballot-again" (the repair), or "research-CATEGORY"."""

    model: str
    task: str

    @property
    def step(self) -> str:
        """The name of the durable step that stores the call; seat n is the model m<n>."""
        alone = self.task.startswith("research") or self.task in ("attack", "synthesis")
        first, _, again = self.task.partition("-")
        return self.task if alone else f"{first}-{self.model[1:]}" + (f"-{again}" if again else "")


def call_of(body: Body) -> Call:
    """The model and the task of a request."""
    model, last = str(body["model"]), str(body["messages"][-1]["content"])
    system = "".join(str(message["content"]) for message in body["messages"] if message["role"] == "system")
    if "as its researcher" in system:
        (category,) = [name for name in CATEGORIES if name.replace("_", " ") in " ".join(system.split())]
        return Call(model, f"research-{category}")
    (task,) = [name for words, name in TASKS.items() if f"Your task: {words}" in last]
    again = task == "ballot" and "This was answered before" in last
    return Call(model, f"{task}-again" if again else task)


@dataclass
class CouncilModel:
    """`once` has the next replies to a call, used one at a time; `asked` and `done` count answers that were begun and
    that were sent completely. `prompts` has all the words of each request.
    """

    latency_s: dict[Call, float] = field(default_factory=dict)
    once: defaultdict[Call, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    asked: Counter[Call] = field(default_factory=Counter)
    done: Counter[Call] = field(default_factory=Counter)
    prompts: defaultdict[Call, list[str]] = field(default_factory=lambda: defaultdict(list))
    log: Path | None = None
    _gates: defaultdict[Call, list[dict[int, asyncio.Event]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def __call__(self, body: Body) -> Reply:
        call = call_of(body)
        self.prompts[call].append("\n".join(str(message["content"]) for message in body["messages"]))
        reply = self.once[call].pop(0) if self.once[call] else self.usual(call, body)
        if reply.status == 200:
            self.asked[call] += 1
            self._note(call, "asked")
        return reply

    def hold(self, call: Call, at: int = 0) -> asyncio.Event:
        """Hold the next answer to this call after `at` pieces, until the event is set."""
        gate = asyncio.Event()
        self._gates[call].append({at: gate})
        return gate

    def usual(self, call: Call, body: Body) -> Reply:
        """The usual answer to a call."""
        latency_s = self.latency_s.get(call, 0.0)
        text = ballot(body) if call.task.startswith("ballot") else said(call)
        if self._gates[call]:
            return Reply(pieces=re.findall(r"\S+\s*", text), gates=self._gates[call].pop(0))
        pieces = text.splitlines(keepends=True) if call.task == "synthesis" else [text]
        return Reply(pieces=pieces, delay_s=latency_s / len(pieces))

    def finished(self, body: Body) -> None:
        call = call_of(body)
        self.done[call] += 1
        self._note(call, "done")

    def _note(self, call: Call, state: str) -> None:
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**call._asdict(), "state": state}) + "\n")


def said(call: Call) -> str:
    """A model's answer to a task other than a ballot."""
    if call.task.startswith("research-"):
        return FOUND[call.task.removeprefix("research-")]
    return {
        "answer": ANSWERS.get(call.model, ""),
        "revise": f"{ANSWERS.get(call.model, '')} {REVISED}",
        "attack": ATTACK,
        "synthesis": f"{SYNTHESIS}\n\nDISSENT:\n{DISSENT}",
    }[call.task]


def ballot(body: Body) -> str:
    """A ballot with the ranking of BEST: JSON if the request has a schema, otherwise words."""
    letters = letters_of(str(body["messages"][-1]["content"]))
    ranked = [letters[name] for name in BEST if name in letters]
    critiques = dict.fromkeys(sorted(letters.values()), "Clear, and too sure of the weather.")
    if "response_format" in body:
        return json.dumps({"critiques": critiques, "ranking": ranked})
    criticised = "\n".join(f"Response {letter}: {text}" for letter, text in critiques.items())
    listed = "\n".join(f"{n}. Response {letter}" for n, letter in enumerate(ranked, 1))
    return f"{criticised}\n\nFINAL RANKING:\n{listed}"


def letters_of(prompt: str) -> dict[str, str]:
    """The letter of each model's answer in a judge's prompt."""
    ballots: dict[str, str] = {}
    for response in _RESPONSE.findall(prompt):
        letter = _LETTER.search(response)
        for model, answer in ANSWERS.items():
            if letter is not None and answer in response:
                ballots[model] = letter[0]
    return ballots


@dataclass
class CouncilService(ChatService):
    """The service of these models, strict like the chat completions fake."""

    models: tuple[str, ...] = (*ANSWERS, "chair", "scout")
    council: CouncilModel = field(default_factory=CouncilModel)

    def __post_init__(self) -> None:
        self.script = self.council

    def frames(self, turn: Turn) -> Iterator[Frame]:
        yield from super().frames(turn)
        self.council.finished(turn.body)


def settings(base_url: str, *, members: int = 4, words: bool = True) -> str:
    """The part of config.toml for this council; with `words` the last member knows no JSON schemas."""
    seats = [f'"local:m{n}"' for n in range(1, members)]
    seats.append(f'"{"plain" if words else "local"}:m{members}"')
    service = f'kind = "openai-compatible"\nbase_url = "{base_url}"'
    return f"""
[providers.local]
{service}
[providers.plain]
{service}
json_schema = false
[roles]
answerer = "local:m1"
council = [{", ".join(seats)}]
chair = ["local:chair", "local:m1"]
researcher = "local:scout"
[embedding]
model = "none"
"""


def main() -> None:
    """Serve until the process is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args()
    script = json.loads(arguments.script.read_text(encoding="utf-8"))
    council = CouncilModel(
        {_call(name): s for name, s in script.get("latency_s", {}).items()}, log=arguments.log
    )
    for name, values in script.get("once", {}).items():
        council.once[_call(name)].append(Reply(**values))

    async def forever() -> None:
        async with CouncilService(council=council) as service:
            print(service.port, flush=True)
            await asyncio.Event().wait()

    asyncio.run(forever())


def _call(name: str) -> Call:
    model, task = name.split()
    return Call(model, task)


if __name__ == "__main__":
    main()
