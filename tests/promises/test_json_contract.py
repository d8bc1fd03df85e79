"""`chat --json` and `library add` as programs use them: one "done" for each line, only JSON, and exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bot.app import App
from tests.promises.talk import ROOT, bot, heard, of, settings, texts


def config(folder: Path) -> Path:
    file = folder / "config.toml"
    file.write_text('[embedding]\nmodel = "none"\n', encoding="utf-8")
    return file


def test_every_line_gets_exactly_one_done(stocked: Path) -> None:
    typed = [
        b"/rules books",
        b"",
        b"   ",
        b"/nonsense verb",
        b"\xff\xfe\x80 grappled \xc3",
        b"w" * 1_000_000,
        b"/rules ask --k nine lanterns",
        b"/help",
        b"/rules lookup Grappled",  # without a newline at the end
    ]
    done = bot("chat", "--json", data=stocked, config=config(stocked.parent), stdin=b"\n".join(typed))
    events = heard(done)
    ends = of(events, "done")
    assert len(ends) == len({event["run"] for event in ends}) == len({event["run"] for event in events}) == 7
    assert [event["status"] for event in ends] == [
        "done",
        "failed",
        "done",
        "failed",
        "failed",
        "done",
        "done",
    ]
    assert "speed becomes zero" in texts(events)
    assert done.returncode == 1


@pytest.mark.slow
def test_success_exits_with_zero(stocked: Path) -> None:
    done = bot("chat", "--json", data=stocked, config=config(stocked.parent), stdin=b"/rules books\n/help\n")
    assert done.returncode == 0
    assert len(of(heard(done), "done")) == 2


def test_a_process_whose_reader_disappears_exits(stocked: Path) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "bot",
            "--config",
            str(config(stocked.parent)),
            "--data",
            str(stocked),
            "chat",
            "--json",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"/rules lookup Grappled\n")
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    process.stdin.write(b"/rules books\n/rules lookup Lanterns\n")
    process.stdin.close()
    assert process.wait(90) == 1
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


@pytest.mark.slow
def test_library_add_has_exit_codes_for_all_some_and_wrong_usage(tmp_path: Path) -> None:
    settings_file, data = config(tmp_path), tmp_path / "data"
    good = tmp_path / "good.md"
    good.write_text("# Good\n\nA lantern burns.\n")
    add = ("library", "add")
    assert bot(*add, str(good), "--shelf", "rules", data=data, config=settings_file).returncode == 0
    some = bot(*add, str(good), str(tmp_path / "no.md"), "--shelf", "rules", data=data, config=settings_file)
    assert some.returncode == 1
    assert b"no.md" in some.stdout + some.stderr
    assert bot("library", "add", data=data, config=settings_file).returncode == 2


@pytest.mark.slow
async def test_an_unusable_data_folder_gets_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    app = await App.open(settings(tmp_path / "busy"))
    try:
        for data in (file, file / "below", tmp_path / "busy"):
            done = bot("chat", "--json", data=data, config=config(tmp_path), stdin=b"/help\n")
            assert done.returncode == 1
            (said, ended) = heard(done)
            assert said["event"] == "failed"
            assert ended["status"] == "failed"
            assert len(done.stderr.decode().strip().splitlines()) == 1
            one_shot = bot("library", "list", data=data, config=config(tmp_path))
            assert one_shot.returncode == 1
            assert b"Traceback" not in one_shot.stderr
    finally:
        await app.close()
