"""Pictures that come with a question are read by a model that sees, or else named as unread, and then
deleted.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from bot.events import File, Notice
from bot.works.rules.question_files import MOST
from tests.fakes.chat_completions import ChatService
from tests.fakes.images import FIRST, png
from tests.fakes.model_service import ModelService
from tests.fakes.reply import Reply
from tests.fakes.scripted_app import Recorder, asked
from tests.fakes.wires import WIRES, Wire, kind_of
from tests.works.test_question_files import FERRY, QUESTION, Attachments, ask, cited, running, said

ANSWER = ["The ferry across the Grey River costs four copper coins [1]."]
FERRY_FILE = FERRY.encode()
MAP = png(40, 30)


def configured(folder: Path, service: ModelService, more: str = "") -> Path:
    config = folder / "config.toml"
    config.write_text(
        f'[providers.local]\nkind = "{kind_of(service)}"\nbase_url = "{service.base_url}"\n{more}'
        '[roles]\nanswerer = "local:small"\n',
        encoding="utf-8",
    )
    return config


def notices(recorder: Recorder, run: str) -> list[str]:
    return [event.text for event in recorder.events[run] if isinstance(event, Notice)]


@pytest.mark.parametrize("wire", WIRES.values(), ids=list(WIRES))
async def test_a_model_that_sees_gets_the_pictures_with_the_question(
    tmp_path: Path, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    coin = FIRST["image/gif"] + b"9a" + bytes([3, 0, 2, 0])
    files = Attachments({"ferry.md": FERRY_FILE, "map.PNG": MAP, "coin.jpg": coin})
    async with wire.service([Reply(pieces=ANSWER)]) as service:
        config = configured(tmp_path, service)
        async with running(tmp_path / "data", recorder := Recorder(), files, config) as app:
            with caplog.at_level(logging.DEBUG):
                answer = await said(
                    app, recorder, ask("r1", QUESTION, files.named("ferry.md", "map.PNG", "coin.jpg"))
                )
            assert "four copper coins" in answer
            assert notices(recorder, "r1") == []
            assert cited(recorder, "r1") == ["ferry.md"]
            assert not list((tmp_path / "data" / "incoming").iterdir())
            rows = await app.resources.ledger.entries("guild", "r1")
            assert rows[0].state == "settled"
        body = json.dumps(service.requests[-1])
        assert body.count("base64") >= 2
        assert "image/gif" in body, "what it is by its bytes, whatever it is called"
        prompt = service.last(service.requests[-1])
        passages, pictures, question = (
            prompt.index(one) for one in ("</passages>", "<pictures>", "<question>")
        )
        assert passages < pictures < question
        assert "map.PNG, coin.jpg" in prompt
        assert "iVBOR" not in caplog.text
    kept = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert not any(MAP[8:40] in one or b"iVBORw0" in one for one in kept)


async def test_without_a_model_pictures_are_not_downloaded_and_a_note_says_so(tmp_path: Path) -> None:
    files = Attachments({"ferry.md": FERRY_FILE, "map.png": MAP})
    async with running(tmp_path, recorder := Recorder(), files) as app:
        answer = await said(app, recorder, ask("r1", QUESTION, files.named("ferry.md", "map.png")))
        assert "four copper coins" in answer
        assert "without a model that can look at map.png" in answer
        assert files.fetched == ["ferry.md"]
        add = replace(ask("r0", "", files.named("ferry.md"), shelf="rules"), work="library", verb="add")
        assert await (await app.perform(add)).wait() == "done"
        assert "not by map.png" in await said(
            app, recorder, ask("r3", "What is this?", files.named("map.png"))
        )
        nothing = await said(
            app, recorder, ask("r2", "Who painted Guernica?", files.named("ferry.md", "map.png"))
        )
        assert "not by map.png. Describe what it shows" in nothing


@pytest.mark.parametrize("known", [True, False], ids=["configured", "learnt"])
async def test_a_model_without_vision_answers_from_the_words_with_a_note(tmp_path: Path, known: bool) -> None:
    files = Attachments({"ferry.md": FERRY_FILE, "map.png": MAP, "coin.webp": MAP})
    async with ChatService([Reply(pieces=ANSWER), Reply(pieces=ANSWER)], sees=False) as service:
        config = configured(tmp_path, service, "sees = false\n" if known else "")
        async with running(tmp_path / "data", recorder := Recorder(), files, config) as app:
            for run in ("r1", "r2"):
                answer = await said(
                    app, recorder, ask(run, QUESTION, files.named("ferry.md", "map.png", "coin.webp"))
                )
                assert "four copper coins" in answer
                (notice,) = notices(recorder, run)
                assert notice.startswith("local:small could not look at map.png, coin.webp")
                assert "Say what they show" in notice
                assert cited(recorder, run) == ["ferry.md"]
        assert service.calls == (2 if known else 3), "it is refused once, and remembered"
        assert "base64" not in json.dumps(service.requests[-1])
    assert files.fetched.count("map.png") == (0 if known else 1)


async def test_other_files_and_too_many_pictures_are_left_out_with_a_sentence(tmp_path: Path) -> None:
    names = [f"map{n}.png" for n in range(MOST)]
    files = Attachments(
        {
            "ferry.md": FERRY_FILE,
            "lie.png": b"# not at all",
            "long.png": png(8_001, 1),
            "large.gif": b"GIF89a" + b"x" * 5_000_000,
            "photo.heic": b"\x00\x00\x00\x18ftypheic",
            "over.png": MAP,
            "last.jpeg": MAP,
            **dict.fromkeys(names, MAP + bytes(4_500_000)),
        }
    )
    async with ChatService([Reply(pieces=ANSWER), Reply(pieces=ANSWER)]) as service:
        config = configured(tmp_path, service)
        async with running(tmp_path / "data", recorder := Recorder(), files, config) as app:
            odd = (
                "ferry.md",
                "photo.heic",
                "lie.png",
                "long.png",
                "large.gif",
                "over.png",
                "map0.png",
                "last.jpeg",
            )
            await said(app, recorder, ask("r1", QUESTION, files.named(*odd)))
            heard = "\n".join(notices(recorder, "r1"))
            for part in (
                "photo.heic: I can't read",
                "lie.png: this is not a picture",
                "long.png: one side of its 8001 × 1 pixels",
                "large.gif: 5.1 MB is more than the limit of 5 MB for a picture",
                "left out last.jpeg",
            ):
                assert part in heard
            assert "over.png, map0.png" in service.last(service.requests[-1])
            await said(app, recorder, ask("r2", QUESTION, files.named("ferry.md", *names)))
            assert notices(recorder, "r2") == [
                "I look at 5 pictures at most, 20 MB in total, so I left out map4.png."
            ]
            assert json.dumps(service.requests[-1]).count("data:image/png") == 4
    assert "last.jpeg" not in files.fetched


async def test_a_picture_without_words_asks_for_words(tmp_path: Path) -> None:
    files = Attachments({"map.png": MAP, "ferry.md": FERRY_FILE})
    async with running(tmp_path, recorder := Recorder(), files) as app:
        answer = await said(app, recorder, ask("r1", " ", files.named("map.png")))
        assert "What would you like to know about map.png?" in answer
        here = replace(asked("r2", ""), options={"file": str(tmp_path / "rune.webp")})
        assert "about rune.webp" in await said(app, recorder, here)
        assert "For example" in await said(app, recorder, ask("r3", "", files.named("ferry.md")))


async def test_a_picture_on_this_machine_can_be_used_in_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "map.png").write_bytes(MAP)
    files = Attachments({"ferry.md": FERRY_FILE})
    async with ChatService([Reply(pieces=ANSWER)]) as service:
        config = configured(tmp_path, service)
        async with running(tmp_path / "data", recorder := Recorder(), files, config) as app:
            (tmp_path / "ferry.md").write_bytes(FERRY_FILE)
            here = replace(
                asked("r1", QUESTION),
                files=(File("ferry.md", str(tmp_path / "ferry.md"), len(FERRY_FILE)),),
                options={"file": str(tmp_path / "map.png")},
            )
            assert "four copper coins" in await said(app, recorder, here)
        assert "data:image/png;base64," in json.dumps(service.requests[-1])
    assert (tmp_path / "map.png").exists()


async def test_an_interrupted_question_uses_the_stored_picture(tmp_path: Path) -> None:
    files = Attachments({"ferry.md": FERRY_FILE, "map.png": MAP})
    async with ChatService([Reply("The ferry", fault="hang", at=2), Reply(pieces=ANSWER)]) as service:
        config = configured(tmp_path, service)
        async with running(tmp_path / "data", Recorder(), files, config) as app:
            await app.perform(ask("r1", QUESTION, files.named("ferry.md", "map.png")))
            await service.asked.wait()
            assert len(list((tmp_path / "data" / "incoming" / "r1").iterdir())) == 2
        files.files.clear()  # the platform's address has expired meanwhile
        async with running(tmp_path / "data", after := Recorder(), files, config) as app:
            assert await app.ended("r1") == "done"
            assert notices(after, "r1") == []
        assert files.fetched == ["ferry.md", "map.png"]
        assert "data:image/png;base64," in json.dumps(service.requests[-1])
    assert not list((tmp_path / "data" / "incoming").iterdir())
