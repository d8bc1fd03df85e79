"""Extracts from a finished scene who speaks and acts, what happened, and what contradicts the story so far."""
