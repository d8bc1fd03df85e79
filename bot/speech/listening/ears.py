"""The bot's side of the listening process (`process`): its model, what is missing, and how recordings are transcribed.

The process starts with the first recording, and ends after a while without one, or with the bot. If it is killed or
crashes, the present recording fails; the next one starts another process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot import models
from bot.events import TransientError, UserError
from bot.model_process import ModelProcess, ProcessEnded
from bot.speech.listening.whisper import FILES
from bot.speech.recording import SUFFIXES

if TYPE_CHECKING:
    from bot.config import Config
    from bot.speech.recording import Recording

PACKAGE: Final = "ctranslate2"
BUNDLED: Final = "whisper"
"""The model that `python -m bot models pull` fetches: Whisper base, by its name in `bot.models.MODELS`."""
PATHS: Final = ("/", ".", "~")
"""The possible beginnings of a path to a model's folder; anything else is a name."""
_SIZES: Final = "Systran/faster-whisper-{}"
"""The model hub's repository for a model that is named by its size alone."""
_ON_HUB: Final = ("config.json", "preprocessor_config.json", "model.bin", "tokenizer.json", "vocabulary.*")
_HUB_NAME: Final = re.compile(r"[\w.-]{1,96}(?:/[\w.-]{1,96})?", re.ASCII)
_START_S: Final = 120.0
"""Seconds for loading a model: the base model takes one, the largest some twenty from a slow disk."""
_SILENCE_S: Final = 300.0
"""Seconds between two signs of life: the largest model needs a minute or two for half a minute of sound."""
_IDLE_S: Final = 300.0
_FAULTS: Final = {"absent": "voice.ears_absent", "broken": "voice.ears_broken"}

Tell = Callable[[int], None]
"""Called with the percentage of a recording that was transcribed."""

_log = logging.getLogger(__name__)


class Ears:
    """`[speech] transcriber`: a Whisper model. It transcribes one recording at a time; others wait in order."""

    def __init__(self, config: Config, *, idle_s: float = _IDLE_S, silence_s: float = _SILENCE_S) -> None:
        self._named = config.speech.transcriber
        self._models_dir = config.models_dir
        self._idle_s, self._silence_s = idle_s, silence_s
        self._turn = asyncio.Lock()
        self._child: ModelProcess | None = None
        self._idle_timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        """Whether a model is configured, whether or not it is installed."""
        return bool(self._named)

    @property
    def model(self) -> str:
        """Its name in the ledger."""
        name = "base" if self._named == BUNDLED else Path(self._named).name
        return f"whisper:{name}"

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self._child.alive else None

    def missing(self) -> list[UserError]:
        """Everything that prevents its use here, as far as that is known without a network. Reads the disk."""
        package = None if find_spec(PACKAGE) else TransientError("voice.ears_package", package=PACKAGE)
        return [fault for fault in (package, self._model_missing()) if fault is not None]

    def _model_missing(self) -> UserError | None:
        if self._named == BUNDLED:
            fault = models.fault(self._models_dir, BUNDLED)
            return UserError(_FAULTS[fault], name=BUNDLED) if fault else None
        if not self._named.startswith(PATHS):
            on_hub = _HUB_NAME.fullmatch(self._named) is not None
            return None if on_hub else UserError("voice.ears_name", value=self._named[:60])
        folder = Path(self._named).expanduser()
        lacking = [name for name in FILES if not (folder / name).is_file()]
        return (
            TransientError("voice.ears_folder", folder=folder, lacks=", ".join(lacking)) if lacking else None
        )

    def to_be_fetched(self) -> bool:
        """Whether the first recording must wait for a download."""
        if self._named == BUNDLED or self._named.startswith(PATHS):
            return False
        cache = self._hub_dir / f"models--{self._repository.replace('/', '--')}" / "snapshots"
        return not any(all((snapshot / name).is_file() for name in FILES) for snapshot in cache.glob("*"))

    async def text(
        self, recording: Recording, data: bytes, language: str, tell: Tell = lambda percent: None
    ) -> str:
        """The words of a recording, "" for none. Cancelling stops it at once. Raises UserError ("voice.…")."""
        async with self._turn:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            complete = False
            try:
                text = await self._exchange(recording, data, language, tell)
                complete = True
            except _Refused:
                complete = True
                raise
            finally:
                if complete:
                    self._idle_timer = asyncio.get_running_loop().call_later(self._idle_s, self._let_go)
                else:  # nothing else stops it in the middle of a recording
                    await asyncio.shield(self._end())
            return text

    async def _exchange(self, recording: Recording, data: bytes, language: str, tell: Tell) -> str:
        suffix = Path(recording.name).suffix
        request = {"suffix": suffix, "seconds": recording.seconds, "language": language, "bytes": len(data)}
        used = self.pid is not None
        while True:
            child, started = await self._started(), False
            child.ask(request, data)
            try:
                while True:
                    reply = await child.next_reply(self._silence_s)
                    started = True
                    if "fault" in reply:
                        _log.warning(
                            "%s could not listen: %s %s", self.model, reply["fault"], reply["detail"]
                        )
                        raise _refused(reply["fault"], suffix)
                    if "finish" in reply:
                        return str(reply["text"])
                    tell(reply["done"])
            except ProcessEnded as ended:
                # A process killed while it waited may be noticed only now; then another replaces it.
                if started or not used or ended.fault == "timeout":
                    raise self._ended(ended) from None
                used = False

    async def _started(self) -> ModelProcess:
        if self._child is not None and self._child.alive:
            return self._child
        for missing in await asyncio.to_thread(self.missing):
            raise missing
        folder = await asyncio.to_thread(self._folder)
        command = (sys.executable, "-m", "bot.speech.listening.process", str(folder))
        child = None
        try:
            child = await ModelProcess.start(command, os.environ, 0.0)
            reply = await child.next_reply(_START_S)
        except ProcessEnded as ended:
            raise self._ended(ended) from None
        except asyncio.CancelledError:
            if child is not None:
                await child.end()
            raise
        if "fault" in reply:
            await child.end()
            raise TransientError("voice.ears_load", model=self.model, reason=reply["detail"])
        self._child = child
        return child

    def _folder(self) -> Path:
        """The model's folder, fetched if necessary. Raises UserError."""
        if self._named == BUNDLED:
            return models.path(self._models_dir, BUNDLED)
        if self._named.startswith(PATHS):
            return Path(self._named).expanduser()
        from huggingface_hub import snapshot_download

        try:
            return Path(
                snapshot_download(
                    self._repository,
                    cache_dir=self._hub_dir,
                    allow_patterns=list(_ON_HUB),
                    local_files_only=not self.to_be_fetched(),
                )
            )
        except Exception as fault:  # the hub's own faults, those of two clients, and of the disk
            _log.warning("%s could not be fetched: %s", self.model, fault)
            raise TransientError("voice.ears_hub", name=self._named) from fault

    @property
    def _repository(self) -> str:
        return self._named if "/" in self._named else _SIZES.format(self._named)

    @property
    def _hub_dir(self) -> Path:
        return self._models_dir / "hub"

    def _ended(self, how: ProcessEnded) -> UserError:
        _log.warning("%s broke off: %s", self.model, how)
        return TransientError("voice.ears_ended")

    def _let_go(self) -> None:
        if self._child is not None and not self._turn.locked():
            self._child.kill()
            self._child = None

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.end()

    async def close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        await self._end()


class _Refused(UserError):
    """The process works, but could not transcribe this recording."""


def _refused(fault: str, suffix: str) -> _Refused:
    match fault:
        case "unread":
            return _Refused("voice.recording_unread", suffixes=", ".join(SUFFIXES))
        case "program":
            return _Refused("voice.ears_program", suffix=suffix)
    return _Refused("voice.ears_ended")
