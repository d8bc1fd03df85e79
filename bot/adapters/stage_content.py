"""The present content of one stage of a run, from which renderers make messages."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.events import Attachment, Choices, Citation, Picture, Speaker, Status
from bot.words import Words


@dataclass(slots=True)
class StageContent:
    """The content that one stage has shown so far. `first_choice` is the number of choices that the run offered before
    this stage.

    `counts` are votes, by the number of the choice. At each offset of `cuts` the text continues in another message.
    `growing` is True until the next stage opens or the run ends; until then its `status` is shown, and a note if it
    `replaces` what a crash interrupted. `citations` are keyed by number. `links` are lines in the platform's own
    Markdown, made by its adapter and shown unchanged. `speaker` is the speaker of the whole stage, None for the bot.
    `calls` are the ids of mentioned people. `meanwhile` are the custom_id and the label of the button under it while it
    grows. `answer`: people can rate it. `spoiler` are the lines below the text that are hidden until a reader opens
    them.
    """

    key: str
    title: str
    text: str = ""
    cuts: list[int] = field(default_factory=list)
    status: Status | None = None
    notices: list[str] = field(default_factory=list)
    citations: dict[int, Citation] = field(default_factory=dict)
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
    meanwhile: tuple[str, str] | None = None
    answer: bool = False
    spoiler: str = ""


@dataclass(frozen=True, slots=True)
class PageContext:
    """The context of a page apart from its stage.

    `last`: no stage follows this one. `ended`: "" while the run is active, else how it ended. `private`: only the asker
    sees it, so it can be shared; `share` is the key of that button's label. `further`: whether a window for the next
    question is offered. `retry`: whether it offers to ask again. `feedback`: whether an answer asks for a rating.
    `hint`: a line on how to continue, or "". `no_files`: the permission that is missing to send files, or "".
    """

    run: str
    say: Words
    last: bool = True
    ended: str = ""
    private: bool = False
    share: str = "page.share"
    further: bool = False
    retry: bool = False
    feedback: bool = False
    hint: str = ""
    no_files: str = ""
