"""The hostile envelopes: the same for the same seed, and harmless to Bolt itself."""

from __future__ import annotations

import json
import logging

import pytest

from tests.fakes.slack import fuzz
from tests.fakes.slack.small_app import table


@pytest.mark.parametrize("wild", [False, True])
async def test_equal_seeds_give_equal_json_envelopes(wild: bool) -> None:
    async with table(socket=False) as t:
        around = (t.slack, t.ana, t.channel)

        def drawn() -> list[object]:
            stock = list(fuzz.payloads(3, around, 60, wild))
            assert len(json.loads(json.dumps(stock))) == 60
            return [
                (kind, payload.get("text"), payload.get("callback_id"), sorted(payload))
                for kind, payload in stock
            ]

        assert drawn() == drawn()
        assert {kind for kind, _ in fuzz.payloads(3, around, 60)} == {
            "events_api",
            "slash_commands",
            "interactive",
        }


async def test_bolt_survives_the_envelopes_and_acknowledges_those_that_are_not_wild() -> None:
    async with table() as t:
        logging.getLogger("small_app").disabled = True
        t.slack.redelivery = ()
        around = (t.slack, t.ana, t.channel)
        for kind, payload in fuzz.payloads(1, around, 200):
            sent = await t.slack.send_envelope(t.team, kind, payload)
            assert sent.acked is not None, (kind, payload)
        usual, t.slack.ack_seconds = t.slack.ack_seconds, 0.02
        for kind, payload in fuzz.payloads(2, around, 30, wild=True):
            await t.slack.send_envelope(t.team, kind, payload)
        t.slack.ack_seconds = usual
        sent = await t.slack.command(t.ana, t.channel, "/sutradhar")
        assert (sent.failed, t.slack.sockets.greeted) == (None, 1)
        logging.getLogger("small_app").disabled = False
