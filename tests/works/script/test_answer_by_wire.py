"""Each intent in each tier on each of the three wires: what the model gets, and what people see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.budget import text_tokens
from bot.llm.base import THOUGHTS
from bot.works.script.config import ScriptConfig
from bot.works.script.question import FORMS, Intent
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES
from tests.works.course.desk import opened, words_of
from tests.works.script.test_answer import FERRY
from tests.works.script.test_scripts import ADA, Room

TIERS = ("quick", "standard", "deep")
QUESTIONS: dict[Intent, str] = {
    "LOCAL_EDIT": "Punch up the last line, please",
    "SCENE_FEEDBACK": "Your feedback on it?",
    "GLOBAL_QUESTION": "How does the theme of the lamp run through it?",
    "BRAINSTORM": "Ideas for the storm?",
}
LOOKED_UP = {"GLOBAL_QUESTION", "BRAINSTORM"}
"""The intents that use tools; with a scene in focus, edits and judgements use none."""
RESULTS = ('"role": "tool"', "function_call_output", "tool_result")
"""Each wire's name for the result of a tool."""
FRAME = 1_600
"""Tokens of a prompt that are not the script's: instructions, the question, tools."""
ROOMS = "".join(f"INT. ROOM {n} - DAY\n\nNobody is in room {n}.\n\n" for n in range(900))


@pytest.mark.slow
@pytest.mark.parametrize("wire", list(WIRES))
async def test_a_question_of_each_intent_is_answered_in_each_tier(wire: str, tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> Reply:
        asked.append(body)
        prompt = json.dumps(body)
        if "tools" not in body:
            return Reply('In Scene 2: "Not ours. Ours went down with the lamp oil." But "nobody cares".')
        if any(word in prompt for word in RESULTS):
            return Reply("I have it.")
        return Reply(calls=[("search_script", '{"query": "lamp oil"}')])

    service = WIRES[wire].service(answer, key="k-0123456789", models=("claude-haiku-5-5",))
    async with service:
        settings = (
            f'[providers.a]\nkind = "{WIRES[wire].kind}"\nbase_url = "{service.base_url}"\napi_key_env = "A_KEY"\n'
            '[roles]\nanswerer = "a:claude-haiku-5-5"\n[script]\nanalyse = false\n'
        )
        (tmp_path / ".env").write_text("A_KEY=k-0123456789\n", encoding="utf-8")
        async with opened(tmp_path, settings) as desk:
            room = Room(desk)
            await room.has(ADA, FERRY + "\n" + ROOMS)
            await room.events(ADA, "script scene", "2")
            for intent, question in QUESTIONS.items():
                sizes = []
                for tier in TIERS:
                    asked.clear()
                    events = await room.events(ADA, "script ask", question, tier=tier, thread="t")
                    text = words_of(events)
                    assert '"Not ours. Ours went down with the lamp oil."' in text, (intent, tier, text)
                    assert "But nobody cares (not in the screenplay word for word)." in text
                    assert len(asked) == (3 if intent in LOOKED_UP else 1)
                    assert ["tools" in body for body in asked] == [True] * (len(asked) - 1) + [False]
                    first, last = json.dumps(asked[0]), json.dumps(asked[-1])
                    assert all(FORMS[intent][:40] in one for one in (first, last))
                    assert "Ours went down with the lamp oil." in last
                    most = ScriptConfig().answer_tokens + THOUGHTS[None]
                    assert any(value == most for value in asked[-1].values())
                    sizes.append(text_tokens(first))
                    assert sizes[-1] < ScriptConfig().tokens(tier) * 1.3 + FRAME, (intent, tier, sizes)
                if intent not in LOOKED_UP:  # the scenes' cards fill what the tier leaves
                    assert sizes[0] < sizes[1] < sizes[2], (intent, sizes)
