"""Sutradhar, the holder of the threads: the application, knowing no platform outside `adapters`."""

__version__ = "0.1.0"
