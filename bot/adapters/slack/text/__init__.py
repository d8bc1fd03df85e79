"""Text in Slack's formats: Markdown, mrkdwn, blocks. Pure: knows no client, no run and no channel."""
