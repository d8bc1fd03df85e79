"""Tells from an exception around an SDK call whether the call has failed, and what the service reported.

The exceptions of both SDKs have the same names and fields, since both are generated from one template.
"""

from __future__ import annotations

import importlib
import traceback
from types import FrameType

from bot.llm.error_report import ErrorReport, error_report


def failed_call(sdk: str, error: Exception) -> bool:
    """Whether the call failed, as a call may or by a bug in the SDK. The caller re-raises a bug of our own."""
    named = (importlib.import_module(sdk).APIError, TimeoutError, ValueError, RecursionError)
    if isinstance(error, named):
        return True
    return any(_package(frame) == sdk for frame, _ in traceback.walk_tb(error.__traceback__))


def report_of(sdk: str, error: BaseException) -> ErrorReport | None:
    """The service's error; None if the exception contains none."""
    module = importlib.import_module(sdk)
    if isinstance(error, module.APIStatusError) and error.status_code >= 300:
        return error_report(error.status_code, error.body, error.response.headers)
    if isinstance(error, module.APIError) and not isinstance(error, module.APIConnectionError):
        return error_report(0, error.body)
    return None


def _package(frame: FrameType) -> str:
    """The name of the package whose code runs in the frame."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]
