"""What comes in from Slack: events, commands, presses and windows, each to a request or to what else it asks for."""
