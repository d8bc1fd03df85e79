"""PDF, over PDFium: `reader` is where it begins."""
