"""Pages and Markdown in Discord's format. Knows no client and no channel."""
