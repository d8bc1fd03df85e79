"""An installed wheel finds the files that ship with the program, as a checkout does."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from bot import bundle

ROOT = Path(__file__).resolve().parents[1]
ASKS = """
import sys
sys.argv[0] = "/opt/tools/bin/sutradhar"
from bot import bundle, config
from bot.prompts import PromptFile
from bot.words import words
print(bundle.ROOT)
print("rag" in PromptFile().read())
print(bool(config._bundled_suggestions()))
print(words("en")("cli.examples"))
"""


def test_an_installed_package_finds_its_files_from_any_folder(tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(ROOT / "bot", site / "bot", ignore=shutil.ignore_patterns("__pycache__", "bundled"))
    shutil.copytree(ROOT / "storage", site / "storage", ignore=shutil.ignore_patterns("__pycache__"))
    bundle.copy_to(site / "bot" / "bundled")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", ASKS],
        cwd=elsewhere, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(site)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder, prompts, suggested, examples = done.stdout.split("\n", 3)
    assert (folder, prompts, suggested) == (str(site / "bot" / "bundled"), "True", "True")
    assert "  sutradhar library add handbook.md" in examples
    assert "python -m bot" not in examples


def test_a_wheel_carries_every_page_and_example(tmp_path: Path) -> None:
    bundle.copy_to(tmp_path)
    copied = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"prompts.yml", "config.toml.example", ".env.example", "examples/lanterns.md"} <= copied
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= copied


def test_a_checkout_uses_its_own_files() -> None:
    assert ROOT == bundle.ROOT
