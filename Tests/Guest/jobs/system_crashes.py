#!/usr/bin/env python3
"""In the guest: the daemon is killed outright again and again, and the controller is pulled out from under it.

    system_crashes.py [SEED]

The seed decides at which moments the daemon is killed; without one it is a new one. It is printed.
"""

import random
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from household import Collar, Scene, until

KILLS = 20
LONGEST_LIFE = 3.0


class Crashes(Scene):
    seed = 0

    def await_radio(self, **members):
        house = self.house
        until(lambda: house.status()["radio"].items() >= members.items(), 20, lambda: f"{house.status()['radio']}, not {members}: {house.last_words()}")

    def test_the_daemon_is_killed_twenty_times(self):
        chance = random.Random(self.seed)
        house = self.keep_house(Collar("FIRST", "anna", "C0:00:00:00:05:01"), Collar("SECOND", "bert", "C0:00:00:00:05:02"), batch_age="500ms")
        for serial in ("FIRST", "SECOND"):
            house.peers.ask(serial, do="present")
        # Whatever a life comes to, it begins where the one before ended; a few of them are long enough to clear something.
        lives = [chance.uniform(0.05, LONGEST_LIFE) for _ in range(KILLS)]
        for life in lives:
            house.start_blindly()
            end = time.monotonic() + life
            until(lambda: house.daemon.check() or time.monotonic() >= end, life + 5, house.last_words, 0.02)
            house.kill()
        cleared = sum(len(house.books(serial)["clears"]) for serial in ("FIRST", "SECOND"))
        for serial in ("FIRST", "SECOND"):
            house.peers.ask(serial, do="stop-producing")
        house.start()
        house.await_delivered(seconds=90)
        accounts = house.account()
        for serial in ("FIRST", "SECOND"):
            # A kill in the middle of a pairing costs one; a bond that is stored outlives all.
            self.assertLess(house.books(serial)["pairings"], 4)
        self.assert_strangers_left_alone()
        repeated = house.backend.lines.ask(query="books")["replays"]
        self.tell(f"{KILLS} kills after {min(lives):.2f} to {max(lives):.2f} s, {cleared} clears meanwhile, {repeated} requests repeated under their key, "
                  f"{sum(account.findings.delivered for account in accounts)} windows delivered once; seed {self.seed}")

    def test_the_controller_is_pulled_out_and_another_one_plugged_in(self):
        house = self.keep_house(Collar("PLUGGED", address="C0:00:00:00:05:03"))
        house.peers.ask("PLUGGED", do="present")
        house.start()
        house.await_linked()
        for address in ("F0:F1:F2:F3:F4:00", "F0:F1:F2:F3:F4:01", "F0:F1:F2:F3:F4:00"):
            links = house.books("PLUGGED")["links"]
            house.peers.ask(do="unplug")
            self.await_radio(state="absent")
            house.peers.ask(do="plug", address=address)
            self.await_radio(state="ready", controller=address)
            house.await_linked(seconds=30)
            self.assertGreater(house.books("PLUGGED")["links"], links)
        house.peers.ask("PLUGGED", do="stop-producing")
        house.await_delivered()
        house.account()
        # Once with each controller: the first one's bond was kept for it.
        self.assertEqual(house.books("PLUGGED")["pairings"], 2)
        self.assert_strangers_left_alone()


if __name__ == "__main__":
    words = sys.argv[1:]
    Crashes.seed = int(words.pop()) if words and words[-1].isdigit() else random.SystemRandom().randrange(1_000_000)
    print(f"seed {Crashes.seed}", flush=True)
    unittest.main(argv=[sys.argv[0], *words])
