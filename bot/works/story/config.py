"""What config.toml's [story] says: how stories are played where nobody says otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bot.config.settings import choice, within


@dataclass(frozen=True, slots=True)
class StoryConfig:
    """How stories are played where neither the table nor the story says otherwise.

    A scene has about `short`, `medium` or `long` words; `length` is the usual one of these, `mode` who may take a turn.
    The writer is told of the story as much as `share` of its model's window holds: of `window` tokens, where the window
    is not known. The last scenes stand apart, `recent` of them at the least; those before go into the prompt by
    batches of `batch`, or of a few more (`aligned`), so that its beginning stays the same for as many turns. `choices`
    are offered after a scene if they come within `choices_seconds`. `turn_chars` and `premise_chars` bound what people
    write, in characters.
    `presets` are files of one's own in the form of presets.yml, laid over it.
    Where `extract` is set, the role `extractor` takes what scenes tell of characters out of them, each `extract_every`
    scenes, and out of the last `extract_lines` lines of a chat log that was imported.
    `plot_check_mode` is how many of a chapter's open events are looked for: the next, the next three, or more as the
    chapter proceeds; after `nudge_after` scenes without one the writer is nudged. Phrases that stand in `phrase_times`
    of the last `phrase_scenes` scenes are told to the writer as overused.
    With `ask_again` the writer writes on once more where its scene speaks or acts for a character whom a player plays.
    `lore_depth` turns are searched for keywords of the lorebook, whose entries take at most `lore_share` of the window.
    Where these leave room, at most `lore_near` more come up whose meaning is near the turn's; 0 does without. By a
    cosine of at least `lore_likeness`: 0 takes what is right for the embedding model (docs/decisions.md).
    """

    length: Literal["short", "medium", "long"] = choice("medium", "short", "long")
    short: int = within(120, 30, 5_000)
    medium: int = within(250, 30, 5_000)
    long: int = within(500, 30, 5_000)
    mode: Literal["free", "round-robin", "vote", "gm"] = choice("free", "round-robin", "vote", "gm")
    window: int = within(32_000, 2_000, 10_000_000)
    share: float = within(0.85, 0.1, 1.0)
    recent: int = within(5, 1, 100)
    batch: int = within(5, 1, 100)
    choices: int = within(3, 0, 6)
    choices_seconds: float = within(20.0, 0.0, 600.0)
    turn_chars: int = within(4_000, 100, 100_000)
    premise_chars: int = within(8_000, 100, 100_000)
    lore_depth: int = within(4, 0, 100)
    lore_share: float = within(0.25, 0.0, 1.0)
    lore_near: int = within(3, 0, 50)
    lore_likeness: float = within(0.0, 0.0, 1.0)
    extract: bool = True
    extract_every: int = within(1, 1, 100)
    extract_lines: int = within(5_000, 0, 200_000)
    plot_check_mode: Literal["1", "3", "all"] = choice("all", "1", "3")
    nudge_after: int = within(3, 0, 100)
    phrase_scenes: int = within(20, 0, 200)
    phrase_times: int = within(4, 2, 200)
    ask_again: bool = True
    presets: tuple[Path, ...] = ()

    @property
    def aligned(self) -> int:
        """Scenes of a batch: `batch`, or as many more as make whole intervals of the extraction, so that a batch goes
        into the prompt with the state that it leaves, and neither changes after that.
        """
        every = self.extract_every if self.extract else 1
        return -(-self.batch // every) * every
