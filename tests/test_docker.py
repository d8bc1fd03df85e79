"""The Dockerfile passes the linter, is complete, and its check script notices what would break a build.

Executing the real Dockerfile takes a minute, so only `.ci/run` does that; these tests try the script itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.dockerfile_check import Builder, check, instructions, send, start

ROOT = Path(__file__).resolve().parents[1]
GOOD = """
FROM python:3.13-slim AS build
WORKDIR /app
COPY words.txt ./
COPY package ./package
RUN cp words.txt copied.txt && \\
    useradd nobody
FROM python:3.13-slim
ENV GREETING=/app/copied.txt
RUN mkdir -p /data
COPY --from=build /app /app
WORKDIR /app
USER 10001:10001
EXPOSE 3000
VOLUME ["/data"]
ENTRYPOINT ["cat"]
CMD ["copied.txt"]
"""


@pytest.fixture
def context(tmp_path: Path) -> Path:
    folder = tmp_path / "context"
    (folder / "package" / "__pycache__").mkdir(parents=True)
    (folder / "package" / "__pycache__" / "old.pyc").touch()
    (folder / "package" / "module.py").touch()
    (folder / "words.txt").write_text("sutradhar\n")
    (folder / "notes.txt").touch()
    (folder / ".dockerignore").write_text("# comment\n*\n!words.txt\n!package\n**/__pycache__\n")
    (folder / "Dockerfile").write_text(GOOD)
    return folder


def builder(context: Path) -> Builder:
    work = context.parent / "work"
    work.mkdir()
    return Builder(context, work)


def test_the_linter_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    result = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_the_image_contains_all_our_packages() -> None:
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks", "scripts"}
    copied = {
        rest.split()[0] for name, rest in instructions((ROOT / "Dockerfile").read_text()) if name == "COPY"
    }
    assert packages <= copied


def test_only_needed_files_are_sent_to_the_builder(tmp_path: Path) -> None:
    send(ROOT, tmp_path)
    sent = {path.name for path in tmp_path.iterdir()}
    assert {"bot", "storage", "requirements.lock"} <= sent
    assert not sent & {".git", ".env", "tests", "config.toml", ".venv"}
    assert not list(tmp_path.rglob("__pycache__"))


def test_the_check_follows_a_correct_dockerfile_to_its_entrypoint(context: Path) -> None:
    build = builder(context)
    image = build.build()
    check(image)
    assert start(build, image, [], "") == "sutradhar\n"
    assert not list(image.root.rglob("*.pyc"))
    assert build.environment(image)["GREETING"] == f"{image.root}/app/copied.txt"


@pytest.mark.parametrize(
    ("instead_of", "written", "says"),
    [
        ("COPY words.txt", "COPY notes.txt", "dockerignore"),
        ("RUN cp words.txt", "RUN cp absent.txt", "ended with 1"),
        ("FROM python:3.13-slim AS", "FROM python AS", "names no version"),
        ('["/data"]', '["/models"]', "was never made"),
        ("USER 10001:10001", "USER 0:0", "runs as root"),
        ("EXPOSE 3000", "EXPOSE http", "is no port"),
        ("WORKDIR /app\nUSER", "HEALTHY /app\nUSER", "HEALTHY is not known"),
    ],
)
def test_mistakes_that_break_a_build_break_the_check(
    context: Path, instead_of: str, written: str, says: str
) -> None:
    (context / "Dockerfile").write_text(GOOD.replace(instead_of, written))
    build = builder(context)
    with pytest.raises(SystemExit) as caught:
        check(build.build())
    assert says in str(caught.value)


def test_the_health_check_applies_to_run_and_not_to_chat(tmp_path: Path) -> None:
    (health,) = [
        rest for name, rest in instructions((ROOT / "Dockerfile").read_text()) if name == "HEALTHCHECK"
    ]
    *shell, command = json.loads(health.partition("CMD ")[2])
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho $* >> asked\nexit 1\n")
    python.chmod(0o755)
    # The first process is the bot, or docker's own init in front of it.
    for first, code in (
        ("docker-init -- python -m bot run", 1),
        ("python -m bot run", 1),
        ("python -m bot", 0),
    ):
        (tmp_path / "cmdline").write_text("\0".join([*first.split(), ""]))
        asks = [*shell, command.replace("/proc/1/cmdline", "cmdline")]
        done = subprocess.run(asks, cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False)
        assert done.returncode == code, first
    assert (tmp_path / "asked").read_text() == "-m bot doctor --live\n" * 2


def test_a_build_tool_in_the_last_stage_is_refused(context: Path) -> None:
    image = builder(context).build()
    (image.root / "opt" / "bin").mkdir(parents=True)
    (image.root / "opt" / "bin" / "gcc").touch()
    with pytest.raises(SystemExit, match="build tool"):
        check(image)
