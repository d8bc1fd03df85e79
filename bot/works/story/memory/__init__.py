"""What a story remembers of long ago: its pieces, found again by words and by vectors, as a branch has lived them."""
