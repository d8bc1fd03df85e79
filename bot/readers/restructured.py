"""reStructuredText (.rst) into Documents, with docutils. Includes, downloads and code are not followed or run.

Of directives and roles that docutils does not know, mostly Sphinx's, only the words are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from bot.events import UserError
from bot.readers.decode import decode
from bot.readers.document import Document, Progress, title_from_name
from bot.readers.grid import Grid
from bot.readers.writer import Writer, flow

_DIRECTIVE: Final = re.compile(
    r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]{1,100}\|[ \t]+)?([\w:.+-]{1,60}?)::(?:[ \t]|$)", re.MULTILINE
)
_ROLE: Final = re.compile(r":([\w:.+-]{1,60}):`|`:([\w:.+-]{1,60}):")
_CODE: Final = frozenset((
    "code-block", "sourcecode", "highlight", "literalinclude", "doctest", "testcode", "testoutput", "prompt",
    "parsed-literal", "ipython", "graphviz", "mermaid", "plot", "productionlist", "code-cell", "runblock",
    "tikz", "digraph", "graph", "jupyter-execute",
))  # fmt: skip
_QUIET: Final = frozenset((
    "toctree", "index", "image", "figure-md", "automodule", "autoclass", "autofunction", "autosummary",
    "currentmodule", "module", "sectionauthor", "codeauthor", "contents", "literalinclude", "highlight",
    "only-html", "testsetup", "testcleanup", "bibliography", "tabularcolumns", "graphviz", "mermaid", "tikz",
    "digraph", "graph", "plot", "raw", "meta", "include", "default-domain", "program", "youtube", "video",
    "csv-table-file", "role", "default-role", "date", "sectnum", "header", "footer", "target-notes",
    "inheritance-diagram", "uml", "math-macro", "deprecated-removed",
))  # fmt: skip
"""Directives whose contents are not part of the text."""
_TARGET: Final = re.compile(r"(.*?)\s*<([^<>]{1,300})>$", re.DOTALL)
_EXPLICIT: Final = ("ref", "doc", "numref", "term", "any", "download")
_LEFT_OUT: Final = frozenset((
    "comment", "system_message", "substitution_definition", "target", "image", "raw", "pending", "problematic_", "meta",
    "docinfo_", "decoration", "generated", "label",
))  # fmt: skip
_ASIDES: Final = frozenset((
    "note", "tip", "hint", "important", "warning", "caution", "danger", "error", "attention", "admonition", "sidebar",
    "topic", "block_quote", "epigraph", "footnote", "citation",
))  # fmt: skip
_DEPTH: Final = 60


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The document in `data`; blocking. Raises UserError as `decode` does, "library.file_damaged",
    "library.file_empty" for no words.
    """
    from docutils.core import publish_doctree
    from docutils.utils import Reporter

    text = decode(name, data).lstrip("\ufeff")
    progress(0, 1)
    _teach(text)
    settings = {
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "report_level": Reporter.SEVERE_LEVEL + 1,
        "halt_level": Reporter.SEVERE_LEVEL + 1,
        "warning_stream": False,
        "_disable_config": True,
        "doctitle_xform": False,
        "smart_quotes": False,
        "syntax_highlight": "none",
        "line_length_limit": 1_000_000,
        "input_encoding": "unicode",
    }
    try:
        tree = publish_doctree(text, source_path=name, settings_overrides=settings)
    except RecursionError as fault:  # deeply nested lists
        raise UserError("library.file_damaged", name=name) from fault
    writer = Writer()
    walk = _Walk(writer)
    for node in tree.children:
        walk.block(node, 0, 0)
    if writer.empty:
        raise UserError("library.file_empty", name=name)
    tops = [node for node in tree.children if _tag(node) == "section"]
    title = flow(tops[0].children[0].astext()) if len(tops) == 1 and tops[0].children else ""
    return writer.document(title or title_from_name(name))


def _teach(text: str) -> None:
    """Register the directives and roles that the text uses and docutils does not know."""
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, languages, roles

    english: Any = languages.get_language("en")

    def run(self: Any) -> list[Any]:
        kind = self.name.rpartition(":")[2]
        content = "\n".join(self.content)
        if kind in _QUIET:
            return []
        if kind in _CODE:
            return [nodes.literal_block(content, content)] if content.strip() else []
        if kind == "math":
            words = "\n".join([*self.arguments, content]).strip()
            return [nodes.literal_block(words, words)] if words else []
        # A signature (py:function), or the title of a box, a tab or an exercise.
        head = " ".join(" ".join(self.arguments).split())
        made = [nodes.paragraph(head, head)] if head else []
        container = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, container)
        return [*made, *container.children]

    directive_class = type(
        "Own",
        (Directive,),
        {
            "run": run,
            "has_content": True,
            "optional_arguments": 1,
            "final_argument_whitespace": True,
            "option_spec": _Anything(),
        },
    )
    for kind in {match[1].lower() for match in _DIRECTIVE.finditer(text)}:
        registered = english.directives.get(kind, kind) in directives._directive_registry
        if not registered or kind in _QUIET or kind in _CODE:
            directives.register_directive(kind, directive_class)

    def role(role: str, rawtext: str, text: str, *_: Any) -> tuple[list[Any], list[Any]]:
        match = _TARGET.match(text)
        words = match[1] if match and match[1] else text.lstrip("~!")
        if not match and role.rpartition(":")[2] not in _EXPLICIT and text.startswith("~"):
            words = words.rpartition(".")[2]
        return [nodes.inline(rawtext, words)], []

    for kind in {(match[1] or match[2]).lower() for match in _ROLE.finditer(text)}:
        if english.roles.get(kind, kind) not in roles._role_registry:
            roles.register_local_role(kind, role)


class _Anything(dict[str, Any]):
    """Accepts options of any name, unchanged."""

    def __getitem__(self, name: str) -> Any:
        return lambda value: value or ""

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True


class _Walk:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def block(self, node: Any, level: int, depth: int) -> None:
        """Write one node with its content. `level` is that of the section around it."""
        tag = _tag(node)
        if tag in _LEFT_OUT or depth > _DEPTH:
            return
        if tag == "section":
            for inner in node.children:
                self.block(inner, level + 1, depth + 1)
        elif tag in ("title", "subtitle"):
            self._writer.heading(max(level, 1), flow(_words(node)))
        elif tag in ("paragraph", "rubric", "caption", "attribution", "legend"):
            self._writer.paragraph(flow(_words(node)))
        elif tag in ("literal_block", "doctest_block", "math_block"):
            self._writer.code(node.astext())
        elif tag == "line_block":
            self._writer.paragraph("\n".join(_verse(node)))
        elif tag in (
            "bullet_list",
            "enumerated_list",
            "definition_list",
            "field_list",
            "option_list",
            "docinfo",
        ):
            self._list(node, level, depth, 0)
        elif tag == "table":
            self._table(node)
        elif tag in _ASIDES:
            self._writer.quote("\n\n".join(words for words in _flat(node) if words))
        else:
            for inner in node.children:
                self.block(inner, level, depth + 1)

    def _list(self, node: Any, level: int, depth: int, inner_depth: int) -> None:
        number = int(node.get("start", 1)) if _tag(node) == "enumerated_list" else None
        for item in node.children:
            first = True
            parts = item.children if hasattr(item, "children") else []
            if _tag(item) in ("definition_list_item", "field", "option_list_item"):
                field_words = [flow(_words(part)) for part in parts]
                body = parts[-1].children if parts else []
                lead = ", ".join(field_words[:-1])
                plain = [part for part in body if _tag(part) == "paragraph"]
                words = flow(_words(plain[0])) if plain else ""
                self._writer.item(f"{lead}: {words}".rstrip(" "), depth=inner_depth)
                parts = [part for part in body if not plain or part is not plain[0]]
                first = False
            elif _tag(item) not in ("list_item",):  # docinfo: author, date
                if words := flow(_words(item)):
                    self._writer.item(f"{_tag(item)}: {words}", depth=inner_depth)
                continue
            for part in parts:
                if first and _tag(part) == "paragraph":
                    self._writer.item(_words(part), depth=inner_depth, number=number)
                    first = False
                elif _tag(part) in ("bullet_list", "enumerated_list") and inner_depth < 8:
                    self._list(part, level, depth + 1, inner_depth + 1)
                else:
                    self.block(part, level, depth + 1)
            number = None if number is None else number + 1

    def _table(self, node: Any) -> None:
        for title in node.children:
            if _tag(title) == "title":
                self._writer.paragraph(flow(_words(title)))
        grid = Grid()
        for part in node.findall():
            if (head := _tag(part) == "thead") or _tag(part) == "tbody":
                for row in part.children:
                    grid.row(head=head)
                    for entry in row.children:
                        grid.cell(
                            flow(" ".join(_flat(entry))),
                            columns=int(entry.get("morecols", 0)) + 1,
                            rows=int(entry.get("morerows", 0)) + 1,
                            head=head,
                        )
        self._writer.table(grid.lines())


def _tag(node: Any) -> str:
    return str(getattr(node, "tagname", "#text"))


def _words(node: Any) -> str:
    """A node's words, without invisible ones."""
    if _tag(node) in _LEFT_OUT:
        return ""
    children = getattr(node, "children", ())
    return "".join(map(_words, children)) if children else str(node.astext())


def _flat(node: Any) -> Iterator[str]:
    """The blocks of an aside or a cell, each as text."""
    for inner in node.children:
        tag = _tag(inner)
        if tag in _LEFT_OUT:
            continue
        if tag in ("bullet_list", "enumerated_list"):
            yield "\n".join(f"- {flow(_words(item))}" for item in inner.children)
        elif tag in ("literal_block", "doctest_block"):
            yield inner.astext()
        elif tag in _ASIDES or tag in ("definition_list", "definition_list_item", "compound", "container"):
            yield from _flat(inner)
        else:
            yield flow(_words(inner))


def _verse(node: Any, depth: int = 0) -> Iterator[str]:
    for line in node.children:
        if _tag(line) == "line_block" and depth < 20:
            yield from _verse(line, depth + 1)
        else:
            yield flow(_words(line))
