"""OAuth: an administrator installs the app in a workspace, or in a whole organisation.

https://docs.slack.dev/authentication/installing-with-oauth. The page that asks the administrator is missing: a visit to
/oauth/v2/authorize counts as consent, for the workspace that `team` in the query or `slack.install` names.
"""

from __future__ import annotations

import base64
import re
import secrets
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import web
from yarl import URL

from tests.fakes.slack.ask import Ask
from tests.fakes.slack.http_mode import Reply
from tests.fakes.slack.refusal import Refusal
from tests.fakes.slack.web import Method
from tests.fakes.slack.world import Enterprise, Team

if TYPE_CHECKING:
    from tests.fakes.slack.people import User
    from tests.fakes.slack.service import FakeSlack

PATH = "/oauth/v2/authorize"


@dataclass(frozen=True)
class Consent:
    """The consent that a code represents."""

    where: Team | Enterprise
    user: User
    scopes: set[str]
    redirect_uri: str


class OAuth:
    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.codes: dict[str, Consent] = {}

    def add_to(self, app: web.Application) -> None:
        app.router.add_get(PATH, self._authorize)

    @property
    def url(self) -> str:
        return self.slack.root + PATH

    async def _authorize(self, request: web.Request) -> web.Response:
        asked = request.query
        teams = list(self.slack.world.teams.values())
        matching = [team for team in teams if team.id == asked.get("team")] or teams[:1]
        if asked.get("client_id") != self.slack.client_id or not matching:
            return web.Response(status=400, text="Invalid client_id parameter")
        try:
            user = next((user for user in matching[0].users.values() if not user.bot), None)
            back = self._agree(matching[0], user or matching[0].bot, asked)
        except Refusal as refusal:
            return web.Response(status=400, text=refusal.error)
        return web.Response(status=302, headers={"Location": str(back)})

    def _agree(self, where: Team | Enterprise, user: User, asked: Any) -> URL:
        """The redirect back to the bot, with a code."""
        if not asked.get("scope"):
            raise Refusal("no_scopes")
        scopes = set(re.split(r"[, ]+", asked["scope"]))
        uri = asked.get("redirect_uri", "")
        if not uri and not self.slack.redirect_uri:
            raise Refusal("bad_redirect_uri", "none is asked for, and the app has none in its settings")
        code = secrets.token_hex(16)
        self.codes[code] = Consent(where, user, scopes, uri)
        return URL(uri or self.slack.redirect_uri).update_query(code=code, state=asked.get("state", ""))

    async def install(self, user: User, url: str, org: bool = False) -> Reply:
        """Open the bot's page, press its button, agree and return. `org`: for the whole organisation."""
        where: Team | Enterprise | None = user.team.enterprise if org else user.team
        if where is None:
            raise LookupError(f"{user.team} is in no organisation")
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            async with http.get(url, allow_redirects=False) as page:
                text = await page.text()
                to = page.headers.get("Location") or _link(text)
            asked = URL(to).query
            if asked.get("client_id") != self.slack.client_id:
                raise Refusal("invalid_client_id")
            # Passed on explicitly, because behind a proxy the page's cookies would be marked as secure.
            cookies = {name: cookie.value for name, cookie in page.cookies.items()}
            async with http.get(self._agree(where, user, asked), cookies=cookies) as response:
                return Reply(response.status, await response.text())

    async def refuse(self, url: str) -> Reply:
        """Return to the bot without having agreed."""
        async with aiohttp.ClientSession() as http, http.get(f"{url}?error=access_denied") as response:
            return Reply(response.status, await response.text())

    async def access(self, ask: Ask) -> dict[str, Any]:
        """oauth.v2.access: the code for a token, once; or a refresh token, once."""
        client, secret = ask.text("client_id"), ask.text("client_secret")
        if ask.basic.startswith("Basic "):
            client, _, secret = base64.b64decode(ask.basic.removeprefix("Basic ")).decode().partition(":")
        if client != self.slack.client_id:
            raise Refusal("invalid_client_id")
        if secret != self.slack.client_secret:
            raise Refusal("bad_client_secret")
        if ask.text("grant_type") == "refresh_token":
            return self._refreshed(ask.text("refresh_token", required=True))
        consent = self.codes.get(ask.text("code"))
        if consent is None:
            raise Refusal("invalid_code")
        if ask.text("redirect_uri") != consent.redirect_uri:
            raise Refusal("bad_redirect_uri")
        del self.codes[ask.text("code")]
        return self._granted(consent)

    def _refreshed(self, refresh: str) -> dict[str, Any]:
        for one in self.slack.grants.rotated.values():
            if one.refresh == refresh:
                return {"token_type": "bot", "app_id": self.slack.world.app_id} | self._rotated(one.where)
        raise Refusal("invalid_refresh_token")

    def _rotated(self, where: Team | Enterprise) -> dict[str, Any]:
        seconds = self.slack.rotation_seconds
        rotated = self.slack.grants.rotate(where, seconds)
        token = list(rotated.ends)[-1]
        return {"access_token": token, "expires_in": seconds, "refresh_token": rotated.refresh}

    def _granted(self, consent: Consent) -> dict[str, Any]:
        where, team = consent.where, consent.user.team
        rotated = self._rotated(where) if self.slack.rotation_seconds else {}
        token = rotated.get("access_token") or self.slack.world.new_token()
        if isinstance(where, Enterprise):
            where.token, where.scopes = token, consent.scopes
        else:
            where.bot_token, where.scopes, where.installed = token, consent.scopes, True
        enterprise = team.enterprise
        self.slack.world.touch()
        return {
            "access_token": token,
            "token_type": "bot",
            "scope": ",".join(sorted(consent.scopes)),
            "bot_user_id": team.bot.id,
            "app_id": team.app_id,
            "team": None if where is enterprise else {"id": team.id, "name": team.name},
            "enterprise": {"id": enterprise.id, "name": enterprise.name} if enterprise else None,
            "is_enterprise_install": where is enterprise,
            "authed_user": {"id": consent.user.id},
        } | rotated


def _link(page: str) -> str:
    for address in re.findall(r'(?:href|url)=["\']?([^"\'\s>]+)', page):
        if "client_id=" in address:
            return unescape(address)
    raise LookupError(f"there is no link to Slack on this page: {page[:500]}")


def methods(oauth: OAuth) -> tuple[Method, ...]:
    return (Method("oauth.v2.access", oauth.access, 4, token="none"),)
