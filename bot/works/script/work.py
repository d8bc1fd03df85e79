"""The work "script": its verbs. What is taken in is `intake`'s, the figures and pictures are `reporting`'s."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, TypeAlias

from bot.events import Attachment, Choice, Choices, Event, Notice, Request, Run, Sorry, Stage, Text
from bot.markdown import harmless
from bot.words import Words, words
from bot.works.script.catalogue import Catalogue, reader, visibility
from bot.works.script.exporting import fountain, markdown, scenes_csv
from bot.works.script.length import page_of, pages
from bot.works.script.page import page
from bot.works.script.reporting import reported

if TYPE_CHECKING:
    from bot.works.script.analysing import Analysing
    from bot.works.script.analysis import Analysis
    from bot.works.script.ideas import Ideas
    from bot.works.script.intake import ScriptIntake
    from bot.works.script.model import Scene, Script
    from storage.scripts import ScriptRow

Verb: TypeAlias = "Callable[[Run], AsyncGenerator[Event, None]]"
LISTED: Final = 60
"""Scenes of one list; all of them are in the file that comes with it then."""
SHOWN_CHARS: Final = 6_000
"""Of a scene's page; the whole is in the file that comes with it then."""


class Scripts:
    """Screenplays: taken in, taken out, listed, shown, counted, handed out."""

    def __init__(
        self, catalogue: Catalogue, intake: ScriptIntake, analysing: Analysing, ideas: Ideas, ask: Verb
    ) -> None:
        self._analysing = analysing
        self._ask = ask
        self._ideas = ideas
        self._catalogue = catalogue
        self._intake = intake

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "add": self._intake.events,
            "replace": self._intake.events,
            "remove": self._remove,
            "share": self._share,
            "analysed": self._analysing.run,
            "analysis": self._analysis,
            "ask": self._ask,
            "brainstorm": self._ask,
            "ideas": self._ideas.listed,
            "drop": self._ideas.drop,
            "list": self._list,
            "scenes": self._scenes,
            "scene": self._scene,
            "report": self._report,
            "export": self._export,
        }
        async with aclosing(verbs[run.request.verb](run)) as events:
            async for event in events:
                yield event

    async def _meant(self, request: Request, name: str) -> tuple[ScriptRow, Script]:
        asked = reader(request)
        row = await self._catalogue.meant(asked, name)
        return row, await self._catalogue.read(asked, row)

    async def _remove(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)

        # Which one comes first and is kept: after a crash its name may mean none, or another one.
        async def meant() -> tuple[str, str]:
            row = await self._catalogue.meant(reader(request), request.text)
            if row.author_id != request.author.id and not (
                request.author.admin and row.visibility == "space"
            ):
                raise Sorry("script.not_yours", title=row.title)
            return row.id, row.title

        async def removed() -> bool:
            await self._catalogue.rows.remove(request.place.space, script_id)
            return True

        script_id, title = await run.step("script", meant, tuple[str, str])
        await run.step("remove", removed, bool)
        yield Stage("remove", "")
        yield Text(say("script.removed", title=title))

    async def _share(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        asked, whom = reader(request), visibility(request)

        async def shared() -> str:
            row = await self._catalogue.meant(asked, request.text)
            if not await self._catalogue.rows.share(asked, row.id, whom):
                raise Sorry("script.not_yours", title=row.title)
            return row.title

        title = await run.step("share", shared, str)
        yield Stage("share", "")
        yield Text(say(f"script.shared_{whom}", title=title))

    # What follows reads anew after a crash: a step would be one more copy of what a script says.

    async def _list(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        rows = await self._catalogue.rows.all(reader(request))
        yield Stage("list", say("script.list", n=len(rows)))
        lines = [
            say(
                "script.line",
                title=harmless(row.title),
                n=row.scenes,
                draft=row.draft,
                who=say(f"script.for_{row.visibility}"),
                alias=row.alias,
            )
            for row in rows
        ]
        yield Text("\n".join(lines) or say("script.none"))

    async def _scenes(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        _, script = await self._meant(request, request.text)
        yield Stage("scenes", say("script.scenes_of", title=harmless(script.title), n=len(script.scenes)))
        before, lines = 0, []
        for scene in script.scenes:
            lines.append(_one_liner(scene, page_of(before), say))
            before += scene.eighths
        yield Text("\n".join(lines[:LISTED]))
        if (more := len(lines) - LISTED) > 0:
            yield Text("\n" + say("script.more_scenes", n=more))
            yield Attachment("scenes.md", "text/markdown", "\n".join(lines).encode())

    async def _scene(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        row, script = await self._meant(request, str(request.options.get("script") or ""))
        scene = numbered(script, request.text)
        await self._catalogue.rows.set_focus(reader(request), row.id, scene.number)
        yield Stage("scene", scene_title(scene, say))
        whole = page(scene.elements).replace("```", "'''")
        shown = (
            whole
            if len(whole) <= SHOWN_CHARS
            else whole[:SHOWN_CHARS].rpartition("\n")[0] or whole[:SHOWN_CHARS]
        )
        yield Text(f"```\n{shown}\n```\n")
        told = say("script.scene_is", pages=pages(scene.eighths), words=scene.words)
        yield Text(f"{told}{' · ' + say('script.counted') if scene.counted else ''}")
        if len(shown) < len(whole):
            yield Attachment(f"scene-{scene.number}.txt", "text/plain", whole.encode())
        near = [n for n in (scene.number - 1, scene.number + 1) if 1 <= n <= len(script.scenes)]
        if near:
            choices = [
                Choice(say("script.scene", number=n), f"/script scene {n} --script {row.alias}") for n in near
            ]
            yield Choices("", tuple(choices))

    async def _report(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        _, script = await self._meant(request, request.text)
        yield Stage("report", say("script.report_of", title=harmless(script.title)))
        character = str(request.options.get("character") or "")
        for event in await asyncio.to_thread(reported, script, character, say):
            yield event

    async def _analysis(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        row, script = await self._meant(request, request.text)
        found = await self._analysing.of(reader(request), row, script)
        yield Stage("analysis", say("script.analysis_of", title=harmless(script.title)))
        for line in _analysed(found, script, say):
            yield Text(line)
        if not found.done:
            goes_on = await self._analysing.begin(run, "analyse", row.id)
            yield Notice(say("script.analysing" if goes_on else "script.no_analyst"))

    async def _export(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        _, script = await self._meant(request, request.text)
        form = str(request.options.get("as") or "fountain")
        made = {
            "fountain": ("script.fountain", "text/plain", fountain),
            "markdown": ("script.md", "text/markdown", markdown),
            "csv": ("scenes.csv", "text/csv", scenes_csv),
        }
        name, media, write = made[form]
        data = (await asyncio.to_thread(write, script)).encode()
        yield Stage("export", say("script.exported", title=harmless(script.title)))
        yield Attachment(name, media, data)


def numbered(script: Script, given: str) -> Scene:
    """The scene of this number, from 1 ("12"); else the one that the script itself calls so ("12A").

    Raises Sorry where there is none, or where the script calls more than one so.
    """
    wanted = given.strip().strip("#. ").upper()
    last = len(script.scenes)
    if wanted.isascii() and wanted.isdigit():
        number = int(wanted[:9])
        if not 1 <= number <= last:
            raise Sorry("script.no_scene", number=wanted[:20], last=last)
        return script.scenes[number - 1]
    fits = [one for one in script.scenes if one.label.upper() == wanted]
    if not fits:
        raise Sorry("script.no_scene", number=given.strip()[:20], last=last)
    if len(fits) > 1:
        numbers = ", ".join(str(one.number) for one in fits[:20])
        raise Sorry("script.several_scenes", label=wanted[:20], numbers=numbers)
    return fits[0]


def scene_title(scene: Scene, say: Words) -> str:
    """ "Scene 13 · INT. HOUSE - DAY", with what the script calls it where that is another number."""
    name = say("script.scene", number=scene.number)
    if scene.label != str(scene.number):
        name = say("script.scene_called", number=scene.number, label=scene.label)
    return f"{name} · {harmless(scene.heading.text)}"


def _analysed(found: Analysis, script: Script, say: Words) -> Iterator[str]:
    """What a model has made of the script, as far as it has come."""
    yield (
        say("script.looked_into", n=len(script.scenes) - _without(found, script), of=len(script.scenes))
        + "\n"
    )
    if (whole := found.whole) is None:
        return
    if not found.current:
        yield "\n" + say("script.of_earlier") + "\n"
    parts = {
        "acts": [
            f"**{harmless(one.title)}** ({one.first}–{one.last}): {harmless(one.summary)}"
            for one in whole.acts
        ],
        "characters": [
            f"**{harmless(one.name)}**: {harmless(one.who)} {harmless(one.arc)}" for one in whole.characters
        ],
        "threads_title": [
            f"**{harmless(one.title)}**: {harmless(one.summary)} ({', '.join(map(str, one.scenes))})"
            for one in whole.threads
        ],
    }
    for name, lines in parts.items():
        if lines:
            yield f"\n### {say(f'script.{name}')}\n" + "".join(f"- {line}\n" for line in lines)


def _without(found: Analysis, script: Script) -> int:
    return sum(scene.content in found.missing for scene in script.scenes)


def _one_liner(scene: Scene, at: int, say: Words) -> str:
    who = f" · {harmless(', '.join(scene.characters))}" if scene.characters else ""
    where = say("script.on_page", page=at)
    label = f" #{harmless(scene.label)}" if scene.label != str(scene.number) else ""
    heading = harmless(scene.heading.text)
    return f"- **{scene.number}**{label} · {heading} · {where} · {pages(scene.eighths)}{who}"
