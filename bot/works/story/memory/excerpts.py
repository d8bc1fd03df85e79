"""Excerpts of past scenes that are relevant to a turn, and their form in the prompt.

Chosen once for each turn, and kept with the scene, so that another version is written from the same words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from bot import untrusted
from bot.budget import text_tokens
from bot.retrieval.lexical import fold
from bot.works.story.log.turn import Excerpt
from bot.works.story.memory.pieces import pieces_of, sentences
from bot.works.story.memory.ranking import Query
from bot.works.story.world import state

if TYPE_CHECKING:
    from bot.works.story.config import RecallConfig
    from bot.works.story.log.story import Story
    from bot.works.story.log.turn import Turn
    from bot.works.story.memory.memory import Memory
    from bot.works.story.memory.recalled import Recalled

AROUND = 2
"""How many turns of a chat log before and after a match belong to its excerpt."""


async def excerpts(
    memory: Memory,
    space: str,
    id: str,
    branch: str,
    story: Story,
    query: Query,
    by: RecallConfig,
    tokens: int,
    without: Collection[str],
) -> list[Excerpt]:
    """The excerpts that match the query best, in the order of the story, in at most `tokens` tokens.

    None is from the turns `without`, which are in the prompt anyway.
    """
    pieces_found = await memory.recall(space, id, branch, story, query, by.pieces, without)
    by_turn: defaultdict[str, list[Recalled]] = defaultdict(list)
    for piece in pieces_found:
        if piece.score >= by.least * pieces_found[0].score and piece.turn in story.turns:
            by_turn[piece.turn].append(piece)
    path = story.path[: story.length]
    chosen: dict[int, Excerpt] = {}
    used, tokens_free = set[str](without), tokens
    for turn, pieces in by_turn.items():
        if turn in used or len(chosen) == by.scenes:
            continue
        at, piece = pieces[0].number - 1, pieces[0]
        excerpt, least = None, by.least_chars // 2
        if len(chosen) < by.broad:
            # A match of a distinctive word deserves a longer excerpt.
            chars = by.most_chars if piece.keyword else by.least_chars
            excerpt = _broad(story, path, at, used, piece, chars)
            room = tokens_free - tokens // 2
            if (needed := _tokens(story, excerpt)) > room:  # cut to the room if possible
                excerpt = replace(excerpt, chars=int(excerpt.chars * 0.9 * max(0, room) / needed))
                if excerpt.chars < least or _tokens(story, excerpt) > room:
                    excerpt = None
        if excerpt is None:
            excerpt, alone = _brief(story, path, at, used, piece, by.least_chars)
            if _tokens(story, excerpt) > tokens_free // (by.scenes - len(chosen)):
                excerpt = alone
        if (needed := _tokens(story, excerpt)) > tokens_free:
            break
        tokens_free -= needed
        used.update(excerpt.turns)
        chosen[at] = excerpt
    return [chosen[at] for at in sorted(chosen)]


def as_prompt(story: Story, excerpts: Collection[Excerpt]) -> str:
    """The excerpts for the prompt, without words that were withdrawn or forgotten since; "" for none."""
    parts = [part for excerpt in excerpts if (part := _shown(story, excerpt))]
    return "\n".join(["<related>", *parts, "</related>"]) if parts else ""


def query_of(story: Story, turn: Turn, by: RecallConfig) -> Query:
    """The query for a turn: the player's text, or else the end of the last scene, with the last scenes as context."""
    at = story.path.index(turn.id)
    path = story.path[:at]
    before = [story.turns[id] for id in path[-by.context_scenes :]] if by.context_scenes else []
    scenes = [
        turn_before.scene.text
        for turn_before in before
        if turn_before.scene is not None and turn_before.id not in story.hidden
    ]
    last = scenes[-1][-by.context_chars :] if scenes else ""
    context = "\n".join(scene[: by.context_chars] for scene in scenes)
    chapter = state.title_at(state.chapter_titles(story, path), at)
    return Query(turn.act.text or last, context, chapter=chapter)


def _broad(
    story: Story, path: list[str], at: int, used: Collection[str], piece: Recalled, chars: int
) -> Excerpt:
    """The piece with its surrounding text."""
    turns = _beside(story, path, at, used, AROUND)
    text = _text(story, turns)
    start = _start(story.turns[path[at]], text, piece, chars)
    return Excerpt(turns, start, min(chars, len(text) - start))


def _brief(
    story: Story, path: list[str], at: int, used: Collection[str], piece: Recalled, most: int
) -> tuple[Excerpt, Excerpt]:
    """The sentence that was found, or the line of a chat log: once with its neighbours and once alone, in at most
    `most` characters.
    """
    turn = story.turns[path[at]]
    if turn.act.group:
        beside, alone = (_beside(story, path, at, used, around) for around in (1, 0))
        return Excerpt(beside, 0, len(_text(story, beside))), Excerpt(alone, 0, most)
    text = _text(story, (turn.id,))
    parts = pieces_of(turn).get(piece.node, [])
    own = sentences(parts[piece.part].text) if piece.part < len(parts) else [text]
    place = piece.sentence
    if place is None or place >= len(own):
        place = max(range(len(own)), key=lambda number: _shared(own[number], piece.terms))
    first = max(0, place - 1)
    spans, end = list[tuple[int, int]](), max(0, text.find(own[0].split("\n")[0]))
    for sentence in own[first : place + 2]:
        # Paragraphs that were joined to one piece are not adjacent in the text.
        begins, *_, ends = sentence.split("\n") * 2
        start = max(end, text.find(begins, end))
        end = max(start, text.find(ends, start)) + len(ends)
        spans.append((start, end))
    if first == 0 and piece.node == turn.act.id:
        spans[0] = (0, spans[0][1])  # with its writer's name
    start, end = spans[place - first]
    return (
        Excerpt((turn.id,), spans[0][0], spans[-1][1] - spans[0][0]),
        Excerpt((turn.id,), start, min(end - start, most)),
    )


def _shared(sentence: str, terms: Collection[str]) -> int:
    """How many of the terms (stems) a sentence contains."""
    folded = fold(sentence)
    return sum(term in folded for term in terms)


def _beside(story: Story, path: list[str], at: int, used: Collection[str], around: int) -> tuple[str, ...]:
    """The turn; in a chat log also its neighbours in the same scene."""
    group = story.turns[path[at]].act.group
    if not group:
        return (path[at],)
    near = path[max(0, at - around) : at + around + 1]
    return tuple(turn for turn in near if story.turns[turn].act.group == group and turn not in used)


def _text(story: Story, turns: Collection[str]) -> str:
    """The text of the turns, without forgotten parts."""
    parts = []
    for turn in (story.turns[id] for id in turns if id in story.turns and id not in story.hidden):
        if turn.act.text and turn.act.id not in story.forgotten:
            parts.append(f"{turn.act.character or turn.act.name}: {turn.act.text}")
        if turn.scene is not None and turn.scene.text and turn.scene.id not in story.forgotten:
            parts.append(turn.scene.text)
    return "\n".join(parts)


def _start(turn: Turn, text: str, piece: Recalled, chars: int) -> int:
    """The start of the excerpt, at the beginning of a paragraph, so that it includes the piece."""
    parts = pieces_of(turn).get(piece.node, [])
    at = text.find(parts[piece.part].text.split("\n", 1)[0]) if piece.part < len(parts) else 0
    if at + len(parts[piece.part].text if parts else "") <= chars:
        return 0
    return max(0, text.rfind("\n", 0, max(0, at)) + 1)


def _tokens(story: Story, excerpt: Excerpt) -> int:
    return text_tokens(_shown(story, excerpt))


def _shown(story: Story, excerpt: Excerpt) -> str:
    text = _text(story, excerpt.turns)[excerpt.start :]
    if not text.strip():
        return ""
    cut, more = text[: excerpt.chars], text[excerpt.chars :]
    if more.strip():
        cut = (cut if more[0].isspace() else cut.rsplit(" ", 1)[0]) + " …"
    number = story.path.index(excerpt.turns[0]) + 1
    when = story.turns[excerpt.turns[0]].act.when
    about = f' when="{untrusted.data(when)}"' if when else ""
    begins = "… " if excerpt.start else ""
    return f'<past scene="{number}"{about}>\n{begins}{untrusted.data(cut)}\n</past>'
