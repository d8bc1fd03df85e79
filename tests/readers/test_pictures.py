"""The kind and size of a picture are read from its file; other files are recognised as none."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bot.readers.pictures import picture_of
from tests.fakes.images import png


def written(form: str, width: int, height: int, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(out, form, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("png", {}),
        ("jpeg", {}),
        ("jpeg", {"progressive": True}),
        ("jpeg", {"exif": b"Exif\x00\x00" + b"\xff\xc0" * 999, "comment": b"\xff\xc0 no frame"}),
        ("gif", {}),
        ("webp", {}),
        ("webp", {"lossless": True}),
        ("webp", {"exif": b"Exif\x00\x00more"}),
    ],
)
def test_a_picture_is_measured_without_being_decoded(form: str, options: dict[str, Any]) -> None:
    data = written(form, 321, 123, **options)
    assert picture_of(data) == (form, 321, 123)
    assert picture_of(data[:8]) is None


def test_other_files_are_not_taken_for_pictures() -> None:
    assert picture_of(png(8_001, 1)) == ("png", 8_001, 1)
    for data in (
        b"",
        b"PNG",
        b"# A text",
        b"%PDF-1.7",
        b"\x89PNG\r\n\x1a\n",
        written("bmp", 2, 2),
        written("tiff", 2, 2),
    ):
        assert picture_of(data) is None
    assert picture_of(png(0, 1)) is None


@given(
    st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF1234WEBPVP8 "]), st.binary()
)
def test_any_bytes_are_checked_quickly(begun: bytes, rest: bytes) -> None:
    picture = picture_of(begun + rest)
    assert picture is None or min(picture.width, picture.height) > 0
