"""Buttons that open a verb's form: for a required text that is missing, or to correct a text that was refused."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from bot.command_line import escaped, line_for
from bot.commands import ROWS, UNDER
from bot.events import Choice, Choices, Event, Request, Stage, Text
from bot.words import words
from bot.work import Run


async def offer_form(run: Run) -> AsyncGenerator[Event, None]:
    """The answer to a verb whose required text is missing: a button that opens its form."""
    request, say = run.request, words(run.request.locale)
    row = ROWS[request.work, request.verb]
    assert row.argument is not None, "only a verb with an argument lacks text"
    yield Stage("form", "")
    yield Text(say("commands.form", verb=row.path, example=row.example_in(say)))
    label = say(row.argument.summary)
    asks = label[:1].upper() + label[1:]
    button = Choice(say("commands.form_open"), line_for(row, request.options), asks, form=True)
    yield Choices(say("commands.form_or"), (button,))


def offer_correction(request: Request) -> tuple[Choices, ...]:
    """Offer, under a refusal, a button that reopens the window with the text that was typed into it."""
    row, say, text = ROWS[request.work, request.verb], words(request.locale), request.text
    if row.argument is None or not text or request.files:  # no window asks for files
        return ()
    line = line_for(row, request.options)
    if row.rewords:  # the window has only the text after the name
        name, _, text = text.partition(" ")
        line = f"{line} {escaped(name)}"
    asks, under = say(row.argument.summary), str(request.options.get(UNDER) or "")
    asks = asks[:1].upper() + asks[1:]
    label, answers = say("commands.correct"), request.answers
    button = Choice(label, line, asks, form=True, filled=text, under=under, answers=answers)
    return (Choices("", (button,), only=request.author.id),)
