"""The world of a story: its people, the order of turns, its state and lore, what is to come, and corrections."""
