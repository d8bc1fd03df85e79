"""A port for a server that is to come back to it: none of those that the system gives to whoever asks for any."""

from __future__ import annotations

import random
import socket

# Below what Linux takes for outgoing connections (net.ipv4.ip_local_port_range).
LOWEST, HIGHEST = 20_000, 32_000


def free_port() -> int:
    """Free at this moment; between two starts of a server nobody takes it by chance."""
    while True:
        port = random.SystemRandom().randrange(LOWEST, HIGHEST)
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
