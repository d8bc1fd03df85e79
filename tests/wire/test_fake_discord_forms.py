"""Forms and choices that the fake Discord refuses, sent without the client library's own checks."""

from __future__ import annotations

from typing import Any

import discord
import pytest
from discord.webhook.async_ import async_context, interaction_response_params

from tests.wire.small_bot import Doing, Table, table


def answering(kind: int, data: dict[str, Any]) -> Doing:
    async def answer(interaction: discord.Interaction) -> None:
        await async_context.get().create_interaction_response(
            interaction.id,
            interaction.token,
            session=interaction._session,
            params=interaction_response_params(kind, data),
        )

    return answer


async def refused(t: Table, kind: int, data: dict[str, Any]) -> str:
    t.bot.doing = answering(kind, data)
    asked = await t.fake.slash(t.ana, t.channel, "hello", wait=0.01)
    await t.fake.until(lambda: t.bot.trouble)
    assert asked.acked is None
    [trouble] = t.bot.trouble
    assert isinstance(trouble, discord.HTTPException)
    assert trouble.code == 50035
    return t.fake.refused[-1].why


def field(**more: Any) -> dict[str, Any]:
    return {"type": 18, "label": "Name", "component": {"type": 4, "style": 1, "custom_id": "n"} | more}


def form(**more: Any) -> dict[str, Any]:
    return {"custom_id": "f", "title": "Form", "components": [field()]} | more


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (form(title="x" * 46), "data.title"),
        (form(title=""), "data.title"),
        (form(custom_id="x" * 101), "data.custom_id"),
        (form(components=[]), "data.components"),
        (form(components=[field(custom_id=str(n)) for n in range(6)]), "data.components"),
        (form(components=[field(), field()]), "COMPONENT_CUSTOM_ID_DUPLICATED"),
        (form(components=[field() | {"label": "x" * 46}]), "data.components.0.label"),
        (form(components=[field() | {"description": "x" * 101}]), "data.components.0.description"),
        (form(components=[field(style=3)]), "data.components.0.component.style"),
        (form(components=[field(placeholder="x" * 101)]), "data.components.0.component.placeholder"),
        (form(components=[field(value="x" * 4001)]), "data.components.0.component.value"),
        (form(components=[field(max_length=4001)]), "data.components.0.component.max_length"),
        (form(components=[field(min_length=5, max_length=4)]), "TEXT_INPUT_LENGTHS"),
        (form(components=[field(type=2)]), "UNION_TYPE_CHOICES"),
        (form(components=[field()["component"]]), "UNION_TYPE_CHOICES"),
        (form(components=[{"type": 1, "components": [field()["component"]]}]), "components.0.label"),
    ],
)
async def test_an_invalid_form_is_not_opened(bad: dict[str, Any], why: str) -> None:
    async with table() as t:
        assert why in await refused(t, 9, bad)


async def test_the_refusal_of_an_invalid_answer_names_the_place() -> None:
    async with table() as t:
        assert "data.content: BASE_TYPE_MAX_LENGTH" in await refused(t, 4, {"content": "x" * 2001})


async def test_choices_do_not_answer_a_command() -> None:
    async with table() as t:
        assert "type: BASE_TYPE_CHOICES" in await refused(t, 8, {"choices": []})


@pytest.mark.parametrize(
    "choices",
    [
        [{"name": str(n), "value": str(n)} for n in range(26)],
        [{"name": "x" * 101, "value": "x"}],
        [{"name": "x", "value": "x" * 101}],
        [{"name": "", "value": "x"}],
        [{"name": "x", "value": None}],
    ],
)
async def test_invalid_choices_are_not_offered(choices: list[dict[str, Any]]) -> None:
    async with table() as t:
        group = t.bot.tree.get_command("rules")
        assert isinstance(group, discord.app_commands.Group)
        ask = group.get_command("ask")
        assert isinstance(ask, discord.app_commands.Command)

        @ask.autocomplete("shelf")
        async def shelves(
            interaction: discord.Interaction, current: str
        ) -> list[discord.app_commands.Choice[str]]:
            try:
                await answering(8, {"choices": choices})(interaction)
            except discord.HTTPException as trouble:
                t.bot.trouble.append(trouble)
            return []

        asking = t.fake.autocomplete(t.ana, t.channel, "rules ask", focused="shelf", shelf="x")
        # The client's own empty answer follows.
        assert await asking == []
        assert t.fake.refused[-1].why.startswith("data.choices")
