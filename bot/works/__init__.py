"""The kinds of work: a folder each, and a line here. The first is that of a conversation for which nobody chose one."""

from typing import Final

ALL: Final = ("rules", "council", "library", "prompts", "sessions", "house")
