"""The maximum lengths of the texts of a story's verbs, in characters, for the table of verbs and the code that reads
them.
"""

from __future__ import annotations

from typing import Final

NAME_CHARS: Final = 80
"""A character's name."""
BRANCH_CHARS: Final = 40
"""A branch's name."""
SHEET_CHARS: Final = 4_000
"""A character's description, or a list of characters or events."""
STYLE_CHARS: Final = 1_000
PICTURE_CHARS: Final = 2_000
"""A picture's address; Discord and Slack allow little more."""
TURN_CHARS: Final = 4_000
"""A turn, unless the config sets another limit."""
TITLE_CHARS: Final = 100
TEXT_CHARS: Final = 1_000
"""One field of a story or a chapter."""
VALUE_CHARS: Final = 300
"""One value of a character's state."""
STATE_CHARS: Final = NAME_CHARS + 20 + VALUE_CHARS
"""A character, a field and its value."""
PAIR_CHARS: Final = 500
"""Two names and how they deal with each other."""
NOTE_CHARS: Final = 1_000
"""A note to the writer, or what it must remember."""
AGREED_CHARS: Final = 1_000
"""The lines or the veils of a table's agreement."""
ABOUT_CHARS: Final = 2_000
"""A description of what is to be invented."""
QUERY_CHARS: Final = 2_000
SINCE_CHARS: Final = 2_000
"""Where a recap begins, or the scenes whose recap is corrected, with the new text."""
WHEN_CHARS: Final = 100
"""A time, a duration or a scene's number."""
