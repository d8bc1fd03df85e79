"""PDF, read with PDFium; `reader` is the entry point."""
