"""Files: shared by people, uploaded by the bot in three steps, downloaded with a token.

https://docs.slack.dev/messaging/working-with-files. Without a token the address answers with a login page, as the
service does.
"""

from __future__ import annotations

import mimetypes
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.fakes.slack import block_rules
from tests.fakes.slack.ask import Ask
from tests.fakes.slack.refusal import Refusal, bad
from tests.fakes.slack.web import Method

if TYPE_CHECKING:
    from tests.fakes.slack.channels import Channel
    from tests.fakes.slack.people import User
    from tests.fakes.slack.service import FakeSlack
    from tests.fakes.slack.world import Team

LOGIN = "<!DOCTYPE html><html><body>Sign in to Slack</body></html>"


@dataclass(eq=False)
class File:
    """`data` is None until it was uploaded; `shared` the channels where it can be seen."""

    id: str
    name: str
    data: bytes | None
    user: User
    root: str
    title: str
    alt: str
    length: int
    shared: list[Channel]
    deleted: bool = False
    # For a clip: its length, and Slack's transcript, "" for none.
    seconds: float | None = None
    heard: str = ""
    # The number of files.info calls that report a transcript in progress.
    listens: int = 0

    @property
    def type(self) -> str:
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"

    @property
    def path(self) -> str:
        return f"/files-pri/{self.user.team.id}-{self.id}"

    def seen_in(self, team: Team) -> bool:
        return self.user.team is team or any(channel.team is team for channel in self.shared)

    def _clip(self) -> dict[str, Any]:
        """The additional fields of a recording made in Slack."""
        if self.seconds is None:
            return {}
        if self.listens:
            transcription: dict[str, Any] = {"status": "processing"}
        elif self.heard:
            preview = {"content": self.heard, "has_more": False}
            transcription = {"status": "complete", "preview": preview, "locale": "en-US"}
        else:
            transcription = {"status": "none"}
        return {
            "subtype": "slack_audio",
            "media_display_type": "audio",
            "duration_ms": int(self.seconds * 1000),
            "transcription": transcription,
        }

    def payload(self, within: Channel | None = None) -> dict[str, Any]:
        """`within` is the channel of a message; if other workspaces share it, a message has only the id.

        https://docs.slack.dev/reference/objects/file-object.
        """
        if within is not None and within.external:
            empty = {"created": 0, "timestamp": 0, "user": ""}
            return {"id": self.id, "mode": "file_access", "file_access": "check_file_info", **empty}
        return self._clip() | {
            "id": self.id,
            "created": 1700000000,
            "timestamp": 1700000000,
            "name": self.name,
            "title": self.title,
            "mimetype": self.type,
            "filetype": self.name.rpartition(".")[2] or "binary",
            "user": self.user.id,
            "user_team": self.user.team.id,
            "editable": False,
            "size": self.length,
            "mode": "hosted",
            "is_external": False,
            "is_public": any(place.kind == "channel" for place in self.shared),
            "file_access": "visible",
            "url_private": f"{self.root}{self.path}/{self.name}",
            "url_private_download": f"{self.root}{self.path}/download/{self.name}",
            "channels": [place.id for place in self.shared if place.kind == "channel"],
            "groups": [place.id for place in self.shared if place.kind == "group"],
            "ims": [place.id for place in self.shared if place.kind == "im"],
        }


class Files:
    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.all: dict[str, File] = {}
        self.uploads: dict[str, File] = {}
        # How often `files.info` says of a new clip that Slack is still transcribing it.
        self.listens = 0

    def add_to(self, app: web.Application) -> None:
        app.router.add_post("/upload/v1/{ticket}", self._upload)
        app.router.add_get("/files-pri/{id}/{tail:.*}", self._serve)
        app.router.add_get("/login", self._login)

    def new(self, user: User, name: str, data: bytes | None, length: int, alt: str = "") -> File:
        id = self.slack.world.ids.next("F")
        file = File(id, name, data, user, self.slack.root, name, alt, length, [])
        self.all[file.id] = file
        return file

    async def _upload(self, request: web.Request) -> web.Response:
        """Accept raw bytes or a form of the announced size."""
        file = self.uploads.pop(request.match_info["ticket"], None)
        if file is None:
            return web.Response(status=404, text="no such upload")
        data = b""
        if request.content_type == "multipart/form-data":
            for part in (await request.post()).values():
                if isinstance(part, web.FileField):
                    data = part.file.read()
        else:
            data = await request.read()
        if len(data) != file.length:
            return web.Response(status=400, text=f"{len(data)} bytes came, {file.length} were said")
        file.data = data
        return web.Response(text=f"OK - {len(data)}")

    async def _serve(self, request: web.Request) -> web.Response:
        team_id, _, id = request.match_info["id"].partition("-")
        file = self.all.get(id)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        grant = self.slack.grants.find(token) if token else None
        team: Team | None = self.slack.world.teams.get(team_id)
        ours = grant is not None and grant.active and team is not None
        if ours and grant is not None and grant.team is not None:
            ours = grant.team is team or (file is not None and file.seen_in(grant.team))
        if not ours or grant is None or "files:read" not in grant.scopes:
            return web.Response(status=302, headers={"Location": f"{self.slack.root}/login"})
        if file is None or file.data is None or file.deleted:
            return web.Response(status=404)
        return web.Response(body=file.data, content_type=file.type)

    async def _login(self, request: web.Request) -> web.Response:
        return web.Response(text=LOGIN, content_type="text/html")


async def get_upload_url(ask: Ask) -> dict[str, Any]:
    name = ask.text("filename", required=True)
    length = ask.number("length", 0)
    if length <= 0:
        raise bad("must be more than 0 [json-pointer:/length]")
    alt = ask.text("alt_txt")
    if len(alt) > 1000:
        raise Refusal("alt_txt_too_large")
    file = ask.slack.files.new(ask.team.bot, name, None, length, alt)
    ticket = secrets.token_urlsafe(16)
    ask.slack.files.uploads[ticket] = file
    return {"upload_url": f"{ask.slack.root}/upload/v1/{ticket}", "file_id": file.id}


async def complete(ask: Ask) -> dict[str, Any]:
    """Share the files in one message, if a channel is named."""
    rows = ask.rows("files")
    files: list[File] = []
    for row in rows:
        file = ask.slack.files.all.get(str(row.get("id"))) if isinstance(row, dict) else None
        if file is None or file.data is None or file.user is not ask.team.bot:
            raise Refusal("file_not_found")
        file.title = row.get("title") or file.name
        files.append(file)
    if not files:
        raise bad("no less than 1 items allowed [json-pointer:/files]")
    ids = [id for id in (ask.text("channel_id"), *ask.text("channels").split(",")) if id]
    channels: list[Channel] = []
    for id in ids:
        if id not in ask.team.channels:
            raise Refusal("channel_not_found")
        channels.append(ask.joined(ask.team.channels[id]))
    blocks = block_rules.accept(ask.args["blocks"], ask.slack.world.ids.next) if "blocks" in ask.args else []
    for channel in channels:
        thread = ask.root(channel)
        for file in files:
            file.shared.append(channel)
        ask.slack.post.put(
            channel,
            channel.team.bot,
            ask.text("initial_comment"),
            blocks=blocks,
            files=files,
            thread_ts=thread,
            subtype="file_share",
        )
    return {"files": [file.payload() for file in files]}


async def info(ask: Ask) -> dict[str, Any]:
    file = ask.slack.files.all.get(ask.text("file", required=True))
    if file is None or file.data is None or not file.seen_in(ask.team):
        raise Refusal("file_not_found")
    if file.deleted:
        raise Refusal("file_deleted")
    payload = file.payload()
    file.listens = max(0, file.listens - 1)
    return {"file": payload, "comments": []}


async def delete(ask: Ask) -> dict[str, Any]:
    """Delete a file of the bot, with the messages that shared nothing else."""
    file = ask.slack.files.all.get(ask.text("file", required=True))
    if file is None or file.user is not ask.team.bot:
        raise Refusal("file_not_found")
    if file.deleted:
        raise Refusal("file_deleted")
    file.deleted = True
    for channel in file.shared:
        for message in channel.everything:
            if message.files == [file]:
                ask.slack.post.delete(message)
    return {}


METHODS = (
    Method("files.delete", delete, 3, ("files:write",)),
    Method("files.getUploadURLExternal", get_upload_url, 4, ("files:write",)),
    Method("files.completeUploadExternal", complete, 4, ("files:write",)),
    Method("files.info", info, 4, ("files:read",)),
)
