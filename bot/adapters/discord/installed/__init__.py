"""The connection to Discord, its limits and set-up, and the checks for the operator."""
