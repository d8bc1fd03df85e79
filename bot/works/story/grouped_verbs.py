"""The verbs of stories that have a command of their own on Discord instead of /story (`Verb.group`), by group."""

from __future__ import annotations

from functools import partial
from typing import Final

from bot.verb import LINE_CHARS, PRIVATE, Argument, Option, Verb
from bot.works.story.limits import (
    AGREED_CHARS,
    NAME_CHARS,
    NOTE_CHARS,
    QUERY_CHARS,
    SHEET_CHARS,
    SINCE_CHARS,
    STATE_CHARS,
    TEXT_CHARS,
    TITLE_CHARS,
    TURN_CHARS,
    WHEN_CHARS,
)
from bot.works.story.log.nodes import CHECKS, RATINGS

AGREED: Final = (
    Option("rating", "verbs.option_rating", choices=RATINGS),
    Option("lines", "verbs.option_lines", most=AGREED_CHARS, long=True),
    Option("veils", "verbs.option_veils", most=AGREED_CHARS, long=True),
)
"""What a table agrees on for its safety."""
EXPORTS: Final = (
    "markdown",
    "epub",
    "json",
    "chat",
    "card",
    "card-png",
    "card-charx",
    "card-json",
    "lorebook",
)
"""The formats of `/story export`; the first is the default."""
STORY: Final = Argument("story", "verbs.arg_story", required=False, completes="story")
"""A story of the space; by default the one that is played in the place."""

_HIDDEN = Argument("number", "verbs.arg_hide", required=False, most=WHEN_CHARS)

change = partial(Verb, "story", ordered=True, brief=True)
"""A verb that changes something, and says so in a few lines."""
_secret = partial(Verb, "story", personal=True, secret=True)
_memory = partial(Verb, "story", group="memory")
_party = partial(Verb, "story", group="party")
_gm = partial(Verb, "story", group="gm")
_world = partial(Verb, "story", group="world")
_exchange = partial(Verb, "story", group="exchange")

GROUPED: Final = (
    _memory(
        "recall",
        "the red sundress of the rooftop party",
        Argument("query", "verbs.arg_query", most=QUERY_CHARS),
        (Option("character", "verbs.option_recall_character", completes="character"), PRIVATE),
    ),
    _memory(
        "recap",
        "3 days --words 100",
        Argument("since", "verbs.arg_since", required=False, most=SINCE_CHARS),
        (Option("words", "verbs.option_recap_words", "number", most=2_000), PRIVATE),
        asks=True,
    ),
    _memory("context", options=(PRIVATE,)),
    change("hide", "4", _HIDDEN, group="memory"),
    change("unhide", "4", _HIDDEN, group="memory"),
    _party(
        "stopcard",
        argument=Argument("scene", "verbs.arg_stopcard", required=False, most=WHEN_CHARS),
        personal=True,
        urgent=True,
    ),
    change(
        "safety",
        "--rating teen --lines 'spiders; harm to children' --veils torture",
        options=AGREED,
        group="party",
    ),
    _party(
        "zero",
        "A door in the sea",
        Argument("text", "verbs.arg_zero", required=False, most=4_000),
        (
            Option("step", "verbs.option_step", completes="step"),
            Option("skip", "verbs.option_skip", "flag"),
            Option("back", "verbs.option_back", "flag"),
        ),
        ordered=True,
        holds=True,
    ),
    change("join", group="party"),
    change(
        "leave",
        argument=Argument("who", "verbs.arg_leave", "person", required=False, most=NAME_CHARS),
        group="party",
    ),
    change("play", "Mira", Argument("character", "verbs.arg_play", completes="character"), group="party"),
    change(
        "as",
        "Mira",
        Argument("character", "verbs.arg_as", required=False, most=NAME_CHARS, completes="self"),
        group="party",
    ),
    change(
        "proxy",
        "Mira",
        Argument("name", "verbs.arg_proxy", required=False, most=NAME_CHARS),
        (
            Option("player", "verbs.option_proxy_player", "person", most=NAME_CHARS),
            Option("remove", "verbs.option_proxy_remove", "flag"),
        ),
        group="party",
    ),
    change(
        "gm", "Bia", Argument("who", "verbs.arg_gm", "person", required=False, most=NAME_CHARS), group="party"
    ),
    change(
        "deadline",
        "2 days",
        Argument("span", "verbs.arg_deadline", required=False, most=WHEN_CHARS),
        group="party",
    ),
    _party(
        "missed",
        options=(Option("words", "verbs.option_recap_words", "number", most=2_000), PRIVATE),
        asks=True,
    ),
    _secret(
        "whisper",
        "Bia: the lamp is a trap",
        Argument("text", "verbs.arg_whisper", required=False, most=1_100),
        group="party",
    ),
    _secret(
        "screen",
        argument=STORY,
        options=(Option("download", "verbs.option_screen_download", "flag"),),
        group="gm",
    ),
    _secret(
        "plan",
        "The keeper of the lamp is Mira's father.",
        Argument("text", "verbs.arg_plan", required=False, most=NOTE_CHARS, kept=True),
        (
            Option("tell", "verbs.option_tell", "number", most=1_000),
            Option("remove", "verbs.option_remove_entry", "number", most=1_000),
        ),
        group="gm",
    ),
    _secret(
        "roll",
        "1d20+3 --for 'Mira listens'",
        Argument("expression", "verbs.arg_expression", most=NOTE_CHARS, terse=True),
        (Option("for", "verbs.option_roll_for", most=TEXT_CHARS),),
        group="gm",
    ),
    _gm("reveal", "2", Argument("number", "verbs.arg_reveal", most=WHEN_CHARS), personal=True),
    _secret(
        "try",
        "The lamp goes out, and something answers.",
        Argument("what", "verbs.arg_try", required=False, most=TURN_CHARS),
        (
            Option("play", "verbs.option_try_play", "number", most=1_000),
            Option("drop", "verbs.option_try_drop", "number", most=1_000),
        ),
        asks=True,
        group="gm",
    ),
    change(
        "state",
        "Mira holding: the lamp",
        Argument("character", "verbs.arg_state", required=False, completes="character", most=STATE_CHARS),
        (PRIVATE,),
        group="world",
    ),
    _world(
        "characters",
        "Mira",
        Argument("character", "verbs.arg_remembering", required=False, completes="character"),
        (PRIVATE,),
    ),
    _world(
        "interview",
        "Mira what do you fear?",
        Argument("question", "verbs.arg_interview", most=NOTE_CHARS),
        (Option("character", "verbs.option_interview", completes="character"), PRIVATE),
        ordered=True,
        asks=True,
    ),
    change(
        "plot",
        "the bell is found: no",
        Argument("event", "verbs.arg_event", required=False, most=STATE_CHARS),
        (PRIVATE,),
        guarded=True,
        group="world",
    ),
    change(
        "threads",
        "open Who locked the gate?",
        Argument("change", "verbs.arg_threads", required=False, most=STATE_CHARS),
        (PRIVATE,),
        group="world",
    ),
    change(
        "arc",
        "the door is found | the tower floods; Bo is lost | the door is shut",
        Argument("milestones", "verbs.arg_arc", required=False, most=LINE_CHARS, kept=True),
        (Option("write", "verbs.option_write_arc", "number", most=15, asks=True), PRIVATE),
        guarded=True,
        group="world",
    ),
    change(
        "chapter",
        "The lower stairs --events 'the bell is found; the lamp goes out'",
        Argument("title", "verbs.arg_chapter", required=False, most=TITLE_CHARS, kept=True),
        (
            Option("location", "verbs.option_location", completes="location", most=TEXT_CHARS),
            Option("time", "verbs.option_time", most=TEXT_CHARS),
            Option("scenario", "verbs.option_scenario", most=TEXT_CHARS, long=True),
            Option("events", "verbs.option_events", most=SHEET_CHARS, long=True),
            Option("write", "verbs.option_write_events", "number", most=12, asks=True),
            Option("climax", "verbs.option_climax", most=TEXT_CHARS),
            Option("resolution", "verbs.option_resolution", most=TEXT_CHARS),
            Option("check", "verbs.option_check", choices=CHECKS),
            PRIVATE,
        ),
        guarded=True,
        group="world",
    ),
    change(
        "initiative",
        "begin Mira, Bo, Goblin +2",
        Argument("step", "verbs.arg_initiative", required=False, most=STATE_CHARS),
        group="character",
    ),
    change(
        "sheet",
        "Mira hp -4",
        Argument("character", "verbs.arg_sheet", required=False, completes="character", most=STATE_CHARS),
        (
            Option("change", "verbs.option_sheet_change", most=STATE_CHARS),
            Option("template", "verbs.option_sheet_template", completes="template"),
            Option("of", "verbs.option_sheet_of", completes="character"),
            Option("remove", "verbs.option_sheet_remove", "flag"),
        ),
        group="character",
    ),
    _exchange(
        "import",
        "mira.png",
        Argument("paths", "verbs.arg_story_files", many=True, completes="path"),
        background=True,
    ),
    _exchange("history", background=True),
    _exchange(
        "export",
        "--as epub",
        STORY,
        (
            Option("as", "verbs.option_export_as", choices=EXPORTS),
            Option("character", "verbs.option_export_character", completes="character"),
            PRIVATE,
        ),
        guarded=True,
    ),
    _exchange("share", argument=STORY, options=(PRIVATE,)),
    change(
        "keep",
        "Mira",
        Argument("name", "verbs.arg_keep", required=False, most=NAME_CHARS, completes="kept"),
        (
            Option("world", "verbs.option_keep_world", "flag"),
            Option("publish", "verbs.option_keep_publish", "flag"),
            Option("unpublish", "verbs.option_keep_unpublish", "flag"),
            Option("remove", "verbs.option_keep_remove", "flag"),
            Option("card", "verbs.option_keep_card", "flag"),
        ),
        group="exchange",
    ),
    change(
        "bring",
        "Mira --lived",
        Argument("name", "verbs.arg_bring", required=False, most=NAME_CHARS, completes="kept"),
        (Option("lived", "verbs.option_bring_lived", "flag"),),
        group="exchange",
    ),
)
