"""A voice server: an address for the voice gateway, and a UDP socket that receives speech.

https://docs.discord.com/developers/topics/voice-connections. It removes the transport encryption; the listeners
decrypt what members encrypt for each other.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from nacl import bindings as sodium
from nacl.exceptions import CryptoError

from tests.fakes.discord.voice_heard import Frame

if TYPE_CHECKING:
    from tests.fakes.discord.voice_gateway import VoiceSession

DISCOVERY_BYTES = 74
RTP_VERSION, OPUS_TYPE = 2, 0x78
NONCE_BYTES = 4


class VoiceServer(asyncio.DatagramProtocol):
    """`on_frame` gets each frame with its session; `refused` gets the session, if there is one, and the reason."""

    host = "127.0.0.1"

    def __init__(
        self,
        on_frame: Callable[[VoiceSession, Frame], None],
        refused: Callable[[VoiceSession | None, str], None],
    ) -> None:
        self.port = 0
        self.udp_port = 0
        self.sessions: dict[str, VoiceSession] = {}
        # Whether to lose the packet with this sequence number.
        self.loses: Callable[[int], bool] = lambda sequence: False
        # The number of IP discovery requests, or of their responses, to lose.
        self.unanswered = 0
        self._heard, self._refused = on_frame, refused
        self._by_ssrc: dict[int, VoiceSession] = {}
        self._transport: asyncio.DatagramTransport | None = None

    @property
    def endpoint(self) -> str:
        return f"{self.host}:{self.port}"

    async def open(self, port: int) -> None:
        """`port`: where its voice gateway is."""
        self.port = port
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: self, (self.host, 0))
        self._transport = transport
        self.udp_port = transport.get_extra_info("sockname")[1]

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def admit(self, session: VoiceSession) -> int:
        """Admit the packets of this session; returns its SSRC."""
        ssrc = 1 + len(self._by_ssrc)
        self._by_ssrc[ssrc] = session
        return ssrc

    def datagram_received(self, data: bytes, address: tuple[str | Any, int]) -> None:
        if len(data) == DISCOVERY_BYTES and data[:4] == struct.pack(">HH", 1, DISCOVERY_BYTES - 4):
            self._discover(data, address)
            return
        session, why = self._sender(data), ""
        if session is not None and not session.ended:
            if self.loses(int.from_bytes(data[2:4])):
                return
            why = self._take(session, data)
        elif session is None:
            why = "a packet of nobody's: its ssrc is unknown"
        if why:
            self._refused(session, why)

    def _discover(self, data: bytes, address: tuple[str | Any, int]) -> None:
        assert self._transport is not None
        if self.unanswered:
            self.unanswered -= 1
            return
        (ssrc,) = struct.unpack_from(">I", data, 4)
        if ssrc in self._by_ssrc:
            known = str(address[0]).encode().ljust(64, b"\0")
            answer = struct.pack(">HHI", 2, DISCOVERY_BYTES - 4, ssrc) + known + struct.pack(">H", address[1])
            self._transport.sendto(answer, address)

    def _sender(self, data: bytes) -> VoiceSession | None:
        return self._by_ssrc.get(int.from_bytes(data[8:12])) if len(data) >= 12 else None

    def _take(self, session: VoiceSession, data: bytes) -> str:
        """The reason why the packet is refused, or ""."""
        if not session.mode:
            return "a packet before a protocol was selected"
        if not session.speaking:
            return "a packet before SPEAKING"
        if data[0] >> 6 != RTP_VERSION or data[1] != OPUS_TYPE:
            return f"a packet that is no RTP with Opus: {data[:2].hex()}"
        clear = 12 + 4 * (data[0] & 0x0F) + (4 if data[0] & 0x10 else 0)
        header, sealed, nonce = data[:clear], data[clear:-NONCE_BYTES], data[-NONCE_BYTES:]
        if nonce in session.nonces:
            return f"the nonce {nonce.hex()} has been used before"
        session.nonces.add(nonce)
        opened = _opened(session, header, sealed, nonce)
        if opened is None:
            return "a packet that the session's key does not open"
        sequence, timestamp, ssrc = struct.unpack_from(">HII", data, 2)
        self._heard(session, Frame(time.monotonic(), ssrc, sequence, timestamp, opened))
        return ""


def _opened(session: VoiceSession, header: bytes, sealed: bytes, nonce: bytes) -> bytes | None:
    try:
        if session.mode.startswith("aead_aes256_gcm"):
            return AESGCM(session.key).decrypt(nonce.ljust(12, b"\0"), sealed, header)
        return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
            sealed, header, nonce.ljust(24, b"\0"), session.key
        )
    except (InvalidTag, CryptoError, ValueError):
        return None
