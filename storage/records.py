"""The repositories that an edge reads, in one value: runs, conversations, offers, presses."""

from __future__ import annotations

from dataclasses import dataclass

from storage.buttons import Feedback, Offers, Votes
from storage.db import Database
from storage.departures import Departures
from storage.documents import Documents
from storage.inbox import Inbox
from storage.marks import Marks
from storage.outbox import Outbox
from storage.own_sessions import OwnSessions
from storage.proxies import Proxies
from storage.readings import Readings
from storage.schedules import Schedules
from storage.sessions import Sessions, Threads
from storage.story_library import StoryLibrary
from storage.unshown import Unshown


@dataclass(frozen=True, slots=True)
class Records:
    """`database` itself is for a platform's library that keeps tables of its own in it."""

    database: Database
    departures: Departures
    documents: Documents
    feedback: Feedback
    inbox: Inbox
    marks: Marks
    offers: Offers
    outbox: Outbox
    own_sessions: OwnSessions
    proxies: Proxies
    readings: Readings
    schedules: Schedules
    sessions: Sessions
    story_library: StoryLibrary
    threads: Threads
    unshown: Unshown
    votes: Votes

    @classmethod
    def of(cls, database: Database) -> Records:
        return cls(
            database,
            Departures(database),
            Documents(database),
            Feedback(database),
            Inbox(database),
            Marks(database),
            Offers(database),
            Outbox(database),
            OwnSessions(database),
            Proxies(database),
            Readings(database),
            Schedules(database),
            Sessions(database),
            StoryLibrary(database),
            Threads(database),
            Unshown(database),
            Votes(database),
        )
