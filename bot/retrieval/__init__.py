"""Retrieval: chunking, lexical and vector search, title lookup, fusion of scores, and the confidence of a result."""
