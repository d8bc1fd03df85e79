"""Presets of how two characters treat each other: built-in ones, one's own over them, mistakes with their
line.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.events import UserError
from bot.words import LOCALES, Words
from bot.works.story.world.presets import BUNDLED, LARGEST_KB, Preset, Presets, parse

SAY = {
    locale: Words(locale, Path(f"bot/works/story/{locale}.toml").read_text(encoding="utf-8"))
    for locale in LOCALES
}
DUEL = """\
duel:
  title: {en: Duel, pt-BR: Duelo}
  description: {en: At dawn., pt-BR: Ao amanhecer.}
  guidance:
    - "{first} has called {second} out."
"""


async def test_a_dozen_presets_are_built_in_in_both_languages() -> None:
    presets = await Presets().all()
    assert list(presets) == [
        *("rivals", "old-friends", "mentor-and-student", "secret-lovers", "siblings", "enemies-with-a-truce"),
        *("master-and-servant", "strangers", "parent-and-child", "hunter-and-prey", "business-partners"),
        "former-friends",
    ]
    for preset in presets.values():
        assert set(preset.title) == set(preset.description) == set(LOCALES)
        assert len(set(preset.title.values())) == len(set(preset.description.values())) == len(LOCALES)
        assert 3 <= len(preset.guidance) <= 6
        assert any("{first}" in line for line in preset.guidance)
        assert all(len(text) <= 100 for text in (*preset.title.values(), *preset.description.values()))
    assert BUNDLED.stat().st_size < LARGEST_KB * 100


def test_the_guidance_names_the_two_and_reads_nothing_in_their_names() -> None:
    preset = Preset("duel", {}, {}, ("{first} has called {second} out.", "{second} waits."))
    assert preset.lines("{second}", "Ana {first}") == [
        "{second} has called Ana {first} out.",
        "Ana {first} waits.",
    ]


async def test_an_own_file_overrides_the_built_in_presets(tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_text(
        "# mine\n" + DUEL + DUEL.replace("duel:", "rivals:").replace("Duel,", "Foes,"), encoding="utf-8"
    )
    presets = await Presets(own).all()
    assert len(presets) == 13
    assert presets["rivals"].title == {"en": "Foes", "pt-BR": "Duelo"}
    assert presets["rivals"].guidance == presets["duel"].guidance == ("{first} has called {second} out.",)
    assert presets["siblings"] == (await Presets().all())["siblings"]


async def test_a_changed_file_is_read_again_and_a_broken_one_is_ignored(tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_text(DUEL, encoding="utf-8")
    os.utime(own, ns=(1, 1))
    presets = Presets(own)
    assert "feud" not in await presets.all()
    own.write_text(DUEL.replace("duel:", "feud:"), encoding="utf-8")
    os.utime(own, ns=(2, 2))
    assert "feud" in await presets.all()
    own.write_text("feud: [", encoding="utf-8")
    os.utime(own, ns=(3, 3))
    assert "feud" in await presets.all()


async def test_a_file_is_read_once_and_only_when_needed(tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    presets = Presets(own)
    with pytest.raises(UserError, match=r"story\.preset_gone"):
        await presets.all()
    own.write_text(DUEL, encoding="utf-8")
    read = await presets.all()
    own.unlink()
    assert await presets.all() is read


def test_yaml_is_imported_only_when_a_preset_is_needed() -> None:
    modules = "bot.works.story.world.presets, bot.works.story.turn.dice, bot.works.story.world.lorebook"
    code = f"import sys, {modules}; print(*sys.modules)"
    seen = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"yaml", "d20", "lark", "pydantic"} & set(seen)


def test_an_empty_file_has_no_presets() -> None:
    assert parse("", "own.yml") == parse("# nothing yet\n", "own.yml") == {}


WRONG = {
    "a list": ("- duel\n", "unreadable", 1),
    "a word": ("duel", "unreadable", 1),
    "a bracket too many": (DUEL + "x: ]\n", "unreadable", 6),
    "two documents": (DUEL + "---\n" + DUEL, "unreadable", 6),
    "a control character": (DUEL + "x: \x07\n", "unreadable", 6),
    "brackets without end": ("a: " + "[" * 500, "unreadable", 1),
    "a tag without end": ("a: !<", "unreadable", 1),
    "a name with a blank": (DUEL.replace("duel:", "the duel:"), "name", 1),
    "a name with a capital": (DUEL.replace("duel:", "Duel:"), "name", 1),
    "a name that is none": (DUEL.replace("duel:", '"":'), "name", 1),
    "a long name": (DUEL.replace("duel:", "a" * 41 + ":"), "name", 1),
    "a list for a name": (DUEL.replace("duel:", "[duel]:"), "name", 1),
    "a preset twice": (DUEL + DUEL, "twice", 6),
    "a part twice": (DUEL + "  guidance: []\n", "twice", 6),
    "a language twice": (DUEL.replace("en: Duel", "en: Duel, en: Fight"), "twice", 2),
    "an unknown part": (DUEL + "  guidence: []\n", "unknown", 6),
    "an unknown language": (DUEL.replace("pt-BR: Duelo", "pt-BR: Duelo, fr: Duel"), "unknown", 2),
    "nothing in it": ("\nduel:\n", "missing", 2),
    "no title": (DUEL.replace("  title: {en: Duel, pt-BR: Duelo}\n", ""), "missing", 1),
    "a title in one language": (DUEL.replace(", pt-BR: Duelo", ""), "missing", 2),
    "a title in none": (DUEL.replace("{en: Duel, pt-BR: Duelo}", "Duel"), "missing", 2),
    "an empty description": (DUEL.replace("At dawn.", '" "'), "missing", 3),
    "a description without words": (DUEL.replace("At dawn.", "~"), "missing", 3),
    "a list for a text": (DUEL.replace("At dawn.", "[At dawn]"), "missing", 3),
    "no guidance": (DUEL.replace('    - "{first} has called {second} out."\n', ""), "missing", 4),
    "guidance without lines": (DUEL.partition("  guidance")[0] + "  guidance: []\n", "missing", 4),
    "guidance as a text": (DUEL.partition("  guidance")[0] + "  guidance: be kind\n", "missing", 4),
    "an empty line of guidance": (DUEL + "    -\n", "missing", 6),
    "a stranger": (DUEL + '    - "{third} looks on."\n', "placeholder", 6),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_is_reported_with_its_line(wrong: str) -> None:
    text, key, line = WRONG[wrong]
    with pytest.raises(UserError) as refused:
        parse(text, "own.yml")
    assert (refused.value.key, refused.value.values["line"]) == (f"story.preset_{key}", line)
    for say in SAY.values():
        sentence = say(refused.value.key, **refused.value.values)
        assert "own.yml" in sentence
        assert str(line) in sentence
        assert "story." not in sentence
        assert not any(
            "{" + name + "}" in sentence for name in ("file", "line", "name", "part", "parts", "placeholder")
        )


@pytest.mark.parametrize(
    ("content", "key"), [(b"\xff\xfe", "gone"), (b"#" * (LARGEST_KB * 1000 + 1), "large")]
)
async def test_a_binary_or_oversized_file_is_reported(tmp_path: Path, content: bytes, key: str) -> None:
    own = tmp_path / "own.yml"
    own.write_bytes(content)
    with pytest.raises(UserError) as refused:
        await Presets(own).all()
    assert refused.value.key == f"story.preset_{key}"
    assert all("{" not in say(refused.value.key, **refused.value.values) for say in SAY.values())


def test_values_that_yaml_would_convert_stay_text() -> None:
    preset = parse(DUEL.replace("en: Duel", "en: No").replace("At dawn.", "1900"), "own.yml")["duel"]
    assert (preset.title["en"], preset.description["en"]) == ("No", "1900")


def test_a_text_over_several_lines_becomes_one() -> None:
    preset = parse(DUEL + "    - |\n      Pistols\n      at ten paces.\n", "own.yml")["duel"]
    assert preset.guidance[1] == "Pistols at ten paces."
