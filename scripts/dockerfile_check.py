"""Executes the Dockerfile's instructions one by one in clean folders, then starts the result.

For machines without a container engine. Each stage gets a folder in place of its root, and absolute paths that the
Dockerfile introduces are moved there. Steps that need a real root file system (apt-get, useradd) are skipped, with a
message.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

LEFT_OUT = ("apt-get", "useradd", "groupadd", "adduser", "addgroup")
# Saves compiling a thousand modules that nothing imports here, and fetching again what `make run` has fetched.
PIP = {"PIP_COMPILE": "0", "PIP_NO_CACHE_DIR": "0"}
SMOKE = "/help\n/rules roll 2d6+3\n"
TOTAL = re.compile(r"2d6 .*= \W?([5-9]|1[0-5])\b")  # what 2d6+3 can come to


@dataclass
class Stage:
    """One FROM: its folder stands for `/`; `env` holds paths as the container would see them."""

    root: Path
    workdir: str = "/"
    user: int | None = None
    env: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    """The command of HEALTHCHECK."""

    def at(self, path: str) -> Path:
        """The path on this machine for a path in the container."""
        return self.root / (path if path.startswith("/") else f"{self.workdir}/{path}").strip("/")


def stop(message: str) -> NoReturn:
    sys.exit(f"dockerfile_check: {message}")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """(name, arguments) of each instruction; continued lines joined, comments left out."""
    uncommented = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in uncommented.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name.upper(), rest.strip()


def send(context: Path, place: Path) -> None:
    """Copy the build context to `place`, without what .dockerignore excludes."""
    rules = [line.strip() for line in (context / ".dockerignore").read_text(encoding="utf-8").splitlines()]
    rules = [rule for rule in rules if rule and not rule.startswith("#")]
    for folder, folders, files in os.walk(context):
        folders[:] = [folder for folder in folders if folder not in (".git", ".venv")]
        for file in files:
            path = (Path(folder) / file).relative_to(context)
            if _sent(path, rules):
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(context / path, place / path)


def _sent(path: Path, rules: list[str]) -> bool:
    """The last rule that matches the path or a folder above it decides; `!` brings it back."""
    above = [path, *path.parents][:-1]
    sent = True
    for rule in rules:
        readmitted, pattern = rule.startswith("!"), rule.removeprefix("!")
        anywhere = pattern.startswith("**/")
        names = [ancestor.name if anywhere else ancestor.as_posix() for ancestor in above]
        if any(fnmatch.fnmatchcase(name, pattern.removeprefix("**/")) for name in names):
            sent = readmitted
    return sent


class Builder:
    """Follows one Dockerfile. `stages` by name and by number; the last one is the image."""

    def __init__(self, context: Path, work: Path) -> None:
        self.work = work
        self.context = work / "context"
        send(context, self.context)
        self.dockerfile = (context / "Dockerfile").read_text(encoding="utf-8")
        self.stages: dict[str, Stage] = {}
        self.paths: set[str] = set()

    def build(self) -> Stage:
        """Carry out every instruction; returns the last stage."""
        # Only the Dockerfile's own absolute paths; programs of the base image (/usr, /bin) stay in place.
        paths = re.findall(r"(?<![\w.:$])/(?:[\w.-]+/?)+", self.dockerfile)
        self.paths = {path.rstrip("/") for path in paths if not path.startswith(("/usr/", "/bin/"))}
        stage: Stage | None = None
        for name, rest in instructions(self.dockerfile):
            print(f"  {name} {rest[:100]}", flush=True)
            if name == "FROM":
                stage = self._from(rest)
            elif stage is None:
                stop(f"{name} comes before FROM")
            else:
                self._follow(stage, name, rest)
        return stage or stop("there is no FROM")

    def _from(self, rest: str) -> Stage:
        root = self.work / f"stage{len({id(stage) for stage in self.stages.values()})}"
        root.mkdir()
        root.chmod(0o755)
        stage = Stage(root, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        words = rest.split()
        self.stages[str(len(self.stages))] = stage
        if len(words) == 3 and words[1].upper() == "AS":
            self.stages[words[2]] = stage
        if ":" not in words[0]:
            stop(f"{words[0]} names no version")
        return stage

    def _follow(self, stage: Stage, name: str, rest: str) -> None:
        match name:
            case "ENV":
                for pair in shlex.split(rest, posix=True):
                    key, _, value = pair.partition("=")
                    stage.env[key] = value.replace(f"${key}", stage.env.get(key, ""))
            case "WORKDIR":
                stage.workdir = rest
                stage.at(rest).mkdir(parents=True, exist_ok=True)
            case "USER":
                stage.user = int(rest.split(":")[0])
            case "VOLUME":
                stage.volumes += json.loads(rest)
                for volume in stage.volumes:
                    stage.at(volume).is_dir() or stop(f"VOLUME {volume} was never made")
            case "EXPOSE":
                rest.isdigit() or stop(f"EXPOSE {rest} is no port")
            case "ENTRYPOINT":
                stage.entrypoint = json.loads(rest)
            case "CMD":
                stage.command = json.loads(rest)
            case "HEALTHCHECK":
                stage.health = json.loads(rest.partition("CMD ")[2])
            case "COPY":
                self._copy(stage, rest.split())
            case "RUN":
                self._run(stage, rest)
            case _:
                stop(f"{name} is not known here")

    def _copy(self, stage: Stage, words: list[str]) -> None:
        options = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if not word.startswith("--")]
        place = stage.at(target)
        origin = next((option.partition("=")[2] for option in options if option.startswith("--from=")), None)
        for source in sources:
            origin_path = self.stages[origin].at(source) if origin else self.context / source
            if origin_path.is_dir():
                shutil.copytree(origin_path, place, symlinks=True, dirs_exist_ok=True)
            elif origin_path.exists():
                into = place / origin_path.name if target.endswith("/") or len(sources) > 1 else place
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(origin_path, into)
            else:
                stop(f"COPY {source}: there is no such file, or .dockerignore keeps it back")

    def _run(self, stage: Stage, line: str) -> None:
        for part in line.split(" && "):
            words = shlex.split(part)
            if words[0] in LEFT_OUT or (words[0] == "chown" and os.geteuid() != 0):
                print(f"    left out (needs an image of its own): {words[0]}")
                if words[0] == "apt-get":  # the rest of its line tidies the image's own system
                    return
                continue
            done = subprocess.run(
                ["/bin/sh", "-euc", self.move(stage, part)],
                cwd=stage.at(stage.workdir),
                env=self.environment(stage) | PIP,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            if done.returncode != 0:
                stop(f"RUN {part} ended with {done.returncode}")

    def move(self, stage: Stage, text: str) -> str:
        """The text with the Dockerfile's own absolute paths moved into the stage's folder."""
        for path in sorted(self.paths, key=len, reverse=True):
            text = re.sub(rf"(?<![\w./-]){re.escape(path)}(?![\w-])", f"{stage.root}{path}", text)
        return text

    def environment(self, stage: Stage) -> dict[str, str]:
        """The stage's variables, and those of this machine that say where packages come from."""
        passed = {
            key: value
            for key, value in os.environ.items()
            if key.startswith(("PIP_", "SSL_")) or key == "HOME"
        }
        moved = {
            key: ":".join(self.move(stage, path) for path in value.split(":"))
            for key, value in stage.env.items()
        }
        return passed | moved


def start(builder: Builder, image: Stage, arguments: list[str], lines: str) -> str:
    """Run the entrypoint as its user, as `docker run` would; returns its standard output."""
    uid = image.user if os.geteuid() == 0 and _usable(builder, image) else None
    done = subprocess.run(
        [*image.entrypoint, *(arguments or image.command)],
        cwd=image.at(image.workdir),
        env=builder.environment(image) | {"HOME": str(image.at("/data"))},
        input=lines,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=180,
        user=uid,
        group=uid,
        extra_groups=[] if uid is not None else None,
    )
    if done.returncode != 0:
        stop(f"{' '.join(arguments) or 'the start'} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def _usable(builder: Builder, image: Stage) -> bool:
    """Whether the image's user may use this machine's Python, which replaces the base image's."""
    python = [image.entrypoint[0], "-c", "pass"]
    try:
        return (
            subprocess.run(
                python, env=builder.environment(image), user=image.user, extra_groups=[], check=False
            ).returncode
            == 0
        )
    except OSError:
        print(f"    left out: user {image.user} may not run this machine's Python; running as myself")
        return False


def check(image: Stage) -> None:
    """Check the last stage's properties, besides that it starts."""
    if not image.user:
        stop("the last stage runs as root")
    for tool in ("gcc", "cc", "make", "uv"):
        if any(image.root.rglob(f"bin/{tool}")):
            stop(f"the last stage holds a build tool: {tool}")
    size = sum(file.lstat().st_size for file in image.root.rglob("*") if file.is_file())
    print(f"  the last stage adds {size / 1e6:.0f} MB to its base image")


def main() -> None:
    """Build, check, and start twice: for help, and with two lines piped in."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--context", type=Path, default=Path(__file__).resolve().parents[1])
    context: Path = parser.parse_args().context
    with tempfile.TemporaryDirectory(prefix="dockerfile-") as folder:
        work = Path(folder)
        work.chmod(0o755)
        builder = Builder(context, work)
        image = builder.build()
        check(image)
        print("  --help", flush=True)
        if "usage" not in start(builder, image, ["--help"], "").casefold():
            stop("--help shows no usage")
        print("  two lines piped in", flush=True)
        output = start(builder, image, [], SMOKE)
        if not TOTAL.search(output):
            stop(f"the roll was not answered:\n{output}")
    print("dockerfile_check: every instruction was carried out, and the bot answered")


if __name__ == "__main__":
    main()
