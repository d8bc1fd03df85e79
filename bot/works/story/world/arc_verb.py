"""The verb "arc": shows a story's arc, and applies people's changes to it."""

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
from bot.works.story.world.order import leader, may_lead, names_of

if TYPE_CHECKING:
    from bot.words import Words
    from bot.works.story.log.story import Story
    from storage.stories import Node


async def arc(logs: Logs, request: Request, say: Words) -> Answer:
    """Show the arc, replace it, reword one milestone, or set whether it is reached."""
    if not (text := request.text.strip()):
        return arc_answer((await logs.played(request)).story, request, say)
    played = await logs.writable(request, asks=False)
    story, turn, author = played.story, played.story.head_id, request.author.id
    may_change(story, request)
    typed, colon, said = text.partition(":")
    number = int(typed[:9]) if colon and typed.isascii() and typed.strip().isdecimal() else 0
    if colon and typed.strip().isdecimal() and not 1 <= number <= len(story.arc):
        raise UserError("story.no_milestone", n=number, count=len(story.arc))
    if number and (answer := meant(said, "yes", "no")):
        ticked = {"event": story.arc[number - 1].id, "happened": answer == "yes"}
        await logs.record(played, request, "ticked", ticked, turn=turn)
    else:
        milestones = [] if meant(text, "none") else arcs.read(said if number else text)
        if not milestones and not meant(text, "none"):
            raise UserError("story.arc_how")
        if number:
            words = milestones[0][1]
            milestones = [(milestone.act, milestone.text, False) for milestone in story.arc]
            milestones[number - 1] = (milestones[number - 1][0], words, False)
        await logs.append(played, *arc_nodes(story, milestones, request.id, turn, author))
    changed = await logs.played_in(request.place)
    return arc_answer(changed.story if changed is not None else story, request, say)


def may_change(story: Story, request: Request) -> None:
    """Raise UserError if the table has another game master."""
    if not may_lead(story, request.author):
        raise UserError("story.only_gm_sees", name=names_of(story).get(leader(story), "?"))


def arc_nodes(
    story: Story, milestones: Sequence[tuple[int, str, bool]], run: str, turn: str, author: str = ""
) -> list[Node]:
    """The nodes that replace the arc by these milestones (`arc.read`) and tick those that are reached.

    A milestone stays reached if it keeps its id: one with the same words does, and, if the number of milestones is
    unchanged, a reworded one keeps that of its position.
    """
    ids = {milestone.text: milestone.id for milestone in story.arc}
    if len(milestones) == len(story.arc):
        texts = {text for _, text, _ in milestones}
        ids |= {
            text: before.id
            for before, (_, text, _) in zip(story.arc, milestones, strict=True)
            if text not in ids and before.text not in texts
        }
    rows = [
        {"id": ids.get(text, f"{run}/{n}"), "act": act, "text": text}
        for n, (act, text, _) in enumerate(milestones)
    ]
    nodes = [node(run, "arc", "arc", {"milestones": rows}, turn=turn, author=author)]
    for n, (_, _, reached) in enumerate(milestones):
        if reached:
            ticked = {"event": rows[n]["id"], "happened": True}
            nodes.append(node(run, f"reached-{n}", "ticked", ticked, turn=turn, author=author))
    return nodes


def arc_answer(story: Story, request: Request, say: Words) -> Answer:
    """The arc, for the person who asks, with buttons to have one proposed or to change it."""
    if not story.arc:
        propose = Choice(say("story.button_arc"), "/story arc --write 8")
        return Answer(text=say("story.no_arc"), choices=[propose] if may_lead(story, request.author) else [])
    past, ahead = arcs.lines(story, state.happened_ids(story), say)
    current = arcs.current(story)
    title = say("story.arc", n=current.act) if current is not None else say("story.arc_over")
    coming = to_come.for_person(story, request, ahead)
    # In private, since its answer shows what is to come.
    change = Choice(
        say("story.button_arc_edit"),
        f"/story arc --{PRIVATE.name}",
        say("story.arc_ask"),
        filled=arcs.as_text(story),
    )
    return Answer(title, "\n".join(past) or say("story.arc_begins"), coming=coming, choices=[change])
