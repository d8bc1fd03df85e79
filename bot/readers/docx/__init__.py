"""Word's .docx, read from its own XML; `reader` is the entry point."""
