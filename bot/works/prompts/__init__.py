"""The prompts of the models, and a space's own texts for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from bot.kind import Kind, Runs, Typed
from bot.verb import Argument, Option, Verb

if TYPE_CHECKING:
    from bot.events import Request
    from bot.resources import Resources
    from bot.words import Words
    from bot.work import Work


VERBS: tuple[Verb, ...] = (
    Verb("prompts", "list"),
    Verb("prompts", "show", "rag", Argument("name", "verbs.arg_prompt", completes="prompt")),
    Verb(
        "prompts",
        "edit",
        "rag --file my-rag.yml",
        Argument("name text", "verbs.arg_prompt_text", completes="prompt"),
        (Option("file", "verbs.option_prompt_file", completes="path"),),
        admin=True,
        rewords=True,
    ),
    Verb("prompts", "reset", "rag", Argument("name", "verbs.arg_prompt", completes="prompt"), admin=True),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.prompts.work import PromptsWork

    return PromptsWork(resources.prompts, resources.incoming, resources.settings.zone)


async def _prompt(resources: Resources, typed: Typed) -> list[str]:
    names = [wording.text.name for wording in await resources.prompts.all(typed.space)]
    return [name for name in names if name.startswith(typed.prefix.lower())]


async def _overview(
    resources: Resources, space: str, say: Words, name: Callable[[str], str]
) -> AsyncIterator[str]:
    own = [wording.text.name for wording in await resources.prompts.all(space) if wording.own is not None]
    names = ", ".join(f"`{wording}`" for wording in own)
    yield say("slack_home.prompts_own", n=len(own), names=names) if own else say("slack_home.prompts")


async def _checks(resources: Resources, request: Request) -> None:
    if request.verb == "edit" and not request.files:
        name, _, text = request.text.strip().partition(" ")
        await resources.prompts.checked(request.place.space, name, text)


KIND = Kind(
    "prompts",
    VERBS,
    make,
    completes={"prompt": _prompt},
    for_admins=True,
    overview=_overview,
    checks=_checks,
)
