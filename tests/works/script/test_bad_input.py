"""Bad files for `/script add`: each gets one clear sentence, and nothing is lost.

Times are processor times, of the bot and the parsers' processes; the parser's own limits bound its memory.
"""

from __future__ import annotations

import resource
from functools import partial
from pathlib import Path

import pytest

from bot.events import Attachment, Failed, Notice, Text
from storage.scripts import Reader
from tests.works.course.desk import opened, words_of
from tests.works.script.test_scripts import ADA, BO, PIER, Room

pytestmark = [pytest.mark.slow]

HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n'
LAUGHS = b"".join(
    b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10 if n else b"lol" * 10) for n in range(10)
)
HEADING = b'<Paragraph Type="Scene Heading" Number="%b"><Text>INT. ROOM - DAY</Text></Paragraph>'
ACTION = b'<Paragraph Type="Action"><Text>%b</Text></Paragraph>'
LONGEST_S = 20.0
"""Of one file, all processes together, in processor time; most take a tenth of a second."""


def fdx(content: bytes, before: bytes = b"") -> bytes:
    return (
        HEAD + before + b'<FinalDraft DocumentType="Script"><Content>' + content + b"</Content></FinalDraft>"
    )


def refused() -> dict[str, tuple[bytes, str]]:
    """Bad files by name: their content, and the expected sentence."""
    quadratic = b'<!DOCTYPE F [<!ENTITY a "%b">]>' % (b"a" * 60_000)
    outside = b'<!DOCTYPE F [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    return {
        "laughs.fdx": (
            fdx(ACTION % b"&l9;", b"<!DOCTYPE F [%b]>" % LAUGHS),
            "unpacked, it would need far more space",
        ),
        "outside.fdx": (fdx(ACTION % b"&e;", outside), "a document type (DTD)"),
        "quadratic.fdx": (fdx(ACTION % (b"&a;" * 2_000_000), quadratic), "far more space than a document"),
        "deep.fdx": (
            fdx(b"<Paragraph>" * 200_000 + b"</Paragraph>" * 200_000),
            "far more space than a document",
        ),
        "cut.fdx": (fdx(HEADING % b"1" + ACTION % b"Rain.")[:-40], "damaged or incomplete"),
        "template.fdx": (
            HEAD + b'<FinalDraft Template="Yes"><Content/></FinalDraft>',
            "a Final Draft template",
        ),
        "empty.fdx": (b"", "the file is empty"),
        "empty.fountain": (b"", "the file is empty"),
        "picture.fdx": (b"\x89PNG\r\n\x1a\n" + bytes(500), "this is a picture"),
        "fountain.fdx": (
            PIER.encode(),
            "despite its name, its contents are TXT. A screenplay's name ends in .fdx",
        ),
        "page.fdx": (b"<html><body>INT. ROOM</body></html>", "despite its name, its contents are HTML"),
        "play.docx": (fdx(HEADING % b"1"), "I read .fdx, .fountain, .fadein, .osf"),
        "play.doc": (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
            "I read .fdx, .fountain, .fadein, .osf",
        ),
        "novel.txt": (b"Nobody has written a heading here.", "it has no scene heading"),
        "large.fdx": (
            fdx(HEADING % b"1" + ACTION % (b"x" * 25_000_000)),
            "25.1 MB is more than the limit of 20 MB",
        ),
        "large.fountain": (b"INT. A\n\n" + b"word " * 5_000_000, "more than the limit of 20 MB"),
        "prose.fountain": (b"Nobody has written a heading here.", "it has no scene heading"),
    }


def spent() -> float:
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in own)


async def test_a_file_that_is_no_script_gets_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        room = Room(desk)
        await room.has(ADA)
        for name, (data, why) in refused().items():
            before = spent()
            events = await room.events(ADA, "script add", paths=[desk.file(name, data)])
            (sentence,) = [event.text for event in events if isinstance(event, Notice)]
            assert sentence.startswith(f"{name}: ")
            assert why in sentence, (name, sentence)
            (failed,) = [event.text for event in events if isinstance(event, Failed)]
            assert failed == "Not added: 1 of 1 file."
            assert "root:" not in words_of(events)
            assert spent() - before < LONGEST_S, name
        assert "1 screenplay\n" in await room.said(ADA, "list")
        # An unreadable file does not prevent others from being added.
        good, bad = (
            desk.file("good.fountain", PIER.replace("The Pier", "The Mole")),
            desk.file("cut.fdx", b"<Final"),
        )
        answer = await room.said(ADA, "add", paths=[bad, good])
        assert "Added “The Mole”: 3 scenes" in answer
        assert "Not added: 1 of 2 files." in answer
        assert "attach one file" in await room.said(ADA, "replace", paths=[good, good])
        # An unreadable new draft leaves the present one.
        assert "cut.fdx: " in await room.said(ADA, "replace", paths=[bad], script="The Mole")
        assert "Three hundred knots." in await room.said(ADA, "scene", "1", script="The Mole")


async def test_a_scene_of_100_000_words_is_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        room, before = Room(desk), spent()
        words = " ".join(f"word{n % 5_000}" for n in range(100_000))
        assert "Added “play”: 1 scene" in await room.add(ADA, f"Title: play\n\nINT. ROOM - DAY\n\n{words}\n")
        events = await room.events(ADA, "script scene", "1")
        (whole,) = [event for event in events if isinstance(event, Attachment)]
        assert len(whole.data.split()) == 100_004
        assert max(len(event.text) for event in events if isinstance(event, Text)) < 7_000
        assert "**1 scene" in await room.said(ADA, "report")
        answer = await room.said(ADA, "ask", "Where is word4711 said?")
        assert "word4711" in answer
        assert len(answer) < 4_000
        for form in ("fountain", "markdown", "csv"):
            assert any(
                isinstance(event, Attachment)
                for event in await room.events(ADA, "script export", **{"as": form})
            )
        assert spent() - before < LONGEST_S


async def test_scene_numbers_of_a_script_are_understood_or_asked_about(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        room = Room(desk)
        labels = (b"12A", b"A12", b"12", b"12", b"7")
        scenes = b"".join(HEADING % label + ACTION % (b"Rain on %b." % label) for label in labels)
        path = desk.file("numbers.fdx", fdx(scenes))
        assert "5 scenes" in await room.said(ADA, "add", paths=[path], visible="me")
        told = partial(room.said, ADA, script="numbers")
        assert "Rain on 12A." in await told("scene", "12a")
        assert "Rain on A12." in await told("scene", "A12")
        assert "Rain on 7." in await told("scene", "5")
        # A plain number is a scene's position, and never the script's own number.
        for verb, text in (("scene", "12"), ("ask", "What happens in scene 12?"), ("ask", "Scene 9,999?")):
            assert "this screenplay has scenes 1 to 5" in await told(verb, text), text
        assert "Rain on 12A." in await told("ask", "What happens in scene 12A?")
        # Its id tells nothing to people who may not read it.
        (row,) = await desk.app.resources.scripts.all(Reader("local", "ada"))
        for name in (row.id, row.alias):
            for verb in ("scenes", "report", "analysis", "ideas", "export", "remove", "share"):
                assert f"no screenplay “{name}”" in await room.said(
                    BO, verb, name
                ) or "is no screenplay here that you" in (await room.said(BO, verb, name))
            for verb, text in (("scene", "1"), ("ask", "Rain?"), ("brainstorm", "Rain"), ("drop", "1")):
                assert "Rain on" not in (said := await room.said(BO, verb, text, script=name))
                assert "no screenplay" in said
            assert "no screenplay" in await room.said(BO, "replace", paths=[path], script=name)
