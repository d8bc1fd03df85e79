"""Sheets: the numbers of characters by a template, what changes them, and how they look."""
