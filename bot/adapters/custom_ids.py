"""What a button's custom_id says: made here, read here, at most 100 characters (Discord's limit).

A run's id is 32 hexadecimal digits.
"""

from __future__ import annotations

RUN = r"(?P<run>[0-9a-f]{32})"
STOP = rf"stop:{RUN}"
RETRY = rf"retry:{RUN}"
SOURCES = rf"sources:{RUN}"
SOURCES_PAGE = rf"sources:{RUN}:(?P<page>\d{{1,3}})"
SHARE = rf"share:{RUN}"
CHOICE = rf"choice:{RUN}:(?P<n>\d{{1,3}})"
FEEDBACK = rf"feedback:{RUN}:(?P<verdict>up|down)"
MODAL = rf"modal:{RUN}"


def stop(run: str) -> str:
    return f"stop:{run}"


def retry(run: str) -> str:
    return f"retry:{run}"


def sources(run: str) -> str:
    return f"sources:{run}"


def sources_page(run: str, page: int) -> str:
    """Turns the opened sources to a page, counted from 0."""
    return f"sources:{run}:{page}"


def share(run: str) -> str:
    return f"share:{run}"


def choice(run: str, n: int) -> str:
    """`n` counts a run's choices from 0, through all its Choices events."""
    return f"choice:{run}:{n}"


def feedback(run: str, verdict: str) -> str:
    return f"feedback:{run}:{verdict}"


def modal(run: str) -> str:
    """`run` is the id that the request of the interaction which opened the modal would have had."""
    return f"modal:{run}"
