"""The Python collar against docs/collar-profile.md, without a radio."""

import hashlib
import struct
import unittest

from collar import Collar, Flags, Opcode, Result, crc16, fragments, identity

NOW = 1000.0


def collar(backlog=0, **options):
    it = Collar("SN-1", NOW, **options)
    it.backlog(backlog, NOW)
    return it


def read_request(it, first, count, log=None):
    return struct.pack("<BIII", Opcode.READ_RANGE, it.log.identity if log is None else log, first, count)


def clear_request(it, through, log=None):
    return struct.pack("<BII", Opcode.CLEAR, it.log.identity if log is None else log, through)


def ask(it, value, mtu=517):
    return it.request(value, NOW, mtu)


def run(it):
    """The running read to its end: its windows and its answer."""
    windows = []
    while True:
        window, answer = it.next_of_read()
        if answer is not None:
            return windows, answer
        windows.append(window)


def read(it, first, count):
    answers = ask(it, read_request(it, first, count))
    return ([], answers[0]) if answers else run(it)


class Windows(unittest.TestCase):
    def test_the_checksum_is_the_profiles(self):
        self.assertEqual(crc16(b"123456789"), 0x29B1)

    def test_a_window_is_322_bytes_with_a_checksum_over_all_but_itself(self):
        it = collar(3)
        for number, window in enumerate(it.log.windows):
            sequence, time, checksum = struct.unpack("<IIH", window[:10])
            self.assertEqual(len(window), 322)
            self.assertEqual(sequence, number)
            self.assertLess(time, 10**9)
            self.assertEqual(checksum, crc16(window[:8] + window[10:]))

    def test_identity_is_the_start_of_the_serials_digest(self):
        self.assertEqual(identity("SN-1"), hashlib.sha256(b"SN-1").digest()[:8])

    def test_every_mtu_carries_a_window_whole(self):
        window = collar(1).log.windows[0]
        for mtu in range(23, 518):
            values = fragments(window, mtu)
            self.assertTrue(all(len(value) <= mtu - 3 for value in values))
            if mtu >= 325:
                self.assertEqual(values, [window])
                continue
            together = b""
            for value in values:
                self.assertNotEqual(len(value), 322)
                self.assertEqual(struct.unpack("<H", value[:2])[0], len(together))
                self.assertGreater(len(value), 2)
                together += value[2:]
            self.assertEqual(together, window)


class Metrics(unittest.TestCase):
    def parts(self, it, now=NOW):
        return struct.unpack("<BBBBIIII", it.metrics(now))

    def test_an_empty_log_has_its_oldest_where_its_next_is(self):
        it = collar(first=7, battery=55)
        self.assertEqual(self.parts(it, NOW + 3), (1, 0, 55, 0, it.log.identity, 7, 7, 3))

    def test_the_clock_is_set_by_the_hub_and_lost_with_the_battery(self):
        it = collar()
        self.assertEqual(ask(it, struct.pack("<BI", Opcode.SET_TIME, 1_700_000_000)), [bytes([0x80, 4, 0])])
        self.assertEqual(self.parts(it, NOW + 5)[1::6], (Flags.CLOCK_SET, 1_700_000_005))
        it.clock.unset(NOW + 10)
        self.assertEqual(self.parts(it, NOW + 12)[1::6], (0, 2))

    def test_overwriting_shows_until_a_clear_covers_it(self):
        it = collar(5, capacity=3)
        self.assertEqual(self.parts(it)[1], Flags.OVERWRITTEN)
        self.assertEqual(self.parts(it)[5:7], (2, 5))
        self.assertEqual(ask(it, clear_request(it, 0))[0][2], Result.OK)
        self.assertEqual(self.parts(it)[1], Flags.OVERWRITTEN)
        self.assertEqual(ask(it, clear_request(it, 1))[0][2], Result.OK)
        self.assertEqual(self.parts(it)[1], 0)

    def test_a_running_read_shows(self):
        it = collar(2)
        ask(it, read_request(it, 0, 2))
        self.assertEqual(self.parts(it)[1], Flags.TRANSFER)
        run(it)
        self.assertEqual(self.parts(it)[1], 0)


class Reading(unittest.TestCase):
    def test_a_range_comes_in_order_and_then_its_answer(self):
        it = collar(10)
        windows, answer = read(it, 2, 5)
        self.assertEqual(windows, it.log.windows[2:7])
        self.assertEqual(answer, struct.pack("<BBBI", 0x80, 1, 0, 5))

    def test_no_windows_is_a_range_too(self):
        it = collar(1)
        self.assertEqual(ask(it, read_request(it, 99, 0)), [struct.pack("<BBBI", 0x80, 1, 0, 0)])

    def test_a_range_not_wholly_held_sends_nothing(self):
        it = collar(10, first=100)
        for first, count in ((99, 2), (109, 2), (50, 1), (110, 1)):
            windows, answer = read(it, first, count)
            self.assertEqual((windows, answer), ([], struct.pack("<BBBII", 0x80, 1, 4, 100, 110)))

    def test_a_second_read_is_busy_and_other_requests_are_served(self):
        it = collar(10)
        ask(it, read_request(it, 0, 10))
        it.next_of_read()
        self.assertEqual(ask(it, read_request(it, 0, 1)), [bytes([0x80, 1, 5])])
        self.assertEqual(ask(it, bytes([Opcode.STATUS]))[0][:3], bytes([0x80, 5, 0]))
        self.assertEqual(len(run(it)[0]), 9)

    def test_stop_lets_the_read_answer_first(self):
        it = collar(10)
        ask(it, read_request(it, 0, 10))
        it.next_of_read()
        it.next_of_read()
        self.assertEqual(ask(it, bytes([2])), [struct.pack("<BBBI", 0x80, 1, 0, 2), bytes([0x80, 2, 0])])
        self.assertIsNone(it.read)
        self.assertEqual(ask(it, bytes([2])), [bytes([0x80, 2, 0])])

    def test_formatting_ends_a_read_before_any_window_of_the_new_log(self):
        it = collar(10)
        ask(it, read_request(it, 0, 10))
        it.next_of_read()
        it.format()
        it.backlog(10, NOW)
        self.assertEqual(run(it), ([], bytes([0x80, 1, 3])))

    def test_overwriting_ends_a_read_of_what_is_gone(self):
        it = collar(3, capacity=3)
        ask(it, read_request(it, 0, 3))
        it.next_of_read()
        it.produce(NOW, 2)
        self.assertEqual(run(it), ([], struct.pack("<BBBII", 0x80, 1, 4, 2, 5)))

    def test_a_flash_error_names_its_window_and_may_pass(self):
        it = collar(5)
        it.flash_errors[2] = 1
        windows, answer = read(it, 0, 5)
        self.assertEqual((len(windows), answer), (2, struct.pack("<BBBI", 0x80, 1, 6, 2)))
        self.assertEqual(len(read(it, 2, 3)[0]), 3)

    def test_a_disturbed_window_has_a_wrong_checksum_once(self):
        it = collar(1)
        it.disturbed[0] = 1
        (first,), _ = read(it, 0, 1)
        (again,), _ = read(it, 0, 1)
        self.assertNotEqual(crc16(first[:8] + first[10:]), struct.unpack("<H", first[8:10])[0])
        self.assertEqual(again, it.log.windows[0])

    def test_sequences_wrap(self):
        it = collar(6, first=2**32 - 3)
        windows, answer = read(it, 2**32 - 3, 6)
        self.assertEqual([struct.unpack("<I", each[:4])[0] for each in windows], [2**32 - 3, 2**32 - 2, 2**32 - 1, 0, 1, 2])
        self.assertEqual(ask(it, clear_request(it, 0))[0], struct.pack("<BBBII", 0x80, 3, 0, 1, 3))


class Clearing(unittest.TestCase):
    def test_only_what_was_sent_can_be_cleared(self):
        it = collar(10)
        self.assertEqual(ask(it, clear_request(it, 0))[0], bytes([0x80, 3, 7]))
        read(it, 0, 4)
        self.assertEqual(ask(it, clear_request(it, 4))[0], bytes([0x80, 3, 7]))
        self.assertEqual(ask(it, clear_request(it, 3))[0], struct.pack("<BBBII", 0x80, 3, 0, 4, 10))
        self.assertEqual(it.account(NOW)["clears_refused"], 2)
        self.assertEqual([each["through"] for each in it.account(NOW)["clears"]], [3])

    def test_clearing_again_is_ok(self):
        it = collar(10)
        read(it, 0, 10)
        first = ask(it, clear_request(it, 9))
        self.assertEqual(first, [struct.pack("<BBBII", 0x80, 3, 0, 10, 10)])
        self.assertEqual(ask(it, clear_request(it, 9)), first)
        self.assertEqual(ask(it, clear_request(it, 4)), first)
        self.assertEqual(ask(it, clear_request(it, 10))[0][2], Result.CLEAR_REFUSED)

    def test_the_mark_outlives_the_link_and_ends_with_the_log(self):
        it = collar(10)
        read(it, 0, 10)
        it.link_ended()
        it.format()
        it.backlog(10, NOW)
        self.assertEqual(ask(it, clear_request(it, 0))[0][2], Result.CLEAR_REFUSED)
        self.assertEqual(ask(it, clear_request(it, 0, log=it.logs[0].identity))[0], bytes([0x80, 3, 3]))
        self.assertEqual(it.account(NOW)["formatted_away_ranges"][0]["count"], 10)


class Requests(unittest.TestCase):
    def test_unknown_opcodes_and_wrong_lengths_are_named(self):
        it = collar(1)
        self.assertEqual(ask(it, bytes([9, 1, 2])), [bytes([0x80, 9, 1])])
        for opcode in Opcode:
            self.assertEqual(ask(it, bytes([opcode]) + bytes(20)), [bytes([0x80, opcode, 2])])

    def test_status_needs_an_mtu_of_26(self):
        it = collar(1)
        self.assertEqual(ask(it, bytes([5]), mtu=25), [bytes([0x80, 5, 1])])
        self.assertEqual(ask(it, bytes([5]), mtu=26), [bytes([0x80, 5, 0]) + it.metrics(NOW)])

    def test_a_read_of_another_log_is_refused(self):
        it = collar(1)
        self.assertEqual(ask(it, read_request(it, 0, 1, log=it.log.identity ^ 1)), [bytes([0x80, 1, 3])])


class Accounts(unittest.TestCase):
    def test_digests_are_of_the_windows_as_they_were_even_when_gone(self):
        it = collar(5, capacity=2, first=10)
        digests = it.digests(it.log.identity, 10, 100)
        self.assertEqual([each["sequence"] for each in digests], [10, 11, 12, 13, 14])
        self.assertEqual(digests[0]["sha256"], hashlib.sha256(it.log.windows[0]).hexdigest())
        self.assertEqual(it.digests(it.log.identity, 12, 1), digests[2:3])
        account = it.account(NOW)
        self.assertEqual((account["produced"], account["held"], account["overwritten"]), (5, 2, 3))
        self.assertEqual([each["sequence"] for each in account["overwritten_windows"]], [10, 11, 12])


if __name__ == "__main__":
    unittest.main()
