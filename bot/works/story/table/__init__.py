"""The table: who plays, whose turn it is, what they have agreed on, and the branches that they play."""
