"""The two ends of the daemon as programs: how each is started."""

from __future__ import annotations

import json
import pathlib
import sys
import time

from .processes import ProcessError, Program
from .workplace import SOURCE, Workplace


def backend(place: Workplace) -> Program:
    """The reference backend, at a port that it announces."""
    return Program(
        "backend", [sys.executable, "-m", "backend", "--listen", "127.0.0.1:0", "--certificate", str(place.authority / "server.pem"),
                    "--key", str(place.authority / "server.key"), "--database", str(place.books), "--owners", str(place.owners),
                    "--control", str(place.backend_control)], place.directory, {"PYTHONPATH": str(SOURCE / "reference")})


def collar(place: Workplace, program: pathlib.Path, recording: pathlib.Path, *, backlog: int, seed: int, window_ms: int, heartbeat_ms: int) -> Program:
    """The simulated collar, without faults of its own."""
    return Program(
        "collar", [str(program), "--socket", str(place.collar_socket), "--control", str(place.collar_control),
                   "--serial", place.serial, "--recording", str(recording), "--backlog", str(backlog), "--seed", str(seed),
                   "--window-interval-ms", str(window_ms), "--heartbeat-interval-ms", str(heartbeat_ms), "--faults", "none"], place.directory)


def announced_port(said: pathlib.Path, program: Program) -> int:
    """The port that the backend announces in ``said``; its control socket is there already, so the line is about to come."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        line = said.read_text()
        if line.endswith("\n"):
            return int(json.loads(line)["port"])
        program.check()
        time.sleep(0.02)
    raise ProcessError("the backend does not listen")
