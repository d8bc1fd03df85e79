"""Verbs for what the writer must keep to: cast, author's note, memories, lore, and how characters deal with each
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bot import mention
from bot.events import Request, UserError
from bot.words import Words, folded, meant
from bot.works.story import limits
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.table.about import about_lines, in_words
from bot.works.story.table.outcome import Outcome
from bot.works.story.table.party_verbs import release_nodes
from bot.works.story.world import cast
from bot.works.story.world.cast import MOST_CHARACTERS, NAME_CHARS
from bot.works.story.world.lorebook import LORE, LORE_CHARS
from bot.works.story.world.presets import find

if TYPE_CHECKING:
    from bot.works.story.world.presets import Preset, Presets

MEMORY_CHARS: Final = limits.NOTE_CHARS
MEMORIES = 50
LISTED = 40


@dataclass(frozen=True, slots=True)
class Notes:
    _logs: Logs
    _presets: Presets
    _prose: Presets

    async def cast(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        sheets, options = played.story.cast, request.options
        word, typed = cast.parse_typed(request.text, options)
        if word in ("mute", "unmute"):
            return await self._mute(request, played, typed, muted=word == "mute")
        name, _, about = request.text.partition(":")
        name = " ".join(name.split())[:NAME_CHARS]
        if not name:
            text = f"{cast.lines(played.story, say)}\n\n{say('story.cast_words')}"
            return Outcome(text=text, title=say("story.cast", n=len(sheets)), form="/story cast")
        character = cast.find(played.story, name) or name
        if options.get("remove"):
            if character not in sheets:
                raise UserError("story.no_character", name=name)
            sheet = None
        else:
            if character not in sheets and len(sheets) >= MOST_CHARACTERS:
                raise UserError("story.many_characters", limit=MOST_CHARACTERS)
            sheet = dict(sheets.get(character, {}))
            fields = {
                "about": (about.strip() or str(options.get("about") or ""))[:4_000],
                "style": options.get("style"),
                "player": mention.chosen(str(options.get("player") or ""))[1],
            }
            sheet |= {key: value for key, value in fields.items() if value}
            if address := options.get("picture"):
                sheet["picture"] = cast.picture(str(address))
        body = {"name": character, "sheet": sheet}
        player_changes = sheet is None or sheet.get("player") != sheets.get(character, {}).get("player")
        releases = release_nodes(request, played.story, character) if player_changes else []
        cast_node = node(request.id, "cast", "cast", body, author=request.author.id)
        await self._logs.append(played, cast_node, *releases)
        return Outcome("story.left" if sheet is None else "story.joined", {"name": character})

    async def _mute(self, request: Request, played: PlayedStory, name: str, *, muted: bool) -> Outcome:
        """Tell the writer to keep the character quiet, or to stop doing so."""
        character = cast.may_speak(played.story, name)
        sheet = {key: value for key, value in played.story.cast[character].items() if key != "muted"}
        body = {"name": character, "sheet": sheet | ({"muted": "yes"} if muted else {})}
        await self._logs.record(played, request, "cast", body)
        return Outcome("story.muted" if muted else "story.unmuted", {"name": character})

    async def direct(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        note = request.text.strip()[:MEMORY_CHARS]
        before = str(played.story.settings.get("note") or "")
        if not note:
            return Outcome("story.note", {"note": before}) if before else Outcome("story.no_note")
        kept_note = "" if meant(note, "none") else note
        body = {"note": kept_note}
        await self._logs.record(played, request, "set", body)
        return Outcome("story.note_set" if kept_note else "story.note_gone")

    async def remember(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        memories, number = played.story.memories, request.options.get("remove")
        text = request.text.strip()
        if isinstance(number, int):
            if not 1 <= number <= len(memories):
                raise UserError("story.no_memory", n=number, count=len(memories))
            body: dict[str, Any] = {"id": list(memories)[number - 1], "text": None}
            await self._logs.record(played, request, "memory", body)
            return Outcome("story.forgotten", {"n": number})
        if not text:
            listed = "\n".join(f"{n}. {text}" for n, text in enumerate(memories.values(), 1))
            return Outcome("" if listed else "story.no_memories", text=listed, title=say("story.memories"))
        if len(text) > MEMORY_CHARS:
            raise UserError("story.long_memory", length=len(text), limit=MEMORY_CHARS)
        if len(memories) >= MEMORIES:
            raise UserError("story.many_memories", limit=MEMORIES)
        body, count = {"id": request.id, "text": text}, len(memories) + 1
        await self._logs.record(played, request, "memory", body)
        return Outcome("story.remembered", {"n": count})

    async def lore(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        lore, number = played.story.lore, request.options.get("remove")
        if isinstance(number, int):
            if not 1 <= number <= len(lore):
                raise UserError("story.no_lore_number", n=number, count=len(lore))
            removal = {"id": list(lore)[number - 1], "entry": None}
            await self._logs.record(played, request, "lore", removal)
            return Outcome("story.lore_gone", {"n": number})
        if not request.text.strip():
            listed = [
                f"{n}. **{', '.join(entry['keys']) or say('story.lore_always')}**: {entry['content'][:200]}"
                for n, entry in enumerate(list(lore.values())[:LISTED], 1)
            ]
            if len(lore) > LISTED:
                listed.append(say("story.lore_more", n=len(lore) - LISTED))
            title = say("story.lore", n=len(lore))
            return Outcome("" if listed else "story.no_lore", text="\n".join(listed), title=title)
        typed_keys, _, content = request.text.partition(":")
        keys = [key for part in typed_keys.split(",") if (key := " ".join(part.split()))]
        always = bool(request.options.get("always"))
        if always and not content.strip():
            keys, content = [], request.text
        if not content.strip() or not (keys or always):
            raise UserError("story.lore_format")
        if len(content) > LORE_CHARS:
            raise UserError("story.long_lore", length=len(content), limit=LORE_CHARS)
        if len(lore) >= LORE:
            raise UserError("story.many_lore", limit=LORE)
        entry = {"keys": keys[:50], "content": content.strip()} | ({"constant": True} if always else {})
        body, count = {"id": request.id, "entry": entry}, len(lore) + 1
        await self._logs.record(played, request, "lore", body)
        return Outcome("story.lore_kept", {"n": count})

    async def styles(self) -> Mapping[str, Preset]:
        """The styles of prose."""
        return await self._prose.all()

    async def prose(self, request: Request, say: Words) -> Outcome:
        """Set the style of prose, the point of view and the tense from the next scene on; "none" removes the style."""
        played = await self._logs.writable(request)
        styles = await self._prose.all()
        name = folded(request.text)
        options = {
            part: str(request.options[part]) for part in ("view", "tense") if request.options.get(part)
        }
        if not name and not options:
            lines = about_lines(played.story, ("prose", "view", "tense"), say, styles)
            described = [
                f"- `{style.typed_name(say.locale)}`: {style.description[say.locale]}"
                for style in styles.values()
            ]
            text = "\n".join([*lines, *([""] if lines else []), say("story.prose_styles"), *described])
            return Outcome(text=text, title=say("story.prose"))
        body: dict[str, Any] = {**options}
        if meant(name, "none"):
            body |= {"prose": "", "prose_lines": []}
        elif style := find(styles, request.text):
            body |= {"prose": style.name, "prose_lines": list(style.guidance)}
        elif name:
            known = ", ".join(each.typed_name(say.locale) for each in styles.values())
            raise UserError("story.no_prose", name=request.text.strip(), names=known)
        await self._logs.record(played, request, "set", body)
        values = ", ".join(
            in_words(part, str(value), played.story, say, styles)
            for part, value in body.items()
            if part != "prose_lines" and value
        )
        return Outcome("story.prose_set" if values else "story.prose_gone", {"values": values})

    async def relation(self, request: Request, say: Words) -> Outcome:
        """Set how two characters deal with each other, by a preset's name or title; "none" removes it."""
        played = await self._logs.writable(request)
        presets = await self._presets.all()
        pair, _, name = request.text.partition(":")
        names = [spaced for part in pair.split(",") if (spaced := " ".join(part.split())[:NAME_CHARS])]
        if not request.text.strip():
            chosen = [
                f"- **{', '.join(preset['pair'])}**: {presets[preset['preset']].title[say.locale]}"
                for preset in played.story.presets.values()
                if preset["preset"] in presets
            ]
            described = [
                f"- `{preset.typed_name(say.locale)}`: {preset.description[say.locale]}"
                for preset in presets.values()
            ]
            text = "\n".join([*chosen, *([""] if chosen else []), say("story.presets"), *described])
            return Outcome(text=text, title=say("story.relations"))
        if len(names) != 2:
            raise UserError("story.relation_format")
        if meant(name, "none") or not name.strip():
            body: dict[str, Any] = {"pair": names, "preset": "", "lines": []}
        elif preset := find(presets, name):
            body = {"pair": names, "preset": preset.name, "lines": preset.lines(*names)}
        else:
            known = ", ".join(each.typed_name(say.locale) for each in presets.values())
            raise UserError("story.no_preset", name=name.strip(), names=known)
        await self._logs.record(played, request, "preset", body)
        key = "story.relation_set" if body["preset"] else "story.relation_gone"
        return Outcome(key, {"first": names[0], "second": names[1]})
