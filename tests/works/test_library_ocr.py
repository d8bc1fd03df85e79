"""If text recognition is not installed, the bot says how to install it and adds nothing unread."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.readers.test_pdf_made import body, made
from tests.readers.test_pdf_unread import IMAGE
from tests.works.course.desk import opened


@pytest.mark.skipif(find_spec("rapidocr") is not None, reason="tests/extras/test_ocr.py has it")
async def test_without_the_package_the_bot_says_how_to_install_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        path = desk.file("ferry.pdf", made(body(1), IMAGE))
        said = await desk.said("library", "add", paths=[path], ocr=True)
        assert "Text recognition (OCR) is not installed." in said
        assert "`python -m pip install rapidocr`" in said
        assert "ferry" not in await desk.said("library", "list")
        scan = desk.file("scan.pdf", made(IMAGE))
        assert "`/library add` with the option `ocr`" in await desk.said("library", "add", paths=[scan])
