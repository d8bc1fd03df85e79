"""Completions while a person types: names of their own space, as many as Discord accepts, and quickly."""

from __future__ import annotations

import time
from statistics import quantiles
from typing import Any

import pytest
from simcord.builders import ChannelHandle

from bot.adapters.discord.received.completions import CHARS, CHOICES, FRESH_S, Autocomplete, choice_value
from bot.adapters.discord.received.placing import Location
from bot.commands import TABLE
from bot.events import Citation, Place
from bot.kind import Typed
from bot.retrieval.intake import Item
from storage.faults import StorageFault
from tests.cogs.table import Table, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG = "The Exceedingly Long Chapter About " + "Grappling and Shoving and " * 5 + "Nothing Else"


async def put(world: World, space: str, *titles: str, shelf: str = "rules", source: str = "book.md") -> None:
    """Put a book with a section for each of these titles on a shelf of the space."""
    file = world.config.data_dir / f"{space}-{source}"
    file.write_text("# Book\n\n" + "".join(f"## {title}\n\nText of {title}.\n\n" for title in titles))
    await world.app.resources.intake.take(
        space, shelf, Item(source, str(file)), f"{space}-{source}", replace=False
    )


async def offered(table: Table, path: str, option: str, typed: str, **filled: Any) -> list[str]:
    choices = await table.ana.autocomplete(table.general, path, option, typed, **filled)
    return [choice["value"] for choice in choices]


async def test_sections_come_from_the_persons_guild(table: Table) -> None:
    other = Table(table.world)
    await put(table.world, table.space, "Grappled")
    await put(table.world, other.space, "Grappling Hook")
    assert await offered(table, "rules lookup", "name", "gra") == ["Grappled"]
    assert await offered(other, "rules lookup", "name", "gra") == ["Grappling Hook"]


async def test_a_typed_shelf_limits_the_sections(table: Table) -> None:
    await put(table.world, table.space, "Grappled")
    await put(table.world, table.space, "Gravity", shelf="physics", source="physics.md")
    assert set(await offered(table, "rules lookup", "name", "gra")) == {"Grappled", "Gravity"}
    assert await offered(table, "rules lookup", "name", "gra", shelf="physics") == ["Gravity"]
    assert await offered(table, "rules lookup", "shelf", "") == ["physics", "rules"]


async def test_a_name_too_long_for_discord_still_finds_its_section(table: Table) -> None:
    await put(table.world, table.space, LONG, "Another Chapter")
    (value,) = await offered(table, "rules lookup", "name", "the exc")
    assert len(value) <= CHARS < len(LONG)
    await table.ana.slash(table.general, "rules lookup", name=value)
    assert table.asked.text == LONG
    await table.ended()
    assert any(isinstance(event, Citation) for event in table.world.record.events[table.asked.id])


async def test_the_number_of_completions_keeps_within_discords_limit(table: Table) -> None:
    await put(table.world, table.space, *(f"Rule {n:03}" for n in range(300)))
    assert 0 < len(await offered(table, "rules lookup", "name", "rule")) <= CHOICES


async def test_books_prompts_and_commands_are_completed(table: Table) -> None:
    await put(table.world, table.space, "Grappled")
    by = table.bia
    books = await by.autocomplete(table.general, "library remove", "name", "bo", shelf="rules")
    prompts = await by.autocomplete(table.general, "prompts show", "name", "ra")
    assert [book["value"] for book in books] == ["book.md"]
    assert [prompt["value"] for prompt in prompts] == ["rag"]
    assert await offered(table, "help", "topic", "/library a") == ["library add"]
    assert len(await offered(table, "help", "topic", "")) == min(CHOICES, len(TABLE))


async def test_a_person_is_offered_their_own_conversations(table: Table) -> None:
    sessions = table.world.app.resources.records.sessions
    place = (table.space, "discord", str(table.general.id), "1")
    session = await sessions.open(*place, "rules", author_id=str(table.ana.id), title="The siege of the mill")
    (mine,) = await offered(table, "sessions resume", "session", "siege")
    assert "The siege of the mill" in mine
    assert session.id[-6:] in mine
    theirs = await table.bia.autocomplete(table.general, "sessions resume", "session", "siege")
    assert theirs == []


async def test_a_named_settings_values_are_completed(table: Table) -> None:
    assert await offered(table, "settings set", "setting", "lang") == ["language"]
    assert await offered(table, "settings set", "value", "p", setting="language") == ["pt-BR"]
    assert await offered(table, "settings set", "value", "sao_p", setting="timezone") == ["America/Sao_Paulo"]
    assert await offered(table, "settings set", "value", "x") == []


async def test_a_councils_options_for_research_and_display_are_completed(table: Table) -> None:
    research = await offered(table, "council ask", "research", "cultural_context,n")
    assert research == ["cultural_context,narrative_structure"]
    assert await offered(table, "council show", "what", "b") == ["ballots"], "the council has no members yet"
    settings = table.world.app.resources.settings.store
    await settings.set(table.space, "council.members", '["demo:demo", "demo:demo"]', str(table.bia.id))
    assert await offered(table, "council show", "what", "ballots ") == ["ballots 1", "ballots 2"]


@pytest.mark.parametrize(
    ("fault", "logged"), [(StorageFault("locked"), "section: locked\n"), (RuntimeError(), "in broken\n")]
)
async def test_nothing_is_completed_if_names_cannot_be_read(
    table: Table, fault: Exception, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    autocomplete = table.world.client.intake.autocomplete
    usual = autocomplete._names

    async def broken(*_: object) -> list[str]:
        raise fault

    autocomplete._names = broken
    try:
        assert await offered(table, "rules lookup", "name", "x") == []
    finally:
        autocomplete._names = usual
    assert logged in caplog.text


@pytest.mark.slow
async def test_ten_thousand_sections_are_completed_while_typing(table: Table) -> None:
    titles = [f"{word} {n}" for n in range(100) for word in (f"Word{m}x" for m in range(100))]
    await put(table.world, table.space, *titles)
    autocomplete = table.world.client.intake.autocomplete
    await autocomplete.names("section", Typed(table.space, "w"))
    took = []
    for n in range(200):
        begin = time.process_time()
        found = await autocomplete.names("section", Typed(table.space, f"word{n % 100}x {n // 100}"))
        took.append(time.process_time() - begin)
        assert found
    assert quantiles(took, n=20)[-1] < 0.1


async def nowhere(location: Location) -> Place:
    raise NotImplementedError


class Asked:
    """A source of names that counts its calls."""

    def __init__(self) -> None:
        self.times = 0

    async def __call__(self, kind: str, typed: Typed) -> list[str]:
        self.times += 1
        return [f"{typed.space} {typed.author} {self.times}"]


async def test_names_are_cached_for_a_moment() -> None:
    asked, now = Asked(), [0.0]
    autocomplete = Autocomplete(asked, nowhere, lambda: now[0])
    first = await autocomplete.names("section", Typed("g", "gra", None, "1"))
    assert await autocomplete.names("section", Typed("g", "gra", None, "2")) == first
    now[0] += FRESH_S
    assert await autocomplete.names("section", Typed("g", "gra", None, "1")) != first


async def test_cached_names_are_kept_apart() -> None:
    """By space, kind, typed text and shelf; personal names by person, too."""
    autocomplete = Autocomplete(Asked(), nowhere, lambda: 0.0)
    keys = [
        ("section", Typed("g", "gra", None, "1")),
        ("section", Typed("h", "gra", None, "1")),
        ("book", Typed("g", "gra", None, "1")),
        ("section", Typed("g", "grap", None, "1")),
        ("section", Typed("g", "gra", "rules", "1")),
        ("session", Typed("g", "gra", None, "1")),
        ("session", Typed("g", "gra", None, "2")),
        ("story", Typed("g", "gra", None, "1")),
        ("story", Typed("g", "gra", None, "2")),
    ]
    assert len({tuple(await autocomplete.names(*key)) for key in keys}) == len(keys)


@pytest.mark.parametrize("name", ["short", "word " * 50, "w" * 300])
async def test_a_completions_value_is_the_name_or_its_beginning(name: str) -> None:
    value = choice_value(name)
    assert 0 < len(value) <= CHARS
    assert name.startswith(value)


async def test_a_storys_names_are_completed_only_in_its_thread(table: Table) -> None:
    thread = table.thread()
    await table.ana.slash(thread, "story start", premise="A door in the sea", cast="Mira: a diver")
    await table.ended()

    async def there(path: str, option: str, typed: str = "", where: ChannelHandle = thread) -> list[str]:
        return [choice["value"] for choice in await table.ana.autocomplete(where, path, option, typed)]

    for path, option in (
        ("party play", "character"),
        ("world state", "character"),
        ("memory recall", "character"),
        ("exchange export", "character"),
    ):
        assert await there(path, option, "mi") == ["Mira"], path
        assert await there(path, option, "mi", table.general) == [], path
    assert await there("voice voice", "as") == ["narrator", "chair", "Mira"]
    assert (await there("story flip", "to"))[:2] == ["next", "back"]
    await table.ana.slash(thread, "world chapter", title="The stairs", location="The lower stairs")
    await table.ended()
    assert await there("world chapter", "location") == ["The lower stairs"]


async def test_common_names_are_completed_everywhere(table: Table) -> None:
    assert await offered(table, "voice narrate", "state", "o") == ["on", "off"]
    assert await offered(table, "voice voice", "work", "st") == ["story"]
    assert "hibari:low" in await offered(table, "voice voice", "voice", "low")
    assert "espeak hibari:low" in await offered(table, "voice voice", "voice", "espeak low")
    assert await offered(table, "party zero", "step", "ton") == ["tone"]
    assert all("," in each for each in await offered(table, "council members", "list", "a:b, "))
