"""Input from Slack: events, commands, presses and windows, and the requests or other actions that they become."""
