"""Whole runs with stand-ins for the two programs: a sound daemon passes every mishap, and each bug is found."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from demo.progress import Progress
from demo.story import Settings, Story

_DOUBLES = pathlib.Path(__file__).with_name("doubles")


class WholeRun(unittest.TestCase):
    def play(self, bug: str = "", **settings) -> tuple[bool, str]:
        out = io.StringIO()
        with tempfile.TemporaryDirectory(prefix="demo-") as directory, mock.patch.dict(os.environ, {"DEMO_DOUBLE_BUG": bug}), contextlib.redirect_stdout(out):
            held = Story(Settings(gateway=_DOUBLES / "gateway", collar=_DOUBLES / "collar", recording=pathlib.Path("/dev/null"), **settings),
                         pathlib.Path(directory), Progress(out)).play()
        return held, out.getvalue()

    def test_a_sound_daemon_holds_through_every_mishap(self):
        held, told = self.play(seed=1, backlog=3000)
        self.assertTrue(held, told)
        self.assertRegex(told, r"moments missed +0 ")
        self.assertRegex(told, r"kills +1[0-9]")

    def test_a_daemon_that_loses_a_batch_is_found_out(self):
        held, told = self.play("lose", seed=1, backlog=600, mishaps=False)
        self.assertFalse(held, told)
        self.assertRegex(told, r"lost +128 .* NOT HELD")

    def test_a_daemon_that_alters_a_window_is_found_out(self):
        held, told = self.play("alter", seed=1, backlog=600, mishaps=False)
        self.assertFalse(held, told)
        self.assertRegex(told, r"altered +1 .* NOT HELD")
        self.assertRegex(told, r"lost +0 ")

    def test_a_daemon_that_clears_before_the_receipt_is_found_out_although_nothing_is_lost(self):
        held, told = self.play("clear-early", seed=1, backlog=600, mishaps=False)
        self.assertFalse(held, told)
        self.assertRegex(told, r"cleared before settled +[1-9].* NOT HELD")
        self.assertRegex(told, r"lost +0 ")

    def test_a_daemon_that_does_not_start_breaks_the_run_off(self):
        out = io.StringIO()
        with tempfile.TemporaryDirectory(prefix="demo-") as directory, contextlib.redirect_stdout(out):
            held = Story(Settings(seed=1, gateway=pathlib.Path("/bin/false"), collar=_DOUBLES / "collar", recording=pathlib.Path("/dev/null")),
                         pathlib.Path(directory), Progress(out)).play()
        self.assertFalse(held)
        self.assertIn("the configuration is refused", out.getvalue())


if __name__ == "__main__":
    unittest.main()
