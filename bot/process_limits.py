"""Limits a process's use of the machine with the kernel's resource limits. Imports none of our modules."""

from __future__ import annotations


def limit(**limits: int) -> None:
    """Limit this process permanently: RLIMIT_DATA=… in bytes and similar (see `setrlimit(2)`).

    A limit that the system lacks is not set; Windows lacks all of them.
    """
    try:
        import resource
    except ImportError:
        return
    for name, soft in limits.items():
        if (constant := getattr(resource, name, None)) is None:
            continue
        hard = resource.getrlimit(constant)[1]
        soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        # At the soft time limit the process gets SIGXCPU, which shows the reason; at the hard one, SIGKILL.
        ceiling = hard if name == "RLIMIT_CPU" else soft
        try:
            resource.setrlimit(constant, (soft, ceiling))
        except (OSError, ValueError):  # macOS names limits that it does not support
            continue
