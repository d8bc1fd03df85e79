"""Windows and macOS, as far as Linux can try them: no POSIX-only modules, other paths, cp1252 pipes."""

from __future__ import annotations

import ast
import ntpath
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.command_line import parse
from bot.config.text import of_address
from tests.test_cli import environment

ROOT = Path(__file__).resolve().parents[1]
POSIX_MODULES = (
    "crypt",
    "curses",
    "fcntl",
    "grp",
    "posix",
    "pty",
    "pwd",
    "readline",
    "resource",
    "syslog",
    "termios",
    "tty",
)
POSIX_WORDS = re.compile(rf"\b(?:{'|'.join(POSIX_MODULES)})\b")
POSIX_NAMES = re.compile(
    r"\bos\.(?:chown|fchmod|fork|getegid|geteuid|getgid|getloadavg|getpgid|getppid|getuid|killpg|mkfifo|nice|setsid"
    r"|statvfs|sysconf|uname|O_CLOEXEC|O_NOFOLLOW|O_NONBLOCK)\b|\bsignal\.(?:SIGKILL|SIGHUP|SIGUSR[12]|SIGX[A-Z]+|alarm)\b"
)
GUARDS = re.compile(r"os\.name|sys\.platform|hasattr\(|AttributeError")
BLOCKING = f"""
import asyncio, builtins, subprocess, sys
_import = builtins.__import__
def _without(name, globals=None, *rest, **named):
    ours = ((globals or {{}}).get("__name__") or "").split(".")[0] in ("bot", "cogs", "storage")
    if ours and name.split(".")[0] in {POSIX_MODULES!r}:
        raise ModuleNotFoundError(name)
    return _import(name, globals, *rest, **named)
builtins.__import__ = _without
def _none(self, *arguments):
    raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = _none
"""
"""A sitecustomize.py: our own modules cannot import what Windows lacks, and event loops handle no signals there."""


def sources() -> list[Path]:
    return [path for folder in ("bot", "cogs", "storage") for path in sorted((ROOT / folder).rglob("*.py"))]


def unguarded(text: str) -> list[str]:
    """The imports of POSIX-only modules outside a `try` that expects ImportError."""
    if not POSIX_WORDS.search(text):
        return []
    tree = ast.parse(text)
    guarded = {
        id(node)
        for attempt in ast.walk(tree)
        if isinstance(attempt, ast.Try)
        and any(
            handler.type is not None and "ImportError" in ast.unparse(handler.type)
            for handler in attempt.handlers
        )
        for statement in attempt.body
        for node in ast.walk(statement)
    }
    found = []
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [name for name in names if name in POSIX_MODULES and id(node) not in guarded]
    return found


def test_modules_that_windows_lacks_are_imported_with_a_fallback() -> None:
    assert unguarded("import fcntl") == ["fcntl"]
    assert unguarded("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None") == []
    texts = {path: path.read_text(encoding="utf-8") for path in sources()}
    assert {str(path): names for path, text in texts.items() if (names := unguarded(text))} == {}
    named = {path for path, text in texts.items() if POSIX_NAMES.search(text)}
    assert len(named) > 3
    assert [str(path) for path in named if not GUARDS.search(texts[path])] == []


def test_the_bot_works_where_these_modules_are_missing(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKING, encoding="utf-8")
    config, book = tmp_path / "config.toml", tmp_path / "livro de regras.md"
    config.write_text('[embedding]\nmodel = "none"\n[roles]\n', encoding="utf-8")
    book.write_text(
        "# Lanternas\n\nUma lanterna acesa mostra as coisas até 9 m — “não mais”.\n", encoding="utf-8"
    )
    environ = environment(tmp_path / "data", PYTHONIOENCODING="cp1252", PYTHONPATH=f"{tmp_path}:{ROOT}")
    asks = "exec('import resource', {'__name__': 'bot.x'})"
    blocked = subprocess.run([sys.executable, "-c", asks], env=environ, capture_output=True, check=False)
    assert b"ModuleNotFoundError" in blocked.stderr
    typed = f'/library add "{book}" --shelf rules\nlanterna acesa\n'.encode("cp1252")
    done = subprocess.run(
        [sys.executable, "-m", "bot", "chat", "--config", str(config)],
        cwd=tmp_path, env=environ, input=typed, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert "até 9 m — “não mais”" in done.stdout.decode("cp1252")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("file:///C:/Users/Ana/Meus%20livros/regras.pdf", "C:\\Users\\Ana\\Meus livros\\regras.pdf"),
        ("file://server/shared/regras.pdf", "\\\\server\\shared\\regras.pdf"),
        ("file://localhost/C:/regras.pdf", "C:\\regras.pdf"),
    ],
)
def test_a_file_address_of_windows_becomes_a_path_with_its_drive(address: str, path: str) -> None:
    assert ntpath.abspath(of_address(address, windows=True)) == path


def test_a_file_address_elsewhere_keeps_its_slash() -> None:
    assert of_address("file:///srv/ana/C%3A/a.pdf", windows=False) == "/srv/ana/C:/a.pdf"


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        (r"C:\Users\Ana\new\table.pdf", r"C:\Users\Ana\new\table.pdf"),
        (r'"C:\Users\Ana\Meus livros\regras.pdf"', r"C:\Users\Ana\Meus livros\regras.pdf"),
        ("D:/livros/regras.pdf", "D:/livros/regras.pdf"),
        (r'"\\server\shared\regras.pdf"', r"\\server\shared\regras.pdf"),
    ],
)
def test_a_path_with_a_drive_letter_stays_as_it_was_typed(typed: str, path: str) -> None:
    assert parse(f"/library add {typed}").options["paths"] == [path]
