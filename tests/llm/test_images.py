"""Images in a prompt on each wire: sent before the words, counted, and left out if the model does not accept
them.
"""

from __future__ import annotations

import base64
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from bot.budget import prompt_tokens
from bot.llm.base import Image, Message, Prompt, without_images
from bot.llm.error_report import ErrorReport, error_report
from bot.llm.faults import safe
from tests.fakes.images import png
from tests.fakes.reply import Reply
from tests.llm.desk import PROMPT, Open, both
from tests.llm.table import Set, busy, good

MAP = Image("image/png", png(700, 560), 700, 560)
FACE = Image("image/jpeg", b"\xff\xd8\xff\xe0 a face", 28, 28)
SEEN = Prompt("Answer.", (Message("user", "What is on the map?", images=(MAP, FACE)),), max_tokens=50)


def base64_of(image: Image) -> str:
    return base64.b64encode(image.data).decode()


@both
async def test_images_are_sent_before_the_words_in_each_wires_form(desk: Open, whole: bool) -> None:
    at = await desk(Reply("A ford."))
    _, completion = await at.ask(SEEN, whole=whole)
    assert (completion.text, completion.unseen) == ("A ford. ", False)
    sent = at.service.requests[-1]
    content = (sent.get("messages") or sent["input"])[-1]["content"]
    here = [f"data:{one.media};base64,{base64_of(one)}" for one in (MAP, FACE)]
    wanted: dict[str, list[dict[str, Any]]] = {
        "chat": [{"type": "image_url", "image_url": {"url": url}} for url in here],
        "responses": [{"type": "input_image", "image_url": url, "detail": "high"} for url in here],
        "messages": [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": one.media, "data": base64_of(one)},
            }
            for one in (MAP, FACE)
        ],
    }
    text = {"type": "input_text" if at.service.PATH.endswith("responses") else "text"}
    assert content == [*wanted[desk.wire.name], {**text, "text": "What is on the map?"}]


async def test_images_may_be_sent_without_words_after_results_and_before_a_mark(desk: Open) -> None:
    at = await desk(Reply("one"), Reply("two"))
    alone = replace(SEEN, messages=(replace(SEEN.messages[0], text=""),))
    assert (await at.ask(alone, step="alone"))[1].text == "one "
    marked = replace(SEEN, messages=(replace(SEEN.messages[0], cache=True), Message("user", "Well?")))
    assert (await at.ask(marked, step="marked"))[1].text == "two "
    assert all(base64_of(MAP) in json.dumps(sent) for sent in at.service.requests)


@both
async def test_a_model_that_refuses_images_is_called_without_them_from_then_on(
    desk: Open, whole: bool, caplog: pytest.LogCaptureFixture
) -> None:
    at = await desk(Reply("A ford."), Reply("far"), sees=False)
    assert at.provider.capabilities("small").sees
    with caplog.at_level(logging.DEBUG):
        texts, completion = await at.ask(SEEN, whole=whole)
    assert ("".join(texts), completion.unseen, at.waits) == ("A ford. ", True, [])
    assert not at.provider.capabilities("small").sees
    assert at.provider.capabilities("other").sees
    assert at.service.calls == 2
    assert base64_of(FACE) not in json.dumps(at.service.requests[-1])
    assert base64_of(FACE) not in caplog.text
    assert (await at.ledger.entries("local", "run-1"))[0].state == "settled"


@both
@pytest.mark.parametrize("media", ["image/png", "image/bmp"])
async def test_one_bad_image_does_not_mark_the_model_as_blind(desk: Open, whole: bool, media: Any) -> None:
    lie = Image(media, FACE.data, 28, 28)
    at = await desk(Reply("A ford."), Reply("A ford."))
    _, completion = await at.ask(
        replace(SEEN, messages=(Message("user", "And?", images=(lie,)),)), whole=whole
    )
    assert (completion.text, completion.unseen) == ("A ford. ", True)
    assert at.provider.capabilities("small").sees
    assert not (await at.ask(SEEN, whole=whole, step="again"))[1].unseen


@pytest.mark.parametrize("wire", ["messages"], indirect=True)
async def test_images_over_anthropics_limit_are_not_sent(desk: Open) -> None:
    at = await desk(Reply("A ford."))
    long = Image("image/png", png(8_001, 1), 8_001, 1)
    _, completion = await at.ask(replace(SEEN, messages=(Message("user", "And?", images=(long,)),)))
    assert completion.unseen
    assert at.provider.capabilities("small").sees


async def test_the_possible_cost_of_an_image_is_reserved_before_it_is_sent(desk: Open) -> None:
    at = await desk(Reply("A ford.", usage="none"))
    await at.ask(SEEN)
    row = await at.row()
    assert row.input_tokens == prompt_tokens(SEEN) == prompt_tokens(without_images(SEEN)) + 25 * 20 + 1


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(1, 1, 1), (28, 28, 1), (29, 28, 2), (1_000, 1_000, 36 * 36), (8_000, 8_000, 4_784), (8_000, 1, 286)],
)
def test_an_image_is_counted_as_documented(width: int, height: int, tokens: int) -> None:
    assert Image("image/png", b"", width, height).tokens == tokens


def test_printing_a_message_leaves_out_its_image() -> None:
    assert "PNG" not in repr(SEEN)
    said = f"Failed to parse messages: [{{'image_url': {{'url': '{MAP.url}'}}}}] {base64_of(MAP)}"
    assert base64_of(MAP)[:20] not in safe(said, None)
    assert safe("Model gpt-6.1-sol is gone.", None) == "Model gpt-6.1-sol is gone."


SAID = (
    (400, "Invalid content type. image_url is only supported by certain models."),
    (404, "No endpoints found that support image input"),
    (400, "this model does not support image input (ref: b8bd630e)"),
    (400, "meta/llama-3 is not a multimodal model"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (500, "this model is missing data required for image input"),
    (500, 'Failed to parse messages: Unsupported content part type: "image_url"; messages = [ {format} ]'),
    (400, "Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`"),
    (400, "messages.content.type is invalid, allowed values: ['text']"),
    (400, "'messages.0' : content must be a string"),
    (400, "Model does not support images. Please use a model that does."),
    (400, "Image inputs are not supported by this model."),
)


@pytest.mark.parametrize(("status", "message"), SAID)
def test_errors_that_mean_a_model_takes_no_images_are_recognised(status: int, message: str) -> None:
    assert error_report(status, {"error": {"message": message}}).images == "none"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            400,
            "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6 bytes > 5242880 bytes",
        ),
        (400, "messages.0.content.0.image.source.base64.data: Could not process image"),
        (
            400,
            "You uploaded an unsupported image. Please make sure your image has of one the following formats",
        ),
        (400, "This model does not support images of the format image/gif."),
        (413, "Request exceeds the maximum size"),
    ],
)
def test_errors_that_mean_these_images_are_unusable_are_recognised(status: int, message: str) -> None:
    assert error_report(status, {"error": {"message": message}}).images == "these"


@pytest.mark.parametrize(
    "other",
    [
        ErrorReport(400, "Unsupported parameter: 'temperature' is not supported with this model."),
        ErrorReport(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        ErrorReport(429, "The model gpt-image-2 is overloaded"),
        ErrorReport(500, "The image could not be loaded"),
        ErrorReport(401, "Incorrect API key provided"),
    ],
)
def test_other_refusals_are_not_blamed_on_images(other: ErrorReport) -> None:
    assert other.images == ""


async def test_config_and_refusals_decide_whether_the_next_question_has_images(table: Set) -> None:
    at = await table([good(), good()], [good()])
    providers = at.config.providers
    at.services[0].sees = False
    assert (await at.ask("one", SEEN))[1].unseen
    capabilities = at.models.capabilities("answerer")
    assert capabilities is not None
    assert not capabilities.sees
    assert (await at.ask("two", SEEN))[1].unseen
    assert at.calls == [3, 0], "it was not tried again"
    at.change(providers={**providers, "a": replace(providers["a"], sees=False)})
    assert not at.models.capabilities_of("answerer", "a:small").sees
    rows = {row.step: row for row in await at.rows()}
    assert rows["one"].state == rows["two"].state == "settled"


async def test_a_stand_in_model_without_vision_answers_from_the_words(table: Set) -> None:
    at = await table([busy(), good()], [good()])
    providers = at.config.providers
    at.change(providers={**providers, "b": replace(providers["b"], sees=False)})
    _, last = await at.ask(prompt=SEEN)
    assert (last.model, last.unseen, at.calls) == ("b:small", True, [1, 1])
    assert "base64" not in json.dumps(at.services[1].requests)
    at.now += 1_000
    _, last = await at.ask("words", PROMPT)
    assert (last.model, last.unseen) == ("a:small", False)
