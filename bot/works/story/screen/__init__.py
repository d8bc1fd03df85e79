"""The game master's screen: what is kept behind it, and what of it the table gets to see."""
