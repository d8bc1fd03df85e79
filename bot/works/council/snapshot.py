"""Takes the snapshot of a council: its members, judges and prompts, and the history that it continues.

Makes no calls to models.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bot.commands import FOLLOW_UP
from bot.config.model_spec import ModelSpec
from bot.events import Request, UserError
from bot.words import meant, words
from bot.works.council.config import CouncilConfig
from bot.works.council.values import Level, Snapshot, names

if TYPE_CHECKING:
    from bot.config import Config
    from bot.conversation import Conversations
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.works.council.settings import Settings

QUESTION_CHARS = 6_000
"""The maximum length of a question: a longer text is a document, and every member would be paid for reading it."""

CATEGORY = "research_"
"""The prefix of prompts for categories of research."""

DEMO_TOKENS = 250
"""The maximum tokens of an answer by the demo model, so that several answers fit into its window."""

_PROMPTS = ("council", "council_answer", "council_ballot", "council_chair")
_DEBATE_PROMPTS = ("council_attack", "council_revise")


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Takes the snapshot of a council. `_roles` returns the models that a place has chosen, by role."""

    _config: Config
    _models: Models
    _prompts: Prompts
    _conversations: Conversations
    _settings: Settings
    _roles: Callable[[Request], Awaitable[dict[str, list[str]]]]

    async def take(self, request: Request) -> Snapshot:
        """The snapshot for a request. Raises UserError if there is no question, or no model to ask."""
        settings, space = self._config.section(CouncilConfig), request.place.space
        question = request.text.strip()
        if not question:
            raise UserError("council.no_question")
        if len(question) > QUESTION_CHARS:
            raise UserError("council.long_question", length=len(question), limit=QUESTION_CHARS)
        seats = await self._settings.seats(space)
        if not seats.members:
            raise UserError("council.nobody")
        level = cast("Level", request.options.get("level") or settings.level)
        members = seats.members[: {"single": 1, "mini": settings.mini}.get(level)]
        level = "single" if len(members) == 1 else level
        categories = await self._categories(space, str(request.options.get("research") or ""))
        demo = all(self._is_demo(member) for member in members)
        debate = bool(request.options.get("debate")) and level != "single" and not demo
        prompt_names = [
            *_PROMPTS,
            *(_DEBATE_PROMPTS if debate else ()),
            *(CATEGORY + category for category in categories),
        ]
        follows = bool(request.options.get(FOLLOW_UP) or request.options.get("follow"))
        conversation = await self._conversations.of(request, question, settings.history, follows=follows)
        return Snapshot(
            question=question,
            session=conversation.session,
            level=level,
            members=members,
            names=names(members),
            judges=[seat for seat, member in enumerate(members) if self._can_judge(member.model)],
            chair=[model for model in seats.chair if self._can_judge(model)],
            researchers=list(self._models.with_roles(await self._roles(request)).chain("researcher")),
            criteria=seats.criteria or words(request.locale)("council.criteria"),
            self_votes=settings.self_votes,
            blind=settings.blind_chair,
            timeout=settings.timeout,
            tokens=min(settings.tokens, DEMO_TOKENS) if demo else settings.tokens,
            debate=debate,
            ask_above=self._config.budget.ask_above_usd,
            most=self._config.budget.run_usd,
            began=time.time(),
            research=categories,
            demo=demo,
            prompts=await self._prompts.texts(space, prompt_names),
            history=conversation.exchanges if follows else [],
            research_words=settings.research_words,
            attack_words=settings.attack_words,
            earlier=conversation.earlier if settings.history or conversation.notes else "",
            notes=conversation.notes,
        )

    async def _categories(self, space: str, typed: str) -> list[str]:
        """The requested categories of research, each once. Raises UserError for an unknown one."""
        known_names = await categories(self._prompts, space)
        if meant(typed, "all"):
            return known_names
        names = [" ".join(name.split()).casefold().replace(" ", "_") for name in typed.split(",")]
        for name in filter(None, names):
            if name not in known_names:
                raise UserError("council.unknown_research", name=name[:60], names=", ".join(known_names))
        return list(dict.fromkeys(filter(None, names)))

    def _can_judge(self, model: str) -> bool:
        """Whether the model can be trusted to judge texts; true if its settings cannot be read."""
        try:
            return self._models.capabilities_of("chair", model).cites
        except UserError:
            return True

    def _is_demo(self, member: ModelSpec) -> bool:
        try:
            return self._models.capabilities_of("council", member.model).demo
        except UserError:
            return False


async def categories(prompts: Prompts, space: str) -> list[str]:
    """Every category of research that a space has a prompt for."""
    prompt_names: Sequence[str] = [prompt.text.name for prompt in await prompts.all(space)]
    return [name.removeprefix(CATEGORY) for name in prompt_names if name.startswith(CATEGORY)]
