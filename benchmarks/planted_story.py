"""A random story of 300 scenes in two branches, with 64 facts planted in it, each of which is asked for
later.

The facts and their queries are written by hand; the scenes around them are assembled at random, no two alike. Chapters
are 15 scenes long. 52 facts are in the trunk, which both branches share; each branch has 6 of its own about the same
things: on one the ring was thrown into a well, on the other it was sewn into a hem. They are asked for at the end, 100
to 290 scenes later: in other words, in English and in Portuguese, and by a turn that names them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.scripted_extractor import tells
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold

SCENES: Final = 300
CHAPTER: Final = 15
FORK: Final = 170
"""The last scene that both branches share."""
LAST_FACT: Final = 199
BRANCHES: Final = ("main", "other")


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact: `branch` is "" for both, `holds` are the words without which no text tells it.

    It is asked for by questions, `query` and `query_pt`, in English and Portuguese; by a turn that names the thing,
    `named`; and by turns that need it but use other words, `turn` and `turn_pt`.
    """

    name: str
    branch: str
    text: str
    holds: str
    query: str
    query_pt: str
    named: str
    turn: str
    turn_pt: str


FACTS: Final = tuple(
    Fact(**json.loads(row))
    for row in (Path(__file__).parent / "data" / "planted.facts.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
)

_NAMES = ("Mira", "Bo", "Ansel", "Teodor", "the captain")
_PLACES = (
    "the harbour", "the mill", "the north road", "the inn", "the chapel", "the market", "the orchard", "the old bridge",
    "the customs house", "the ropewalk", "the quarry", "the stables", "the lighthouse", "the tannery", "the hill fort",
)  # fmt: skip
_CHAPTERS = (
    "The Arrival", "Low Water", "The Inn", "Strangers", "The Granary", "Snow", "The Duchess", "Thaw", "The Carnival",
    "Tides", "The Strike", "The Fork", "Salt", "The Long Road", "Fever", "The Shrine", "The Siege", "Silence",
    "Homeward", "The Last Bell",
)  # fmt: skip
_BEGIN = (
    "Rain came in from the sea and stayed all day at {place}.", "By noon the dust lay thick on everything at {place}.",
    "Nobody was awake yet at {place}.", "{a} had slept badly and let everyone at {place} know it.",
    "There was a smell of tar and oranges over {place}.", "The light went early, and they sat down by {place}.",
    "A dog followed them as far as {place}.", "They reached {place} later than {a} had promised.",
    "{b} was already waiting at {place} with two cold pies.", "The wind had turned, and {place} was full of noise.",
    "For once there was no hurry, and {place} lay quiet.", "Somebody had been at {place} before them.",
)  # fmt: skip
_MIDDLE = (
    "{a} mended {kind} {thing} and hummed while {b} counted what was left in the purse.",
    "{b} wanted to know how far it was to {other}, and {a} only shrugged.",
    "A cart went by, loaded with {thing}s, and {who} asleep on top of them.",
    "{a} bought {food}, {kind} {thing} and a bundle of candles, and haggled over each.",
    "They quarrelled about {who} again, and {b} walked off towards {other}.",
    "{b} hung {kind} coat by the fire, where it steamed beside {who}'s {thing}.",
    "An old woman told {a} that {other} would not last another spring.",
    "{a} taught {who} a game with {thing}s whose rules changed whenever {a} was losing.",
    "Two guards searched the bags for {thing}s and were content with {food}.",
    "{a} found {kind} {thing} in the mud near {other} and kept it.",
    "{b} read aloud to {who} from a newspaper that was three weeks old and smelled of {food}.",
    "They shared {food} with {who} and spoke of home.",
    "{who_} sold {a} {kind} {thing} and would not take the money back.",
    "{b} saw {who} at the edge of the field, carrying {kind} {thing}.",
    "{who_} nodded to {a} as if they had met before at {other}.",
    "{a} dropped {food} into the water, and {b} laughed until {who} came out to look.",
    "{who_} was playing {kind} {thing} like a drum behind the wall.",
    "They looked for the {thing} in every bag before {who} pointed at {a}'s hat.",
    "A merchant showed them {thing}s from beyond {other}, none of which they could pay.",
    "{b} drew {other} on a slate for {who}, and wiped it out again.",
    "{who_} asked whether {a} believed in {thing}s that speak.",
    "{a} carried {who} across the yard, since the {thing} had broken there.",
    "The roof leaked upon {kind} {thing}, and {who} set out bowls.",
    "{b} refused {food} for the first time, and {who} took it as an insult.",
)  # fmt: skip
_THINGS = (
    "basket", "hammer", "ladder", "violin", "lantern", "saddle", "broom", "kettle", "mirror", "rope", "sack", "spoon",
    "wheel", "chair", "bottle", "blanket", "coin", "needle", "pipe", "shovel", "trunk", "umbrella", "whistle", "candle",
    "bucket", "drum", "feather", "jar", "hinge", "anchor", "cup", "box", "fishing net", "stone", "flag", "plank",
)  # fmt: skip
_KINDS = (
    "a broken", "a blue", "a heavy", "an old", "a tiny", "a green", "a wet", "a borrowed", "a foreign", "a clean",
    "a crooked", "a yellow", "a costly", "a dull", "a nameless", "a striped", "a rusty", "an empty",
)  # fmt: skip
_PEOPLE = (
    "the smith", "a tall nun", "the miller's boy", "a deaf sailor", "the tailor", "a girl with freckles",
    "the goatherd",
    "a tax collector", "the midwife", "two students", "the grave digger", "a lame soldier", "the schoolmistress",
    "a juggler", "the fishwife", "a pilgrim", "the barber", "a chimney sweep", "the cooper", "a wet nurse",
)  # fmt: skip
_FOOD = (
    "bread", "cold mutton", "an onion", "apples", "smoked eel", "porridge", "cheese", "a pie", "plums", "salt pork",
    "turnips", "honey", "an egg", "beans", "small beer",
)  # fmt: skip
_SAID = (
    "“We should have left an hour ago,” said {a}.", "“Ask me tomorrow,” {b} said. “Or better, don't.”",
    "“Is that the same man?” {a} asked, and {b} did not turn round.", "“It was never about the money,” said {b}.",
    "“You count the doors, I count the people,” said {a}.", "“I am not tired,” said {b}, and fell asleep.",
    "“What would your mother say?” {a} asked. “Nothing. She'd laugh.”", "“Keep your hood up,” said {b}.",
    "“That is the second time today,” {a} said slowly.", "“Tell me something true,” said {b} after a while.",
)  # fmt: skip
_END = (
    "Then they went on.", "Nothing more was said of it that night.", "{b} blew out the candle.",
    "Far off a bell began, and stopped.", "The road forked, and {a} chose.", "They slept in their boots.",
    "{a} looked back once.", "In the morning it had all blown over.", "What they did next was up to them.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A node of the story's log."""

    seq: int
    id: str
    branch_id: str
    kind: str
    turn: str
    body: str
    run_id: str = "run"
    author_id: str = ""
    created_at: datetime = datetime(2026, 3, 4, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Planted:
    """A branch: its story, its last chapter, its facts, each with the turn whose scene holds it; and its own nodes."""

    story: Story
    chapter: str
    facts: list[tuple[Fact, str]]
    lines: list[Line]


def planted(seed: int = 18) -> dict[str, Planted]:
    """The two branches, by their ids."""
    chance = random.Random(seed)
    shared = [fact for fact in FACTS if not fact.branch]
    early = chance.sample(range(8, FORK - 5), len(shared))
    placed = {("main", scene): fact for scene, fact in zip(early, shared, strict=True)}
    for branch in BRANCHES:
        own = [fact for fact in FACTS if fact.branch == branch]
        late = chance.sample(range(FORK + 1, LAST_FACT), len(own))
        placed |= {(branch, scene): fact for scene, fact in zip(late, own, strict=True)}
    lines, turns = list[Line](), dict[tuple[str, int], str]()
    for branch in BRANCHES:
        for scene in range(1 if branch == "main" else FORK + 1, SCENES + 1):
            fact = placed.get((branch, scene))
            turns[branch, scene] = f"{branch}/{scene}"
            lines.extend(
                _nodes(chance, lines[-1].seq if lines else 0, branch, scene, fact.text if fact else "")
            )
    leaving = turns["main", FORK]
    cut = max(line.seq for line in lines if line.turn == leaving)
    parts = {
        "main": [Part("main")],
        "other": [Part("main", until=cut, cut=cut, turn=leaving), Part("other")],
    }
    return {
        branch: Planted(
            fold(parts[branch], lines),
            _chapter(SCENES),
            [
                (fact, turns[of, scene])
                for (of, scene), fact in placed.items()
                if not fact.branch or fact.branch == branch
            ],
            [line for line in lines if line.branch_id == branch],
        )
        for branch in BRANCHES
    }


def _nodes(chance: random.Random, seq: int, branch: str, scene: int, fact: str) -> Iterator[Line]:
    """A turn with its scene, and what the extractor found in it; before it the chapter that begins with it."""
    a, b = chance.sample(_NAMES, 2)
    place = chance.choice(_PLACES)
    body = [*chance.sample(_MIDDLE, chance.randint(3, 5)), *chance.sample(_SAID, chance.randint(1, 2))]
    chance.shuffle(body)
    sentences = [chance.choice(_BEGIN), *body, chance.choice(_END)]
    if fact:
        sentences.insert(chance.randint(1, len(sentences) - 1), fact)
    filled = [
        sentence if sentence == fact else _filled(chance, sentence, a, b, place) for sentence in sentences
    ]
    text = "\n\n".join(" ".join(part) for part in (filled[: len(filled) // 2], filled[len(filled) // 2 :]))
    turn = f"{branch}/{scene}"
    if scene % CHAPTER == 1:
        before = f"{branch}/{scene - 1}" if scene > 1 else ""
        chapter = {"id": f"{turn}/chapter", "title": _chapter(scene)}
        yield Line(seq + 1, f"{turn}/chapter", branch, "chapter", before, json.dumps(chapter))
    act = {"mode": "act", "name": "Ana", "text": f"We go to {place}."}
    yield Line(seq + 2, turn, branch, "act", turn, json.dumps(act))
    yield Line(seq + 3, f"{turn}/scene", branch, "scene", turn, json.dumps({"text": text}))
    extracted = {"scene": f"{turn}/scene", "place": place, "events": tells(text, list(_NAMES))}
    yield Line(seq + 4, f"{turn}/found", branch, "extracted", turn, json.dumps(extracted))


def _filled(chance: random.Random, sentence: str, a: str, b: str, place: str) -> str:
    person = chance.choice(_PEOPLE)
    slots = {"thing": chance.choice(_THINGS), "kind": chance.choice(_KINDS), "food": chance.choice(_FOOD)}
    filled = sentence.format(
        a=a, b=b, place=place, who=person, who_=person.capitalize(), other=chance.choice(_PLACES), **slots
    )
    return filled[:1].upper() + filled[1:]


def _chapter(scene: int) -> str:
    number = (scene - 1) // CHAPTER
    return f"Chapter {number + 1}, {_CHAPTERS[number]}"
