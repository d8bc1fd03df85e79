"""Takes in what people ask on Discord: from an interaction or a message to a request that App performs.

Every refusal and every fault ends here, as one sentence to the person alone. A window asks for what a command was sent
without: a long question, a prompt's new text. What it will complete is kept in the storage under the id in its
custom_id, so that one which was opened before a restart, or hours ago, is still answered.

Knows neither how an answer looks nor which commands there are.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import discord
from discord import ui

from bot import commands
from bot.adapters import buttons_row, intake
from bot.adapters.buttons_row import custom_id
from bot.adapters.buttons_row import label as label_of
from bot.adapters.discord.received import placing
from bot.adapters.discord.received.commands import Autocomplete, path_of, read
from bot.adapters.discord.received.placing import PLATFORM, TOKEN_SECONDS, files_of, request_of, text_of
from bot.adapters.discord.shown import replies
from bot.adapters.discord.text.command_names import as_in_table, help_text
from bot.adapters.intake import FIELD, PEOPLE, Invocation, PendingForm, quotation
from bot.adapters.stored_choices import StoredChoice
from bot.adapters.surface import OWN
from bot.command_line import parse
from bot.events import Sorry
from bot.runs.requests import event_id
from bot.verb import Verb
from bot.words import Words, locale_of, words

if TYPE_CHECKING:
    from bot.app import App
    from bot.config import Config


TYPED = "text"
"""The custom_id of the field that is typed into."""
CHARS = 4_000
"""The most that can be typed into a field: Discord's limit, as is that of a title and of a label."""
LABEL_CHARS, HINT_CHARS = 45, 100
FIELDS = 5
"""Of a window (Discord's documentation, "Modal")."""
_RUN = "run"
"""Under this name an interaction bears the run that it has become, once it has."""


class Intake(intake.Intake):
    """One per client."""

    def __init__(self, app: App, client: discord.Client, config: Config) -> None:
        super().__init__(app, PLATFORM, placing.for_one)
        threads, us = config.discord.threads, client.application_id or 0
        self._request_of = partial(request_of, threads=threads, us=us)
        self._locales: OrderedDict[int, str] = OrderedDict()
        self.autocomplete = Autocomplete(app.complete)

    async def slash(self, interaction: discord.Interaction, row: Verb, given: Mapping[str, Any]) -> None:
        """Do what a command asks for. Without the text that its verb needs, a window asks for it."""
        async with intake.reporting_faults(partial(self.failed, interaction)):
            text, options, attached = read(row, given)
            if row.at_once:
                # Answered on the spot, to the person alone: there is nothing in it to keep or to lose.
                await replies.at_length(interaction, help_text(self.words(interaction), text or ""))
            elif row.rewords and attached == (None,):
                await self._reword(interaction, row, text or "")
            elif text is None and row.argument is not None:
                say = self.words(interaction)
                label = say(row.argument.summary)
                label = label[:1].upper() + label[1:]
                asked = PendingForm(row.work, row.name, options=options, files=files_of(attached))
                title = f"/{path_of(say, row)}"
                hint = parse(row.example).text
                await self.open(interaction, asked, title=title, label=label, hint=hint, form=True)
            else:
                files, named = files_of(attached), text or ""
                if row.argument is not None and row.argument.completes in ("section", "book"):
                    space, shelf = placing.spot(interaction).space, options.get("shelf")
                    # It may have been too long to be offered whole.
                    named = await self.autocomplete.whole(
                        space, row.argument.completes, named, str(shelf) if shelf else None
                    )
                await self._take(interaction, Invocation(row, named, options, files))

    async def again(self, interaction: discord.Interaction, run: str) -> None:
        """Ask a run's question once more, here, as whoever pressed the button."""
        async with intake.reporting_faults(partial(self.failed, interaction)):
            await self._take(interaction, await self.repetition(placing.spot(interaction), run))

    async def choose(self, interaction: discord.Interaction, chosen: StoredChoice, run: str) -> None:
        """Do what the line of one of the run's choices says, or ask for the words that it lacks."""
        async with intake.reporting_faults(partial(self.failed, interaction)):
            if not chosen.asks:
                await self._take(interaction, intake.choice_invocation(chosen.command, run))
                return
            asked = intake.choice_form(chosen.command, run)
            await self.open(interaction, asked, title=chosen.label, label=chosen.asks, form=chosen.form)

    async def open(
        self,
        interaction: discord.Interaction,
        asked: PendingForm,
        *,
        title: str,
        label: str,
        filled: str = "",
        required: bool = True,
        hint: str = "",
        form: bool = False,
    ) -> None:
        """Open a window for the text that a request lacks, and with `form` as much of its verb's form as fits; `finish`
        takes it up.
        """
        async with intake.reporting_faults(partial(self.failed, interaction)):
            here = placing.spot(interaction)
            manages = placing.manages(interaction, here)
            kept = await self.store_form(here, str(interaction.id), asked, admin=manages)
            long = asked.row.plain or filled != "" or asked.answers != ""
            field: ui.TextInput[ui.Modal] = ui.TextInput(
                custom_id=TYPED,
                style=discord.TextStyle.paragraph if long else discord.TextStyle.short,
                default=filled or None,
                placeholder=hint[:HINT_CHARS] or None,
                required=required,
                max_length=CHARS - len(asked.after),  # which is a part of the question, too
            )
            # What is sent comes to `finish`, not to this object, which a restart loses.
            window = ui.Modal(
                title=label_of(title, LABEL_CHARS),
                custom_id=custom_id("modal", kept),
                timeout=float(TOKEN_SECONDS),
            )
            window.add_item(labelled(label, field))
            for one in asked.form(self.words(interaction))[: FIELDS - 1] if form else ():
                window.add_item(option_field(one))
            await interaction.response.send_modal(window)

    async def about(self, interaction: discord.Interaction, message: discord.Message) -> None:
        """The message menu "Ask about this message": what somebody wrote becomes the question, or part of it.

        The interaction brings the message's text along, so the Message Content intent is not needed.
        """
        say = self.words(interaction)
        quoted = quotation(text_of(message))
        if not quoted:
            await replies.tell(interaction, say("edge.no_text"))
            return
        asked = PendingForm(*commands.plain_verb(commands.DEFAULT_WORK), after=f"\n\n{quoted}")
        await self.open(
            interaction, asked, title=say("edge.about"), label=say("edge.about_label"), required=False
        )

    async def on_message(self, interaction: discord.Interaction, row: Verb, message: discord.Message) -> None:
        """Do what a verb in a message's menu says with the run whose message that is."""
        async with intake.reporting_faults(partial(self.failed, interaction)):
            here = placing.spot(interaction)
            channel = str(here.parent or here.channel)
            ids = (str(message.id), f"{OWN}{message.webhook_id}:{message.id}")
            await self._take(interaction, await self.called_on_message(here, row, ids, channel))

    async def _reword(self, interaction: discord.Interaction, row: Verb, name: str) -> None:
        """Open a window with today's text of a prompt, to be changed."""
        text = await self.wording(placing.spot(interaction), name.strip())
        if len(text) > CHARS:
            raise Sorry("discord.prompt_long", name=name, length=len(text), limit=CHARS)
        say = self.words(interaction)
        asked = PendingForm(row.work, row.name, before=f"{name.strip()} ")
        title = say("edge.edit", name=name)
        await self.open(interaction, asked, title=title, label=say("edge.edit_label"), filled=text)

    async def finish(self, interaction: discord.Interaction) -> None:
        """Perform what a window of ours was opened for; other interactions are let be."""
        if interaction.type is not discord.InteractionType.modal_submit or not isinstance(
            interaction.data, dict
        ):
            return
        found = re.fullmatch(buttons_row.MODAL, str(interaction.data.get("custom_id", "")))
        if found is None:
            return
        window = found["run"]
        async with intake.reporting_faults(partial(self.failed, interaction)):
            here = placing.spot(interaction)
            asked = await self.stored_form(here, window)
            if asked is None:
                sent = event_id(PLATFORM, here.space, _sent(window))
                raise Sorry(
                    "edge.sent_before"
                    if await self.app.request_of(here.space, sent) is not None
                    else "edge.gone"
                )
            typed = _entered(interaction)
            await self._take(interaction, asked.asked(typed.get(TYPED, ""), _filled(typed)), window=window)
            await self.app.records.offers.forget(here.space, window)
            if not interaction.response.is_done():  # sent twice at once
                raise Sorry("edge.sent_before")

    async def message(self, message: discord.Message, text: str) -> None:
        """Do what somebody wrote to the bot: `text` is the message without the bot's own name."""
        say, here = self.words_of(message), placing.spot_of(message)

        async def tell(error: Exception) -> None:
            said = replies.sentence(say, error)
            if not self.too_many_hints(here):  # everybody in the channel reads it
                await replies.reply(message, said)

        async with intake.reporting_faults(tell):
            files = files_of(message.attachments)
            parsed = intake.parsed_of(as_in_table(text.strip()) or "/help", files)
            held = await self.thread_row(here)
            here = placing.within(here, held)
            place = placing.place(here, event=message.id, goes="here", held=held)
            asked = await self.interpreted(parsed, files, place, str(here.user))
            self.count(here, asked.row)
            made, _ = self._request_of(message, here, asked, held, say.locale)
            await self.app.perform(made)

    def words(self, interaction: discord.Interaction) -> Words:
        """In the language of the person's own Discord; messages don't tell it, so it is remembered."""
        say = words(f"{interaction.locale.value}")  # its own str fails for a value that is none
        self._locales[getattr(interaction.user, "id", 0)] = say.locale
        if len(self._locales) > PEOPLE:
            self._locales.popitem(last=False)
        return say

    def words_of(self, message: discord.Message) -> Words:
        """In the language of the person's last command, else the guild's."""
        if (known := self._locales.get(message.author.id)) is not None:
            return words(known)
        return words(locale_of(str(message.guild.preferred_locale)) if message.guild else "en")

    async def failed(self, interaction: discord.Interaction, error: Exception) -> None:
        """Tell the person what went wrong, in one sentence; what nobody foresaw also goes to the log."""
        run = interaction.extras.get(_RUN, "")
        await replies.tell(interaction, replies.sentence(self.words(interaction), error, run))

    async def _take(self, interaction: discord.Interaction, asked: Invocation, *, window: str = "") -> None:
        """From an interaction that says everything to a run. Of a `window` it is one, however often that is sent."""
        here = placing.spot(interaction)
        self.count(here, asked.row)
        held, locale = await self.thread_row(here), self.words(interaction).locale
        made, origin = self._request_of(interaction, here, asked, held, locale)
        if window:
            made = replace(made, id=event_id(PLATFORM, here.space, _sent(window)))

        async def acknowledge() -> None:
            interaction.extras[_RUN] = made.id
            if origin.token:
                await interaction.response.defer(thinking=True, ephemeral=origin.private)
            elif not interaction.response.is_done():
                await interaction.response.defer()

        await self.app.perform(made, acknowledge)


def labelled(question: str, field: ui.TextInput[ui.Modal]) -> ui.Label[ui.Modal]:
    """The field under its question, which stands below in full where it is longer than a label."""
    more = label_of(question, HINT_CHARS) if len(question) > LABEL_CHARS else None
    return ui.Label(text=label_of(question, LABEL_CHARS), description=more, component=field)


def _sent(window: str) -> str:
    """The event that sending a window is: the same however often it is sent."""
    return f"window:{window}"


def option_field(field: intake.Field) -> ui.Label[ui.Modal]:
    """What is typed or chosen for an option."""
    item: ui.TextInput[ui.Modal] | ui.Select[ui.Modal]
    if field.values:
        offered = [discord.SelectOption(label=name, value=value) for value, name in field.values]
        item = ui.Select(custom_id=field.id, options=offered, min_values=0, required=False)
    else:
        style = discord.TextStyle.paragraph if field.long else discord.TextStyle.short
        item = ui.TextInput(custom_id=field.id, style=style, required=False, max_length=CHARS)
    return ui.Label(
        text=label_of(field.label, LABEL_CHARS), description=label_of(field.hint, HINT_CHARS), component=item
    )


def _entered(interaction: discord.Interaction) -> dict[str, str]:
    """What was typed into the window or chosen in it, by the fields' ids."""
    data: Any = interaction.data
    return {
        str(one.get("custom_id")): str(one.get("value") or next(iter(one.get("values") or ()), ""))
        for one in _components(data.get("components"))
    }


def _filled(typed: Mapping[str, str]) -> dict[str, str]:
    return {id.removeprefix(FIELD): value for id, value in typed.items() if id.startswith(FIELD)}


def _components(nodes: object) -> Iterator[dict[str, Any]]:
    """Every component under these, rows and labels opened."""
    for node in nodes if isinstance(nodes, list) else []:
        if isinstance(node, dict):
            yield node
            yield from _components(node.get("components"))
            yield from _components([node.get("component")])
