"""A question to a script answered without a model: the scenes that come nearest, in their own words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.markdown import harmless
from bot.words import Words
from bot.works.script.intent import scene_named
from bot.works.script.work import scene_title

if TYPE_CHECKING:
    from bot.works.script.model import Scene, Script
    from bot.works.script.scene_search import Floats, SceneSearch

QUOTED: Final = 3
"""Scenes of one answer."""
QUOTED_CHARS: Final = 500
"""Characters of one scene."""


async def nearest_scenes(
    question: str,
    focus: int,
    script: Script,
    search: SceneSearch,
    like: Callable[[str], Awaitable[Floats | None]],
) -> list[Scene]:
    """The scenes that come nearest to a question, the best first; none where no word of it is said in the script.

    `focus` is the number of the scene that is meant, 0 for none; it comes first where the question names it. `like`
    compares the question with every scene by meaning.
    """
    ranked = partial(search.ranked, question, QUOTED)
    scenes = [scene for _, scene in await asyncio.to_thread(ranked)]
    if scenes and (cosines := await like(question)) is not None:
        # Some scene is always the likest: where no word of the question is said, none is quoted.
        scenes = [scene for _, scene in await asyncio.to_thread(ranked, cosines=cosines)]
    if focus and scene_named(question):
        named = script.scenes[focus - 1]
        scenes = [named, *(scene for scene in scenes if scene is not named)][:QUOTED]
    return scenes


def quotations(scenes: Sequence[Scene], question: str, search: SceneSearch, say: Words) -> list[str]:
    """For each scene its title and, as a Markdown quotation, the part that holds most of the question's words."""
    terms = search.terms(question)
    texts = []
    for scene in scenes:
        part = search.window(scene.text, terms, QUOTED_CHARS)
        lines = "\n".join(f"> {harmless(line)}" for line in part.split("\n"))
        texts.append(f"**{scene_title(scene, say)}**\n{lines}\n\n")
    return texts
