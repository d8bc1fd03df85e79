"""The tables of stories in config.toml: [story], how they are played, and [recall], how past scenes are searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from bot.config.settings import choice, in_range


@dataclass(frozen=True, slots=True)
class StoryConfig:
    """How stories are played unless the table or the story says otherwise.

    - Scenes: `length` is the default of a scene's length, in `short`, `medium` or `long` words; `mode` is the default
      of who may take a turn. `choices` are offered after a scene if they arrive within `choices_seconds`.
      `turn_chars` and `premise_chars` limit what people write, in characters. With `ask_again` the writer is asked
      once more if its scene speaks or acts for a character that a player plays.
    - Prompt: a story's prompt gets `share` of its model's window, which counts as `window` tokens if unknown. At least
      the last `recent` scenes come after the earlier ones, which enter the prompt in batches of `batch` or a few more
      (`aligned`), so that its beginning stays the same for as many turns. Phrases that occur in `phrase_times` of the
      last `phrase_scenes` scenes are listed for the writer as overused.
    - Lorebook: its keywords are looked for in the last `lore_depth` turns; the entries take at most `lore_share` of the
      window. If there is room, at most `lore_near` entries close in meaning to the turn are added, whose cosine must be
      at least `lore_likeness`; 0 uses the right value for the embedding model (docs/decisions.md).
    - Extraction: with `extract`, the role `extractor` notes what changed, every `extract_every` scenes, and in the last
      `extract_lines` lines of an imported chat log. `plot_check_mode` is how many of a chapter's open events it looks
      for: the next, the next three, or more as the chapter proceeds. After `nudge_after` scenes without an event the
      writer gets a hint.
    - `presets`, `prose` and `sheets` are files that extend presets.yml, prose.yml and sheets.yml.
    """

    length: Literal["short", "medium", "long"] = choice("medium", "short", "long")
    short: int = in_range(120, 30, 5_000)
    medium: int = in_range(250, 30, 5_000)
    long: int = in_range(500, 30, 5_000)
    mode: Literal["free", "round-robin", "vote", "gm"] = choice("free", "round-robin", "vote", "gm")
    window: int = in_range(32_000, 2_000, 10_000_000)
    share: float = in_range(0.85, 0.1, 1.0)
    recent: int = in_range(5, 1, 100)
    batch: int = in_range(5, 1, 100)
    choices: int = in_range(3, 0, 6)
    choices_seconds: float = in_range(20.0, 0.0, 600.0)
    turn_chars: int = in_range(4_000, 100, 100_000)
    premise_chars: int = in_range(8_000, 100, 100_000)
    lore_depth: int = in_range(4, 0, 100)
    lore_share: float = in_range(0.25, 0.0, 1.0)
    lore_near: int = in_range(3, 0, 50)
    lore_likeness: float = in_range(0.0, 0.0, 1.0)
    extract: bool = True
    extract_every: int = in_range(1, 1, 100)
    extract_lines: int = in_range(5_000, 0, 200_000)
    plot_check_mode: Literal["1", "3", "all"] = choice("all", "1", "3")
    nudge_after: int = in_range(3, 0, 100)
    phrase_scenes: int = in_range(20, 0, 200)
    phrase_times: int = in_range(4, 2, 200)
    ask_again: bool = True
    presets: tuple[Path, ...] = ()
    prose: tuple[Path, ...] = ()
    sheets: tuple[Path, ...] = ()

    @property
    def aligned(self) -> int:
        """The number of scenes in a batch: `batch`, rounded up to a multiple of `extract_every`.

        So a batch enters the prompt together with the state after it, and neither changes afterwards.
        """
        every = self.extract_every if self.extract else 1
        return -(-self.batch // every) * every


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """How past scenes are searched, and how much of them the writer reads.

    Most fields are weights; docs/retrieval-lab.md says what each part is worth, and a weight of 0 turns it off.

    With `strategy` "linear" the writer gets only the last scenes. Otherwise it gets at most `scenes` past ones, in
    `share` of the model's window: those of the best `pieces` whose score is at least `least` of the best one's. The
    best `broad` ones have `least_chars` to `most_chars` characters each, in half of that room at most; of the others
    only the matching sentence is included, with its neighbours where there is room. The query consists of the turn, and
    of the last `context_scenes` scenes cut to `context_chars` characters, with the weight `context`.

    Our own parts: each piece adds a share of its score to its neighbours in the scene: `after_one` is the share from
    the piece before, `before_one` that from the piece after. `scene`: the words of the whole scene. `speaker`: a
    speaker named in the query. `meaning`: vectors, whose scores add `meaning_beside` to their neighbours. `covered`: if
    no scene contains this share of the query, words count less, and the meaning of whole scenes more. In chat logs
    `meaning_lines` and `covered_lines` are used instead, and nothing is added to neighbours, since a line's vector
    includes the lines before it. `time`, `date`: pieces that mention a time, and those of the date or chapter with
    the most words of the query. `questions`: the penalty for a piece that is a question. `names`: scenes with a rare
    name come before all others. `events`: what the extractor found in a scene (summary, events, memories), for the
    whole of it.

    Added to the scores of whole scenes: `keywords`, up to `keyword_cap`; `chapter`, for scenes of the current one.
    `age`: scenes more than `age_scenes` back must reach `age_score` of the best. If the extractor is another model
    than the writer, and splits a turn into at most `sub_queries` within `seconds`: `decomposition`, by reciprocal
    ranks with `rrf_k`; `phrases` with `phrase_boost` and `phrase_cap`; `anchors`, close to where the requested
    event happened last. Names in more than `name_share` of the scenes and terms in more than `term_share` are too
    common to count.
    """

    strategy: Literal["hybrid", "linear"] = choice("hybrid", "linear")
    scenes: int = in_range(30, 1, 100)
    broad: int = in_range(4, 0, 100)
    share: float = in_range(0.10, 0.0, 0.5)
    least_chars: int = in_range(800, 100, 20_000)
    most_chars: int = in_range(2_000, 100, 20_000)
    pieces: int = in_range(100, 1, 10_000)
    least: float = in_range(0.35, 0.0, 1.0)
    context_scenes: int = in_range(3, 0, 20)
    context_chars: int = in_range(200, 20, 5_000)
    context: float = in_range(0.2, 0.0, 1.0)
    after_one: float = in_range(0.7, 0.0, 1.0)
    after_two: float = in_range(0.3, 0.0, 1.0)
    before_one: float = in_range(0.5, 0.0, 1.0)
    before_two: float = in_range(0.25, 0.0, 1.0)
    scene: float = in_range(0.4, 0.0, 2.0)
    speaker: float = in_range(0.15, 0.0, 2.0)
    meaning: float = in_range(1.6, 0.0, 5.0)
    meaning_lines: float = in_range(0.8, 0.0, 5.0)
    meaning_beside: float = in_range(0.1, 0.0, 1.0)
    covered: float = in_range(0.7, 0.0, 1.0)
    covered_lines: float = in_range(0.45, 0.0, 1.0)
    time: float = in_range(0.15, 0.0, 2.0)
    date: float = in_range(0.3, 0.0, 2.0)
    questions: float = in_range(0.15, 0.0, 2.0)
    names: bool = True
    events: float = in_range(0.6, 0.0, 2.0)
    keywords: float = in_range(0.3, 0.0, 2.0)
    keyword_cap: float = in_range(0.80, 0.0, 2.0)
    chapter: float = in_range(0.0, 0.0, 2.0)
    age: bool = False
    age_scenes: int = in_range(50, 1, 100_000)
    age_score: float = in_range(0.6, 0.0, 1.0)
    decomposition: float = in_range(0.0, 0.0, 2.0)
    sub_queries: int = in_range(6, 1, 20)
    seconds: float = in_range(3.0, 0.0, 60.0)
    rrf_k: int = in_range(60, 1, 1_000)
    phrases: float = in_range(0.5, 0.0, 2.0)
    phrase_boost: float = in_range(0.15, 0.0, 2.0)
    phrase_cap: float = in_range(0.30, 0.0, 2.0)
    name_share: float = in_range(0.30, 0.0, 1.0)
    term_share: float = in_range(0.15, 0.0, 1.0)
    anchors: float = in_range(0.0, 0.0, 2.0)
    anchor_occurrences: int = in_range(5, 1, 100)
    anchor_boost: float = in_range(0.50, 0.0, 2.0)
    anchor_fall: float = in_range(0.005, 0.0, 1.0)
    anchor_sure: int = in_range(15, 1, 1_000)
    anchor_least: float = in_range(0.15, 0.0, 1.0)
    anchor_spread: int = in_range(100, 1, 100_000)

    def without(self, components: Iterable[str]) -> RecallConfig:
        """These settings without these COMPONENTS. Raises KeyError for another name."""
        off: dict[str, Any] = {key: value for name in components for key, value in COMPONENTS[name].items()}
        return replace(self, **off)


COMPONENTS: Final[Mapping[str, Mapping[str, float | bool]]] = {
    "neighbours": {"after_one": 0.0, "after_two": 0.0, "before_one": 0.0, "before_two": 0.0},
    "scene": {"scene": 0.0},
    "speaker": {"speaker": 0.0},
    "meaning": {"meaning": 0.0, "meaning_lines": 0.0},
    "covered": {"covered": 0.0, "covered_lines": 0.0},
    "time": {"time": 0.0, "date": 0.0},
    "questions": {"questions": 0.0},
    "names": {"names": False},
    "events": {"events": 0.0},
    "keywords": {"keywords": 0.0},
    "chapter": {"chapter": 0.0},
    "age": {"age": False},
    "decomposition": {"decomposition": 0.0},
    "phrases": {"phrases": 0.0},
    "anchors": {"anchors": 0.0},
}
"""The parts of a search that can be left out, by name, with the settings that leave them out."""
