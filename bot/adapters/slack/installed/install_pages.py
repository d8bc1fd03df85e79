"""The three pages that whoever installs the app sees, in their browser's language. Pure."""

from __future__ import annotations

from html import escape
from typing import Final

from bot.adapters.slack.installed.workspaces import NAME
from bot.words import Words, words

_PAGE: Final = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>{name}</title>
<style>body {{ font: 1.1rem/1.5 sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1rem }}
a {{ display: inline-block; padding: .5rem 1rem; border: 1px solid; border-radius: .4rem }}</style></head>
<body><p>{text}</p><p><a href="{href}">{label}</a></p></body></html>
"""


def install(url: str, language: str) -> str:
    """`url` leads to Slack; `language` is the browser's Accept-Language."""
    say = _say(language)
    return _page(say, NAME, url, say("slack_run.page_install", name=NAME))


def installed(team: str, app: str, language: str) -> str:
    say = _say(language)
    url = f"https://slack.com/app_redirect?app={app}" + (f"&team={team}" if team else "")
    return _page(say, say("slack_run.page_installed", name=NAME), url, say("slack_run.page_open"))


def failed(reason: str, again: str, language: str) -> str:
    """`reason` may be anybody's words: they stand in the address."""
    say = _say(language)
    text = say("slack_run.page_failed", reason=reason[:80])
    return _page(say, text, again, say("slack_run.page_again"))


def _page(say: Words, text: str, href: str, label: str) -> str:
    return _PAGE.format(
        lang=say.locale, name=NAME, text=escape(text), href=escape(href, quote=True), label=escape(label)
    )


def _say(language: str) -> Words:
    wanted = [one.partition(";")[0].strip().lower() for one in language.split(",")]
    first = next((one for one in wanted if one[:2] in ("en", "pt")), "en")
    return words("pt-BR" if first.startswith("pt") else "en")
