"""What the bot exports can be imported again: what comes back, and what is lost.

The tables in docs/scripts.md and docs/story.md ("Out and in again") say the same.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from bot.readers.document import Document
from bot.readers.screenplay import celtx, final_draft, fountain, highland, open_screenplay, trelby
from bot.works.script.export import fountain as as_fountain
from bot.works.script.model import Script, script
from bot.works.story.exchange import card, png
from bot.works.story.exchange.card import Card
from bot.works.story.exchange.json_export import export_json
from bot.works.story.exchange.json_import import Imported, read_story
from bot.works.story.exchange.lorebook import Lorebook, world_info
from bot.works.story.exchange.numbers import dump
from bot.works.story.exchange.reading import read_file
from bot.works.story.exchange.sillytavern import sillytavern
from bot.works.story.log.nodes import Part, lineage
from bot.works.story.log.story import Story, fold
from bot.works.story.world.lorebook import LoreEntry
from tests.readers.test_screenplay_programs import CELTX, FADE_IN, TRELBY, packed, page
from tests.works.story.exchange import test_card as cards
from tests.works.story.exchange.test_other_programs import KOBOLD, WHOSE, in_json
from tests.works.story.exchange.test_sillytavern import CHAT, lines

SCRIPTS = Path(__file__).parent / "data" / "scripts"
Kept = dict[str, object]


@dataclass(frozen=True, slots=True)
class Trip:
    """A file, how it is read, how and under which name it is exported, and how the two readings are compared.

    `lost` names what the second reading lacks or has differently.
    """

    name: str
    data: bytes
    read: Callable[[str, bytes], Any]
    write: Callable[[Any], tuple[str, bytes]]
    kept: Callable[[Any], Kept]
    lost: frozenset[str] = frozenset()


READERS = {
    ".fdx": final_draft, ".fountain": fountain, ".fadein": open_screenplay, ".osf": open_screenplay,
    ".celtx": celtx, ".trelby": trelby, ".highland": highland,
}  # fmt: skip


def _script_in(name: str, data: bytes) -> Script:
    document: Document = READERS[Path(name).suffix].read(name, data, lambda done, total: None)
    assert document.screenplay is not None
    return script(document.screenplay)


def _of_script(made: Script) -> Kept:
    elements = [*made.opening, *(element for scene in made.scenes for element in scene.elements)]
    return {
        "title page": made.title_page,
        "scenes": [scene.content for scene in made.scenes],
        "numbers": [scene.label for scene in made.scenes],
        "speakers": [scene.characters for scene in made.scenes],
        "dual dialogue": [scene.dual for scene in made.scenes],
        "notes": [element.text for element in elements if element.kind == "note"],
        "kinds of paragraphs": [kind for kind, _ in groupby(element.kind for element in elements)],
        "synopses": [element.text for element in elements if element.kind == "synopsis"],
        "measured lengths": [scene.eighths for scene in made.scenes if not scene.counted],
        "revisions": [element.revision for element in elements if element.revision],
    }


def _script_out(made: Script) -> tuple[str, bytes]:
    return "again.fountain", as_fountain(made).encode()


def _story_in(name: str, data: bytes) -> Imported:
    own = name.endswith(".sutradhar.json")
    found = read_story(data, name, WHOSE.space) if own else read_file(data, name, WHOSE)
    assert isinstance(found, Imported)
    return found


def _story_of(found: Imported) -> Story:
    return fold([Part(found.story.id)], found.nodes)


def _turns(story: Story) -> list[tuple[str, ...]]:
    return [
        (turn.act.name or turn.act.speaker, turn.act.text, *(scene.text for scene in turn.scenes))
        for turn in story.current_turns
    ]


def _of_story(found: Imported) -> Kept:
    branches = {row.id: row for row in found.branches}
    story = _story_of(found)
    return {
        "turns": _turns(story),
        "versions that count": [turn.scene.text if turn.scene else "" for turn in story.current_turns],
        "branches": [(row.name, _turns(fold(lineage(branches, row.id), found.nodes))) for row in found.branches],
        "premise and note": (story.settings.get("premise"), story.settings.get("note")),
        "lore": [entry["content"] for entry in story.lore.values()],
        "cast": sorted(story.cast),
        "title": found.story.title,
    }  # fmt: skip


def _json_out(found: Imported) -> tuple[str, bytes]:
    return "again.sutradhar.json", export_json(found.story, found.branches, found.nodes).encode()


def _chat_out(found: Imported) -> tuple[str, bytes]:
    bodies = {row.id if row.kind != "set" else "": json.loads(row.body) for row in found.nodes}
    sources = {id: body["source"] for id, body in bodies.items() if "source" in body}
    return f"{found.story.title}.jsonl", sillytavern(_story_of(found), "Ana", "Mira", sources).encode()


def _card_in(name: str, data: bytes) -> Card:
    found = read_file(data, name, WHOSE)
    assert isinstance(found, Card)
    return found


def _of_card(found: Card) -> Kept:
    tree = json.loads(found.sheet["card"])
    fields = tree.get("data", tree)
    return {
        "fields": {name: value for name, value in fields.items() if name != "assets"},
        "sheet": {name: text for name, text in found.sheet.items() if name not in ("card", "picture")},
        "greetings": found.greetings,
        "lore": found.book.entries,
        "version of the format": tree.get("spec", "V1"),
    }


def _card_json(found: Card) -> tuple[str, bytes]:
    return "mira.json", in_json(card.card(found.name, found.sheet, "", ""))


def _card_png(found: Card) -> tuple[str, bytes]:
    tree = card.card(found.name, found.sheet, "", "")
    texts = {key: base64.b64encode(text.encode()) for key, text in card.chunks(tree).items()}
    return "mira.png", png.portrait(found.name, texts)


def _lore_in(name: str, data: bytes) -> Lorebook:
    found = read_file(data, name, WHOSE)
    assert isinstance(found, Lorebook)
    return found


def _of_lore(found: Lorebook) -> Kept:
    known = [{name: value for name, value in entry.items() if name != "source"} for entry in found.entries]
    return {"entries": [LoreEntry("", **entry) for entry in known]}


def _lore_out(found: Lorebook) -> tuple[str, bytes]:
    return "world.json", dump(world_info(found.entries, found.source)).encode()


BRANCHED = {
    **KOBOLD,
    "altbranches": [None, ["The sea is flat.", " A door stands in it.", "\n\n> You wait.\n"]],
}
NOVELAI: Any = cards.NOVELAI
NOVELAI_BOOK = {**NOVELAI, "entries": [entry for entry in NOVELAI["entries"] if entry["text"]]}
WORLD: Mapping[str, Any] = {"entries": {"0": {
    "uid": 0, "key": ["lamp"], "keysecondary": ["oil"], "content": "It burns.", "comment": "Lamp", "constant": False,
    "selective": True, "order": 70, "position": 1, "probability": 50, "useProbability": True, "sticky": 3,
}}}  # fmt: skip
MEASURED = frozenset({"measured lengths", "revisions", "kinds of paragraphs"})
STYLED = frozenset({"revisions", "kinds of paragraphs"})
PLAYED = frozenset({"branches", "premise and note", "lore", "cast"})
TRIPS: dict[str, Trip] = {
    **{
        f"{suffix} as Fountain": Trip(f"sea{suffix}", data, _script_in, _script_out, _of_script, lost)
        for suffix, data, lost in (
            (".fdx", (SCRIPTS / "ferry.fdx").read_bytes(), MEASURED),
            (".fountain", (SCRIPTS / "ferry.fountain").read_bytes(), frozenset[str]()),
            (".fadein", packed(document_dot_xml=FADE_IN), STYLED),
            (".osf", FADE_IN.encode(), STYLED),
            (".celtx", page(CELTX).encode(), frozenset[str]()),
            (".trelby", TRELBY.encode(), frozenset[str]()),
            (".highland", packed(**{"a.textbundle/text.md": "INT. A\n\n@മീന\nYes.\n"}), frozenset[str]()),
        )
    },
    "a story as JSON": Trip("sea.json", in_json(BRANCHED), _story_in, _json_out, _of_story),
    "a chat as JSON": Trip("storm.jsonl", lines(*CHAT), _story_in, _json_out, _of_story),
    "a chat as a chat": Trip("storm.jsonl", lines(*CHAT), _story_in, _chat_out, _of_story),
    "a story as a chat": Trip("sea.json", in_json(BRANCHED), _story_in, _chat_out, _of_story, PLAYED),
    **{
        f"{spec} as card-{suffix}": Trip("mira.json", in_json(tree), _card_in, write, _of_card)
        for spec, tree in (("V1", cards.V1), ("V2", cards.V2), ("V3", cards.V3))
        for suffix, write in (("json", _card_json), ("png", _card_png))
    },
    "World Info as a lorebook": Trip("world.json", in_json(WORLD), _lore_in, _lore_out, _of_lore),
    "NovelAI's book as a lorebook": Trip(
        "sea.lorebook", in_json(NOVELAI_BOOK), _lore_in, _lore_out, _of_lore
    ),
}


@pytest.mark.parametrize("trip", TRIPS.values(), ids=TRIPS)
def test_an_exported_file_imports_again_except_for_what_its_format_lacks(trip: Trip) -> None:
    first = trip.read(trip.name, trip.data)
    name, data = trip.write(first)
    second = trip.read(name, data)
    before, after = trip.kept(first), trip.kept(second)
    assert {what for what in before if before[what] != after[what]} == trip.lost
    data = trip.write(second)[1]
    assert trip.write(trip.read(name, data))[1] == data, "from then on it is the same file"


def test_a_story_is_the_same_file_after_it_was_exported_and_imported() -> None:
    """Also as rows: every branch, version, time and number."""
    _, out = _json_out(_story_in("sea.json", in_json(BRANCHED)))
    for _ in range(2):
        again = _json_out(_story_in("again.sutradhar.json", out))[1]
        assert again == out
