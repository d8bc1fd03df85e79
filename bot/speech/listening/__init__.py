"""Speech to text on this machine: a Whisper model in CTranslate2's format, in a process of its own."""
