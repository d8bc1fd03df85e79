"""Describes the fake's state in words, for a test that waited in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fakes.slack.service import FakeSlack

LAST = 15


def story(slack: FakeSlack) -> str:
    lines = [f"sockets: {slack.sockets.live} of {slack.sockets.all}, {slack.sockets.greeted} in all"]
    for team in slack.world.teams.values():
        for channel in team.channels.values():
            if channel.posts:
                lines.append(f"{channel} of {team}:")
                lines += [f"  {message}" for message in list(channel.posts.values())[-LAST:]]
    lines += [f"{view}" for view in (*slack.views[-LAST:], *slack.views_kept.homes.values())]
    lines += [f"{sent}" for sent in slack.sent[-LAST:]]
    lines += [f"{call.error or 'ok'} {call.method}" for call in slack.calls[-LAST:]]
    lines += [
        f"refused: {refusal.error} {refusal.method}: {refusal.why}" for refusal in slack.refused[-LAST:]
    ]
    lines += [f"limited: {wait.method} {wait.key}, {wait.retry_after} s" for wait in slack.limited[-LAST:]]
    return "\n".join(lines)
