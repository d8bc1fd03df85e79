"""Reads and writes stories, characters and lorebooks in the file formats of other programs."""
