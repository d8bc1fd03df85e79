"""Slack: listeners for what people do, and how a run's events look there."""
