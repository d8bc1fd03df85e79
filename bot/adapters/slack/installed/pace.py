"""How fast one of Slack's channels may be written; `limits` minds a workspace's channels together."""

from __future__ import annotations

from typing import Final

from bot.adapters.pen import Pace

PACE: Final = Pace(edit_every_s=1.0, posts=4, posts_in_s=4.0)
"""New messages: Slack lets one a second pass in a channel, and short bursts (its documentation, "Rate limits").

Edits: chat.update is counted per workspace only, 50 a minute, and chat.appendStream 100.
"""
