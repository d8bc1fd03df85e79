"""The kinds of work: a folder and a line here for each. The first one is the default of a conversation."""

ALL = (
    "rules",
    "council",
    "story",
    "course",
    "schedule",
    "script",
    "voice",
    "library",
    "prompts",
    "sessions",
    "settings",
    "privacy",
    "house",
)
ON_THE_COMMAND_LINE = ("library", "course")
"""Works whose verbs are also commands of their own: `python -m bot library add …`."""
