"""The verb "arc": shows a story's arc to a person, and applies a person's changes. Asks no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.events import Choice, Request, UserError
from bot.verb import PRIVATE
from bot.words import meant
from bot.works.story.log.logs import Logs, node
from bot.works.story.world import arc as arcs
from bot.works.story.world import state, to_come
from bot.works.story.world.answer import Answer
from bot.works.story.world.order import leader, masters, names_of

if TYPE_CHECKING:
    from bot.words import Words
    from bot.works.story.log.story import Story
    from storage.stories import Node


async def arc(logs: Logs, request: Request, say: Words) -> Answer:
    """Show the arc, replace it, reword one milestone, or set whether it is reached."""
    if not (text := request.text.strip()):
        return shown_arc((await logs.played(request)).story, request, say)
    played = await logs.writable(request, asks=False)
    story, head, author = played.story, played.story.head, request.author.id
    may_change(story, request)
    turn, (typed, colon, said) = head.id if head is not None else "", text.partition(":")
    number = int(typed[:9]) if colon and typed.isascii() and typed.strip().isdecimal() else 0
    if colon and typed.strip().isdecimal() and not 1 <= number <= len(story.arc):
        raise UserError("story.no_milestone", n=number, count=len(story.arc))
    if number and (answer := meant(said, "yes", "no")):
        ticked = {"event": story.arc[number - 1].id, "happened": answer == "yes"}
        await logs.record(played, request, "ticked", ticked, turn=turn)
    else:
        found = [] if meant(text, "none") else arcs.read(said if number else text)
        if not found and not meant(text, "none"):
            raise UserError("story.arc_how")
        if number:
            words = found[0][1]
            found = [(each.act, each.text, False) for each in story.arc]
            found[number - 1] = (found[number - 1][0], words, False)
        await logs.append(played, *arc_nodes(story, found, request.id, turn, author))
    now = await logs.played_in(request.place)
    return shown_arc(now.story if now is not None else story, request, say)


def may_change(story: Story, request: Request) -> None:
    """Raises UserError where the table has another game master."""
    if not masters(story, request.author):
        raise UserError("story.only_gm_sees", name=names_of(story).get(leader(story), "?"))


def arc_nodes(
    story: Story, found: Sequence[tuple[int, str, bool]], run: str, turn: str, author: str = ""
) -> list[Node]:
    """The nodes of an arc, and of its milestones that are reached.

    A milestone with the same words keeps its id; if the number of milestones is unchanged, a reworded one keeps the id
    of its position. So it stays reached.
    """
    ids = {milestone.text: milestone.id for milestone in story.arc}
    if len(found) == len(story.arc):
        kept = {text for _, text, _ in found}
        ids |= {
            text: before.id
            for before, (_, text, _) in zip(story.arc, found, strict=True)
            if text not in ids and before.text not in kept
        }
    milestones = [
        {"id": ids.get(text, f"{run}/{n}"), "act": act, "text": text}
        for n, (act, text, _) in enumerate(found)
    ]
    nodes = [node(run, "arc", "arc", {"milestones": milestones}, turn=turn, author=author)]
    for n, (_, _, reached) in enumerate(found):
        if reached:
            ticked = {"event": milestones[n]["id"], "happened": True}
            nodes.append(node(run, f"reached-{n}", "ticked", ticked, turn=turn, author=author))
    return nodes


def shown_arc(story: Story, request: Request, say: Words) -> Answer:
    """The arc, for the person who asks, with buttons to have one proposed or to change it."""
    if not story.arc:
        propose = Choice(say("story.button_arc"), "/story arc --write 8")
        return Answer(text=say("story.no_arc"), choices=[propose] if masters(story, request.author) else [])
    past, ahead = arcs.lines(story, state.done(story), say)
    now = arcs.current(story)
    title = say("story.arc", n=now.act) if now is not None else say("story.arc_over")
    coming = to_come.for_person(story, request, ahead)
    # In private, since its answer shows what is to come.
    change = Choice(
        say("story.button_arc_edit"),
        f"/story arc --{PRIVATE.name}",
        say("story.arc_ask"),
        filled=arcs.written(story),
    )
    return Answer(title, "\n".join(past) or say("story.arc_begins"), coming=coming, choices=[change])
