"""A council of several models: answers, anonymous ballots, a synthesis. `work.Council` is the way in."""
