"""The verbs of the work "script". `intake` imports files, `report_events` reports figures, `answer` replies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from bot.events import Attachment, Choice, Choices, Event, Notice, Request, Stage, Text, UserError
from bot.markdown import harmless
from bot.words import Words, words
from bot.work import Run
from bot.works.script.catalogue import Catalogue, reader, visibility
from bot.works.script.export import fountain, markdown, page, scenes_csv
from bot.works.script.length import in_pages, pages
from bot.works.script.model import first_pages
from bot.works.script.report_events import report_events

if TYPE_CHECKING:
    from bot.works.script.analysis import Analysis, BackgroundAnalysis
    from bot.works.script.drafts import Drafts
    from bot.works.script.ideas import Ideas
    from bot.works.script.intake import ScriptIntake
    from bot.works.script.model import Scene, Script
    from storage.scripts import ScriptRow

Verb: TypeAlias = "Callable[[Run], AsyncGenerator[Event, None]]"
LISTED: Final = 60
"""The maximum number of scenes in a message; a longer list comes as a file as well."""
SHOWN_CHARS: Final = 6_000
"""The maximum length of a scene's page in a message; a longer one comes as a file as well."""


@dataclass(frozen=True, slots=True)
class Scripts:
    """The verbs of screenplays."""

    _catalogue: Catalogue
    _intake: ScriptIntake
    _background: BackgroundAnalysis
    _ideas: Ideas
    _drafts: Drafts
    _ask: Verb

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "add": self._intake.events,
            "replace": self._intake.events,
            "remove": self._remove,
            "share": self._share,
            "analysed": self._background.run,
            "analysis": self._analysis,
            "ask": self._ask,
            "brainstorm": self._ask,
            "ideas": self._ideas.listing,
            "drop": self._ideas.drop,
            "drafts": self._drafts.listing,
            "compare": self._drafts.compare,
            "list": self._list,
            "scenes": self._scenes,
            "scene": self._scene,
            "report": self._report,
            "export": self._export,
        }
        return verbs[run.request.verb](run)

    async def _named_script(self, request: Request, name: str) -> tuple[ScriptRow, Script]:
        asker = reader(request)
        row = await self._catalogue.resolve(asker, name)
        return row, await self._catalogue.read(asker, row)

    async def _remove(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)

        # The choice comes first and is stored: after a crash the name may mean no script, or another one.
        async def removable() -> tuple[str, str]:
            row = await self._catalogue.resolve(reader(request), request.text)
            if row.author_id != request.author.id and not (
                request.author.admin and row.visibility == "space"
            ):
                raise UserError("script.not_yours", title=row.title)
            return row.id, row.title

        async def removed() -> bool:
            await self._catalogue.rows.remove(request.place.space, script_id)
            return True

        script_id, title = await run.step("script", removable, tuple[str, str])
        await run.step("remove", removed, bool)
        yield Stage("remove", "")
        yield Text(say("script.removed", title=title))

    async def _share(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        asker, readers = reader(request), visibility(request)

        async def shared() -> str:
            row = await self._catalogue.resolve(asker, request.text)
            if not await self._catalogue.rows.share(asker, row.id, readers):
                raise UserError("script.not_yours", title=row.title)
            return row.title

        title = await run.step("share", shared, str)
        yield Stage("share", "")
        yield Text(say(f"script.shared_{readers}", title=title))

    # The verbs below have no steps: they read again after a crash, since a step would copy the script's words.

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
        _, script = await self._named_script(request, request.text)
        yield Stage("scenes", say("script.scenes_of", title=harmless(script.title), n=len(script.scenes)))
        starts = first_pages(script.scenes)
        lines = [_scene_line(scene, page, say) for scene, page in zip(script.scenes, starts, strict=True)]
        yield Text("\n".join(lines[:LISTED]))
        if (more := len(lines) - LISTED) > 0:
            yield Text("\n" + say("script.more_scenes", n=more))
            yield Attachment("scenes.md", "text/markdown", "\n".join(lines).encode())

    async def _scene(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        row, script = await self._named_script(request, str(request.options.get("script") or ""))
        scene = find_scene(script, request.text)
        await self._catalogue.rows.set_focus(reader(request), row.id, scene.number)
        yield Stage("scene", scene_title(scene, say))
        printed = page(scene.elements).replace("```", "'''")
        shown = (
            printed
            if len(printed) <= SHOWN_CHARS
            else printed[:SHOWN_CHARS].rpartition("\n")[0] or printed[:SHOWN_CHARS]
        )
        yield Text(f"```\n{shown}\n```\n")
        figures = say("script.scene_is", length=in_pages(scene.eighths, say), words=scene.words)
        yield Text(f"{figures}{' · ' + say('script.counted') if scene.counted else ''}")
        if len(shown) < len(printed):
            yield Attachment(f"scene-{scene.number}.txt", "text/plain", printed.encode())
        neighbours = [n for n in (scene.number - 1, scene.number + 1) if 1 <= n <= len(script.scenes)]
        if neighbours:
            choices = [
                Choice(say("script.scene", number=n), f"/script scene {n} --script {row.alias}")
                for n in neighbours
            ]
            yield Choices("", tuple(choices))

    async def _report(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        _, script = await self._named_script(request, request.text)
        yield Stage("report", say("script.report_of", title=harmless(script.title)))
        character = str(request.options.get("character") or "")
        for event in await asyncio.to_thread(report_events, script, character, say):
            yield event

    async def _analysis(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        row, script = await self._named_script(request, request.text)
        analysis = await self._background.of(reader(request), row, script)
        yield Stage("analysis", say("script.analysis_of", title=harmless(script.title)))
        for line in _analysis_lines(analysis, script, say):
            yield Text(line)
        if not analysis.done:
            analysable = await self._background.begin(run, "analyse", row.id)
            missing = "script.analyse_off" if self._background.off else "script.no_analyst"
            yield Notice(say("script.analysing" if analysable else missing))

    async def _export(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        asker = reader(request)
        row = await self._catalogue.resolve(asker, request.text)
        draft = request.options.get("draft", row.draft)
        script = await self._catalogue.draft(asker, row, draft if isinstance(draft, int) else row.draft)
        form = str(request.options.get("as") or "fountain")
        formats = {
            "fountain": ("script.fountain", "text/plain", fountain),
            "markdown": ("script.md", "text/markdown", markdown),
            "csv": ("scenes.csv", "text/csv", scenes_csv),
        }
        name, media, write = formats[form]
        data = (await asyncio.to_thread(write, script)).encode()
        yield Stage("export", say("script.exported", title=harmless(script.title)))
        yield Attachment(name, media, data)


def find_scene(script: Script, typed: str) -> Scene:
    """The scene with this number, from 1 ("12"), or else with this label ("12A").

    Raises UserError if there is none, or if several have the label.
    """
    label = typed.strip().strip("#. ").upper()
    last = len(script.scenes)
    if label.isascii() and label.isdigit():
        number = int(label[:9])
        if not 1 <= number <= last:
            raise UserError("script.no_scene", number=label[:20], last=last)
        return script.scenes[number - 1]
    matches = [scene for scene in script.scenes if scene.label.upper() == label]
    if not matches:
        raise UserError("script.no_scene", number=typed.strip()[:20], last=last)
    if len(matches) > 1:
        numbers = ", ".join(str(scene.number) for scene in matches[:20])
        raise UserError("script.several_scenes", label=label[:20], numbers=numbers)
    return matches[0]


def scene_title(scene: Scene, say: Words) -> str:
    """A title such as "Scene 13 · INT. HOUSE - DAY", with the script's own number if that is different."""
    name = say("script.scene", number=scene.number)
    if scene.label != str(scene.number):
        name = say("script.scene_called", number=scene.number, label=scene.label)
    return f"{name} · {harmless(scene.heading.text)}"


def _analysis_lines(analysis: Analysis, script: Script, say: Words) -> Iterator[str]:
    """The analysis in Markdown, as far as it exists."""
    analysed = sum(scene.content not in analysis.missing for scene in script.scenes)
    yield say("script.looked_into", n=analysed, of=len(script.scenes)) + "\n"
    if (whole := analysis.whole) is None:
        return
    if not analysis.current:
        yield "\n" + say("script.of_earlier") + "\n"
    parts = {
        "acts": [
            f"**{harmless(act.title)}** ({act.first}–{act.last}): {harmless(act.summary)}"
            for act in whole.acts
        ],
        "characters": [
            f"**{harmless(sheet.name)}**: {harmless(sheet.who)} {harmless(sheet.arc)}"
            for sheet in whole.characters
        ],
        "threads_title": [
            f"**{harmless(thread.title)}**: {harmless(thread.summary)} ({', '.join(map(str, thread.scenes))})"
            for thread in whole.threads
        ],
    }
    for name, lines in parts.items():
        if lines:
            yield f"\n### {say(f'script.{name}')}\n" + "".join(f"- {line}\n" for line in lines)


def _scene_line(scene: Scene, page: int, say: Words) -> str:
    cast = f" · {harmless(', '.join(scene.characters))}" if scene.characters else ""
    where = say("script.on_page", page=page)
    label = f" #{harmless(scene.label)}" if scene.label != str(scene.number) else ""
    heading = harmless(scene.heading.text)
    return f"- **{scene.number}**{label} · {heading} · {where} · {pages(scene.eighths)}{cast}"
