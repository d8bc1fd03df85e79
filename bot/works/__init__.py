"""The kinds of work: a folder each, and a line here. The first is that of a conversation for which nobody chose one."""

ALL = ("rules", "council", "library", "prompts", "sessions", "house")
