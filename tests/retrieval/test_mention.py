"""A question for a name is answered if a passage is about it, and refused if the words only occur."""

from __future__ import annotations

from pathlib import Path

from bot.readers import read
from bot.retrieval.chunk import chunks
from bot.retrieval.contents import ShelvedDocument
from bot.retrieval.lexical import Segment
from bot.retrieval.mention import mentioned, reread
from bot.retrieval.question import name_asked
from bot.retrieval.ranking import Options, Ranked
from bot.retrieval.shelf import Shelf

EXAMPLES = Path(__file__).parents[2] / "examples"


class Book:
    """One file, by default an example, on its own shelf, with the texts of its chunks."""

    def __init__(self, name: str, text: str = "") -> None:
        document = read(name, text.encode() or (EXAMPLES / name).read_bytes())
        made = chunks(document, child_chars=800, parent_chars=2000)
        sections = [(section.title, section.path) for section in document.sections]
        places = [chunk.section for chunk in made]
        segment = Segment.build(made, document.language)
        self.shelf = Shelf(
            [ShelvedDocument(name, document.title, document.language, sections, places, segment)]
        )
        self._passages = {
            f"{name}:{chunk.ordinal}": (chunk.breadcrumb, chunk.text, document.language) for chunk in made
        }

    def ask(self, question: str) -> Ranked:
        ranked = self.shelf.search(question)
        return reread(ranked, [self._passages[id] for id in ranked.weighed], Options())


def test_what_is_x_needs_a_passage_about_x() -> None:
    fate = Book("fate-acelerado.md")
    for of in ("Um Arco", "um dragão", "uma espada", "um mago", "magia", "um livro", "um mundo"):
        assert not fate.ask(f"O que é {of}?").confident, of
    for of in (
        "é um aspecto",
        "são pontos de destino",
        "são façanhas",
        "é sucesso com estilo",
        "é uma disputa",
    ):
        assert fate.ask(f"O que {of}?").confident, of


def test_a_phrase_that_is_no_heading_is_found_if_its_words_are_in_sequence() -> None:
    fate, lanterns = Book("fate-acelerado.md"), Book("lanterns.md")
    for name in ("Sair de cena", "conflito físico"):
        assert fate.ask(name).confident, name
    for name in ("hand bell", "sleeping child", "plain task", "dark country"):
        assert lanterns.ask(name).confident, name
    assert lanterns.ask("hand bell (heirloom)").evidence.phrase, "without the parentheses"
    for name in ("country bell", "plain child", "rope country", "hand task"):
        assert not lanterns.ask(name).confident, f"{name}: its words stand there, the phrase does not"


def test_a_heading_of_many_sections_answers() -> None:
    trades = ("Mason", "Ferryman", "Cooper", "Smith", "Weaver", "Baker")
    sections = (
        f"## {trade}\n\n### Tools\n\nA {trade.lower()} begins with a chest of these.\n" for trade in trades
    )
    book = Book("trades.md", "# Trades\n\n" + "\n".join(sections))
    assert book.ask("Tools").confident
    assert book.ask("What are tools?").confident
    assert not book.ask("Horses").confident


def test_how_a_passage_mentions_a_name() -> None:
    spells = ("Magic › Spells", "Druids know *speak with animals*, wall of fire, and walls of thorns.", "en")
    prose = (
        "Magic",
        "In the west stands a wall. Fire burns it down. The guild asks for wall of fire once.",
        "en",
    )
    monsters = ("Dangers", "- Goblin\n- Bugbear\nA troll hates a goblin's fire.", "en")
    assert mentioned("Wall of Fire", [spells]) == (True, True), "an item of a list"
    assert mentioned("Wall of Fire", [prose]) == (True, False)
    assert mentioned("fire wall", [prose]) == (False, False)
    assert mentioned("Wall of Thorns (druid)", [spells])[0], "inflected, and without the parentheses"
    assert mentioned("Goblins", [monsters]) == (False, True)
    assert mentioned("Troll", [monsters]) == (False, False), "a sentence may begin with any word"
    union = (
        "Unions",
        "The Union of Free Millers (UFM) meets at the weir. Odile (the mason) left it for COW.",
        "en",
    )
    assert mentioned("UFM", [union]) == (True, True), "a short form behind its long one"
    assert mentioned("COW", [union]) == (False, False)
    mills = (
        "The mill needs a CPU (central processing unit) and ALUs (arithmetic logic units), "
        "bought from International Business Machines, or IBM. ABC and XYZ."
    )
    for name in ("CPU", "ALUs", "IBM"):
        assert mentioned(name, [("Mills", mills, "en")]) == (True, True), (
            "a name of initials beside its words"
        )
    for name in ("ABC", "XYZ"):
        assert mentioned(name, [("Mills", mills, "en")]) == (False, False), name
    crea = ("", "Registro no sistema do CREA (Conselho Regional de Engenharia e Agronomia) do estado.", "pt")
    assert mentioned("CREA", [crea]) == (True, True)
    assert mentioned("The Spells", [spells]) == (True, True), "a heading of the passage"
    assert mentioned("Mágias", [("Magia", "Fogo.", "pt")]) == (True, True), "inflected, accents aside"
    assert mentioned("the of", [spells]) == (False, False)
    assert mentioned("Wall of Fire", []) == (False, False)


def test_a_question_asks_for_a_name_if_it_is_only_that() -> None:
    asked = {
        "What is Wall of Fire?": "Wall of Fire",
        "what's a ranger?": "ranger",
        "What is a wall of fire?": "wall of fire",
        "Who is Strahd?": "Strahd",
        "O Que É Um Arco?": "Arco",
        "O que são pontos de destino?": "pontos de destino",
        "What is the weight of a dagger?": "",
        "What is the range of fireball?": "",
        "O que é o peso da adaga?": "",
        "O que é a caixa de estresse?": "caixa de estresse",
        "What is the difference between rage and fury?": "",
        "O que é indispensável para pesquisas laboratoriais?": "",
        "What is needed for a ritual?": "",
        "How does rage work?": "",
        "What is rage? How long is it?": "",
        "What is": "",
    }
    assert {question: name_asked(question) for question in asked} == asked
