"""Screenplays: Final Draft's files, Fountain, and pages that are set like a screenplay; each read into `elements`."""
