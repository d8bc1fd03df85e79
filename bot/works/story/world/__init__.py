"""The world of a story: who is in it and whose turn it is, how it stands, its lore, what is to come, and what the table corrects."""
