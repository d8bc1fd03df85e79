"""The table: who plays, whose turn it is, the safety agreement, and the branches."""
