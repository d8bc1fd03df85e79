"""A question's language is recognised: short questions, other scripts, and names, which tell nothing."""

from __future__ import annotations

from bot.retrieval.language import detect_question


def test_languages_are_recognised_from_short_questions() -> None:
    told = {
        "Hoeveel kost een zwaard?": "nl",
        "Wat gebeurt er als ik vastgegrepen ben?": "nl",
        "Jak długo trwa długi odpoczynek?": "pl",
        "Hur länge varar en lång vila?": "sv",
        "Uzun dinlenme ne kadar sürer?": "tr",
        "Сколько стоит меч?": "ru",
        "меч": "ru",
        "长剑多少钱？": "zh",
        "ロングソードはいくらですか？": "ja",
        "장검은 얼마입니까?": "ko",
        "كم تكلفة السيف الطويل؟": "ar",
        "Wie viel kostet ein Schwert?": "de",
    }
    for question, language in told.items():
        for shelf in (["en"], ["pt"], ["en", "pt"]):
            assert detect_question(question, shelf) == language, (question, shelf)


def test_a_question_in_the_shelfs_language_is_recognised() -> None:
    assert detect_question("Сколько стоит длинный меч?", ["ru"]) == "ru"
    assert detect_question("меч", ["ru"]) is None  # too little to say; so it is the books'
    assert detect_question("Hoeveel kost een zwaard?", ["nl", "en"]) == "nl"
    for name in ("Grappled", "Ilmare of Vorn", "Bigby's Hand", "Kobold (Rank 4)", "123", ""):
        assert detect_question(name, ["en"]) in (None, "en"), name


def test_a_short_portuguese_question_to_an_english_book_is_portuguese() -> None:
    for question in (
        "Os elfos precisam dormir?",
        "Quanto pesam mil moedas?",
        "Como funciona a surpresa no combate?",
        "Que distância consigo saltar?",
        "Quantos dados rolo?",
        "O que é CA?",
        "Bola de fogo",
    ):
        assert detect_question(question, ["en"]) == "pt", question
        assert detect_question(question, ["pt"]) in (None, "pt"), question
    for question in ("How do I rest?", "What is AC?", "fall damage", "Do elves sleep?", "Wall of Fire"):
        assert detect_question(question, ["en"]) in (None, "en"), question
