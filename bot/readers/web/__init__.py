"""What is written in HTML: pages (`html`) and books (`epub`)."""
