"""Takes in what people ask on Discord: from an interaction or a message to a request that App performs.

Every refusal and every fault ends here, as one sentence to the person alone. Knows neither how an answer
looks nor which commands there are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import discord

from bot import commands
from bot.adapters.cooldown import ASKS, LOOKS, PEOPLE, SLIPS, Cooldowns
from bot.adapters.discord import invoked, modals, placing, telling, written
from bot.adapters.discord.autocomplete import Autocomplete
from bot.adapters.discord.help import help_text, path_of
from bot.adapters.discord.modals import Window
from bot.adapters.discord.origin import origin_of
from bot.adapters.discord.placing import PLATFORM, Spot
from bot.adapters.discord.verbs import read
from bot.adapters.unfinished import KIND, Unfinished, unfinished
from bot.command_line import parse
from bot.events import File, OptionValue, Request, Sorry
from bot.faults import in_words
from bot.prompts import as_yaml
from bot.requests import event_id
from bot.verb import Verb
from bot.words import Words, locale_of, words

if TYPE_CHECKING:
    from bot.app import App
    from bot.config import Config
    from storage.threads import ThreadRow


@dataclass(slots=True)
class _Begun:
    """The run that an interaction has become, once it has."""

    run: str = ""


class Reception:
    """One per client."""

    def __init__(self, app: App, client: discord.Client, config: Config) -> None:
        self._app = app
        self._client = client
        self._threads = config.discord.threads
        self._asks, self._looks, self._slips = Cooldowns(ASKS), Cooldowns(LOOKS), Cooldowns(SLIPS)
        self._locales: OrderedDict[int, str] = OrderedDict()
        self.autocomplete = Autocomplete(app.complete)

    async def slash(self, interaction: discord.Interaction, row: Verb, given: Mapping[str, Any]) -> None:
        """Do what a command asks for. Without the text that its verb needs, a window asks for it."""
        async with self._told(interaction) as begun:
            text, options, attached = read(row, given)
            if row.at_once:
                # Answered on the spot, to the person alone: there is nothing in it to keep or to lose.
                await telling.at_length(interaction, help_text(self.words(interaction), text or ""))
            elif row.rewords and attached == (None,):
                await self._reword(interaction, row, text or "")
            elif text is None and row.argument is not None:
                say = self.words(interaction)
                label = say(row.argument.summary)
                label = label[:1].upper() + label[1:]
                brought = [asdict(one) for one in written.files_of(attached)]
                asked = Unfinished(row.work, row.name, options=options, files=brought)
                title = f"/{path_of(say, row)}"
                await self.open(interaction, asked, title=title, label=label, hint=parse(row.example).text)
            else:
                named = await self._whole(interaction, row, text or "", options)
                await self._take(interaction, begun, row, named, options, written.files_of(attached))

    async def again(self, interaction: discord.Interaction, run: str) -> None:
        """Ask a run's question once more, here, as whoever pressed the button."""
        async with self._told(interaction) as begun:
            past = await self._app.past(placing.spot(interaction).space, run)
            if past is None or _only_for_another(past, interaction.user.id):
                raise Sorry("edge.gone")
            row = commands.verb(past.work, past.verb)
            if row.argument is not None and row.argument.required and not (past.text or past.files):
                raise Sorry("edge.gone")  # whoever asked has taken it back
            await self._take(interaction, begun, row, past.text, past.options, past.files)

    async def hidden(self, interaction: discord.Interaction, run: str) -> bool:
        """Whether what the run was asked, and what came of it, is for somebody else alone."""
        past = await self._app.past(placing.spot(interaction).space, run)
        return past is not None and _only_for_another(past, interaction.user.id)

    async def choose(self, interaction: discord.Interaction, command: str) -> None:
        """Do what a line such as "/rules lookup Grappled" says."""
        async with self._told(interaction) as begun:
            parsed = parse(command)
            if parsed.verb is None:
                raise Sorry("edge.gone")
            await self._take(interaction, begun, parsed.verb, parsed.text, parsed.options, ())

    async def open(
        self,
        interaction: discord.Interaction,
        asked: Unfinished,
        *,
        title: str,
        label: str,
        filled: str = "",
        required: bool = True,
        hint: str = "",
    ) -> None:
        """Open a window for the text that a request lacks; `finish` takes it up."""
        async with self._told(interaction):
            here, row = placing.spot(interaction), commands.verb(asked.work, asked.verb)
            if row.admin and not placing.manages(interaction, here):
                raise Sorry("app.admins", verb=row.path)
            self._wait_for(self.cool(here.user, here.space))
            run = event_id(PLATFORM, here.space, str(interaction.id))
            kept = replace(asked, author=str(here.user)).kept()
            await self._app.house.offers.keep(here.space, run, KIND, [kept], author_id=str(here.user))
            long = row.plain or bool(filled)
            window = Window(
                run,
                title,
                label,
                filled=filled,
                required=required,
                hint=hint,
                long=long,
                most=modals.CHARS - len(asked.after),  # which is a part of the question, too
            )
            await interaction.response.send_modal(window)

    async def _reword(self, interaction: discord.Interaction, row: Verb, name: str) -> None:
        """Open a window with today's text of a prompt, to be changed."""
        space = placing.spot(interaction).space
        text = as_yaml((await self._app.house.prompts.wording(space, name.strip())).text)
        if len(text) > modals.CHARS:
            raise Sorry("discord.prompt_long", name=name, length=len(text), limit=modals.CHARS)
        say = self.words(interaction)
        asked = Unfinished(row.work, row.name, before=f"{name.strip()} ")
        title = say("edge.edit", name=name)
        await self.open(interaction, asked, title=title, label=say("edge.edit_label"), filled=text)

    async def finish(self, interaction: discord.Interaction) -> None:
        """Perform what a window of ours was opened for; other interactions are let be."""
        run = modals.opened(interaction)
        if run is None:
            return
        async with self._told(interaction) as begun:
            kept = await self._app.house.offers.get(placing.spot(interaction).space, run, KIND, 0)
            asked = unfinished(kept) if kept is not None else None
            if asked is None or asked.author != str(interaction.user.id):
                raise Sorry("edge.gone")
            row, text = commands.verb(asked.work, asked.verb), asked.text(modals.typed(interaction))
            await self._take(interaction, begun, row, text, asked.options, asked.brought)
            await self._app.house.offers.forget(placing.spot(interaction).space, run)

    async def message(self, message: discord.Message, text: str) -> None:
        """Do what somebody wrote to the bot: `text` is the message without the bot's own name."""
        say = words(self._locale_of(message))
        try:
            with in_words():
                parsed = written.parsed_of(text, message.attachments)
                held = await self._held(placing.spot_of(message))
                here, thread = written.spot_in(message, held), held.thread if held is not None else None
                place = placing.place(here, event=message.id, goes="here", held=thread)
                row = parsed.verb or commands.verb(*await self._app.plain(place))
                self._wait(here, row)
                goes = placing.home(here, ordered=row.ordered, written=True, threads=self._threads)
                place = placing.place(here, event=message.id, goes=goes, held=thread)
                us = self._client.application_id or 0
                request = written.request_of(
                    message, here, place, parsed, row, goes, us=us, locale=say.locale
                )
                await self._app.perform(request)
        except Exception as error:
            said = telling.sentence(say, error)
            # Everybody in the channel reads it, so nobody gets the bot to say it without end.
            if not self._slips.take(placing.spot_of(message).space, message.author.id):
                await telling.reply(message, said)

    def words(self, interaction: discord.Interaction) -> Words:
        """In the language of the person's own Discord; messages don't tell it, so it is remembered."""
        say = words(f"{interaction.locale.value}")  # its own str fails for a value that is none
        self._locales[getattr(interaction.user, "id", 0)] = say.locale
        if len(self._locales) > PEOPLE:
            self._locales.popitem(last=False)
        return say

    def words_of(self, message: discord.Message) -> Words:
        return words(self._locale_of(message))

    def cool(self, user_id: int, space: str, *, works: bool = False) -> float:
        """Count a request of this person, apart if it `works` long: the seconds to wait first, or 0."""
        return (self._asks if works else self._looks).take(space, user_id)

    async def tell(self, interaction: discord.Interaction, text: str) -> None:
        """A sentence to the person alone, whether or not the interaction has been answered."""
        await telling.tell(interaction, text)

    async def sorry(self, interaction: discord.Interaction, sorry: Sorry, run: str = "") -> None:
        await telling.tell(interaction, telling.sentence(self.words(interaction), sorry, run))

    async def failed(self, interaction: discord.Interaction, error: Exception) -> None:
        """For the command tree: what went wrong as one sentence; what nobody foresaw also goes to the log."""
        await telling.tell(interaction, telling.sentence(self.words(interaction), error))

    @asynccontextmanager
    async def _told(self, interaction: discord.Interaction) -> AsyncGenerator[_Begun, None]:
        """Whatever goes wrong inside is told to the person."""
        begun = _Begun()
        try:
            with in_words():
                yield begun
        except Exception as error:
            await telling.tell(interaction, telling.sentence(self.words(interaction), error, begun.run))

    async def _take(
        self,
        interaction: discord.Interaction,
        begun: _Begun,
        row: Verb,
        text: str,
        options: Mapping[str, OptionValue],
        files: tuple[File, ...],
    ) -> None:
        """From an interaction that says everything to a run."""
        here = placing.spot(interaction)
        self._wait(here, row)
        held = await self._held(here) if here.thread else None
        request, origin = invoked.request_of(
            interaction,
            here,
            row,
            text,
            options,
            files,
            held=held.thread if held is not None else None,
            threads=self._threads,
            locale=self.words(interaction).locale,
        )

        async def acknowledge() -> None:
            begun.run = request.id
            if origin.token:
                await interaction.response.defer(thinking=True, ephemeral=origin.private)
            elif not interaction.response.is_done():
                await interaction.response.defer()

        await self._app.perform(request, acknowledge)

    async def _whole(
        self, interaction: discord.Interaction, row: Verb, text: str, options: Mapping[str, OptionValue]
    ) -> str:
        """A name that was too long to be offered whole."""
        if row.argument is None or row.argument.completes not in ("section", "book"):
            return text
        space, shelf = placing.spot(interaction).space, options.get("shelf")
        kind = row.argument.completes
        return await self.autocomplete.whole(space, kind, text, str(shelf) if shelf else None)

    async def _held(self, here: Spot) -> ThreadRow | None:
        """What the bot holds in the thread that this is, if it is one: it is called as it was opened."""
        if here.guild is None:
            return None
        return await self._app.house.threads.held(here.space, str(here.channel))

    def _wait(self, here: Spot, row: Verb) -> None:
        """Raises Sorry for one request too many."""
        works = row.ordered or row.background
        if not (row.at_once or row.stops):  # for these nobody has to wait
            self._wait_for(self.cool(here.user, here.space, works=works))

    def _wait_for(self, seconds: float) -> None:
        if seconds:
            raise Sorry("edge.slow_down", n=int(seconds) + 1)

    def _locale_of(self, message: discord.Message) -> str:
        """As in the person's last command, else the guild's."""
        if (known := self._locales.get(message.author.id)) is not None:
            return known
        return locale_of(str(message.guild.preferred_locale)) if message.guild else "en"


def _only_for_another(past: Request, user: int) -> bool:
    return past.origin != "" and origin_of(past.origin).private and past.author.id != str(user)
