"""Finds, by code, contradictions between a scene and the state before it that the extractor has missed.

Each check would rather miss a contradiction than flag something that readers accept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bot.words import Words
from bot.works.story.extraction import attribution
from bot.works.story.log.story import Story
from bot.works.story.world.state import Character, characters

GONE: Final = "–"
"""What a character holds after losing its last item."""
_PARTS: Final = re.compile(r"\s*(?:[,;]|\band\b|\be\b|&)\s*", re.IGNORECASE)
_INDEFINITE: Final = ("a", "an", "some", "um", "uma", "uns", "umas", "algum", "alguma")
_OWN: Final = ("his", "her", "their", "its", "my", "your", "seu", "sua", "seus", "suas")
_SMALL: Final = (
    "the his her their its my your own in on at of by near to from into with o os as seu sua seus suas no na nos "
    "nas do da dos das de em ao à perto com"
)
_NOTHING: Final = frozenset(("", GONE, "-", "nothing", "none", "nada", "empty hands", "mãos vazias"))
_PASSING: Final = re.compile(
    r"\b(?:gives?|gave|given|giving|hand(?:s|ed|ing)?|pass(?:es|ed|ing)?|tak(?:e|es|en|ing)|took|snatch\w*|steals?|stole\w*"
    r"|grab\w*|throw\w*|threw|toss\w*|drop\w*|picks?|picked|leav\w*|left|lend\w*|lent|borrow\w*|pull\w*|wrest\w*"
    r"|d[áe]|deu|dando|entreg\w*|pass[ao]\w*|peg[ao]\w*|tom[ao]\w*|arranc\w*|rouba\w*|roubou|larg\w*|solt\w*|empresta\w*"
    r"|jog[ao]\w*)\b",
    re.IGNORECASE,
)

_ALIVE: Final = re.compile(
    r"\b(?:reviv\w+|resurrect\w*|(?:back|return\w*) (?:to life|from the (?:dead|grave))|is (?:still )?alive|alive again"
    r"|lives again|(?:rises?|rose|risen) from the (?:dead|grave)|(?:is not|isn't|was never) dead|ressuscit\w+"
    r"|de volta à vida|volt\w+ à vida|está viv[oa]|vive de novo|não (?:está mort[oa]|morreu))\b",
    re.IGNORECASE,
)
_UNSURE: Final = re.compile(
    r"\?|\b(?:try|tries|attempt\w*|wish\w*|hop(?:e|es|ing)|want\w*|if|whether|could|would|maybe|perhaps|dream\w*|pray\w*"
    r"|nobody|cannot|can't|lie[sd]?|lying|claim\w*|pretend\w*|swears?|swore|sa(?:y|ys|id)|tells?|told|think\w*|thought|believ\w*|min(?:to|te)\w*|finj\w*|fing[ei]\w*|jur[ao]\w*|di(?:z|go|sse)|cont[ao]\w*|ach[ao]|acredit\w*|tent[ao]\w*|quer\w*|talvez|sonh\w*|esper\w*|rez[ao]|ninguém)\b",
    re.IGNORECASE,
)


def flags(
    standing: list[dict[str, Any]], before: Mapping[str, Character], place: str, last_place: str,
    scene: str, turn: str, say: Words,
) -> list[str]:  # fmt: skip
    """A sentence for each contradiction between the characters after the scene (`standing`) and those `before`.

    Changes `standing`: a thing that was handed over is removed from its former holder, which the extractor may forget.
    """
    problems = [
        *_dead_flags(standing, before, scene, say),
        *_holding_flags(standing, before, scene, turn, say),
    ]
    return problems + _place_flags(standing, before, (place, last_place), f"{turn}\n{scene}", say)


def _dead_flags(
    standing: Sequence[Mapping[str, Any]], before: Mapping[str, Character], scene: str, say: Words
) -> list[str]:
    seen = {row["name"].casefold() for row in standing if row["present"] and not row["dead"]}
    return [
        say("story.flag_dead", name=character.name)
        for key, character in before.items()
        if character.dead
        and (
            key in seen
            or any(
                next(attribution.speeches(scene, form), "")
                or next(attribution.deeds(scene, form, decided=False), "")
                for form in attribution.forms(character.name, [someone.name for someone in before.values()])
            )
        )
    ]


def revived(turn: str, story: Story) -> list[str]:
    """The dead characters whom a player clearly declares to be alive: not in a question, an attempt or a wish."""
    narrated = attribution.unquoted(turn)
    sentences = [
        sentence
        for sentence in attribution.sentences(narrated)
        if _ALIVE.search(sentence) and not _UNSURE.search(sentence)
    ]
    if not sentences:
        return []
    return [
        character.name
        for character in characters(story).values()
        if character.dead and any(attribution.names_one(sentence, character.name) for sentence in sentences)
    ]


def things(holding: str) -> dict[frozenset[str], str]:
    """The things that a character holds, by their distinctive words; without indefinite things such as "a knife"."""
    parts = [part for part in _PARTS.split(holding.strip()) if part.casefold() not in _NOTHING]
    return {words: part for part in parts if (words := distinctive_words(part))}


def distinctive_words(text: str) -> frozenset[str]:
    return frozenset(
        word for word in re.findall(r"\w+", text.casefold()) if word not in (*_INDEFINITE, *_SMALL.split())
    )


def _holding_flags(
    standing: list[dict[str, Any]], before: Mapping[str, Character], scene: str, turn: str, say: Words
) -> list[str]:
    now = {row["name"].casefold(): row for row in standing}
    holders = {
        key: character.fields.get("holding", "") for key, character in before.items() if not character.dead
    }
    holders |= {key: row["holding"] for key, row in now.items() if row["holding"]}
    names = {key: character.name for key, character in before.items()} | {
        key: row["name"] for key, row in now.items()
    }
    problems: dict[frozenset[str], str] = {}
    for taker in [row for row in standing if row["holding"]]:
        key = taker["name"].casefold()
        had = things(before[key].fields.get("holding", "")) if key in before else {}
        for words, thing in things(taker["holding"]).items():
            sentences = [
                sentence
                for sentence in attribution.sentences(f"{turn}\n{scene}")
                if words <= distinctive_words(sentence)
            ]
            passed = any(_PASSING.search(sentence) for sentence in sentences)
            for other, holding in holders.items():
                theirs = things(holding)
                if other == key or words not in theirs or words in had or words in problems:
                    continue
                if passed:
                    _lose(standing, now, other, names[other], words, theirs)
                    continue
                shared = any(
                    all(attribution.names_one(sentence, name) for name in (taker["name"], names[other]))
                    for sentence in sentences
                )
                if not shared and not _both_one_of_many(thing, theirs[words]):
                    values = {"name": taker["name"], "thing": thing, "other": names[other]}
                    problems[words] = say("story.flag_held", **values)
    return list(problems.values())


def _both_one_of_many(thing: str, theirs: str) -> bool:
    """Whether the two are different things with the same words: "a knife" and "a knife", or "his notebook" and "his
    notebook".
    """
    return all(name.split()[0].casefold() in (*_INDEFINITE, *_OWN) for name in (thing, theirs))


def _lose(
    standing: list[dict[str, Any]], now: dict[str, dict[str, Any]], key: str, name: str,
    words: frozenset[str], theirs: Mapping[frozenset[str], str],
) -> None:  # fmt: skip
    if key not in now:
        empty = dict.fromkeys(("where", "holding", "wearing", "mood"), "")
        now[key] = {"name": name, **empty, "dead": False, "present": False, "relations": []}
        standing.append(now[key])
    if not now[key]["holding"] or words in things(now[key]["holding"]):
        now[key]["holding"] = ", ".join(part for held, part in theirs.items() if held != words) or GONE


def _place_flags(
    standing: Sequence[Mapping[str, Any]], before: Mapping[str, Character], places: tuple[str, str],
    passage: str, say: Words,
) -> list[str]:  # fmt: skip
    """Flags the characters who are in another, distinct place than before, although the text mentions no way there."""
    known_places = [
        distinctive_words(place)
        for character in before.values()
        if (place := character.fields.get("where", ""))
    ]
    here_now, here_before = map(distinctive_words, places)
    jumped = bool(here_now and here_before) and here_now.isdisjoint(here_before)
    problems = []
    for row in standing:
        character = before.get(row["name"].casefold())
        was, now = (character.fields.get("where", "") if character is not None else ""), row["where"]
        if (
            character is None
            or character.dead
            or not was
            or not (here_words := distinctive_words(now))
            or not distinctive_words(was).isdisjoint(here_words)
        ):
            continue
        other_names = [someone.name for key, someone in before.items() if key != character.name.casefold()]
        apart = any(place == here_words for place in known_places) or (
            jumped and not here_now.isdisjoint(here_words)
        )
        if apart and not attribution.moved(passage, character.name, other_names):
            problems.append(say("story.flag_elsewhere", name=character.name, was=was, now=now))
    return problems
