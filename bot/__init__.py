"""Sutradhar, the holder of the threads: the application. Only `adapters` knows platforms."""

__version__ = "0.1.0"
