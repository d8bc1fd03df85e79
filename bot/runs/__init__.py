"""What happens to a stored request until the end of its run: storing, ordering, durable execution, stopping,
repeating.
"""
