"""The connection to Discord, its limits and set-up, and the operator's checks."""
