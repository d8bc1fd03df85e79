"""A person's client in a call: it is a member of the group, and keeps what it hears."""

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
ALIKE = 0.35
"""How much two frames correlate at least that are the same, one of them encoded and decoded."""


@dataclass(frozen=True)
class Frame:
    """What came in one packet, without either encryption."""

    at: float
    """When it came, on the clock of `time.monotonic`."""
    ssrc: int
    sequence: int
    timestamp: int
    opus: bytes

    @property
    def silent(self) -> bool:
        """Whether it is the silence that ends what was said."""
        return self.opus == SILENCE


class Listener:
    """`frames` are all that it has heard since it came, in the order in which they came."""

    def __init__(self, user: User, channel: Channel) -> None:
        self.user = user
        self.channel = channel
        self.user_id = user.id
        self.frames: list[Frame] = []
        # What it could not decrypt: sequence numbers, and why.
        self.undecryptable: list[tuple[int, str]] = []
        self._group: Group
        self._session: davey.DaveSession

    @property
    def ready(self) -> bool:
        """Whether it is in the group: it understands the others."""
        return self._session.ready

    @property
    def code(self) -> str | None:
        """What people compare, to be sure that nobody else hears them: the voice privacy code."""
        return self._session.voice_privacy_code

    @property
    def spoken(self) -> list[Frame]:
        """The frames without the silence that ends what is said."""
        return [frame for frame in self.frames if not frame.silent]

    def join(self, group: Group) -> None:
        self._group = group
        self._session = davey.DaveSession(VERSION, self.user_id, group.call)
        group.connect(self)
        group.invite(self)

    def take(self, frame: Frame, sender: int) -> None:
        """Decrypt what came from a member, and keep it."""
        try:
            opus = self._session.decrypt(sender, davey.MediaType.audio, frame.opus)
        except ValueError as fault:
            self.undecryptable.append((frame.sequence, str(fault)))
        else:
            self.frames.append(Frame(frame.at, frame.ssrc, frame.sequence, frame.timestamp, bytes(opus)))

    # What the voice gateway says, and what the client does then.

    def hear(self, op: int, data: Any) -> None:
        if op == PREPARE_EPOCH and data["epoch"] == 1:
            self._begin_anew()

    def hear_binary(self, op: int, payload: bytes) -> None:
        if op == EXTERNAL_SENDER:
            self._session.set_external_sender(payload)
            self._say(KEY_PACKAGE, self._session.get_serialized_key_package())
        elif op == PROPOSALS:
            append = payload[0] == APPEND
            kinds = davey.ProposalsOperationType
            made = self._session.process_proposals(kinds.append if append else kinds.revoke, payload[1:])
            if made is not None:
                self._say(COMMIT_WELCOME, made.commit + (made.welcome or b""))
        elif op in (ANNOUNCE_COMMIT, WELCOME):
            transition = int.from_bytes(payload[:2])
            try:
                if op == WELCOME:
                    self._session.process_welcome(payload[2:])
                else:
                    self._session.process_commit(payload[2:])
            except ValueError:
                self._soon(self._group.invalid, self.user_id)
                self._begin_anew()
            else:
                self._soon(self._group.ready, self.user_id, transition)

    def _begin_anew(self) -> None:
        self._session.reinit(VERSION, self.user_id, self._group.call)
        self._say(KEY_PACKAGE, self._session.get_serialized_key_package())

    def _say(self, op: int, payload: bytes) -> None:
        self._soon(self._group.receive, self, op, payload)

    def _soon(self, what: Any, *arguments: Any) -> None:
        """As over a wire: when the voice gateway has said what it is saying."""
        asyncio.get_running_loop().call_soon(what, *arguments)

    def __repr__(self) -> str:
        return f"<Listener {self.user.name} {len(self.frames)} frames>"


def pcm(frames: Sequence[Frame]) -> list[bytes]:
    """Each frame decoded, one after the other: 48 kHz, 16 bits, two ears, 3,840 bytes."""
    decoder = opuslib_next.Decoder(RATE, 2)
    return [bytes(decoder.decode(frame.opus, SAMPLES)) for frame in frames]


def placed(sent: Sequence[bytes], heard: Sequence[bytes]) -> list[int]:
    """Which of the frames that were sent were heard, by their numbers, in the order in which they were heard.

    Both as `pcm` gives them, `heard` from the beginning of what a listener heard. Frames in which there is nothing to
    hear are left out; of one that is none of those that were sent the number is -1. No two of `sent` may be alike.
    """
    there, came = _loud(sent, 0), _loud(heard, DELAY)
    if not there or not came:
        return [-1 for _ in came]
    likeness = np.stack([frame for _, frame in came]) @ np.stack([frame for _, frame in there]).T
    best = likeness.argmax(axis=1)
    return [there[at][0] if row[at] > ALIKE else -1 for at, row in zip(best, likeness, strict=True)]


def _loud(frames: Sequence[bytes], delay: int) -> list[tuple[int, np.ndarray[Any, Any]]]:
    """The numbers of the frames in which there is something to hear, and the left ear of each, all equally loud."""
    left = np.frombuffer(b"".join(frames), "<i2").astype(np.float32)[::2][delay:]
    left = np.append(left, np.zeros(-len(left) % SAMPLES, np.float32)).reshape(-1, SAMPLES)
    norms = np.linalg.norm(left, axis=1)
    return [(n, left[n] / norms[n]) for n in range(len(left)) if norms[n] > QUIET]


def likeness(sent: Sequence[bytes], heard: Sequence[bytes]) -> list[float]:
    """How much each frame that was sent correlates with what was heard in its place, from -1 to 1; as for `placed`.

    Silence is like silence.
    """
    one, other = (np.frombuffer(b"".join(frames), "<i2").astype(float)[::2] for frames in (sent, heard))
    other = np.append(other[DELAY:], np.zeros(max(0, len(one) - len(other) + DELAY)))
    pairs = [(one[at : at + SAMPLES], other[at : at + SAMPLES]) for at in range(0, len(one), SAMPLES)]
    return [_correlation(left, right) for left, right in pairs]


def _correlation(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    loud = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    if min(loud) < QUIET:
        return 1.0 if max(loud) < 4 * QUIET else 0.0
    return float(one @ other) / (loud[0] * loud[1])
