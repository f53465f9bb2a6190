"""The window format and the arithmetic of sequences."""

import binascii
import unittest

from backend import windows
from backend.store import _count_gaps


class Windows(unittest.TestCase):
    def test_the_crc_is_crc_16_ccitt_false(self):
        self.assertEqual(binascii.crc_hqx(b"123456789", 0xFFFF), 0x29B1)

    def test_a_made_window_is_whole_and_one_flipped_bit_anywhere_is_seen(self):
        made = windows.make(4711, 1_700_000_000, bytes(range(256)) + bytes(56))
        self.assertEqual((len(made), windows.sequence_of(made), windows.is_whole(made)), (322, 4711, True))
        for index in range(len(made)):
            spoiled = made[:index] + bytes([made[index] ^ 0x10]) + made[index + 1:]
            self.assertFalse(windows.is_whole(spoiled), f"byte {index}")

    def test_sequences_and_ranges_wrap(self):
        self.assertEqual(list(windows.sequences(2**32 - 2, 4)), [2**32 - 2, 2**32 - 1, 0, 1])
        self.assertEqual(windows.offset_in(2**32 - 2, 4, 1), 3)
        self.assertIsNone(windows.offset_in(2**32 - 2, 4, 2))
        self.assertTrue(windows.overlap(2**32 - 2, 4, 1, 1))
        self.assertTrue(windows.overlap(1, 1, 2**32 - 2, 4))
        self.assertFalse(windows.overlap(2**32 - 2, 4, 2, 5))
        self.assertFalse(windows.overlap(5, 0, 5, 5))

    def test_overlapping_gaps_count_each_sequence_once_also_across_the_wrap(self):
        rows = [("d", 1, "overwritten", 10, 10), ("d", 1, "overwritten", 15, 10), ("d", 2, "overwritten", 0, 5), ("d", 2, "overwritten", 2**32 - 3, 6)]
        self.assertEqual(_count_gaps(rows), {"overwritten": {"ranges": 4, "sequences": 15 + 5 + 3}})


if __name__ == "__main__":
    unittest.main()
