#!/usr/bin/env python3
"""In the guest: what an installer does (scan, probe, pair, forget), collars that are somebody else, at another address, or with other keys than they had."""

import contextlib
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from household import Collar, Scene, until

SERVICE = "6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20"
PAIRING_SECONDS = 130


class Pairing(Scene):
    def link(self, serial):
        return self.house.collar(serial)["link"]

    def await_link(self, serial, state, seconds=30):
        until(lambda: self.link(serial) == state, seconds, lambda: f"{serial} is {self.link(serial)}, not {state}: {self.house.last_words()}")

    @contextlib.contextmanager
    def pairing(self, name):
        """`gateway pair NAME`, which runs meanwhile."""
        opened = subprocess.Popen([self.house.gateway, "pair", name, "--config", str(self.house.configuration)], stdout=subprocess.DEVNULL)
        try:
            yield opened
        finally:
            opened.kill()
            opened.wait()

    def test_a_collar_without_an_address_is_adopted_when_pairing_is_opened_and_not_before(self):
        house = self.keep_house(Collar("ADOPTED"))
        house.peers.ask("ADOPTED", do="present")
        house.start()
        self.await_link("ADOPTED", "no-address")
        # Heard, and left alone.
        house.ask("scan", "--seconds", "2")
        self.assertEqual(house.books("ADOPTED")["links"], 0)
        answer = house.ask("pair", "adopted", seconds=PAIRING_SECONDS)
        self.assertEqual(answer["failed"], [])
        self.assertEqual([(each["device"], each["address"], each["adopted"]) for each in answer["paired"]], [("adopted", "C0:00:00:00:04:01", True)])
        house.await_linked("ADOPTED")
        house.await_delivered()
        house.account()
        # A daemon that is started anew knows the address and the keys.
        house.stop()
        house.start()
        house.await_linked("ADOPTED")
        self.assertEqual(house.books("ADOPTED")["pairings"], 1)
        self.assert_strangers_left_alone()

    def test_a_collar_that_poses_as_another_is_not_adopted(self):
        house = self.keep_house(Collar("WANTED"))
        house.peers.ask("SPOOFER", do="present")
        house.start()
        with self.pairing("wanted") as opened:
            until(lambda: any("C0:00:00:00:04:0A" in line and "SPOOFER" in line for line in house.journal()), 60, house.last_words)
            self.assertIsNone(house.collar("WANTED")["address"])
            # The true one comes while pairing is open still: it, and only it.
            house.peers.ask("WANTED", do="present")
            house.await_linked(seconds=60)
            self.assertEqual(house.collar("WANTED")["address"], "C0:00:00:00:04:09")
            self.assertEqual(opened.wait(30), 0)
        house.await_delivered()
        house.account()
        spoofer = house.books("SPOOFER")
        self.assertEqual((spoofer["windows_sent"], spoofer["held"], spoofer["clears"], spoofer["linked"]), (0, 50, [], False))
        self.assertEqual([each["device"] for each in house.backend.lines.ask(query="books")["logs"]], ["WANTED"])
        house.peers.ask("SPOOFER", do="absent")

    def test_a_collar_that_moved_to_another_address_is_adopted_again_with_everything_it_holds(self):
        house = self.keep_house(Collar("MOVED", address="C0:00:00:00:04:02"))
        house.peers.ask("MOVED", do="present")
        house.start()
        house.await_delivered()
        house.peers.ask("MOVED", do="battery-change", address="C0:00:00:00:04:82")
        house.peers.ask("MOVED", do="produce", count=60)
        answer = house.ask("pair", "moved", seconds=PAIRING_SECONDS)
        self.assertEqual([each["address"] for each in answer["paired"]], ["C0:00:00:00:04:82"])
        house.await_linked("MOVED")
        house.await_delivered()
        house.account()
        self.assert_strangers_left_alone()

    def test_two_that_say_they_are_one_collar_are_left_alone_until_one_of_them_is_gone(self):
        house = self.keep_house(Collar("DOUBLED"))
        house.peers.ask("DOUBLED", do="present")
        house.peers.ask("SPOOFER-2", do="present")
        house.start()
        with self.pairing("doubled") as opened:
            until(lambda: any("C0:00:00:00:04:08" in line and "C0:00:00:00:04:0B" in line for line in house.journal()), 60, house.last_words)
            self.assertEqual([house.books(each)["links"] for each in ("DOUBLED", "SPOOFER-2")], [0, 0])
            house.peers.ask("SPOOFER-2", do="absent")
            house.await_linked(seconds=90)
            self.assertEqual(house.collar("DOUBLED")["address"], "C0:00:00:00:04:08")
            self.assertEqual(opened.wait(30), 0)
        house.await_delivered()
        house.account()
        self.assertEqual(house.books("SPOOFER-2")["windows_sent"], 0)

    def test_a_scan_lists_all_that_is_heard_and_links_none_of_it(self):
        house = self.keep_house(Collar("LOOKED-AT", address="C0:00:00:00:04:03"))
        house.start()
        heard = {each["address"]: each for each in house.ask("scan", "--seconds", "4")["devices"]}
        self.assertEqual(heard["C0:00:00:00:00:11"]["name"], "cuff")
        self.assertEqual(heard["C0:00:00:00:04:0C"]["services"], [SERVICE])
        self.assertEqual({each["address_type"] for each in heard.values()}, {"random"})
        self.assertTrue(all(each["known"] is None and each["rssi"] is not None for each in heard.values()), heard)
        house.peers.ask("LOOKED-AT", do="present")
        house.await_linked()
        house.peers.ask("LOOKED-AT", do="drop-link")
        self.assertEqual(house.run("scan", "--seconds", "1").returncode, 0)
        house.await_delivered()
        house.account()
        self.assert_strangers_left_alone()

    def test_a_probe_walks_a_collar_and_changes_nothing(self):
        house = self.keep_house(Collar("LOOKED-AT", address="C0:00:00:00:04:03"), batch_age="10min")
        house.peers.ask("LOOKED-AT", do="present")
        # Fewer than a batch: nothing is read until they are ten minutes old.
        house.peers.ask("LOOKED-AT", do="produce", count=30)
        house.start()
        house.await_linked()
        before = house.books("LOOKED-AT")
        report = house.ask("probe", "looked-at", seconds=70)
        after = house.books("LOOKED-AT")
        unchanged = ("log", "oldest", "next", "reads", "windows_sent", "clears", "times_set", "links", "pairings")
        self.assertEqual({key: after[key] for key in unchanged}, {key: before[key] for key in unchanged})
        self.assertEqual((report["serial"], report["encrypted"], report["mtu"], report["findings"]), ("LOOKED-AT", True, 517, []))
        self.assertIn(SERVICE, [each["uuid"] for each in report["services"]])
        self.assertEqual(report["heartbeat"]["next"] - report["heartbeat"]["oldest"], after["held"])
        self.assertNotEqual(house.run("probe", "nobody").returncode, 0)

    def test_a_collar_is_forgotten_and_linked_again_only_after_it_is_paired(self):
        house = self.keep_house(Collar("SENT-AWAY", address="C0:00:00:00:04:07"))
        house.peers.ask("SENT-AWAY", do="present")
        house.start()
        house.await_delivered()
        self.assertEqual(house.ask("forget", "sent-away")["bonds"], 1)
        house.peers.ask("SENT-AWAY", do="produce", count=40)
        self.await_link("SENT-AWAY", "needs-pairing")
        self.assertEqual((house.books("SENT-AWAY")["held"], house.books("SENT-AWAY")["linked"]), (40, False))
        self.assertEqual(house.ask("pair", "sent-away", seconds=PAIRING_SECONDS)["failed"], [])
        house.await_linked()
        house.await_delivered()
        house.account()
        self.assertEqual(house.books("SENT-AWAY")["pairings"], 2)

    def test_a_collar_with_wrong_keys_waits_for_somebody_and_loses_nothing(self):
        house = self.keep_house(Collar("FORGETFUL", address="C0:00:00:00:04:04"))
        house.peers.ask("FORGETFUL", do="present")
        house.start()
        house.await_delivered()
        house.peers.ask("FORGETFUL", do="spoil-bonds")
        house.peers.ask("FORGETFUL", do="produce", count=40)
        house.peers.ask("FORGETFUL", do="drop-link")
        self.await_link("FORGETFUL", "needs-pairing")
        books = house.books("FORGETFUL")
        self.assertEqual((books["held"], books["pairings"], books["windows_sent"]), (40, 1, 150))
        # The keys that were good are kept: somebody else at this address could have brought that about.
        self.assertTrue(house.collar("FORGETFUL")["bonded"])
        self.assertEqual(house.ask("pair", "forgetful", seconds=PAIRING_SECONDS)["failed"], [])
        house.await_linked()
        house.await_delivered()
        house.account()
        self.assertEqual(house.books("FORGETFUL")["pairings"], 2)

    def test_a_collar_that_lost_its_keys_is_paired_again_where_the_configuration_allows_it(self):
        house = self.keep_house(Collar("MENDED", address="C0:00:00:00:04:05", more=("repair = true",)))
        house.peers.ask("MENDED", do="present")
        house.start()
        house.await_delivered()
        house.peers.ask("MENDED", do="forget-bonds")
        house.peers.ask("MENDED", do="produce", count=40)
        house.peers.ask("MENDED", do="drop-link")
        house.await_delivered(seconds=90)
        house.account()
        self.assertEqual(house.books("MENDED")["pairings"], 2)

    def test_a_collar_with_a_passkey_is_paired_by_it_alone(self):
        house = self.keep_house(Collar("LOCKED", address="C0:00:00:00:04:06", more=('passkey = "314159"',)))
        house.peers.ask("LOCKED", do="present")
        house.start()
        until(lambda: any("DEVICE=LOCKED" in line and "pair" in line for line in house.journal()), 60, house.last_words)
        house.stop()
        self.assertEqual((house.books("LOCKED")["pairings"], house.books("LOCKED")["windows_sent"]), (0, 0))
        house.configure([Collar("LOCKED", address="C0:00:00:00:04:06", more=('passkey = "271828"',))])
        house.start()
        house.await_linked(seconds=60)
        house.await_delivered()
        house.account()
        self.assertEqual(house.books("LOCKED")["pairings"], 1)


if __name__ == "__main__":
    unittest.main()
