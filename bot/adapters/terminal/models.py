"""`models list|pull|path` shows what bot.models knows; `models test` tries each model in every way.

A trial takes no lock and writes nothing, so that it may run while the bot does; so its costs are in its own table
rather than in the ledger.
"""

from __future__ import annotations

import asyncio
import json as json_module
import logging
import sys
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, BinaryIO

from bot import models
from bot.config.model_spec import model_of
from bot.events import UserError
from bot.words import Words, words

if TYPE_CHECKING:
    from bot.config import Config, ProviderConfig
    from bot.llm.models_probe import Probe, Trial

MARKS = {True: "✓", False: "✗", None: "–"}


def model_files(config: Config, verb: str, names: Sequence[str]) -> int:
    """Run `list`, `path` or `pull`, whose progress bar goes to standard error. Returns 0, or raises UserError."""
    folder = config.models_dir
    if verb == "list":
        for model in models.MODELS.values():
            mark = "✓" if models.present(folder, model.name) else "–"
            wheels = " ".join(wheel.requirement for wheel in model.wheels)
            print(f"{mark} {model.name}  {model.size / 1e6:.0f} MB  {model.licence}  {wheels}")
    elif verb == "path":
        for name in names:
            print(models.path(folder, name))
        if not names:
            print(folder)
    else:
        names_wanted = tuple(names) or models.needed(*config.wants)
        models.pull(folder, names_wanted, progress=models.bar(sys.stderr))
    return 0


def try_models(config: Config, locale: str, names: Sequence[str], out: BinaryIO | None) -> int:
    """Try each model and print the results, as JSON lines on `out` if given. Returns 1 if a way failed.

    Raises UserError ("probe.…") for an invalid name before any model is called.
    """
    logging.getLogger().addHandler(logging.NullHandler())  # else warnings would be printed between
    chosen = _chosen(config, names)
    return asyncio.run(_try_each(config, words(locale), chosen, out))


def _chosen(config: Config, names: Sequence[str]) -> list[tuple[str, ProviderConfig]]:
    speech = set(map(model_of, config.roles.transcriber)) - set(replace(config.roles, transcriber=()).models)
    of_roles = [name for name in config.roles.models if name not in speech]
    specs = list(dict.fromkeys(names)) or of_roles
    if not specs:
        raise UserError("probe.nobody")
    chosen = []
    for spec in specs:
        name, _, model = spec.partition(":")
        if not model.strip():
            raise UserError("probe.model", value=spec)
        if name not in config.providers:
            raise UserError("probe.provider", provider=name, known=", ".join(config.providers))
        chosen.append((spec, config.providers[name]))
    return chosen


async def _try_each(
    config: Config, say: Words, chosen: list[tuple[str, ProviderConfig]], out: BinaryIO | None
) -> int:
    from bot.llm.models_probe import Probe
    from bot.llm.prices import cost
    from bot.llm.registry import provider_of

    table = _Table(say)
    broken = False
    for spec, settings in chosen:
        if out is None:
            table.begin(spec)
        try:
            provider = provider_of(settings, config, timeouts=None, sleep=asyncio.sleep)
        except UserError as error:
            broken = True
            if out is None:
                table.refused(say(error.key, **error.values))
            else:
                _line(out, {"model": spec, "well": False, "fault": say(error.key, **error.values)})
            continue
        model = spec.partition(":")[2]
        probe = Probe(provider, settings, model)
        trials: list[Trial] = []
        try:
            async with aclosing(probe.run()) as ways:
                if out is None:
                    table.trying(0)
                async for trial in ways:
                    trials.append(trial)
                    if out is None:
                        table.row(trial)
                        table.trying(len(trials))
        finally:
            table.wipe()
            await provider.close()
        dollars = await cost(settings, model, probe.usage)
        broken = broken or any(trial.well is False for trial in trials)
        if out is None:
            table.sum(probe, dollars)
        else:
            _line(out, _record(say, spec, probe, trials, dollars))
    return 1 if broken else 0


class _Table:
    """A block of lines for each model, printed as soon as it is known; a terminal also shows the present trial."""

    def __init__(self, say: Words) -> None:
        from bot.llm.models_probe import WAYS

        self._say = say
        self._ways = WAYS
        self._width = max(len(say(f"probe.way_{way}")) for way in WAYS)
        self._passing = sys.stdout.isatty()
        self._first = True

    def begin(self, spec: str) -> None:
        print(spec if self._first else f"\n{spec}", flush=True)
        self._first = False

    def trying(self, number: int) -> None:
        """Show which way is being tried until its row replaces this line."""
        if self._passing and number < len(self._ways):
            name = self._say(f"probe.way_{self._ways[number]}")
            print(f"  … {name}", end="\r", flush=True)

    def wipe(self) -> None:
        if self._passing:
            print("\x1b[2K", end="\r", flush=True)

    def row(self, trial: Trial) -> None:
        self.wipe()
        name = self._say(f"probe.way_{trial.way}")
        print(f"  {MARKS[trial.well]} {name:<{self._width}}  {_sentence(self._say, trial)}", flush=True)

    def refused(self, sentence: str) -> None:
        print(f"  {MARKS[False]} {sentence}", flush=True)

    def sum(self, probe: Probe, dollars: Decimal | None) -> None:
        used = probe.usage
        input_tokens = used.input_tokens + used.cache_read_tokens + used.cache_write_tokens
        print(
            "    "
            + self._say(
                "probe.sum",
                n=probe.calls,
                input=input_tokens,
                cached=used.cache_read_tokens,
                output=used.output_tokens,
                cost=_price(self._say, dollars, input_tokens + used.output_tokens),
            ),
            flush=True,
        )


def _price(say: Words, dollars: Decimal | None, paid: int) -> str:
    if dollars is None:
        return say("probe.cost_unknown")
    return f"${dollars:.4f}" if dollars or not paid else say("probe.cost_free")


def _sentence(say: Words, trial: Trial) -> str:
    return say(trial.key, **trial.values)


def _record(
    say: Words, spec: str, probe: Probe, trials: list[Trial], dollars: Decimal | None
) -> dict[str, object]:
    used = probe.usage
    return {
        "model": spec,
        "well": all(trial.well is not False for trial in trials),
        "tried": {trial.way: {"well": trial.well, "text": _sentence(say, trial)} for trial in trials},
        "first_token_s": _rounded(probe.first_token_s),
        "tokens_per_s": _rounded(probe.tokens_per_s),
        "calls": probe.calls,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cache_read_tokens": used.cache_read_tokens,
        "cache_write_tokens": used.cache_write_tokens,
        "cost_usd": None if dollars is None else str(dollars),
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)


def _line(out: BinaryIO, record: dict[str, object]) -> None:
    out.write(json_module.dumps(record, ensure_ascii=False).encode() + b"\n")
    out.flush()
