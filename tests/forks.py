"""Runs the tests in several processes, forked when all tests have been collected: `-p tests.forks --forks 5`.

The workers of pytest-xdist each import and collect all of them. Here a process takes a whole module at a time, when it
begins the last test of the one before. Session fixtures live as long as their process.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

import pytest
from _pytest.config import create_terminal_writer

from tests import forked

FOLDER = "process-"
"""The prefix of the folder for a process's temporary files, in the run's folder."""
_NUMBER_BYTES = 2
_HEAVY, _MANY = ("anthropic", "tests.preloaded"), 50
"""Heavy imports that the processes would each make, and the number of modules above which they are made before."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, metavar="N", help="run the tests in N processes")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """If all tests are run, let the process that bots are forked from import its modules meanwhile."""
    if session.config.option.forks and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        forked.share()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    config: Any = session.config
    if not config.option.forks or config.option.collectonly or session.testsfailed or not session.items:
        return None
    config.pluginmanager.get_plugin("terminalreporter").showfspath = False
    config._tmp_path_factory.getbasetemp()  # the processes' folders are in it
    modules = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
    if len(modules) > _MANY:
        forked.share()
        for heavy in _HEAVY:
            importlib.import_module(heavy)
    left, numbers = os.pipe()
    os.write(numbers, b"".join(number.to_bytes(_NUMBER_BYTES) for number in range(len(modules))))
    os.close(numbers)
    processes: dict[Connection, int] = {}
    gc.freeze()
    for number in range(min(config.option.forks, len(modules))):
        here, there = Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        if not (pid := os.fork()):
            for other in (here, *processes):
                other.close()
            _work(session, modules, left, there, number)
        there.close()
        processes[here] = pid
    os.close(left)
    try:
        _report(session, list(processes))
    finally:
        for pid in processes.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


def _report(session: pytest.Session, processes: list[Connection]) -> None:
    """Report the results of the processes until all have ended; a test that no process finished has failed."""
    hook = session.config.hook
    unfinished = {item.nodeid: item.location for item in session.items}
    while processes and not session.shouldfail and not session.shouldstop:
        for process in wait(processes):
            assert isinstance(process, Connection)
            try:
                what, said = process.recv()
            except EOFError:
                processes.remove(process)
                continue
            if what == "finished":
                unfinished.pop(said, None)
                hook.pytest_runtest_logfinish(nodeid=said, location=("", None, ""))
            elif what == "report":
                hook.pytest_runtest_logreport(
                    report=hook.pytest_report_from_serializable(config=session.config, data=said)
                )
            else:
                session.shouldstop = said
    if not session.shouldfail and not session.shouldstop:
        for name, location in unfinished.items():
            text = "the process that ran it, or was about to, has ended"
            report = pytest.TestReport(name, location, {}, "failed", text, "call")
            hook.pytest_runtest_logreport(report=report)


def _work(
    session: pytest.Session, modules: list[list[pytest.Item]], left: int, there: Connection, number: int
) -> None:
    """The work of a process, from its fork to its end."""
    config: Any = session.config
    code = 1
    try:
        capturing = config.pluginmanager.get_plugin("capturemanager")
        capturing.stop_global_capturing()
        capturing.start_global_capturing()  # into files of its own
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(_Sender(config, there), "terminalreporter")
        _settle(config, number)
        for item, following in _items(modules, left):
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        code = 0
    except BaseException as fault:
        there.send(("stop", "".join(traceback.format_exception(fault))))
    finally:
        os._exit(code)


def _items(modules: list[list[pytest.Item]], left: int) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Each test of the modules that this process takes, with the next test."""

    def taken() -> Iterator[pytest.Item]:
        while number := os.read(left, _NUMBER_BYTES):
            yield from modules[int.from_bytes(number)]

    items = taken()
    item = next(items, None)
    while item is not None:
        following = next(items, None)
        yield item, following
        item = following


def _settle(config: Any, number: int) -> None:
    """Give the process its own home and folder for temporary files."""
    factory = config._tmp_path_factory
    factory._basetemp = factory.getbasetemp() / f"{FOLDER}{number}"
    factory._basetemp.mkdir(mode=0o700)
    home = factory._basetemp / "home"
    home.mkdir()
    os.environ["HOME"] = str(home)


class _Sender:
    """Passes on pytest's reports from this process."""

    def __init__(self, config: pytest.Config, there: Connection) -> None:
        self._config, self._there = config, there
        # pytest-timeout dumps the stacks of a hanging test here, into the test's output.
        self._tw = create_terminal_writer(config, sys.stderr)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._there.send(("report", data))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._there.send(("finished", nodeid))
