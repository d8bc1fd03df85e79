"""Limits, set by the kernel, of what a process may use of the machine. A leaf."""

from __future__ import annotations


def limit(**limits: int) -> None:
    """Limit this process from now on, for good: RLIMIT_DATA=… in bytes and the like (see `setrlimit(2)`).

    A system that lacks a limit, as Windows lacks all of them, goes on without it.
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
        # At the soft limit of time the process gets SIGXCPU, which says why; at the hard one, SIGKILL.
        above = hard if name == "RLIMIT_CPU" else most
        try:
            resource.setrlimit(which, (most, above))
        except (OSError, ValueError):  # macOS does not support all limits that it names
            continue
