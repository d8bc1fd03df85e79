"""What goes out to Discord: where a run's messages stand, and how they are written there."""
