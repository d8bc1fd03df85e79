"""A loopback Slack for tests: `from tests.fakes.slack import FakeSlack`."""

from tests.fakes.slack.channels import Channel
from tests.fakes.slack.delivery import Sent
from tests.fakes.slack.files import File
from tests.fakes.slack.messages import Message
from tests.fakes.slack.people import User
from tests.fakes.slack.service import FakeSlack
from tests.fakes.slack.views import View
from tests.fakes.slack.world import Enterprise, Team

__all__ = ["Channel", "Enterprise", "FakeSlack", "File", "Message", "Sent", "Team", "User", "View"]
