"""Turns an interaction or a message on Discord into a request for App.

Every refusal and every fault ends in `failed`, which shows one sentence to the person alone; the command tree calls it
for what a command or a menu raises. A window asks for a text that the command was sent without: a long question, a
prompt's new text. The pending form is stored under the id in the window's custom_id, so that a window opened hours ago
or before a restart still works.

It depends neither on the look of an answer nor on the set of commands.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import discord
from discord import ui

from bot import commands
from bot.adapters import intake
from bot.adapters.discord.received import placing
from bot.adapters.discord.received.brought import LINK, Asker, brought, files_of, linked
from bot.adapters.discord.received.commands import as_in_table, path_of, read
from bot.adapters.discord.received.completions import Autocomplete
from bot.adapters.discord.received.placing import PLATFORM, TOKEN_SECONDS, file_of, request_of, text_of
from bot.adapters.discord.shown import replies
from bot.adapters.footer import label as label_of
from bot.adapters.intake import PEOPLE
from bot.adapters.invocation import (
    FIELD,
    NOTHING,
    QUESTION_FILES,
    QUOTABLE,
    Brought,
    Field,
    Invocation,
    PendingForm,
    choice_form,
    choice_invocation,
    late_invocation,
    parsed_of,
    quotation,
    shown_time,
    spoken,
    with_brought,
    with_quotation,
)
from bot.adapters.markdown import clean
from bot.adapters.stored_choices import StoredChoice
from bot.adapters.surface import OWN
from bot.command_line import Parsed, parse
from bot.commands import PLAY
from bot.events import Author, Place, PressedLate, Quoted, UserError
from bot.runs.requests import event_id
from bot.settings import IN_CHANNEL
from bot.verb import PRIVATE, Verb
from bot.words import Words, locale_of, words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.app import App
    from bot.config import Config
    from storage.proxies import ProxiedName


TYPED = "text"
"""The custom_id of the text field."""
CHARS = 4_000
"""Discord's limits in characters: of a field, of a title or label, and of a description."""
LABEL_CHARS, HINT_CHARS = 45, 100
FIELDS = 5
"""Fields per window (Discord's documentation, "Modal")."""
_RUN = "run"
"""The key in an interaction's extras for the run that it began."""


class Intake(intake.Intake):
    """Handles what people send; one per client."""

    def __init__(self, app: App, client: discord.Client, config: Config) -> None:
        super().__init__(app, PLATFORM, placing.for_one, config.limits)
        threads, us = config.discord.threads, client.application_id or 0
        self._threads = threads
        self._request_of = partial(request_of, us=us)
        self._client = client
        self._locales: OrderedDict[int, str] = OrderedDict()
        self.autocomplete = Autocomplete(app.complete, self._place)

    async def slash(self, interaction: discord.Interaction, row: Verb, values: Mapping[str, Any]) -> None:
        """Perform a slash command, or open a window for the text that its verb needs."""
        text, options, files = read(row, values)
        if row.at_once:
            # Answered at once, to the person alone, without a run: nothing has to be stored.
            await replies.at_length(interaction, replies.help_text(self.words(interaction), text or ""))
        elif row.rewords and not files:
            await self._reword(interaction, row, text or "")
        elif text is None and row.argument is not None:
            say = self.words(interaction)
            label = say(row.argument.summary)
            label = label[:1].upper() + label[1:]
            asked = PendingForm(row.work, row.name, options=options, files=files)
            title = f"/{path_of(say, row)}"
            hint = parse(row.example_in(say)).text
            await self.open(interaction, asked, title=title, label=label, hint=hint, form=True)
        else:
            argument = text or ""
            if row.argument is not None and row.argument.completes in ("section", "book"):
                space, shelf = placing.location_of(interaction).space, options.get("shelf")
                # The completion may have been cut.
                argument = await self.autocomplete.whole(
                    space, row.argument.completes, argument, str(shelf) if shelf else None
                )
            await self._take(interaction, Invocation(row, argument, options, files))

    async def again(self, interaction: discord.Interaction, run: str) -> None:
        """Repeat a run's request, for the person who pressed the button."""
        try:
            await self._take(interaction, await self.repetition(placing.location_of(interaction), run))
        except Exception as error:
            await self.failed(interaction, error)

    async def choose(self, interaction: discord.Interaction, chosen: StoredChoice, run: str) -> None:
        """Perform the line of one of the run's choices, or ask for its words first."""
        try:
            if not chosen.asks:
                await self._take(interaction, choice_invocation(chosen, run))
                return
            asked = choice_form(chosen, run)
            await self.open(
                interaction,
                asked,
                title=chosen.label,
                label=chosen.asks,
                filled=chosen.filled,
                form=chosen.form,
            )
        except Exception as error:
            await self.failed(interaction, error)

    async def further(self, interaction: discord.Interaction, run: str) -> None:
        """Open a window for a follow-up question about this run's answer; only the asker may use it."""
        past = await self.repetition(placing.location_of(interaction), run)
        more = {commands.FOLLOW_UP: True, PRIVATE.name: True}
        asked = PendingForm(past.row.work, past.row.name, options={**past.options, **more}, answers=run)
        say = self.words(interaction)
        await self.open(interaction, asked, title=say("page.further"), label=say("page.further_label"))

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
        """Open a window for the text of a pending form; with `form`, also for as many fields of its verb's form as fit.
        `finish` handles the submission.
        """
        location = placing.location_of(interaction)
        window_id = await self.store_form(location, str(interaction.id), asked, admin=location.admin)
        long = asked.row.plain or filled != "" or asked.answers != ""
        field: ui.TextInput[ui.Modal] = ui.TextInput(
            custom_id=TYPED,
            style=discord.TextStyle.paragraph if long else discord.TextStyle.short,
            default=filled or None,
            placeholder=hint[:HINT_CHARS] or None,
            required=required,
            max_length=asked.most(CHARS),
        )
        # `finish` gets the submission rather than this object, which a restart loses.
        window = ui.Modal(
            title=label_of(title, LABEL_CHARS),
            custom_id=f"modal:{window_id}",
            timeout=float(TOKEN_SECONDS),
        )
        window.add_item(labelled(label, field))
        for option in asked.form(self.words(interaction))[: FIELDS - 1] if form else ():
            window.add_item(option_field(option))
        await interaction.response.send_modal(window)

    async def about(self, interaction: discord.Interaction, message: discord.Message) -> None:
        """The message menu "Ask about this message": the message becomes the question, or part of it.

        The interaction contains the message's text, so the Message Content intent is not needed.
        """
        say = self.words(interaction)
        quoted, files = quotation(text_of(message)), files_of(message)[:QUESTION_FILES]
        if not (quoted or files):
            await replies.tell(interaction, say("edge.no_text"))
            return
        after = f"\n\n{quoted}" if quoted else ""
        at = shown_time(message.created_at, interaction.created_at)
        source = Quoted(name=clean(message.author.display_name), at=at)
        asked = PendingForm(
            *commands.plain_verb(commands.DEFAULT_WORK), after=after, files=files, quoted=(source,)
        )
        await self.open(
            interaction, asked, title=say("edge.about"), label=say("edge.about_label"), required=not quoted
        )

    async def on_message(self, interaction: discord.Interaction, row: Verb, message: discord.Message) -> None:
        """Perform a verb from the menu of a run's message."""
        location = placing.location_of(interaction)
        channel = str(location.parent or location.channel)
        ids = (str(message.id), f"{OWN}{message.webhook_id}:{message.id}")
        await self._take(interaction, await self.called_on_message(location, row, ids, channel))

    async def _reword(self, interaction: discord.Interaction, row: Verb, name: str) -> None:
        """Open a window to edit the present text of a prompt."""
        text = await self.wording(placing.location_of(interaction), name.strip())
        if len(text) > CHARS:
            raise UserError("discord.prompt_long", name=name, length=len(text), limit=CHARS)
        say = self.words(interaction)
        asked = PendingForm(row.work, row.name, before=f"{name.strip()} ")
        title = say("edge.edit", name=name)
        await self.open(interaction, asked, title=title, label=say("edge.edit_label"), filled=text)

    async def finish(self, interaction: discord.Interaction) -> None:
        """Perform the invocation of a submitted window; ignores other interactions."""
        if interaction.type is not discord.InteractionType.modal_submit or not isinstance(
            interaction.data, dict
        ):
            return
        match = re.fullmatch(intake.MODAL, str(interaction.data.get("custom_id", "")))
        if match is None:
            return
        try:
            await self._submitted(interaction, match["run"])
        except Exception as error:
            await self.failed(interaction, error)

    async def _submitted(self, interaction: discord.Interaction, window: str) -> None:
        location = placing.location_of(interaction)
        asked = await self.stored_form(location, window)
        if asked is None:
            event = event_id(PLATFORM, location.space, _sent(window))
            is_repeated = await self.app.request_of(location.space, event) is not None
            raise UserError("edge.sent_before" if is_repeated else "edge.gone")
        typed = _entered(interaction)
        await self._take(interaction, asked.asked(typed.get(TYPED, ""), _filled(typed)), window=window)
        await self.app.records.offers.forget(location.space, window)
        if not interaction.response.is_done():  # sent twice at once
            raise UserError("edge.sent_before")

    async def _place(self, location: placing.Location) -> Place:
        thread_row = await self.app.records.threads.get(location.space, location.real)
        return placing.place(location, thread_row=thread_row)

    async def brought(self, message: discord.Message) -> Brought:
        """The messages that come with a message to the bot."""
        location = placing.location_of_message(message)
        begins, at = False, placing.place(location)
        if location.thread:
            records = self.app.records
            with suppress(StorageFault):
                begins = (
                    await records.threads.get(location.space, location.real) is None
                    and await records.sessions.active(at.space, PLATFORM, at.channel, at.thread) is None
                )
        return await brought(message, self.me, begins=begins)

    async def reworded(self, message: discord.Message, space: str, run: str, parsed: Parsed) -> str:
        """The new text of an edited message's request, together with the messages that come with it, or ""."""
        past, text = await self.app.request_of(space, run), parsed.text
        if past is not None and not intake.rewords(parsed, past):
            return ""
        if past is None or commands.ROWS[past.work, past.verb] not in QUOTABLE:
            return text
        for begins in (True, False):
            along = await brought(message, self.me, begins=begins)
            if along.text in past.text:
                return with_quotation(text, along.text)
        return text

    async def message(
        self, message: discord.Message, text: str, along: Brought, by: ProxiedName | None = None
    ) -> None:
        """Perform a message to the bot. `text` is its text without the bot's mention, "" for a voice message.

        The messages that come with it (`along`) become part of a question. `by` is the person whose words a proxy has
        posted; such a message never has an admin's rights.
        """
        person = int(by.author_id) if by is not None else message.author.id
        say, location = self.words_of(message, person), placing.location_of_message(message)
        if by is not None:
            location = replace(location, user=person, admin=False)
        try:
            files = tuple(map(file_of, message.attachments))
            thread_row = await self.app.records.threads.get(location.space, location.real)
            location = placing.within(location, thread_row)
            if message.flags.voice and files:
                asked = spoken(files[0])
            else:
                line, place = as_in_table(text.strip()), placing.place(location, thread_row=thread_row)
                parsed = parsed_of(line, files) if line or along else parse("/help")
                asked = await self.interpreted(parsed, files, place, str(location.user))
                if asked.row in QUOTABLE:
                    if along.unseen and not self.too_many_hints(location):
                        await replies.reply(message, say("welcome.unseen"), "h")
                    asked = asked if along == NOTHING else with_brought(asked, along)
                elif not line and along:
                    asked = Invocation(commands.HELP)
            self.count(location, asked)
            here = placing.place(location, thread_row=thread_row)
            threads = self._threads and await self.app.channel_rules.answers(here) != IN_CHANNEL
            request, _ = self._request_of(message, location, asked, thread_row, say.locale, threads=threads)
            if by is not None:
                request = replace(request, author=Author(by.author_id, by.player), proxied=by.name)
            await self.keep_pace(request)
            await self.app.perform(request)
        except Exception as error:
            sentence = replies.sentence(say, error)
            if not self.too_many_hints(location):  # everybody in the channel sees it
                await replies.reply(message, sentence)

    @property
    def me(self) -> int:
        assert self._client.user is not None, "no message comes before READY"
        return self._client.user.id

    def words(self, interaction: discord.Interaction) -> Words:
        """The words in the language that is set here, else in that of the person's Discord. The latter is remembered,
        because messages do not carry it.
        """
        locale = locale_of(f"{interaction.locale.value}")  # str of the locale itself fails if unknown
        self._locales[getattr(interaction.user, "id", 0)] = locale
        if len(self._locales) > PEOPLE:
            self._locales.popitem(last=False)
        with suppress(UserError):  # it names no location
            location = placing.location_of(interaction)
            locale = self.app.settings.known_locale(placing.place(location), str(location.user), locale)
        return words(locale)

    def words_of(self, message: discord.Message, person: int | None = None) -> Words:
        """The words in the language that is set here, else that of the last command by the author (or another
        `person`), else the guild's.
        """
        person = person or message.author.id
        guild = locale_of(str(message.guild.preferred_locale)) if message.guild else "en"
        locale = self._locales.get(person, guild)
        place = placing.place(placing.location_of_message(message))
        return words(self.app.settings.known_locale(place, str(person), locale))

    async def failed(self, interaction: discord.Interaction, error: Exception) -> None:
        """Tell the person about a fault in one sentence. An unforeseen fault also goes to the log."""
        run = interaction.extras.get(_RUN, "")
        await replies.tell(interaction, replies.sentence(self.words(interaction), error, run))

    async def _take(self, interaction: discord.Interaction, asked: Invocation, *, window: str = "") -> None:
        """Perform an invocation. A `window` makes one request, even if it is sent more than once."""
        location = placing.location_of(interaction)
        self.count(location, asked)
        threads = self.app.records.threads
        thread_row = await threads.get(location.space, location.real) if location.real else None
        locale = self.words(interaction).locale
        here = placing.place(location, thread_row=thread_row)
        component = interaction.type is discord.InteractionType.component
        if not component or asked.row is PLAY:
            asked = await self.arranged(asked, here, str(location.user))
        if not component and asked.again is None and LINK.search(asked.text) and asked.row in QUOTABLE:
            asker = Asker(interaction.user, interaction.channel, interaction.guild)
            asked = with_brought(asked, await linked(asked.text, asker, self.me, interaction.created_at))
        opens = self._threads and await self.app.channel_rules.answers(here) != IN_CHANNEL
        request, origin = self._request_of(interaction, location, asked, thread_row, locale, threads=opens)
        if window:
            request = replace(request, id=event_id(PLATFORM, location.space, _sent(window)))
        await self.keep_pace(request)

        async def acknowledge() -> None:
            interaction.extras[_RUN] = request.id
            if origin.token and not origin.pressed:
                await interaction.response.defer(thinking=True, ephemeral=origin.private)
            elif not interaction.response.is_done():
                await interaction.response.defer()

        try:
            ticket = await self.app.perform(request, acknowledge)
        except PressedLate as late:
            await self._take(interaction, late_invocation(request, late))
            return
        if ticket.run != request.id and not ticket.fresh:  # pressed twice at once
            raise UserError("edge.sent_before")


def labelled(question: str, field: ui.TextInput[ui.Modal]) -> ui.Label[ui.Modal]:
    """The field with its question as label. A question that is too long for a label is repeated in full as the
    description.
    """
    full_question = label_of(question, HINT_CHARS) if len(question) > LABEL_CHARS else None
    return ui.Label(text=label_of(question, LABEL_CHARS), description=full_question, component=field)


def _sent(window: str) -> str:
    """The event id of a window's submission; equal for repeated submissions."""
    return f"window:{window}"


def option_field(field: Field) -> ui.Label[ui.Modal]:
    """The field of an option: a text, or a menu of its values."""
    item: ui.TextInput[ui.Modal] | ui.Select[ui.Modal]
    if field.values:
        options = [discord.SelectOption(label=name, value=value) for value, name in field.values]
        least = int(field.required)
        item = ui.Select(custom_id=field.id, options=options, min_values=least, required=field.required)
    else:
        style = discord.TextStyle.paragraph if field.long else discord.TextStyle.short
        item = ui.TextInput(
            custom_id=field.id, style=style, required=field.required, max_length=min(CHARS, field.most)
        )
    return ui.Label(
        text=label_of(field.label, LABEL_CHARS), description=label_of(field.hint, HINT_CHARS), component=item
    )


def _entered(interaction: discord.Interaction) -> dict[str, str]:
    """The values of a submitted window by the fields' ids."""
    data: Any = interaction.data
    return {
        str(component.get("custom_id")): str(
            component.get("value") or next(iter(component.get("values") or ()), "")
        )
        for component in _components(data.get("components"))
    }


def _filled(typed: Mapping[str, str]) -> dict[str, str]:
    return {id.removeprefix(FIELD): value for id, value in typed.items() if id.startswith(FIELD)}


def _components(nodes: object) -> Iterator[dict[str, Any]]:
    """All components of these nodes, including those inside rows and labels."""
    for node in nodes if isinstance(nodes, list) else []:
        if isinstance(node, dict):
            yield node
            yield from _components(node.get("components"))
            yield from _components([node.get("component")])
