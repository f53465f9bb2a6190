"""A daemon with LEDs on simulated lines, as a test case of a job in the guest. HUB_TEST_GATEWAY names the gateway, HUB_TEST_COLLAR the simulated collar."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import unittest
from collections.abc import Callable
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
for _folder in (CHECKOUT / "tools", CHECKOUT / "reference", CHECKOUT / "Tests" / "Guest"):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

import make_authority  # noqa: E402
from demo.peers import Backend  # noqa: E402
from demo.processes import Program  # noqa: E402
from lights import Chip, Eye, LEDS  # noqa: E402

PLACE = Path("/run/lights")
TOKEN = "a-long-random-token"


class Lights(unittest.TestCase):
    """Each test has a folder, a chip with three LEDs and a button, a backend and a daemon of its own."""

    gateway: Program | None = None

    def setUp(self) -> None:
        self.folder = PLACE / self._testMethodName
        self.folder.mkdir(parents=True, mode=0o700)
        self.outbox = self.folder / "outbox"
        self.outbox.mkdir(mode=0o700)
        self.clock = self.folder / "synchronised"
        self.clock.touch()
        token = self.folder / "token"
        token.touch(mode=0o600)
        token.write_text(TOKEN)
        self.config = self.folder / "gateway.toml"
        self.config.touch(mode=0o600)
        self.backend_port = 9
        self.socket = self.folder / "collar.socket"
        self.device = f'socket = "{self.socket}"'
        print(f"-- {self._testMethodName}", flush=True)

    def make_board(self, low: frozenset[str] = frozenset()) -> None:
        self.chip = Chip(f"board-{self._testMethodName}"[:30], "board", {0: "status", 1: "radio", 2: "uplink", 3: "button"})
        self.addCleanup(self.chip.remove)
        self.eye = Eye({led: self.chip.value(led) for led in LEDS}, low)
        self.addCleanup(self.eye.close)

    def start_backend(self) -> None:
        authority = PLACE / "authority"
        if not authority.exists():
            make_authority.make(authority)
        self.owners = self.folder / "owners.json"
        self.owners.write_text(json.dumps({"anna": TOKEN}))
        control, said = self.folder / "backend.control", self.folder / "backend.out"
        program = Program(
            "backend",
            [sys.executable, "-m", "backend", "--certificate", str(authority / "server.pem"), "--key", str(authority / "server.key"),
             "--database", str(self.folder / "backend.sqlite"), "--owners", str(self.owners), "--control", str(control)],
            self.folder, {"PYTHONPATH": str(CHECKOUT / "reference")})
        with open(said, "wb") as out:
            program.start(stdout=out.fileno())
        self.addCleanup(program.terminate, 5)
        self.until(lambda: said.read_text().endswith("\n"), 30, "the backend listens")
        self.backend_port = json.loads(said.read_text())["port"]
        self.backend = Backend(control)

    def devices(self) -> str:
        """The tables of what is worn."""
        return f'[[collar]]\nname = "collar"\nserial = "SN-0001"\nowner = "anna"\n{self.device}'

    def configure(self, indicators: str, more: str = "") -> None:
        self.config.write_text(f"""
[indicators]
{indicators}
[[owner]]
key = "anna"
token_file = "{self.folder}/token"
patient = "Patient/anna"
{self.devices()}
[uplink]
base = "https://127.0.0.1:{self.backend_port}"
{f'ca_file = "{PLACE}/authority/ca.pem"' if (PLACE / "authority").exists() else ''}
backoff = "1s"
flush_interval = "3s"
hold_max = "2s"
[outbox]
directory = "{self.outbox}"
[sync]
batch_age = "1s"
[time]
synchronised = "{self.clock}"
[control]
socket = "{self.folder}/control"
{more}
""")

    def start(self) -> float:
        """Starts the daemon; the moment before."""
        if self.gateway is None:
            self.gateway = Program("gateway", [os.environ["HUB_TEST_GATEWAY"], "run", "--config", str(self.config)], self.folder)
            self.addCleanup(lambda: self.gateway.terminate(8))
        begun = time.monotonic()
        self.gateway.start()
        return begun

    def stop(self, status: int = 0) -> None:
        """Ends the daemon in order. Every LED is dark then, and its line nobody's."""
        self.assertEqual(self.gateway.terminate(8), status, self.gateway.last_words(40))
        time.sleep(0.1)  # the eye looks now and then

    def start_collar(self, *options: str) -> Program:
        control = self.folder / "collar.control"
        collar = Program("collar", [os.environ["HUB_TEST_COLLAR"], "--socket", str(self.socket), "--control", str(control), "--serial", "SN-0001",
                                    "--recording", str(CHECKOUT / "Tests/Recordings/motion-trunk.csv"), *options], self.folder)
        collar.start()
        self.addCleanup(collar.terminate, 5)
        self.until(control.exists, 20, "the collar is there")
        return collar

    def said(self) -> str:
        return self.gateway.log.read_text()

    def status(self) -> dict:
        done = subprocess.run([os.environ["HUB_TEST_GATEWAY"], "status", "--json", "--config", self.config], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr}

    def state(self, led: str) -> str | None:
        """What the daemon says that the LED shows."""
        return self.status()["leds"][led]

    def until(self, condition, seconds: float, what: str | Callable[[], str]):
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                words = self.gateway.last_words(40) if self.gateway else ""
                self.fail(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}\n{words}")
            time.sleep(0.05)

    def await_pattern(self, led: str, pattern: str, seconds: float, since: float | None = None) -> None:
        since = time.monotonic() if since is None else since
        deadline = time.monotonic() + seconds
        while not self.eye.sees(led, pattern, since):
            if time.monotonic() > deadline:
                self.fail(f"{led}: no {pattern} within {seconds:g} s, but {self.eye.describe(led, since)}\n"
                          f"{self.status()}\n{self.gateway.last_words(40)}")
            time.sleep(0.05)
        print(f"seen: {led}: {pattern}", flush=True)

    def assert_dark(self, *leds: str) -> None:
        for led in leds or LEDS:
            self.assertFalse(self.eye.lit(led), led)
