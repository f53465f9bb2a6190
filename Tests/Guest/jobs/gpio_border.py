#!/usr/bin/env python3
"""In the guest: every call of Sources/CGPIOD on simulated lines. The same tests hold libgpiod 1.6 and 2.x to the same answers.

    gpio_border.py VERSION PROGRAM [ARGUMENT...]

VERSION is that of the libgpiod that has to be at work; the rest is the command that starts gpio-probe (Tests/Support/gpio-probe) with it.
Where the two differ, and the header says so, VERSION decides: only the second interface of the kernel debounces.
"""

import errno
import os
import select
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lights import Chip  # noqa: E402

VERSION, COMMAND = "", []
NONE, UP, DOWN = 0, 1, 2
# The most edges that wait in the kernel for one line.
WAITING = 16
LONG = "a-name-that-is-longer-than-the-kernel-keeps"


class Refused(Exception):
    """A call that failed; its errno."""


class Probe:
    """A process with the border in it. Chips and lines are numbers."""

    def __init__(self):
        # What malloc keeps for a thread to use again would count as in use.
        environment = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
        self.process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment)

    def call(self, *words) -> list[str]:
        self.process.stdin.write("\t".join(str(int(word) if isinstance(word, bool) else word) for word in words) + "\n")
        # A call that blocks must fail, not hang.
        if not select.select([self.process.stdout], [], [], 5)[0]:
            self.process.kill()
            raise AssertionError(f"no answer to {words} within 10 s")
        answer = self.process.stdout.readline().rstrip("\n").split("\t")
        if answer[0] == "ok":
            return answer[1:]
        if answer[0] == "error":
            raise Refused(getattr(errno, answer[1], answer[1]))
        raise AssertionError(f"{words} ended the probe: status {self.process.wait()}")

    def number(self, *words) -> int:
        return int(self.call(*words)[0])

    def close(self) -> None:
        self.process.stdin.close()
        status = self.process.wait(10)
        self.process.stdout.close()
        assert status == 0, f"the probe ended with status {status}"

    # The calls that answer with more than a number.

    def open(self, chip: Chip) -> int:
        return self.number("open", f"/dev/{chip.chip}")

    def chip(self, chip: int) -> tuple[str, str, int]:
        name, label, lines = self.call("describe-chip", chip)
        return name, label, int(lines)

    def line(self, chip: int, offset: int) -> tuple[str, str, bool]:
        name, consumer, used = self.call("describe-line", chip, offset)
        return name, consumer, used == "1"

    def output(self, chip: Chip, name: str, active: bool, low: bool = False, consumer: str = "gateway") -> int:
        return self.number("output", self.open(chip), chip.offset(name), consumer, low, active)

    def edges(self, chip: Chip, name: str, low: bool = False, bias: int = NONE, debounce_us: int = 0, consumer: str = "gateway") -> tuple[int, bool]:
        line, debounced = self.call("edges", self.open(chip), chip.offset(name), consumer, low, bias, debounce_us)
        return int(line), debounced == "1"

    def read(self, line: int, room: int = WAITING) -> list[tuple[int, bool]]:
        return [(int(at), active == "1") for at, _, active in (word.partition(":") for word in self.call("read", line, room))]

    def descriptors(self) -> dict[int, str]:
        folder = Path(f"/proc/{self.process.pid}/fd")
        return {int(entry.name): os.readlink(entry) for entry in folder.iterdir() if int(entry.name) > 2}


class Border(unittest.TestCase):
    def setUp(self):
        self.board = Chip("board", "lights", {0: "status", 1: "radio", 2: "button", 4: "taken", 5: LONG, 6: "twice"}, hogs={4: "somebody"})
        self.addCleanup(self.board.remove)
        self.probe = self.start()

    def start(self) -> Probe:
        probe = Probe()
        self.addCleanup(probe.close)
        return probe

    def assert_refused(self, code: int, *words):
        with self.assertRaises(Refused) as refused:
            self.probe.call(*words)
        self.assertEqual(refused.exception.args[0], code, words)

    def voltage(self, name: str, chip: Chip | None = None) -> int:
        return int((chip or self.board).value(name).read_text())

    def pull(self, *ups: bool, name: str = "button"):
        for up in ups:
            self.board.pull(name, up)

    def await_edges(self, line: int, count: int) -> list[tuple[int, bool]]:
        """Edges are told by a thread of the kernel's: until so many have come."""
        found, end = [], time.monotonic() + 5
        while len(found) < count and time.monotonic() < end:
            self.probe.number("poll", line, 1000)
            found += self.probe.read(line)
        self.assertEqual(len(found), count, found)
        return found

    def settle(self):
        """Longer than the kernel takes to tell an edge that there is, to see that there is none."""
        time.sleep(0.3)

    # --- Chips and names ------------------------------------------------------------------------------------------

    def test_the_library_is_the_one_that_is_meant(self):
        self.assertEqual(self.probe.call("version")[0], VERSION)

    def test_a_chip_says_its_name_its_label_and_how_many_lines_it_has(self):
        second = Chip("second", "another label", {}, lines=3)
        self.addCleanup(second.remove)
        self.assertEqual(self.probe.chip(self.probe.open(self.board)), (self.board.chip, "lights", 8))
        self.assertEqual(self.probe.chip(self.probe.open(second)), (second.chip, "another label", 3))

    def test_what_is_no_chip_cannot_be_opened(self):
        self.assert_refused(errno.ENOENT, "open", "/dev/gpiochip99")
        Path("/tmp/file").write_text("")
        self.assert_refused(errno.ENOTTY, "open", "/tmp/file")
        with self.assertRaises(Refused) as refused:
            self.probe.call("open", "/dev/null")
        self.assertIn(refused.exception.args[0], (errno.ENOTTY, errno.ENODEV))
        self.assertEqual(self.probe.descriptors(), {})

    def test_another_name_of_a_chip_opens_it(self):
        link = Path("/tmp/gpiochip77")
        link.symlink_to(f"/dev/{self.board.chip}")
        self.addCleanup(link.unlink)
        self.assertEqual(self.probe.chip(self.probe.number("open", link)), (self.board.chip, "lights", 8))

    def test_lines_are_found_by_their_names_over_all_chips(self):
        second = Chip("second", "more lights", {3: "uplink", 7: "twice"})
        self.addCleanup(second.remove)
        found: dict[str, list[tuple[str, int]]] = {}
        for path in sorted(Path("/dev").glob("gpiochip*")):
            chip = self.probe.number("open", path)
            _, label, count = self.probe.chip(chip)
            for offset in range(count):
                found.setdefault(self.probe.line(chip, offset)[0], []).append((label, offset))
            self.probe.call("close", chip)
        self.assertEqual(len(found.pop("")), 16 - 8, "lines without a name")
        self.assertEqual(found, {
            "status": [("lights", 0)], "radio": [("lights", 1)], "button": [("lights", 2)], "taken": [("lights", 4)],
            LONG[:31]: [("lights", 5)], "twice": [("lights", 6), ("more lights", 7)], "uplink": [("more lights", 3)],
        })

    def test_a_line_that_is_not_there_is_an_error(self):
        chip = self.probe.open(self.board)
        self.assert_refused(errno.EINVAL, "describe-line", chip, 8)
        self.assert_refused(errno.EINVAL, "output", chip, 8, "gateway", 0, 0)
        self.assert_refused(errno.EINVAL, "edges", self.probe.open(self.board), 8, "gateway", 0, NONE, 0)
        self.assertEqual(self.probe.descriptors(), {})

    # --- Whose a line is ------------------------------------------------------------------------------------------

    def test_a_line_says_who_uses_it_as_it_is_now(self):
        chip = self.probe.open(self.board)
        self.assertEqual(self.probe.line(chip, 4), ("taken", "somebody", True))
        self.assertEqual(self.probe.line(chip, 0), ("status", "", False))
        other = self.start()
        line = other.output(self.board, "status", False, consumer="other")
        self.assertEqual(self.probe.line(chip, 0), ("status", "other", True), "what was read before is read again")
        other.call("release", line)
        self.assertEqual(self.probe.line(chip, 0), ("status", "", False))
        other.edges(self.board, "status", consumer=LONG)
        self.assertEqual(self.probe.line(chip, 0), ("status", LONG[:31], True), "as long as the kernel keeps it")

    def test_a_busy_line_is_refused_and_the_chip_is_closed(self):
        other = self.start()
        other.output(self.board, "status", True)
        for name in ("taken", "status"):
            for request in (("gateway", 0, 1), ("gateway", 0, UP, 5000)):
                chip = self.probe.open(self.board)
                self.assert_refused(errno.EBUSY, "output" if len(request) == 3 else "edges", chip, self.board.offset(name), *request)
                self.assertEqual(self.probe.descriptors(), {})
        self.assertEqual(self.voltage("status"), 1, "what the other one shows stays")

    def test_a_line_is_free_again_when_its_process_is_killed(self):
        other = Probe()
        other.output(self.board, "status", True)
        other.process.kill()
        other.process.wait()
        other.process.stdin.close()
        other.process.stdout.close()
        line = self.probe.output(self.board, "status", True)
        self.assertEqual(self.probe.number("get", line), 1)

    # --- Outputs --------------------------------------------------------------------------------------------------

    def test_an_output_has_its_level_from_the_start_and_takes_another(self):
        for low in (False, True):
            for active in (False, True):
                with self.subTest(low=low, active=active):
                    line = self.probe.output(self.board, "status", active, low)
                    self.assertEqual(self.voltage("status"), active != low)
                    for level in (active, not active, active):
                        self.assertEqual(self.probe.number("set", line, level), 0)
                        self.assertEqual(self.voltage("status"), level != low)
                        self.assertEqual(self.probe.number("get", line), level)
                    self.probe.call("release", line)

    def test_lines_of_one_chip_are_set_each_for_itself(self):
        status, radio = self.probe.output(self.board, "status", True), self.probe.output(self.board, "radio", False, low=True)
        self.assertEqual((self.voltage("status"), self.voltage("radio")), (1, 1))
        self.probe.call("set", radio, True)
        self.assertEqual((self.voltage("status"), self.voltage("radio")), (1, 0))
        self.probe.call("release", status)
        self.assertEqual((self.probe.number("get", radio), self.voltage("radio")), (1, 0), "the other one is not let go of with it")

    def test_an_output_is_off_before_it_is_released_and_then_nobodys(self):
        self.pull(True, name="status")
        line = self.probe.output(self.board, "status", True)
        self.probe.call("set", line, False)
        self.assertEqual(self.voltage("status"), 0, "dark while it is still ours")
        self.probe.call("release", line)
        self.assertEqual(self.voltage("status"), 1, "the simulated line falls back to what pulls at it")
        self.assertEqual(self.probe.line(self.probe.open(self.board), 0), ("status", "", False))

    # --- Edges ----------------------------------------------------------------------------------------------------

    def test_both_edges_come_in_order_with_the_time_of_the_monotonic_clock(self):
        for low in (False, True):
            with self.subTest(low=low):
                self.pull(False)
                line, debounced = self.probe.edges(self.board, "button", low)
                self.assertFalse(debounced, "nothing was asked for")
                self.assertEqual(self.probe.number("get", line), low)
                marks = []
                for up in (True, False, True):
                    before = time.monotonic_ns()
                    self.pull(up)
                    (at, active), = self.await_edges(line, 1)
                    marks += [before, at, time.monotonic_ns()]
                    self.assertEqual(active, up != low)
                    self.assertEqual(self.probe.number("get", line), active)
                self.assertEqual(marks, sorted(marks))
                self.probe.call("release", line)

    def test_a_line_without_an_edge_does_not_keep_who_reads_it(self):
        line, _ = self.probe.edges(self.board, "button")
        self.assertEqual(self.probe.number("poll", line, 0), 0)
        self.assertEqual(self.probe.read(line), [])
        self.pull(True)
        self.assertEqual(self.probe.number("poll", line, 5000), select.POLLIN)
        self.assertEqual([active for _, active in self.probe.read(line)], [True])
        self.assertEqual(self.probe.number("poll", line, 0), 0, "what was taken is gone")
        self.assertEqual(self.probe.read(line), [])

    def test_edges_that_wait_are_taken_as_room_is_and_the_kernel_keeps_no_more_than_it_has_room_for(self):
        self.pull(False)
        line, _ = self.probe.edges(self.board, "button")
        moments = []
        for number in range(WAITING + 8):
            moments.append(time.monotonic_ns())
            self.pull(number % 2 == 0)
            time.sleep(0.01)
        self.settle()
        counts, edges = [], []
        for room in (1, 5, 64, 64):
            taken = self.probe.read(line, room)
            counts.append(len(taken))
            edges += taken
        self.assertEqual(counts, [1, 5, WAITING - 6, 0])
        self.assertEqual([at for at, _ in edges], sorted(at for at, _ in edges))
        self.assertEqual([active for _, active in edges], [True, False] * (WAITING // 2))
        first = 0 if VERSION.startswith("1.") else 8
        self.assertGreater(edges[0][0], moments[first])
        self.assertLess(edges[0][0], moments[first + 1])
        self.pull(True)
        self.assertEqual(self.await_edges(line, 1)[0][1], True, "and the next one comes")
        for number in range(40):
            self.pull(number % 2 == 1)
            time.sleep(0.01)
        self.settle()
        self.assertEqual(len(self.probe.read(line, 64)), WAITING)

    def test_a_line_is_pulled_to_its_level_at_rest(self):
        for bias, before, level in ((UP, False, 1), (DOWN, True, 0), (NONE, True, 1), (NONE, False, 0)):
            for low in (False, True):
                with self.subTest(bias=bias, before=before, low=low):
                    self.pull(before)
                    line, _ = self.probe.edges(self.board, "button", low, bias)
                    self.assertEqual(self.voltage("button"), level)
                    self.assertEqual(self.probe.number("get", line), level != low)
                    self.probe.call("release", line)

    def test_bounces_are_kept_away_where_the_kernel_can_and_it_is_said_whether_it_does(self):
        line, debounced = self.probe.edges(self.board, "button", low=True, bias=UP, debounce_us=1_000_000)
        self.assertEqual(debounced, not VERSION.startswith("1."), "the first interface of the kernel has no debouncing")
        for down in (True, False):
            # The contact bounces four times within some tens of milliseconds, and then rests.
            levels = [not down, down] * 5
            for level in levels[1:]:
                self.pull(not level)
                time.sleep(0.01)
            if debounced:
                self.assertEqual(self.probe.read(line), [], "not yet: it has not been at rest for a second")
                self.assertEqual([active for _, active in self.await_edges(line, 1)], [down])
            else:
                self.assertEqual([active for _, active in self.await_edges(line, 9)], levels[1:])
            self.settle()
            self.assertEqual(self.probe.read(line), [])
            self.assertEqual(self.probe.number("get", line), down)

    def test_a_kernel_that_cannot_debounce_gives_the_line_all_the_same(self):
        self.probe.call("refuse-debounce", True)
        line, debounced = self.probe.edges(self.board, "button", low=True, bias=UP, debounce_us=100_000)
        self.assertFalse(debounced)
        self.assertEqual(self.voltage("button"), 1)
        self.pull(False)
        self.assertEqual(self.await_edges(line, 1)[0][1], True)

    # --- Descriptors and memory -----------------------------------------------------------------------------------

    def test_a_line_of_edges_has_a_descriptor_of_its_own_that_does_not_block_and_is_not_inherited(self):
        line, _ = self.probe.edges(self.board, "button")
        other, _ = self.probe.edges(self.board, "status")
        descriptor = self.probe.number("descriptor", line)
        self.assertNotEqual(descriptor, self.probe.number("descriptor", other))
        self.assertIn("gpio-", self.probe.descriptors()[descriptor])
        self.probe.output(self.board, "radio", True)
        self.probe.open(self.board)
        flags = {}
        for number in self.probe.descriptors():
            info = Path(f"/proc/{self.probe.process.pid}/fdinfo/{number}").read_text()
            flags[number] = int(next(row for row in info.splitlines() if row.startswith("flags:")).split()[1], 8)
        self.assertTrue(flags[descriptor] & os.O_NONBLOCK)
        self.assertEqual([number for number, word in flags.items() if not word & os.O_CLOEXEC], [])

    def test_closing_and_releasing_give_back_every_descriptor_and_every_byte(self):
        probe = self.probe

        def everything() -> None:
            chip = probe.open(self.board)
            probe.chip(chip)
            for offset in range(8):
                probe.line(chip, offset)
            self.assert_refused(errno.EINVAL, "describe-line", chip, 8)
            probe.call("close", chip)
            self.assert_refused(errno.ENOTTY, "open", "/tmp/none")
            lamp = probe.output(self.board, "status", True)
            probe.call("set", lamp, False)
            for refuse in (False, True):
                probe.call("refuse-debounce", refuse)
                button, _ = probe.edges(self.board, "button", bias=UP, debounce_us=1000)
                self.pull(False, True)
                probe.read(button)
                probe.number("get", button)
                probe.call("release", button)
            self.assert_refused(errno.EBUSY, "output", probe.open(self.board), 0, "gateway", 0, 1)
            self.assert_refused(errno.EBUSY, "edges", probe.open(self.board), 0, "gateway", 0, UP, 1000)
            probe.call("release", lamp)

        Path("/tmp/none").write_text("")
        everything()
        before = probe.number("memory")
        for _ in range(5):
            everything()
            self.assertEqual(probe.descriptors(), {})
        self.assertEqual(probe.number("memory"), before)

    # --- A chip that goes away ------------------------------------------------------------------------------------

    def test_a_chip_that_vanishes_is_an_error_of_every_call_and_can_be_had_again(self):
        for how, back in ((self.board.vanish, self.board.appear), (self.board.unbind, self.board.bind)):
            with self.subTest(how=how.__name__):
                path = f"/dev/{self.board.chip}"
                idle, other, third = (self.probe.open(self.board) for _ in range(3))
                lamp = self.probe.output(self.board, "status", True)
                button, _ = self.probe.edges(self.board, "button", bias=UP, debounce_us=1000)
                how()
                self.assertTrue(self.probe.number("poll", button, 5000) & (select.POLLHUP | select.POLLERR), "who waits is woken")
                self.assert_refused(errno.ENODEV, "set", lamp, 0)
                self.assert_refused(errno.ENODEV, "get", lamp)
                self.assert_refused(errno.ENODEV, "get", button)
                self.assert_refused(errno.ENODEV, "read", button, WAITING)
                self.assert_refused(errno.ENODEV, "describe-line", idle, 0)
                self.assert_refused(errno.ENODEV, "output", other, 0, "gateway", 0, 1)
                self.assert_refused(errno.ENODEV, "edges", third, 2, "gateway", 0, UP, 1000)
                self.assert_refused(errno.ENOENT, "open", path)
                self.probe.call("release", lamp)
                self.probe.call("release", button)
                self.probe.call("close", idle)
                self.assertEqual(self.probe.descriptors(), {})
                back()
                lamp = self.probe.output(self.board, "status", True)
                self.assertEqual(self.voltage("status"), 1)
                self.probe.call("release", lamp)

    def test_the_facts_of_a_chip_that_has_vanished_are_those_it_had_or_an_error(self):
        chip = self.probe.open(self.board)
        facts = self.probe.chip(chip)
        self.board.vanish()
        # 1.6 keeps them from the opening, 2.x asks the kernel each time.
        if VERSION.startswith("1."):
            self.assertEqual(self.probe.chip(chip), facts)
        else:
            self.assert_refused(errno.ENODEV, "describe-chip", chip)


if __name__ == "__main__":
    VERSION, COMMAND = sys.argv[1], sys.argv[2:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
