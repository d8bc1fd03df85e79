"""Access rules: each rule, for each verb, platform and way in, at the door and in words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.access import RULED, Rule, decisive, needs
from bot.commands import TABLE
from bot.events import Author, Place, Request, UserError
from bot.platforms import Platform, Standing
from bot.runs.requests import request_from_json, request_to_json
from tests.works.test_settings import ANA, BIA, HERE, Asker, opened

PLAYERS, MUTED = "p1", "m1"
CEM = Author("cem", "Cem")
GROUPS = {"ana": (PLAYERS,), "bia": (), "cem": (MUTED,)}
NAMES = {"players": (PLAYERS, "Players"), "muted": (MUTED, "Muted")}
ROWS = [row for row in TABLE if needs(row, Request("r", HERE, ANA, row.work, row.name, text="x"))]
"""The verbs that a rule can forbid."""
WAYS: dict[str, dict[str, Any]] = {
    "typed": {},
    "mention": {"origin": "a message"},
    "button": {"answers": "run"},
    "menu": {"answers": "run", "origin": "a message"},
    "window": {"window": True},
    "schedule": {"answers": "schedule", "author": Author("ana", "")},
    "silent schedule": {"parent": "schedule", "author": Author("ana", "")},
}


class Lists:
    """A platform's lists of people and groups; `asked` counts requests for a person's groups."""

    def __init__(self) -> None:
        self.asked = 0

    async def standing(self, place: Place, person: str, groups: Collection[str]) -> Standing:
        self.asked += 1
        return Standing(GROUPS.get(person, ()), person == "bia")

    async def find(self, place: Place, kind: str, typed: str) -> tuple[str, str] | None:
        name = typed.removeprefix("@").casefold()
        return NAMES.get(name) if kind == "group" else ((name, name.title()) if name in GROUPS else None)


@pytest.fixture
def lists() -> Lists:
    return Lists()


@pytest.fixture
async def ask(tmp_path: Path, lists: Lists) -> AsyncIterator[Asker]:
    async with opened(tmp_path) as asker:
        recorder: Any = asker._recorder
        for name in ("discord", "slack", "terminal"):
            asker.app.attach(Platform(name, recorder.view, standing=lists.standing, find=lists.find))
        yield asker


async def rule(ask: Asker, verb: str, what: str, place: Place = HERE, author: Author = BIA, **to: Any) -> str:
    events = await ask.perform(ask.request("settings", verb, what, place, author, **to))
    return "".join(getattr(event, "text", "") for event in events)


async def refused(ask: Asker, request: Request) -> str:
    """The key with which the door refuses the request, "" if admitted."""
    row = next(row for row in TABLE if (row.work, row.name) == (request.work, request.verb))
    try:
        await ask.app.access.check(row, request)
    except UserError as error:
        return error.key
    return ""


@pytest.mark.parametrize("platform", ["discord", "slack"])
@pytest.mark.parametrize(
    ("rules", "key"),
    [
        ([("deny", {"person": "ana"})], "access.by_person"),
        ([("deny", {"group": "@Players"})], "access.by_group"),
        ([("deny", {})], "access.by_everyone"),
        ([("deny", {}), ("allow", {"group": "players"})], ""),
        ([("deny", {"group": "players"}), ("allow", {"person": "ana"})], ""),
        ([("allow", {"group": "players"})], ""),
    ],
    ids=["person", "group", "everyone", "group allowed", "person allowed", "nothing denied"],
)
async def test_each_rule_applies_to_each_verb_and_way_in(
    ask: Asker, platform: str, rules: list[tuple[str, dict[str, Any]]], key: str
) -> None:
    place = replace(HERE, platform=platform)
    for what in RULED:
        for verb, to in rules:
            await rule(ask, verb, what, place, BIA, **to)
    tried = 0
    for row in ROWS:
        for change in WAYS.values():
            request = replace(ask.request(row.work, row.name, "x", place, ANA), **change)
            if row.admin:
                continue
            tried += 1
            if key:
                with pytest.raises(UserError) as refusal:
                    await ask.app.perform(request)
                assert refusal.value.key == key, (row.path, change)
            else:
                assert await refused(ask, request) == "", (row.path, change)
            by_admin = replace(request, author=replace(BIA, name=request.author.name))
            assert await refused(ask, by_admin) == "", "admins could lift the rule"
            elsewhere = replace(request, place=replace(place, space="other"))
            assert await refused(ask, elsewhere) == "", "another space has rules of its own"
    assert tried > 300


async def test_verbs_that_no_rule_names_stay_open(ask: Asker) -> None:
    await rule(ask, "deny", "story")
    for row in ROWS:
        request = ask.request(row.work, row.name, "x", HERE, ANA)
        assert (await refused(ask, request) != "") is (row.work == "story"), row.path


async def test_models_and_books_are_forbidden_in_every_work(ask: Asker) -> None:
    await rule(ask, "deny", "models")
    assert await refused(ask, ask.request("rules", "ask", "x", HERE, ANA)) == "access.by_everyone"
    assert await refused(ask, ask.request("story", "act", "x", HERE, ANA)) == "access.by_everyone"
    assert await refused(ask, ask.request("rules", "roll", "1d6", HERE, ANA)) == ""
    assert await refused(ask, ask.request("story", "chapter", "x", HERE, ANA)) == ""
    assert await refused(ask, ask.request("story", "chapter", "x", HERE, ANA, write=True)) != ""
    await rule(ask, "deny", "models", remove=True)
    await rule(ask, "deny", "books")
    assert await refused(ask, ask.request("script", "add", "", HERE, ANA)) == "access.by_everyone"
    assert await refused(ask, ask.request("rules", "ask", "x", HERE, ANA)) == ""


async def test_stop_cards_privacy_and_help_always_work(ask: Asker) -> None:
    for what in RULED:
        await rule(ask, "deny", what)
    for path in ("story stopcard", "privacy delete", "settings set", "help", "stop", "usage"):
        row = next(row for row in TABLE if row.path == path)
        assert await refused(ask, ask.request(row.work, row.name, "", HERE, ANA)) == "", path


async def test_a_denied_group_overrides_an_allowed_one() -> None:
    def of(whose: Any, id: str, allows: bool) -> Rule:
        return Rule("story", whose, id, allows, id)

    denied, allowed = of("group", MUTED, allows=False), of("group", PLAYERS, allows=True)
    assert decisive([allowed, denied], "ana", (PLAYERS, MUTED)) is denied
    assert decisive([denied, allowed], "ana", (PLAYERS,)) is allowed
    assert decisive([denied, allowed], "ana", ()) is None
    assert decisive([of("person", "bia", allows=False)], "ana", ()) is None


async def test_the_platform_is_asked_only_where_rules_need_it(ask: Asker, lists: Lists) -> None:
    request = ask.request("story", "start", "A lighthouse", HERE, ANA)
    await refused(ask, request)
    assert lists.asked == 0
    await rule(ask, "deny", "story", group="muted")
    assert await refused(ask, request) == ""
    assert await refused(ask, replace(request, author=CEM)) == "access.by_group"
    assert lists.asked == 2
    known = replace(request, author=replace(CEM, groups=(PLAYERS,)))
    assert await refused(ask, known) == "", "the roles that came with the request"
    assert lists.asked == 2
    row = next(row for row in TABLE if row.path == "story start")
    checked = await ask.app.access.check(row, request)
    assert checked.author.groups == (PLAYERS,)


async def test_only_admins_set_rules_and_another_spaces_rules_are_not_shown(ask: Asker) -> None:
    with pytest.raises(UserError, match=r"app\.admins"):
        await rule(ask, "deny", "story", author=ANA)
    other = replace(HERE, space="other")
    await rule(ask, "deny", "council", other, group="muted")
    said = await rule(ask, "allow", "story", group="@Players")
    assert "`story` is now allowed for the group `Players`. Everyone else may use it, too." in said
    shown = await ask("access")
    assert "| `story` | the group `Players` | yes |" in shown
    assert "council" not in shown
    assert "| `council` | the group `Muted` | no |" in await ask("access", place=other)
    await rule(ask, "allow", "story", group="players", remove=True)
    assert "There are no rules" in await ask("access")
    assert "There was no rule" in await rule(ask, "deny", "story", remove=True)


@pytest.mark.parametrize(
    ("what", "to", "said"),
    [
        ("poems", {}, "is not possible"),
        ("story", {"person": "ana", "group": "players"}, "not both"),
        ("story", {"person": "nobody"}, "person called “nobody”"),
        ("story", {"group": "nobody"}, "group called “nobody”"),
    ],
)
async def test_an_invalid_rule_is_refused_with_a_sentence(
    ask: Asker, what: str, to: dict[str, Any], said: str
) -> None:
    assert said in await rule(ask, "deny", what, **to)
    assert await ask.app.access.rules("local") == []


async def test_a_choice_from_the_platforms_list_is_stored_by_its_id(ask: Asker) -> None:
    await rule(ask, "deny", "story", group="<&m1|Mu|ted>")
    await rule(ask, "deny", "story", person="<@cem|Cem>")
    assert [(kept.whose, kept.of) for kept in await ask.app.access.rules("local")] == [
        ("person", "cem"),
    ], "the first is no mention, and the name of no group"


def test_groups_are_stored_with_the_request_only_if_rules_need_them() -> None:
    request = Request("r", HERE, replace(ANA, groups=("a", "b")), "rules", "ask")
    assert request_from_json(request_to_json(request)) == request
    unasked = replace(request, author=ANA)
    assert "groups" not in request_to_json(unasked)
    assert request_from_json(request_to_json(unasked)) == unasked
