"""A scene with the whole hub, as a test case of a job in the guest."""

from __future__ import annotations

import time
import unittest

from bluetooth_sockets import Management
from peers_control import Peers

from .devices import Collar, Cuff
from .house import Household


class Scene(unittest.TestCase):
    """Each test has a household of its own. Afterwards its daemon has ended in order, none of its links is left, and nobody was linked who is not configured."""

    house: Household | None = None

    def keep_house(self, *devices: Collar | Cuff, batch_age: str = "2s", queue: str = "") -> Household:
        """A household for this test, its daemon not started. Whoever else is there must not be linked by it. See `Household` for `queue`."""
        self.house = Household(self.id().rsplit(".", 1)[-1], list(devices), batch_age=batch_age, queue=queue)
        self.addCleanup(self._leave, self.house)
        configured = {device.serial for device in devices}
        peers = self.house.peers
        self.strangers = {name: peers.ask(name, query="state")["links"] for name in peers.ask(query="devices")["devices"] if name not in configured}
        return self.house

    def assert_strangers_left_alone(self) -> None:
        for name, links in self.strangers.items():
            self.assertEqual(self.house.peers.ask(name, query="state")["links"], links, f"{name} was linked")

    def tell(self, words: str) -> None:
        """A figure for whoever booted the guest."""
        print(f"measured: {words}", flush=True)

    def _leave(self, house: Household) -> None:
        try:
            if house.daemon.is_running():
                house.stop()
        finally:
            names = [device.serial for device in house.devices]
            house.close()
            self._clear_the_air(names)

    @staticmethod
    def _clear_the_air(names: list[str]) -> None:
        """What one scene has had on the air is not there in the next one."""
        peers, management = Peers(), Management()
        try:
            for name in names:
                peers.ask(name, do="absent")
            for index in management.controllers():
                management.wait_unlinked(index)
        finally:
            peers.close()
            management.close()

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """As always; when the test fails, what the daemon said is printed."""
        before = 0 if result is None else len(result.failures) + len(result.errors)
        begun = time.monotonic()
        done = super().run(result)
        print(f"-- {self._testMethodName}: {time.monotonic() - begun:.1f} s", flush=True)
        if result is not None and self.house is not None and len(result.failures) + len(result.errors) > before:
            print(f"-- the daemon's last words in {self.id()}:\n{self.house.last_words(120)}\n--", flush=True)
        return done
