"""The storage: one SQL database (SQLite or Postgres) and one vector store, with a repository for each kind of thing.

Knows nothing of the bot: it accepts and returns its own frozen rows, and raises its own errors. Importing it is cheap;
the database's libraries are imported when a `Database` is opened.
"""
