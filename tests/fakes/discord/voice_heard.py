"""A person's client in a call: a member of the group that records what it hears."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import davey
import numpy as np
import opuslib_next

from tests.fakes.discord.voice_group import (
    ANNOUNCE_COMMIT,
    APPEND,
    COMMIT_WELCOME,
    EXTERNAL_SENDER,
    KEY_PACKAGE,
    PREPARE_EPOCH,
    PROPOSALS,
    VERSION,
    WELCOME,
    Group,
)

if TYPE_CHECKING:
    from tests.fakes.discord.channels import Channel
    from tests.fakes.discord.world import User

SILENCE = b"\xf8\xff\xfe"
RATE, SAMPLES, FRAME_SECONDS = 48_000, 960, 0.02
"""Samples a second, those of a frame for each of the two ears, and how long a frame lasts."""
DELAY = 312
"""Samples by which Opus is late (OPUS_GET_LOOKAHEAD, of the applications audio and voip)."""
QUIET = 200.0 * SAMPLES**0.5
"""The norm of a frame in which there is nothing to hear."""
FAINT = 0.3
"""The least loudness of a compared frame, as a share of the median loudness."""
ALIKE = 0.35
"""How much two frames correlate at least that are the same, one of them encoded and decoded."""


@dataclass(frozen=True)
class Frame:
    """The decrypted content of one packet."""

    at: float
    """When it came, on the clock of `time.monotonic`."""
    ssrc: int
    sequence: int
    timestamp: int
    opus: bytes

    @property
    def silent(self) -> bool:
        """Whether it is the silence after speech."""
        return self.opus == SILENCE


class Listener:
    """A person's client. `frames` are all that it has heard since it joined, in order of arrival."""

    def __init__(self, user: User, channel: Channel) -> None:
        self.user = user
        self.channel = channel
        self.user_id = user.id
        self.frames: list[Frame] = []
        # The sequence numbers of frames that it could not decrypt, with the reasons.
        self.undecryptable: list[tuple[int, str]] = []
        self._group: Group
        self._session: davey.DaveSession

    @property
    def ready(self) -> bool:
        """Whether it is in the group, and can decrypt the others' frames."""
        return self._session.ready

    @property
    def code(self) -> str | None:
        """The voice privacy code, which people compare to be sure that nobody else hears them."""
        return self._session.voice_privacy_code

    @property
    def spoken(self) -> list[Frame]:
        """The frames without the silence after speech."""
        return [frame for frame in self.frames if not frame.silent]

    def join(self, group: Group) -> None:
        self._group = group
        self._session = davey.DaveSession(VERSION, self.user_id, group.call)
        group.connect(self)
        group.invite(self)

    def take(self, frame: Frame, sender: int) -> None:
        """Decrypt and store a member's frame."""
        try:
            opus = self._session.decrypt(sender, davey.MediaType.audio, frame.opus)
        except ValueError as fault:
            self.undecryptable.append((frame.sequence, str(fault)))
        else:
            self.frames.append(Frame(frame.at, frame.ssrc, frame.sequence, frame.timestamp, bytes(opus)))

    # Messages of the voice gateway, and the client's reactions

    def hear(self, op: int, data: Any) -> None:
        if op == PREPARE_EPOCH and data["epoch"] == 1:
            self._start_again()

    def hear_binary(self, op: int, payload: bytes) -> None:
        if op == EXTERNAL_SENDER:
            self._session.set_external_sender(payload)
            self._say(KEY_PACKAGE, self._session.get_serialized_key_package())
        elif op == PROPOSALS:
            append = payload[0] == APPEND
            kinds = davey.ProposalsOperationType
            result = self._session.process_proposals(kinds.append if append else kinds.revoke, payload[1:])
            if result is not None:
                self._say(COMMIT_WELCOME, result.commit + (result.welcome or b""))
        elif op in (ANNOUNCE_COMMIT, WELCOME):
            transition = int.from_bytes(payload[:2])
            try:
                if op == WELCOME:
                    self._session.process_welcome(payload[2:])
                else:
                    self._session.process_commit(payload[2:])
            except ValueError:
                self._soon(self._group.invalid, self.user_id)
                self._start_again()
            else:
                self._soon(self._group.ready, self.user_id, transition)

    def _start_again(self) -> None:
        self._session.reinit(VERSION, self.user_id, self._group.call)
        self._say(KEY_PACKAGE, self._session.get_serialized_key_package())

    def _say(self, op: int, payload: bytes) -> None:
        self._soon(self._group.receive, self, op, payload)

    def _soon(self, call: Any, *arguments: Any) -> None:
        """Call it later, as over a network: after the voice gateway has finished its present message."""
        asyncio.get_running_loop().call_soon(call, *arguments)

    def __repr__(self) -> str:
        return f"<Listener {self.user.name} {len(self.frames)} frames>"


def pcm(frames: Sequence[Frame]) -> list[bytes]:
    """Each frame decoded: 48 kHz, 16 bits, stereo, 3,840 bytes. Lost frames are left out."""
    decoder = opuslib_next.Decoder(RATE, 2)
    return [bytes(decoder.decode(frame.opus, SAMPLES)) for frame in frames]


def placed(sent: Sequence[bytes], received: Sequence[bytes]) -> list[int]:
    """The numbers of the sent frames that were heard, in the order of hearing.

    Both as `pcm` gives them, `received` from the beginning of what a listener heard. Nearly silent frames are left
    out; a frame that was not sent gets the number -1. All of `sent` must differ.
    """
    sent_runs, received_runs = _left(sent, 0), _left(received, DELAY)
    likeness = (
        received_runs @ sent_runs.T / np.outer(_loudness(received_runs) + 1.0, _loudness(sent_runs) + 1.0)
    )
    best = likeness.argmax(axis=1)
    loud = _loudness(received_runs) > FAINT * np.median(_loudness(sent_runs))
    return [
        int(at) if row[at] > ALIKE else -1
        for at, row, counts in zip(best, likeness, loud, strict=True)
        if counts
    ]


def distinct(sent: Sequence[bytes]) -> set[int]:
    """The numbers of the frames that `placed` must contain if everything was heard."""
    loudness = _loudness(_left(sent, 0))
    return {int(at) for at in np.flatnonzero(loudness > 2 * FAINT * np.median(loudness))}


def _left(frames: Sequence[bytes], delay: int) -> np.ndarray[Any, Any]:
    """The left channel of each frame."""
    samples = np.frombuffer(b"".join(frames), "<i2").astype(np.float32)[::2][delay:]
    return np.append(samples, np.zeros(-len(samples) % SAMPLES, np.float32)).reshape(-1, SAMPLES)


def _loudness(frames: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    norms: np.ndarray[Any, Any] = np.linalg.norm(frames, axis=1)
    return norms


def likeness(sent: Sequence[bytes], received: Sequence[bytes]) -> list[float]:
    """How much each frame that was sent correlates with what was heard in its place, from -1 to 1; as for `placed`.

    Silence is like silence.
    """
    first, second = (np.frombuffer(b"".join(frames), "<i2").astype(float)[::2] for frames in (sent, received))
    second = np.append(second[DELAY:], np.zeros(max(0, len(first) - len(second) + DELAY)))
    pairs = [(first[at : at + SAMPLES], second[at : at + SAMPLES]) for at in range(0, len(first), SAMPLES)]
    return [_correlation(left, right) for left, right in pairs]


def _correlation(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> float:
    loud = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    if min(loud) < QUIET:
        return 1.0 if max(loud) < 4 * QUIET else 0.0
    return float(first @ second) / (loud[0] * loud[1])
