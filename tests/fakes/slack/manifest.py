"""An app's manifest as Slack accepts it, for the parts that ours has; unknown fields are refused.

https://docs.slack.dev/reference/app-manifest, and the limits of github.com/slackapi/manifest-schema.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Address = Annotated[str, StringConstraints(pattern="^https?://", max_length=3_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=50)]
"""Of a scope or an event."""


def text(most: int, least: int = 1, pattern: str | None = None) -> StringConstraints:
    return StringConstraints(min_length=least, max_length=most, pattern=pattern)


class Form(BaseModel):
    """A part of the manifest; fields that it does not name are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Version(Form):
    major_version: Literal[1, 2]
    minor_version: int = 0


class Display(Form):
    name: Annotated[str, text(35)]
    description: Annotated[str, text(140)] = "-"
    long_description: Annotated[str, text(4_000, least=175)]
    background_color: Annotated[str, text(7, pattern="^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$")]


class Home(Form):
    home_tab_enabled: bool
    messages_tab_enabled: bool
    messages_tab_read_only_enabled: bool


class Prompt(Form):
    title: Annotated[str, text(2_000)]
    message: Annotated[str, text(2_000)]


class Agent(Form):
    agent_description: Annotated[str, text(300)]
    suggested_prompts: Annotated[list[Prompt], Field(max_length=4)]


class Bot(Form):
    display_name: Annotated[str, text(80)]
    always_online: bool


class Shortcut(Form):
    name: Annotated[str, text(24)]
    type: Literal["message", "global"]
    callback_id: Annotated[str, text(255)]
    description: Annotated[str, text(150)]


class Command(Form):
    command: Annotated[str, text(32, pattern="^/[a-z0-9_-]+$")]
    description: Annotated[str, text(2_000)]
    usage_hint: Annotated[str, text(1_000)]
    should_escape: bool
    url: Address | None = None


class Features(Form):
    app_home: Home
    agent_view: Agent
    bot_user: Bot
    shortcuts: Annotated[list[Shortcut], Field(min_length=1, max_length=10)]
    slash_commands: Annotated[list[Command], Field(min_length=1, max_length=50)]


class Scopes(Form):
    bot: Annotated[list[Name], Field(min_length=1, max_length=255)]


class OAuth(Form):
    scopes: Scopes
    redirect_urls: Annotated[list[Address], Field(max_length=1_000)] = []


class Events(Form):
    bot_events: Annotated[list[Name], Field(min_length=1, max_length=100)]
    request_url: Address | None = None


class Interactivity(Form):
    is_enabled: bool
    request_url: Address | None = None


class Settings(Form):
    event_subscriptions: Events
    interactivity: Interactivity
    org_deploy_enabled: bool
    socket_mode_enabled: bool
    token_rotation_enabled: bool


class Manifest(Form):
    version: Version = Field(alias="_metadata")
    display_information: Display
    features: Features
    oauth_config: OAuth
    settings: Settings
