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
    for name, most in limits.items():
        if (which := getattr(resource, name, None)) is None:
            continue
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # At the soft time limit the process gets SIGXCPU, which shows the reason; at the hard one, SIGKILL.
        above = hard if name == "RLIMIT_CPU" else most
        try:
            resource.setrlimit(which, (most, above))
        except (OSError, ValueError):  # macOS names limits that it does not support
            continue
