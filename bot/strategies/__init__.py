"""Ways to search for what answers a question; named in the config and per question."""
