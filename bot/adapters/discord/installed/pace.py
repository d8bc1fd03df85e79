"""How fast one of Discord's channels may be written; global_limit minds all of them together."""

from __future__ import annotations

from typing import Final

from bot.adapters.pen import Pace

PACE: Final = Pace(edit_every_s=1.2, posts=4, posts_in_s=5.0)
"""Edits: Discord lets about 5 pass in 5 s, as the X-RateLimit headers of PATCH /channels/{id}/messages/{id} say;
the documentation ("Rate Limits") warns against relying on more.

Posts: the same headers of POST /channels/{id}/messages allow 5, but discord.py lets the call that takes the last
of them return only when the 5 s are over, and nobody could edit that message before.
"""
