"""A story's settings are shown in Portuguese to a person who reads Portuguese."""

from __future__ import annotations

from pathlib import Path

from tests.works.story.writer import Writer, playing, texts

PORTUGUESE = "/settings set language pt-BR --for me"


async def test_settings_are_shown_in_the_readers_language(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(PORTUGUESE)
        await talk.say(
            "/story start Uma porta --narração terceira --tamanho longa --modo em roda --classificação jovem"
        )
        assert texts(await talk.say("/story mode")) == "Modo dos turnos: em roda."
        assert "não existe. Os modos são: livre, em roda, voto, mestre." in str(
            await talk.say("/story mode reunião")
        )
        changed = texts(await talk.say("/story prose Enxuto --tempo passado"))
        assert changed == "A partir da próxima cena: passado, enxuto."
        assert "`free` (Livre)." in str(await talk.say("/story sheet --template xyz"))
        await talk.say("/story sheet --template livre")
        shown = texts(await talk.say("/story show")).split("\n\n")
        assert {
            "**Ponto de vista:** terceira",
            "**Tempo verbal:** passado",
            "**Tamanho das cenas:** longa",
            "**Estilo de prosa:** enxuto",
            "**Fichas:** Livre",
            "**Turnos:** em roda",
            "**Classificação:** jovem",
        } <= set("\n".join(shown).splitlines())


async def test_presets_are_listed_by_titles_that_can_be_typed(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say("/story start A door --cast 'Mira, Bo'")
        assert "\n- `old friends`: They have" in texts(await talk.say("/story relation"))
        await talk.say(PORTUGUESE)
        styles = texts(await talk.say("/story prose"))
        assert styles.startswith("Estilos de prosa:\n- `equilibrado`: Ação,")
        assert "`conto de fadas`" in styles
        assert "exuberante, pulp, conto de fadas." in str(await talk.say("/story prose conto de fada"))
        assert "próxima cena: conto de fadas." in texts(await talk.say("/story prose conto de fadas"))
        assert "`velhos amigos`" in texts(await talk.say("/story relation"))
        assert "rivais, velhos amigos," in str(await talk.say("/story relation Mira, Bo: amigos"))
        assert "se tratam assim" in texts(await talk.say("/story relation Mira, Bo: velhos amigos"))


async def test_session_zero_sums_up_in_the_readers_language(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(PORTUGUESE)
        await talk.say("/story start Uma porta --juntos --modo voto --tom leve")
        for step in ("rating", "lines", "veils", "cast"):
            await talk.say(f"/story zero --step {step} --skip")
        summed = texts(await talk.say("/story zero --step sheets -- livre"))
        assert "**Turnos:** voto" in summed
        assert "**Fichas:** Livre" in summed
