"""Stores the files that characters' cards came in, for their pictures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import accumulate

from storage.db import Database


@dataclass(frozen=True, slots=True)
class CardRow:
    """The `file` that a character's card came in; `card` names it within the story."""

    space: str
    story_id: str
    card: str
    run_id: str
    author_id: str
    file: bytes


class StoryCards:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def keep(self, card: CardRow, most: int) -> bool:
        """Store the file of a card. Calling it again has no effect.

        Returns False and stores nothing if the files of its story would exceed `most` bytes together.
        """
        from sqlalchemy import func, select

        from storage.tables import story_cards as table

        size_of_others = select(func.coalesce(func.sum(table.c.size), 0)).where(
            table.c.space == card.space, table.c.story_id == card.story_id, table.c.card != card.card
        )
        row = {**asdict(card), "size": len(card.file)}
        async with self._db.write() as connection:
            if int(await connection.scalar(size_of_others) or 0) + len(card.file) > most:
                return False
            new = self._db.insert(table).values(row)
            await connection.execute(new.on_conflict_do_update(index_elements=["story_id", "card"], set_=row))
        return True

    async def files(self, space: str, story: str, most: int) -> tuple[dict[str, bytes], int]:
        """The files of a story's cards by these, the small ones first, of `most` bytes together; and how many others
        there are.
        """
        from sqlalchemy import select

        from storage.tables import story_cards as table

        of_story = (table.c.space == space, table.c.story_id == story)
        sizes = select(table.c.card, table.c.size).where(*of_story).order_by(table.c.size, table.c.card)
        async with self._db.read() as connection:
            cards = list(await connection.execute(sizes))
            totals = accumulate(size for _, size in cards)
            room = [card for (card, _), total in zip(cards, totals, strict=True) if total <= most]
            files = select(table.c.card, table.c.file).where(*of_story, table.c.card.in_(room))
            rows = await connection.execute(files)
            return {row.card: row.file for row in rows}, len(cards) - len(room)

    async def file(self, space: str, story: str, card: str) -> bytes | None:
        from sqlalchemy import select

        from storage.tables import story_cards as table

        of_card = (table.c.space == space, table.c.story_id == story, table.c.card == card)
        file: bytes | None = (await self._db.execute(select(table.c.file).where(*of_card))).scalar()
        return file
