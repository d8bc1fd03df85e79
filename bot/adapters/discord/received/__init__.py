"""Input from Discord: commands, messages, presses, and the requests that they become."""
