"""The parts of one process: storage, library, models and everything that works share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot.admin_budgets import Budgets
from bot.budget import Budget
from bot.caches import Caches
from bot.conversation import Conversations
from bot.events import Place, UserError
from bot.file_store import file_store
from bot.incoming import Incoming
from bot.llm.registry import Models
from bot.platforms import Platform
from bot.prompts import PromptFile, Prompts
from bot.retrieval.cleanup import DamagedVectors
from bot.retrieval.crossing import Crossing
from bot.retrieval.embedding import Embedding
from bot.retrieval.intake import Intake
from bot.retrieval.library import Library
from bot.retrieval.missing_vectors import MissingVectors
from bot.retrieval.nearest import Nearest
from bot.retrieval.rerank import Reranking
from bot.settings import Settings
from bot.speech.listening.ears import Ears
from bot.speech.speech import Speech
from bot.tracing import Tracing
from bot.vector_store import vector_store
from storage import permissions
from storage.copying import MOVED, STAGING
from storage.councils import Councils
from storage.db import Database
from storage.faults import StorageFault
from storage.jobs import Jobs
from storage.lease import Lease
from storage.ledger import Ledger
from storage.lock import Lock, StorageBusy, hold
from storage.passages import Passages
from storage.people import People
from storage.query_vectors import QueryVectors
from storage.quizzes import Quizzes
from storage.records import Records
from storage.scripts import Scripts
from storage.settings import SettingsStore
from storage.shelves import Outlines, Shelves
from storage.stories import Stories
from storage.story_vectors import StoryVectors

if TYPE_CHECKING:
    from bot.config import Config
    from storage.files import Files
    from storage.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Resources:
    """The parts that live as long as the process. `platforms` are the attached ones, by their names."""

    config: Config
    lock: Lock
    lease: Lease | None
    records: Records
    vectors: Vectors
    councils: Councils
    scripts: Scripts
    stories: Stories
    story_vectors: StoryVectors
    settings: Settings
    people: People
    jobs: Jobs
    outlines: Outlines
    passages: Passages
    quizzes: Quizzes
    shelves: Shelves
    embedding: Embedding
    library: Library
    intake: Intake
    missing_vectors: MissingVectors
    ledger: Ledger
    budgets: Budgets
    caches: Caches
    models: Models
    prompts: Prompts
    files: Files
    incoming: Incoming
    conversations: Conversations
    platforms: dict[str, Platform]
    tracing: Tracing
    speech: Speech
    ears: Ears

    @classmethod
    async def open(cls, config: Config, *, busy_timeout_s: float = 30.0) -> Resources:
        """Take the lock, then open and migrate the database. Raises UserError with advice for the person."""
        prompts = await asyncio.to_thread(PromptFile)
        lock = await locked(config)
        try:
            _check_copies(config)
            files = await asyncio.to_thread(partial(file_store, config, alone=True))
            url = config.storage.url or f"sqlite+aiosqlite:///{config.data_dir / 'sutradhar.db'}"
            lease = Lease(url) if url.startswith("postgresql") else None
            database = await Database.open(url, busy_timeout_s=busy_timeout_s, lease=lease)
            try:
                vectors = await vector_store(config, database)
            except BaseException:
                await database.close()
                raise
        except StorageFault as fault:
            lock.release()
            raise UserError(f"storage.{fault.kind}") from fault
        except UserError:
            lock.release()
            raise
        records = Records.of(database)
        documents, passages = records.documents, Passages(database)
        embedding, ledger = Embedding(config), Ledger(database)
        damage, jobs, kept_settings = (
            DamagedVectors(documents, vectors),
            Jobs(database),
            SettingsStore(database),
        )
        shelves, platforms = Shelves(database), dict[str, Platform]()
        intake = Intake(config, documents, passages, vectors, embedding, damage, files)

        def category(place: Place) -> str:
            platform = platforms.get(place.platform)
            return platform.category(place) if platform is not None and platform.category is not None else ""

        settings = Settings(kept_settings, config, alone=lease is None, category=category)
        own_prompts = Prompts(prompts, kept_settings)
        caches = Caches(database)
        caches.add(settings.changed)
        budgets = Budgets(settings, ledger)
        budget = Budget(ledger, config.budget, settings=settings, allowances=budgets.of)

        return cls(
            config=config,
            lock=lock,
            lease=lease,
            records=records,
            vectors=vectors,
            councils=Councils(database),
            scripts=Scripts(database),
            stories=Stories(database),
            story_vectors=StoryVectors(database),
            settings=settings,
            people=People(database),
            jobs=jobs,
            outlines=Outlines(database),
            passages=passages,
            quizzes=Quizzes(database),
            shelves=shelves,
            embedding=embedding,
            library=Library(
                config.retrieval,
                documents,
                passages,
                shelves,
                Nearest(documents, vectors, QueryVectors(database), damage, config.retrieval.fetch_k),
                embedding,
                Reranking(config),
                Crossing(documents, embedding),
            ),
            intake=intake,
            missing_vectors=MissingVectors(documents, vectors, intake, embedding, damage),
            ledger=ledger,
            models=Models(
                config, ledger, instruction=partial(own_prompts.instruction, settings), budget=budget
            ),
            budgets=budgets,
            caches=caches,
            prompts=own_prompts,
            platforms=platforms,
            files=files,
            incoming=Incoming(files, platforms),
            conversations=Conversations(records.sessions, platforms),
            tracing=Tracing(config),
            speech=Speech(config),
            ears=Ears(config),
        )

    @property
    def engine_url(self) -> str:
        """The URL of the durable engine's database: a separate file, or a separate schema on a server."""
        url = self.config.storage.url
        return (
            url if url and not url.startswith("sqlite") else f"sqlite:///{self.config.data_dir / 'engine.db'}"
        )

    async def close(self) -> None:
        await self.missing_vectors.close()
        await self.intake.close()
        await self.incoming.close()
        await self.models.close()
        await self.speech.close()
        await self.ears.close()
        await self.vectors.close()
        await self.records.database.close()
        if self.lease is not None:
            await self.lease.release()
        self.lock.release()
        await self.tracing.close()


async def locked(config: Config) -> Lock:
    """Lock the data folder. Raises UserError."""
    try:
        await asyncio.to_thread(config.data_dir.mkdir, mode=0o700, parents=True, exist_ok=True)
        lock = await asyncio.to_thread(hold, config.data_dir / "lock")
        await asyncio.to_thread(permissions.restrict, config.data_dir)
    except StorageBusy as busy:
        raise UserError("storage.busy", folder=config.data_dir, pid=busy.pid or "?") from busy
    except StorageFault as fault:
        raise UserError("storage.folder", folder=config.data_dir, reason=fault.detail) from fault
    except OSError as error:
        raise UserError("storage.folder", folder=config.data_dir, reason=error.strerror) from error
    return lock


def _check_copies(config: Config) -> None:
    """Raise UserError if a backup is only half restored, or if the database was moved to another address."""
    folder = config.data_dir
    if (folder / STAGING).exists():
        raise UserError("storage.restoring", folder=folder)
    note = folder / MOVED
    if note.exists():
        from bot.runs.engine_database import addresses
        from storage.copying.databases import without_password

        if (to := note.read_text(encoding="utf-8")) != without_password(
            addresses(config.storage.url, folder).storage
        ):
            raise UserError("storage.moved", url=to, note=note)
        note.unlink()
