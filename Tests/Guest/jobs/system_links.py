#!/usr/bin/env python3
"""In the guest: links that end in every way, several collars at once, strangers beside them, a collar that is away for longer than the kernel waits for one.

    system_links.py [SEED]

The seed decides at which moments links are cut; without one it is a new one. It is printed.
"""

import collections
import random
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from household import Collar, Scene, until

CUT_COLLARS, CUTS_OF_EACH = 20, 5
ENDS = {
    "by the peer": {"do": "drop-link"},
    "by the controllers": {"do": "cut-link", "reason": 0x22},
    "by supervision timeout": {"do": "fade"},
}
KERNEL_PATIENCE = 40


class Links(Scene):
    seed = 0

    def test_the_link_is_cut_a_hundred_times(self):
        # Twenty collars at once, five cuts each, at random moments: a collar whose link ends again and again is given growing pauses, and a hundred cuts
        # of one would take more than an hour.
        chance = random.Random(self.seed)
        collars = [Collar(f"CUT-{number:02}", ("anna", "bert", "carl")[number % 3], f"C0:00:00:00:01:{number:02X}") for number in range(CUT_COLLARS)]
        house = self.keep_house(*collars)
        for collar in collars:
            house.peers.ask(collar.serial, do="present")
        house.start()
        kinds = [kind for kind in ENDS for _ in range(CUT_COLLARS * CUTS_OF_EACH // len(ENDS) + 1)]
        chance.shuffle(kinds)
        plans = {collar.serial: [kinds.pop() for _ in range(CUTS_OF_EACH)] for collar in collars}
        done = collections.Counter()
        seen = dict.fromkeys(plans, 0)  # links of each that were noticed
        due = {}  # when the present link of each is to end

        def cut():
            for serial, left in plans.items():
                state = house.peers.ask(serial, query="state")
                if not left or not state["linked"]:
                    continue
                if state["links"] != seen[serial]:
                    seen[serial] = state["links"]
                    # Before, in the middle of, or after discovery, subscriptions, a read.
                    due[serial] = time.monotonic() + chance.uniform(0, 2.5)
                elif serial in due and time.monotonic() >= due[serial]:
                    del due[serial]
                    kind = left.pop()
                    house.peers.ask(serial, **ENDS[kind])
                    done[kind] += 1
            return not any(plans.values())

        until(cut, 150, lambda: f"cuts left: {plans}: {house.last_words()}", 0.05)
        self.assertEqual(done.total(), CUT_COLLARS * CUTS_OF_EACH)
        self.assertGreaterEqual(min(done[kind] for kind in ENDS), 25)
        for collar in collars:
            house.peers.ask(collar.serial, do="stop-producing")
        house.await_delivered(seconds=120)
        accounts = house.account()
        for collar in collars:
            state = house.peers.ask(collar.serial, query="state")
            self.assertGreater(state["links"], CUTS_OF_EACH)
            # Its bond outlives them all. A pairing that a cut interrupted was begun anew.
            self.assertLessEqual(state["pairings"], 2, collar.serial)
        self.assert_strangers_left_alone()
        self.tell(f"{done.total()} links cut ({', '.join(f'{count} {kind}' for kind, count in sorted(done.items()))}), "
                  f"{sum(account.findings.delivered for account in accounts)} windows delivered once; seed {self.seed}")

    def test_three_collars_at_once_with_strangers_beside_them(self):
        collars = [Collar(f"TRIO-{number}", ("anna", "bert", "anna")[number], f"C0:00:00:00:02:0{number}") for number in range(3)]
        house = self.keep_house(*collars)
        for collar in collars:
            house.peers.ask(collar.serial, do="present")
        house.start()
        house.await_linked()
        # All three stay linked while the backlog of each is read and new windows are recorded.
        until(lambda: all(house.books(collar.serial)["produced"] >= 700 for collar in collars), 60, house.last_words)
        for collar in collars:
            house.peers.ask(collar.serial, do="stop-producing")
        house.await_delivered(seconds=60)
        house.account()
        for collar in collars:
            state = house.peers.ask(collar.serial, query="state")
            self.assertTrue(state["linked"] and state["encrypted"], state)
            self.assertEqual((state["links"], state["pairings"]), (1, 1))
        for name in ("STRANGER", "cuff", "scale"):
            self.assertIn(name, self.strangers)
            self.assertEqual(house.peers.ask(name, query="state")["links"], 0)
        self.assert_strangers_left_alone()

    def test_a_collar_that_is_away_for_longer_than_the_kernel_waits_is_linked_when_it_is_back(self):
        house = self.keep_house(Collar("LATE", address="C0:00:00:00:03:01"))
        house.peers.ask("LATE", do="present")
        house.start()
        house.await_delivered(seconds=30)
        house.peers.ask("LATE", do="absent")
        house.peers.ask("LATE", do="produce", count=50)
        begun = time.monotonic()
        until(lambda: time.monotonic() - begun > KERNEL_PATIENCE + 3 or self.assertFalse(house.books("LATE")["linked"]), KERNEL_PATIENCE + 10, "time stands still", 1)
        house.peers.ask("LATE", do="present")
        back = time.monotonic()
        house.await_linked("LATE", seconds=20)
        self.tell(f"linked again {time.monotonic() - back:.1f} s after it was back, having been away for {back - begun:.0f} s")
        house.await_delivered(seconds=30)
        house.account()
        self.assert_strangers_left_alone()


if __name__ == "__main__":
    words = sys.argv[1:]
    Links.seed = int(words.pop()) if words and words[-1].isdigit() else random.SystemRandom().randrange(1_000_000)
    print(f"seed {Links.seed}", flush=True)
    unittest.main(argv=[sys.argv[0], *words])
