"""The Python cuffs against the documents they were written from, without a radio."""

import json
import struct
import unittest
from datetime import datetime, timedelta

import bp2
from cuff import Cuff, Reading, crc_e2e, segments, sfloat

NOW = datetime(2024, 6, 15, 17, 17, 27)


class Measurements(unittest.TestCase):
    def test_values_are_those_of_recorded_measurements(self):
        self.assertEqual(sfloat(18.9, -1), 0xF0BD)
        self.assertEqual(sfloat(None), 0x07FF)
        reading = Reading(124, 86, 97, 51, NOW, None, 0)
        self.assertEqual(reading.measurement().hex().upper(), "167C0056006100E807060F11111B33000000")
        failed = Reading(None, None, None, 10, datetime(2024, 6, 23, 14, 35, 10), None, 0).measurement()
        self.assertEqual(failed[:14].hex().upper(), "16FF07FF07FF07E80706170E230A")
        self.assertEqual(Reading(18.9, 1.1, 15.9, 60, status=0x12, kpa=True).measurement()[:3].hex().upper(), "15BDF0")

    def test_the_enhanced_form_counts_seconds_since_2000(self):
        value = Reading(120, 80, 93, 60, NOW).enhanced()
        self.assertEqual((value[0], struct.unpack("<I", value[7:11])[0]), (0x46, 771_787_047))

    def test_records_are_cut_and_counted(self):
        self.assertEqual(crc_e2e(b"123456789"), 0x6F91)
        pieces = segments(7, 0x2A35, bytes(30), 20, crc=True)
        self.assertEqual([piece[0] for piece in pieces], [0b01, 0b110])
        self.assertEqual(sum(len(piece) - 1 for piece in pieces), 4 + 30 + 2)

    def test_a_confirmed_reading_is_forgotten_by_a_cuff_that_deletes_and_by_no_other(self):
        for deletes, left in ((True, 2), (False, 3)):
            it = Cuff("BP-1", deletes=deletes)
            it.fill(3, NOW)
            it.was_confirmed(it.pending()[0])
            self.assertEqual((len(it.readings), len(it.confirmed)), (left, 1))
            self.assertTrue(it.has_news)

    def test_a_cuff_has_news_until_all_was_confirmed(self):
        it = Cuff("BP-1", deletes=False)
        self.assertFalse(it.has_news)
        it.fill(2, NOW)
        for reading in it.pending():
            self.assertTrue(it.has_news)
            it.was_sent(reading)
            it.was_confirmed(reading)
        self.assertFalse(it.has_news)
        self.assertEqual(len(it.pending()), 2)

    def test_the_books_of_a_cuff_outlive_it(self):
        it = Cuff("BP-1", clock=-7200)
        it.fill(3, NOW, user=2)
        it.measure(NOW, failed=True, status=1)
        it.was_sent(it.pending()[0], 7)
        it.was_confirmed(it.pending()[0], 8)
        again = Cuff("BP-1")
        again.restore(json.loads(json.dumps(it.books())))
        self.assertEqual(again.books(), it.books())
        first, last = it.books()["readings"][0], it.books()["readings"][-1]
        self.assertEqual((first["held"], first["sent"], first["confirmed"], first["user"]), (False, [7], [8], 2))
        self.assertEqual((first["taken"], first["time"]), ("2024-06-15T15:17:27", "2024-06-15T13:17:27"))
        self.assertEqual((last["held"], last["systolic"], last["pulse"], last["status"]), (True, None, None, 1))
        self.assertEqual(again.pending(), it.pending())

    def test_a_maker_s_high_octets_come_first_in_pulse_and_status_alone(self):
        reading = Reading(120, 80, 93, 72, status=4)
        self.assertEqual(reading.measurement().hex(), "14780050005d0048000400")
        self.assertEqual(reading.measurement(big_endian=True).hex(), "14780050005d0000480004")

    def test_the_clock_takes_a_time_refuses_it_or_keeps_its_own(self):
        for takes, error, clock in (("sets", None, 0), ("refuses", 0x80, -3600), ("keeps", None, -3600)):
            it = Cuff("BP-1", takes=takes, clock=-3600)
            self.assertEqual(it.write_time(bytes.fromhex("E807060F11111B"), NOW), error)
            self.assertEqual(it.clock, clock)

    def test_what_was_measured_before_the_clock_was_set_has_the_time_that_it_showed_then(self):
        cuff, family = Cuff("BP-1", clock=-3600), bp2.BP2("BP-2", clock=-3600)
        cuff.write_time(bytes.fromhex("E807060F11111B"), NOW)
        family.link_began()
        family.written(bp2.frame(0xEC, 0, 1, bytes.fromhex("E807060F11111B")), NOW)
        again = Cuff("BP-1"), bp2.BP2("BP-2")
        for it, before in zip(again, (cuff, family)):
            it.restore(json.loads(json.dumps(before.books())))
            self.assertEqual(it.books(), before.books())
        for it in (cuff, family, *again):
            for ago in (20, 5):
                it.measure(NOW + timedelta(seconds=10), ago)
            self.assertEqual([each["time"] for each in it.books()["readings"]], ["2024-06-15T16:17:17", "2024-06-15T17:17:32"])


class Family(unittest.TestCase):
    def test_frames_are_those_known_from_the_air(self):
        for octets in ("A5E11E0001000002", "A506F900020000D3", "A5F10E0003000078"):
            frame = bytes.fromhex(octets)
            self.assertEqual(bp2.frame(frame[1], 0, frame[4]), frame)

    def test_a_file_is_opened_read_in_parts_and_closed(self):
        it = bp2.BP2("2523C00001", part=20)
        it.fill(3, NOW)
        it.link_began()
        name = next(name for name, octets in it.files.items() if len(octets) == 38)

        def ask(command: int, payload: bytes = b"") -> bytes:
            [answer] = it.written(bp2.frame(command, 0, 1, payload), NOW)
            self.assertEqual((answer[3], bp2.crc8(answer[:-1])), (1, answer[-1]))
            return answer[7:-1]

        self.assertEqual(struct.unpack("<I", ask(bp2.START, name.encode().ljust(20, b"\0")))[0], 38)
        octets = ask(bp2.DATA, struct.pack("<I", 0)) + ask(bp2.DATA, struct.pack("<I", 20))
        self.assertEqual((octets, ask(bp2.END)), (it.files[name], b""))
        self.assertEqual(len(ask(bp2.LIST)), 1 + 16 * 4)
        self.assertEqual(ask(bp2.INFO)[38:48], b"2523C00001")

    def test_a_second_file_is_refused_where_one_is_allowed_and_a_busy_cuff_is_silent(self):
        it = bp2.BP2("2523C00001", keeps_list=True, single_file=True)
        it.fill(2, NOW)
        it.link_began()
        request = bp2.frame(bp2.START, 0, 1, b"bp2nibp.list".ljust(20, b"\0"))
        self.assertEqual([it.written(request, NOW)[0][3] for _ in range(2)], [1, 0xE1])
        it.activity = bp2.MEASURING
        self.assertEqual(it.written(request, NOW), [])

    def test_a_full_ring_takes_the_place_of_the_oldest(self):
        for keeps_list in (False, True):
            it = bp2.BP2("2523C00001", keeps_list=keeps_list)
            it.fill(bp2.RING, NOW)
            it.measure(NOW + timedelta(minutes=1))
            readings = it.books()["readings"]
            self.assertEqual(len(readings), bp2.RING + 1)
            gone = [each["taken"] for each in readings if not each["held"]]
            self.assertEqual(gone, [(NOW - timedelta(hours=bp2.RING - 1)).isoformat()])
            self.assertEqual(len({(each["systolic"], each["diastolic"]) for each in readings}), len(readings))

    def test_it_tells_what_was_asked_of_it_on_each_link(self):
        it = bp2.BP2("2523C00001")
        it.fill(1, NOW)
        name = next(iter(it.files)).encode()
        for _ in range(2):
            it.link_began()
            for command, payload in ((bp2.START, name.ljust(20, b"\0")), (bp2.DATA, bytes(4)), (bp2.END, b"")):
                it.written(bp2.frame(command, 0, 1, payload), NOW)
        it.written(bytes(8), NOW)
        first, second = it.books()["links_seen"]
        self.assertEqual(first, {"commands": [bp2.START, bp2.DATA, bp2.END], "opened": [name.decode()], "read": [name.decode()], "nonsense": 0})
        self.assertEqual(second["nonsense"], 1)

    def test_files_and_records_have_their_lengths(self):
        self.assertEqual(len(bp2.reading_file(NOW, 120, 80, 93, 60)), 38)
        self.assertEqual(len(bp2.record(NOW, 1, 120, 80, 93, 60)), 37)


if __name__ == "__main__":
    unittest.main()
