"""From written text to the words that somebody who reads it aloud would say. Pure."""
