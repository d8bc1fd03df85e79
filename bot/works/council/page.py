"""A stored council as one self-contained HTML page: its parts are tabs, and all of them are printed.

Pure. Text by a model or a person is read as Markdown, without HTML and without pictures, so that a page opened in a
browser runs nothing and loads nothing. The tabs are radio buttons and CSS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from bot.markdown import as_html
from bot.words import Words
from bot.works.council import markdown

if TYPE_CHECKING:
    from storage.councils import Council

Tab = tuple[str, str]
"""A title, and the content below it as HTML."""

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = """:root { color-scheme: light dark; --line: #8884; --mark: #2f6f9f; }
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.2rem; }
h3, blockquote :is(h1, h2, h3) { font-size: 1.05rem; }
blockquote { margin: .75rem 0; padding: .1rem 1rem; border-left: 3px solid var(--mark); }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); border-radius: 4px; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; }
.tabs { display: flex; flex-wrap: wrap; gap: .25rem; }
.tabs > input { position: absolute; opacity: 0; }
.tabs > label { order: 1; padding: .4rem .8rem; border: 1px solid var(--line); border-radius: 4px; cursor: pointer; }
.tabs > input:checked + label { border-color: var(--mark); color: var(--mark); font-weight: 600; }
.tabs > input:focus-visible + label { outline: 2px solid var(--mark); outline-offset: 2px; }
.tabs > section { order: 2; width: 100%; min-width: 0; }
@media screen {
  .tabs > input:not(:checked) + label + section { display: none; }
  .tabs > section > h2:first-child, .tabs > section > h3:first-child { display: none; }
}
@media print {
  body { max-width: none; font-size: 11pt; }
  .tabs { display: block; } .tabs > input, .tabs > label { display: none; }
  h2, h3 { break-after: avoid; }
}"""


def whole(council: Council, title: str, say: Words) -> str:
    """The page: the question and the verdict, every answer and every ballot with the models' reasoning, the result of
    the vote, the key of the letters, and the research. `title` is the conversation's.
    """
    about = as_html(f"{markdown.facts(council, say)}\n\n{markdown.question(council, say)}")
    parts = [(name, f"<h2>{escape(name)}</h2>\n{body}") for name, body in _parts(council, say)]
    return f"""<!doctype html>
<html lang="{say.locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<style>
{_STYLE}
</style>
</head>
<body>
<h1>{escape(title)}</h1>
{about}{"".join(_tabs("part", parts))}</body>
</html>
"""


def _parts(council: Council, say: Words) -> Iterator[Tab]:
    if verdict := markdown.verdict(council, say):
        yield markdown.verdict_title(council, say), as_html(verdict)
    if council.seats:
        answers = [(row.name, as_html(markdown.answer(row, say, reasoning=True))) for row in council.seats]
        yield say("council_show.answers"), "".join(_tabs("answer", answers))
    if council.ballots:
        names = {row.seat: row.name for row in council.seats}
        ballots = [
            (
                names.get(row.seat, str(row.seat + 1)),
                as_html(markdown.ballot(council, row, say, reasoning=True)),
            )
            for row in council.ballots
        ]
        letters = as_html(say("council_show.letters"))
        yield say("council_show.ballots"), letters + "".join(_tabs("ballot", ballots))
    if standings := markdown.standings(council, say):
        yield say("council_show.standings"), as_html(standings)
    yield say("council_show.key"), as_html(markdown.key(council, say))
    if markdown.has_findings(council):
        yield say("council_show.research"), as_html(markdown.research(council, say))


def _tabs(group: str, tabs: Iterable[Tab]) -> Iterator[str]:
    """Tabs, the first of which is open."""
    yield '<div class="tabs">\n'
    for number, (title, body) in enumerate(tabs):
        id, checked = f"{group}-{number}", "" if number else " checked"
        yield f'<input type="radio" name="{group}" id="{id}"{checked}><label for="{id}">{escape(title)}</label>\n'
        yield f"<section>\n{body}</section>\n"
    yield "</div>\n"
