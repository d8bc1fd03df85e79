"""One stage of a run as it stands right now: what the view keeps and the renderer turns into messages."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.events import Attachment, Choices, Citation, Picture, Speaker, Status
from bot.words import Words


@dataclass(slots=True)
class StageContent:
    """What one Stage has shown so far. `first_choice` is how many choices the run offered before this stage.

    `counts` are votes, by the number of the choice.

    At each offset of `cuts` the text goes on in another message, however much room there is in the one before.
    `growing` is True until the next stage opens or the run ends. `replaces`: a crash cut this stage off and
    it is being made anew. `links` are lines of the platform's own Markdown that its adapter has written itself,
    such as where a conversation goes on: they are shown as they are. `speaker` is who says all of it, None for the bot.
    `calls` are the ids of people who are called by name.
    """

    key: str
    title: str
    text: str = ""
    cuts: list[int] = field(default_factory=list)
    status: Status | None = None
    notices: list[str] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    choices: list[Choices] = field(default_factory=list)
    first_choice: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    files: list[Picture | Attachment] = field(default_factory=list)
    failed: str = ""
    growing: bool = True
    replaces: bool = False
    speaker: Speaker | None = None
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageContext:
    """What a page needs to know beside its stage.

    `last`: nothing follows this stage in its run. `ended`: "" while the run goes on, else how it ended.
    `private`: only the asker sees it, so it can be shared; `share` is the key of what the button says that
    does. `retry`: whether asking again makes sense.
    `feedback`: whether a thumb up or down is asked for. `hint`: a line on how to go on, or "".
    `no_files`: the permission without which no file can be sent here, or "".
    """

    run: str
    say: Words
    last: bool = True
    ended: str = ""
    private: bool = False
    share: str = "page.share"
    retry: bool = False
    feedback: bool = False
    hint: str = ""
    no_files: str = ""
