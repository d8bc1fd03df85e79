"""A spoken turn: transcribes a recording, shows the text to the speaker, and plays it once they confirm.

Playing it is a separate request, as if it had been typed: see `spoken`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from bot.commands import FOLLOW_UP
from bot.events import (
    Changed,
    Choice,
    Choices,
    Event,
    File,
    Notice,
    Request,
    Stage,
    Status,
    Text,
    TransientError,
    UserError,
)
from bot.platforms import Transcript
from bot.runs.requests import PLAYED, child_id
from bot.speech.recording import SUFFIXES, NoRecording, recording_of
from bot.speech.transcriber import Transcriber
from bot.verb import PRIVATE
from bot.words import Words, words
from bot.work import Run
from bot.works.library.files import named_paths
from bot.works.library.step_reports import ReportingStep

if TYPE_CHECKING:
    from bot.kind import Runs
    from bot.resources import Resources
    from bot.speech.listening.ears import Tell

HEARD: Final = "heard"
"""The stage that shows the words, and the kind of the storage's offers that hold them."""
MOST_CHARS: Final = 3_900
"""The longest text that can be changed in a window: Discord's and the storage's limit of a field is 4,000."""
CHECKS_S: Final = (0.5, 1.0, 2.0)
"""Seconds before each check for the platform's own transcript."""
FURTHER_CHECKS_S: Final = (3.0, 5.0, 8.0, 10.0)
"""Seconds before the further checks, if there is no model to transcribe."""
PLAY, CHANGE, LEAVE = range(3)
"""The choices, by number."""


@dataclass(frozen=True, slots=True)
class RecordedWords:
    """The text of a recording, and its length."""

    text: str
    seconds: float = 0.0


class Hearing:
    """The verb "hear", and the inner verb "taken"."""

    def __init__(self, resources: Resources, runs: Runs) -> None:
        self._resources = resources
        self._runs = runs
        self._transcriber = Transcriber(resources.config, resources.models.budget, resources.ears)

    async def hear(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show the words of a recording and offer to play them; the request's text is the platform's transcript."""
        request, say = run.request, words(run.request.locale)
        text, part = request.text.strip(), bool(request.options.get("part"))
        if clip := str(request.options.get("listens") or ""):
            yield Status(say("voice.listening"))
            transcript = await run.step("transcript", lambda: self._transcript(request, clip), Transcript)
            text, part = transcript.text, transcript.part
        # All of the words are better than only the first of them.
        if not text or (part and self._transcriber.listens):
            part = False
            if not self._transcriber.listens:
                raise TransientError("voice.no_transcriber")
            files = [*request.files, *(File(PurePath(path).name, path, 0) for path in named_paths(request))]
            if len(files) != 1:
                raise UserError("voice.one_recording", suffixes=", ".join(SUFFIXES))
            yield Status(say("voice.listening"))
            most = self._resources.config.speech.spoken_mb * 1_000_000
            brought, refused = await self._resources.incoming.bring(
                run, SUFFIXES, most, files=files, copied=True
            )
            for refusal in refused:
                raise refusal.error
            path = brought[0].path
            reporting: ReportingStep[int, RecordedWords] = ReportingStep()
            step = run.step("heard", lambda: self._transcribe(request, path, reporting.put), RecordedWords)
            async with aclosing(reporting.reports(step)) as news:
                async for percent in news:
                    yield Status(say("voice.listening_part", percent=percent))
            text = reporting.value.text
        if not any(map(str.isalnum, text)):
            raise UserError("voice.nothing_heard")

        async def keep() -> bool:
            await self._resources.records.offers.keep(
                request.place.space, run.id, HEARD, [text], author_id=request.author.id
            )
            return True

        await run.step("keep", keep, bool)
        yield Stage(HEARD, say("voice.heard", name=request.author.name))
        yield Text(quoted(text))
        if part:
            yield Notice(say("voice.heard_part"))
        yield play_choices(text, request.author.id, say)

    async def _transcript(self, request: Request, clip: str) -> Transcript:
        """The platform's own transcript of its clip, by the clip's id; none if that takes too long."""
        read = self._resources.platforms[request.place.platform].read_transcript
        assert read is not None, "only a platform that reads transcripts sends a clip"
        for pause in CHECKS_S if self._transcriber.listens else (*CHECKS_S, *FURTHER_CHECKS_S):
            await asyncio.sleep(pause)
            if (transcript := await read(request, clip)) is not None:
                return transcript
        return Transcript("")

    async def _transcribe(self, request: Request, path: str, tell: Tell) -> RecordedWords:
        """Transcribe the recording. Raises UserError."""
        most = self._resources.config.speech.spoken_mb * 1_000_000
        data = await self._resources.incoming.read(path, most)
        try:
            recording = await asyncio.to_thread(recording_of, data)
        except NoRecording as fault:
            raise UserError(f"voice.recording_{fault.why}", suffixes=", ".join(SUFFIXES)) from None
        limit = self._resources.config.speech.spoken_minutes
        if recording.seconds > 60 * limit:
            raise UserError("voice.recording_long", minutes=round(recording.seconds / 60), limit=limit)
        text = await self._transcriber.text(request, recording, data, tell)
        return RecordedWords(text, recording.seconds)

    async def taken(self, run: Run) -> AsyncGenerator[Event, None]:
        """The message with the words, after one of the choices was made."""
        request, say = run.request, words(run.request.locale)
        await self._runs.ended(request.answers)  # a run that a crash interrupted would show its buttons again
        chosen, offered = (
            request.options.get("way"),
            play_choices(request.text, request.author.id, say),
        )
        chosen = min(chosen, len(offered.choices) - 1) if isinstance(chosen, int) else PLAY
        contents = (Text(quoted(request.text)), replace(offered, taken=chosen))
        title = say("voice.heard", name=request.author.name)
        yield Changed(request.answers, HEARD, title, contents, in_place=True)


def play_choices(text: str, speaker: str, say: Words) -> Choices:
    """The choices under the words, only for the speaker."""
    offered = [Choice(say("voice.play"), "/voice play")]
    if len(text) <= MOST_CHARS:
        offered.append(
            Choice(say("voice.change"), "/voice play --changed", say("voice.change_asks"), filled=text)
        )
    return Choices("", (*offered, Choice(say("voice.leave_it"), "/voice play --leave")), only=speaker)


def quoted(text: str) -> str:
    """The text as a Markdown quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def played_id(recording: Request) -> str:
    """The id of the request that plays a recording's words, so that they are played once."""
    return child_id(recording, PLAYED)


async def played_request(
    resources: Resources, runs: Runs, request: Request
) -> tuple[Request, Request | None]:
    """The request behind `voice play`: the spoken words as if they had been typed, and the message that shows them.

    Raises UserError if the words are another person's, or withdrawn.
    """
    space = request.place.space
    recording = await runs.request_of(space, request.answers)
    stored_words = await resources.records.offers.get(space, request.answers, HEARD, 0)
    if recording is None or stored_words is None or recording.verb != "hear":
        raise UserError("edge.gone")
    if recording.author.id != request.author.id:
        raise UserError("voice.not_yours", name=recording.author.name)
    changed = bool(request.options.get("changed"))
    text = request.text.strip() if changed else stored_words
    choice = LEAVE if request.options.get("leave") else CHANGE if changed else PLAY
    decision = replace(
        recording,
        id=child_id(recording, "taken"),
        verb="taken",
        text=text,
        options={"way": choice},
        files=(),
        parent=recording.id,
        answers=recording.id,
    )
    if choice == LEAVE:
        return replace(decision, id=played_id(recording)), None
    # A private answer is a conversation of its own, but the words belong to the place where they were spoken.
    private = {name: value for name, value in request.options.items() if name == PRIVATE.name}
    place = recording.place if private else request.place
    work, verb = await runs.plain(place, request.author.id, text)
    turn_request = replace(
        request,
        id=played_id(recording),
        work=work,
        verb=verb,
        text=text,
        options={FOLLOW_UP: True, **private},
        answers="",
    )
    return turn_request, decision
