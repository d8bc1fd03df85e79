"""People's actions: talk, use commands and shortcuts, press, fill in forms, open the Home tab.

Each returns when the bot has acknowledged it, or has failed to do so within three seconds. Impossible actions raise
LookupError, ValueError or PermissionError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tests.fakes.slack import block_rules, elements, events, interactions, texts
from tests.fakes.slack.delivery import COMMAND, INTERACTIVE, Sent
from tests.fakes.slack.refusal import Refusal
from tests.fakes.slack.views import View
from tests.fakes.slack.web import Refused

if TYPE_CHECKING:
    from tests.fakes.slack.channels import Channel
    from tests.fakes.slack.messages import Message
    from tests.fakes.slack.people import User
    from tests.fakes.slack.service import FakeSlack


class Acts:
    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack

    # Talking

    async def say(
        self,
        user: User,
        place: Channel,
        text: str,
        *,
        thread: Message | None = None,
        mention: bool = False,
        files: Sequence[tuple[str, bytes]] = (),
        spoken: tuple[float, str] | None = None,
        shares: Message | None = None,
        wait: bool = True,
    ) -> Message:
        """Write a message: `text` as it is typed; `mention` puts the bot's name before it; `shares` is another message
        below it. With `spoken` (seconds, words) the file is a clip of that length with this transcript by Slack.
        """
        self._in(user, place)
        words = texts.typed(f"{place.team.bot.mention} {text}" if mention else text)
        uploaded = [self.slack.files.new(user, name, data, len(data)) for name, data in files]
        for file in uploaded:
            if spoken is not None:
                file.seconds, file.heard = spoken
                file.listens = self.slack.files.listens
            file.shared.append(place)
        message = self.slack.post.put(
            place,
            user,
            words,
            blocks=block_rules.named(elements.rich(words), self.slack.world.ids.next) if words else [],
            thread_ts=thread.root.ts if thread else None,
            files=uploaded,
            subtype="file_share" if uploaded else None,
            attachments=[shares.shared()] if shares is not None else [],
        )
        if wait:
            for sent in message.sent:
                await sent.first.wait()
        return message

    async def edit(self, message: Message, text: str) -> None:
        """Edit the person's own message."""
        words = texts.typed(text)
        blocks = block_rules.named(elements.rich(words), self.slack.world.ids.next)
        self.slack.post.change(message, text=words, blocks=blocks)

    async def delete(self, message: Message) -> None:
        self.slack.post.delete(message)

    async def react(self, user: User, message: Message, name: str) -> None:
        message.reactions.append((name, user))
        event = events.reaction(user, name, message, self.slack.world.ids.ts())
        self.slack.delivery.event(message.channel.team, event, "reaction_added", message.channel)

    async def invite(self, user: User, channel: Channel) -> None:
        """Invite the bot into a channel."""
        bot = channel.team.bot
        channel.members.append(bot)
        event = events.joined(bot, channel, user, self.slack.world.ids.ts())
        self.slack.delivery.event(channel.team, event, "member_joined_channel", channel)

    # Commands, presses, shortcuts

    async def command(self, user: User, channel: Channel, command: str, text: str = "") -> Sent:
        """Use a command; not in threads, where Slack has no commands."""
        self._in(user, channel)
        if self.slack.commands is not None and command not in self.slack.commands:
            raise LookupError(f"{command} is not a valid command")
        hook = self.slack.hooks.new(user, channel)
        payload = interactions.command(self.slack, user, channel, command, text, hook.url)
        hook.sent = sent = Sent(COMMAND, channel.team, payload)
        await self._through(sent)
        if sent.response:
            try:
                self.slack.hooks.answer(hook, sent.response)
            except Refusal as problem:
                self.slack.refused.append(Refused(sent.tries[-1].at, command, problem.error, problem.why))
                sent.failed = problem.error
        return sent

    async def press(self, user: User, where: Message | View | None, label: str) -> Sent:
        """Press a button, by its action_id or its label; of two feedback buttons the label decides."""
        return await self._act(user, where, *elements.button(self._blocks(user, where), label))

    async def choose(self, user: User, where: Message | View | None, action_id: str, *values: str) -> Sent:
        """Choose in a menu, boxes or a picker, by the values."""
        return await self._act(user, where, *elements.choice(self._blocks(user, where), action_id, values))

    async def _act(
        self, user: User, where: Message | View | None, block_id: str, action: dict[str, Any]
    ) -> Sent:
        assert where is not None
        hook = None
        if isinstance(where, View):
            if elements.remembers(action["type"]):
                where.values.setdefault(block_id, {})[action["action_id"]] = elements.state(action)
        else:
            hook = self.slack.hooks.new(user, where.channel, where)
        payload = interactions.pressed(
            self.slack, user, where, {"block_id": block_id} | action, hook.url if hook else None
        )
        sent = Sent(INTERACTIVE, user.team, payload)
        if hook is not None:
            hook.sent = sent
        return await self._through(sent)

    async def shortcut(self, user: User, callback_id: str, message: Message) -> Sent:
        """Use a shortcut of a message, or a global one."""
        self._known(callback_id)
        self._in(user, message.channel)
        hook = self.slack.hooks.new(user, message.channel, message)
        payload = interactions.message_action(self.slack, user, callback_id, message, hook.url)
        hook.sent = sent = Sent(INTERACTIVE, user.team, payload)
        return await self._through(sent)

    async def global_shortcut(self, user: User, callback_id: str) -> Sent:
        self._known(callback_id)
        return await self._through(
            Sent(INTERACTIVE, user.team, interactions.shortcut(self.slack, user, callback_id))
        )

    # Home and modals

    async def open_home(self, user: User, tab: str = "home") -> Sent | None:
        view = self.slack.views_kept.homes.get(user.id)
        event = events.home_opened(
            user, user.team.dm(user), tab, view.payload() if view else None, self.slack.world.ids.ts()
        )
        return await self._told(self.slack.delivery.event(user.team, event, "app_home_opened"))

    async def submit(self, user: User, view: View, values: dict[str, dict[str, Any]] | None = None) -> Sent:
        """Fill in a form by block and action, and send it; then apply the bot's acknowledgement."""
        if not view.open or view.user is not user:
            raise LookupError(f"{user} does not see {view}")
        view.errors = {}
        elements.fill(view.blocks, view.values, values or {})
        sent = await self._through(
            Sent(INTERACTIVE, user.team, interactions.submission(self.slack, user, view))
        )
        if sent.failed is None:
            try:
                self._response(view, sent.response or {})
            except Refusal as problem:
                self.slack.refused.append(
                    Refused(sent.tries[-1].at, "view_submission", problem.error, problem.why)
                )
                sent.failed = problem.error
        return sent

    def _response(self, view: View, answer: dict[str, Any]) -> None:
        """https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload#response_action."""
        views = self.slack.views_kept
        match answer.get("response_action"):
            case None:
                views.close(view)
            case "clear":
                views.close(view, all=True)
            case "errors":
                inputs = {block["block_id"] for block in view.blocks if block["type"] == "input"}
                errors = answer.get("errors")
                if not isinstance(errors, dict) or not errors or errors.keys() - inputs:
                    raise Refusal("invalid_arguments", f"errors are by block_id of inputs: {errors}")
                view.errors = errors
            case "update":
                views.update(view, views.accept(answer.get("view") or {}, "modal", itself=view))
            case "push":
                views.open(view.user, views.accept(answer.get("view") or {}, "modal"), below=view)
            case other:
                raise Refusal("invalid_arguments", f"response_action {other}")
        self.slack.world.touch()

    async def close(self, user: User, view: View, all: bool = False) -> Sent | None:
        """Close a form without sending it. The bot gets an event if the view requests it."""
        self.slack.views_kept.close(view, all)
        if not view.content.get("notify_on_close"):
            return None
        payload = interactions.closed(self.slack, user, view, all)
        return await self._through(Sent(INTERACTIVE, user.team, payload))

    # Agents

    async def stop_session(self, user: User, thread: Message) -> Sent | None:
        """Press the stop button of a thread in which the agent is working."""
        root, channel = thread.root, thread.channel
        streams = self.slack.agents.stop(channel, root.ts)
        ts = self.slack.world.ids.ts()
        event = events.session_stopped(user, channel, root.ts, streams, ts)
        return await self._told(
            self.slack.delivery.event(channel.team, event, "agent_session_stopped", channel)
        )

    # Internals

    async def _through(self, sent: Sent) -> Sent:
        self.slack.delivery.begin(sent)
        await sent.first.wait()
        return sent

    async def _told(self, sent: Sent | None) -> Sent | None:
        if sent is not None:
            await sent.first.wait()
        return sent

    def _in(self, user: User, channel: Channel) -> None:
        if user not in channel.members:
            raise PermissionError(f"{user} is not in {channel}")

    def _known(self, callback_id: str) -> None:
        if self.slack.shortcuts is not None and callback_id not in self.slack.shortcuts:
            raise LookupError(f"there is no shortcut {callback_id}")

    def _blocks(self, user: User, where: Message | View | None) -> list[dict[str, Any]]:
        """The blocks that this person sees there."""
        if where is None:
            raise LookupError("there is nothing to press")
        if isinstance(where, View):
            if not where.open or where.user is not user:
                raise LookupError(f"{user} does not see {where}")
            return where.blocks
        if where.deleted or where.ephemeral_to not in (None, user):
            raise LookupError(f"{user} does not see {where}")
        return where.blocks
