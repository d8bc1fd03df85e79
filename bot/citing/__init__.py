"""Citations: finds the markers in an answer, and checks each against the passage that it names."""
