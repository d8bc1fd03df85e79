"""The kinds of work: one class each, whose constructor lists what it uses."""
