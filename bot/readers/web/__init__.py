"""Readers for HTML: pages (`html`) and books (`epub`)."""
