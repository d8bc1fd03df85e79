"""Pages and Markdown in Discord's format. Independent of clients and channels."""
