"""The world of a story: who is in it, how it stands, its lore, and what the table corrects."""
