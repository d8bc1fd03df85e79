"""Writes docs/transcript.md and docs/story-transcript.md, real sessions line by line, or compares them (`--check`).

Each line is piped into a new bot, with one data folder and in one thread, as `… | make run` would. The story's writer
is a service on this machine that answers with WRITTEN, so that the page is the same everywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.fakes.chat_completions import ChatService  # noqa: E402
from tests.fakes.reply import Reply  # noqa: E402

SESSION = (
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
STORY = (
    "/story start A lighthouse keeper finds a door in the sea --tone eerie --cast 'Mira: a diver who fears the dark'",
    "I lower the lamp on its rope. check Perception +2 dc 12",
    "/story retry",
    "/story flip back",
    "/story lore bell: The bell rings only for those who owe the sea something.",
    "I ring the bell.",
    "/story ask Who has a key to the door?",
    "/story undo",
    "/story fork 'The door stays shut' --scene 1",
    "I leave the door alone and row home.",
    "/story branches",
    "/story switch main",
    "/story show",
)
WRITTEN = (
    "The tide has gone out further than it ever has. Where the reef should be stands a door, upright in the sand, "
    "its frame full of water that does not fall. Mira stops at the last dry stone. “That was on no chart,” she says.",
    "- Knock on the door.\n- Ask Mira to wait.\n- Walk around the frame.",
    "The light goes in and does not come back. It shows three steps, then a rail of whalebone, then a bell without a "
    "rope. Mira counts the steps under her breath, and stops at four.",
    "- Pull up the lamp.\n- Go down the steps.\n- Ring the bell.",
    "The lamp hisses and burns on under the water, smaller with every arm's length. Something down there turns its "
    "face to it. Mira takes hold of your sleeve and does not let go.",
    "- Hold the lamp still.\n- Pull it up, fast.\n- Speak to what is there.",
    "It rings before your hand is on it. Far out, a second bell answers, and the water in the frame draws back from "
    "the steps, one after the other, as if to let somebody pass.",
    "- Go down.\n- Wait for who comes up.\n- Stop the bell.",
    "Nobody so far. The door has been seen standing in the sand, and nothing has been said of a lock.",
    "The oars sound too loud. Behind you the door stands in the rising water, and does not grow smaller "
    "with the distance.",
    "- Row faster.\n- Turn and look.\n- Ask Mira to sing.",
)
PAGES = {
    "transcript.md": (
        "# A session\n\nMade by `python scripts/transcript.py` from the real program as `make run` leaves it, with no "
        "key and no settings; CI\nmakes it again and compares.\n",
        SESSION,
    ),
    "story-transcript.md": (
        "# A story, from its premise to a branch\n\nMade by `python scripts/transcript.py` from the real program; CI "
        "makes it again and compares. The writer's words are written in that\nscript, and served as a model's: "
        "so the page shows what the bot does, and not how well a model writes.\n",
        STORY,
    ),
}
# Empty variables hide those of the environment and of .env.
NO_KEYS = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
CHANGING = re.compile(
    r"(?<=4d6kh3 ).*|🎲.*|(?<=`)[0-9a-f]{6}(?=`)|[0-9a-f]{12}(?=-branches)|(?<=stopcard )[0-9a-f-]{8,36}"
)
"""What may differ: dice, the codes of stories and branches, the names of files."""


async def made() -> dict[str, str]:
    """The pages as this code makes them."""
    pages = {}
    for name, (head, lines) in PAGES.items():
        async with ChatService([Reply(pieces=[words]) for words in WRITTEN]) as writer:
            provider = f'kind = "openai-compatible"\nbase_url = "{writer.base_url}"\n'
            model = f'[providers.written]\n{provider}[roles]\nwriter = "written:small"\n'
            with tempfile.TemporaryDirectory() as folder:
                settings = model if lines is STORY else ""
                outputs = [await asyncio.to_thread(_said, line, Path(folder), settings) for line in lines]
        blocks = (f"```\n› {line}\n{output}\n```\n" for line, output in zip(lines, outputs, strict=True))
        pages[name] = "\n".join([head, *blocks])
    return pages


def _said(line: str, data: Path, toml: str) -> str:
    (data / "config.toml").write_text(toml)  # instead of one in the repository
    environ = {
        "LOGNAME": "keeper",
        "SUTRADHAR_LOCALE": "en",
        "NO_COLOR": "1",
        "PYTHONPATH": str(ROOT),
    } | NO_KEYS
    settings = ["--config", str(data / "config.toml"), "--data", str(data)]
    command = [sys.executable, "-m", "bot", *settings, "chat", "--thread", "demo"]
    done = subprocess.run(
        command,
        input=line + "\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | environ,
        check=False,
    )
    if "Traceback" in done.stderr:
        raise SystemExit(done.stderr)
    return "\n".join(line.rstrip() for line in done.stdout.strip().replace(f"{data}/", "").splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="compare instead of writing; exit 1 on a difference"
    )
    check, differs = parser.parse_args().check, False
    for name, page in asyncio.run(made()).items():
        file = ROOT / "docs" / name
        if not check:
            file.write_text(page, encoding="utf-8")
            continue
        written = file.read_text(encoding="utf-8")
        written, page = CHANGING.sub("…", written), CHANGING.sub("…", page)
        difference = list(
            difflib.unified_diff(written.splitlines(), page.splitlines(), f"docs/{name}", "now", lineterm="")
        )
        print("\n".join(difference) or f"docs/{name} is what the program says.")
        differs = differs or bool(difference)
    return 1 if differs else 0


sys.exit(main())
