"""A backend process with a certificate authority of its own, and a client that sends what a hub sends."""

from __future__ import annotations

import atexit
import base64
import hashlib
import http.client
import itertools
import json
import pathlib
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from dataclasses import dataclass
from typing import Any, Callable

import make_authority
from backend import windows

REFERENCE = pathlib.Path(__file__).resolve().parent.parent
PATIENCE = 20.0
"""Seconds after which a condition that should come true counts as failed."""

OWNERS = {"anna": "token-of-anna", "ben": "token-of-ben"}

_authority: pathlib.Path | None = None
_numbers = itertools.count(1)


def authority() -> pathlib.Path:
    """One authority for the whole run."""
    global _authority
    if _authority is None:
        _authority = pathlib.Path(tempfile.mkdtemp(prefix="backend-authority-"))
        atexit.register(shutil.rmtree, _authority, ignore_errors=True)
        make_authority.make(_authority, make_authority.KINDS)
    return _authority


class Backend:
    """The process. ``directory`` outlives it, so that it can be started again on the same database."""

    def __init__(self, directory: pathlib.Path, *options: str):
        self.directory = directory
        (directory / "owners.json").write_text(json.dumps(OWNERS))
        certificates = authority()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "backend", "--listen", "127.0.0.1:0", "--certificate", certificates / "server.pem",
             "--key", certificates / "server.key", "--database", directory / "books.sqlite", "--owners", directory / "owners.json",
             "--control", directory / "control", *options],
            cwd=REFERENCE, stdout=subprocess.PIPE)
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.kill()
            raise AssertionError("the backend did not start")
        self.port: int = json.loads(line)["port"]
        self.control = Control(directory / "control")

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        if hasattr(self, "control"):
            self.control.close()
        self.process.send_signal(how)
        self.process.stdout.close()
        return self.process.wait(PATIENCE)

    def connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(authority() / "ca.pem"))
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=context)

    def send(self, request: HubRequest, connection: http.client.HTTPConnection | None = None) -> Reply:
        """One request; on a connection of its own unless one is given."""
        used = connection or self.connect()
        try:
            used.request(request.method, request.path, body=request.body, headers=request.headers)
            answer = used.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            if connection is None:
                used.close()


class Control:
    """A client of the control socket."""

    def __init__(self, path: pathlib.Path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("rb")
        self._events: list[dict[str, Any]] = []

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def raw(self, line: bytes) -> dict[str, Any]:
        self._socket.sendall(line + b"\n")
        while True:
            answer = json.loads(self._lines.readline())
            if "event" not in answer:
                return answer
            self._events.append(answer)

    def __call__(self, **command: Any) -> dict[str, Any]:
        answer = self.raw(json.dumps({name.rstrip("_"): value for name, value in command.items()}).encode())
        if not answer["ok"]:
            raise AssertionError(answer["error"])
        return answer

    def event(self) -> dict[str, Any]:
        return self._events.pop(0) if self._events else json.loads(self._lines.readline())


@dataclass
class HubRequest:
    """A request as a hub makes it; change ``headers`` or ``body`` to spoil it."""

    headers: dict[str, str]
    body: bytes
    method: str = "POST"
    path: str = "/v1/raw-windows"

    def without(self, name: str) -> HubRequest:
        return HubRequest({key: value for key, value in self.headers.items() if key != name}, self.body, self.method, self.path)

    def having(self, **headers: str) -> HubRequest:
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        return HubRequest({**self.headers, **changed}, self.body, self.method, self.path)


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


class Background:
    """A request on a thread of its own."""

    def __init__(self, send: Callable[[], Reply]):
        self._send = send
        self._outcome: Reply | BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._outcome = self._send()
        except (OSError, http.client.HTTPException) as error:
            self._outcome = error

    def reply(self) -> Reply:
        self.thread.join(PATIENCE)
        if isinstance(self._outcome, Reply):
            return self._outcome
        raise self._outcome or AssertionError("no answer in time")


def window(sequence: int, filler: int = 0) -> bytes:
    """A whole window whose samples follow from its sequence and ``filler``."""
    samples = hashlib.shake_256(f"{sequence} {filler}".encode()).digest(windows.WINDOW_BYTES - 10)
    return windows.make(sequence, 1_700_000_000 + sequence % 1000, samples)


def fresh_device() -> str:
    return f"COLLAR-{next(_numbers):04}"


def hub_request(first: int = 100, count: int = 3, *, device: str, log: int = 7, owner: str = "anna", key: str | None = None,
                body: bytes | None = None, gaps: str | None = None) -> HubRequest:
    if body is None:
        body = b"".join(window(sequence) for sequence in windows.sequences(first, count))
    headers = {
        "Authorization": f"Bearer {OWNERS[owner]}",
        "Content-Type": "application/vnd.hub.raw-windows",
        "Idempotency-Key": f'"{key or f"entry-{next(_numbers)}"}"',
        "Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:",
        "Hub-Owner": f'"{owner}"', "Hub-Device": f'"{device}"', "Hub-Log": str(log), "Hub-First": str(first),
        "Hub-Count": str(count), "Hub-Received": "1700000500", "Hub-Clock": "synced;device=set;offset=-3", "Hub-Sent": "1700000600",
    }
    if gaps is not None:
        headers["Hub-Gaps"] = gaps
    return HubRequest(headers, body)


class BackendCase(unittest.TestCase):
    """One process for all tests of the class; each test takes a device of its own."""

    options: tuple[str, ...] = ()
    backend: Backend

    @classmethod
    def setUpClass(cls) -> None:
        directory = tempfile.TemporaryDirectory(prefix="backend-")
        cls.addClassCleanup(directory.cleanup)
        cls.backend = Backend(pathlib.Path(directory.name), *cls.options)
        cls.addClassCleanup(cls.backend.kill)

    def setUp(self) -> None:
        self.device = fresh_device()
        self.addCleanup(lambda: self.backend.control(do="clear-faults"))

    def send(self, request: HubRequest) -> Reply:
        return self.backend.send(request)

    def held(self, first: int = 0, count: int = 1000, log: int = 7) -> list[int]:
        found = self.backend.control(query="windows", device=self.device, log=log, from_=first, count=count)
        return [window["sequence"] for window in found["windows"]]

    def assert_refused(self, request: HubRequest, status: int, code: str, where: str) -> None:
        """The answer says what was wrong and where, and nothing of the request is stored."""
        reply = self.send(request)
        self.assertEqual(reply.status, status, reply.body)
        self.assertEqual(reply.headers["content-type"], "application/problem+json")
        self.assertEqual(reply.json["code"], code, reply.json)
        self.assertEqual(reply.json["status"], status)
        self.assertIn(where, reply.json["where"])
        self.assertTrue(reply.json["detail"])
        self.assertEqual(self.held(), [])
