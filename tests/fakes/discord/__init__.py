"""A loopback Discord for tests: `from tests.fakes.discord import FakeDiscord`."""

from tests.fakes.discord.asked import Asked
from tests.fakes.discord.channels import Channel, Thread
from tests.fakes.discord.messages import Button, File, Message
from tests.fakes.discord.service import FakeDiscord
from tests.fakes.discord.world import Guild, Member, User

__all__ = [
    "Asked",
    "Button",
    "Channel",
    "FakeDiscord",
    "File",
    "Guild",
    "Member",
    "Message",
    "Thread",
    "User",
]
