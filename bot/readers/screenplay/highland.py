"""Highland's .highland into a screenplay: a zip of a TextBundle (textbundle.org), whose text is in Fountain."""

from __future__ import annotations

from pathlib import PurePosixPath

from bot.events import UserError
from bot.readers.archive import Archive
from bot.readers.decode import decode
from bot.readers.document import Document, Progress, screenplay_document
from bot.readers.screenplay.fountain import fountain


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The script in `data`; blocking. Raises UserError as `Archive` and `decode` do, and "cli.no_script"."""
    archive = Archive(name, data)
    text = next((member for member in archive.names if _is_text(member)), None)
    if text is None:
        raise UserError("cli.no_script", name=name)
    screenplay = fountain(decode(name, archive.read(text)))
    progress(1, 1)
    return screenplay_document(name, screenplay)


def _is_text(member: str) -> bool:
    """Whether it is the bundle's text, whatever follows "text." in its name; macOS's own additional files are not."""
    path = PurePosixPath(member)
    return path.stem == "text" and "__MACOSX" not in path.parts
