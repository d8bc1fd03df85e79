"""Describes the fake's state in words, for a test that waited in vain."""

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
    lines += voices(discord)
    lines += [f"{asked}" for asked in list(discord.asked.values())[-LAST:]]
    lines += [f"{call.status} {call.method} {_path(call.path)}" for call in discord.calls[-LAST:]]
    lines += [
        f"refused: {refusal.status} {refusal.code} {refusal.method} {_path(refusal.path)}: {refusal.why}"
        for refusal in discord.refused[-LAST:]
    ]
    lines += [
        f"limited: {wait.method} {_path(wait.path)} ({wait.bucket}, {wait.retry_after:.2f} s)"
        for wait in discord.limited[-LAST:]
    ]
    return "\n".join(lines)


def voices(discord: FakeDiscord) -> list[str]:
    voice = discord.voice
    lines = [f"{listener} in {listener.channel}" for listener in voice.listeners]
    lines += [
        f"voice session in {session.channel}: {len(session.speaking)} × speaking, mode {session.mode or 'none'}"
        + (", ended" if session.ended else "")
        for session in voice.sessions[-LAST:]
    ]
    lines += [f"voice closed: {code} {why}" for code, why in voice.closed[-LAST:]]
    lines += [f"voice, not answered: {why}" for why in voice.ignored[-LAST:]]
    return lines + [f"voice violation: {why}" for why in voice.violations[-LAST:]]


def _path(path: str) -> str:
    """The path without the token."""
    parts = [part if len(part) < 40 else part[:6] + "…" for part in path.split("/")]
    return "/".join(parts)
