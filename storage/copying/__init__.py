"""Copies all stored data: into a backup file, or from one kind of database to the other.

Works on the rows of any tables, so it also copies the data of an earlier release.
"""

STAGING = "restoring"
"""A folder in the data folder while a backup is restored: no bot may start before the restore is complete."""

MOVED = "moved"
"""A file in the data folder with the address to which its database was moved, until a bot has started there."""
