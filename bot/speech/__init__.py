"""Turns words into speech, and speech into words."""
