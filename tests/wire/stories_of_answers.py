"""Stories about questions and their answers."""

from __future__ import annotations

import re
from pathlib import Path

from tests.fakes.reply import Reply
from tests.wire.driver import Driver
from tests.wire.on_terminal import ChatProcess
from tests.wire.story import ANA, BIA, QUESTION, Told, count

FILES = Path(__file__).resolve().parents[1] / "readers" / "files"
told = Told()


@told.usual
async def a_cited_answer(d: Driver) -> None:
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    texts = talk.said()
    assert count(texts, "four hours of walking") == 1, texts
    assert count(texts, "the Night takes the next turn") == 1, "and the answer is complete"
    assert "[1]" in texts[-1]
    assert "Candles" in texts[-1], "the source is named"
    assert QUESTION in "".join(post.text for post in d.channel().posts()), "everybody sees the question"
    assert not [post for post in talk.posts() if "stop" in post.actions]


@told.usual
async def a_follow_up_by_mention_in_the_thread(d: Driver) -> None:
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    d.model.queue.append(Reply("It burns for one hour of running [1]."))
    await d.mention(BIA, talk, "and while running?")
    await d.rest(2)
    posts = talk.posts()
    (asked,) = [n for n, post in enumerate(posts) if "and while running?" in post.text and post.by == BIA]
    assert count([post.text for post in posts[:asked]], "four hours of walking") == 1
    assert count([post.text for post in posts[asked:]], "It burns for one hour of running") == 1
    assert QUESTION in d.model.prompts[-1], "the follow-up knows the earlier messages"


@told.usual
async def a_redelivered_event(d: Driver) -> None:
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    before = talk.posts()
    await d.redeliver()
    again = await d.command(ANA, "rules roll", expression="1d1")
    await d.rest(2)
    assert again.said()
    assert talk.posts() == before
    assert len(d.model.prompts) == 1


@told.usual
async def stop(d: Driver) -> None:
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.press(ANA, talk, "stop")
    await d.until(lambda: not any("stop" in post.actions for post in talk.posts()))
    gate.set()
    await d.mention(ANA, talk, "and while running?")
    await d.until(lambda: count(talk.said(), "the Night takes the next turn") == 1)
    assert count(talk.said(), "A candle burns for") == 2, "what was shown stays"
    assert len(d.model.prompts) == 2


@told.usual
async def retry(d: Driver) -> None:
    d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.press(ANA, talk, "stop")
    await d.rest(1)
    await d.press(BIA, talk, "retry")
    await d.rest(2)
    texts = talk.said()
    assert count(texts, "A candle burns for") == 2, "the stopped answer stays"
    assert count(texts, "the Night takes the next turn") == 1
    assert "the Night takes the next turn" in texts[-1], "and the new answer follows it"


@told.usual
async def kill_9_mid_stream(d: Driver) -> None:
    d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.restart()
    await d.rest(1)
    texts = talk.said()
    assert count(texts, "A candle burns for") == 1, "the message continues in the same place"
    assert count(texts, "the Night takes the next turn") == 1
    assert not [post for post in talk.posts() if "stop" in post.actions]
    assert len(d.model.prompts) == 2, "only the call that was cut off is made again"


@told.usual
async def a_40_000_character_answer(d: Driver) -> None:
    """The bot shows an answer up to the limit of tokens, and says that it stops there."""
    sentences = [f"Sentence {n:04} says that a candle burns four hours of walking [1]. " for n in range(620)]
    assert sum(map(len, sentences)) > 40_000
    d.model.queue.append(Reply(pieces=sentences, delay_s=0.002))
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    text = "\n".join(talk.said())
    numbers = [int(number) for number in re.findall(r"Sentence (\d{4})", text)]
    assert numbers == list(range(len(numbers))), "nothing is left out, doubled or out of order"
    assert len(text) > 30_000
    assert "length limit" in text or len(numbers) == len(sentences)


@told.usual
async def a_failing_model(d: Driver) -> None:
    error = {
        "message": "Incorrect API key provided",
        "type": "invalid_request_error",
        "code": "invalid_api_key",
    }
    d.model.queue += [Reply(status=401, error=error) for _ in range(5)]
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    texts = talk.said()
    put = "Put" if isinstance(d.process, ChatProcess) else "The bot's operator must put"  # the reader
    assert f"refused the API key. {put} the right key into" in texts[-1], texts
    assert "A candle burns for four hours of walking" in texts[-1], "the passages themselves are quoted"
    d.model.queue.clear()
    after = await d.ask(ANA, QUESTION)
    await d.rest(2)
    assert "the Night takes the next turn" in after.said()[-1]


@told.usual
async def two_tables_with_the_same_names(d: Driver) -> None:
    """The second table's book says "six hours", the first one's "four"."""
    d.model.usual = Reply(status=500)
    first, second = await d.ask(ANA, QUESTION), await d.ask(ANA, QUESTION, table=1)
    await d.rest(2)
    assert "four hours of walking" in first.said()[-1]
    assert "six hours" not in "".join(first.said())
    assert "six hours of walking" in second.said()[-1]
    assert "four hours" not in "".join(second.said())


@told.usual
async def a_private_answer_then_shared(d: Driver) -> None:
    before = d.channel().posts()
    talk = await d.ask(ANA, QUESTION, private=True)
    await d.rest(1)
    assert count(talk.said(), "four hours of walking") == 1
    assert d.channel().posts() == before, "nobody else sees anything"
    await d.press(ANA, talk, "share")
    await d.until(lambda: count([post.text for post in d.channel().posts()], "four hours of walking") == 1)
    assert "Ana" in d.channel().posts()[-1].text or d.channel().posts()[-1].by == ANA, "and who shared it"


@told.usual
async def a_language_of_ones_own_and_then_everything_deleted(d: Driver) -> None:
    answer = await d.command(ANA, "settings set", setting="language", value="pt-BR", **{"for": "me"})
    await d.rest(1)
    assert count(answer.said(), "Para você") == 1, answer.said()
    await d.ask(ANA, QUESTION)
    await d.rest(2)
    await d.command(ANA, "privacy export")  # a file, sent in the way of each platform
    await d.rest(3)
    would = await d.command(ANA, "privacy delete")
    await d.rest(4)
    assert count(would.said(), "o texto de") == 1, would.said()
    done = await d.command(ANA, "privacy delete", yes=True)
    await d.rest(5)
    assert count(done.said(), "Excluído, com todas as cópias") == 1, done.said()
    again = await d.command(ANA, "sessions list")
    await d.rest(6)
    assert count(again.said(), "You have no conversations yet") == 1, again.said()


@told.usual
async def an_attachment_to_library_add(d: Driver) -> None:
    book = b"# Ferries\n\n## The toll\n\nThe ferry across the Miro costs seven copper coins.\n"
    talk = await d.attach(ANA, "ferries.md", book, shelf="ferries")
    await d.until(lambda: bool(talk.said()))
    assert "Only people who manage" in talk.said()[-1], talk.said()
    talk = await d.attach(BIA, "ferries.md", book, shelf="ferries")
    await d.rest(1)
    assert "ferries" in talk.said()[-1]
    d.model.queue.append(Reply("It costs seven copper coins [1]."))
    answer = await d.ask(ANA, "What does the ferry across the Miro cost?", shelf="ferries")
    await d.rest(2)
    assert "seven copper coins" in answer.said()[-1]


@told.usual
async def a_pdf_and_the_page_of_a_source(d: Driver) -> None:
    book = (FILES / "libreoffice-outline.pdf").read_bytes()
    talk = await d.attach(BIA, "almanac.pdf", book, shelf="almanac")
    await d.rest(1)
    assert "13 sections" in talk.said()[-1]
    locked = await d.attach(
        BIA, "locked.pdf", (FILES / "libreoffice-locked.pdf").read_bytes(), shelf="almanac"
    )
    await d.rest(2)
    assert "this file has a password" in locked.said()[-1]
    d.model.queue.append(Reply("At new moon a guide costs 3 shillings [1]."))
    answer = await d.ask(ANA, "What does a guide cost at new moon?", shelf="almanac")
    await d.rest(3)
    assert "almanac.pdf" in answer.said()[-1]
    assert "p. 2" in answer.said()[-1], answer.said()


@told.usual
async def a_deleted_message(d: Driver) -> None:
    talk = await d.direct(ANA, QUESTION)
    await d.rest(1)
    assert count(talk.said(), "four hours of walking") == 1
    await d.delete(talk, QUESTION)
    await d.until(lambda: count(talk.said(), "four hours of walking") == 0)
    follow = await d.direct(ANA, "and while running?")
    await d.rest(2)
    assert follow.said()
    assert QUESTION not in d.model.prompts[-1], "withdrawn words are not read again"


@told.slow
async def buttons_after_a_restart(d: Driver) -> None:
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    await d.restart()
    answer = await d.press(ANA, talk, "sources")
    await d.until(lambda: "A candle burns for four hours of walking" in "".join(answer.said()))
    d.model.hold()
    await d.mention(ANA, talk, "and while running?")
    await d.until(lambda: count(talk.said(), "A candle burns for") == 2)
    await d.press(ANA, talk, "stop")
    await d.until(lambda: not any("stop" in post.actions for post in talk.posts()))
    await d.restart()
    await d.press(ANA, talk, "retry")
    await d.rest(3)
    assert count(talk.said(), "the Night takes the next turn") == 2


@told.usual
async def a_polite_end_in_the_middle(d: Driver) -> None:
    d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.restart(kill=False)
    await d.rest(1)
    assert count(talk.said(), "A candle burns for") == 1
    assert count(talk.said(), "the Night takes the next turn") == 1
