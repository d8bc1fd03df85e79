"""The Home tab and what is pressed in it; and what is suggested where people begin to write to the bot.

What the tab says is `home_facts`' business, and how it looks `home_blocks`'.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from bot.adapters.slack.installed.permalinks import Permalinks
from bot.adapters.slack.installed.refusals import in_our_words
from bot.adapters.slack.placing import PLATFORM, Spot
from bot.adapters.slack.received import home_blocks, home_facts, shortcuts
from bot.adapters.slack.received.interactions import Body, action_of, spot_of
from bot.adapters.slack.received.spots import spot_of as spot_of_event
from bot.adapters.slack.received.unattended import unattended
from bot.events import Sorry

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.adapters.slack.service import Slack

MOST = 8_192
"""People to whom it is remembered that something was suggested."""
PROMPTS = ("ask", "council", "help")


class HomeTab:
    """One per process."""

    def __init__(self, slack: Slack) -> None:
        self._slack = slack
        self._links = Permalinks(slack.workspaces)
        self._suggested: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    async def publish(self, here: Spot) -> None:
        """Show `here.user` their Home tab as it is now."""
        slack, say = self._slack, await self._slack.reception.words(here)
        person = await slack.people.of(here)
        me = await slack.workspaces.me(here.team, here.enterprise)
        home = await home_facts.gather(
            slack.app.house,
            here,
            me.name,
            say,
            admin=person.admin,
            link=lambda channel, ts: self._links.of(here, channel, ts),
        )
        client = await slack.workspaces.client(here.team, here.enterprise)
        with in_our_words():
            await client.views_publish(user_id=here.user, view=home_blocks.view(home, say))

    async def suggest(self, here: Spot) -> None:
        """What to begin with, above the box in which people write to the bot."""
        say = await self._slack.reception.words(here)
        key = here.space, here.user, say.locale
        if key in self._suggested:
            return
        prompts = [
            {"title": say(f"slack_home.prompt_{one}_title"), "message": say(f"slack_home.prompt_{one}")}
            for one in PROMPTS
        ]
        client = await self._slack.workspaces.client(here.team, here.enterprise)
        with in_our_words():
            await client.assistant_threads_setSuggestedPrompts(
                channel_id=here.channel, title=say("slack_home.prompts_title"), prompts=prompts
            )
        self._suggested[key] = None
        if len(self._suggested) > MOST:
            self._suggested.popitem(last=False)

    async def pressed(self, body: Body, here: Spot) -> None:
        """Do it and show the tab as it is then. A session's id that is not the presser's finds nothing."""
        what = str(action_of(body).get("action_id", ""))
        async with self._slack.reception.told(here):
            if what == home_blocks.ASK:
                await shortcuts.open_ask(self._slack, here, str(body.get("trigger_id") or ""))
                return
            if what.startswith(home_blocks.OPEN):
                return  # Slack itself goes there
            try:
                await self._change(here, what)
            finally:
                await unattended("a Home tab could not be shown anew", self.publish(here))

    async def _change(self, here: Spot, what: str) -> None:
        owned = self._slack.app.house.owned
        for name in (home_blocks.RESUME, home_blocks.ARCHIVE):
            if what.startswith(name):
                id = what.removeprefix(name)
                mine = await owned.all(here.space, here.user)
                row = next((one for one in mine if one.id == id and one.platform == PLATFORM), None)
                if row is None:
                    raise Sorry("edge.gone")
                if name == home_blocks.ARCHIVE:
                    await owned.archive(here.space, here.user, id)
                else:
                    await owned.resume(here.space, here.user, id, row.channel, row.thread)
                return
        if what != home_blocks.REFRESH:
            raise Sorry("buttons.stale")


def listen(bolt: AsyncApp, slack: Slack) -> None:
    tab = HomeTab(slack)

    async def opened(event: dict[str, Any], body: dict[str, Any], context: AsyncBoltContext) -> None:
        here = spot_of_event(body, context.team_id, context.enterprise_id)
        doing = tab.publish(here) if event.get("tab") == "home" else tab.suggest(here)
        slack.reception.later(unattended("the app's home could not be shown", doing))

    async def pressed(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        await ack()
        slack.reception.later(tab.pressed(body, spot_of(body, context.team_id, context.enterprise_id)))

    bolt.event("app_home_opened")(opened)
    bolt.action(re.compile(r"\Ahome:"))(pressed)
