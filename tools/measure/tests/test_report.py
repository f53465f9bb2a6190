"""The tables say what was missed."""

import unittest

from demo.closing import all_held, draw
from measure import report
from measure.counters import Counters
from measure.memory import Memory
from measure.scenes import Figures, Rest, Span


def memory(resident: int, anonymous: int) -> Memory:
    return Memory(resident, anonymous, anonymous, resident, resident, ["gateway", "storage"], {"heap": anonymous}, {"libc.so.6": (resident - anonymous, 0)})


class Table(unittest.TestCase):
    def test_goals_that_are_met_end_well(self):
        table = report.rows(Figures(caught_up=memory(20_000_000, 5_000_000)))
        self.assertTrue(all_held(table))
        self.assertRegex(draw(table, "met", "MISSED"), r"resident.* 20\.00 MB  <= 20 MB +met")

    def test_a_goal_missed_by_one_byte_is_missed_at_any_of_the_moments(self):
        for moment in ("caught_up", "worked", "fresh"):
            for size, name in (((20_000_001, 1), "resident"), ((1, 5_000_001), "anonymous")):
                with self.subTest(moment=moment, name=name):
                    table = report.rows(Figures(**{moment: memory(*size)}))
                    missed = [row.name for row in table if row.holds is False]
                    self.assertEqual(len(missed), 1)
                    self.assertIn(name, missed[0])

    def test_costs_are_given_for_one_window_and_one_heartbeat(self):
        drawn = draw(report.rows(Figures(catch_up=Span(1000, 10.0, Counters(0.02, 700_000, 250)), catch_up_syncs=Span(500, 10.0, syncs=5),
                                         rest={"none": Rest(10, Counters(0.001, 0, 20), 30)})))
        for found in (r"CPU per window +20 us", r"written to the disk per window +700$", r"fdatasync per window \(strace\) +0\.0100 \(5 for 500\)", r"CPU per heartbeat +100 us",
                      r"wake-ups of threads per heartbeat +2\.00", r"epoll_wait calls per heartbeat \(strace\) +3\.00"):
            self.assertRegex(drawn, "(?m)" + found)

    def test_the_breakdown_names_each_file(self):
        self.assertIn("libc.so.6", report.breakdown(memory(3_000_000, 1_000_000)))


if __name__ == "__main__":
    unittest.main()
