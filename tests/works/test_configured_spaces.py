"""config.toml's settings for a space apply where nobody has set anything; mistakes in it are named at start."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot import doctor
from bot.app import App
from bot.config import load
from bot.events import UserError
from bot.platforms import Platform
from bot.words import words
from tests.fakes import migrated
from tests.test_config import EXAMPLE
from tests.works.test_budgets import budget, refusal, spend
from tests.works.test_exchange import exported
from tests.works.test_settings import ANA, BIA, CONFIG, ELSEWHERE, HERE, Asker, opened

BASE = CONFIG.format(url="http://127.0.0.1:9/v1")
SPACES = """
[spaces."terminal:local".settings]
works = "-story"
timezone = "Europe/Lisbon"
model.answerer = "house:two"
"council.criteria" = "Be brief."
[spaces."terminal:local".channels.here]
works = ["rules"]
[spaces."terminal:local".categories.halls]
works = "all"
listens = "mentions"
[[spaces."terminal:local".access]]
what = "council"
allow = false
[[spaces."terminal:local".budgets]]
amount = "1000 tokens"
"""


async def works(ask: Asker, place: Any) -> tuple[str, str]:
    row = (await ask.app.settings.nearest(place, "", "works"))[0]
    return row.value, row.scope


def attach(ask: Asker) -> None:
    recorder: Any = ask._recorder
    categories = {"hall": "halls"}
    ask.app.attach(
        Platform("terminal", recorder.view, category=lambda place: categories.get(place.channel, ""))
    )


async def test_configured_values_apply_where_nothing_is_set_and_the_nearest_wins(tmp_path: Path) -> None:
    async with opened(tmp_path, BASE + SPACES) as ask:
        attach(ask)
        hall = replace(HERE, channel="hall")
        assert await works(ask, HERE) == ("rules", "config")
        assert await works(ask, hall) == ("all", "config")
        assert await works(ask, ELSEWHERE) == ("-story", "config")
        assert await ask.app.settings.nearest(replace(HERE, space="other"), "", "works") == []
        assert await refusal(ask, path="story show") == "channels.work_config"
        await ask("set", "works course", to="everyone", author=BIA)
        for place in (HERE, hall, ELSEWHERE):
            assert await works(ask, place) == ("course", "space"), "whatever is set goes before"
        await ask("reset", "works", to="everyone", author=BIA)
        assert await works(ask, HERE) == ("rules", "config")


async def test_values_from_the_config_are_marked_as_such(tmp_path: Path) -> None:
    async with opened(tmp_path, BASE + SPACES) as ask:
        attach(ask)
        table = await ask("channels", author=BIA)
        assert "| `works` | rules | the config |" in table
        assert "| `model.answerer` | house:two | the config |" in table
        assert "| `halls` | `listens` | mentions (the config) |" in table
        assert "| everyone | `works` | -story (the config) |" in table
        assert await ask.row("timezone") == ["Europe/Lisbon", "the config"]
        assert await ask.row("council.criteria") == ["Be brief.", "the config"]
        assert "| **the config** | Europe/Lisbon |" in await ask("show", "timezone")
        assert (await ask("reset", "timezone", to="everyone", author=BIA)).endswith("Europe/Lisbon`.")
        assert "Be brief." in await ask("criteria", work="council", place=ELSEWHERE, author=BIA)
        roles = await ask.app.settings.roles_of_space("local")
        assert roles.answerer == ("house:two",)
        await ask("set", "model.answerer house:one", to="everyone", author=BIA)
        assert (await ask.app.settings.roles_of_space("local")).answerer == ("house:one",)


async def test_configured_rules_are_enforced_until_another_is_set(tmp_path: Path) -> None:
    async with opened(tmp_path, BASE + SPACES) as ask:
        await ask("set", "works all", to="everyone", author=BIA)
        assert await refusal(ask, path="council ask") == "access.by_everyone"
        assert "| `council` | everyone | no (the config) |" in await ask("access")
        request = ask.request("settings", "deny", "council", HERE, BIA, remove=True)
        shown = "".join(getattr(event, "text", "") for event in await ask.perform(request))
        assert "is in config.toml" in shown
        await ask.perform(ask.request("settings", "allow", "council", HERE, BIA))
        assert await refusal(ask, path="council ask") != "access.by_everyone"
        assert "| `council` | everyone | yes |" in await ask("access")


async def test_configured_budgets_are_enforced_until_another_is_set(tmp_path: Path) -> None:
    async with opened(tmp_path, BASE + SPACES) as ask:
        await ask("set", "works all", to="everyone", author=BIA)
        await spend(ask, 1_000)
        assert await refusal(ask) == "budget.over_space_day"
        assert "| this space | 1000 tokens (the config) | day |" in await budget(ask)
        assert "config.toml sets a budget of 1000 tokens there" in await budget(ask, "off")
        await budget(ask, "2000 tokens")
        assert await refusal(ask) == ""


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ('settings.timezone = "Mars/Olympus"', 2, "a time zone called “Mars/Olympus”"),
        ("[spaces.'terminal:local'.channels.c]\ncolour = 1", 3, "no setting called “colour”"),
        ("[spaces.'terminal:local'.channels.c]\nadmins_exempt = true", 3, "Put it under: `settings`"),
        ("[spaces.'terminal:local'.wishes]", 2, "“wishes” is unknown"),
        ("[[spaces.'terminal:local'.access]]\nwhat = 'poems'\nallow = true", 2, "“poems”"),
        ("[[spaces.'terminal:local'.budgets]]\namount = 'much'", 2, "“much”"),
        ("[spaces.'terminal:local'.house_rules]\n1 = 'x'", 2, "“house_rules” is unknown"),
    ],
)
async def test_a_mistake_is_reported_at_the_start_with_its_line(
    tmp_path: Path, text: str, line: int, sentence: str
) -> None:
    file, data = tmp_path / "config.toml", migrated.folder(tmp_path / "data")
    file.write_text(f"[spaces.'terminal:local']\n{text}\n", encoding="utf-8")
    with pytest.raises(UserError) as caught:
        await App.open(load(file, data, environ={}))
    told = words("en")(caught.value.key, **caught.value.values)
    assert told.startswith(f"{file}, line {line}: ")
    assert sentence in told
    file.write_text("", encoding="utf-8")
    await (await App.open(load(file, data, environ={}))).close()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[spaces.local]\n", "config.space_name"),
        ("[spaces.'irc:x']\n", "config.space_name"),
        ("spaces = 1\n", "config.not_a_table"),
        ("[spaces.'slack:T1'.settings]\ninstruction = 'xoxb-123456-abcdef'\n", "config.space_secret"),
    ],
)
def test_an_invalid_space_is_refused_when_the_file_is_read(tmp_path: Path, text: str, key: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load(file, tmp_path, environ={})
    assert caught.value.key == key
    assert "xoxb" not in words("en")(key, **caught.value.values)


async def test_the_example_is_valid(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").split("# Defaults for a Discord server")[1]
    lines = re.findall(r"^# (\[.+\]|[a-z_]+ = .+)$", text, re.MULTILINE)
    async with opened(tmp_path, "\n".join([*BASE.splitlines(), *lines])) as ask:
        place = replace(HERE, platform="discord", space="123456789012345678", channel="234567890123456789")
        assert [row.value for row in await ask.app.settings.nearest(place, "", "listens")] == ["mentions"]
        assert len(await ask.app.access.rules(place.space)) == 1
        (kept,) = await ask.app.resources.budgets.all(place.space)
        assert kept.amount == 20
        assert ANA.admin is False


BAD = """
[spaces."slack:T1".settings]
timezone = "Mars/Olympus"
council.chair = "nobody:x"
voices = "gramophone:brass"
[[spaces."slack:T1".access]]
what = "poems"
allow = true
"""


def test_the_doctor_checks_each_value_and_names_every_mistake(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(BASE + SPACES + BAD, encoding="utf-8")
    told = [check.line for check in doctor.examine(file, tmp_path / "data", {}, words("en"))]
    assert "✓ [spaces] terminal:local: 9 values, checked" in told
    first = file.read_text(encoding="utf-8").splitlines().index('timezone = "Mars/Olympus"') + 1
    wrong = [line for line in told if line.startswith(f"✗ {file}, line ")]
    assert len(wrong) == 4
    assert f"line {first}: I don't know a time zone" in wrong[0]
    for part in ("Mars/Olympus", "nobody", "gramophone", "poems"):
        assert any(part in line for line in wrong), part
    file.write_text(BASE + BAD, encoding="utf-8")
    told = [check.line for check in doctor.examine(file, tmp_path / "data", {}, words("pt-BR"))]
    assert len([line for line in told if line.startswith(f"✗ {file}, linha ")]) == 4
    assert not list((tmp_path / "data").glob("*.db"))


async def test_an_exported_file_mentions_configured_values_in_comments(tmp_path: Path) -> None:
    async with opened(tmp_path, BASE + SPACES) as ask:
        alone = await exported(ask)
        assert tomllib.loads(alone) == {}
        await ask("set", "timezone Rome", to="everyone", author=BIA)
        text = await exported(ask)
        assert tomllib.loads(text) == {"settings": {"timezone": "Europe/Rome"}}
        _, said, comments = text.partition("# The bot's config sets these values, too.")
        assert said
        _, _, uncommented = comments.replace("\n# ", "\n").replace("\n#\n", "\n\n").partition("\n")
        configured = tomllib.loads(uncommented)
        assert configured["settings"]["timezone"] == "Europe/Lisbon"
        assert configured["channels"]["here"]["works"] == "rules"
        assert configured["access"] == [{"what": "council", "allow": False}]
        assert configured["budgets"] == [{"amount": "1000 tokens", "per": "day", "whose": "space"}]
        elsewhere = await exported(ask, replace(HERE, space="other"))
        assert "Lisbon" not in elsewhere
