"""The log of stories: its nodes, folded into a story and its turns."""
