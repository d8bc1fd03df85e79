"""The kinds of work: a folder each, and a line here. The first is that of a conversation for which nobody chose one."""

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
"""Those whose verbs are also commands of their own: `python -m bot library add …`."""
