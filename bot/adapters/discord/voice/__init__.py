"""Voice channels: how the bot joins and stays in them, and what it reads aloud there."""
