"""A chat log becomes a story: its ids are kept, bad lines are named, and its memory can be measured."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from pathlib import Path

import pytest

from bot.cli import main
from bot.config import Config
from bot.events import UserError
from bot.works.story.command_line import import_file
from bot.works.story.exchange.chat_log import is_chat_log, read_chat_log
from bot.works.story.exchange.rows import TURNS
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold

LINES = [
    {"id": "D1:1", "speaker": "Gina", "text": "I hid the key under the third step.", "time": "2 May", "scene": 1},
    {"id": "D1:2", "speaker": "Jon", "text": "Nobody will look there.", "time": "2 May", "scene": 1},
    {"id": "D2:1", "speaker": "Gina", "text": "The boat leaves at dawn.", "time": "9 May", "scene": 2},
]  # fmt: skip


def log(*lines: object) -> bytes:
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()


def story(data: bytes) -> Story:
    read = read_chat_log(data, "log.jsonl", "local")
    return fold([Part(read.story.id)], read.nodes)


def test_every_line_is_a_turn_with_its_speaker_its_time_and_its_id() -> None:
    acts = [turn.act for turn in story(log(*LINES)).current_turns]
    assert [(act.label, act.name, act.when, act.group) for act in acts] == [
        ("D1:1", "Gina", "2 May", "1"),
        ("D1:2", "Jon", "2 May", "1"),
        ("D2:1", "Gina", "9 May", "2"),
    ]


def test_bad_lines_are_named_and_the_others_imported() -> None:
    data = log(
        LINES[0], "", "no JSON", [1], {"id": 3}, LINES[0], {**LINES[1], "text": " "}, {**LINES[2], "id": 7}, '{"cut'
    )  # fmt: skip
    read = read_chat_log(data, "log.jsonl", "local")
    assert [json.loads(node.body)["label"] for node in read.nodes] == ["D1:1", "7"]
    assert [(line.number, line.key.rpartition("_")[2]) for line in read.left_out] == [
        (3, "unreadable"),
        (4, "unreadable"),
        (5, "lacking"),
        (6, "twice"),
        (7, "lacking"),
        (9, "unreadable"),
    ]


def test_older_encodings_are_read() -> None:
    line = json.dumps({"id": "1", "speaker": "João", "text": "Não há água."}, ensure_ascii=False)
    assert story(line.encode("latin-1")).current_turns[0].act.text == "Não há água."
    assert story(b"\xef\xbb\xbf" + line.encode()).current_turns[0].act.name == "João"


def test_a_file_that_is_cut_within_a_character_keeps_its_other_lines() -> None:
    lines = [
        json.dumps({"id": n, "speaker": "João", "text": "Não há água."}, ensure_ascii=False) for n in (1, 2)
    ]
    data = "\n".join(lines).encode()
    read = read_chat_log(data[: data.rindex("água".encode()) + 1], "log.jsonl", "local")
    assert [json.loads(node.body)["text"] for node in read.nodes] == ["Não há água."]
    assert [line.number for line in read.left_out] == [2]


@pytest.mark.parametrize("data", [b"{}", b'{"speaker": 1}\n', b""])
def test_a_file_without_a_line_is_refused(data: bytes) -> None:
    with pytest.raises(UserError) as caught:
        read_chat_log(data, "log.jsonl", "local")
    assert caught.value.key == "story.import_no_lines"


def test_more_turns_than_can_be_remembered_are_refused() -> None:
    with pytest.raises(UserError) as caught:
        read_chat_log(log(LINES[0]) + b"\n{}" * (TURNS + 1), "log.jsonl", "local")
    assert caught.value.key == "story.import_long"


def test_the_same_log_is_the_same_story_of_its_space() -> None:
    ids = [
        read_chat_log(log(*LINES), file, space).story.id
        for file, space in (("a", "x"), ("b", "x"), ("a", "y"))
    ]
    assert ids[0] == ids[1] != ids[2]
    assert read_chat_log(log(*LINES[:2]), "a", "x").story.id != ids[0]


def test_a_file_of_200_mb_is_refused_quickly_and_with_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    with file.open("wb") as opened:
        opened.write(log(LINES[0]) + b"\n")
        opened.truncate(200_000_000)
    tracemalloc.start()
    try:
        began = time.process_time()
        with pytest.raises(UserError, match="import_large"):
            asyncio.run(import_file(Config(tmp_path, tmp_path), "local", file))
        assert time.process_time() - began < 5
        assert tracemalloc.get_traced_memory()[1] < 120_000_000, "no more than what is read of it"
    finally:
        tracemalloc.stop()
    assert not (tmp_path / "sutradhar.db").exists()


def test_a_story_file_is_not_imported_as_a_log() -> None:
    assert is_chat_log(log(*LINES))
    assert not is_chat_log(json.dumps({"format": "sutradhar-story", "nodes": []}).encode())
    assert not is_chat_log(b"\x00\xff")


@pytest.mark.parametrize(
    "bad", ["", "{cut", "[1]", '{"id": 3}', '{"id": 1, "speaker": "A", "text": "\\ud800"}']
)
def test_a_bad_first_line_is_left_out_alone(bad: str) -> None:
    assert is_chat_log(log(bad, *LINES))
    read = read_chat_log(log(bad, *LINES), "log.jsonl", "local")
    assert len(read.nodes) == len(LINES)
    assert len(read.left_out) == bool(bad)


def test_a_log_is_imported_and_searched_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.jsonl").write_bytes(log(*LINES, "garbage"))
    (tmp_path / "config.toml").write_text('[embedding]\nmodel = "none"\n', encoding="utf-8")
    queries = [
        {"query": "Where is the key?", "gold": ["D1:1"]},
        {"query": "When does the boat leave?", "gold": ["D2:1"]},
    ]
    (tmp_path / "queries.jsonl").write_bytes(log(*queries))
    bot = ["--config", str(tmp_path / "config.toml"), "--data", str(tmp_path / "data")]
    assert main([*bot, "story", "import", str(tmp_path / "log.jsonl")]) == 0
    captured = capsys.readouterr()
    assert "3 turns" in captured.out
    assert "Line 4" in captured.err
    asked = ["eval", "memory", str(tmp_path / "queries.jsonl"), "--story", "log"]
    assert main([*bot, *asked, "--without", "phrases", "--without", "meaning"]) == 0
    assert "recall@5     1" in capsys.readouterr().out
    assert main([*bot, *asked, "--without", "luck"]) == 2
    assert "neighbours" in capsys.readouterr().err
    assert main([*bot, "eval", "memory", str(tmp_path / "log.jsonl"), "--story", "log"]) == 2
    assert "line 1" in capsys.readouterr().err
