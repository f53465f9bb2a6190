#!/usr/bin/env python3
"""In the guest: the cuffs of radio_cuffs.peers do over the kernel what the tests of the hub rely on.

Needs no hub. What fails here is a fault of the test bench, not of what is tested with it.
"""

import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Peers"))

import bp2  # noqa: E402
from bluetooth_sockets import ATT, Management, advertised  # noqa: E402
from peers_control import Peers, events  # noqa: E402

ONE, TWO, BP2 = (f"C0:00:00:00:00:2{number}" for number in (1, 2, 3))
NAME = 0x09
NOTIFY, INDICATE = struct.pack("<H", 1), struct.pack("<H", 2)
WRITE, ANSWER = "8b00ace7eb0b49b0bbe99aee0a26e1a3", "0734594aa8e74b1aa6b1cd5243059a57"
CONFIRMATION, INDICATION = 0x1E, 0x1D


class Cuffs(unittest.TestCase):
    def setUp(self):
        self.peers = Peers()
        self.addCleanup(self.peers.close)
        self.management = Management()
        self.addCleanup(self.management.close)
        self.index = self.management.first_controller()
        self.management.set_up(self.index)

    def link(self, address, secure=False):
        att = ATT(address)
        self.addCleanup(self.management.wait_unlinked, self.index)
        self.addCleanup(att.close)
        att.exchange_mtu(517)
        if secure:
            att.secure(self.management, 1)
        return att, att.characteristics()

    def books(self, serial):
        return self.peers.ask(serial, query="books")

    def indication(self, att, confirm=True):
        """The value of the next one, which is confirmed or not."""
        while (pdu := att.socket.recv(1024))[:1] != bytes([INDICATION]):
            self.assertTrue(pdu, "the link ended")
        if confirm:
            att.socket.send(bytes([CONFIRMATION]))
        return pdu[3:]

    def test_a_cuff_that_is_discovered_unbonded_hangs_up_and_a_bonded_one_sends_deletes_and_hangs_up(self):
        self.assertEqual(advertised(self.management.discover(self.index, ONE))[NAME], b"BM85")
        with self.assertRaises((ConnectionError, TimeoutError, OSError)):
            self.link(ONE)
        self.peers.wait("BP-1", linked=False)
        self.assertTrue([each for each in events() if each["event"] == "discovered-unbonded"])
        self.management.wait_unlinked(self.index)

        att, found = self.link(ONE, secure=True)
        self.assertEqual((att.read(found["2a25"].value), att.read(found["2a00"].value)), (b"BP-1", b"BM85"))
        self.assertEqual(att.write(found["2a35"].configuration, INDICATE), 0)
        octets = [self.indication(att).hex() for _ in range(3)]
        self.peers.wait("BP-1", linked=False)
        books = self.books("BP-1")
        self.assertEqual([each["octets"] for each in books["readings"]], octets)
        # Pulse 60 and status 0, high octets first.
        self.assertEqual(octets[0][28:], "003c" "01" "0000")
        self.assertEqual([(each["held"], len(each["sent"]), len(each["confirmed"])) for each in books["readings"]], [(False, 1, 1)] * 3)
        # It has nothing to say: it does not advertise.
        with self.assertRaises(TimeoutError):
            self.management.discover(self.index, ONE, seconds=1)

    def test_a_cuff_that_keeps_its_memory_sends_it_again_and_what_it_did_not_hear_confirmed(self):
        att, found = self.link(TWO)
        self.assertEqual(att.write(found["2a08"].value, bytes.fromhex("E807060F11111B")), 0x80)
        self.assertEqual(att.write(found["2a35"].configuration, INDICATE), 0)
        self.indication(att)
        # The other one is not confirmed, and the link ends.
        self.indication(att, confirm=False)
        self.peers.ask("BP-2", do="drop-link")
        self.management.wait_unlinked(self.index)
        self.peers.ask("BP-2", do="deaf", count=1)
        att, found = self.link(TWO)
        self.assertEqual(att.write(found["2a35"].configuration, INDICATE), 0)
        self.indication(att)
        self.peers.wait("BP-2", linked=False)
        self.management.wait_unlinked(self.index)
        books = self.books("BP-2")
        self.assertEqual([(each["held"], len(each["sent"]), len(each["confirmed"])) for each in books["readings"]], [(True, 1, 0), (True, 2, 1)])
        self.assertEqual((books["unheard"], books["clock"], len(books["time_writes"])), (1, -3600, 1))

        # On the line still, it sends what it measures meanwhile, too.
        att, found = self.link(TWO)
        self.assertEqual(att.write(found["2a35"].configuration, INDICATE), 0)
        self.peers.ask("BP-2", do="measure", status=4, ago=10)
        octets = [self.indication(att).hex() for _ in range(3)]
        self.peers.wait("BP-2", linked=False)
        self.assertEqual(sorted(octets), sorted(each["octets"] for each in self.books("BP-2")["readings"]))
        self.assertTrue(all(each["confirmed"] for each in self.books("BP-2")["readings"]))

    def test_a_cuff_of_the_bp2_family_answers_in_frames(self):
        att, found = self.link(BP2)
        self.assertEqual(att.write(found[ANSWER].configuration, NOTIFY), 0)

        def ask(command, payload=b""):
            att.socket.send(struct.pack("<BH", 0x52, found[WRITE].value) + bp2.frame(command, 0, 1, payload))
            octets = att.value(found[ANSWER].value)
            while len(octets) < 8 + int.from_bytes(octets[5:7], "little"):
                octets += att.value(found[ANSWER].value)
            return octets[7:-1]

        names = ask(bp2.LIST)[1:]
        name = names[:16].rstrip(b"\0")
        self.assertEqual(ask(bp2.START, name.ljust(20, b"\0")), struct.pack("<I", 38))
        octets = ask(bp2.DATA, bytes(4))
        ask(bp2.END)
        books = self.books("2523C00001")
        self.assertEqual(octets.hex(), books["readings"][0]["octets"])
        self.assertEqual(books["links_seen"][-1], {"commands": [bp2.LIST, bp2.START, bp2.DATA, bp2.END], "opened": [name.decode()], "read": [name.decode()], "nonsense": 0})
        # Files are named by the second, and the newest of the ring may be of this one.
        self.peers.ask("2523C00001", do="measure", ago=60)
        self.assertEqual(ask(bp2.LIST)[0], 4)


if __name__ == "__main__":
    unittest.main()
