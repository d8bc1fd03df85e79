"""docs/transcript.md: a real session, line by line, made anew or compared (`--check`).

Each line is piped into a bot of its own, on one data folder and in one thread, as `… | make run` would.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "transcript.md"
LINES = (
    "/library add examples/lanterns.md examples/fate-acelerado.md --shelf rules",
    "/rules books",
    "/rules ask How far does a lit lantern show things?",
    "and when a keeper is lost?",
    "/rules see 1",
    "/rules lookup wolfs",
    "/rules ask O que acontece quando um personagem fica com consequências?",
    "/rules roll 4d6kh3",
    "/rules ask Who won the football world cup in 1994?",
    "/rules aks what is a chandler?",
    "/prompts list",
    "/library remove lanterns.md --shelf rules",
)
HEAD = """# A session

Made by `python scripts/transcript.py` from the real program as `make run` leaves it, with no key and no settings; CI
makes it again and compares.
"""
# Empty, they hide those of the environment and of .env.
NO_KEYS = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
_DICE = re.compile(r"4d6kh3 .*")


def made() -> str:
    """The page as this code makes it."""
    parts = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.toml").touch()  # empty, in place of the one that may stand in the repository
        parts.extend(f"```\n› {line}\n{_said(line, Path(folder))}\n```\n" for line in LINES)
    return "\n".join(parts)


def _said(line: str, data: Path) -> str:
    told = {"LOGNAME": "keeper", "SUTRADHAR_LOCALE": "en", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)} | NO_KEYS
    settings = ["--config", str(data / "config.toml"), "--data", str(data)]
    command = [sys.executable, "-m", "bot", *settings, "chat", "--thread", "demo"]
    done = subprocess.run(
        command,
        input=line + "\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | told,
        check=False,
    )
    if "Traceback" in done.stderr:
        raise SystemExit(done.stderr)
    return "\n".join(one.rstrip() for one in done.stdout.strip().splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="compare instead of writing; exit 1 on a difference"
    )
    check = parser.parse_args().check
    page = made()
    if not check:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    # Dice are the one thing that may differ.
    kept, now = (_DICE.sub("4d6kh3 …", text) for text in (PAGE.read_text(encoding="utf-8"), page))
    before, after = kept.splitlines(), now.splitlines()
    difference = list(difflib.unified_diff(before, after, "docs/transcript.md", "now", lineterm=""))
    print("\n".join(difference) or "docs/transcript.md is what the program says.")
    return 1 if difference else 0


sys.exit(main())
