"""Puts the prompts, examples and documentation into the wheel; all else is in pyproject.toml."""

from pathlib import Path
from runpy import run_path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithBundle(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            bundle = run_path(str(Path(__file__).with_name("bot") / "bundle.py"))
            bundle["copy_to"](Path(self.build_lib, "bot", "bundled"))


setup(cmdclass={"build_py": BuildWithBundle})
