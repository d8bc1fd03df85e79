"""From a stored request to the end of its run: storing, ordering, durable execution, stopping, asking again."""
