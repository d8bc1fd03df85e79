"""The app as it is installed: tokens, clients and their limits, how events reach it, what its operator asks."""
