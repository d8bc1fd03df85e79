"""Output on Slack: a run's messages in a thread, in a channel, or to one person alone."""
