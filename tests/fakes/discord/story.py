"""What there is, in words: for the failure of a test that waited in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fakes.discord.service import FakeDiscord

LAST = 15


def story(discord: FakeDiscord) -> str:
    lines = [f"sessions: {len(discord.gateway.live)} live of {len(discord.gateway.sessions)}"]
    lines += [f"closed: {code} {why}" for code, why in discord.gateway.closed[-LAST:]]
    for channel in discord.world.channels.values():
        if channel.posts:
            lines.append(f"{channel}:")
            lines += [f"  {message}" for message in list(channel.posts.values())[-LAST:]]
    lines += [f"{asked}" for asked in list(discord.asked.values())[-LAST:]]
    lines += [f"{call.status} {call.method} {_path(call.path)}" for call in discord.calls[-LAST:]]
    lines += [
        f"refused: {one.status} {one.code} {one.method} {_path(one.path)}: {one.why}"
        for one in discord.refused[-LAST:]
    ]
    lines += [
        f"limited: {one.method} {_path(one.path)} ({one.bucket}, {one.retry_after:.2f} s)"
        for one in discord.limited[-LAST:]
    ]
    return "\n".join(lines)


def _path(path: str) -> str:
    """Without the token."""
    parts = [part if len(part) < 40 else part[:6] + "…" for part in path.split("/")]
    return "/".join(parts)
