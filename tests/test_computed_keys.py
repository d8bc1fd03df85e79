"""Every catalogue key that code can build exists in each language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import get_args

from bot.access import Whose
from bot.adapters.discord.installed.setup import FOR_VOICE, PERMISSIONS
from bot.adapters.discord.received.commands import ONLY_HERE, texts
from bot.adapters.discord.shown.overflow import Way as Overflow
from bot.adapters.slack.received.commands import asking_works
from bot.admin_budgets import PERIODS, Holder
from bot.commands import ROWS, TABLE
from bot.events import Ended
from bot.llm.base import ModelFault
from bot.llm.models_probe import WAYS
from bot.settings import OFF, ON, ROLES
from bot.speech.clips import ROLES as SPEAKING_ROLES
from bot.speech.engines.base import Why as Unspoken
from bot.speech.recording import Why as NoRecording
from bot.words import LOCALES, words
from bot.works import ON_THE_COMMAND_LINE
from bot.works.council import LEVELS
from bot.works.council.formatting import AGREE
from bot.works.council.values import ReadFrom
from bot.works.library.jobs import PHASES
from bot.works.privacy.work import COUNTED
from bot.works.settings.channels import OF_CHANNELS
from bot.works.story.exchange.library import ASKED
from bot.works.story.log.nodes import KINDS as MEMORIES
from bot.works.story.log.nodes import MODES, RATINGS
from bot.works.story.memory.branch import Reason
from bot.works.story.turn.context import Parts
from bot.works.story.turn.session_zero import BEGIN, STEPS
from bot.works.story.world.agreement import AGREED
from bot.works.story.world.state import FIELDS
from bot.works.story.world.world_verbs import OPTIONS
from storage.councils import CouncilKind
from storage.disk_usage import UsageKind
from storage.faults import FaultKind
from storage.ledger import Capped
from storage.ledger import Whose as Holds
from storage.scripts import VISIBILITIES
from storage.settings import Scope
from storage.story_library import Kept

ENGLISH = words(LOCALES[0]).sentences()
CODE = [path for folder in ("bot", "storage", "cogs") for path in sorted(Path(folder).rglob("*.py"))]
SCOPES = [scope for scope in get_args(Scope) if scope != "config"]
VOICE_SCOPES = [scope for scope in SCOPES if scope != "category"]
NO_KEYS = {"file.{}", "files.{}", "sutradhar.{}", "samples.{}", "typed.{}", "typed.verb_{}"}
"""A file's name, a host's name, the name of a span, what only the Portuguese catalogue has, and words that people type
(see test_words).
"""


@cache
def patterns() -> dict[str, str]:
    """Each f-string that makes a key, with {} for its values, and one place where it occurs."""
    found: dict[str, str] = {}
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
                if re.fullmatch(r"[a-z_]+\.[a-z_]*\{\}[a-z_{}]*", pattern := "".join(parts)):
                    found[pattern] = f"{path}:{node.lineno}"
    return found


def given_to(function: str, *files: str) -> set[str]:
    """The first argument of every call of this function, if it is a constant."""
    calls = (
        node
        for file in files
        for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and node.args
    )
    return {
        str(constant.value)
        for call in calls
        if getattr(call.func, "id", getattr(call.func, "attr", "")) == function
        for constant in ast.walk(call.args[0])
        if isinstance(constant, ast.Constant)
    }


def underscored(names: Iterable[str]) -> list[str]:
    return [name.replace("-", "_") for name in names]


def named() -> set[str]:
    """The arguments of `words.name_of`: options of forms, and their values."""
    names = {f"option_{option.name}" for row in TABLE for option in row.options if option.name in row.form}
    for row in TABLE:
        names |= {f"{option.name}_{value}" for option in row.options for value in option.choices}
    return set(underscored(names))


DISCORD = [row for row in TABLE if not row.inner]
GROUPS = sorted({row.group or row.work for row in DISCORD if not row.bare})
ARGUMENTS = [name for row in DISCORD if row.argument is not None for name in texts(row)]
PLAIN = [row.work for row in ROWS.values() if row.plain]
HELD = [f"{whose}_{per}" for whose in get_args(Holds) for per in PERIODS]
VALUES: Mapping[str, Iterable[str]] = {
    "access.by_{}": get_args(Whose),
    "access.named_{}": ("person", "group"),
    "access.no_{}": ("person", "group"),
    "access.{}": ("allowed", "denied", "removed", "no_rule", "in_config"),
    "budget.{}": get_args(Capped),
    "budget.most_{}": HELD,
    "budget.over_{}": HELD,
    "budget.used_{}": HELD,
    "budgets.a_{}": PERIODS,
    "budgets.of_{}": get_args(Holder),
    "buttons.thanks_{}": ("up", "down"),
    "cli.models_{}": ("pull", "path"),
    "cli.{}": ON_THE_COMMAND_LINE,
    "council.agree_{}": [name for _, name in AGREE],
    "council.ask_{}": LEVELS[:-1],
    "council.chair_{}": ("refusal", "silent", "length", "cut"),
    "council.column_{}": ("place", "answer", "points", "rank", "votes"),
    "council.column_{}_self": ("with", "without"),
    "council.self_{}": ("counted", "left_out"),
    "council.show_{}": ("answers", "ballots", "key", "research"),
    "council.unfinished_{}": ("why", "any"),
    "council.{}": ("best", "likest", "any"),
    "channels.work_{}": ("channel", "category", "space", "config"),
    "council_settings.{}": (
        *("saved", "reset", "was_default", "own", "default"),
        *(row.name for row in TABLE if row.work == "council" and row.sets),
    ),
    "council_show.kind_{}": {kind or "open" for kind in get_args(CouncilKind)} | {"any"},
    "council_show.source_{}": get_args(ReadFrom),
    "council_show.{}": ("answers", "ballots", "key", "research"),
    "council_stats.panel_{}": given_to("panel", "bot/works/council/stats.py"),
    "course.{}": ("no_lesson_anywhere", "no_lesson", "several", "no_such"),
    "db.fault_{}": get_args(FaultKind),
    "db.kind_{}": get_args(UsageKind),
    "db.progress_{}": ("rows", "vectors", "files", "verifying"),
    "discord.option_{}": {*ARGUMENTS} - {row.argument.name for row in DISCORD if row.argument is not None},
    "discord_doctor.perm_{}": {
        *PERMISSIONS,
        *FOR_VOICE,
        "request_to_speak",
        "manage_webhooks",
        "view_channel",
    },
    "discord_doctor.why_{}": (*PERMISSIONS, *FOR_VOICE),
    "library.file_{}": ("bomb", "damaged", "empty", "locked"),
    "library.kind_{}": ("add", "import", "history", "reindex"),
    "library.phase_{}": PHASES,
    "library.unread_{}": ("pictures", "characters", "file"),
    "library.span_{}": ("days", "hours", "minutes"),
    "library.state_{}": ("running", "done", "failed", "stopped", "waiting"),
    "library.{}": {*given_to("no", "bot/retrieval/files.py"), "ready", "vectors_at", "by_words"},
    "model.demo_{}": ("absent", "broken"),
    "model.{}": get_args(ModelFault),
    "models.{}": ("absent", "broken"),
    "names.group_{}": GROUPS,
    "names.rating_{}": RATINGS,
    "names.{}": {*(row.name for row in DISCORD if row.bare), *ONLY_HERE},
    "names.{}_{}": {
        *(f"{row.work}_{row.name}" for row in DISCORD if not row.bare),
        *(f"rating_{name}" for name in RATINGS),
        *(f"mode_{name}" for name in underscored(MODES)),
        *named(),
    },
    "overflow.{}": get_args(Overflow),
    "own_name.{}": ("no_permission", "full", "deleted", "limited"),
    "privacy.n_{}": COUNTED,
    "probe.way_{}": WAYS,
    "prompts.{}": ("stale", "own", "bundled"),
    "rules.finish_{}": ("length", "refusal", "cut"),
    "rules.other_language{}": ("", "_soon", "_unknown"),
    "schedule.day_{}": map(str, range(7)),
    "schedule.every_{}": next(row for row in TABLE if row.path == "schedule recap").options[1].choices,
    "schedule.is_{}": ("reminder", "recap", "nudge", "lesson"),
    "schedule.{}ed": ("follow", "unfollow"),
    "script.column_{}": ("light", "place"),
    "script.for_{}": VISIBILITIES,
    "script.shared_{}": VISIBILITIES,
    "script.which_{}": ("changed", "cut", "new"),
    "script.{}": ("changed", "cut", "new", "acts", "characters", "threads_title"),
    "sessions.state_{}": ("active", "closed", "archived", "here"),
    "sessions.{}": ("resumed", "resumed_private", "resumed_there", "reopened", "moved", "nowhere"),
    "settings.by_{}": (*SCOPES, "app", "config", "default"),
    "settings.for_{}": (*SCOPES, "app", "config", "default"),
    "settings.holds_{}": (*SCOPES, "app", "config", "default"),
    "settings.is_{}": (*ROLES, *OF_CHANNELS),
    "settings.reset_{}": SCOPES,
    "settings.saved_{}": SCOPES,
    "settings.unset_{}": SCOPES,
    "slack_doctor.{}": ("scope_public", "scope_customize", "scope_group_dms"),
    "slack_thread.plan_{}": (*get_args(Ended), "goes_on"),
    "slack_thread.{}": given_to("_sentence", "bot/adapters/slack/shown/home.py"),
    "slack_welcome.{}": ("channel", "installer", "check_channel_public", "check_channel_not"),
    "slack_window.hint_{}": PLAIN,
    "slack_window.work_{}": asking_works(),
    "speech.fault_{}": get_args(Unspoken),
    "speech.role_{}": SPEAKING_ROLES,
    "storage.{}": get_args(FaultKind),
    "usage.by_{}": ("work", "model", "person", "channel", "day"),
    "exchange.no_{}": ("channel", "category", "person", "group"),
    "usage.chart_{}": ("work", "model", "person", "channel", "day"),
    "story.about_{}": ("premise", "genre", "tone", "view", "length", "sheets", "mode", "note"),
    "story.agreed_{}": AGREED,
    "story.because_{}": get_args(Reason),
    "story.chapter_{}": OPTIONS,
    "story.deadline_{}": underscored(MODES),
    "story.end_{}": ("epub", "markdown"),
    "story.dice_natural_{}": ("1", "20"),
    "story.dice_{}": {
        "rolled",
        "checked",
        "result",
        "success",
        "failure",
        "under_success",
        "under_failure",
        *given_to("_error", "bot/works/story/turn/dice.py"),
    },
    "story.finish_{}": ("length", "cut"),
    "story.kept_now_{}": get_args(Kept),
    "story.kept_{}": (*get_args(Kept), *ASKED),
    "story.mode_{}": underscored(MODES),
    "story.preset_{}": given_to("_error", "bot/works/story/world/presets.py"),
    "story.remembers_{}": MEMORIES,
    "story.initiative_button_{}": ("next", "delay"),
    "story.sheet_{}": ("counters", "skills", "conditions", "things"),
    "story.span_{}": ("days", "hours", "minutes"),
    "story.state_{}": FIELDS,
    "story.window_{}": (*Parts("", "", "", [], "", [], "", "", "", "", 0).tokens(), "free"),
    "story.zero_{}": (*STEPS, BEGIN),
    "story.{}": ("crossed", "flagged"),
    "verbs.group_{}": GROUPS,
    "verbs.{}": {row.summary.removeprefix("verbs.") for row in DISCORD},
    "voice.called_{}": ("voice", "speed"),
    "voice.narrated_{}": (ON, OFF),
    "voice.recording_{}": get_args(NoRecording),
    "voice.reset_{}": VOICE_SCOPES,
    "voice.saved_{}": VOICE_SCOPES,
    "voice.title_{}": [row.name for row in DISCORD if row.work == "voice" and not row.hears],
    "welcome.{}": ONLY_HERE,
}


def test_every_f_string_that_makes_a_key_says_here_what_its_values_are() -> None:
    assert {
        pattern: where for pattern, where in patterns().items() if pattern not in {*VALUES, *NO_KEYS}
    } == {}
    assert VALUES.keys() - patterns().keys() == set()


def test_every_key_that_can_be_built_is_in_the_catalogue() -> None:
    """Both languages have the same keys: see test_words."""
    built = {
        f"{head}{value}{tail}"
        for pattern, values in VALUES.items()
        for head, _, tail in [pattern.partition("{}") if pattern.count("{}") == 1 else ("names.", "", "")]
        for value in values
    }
    assert sorted(built - ENGLISH.keys()) == []
