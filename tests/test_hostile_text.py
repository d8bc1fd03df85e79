"""No hostile text takes a parser longer than an ordinary text of the same length, in processor time.

All our parsers of text by people, models and books are tried: with 10,000 characters by default, with a million if
SUTRADHAR_KILLS=all.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator

import pytest

from bot import command_line, prompts, untrusted
from bot.adapters import markdown
from bot.adapters.discord.text import markdown as discord_markdown
from bot.adapters.invocation import quotation
from bot.adapters.markdown import is_misleading
from bot.adapters.slack.received import line
from bot.adapters.slack.text import escaping as slack_escaping
from bot.adapters.slack.text import markdown as slack_markdown
from bot.adapters.terminal.markdown import Ink, MarkdownStream
from bot.citing.gate import CitationGate, Verbatim
from bot.citing.markers import unmarked
from bot.citing.quoting import excerpt
from bot.config import model_spec
from bot.events import UserError
from bot.llm import json_answers
from bot.llm.thoughts import Thoughts
from bot.readers.decode import decode
from bot.readers.text import read_markdown, read_text
from bot.retrieval import language, lexical
from bot.retrieval.chunk import chunks
from bot.retrieval.cognates import words_of
from bot.retrieval.lexical import content_terms
from bot.retrieval.titles import aliases
from bot.speech.narration import Narration
from bot.works.council.ballot import read_words
from bot.works.council.ballot_json import read_json
from bot.works.council.verdict import DissentSplitter
from bot.works.story.extraction import attribution
from bot.works.story.scene.choices import read_choices, struck_out
from bot.works.story.turn import dice
from bot.works.story.turn.refusal import is_refusal, may_become_refusal
from bot.works.story.turn.scene_verbs import parse_cast
from bot.works.story.world.key_pattern import pattern_of
from bot.works.story.world.lore_text import fill_macros
from bot.works.story.world.lorebook import LoreEntry, triggered
from tests.pace import slowness

ALL = os.environ.get("SUTRADHAR_KILLS") == "all"
LENGTH = 1_000_000 if ALL else 5_000
SECONDS = 0.2 * max(1, LENGTH / 5_000)
"""Of processor for one text, the best of three tries; a quadratic parser takes several times as long, at any length."""

SEEDS = [
    "\x1b]", "\x1bP", "\x1b[", "\x9b", "\x9b0 ", "\x9d", "\x90", "\x9f", "\x9d\x90",  # escape sequences
    "\u202e", "\U000e0041", "\u200b", "\ud800", "e\u0301", "\ufdfa",  # directions, tags, joiners, halves
    "[1", '[1 "a', "[1]", "[1-20]", '[1 "a]', "[1[", "【1†", "&#91;", "[Passage 1", "[\u200b1",  # markers
    "*", "_a ", "`", "``` ", "```\n", "> ", "- ", "1. ", "# a\n", "\\", "||", "|", "|a|b|\n|-|-|\n", "| - |\n",
    "[a](", "[a](b", "![", "<a", "<!--", "<b>", "&#", "://", "http://a.",  # Markdown, HTML, links
    "<@", "<@U1|", "<@U1> ", "@everyone",  # mentions
    " ", "\t", "\n", " \n", "\r", "\u2028", "\xa0", "a ", "a.\n",  # blanks and lines
    "<think>", "</think>", "<thin", "{", "{{", "{{a}}", '{"a":', "[[", '"', "- - ", "? ", "&a ", "a: ", "<|im_end|>",
    "“", "“a” ", "«a» ", "— a ", "\n— a — ", "Mira ", "and Mira sees ", "Mira: ", "Mira said ",
    '"a" ', "a. ", "\n\na",  # speech
    "FINAL RANKING:\n", "Response A ", "A > ", "DISSENT", "--a ", "a", "aa ", "\u0130", "界", "1,", "…",
]  # fmt: skip
"""Each is repeated until the text is long enough."""


def gate(text: str) -> None:
    passage = "A lit lantern shows everything within ten paces. Bright as day. " * 12
    checked = CitationGate([passage] * 5, lambda said: content_terms(said, "en"))
    checked.feed(text)
    checked.finish()


def thoughts(text: str) -> None:
    for opening in ("", "<think>"):
        parted = Thoughts()
        parted.feed(opening + text)
        parted.finish("end")


def dissent(text: str) -> None:
    parting = DissentSplitter()
    parting.feed(text)
    parting.finish()


def terminal(text: str) -> None:
    stream = MarkdownStream(Ink(colour=True))
    stream.feed(text)
    stream.tail()
    stream.end()


def verbatim(text: str) -> None:
    Verbatim(text).find("lantern shows")
    Verbatim("lantern shows").find(text)


def or_refused(read: Callable[[str], object]) -> Callable[[str], object]:
    """Call `read`, which may refuse a text with a sentence."""

    def tried(text: str) -> object:
        try:
            return read(text)
        except (UserError, json_answers.UnreadableError) as refusal:
            return refusal

    return tried


def called_up(text: str) -> object:
    """Use a text both as the searched text and as a keyword."""
    keys = (text, "lamp", "/(a|b)*c.{9}$/", f"/{text[:99]}/")
    entries = [LoreEntry("1", keys, text), LoreEntry("2", ("a",), "b")]
    return triggered(entries, [text], depth=2, budget=1_000_000, recursive=True, tokens=len)


def heard(text: str) -> None:
    narration = Narration("en", ["mira"])
    for at in range(0, len(text) // 2, 16):
        narration.feed(text[at : at + 16])
    narration.end()


def done_by(text: str) -> None:
    list(attribution.speeches(text, "Mira"))
    list(attribution.deeds(text, "Mira", decided=False))
    attribution.moved(text, "Mira", ["Bo"])


def acted_for(text: str) -> None:
    watching = attribution.Players({"Mira": ("Mira",)}, "", "Bo", {"Bo": "I wait."}, frozenset({"wait"}))
    watching.acted_for(text)
    watched = attribution.WatchedScene(watching, stop=False)
    for at in range(0, len(text), 16):
        watched.feed(text[at : at + 16])
    watched.feed("", last=True)


PARSERS: dict[str, Callable[[str], object]] = {
    "control codes": markdown.clean,
    "mentions": markdown.neutralise,
    "a title": markdown.title,
    "parts": lambda text: markdown.split(text, 2_000),
    "blocks": markdown.blocks,
    "a quotation": quotation,
    "where a text rolls over": lambda text: markdown.roll_offset(text, "a", overdue=False),
    "a link's label": lambda text: is_misleading(text, text),
    "the terminal": terminal,
    "Discord, a line": discord_markdown.inline,
    "Discord, literally": discord_markdown.literal,
    "Discord, a text": lambda text: discord_markdown.pieces(text, 1_900),
    "Slack, a line": slack_escaping.inline,
    "Slack, in a table": slack_escaping.cell_text,
    "Slack, a text": slack_markdown.pieces,
    "Slack, a growing text": lambda text: slack_markdown.pieces(text, whole=False),
    "Slack, mrkdwn": slack_escaping.converted,
    "Slack, made safe": slack_markdown.safe,
    "Slack, who is mentioned": line.people_in,
    "Slack, whether others are": lambda text: line.calls_others(text, "U1"),
    "Slack, escapes": lambda text: line.unwrapped(text, {}),
    "Slack, a message": or_refused(line.parsed_of),
    "fenced data": untrusted.data,
    "thoughts": thoughts,
    "an answer in JSON": or_refused(lambda text: json_answers.read(text, dict[str, str])),
    "a ballot in JSON": or_refused(lambda text: read_json(text, 4)),
    "a ballot in words": lambda text: read_words(text, 4),
    "dissent": dissent,
    "dice in a turn": or_refused(dice.find),
    "a lorebook's keyword": lambda text: pattern_of(f"/{text}/i"),
    "what a lorebook is called up by": called_up,
    "a lorebook's text": lambda text: fill_macros(text, user="a", char="b", seed="1"),
    "choices": lambda text: read_choices(text, 3),
    "a cast in a line": parse_cast,
    "a scene that is struck out": struck_out,
    "a refusal": lambda text: (is_refusal(text), may_become_refusal(text)),
    "what is narrated": lambda text: Narration("en").feed(text[: LENGTH // 2]),
    "what is narrated while it comes": heard,
    "narration without speech": attribution.unquoted,
    "who speaks and acts": done_by,
    "who is acted for": acted_for,
    "citations": gate,
    "a book's own brackets": unmarked,
    "an excerpt": lambda text: excerpt(text, {"a", "lantern"}, "en"),
    "verbatim words": verbatim,
    "bytes": or_refused(lambda text: decode("a.md", text.encode("utf-8", "replace"))),
    "a book in Markdown": or_refused(lambda text: read_markdown("a.md", text)),
    "a book in plain text": or_refused(lambda text: read_text("a.txt", text)),
    "passages": lambda text: chunks(read_markdown("a.md", text), child_chars=800, parent_chars=2_000),
    "terms": lambda text: lexical.terms(text, "en"),
    "a heading's names": lambda text: aliases(text[:300], "en"),  # as long as a heading is kept
    "its language": language.detect,
    "its words": words_of,
    "a command": or_refused(command_line.parse),
    "a question": or_refused(lambda text: command_line.parse(f"/rules ask {text}")),
    "members": or_refused(model_spec.parse_list),
    "a prompt's wording": lambda text: prompts.parts(f"system: {text}"[: prompts.PROMPT_CHARS]),
}


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Switch garbage collection off: it would also scan objects that other tests have left."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("name", PARSERS)
def test_no_text_takes_a_parser_long(name: str) -> None:
    parse = PARSERS[name]
    parse("A lit lantern shows everything within ten paces [1].")  # loads what is loaded at first use

    def processor_s(seed: str, length: int = LENGTH) -> float:
        text = (seed * (length // len(seed) + 1))[:length]
        began = time.process_time()
        parse(text)
        return time.process_time() - began

    # At a quarter of the length a cubic parser takes a 64th. What takes less than that is not tried at all of it.
    suspects = [seed for seed in SEEDS if ALL or processor_s(seed, LENGTH // 4) > SECONDS / 100]
    took = {seed: processor_s(seed) for seed in suspects or SEEDS[:1]}
    worst = max(took, key=took.__getitem__)
    least = took[worst]
    for _ in range(2):  # a shared processor is slow for a moment; a quadratic parser always is
        if least < SECONDS:
            return
        least = min(least, processor_s(worst))
    half = min(processor_s(worst, LENGTH // 2) for _ in range(3))
    linear = least < 3 * half  # a quadratic parser takes four times as long for twice the text
    assert least < (5 if linear else 1) * SECONDS * slowness(), f"{worst!r} took {least:.2f} s of processor"
