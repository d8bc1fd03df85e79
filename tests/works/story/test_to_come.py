"""The story's future: who may read it, and that no verb shows it where others read along."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.adapters.discord.text.markdown import hidden, size
from bot.commands import TABLE
from tests.fakes.reply import Reply
from tests.promises.talk import Talk
from tests.works.story.test_party import begin
from tests.works.story.test_safety import asks, whole
from tests.works.story.writer import Writer, playing

ALONE = "for one person"
"""The origin of a request whose answer only the asker reads."""
OUTLINE = """title: The lower stairs
event: The bell is a mimic.
event: The lamp hides a traitor.
climax: The keeper is the monster.
resolution: The sea takes the tower."""
IDEAS = "- The gull is the traitor's spy.\n- The tower was never a lighthouse.\n- A wreck holds the monster's twin."
SECRETS = ("mimic", "traitor", "monster", "the tower", "a lighthouse.")
LEAVE = {"start", "undo", "redo", "stopcard", "zero", "import", "history", "open", "leave", "act", "say"}
"""Verbs that would leave the table, or the scene after which the chapter has begun."""


def in_public(talk: Talk, *, hides: bool = False) -> None:
    """From now on others read along, unless the answer is for one person."""
    assert talk.app is not None
    platform = talk.app.platforms["terminal"]
    talk.app.attach(replace(platform, for_one=lambda origin: origin == ALONE, hides=hides))


async def told(talk: Talk, verb: str, text: str = "", *, who: str, **more: Any) -> tuple[str, str]:
    """What the answer shows, and what a spoiler hides; files are read, too."""
    start = len(talk.events)
    await asks(talk, verb, text, who=who, **more)
    shown, under = list[str](), list[str]()
    for event in talk.events[start:]:
        if event["event"] == "spoiler":
            under.append(str(event["text"]))
        else:
            shown.append(str(event) + base64.b64decode(event.get("data", "")).decode("utf-8", "replace"))
    return "\n".join(shown), "\n".join(under)


def found(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


async def planted(talk: Talk, writer: Writer) -> None:
    await begin(talk, mode="free")
    await asks(talk, "join", who="bia")
    in_public(talk)
    for verb, options, reply in (("chapter", {"write": 2}, OUTLINE), ("ideas", {}, IDEAS)):
        writer.next.append(Reply(pieces=[reply]))
        shown, under = await told(talk, verb, who="bia", options=options)
        assert (found(shown), under) == ([], "")
        assert "Only Ana, the game master, can see" in shown
        assert "Show what is to come" in shown


async def test_no_verb_shows_what_only_the_game_master_may_know(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await planted(talk, writer)
        for row in (row for row in TABLE if row.work == "story" and row.name not in LEAVE and not row.admin):
            text = "bell" if row.argument is not None and row.argument.required else ""
            forms: list[dict[str, Any]] = [{}]
            if (of := row.option("as")) is not None:
                forms = [{"as": form, "character": "Mira"} for form in of.choices]
            for who in ("bia", "ana"):
                for options in forms:
                    shown, under = await told(talk, row.name, text, who=who, options=options)
                    assert (found(shown), under) == ([], ""), (who, row.name, options, shown)
        for text in ("1: yes", "The bell: yes", "climax: yes"):
            shown, _ = await told(talk, "plot", text, who="bia", origin=ALONE)
            assert not found(shown)
            assert "Only Ana" in shown, "who marks an event would read it"
        for verb in ("plot", "chapter", "show"):
            shown, _ = await told(talk, verb, who="bia", origin=ALONE)
            assert not found(shown)
            assert "Only Ana" in shown
            shown, _ = await told(talk, verb, who="ana", origin=ALONE)
            assert "traitor" in shown, verb
        shown, _ = await told(talk, "export", who="bia", origin=ALONE, options={"as": "json"})
        assert not found(shown)
        assert found((await told(talk, "export", who="ana", origin=ALONE, options={"as": "json"}))[0])
        shown, _ = await told(talk, "plot", "1: yes", who="ana")
        assert found(shown) == ["mimic"], "what has happened all may know"
        assert found((await told(talk, "plot", who="bia"))[0]) == ["mimic"]


async def test_a_table_without_a_game_master_can_reveal_the_future(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await planted(talk, writer)
        assert "without a game master" in (await told(talk, "gm", "nobody", who="ana"))[0]
        for hides in (False, True):
            in_public(talk, hides=hides)
            for verb in ("plot", "chapter", "show"):
                shown, under = await told(talk, verb, who="bia")
                assert not found(shown)
                assert "Spoiler: what is to come" in shown
                assert ("traitor" in under, "Show what is to come" in shown) == (hides, not hides)
        shown, _ = await told(talk, "plot", who="bia", origin=ALONE)
        assert shown.index("Spoiler: what is to come") < shown.index("traitor")
        await asks(talk, "join", who="ana")
        await asks(talk, "gm", "Ana", who="ana")
        assert "Only Ana" in (await told(talk, "plot", who="bia", origin=ALONE))[0]
        await asks(talk, "leave", who="ana")
        assert "traitor" in (await told(talk, "plot", who="bia", origin=ALONE))[0], "the game master has left"


async def test_a_branch_keeps_a_game_master_who_joined_after_its_cut(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await planted(talk, writer)
        await asks(talk, "fork", "before all", who="bia", options={"scene": 0})
        assert "The game master is Ana." in (await told(talk, "gm", who="bia"))[0]
        await asks(talk, "switch", "main", who="ana")
        for verb, text, who in (("leave", "", "bia"), ("gm", "Bia", "ana"), ("act", "I wait.", "ana")):
            assert await asks(talk, verb, text, who=who) == "done"
        assert "traitor" in (await told(talk, "plot", who="cai", origin=ALONE))[0], "Bia has left"
        await asks(talk, "act", "I am back.", who="bia")
        assert "Only Bia" in (await told(talk, "plot", who="cai", origin=ALONE))[0]
        await asks(talk, "fork", "while she was away", who="cai", options={"scene": 2})
        for who in ("cai", "ana"):
            assert "Only Bia" in (await told(talk, "plot", who=who, origin=ALONE))[0]
        assert "traitor" in (await told(talk, "plot", who="bia", origin=ALONE))[0]


async def test_an_answer_about_the_story_is_written_without_its_future(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await planted(talk, writer)
        await asks(talk, "plot", "1: yes", who="ana")
        for who, origin in (("bia", ""), ("bia", ALONE), ("ana", ""), ("ana", ALONE)):
            before = len(writer.asked)
            assert await asks(talk, "ask", "What will happen?", who=who, origin=origin) == "done"
            (prompt,) = map(whole, writer.asked[before:])
            assert "What will happen?" in prompt
            assert not set(found(prompt)) - {"mimic"}, (who, origin)


def test_spoiler_lines_hide_their_text_on_discord() -> None:
    lines = ["1. ☐ The bell||is a mimic\\", "`a", "b` ||", "**x** <@1> @everyone", "y" * 5_000, "| " * 2_000]
    made = hidden("\n".join(lines), 1_850)
    assert all(size(piece.text) <= 1_850 for piece in made)
    for piece in made:
        body = piece.text[2:-2]
        assert piece.text == f"||{body}||"
        assert "||" not in body
        assert not (len(body) - len(body.rstrip("\\"))) % 2, "the end is not escaped"
