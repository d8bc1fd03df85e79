"""The memory of a story: the pieces of its past scenes, searched by words and by vectors, branch by branch."""
