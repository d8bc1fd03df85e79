"""A shelf that gets questions in another language is embedded for it in the background, and then found by
meaning.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bot.events import Place
from bot.resources import Resources
from bot.retrieval.confidence import Likeness
from bot.retrieval.embedding import E5_ENPT, Embedder, unit
from bot.settings import LANGUAGE
from bot.words import words
from bot.works.rules.work import book_table
from storage.settings import Scope
from tests.fakes.embedder import Letters
from tests.retrieval.editions import ONE, PLACES, add, opened, write

ENGLISH, PORTUGUESE = "How many lamps has the mill?", "Onde fica o moinho com as lâmpadas do guardião?"
AXES = np.eye(16, dtype=np.float32)
SOON, STRANGE = "rules.other_language_soon", "rules.other_language"


@pytest.fixture
def letters() -> Letters:
    return Letters(ONE, E5_ENPT, languages={ONE: frozenset({"en"}), E5_ENPT: frozenset({"en", "pt"})})


@pytest.fixture
async def resources(tmp_path: Path, letters: Letters) -> AsyncIterator[Resources]:
    async with opened(tmp_path, letters) as resources:
        yield resources


async def notices(resources: Resources, question: str) -> list[str]:
    return list((await resources.library.search("local", "rules", question, k=5)).notices)


async def table(resources: Resources) -> str:
    return book_table(await resources.library.books("local"), words("en"))


async def test_vectors_for_another_language_are_made_after_the_first_question_in_it(
    tmp_path: Path, resources: Resources, letters: Letters
) -> None:
    await add(resources, write(tmp_path / "north.md", 1, 100))
    assert await resources.missing_vectors.round()
    assert await notices(resources, ENGLISH) == []
    assert await resources.missing_vectors.round()
    assert "another language" not in await table(resources), "nobody has asked in one"

    assert await notices(resources, PORTUGUESE) == [SOON]
    assert "| ready · questions in another language: 0 % |" in await table(resources)
    assert await resources.missing_vectors.round()
    assert "| ready · questions in another language: 100 % |" in await table(resources)
    letters.asked.clear()
    assert await notices(resources, PORTUGUESE) == []
    assert {name for name, _ in letters.asked} == {E5_ENPT}
    assert await notices(resources, "Who keeps the lamps?") == []
    assert {name for name, _ in letters.asked} == {E5_ENPT, ONE}


async def test_the_language_of_a_space_triggers_them_before_the_first_question(
    tmp_path: Path, resources: Resources
) -> None:
    await add(resources, write(tmp_path / "north.md", 1, 100))
    place = Place("terminal", "local", "c", "")
    unlike: list[tuple[Scope, str]] = [("person", "pt-BR"), ("space", "en")]
    for scope, locale in unlike:
        await resources.settings.set(place, "boss", LANGUAGE, locale, scope)
        assert await resources.missing_vectors.round()
        assert "another language" not in await table(resources), scope
    elsewhere = Place("terminal", "elsewhere", "c", "")
    await resources.settings.set(elsewhere, "boss", LANGUAGE, "pt-BR", "space")
    assert await resources.missing_vectors.round()
    assert "another language" not in await table(resources), "another space's setting"
    await resources.settings.set(place, "boss", LANGUAGE, "pt-BR", "channel")
    assert await resources.missing_vectors.round()
    assert "another language: 100 %" in await table(resources)
    assert await notices(resources, PORTUGUESE) == []


async def test_for_other_language_pairs_the_bot_says_which_model_would_work(
    tmp_path: Path, resources: Resources
) -> None:
    await add(resources, write(tmp_path / "north.md", 1))
    assert await notices(resources, "Hoeveel lampen heeft de molen?") == ["rules.other_language_unknown"]
    place = Place("terminal", "local", "c", "")
    await resources.settings.set(place, "boss", LANGUAGE, "nl", "space")
    assert await resources.missing_vectors.round()
    assert "another language" not in await table(resources)


async def test_languages_that_the_first_model_lacks_get_the_model_of_both(resources: Resources) -> None:
    embedding = resources.embedding
    speaking = [await embedding.speaking(languages) for languages in (["en"], ["pt"], ["pt", "en"], ["nl"])]
    assert [model and model.name for model in speaking] == [ONE, E5_ENPT, E5_ENPT, None]
    assert speaking[1] is speaking[2] is await embedding.other(), "one copy in memory"


async def test_a_book_added_later_is_searched_by_words_until_it_has_vectors_too(
    tmp_path: Path, resources: Resources
) -> None:
    await add(resources, write(tmp_path / "north.md", 1))
    await notices(resources, PORTUGUESE)
    assert await resources.missing_vectors.round()
    (north,) = await resources.records.documents.list("local", "rules")
    await add(resources, write(tmp_path / "south.md", 2))
    result = await resources.library.search("local", "rules", PORTUGUESE, k=40)
    assert result.notices == []
    assert [row.id for row in await resources.records.documents.without_other_vectors(E5_ENPT)] == [
        row.id for row in await resources.records.documents.list("local", "rules") if row.id != north.id
    ]
    assert await resources.missing_vectors.round()
    assert await resources.records.documents.without_other_vectors(E5_ENPT) == []


async def test_the_vectors_continue_after_a_stop_and_are_made_again_if_the_folder_is_lost(
    tmp_path: Path, resources: Resources
) -> None:
    (book,) = await add(resources, write(tmp_path / "north.md", 1, 100))
    documents = resources.records.documents
    await notices(resources, PORTUGUESE)
    assert await documents.mark_other_vectors("local", book, 64, E5_ENPT)
    assert not await documents.mark_other_vectors("local", book, 64, "another")
    assert "another language: 64 %" in await table(resources)
    assert await resources.missing_vectors.round()
    assert "another language: 100 %" in await table(resources)
    await documents.forget_vectors()
    assert await notices(resources, PORTUGUESE) == [SOON]


class Crowded:
    """A model of both languages that gives one direction to all questions and to the text on the market."""

    name, dimensions = E5_ENPT, 16
    languages: frozenset[str] | None = frozenset({"en", "pt"})
    likeness: Likeness | None = None

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return unit(np.stack([self._own(text) + ("market" in text) * AXES[10] for text in texts]))

    def query(self, text: str) -> NDArray[np.float32]:
        return unit(self._own("mill" if "moinho" in text else text) + 2 * AXES[10])

    def _own(self, text: str) -> NDArray[np.float32]:
        own: NDArray[np.float32] = AXES[next((at for at, place in enumerate(PLACES) if place in text), 9)]
        return own


async def test_the_common_direction_of_all_questions_is_removed_before_comparing(
    tmp_path: Path, resources: Resources, letters: Letters
) -> None:
    def load(name: str) -> Embedder:
        return Crowded() if name == E5_ENPT else letters.load(name)

    resources.embedding.load = load
    await add(resources, write(tmp_path / "north.md", 1))
    await notices(resources, "Onde fica o moinho?")
    assert await resources.missing_vectors.round()
    for _ in range(2):  # the second time its vector is kept
        found = await resources.library.search("local", "rules", "Onde fica o moinho?", k=2)
        assert "mill" in found.passages[0].text


async def test_without_the_model_the_search_uses_words(tmp_path: Path, resources: Resources) -> None:
    resources.embedding.load = Letters(ONE, languages={ONE: frozenset({"en"})}).load
    await add(resources, write(tmp_path / "north.md", 1))
    assert await notices(resources, PORTUGUESE) == [SOON]
    assert not await resources.missing_vectors.round()
    assert await notices(resources, PORTUGUESE) == [STRANGE]


@pytest.mark.parametrize("languages", [None, frozenset({"en", "pt"})])
async def test_a_model_of_both_languages_needs_no_second_model(
    tmp_path: Path, resources: Resources, languages: frozenset[str] | None
) -> None:
    known = {} if languages is None else {ONE: languages}
    resources.embedding.load = Letters(ONE, E5_ENPT, languages=known).load
    await add(resources, write(tmp_path / "north.md", 1))
    await resources.settings.set(Place("terminal", "local", "c", ""), "boss", LANGUAGE, "pt-BR", "space")
    assert await resources.missing_vectors.round()
    assert await notices(resources, PORTUGUESE) == []
    assert "another language" not in await table(resources)
