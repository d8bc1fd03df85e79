"""What a question's run decides first and once, so that a replay decides the same."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.commands import FOLLOW_UP
from bot.conversation import Note, question_of
from bot.events import Request, TransientError, UserError
from bot.prompts import PromptText
from bot.retrieval.language import detect_question
from bot.settings import HOUSE_RULES
from bot.strategies import PROMPTS, SINGLE
from bot.strategies.base import ROLE, Inquiry
from bot.verb import DEFAULT_SHELF
from bot.works.rules.house_rules import rules_of
from bot.works.rules.question_files import picture_names

if TYPE_CHECKING:
    from bot.config import RetrievalConfig
    from bot.conversation import Conversations
    from bot.kind import InView
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.retrieval.library import Library
    from bot.settings import Settings
    from bot.works.rules.question_files import AttachedTexts

_SHORT_NAME = 3
"""The maximum length of a name that may also be a word, and counts only in its own capitals."""
HISTORY = 2
"""How many exchanges of the thread a follow-up includes."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The question, the place it goes to, the models, and the texts of their prompts.

    `shelf` is "" if only the question's own texts are searched. `strategy` is the search in use, `wanted` the
    configured one. `prompts` holds each text with its version. `earlier` is what people said in the thread before the
    first question. `cites` is whether there is an answerer whose citations can be trusted; otherwise the passages are
    quoted. `sees` is whether it accepts images, `demo` whether it is the demo model, `introduced` whether people were
    told so in this conversation. `roles` are the models that the place has chosen for the roles. `house` are the
    space's own rules. `in_view` are names and texts of what the question refers to (`bot.kind.InView`). `searched` is
    the question as it is searched, if that differs.
    """

    shelf: str
    language: str
    question: str
    session: str | None
    answerer: str | None
    cites: bool = False
    sees: bool = False
    demo: bool = False
    introduced: bool = False
    strategy: str = SINGLE
    wanted: str = SINGLE
    max_hops: int = 3
    helper: bool = False
    languages: list[str] = field(default_factory=list)
    prompts: dict[str, PromptText] = field(default_factory=dict)
    history: list[tuple[str, str]] = field(default_factory=list)
    earlier: str = ""
    notes: list[Note] = field(default_factory=list)
    roles: dict[str, list[str]] = field(default_factory=dict)
    house: list[tuple[int, str]] = field(default_factory=list)
    in_view: list[tuple[str, str]] = field(default_factory=list)
    searched: str = ""

    def inquiry(self, request: Request, locale: str) -> Inquiry:
        k = request.options.get("k")
        return Inquiry(
            space=request.place.space,
            shelf=self.shelf,
            question=self.searched or self.question,
            locale=locale,
            language=self.language,
            k=k if isinstance(k, int) else None,
            max_hops=self.max_hops,
            helper=self.helper,
            languages=tuple(self.languages),
            prompts=self.prompts,
            history=tuple(self.history),
            earlier=self.earlier,
        )


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Takes the snapshot of a question.

    `_why_none` returns the key of the sentence for a space without books. `_in_view` are the works' `Kind.in_view`.
    """

    _library: Library
    _models: Models
    _prompts: Prompts
    _conversations: Conversations
    _settings: Settings
    _config: RetrievalConfig
    _why_none: Callable[[Request], Awaitable[str]]
    _in_view: Sequence[Callable[[Request], Awaitable[InView | None]]]

    async def take(self, request: Request, attached_texts: AttachedTexts) -> Snapshot:
        """The snapshot for a request. Raises UserError if there is no question, or nothing to search."""
        typed = str(request.options.get("question") or "") or request.text
        if not typed.strip() and (pictures := picture_names(request)):
            raise UserError("rules.picture_words", files=", ".join(pictures), n=len(pictures))
        question = question_of(typed)
        space = request.place.space
        shelf = str(request.options.get("shelf") or "")
        rules = await self._settings.of_space(space, HOUSE_RULES)
        house = rules_of(rules) if rules else []
        if shelf or not attached_texts.attached:
            try:
                shelf = await self._library.shelf_for(space, shelf or None, DEFAULT_SHELF)
            except UserError as error:
                if error.key != "rules.no_books":
                    raise
                if not house:
                    raise TransientError(await self._why_none(request)) from error
        follows = bool(request.options.get(FOLLOW_UP))
        conversation = await self._conversations.of(request, question, HISTORY, follows=follows)
        languages_read = set(await self._library.languages(space, shelf)) if shelf else set()
        if attached_texts.attached is not None:
            languages_read.update(await self._library.on_files(attached_texts.attached).languages(space, ""))
        languages = sorted(languages_read)
        language = await asyncio.to_thread(detect_question, question, languages)
        strategy_wanted = str(request.options.get("strategy") or self._config.strategy)
        roles = await self._settings.roles(request)
        models = self._models.with_roles(roles)
        helper = models.capabilities(ROLE)
        helps = helper is not None and helper.cites
        answerer, answers = models.describe("answerer"), models.capabilities("answerer")
        strategy = strategy_wanted if helps else SINGLE
        texts, names = list[tuple[str, str]](), list[str]()
        # Where a story is played, the conversation is the story's.
        for view_of in self._in_view if conversation.session is None else ():
            if (view := await view_of(request)) is not None:
                texts += [(view.name, view.text)] if view.text else []
                names += [name for name in view.names if name.casefold() in question.casefold()]
        if names and shelf and not attached_texts.attached:
            names = await self._names_not_in_rules(space, shelf, house, names)
            searched = without_names(question, names, language or request.locale.split("-")[0])
        else:
            searched = question
        return Snapshot(
            shelf=shelf,
            language=language or request.locale.split("-")[0],
            question=question,
            session=conversation.session,
            answerer=answerer,
            # If its settings cannot be read it is asked anyway: the call reports what is wrong with them.
            cites=answerer is not None and (answers is None or answers.cites),
            sees=answers is None or answers.sees,
            demo=answers is not None and answers.demo,
            introduced=conversation.has_answers,
            strategy=strategy,
            wanted=strategy_wanted,
            max_hops=self._config.max_hops,
            helper=helps,
            languages=languages,
            prompts=await self._prompts.texts(space, ("rag", *PROMPTS[strategy])),
            history=conversation.exchanges if follows else [],
            earlier=conversation.earlier,
            notes=conversation.notes,
            roles=roles,
            house=house,
            in_view=texts,
            searched=searched if searched != question else "",
        )

    async def _names_not_in_rules(
        self, space: str, shelf: str, house: list[tuple[int, str]], names: list[str]
    ) -> list[str]:
        """The names that occur neither on the shelf nor in a house rule."""
        rules = " ".join(rule for _, rule in house).casefold()
        return [
            name
            for name in names
            if name.casefold() not in rules and not await self._library.says(space, shelf, name)
        ]


def without_names(question: str, names: Iterable[str], language: str) -> str:
    """The question with "you" for the names of a story's characters, which no rulebook contains."""
    you, your = {"en": ("you", "your"), "pt": ("você", "você")}.get(language, ("", ""))
    for name in sorted(names, key=len, reverse=True):
        flags = re.IGNORECASE if len(name) > _SHORT_NAME else re.NOFLAG
        pattern = re.compile(rf"\b{re.escape(name)}\b(?P<owner>['’]s\b)?", flags)
        question = pattern.sub(lambda match: your if match["owner"] else you, question)
    return " ".join(question.split())
