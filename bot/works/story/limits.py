"""How many characters the texts of a story's verbs may have, for the table of verbs and the code that reads them."""

from __future__ import annotations

from typing import Final

NAME_CHARS: Final = 80
"""Of a character's name."""
BRANCH_CHARS: Final = 40
"""Of a branch's name."""
SHEET_CHARS: Final = 4_000
"""Of a character's description, or of a list of characters or events."""
STYLE_CHARS: Final = 1_000
PICTURE_CHARS: Final = 2_000
"""Of a picture's address; Discord and Slack take little more."""
TURN_CHARS: Final = 4_000
"""Of a turn, where the config says nothing else."""
TITLE_CHARS: Final = 100
TEXT_CHARS: Final = 1_000
"""Of one field of a story or a chapter."""
VALUE_CHARS: Final = 300
"""Of one value of a character's state."""
STATE_CHARS: Final = NAME_CHARS + 20 + VALUE_CHARS
"""Of a character, a field and its value."""
PAIR_CHARS: Final = 500
"""Of two names and how they deal with each other."""
NOTE_CHARS: Final = 1_000
"""Of a note to the writer, and of what it must remember."""
AGREED_CHARS: Final = 1_000
"""Of the lines, or of the veils."""
ABOUT_CHARS: Final = 2_000
"""Of what is to be invented."""
QUERY_CHARS: Final = 2_000
SINCE_CHARS: Final = 2_000
"""Of where a recap begins, or of the scenes that are recapped otherwise and the text of that."""
WHEN_CHARS: Final = 100
"""Of a time, a span or a scene's number."""
