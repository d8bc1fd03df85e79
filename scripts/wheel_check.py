"""Builds the wheel, installs it in an empty virtual environment, and uses it from an empty folder.

Dependencies are not installed again: a .pth file points to those of the environment that runs this script.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Final, NoReturn

ROOT: Final = Path(__file__).resolve().parents[1]
SESSION: Final = "/help\n/rules roll 2d6+3\n/library add {book}\n/library list\n"
SHOWN: Final = (r"/rules", r"2d6 .*= \W?([5-9]|1[0-5])\b", r"lanterns\.md")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        work = Path(folder)
        wheel = build(work)
        python, script = install(wheel, work)
        package = Path(run([python, "-c", "import bot; print(bot.__path__[0])"], work).strip())
        if not package.is_relative_to(work):
            stop(f"the package in use is {package}, not the installed one")
        book = package / "bundled" / "examples" / "lanterns.md"
        if " db " not in (told := run([script, "--help"], work)) and "usage: sutradhar" not in told:
            stop(f"--help says:\n{told}")
        said = run([script], work, SESSION.format(book=book))
        if missing := [pattern for pattern in SHOWN if not re.search(pattern, said)]:
            stop(f"the chat did not show {missing}:\n{said}")
        if "python -m bot" in said:
            stop(f"the chat names a command that is not there:\n{said}")
        checked = run([script, "doctor"], work, ends=(0, 1))  # 1: no model has been fetched
        documentation = re.search(r"Documentation: (.+)", checked)
        if documentation is None or not (Path(documentation[1]) / "models.md").is_file():
            stop(f"doctor names no documentation that exists:\n{checked}")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; chat, library and doctor work")
    return 0


def build(work: Path) -> Path:
    """Build the wheel from a copy of the files in git, because a build leaves files behind."""
    source = work / "source"
    listed = run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "-co", "--exclude-standard"], ROOT)
    for name in listed.splitlines():
        if (file := ROOT / name).is_file() and not name.startswith(("tests/", "benchmarks/")):
            (copy := source / name).parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq"]
    run([*pip, "wheel", "--no-deps", "-w", str(work), str(source)], work)
    (wheel,) = work.glob("sutradhar-*.whl")
    return wheel


def install(wheel: Path, work: Path) -> tuple[str, str]:
    """Install only the wheel in an empty environment that uses this one's packages; returns its python and its
    script.
    """
    venv = work / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", str(venv)], work)
    programs = venv / ("Scripts" if os.name == "nt" else "bin")
    python = str(programs / "python")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", "--python", python]
    run([*pip, "install", "--no-deps", "--no-compile", str(wheel)], work)
    (site,) = venv.glob("lib/python*/site-packages" if os.name != "nt" else "Lib/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python, str(programs / "sutradhar")


def run(command: list[str], folder: Path, typed: str = "", ends: tuple[int, ...] = (0,)) -> str:
    """Run a command and return what it prints; if it ends with another code, stop and print everything."""
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("SUTRADHAR_", "PYTHON"))
    }
    if folder != ROOT:
        environ |= {
            "SUTRADHAR_DATA": str(folder / "data"),
            "SUTRADHAR_MODELS": str(folder / "models"),
            "SUTRADHAR_LOCALE": "en",
        }
    done = subprocess.run(
        command,
        cwd=folder,
        env=environ,
        input=typed,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    if done.returncode not in ends:
        stop(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def stop(message: str) -> NoReturn:
    sys.exit(f"wheel_check: {message}")


if __name__ == "__main__":
    sys.exit(main())
