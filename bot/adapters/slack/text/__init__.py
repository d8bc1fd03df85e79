"""Text in Slack's formats: Markdown, mrkdwn, blocks. Pure; independent of clients, runs and channels."""
