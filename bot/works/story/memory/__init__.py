"""The memory of a story: searches the pieces of its past scenes by words and by vectors, on each branch."""
