"""The storage: one SQL database (SQLite or Postgres) and one vector store, with a repository per noun.

Knows nothing of the bot: it takes and returns frozen rows of its own, and raises its own errors.
Importing it is cheap; the database's libraries are imported when a `Database` is opened.
"""
