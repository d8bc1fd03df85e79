"""Every common text encoding is read; bytes that are no text are refused."""

from __future__ import annotations

import pytest

from bot.events import UserError
from bot.readers import read
from bot.readers.screenplay import fountain as screenplay

WORDS = "Ação é a reação: “olá”, coração.\nSegunda linha.\n"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_an_encoding_is_recognised(encoding: str) -> None:
    assert read("a.txt", WORDS.encode(encoding)).text == WORDS


def test_encodings_of_other_scripts_are_recognised() -> None:
    said = {
        "Каждый вечер фонарщик проходит по набережной и зажигает фонари один за другим.": (
            "cp1251",
            "koi8_r",
        ),
        "每天傍晚，点灯人沿着码头走过，一盏一盏地点亮灯笼。没有人知道他多大年纪。": ("gbk", "gb18030"),
        "每天傍晚，點燈人沿著碼頭走過，一盞一盞地點亮燈籠。沒有人知道他多大年紀。": ("big5",),
        "毎日夕方になると、点灯夫は桟橋を歩き、一つ一つ灯りをともしていく。": ("cp932", "euc_jp"),
        "매일 저녁 등불지기는 부두를 따라 걸으며 등불을 하나씩 켭니다.": ("cp949",),
        "Κάθε βράδυ ο φανοκόρος περπατά στην προκυμαία και ανάβει τα φανάρια ένα ένα.": ("cp1253",),
    }
    for words, encodings in said.items():
        for encoding in encodings:
            for times in (1, 1_500):  # the longer one is guessed by its beginning
                text = f"{words}\n" * times
                assert read("a.txt", text.encode(encoding)).text == text, encoding


def test_all_newlines_become_one_kind() -> None:
    assert read("a.txt", b"one\r\ntwo\rthree\n").text == "one\ntwo\nthree\n"


@pytest.mark.parametrize("end", ["\r", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.fountain"])
def test_every_kind_of_line_end_separates_lines(name: str, end: str) -> None:
    rows = ["# Storm", "", "INT. TOWER - NIGHT", "", "The lamp burns.", "", "MARA", "Hold on!", ""]
    read_as = screenplay.read if name.endswith(".fountain") else None
    for encoding in ("utf-8", "utf-16"):
        data = end.join(rows).encode(encoding)
        document = read_as(name, data, lambda *_: None) if read_as else read(name, data)
        assert "INT. TOWER - NIGHT\n" in document.text
        assert "Hold on!" in document.text
        assert not (set("\r\v\f\x85\u2028\u2029") & set(document.text))


def test_a_form_feed_does_not_split_a_paragraph() -> None:
    assert read("a.txt", b"The lamp\n\fburns on.\f\nIt is late.").text == "The lamp\nburns on.\nIt is late."


def test_one_damaged_byte_does_not_turn_utf_8_into_windows_1252() -> None:
    assert "coração" in read("a.txt", (WORDS * 9).encode() + b"\xc3").text


@pytest.mark.parametrize(
    ("name", "data", "key"),
    [
        ("a.md", b"", "library.file_empty"),
        ("a.md", b" \n\t\n", "library.file_empty"),
        ("a.md", b"\xef\xbb\xbf", "library.file_empty"),
        ("a.txt", bytes(range(256)) * 4, "library.file_binary"),
        ("a.txt", b"%PDF-1.7\n...", "library.file_wrong_kind"),
        (
            "a.txt",
            b"".join(bytes([n, 255 - n % 90, 129, 141]) for n in range(128, 256)) * 9,
            "library.file_encoding",
        ),
        ("a.exe", b"hello", "library.file_kind"),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused(name: str, data: bytes, key: str) -> None:
    with pytest.raises(UserError) as refused:
        read(name, data)
    assert refused.value.key == key
    assert refused.value.values["name"] == name
