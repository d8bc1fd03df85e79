"""Pages, Markdown and sentences in Discord's format. Knows no client and no channel."""
