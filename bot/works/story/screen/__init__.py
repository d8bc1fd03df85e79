"""The game master's screen: what is kept there, and what the table gets to see."""
