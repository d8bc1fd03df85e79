"""The section [recall] of config.toml: how past scenes are searched, and how much of them the writer reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from bot.config.settings import choice, within


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """What counts how much; docs/retrieval.md says what each part is worth, and a weight of 0 leaves it out.

    `strategy` "linear" tells the writer of the last scenes alone. Otherwise at most `scenes` past ones are told, in
    `share` of the model's window, each with `least_chars` to `most_chars` characters: those of the best `pieces` whose
    score is at least `least` of the best one's. The search goes by the turn, and
    by the last `context_scenes` scenes cut to `context_chars` characters, which weigh `context`.

    Ours: pieces lend their neighbours in a scene of what they score: `after_one` is what the one before lends, and
    `before_one` what the one after does. `scene`: the whole scene's words. `speaker`: whoever is named. `meaning`: of
    vectors, which lend their neighbours `meaning_beside`. `covered`: where no scene holds so much of what is asked for,
    words count the less, and the meaning of whole scenes the more. `time`, `date`: pieces that say when, and those of a
    date or chapter that is named. `questions`: what a piece loses that is one. `events`: what the
    extractor found in a scene (summary, events, memories), for the whole of it.

    The seed's (000), at scenes' scores: `keywords` and `keyword_cap`; `chapter`, for scenes of the present one;
    `age`: scenes more than `age_scenes` back have to reach `age_score` of the best. With an extractor that is another
    model than the writer, and parts a turn into at most `sub_queries` within `seconds`: `decomposition`, by reciprocal
    ranks with `rrf_k`; `phrases` with `phrase_boost` and `phrase_cap`; `anchors`, near to where what is asked for
    happened last. Names in more than `name_share` of the scenes and terms in more than `term_share` tell nothing apart.
    """

    strategy: Literal["hybrid", "linear"] = choice("hybrid", "linear")
    scenes: int = within(6, 1, 100)
    share: float = within(0.10, 0.0, 0.5)
    least_chars: int = within(800, 100, 20_000)
    most_chars: int = within(2_000, 100, 20_000)
    pieces: int = within(60, 1, 10_000)
    least: float = within(0.35, 0.0, 1.0)
    context_scenes: int = within(3, 0, 20)
    context_chars: int = within(200, 20, 5_000)
    context: float = within(0.2, 0.0, 1.0)
    after_one: float = within(0.7, 0.0, 1.0)
    after_two: float = within(0.3, 0.0, 1.0)
    before_one: float = within(0.5, 0.0, 1.0)
    before_two: float = within(0.25, 0.0, 1.0)
    scene: float = within(0.4, 0.0, 2.0)
    speaker: float = within(0.15, 0.0, 2.0)
    meaning: float = within(0.8, 0.0, 5.0)
    meaning_beside: float = within(0.25, 0.0, 1.0)
    covered: float = within(0.5, 0.0, 1.0)
    time: float = within(0.15, 0.0, 2.0)
    date: float = within(0.3, 0.0, 2.0)
    questions: float = within(0.15, 0.0, 2.0)
    events: float = within(0.6, 0.0, 2.0)
    keywords: float = within(0.3, 0.0, 2.0)
    keyword_cap: float = within(0.80, 0.0, 2.0)
    chapter: float = within(0.0, 0.0, 2.0)
    age: bool = False
    age_scenes: int = within(50, 1, 100_000)
    age_score: float = within(0.6, 0.0, 1.0)
    decomposition: float = within(0.0, 0.0, 2.0)
    sub_queries: int = within(6, 1, 20)
    seconds: float = within(3.0, 0.0, 60.0)
    rrf_k: int = within(60, 1, 1_000)
    phrases: float = within(0.5, 0.0, 2.0)
    phrase_boost: float = within(0.15, 0.0, 2.0)
    phrase_cap: float = within(0.30, 0.0, 2.0)
    name_share: float = within(0.30, 0.0, 1.0)
    term_share: float = within(0.15, 0.0, 1.0)
    anchors: float = within(0.0, 0.0, 2.0)
    anchor_occurrences: int = within(5, 1, 100)
    anchor_boost: float = within(0.50, 0.0, 2.0)
    anchor_fall: float = within(0.005, 0.0, 1.0)
    anchor_sure: int = within(15, 1, 1_000)
    anchor_least: float = within(0.15, 0.0, 1.0)
    anchor_spread: int = within(100, 1, 100_000)

    def without(self, components: Iterable[str]) -> RecallConfig:
        """The same with these of COMPONENTS left out. Raises KeyError for another name."""
        off: dict[str, Any] = {key: value for name in components for key, value in COMPONENTS[name].items()}
        return replace(self, **off)


COMPONENTS: Final[Mapping[str, Mapping[str, float | bool]]] = {
    "neighbours": {"after_one": 0.0, "after_two": 0.0, "before_one": 0.0, "before_two": 0.0},
    "scene": {"scene": 0.0},
    "speaker": {"speaker": 0.0},
    "meaning": {"meaning": 0.0},
    "covered": {"covered": 0.0},
    "time": {"time": 0.0, "date": 0.0},
    "questions": {"questions": 0.0},
    "events": {"events": 0.0},
    "keywords": {"keywords": 0.0},
    "chapter": {"chapter": 0.0},
    "age": {"age": False},
    "decomposition": {"decomposition": 0.0},
    "phrases": {"phrases": 0.0},
    "anchors": {"anchors": 0.0},
}
"""What can be left out of a search, by name, and the settings that leave it out."""
