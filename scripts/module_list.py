"""Makes the list of modules in docs/architecture.md from the first sentence of each module's docstring.

.venv/bin/python -m scripts.module_list          # writes it
.venv/bin/python -m scripts.module_list --check  # exits with 1 if it differs from the modules
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "architecture.md"
FOLDERS: Final = ("bot", "storage", "cogs")
LEFT_OUT: Final = ("storage/migrations/versions",)
BEGIN, END = "<!-- modules: written by scripts/module_list.py -->\n", "<!-- /modules -->\n"
_DOCSTRING: Final = re.compile(r'(?:#!.*\n)?r?"""(.*?)"""', re.DOTALL)
_SENTENCE_END: Final = re.compile(r"\.(?:\s|$)")


def main(*options: str) -> int:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = f"{before}{BEGIN}{''.join(lines())}{END}{after}"
    if "--check" in options:
        if new != page:
            print(
                "docs/architecture.md: the list of modules is out of date; run python -m scripts.module_list"
            )
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    return 0


def lines() -> Iterator[str]:
    """The list in Markdown: a heading for each folder with its package's sentence, then its modules by name."""
    for folder in FOLDERS:
        packages = sorted({path.parent for path in (ROOT / folder).rglob("*.py")})
        for package in packages:
            name = package.relative_to(ROOT).as_posix()
            if name in LEFT_OUT:
                continue
            package_file = package / "__init__.py"
            sentence = summary(package_file) if package_file.is_file() else ""
            modules = [path for path in sorted(package.glob("*.py")) if path != package_file]
            yield f"\n**{name}/**{f': {sentence}' if sentence else ''}\n"
            yield from (f"- `{path.stem}`: {summary(path)}\n" for path in modules)
    yield "\n"


def summary(module: Path) -> str:
    """The first sentence of the module's docstring, on one line and without its full stop; "" if it has none."""
    docstring = _DOCSTRING.match(module.read_text(encoding="utf-8"))
    paragraph = docstring[1].split("\n\n")[0] if docstring else ""
    return _SENTENCE_END.split(" ".join(paragraph.split()), maxsplit=1)[0]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
