"""What turns a sentence into sound: each engine a file, and beside them the process that two of them run in."""
