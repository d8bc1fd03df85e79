"""Output on Discord: the place of a run's messages, and how they are posted and edited."""
