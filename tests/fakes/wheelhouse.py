"""A small package registry on loopback: one page of links and its wheels.

It can pause in the middle of a wheel, so that a test can kill the downloading process.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from zipfile import ZIP_DEFLATED, ZipFile

from bot.models import Model, ModelFile


def wheel(folder: Path, files: Mapping[str, bytes], project: str = "tiny-model") -> Model:
    """Make a wheel of `files` in `folder`; returns its row for the table of models."""
    module = project.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    place = folder / f"{module}-1.0-py3-none-any.whl"
    with ZipFile(place, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"{module}/{name}", data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/RECORD", "")
    return Model(
        name=project,
        wheel=f"{project}==1.0",
        wheel_sha256=hashlib.sha256(place.read_bytes()).hexdigest(),
        wheel_size=place.stat().st_size,
        licence="MIT",
        files=tuple(
            ModelFile(f"{module}/{name}", name, hashlib.sha256(data).hexdigest(), len(data))
            for name, data in files.items()
        ),
    )


class Wheelhouse:
    """Serves `folder`. `served` lists the wheels asked for; `halfway` is set when a download is held."""

    def __init__(self, folder: Path, *, stall: bool = False) -> None:
        wheelhouse = self
        self.served: list[str] = []
        self.halfway = threading.Event()
        self.go_on = threading.Event()
        if not stall:
            self.go_on.set()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.lstrip("/")
                if name:
                    wheelhouse.served.append(name)
                    data = (folder / name).read_bytes()
                else:
                    links = (f'<a href="/{wheel.name}">{wheel.name}</a>' for wheel in folder.glob("*.whl"))
                    data = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream" if name else "text/html")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                half = len(data) // 2
                self.wfile.write(data[:half])
                self.wfile.flush()
                if name:
                    wheelhouse.halfway.set()
                    wheelhouse.go_on.wait(60)
                self.wfile.write(data[half:])

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                pass  # the downloading process was killed

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def environ(self) -> dict[str, str]:
        """The environment variables that make pip use only this registry."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        port = self._server.server_address[1]
        return environment | {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": f"http://127.0.0.1:{port}/",
        }

    def __enter__(self) -> Wheelhouse:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
