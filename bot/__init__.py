"""Sutradhar, the holder of the threads: the application, knowing no platform outside `adapters`."""
