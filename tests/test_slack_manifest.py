"""docs/slack-manifest.yaml is a valid manifest and fits the code.

What the code needs from Slack is read from its source and from its registered listeners.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from pydantic import ValidationError
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack import manifest
from bot.adapters.slack.service import ANY, register
from bot.commands import KINDS, TABLE, WORKS
from bot.words import words
from tests.fakes.slack import (
    agents,
    files,
    service,
    web_chat,
    web_conversations,
    web_people,
    web_streams,
    web_views,
)
from tests.fakes.slack.manifest import Manifest

ROOT = Path(__file__).resolve().parents[1]
ADAPTER = ROOT / "bot" / "adapters" / "slack"
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "slack-manifest.yaml").read_text(encoding="utf-8"))


READ = {"channels:read", "groups:read", "im:read", "mpim:read"}
HISTORY = {"channels:history", "groups:history", "im:history", "mpim:history"}
NEEDS: dict[str, set[str]] = {
    "agents.sessions.rename": {"chat:write"},
    "agents.sessions.setStatus": {"chat:write"},
    "assistant.threads.setStatus": {"chat:write"},
    "assistant.threads.setSuggestedPrompts": {"assistant:write"},
    "assistant.threads.setTitle": {"assistant:write"},
    "auth.test": set(),
    "chat.appendStream": {"chat:write"},
    "chat.delete": {"chat:write"},
    "chat.getPermalink": set(),
    "chat.postEphemeral": {"chat:write"},
    "chat.postMessage": {"chat:write"},
    "chat.startStream": {"chat:write"},
    "chat.stopStream": {"chat:write"},
    "chat.update": {"chat:write"},
    "conversations.history": HISTORY,
    "conversations.info": READ,
    "conversations.join": {"channels:join"},
    "conversations.members": READ,
    "conversations.open": {"im:write"},
    "conversations.replies": HISTORY,
    "files.delete": {"files:write"},
    "files.completeUploadExternal": {"files:write"},
    "files.getUploadURLExternal": {"files:write"},
    "files.info": {"files:read"},
    "reactions.add": {"reactions:write"},
    "reactions.remove": {"reactions:write"},
    "team.info": {"team:read"},
    "pins.list": {"pins:read"},
    "usergroups.list": {"usergroups:read"},
    "users.info": {"users:read"},
    "users.list": {"users:read"},
    "views.open": set(),
    "views.publish": set(),
    "views.push": set(),
    "views.update": set(),
}
"""The bot's scopes that a method asks for, as its page says (https://docs.slack.dev/reference/methods)."""
NO_BOT = {"apps.connections.open", "oauth.v2.access"}
"""Methods that are called without the bot's token."""
HEARD: dict[str, set[str]] = {
    "agent_session_stopped": {"chat:write"},
    "app_home_opened": set(),
    "app_mention": {"app_mentions:read"},
    "app_uninstalled": set(),
    **{f"channel_{gone}": {"channels:read"} for gone in ("archive", "deleted", "left")},
    **{f"group_{gone}": {"groups:read"} for gone in ("archive", "deleted", "left")},
    "member_joined_channel": {"channels:read", "groups:read"},
    "message.channels": {"channels:history"},
    "message.groups": {"groups:history"},
    "message.im": {"im:history"},
    "message.mpim": {"mpim:history"},
    "tokens_revoked": set(),
}
"""The scopes that an event asks for (https://docs.slack.dev/reference/events)."""
OTHERS = {
    *(
        "app_context_changed",
        "app_rate_limited",
        "assistant_thread_started",
        "channel_created",
        "channel_rename",
    ),
    *("channel_shared", "channel_unarchive", "emoji_changed", "file_deleted", "file_shared", "group_close"),
    *("group_open", "group_rename", "group_unarchive", "im_close", "im_created", "link_shared"),
    *("member_left_channel", "pin_added", "reaction_added", "reaction_removed", "team_join", "user_change"),
}
"""Events that Slack knows, too, and nobody has subscribed to."""
UNASKED = {
    "assistant:write": "features.agent_view",
    "chat:write.customize": "username and icon_url of chat.postMessage and chat.startStream",
    "commands": "features.slash_commands and shortcuts",
    "files:read": "fetching what people share",
}
"""Scopes that no method and no event asks for, and what wants them."""


def at(path: str) -> Any:
    found: Any = MANIFEST
    for name in path.split("."):
        found = found[name]
    return found


def names(path: str, key: str) -> list[str]:
    return [entry[key] for entry in at(path)]


def test_the_manifest_has_the_form_that_slack_accepts() -> None:
    Manifest.model_validate(MANIFEST)
    for path in ("oauth_config.scopes.bot", "settings.event_subscriptions.bot_events"):
        assert len(set(at(path))) == len(at(path)), "each once"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("display_information.name", "S" * 36),
        ("display_information.description", "x" * 141),
        ("display_information.long_description", "too short"),
        ("display_information.background_color", "red"),
        ("features.shortcuts.0.name", "x" * 25),
        ("features.shortcuts.0.type", "channel"),
        ("features.slash_commands.0.command", "rules"),
        ("features.agent_view.suggested_prompts", [{"title": "a", "message": str(n)} for n in range(5)]),
        ("features.assistant_view", {"assistant_description": "of yesterday"}),
        ("settings.token", "xoxb-1"),
    ],
)
def test_a_manifest_that_slack_refuses_is_noticed(path: str, value: object) -> None:
    wrong = yaml.safe_load(yaml.safe_dump(MANIFEST))
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = wrong
    for step in way:
        place = place[step]
    place[last] = value
    with pytest.raises(ValidationError):
        Manifest.model_validate(wrong)


def test_the_manifest_fits_the_code() -> None:
    assert tuple(at("oauth_config.scopes.bot")) == manifest.ASKED_SCOPES
    assert tuple(at("settings.event_subscriptions.bot_events")) == tuple(manifest.EVENTS)
    commands = names("features.slash_commands", "command")
    assert commands == list(manifest.COMMANDS), "list each work in docs/slack-manifest.yaml, in their order"
    assert names("features.shortcuts", "callback_id") == list(manifest.SHORTCUTS)


def test_each_work_has_its_command_and_each_verb_is_in_its_usage_hint() -> None:
    hints = {
        command["command"].removeprefix("/"): command["usage_hint"]
        for command in at("features.slash_commands")
    }
    assert list(hints) == ["sutradhar", *WORKS], "list each work in docs/slack-manifest.yaml, in their order"
    for work in WORKS:
        hinted = [part.split()[0] for part in hints[work].split(" | ")]
        listed = [verb.name for verb in TABLE if verb.work == work]
        assert hinted == listed, f"the usage_hint of /{work} in docs/slack-manifest.yaml"
    bare = {verb.name for verb in TABLE if verb.bare}
    assert bare <= {part.split()[0] for part in hints["sutradhar"].split(" | ")}
    assert not any(command["should_escape"] for command in at("features.slash_commands")), (
        "texts come as they were typed"
    )


def test_each_work_is_described_as_in_the_help() -> None:
    say, described = words("en"), {c["command"]: c["description"] for c in at("features.slash_commands")}
    expected = {f"/{work}": say(f"verbs.group_{work}").removesuffix(".") for work in WORKS}
    assert described == expected | {manifest.COMMAND: described[manifest.COMMAND]}


def test_its_shortcuts_have_the_bots_names() -> None:
    sentences = set(words("en").sentences().values())
    assert not set(names("features.shortcuts", "name")) - sentences


def test_its_suggested_prompts_are_those_of_the_bot() -> None:
    say = words("en")
    prompts = [
        {"title": say(f"{key}_title"), "message": say(key)}
        for kind in KINDS.values()
        for key in kind.suggests
    ]
    assert at("features.agent_view.suggested_prompts") == prompts


def test_it_uses_socket_mode_and_allows_whole_organisations() -> None:
    assert at("settings.socket_mode_enabled") is True
    assert at("settings.interactivity.is_enabled") is True
    assert at("settings.org_deploy_enabled") is True
    assert at("settings.token_rotation_enabled") is False, "Slack does not let it be switched off again"
    home = at("features.app_home")
    assert home["home_tab_enabled"]
    assert home["messages_tab_enabled"]
    assert not home["messages_tab_read_only_enabled"]


# What the adapter does, read from its source.


def trees() -> Iterator[ast.Module]:
    for file in ADAPTER.rglob("*.py"):
        yield ast.parse(file.read_text(encoding="utf-8"))


def of_the_client() -> dict[str, set[str]]:
    """The Web API methods behind each method of the client."""
    source = inspect.getsource(AsyncWebClient)
    found: dict[str, set[str]] = {}
    for match in re.finditer(r"async def (\w+)\(.*?(?=\n    async def |\Z)", source, re.DOTALL):
        if methods := set(re.findall(r'api_call\(\s*"([\w.]+)"', match[0])):
            found[match[1]] = methods
    both = found["files_getUploadURLExternal"] | found["files_completeUploadExternal"]
    streamed = found["chat_startStream"] | found["chat_appendStream"] | found["chat_stopStream"]
    return found | {"files_upload_v2": both, "chat_stream": streamed}


def called() -> set[str]:
    """Every Web API method that the adapter calls, by the client's method or by name."""
    known = of_the_client()
    names, found = set().union(*known.values()), set[str]()
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                found |= known.get(node.attr, set())
            elif isinstance(node, ast.Call):
                texts = {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
                found |= names & texts
    return found


def test_every_called_method_has_its_scope() -> None:
    methods = called() - NO_BOT
    assert {"chat.postMessage", "chat.startStream", "chat.update", "views.publish"} <= methods
    assert not methods - NEEDS.keys(), "say in NEEDS which scopes they ask for"
    granted = set(at("oauth_config.scopes.bot"))
    assert {name: NEEDS[name] - granted for name in methods if NEEDS[name] - granted} == {}


def test_no_unneeded_scope_is_requested() -> None:
    used = set().union(*(NEEDS[name] for name in called() - NO_BOT))
    heard = set().union(*(HEARD[name] for name in at("settings.event_subscriptions.bot_events")))
    assert set(at("oauth_config.scopes.bot")) == used | heard | UNASKED.keys()


def test_the_fake_requires_the_same_scopes() -> None:
    modules = (agents, files, web_chat, web_conversations, web_people, web_streams, web_views)
    for method in (method for module in modules for method in module.METHODS):
        assert set(method.scopes) <= NEEDS[method.name], method.name
    assert set(at("settings.event_subscriptions.bot_events")) <= set(service.EVENTS)


class Ear:
    """Replaces Bolt while listeners register, and records what they listen to."""

    def __init__(self) -> None:
        self.heard: dict[str, list[Any]] = {}

    def __getattr__(self, kind: str) -> Callable[[Any], Callable[[Any], None]]:
        def listens(what: Any) -> Callable[[Any], None]:
            self.heard.setdefault(kind, []).append(what)
            return lambda listener: None

        return listens


@pytest.fixture(scope="module")
def ear() -> Ear:
    ear, nobody = Ear(), SimpleNamespace(workspaces=None, people=None, app=None)
    register(cast(Any, ear), cast(Any, nobody), None)
    return ear


def matched(registered: list[Any], named: set[str]) -> set[str]:
    """The names with their own registered listener; the catch-all listener does not count."""
    found = set()
    for one in registered:
        what = one["type"] if isinstance(one, dict) else one
        if what is not ANY:
            pattern = what if isinstance(what, re.Pattern) else re.compile(rf"\A{re.escape(what)}\Z")
            matching = {name for name in named if pattern.search(name)}
            assert matching, f"nothing is called {what}"
            found |= matching
    return found


def test_every_handled_event_is_subscribed_to(ear: Ear) -> None:
    subscribed = {event.partition(".")[0] for event in at("settings.event_subscriptions.bot_events")}
    assert matched(ear.heard["event"], subscribed | OTHERS) == subscribed


def test_every_command_and_shortcut_has_its_listener(ear: Ear) -> None:
    commands = set(names("features.slash_commands", "command"))
    assert matched(ear.heard["command"], commands | {"/help", "/rule", "/x/rules"}) == commands
    shortcuts = [shortcut for shortcut in ear.heard["shortcut"] if shortcut is not ANY]
    listed = [
        {
            "type": "message_action" if shortcut["type"] == "message" else "shortcut",
            "callback_id": shortcut["callback_id"],
        }
        for shortcut in at("features.shortcuts")
    ]
    assert shortcuts == listed
