"""A model file and its tokenizer on onnxruntime, opened in the same way for every model.

Synchronous, and heavy to import, so both only happen when a model is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.events import UserError


def opened(name: str, folder: Path, *, tokens: int, threads: int | None) -> tuple[Any, Any]:
    """(session, tokenizer) of <folder>/{model.onnx,tokenizer.json}; texts are cut at `tokens`.

    Raises UserError("models.absent") if a file does not exist.
    """
    for file in ("model.onnx", "tokenizer.json"):
        if not (folder / file).is_file():
            raise UserError("models.absent", name=name)
    from tokenizers import Tokenizer

    session = session_of(str(folder / "model.onnx"), threads=threads)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(tokens)
    return session, tokenizer


def session_of(model: str | bytes, *, threads: int | None) -> Any:
    """A session for a model's file, or for its bytes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Leaves idle cores to other work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
