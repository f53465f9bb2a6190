"""The control socket for tests and demonstrations: a Unix stream socket, one JSON object per line.

Each line that comes in is answered by one line with ``"ok"``; lines with ``"event"`` go to every client, between answers.

============================================================== ==================================================================
``{"fault": kind, …}``                                         sets a rule (see ``faults``); answers its number as ``rule``
``{"do": "clear-faults"}``                                     removes every rule
``{"release": key}``, ``{"drop": key}``                        lets a held answer go, or closes its connection
``{"do": "offline"}``, ``{"do": "online"}``                    stops listening and closes all connections; the same port again
``{"do": "certificate", "certificate": file, "key": file}``    another server certificate
``{"do": "reload-owners"}``                                    reads the owners file again
``{"query": "books"}``                                         counts: windows, duplicates, gaps, per owner and log
``{"query": "windows", "device", "log", "from", "count"}``     what is held of a range
``{"query": "gaps", "device", "log"}``                         the gaps reported of a log
``{"query": "readings", "owner": key}``                        the FHIR resources held, of one owner or of all
``{"query": "bundles", "after": number}``                      the Bundles accepted after that number (0), as they came
``{"query": "requests", "after": number}``                     requests seen after that number (0)
``{"query": "audit"}``                                         windows that came under more than one owner
``{"query": "faults"}``                                        the rules in force
============================================================== ==================================================================

Times end in ``_ns`` and are CLOCK_BOOTTIME in nanoseconds.
"""

from __future__ import annotations

import json
import os
import pathlib
import socket
import threading
from typing import Any

from .faults import Faults
from .owners import Owners
from .server import Server
from .store import Store
from .traffic import Traffic
from .windows import SEQUENCES


class Control:
    """The socket and its clients. ``emit`` may be called from any thread."""

    def __init__(self, path: pathlib.Path):
        self._path = path
        self._lock = threading.Lock()
        self._clients: dict[socket.socket, threading.Lock] = {}
        self._listener = socket.socket(socket.AF_UNIX)
        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            self._listener.bind(str(path))
        finally:
            os.umask(before)
        self._listener.listen(8)

    def start(self, server: Server, store: Store, owners: Owners, faults: Faults, traffic: Traffic) -> None:
        """Serve clients, each on a thread of its own."""
        commands = Commands(server, store, owners, faults, traffic)
        threading.Thread(target=self._accept, args=(commands,), name="control", daemon=True).start()

    def emit(self, event: dict[str, Any]) -> None:
        """The event to every client that is connected."""
        with self._lock:
            clients = list(self._clients.items())
        for client, lock in clients:
            try:
                _send(client, lock, event)
            except OSError:
                pass  # it has gone; its own thread notices

    def close(self) -> None:
        self._listener.close()
        self._path.unlink(missing_ok=True)

    def _accept(self, commands: Commands) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            lock = threading.Lock()
            with self._lock:
                self._clients[client] = lock
            threading.Thread(target=self._converse, args=(client, lock, commands), name="control client", daemon=True).start()

    def _converse(self, client: socket.socket, lock: threading.Lock, commands: Commands) -> None:
        try:
            with client, client.makefile("rb") as lines:
                for line in lines:
                    _send(client, lock, commands.answer(line))
        except OSError:
            pass  # the client left
        finally:
            with self._lock:
                self._clients.pop(client, None)


class Commands:
    """What the lines mean."""

    def __init__(self, server: Server, store: Store, owners: Owners, faults: Faults, traffic: Traffic):
        self._server = server
        self._store = store
        self._owners = owners
        self._faults = faults
        self._traffic = traffic

    def answer(self, line: bytes) -> dict[str, Any]:
        """``{"ok": true, …}``, or ``{"ok": false, "error": …}`` for a line that cannot be followed."""
        try:
            command = json.loads(line)
            if not isinstance(command, dict):
                raise ValueError("an object is expected")
            return {"ok": True, **self._follow(command)}
        except (ValueError, KeyError, TypeError, OSError) as error:  # RuleError, OwnersError and JSON's own are ValueErrors
            return {"ok": False, "error": f"missing {error}" if isinstance(error, KeyError) else str(error)}

    def _follow(self, command: dict[str, Any]) -> dict[str, Any]:
        if "fault" in command:
            return {"rule": self._faults.add(command)}
        if "release" in command or "drop" in command:
            key = command.get("release", command.get("drop"))
            if not self._server.holds.decide(key, release="release" in command):
                raise ValueError(f"no answer is held for key {key!r}")
            return {}
        if "do" in command:
            return self._do(command)
        return self._query(command)

    def _do(self, command: dict[str, Any]) -> dict[str, Any]:
        match command["do"]:
            case "offline":
                self._server.offline()
            case "online":
                self._server.online()
            case "clear-faults":
                self._faults.clear()
            case "certificate":
                self._server.use_certificate(pathlib.Path(command["certificate"]), pathlib.Path(command["key"]))
            case "reload-owners":
                self._owners.load()
            case other:
                raise ValueError(f"nothing is called {other!r}")
        return {}

    def _query(self, command: dict[str, Any]) -> dict[str, Any]:
        match command["query"]:
            case "books":
                return {**self._store.books(), "readings": self._store.readings.books(), "requests": self._traffic.by_status()}
            case "windows":
                first, count = int(command["from"]), int(command["count"])
                if not 0 <= first < SEQUENCES or not 0 <= count <= SEQUENCES:
                    raise ValueError("from is a sequence, count at most 2**32")
                return {"windows": self._store.windows(str(command["device"]), int(command["log"]), first, count)}
            case "gaps":
                return {"gaps": self._store.gaps(str(command["device"]), int(command["log"]))}
            case "bundles":
                return {"bundles": self._store.readings.bundles(int(command.get("after", 0)))}
            case "readings":
                return {"readings": self._store.readings.readings(command.get("owner"))}
            case "requests":
                return {"requests": self._traffic.since(int(command.get("after", 0)))}
            case "audit":
                return self._store.audit()
            case "faults":
                return {"faults": self._faults.list()}
            case other:
                raise ValueError(f"there is no query {other!r}")


def _send(client: socket.socket, lock: threading.Lock, value: dict[str, Any]) -> None:
    line = json.dumps(value).encode() + b"\n"
    with lock:
        client.sendall(line)
