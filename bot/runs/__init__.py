"""What lies between a request and its end: kept, put in line, run durably, stopped, asked for again."""
