"""The world of a story: who is in it, whose turn it is, how it stands, its lore, what is to come, and corrections."""
