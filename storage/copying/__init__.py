"""Copies of all that is kept: a backup in one file, and the move from one kind of database to the other.

Works on rows, whatever tables there are: so it also copies what an earlier release has left.
"""

STAGING = "restoring"
"""In the data folder while a backup is restored: nothing may begin there before it is whole."""

MOVED = "moved"
"""In the data folder: the address to which its database was moved, until a bot has begun there."""
