"""The protocol that every model provider speaks, and the values it speaks in.

Knows no SDK. A provider turns its service's faults into `ModelError`, so that nothing above
this package ever sees an SDK's exception or a secret inside one.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol, TypeAlias

from bot.config.model_spec import Effort
from bot.events import Completion, ToolCall, Usage, UserError
from bot.retrieval.results import Passage

__all__ = [
    "CACHED_TOKENS",
    "FINISHES",
    "Capabilities",
    "Completion",
    "Image",
    "MediaType",
    "Message",
    "Meter",
    "ModelError",
    "ModelFault",
    "Prompt",
    "Provider",
    "Tool",
    "ToolCall",
    "ToolOutput",
    "ToolResult",
    "Usage",
    "room",
    "without_images",
]

FINISHES = ("end", "length", "refusal", "tool", "cut")
"""How an answer ended: whole; at the token limit; refused or filtered; asking for tools; cut off."""

ModelFault = Literal[
    "auth",
    "permission",
    "rate_limit",
    "timeout",
    "connection",
    "server",
    "bad_request",
    "not_found",
    "context",
    "empty",
    "quota",
    "refusal",
    "cut",
    "format",
]
"""Why a call failed; the catalogue has a sentence `model.<fault>` for each."""


CACHED_TOKENS: Final = 1_000
"""Shorter prefixes are not marked: most models keep none (the least is 512 to 4,096 tokens, by model: Anthropic,
"Prompt caching")."""

TOKENS_PER_WORD: Final = 2
"""English takes 1.3, Portuguese and German up to 1.8; the JSON around words some more."""

THOUGHTS: Final[dict[Effort | None, int]] = {
    "none": 0,
    "minimal": 1_000,
    "low": 2_000,
    "medium": 6_000,
    None: 6_000,
    "high": 16_000,
    "xhigh": 32_000,
    "max": 48_000,
}
"""Tokens of thinking about a short task, by how hard a model is to think; None is a model's own way, which is medium
with those that think by default. Who does not think leaves them: they are reserved, and not paid."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives: a text, and the passages that it stands on; `failed` marks a sentence about what went wrong.

    Both are data, and as they are: whoever hands them to a model fences them and numbers the passages.
    """

    text: str = ""
    passages: tuple[Passage, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a model may ask for. `parameters` is the JSON schema of an object.

    `call` does it, with the arguments by their names once they fit the schema (`bot.llm.tool_arguments`). `label` is
    what people read meanwhile, such as "Searching the lessons"; "" for the name.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[..., Awaitable[ToolOutput]] | None = field(default=None, repr=False, compare=False)
    label: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the tool call with this id; `failed` marks a sentence about an error."""

    call: str
    text: str
    failed: bool = False


MediaType: TypeAlias = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
"""Those that all three services take (Anthropic, "Vision"; OpenAI, "Images and vision")."""

IMAGE_BYTES: Final = 5_000_000
"""The most of one picture: 6.7 MB as it is sent, and Anthropic takes 10 MB so (Vision, "General limits")."""

IMAGES_BYTES: Final = 20_000_000
"""… and of all pictures of a prompt: Anthropic takes requests of 32 MB (API overview, "Request size limits")."""

IMAGE_SIDE: Final = 8_000
"""Pixels: Anthropic takes no longer side (Vision, "General limits")."""

_PATCH: Final = 28
_MOST_PATCHES: Final = 4_784


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a prompt; `width` and `height` are pixels. Its bytes have no repr, so that they stand in no log."""

    media: MediaType
    data: bytes = field(repr=False)
    width: int
    height: int

    @property
    def tokens(self) -> int:
        """About how many tokens it takes: one for each 28 × 28 pixels, at most 4,784, as Anthropic counts them (Vision,
        "Image costs"; width × height / 750 is its older, rougher figure).

        OpenAI counts fewer at the detail that we ask for: 32 × 32 pixels, times 1.2, at most 2,500 of them.
        """
        patches = -(-self.width // _PATCH) * -(-self.height // _PATCH)
        return max(1, min(patches, _MOST_PATCHES))

    @property
    def base64(self) -> str:
        return base64.b64encode(self.data).decode("ascii")

    @property
    def url(self) -> str:
        """As a data URL (RFC 2397)."""
        return f"data:{self.media};base64,{self.base64}"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. An assistant's turn may hold `calls` (and `raw`, see Completion); the user turn that
    follows it then holds one of `results` for each, before its text. A user's turn may hold `images`, which stand
    before its text: services advise that order.

    `cache`: the prompt up to the end of this message comes again, so the service may keep it.
    """

    role: Literal["user", "assistant"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    raw: str = ""
    cache: bool = False
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked. `max_tokens` bounds the answer; `temperature` None leaves it to the model.

    `schema`: the answer shall be JSON by this schema, an object with `additionalProperties` false and every
    property required (see `bot.llm.json_answers.schema_of`). `cache`: system and tools come again; `cache_hour`: the
    service shall keep what is marked for an hour, where it offers that.
    `closing`: none of the tools may be called any more. They stay, for services void their cache without them, and
    models refuse to read their own earlier calls.
    `sampling` are settings of `bot.config.model_spec.SAMPLING`, for wires that take them.
    `effort` is how hard a reasoning model should think, where it knows the word; `reasoning` asks it to show
    what it thinks, where it does so only then. `min_timeout`: wait for so many seconds at least, since some models
    think in silence; None: as long as the deadlines of the service allow.
    """

    system: str
    messages: tuple[Message, ...]
    max_tokens: int = 1200
    temperature: float | None = None
    schema: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    closing: bool = False
    cache: bool = False
    cache_hour: bool = False
    effort: Effort | None = None
    sampling: Mapping[str, Any] | None = None
    reasoning: bool = False
    min_timeout: float | None = None

    @property
    def marked(self) -> int | None:
        """How many messages belong to the part marked for the cache; None if nothing is marked."""
        last = next((n for n in range(len(self.messages), 0, -1) if self.messages[n - 1].cache), 0)
        return last if last or self.cache else None

    @property
    def images(self) -> tuple[Image, ...]:
        """Those of all turns."""
        return tuple(image for message in self.messages for image in message.images)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do. A work takes the path that the model can walk.

    `cites`: it can be trusted to put [n] after what it takes from passage n, and to judge passages.
    `demo`: it is the small model that comes along, and people are told so. `sees`: it takes images, as far as
    is known: one that turns out to refuse them is asked without.
    """

    tools: bool = True
    json_schema: bool = True
    cites: bool = True
    demo: bool = False
    sees: bool = True


@dataclass(slots=True)
class Meter:
    """What a call has used so far, over all its attempts.

    A provider keeps it current while it streams: a call that is stopped or cut can yield no
    Completion, and is billed from here. `whole`: the Completion has come, so nothing can stop the call any more.
    `again` is awaited before a request that may be paid once more, after one that has used something; it raises
    UserError where that could pass a cap.
    """

    usage: Usage = field(default_factory=Usage)
    whole: bool = False
    again: Callable[[], Awaitable[None]] | None = field(default=None, repr=False, compare=False)


class ModelError(UserError):
    """A model call that failed, also after retries. `fault` picks the sentence a person reads.

    `partial` is the text and usage received before the fault, so that they are billed and kept.
    """

    def __init__(
        self,
        fault: ModelFault,
        model: str,
        detail: str = "",
        *,
        partial: Completion | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(f"model.{fault}", model=model, detail=detail)
        self.fault: ModelFault = fault
        self.model = model
        self.detail = detail
        self.partial = partial
        self.retry_after_s = retry_after_s


class Provider(Protocol):
    """One configured service. `name` is its name in the config; a model is called `name:model`."""

    name: str

    def stream(
        self, model: str, prompt: Prompt, meter: Meter | None = None, *, whole: bool = False
    ) -> AsyncGenerator[str | Completion, None]:
        """Yield the answer's text as it comes, then one Completion with all of it: with less than that only
        where its end showed that it had begun with thoughts.

        `whole` asks for the answer in one piece instead of a stream. `meter` is kept current throughout.
        Closing the generator closes the connection. Raises ModelError; "cut" once text has been
        yielded, with the text so far as `partial`. Images that the service refuses are left out, and the
        Completion is `unseen`.
        """
        ...

    async def count(self, model: str, prompt: Prompt) -> int | None:
        """Input tokens as the service counts them; None where it cannot tell."""
        ...

    def capabilities(self, model: str) -> Capabilities: ...

    async def close(self) -> None: ...


def without_images(prompt: Prompt) -> Prompt:
    """The prompt without its images."""
    return replace(prompt, messages=tuple(replace(message, images=()) for message in prompt.messages))


def room(words: int, effort: Effort | None) -> int:
    """How many tokens a short task may take: the words that are wanted of it, and room to think before them.

    Thinking counts into the limit, and most models think by themselves: a limit of the words alone starves them.
    A model whose own limit is lower says so once, and is asked for no more: see `faults.ParameterRules`.
    """
    return words * TOKENS_PER_WORD + THOUGHTS[effort]
