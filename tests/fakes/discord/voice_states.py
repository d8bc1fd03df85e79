"""The voice state of a person or the bot: one voice channel in each guild."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.fakes.discord.channels import STAGE

if TYPE_CHECKING:
    from tests.fakes.discord.channels import Channel
    from tests.fakes.discord.world import User


@dataclass(eq=False)
class VoiceState:
    user: User
    channel: Channel
    session_id: str
    """Of the gateway session that went there."""
    self_mute: bool = False
    self_deaf: bool = False
    mute: bool = False
    suppress: bool = False
    request_to_speak: str | None = None

    def go(self, channel: Channel) -> None:
        """Join a channel: on a stage as a listener, elsewhere as a speaker if allowed."""
        self.channel = channel
        self.request_to_speak = None
        self.suppress = channel.type == STAGE
        if self.user.bot and not channel.allows("SPEAK"):
            self.suppress = True

    def payload(self) -> dict[str, Any]:
        """The state as in a guild; the event adds the guild and the member."""
        return {
            "channel_id": str(self.channel.id),
            "user_id": str(self.user.id),
            "session_id": self.session_id,
            "deaf": False,
            "mute": self.mute,
            "self_deaf": self.self_deaf,
            "self_mute": self.self_mute,
            "self_video": False,
            "suppress": self.suppress,
            "request_to_speak_timestamp": self.request_to_speak,
        }
