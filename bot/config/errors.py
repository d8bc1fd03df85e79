"""Collects what is wrong with the settings of one config.toml, so that one reading finds all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bot.config.text import line_of, without_credentials
from bot.events import UserError


class SettingError(UserError):
    """What is wrong with one setting, a table or the name of one: `key_path` is its path."""

    def __init__(self, key_path: tuple[str, ...], key: str, **values: object) -> None:
        super().__init__(key, **values)
        self.key_path = key_path


class ConfigError(UserError):
    """The first error of a config.toml. `errors` are all that were found, by their lines."""

    def __init__(self, errors: Sequence[UserError]) -> None:
        super().__init__(errors[0].key, **errors[0].values)
        self.errors = tuple(errors)


class SettingErrors:
    """The errors of a file, each with its line in `text`."""

    def __init__(self, file: Path, text: str) -> None:
        self._file, self._text = file, text
        self._errors: dict[tuple[str, ...], SettingError] = {}
        """The first error of each setting."""

    def check(self) -> None:
        """Raise ConfigError if something is wrong."""
        if self._errors:
            raise ConfigError(sorted(self._errors.values(), key=lambda error: int(str(error.values["line"]))))

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Add the SettingError that is raised inside."""
        try:
            yield
        except SettingError as error:
            self.add(error)

    def add(self, error: SettingError) -> None:
        self._errors.setdefault(error.key_path, error)

    def any_below(self, *key_path: str) -> bool:
        """Whether something at or below `key_path` is wrong, so that what depends on it cannot be checked."""
        return any(wrong[: len(key_path)] == key_path for wrong in self._errors)

    def error(self, key: str, key_path: tuple[str, ...], **values: object) -> SettingError:
        """The error of the setting at `key_path`."""
        texts = {
            name: without_credentials(value) if isinstance(value, str) else value
            for name, value in values.items()
        }
        line = line_of(self._text, key_path)
        return SettingError(key_path, key, file=self._file, line=line, setting=key_path[-1], **texts)
