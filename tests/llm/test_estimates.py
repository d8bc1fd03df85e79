"""Estimates of how many tokens a text has."""

from __future__ import annotations

import time

from bot.budget import text_tokens

COUNTED = {
    "Hello, my name is GPT-4o. I'm a new type of language model, it's nice to meet you!": 24,
    "Olá, meu nome é GPT-4o. Sou um novo tipo de modelo de linguagem, é um prazer conhecê-lo!": 27,
    "Hola, me llamo GPT-4o. Soy un nuevo tipo de modelo de lenguaje, ¡es un placer conocerte!": 26,
    "Bonjour, je m'appelle GPT-4o. Je suis un nouveau type de modèle de langage, c'est un plaisir de vous "
    "rencontrer!": 28,
    "Hallo, mein Name is GPT-4o. Ich bin ein neues KI-Sprachmodell. Es ist schön, dich kennenzulernen.": 29,
    "Ciao, mi chiamo GPT-4o. Sono un nuovo tipo di modello linguistico, piacere di conoscerti!": 28,
    "Xin chào, tên tôi là GPT-4o. Tôi là một loại mô hình ngôn ngữ mới, rất vui được gặp bạn!": 30,
    "Merhaba, benim adım GPT-4o. Ben yeni bir dil modeli türüyüm, tanıştığımıza memnun oldum!": 30,
    "Привет, меня зовут GPT-4o. Я — новая языковая модель, приятно познакомиться!": 39,
    "你好,我的名字是GPT-4o。我是一种新型的语言模型,很高兴见到你!": 24,
    "こんにちわ、私の名前はGPT−4oです。私は新しいタイプの言語モデルです、初めまして": 26,
    "안녕하세요, 제 이름은 GPT-4o입니다. 저는 새로운 유형의 언어 모델입니다, 만나서 반갑습니다!": 27,
    "नमस्ते, मेरा नाम जीपीटी-4o है। मैं एक नए प्रकार का भाषा मॉडल हूँ। आपसे मिलकर अच्छा लगा!": 31,
    "مرحبًا، اسمي جي بي تي-4o. أنا نوع جديد من نموذج اللغة، سررت بلقائك!": 26,
}
"""One sentence in many languages with its tokens (OpenAI, "Hello GPT-4o", 2024, "Language tokenization")."""


def test_an_estimate_is_near_the_count_in_every_script() -> None:
    for text, tokens in COUNTED.items():
        assert 0.85 * tokens <= text_tokens(text) <= 1.25 * tokens, (text, text_tokens(text), tokens)


def test_an_empty_text_has_no_token_and_any_other_at_least_one() -> None:
    assert (text_tokens(""), text_tokens(" "), text_tokens("a"), text_tokens("\ud800")) == (0, 1, 1, 2)
    assert text_tokens("🎲") >= 2


def test_a_long_text_is_estimated_quickly() -> None:
    begun = time.process_time()
    for piece in ("word ", "語", "a1", "🎲", "é,"):
        text_tokens(piece * (1_000_000 // len(piece)))
    assert time.process_time() - begun < 5
