"""The reader of zips unpacks exactly what the directory lists, and never too much."""

from __future__ import annotations

import struct
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.events import UserError
from bot.readers import archive
from bot.readers.archive import Archive
from tests.readers.hostile_zips import LAUGHS, SECRET, lying, many_members, overlapping, packed


def refused(data: bytes, member: str = "", *, xml: bool = False) -> str:
    def unpack() -> None:
        made = Archive("a.docx", data)
        if member:
            _ = made.xml(member) if xml else made.read(member)

    with pytest.raises(UserError) as raised:
        unpack()
    assert raised.value.values["name"] == "a.docx"
    return raised.value.key.removeprefix("library.file_")


@contextmanager
def within(megabytes: float) -> Iterator[None]:
    """Check that the block never uses more memory than this."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1e6
    finally:
        tracemalloc.stop()


def test_members_are_unpacked_unchanged() -> None:
    made = Archive("a.docx", packed({"b": b"two", "a": b"one" * 1000, "empty": b""}))
    assert made.names == ["b", "a", "empty"]
    assert (made.read("a"), made.read("b"), made.read("empty")) == (b"one" * 1000, b"two", b"")
    assert "a" in made
    assert "c" not in made


def test_a_missing_member_counts_as_damage() -> None:
    assert refused(packed({"a": b""}), "../../etc/passwd") == "damaged"


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", packed({"a": b"words" * 100})[:-30], b"PK\x05\x06" * 10]
)
def test_a_file_that_is_no_archive_counts_as_damaged(data: bytes) -> None:
    assert refused(data) == "damaged"


def test_a_flipped_bit_counts_as_damage() -> None:
    data = bytearray(packed({"a": bytes(range(256)) * 10}))
    data[60] ^= 1
    assert refused(bytes(data), "a") == "damaged"


def test_a_password_is_reported_as_such() -> None:
    data = bytearray(packed({"a": b"words"}))
    data[data.find(b"PK\x01\x02") + 8] |= 1
    assert refused(bytes(data)) == "locked"


def test_ratios_members_and_sums_are_checked_before_anything_is_unpacked() -> None:
    zeros, many = packed({"a": b"\x00" * 11_000_000}), many_members(archive.MEMBERS + 1)
    more, over = many_members(200_000), overlapping(500)
    with within(1):
        assert {refused(data) for data in (zeros, many, more, over)} == {"bomb"}


def test_a_small_archive_may_pack_well() -> None:
    assert len(Archive("a.docx", packed({"a": b" " * 9_000_000})).read("a")) == 9_000_000


def test_a_member_with_a_small_size_in_the_directory_is_not_unpacked_beyond_it() -> None:
    data = lying(30_000_000, 50)
    with within(2):
        assert refused(data, "a") == "damaged"


def test_members_that_overlap_or_are_read_again_and_again_count_each_time() -> None:
    made = Archive("a.docx", packed({"a": b" " * 9_500_000}, zipfile.ZIP_STORED))
    for _ in range(archive.UNPACKED_BYTES // 9_500_000):
        made.read("a")
    with pytest.raises(UserError, match="file_bomb"):
        made.read("a")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_no_document_uses_is_refused(method: int) -> None:
    assert refused(packed({"a": b" " * 5_000_000}, method), "a") == "damaged"


def test_an_unknown_compression_method_is_refused() -> None:
    data = bytearray(packed({"a": b"words"}))
    for mark, at in ((b"PK\x01\x02", 10), (b"PK\x03\x04", 8)):
        struct.pack_into("<H", data, data.find(mark) + at, 99)
    assert refused(bytes(data), "a") == "damaged"


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        (LAUGHS + b"<l>&a9;</l>", "bomb"),
        (LAUGHS + b'<l x="&a9;"/>', "bomb"),
        (b"<l>" * 100_000, "bomb"),
        (b"<l>" + b"<a>" * 1_000 + b"</a>" * 1_000 + b"</l>", "bomb"),
        (b"", "damaged"),
        (b"<l>words", "damaged"),
        (b"words", "damaged"),
        (b"<l>\x00</l>", "damaged"),
        (b'<?xml version="1.0" encoding="nonsense"?><l/>', "damaged"),
    ],
)
def test_xml_that_expands_or_is_malformed_is_refused(xml: bytes, said: str) -> None:
    assert refused(packed({"a": xml}), "a", xml=True) == said


def test_xml_entities_are_not_resolved() -> None:
    for outside in (
        b'<!DOCTYPE l [<!ENTITY e SYSTEM "%s">]><l>a&e;b</l>',
        b'<!DOCTYPE l [<!ENTITY % e SYSTEM "%s"> %e;]><l>ab</l>',
        b'<!DOCTYPE l SYSTEM "http://127.0.0.1:9/l.dtd"><l>ab</l>',
        b'<l xmlns:xi="http://www.w3.org/2001/XInclude">a<xi:include href="%s" parse="text"/>b</l>',
    ):
        root = Archive("a.docx", packed({"a": outside.replace(b"%s", SECRET.as_uri().encode())})).xml("a")
        words = "".join(text for text in root.itertext() if not text.startswith("&"))
        assert words == "ab"
