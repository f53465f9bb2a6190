#!/usr/bin/env python3
"""In the guest: blood-pressure cuffs, of the Bluetooth SIG's service and of the BP2 family, from their memory to the backend: each reading once, at its owner."""

import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from household import Cuff, Scene, until

# What a cuff of the BP2 family may be sent; everything else could inflate it or erase its memory.
ALLOWED = {0x06, 0x08, 0x32, 0xE1, 0xE4, 0xEC, 0xC0, 0xF1, 0xF2, 0xF3, 0xF4}
DAY = 86_400
PAIRING_SECONDS = 130


class Cuffs(Scene):
    def use(self, *cuffs):
        """A household whose daemon runs, with these cuffs on the air."""
        house = self.keep_house(*cuffs)
        for cuff in cuffs:
            house.peers.ask(cuff.serial, do="present")
        house.start()
        return house

    def measure(self, serial, **how):
        self.house.peers.ask(serial, do="measure", **how)

    def await_confirmed(self, serial, seconds=30):
        """Until the cuff has heard a confirmation for each of its readings."""
        until(lambda: all(each["confirmed"] for each in self.house.books(serial)["readings"]), seconds,
              lambda: f"{serial}: {self.house.books(serial)['readings'][-3:]}: {self.house.last_words()}")

    def await_next_second(self):
        """Cuffs count whole seconds, and name files by them."""
        begun = int(time.time())
        until(lambda: int(time.time()) > begun, 5, "time stands still", 0.02)

    def set_aside(self):
        return self.house.ask("quarantine")["entries"]

    def test_a_full_memory_comes_reading_by_reading_and_is_deleted_as_it_is_confirmed(self):
        house = self.use(Cuff("FULL", address="C0:00:00:00:08:01"))
        self.await_confirmed("FULL", seconds=60)
        house.await_readings()
        books = house.books("FULL")
        # Paired before anything else was asked: it would have ended the link, and needed another one.
        self.assertEqual((books["links"], books["pairings"], books["unconfirmed"], books["subscribed_again"]), (1, 1, 0, 0))
        self.assertEqual(len(books["readings"]), 25)
        self.assertEqual([each for each in books["readings"] if each["held"]], [])
        at = [(each["sent"], each["confirmed"]) for each in books["readings"]]
        self.assertTrue(all(len(sent) == len(confirmed) == 1 for sent, confirmed in at), at)
        # One by one: the next one is sent when the one before it was confirmed.
        moments = [moment for sent, confirmed in at for moment in (sent[0], confirmed[0])]
        self.assertEqual(moments, sorted(moments))
        # Its clock was two hours behind; what it had measured by then is dated by that, and its clock is right now.
        self.assertEqual(len(books["time_writes"]), 1)
        self.assertLess(abs(books["clock"]), 3)
        until(lambda: not house.books("FULL")["linked"], 10, house.last_words)

        self.measure("FULL")
        self.measure("FULL", status=4)
        self.await_confirmed("FULL")
        account = house.await_readings()
        self.assertEqual(len(account.arrived), 27)
        books = house.books("FULL")
        self.assertEqual((books["links"], books["pairings"]), (2, 1))
        self.assertEqual([len(each["sent"]) for each in books["readings"]], [1] * 27)
        self.assert_words()
        self.assert_strangers_left_alone()
        until(lambda: house.cuff("FULL")["state"] == "away", 10, house.last_words)
        status = house.cuff("FULL")
        known = {name: status[name] for name in ("name", "owner", "address", "bonded", "held_why", "last_error", "battery_low_since")}
        self.assertEqual(known, {
            "name": "full", "owner": "anna", "address": "C0:00:00:00:08:01", "bonded": True, "held_why": None, "last_error": None, "battery_low_since": None})
        # Its clock on the second link, which shows whole seconds.
        self.assertLess(abs(status["clock_ahead"]), 3)
        self.assertLess(status["last_reading_age"], 30)

    def assert_words(self):
        """Both moments of each reading are told of, and no value is."""
        journal = self.house.journal()
        for words in ("stored", "accepted"):
            self.assertTrue([line for line in journal if "blood-pressure reading" in line and words in line], words)
        self.assertEqual([line for line in journal if "mmHg" in line or "systolic" in line.lower()], [])

    def test_a_cuff_that_sends_its_memory_again_on_every_link_sends_nothing_new(self):
        house = self.use(Cuff("REPEATS", "bert", "C0:00:00:00:08:02"))
        self.await_confirmed("REPEATS")
        house.await_readings()
        first = house.books("REPEATS")
        # Newest first, and a clock that will not be set: each reading is dated by how far it is off.
        self.assertEqual(len(first["time_writes"]), 1)
        self.assertEqual(sorted(first["readings"], key=lambda each: each["sent"][0])[0]["taken"], max(each["taken"] for each in first["readings"]))

        # A confirmation that the cuff does not hear: the reading was stored, is sent again, and is confirmed again.
        house.peers.ask("REPEATS", do="deaf", count=1)
        self.measure("REPEATS")
        self.await_confirmed("REPEATS")
        # All that it ever held is sent on the last link, too, behind the new one.
        until(lambda: all(len(each["sent"]) >= 2 and len(each["confirmed"]) >= 2 for each in house.books("REPEATS")["readings"][:-1]), 30, house.last_words)
        account = house.await_readings()
        self.assertEqual(len(account.arrived), 7)
        books = house.books("REPEATS")
        self.assertEqual((books["unheard"], books["pairings"]), (1, 1))
        self.assertGreaterEqual(len(books["readings"][-1]["sent"]), 2)
        self.assert_strangers_left_alone()

    def test_a_clock_that_was_set_on_a_link_that_broke_dates_nothing_wrongly(self):
        house = self.keep_house(Cuff("CUT-SHORT", "dora", "C0:00:00:00:08:08"))
        # The clock is set before the first reading comes. The link ends at that one; all readings still have the old clock's times.
        house.peers.ask("CUT-SHORT", do="deaf", count=1)
        house.peers.ask("CUT-SHORT", do="present")
        house.start()
        self.await_confirmed("CUT-SHORT")
        house.await_readings()
        books = house.books("CUT-SHORT")
        self.assertEqual((books["unheard"], len(books["time_writes"])), (1, 1))

    def test_a_cuff_without_a_clock_gets_the_time_of_the_hub_and_that_is_said(self):
        house = self.use(Cuff("TIMELESS", address="C0:00:00:00:08:03"))
        until(lambda: house.books("TIMELESS")["encrypted"], 30, house.last_words)
        for _ in range(2):
            self.measure("TIMELESS")
            self.await_confirmed("TIMELESS")
        # Its pressures are none: shown and logged, nothing to record.
        self.measure("TIMELESS", failed=True)
        self.await_confirmed("TIMELESS")
        account = house.await_readings()
        self.assertEqual(len(account.arrived), 2)
        # It stays on the line between its measurements.
        self.assertEqual(house.books("TIMELESS")["links"], 1)
        self.assert_strangers_left_alone()

    def test_the_users_of_a_cuff_are_not_mixed_and_one_whom_nobody_named_is_set_aside(self):
        users = {1: "anna", 2: "bert"}
        house = self.use(
            Cuff("SHARED", address="C0:00:00:00:08:04", users=users), Cuff("LIST", address="C0:00:00:00:08:12", users=users, more=('model = "Viatom BP2W"',)))
        for ago, user in ((500, 1), (400, 2), (300, 3), (200, None), (100, 2), (0, 1)):
            self.measure("SHARED", ago=ago, user=user)
        self.await_confirmed("SHARED")
        account = house.await_readings()
        self.assertEqual(len(account.arrived), 4 + 6)
        # The third user's, and the one of whom the cuff says nothing.
        aside = self.set_aside()
        self.assertEqual([each["readings"]["cuffs"] for each in aside], [["SHARED"]] * len(aside))
        self.assertEqual(sum(each["count"] for each in aside), 2, aside)
        # Nothing was asked of the BP2 but its list.
        self.assertEqual([link["opened"] for link in house.books("LIST")["links_seen"][:1]], [["bp2nibp.list"]])
        self.assert_allowed("LIST")
        self.assert_strangers_left_alone()

    def test_a_cuff_that_changes_hands_takes_nobody_s_readings_along(self):
        house = self.use(Cuff("HANDED-ON", "anna", "C0:00:00:00:08:05"))
        self.measure("HANDED-ON", ago=2 * DAY)
        self.await_confirmed("HANDED-ON")
        house.await_readings()
        house.peers.ask("HANDED-ON", do="absent")
        # Measured while the cuff was anna's, and still in its memory when it is not.
        self.measure("HANDED-ON", ago=60)
        house.stop()
        house.configure([Cuff("HANDED-ON", "bert", "C0:00:00:00:08:05")], "anna")
        house.start()
        # The next one is bert's for certain.
        self.await_next_second()
        self.measure("HANDED-ON")
        house.peers.ask("HANDED-ON", do="present")
        self.await_confirmed("HANDED-ON")
        owners = ["anna", None, "bert"]
        house.await_readings(lambda reading: owners[reading.number])
        [aside] = self.set_aside()
        self.assertEqual((aside["owner"], aside["readings"]["cuffs"], aside["count"], aside["reason"]), ("", ["HANDED-ON"], 1, "reading-before-assignment"))

        given = house.run("quarantine", "give", aside["id"], "anna", "--yes")
        self.assertEqual(given.returncode, 0, given.stdout + given.stderr)
        owners[1] = "anna"
        house.await_readings(lambda reading: owners[reading.number])
        self.assertEqual(self.set_aside(), [])
        self.assertTrue([line for line in house.ask("audit") if aside["id"] in line["act"] and "anna" in line["act"]])
        self.assert_strangers_left_alone()

    def test_a_maker_s_own_order_of_octets_is_known_by_the_name_that_the_cuff_says(self):
        house = self.use(Cuff("TURNED", address="C0:00:00:00:08:06"))
        self.measure("TURNED", status=4)
        self.await_confirmed("TURNED")
        # Pulse and irregular pulse among what is compared.
        self.assertEqual(len(house.await_readings().arrived), 4)

    def test_a_cuff_without_an_address_is_adopted_when_pairing_is_opened(self):
        house = self.keep_house(Cuff("NEW-HERE"))
        # Two more that are nobody's are on the air: they go away, as only one new cuff can be the one.
        for name in ("STRANGER", "STRANGE-BP2"):
            house.peers.ask(name, do="absent")
            self.addCleanup(house.peers.request, {"device": name, "do": "present"})
        house.start()
        house.peers.ask("NEW-HERE", do="present")
        house.ask("scan", "--seconds", "2")
        self.assertEqual(house.books("NEW-HERE")["links"], 0)
        answer = house.ask("pair", "new-here", seconds=PAIRING_SECONDS)
        self.assertEqual([(each["device"], each["address"], each["adopted"]) for each in answer["paired"]], [("new-here", "C0:00:00:00:08:07", True)], answer)
        self.await_confirmed("NEW-HERE")
        house.await_readings()
        self.assertEqual(house.books("NEW-HERE")["pairings"], 1)
        # It is known from now on.
        house.stop()
        house.start()
        self.measure("NEW-HERE")
        self.await_confirmed("NEW-HERE")
        self.assertEqual(len(house.await_readings().arrived), 3)
        self.assertEqual(house.books("NEW-HERE")["pairings"], 1)

    def test_a_probe_waits_for_the_cuff_and_takes_nothing_from_it(self):
        house = self.use(Cuff("LOOKED-AT", "bert", "C0:00:00:00:08:09"))
        with ThreadPoolExecutor(1) as installer:
            probe = installer.submit(house.ask, "probe", "looked-at", seconds=70)
            until(house.is_asked, 20, house.last_words)
            # What was asked before this is known when it is answered.
            house.status()
            self.measure("LOOKED-AT")
            report = probe.result()
        self.assertEqual((report["device"], report["address"], report["encrypted"]), ("looked-at", "C0:00:00:00:08:09", True))
        found = {characteristic["uuid"] for service in report["services"] for characteristic in service["characteristics"]}
        self.assertLessEqual({"2a35", "2a49", "2a25"}, {uuid.lower() for uuid in found}, report["services"])
        # It neither had its clock set behind the hub's back nor was its reading taken on that link.
        self.await_confirmed("LOOKED-AT")
        self.assertEqual(len(house.await_readings().arrived), 1)
        books = house.books("LOOKED-AT")
        self.assertEqual((books["links"], books["pairings"], len(books["readings"][0]["sent"]), len(books["time_writes"])), (2, 1, 1, 1))

    # The BP2 family

    def assert_allowed(self, serial):
        for link in self.house.books(serial)["links_seen"]:
            self.assertLessEqual(set(link["commands"]), ALLOWED)
            self.assertEqual(link["nonsense"], 0)

    def test_a_ring_of_files_is_read_once_and_then_only_what_is_new(self):
        house = self.use(Cuff("RING", "carl", "C0:00:00:00:08:11", more=('model = "Viatom BP2"',)))
        account = house.await_readings()
        self.assertEqual(len(account.arrived), 50)
        books = house.books("RING")
        [ecg] = [name for name, octets in books["files"].items() if len(octets) > 76]
        self.assertEqual(sorted(name for link in books["links_seen"] for name in link["read"]), sorted(set(books["files"]) - {ecg}))
        self.assertEqual(len(books["files"]), 51)
        self.assertLess(abs(books["clock"]), 3)

        # It is switched off, measures three times, which costs it its three oldest, and is switched on again.
        house.peers.ask("RING", do="absent")
        before, links = set(books["files"]), len(house.books("RING")["links_seen"])
        for _ in range(3):
            self.measure("RING")
            self.await_next_second()
        house.peers.ask("RING", do="present")
        self.assertEqual(len(house.await_readings().arrived), 53)
        books = house.books("RING")
        self.assertEqual(len([each for each in books["readings"] if not each["held"]]), 3)
        later = [name for link in books["links_seen"][links:] for name in link["opened"]]
        self.assertEqual(sorted(later), sorted(set(books["files"]) - before))
        self.assertNotIn(ecg, [name for link in books["links_seen"] for name in link["read"]])
        self.assert_allowed("RING")
        self.assert_strangers_left_alone()


if __name__ == "__main__":
    unittest.main()
