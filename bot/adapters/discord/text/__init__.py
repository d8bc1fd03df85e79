"""Sheets, Markdown and sentences as Discord is to have them. Knows no client and no channel."""
