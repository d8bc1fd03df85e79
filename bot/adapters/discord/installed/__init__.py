"""What keeps the bot on Discord alive, and what its operator asks."""
