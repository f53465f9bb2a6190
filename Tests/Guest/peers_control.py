#!/usr/bin/env python3
"""The control socket of Tests/Peers/virtual_controller.py, for jobs in the guest.

    peers_control.py REQUEST...      sends each request (JSON), prints each answer; 1 when one of them is an error
"""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path

CONTROL = "/run/peers.control"
EVENTS = Path("/run/peers.events")


class Peers:
    def __init__(self, path: str = CONTROL) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._lines = self._socket.makefile("rw")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def request(self, request: dict) -> dict:
        self._lines.write(json.dumps(request) + "\n")
        self._lines.flush()
        return json.loads(self._lines.readline())

    def ask(self, device: str | None = None, **members) -> dict:
        """As `request`; an error is an exception. Members of JSON with a hyphen are given with an underscore."""
        request = {key.replace("_", "-"): value for key, value in members.items()}
        if device is not None:
            request["device"] = device
        answer = self.request(request)
        if "error" in answer:
            raise RuntimeError(f"{request}: {answer['error']}")
        return answer

    def wait(self, device: str, seconds: float = 10, **members) -> dict:
        """Until the device's state has these members."""
        deadline = time.monotonic() + seconds
        while True:
            state = self.ask(device, query="state")
            if all(state[key] == value for key, value in members.items()):
                return state
            if time.monotonic() > deadline:
                raise TimeoutError(f"{device} is not {members} but {state}")
            time.sleep(0.02)


def events() -> list[dict]:
    """What the peers have told so far."""
    return [json.loads(line) for line in EVENTS.read_text().splitlines()]


def main() -> int:
    peers = Peers()
    answers = [peers.request(json.loads(each)) for each in sys.argv[1:]]
    for answer in answers:
        print(json.dumps(answer))
    return 1 if any("error" in answer for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
