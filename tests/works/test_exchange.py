"""/settings export and import: one file has everything that a space shares, and is applied as a whole or not
at all.
"""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.command_line import parse
from bot.events import Attachment, Author, Choices, Event, Failed, File, Notice, Place, Text, UserError
from bot.platforms import Platform
from tests.works.test_settings import ANA, BIA, ELSEWHERE, HERE, Asker, opened

OTHER = replace(HERE, space="other")


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Asker]:
    async with opened(tmp_path) as asker:
        attach(asker)
        yield asker


def attach(ask: Asker, missing: tuple[str, ...] = ()) -> None:
    """Attach a platform whose spaces have everything except these ids."""
    recorder: Any = ask._recorder

    async def knows(place: Place, kind: str, id: str) -> bool:
        return id not in missing

    async def channel_name(place: Place) -> str:
        return f"#{place.channel}"

    async def find(place: Place, kind: str, typed: str) -> tuple[str, str] | None:
        return {"players": ("p1", "Players"), "ana": ("ana", "Ana")}.get(typed)

    ask.app.attach(
        Platform(
            "terminal",
            recorder.view,
            category=lambda place: "halls",
            channel_name=channel_name,
            find=find,
            knows=knows,
        )
    )


async def filled(ask: Asker) -> None:
    """Set one of each kind."""
    await ask("set", "works rules, course", to="channel", author=BIA)
    await ask("set", "instruction Answer “formally”,\nin one line.", to="category", author=BIA)
    await ask("set", "timezone Rome", to="everyone", author=BIA)
    await ask("set", "model.answerer house:one", to="channel", place=ELSEWHERE, author=BIA)
    await ask("set", "timezone Europe/Lisbon", to="me", author=BIA)
    for verb, text, options in (
        ("deny", "story", {}),
        ("allow", "story", {"group": "players"}),
        ("deny", "models", {"person": "ana"}),
        ("budget", "2.50 usd", {"whose": "each", "per": "month"}),
        ("budget", "1000 tokens", {"whose": "channel"}),
    ):
        await ask.perform(ask.request("settings", verb, text, HERE, BIA, **options))
    for text in ("Flanking gives +2.", "Removed soon."):
        await ask.perform(ask.request("rules", "house", text, HERE, BIA))
    await ask.perform(ask.request("rules", "house", "", HERE, BIA, remove=2))


async def exported(ask: Asker, place: Place = HERE) -> str:
    events = await ask.perform(ask.request("settings", "export", "", place, BIA))
    return next((event.data.decode() for event in events if isinstance(event, Attachment)), "")


async def imported(
    ask: Asker, folder: Path, text: str, place: Place = HERE, author: Author = BIA, **options: Any
) -> list[Event]:
    path = folder / "some.toml"
    path.write_text(text, encoding="utf-8")
    request = ask.request("settings", "import", "", place, author, **options)
    request = replace(request, files=(File(path.name, str(path), path.stat().st_size),))
    return await ask.perform(request)


def said(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text | Failed | Notice))


async def test_an_export_has_all_shared_settings_and_nothing_personal(ask: Asker) -> None:
    assert await exported(ask) == ""
    await filled(ask)
    text = await exported(ask)
    assert tomllib.loads(text) == {
        "settings": {"timezone": "Europe/Rome"},
        "channels": {
            "here": {"name": "#here", "works": "rules, course"},
            "elsewhere": {"name": "#elsewhere", "model.answerer": "house:one"},
        },
        "categories": {
            "halls": {"name": "#halls", "instruction": "Answer “formally”,\nin one line."},
        },
        "access": [
            {"what": "models", "person": "ana", "name": "Ana", "allow": False},
            {"what": "story", "allow": False},
            {"what": "story", "group": "p1", "name": "Players", "allow": True},
        ],
        "budgets": [
            {"amount": "1000 tokens", "per": "day", "channel": "here", "name": "#here"},
            {"amount": "2.50 usd", "per": "month", "whose": "each"},
        ],
        "house_rules": {"1": "Flanking gives +2."},
    }
    assert "Lisbon" not in text, "one's own"


async def test_importing_a_file_after_a_confirmation_gives_another_space_the_same_settings(
    ask: Asker, tmp_path: Path
) -> None:
    await filled(ask)
    text = await exported(ask)
    events = await imported(ask, tmp_path, text, OTHER)
    table = said(events)
    for row in (
        "| everyone | `timezone` | – | `Europe/Rome` |",
        "| `#here` | `works` | – | `rules, course` |",
        "| everyone | `access story` | – | no |",
        "| the group `Players` | `access story` | – | yes |",
        "| each person | `budget month` | – | $2.50 |",
        "| everyone | `house_rules 1` | – | `Flanking gives +2.` |",
    ):
        assert row in table
    assert await exported(ask, OTHER) == "", "nothing was applied yet"
    (choices,) = [event for event in events if isinstance(event, Choices)]
    assert (choices.only, choices.choices[0].command) == ("bia", "/settings import --yes")
    offered = max(run for run, shown in ask._recorder.events.items() if shown is events)
    press = ask.request("settings", "import", "", OTHER, BIA, yes=True)
    for wrong in (
        replace(press, id="a", answers="nothing"),
        replace(press, id="b", place=HERE, answers=offered),
    ):
        assert "no longer have that file" in said(await ask.perform(wrong))
    done = said(await ask.perform(replace(press, answers=offered)))
    assert done.startswith("Applied 10 changes.")
    # The first line names the space.
    assert (await exported(ask, OTHER)).split("\n", 1)[1] == text.split("\n", 1)[1]
    assert "changes nothing here" in said(await imported(ask, tmp_path, text, OTHER))
    history = await ask("history", place=OTHER, author=BIA)
    assert history.count("| Bia |") == 10
    assert {rule.name for rule in await ask.app.access.rules("other")} == {"Ana", "Players", ""}


async def test_unnamed_settings_stay_and_yes_skips_the_question(ask: Asker, tmp_path: Path) -> None:
    await filled(ask)
    text = '[settings]\ntimezone = "lisbon"\nadmins_exempt = true\nmodel.writer = "house:one"\n'
    events = await imported(ask, tmp_path, text + '[channels.here]\nworks = ["-story"]\n', yes=True)
    assert "| everyone | `timezone` | `Europe/Rome` | `Europe/Lisbon` |" in said(events)
    assert not [event for event in events if isinstance(event, Choices)]
    after = tomllib.loads(await exported(ask))
    assert after["settings"] == {
        "timezone": "Europe/Lisbon",
        "admins_exempt": "on",
        "model.writer": "house:one",
    }
    assert after["channels"]["here"]["works"] == "-story"
    assert len(after["access"]) == 3


async def test_every_mistake_is_named_with_its_line_and_nothing_is_applied(
    ask: Asker, tmp_path: Path
) -> None:
    text = """\
[settings]
language = "pt-BR"
timezone = "Mars/Olympus"
colour = "red"
free_chat = true
[channels.here]
admins_exempt = true
[wishes]
[[access]]
what = "story"
allow = true
[[access]]
what = "poems"
allow = false
[[access]]
what = "story"
allow = false
[[budgets]]
amount = "5 euro"
[[budgets]]
amount = "5 usd"
whose = "each"
person = "ana"
[house_rules]
one = "x"
2 = ""
"""
    told = said(await imported(ask, tmp_path, text, yes=True))
    assert told.startswith("I changed nothing")
    lines = [line.split(":")[0] for line in told.splitlines() if line.startswith("- ")]
    assert sorted(lines) == sorted(f"- Line {n}" for n in (3, 4, 5, 7, 8, 12, 15, 18, 20, 25, 26))
    assert "“5 euro”" in told
    assert await exported(ask) == ""
    broken = said(await imported(ask, tmp_path, "[settings\n"))
    assert "not valid TOML" in broken
    assert "at line 1" in broken


async def test_missing_channels_and_groups_are_named_and_skipped(ask: Asker, tmp_path: Path) -> None:
    await filled(ask)
    text = await exported(ask)
    attach(ask, missing=("here", "halls", "p1", "ana"))
    events = await imported(ask, tmp_path, text, OTHER, yes=True)
    told = said(events)
    for sentence in (
        "There is no channel `here` (`#here`) here",
        "There is no category `halls` (`#halls`) here",
        "There is no person `ana` (`Ana`) here",
        "There is no role or user group `p1` (`Players`) here",
    ):
        assert told.count(sentence) == 1
    after = tomllib.loads(await exported(ask, OTHER))
    assert set(after) == {"settings", "channels", "access", "budgets", "house_rules"}
    assert set(after["channels"]) == {"elsewhere"}
    assert [len(after[name]) for name in ("access", "budgets")] == [1, 1]


async def test_a_space_has_a_limited_number_of_rules(ask: Asker, tmp_path: Path) -> None:
    rules = "".join(f'[[access]]\nwhat = "story"\nperson = "p{n}"\nallow = true\n' for n in range(200))
    assert "Applied 200" in said(await imported(ask, tmp_path, rules, yes=True))
    one = '[[access]]\nwhat = "story"\nperson = "more"\nallow = true\n'
    assert "more than 200 entries" in said(await imported(ask, tmp_path, one, yes=True))
    assert len(await ask.app.access.rules("local")) == 200


async def test_only_admins_export_and_import_and_a_file_is_needed(ask: Asker, tmp_path: Path) -> None:
    for verb in ("export", "import"):
        with pytest.raises(UserError, match=r"app\.admins"):
            await ask.perform(ask.request("settings", verb, "", HERE, ANA))
    assert "Attach one file" in said(await ask.perform(ask.request("settings", "import", "", HERE, BIA)))
    named = tmp_path / "a name.toml"
    named.write_text('[settings]\ntimezone = "UTC"\n', encoding="utf-8")
    request = ask.request("settings", "import", "", HERE, BIA, paths=[str(named)])
    (choices,) = [event for event in await ask.perform(request) if isinstance(event, Choices)]
    parsed = parse(choices.choices[0].command)
    assert parsed.options == {"paths": [str(named)], "yes": True}, "what somebody at a terminal types"
    request = replace(request, id="again", options=parsed.options)
    assert "Applied 1 change." in said(await ask.perform(request))
    discord = replace(request, id="d", place=replace(HERE, platform="discord"))
    assert "Attach one file" in said(await ask.perform(discord)), "a path there would be one of this machine"
