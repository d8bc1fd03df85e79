"""Decodes bytes of unknown encoding to text, or raises an error that says why not.

Independent of file formats; `kinds.check` has already looked for formats that could be mistaken for text.
"""

from __future__ import annotations

import codecs
import re

from bot.events import UserError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_PAGE_END = re.compile(r"(?<=\n)\f|\f(?=\n)")
"""A form feed next to a line's end begins a page, not a paragraph."""
_LINE_END = re.compile("[\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
"""Other line ends (Unicode Standard Annex 14, BK and NL; and those of `str.splitlines`)."""
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_C1 = re.compile("[\x80-\x9f]")
_HIGH = re.compile("[\x80-\uffff]+")


_OTHERS = (
    "gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874",
)  # fmt: skip
"""Chinese, Japanese, Korean, Cyrillic, Greek, Hebrew, Arabic, Thai."""
_SAMPLE = 65_536
"""The bytes from which an encoding is guessed."""


def decode(name: str, data: bytes) -> str:
    """The text of `data`, every kind of line end as "\\n", without a byte-order mark.

    Recognizes UTF-8, UTF-16 and UTF-32 by their marks or their shape, then Windows-1252 or Latin-1 if the text looks
    Western, and otherwise asks charset-normalizer. Raises UserError: "library.file_empty", "library.file_binary" or
    "library.file_encoding".
    """
    if not data.strip(b"\x00 \t\r\n"):
        raise UserError("library.file_empty", name=name)
    text = _text(name, data).replace("\r\n", "\n").replace("\r", "\n")
    text = _LINE_END.sub("\n", _PAGE_END.sub("", text))
    if not text.strip("\ufeff \t\n"):
        raise UserError("library.file_empty", name=name)
    return text


def _text(name: str, data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            try:
                text = data[len(mark) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise UserError("library.file_encoding", name=name) from error
            return _no_controls(name, text)
    wide = _utf16_without_mark(data)
    if wide is not None:
        return _no_controls(name, wide)
    try:
        return _no_controls(name, data.decode("utf-8"))
    except UnicodeDecodeError:
        pass
    patched = data.decode("utf-8", errors="replace")
    broken = patched.count("\ufffd")
    intact = sum(1 for character in patched if character > "\x7f") - broken
    if intact >= 10 * broken:  # UTF-8 with a few broken bytes, such as a file cut inside a letter
        return _no_controls(name, patched)
    try:
        single = data.decode("cp1252")
    except UnicodeDecodeError:
        single = data.decode("latin-1")
    # In a Western text accented letters are single or in pairs; long runs are another script's bytes.
    runs = _HIGH.findall(single)
    if (
        _C1.search(single)
        or sum(len(run) for run in runs) > 0.3 * len(single)
        or sum(len(run) > 3 for run in runs) > 0.2 * len(runs)
    ):
        _no_controls(name, single)
        return _of_another_script(name, data)
    return _no_controls(name, single)


def _of_another_script(name: str, data: bytes) -> str:
    """The text in one of the encodings that were common before Unicode, guessed from its beginning."""
    from charset_normalizer import from_bytes  # takes a twentieth of a second, and is seldom needed

    cut = data.rfind(b"\n", 0, _SAMPLE) if len(data) > _SAMPLE else len(data)
    guess = from_bytes(data[: cut if cut > 0 else _SAMPLE], cp_isolation=list(_OTHERS)).best()
    text = data.decode(guess.encoding, "replace") if guess is not None else ""
    if not text or 500 * text.count("\ufffd") > len(text) or _C1.search(text):
        raise UserError("library.file_encoding", name=name)
    return _no_controls(name, text)


def _no_controls(name: str, text: str) -> str:
    if "\x00" in text or len(_CONTROL.findall(text, 0, 65536)) > max(2, min(len(text), 65536) // 500):
        raise UserError("library.file_binary", name=name)
    return text


def _utf16_without_mark(data: bytes) -> str | None:
    sample = data[:4096]
    half = len(sample) // 2
    if half < 4:
        return None
    for zeros, other_bytes, encoding in (
        (sample[1::2], sample[0::2], "utf-16-le"),
        (sample[0::2], sample[1::2], "utf-16-be"),
    ):
        if zeros.count(0) > 0.6 * half and other_bytes.count(0) < 0.05 * half:
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                return None
    return None
