"""Parses what judges write as JSON: with comments, bare keys or extra commas, broken off, or in Python's syntax."""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from typing import Any

_JSON = r'"(?:[^"\\]|\\.)*(?:"|\Z)'
_COMMENT = r"//[^\n]*|/\*(?:(?!\*/).)*(?:\*/|\Z)|(?<=[\s,])\#[^\n]*"
_BRACKET = re.compile(rf"{_JSON}|{_COMMENT}|[{{}}\[\]]", re.DOTALL)
_PYTHON = r"'(?:[^'\\]|\\.|'(?!\s*(?:[:,]\s*(?:['\"\[{\d#}\]]|None|True|False)|[}\]]|\Z)))*(?:'|\Z)"
"""A Python string that may contain apostrophes: it ends at the quotation mark that is followed by valid syntax."""
_PYTHON_BRACKET = re.compile(rf"{_JSON}|{_PYTHON}|{_COMMENT}|[{{}}\[\]]", re.DOTALL)
_TYPOGRAPHIC = r"[“„”](?:[^“”]|[“”](?!\s{0,99}(?:[}\]]|[:,]\s{0,99}[“„”{\[\d}\]]|\Z)))*(?:[“”]|\Z)"
"""A string between typographic quotation marks, with the same rule for its end."""
_TYPOGRAPHIC_BRACKET = re.compile(rf"{_TYPOGRAPHIC}|[{{}}\[\]]")
_TYPOGRAPHIC_STRING = re.compile(_TYPOGRAPHIC)
_STRING = re.compile(_JSON, re.DOTALL)
_KEPT = re.compile(
    rf"(?P<string>{_JSON})|{_COMMENT}|,(?=\s*[}}\]])|(?P<open>[{{,]\s*)(?P<key>[A-Za-z_]\w*)(?=\s*:)",
    re.DOTALL,
)
_PYTHON_STRING = re.compile(rf"{_JSON}|(?P<python>{_PYTHON})", re.DOTALL)
_UNESCAPED = re.compile(
    r'(?:```(?:json)?\s*)?\{\s*"critiques"\s*:\s*\{[^{}]*"\s*\}\s*,\s*"ranking"\s*:\s*'
    r'\[(?P<ranking>\s*"[A-Z]"(?:\s*,\s*"[A-Z]")+)\s*\](?:\s*\})?(?:\s*```)?'
)
_LETTER = re.compile(r'"([A-Z])"')
_DANGLING = re.compile(r',?\s*"(?:[^"\\]|\\.)*"\s*:\Z')

_LOOK_ALIKE = re.compile(r"(?<=[\"'])[АВСЕ](?=[\"'])")
_LATIN = str.maketrans("АВСЕ", "ABCE")
"""Cyrillic letters that look like Latin ones."""
_CYRILLIC = re.compile(r"(?<!\w)[БГД](?!\w)")
_LETTERS_ALONE = re.compile(r"(?<!\w)[АВСЕ](?!\w)")
_CYRILLIC_LABEL = re.compile(
    r"^(?:[^\w\n]{0,9}\d{1,2})?[^\w\n]{0,9}(?i:(?:ответ[аы]?|вариант[аы]?|відповідь)\s{1,3}[*_(«]{0,3})[АВСЕ](?!\w)"
    r"|(?:^|:)[^\w\n]{0,20}[АВСЕ](?:[^\w\n]{1,10}[АВСЕ])+[^\w\n]*$",
    re.MULTILINE,
)
"""Where a Cyrillic letter cannot be a word: after a noun that begins a line, or on a line of such letters."""


def closing(text: str, start: int) -> int:
    """The end of the object that begins at `start`; the end of the text if the object is incomplete."""
    head = text[start : start + 200]
    tokens = _PYTHON_BRACKET if re.match(r"[\[{\s]*'", head) else _BRACKET
    if re.match(r"[\[{\s]*[“„”]", head):
        tokens = _TYPOGRAPHIC_BRACKET
    depth = 0
    for token in tokens.finditer(text, start):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)


def parsed_object(text: str) -> Any:
    """The value of a text in JSON or in Python's syntax; None for anything else."""
    if not _CYRILLIC.search(text):  # a judge that writes Б or Г may be counting А, Б, В, Г
        text = _LOOK_ALIKE.sub(lambda letter: letter[0].translate(_LATIN), text)
    if re.match(r"[\[{\s]*[“„”]", text):
        text = _TYPOGRAPHIC_STRING.sub(lambda string: json.dumps(string[0][1:-1], ensure_ascii=False), text)
    for parse in (_parsed, _parsed_python, _parsed_apostrophes):
        with suppress(ValueError, RecursionError, SyntaxError, MemoryError):
            return parse(text)
    return None


def with_latin_labels(text: str) -> str:
    """The text, with Latin letters in its labels in place of similar Cyrillic ones."""
    if _CYRILLIC.search(text):
        return text
    return _CYRILLIC_LABEL.sub(
        lambda label: _LETTERS_ALONE.sub(lambda letter: letter[0].translate(_LATIN), label[0]), text
    )


def unescaped_ranking(text: str) -> list[str]:
    """The ranking at the end of a ballot whose critiques contain unescaped quotation marks; [] for anything else.

    Each key of the ballot occurs once, and no critique contains a brace; a quoted ballot has both.
    """
    match = _UNESCAPED.fullmatch(text.strip())
    if match is None:
        return []
    ranking: list[str] = _LETTER.findall(match["ranking"])
    keys = re.findall(r'"(\w+)"\s*:', text)
    return ranking if keys == ["critiques", *sorted(ranking), "ranking"] else []


def _parsed(json_text: str) -> Any:
    """JSON, perhaps with comments, bare keys, commas before closing brackets, or broken off."""
    pruned = _pruned(_pruned(json_text))  # a comment may follow the comma
    for candidate in (pruned, _pruned(_closed(pruned))):
        try:
            return json.loads(candidate, strict=False, object_pairs_hook=_unique_keys)
        except ValueError:
            continue
    raise ValueError("not JSON")


def _parsed_python(text: str) -> Any:
    """A Python dict. Raises ValueError or SyntaxError for anything else."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            _unique_keys([(ast.dump(key), None) for key in node.keys if key is not None])
    try:  # numeric keys become texts, and only JSON types are allowed
        return json.loads(json.dumps(ast.literal_eval(tree)), object_pairs_hook=_unique_keys)
    except TypeError as error:
        raise ValueError("a value that JSON does not have") from error


def _parsed_apostrophes(text: str) -> Any:
    """A Python dict whose strings contain unescaped apostrophes ('It isn't')."""

    def escaped(match: re.Match[str]) -> str:
        if match["python"] is None:
            return match[0]
        inner = re.sub(r"(\\.)|'", lambda sign: sign[1] or "\\'", match[0][1:-1], flags=re.DOTALL)
        return "'" + inner.replace("\n", "\\n") + "'"

    return _parsed_python(_PYTHON_STRING.sub(escaped, text))


def _pruned(json_text: str) -> str:
    """The JSON without comments and without commas before a closing bracket, and with quoted keys."""

    def kept(match: re.Match[str]) -> str:
        return match["string"] or (f'{match["open"]}"{match["key"]}"' if match["key"] else "")

    return _KEPT.sub(kept, json_text)


def _closed(json_text: str) -> str:
    """A truncated object with its missing brackets added; a truncated last string is dropped."""
    json_text = json_text.rstrip("` \n")
    open_: list[str] = []
    complete_end = at = 0
    while at < len(json_text):
        string = _STRING.match(json_text, at)
        if string is not None and (len(string[0]) < 2 or not string[0].endswith('"')):
            break
        if string is not None:
            at = string.end()
        else:
            if json_text[at] in "{[":
                open_.append("}" if json_text[at] == "{" else "]")
            elif json_text[at] in "}]" and (not open_ or open_.pop() != json_text[at]):
                return ""
            at += 1
        complete_end = at
    if not open_:
        return ""
    closed_part = _DANGLING.sub("", json_text[:complete_end].rstrip())
    return closed_part.rstrip(", \n") + "".join(reversed(open_))


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict. Raises ValueError for a repeated key, which is ambiguous."""
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise ValueError("a repeated key")
    return unique
