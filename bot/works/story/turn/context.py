"""Builds the writer's prompt from a story: stable parts first and parts that change every turn last, so that a
service's cache holds most of it.

A scene, its other versions, its choices and questions to the game master share the whole prompt except its last
message. The same story and the same frame always give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot import untrusted
from bot.budget import MESSAGE_TOKENS, text_tokens
from bot.llm.base import Message, Prompt
from bot.text_cache import cached
from bot.works.story.log.story import Story
from bot.works.story.log.turn import Act, Turn
from bot.works.story.sheet import initiative, sheet
from bot.works.story.world import so_far, state
from bot.works.story.world.agreement import AGREED
from bot.works.story.world.lore_text import entry_of, fill_macros

PLAYER: Final = "the player"
CHARACTER: Final = "the character"
"""What `{{user}}` and `{{char}}` become in lore where several characters could be meant."""
READ: Final = "I have read it."
"""An assistant's message between two of the user's: some models require that they alternate."""

_FILLED_SHARE = 0.5
"""The share of the room that stays filled after the oldest batches are dropped, so that this rarely voids the cache."""

DEALINGS: Final = 5
"""How many sentences, of the last scenes with both characters, show the writer how a pair deals with each other."""
DEALING_CHARS: Final = 200
"""The maximum length of such a sentence."""
DEALING_TOKENS: Final = 120
"""The maximum number of tokens of such a sentence with the two names."""
_SENTENCE = re.compile(r"(?<=[.!?…])\s+")
COUNTED_SEQ, TOKEN_SUMS, LORE_TOKENS, FIRSTS = (
    f"{__name__}.{name}" for name in ("seq", "sums", "lore", "firsts")
)
"""Keys of `Story.cache`: the node up to which turns are counted, the sums of their tokens, the tokens of lore in each,
and the first turn of the prompt after each.
"""
COUNTED: Final = 300_000
"""The maximum number of turns in `_counts`."""
_counts: dict[int, int] = {}
"""The tokens of turns, by the hash of their text."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a prompt has besides the story; a run decides it once.

    `system`, `preamble` and `task` are texts of prompts.yml, filled in; the preamble comes before the story. `tokens`
    is the number that the story may take, `answer` that of the answer. `recent` and `batch` are numbers of turns
    (`StoryConfig`). `recalled` are past scenes and `pacing` is a hint about the chapter, both "" for none. `lore` are
    the contents of entries, `overused` phrases that occur too often.
    """

    system: str
    task: str
    tokens: int
    answer: int
    preamble: str = ""
    recent: int = 5
    batch: int = 5
    lore: tuple[str, ...] = ()
    recalled: str = ""
    pacing: str = ""
    overused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a prompt, in their order; those up to `older` change at most once in a batch of turns.

    `changed` is what has changed in the state since the last full batch. `full_turns` are the ids of the turns that are
    included word for word.
    """

    system: str
    foundation: str
    so_far: str
    older: list[Message]
    focus: str
    recent: list[Message]
    lore: str
    recalled: str
    changed: str
    task: str
    answer: int
    full_turns: frozenset[str] = frozenset()

    def prompt(self) -> Prompt:
        messages = [_user(self.foundation, cache=True), _assistant(READ)]
        so_far = [_user(self.so_far), _assistant(READ)] if self.so_far else []
        messages += _with_cache_marks([*so_far, *self.older])
        if self.focus:
            messages += [_user(self.focus), _assistant(READ)]
        # The last action but one was marked a turn ago, for services that read their cache only up to a mark.
        messages += _with_cache_marks(self.recent, 2)
        tail = "\n".join(part for part in (self.lore, self.recalled, self.changed, self.task) if part)
        messages.append(_user(tail, cache=True))
        return Prompt(self.system, tuple(messages), max_tokens=self.answer, cache=False)

    def tokens(self) -> dict[str, int]:
        """The number of tokens of each part, by the part's name."""
        texts = {
            "foundation": [self.system, self.foundation],
            "so_far": [self.so_far],
            "older": [message.text for message in self.older],
            "focus": [self.focus],
            "recent": [message.text for message in self.recent],
            "lore": [self.lore],
            "recalled": [self.recalled, self.changed],
            "task": [self.task],
        }
        return {name: sum(map(text_tokens, part)) for name, part in texts.items()} | {"answer": self.answer}


def prompt(story: Story, frame: Frame, *, before: str | None = None, last: str = "") -> Prompt:
    """The prompt for a task after the whole story, or after the turns before the turn `before`.

    `last` is what the final message says after the task, such as the player's action. Raises ValueError if the turn is
    not on this branch.
    """
    return parts(story, frame, before=before, last=last).prompt()


def parts(story: Story, frame: Frame, *, before: str | None = None, last: str = "") -> Parts:
    """The parts of that prompt. Raises ValueError if the turn is not on this branch."""
    turns = story.current_turns
    if before is not None:
        turns = turns[: story.path.index(before, 0, story.length)]
    foundation, styles, focus = _foundation(story, frame.preamble), _styles(story), _focus(story)
    styles = "\n".join(part for part in (styles, state.chapter_prompt(story, turns)) if part)
    # Room for all sentences of `_interactions` is reserved, so that the first turn does not change when they grow.
    fixed = sum(map(text_tokens, (frame.system, foundation, styles, focus)))
    fixed += len(story.presets) * DEALINGS * DEALING_TOKENS
    count = max(0, len(turns) - frame.recent) // frame.batch * frame.batch
    settled = turns[:count]
    characters = state.characters_after(story, settled)
    characters_text = state.as_prompt(characters)
    # So is room for the state.
    fixed += min(state.STATE_TOKENS, frame.tokens // 8) if characters_text else 0
    focus = "\n".join(part for part in (_interactions(story, settled), characters_text, focus) if part)
    room = frame.tokens - fixed
    lore_tokens = [*map(text_tokens, frame.lore)]
    so_far_tokens = min(so_far.TOKENS, max(0, room) // 8)
    sums = _sums(story, len(turns))
    lore_counts = [*story.cache[LORE_TOKENS][: len(turns)], sum(lore_tokens)]
    first = _first_turn(story, sums, lore_counts, frame, room, so_far_tokens)
    past = so_far.as_prompt(story, turns, first, so_far_tokens)
    free = room - text_tokens(past) - (sums[-1] - sums[first])
    left_out = 0
    while sum(lore_tokens[left_out:]) > max(0, free):  # an unusually long foundation, or one endless turn
        left_out += 1
    changed = state.changes_since(story, turns, count, characters, before or "")
    changed = "\n".join(
        part for part in (changed, sheet.as_prompt(story), initiative.as_prompt(story)) if part
    )
    return Parts(
        frame.system,
        "\n".join(part for part in (foundation, styles) if part),
        past,
        _history(story, turns[first:count]),
        focus,
        _history(story, turns[max(first, count) :]),
        _tagged("lore", frame.lore[left_out:]),
        frame.recalled,
        changed,
        _task(frame, last),
        frame.answer,
        frozenset(turn.id for turn in turns[first:]),
    )


def follow_up(asked: Prompt, scene: str, task: str, *, answer: int) -> Prompt:
    """The prompt for a task about the scene that answered `asked`, which the service's cache still holds."""
    messages = (*asked.messages, _assistant(scene or READ), _user(task))
    return Prompt(asked.system, messages, max_tokens=answer)


def demo_prompt(story: Story, turn: Turn, *, answer: int) -> Prompt:
    """The prompt for the demo model, which continues a text and understands little else."""
    turns = story.current_turns
    before = turns[: [earlier.id for earlier in turns].index(turn.id)][-2:]
    scenes = [
        earlier.scene.text.strip()
        for earlier in before
        if earlier.scene is not None and earlier.id not in story.hidden
    ]
    premise = untrusted.data(str(story.settings.get("premise", "")))
    player = untrusted.data(turn.act.character or turn.act.name or "The hero")
    done = untrusted.data(turn.act.text)
    deed = "" if turn.act.mode in ("open", "continue") or not done else f"{player}: {done}"
    task = "Tell what happens next, in four sentences."
    if turn.act.mode == "end":
        task = "Tell how the story ends, in four sentences."
    if speaker := untrusted.data(turn.act.speaker):
        task = f"Write only what {speaker} answers, in two sentences."
    parts = [f"A story about this: {premise}", *map(untrusted.data, scenes), deed]
    text = "\n\n".join([*(part for part in parts if part), task])
    system = "You are a storyteller. You write short scenes of a story, in plain prose."
    return Prompt(system, (_user(text),), max_tokens=min(answer, 200), temperature=0.8)


def _user(text: str, *, cache: bool = False) -> Message:
    return Message("user", text, cache=cache)


def _assistant(text: str) -> Message:
    return Message("assistant", text)


def _with_cache_marks(messages: list[Message], last: int = 1) -> list[Message]:
    """The messages with cache marks on the last actions, since some services ignore a mark on a model's own words."""
    actions = [n for n, message in enumerate(messages) if message.role == "user"][-last:]
    return [replace(message, cache=True) if n in actions else message for n, message in enumerate(messages)]


def _sums(story: Story, count: int) -> list[int]:
    """The numbers of tokens of the first 0, 1, … `count` turns.

    Updates them in the story's cache, and the tokens of lore in each turn.
    """
    turns, seq = story.current_turns, story.cache.get(COUNTED_SEQ, 0)
    sums = story.cache.setdefault(TOKEN_SUMS, [0])
    lore_counts = story.cache.setdefault(LORE_TOKENS, [])
    same = min(story.unchanged_since(seq), len(lore_counts), len(turns))
    del sums[same + 1 :], lore_counts[same:]
    for turn in turns[same:]:
        sums.append(sums[-1] + (0 if turn.id in story.hidden else _tokens(turn)))
        lore_counts.append(turn.lore_tokens)
    story.cache[COUNTED_SEQ] = story.seq
    return list(sums[: count + 1])


def _first_turn(
    story: Story, sums: Sequence[int], lore_counts: Sequence[int], frame: Frame, room: int, so_far: int
) -> int:
    """The index of the first turn in the prompt.

    The turns share `room` tokens with the lore that applies and, once earlier turns are left out, with `so_far` tokens
    of the story so far. `sums[n]` is the number of tokens of the first n turns; `lore_counts` are the tokens of lore in
    each turn's prompt, and last in this one.

    When the turns outgrow the room, the oldest are left out until half of it is free, and the next only when it is full
    again; if possible this happens when a batch is full and the prompt changes anyway. So the prompt's beginning stays
    the same in between. It is decided turn by turn from the first one, so that folding the story again gives the same
    result; the decisions for earlier turns are cached.
    """
    inputs = frame.batch, frame.recent, room, so_far
    cached_inputs, seq, cached_firsts = story.cache.get(FIRSTS, (None, 0, []))
    valid = min(story.unchanged_since(seq), len(sums) - 1) if cached_inputs == inputs else 0
    firsts: list[int] = cached_firsts[:valid] or [0]
    for count in range(len(firsts), len(sums)):
        firsts.append(_next_first_turn(firsts[-1], count, sums, lore_counts, frame, room, so_far))
    # The last one is not cached, since it depends on the lore of this prompt.
    story.cache[FIRSTS] = inputs, story.seq, firsts[:-1] or [0]
    return firsts[-1]


def _next_first_turn(
    first: int,
    count: int,
    sums: Sequence[int],
    lore_counts: Sequence[int],
    frame: Frame,
    room: int,
    so_far: int,
) -> int:
    """The index of the prompt's first turn after `count` turns, given the one after a turn less (`first`)."""
    size, recent = frame.batch, frame.recent
    settled, since = divmod(max(0, count - recent), size)
    settled *= size
    needed = sums[count] - sums[first] + lore_counts[count] + (so_far if first else 0)
    if needed <= room and (since or not settled):
        return first
    # Assume that the turns until the next full batch are like the last ones, with as much lore.
    last = max(0, count - recent)
    growing = (sums[count] - sums[last]) * (size - since) // (count - last)
    growing += max(lore_counts[max(0, last - size) : count + 1])
    if sums[count] - sums[first] + growing <= (room - so_far if first else room):
        return first
    left = room - so_far
    while first < settled and sums[count] - sums[first] + growing > left * _FILLED_SHARE:
        first = min(settled, (first // size + 1) * size)
    if sums[count] - sums[first] + growing > left:  # a window that holds only the last turns
        while first < count - 1 and sums[count] - sums[first] > (left - lore_counts[count]) * _FILLED_SHARE:
            first += 1
    return first


def _tokens(turn: Turn) -> int:
    """The tokens of a turn; they are cached by the hash of its texts, which takes far less memory than the texts."""
    contents = turn.act, turn.intents, turn.scene.text if turn.scene is not None else ""
    if (tokens := _counts.get(key := hash(contents))) is None:
        if len(_counts) >= COUNTED:
            _counts.clear()
        messages = _messages(*contents)
        tokens = _counts[key] = sum(text_tokens(message.text) + MESSAGE_TOKENS for message in messages)
    return tokens


def _history(story: Story, turns: Sequence[Turn]) -> list[Message]:
    """The messages of these turns, without the hidden ones."""
    return [
        message
        for turn in turns
        if turn.id not in story.hidden
        for message in _cached_messages(
            turn.act, turn.intents, turn.scene.text if turn.scene is not None else ""
        )
    ]


def _messages(act: Act, intents: tuple[tuple[str, str], ...], scene: str) -> tuple[Message, Message]:
    """The two messages of a turn: the player's action, and the scene that followed."""
    return _user(action(act, intents)), _assistant(untrusted.data(scene).strip() or "…")


_cached_messages = cached(500_000)(_messages)


def action(act: Act, intents: Sequence[tuple[str, str]] = ()) -> str:
    """A player's action for the writer, after the other players' intentions."""
    intentions = "".join(
        f'<intent by="{_name(name)}">{untrusted.data(text)}</intent>\n' for name, text in intents
    )
    plays = f' plays="{_name(act.character)}"' if act.character else ""
    dice = "".join(f"\n<dice>{untrusted.data(line)}</dice>" for line in act.rolls)
    text = {"open": "The story begins.", "continue": "Go on."}.get(act.mode) or untrusted.data(act.text)
    if act.mode == "end":
        text = f"{text}\nThe story ends.".strip()
    if act.speaker:
        plays, text = f' speaker="{_name(act.speaker)}"', f"{untrusted.data(act.speaker)} replies."
    by = _name(act.name or "a player")
    return f'{intentions}<turn by="{by}"{plays} how="{act.mode}">\n{text}{dice}\n</turn>'


def _name(text: str) -> str:
    """The text in a form that is safe as an attribute's value."""
    return " ".join(untrusted.data(text).replace('"', "'").split())


def _foundation(story: Story, begins: str) -> str:
    names = ("title", "premise", "genre", "tone", "view", "tense", "length", *AGREED)
    lines = [
        f"{name}: {untrusted.data(str(story.settings[name]))}" for name in names if story.settings.get(name)
    ]
    cast = [_sheet(name, sheet) for name, sheet in story.cast.items()]
    constant = [
        entry_of(id, entry)
        for id, entry in story.lore.items()
        if entry.get("constant") or "@@activate" in entry["content"]
    ]
    always = sorted(
        (entry for entry in constant if entry.enabled and entry.always), key=lambda entry: entry.order
    )
    before, after = (
        [
            text
            for entry in always
            if entry.position == position
            if (text := lore_text(story, entry.content, entry.id))
        ]
        for position in ("before", "after")
    )
    parts = [begins, "<foundation>", *lines, "</foundation>", _tagged("lore", before)]
    if prose := [untrusted.data(str(line)) for line in story.settings.get("prose_lines") or ()]:
        parts += ["<prose>", *prose, "</prose>"]
    if cast:
        parts += ["<cast>", *cast, "</cast>"]
    return "\n".join(part for part in (*parts, _tagged("lore", after)) if part)


def lore_text(story: Story, text: str, seed: str, char: str = "") -> str:
    """The text or a key of an entry with its macros filled in.

    `{{user}}` becomes the players' character and `{{char}}` the other one, if there is only one of these.
    """
    if "{{" not in text and "<" not in text:
        return text
    played = [name for name, sheet in story.cast.items() if sheet.get("player")]
    others = [name for name in story.cast if name not in played]
    user = played[0] if len(played) == 1 else PLAYER
    return fill_macros(
        text, user=user, char=char or (others[0] if len(others) == 1 else CHARACTER), seed=seed
    )


def _sheet(name: str, sheet: dict[str, object]) -> str:
    fields = [
        f"{key}: {value}"
        for key, value in sheet.items()
        if value and key not in ("style", "player", "picture", "muted", "card")
    ]
    lines = "\n".join(untrusted.data(str(line)) for line in fields)
    return f'<character name="{_name(name)}">\n{lines}\n</character>'


def _styles(story: Story) -> str:
    lines = [
        f'<style of="{_name(name)}">{untrusted.data(str(sheet["style"]))}</style>'
        for name, sheet in story.cast.items()
        if sheet.get("style")
    ]
    return "\n".join(["<styles>", *lines, "</styles>"]) if lines else ""


def _interactions(story: Story, settled: Sequence[Turn]) -> str:
    """How pairs with a preset have dealt with each other: a sentence from each of the last scenes with both.

    `settled` are the turns of full batches, so that this changes only when a batch becomes full.
    """
    if not story.presets:
        return ""
    scenes = [
        (n, turn.scene.text)
        for n, turn in enumerate(settled, 1)
        if turn.scene is not None and turn.id not in story.hidden
    ]
    lines = []
    for (first, second), preset in story.presets.items():
        sentences = [
            (n, sentence) for n, text in scenes if (sentence := _shared_sentence(text, first, second))
        ]
        pair = f"{first} and {second} ({str(preset['preset']).replace('-', ' ')})"
        lines += [untrusted.data(f"{pair}, scene {n}: {sentence}") for n, sentence in sentences[-DEALINGS:]]
    return "\n".join(["<interactions>", *lines, "</interactions>"]) if lines else ""


@cached(8_000_000)
def _shared_sentence(scene: str, first: str, second: str) -> str:
    """The first sentence of a scene that names both characters; "" for none."""
    if first not in scene or second not in scene:
        return ""
    sentences = (part for part in _SENTENCE.split(scene) if first in part and second in part)
    return " ".join(next(sentences, "").split())[:DEALING_CHARS]


def _focus(story: Story) -> str:
    """What changes seldom: how characters deal with each other, who is muted, pinned memories and the note."""
    parts = []
    if relations := [str(line) for preset in story.presets.values() for line in preset["lines"]]:
        parts += ["<relations>", *map(untrusted.data, relations), "</relations>"]
    if muted := [_name(name) for name, sheet in story.cast.items() if sheet.get("muted")]:
        parts.append(f"<silent>{', '.join(muted)}</silent>")
    if story.memories:
        parts += [
            "<memories>",
            *(f"- {untrusted.data(text)}" for text in story.memories.values()),
            "</memories>",
        ]
    if note := str(story.settings.get("note") or ""):
        parts += ["<note>", untrusted.data(note), "</note>"]
    return "\n".join(parts)


def _tagged(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f"<{name}>", *map(untrusted.data, lines), f"</{name}>"]) if lines else ""


def _task(frame: Frame, last: str) -> str:
    """The end of the last message: overused phrases, pacing, the task, and what the task is about."""
    phrases = "; ".join(map(untrusted.data, frame.overused))
    overused = f"<overused>{phrases}</overused>" if phrases else ""
    return "\n".join(part for part in (overused, frame.pacing, frame.task, last) if part)
