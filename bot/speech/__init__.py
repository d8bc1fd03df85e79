"""From words to what is heard."""
