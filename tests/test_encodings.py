"""On a terminal or pipe that is not UTF-8, every command is answered, without a hang or a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.encoding import accept_all
from tests.forked import completed
from tests.pty_driver import AtThePrompt
from tests.test_cli import environment

SETTINGS = '[embedding]\nmodel = "none"\n[roles]\n'
BOOK = "# Lanterns\n\nA lit lantern shows things → 9 m away — “no farther”.\n"


@pytest.mark.parametrize(
    "encodings",
    [("ascii",), pytest.param(("utf-8", "cp1252", "latin-1", "shift_jis"), marks=pytest.mark.slow)],
)
def test_every_command_is_answered_completely_in_any_encoding(
    encodings: tuple[str, ...], tmp_path: Path
) -> None:
    config, book = tmp_path / "config.toml", tmp_path / "table.md"
    config.write_text(SETTINGS, encoding="utf-8")
    book.write_text(BOOK, encoding="utf-8")
    typed = f"/library add {book} --shelf rules\nlit lantern?\n/rules roll 2d6\n/nonsense\n"
    for encoding in encodings:
        data = tmp_path / encoding
        environ = environment(data, PYTHONIOENCODING=encoding, LANG="pt_BR.ISO-8859-1")
        calls: dict[tuple[str, ...], str] = {("chat",): typed, ("doctor",): ""}
        if encoding in ("ascii", "latin-1"):
            calls |= {("chat", "--json"): "lit lantern?\n", ("library", "list"): ""}
        said = {}
        for arguments, stdin in calls.items():
            done = completed((*arguments, "--config", str(config)), environ, Path.cwd(), stdin.encode(), 60)
            assert done.returncode == (arguments == ("chat",)), (encoding, done)
            assert b"Traceback" not in done.stderr, (encoding, done)
            said[arguments[-1]] = done.stdout
        chat = said["chat"].decode(encoding)
        assert "→ 9 m" in chat or "-> 9 m" in chat
        assert "“no farther”" in chat or '"no farther"' in chat
        assert "Não conheço" in chat or "Nao conheco" in chat
        assert "2d6" in chat
        assert said["doctor"].decode(encoding)[:1] in ("✓", "+"), "passed checks are marked differently"
        if "list" in said:
            assert "table.md" in said["list"].decode(encoding)
            events = [json.loads(line) for line in said["--json"].decode("utf-8").splitlines()]
            assert any("→ 9 m" in event.get("text", "") for event in events), "JSON is UTF-8 everywhere"


@pytest.mark.slow
def test_the_prompt_answers_and_ends_in_any_encoding(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(SETTINGS, encoding="utf-8")
    for encoding in ("ascii", "latin-1"):
        data = tmp_path / encoding
        environ = environment(data, PYTHONIOENCODING=encoding, LANG="en", TERM="xterm")
        with AtThePrompt(("--config", str(config)), environ) as prompt:
            prompt.until("Ctrl-D")
            prompt.type("/lição\r")
            prompt.until("I don't know")
            prompt.type("/rules roll 2d6\r")
            prompt.until("2d6 (")
            assert prompt.leave() == 0
        history = (data / "history").read_text(encoding="utf-8")
        assert "/rules roll 2d6" in history
        assert ("/lição" in history) == (encoding == "ascii"), "UTF-8 is read where nothing else can be"


def test_characters_that_an_encoding_lacks_are_replaced_by_the_nearest() -> None:
    accept_all()
    assert "✓ “Ação” – 9 m → …, 雨".encode("ascii", "nearest") == b'+ "Acao" - 9 m -> ..., ?'
    assert "✓ ação".encode("cp1252", "nearest").decode("cp1252") == "+ ação"
