"""What members of another workspace may do: each verb at the door, by each value of the setting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.commands import TABLE
from bot.events import Author, UserError
from bot.outsiders import asks
from bot.runs.requests import request_from_json, request_to_json
from bot.settings import OUTSIDERS
from bot.verb import Verb
from tests.works.test_settings import ELSEWHERE, HERE, Asker, opened

EVA = Author("eva", "Eva", outside=True)
ALWAYS = {"stop", "story stopcard", "privacy export", "privacy delete", "privacy policy"}
QUESTIONS = {row.path for row in TABLE if asks(row)}


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Asker]:
    async with opened(tmp_path) as asker:
        yield asker


async def refused(ask: Asker, row: Verb, **at: Any) -> str:
    request = ask.request(row.work, row.name, "x", at.get("place", HERE), at.get("author", EVA))
    try:
        await ask.app.dispatcher.allowed(row, request)
    except UserError as error:
        return error.key
    return ""


def test_outsiders_may_ask_and_play_but_not_list_or_change() -> None:
    asking = {
        "rules ask",
        "rules lookup",
        "rules roll",
        "rules see",
        "council ask",
        "course ask",
        "course answer",
    }
    playing = {
        "script ask",
        "story start",
        "story act",
        "story say",
        "story retry",
        "voice say",
        "voice hear",
    }
    assert asking | playing <= QUESTIONS
    lists = {
        "rules books",
        "rules house",
        "council stats",
        "course list",
        "course add",
        "script list",
        "story import",
    }
    assert not (lists | {"story export", "story cast", "story prompt", "script add"}) & QUESTIONS
    works = {row.work for row in TABLE if row.path in QUESTIONS}
    assert works == {"rules", "council", "course", "script", "story", "voice"}, (
        "no library, no settings, no people"
    )


async def test_each_verb_is_checked_at_the_door(ask: Asker) -> None:
    by_default = {row.path: "" if row.path in QUESTIONS | ALWAYS else "outsiders.members" for row in TABLE}

    async def refusals(**at: Any) -> dict[str, str]:
        return {row.path: await refused(ask, row, **at) for row in TABLE}

    assert await refusals() == by_default
    none = dict.fromkeys(by_default, "")
    assert await refusals(author=replace(EVA, outside=False)) == none
    await ask.app.settings.set(HERE, "bia", OUTSIDERS, "nothing", "channel")
    assert await refusals() == {path: "" if path in ALWAYS else "outsiders.nothing" for path in by_default}
    assert await refusals(place=ELSEWHERE) == by_default
    await ask.app.settings.set(HERE, "bia", OUTSIDERS, "everything", "channel")
    assert await refusals() == none


async def test_the_door_refuses_the_library_to_outsiders_and_stores_who_is_one(ask: Asker) -> None:
    for work, verb in (("library", "list"), ("house", "usage"), ("settings", "show"), ("prompts", "list")):
        with pytest.raises(UserError, match=r"outsiders\.members"):
            await ask.app.perform(ask.request(work, verb, "", HERE, EVA))
    request = ask.request("rules", "roll", "1d6", HERE, EVA)
    await ask.perform(request)
    kept = await ask.app.request_of(HERE.space, request.id)
    assert kept is not None
    assert kept.author.outside
    known = replace(request, author=replace(EVA, outside=False))
    assert "outside" not in request_to_json(known), "an earlier release reads it, too"
    assert request_from_json(request_to_json(known)) == known
