#!/usr/bin/env python3
"""In the guest: the kernel, the virtual controller and the peers of radio.peers do together what the tests of the hub rely on.

Needs no hub. What fails here is a fault of the test bench, not of what is tested with it.
"""

import hashlib
import struct
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bluetooth_sockets import ATT, KEYBOARD_ONLY, READ_INFO, SET_IO_CAPABILITY, Listener, Management, advertised  # noqa: E402
from peers_control import Peers, events  # noqa: E402

TAIL = "2c4b4d1e9f3a8a5b7c9d1e20"
SERVICE, METRICS, WINDOWS, CONTROL = (f"6f1e000{number}{TAIL}" for number in (1, 2, 3, 4))
STREAM, COMMAND, STORE, EVENT, ENCRYPTED, AUTHENTICATED = (f"6f1e010{number}{TAIL}" for number in range(2, 8))
ONE, TWO, THREE = (f"C0:00:00:00:00:0{number}" for number in (1, 2, 3))
CUFF, SCALE, BAND = (f"C0:00:00:00:00:1{number}" for number in (1, 2, 3))
# Type of the advertising structure.
SERVICES, SERVICE_DATA, NAME = 0x07, 0x21, 0x09
NOTIFY, INDICATE = struct.pack("<H", 1), struct.pack("<H", 2)


class Radio(unittest.TestCase):
    def setUp(self):
        self.peers = Peers()
        self.addCleanup(self.peers.close)
        self.links = []
        self.known = []
        self.set_up_controller()

    def set_up_controller(self):
        self.management = Management()
        self.addCleanup(self.management.close)
        self.index = self.management.first_controller()
        self.management.set_up(self.index)

    def auto_connect(self, address):
        self.management.auto_connect(self.index, address)
        self.known.append(address)

    def tearDown(self):
        # First, or the kernel links them again.
        for address in self.known:
            self.management.forget(self.index, address)
        for link in self.links:
            link.close()
        for serial in ("SN-0001", "SN-0002", "SN-0003", "cuff", "scale", "band"):
            self.peers.ask(serial, do="cut-link")
            self.peers.wait(serial, linked=False)
        self.management.wait_unlinked(self.index)

    def link(self, address):
        att = ATT(address)
        att.receive_buffer(8 << 20)
        self.links.append(att)
        return att

    def subscribed(self, address, secure=True, mtu=517):
        att = self.link(address)
        att.exchange_mtu(mtu)
        if secure:
            att.secure(self.management, 1)
        found = att.characteristics()
        self.assertEqual(att.write(found[WINDOWS].configuration, NOTIFY), 0)
        self.assertEqual(att.write(found[CONTROL].configuration, INDICATE), 0)
        return att, found

    def answer(self, att, found, request):
        self.assertEqual(att.write(found[CONTROL].value, request), 0)
        return att.value(found[CONTROL].value)

    def read_all(self, att, found, count):
        log, oldest, following = struct.unpack_from("<III", att.read(found[METRICS].value), 4)
        self.assertGreaterEqual((following - oldest) % 2**32, count)
        answer = self.answer(att, found, struct.pack("<BIII", 1, log, oldest, count))
        self.assertEqual(answer, struct.pack("<BBBI", 0x80, 1, 0, count))
        stream = b"".join(
            value if len(value) == 322 else value[2:] for handle, value in att.values if handle == found[WINDOWS].value
        )
        att.values.clear()
        self.assertEqual(len(stream), 322 * count)
        return log, oldest, [stream[offset : offset + 322] for offset in range(0, len(stream), 322)]

    def test_collars_advertise_service_and_identity_in_either_part(self):
        for address, serial in ((ONE, b"SN-0001"), (TWO, b"SN-0002")):
            parts = advertised(self.management.discover(self.index, address))
            self.assertEqual(parts[SERVICES][::-1].hex(), SERVICE)
            self.assertEqual(parts[SERVICE_DATA][:16][::-1].hex(), SERVICE)
            self.assertEqual(parts[SERVICE_DATA][16:], hashlib.sha256(serial).digest()[:8])
        self.assertEqual(advertised(self.management.discover(self.index, CUFF))[NAME], b"cuff")

    def test_a_collar_is_read_and_cleared_at_mtu_517(self):
        att, found = self.subscribed(ONE)
        self.assertEqual(att.mtu, 517)
        self.assertEqual(att.read(found["2a25"].value), b"SN-0001")
        log, oldest, windows = self.read_all(att, found, 400)
        digests = self.peers.ask("SN-0001", query="windows", log=log, **{"from": oldest, "count": 400})["windows"]
        self.assertEqual([hashlib.sha256(each).hexdigest() for each in windows], [each["sha256"] for each in digests])
        answer = self.answer(att, found, struct.pack("<BII", 3, log, oldest + 99))
        self.assertEqual(answer[:7], struct.pack("<BBBI", 0x80, 3, 0, oldest + 100))
        books = self.peers.ask("SN-0001", query="books")
        self.assertEqual((books["oldest"], books["clears"][-1]["through"]), (oldest + 100, oldest + 99))

    def test_a_collar_is_read_in_fragments_at_mtu_23(self):
        att, found = self.subscribed(TWO)
        self.assertEqual(att.mtu, 23)
        log, oldest, windows = self.read_all(att, found, 40)
        digests = self.peers.ask("SN-0002", query="windows", log=log, **{"from": oldest, "count": 40})["windows"]
        self.assertEqual([hashlib.sha256(each).hexdigest() for each in windows], [each["sha256"] for each in digests])
        self.assertEqual(self.answer(att, found, b"\x05"), b"\x80\x05\x01")

    def test_windows_and_control_need_encryption_and_subscriptions(self):
        self.peers.ask("SN-0001", do="forget-bonds")
        att = self.link(ONE)
        found = att.characteristics()
        for handle in (found[WINDOWS].configuration, found[CONTROL].configuration, found[CONTROL].value):
            self.assertIn(att.write(handle, NOTIFY), (0x05, 0x0F))
        att, found = self.subscribed(THREE, secure=False)
        self.assertEqual(att.write(found[WINDOWS].configuration, b"\0\0"), 0)
        self.assertEqual(att.write(found[CONTROL].value, b"\x05"), 0xFD)

    def test_heartbeats_come_after_an_interval_and_stop_when_silenced(self):
        att = self.link(ONE)
        found = att.characteristics()
        self.assertEqual(att.write(found[METRICS].configuration, NOTIFY), 0)
        begun = time.monotonic()
        first = att.value(found[METRICS].value)
        self.assertGreater(time.monotonic() - begun, 0.25)
        self.assertEqual((len(first), first[0]), (20, 1))
        self.peers.ask("SN-0001", do="silence")
        att.values.clear()
        att.socket.settimeout(1)
        with self.assertRaises(TimeoutError):
            att.value(found[METRICS].value)

    def test_windows_are_produced_and_the_clock_is_set(self):
        att, found = self.subscribed(THREE, secure=False)
        before = struct.unpack("<BBBBIIII", att.read(found[METRICS].value))
        self.assertEqual(before[1] & 1, 1)
        time.sleep(0.3)
        after = struct.unpack("<BBBBIIII", att.read(found[METRICS].value))
        self.assertGreater(after[6], before[6] + 2)
        self.peers.ask("SN-0003", do="format")
        self.assertNotEqual(struct.unpack_from("<I", att.read(found[METRICS].value), 4)[0], before[4])

    def test_the_peripheral_the_controllers_and_the_timeout_end_links(self):
        for request, least in (({"do": "drop-link"}, 0), ({"do": "cut-link", "reason": 0x22}, 0), ({"do": "fade", "seconds": 0.7}, 0.6)):
            att = self.link(CUFF)
            att.exchange_mtu(517)
            begun = time.monotonic()
            self.peers.ask("cuff", **request)
            with self.assertRaises(OSError):
                if not att.socket.recv(64):
                    raise ConnectionError
            self.assertGreaterEqual(time.monotonic() - begun, least)
            self.peers.wait("cuff", linked=False)
            att.close()
            self.management.wait_unlinked(self.index)

    def test_an_address_changes_and_the_identity_stays(self):
        self.peers.ask("SN-0002", do="battery-change", address="C0:00:00:00:00:A2")
        parts = advertised(self.management.discover(self.index, "C0:00:00:00:00:A2"))
        self.assertEqual(parts[SERVICE_DATA][16:], hashlib.sha256(b"SN-0002").digest()[:8])
        with self.assertRaises(TimeoutError):
            self.management.discover(self.index, TWO, 1)
        self.peers.ask("SN-0002", do="identity", hex="00" * 8)
        parts = advertised(self.management.discover(self.index, "C0:00:00:00:00:A2"))
        self.assertEqual(parts[SERVICE_DATA][16:], bytes(8))
        self.peers.ask("SN-0002", do="identity", hex=hashlib.sha256(b"SN-0002").digest()[:8].hex())
        self.peers.ask("SN-0002", do="change-address", address=TWO)

    def test_the_kernel_links_known_devices_by_itself_and_again_after_a_drop(self):
        listener = Listener()
        self.addCleanup(listener.close)
        known = {ONE: "SN-0001", TWO: "SN-0002", CUFF: "cuff"}
        for address in known:
            self.auto_connect(address)
        links = dict(listener.accept() for _ in known)
        self.links += links.values()
        self.assertEqual(links.keys(), known.keys())
        self.assertFalse(self.peers.ask("SN-0003", query="state")["linked"])
        for link in links.values():
            self.assertGreaterEqual(link.exchange_mtu(517), 23)
        for address, name in known.items():
            self.peers.ask(name, do="drop-link")
            again, link = listener.accept()
            self.links.append(link)
            self.assertEqual(again, address)
            self.assertGreaterEqual(link.exchange_mtu(517), 23)
        # One that is at another address is another device.
        self.peers.ask("cuff", do="change-address", address="C0:00:00:00:00:B1")
        with self.assertRaises(TimeoutError):
            listener.accept(2)
        self.peers.ask("cuff", do="change-address", address=CUFF)
        again, link = listener.accept()
        self.links.append(link)
        self.assertEqual(again, CUFF)

    def test_a_bonded_peer_is_known_by_its_private_addresses(self):
        private = self.peers.ask("band", query="state")["address"]
        self.assertEqual(int(private[:2], 16) >> 6, 1)
        self.management.resolve_addresses(self.index)
        att = self.link(private)
        self.assertTrue(att.secure(self.management, 5))
        self.peers.wait("band", encrypted=True)
        time.sleep(0.5)  # the keys are distributed after the link is encrypted
        att.close()
        listener = Listener()
        self.addCleanup(listener.close)
        self.auto_connect(BAND)
        for _ in range(2):
            self.peers.ask("band", do="new-private-address")
            self.assertNotEqual(self.peers.ask("band", query="state")["address"], private)
            address, att = listener.accept()
            self.links.append(att)
            self.assertEqual(address, BAND)
            self.assertEqual(att.exchange_mtu(517), 517)
            self.assertFalse(att.secure(self.management, 1))
            self.assertEqual(att.read(att.characteristics()[ENCRYPTED].value), b"secret")

    def test_an_absent_peer_is_not_linked_and_one_that_is_back_is(self):
        self.peers.ask("cuff", do="absent")
        with self.assertRaises(TimeoutError):
            ATT(CUFF, seconds=2)
        self.peers.ask("cuff", do="present")
        self.assertEqual(self.link(CUFF).exchange_mtu(100), 100)

    def test_wrong_keys_end_the_link_and_pairing_anew_mends_it(self):
        self.peers.ask("cuff", do="forget-bonds")
        att = self.link(CUFF)
        self.assertTrue(att.secure(self.management, 5))
        self.assertEqual(att.read(att.characteristics()[ENCRYPTED].value), b"secret")
        att.close()
        self.peers.ask("cuff", do="cut-link")
        self.peers.wait("cuff", linked=False)
        # The bond holds on the next link, without a new key.
        att = self.link(CUFF)
        self.assertFalse(att.secure(self.management, 1))
        self.assertEqual(att.read(att.characteristics()[ENCRYPTED].value), b"secret")
        att.close()
        self.peers.ask("cuff", do="cut-link")
        self.peers.wait("cuff", linked=False)
        self.peers.ask("cuff", do="spoil-bonds")
        att = self.link(CUFF)
        with self.assertRaises(OSError):
            att.secure(self.management, 1)
            att.read(att.characteristics()[ENCRYPTED].value)
        self.peers.wait("cuff", linked=False)
        self.peers.ask("cuff", do="forget-bonds")
        self.management.unpair(self.index, CUFF)
        self.assertTrue(self.link(CUFF).secure(self.management, 5))

    def test_a_peer_with_a_display_pairs_by_its_passkey_alone(self):
        self.management.command(SET_IO_CAPABILITY, self.index, bytes([KEYBOARD_ONLY]))
        self.management.passkey = lambda: 654321
        wrong = self.link(SCALE)
        self.assertFalse(wrong.secure(self.management, 2))
        wrong.close()
        self.peers.ask("scale", do="cut-link")
        self.peers.wait("scale", linked=False)
        shown = [each for each in events() if each["event"] == "passkey" and each["device"] == "scale"]
        self.assertEqual(shown[-1]["passkey"], "123456")
        self.management.passkey = lambda: 123456
        att = self.link(SCALE)
        self.assertTrue(att.secure(self.management, 5))
        self.assertEqual(att.read(att.characteristics()[AUTHENTICATED].value), b"secret")

    def test_a_generic_peripheral_streams_stores_and_indicates(self):
        att = self.link(CUFF)
        att.exchange_mtu(185)
        found = att.characteristics()
        self.assertEqual(att.write(found[STREAM].configuration, NOTIFY), 0)
        self.assertEqual(att.write(found[EVENT].configuration, INDICATE), 0)
        self.assertEqual(att.write(found[COMMAND].value, struct.pack("<IH", 100, 1000)), 0)
        values = [att.value(found[STREAM].value) for _ in range(100)]
        self.assertEqual([struct.unpack_from("<I", each)[0] for each in values], list(range(100)))
        self.assertEqual({len(each) for each in values}, {182})
        self.assertEqual(att.write(found[STORE].value, b"kept"), 0)
        self.assertEqual(att.value(found[EVENT].value), b"kept")
        self.assertEqual(att.read(found[STORE].value), b"kept")

    def test_several_links_at_once(self):
        links = [self.subscribed(address, secure=address != THREE) for address in (ONE, TWO, THREE)]
        links_of_controller = self.peers.ask(query="controller")["links"]
        self.assertEqual(len(links_of_controller), 3)
        for att, found in links:
            self.read_all(att, found, 3)
        self.assertLessEqual({"linked"}, {each["event"] for each in events()})

    def test_the_controller_is_unplugged_and_another_one_plugged_in(self):
        att = self.link(CUFF)
        self.peers.ask(do="unplug")
        with self.assertRaises(OSError):
            if not att.socket.recv(64):
                raise ConnectionError
        self.assertFalse(self.peers.ask("cuff", query="state")["linked"])
        self.peers.ask(do="plug", address="F0:F1:F2:F3:F4:0A")
        self.set_up_controller()
        info = self.management.command(READ_INFO, self.index)
        self.assertEqual(info[:6][::-1].hex(":").upper(), "F0:F1:F2:F3:F4:0A")
        self.assertEqual(self.link(CUFF).exchange_mtu(517), 517)

    def test_a_controller_that_hangs_answers_again_when_it_is_let(self):
        self.peers.ask(do="hang")
        with self.assertRaises((OSError, TimeoutError)):
            self.management.discover(self.index, CUFF, 3)
        self.peers.ask(do="unhang")
        self.peers.ask(do="unplug")
        self.peers.ask(do="plug")


if __name__ == "__main__":
    unittest.main()
