"""Voice channels: how the bot is in them, and what is read aloud there."""
