"""Screenplays: Final Draft's files, Fountain, and pages that are set like one; each into `elements`."""
