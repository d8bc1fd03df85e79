"""Words as Slack takes them: Markdown, mrkdwn, blocks. Pure: knows no client, no run and no channel."""
