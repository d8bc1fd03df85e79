"""Finding the right passage: cut, weigh, look up, fuse, and say when nothing was found."""
