"""Pictures that a question brings along: looked at by the model that answers it, if that one sees.

Knows no platform and asks no model. What was fetched is removed at the run's end (`Incoming`): nothing is kept of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot.events import Notice, Request, Run, Sorry
from bot.incoming import safe
from bot.llm.base import IMAGE_BYTES, IMAGE_SIDE, IMAGES_BYTES, Image, MediaType
from bot.readers.kinds import PICTURES
from bot.readers.pictures import PictureKind, picture_of
from bot.retrieval.files import read_whole
from bot.words import Words
from bot.works.rules.question_files import brought_by, is_picture

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.retrieval.files import Candidate

MOST: Final = 5
"""Pictures of one question."""

_MEDIA: Final[dict[PictureKind, MediaType]] = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}
_LARGE: Final = "rules.picture_large"


@dataclass(frozen=True, slots=True)
class Pictures:
    """What a model may look at, by name, and why it may not look at the others."""

    images: tuple[Image, ...] = ()
    names: tuple[str, ...] = ()
    left_out: tuple[Sorry, ...] = ()

    def notices(self, say: Words) -> list[Notice]:
        return [Notice(say(one.key, **one.values)) for one in self.left_out]


def picture_names(request: Request) -> tuple[str, ...]:
    """What the question's pictures are called, whether or not they will do. Raises Sorry as `brought_by`."""
    return tuple(safe(one.name) for one in brought_by(request) if is_picture(one))


class QuestionPictures:
    def __init__(self, incoming: Incoming) -> None:
        self._incoming = incoming

    async def of(self, run: Run) -> Pictures:
        """Fetch what the request brings, a step for each picture."""
        files = [one for one in brought_by(run.request) if is_picture(one)]
        if not files:
            return Pictures()
        brought, refused = await self._incoming.bring(
            run, PICTURES, IMAGE_BYTES, files=files[:MOST], copied=True, called="picture"
        )
        left_out = [Sorry(_said(one.key), **one.values) for one in refused]
        images: list[Image] = []
        names: list[str] = []
        beyond = [safe(one.name) for one in files[MOST:]]
        for one in brought:
            try:
                image = await asyncio.to_thread(_image, one)
            except Sorry as sorry:
                left_out.append(Sorry(_said(sorry.key), **{**sorry.values, "name": one.name}))
                continue
            if sum(len(each.data) for each in (*images, image)) > IMAGES_BYTES:
                beyond.append(one.name)
                continue
            images.append(image)
            names.append(one.name)
        if beyond:
            left_out.append(_too_many(beyond))
        return Pictures(tuple(images), tuple(names), tuple(left_out))


def _image(file: Candidate) -> Image:
    """What the file is by its first bytes, whatever its name says; blocking. Raises Sorry."""
    data = read_whole(file.path, IMAGE_BYTES)
    picture = picture_of(data)
    if picture is None:
        raise Sorry("rules.picture_kind")
    if max(picture.width, picture.height) > IMAGE_SIDE:
        raise Sorry("rules.picture_sides", width=picture.width, height=picture.height, limit=IMAGE_SIDE)
    return Image(_MEDIA[picture.kind], data, picture.width, picture.height)


def _said(key: str) -> str:
    """A book's limit is the operator's to set, and a picture's is not."""
    return _LARGE if key == "library.file_large" else key


def _too_many(names: Sequence[str]) -> Sorry:
    return Sorry("rules.picture_many", limit=MOST, mb=IMAGES_BYTES // 1_000_000, files=", ".join(names))
