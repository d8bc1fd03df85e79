"""Engines that turn a sentence into sound, one per file, and the process in which two of them run."""
