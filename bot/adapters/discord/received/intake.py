"""Takes in what people ask on Discord: from an interaction or a message to a request that App performs.

Every refusal and every fault ends here, as one sentence to the person alone. A window asks for what a command was sent
without: a long question, a prompt's new text. What it will complete is kept in the storage under the id in its
custom_id, so that one which was opened before a restart, or hours ago, is still answered.

Knows neither how an answer looks nor which commands there are.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import discord
from discord import ui

from bot import commands
from bot.adapters import custom_ids
from bot.adapters.buttons_row import label as label_of
from bot.adapters.cooldown import ASKS, LOOKS, PEOPLE, SLIPS, Cooldowns
from bot.adapters.discord.received import placing, request
from bot.adapters.discord.received.commands import Autocomplete, path_of, read
from bot.adapters.discord.received.placing import PLATFORM, TOKEN_SECONDS, Spot, origin_of
from bot.adapters.discord.shown import telling
from bot.adapters.discord.text.spoken import help_text
from bot.adapters.offered import Offered
from bot.adapters.quoted import quotation
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


TYPED = "text"
"""The custom_id of the field that is typed into."""
CHARS = 4_000
"""The most that can be typed into a field: Discord's limit, as is that of a title and of a label."""
LABEL_CHARS, HINT_CHARS = 45, 100
_RUN = "run"
"""Under this name an interaction bears the run that it has become, once it has."""


class Intake:
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
        async with self._told(interaction):
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
                brought = [asdict(one) for one in request.files_of(attached)]
                asked = Unfinished(row.work, row.name, options=options, files=brought)
                title = f"/{path_of(say, row)}"
                await self.open(interaction, asked, title=title, label=label, hint=parse(row.example).text)
            else:
                files, named = request.files_of(attached), text or ""
                if row.argument is not None and row.argument.completes in ("section", "book"):
                    space, shelf = placing.spot(interaction).space, options.get("shelf")
                    # It may have been too long to be offered whole.
                    named = await self.autocomplete.whole(
                        space, row.argument.completes, named, str(shelf) if shelf else None
                    )
                await self._take(interaction, row, named, options, files)

    async def again(self, interaction: discord.Interaction, run: str) -> None:
        """Ask a run's question once more, here, as whoever pressed the button."""
        async with self._told(interaction):
            past = await self._app.past(placing.spot(interaction).space, run)
            if past is None or _only_for_another(past, interaction.user.id):
                raise Sorry("edge.gone")
            row = commands.verb(past.work, past.verb)
            if row.argument is not None and row.argument.required and not (past.text or past.files):
                raise Sorry("edge.gone")  # whoever asked has taken it back
            await self._take(interaction, row, past.text, past.options, past.files)

    async def hidden(self, interaction: discord.Interaction, run: str) -> bool:
        """Whether what the run was asked, and what came of it, is for somebody else alone."""
        past = await self._app.past(placing.spot(interaction).space, run)
        return past is not None and _only_for_another(past, interaction.user.id)

    async def choose(self, interaction: discord.Interaction, chosen: Offered, run: str) -> None:
        """Do what the line of one of the run's choices says, or ask for the words that it lacks."""
        async with self._told(interaction):
            parsed = parse(chosen.command, asks=chosen.asks != "")
            if parsed.verb is None:
                raise Sorry("edge.gone")
            if not chosen.asks:
                await self._take(interaction, parsed.verb, parsed.text, parsed.options, (), answers=run)
                return
            before = f"{parsed.text} " if parsed.text else ""
            row = parsed.verb
            asked = Unfinished(row.work, row.name, before=before, options=parsed.options, answers=run)
            await self.open(interaction, asked, title=chosen.label, label=chosen.asks)

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
            self._wait(here)
            run = event_id(PLATFORM, here.space, str(interaction.id))
            kept = replace(asked, author=str(here.user)).kept()
            await self._app.house.offers.keep(here.space, run, KIND, [kept])
            long = row.plain or bool(filled) or asked.answers != ""
            window = Window(
                run,
                title,
                label,
                filled=filled,
                required=required,
                hint=hint,
                long=long,
                most=CHARS - len(asked.after),  # which is a part of the question, too
            )
            await interaction.response.send_modal(window)

    async def about(self, interaction: discord.Interaction, message: discord.Message) -> None:
        """The message menu "Ask about this message": what somebody wrote becomes the question, or part of it.

        The interaction brings the message's text along, so the Message Content intent is not needed.
        """
        say = self.words(interaction)
        quoted = quotation(request.text_of(message))
        if not quoted:
            await telling.tell(interaction, say("edge.no_text"))
            return
        asked = Unfinished(*commands.plain_verb(commands.DEFAULT_WORK), after=f"\n\n{quoted}")
        await self.open(
            interaction, asked, title=say("edge.about"), label=say("edge.about_label"), required=False
        )

    async def _reword(self, interaction: discord.Interaction, row: Verb, name: str) -> None:
        """Open a window with today's text of a prompt, to be changed."""
        space = placing.spot(interaction).space
        text = as_yaml((await self._app.house.prompts.wording(space, name.strip())).text)
        if len(text) > CHARS:
            raise Sorry("discord.prompt_long", name=name, length=len(text), limit=CHARS)
        say = self.words(interaction)
        asked = Unfinished(row.work, row.name, before=f"{name.strip()} ")
        title = say("edge.edit", name=name)
        await self.open(interaction, asked, title=title, label=say("edge.edit_label"), filled=text)

    async def finish(self, interaction: discord.Interaction) -> None:
        """Perform what a window of ours was opened for; other interactions are let be."""
        run = _window_of(interaction)
        if run is None:
            return
        async with self._told(interaction):
            space = placing.spot(interaction).space
            kept = await self._app.house.offers.get(space, run, KIND, 0)
            asked = unfinished(kept) if kept is not None else None
            if asked is None or asked.author != str(interaction.user.id):
                sent_before = await self._app.past(space, event_id(PLATFORM, space, _sent(run))) is not None
                raise Sorry("edge.sent_before" if sent_before else "edge.gone")
            row, text = commands.verb(asked.work, asked.verb), asked.text(_entered(interaction))
            await self._take(
                interaction, row, text, asked.options, asked.brought, window=run, answers=asked.answers
            )
            await self._app.house.offers.forget(space, run)
            if not interaction.response.is_done():  # sent twice at once
                raise Sorry("edge.sent_before")

    async def message(self, message: discord.Message, text: str) -> None:
        """Do what somebody wrote to the bot: `text` is the message without the bot's own name."""
        say = self.words_of(message)
        try:
            with in_words():
                parsed = request.parsed_of(text, message.attachments)
                held = await self._held(placing.spot_of(message))
                here, thread = request.spot_in(message, held), held.thread if held is not None else None
                place = placing.place(here, event=message.id, goes="here", held=thread)
                row = parsed.verb or commands.verb(*await self._app.plain(place))
                if not (row.at_once or row.stops):  # for these nobody has to wait
                    self._wait(here, works=row.ordered or row.background)
                made = request.of_message(
                    message,
                    here,
                    parsed,
                    row,
                    held=thread,
                    threads=self._threads,
                    us=self._client.application_id or 0,
                    locale=say.locale,
                )
                await self._app.perform(made)
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
        """In the language of the person's last command, else the guild's."""
        if (known := self._locales.get(message.author.id)) is not None:
            return words(known)
        return words(locale_of(str(message.guild.preferred_locale)) if message.guild else "en")

    def cool(self, user_id: int, space: str, *, works: bool = False) -> float:
        """Count a request of this person, apart if it `works` long: the seconds to wait first, or 0."""
        return (self._asks if works else self._looks).take(space, user_id)

    async def failed(self, interaction: discord.Interaction, error: Exception) -> None:
        """Tell the person what went wrong, in one sentence; what nobody foresaw also goes to the log."""
        run = interaction.extras.get(_RUN, "")
        await telling.tell(interaction, telling.sentence(self.words(interaction), error, run))

    @asynccontextmanager
    async def _told(self, interaction: discord.Interaction) -> AsyncGenerator[None, None]:
        """Whatever goes wrong inside is told to the person."""
        try:
            with in_words():
                yield
        except Exception as error:
            await self.failed(interaction, error)

    async def _take(
        self,
        interaction: discord.Interaction,
        row: Verb,
        text: str,
        options: Mapping[str, OptionValue],
        files: tuple[File, ...],
        *,
        window: str = "",
        answers: str = "",
    ) -> None:
        """From an interaction that says everything to a run. Of a `window` it is one, however often that is sent."""
        here = placing.spot(interaction)
        if not (row.at_once or row.stops):  # for these nobody has to wait
            self._wait(here, works=row.ordered or row.background)
        held = await self._held(here) if here.thread else None
        made, origin = request.of_interaction(
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
        if window:
            made = replace(made, id=event_id(PLATFORM, here.space, _sent(window)))
        made = replace(made, answers=answers)

        async def acknowledge() -> None:
            interaction.extras[_RUN] = made.id
            if origin.token:
                await interaction.response.defer(thinking=True, ephemeral=origin.private)
            elif not interaction.response.is_done():
                await interaction.response.defer()

        await self._app.perform(made, acknowledge)

    async def _held(self, here: Spot) -> ThreadRow | None:
        """What the bot holds in the thread that this is, if it is one: it is called as it was opened."""
        if here.guild is None:
            return None
        return await self._app.house.threads.held(here.space, str(here.channel))

    def _wait(self, here: Spot, *, works: bool = False) -> None:
        """Raises Sorry for one request too many."""
        if seconds := self.cool(here.user, here.space, works=works):
            raise Sorry("edge.slow_down", n=int(seconds) + 1)


def _only_for_another(past: Request, user: int) -> bool:
    return past.origin != "" and origin_of(past.origin).private and past.author.id != str(user)


class Window(ui.Modal):
    """One field to type into. Its answer is taken by `Intake.finish`, not by this object, which a restart loses."""

    def __init__(
        self,
        run: str,
        title: str,
        label: str,
        *,
        filled: str = "",
        required: bool = True,
        hint: str = "",
        long: bool = True,
        most: int = CHARS,
    ) -> None:
        super().__init__(
            title=label_of(title, LABEL_CHARS), custom_id=custom_ids.modal(run), timeout=float(TOKEN_SECONDS)
        )
        typed: ui.TextInput[Window] = ui.TextInput(
            custom_id=TYPED,
            style=discord.TextStyle.paragraph if long else discord.TextStyle.short,
            default=filled or None,
            placeholder=hint[:HINT_CHARS] or None,
            required=required,
            max_length=most,
        )
        # A question may be longer than a label: then it stands below.
        more = label_of(label, HINT_CHARS) if len(label) > LABEL_CHARS else None
        self.add_item(ui.Label(text=label_of(label, LABEL_CHARS), description=more, component=typed))

    async def on_submit(self, interaction: discord.Interaction) -> None:
        """Nothing: every submission comes to the listener, whether or not this object is still there."""


def _sent(window: str) -> str:
    """The event that sending a window is: the same however often it is sent."""
    return f"window:{window}"


def _window_of(interaction: discord.Interaction) -> str | None:
    """The id of the window that this interaction answers; None for one that is no window of ours."""
    if interaction.type is not discord.InteractionType.modal_submit or not isinstance(interaction.data, dict):
        return None
    found = re.fullmatch(custom_ids.MODAL, str(interaction.data.get("custom_id", "")))
    return found["run"] if found else None


def _entered(interaction: discord.Interaction) -> str:
    """What was typed into the window, "" where nothing was."""
    data: Any = interaction.data
    for component in _components(data.get("components")):
        if component.get("custom_id") == TYPED:
            return str(component.get("value") or "")
    return ""


def _components(nodes: object) -> Iterator[dict[str, Any]]:
    """Every component under these, rows and labels opened."""
    for node in nodes if isinstance(nodes, list) else []:
        if isinstance(node, dict):
            yield node
            yield from _components(node.get("components"))
            yield from _components([node.get("component")])
