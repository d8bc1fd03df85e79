"""A turn: what a player does, what the writer is asked, and the scene that results."""
