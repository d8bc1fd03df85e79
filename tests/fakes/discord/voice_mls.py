"""MLS messages (RFC 9420), as the voice gateway writes and reads them for DAVE 1.

https://daveprotocol.com. Ciphersuite 2: P-256, SHA-256. The voice gateway sends proposals as an external sender, and
looks into key packages, commits and welcomes; it knows no secret of a group. Knows no call.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

MLS_1, CIPHERSUITE, BASIC = 1, 2, 1
PUBLIC_MESSAGE = 1
MEMBER, EXTERNAL = 1, 2
PROPOSAL, COMMIT = 2, 3
ADD, REMOVE = 1, 3
BY_VALUE, BY_REFERENCE = 1, 2
FROM_KEY_PACKAGE, FROM_UPDATE, FROM_COMMIT = 1, 2, 3
FOREVER = 2**64 - 1
_SIGNED_WITH = ec.ECDSA(hashes.SHA256())


class Malformed(ValueError):
    """The message is invalid, or the protocol does not allow it."""


def vector(content: bytes) -> bytes:
    """The content with its length in front, in one, two or four bytes."""
    size = len(content)
    if size < 1 << 6:
        return bytes([size]) + content
    if size < 1 << 14:
        return struct.pack(">H", size | 1 << 14) + content
    return struct.pack(">I", size | 2 << 30) + content


def _reference(label: str, content: bytes) -> bytes:
    return hashlib.sha256(vector(f"MLS 1.0 {label} Reference".encode()) + vector(content)).digest()


def _signed(label: str, content: bytes) -> bytes:
    return vector(f"MLS 1.0 {label}".encode()) + vector(content)


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    @property
    def ended(self) -> bool:
        return self.at == len(self.content)

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.content):
            raise Malformed("it ends too soon")
        self.at += size
        return self.content[self.at - size : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self) -> bytes:
        first = self.number(1)
        more = (1 << (first >> 6)) - 1
        if more > 3:
            raise Malformed("no such length")
        return self.take((first & 63) << 8 * more | self.number(more))

    def wanted(self, size: int, value: int, name: str) -> None:
        if (number := self.number(size)) != value:
            raise Malformed(f"{name} {number} instead of {value}")


@dataclass(frozen=True)
class Proposal:
    """`kind` is ADD or REMOVE."""

    kind: int
    user: int
    message: bytes

    @property
    def ref(self) -> bytes:
        return _reference("Proposal", self.message[2:])


class ExternalSender:
    """The voice gateway as an external sender of groups, with its own key."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        point = self._key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        self.package = vector(point) + struct.pack(">H", BASIC) + vector(b"voice gateway")

    def add(self, group: bytes, epoch: int, package: KeyPackage) -> Proposal:
        body = struct.pack(">H", ADD) + package.content
        return Proposal(ADD, package.user, self._proposal(group, epoch, body))

    def remove(self, group: bytes, epoch: int, leaf: int, user: int) -> Proposal:
        return Proposal(REMOVE, user, self._proposal(group, epoch, struct.pack(">HI", REMOVE, leaf)))

    def _proposal(self, group: bytes, epoch: int, body: bytes) -> bytes:
        content = vector(group) + struct.pack(">QBI", epoch, EXTERNAL, 0) + vector(b"")
        signed = struct.pack(">HH", MLS_1, PUBLIC_MESSAGE) + content + bytes([PROPOSAL]) + body
        return signed + vector(self._key.sign(_signed("FramedContentTBS", signed), _SIGNED_WITH))


@dataclass(frozen=True)
class _Leaf:
    user: int
    key: bytes
    source: int


@dataclass(frozen=True)
class KeyPackage:
    user: int
    key: bytes
    """The public key that the member signs with."""
    content: bytes

    @property
    def ref(self) -> bytes:
        return _reference("KeyPackage", self.content)

    @classmethod
    def read(cls, content: bytes) -> KeyPackage:
        """Raises Malformed, also where a signature is wrong."""
        reader = _Reader(content)
        reader.wanted(2, MLS_1, "version")
        reader.wanted(2, CIPHERSUITE, "ciphersuite")
        reader.vector()  # init_key
        leaf = _leaf(reader, FROM_KEY_PACKAGE)
        reader.vector()  # extensions
        signed = content[: reader.at]
        _verify(leaf.key, "KeyPackageTBS", signed, reader.vector())
        if not reader.ended:
            raise Malformed("there is more behind the key package")
        return cls(leaf.user, leaf.key, content)


def _leaf(reader: _Reader, source: int) -> _Leaf:
    begin = reader.at
    reader.vector()  # encryption_key
    key = reader.vector()
    reader.wanted(2, BASIC, "credential type")
    user = int.from_bytes(reader.vector())
    for _ in range(5):  # capabilities
        reader.vector()
    reader.wanted(1, source, "leaf node source")
    if source == FROM_KEY_PACKAGE:
        reader.wanted(8, 0, "not before")
        reader.wanted(8, FOREVER, "not after")
    elif source == FROM_COMMIT:
        reader.vector()  # parent_hash
    reader.vector()  # extensions
    signed, signature = reader.content[begin : reader.at], reader.vector()
    if source == FROM_KEY_PACKAGE:  # a commit's signature depends on the group's context
        _verify(key, "LeafNodeTBS", signed, signature)
    return _Leaf(user, key, source)


def _verify(key: bytes, label: str, signed: bytes, signature: bytes) -> None:
    try:
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
        public.verify(signature, _signed(label, signed), _SIGNED_WITH)
    except (ValueError, InvalidSignature) as fault:
        raise Malformed(f"the signature of {label} is wrong") from fault


@dataclass(frozen=True)
class Commit:
    """A DAVE_MLSCommitWelcome: the commit to announce, and the new members by the references of their key packages."""

    group: bytes
    epoch: int
    leaf: int
    """The committer's."""
    refs: tuple[bytes, ...]
    """The references of the proposals, in the order in which they count."""
    key: bytes | None
    """What the committer signs with from now on."""
    message: bytes
    welcomes: dict[bytes, bytes]

    @classmethod
    def read(cls, content: bytes) -> Commit:
        """Raises Malformed."""
        reader = _Reader(content)
        reader.wanted(2, MLS_1, "version")
        reader.wanted(2, PUBLIC_MESSAGE, "wire format")
        group, epoch = reader.vector(), reader.number(8)
        reader.wanted(1, MEMBER, "sender type")
        leaf = reader.number(4)
        reader.vector()  # authenticated_data
        reader.wanted(1, COMMIT, "content type")
        proposals, refs = _Reader(reader.vector()), []
        while not proposals.ended:
            proposals.wanted(1, BY_REFERENCE, "kind of proposal")
            refs.append(proposals.vector())
        key = None
        if reader.number(1):  # the update of the committer's path
            key = _leaf(reader, FROM_COMMIT).key
            reader.vector()
        for _ in ("signature", "confirmation_tag", "membership_tag"):
            reader.vector()
        message = content[: reader.at]
        return cls(group, epoch, leaf, tuple(refs), key, message, _welcomes(content[reader.at :]))


def _welcomes(content: bytes) -> dict[bytes, bytes]:
    """The welcome of each new member, with only that member's secrets."""
    if not content:
        return {}
    reader = _Reader(content)
    reader.wanted(2, CIPHERSUITE, "ciphersuite")
    suite, secrets, group_info = content[:2], _Reader(reader.vector()), reader.vector()
    if not reader.ended:
        raise Malformed("there is more behind the welcome")
    welcomes: dict[bytes, bytes] = {}
    while not secrets.ended:
        begin = secrets.at
        member = secrets.vector()
        secrets.vector(), secrets.vector()  # kem_output, ciphertext
        welcomes[member] = suite + vector(secrets.content[begin : secrets.at]) + vector(group_info)
    return welcomes
