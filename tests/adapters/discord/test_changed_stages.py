"""Stages on Discord that change after they are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.adapters.stored_choices import from_json
from bot.adapters.surface import NotEditable, PlaceClosed
from bot.events import Changed, Choice, Choices, Citation, Stage, Text
from tests.adapters.discord.views import PLACE, RUN, SEARCH, Home, Views, custom_ids, read
from tests.adapters.paper import Paper

WHOLE = (*SEARCH, Stage("answer", "Answer"), Text("It is Ana."))
SEARCHED, ANSWERED = "### Searching\nFound 3 passages.", "### Answer\nIt is Ana."


def changed(*contents: Text | Choices | Citation, stage: str = "answer") -> Changed:
    return Changed(RUN, stage, "Answer", contents)


async def test_an_earlier_stage_is_changed_in_its_own_message_and_the_others_stay(
    views: Views,
) -> None:
    await views.run(*WHOLE)
    assert views.paper.texts == [SEARCHED, ANSWERED]
    for _ in range(2):  # a replay changes nothing further
        await views.view().change(changed(Text("It is Bia.")))
        assert views.paper.texts == [SEARCHED, "### Answer\nIt is Bia."]
    assert len(views.paper.messages[1].states) == len({text for _, text in views.paper.messages[1].states})
    await views.view().change(replace(changed(Text("It is Bia.")), answer=True))
    assert f"feedback:{RUN}:up" in custom_ids(views.paper.messages[1]), "it is still the last stage"
    await views.view().change(changed(Text("Nobody was found."), stage="search"))
    assert views.paper.texts == ["### Answer\nNobody was found.", "### Answer\nIt is Bia."]
    assert custom_ids(views.paper.messages[0]) == []


async def test_a_stage_that_gets_shorter_needs_fewer_messages(views: Views) -> None:
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(20))
    await views.run(Stage("answer", "Answer"), Text(long))
    assert len(views.paper.texts) > 1
    await views.view().change(changed(Text("Short.")))
    assert views.paper.texts == ["### Answer\nShort."]


async def test_a_withdrawn_stage_says_so_and_has_no_buttons(views: Views) -> None:
    await views.run(*WHOLE, Choices("And now?", (Choice("Go", "/rules ask go"),)))
    assert f"choice:{RUN}:0" in custom_ids(views.paper.messages[1])
    await views.view().change(changed())
    assert "taken back" in views.paper.texts[1]
    assert "Ana" not in views.paper.texts[1]
    assert f"choice:{RUN}:0" not in custom_ids(views.paper.messages[1])


async def test_changing_a_stage_that_was_never_shown_shows_nothing(views: Views) -> None:
    await views.view().change(changed(Text("It is Bia.")))
    await views.run(*SEARCH)
    await views.view().change(changed(Text("It is Bia.")))
    assert views.paper.texts == [SEARCHED]


async def test_new_choices_get_new_numbers_and_old_ones_keep_their_meaning(
    views: Views,
) -> None:
    def choices(*labels: str) -> Choices:
        return Choices("And now?", tuple(Choice(label, f"/rules ask {label}") for label in labels))

    await views.run(*WHOLE, choices("go", "stay"))
    for _ in range(2):
        await views.view().change(changed(Text("It is Bia."), choices("run")))
    assert f"choice:{RUN}:2" in custom_ids(views.paper.messages[1])
    offered = await views.offers.all(PLACE.space, RUN, "choice")
    assert ["go" in offered[0], "stay" in offered[1], "run" in offered[2], len(offered)] == [True] * 3 + [3]


async def test_a_taken_choice_is_shown_and_cannot_be_pressed(views: Views) -> None:
    choices = Choices("And now?", (Choice("Go", "/rules ask go"), Choice("Stay", "")))
    await views.run(*WHOLE, choices)
    for _ in range(2):
        await views.view().change(changed(Text("It is Ana."), replace(choices, taken=0)))
    shown = [
        (one.label, one.disabled) for row in views.paper.messages[1].page.rows for one in row if one.label
    ]
    assert shown == [("✓ Go", True), ("Stay", True)]
    kept = [from_json(offer) for offer in await views.offers.all(PLACE.space, RUN, "choice")]
    assert [(offer.label, offer.over) for offer in kept] == [("Go", True), ("Stay", True)]


@pytest.mark.parametrize("fault", [NotEditable(), PlaceClosed(50013)])
async def test_a_message_that_cannot_be_edited_is_posted_again_and_says_so(
    views: Views, fault: Exception
) -> None:
    await views.run(*WHOLE)
    elsewhere = Paper(read, "elsewhere")
    views.paper.faults.append(fault)
    await views.view(Home(views.paper, elsewhere)).change(changed(Text("It is Bia.")))
    (reposted,) = [text for text in (*views.paper.texts, *elsewhere.texts) if "Bia" in text]
    assert "can no longer be edited" in reposted


@pytest.mark.parametrize("fault", [NotEditable(), PlaceClosed(50013)])
async def test_a_change_that_matters_only_in_place_is_not_posted_again(
    views: Views, fault: Exception
) -> None:
    await views.run(*WHOLE)
    elsewhere = Paper(read, "elsewhere")
    views.paper.faults.append(fault)
    long = Text("\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(20)))
    await views.view(Home(views.paper, elsewhere)).change(replace(changed(long), in_place=True))
    assert views.paper.texts == [SEARCHED, ANSWERED]
    assert elsewhere.texts == []
    await views.view().change(replace(changed(Text("It is Bia.")), in_place=True))
    assert views.paper.texts == [SEARCHED, "### Answer\nIt is Bia."]


async def test_a_deleted_message_stays_deleted(views: Views) -> None:
    await views.run(*WHOLE)
    views.paper.messages[1].deleted = True
    await views.view().change(changed(Text("It is Bia.")))
    assert views.paper.texts == [SEARCHED]


async def test_the_last_stage_of_a_shared_answer_stays_the_last(views: Views) -> None:
    await views.run(*WHOLE)
    await views.outbox.claim(PLACE.space, RUN, "share:1")
    await views.outbox.mark_sent(PLACE.space, RUN, "share:1", "1718.9", "shared")
    await views.view().change(replace(changed(Text("It is Bia.")), answer=True))
    assert f"feedback:{RUN}:up" in custom_ids(views.paper.messages[1])
