"""A message's text without Slack's markup."""

from __future__ import annotations

import time

import pytest

from bot.adapters.invocation import reads_files
from bot.adapters.slack.received.line import calls_others, mentions, text_without_mention
from bot.adapters.slack.text.render import as_typed

ME = "U0BOT"


async def name(user: str) -> str:
    return {"U1": "Ana", "U2": "Bia <@U3>", "U4": "R&amp;D"}.get(user, user)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<@U0BOT> hello", "hello"),
        ("<@U0BOT>: hello", "hello"),
        ("hello <@U0BOT|sutradhar> there", "hello there"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
        ("&amp;lt;!channel&amp;gt;", "&lt;!channel&gt;"),
        ("<@U1> and <@U2> and <@U9>, <@U4>", "@Ana and @Bia <@U3> and @U9, @R&amp;D"),
        ("<#C1|general> <#C2> <#C3|>", "#general #C2 #C3"),
        ("<https://a.b/c?d&amp;e|a page> <https://a.b>", "https://a.b/c?d&e https://a.b"),
        ("<mailto:a@b.c|a@b.c> <tel:123|123>", "a@b.c 123"),
        (
            "<!here> <!channel|@channel> <!subteam^S1|@players> <!subteam^S1>",
            "@here @channel @players @subteam",
        ),
        ("<!date^1392734382^{date}|18 February>", "18 February"),
        ("  \n<@U0BOT>  ", ""),
        ("<@U0BOT> *bold* _it_ `code`\nnext", "*bold* _it_ `code`\nnext"),
        ("<>", ""),
        ("half a \ud83d pair", "half a \ufffd pair"),
    ],
)
async def test_the_text_is_as_the_person_sees_it(text: str, sentence: str) -> None:
    assert await text_without_mention(text, ME, name) == sentence


def test_a_mention_of_the_bot_is_found_anywhere_in_the_text() -> None:
    assert mentions("who <@U0BOT|bot>?", ME)
    assert not mentions("who <@U0BOTX>? &lt;@U0BOT&gt;", ME)


def test_other_mentions_become_names_of_people_and_groups() -> None:
    assert not calls_others("<@U0BOT> hello <#C1>", ME)
    for text in ("<@U1> hello", "<@U0BOT> <@U1>", "<!here>", "<!subteam^S1|@players>", "<!channel>"):
        assert calls_others(text, ME)


def test_commands_are_named_as_they_can_be_typed_in_each_place() -> None:
    sentence = "Did you mean /rules ask? `/help` and `/stop`; see /rules or a/rules ask."
    assert as_typed(sentence, thread=False) == (
        "Did you mean /rules ask? `/sutradhar help` and `/sutradhar stop`; see /rules or a/rules ask."
    )
    assert as_typed(sentence, thread=True) == (
        "Did you mean `rules ask`? `help` and `stop`; see /rules or a/rules ask."
    )
    for thread, typed in ((False, "`/sutradhar setup`"), (True, "`setup`")):
        assert as_typed("`/setup` then.", thread=thread) == f"{typed} then."
    adds = "`/library add --ocr yes` or `/biblioteca adicionar`; `/library list`, /library add."
    assert as_typed(adds, thread=False, files="with it") == (
        "`library add --ocr yes` (with it) or `library adicionar` (with it); `/library list`, /library add."
    )


async def test_many_blanks_before_a_mention_take_no_time() -> None:
    began = time.process_time()
    assert (
        await text_without_mention(f"a{' ' * 40_000}b <@U0BOT>  <@U0BOT> c", ME, name)
        == f"a{' ' * 40_000}b  c"
    )
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("Who holds the mill?", True),
        ("/rules ask Who?", True),
        ("/Add --shelf rules", True),
        ("/script add --visible me", True),
        ("/script  replace", True),
        ("/course add", True),
        ("/script list", False),
        ("/additional", False),
        ("", False),
    ],
)
def test_the_text_beside_files_decides_their_use(line: str, reads: bool) -> None:
    assert reads_files(line) == reads
