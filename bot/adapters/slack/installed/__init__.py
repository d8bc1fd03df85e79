"""The installed app: tokens, clients and their limits, how events arrive, and the checks for the operator."""
