"""Speakers under their own names on Slack: streamed, posted, edited, and in bold without the scope."""

from __future__ import annotations

from typing import Any

import pytest

from bot.adapters.surface import OWN
from bot.events import Changed, Speaker, Stage, Text
from tests.adapters.slack.desk import Desk
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCOPE = "chat:write.customize"
MIRA = Speaker("Mira <!channel>", "https://example.org/mira.png", own=True)


def reply(text: str, speaker: Speaker = MIRA) -> tuple[Any, ...]:
    return Stage("scene", "Scene 2", speaker), Text(text)


def told(root: Message, text: str) -> list[Message]:
    return [message for message in root.thread if not message.deleted and text in message.shown]


async def test_a_stage_is_posted_and_edited_under_its_speakers_name(bench: Desk) -> None:
    bench.team.scopes.add(SCOPE)
    root = await bench.root()
    request = bench.request(root)
    await bench.run(request, *reply("“Put it down.”"), Stage("more", "More"), Text("And so on."))
    (spoken,) = told(root, "“Put it down.”")
    assert spoken.username.startswith("Mira")
    assert spoken.icon == MIRA.picture
    assert "**Mira" not in spoken.shown
    assert "Mira" not in spoken.text
    assert [message.username for message in told(root, "And so on.")] == [""]
    row = await bench.outbox.get(bench.team.id, request.id, "scene")
    assert row is not None
    assert row.message_id == OWN + spoken.ts
    changed = Changed(request.id, "scene", "Scene 2", (Text("“Leave it.”"),), speaker=MIRA)
    await bench.view(request).change(changed)
    assert "“Leave it.”" in spoken.shown
    assert "**Mira" not in spoken.shown


async def test_an_unrecorded_message_is_found_by_its_speakers_name(bench: Desk) -> None:
    bench.team.scopes.add(SCOPE)
    root = await bench.root()
    bench.fake.fail("chat.postMessage", lost=True)
    bench.fake.fail("chat.startStream", error="internal_error")
    await bench.run(bench.request(root), *reply("“Put it down.”"))
    (spoken,) = told(root, "“Put it down.”")
    assert spoken.username.startswith("Mira")


async def test_without_the_scope_the_name_is_bold_and_the_reason_is_given_once(bench: Desk) -> None:
    root = await bench.root()
    await bench.run(bench.request(root), *reply("“Put it down.”"))
    await bench.run(bench.request(root), *reply("“And now?”"))
    first, second = told(root, "**Mira")
    assert (first.username, second.username) == ("", "")
    assert SCOPE in first.shown
    assert SCOPE not in second.shown
    assert not first.mentions
