"""The revisions: files named by their number, each applied once and in order."""
