"""Files attached to a question: texts to answer from, and pictures for the answering model.

Texts apply to that question alone, instead of a shelf, or in addition to the one that it names. Knows no platform and
asks no model. Downloaded files are removed at the run's end (`Incoming`), and nothing else of them is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.events import File, Request, UserError
from bot.incoming import safe_name
from bot.llm.base import IMAGE_BYTES, IMAGE_SIDE, IMAGES_BYTES, Image, MediaType
from bot.readers.kinds import PICTURES, SUFFIXES, suffix_of
from bot.readers.pictures import PictureKind, picture_of
from bot.retrieval.attached import Attached
from bot.retrieval.intake import Item
from bot.retrieval.results import SearchResult
from bot.work import Run

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.retrieval.files import Refused
    from bot.retrieval.intake import Intake
    from bot.retrieval.library import Library

WHOLE_CHARS = 6_000
"""The maximum length of a text that a model gets whole: that of a dozen passages."""

MOST: Final = 5
"""The maximum number of pictures for one question."""

_MEDIA: Final[dict[PictureKind, MediaType]] = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}


@dataclass(frozen=True, slots=True)
class AttachedTexts:
    """The readable texts attached to a question, and the reasons why others are left out."""

    attached: Attached | None = None
    names: tuple[str, ...] = ()
    left_out: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures for the model, their names, and the reasons why others are left out."""

    images: tuple[Image, ...] = ()
    names: tuple[str, ...] = ()
    left_out: tuple[UserError, ...] = ()


class Search:
    """A `Searchable` over a question's files, and over a shelf as well if one was named.

    With `whole`, which is for models, all passages of a short text are found.
    """

    def __init__(self, within: Library, attached: Attached, shelf: Library | None, *, whole: bool) -> None:
        self._within = within
        self._attached = attached
        self._shelf = shelf
        self._whole = whole

    async def search(self, space: str, shelf: str, question: str, *, k: int | None = None) -> SearchResult:
        in_files = await self._within.search(space, "", question, k=k)
        # Looking up its headings would find them on no shelf.
        own_result = replace(in_files, nearest=[], see_also=[])
        if self._whole and (
            whole_text := await self._within.all_passages(space, self._attached, WHOLE_CHARS)
        ):
            scores = {passage.chunk: passage.score for passage in own_result.passages}
            whole_text = [replace(passage, score=scores.get(passage.chunk, 0.0)) for passage in whole_text]
            own_result = replace(own_result, passages=whole_text, confident=True)
        if self._shelf is None:
            return own_result
        on_shelf = await self._shelf.search(space, shelf, question, k=k)
        shelf_passages = on_shelf.passages if on_shelf.confident or not own_result.confident else []
        half = max(1, len(on_shelf.passages) // 2)
        own_passages = (
            own_result.passages[:half] if shelf_passages and not self._whole else own_result.passages
        )
        return replace(
            on_shelf,
            passages=[*own_passages, *shelf_passages[:half]],
            confident=own_result.confident or on_shelf.confident,
            doubtful=own_result.doubtful or on_shelf.doubtful,
            notices=list(dict.fromkeys([*own_result.notices, *on_shelf.notices])),
        )


class QuestionFiles:
    """Downloads a question's files, one step for each file."""

    def __init__(self, incoming: Incoming, intake: Intake, max_bytes: int) -> None:
        self._incoming = incoming
        self._max_bytes = max_bytes
        self._intake = intake

    async def texts(self, run: Run, files: Sequence[File]) -> AttachedTexts:
        """Download the texts. Raises UserError if one cannot be read and no other file is left to answer from.

        Files of unsupported types are only reported as left out, unless the option `file` names one.
        """
        readable, refused = await self._incoming.bring(
            run, (*SUFFIXES, *PICTURES), self._max_bytes, files=files, copied=True
        )
        refused_others = [refusal for refusal in refused if refusal.key not in _UNREADABLE]
        if not readable and (refused_others or run.request.options.get("file")):
            raise UserError((refused_others or refused)[0].key, **(refused_others or refused)[0].values)
        if not readable:
            return AttachedTexts(left_out=tuple(refused))
        items = [Item(file.name, file.path, max_bytes=self._max_bytes) for file in readable]
        attached = Attached(self._intake, items)
        return AttachedTexts(attached, tuple(file.name for file in readable), tuple(refused))

    async def pictures(self, run: Run, files: Sequence[File]) -> Pictures:
        """Download the pictures."""
        brought, refused = await self._incoming.bring(
            run, PICTURES, IMAGE_BYTES, files=files[:MOST], copied=True, prefix="picture"
        )
        left_out = [UserError(_picture_error_key(refusal.key), **refusal.values) for refusal in refused]
        images: list[Image] = []
        names: list[str] = []
        beyond = [safe_name(file.name) for file in files[MOST:]]
        for file in brought:
            try:
                data = await self._incoming.read(file.path, IMAGE_BYTES)
                image = await asyncio.to_thread(_image, data)
            except UserError as error:
                left_out.append(
                    UserError(_picture_error_key(error.key), **{**error.values, "name": file.name})
                )
                continue
            if sum(len(picture.data) for picture in (*images, image)) > IMAGES_BYTES:
                beyond.append(file.name)
                continue
            images.append(image)
            names.append(file.name)
        if beyond:
            mb, names_beyond = IMAGES_BYTES // 1_000_000, ", ".join(beyond)
            left_out.append(UserError("rules.picture_many", limit=MOST, mb=mb, files=names_beyond))
        return Pictures(tuple(images), tuple(names), tuple(left_out))


def is_picture(file: File) -> bool:
    """Whether a file is a picture, by its name."""
    return suffix_of(file.name) in PICTURES


def files_of(request: Request) -> Sequence[File]:
    """The files of a question, with the one that its option names. Raises UserError if that is not attached."""
    path_typed = request.options.get("file")
    if not isinstance(path_typed, str):
        return request.files
    # On other platforms a path would be one of the server's, which does not belong to the person who types.
    if request.place.platform == "terminal":
        path = Path(path_typed).expanduser()
        return (*request.files, File(path.name, str(path), 0))
    if not request.files:
        raise UserError("rules.file_attach")
    return request.files


def picture_names(request: Request) -> tuple[str, ...]:
    """The names of the question's pictures, usable or not. Raises UserError as `files_of` does."""
    return tuple(safe_name(file.name) for file in files_of(request) if is_picture(file))


def _image(data: bytes) -> Image:
    """The picture with the type that its first bytes show; blocking. Raises UserError."""
    picture = picture_of(data)
    if picture is None:
        raise UserError("rules.picture_kind")
    if max(picture.width, picture.height) > IMAGE_SIDE:
        raise UserError("rules.picture_sides", width=picture.width, height=picture.height, limit=IMAGE_SIDE)
    return Image(_MEDIA[picture.kind], data, picture.width, picture.height)


_UNREADABLE: Final = ("library.file_kind", "library.file_old_kind")
_OVER_LIMIT = {"library.file_large": "rules.picture_large", "library.file_over": "rules.picture_over"}


def _picture_error_key(key: str) -> str:
    """The key of an error about a picture: unlike a book's, its limit of size cannot be changed by the operator."""
    return _OVER_LIMIT.get(key, key)
