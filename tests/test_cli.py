"""The command line as a user starts it: exit codes, and sentences instead of tracebacks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from bot.cli import parser
from bot.words import words
from tests.forked import completed


def environment(data: Path, **environ: str) -> dict[str, str]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SUTRADHAR_", "LC_", "LANG"))
    }
    return {**clean, "SUTRADHAR_DATA": str(data), "SUTRADHAR_MODELS": str(data / "models"), **environ}


def bot(*arguments: str, data: Path, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    done = completed(arguments, environment(data, **environ), Path.cwd(), stdin.encode(), 60)
    return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize(("locale", "word"), [("en", "examples:"), ("pt_BR.UTF-8", "exemplos:")])
def test_help_is_in_the_users_language(tmp_path: Path, locale: str, word: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bot", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(tmp_path, SUTRADHAR_LOCALE=locale),
        check=False,
    )
    assert done.returncode == 0
    assert word in done.stdout


@pytest.mark.parametrize("work", ["library", "course"])
def test_the_help_of_a_work_says_what_each_verb_does(tmp_path: Path, work: str) -> None:
    assert "verbs." not in bot(work, "--help", data=tmp_path).stdout


@pytest.mark.parametrize(
    "arguments",
    [("library", "add"), ("nonsense",), ("library", "dance"), ("chat", "--x")],
)
def test_wrong_use_exits_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = bot(*arguments, data=tmp_path)
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert not done.stdout


def test_a_missing_settings_file_is_named(tmp_path: Path) -> None:
    done = bot("library", "list", "--config", str(tmp_path / "none.toml"), data=tmp_path)
    assert done.returncode == 2
    assert "none.toml" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("doctor",), ("run",), ("db", "size"), ()])
def test_a_python_without_the_packages_says_which_one_to_use(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    # -S: the packages of this Python are out of reach, as with the system's own Python.
    command = [sys.executable, "-S", "-m", "bot", *arguments]
    done = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert ".venv/bin/python -m bot" in done.stderr
    assert "Traceback" not in done.stderr


def test_global_options_stand_before_or_after_the_command() -> None:
    top = parser(words("en"))
    for line in ("--data d chat --json", "chat --json --data d", "--data d --json"):
        read = vars(top.parse_args(line.split(" ")))
        assert read["data"] == "d"
        assert read["json"] is True
    given = ["--data", "a", "library", "list", "--data", "b"]
    assert vars(parser(words("en"), given).parse_args(given))["data"] == "b"


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    with pytest.raises(SystemExit) as left:
        parser(words("en")).parse_args(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"Sutradhar {project['version']}\n"


def test_doctor_names_what_is_missing_and_shows_no_secret(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[roles]\nanswerer = "openai:some-model"\n[library]\nwatch = ["books", "gone"]\nwatch_space = "1234"\n',
        encoding="utf-8",
    )
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "a.pdf").write_text("A.")
    done = bot("doctor", "--config", str(config), data=tmp_path / "data", OPENAI_API_KEY="sk-very-secret")
    assert "models pull" in done.stdout
    assert "OPENAI_API_KEY is set" in done.stdout
    assert "books: 1 file for the shelf “books” of the library “1234”" in done.stdout
    assert f"✗ Watched folder {tmp_path / 'gone'}: No such file or directory. Its books stay" in done.stdout
    assert "secret" not in done.stdout + done.stderr
    assert done.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "count"), [("en", "2 things need attention."), ("pt", "2 itens precisam")]
)
def test_doctor_names_all_errors_of_the_settings_at_once(tmp_path: Path, locale: str, count: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[retrieval]\nk = "ten"\n\n[roles]\nanswrer = "openai:gpt"\n', encoding="utf-8")
    done = bot("doctor", "--config", str(config), data=tmp_path / "data", SUTRADHAR_LOCALE=locale)
    assert done.returncode == 1
    assert "config.toml, line" in done.stdout or "config.toml, linha" in done.stdout
    assert "`k`" in done.stdout
    assert "`answerer`" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(count)


def test_doctor_says_which_models_are_used_and_why(tmp_path: Path) -> None:
    keyed = bot("doctor", data=tmp_path / "data", OPENAI_API_KEY="sk-very-secret").stdout
    assert "chosen by the keys that are set (OPENAI_API_KEY)" in keyed
    assert "models test` calls each of them" in keyed
    assert re.search(r"extractor: openai:\S+\n", keyed)
    assert "✓ openai: OPENAI_API_KEY is set" in keyed
    assert re.search(r"council, seat 1: openai:\S+\n.*council, seat 3: openai:\S+\n", keyed, re.DOTALL)
    assert "at most $5.00 for one request; no limit for a space" in keyed
    config = tmp_path / "config.toml"
    config.write_text(
        '[roles]\nanswerer = ["anthropic:a", "openai:b", "demo:smollm2"]\n'
        'council = ["openai:b effort=high", "openai:b"]\n[budget]\nspace_usd = 20\n',
        encoding="utf-8",
    )
    chained = bot("doctor", "--config", str(config), data=tmp_path / "data", OPENAI_API_KEY="sk-x").stdout
    assert "answerer: anthropic:a → openai:b → demo:smollm2" in chained
    assert "council, seat 1: openai:b effort=high\n" in chained
    assert "and $20.00 for a space in 30 days" in chained
    assert "✗ anthropic: ANTHROPIC_API_KEY is not set" in chained
    assert "✗ The demo model has not been downloaded yet" in chained
    config.write_text("[roles]\n", encoding="utf-8")
    assert "[roles] in config.toml is empty" in bot("doctor", "--config", str(config), data=tmp_path).stdout
    without = bot("doctor", data=tmp_path).stdout
    assert "Language models: none, so" in without
    assert "models test` calls" not in without


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra is installed here")
def test_doctor_names_the_package_that_an_embedding_model_needs(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[embedding]\nmodel = "sentence-transformers:small"\n', encoding="utf-8")
    done = bot("doctor", "--config", str(config), data=tmp_path / "data")
    assert "✗ The embedding model sentence-transformers:small needs a package" in done.stdout
    assert "pip install sentence-transformers" in done.stdout
    assert done.returncode == 1


def test_a_closed_pipe_gives_no_traceback(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "bot", "--data", str(tmp_path), "models", "list"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(write)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_operator_adds_books_to_one_servers_shelves_only(tmp_path: Path) -> None:
    config, book = tmp_path / "config.toml", tmp_path / "table.md"
    config.write_text('[embedding]\nmodel = "none"\n[roles]\n', encoding="utf-8")
    book.write_text("# Grappled\n\nSpeed becomes 0.\n", encoding="utf-8")
    library = ("--config", str(config), "library")
    added = bot(*library, "add", str(book), "--shelf", "rules", "--space", "1234", data=tmp_path / "data")
    assert added.returncode == 0
    assert "table.md" in bot(*library, "list", "--space", "1234", data=tmp_path / "data").stdout
    assert "table.md" not in bot(*library, "list", data=tmp_path / "data").stdout


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only some systems have a disk that is always full"
)
def test_an_unwritable_log_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "sutradhar.log").symlink_to("/dev/full")
    config = tmp_path / "config.toml"
    config.write_text('[embedding]\nmodel = "none"\n[library]\nwatch = ["gone"]\n', encoding="utf-8")
    done = bot("chat", "--json", "--config", str(config), data=tmp_path, stdin="/sessions list\n")
    assert done.returncode == 0
    assert "Logging error" not in done.stderr
    assert "Traceback" not in done.stderr
