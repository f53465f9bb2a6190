#!/usr/bin/env python3
"""In the guest: LEDs and button on lines that are there, are not, are somebody else's, go and come back. The daemon runs on in each case."""

import os
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lights import Chip, Eye, LEDS  # noqa: E402
from lights_case import Lights  # noqa: E402

THREE = 'status = { line = "status" }\nradio = { line = "radio" }\nuplink = { line = "uplink" }'


class Hardware(Lights):
    def consumers(self) -> str:
        return subprocess.run(["gpioinfo"], capture_output=True, text=True).stdout

    def test_three_leds_and_their_end(self):
        self.make_board()
        self.configure(THREE)
        self.start()
        self.await_pattern("status", "on", 20)
        self.await_pattern("radio", "1 flash", 20)
        self.assertEqual(self.consumers().count('"gateway"'), 3)
        self.await_pattern("status", "on, dip", 40)
        self.stop()
        self.assert_dark()
        self.assertNotIn('"gateway"', self.consumers())
        self.assertNotIn("indicator", self.said())

    def test_a_low_line_is_a_light(self):
        self.make_board(low=frozenset(["status"]))
        self.configure('status = { line = "status", active = "low", chip = "board" }\nuplink = { line = "uplink" }')
        self.start()
        self.await_pattern("uplink", "on", 20)
        self.await_pattern("status", "on, dip", 40)
        self.stop()
        self.assert_dark("uplink")
        # Released, the simulated line falls back to what it was before; driven off, it was high.
        self.assertTrue(any(not run.lit for run in self.eye.since("status", 0)))

    def test_one_led_shows_the_most_urgent_of_all(self):
        self.make_board()
        self.configure('uplink = { line = "uplink" }')
        self.start()
        self.await_pattern("uplink", "1 flash", 20)
        self.assertEqual(self.state("uplink"), "looking-for-devices")
        self.stop()
        self.assert_dark()

    def test_what_cannot_be_had_is_said_and_the_rest_shines(self):
        self.make_board()
        second = Chip("second", "second", {0: "twice", 4: "taken"}, hogs={4: "somebody"})
        self.addCleanup(second.remove)
        third = Chip("third", "third", {5: "twice"})
        self.addCleanup(third.remove)
        self.configure('status = { line = "status" }\nradio = { line = "twice" }\nuplink = { line = "taken" }\npair_button = { line = "statsu" }')
        self.start()
        self.await_pattern("status", "on", 20)
        said = self.said()
        self.assertRegex(said, r'LED radio cannot be used: line "twice": 2 lines have that name: offset 0 of gpiochip\d+ "second", '
                               r'offset 5 of gpiochip\d+ "third"; say on which chip, e.g. chip = "second" \[line-ambiguous\]')
        self.assertRegex(said, r'LED uplink cannot be used: line "taken" \(offset 4 of gpiochip\d+ "second"\) is in use by "somebody";.* \[line-busy\]')
        self.assertRegex(said, r'pair_button cannot be used: line "statsu": no line has that name; looked on gpiochip\d+ "board" \(8 lines\)')
        time.sleep(8)
        self.assertEqual(self.said().count("cannot be used"), 3, "said once, however often it is looked for")
        # The name becomes one line's alone, and somebody lets go of the other.
        third.vanish()
        second.vanish()
        (second.bank / "line4" / "hog").rmdir()
        second.appear()
        eye = Eye({"radio": second.value("twice"), "uplink": second.value("taken")})
        self.addCleanup(eye.close)
        self.until(lambda: self.said().count(" is there: GPIO line") == 2, 30, "both are taken up")
        since = time.monotonic()
        self.until(lambda: eye.sees("radio", "1 flash", since), 20, "the radio LED flashes")
        self.until(lambda: eye.sees("uplink", "on", since), 20, "the uplink LED is on")
        self.stop()

    def test_a_chip_that_is_missing_is_taken_when_it_comes(self):
        self.make_board()
        self.chip.vanish()
        self.configure(THREE)
        self.start()
        self.until(lambda: self.said().count("cannot be used") == 3, 20, "three complaints")
        time.sleep(3)
        begun = time.monotonic()
        self.chip.appear()
        eye = Eye({led: self.chip.value(led) for led in LEDS})
        self.addCleanup(eye.close)
        self.until(lambda: self.said().count("is there: GPIO line") == 3, 10, "all three are taken")
        self.assertLess(time.monotonic() - begun, 2, "the kernel tells of it, there is no waiting")
        self.until(lambda: eye.sees("status", "on", begun), 20, "lit as it should be")
        self.stop()

    def test_a_chip_that_vanishes_is_missed_and_taken_up_again(self):
        for how in ("vanish", "unbind"):
            with self.subTest(how):
                if how == "vanish":
                    self.make_board()
                    self.configure(THREE + '\npair_button = { line = "button" }')
                    self.start()
                    self.await_pattern("status", "on", 20)
                before = self.said().count("is lost")
                getattr(self.chip, how)()
                self.until(lambda: self.said().count("is lost") == before + 4, 20, "all four are missed")
                time.sleep(3)
                self.assertTrue(self.gateway.is_running())
                there = self.said().count("is there: GPIO line")
                self.chip.appear() if how == "vanish" else self.chip.bind()
                eye = Eye({led: self.chip.value(led) for led in LEDS})
                self.until(lambda: self.said().count("is there: GPIO line") == there + 4, 20, "all four are back")
                since = time.monotonic()
                self.until(lambda: eye.sees("uplink", "on", since), 20, "a steady LED is lit again")
                self.until(lambda: eye.sees("radio", "1 flash", since), 20, "a flashing one flashes")
                eye.close()
                self.assertNotIn("cannot be used", self.said(), "that what is gone is not there is no news")
        self.stop()

    def test_an_led_of_the_kernels_own(self):
        brightness: list[int] = []
        user = os.open("/dev/uleds", os.O_RDWR)
        os.write(user, b"green:test".ljust(64, b"\0") + (255).to_bytes(4, "little"))
        led = Path("/sys/class/leds/green:test")
        (led / "trigger").write_text("heartbeat")

        def watch() -> None:
            while True:
                try:
                    brightness.append(int.from_bytes(os.read(user, 4), "little"))
                except OSError:
                    return

        threading.Thread(target=watch, daemon=True).start()
        self.configure('status = { led = "green:test" }\nradio = { led = "green:tset" }')
        self.start()
        self.until(lambda: "[none]" in (led / "trigger").read_text(), 20, "its trigger is taken away")
        self.until(lambda: 'the kernel has no LED "green:tset"; there are' in self.said(), 20, "the wrong name is said")
        self.until(lambda: (led / "brightness").read_text() == "255\n", 20, "it is as bright as it can be")
        del brightness[:]
        self.until(lambda: brightness.count(0) >= 2, 40, "it dips")
        self.stop()
        self.assertEqual((led / "brightness").read_text(), "0\n")
        os.close(user)

    def test_a_refused_configuration_is_shown(self):
        self.make_board()
        self.configure('status = { line = "status" }\nradio = { line = "radio" }', more='[log]\nlevle = "info"')
        begun = self.start()
        self.await_pattern("status", "5 flashes", 30, since=begun)
        self.assertEqual(self.eye.flashes("radio", begun), [], "of what the others would say nothing is known")
        self.assert_dark("radio")
        self.assertIn("levle is not a known key", self.said())
        self.stop(status=78)
        self.assert_dark()

    def test_a_refused_configuration_ends_by_itself(self):
        self.make_board()
        self.configure('status = { line = "status" }', more='[log]\nlevle = "info"')
        begun = self.start()
        self.until(lambda: not self.gateway.is_running(), 80, "it ends")
        self.assertGreater(time.monotonic() - begun, 59)
        self.assertEqual(self.gateway.terminate(1), 78)
        self.assert_dark()

    def test_the_button(self):
        self.make_board()
        self.configure('pair_button = { line = "button", active = "low" }')
        self.start()
        self.until(lambda: "failed" not in self.status(), 20, "the daemon answers")
        self.assertEqual(self.chip.value("button").read_text().strip(), "1", "pulled towards the level at rest")

        def press(seconds: float, bounces: int = 0) -> None:
            for down in (True, False):
                for bounce in range(2 * bounces):
                    self.chip.pull("button", up=(bounce % 2 == 0) != down)
                self.chip.pull("button", up=not down)
                if down:
                    time.sleep(seconds)

        for number in range(1, 4):
            press(0.2, bounces=4)
            self.until(lambda: self.said().count("the pairing button was pressed") == number, 5, f"press {number}")
        time.sleep(0.5)
        self.assertEqual(self.said().count("the pairing button was pressed"), 3, "bounces are no presses")
        press(10.6)
        time.sleep(0.3)
        self.assertEqual(self.said().count("held for ten seconds: nothing is forgotten"), 1)
        self.assertEqual(self.said().count("the pairing button was pressed"), 3)
        self.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
