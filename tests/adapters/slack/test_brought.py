"""Shared and linked messages are quoted under the question, but only those that the asker may read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.adapters.invocation import QUOTED_CHARS, quotation
from bot.adapters.slack.received.fetched import ThreadReader
from bot.conversation import read_along
from bot.events import UserError
from bot.words import words
from tests.adapters.slack.table import Table
from tests.adapters.slack.test_deletions import kept, told
from tests.fakes.images import png
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAID = "The ferry leaves at <dawn> & dusk"


async def asked_with(at: Table, *linked: Message, n: int = 1) -> str:
    """The question that a mention with links to these messages becomes."""
    links = " ".join(message.address for message in linked)
    await at.slack.say(at.ana, at.channel, f"Is that so? {links}", mention=True)
    return [request.text for request in await at.ended(n) if request.author.id == at.ana.id][-1]


async def test_a_linked_message_is_quoted_under_the_question(at: Table) -> None:
    root = await at.slack.say(at.bia, at.channel, SAID)
    reply = await at.slack.say(at.bia, at.channel, "In winter only at dusk", thread=root)
    assert await asked_with(at, root) == f"Is that so? {root.address}\n\n> {SAID}"
    text = await asked_with(at, reply, n=2)
    assert text.endswith("\n\n> In winter only at dusk")
    assert SAID not in text


async def test_only_channels_of_the_asker_are_read(at: Table) -> None:
    hers, theirs = at.team.channel("hers"), at.team.channel("theirs")
    theirs.members.remove(at.ana)
    seen = await at.slack.say(at.bia, hers, "The key is under the mat")
    unseen = await at.slack.say(at.bia, theirs, "The lamp is a trap")
    alone = await at.slack.say(at.bia, at.team.dm(at.bia), "I am the murderer", wait=False)
    crowd = at.team.channel("crowd")
    crowd.members.remove(at.ana)
    in_crowd = await at.slack.say(at.bia, crowd, "The crown is a fake")
    crowd.members.extend([at.bia] * 20_000)  # more than the bot looks through
    assert "fake" not in await asked_with(at, in_crowd)
    text = await asked_with(at, seen, unseen, alone, n=3)
    assert "> The key is under the mat" in text
    refused = [quoted.refused for quoted in at.requests[-1].quoted]
    assert refused == ["", "thread.link_closed", "thread.link_closed"]
    assert "trap" not in text
    assert "murderer" not in text


async def test_a_link_to_nothing_or_to_another_workspace_leaves_the_question(at: Table) -> None:
    text = "And https://other.slack.com/archives/C0AAAAAAA/p1700000000123456 and https://x.org/archives/no?"
    await at.slack.say(at.ana, at.channel, text, mention=True)
    await at.ended()
    assert at.asked.text == text
    assert [quoted.refused for quoted in at.asked.quoted] == ["thread.link_closed"]


async def test_the_answer_shows_its_sources_and_names_what_was_not_read(at: Table) -> None:
    rules, quiet = at.team.channel("rules"), at.team.channel("quiet", private=True)
    rule, gone = [await at.slack.say(at.bia, rules, text) for text in (SAID, "Of no use")]
    secret = await at.slack.say(at.bia, quiet, "Only we know")
    await at.slack.delete(gone)
    await asked_with(at, rule, secret, gone, rule)
    at_utc = datetime.fromtimestamp(float(rule.ts), UTC)
    notes = [notice.text for notice in read_along(at.asked, (), words("en"))]
    assert notes == [
        f"Read with: #rules, Bia, {at_utc:%H:%M} UTC; Bia, {at_utc:%H:%M} UTC.",
        "I did not read a linked message, because it was deleted.",
    ]
    shared = await at.slack.say(at.bia, rules, "And this")
    await at.slack.say(at.ana, at.channel, "Is it?", mention=True, shares=shared)
    (quoted,) = (await at.ended(2))[-1].quoted
    assert (quoted.where, quoted.name) == ("#rules", "Bia")


async def test_the_run_reads_a_linked_thread_with_the_askers_rights(at: Table) -> None:
    rules = at.team.channel("rules")
    root = await at.slack.say(at.bia, rules, SAID)
    for n in range(1_050):  # more than one page
        ts, who = at.slack.world.ids.ts(), (at.bia, at.ana)[n % 2]
        rules.put(Message(rules, ts, who, f"Message {n}.", thread_ts=root.ts))
    assert (await asked_with(at, root)).endswith(f"> {SAID}")
    assert [(each.where, each.thread) for each in at.asked.quoted] == [
        ("#rules", ""),
        ("#rules", f"{rules.id}:{root.ts}"),
    ]
    reader = ThreadReader(at.bot.workspaces, at.bot.people)
    thread = f"{rules.id}:{root.ts}"
    read = await reader.linked(at.asked, thread, 100)
    assert [message.text for message in read.messages] == [f"Message {n}." for n in range(950, 1_050)]
    assert (read.messages[-1].name, read.total) == ("Ana", 1_050)
    rules.members.remove(at.ana)
    for id in (thread, f"{rules.id}:1.5", "C0AAAAAAA:1.5"):
        with pytest.raises(UserError, match=r"thread\.link_closed"):
            await reader.linked(at.asked, id, 5)


async def test_a_link_in_a_command_is_read_with_the_askers_rights(at: Table) -> None:
    theirs = at.team.channel("theirs")
    theirs.members.remove(at.ana)
    seen = await at.slack.say(at.bia, at.channel, SAID)
    unseen = await at.slack.say(at.bia, theirs, "The lamp is a trap")
    for message in (seen, unseen):
        await at.slack.command(at.ana, at.channel, "/rules", f"ask Is that so? {message.address}")
    first, second = sorted(
        await at.ended(2), key=lambda request: "trap" in request.text or SAID not in request.text
    )
    assert first.text.endswith(f"\n\n> {SAID}")
    assert second.text == f"Is that so? {unseen.address}"
    assert [quoted.refused for quoted in second.quoted] == ["thread.link_closed"]


async def test_attachments_written_by_programs_are_read(at: Table) -> None:
    post = await at.slack.say(at.bia, at.channel, "Look:")
    post.attachments.append(
        {"title": "Ferry", "text": "At dawn", "fields": [{"title": "Fare", "value": "2 gp"}]}
    )
    text = await asked_with(at, post)
    assert text.endswith("> Look:\n>\n> Ferry\n> At dawn\n> Fare\n> 2 gp")


async def test_a_shared_message_alone_includes_its_words_and_files(at: Table) -> None:
    picture = ("map.png", png(8, 8))
    other = await at.slack.say(at.bia, at.channel, SAID, files=[picture])
    await at.slack.say(at.ana, at.channel, "Where to?", mention=True, shares=other)
    await at.ended()
    assert at.asked.text == f"Where to?\n\n> {SAID}"
    assert [file.name for file in at.asked.files] == ["map.png"]
    await at.slack.say(at.ana, at.channel, "", mention=True, shares=other)
    alone = (await at.ended(2))[-1]
    assert (alone.text, [file.name for file in alone.files]) == (f"> {SAID}", ["map.png"])


async def test_a_long_message_is_cut_and_an_edit_keeps_the_quotations(at: Table) -> None:
    long = "word " * QUOTED_CHARS
    other = await at.slack.say(at.bia, at.channel, long)
    message = await at.slack.say(at.ana, at.channel, "Sum it up.", mention=True, shares=other)
    await at.ended()
    quoted = quotation(long)
    assert at.asked.text == f"Sum it up.\n\n{quoted}"
    assert len(quoted) < QUOTED_CHARS + 10
    await at.slack.edit(message, f"{at.team.bot.mention} Sum it up in Portuguese.")
    await told(at)
    assert (await kept(at, at.asked.id)).text == f"Sum it up in Portuguese.\n\n{quoted}"


async def test_a_command_gets_no_quotations(at: Table) -> None:
    other = await at.slack.say(at.bia, at.channel, SAID)
    await at.slack.say(at.ana, at.channel, "rules roll 2d6", mention=True, shares=other)
    await at.ended()
    assert (at.asked.verb, at.asked.text) == ("roll", "2d6")
