"""Word's .docx, over its own XML: `reader` is where it begins."""
