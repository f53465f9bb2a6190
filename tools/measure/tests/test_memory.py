"""Reading memory: a made-up smaps, and this very process."""

import os
import unittest

from measure import memory

MAPPINGS = """\
55d0c0000000-55d0c0010000 r-xp 00000000 fe:00 12                         /usr/bin/gateway
Rss:                  64 kB
Anonymous:             0 kB
VmFlags: rd ex mr
55d0c0010000-55d0c0014000 rw-p 00010000 fe:00 12                         /usr/bin/gateway
Rss:                  16 kB
Anonymous:            12 kB
55d0c0014000-55d0c0018000 rw-p 00000000 00:00 0
Rss:                   8 kB
Anonymous:             8 kB
55d0c1000000-55d0c1100000 rw-p 00000000 00:00 0                          [heap]
Rss:                 500 kB
Anonymous:           500 kB
7f0000000000-7f0000100000 rw-p 00000000 00:00 0
Rss:                 300 kB
Anonymous:           300 kB
7f0000100000-7f0004000000 ---p 00000000 00:00 0
Rss:                   0 kB
Anonymous:             0 kB
7f1000000000-7f1000800000 rw-p 00000000 00:00 0
Rss:                  20 kB
Anonymous:            20 kB
7f1001000000-7f1001010000 rw-p 00000000 00:00 0
Rss:                  40 kB
Anonymous:            40 kB
7f2000000000-7f2000002000 r--p 00000000 fe:00 13                         /usr/lib/a lib/libc.so.6 (deleted)
Rss:                   8 kB
Anonymous:             0 kB
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
Rss:                  16 kB
Anonymous:            16 kB
"""


class Smaps(unittest.TestCase):
    def test_each_kind_of_anonymous_memory_is_told_by_its_place(self):
        found = memory.kinds(memory.parse(MAPPINGS), [0x7f1000001000])
        self.assertEqual({kind: size // 1024 for kind, size in found.items()}, {
            "heap (malloc's main arena)": 500, "malloc arenas of other threads": 300, "mapped one by one (large allocations, the loader)": 40,
            "thread stacks": 36, "changed pages of files (data, relocations)": 12, "zeroed data of libraries and the program": 8})

    def test_the_kinds_leave_nothing_out(self):
        mappings = memory.parse(MAPPINGS)
        self.assertEqual(sum(memory.kinds(mappings, []).values()), sum(mapping.anonymous for mapping in mappings))

    def test_pages_of_a_file_are_divided_into_those_as_on_the_disk_and_those_changed(self):
        self.assertEqual(memory.files(memory.parse(MAPPINGS)), {"gateway": (68 * 1024, 12 * 1024), "libc.so.6 (deleted)": (8 * 1024, 0)})

    def test_the_books_of_a_real_process_agree_with_each_other(self):
        found = memory.read(os.getpid())
        self.assertGreater(found.resident, found.anonymous)
        self.assertGreaterEqual(found.peak, found.resident - (1 << 20))
        # Between the two looks the process itself allocates a little.
        self.assertAlmostEqual(sum(found.kinds.values()), found.anonymous, delta=2 << 20)
        self.assertIn("heap (malloc's main arena)", found.kinds)
        self.assertGreaterEqual(len(found.threads), 1)


if __name__ == "__main__":
    unittest.main()
