"""What goes out to Slack: a run's events, as messages in a thread, in a channel, or to one person alone."""
