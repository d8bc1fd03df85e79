"""Discord: a client, what it listens to, and how a run's events look there."""
