"""What holds for every test: the keys of whoever runs them are not there, nor their collector of traces."""

from __future__ import annotations

import os

for _name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "OPENAI_", "OTEL_"))]:
    del os.environ[_name]
# Empty rather than gone: so the ones in a developer's .env do not count either, here or in a process begun here.
os.environ |= {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
