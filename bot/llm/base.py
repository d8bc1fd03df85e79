"""The protocol of a model provider, and its data types.

Knows no SDK. A provider turns its service's errors into `ModelError`, so that no code outside this package ever sees an
SDK's exception or a secret in one.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol, TypeAlias

from bot.config.model_spec import Effort
from bot.events import UserError
from bot.llm.completion import Completion, ToolCall, Usage
from bot.retrieval.results import Passage

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
"""Why a call failed; the catalogue has a message `model.<fault>` for each."""


CACHED_TOKENS: Final = 1_000
"""Shorter prefixes are not marked for the cache: most models do not keep them (the minimum is 512 to 4,096 tokens, by
model: Anthropic, "Prompt caching")."""

TOKENS_PER_WORD: Final = 2
"""Tokens per word: English needs 1.3, Portuguese and German up to 1.8; the JSON around the words adds some."""

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
"""Tokens of thinking about a short task, by effort; None is the model's default, which is medium for models that think
by default. A model that does not think leaves them unused: they are reserved but not billed."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The output of a tool: a text, and the passages that it is based on; `failed` marks an error message.

    Both are raw data: the code that gives them to a model fences them and numbers the passages.
    """

    text: str = ""
    passages: tuple[Passage, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call. `parameters` is the JSON schema of an object.

    `call` runs it with keyword arguments that fit the schema (`bot.llm.tool_arguments`). `label` is the status that
    people read, such as "Searching the lessons"; "" for the name.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[..., Awaitable[ToolOutput]] | None = field(default=None, repr=False, compare=False)
    label: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the tool call with this id; `failed` marks an error message."""

    call: str
    text: str
    failed: bool = False


MediaType: TypeAlias = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
"""The image types that all three services accept (Anthropic, "Vision"; OpenAI, "Images and vision")."""

IMAGE_BYTES: Final = 5_000_000
"""The largest size of one image: 6.7 MB when encoded; Anthropic accepts 10 MB (Vision, "General limits")."""

IMAGES_BYTES: Final = 20_000_000
"""The largest size of all images of a prompt: Anthropic accepts requests of 32 MB (API overview, "Request size
limits").
"""

IMAGE_SIDE: Final = 8_000
"""The longest side in pixels that Anthropic accepts (Vision, "General limits")."""

_PATCH: Final = 28
_MOST_PATCHES: Final = 4_784


@dataclass(frozen=True, slots=True)
class Image:
    """An image in a prompt; `width` and `height` are in pixels. Its bytes are left out of the repr, and so of logs."""

    media: MediaType
    data: bytes = field(repr=False)
    width: int
    height: int

    @property
    def tokens(self) -> int:
        """About how many tokens the image needs: one for each 28 × 28 pixels, at most 4,784, as Anthropic counts them
        (Vision, "Image costs"; width × height / 750 is its older, rougher figure).

        OpenAI counts fewer at the detail that we ask for: 1.2 for each 32 × 32 pixels, for at most 2,500 such squares.
        """
        patches = -(-self.width // _PATCH) * -(-self.height // _PATCH)
        return max(1, min(patches, _MOST_PATCHES))

    @property
    def base64(self) -> str:
        return base64.b64encode(self.data).decode("ascii")

    @property
    def url(self) -> str:
        """The image as a data URL (RFC 2397)."""
        return f"data:{self.media};base64,{self.base64}"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. An assistant's turn may hold `calls` (and `raw`, see Completion); the user turn that follows it then
    holds one of `results` for each, before its text. A user's turn may hold `images`, which are sent before its text,
    as services recommend.

    `cache`: the prompt up to the end of this message will be sent again, so the service should keep it.
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
    """The prompt for a model. `max_tokens` limits the answer; `temperature` None leaves it to the model.

    `schema`: the answer must be JSON that fits this schema, an object with `additionalProperties` false and every
    property required (see `bot.llm.json_answers.schema_of`). `cache`: system and tools will be sent again;
    `cache_hour`: the service should keep the marked parts for an hour, if it offers that. `closing`: no tool may be
    called any more. The tools are still sent, because without them services drop their cache and models refuse their
    own earlier calls. `sampling` are settings of `bot.config.model_spec.SAMPLING`, for APIs that accept them. `effort`
    is how hard a reasoning model should think, if it knows that level; `reasoning` asks for its thoughts, if it shows
    them only on request. `min_timeout`: wait at least this many seconds, because some models think without sending
    anything; None: as long as the service's deadlines allow.
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
    def images(self) -> tuple[Image, ...]:
        """The images of all turns."""
        return tuple(image for message in self.messages for image in message.images)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do. A work adapts to it.

    `cites`: it reliably puts [n] after what it takes from passage n, and can judge passages. `demo`: it is the small
    bundled model, and its answers say so. `sees`: it accepts images, as far as known; if it refuses them, it is asked
    without.
    """

    tools: bool = True
    json_schema: bool = True
    cites: bool = True
    demo: bool = False
    sees: bool = True


@dataclass(slots=True)
class Meter:
    """What a call has used so far, over all its attempts.

    A provider updates it while it streams: a call that is stopped or cut off yields no Completion, and is billed from
    here. `whole`: the Completion has been received, so the call can no longer be stopped. `again` is awaited before a
    repeated request that may be billed again; it raises UserError if that could exceed a cap.
    """

    usage: Usage = field(default_factory=Usage)
    whole: bool = False
    again: Callable[[], Awaitable[None]] | None = field(default=None, repr=False, compare=False)


class ModelError(UserError):
    """A model call that failed, after any retries. `fault` selects the message that people read.

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
        self.transient = fault != "context"  # the same text is too long again
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
        """Yield the answer's text as it comes, then one Completion with the full text: it is shorter than the pieces
        only if the end showed that the answer began with thoughts.

        `whole` asks for the answer in one piece instead of a stream. `meter` is updated throughout. Closing the
        generator closes the connection. Raises ModelError; "cut" once text has been yielded, with the text so far as
        `partial`. Images that the service refuses are left out, and the Completion is `unseen`.
        """

    async def count(self, model: str, prompt: Prompt) -> int | None:
        """Input tokens as the service counts them; None if it cannot count them."""

    def capabilities(self, model: str) -> Capabilities: ...

    async def close(self) -> None: ...


def without_images(prompt: Prompt) -> Prompt:
    return replace(prompt, messages=tuple(replace(message, images=()) for message in prompt.messages))


def room(words: int, effort: Effort | None) -> int:
    """The token limit of a short task: enough for its words and for thinking before them.

    Thinking counts towards the limit, and most models think by default: a limit for the words alone would leave no
    answer. A model with a lower limit refuses once and is then asked for no more than that: see
    `faults.ParameterRules`.
    """
    return words * TOKENS_PER_WORD + THOUGHTS[effort]
