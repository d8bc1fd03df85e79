"""Messages on Slack: which of them are for the bot, and which requests they become."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing

import pytest
import pytest_asyncio

from bot.adapters.slack.placing import PLATFORM
from bot.adapters.slack.received.fetched import ThreadReader
from bot.adapters.slack.received.line import command_of
from bot.commands import FOLLOW_UP
from bot.events import Event, Failed, Place, Text
from bot.verb import TYPED
from bot.work import Run
from bot.works.voice import hearing
from tests.adapters.slack.table import Table
from tests.fakes.images import png
from tests.fakes.slack import Message

SLOW = "A slow one"

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_mention_is_two_events_and_one_question_in_its_own_thread(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Can <b> cast & fly?", mention=True)
    await at.ended()
    assert {delivery.name for delivery in message.sent} == {"app_mention", "message"}
    assert all(delivery.acked is not None for delivery in message.sent)
    asked = at.asked
    assert (asked.work, asked.verb, asked.text) == ("rules", "ask", "Can <b> cast & fly?")
    assert asked.options == {FOLLOW_UP: True}
    assert asked.place == Place(PLATFORM, at.space, at.channel.id, message.ts)
    assert (at.origin.home, at.origin.thread, at.origin.message) == ("here", message.ts, message.ts)
    assert not at.origin.earlier


async def test_a_redelivered_event_is_not_repeated(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Who?", mention=True)
    at.slack.redeliver(message, reason="http_timeout")
    await at.slack.until(lambda: all(len(delivery.tries) == 2 for delivery in message.sent))
    await at.ended()
    assert at.asked.text == "Who?"


async def test_an_event_on_two_sockets_is_handled_once(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Who?", mention=True)
    at.slack.duplicate(message)
    await at.slack.until(
        lambda: all(len(delivery.tries) == 2 and delivery.tries[1].acked for delivery in message.sent)
    )
    await at.ended()
    assert {attempt.socket for sent in message.sent for attempt in sent.tries} == set(at.slack.sockets.live)
    assert at.asked.text == "Who?"


async def test_the_mention_may_be_anywhere_and_other_mentions_become_names(at: Table) -> None:
    text = f"Does {at.bia.mention} know, {at.team.bot.mention} , what <#{at.channel.id}> is?"
    await at.slack.say(at.ana, at.channel, text)
    await at.ended()
    assert at.asked.text == f"Does @Bia know, , what #{at.channel.id} is?"


async def test_every_direct_message_is_for_the_bot(at: Table) -> None:
    dm = at.team.dm(at.ana)
    root = await at.slack.say(at.ana, dm, "Who is it?")
    await at.ended()
    await at.slack.say(at.ana, dm, f"And {at.bia.mention}?", thread=root)
    first, second = await at.ended(2)
    assert first.place == second.place == Place(PLATFORM, at.space, dm.id, root.ts)
    assert second.text == "And @Bia?"


async def test_a_group_direct_message_is_like_a_channel(at: Table) -> None:
    group = at.team.group_dm(at.ana, at.bia)
    await at.slack.say(at.bia, group, "Shall we play on Friday?")
    root = await at.slack.say(at.ana, group, "Who is it?", mention=True)
    assert [sent.payload["event"]["channel_type"] for sent in root.sent] == ["mpim"]
    await at.ended()
    await at.slack.say(at.bia, group, "And when?", thread=root)
    first, second = await at.ended(2)
    assert first.place == second.place == Place(PLATFORM, at.space, group.id, root.ts)
    assert (first.text, second.text) == ("Who is it?", "And when?")
    await at.slack.command(at.bia, group, "/rules", "ask Where?")
    *_, third = await at.ended(3)
    assert (third.place.channel, at.origins[2].home) == (group.id, "thread")
    assert [origin.private for origin in at.origins] == [False] * 3, (
        "others in the conversation read the answers"
    )


async def test_the_thread_of_a_group_direct_message_is_read(at: Table) -> None:
    group = at.team.group_dm(at.ana, at.bia)
    root = await at.slack.say(at.bia, group, "The bridge is out.")
    await at.slack.say(at.ana, group, "What now?", thread=root, mention=True)
    (request,) = await at.ended()
    reader = ThreadReader(at.bot.workspaces, at.bot.people)
    assert await reader(request) == "Bia: The bridge is out."
    at.team.scopes -= {"mpim:history"}
    try:
        assert await reader(request) == "", "the app was installed before it asked for this scope"
    finally:
        at.team.scopes |= {"mpim:history"}


async def test_messages_to_other_people_are_ignored(at: Table) -> None:
    await at.slack.say(at.ana, at.channel, "Who?")
    root = await at.slack.say(at.ana, at.channel, "A thread of people")
    await at.slack.say(at.bia, at.channel, "stop", thread=root)
    await at.slack.say(at.bia, at.channel, f"{at.ana.mention}?")
    message = await at.slack.say(at.ana, at.channel, "Now!", mention=True)
    await at.ended()
    assert at.origin.message == message.ts


async def test_people_who_talk_to_others_in_a_thread_are_not_looked_up(at: Table) -> None:
    people = [at.team.user(f"Guest {n}") for n in range(20)]
    root = await at.slack.say(people[0], at.channel, "A thread of people")
    for person in people:
        await at.slack.say(person, at.channel, "So I say.", thread=root)
    before = len(at.slack.calls)
    await at.slack.say(at.ana, at.channel, "Who?", mention=True)
    await at.ended()
    asked = [call.args.get("user") for call in at.slack.calls if call.method == "users.info"]
    assert not {person.id for person in people}.intersection(asked)
    assert at.ana.id in [
        call.args.get("user") for call in at.slack.calls[before:] if call.method == "users.info"
    ]


@pytest_asyncio.fixture(loop_scope="module")
async def slow(at: Table) -> AsyncGenerator[asyncio.Event]:
    """Call this to let the slow question be answered."""
    answered = asyncio.Event()

    async def think(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("Thinking")
        await answered.wait()

    at.bot.scripts[SLOW] = think
    yield answered
    answered.set()


@pytest_asyncio.fixture(loop_scope="module")
async def held(at: Table) -> Message:
    """The root of a thread that the bot opened, with the conversation "talk"."""
    root = await at.slack.say(at.ana, at.channel, "A root")
    thread = f"{at.channel.id}:{root.ts}"
    await at.app.resources.records.threads.bind(at.space, at.channel.id, "talk", thread)
    return root


async def test_replies_in_the_bots_threads_need_no_mention(at: Table, held: Message) -> None:
    aside = ("// not this", "((nor this", f"{at.bia.mention} what do you think?", "@here, look")
    for text in aside:
        await at.slack.say(at.ana, at.channel, text, thread=held)
    await at.slack.say(at.bia, at.channel, "And this?", thread=held)
    await at.ended()
    assert (at.asked.text, at.asked.author.name) == ("And this?", "Bia")
    assert at.asked.place == Place(PLATFORM, at.space, at.channel.id, "talk")
    assert (at.origin.home, at.origin.thread, at.origin.earlier) == ("here", held.ts, False)


async def test_a_private_question_is_answered_separately_and_knows_its_thread(
    at: Table, held: Message
) -> None:
    await at.slack.say(at.ana, at.channel, "/rules roll 2d6 --private", thread=held)
    await at.ended()
    assert (at.origin.home, at.origin.thread) == ("alone", held.ts)


async def test_messages_of_a_thread_are_stored_in_order(at: Table, held: Message) -> None:
    slowly = at.slack.fail("users.info", delay=0.3)  # the first speaker's name arrives last
    await at.slack.say(at.bia, at.channel, "One?", thread=held, wait=False)
    await at.slack.until(lambda: slowly not in at.slack.faults.waiting)
    await at.slack.say(at.ana, at.channel, "Two?", thread=held)
    assert [one.text for one in await at.ended(2)] == ["One?", "Two?"]


async def test_a_thread_with_a_conversation_is_held(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "The siege of the mill")
    await at.slack.say(at.ana, at.channel, "Nobody is here", thread=root)
    await at.app.resources.records.sessions.open(at.space, PLATFORM, at.channel.id, root.ts, "council")
    await at.slack.say(at.ana, at.channel, "And why?", thread=root)
    await at.ended()
    assert (at.asked.work, at.asked.verb, at.asked.text) == ("council", "ask", "And why?")


async def test_a_thread_with_a_pending_question_is_held(at: Table, slow: asyncio.Event) -> None:
    root = await at.slack.say(at.ana, at.channel, SLOW, mention=True)
    await at.begun(1)
    await at.slack.say(at.bia, at.channel, "And then?", thread=root)
    slow.set()
    _, second = await at.ended(2)
    assert second.text == "And then?"


async def test_the_first_mention_in_a_thread_reads_the_earlier_messages(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "The siege of the mill")
    await at.slack.say(at.bia, at.channel, "rules ask Who won it?", thread=root, mention=True)
    await at.ended()
    assert at.origin.earlier
    assert at.asked.options == {FOLLOW_UP: True}
    assert at.asked.place.thread == root.ts
    await at.app.resources.records.sessions.open(at.space, PLATFORM, at.channel.id, root.ts, "rules")
    await at.slack.say(at.bia, at.channel, "And then?", thread=root, mention=True)
    await at.ended(2)
    assert not at.origins[1].earlier


@pytest.mark.parametrize(
    ("text", "path", "rest"),
    [
        ("/rules roll 2d6", "rules roll", "2d6"),
        ("rules lookup Grappled", "rules lookup", "Grappled"),
        ("/sutradhar rules roll 2d6", "rules roll", "2d6"),
        ("`rules roll 2d6`", "rules roll", "2d6"),
        ("rules consultar Agarrado", "rules lookup", "Agarrado"),
        ("Stop.", "stop", ""),
        ("parar", "stop", ""),
        ("new", "new", ""),
        ("rules books are what I like", "rules ask", "rules books are what I like"),
        ("help me, please", "rules ask", "help me, please"),
        ("stop the orc", "rules ask", "stop the orc"),
    ],
)
async def test_a_command_works_without_its_slash(at: Table, text: str, path: str, rest: str) -> None:
    await at.slack.say(at.ana, at.channel, text, mention=True)
    await at.ended()
    asked = at.asked
    assert (asked.verb if asked.work == "house" else f"{asked.work} {asked.verb}", asked.text) == (path, rest)


async def test_help_by_message_is_ephemeral(at: Table) -> None:
    await at.slack.say(at.ana, at.channel, "help rules roll", mention=True)
    await at.slack.until(lambda: at.whispers(at.ana))
    (shown,) = at.whispers(at.ana)
    assert "/rules roll EXPRESSION" in shown
    dm = at.team.dm(at.ana)
    root = await at.slack.say(at.ana, dm, "help")
    await at.slack.until(lambda: root.thread)
    assert "/sutradhar help" in root.thread[0].shown
    assert at.requests == []


async def test_a_mention_without_a_word_gets_a_hint_once(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "", mention=True)
    await at.slack.until(lambda: at.whispers(at.ana))
    at.slack.redeliver(message)
    await at.slack.until(lambda: all(len(delivery.tries) == 2 for delivery in message.sent))
    (hint,) = at.whispers(at.ana)
    assert "Can a grappled creature cast spells?" in hint


async def test_setup_by_message_in_a_thread_is_answered_once(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "who is in charge?")
    message = await at.slack.say(at.bia, at.channel, "setup", thread=root, mention=True)
    await at.slack.until(lambda: at.whispers(at.bia))
    at.slack.redeliver(message)
    await at.slack.until(lambda: all(len(delivery.tries) == 2 for delivery in message.sent))
    (listed,) = at.whispers(at.bia)
    assert "What is set up here" in listed
    assert at.requests == []


async def test_an_error_in_a_line_is_reported_once_to_its_writer_alone(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "/rulez ask Who?", mention=True)
    assert len(message.sent) == 2
    await at.slack.until(lambda: at.whispers(at.ana))
    at.slack.redeliver(message)
    await at.slack.until(lambda: all(len(delivery.tries) == 2 for delivery in message.sent))
    assert len(at.whispers(at.ana)) == 1
    assert at.requests == []


async def test_files_are_passed_to_the_command_beside_them(at: Table) -> None:
    book = ("grapple rules.md", b"# Grappled\n")
    message = await at.slack.say(at.bia, at.channel, "library add --shelf rules", mention=True, files=[book])
    await at.ended()
    (file,) = at.asked.files
    assert (at.asked.work, at.asked.verb, at.asked.options["shelf"]) == ("library", "add", "rules")
    assert (file.name, file.path, file.size) == ("grapple rules.md", "", len(book[1]))
    assert file.url == message.files[0].payload()["url_private"]
    assert at.whispers(at.bia) == []


async def test_adding_a_book_without_a_file_explains_how_to_attach_one(at: Table) -> None:
    await at.slack.say(at.bia, at.channel, "library add --shelf rules", mention=True)
    await at.slack.until(lambda: at.whispers(at.bia))
    (whisper,) = at.whispers(at.bia)
    assert "Attach them to a message" in whisper
    assert "handbook.md notes/" not in whisper, "paths cannot be typed on Slack"
    assert at.requests == []


async def test_a_picture_is_passed_on_with_a_question_and_is_no_question_itself(at: Table) -> None:
    rune = ("rune.png", png())
    await at.slack.say(at.ana, at.channel, "What does it do?", mention=True, files=[rune])
    await at.ended()
    assert (at.asked.text, [file.name for file in at.asked.files]) == ("What does it do?", ["rune.png"])
    await at.slack.say(at.ana, at.channel, "", mention=True, files=[rune])
    await at.slack.until(lambda: len(at.whispers(at.ana)) == 1)
    await at.slack.say(at.ana, at.channel, "rules ask", mention=True, files=[rune])
    await at.slack.until(lambda: len(at.whispers(at.ana)) == 2)
    assert all("example" in whisper for whisper in at.whispers(at.ana))
    assert len(at.requests) == 1


async def test_files_without_a_command_get_a_hint(at: Table) -> None:
    await at.slack.say(at.ana, at.channel, "", mention=True, files=[("rules.md", b"# Rules")])
    await at.slack.until(lambda: at.whispers(at.ana))
    (hint,) = at.whispers(at.ana)
    assert "rules.md" in hint
    assert "library add --shelf rules" in hint
    assert at.requests == []


async def test_a_question_is_acknowledged_only_once_it_is_stored(at: Table) -> None:
    database = at.app.resources.config.data_dir / "sutradhar.db"
    count = "SELECT count(*) FROM inbox WHERE channel = ?"
    with closing(sqlite3.connect(database, isolation_level=None, check_same_thread=False)) as other:
        # In a thread: the bot itself may be writing.
        await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
        message = await at.slack.say(at.ana, at.channel, "Who?", mention=True, wait=False)
        acknowledged = [asyncio.create_task(delivery.first.wait()) for delivery in message.sent]
        early, _ = await asyncio.wait(acknowledged, timeout=0.4)
        other.execute("ROLLBACK")
        assert not early
        for delivery, told in zip(message.sent, acknowledged, strict=True):
            await told
            assert delivery.acked is not None
            assert other.execute(count, [at.channel.id]).fetchone() == (1,)
    await at.ended()


@pytest.mark.parametrize("ours", [True, False], ids=["a thread of ours", "a thread of people"])
async def test_slacks_own_stop_button_stops_the_runs_of_the_thread(
    at: Table, held: Message, slow: asyncio.Event, ours: bool
) -> None:
    root = held if ours else await at.slack.say(at.ana, at.channel, "A thread of people")
    await at.slack.say(at.ana, at.channel, SLOW, thread=root, mention=True)
    (run,) = await at.begun()
    await at.bot.record.until(run.id, Text("Thinking"))
    client = await at.bot.workspaces.client(at.space)
    thread = {"channel_id": at.channel.id, "thread_ts": root.ts, "status": "processing"}
    await client.api_call("agents.sessions.setStatus", json=thread)
    pressed = await at.slack.stop_session(at.bia, root)
    assert pressed is not None
    assert pressed.acked is not None
    assert await at.app.ended(run.id) == "stopped"


async def test_only_a_line_that_begins_with_a_command_is_a_command() -> None:
    assert command_of("what do the rules ask of me?") is None
    assert command_of("rules") is None
    assert command_of("help rules ask") == "/help rules ask"
    for typed in ("script relatório A balsa", "script RELATORIO A balsa"):
        assert command_of(typed) == f"/{typed}"
    assert command_of("Ajuda script relatorio") == "/help script relatorio"


@pytest.mark.parametrize("direct", [True, False])
async def test_stop_outside_threads_stops_its_writers_runs_in_the_channel(
    at: Table, slow: asyncio.Event, direct: bool
) -> None:
    where = at.team.dm(at.ana) if direct else at.channel
    await at.slack.say(at.ana, where, SLOW, mention=not direct)
    (run,) = await at.begun()
    await at.bot.record.until(run.id, Text("Thinking"))
    if not direct:
        await at.slack.say(at.bia, where, "stop", mention=True)
        other = (await at.begun(2))[-1]
        assert await at.app.ended(other.id) == "done"
        assert at.app.runs.of(at.space, run.id)
    message = await at.slack.say(at.ana, where, "stop", mention=not direct)
    assert await at.app.ended(run.id) == "stopped"
    await at.begun(2 if direct else 3)
    assert at.origins[-1].thread == message.ts


async def test_a_mention_that_arrives_before_its_files_waits_for_them(at: Table) -> None:
    book = ("rules.md", b"# Grappled")
    wanted = at.slack.files.new(at.bia, *book, len(book[1])).payload()
    said = {
        "user": at.bia.id,
        "text": f"{at.team.bot.mention} library add --shelf rules",
        "ts": at.slack.world.ids.ts(),
        "channel": at.channel.id,
    }
    first = asyncio.create_task(at.slack.send_raw(at.team, {"type": "app_mention", **said}))
    await asyncio.sleep(0)
    second = {"type": "message", "subtype": "file_share", "files": [wanted], **said}
    assert (await at.slack.send_raw(at.team, second)).acked is not None
    await at.ended()
    assert [file.name for file in at.asked.files] == ["rules.md"]
    assert (await first).acked is not None
    assert at.whispers(at.bia) == []


async def test_a_mention_added_by_an_edit_asks_once(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Who won?")
    now = {
        **message.payload(),
        "type": "app_mention",
        "channel": at.channel.id,
        "text": f"{at.team.bot.mention} Who won?",
    }
    for n in range(2):
        edited = {"user": at.ana.id, "ts": f"9.{n}"}
        assert (await at.slack.send_raw(at.team, {**now, "edited": edited})).acked is not None
    await at.ended()
    assert at.asked.text == "Who won?"


async def test_people_who_say_nothing_to_the_bot_are_not_looked_up(at: Table) -> None:
    caio = at.team.user("Caio")
    await at.slack.say(caio, at.channel, f"Hello {at.ana.mention}")
    await at.slack.say(at.bia, at.channel, "Now!", mention=True)
    await at.ended()
    asked = [call.args.get("user") for call in at.slack.calls if call.method == "users.info"]
    assert at.bia.id in asked
    assert caio.id not in asked
    assert at.ana.id not in asked


async def test_stop_in_the_channel_stops_its_writers_private_runs(at: Table, slow: asyncio.Event) -> None:
    for who, n in ((at.ana, 1), (at.bia, 2)):
        await at.slack.command(who, at.channel, "/rules", f"ask {SLOW} --private")
        await at.begun(n)
    hers, other = at.requests
    await at.bot.record.until(hers.id, Text("Thinking"))
    await at.slack.say(at.ana, at.team.dm(at.ana), "stop")
    assert await at.app.ended(hers.id) == "stopped"
    assert at.app.runs.of(at.space, other.id)


async def test_the_bot_waits_a_limited_time_for_slacks_transcript(
    at: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "CHECKS_S", (0.0,))
    monkeypatch.setattr(hearing, "FURTHER_CHECKS_S", (0.0, 0.0))
    dm, clip = at.team.dm(at.ana), [("audio_message.webm", b"sound")]
    at.slack.files.listens = 2
    await at.slack.say(at.ana, dm, "", files=clip, spoken=(2.0, "I open the door."))
    await at.ended()
    assert Text("> I open the door.") in at.bot.record.events[at.asked.id]
    at.slack.files.listens = 3
    await at.slack.say(at.ana, dm, "", files=clip, spoken=(2.0, "Never mind."))
    run = (await at.ended(2))[1].id
    (failed,) = (event for event in at.bot.record.events[run] if isinstance(event, Failed))
    assert "transcriber" in failed.text


async def test_a_whisper_typed_in_public_is_not_stored(at: Table) -> None:
    for text in ("story whisper Bia: the lamp is a trap", "/story whisper I hide the key."):
        await at.slack.say(at.ana, at.channel, text, mention=True)
    for request in await at.ended(2):
        assert (request.verb, request.text, dict(request.options)) == ("whisper", "", {TYPED: True})
        assert "lamp" not in request.origin + request.text
    dm = at.team.dm(at.ana)
    await at.slack.say(at.ana, dm, "story whisper I hide the key.")
    assert (await at.ended(3))[-1].text == "I hide the key."
