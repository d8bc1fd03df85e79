"""A council at a table: the real work, models and database, with the fake council service on loopback.

Uses no platform and no engine: a run keeps its steps in memory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.config import Config, load
from bot.conversation import Conversations
from bot.events import Choices, Event, Notice, OptionValue, Stage, Status, Text
from bot.llm.registry import Models
from bot.platforms import Platform
from bot.prompts import PromptFile, Prompts
from bot.settings import Settings as PlaceSettings
from bot.works.council.config import CouncilConfig
from bot.works.council.records import CouncilRecords
from bot.works.council.settings import Settings
from bot.works.council.snapshot import Snapshots
from bot.works.council.work import Asking
from storage.buttons import Offers
from storage.councils import Council, Councils
from storage.db import Database
from storage.ledger import Ledger
from storage.sessions import Sessions
from storage.settings import SettingsStore
from tests.fakes import migrated
from tests.fakes.run import MemoryRun
from tests.wire.council_model import QUESTION, CouncilModel, CouncilService, settings


@dataclass
class Told:
    """What a run showed: each stage's last title by key, and the contents below it."""

    run: MemoryRun
    events: list[Event] = field(default_factory=list)

    @property
    def stages(self) -> list[tuple[str, str]]:
        """(key, title) in order; a renamed stage has its new title."""
        titles: dict[str, str] = {}
        for event in self.events:
            if isinstance(event, Stage):
                titles[event.key] = event.title
        return list(titles.items())

    @property
    def titles(self) -> list[str]:
        return [title for _, title in self.stages]

    def text(self, key: str) -> str:
        return "".join(event.text for event in self._under(key) if isinstance(event, Text))

    def notices(self, key: str = "") -> list[str]:
        events = self._under(key) if key else self.events
        return [event.text for event in events if isinstance(event, Notice)]

    @property
    def progress(self) -> list[tuple[int | None, int | None]]:
        return [(event.done, event.total) for event in self.events if isinstance(event, Status)]

    @property
    def commands(self) -> list[str]:
        return [
            choice.command for event in self.events if isinstance(event, Choices) for choice in event.choices
        ]

    def _under(self, key: str) -> list[Event]:
        events: list[Event] = []
        here = False
        for event in self.events:
            if isinstance(event, Stage):
                here = event.key == key
            elif here:
                events.append(event)
        return events


class Table:
    """`models` is the fake council; `ask` asks it."""

    def __init__(self, config: Config, db: Database, council: CouncilModel) -> None:
        self.fake, self.db = council, db
        self.councils, self.ledger = Councils(db), Ledger(db)
        self.settings_store = SettingsStore(db)
        self.sessions = Sessions(db)
        self.platforms: dict[str, Platform] = {}
        self.conversations = Conversations(self.sessions, self.platforms)
        self.models = Models(config, self.ledger)
        place_settings = PlaceSettings(self.settings_store, config)
        store = Settings(place_settings, self.models, config)
        prompts = Prompts(PromptFile(), self.settings_store)
        roles = place_settings.roles
        snapshots = Snapshots(config, self.models, prompts, self.conversations, store, roles)
        records = CouncilRecords(self.councils, self.ledger)
        self.asking = Asking(
            self.models, self.sessions, snapshots, records, Offers(db), config.section(CouncilConfig).mini
        )

    def run(
        self, text: str = QUESTION, options: dict[str, OptionValue] | None = None, *, run: str = "run-000001"
    ) -> MemoryRun:
        made = MemoryRun()
        made.request = replace(
            made.request, id=run, work="council", verb="ask", text=text, options=options or {}
        )
        return made

    async def ask(self, text: str = QUESTION, *, run: str = "run-000001", **options: Any) -> Told:
        return await self.told(self.run(text, options, run=run))

    async def told(self, run: MemoryRun, told: Told | None = None) -> Told:
        """What the run shows; if it raises, `told` has what it showed before."""
        told = told or Told(run)
        async with aclosing(self.asking.run(run)) as events:
            async for event in events:
                told.events.append(event)
        return told

    async def kept(self, run: str = "run-000001") -> Council:
        council = await self.councils.get("local", run)
        assert council is not None
        return council

    @property
    def asked(self) -> list[str]:
        """Every call that was made, as "model task", as often as it was paid."""
        return sorted(f"{call.model} {call.task}" for call in self.fake.asked.elements())


@asynccontextmanager
async def table(
    folder: Path, *, members: int = 4, more: str = "", swap: Sequence[tuple[str, str]] = ()
) -> AsyncGenerator[Table, None]:
    """`more` is further config.toml text; `swap` replaces parts of the usual text."""
    async with CouncilService(council=CouncilModel()) as service:
        file = folder / "config.toml"
        text = settings(service.base_url, members=members) + more
        for old, new in swap:
            assert old in text
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
        config = load(file, folder / "data", environ={})
        db = await Database.open(migrated.database(folder / "data" / migrated.STORAGE))
        made = Table(config, db, service.council)
        try:
            yield made
        finally:
            await made.models.close()
            await db.close()
