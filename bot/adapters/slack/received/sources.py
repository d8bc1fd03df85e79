"""The sources of an answer in full, for whoever asks to see them: a window, or a message to them alone. In pages.

Their words stand in rich text, where nothing is markup: no quotation calls anybody or hides a link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.adapters import footer
from bot.adapters.buttons_row import Button, custom_id
from bot.adapters.draft import clean
from bot.adapters.slack.placing import Body, Spot, response_url
from bot.adapters.slack.received import windows
from bot.adapters.slack.shown.ephemeral import ALONE, answer_action
from bot.adapters.slack.text.mrkdwn import literal
from bot.adapters.slack.text.page import TEXT, Block, actions_of, small
from bot.events import Citation, Sorry
from bot.words import Words

if TYPE_CHECKING:
    from bot.adapters.slack.received.intake import Intake

ROOM = 6_000
"""Characters of a page: about what can be looked over in a window. A message holds some 13,000."""
PIECE = 2_500
"""Of one text in rich text; the documentation gives no limit, and 3,000 is that of other texts."""
WHERE = 800

Page = list[Block]


def pages(kept: Sequence[str], say: Words) -> list[Page]:
    """What a run keeps as its sources; a source stays on one page wherever it fits."""
    found: list[Page] = []
    used = ROOM
    for source in footer.cited(kept):
        for block, length in _blocks(source, say):
            if used + length > ROOM:
                found.append([])
                used = 0
            found[-1].append(block)
            used += length
    return found[: footer.MOST]


async def open(intake: Intake, here: Spot, body: Body, run: str, found: list[Page]) -> None:
    """In a window, or under the answer where it is too late for one."""
    say = await intake.words(here)
    try:
        await windows.opened(intake, here, str(body.get("trigger_id") or ""), _window(run, found, 0, say))
    except Sorry:
        await answer_action(response_url(body), _whisper(run, found, 0, say))


async def turn(intake: Intake, here: Spot, body: Body, run: str, found: list[Page], page: int) -> None:
    """Another page in the same window or message."""
    say = await intake.words(here)
    view = body.get("view")
    if isinstance(view, dict):
        client = await intake.workspaces.client(here.team, here.enterprise)
        await client.views_update(view_id=str(view["id"]), view=_window(run, found, page, say))
    else:
        await answer_action(response_url(body), {**_whisper(run, found, page, say), "replace_original": True})


def _window(run: str, found: list[Page], page: int, say: Words) -> Block:
    blocks = _page(run, found, page, say)
    return windows.modal(
        custom_id("sources", run), say("page.sources"), blocks, close=say("slack_window.close")
    )


def _whisper(run: str, found: list[Page], page: int, say: Words) -> Block:
    """For a response_url; the text is for notifications, and for who cannot see blocks."""
    said = " ".join(
        part["text"] for block in found[page] for one in block["elements"] for part in one["elements"]
    )
    return {
        **ALONE,
        "text": literal(said, TEXT),
        "blocks": _page(run, found, page, say),
    }


def _page(run: str, found: list[Page], page: int, say: Words) -> list[Block]:
    if len(found) == 1:
        return found[0]
    ways = [
        Button(custom_id("sources", run, to), label)
        for label, to in ((say("buttons.back"), page - 1), (say("buttons.on"), page + 1))
        if 0 <= to < len(found)
    ]
    return [*found[page], small(say("buttons.page", page=page + 1, pages=len(found))), actions_of(ways)]


def _blocks(source: Citation, say: Words) -> list[tuple[Block, int]]:
    """One source and its length; a long quotation goes on in further blocks."""
    where = " ".join(clean(source.source).split())
    if source.heading:
        where += f" › {' '.join(clean(source.heading).split())}"
    if source.page is not None:
        where += say("buttons.page_of_book", page=source.page)
    title = f"[{source.n}] {where[:WHERE]}"
    pieces = _pieces(clean(source.quote).strip())
    head = {
        "type": "rich_text_section",
        "elements": [{"type": "text", "text": title, "style": {"bold": True}}],
    }
    quoted = [{"type": "rich_text_quote", "elements": [{"type": "text", "text": one}]} for one in pieces]
    whole = [([head, *quoted[:1]], len(title) + len("".join(pieces[:1])))]
    whole += [([one], len(piece)) for one, piece in zip(quoted[1:], pieces[1:], strict=True)]
    return [({"type": "rich_text", "elements": elements}, length) for elements, length in whole]


def _pieces(text: str) -> list[str]:
    """At most PIECE characters each, cut behind a blank where there is one."""
    found = []
    while len(text) > PIECE:
        at = text.rfind(" ", PIECE // 2, PIECE) + 1 or PIECE
        found.append(text[:at])
        text = text[at:]
    return [*found, text] if text else found
