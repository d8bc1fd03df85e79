"""Screenplays: what is known of a script without a model. Pure; knows no platform and no storage."""
