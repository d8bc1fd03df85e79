"""Sheets: characters' numbers according to a template, their changes, and their display."""
