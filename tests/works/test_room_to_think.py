"""No work limits a call to the length of its answer, because thoughts count towards the limit."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bot.llm.base import THOUGHTS
from bot.works.course import answer as course
from bot.works.rules import answer as rules

BOT = Path(__file__).parents[2] / "bot"
ALLOWED = {
    # These are for the demo model, which does not think.
    ("works/story/turn/context.py", "min(answer, 200)"),
}


def limits(tree: ast.Module) -> Iterator[ast.expr]:
    """The values of `max_tokens` in a module's prompts; a constant's name is replaced by its value."""
    constants: Mapping[str, ast.expr] = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "Prompt":
            given = next((word.value for word in call.keywords if word.arg == "max_tokens"), None)
            # Prompt's own default is a plain limit.
            given = ast.Constant(0) if given is None else given
            yield constants.get(given.id, given) if isinstance(given, ast.Name) else given


def plain(limit: ast.expr) -> bool:
    """Whether a limit is a plain number, without added room to think."""
    if isinstance(limit, ast.Call) and ast.unparse(limit.func) == "room":
        return False
    return isinstance(limit, ast.Constant) or any(
        plain(inner) for inner in ast.iter_child_nodes(limit) if isinstance(inner, ast.expr)
    )


def test_no_work_sends_a_limit_without_room_for_thoughts() -> None:
    found: dict[tuple[str, str], None] = {}
    calls = 0
    for path in sorted((*BOT.glob("works/**/*.py"), *BOT.glob("strategies/*.py"))):
        for limit in limits(ast.parse(path.read_text(encoding="utf-8"))):
            calls += 1
            if plain(limit):
                found[path.relative_to(BOT).as_posix(), ast.unparse(limit)] = None
    assert found.keys() <= ALLOWED
    assert calls > 15


@pytest.mark.parametrize(
    ("source", "is_plain"),
    [
        ("MOST = 4_000\nPrompt('', (), max_tokens=MOST)", True),
        ("Prompt('', (), max_tokens=min(answer, 300))", True),
        ("Prompt('', ())", True),
        ("MOST: Final = room(80, None)\nPrompt('', (), max_tokens=MOST)", False),
        ("Prompt('', (), max_tokens=min(room(80, 'low'), plan.answer))", False),
    ],
)
def test_a_plain_limit_is_noticed(source: str, is_plain: bool) -> None:
    (limit,) = limits(ast.parse(source))
    assert plain(limit) is is_plain


def test_answers_have_room_besides_a_models_own_thoughts() -> None:
    for most in (rules.MAX_TOKENS, course.MAX_TOKENS):
        assert most - THOUGHTS[None] >= 1_000
