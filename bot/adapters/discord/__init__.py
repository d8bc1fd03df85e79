"""Discord: the client, its listeners, and how a run's events look there."""
