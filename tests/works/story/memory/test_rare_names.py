"""A person who is named in one of three hundred scenes is found first, in any wording or language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.planted import Rows
from benchmarks.planted_story import planted
from bot.works.story.config import RecallConfig
from bot.works.story.memory.branch import BranchPieces
from bot.works.story.memory.index import Piece, Pieces
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query, first_by_name
from bot.works.story.memory.recall import moments
from tests.fakes.embedder import Letters
from tests.works.story.tale import Tale

if TYPE_CHECKING:
    from bot.retrieval.embedding import Embedder
    from bot.works.story.log.story import Story

SCENES = 300
EVERY = 19
"""A person is named in each scene of this many."""

NAMES = tuple(
    "Oskar Yrsa Balthus Ximena Torvald Calpurnia Jorun Amadeo Wanda Isidro Philippa Dmitri Leocadia Fergus "  # noqa: SIM905
    "Zuleika".split()
)
DEEDS = {
    "en": ("{} lost two fingers when the winch slipped.", "The judge saw {} run from the burning barn."),
    "pt": ("{} perdeu dois dedos quando o guincho escapou.", "O juiz viu {} fugir do celeiro em chamas."),
}
ASKED = {
    "en": (
        "{}",
        "boatman {}",
        "who is {} and what did he do?",
        "quem é {} e o que ele fez?",
        "what did the captain and Mira say to {} on the old bridge near the mill?",
    ),
    "pt": (
        "{}",
        "barqueiro {}",
        "quem é {} e o que ele fez?",
        "who is {} and what did he do?",
        "o que a capitã e o Bento disseram a {} na ponte velha perto do moinho?",
    ),
}
_PORTUGUESE = (
    "Bento consertou a rede {} enquanto a capitã contava as moedas.",
    "A capitã quis saber quanto faltava até a ponte velha, e {} choveu.",
    "Uma carroça passou {}, carregada de lenha, e ninguém disse nada.",
    "Perto do moinho {} alguém tocava um tambor quebrado.",
    "O barqueiro dormia no porto, e {} os cachorros latiam.",
    "Dividiram o pão {} e falaram de casa.",
    "Bento achou uma chave na lama {} e a guardou no bolso.",
)
_WHEN = ("de manhã", "à tarde", "à noite", "outra vez", "sem pressa", "depois da feira", "antes do jantar")
DECOY = {"en": "They quarrelled about the tailor again.", "pt": "Dividiram o pão de manhã e falaram de casa."}


class Misled:
    """An embedder for which every question means the same passage."""

    def __init__(self, embedder: Embedder, passage: str) -> None:
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self.languages, self.likeness = embedder.languages, embedder.likeness
        self.passages = embedder.passages
        self._meant = embedder.query(passage)

    def query(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return self._meant


def scenes(language: str) -> list[str]:
    if language == "en":
        turns = planted()["main"].story.current_turns
        return [turn.scene.text for turn in turns if turn.scene is not None]
    return [
        " ".join(
            _PORTUGUESE[(scene + at) % len(_PORTUGUESE)].format(_WHEN[(scene * at + scene // 7) % len(_WHEN)])
            for at in range(5)
        )
        for scene in range(SCENES)
    ]


def story(language: str) -> tuple[Story, dict[str, str]]:
    """The story, and the turn that names each person."""
    tale, turns = Tale(), dict[str, str]()
    for scene, text in enumerate(scenes(language)):
        number, other = divmod(scene, EVERY)
        names = NAMES[number : number + 1] if other == 7 else []
        deed = "".join(f" {DEEDS[language][number % 2].format(name)}" for name in names)
        first, _, rest = text.partition(". ")
        id = tale.turn("…", f"{first}.{deed} {rest}")
        turns |= dict.fromkeys(names, id)
    return tale.story, turns


@pytest.mark.parametrize("language", ["en", "pt"])
async def test_the_only_scene_with_a_name_comes_first_in_any_wording(language: str) -> None:
    tale, turns = story(language)
    assert (tale.length, len(turns)) == (SCENES, 15)
    rows = Rows(Misled(Letters("misled").load("misled"), DECOY[language]))  # type: ignore[arg-type]
    memory = Memory(rows, rows, RecallConfig(), waits=60.0)  # type: ignore[arg-type]
    assert await memory.learn("space", "story", "main", tale)
    for asked in ASKED[language]:
        missed = []
        for name in NAMES:
            query = Query(asked.format(name.lower() if asked == "{}" else name))
            recalled = await memory.recall("space", "story", "main", tale, query, 60)
            others = [piece for piece in recalled if piece.turn != turns[name]]
            assert recalled[0].reasons[0] == "words"
            assert others[0].score > RecallConfig().least * recalled[0].score, "what the writer may read, too"
            missed += [name] * (recalled[0].turn != turns[name])
        assert missed == [], asked
    shown = await moments(memory, "space", "story", "main", tale, "Oskar", "", RecallConfig())
    assert "Oskar" in shown[0].quote, "what /story recall shows"


def branch_of(texts: Sequence[str], language: str) -> BranchPieces:
    index = Pieces(language)
    numbers = index.add("node", [Piece("", text) for text in texts])
    return BranchPieces(index, numbers, list(numbers))


def test_a_rare_name_is_in_few_scenes_and_always_capitalised() -> None:
    texts = ["We walk on.", "At noon Oskar came.", "Rose sang.", "She rose early.", "It was 1743."]
    branch = branch_of(texts + ["Then Mira, as always."] * 200 + ["Then Una spoke."] * 4, "en")
    for term, places in {"oskar": [1], "1743": [], "rose": [], "mira": [], "una": [], "noon": []}.items():
        assert branch.pieces_naming(term).tolist() == places, term
    small = branch_of(["At noon Oskar came.", "Mira slept.", "Mira woke."], "en")
    assert (small.pieces_naming("oskar").tolist(), small.pieces_naming("mira").tolist()) == ([0], [])
    scores = np.array([0.1, 0.5, 0.9], dtype=np.float32)
    lifted = scores + first_by_name(small, ["oskar", "mira"], scores)
    assert np.argsort(-lifted).tolist() == [0, 2, 1]
    assert not first_by_name(small, ["mira", "nobody"], scores).any()


def test_a_question_in_another_language_is_searched_by_names_numbers_and_cognates() -> None:
    english = branch_of(["Oskar stole the sword in 1743.", "The captain was a sailor with ambition."], "en")
    weights = english.query_terms("quem era o capitão Oskar e por que ele tinha uma espada em 1743?")
    assert weights["oskar"] == weights["1743"] == 1.0
    assert weights["sword"] == 1.0, "of the glossary"
    assert 0.0 < weights["captain"] <= 1.0, "looks alike"
    assert not weights.keys() & {"quem", "era", "o", "e", "que", "por", "ele", "uma", "em"}
    portuguese = branch_of(["Oskar roubou a espada em 1743.", "A capitã tinha ambição."], "pt")
    weights = portuguese.query_terms("who was the captain with ambition, and why did Oskar steal her sword?")
    assert weights["oskar"] == weights["espad"] == 1.0
    assert not weights.keys() & {"who", "was", "the", "with", "and", "why", "did", "her"}
    own = english.query_terms("who was the captain with ambition and a sword, a sword?")
    assert own == {"captain": 1, "ambit": 1, "sword": 2}, "in the story's language: its terms alone"


def test_a_rare_word_counts_fully_if_the_rest_of_the_query_does_not_match() -> None:
    texts = ["A boatman waits.", "They poured wine.", *["A storm, a bell, a door."] * 198]
    branch = branch_of(texts, "en")
    query, nearest = "some oarsman or boatman at a banquet with dancers and music", {1: 0.9, 2: 0.5}
    by = RecallConfig()
    words = branch.scores(query, by, nearest)["words"]
    alone = branch.scores(query, by)["words"]
    assert words[0] >= 1.0
    assert alone[0] > words[0] > by.covered * alone[0]
    storm = branch.scores("a storm at a banquet with dancers and music", by, nearest)["words"]
    assert 0.0 < storm[2] < 0.5, "a word of many scenes counts the less"
