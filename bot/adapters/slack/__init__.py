"""The adapter of Slack: listeners for its events, and the display of a run's events there."""
