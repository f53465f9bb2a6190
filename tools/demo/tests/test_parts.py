"""The parts that need no other process of ours."""

import io
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

from demo import closing, moments, proc, workplace
from demo.books import Findings
from demo.processes import ProcessError, Program, Terminal
from demo.progress import Progress
from demo.storage import WriteWatch, pages_in_flight, queued_on_disk


class Part(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="demo-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)


class Table(unittest.TestCase):
    def findings(self, **changes) -> Findings:
        return Findings(**{**dict(produced=7300, delivered=7250, repeated=256, duplicates=0, gaps={}, cleared=7250, held=50, lost=[], altered=[], cleared_early=[], invented=[],
                                  misfiled=[], unfounded_gaps=[], unfounded_clears=[]), **changes})

    def run_seen(self, **changes) -> closing.Run:
        return closing.Run(**{**dict(kills=9, deepest_queue=16, usage=proc.Usage(9000, 4000, 2, {"gateway", "storage"}), stop_seconds=0.2, stop_status=0, missed=[], finished=True),
                              **changes})

    def failing(self, findings: Findings, run: closing.Run) -> list[str]:
        return [row.name for row in closing.rows(findings, run) if row.holds is False]

    def test_a_sound_run_holds(self):
        table = closing.rows(self.findings(), self.run_seen())
        self.assertTrue(closing.all_held(table), closing.draw(table))
        self.assertRegex(closing.draw(table), r"produced +7,300")

    def test_each_thing_that_must_not_be_fails_the_run_and_is_named(self):
        for change, name in [({"lost": [(7, 1)]}, "lost"), ({"altered": [(7, 1)]}, "altered"), ({"cleared_early": [(7, 1)]}, "cleared before settled"),
                             ({"invented": [(7, 1)]}, "delivered, but never produced"), ({"misfiled": [(7, 1)]}, "delivered for another owner"),
                             ({"unfounded_gaps": [(7, 1)]}, "reported as gaps without reason"), ({"unfounded_clears": [None]}, "cleared, but never produced"),
                             ({"duplicates": 1}, "of those under another key than before"), ({"delivered": 0}, "delivered"), ({"produced": 0}, "produced"), ({"cleared": 0}, "cleared")]:
            with self.subTest(name):
                self.assertEqual(self.failing(self.findings(**change), self.run_seen()), [name])

    def test_each_promise_of_the_daemon_is_checked(self):
        for change, name in [({"deepest_queue": 21}, "highest queue depth"), ({"deepest_queue": None}, "highest queue depth"), ({"missed": ["before a read"]}, "moments missed"),
                             ({"finished": False}, "all delivered and cleared in time"), ({"usage": proc.Usage(9000, 4000, 4, set())}, "threads of the daemon, most"),
                             ({"usage": proc.Usage()}, "threads of the daemon, most"), ({"stop_seconds": None, "stop_status": None}, "stopped by SIGTERM"),
                             ({"stop_status": 1}, "stopped by SIGTERM")]:
            with self.subTest(name=name, **change):
                self.assertEqual(self.failing(self.findings(), self.run_seen(**change)), [name])


class Schedule(unittest.TestCase):
    def test_every_crash_point_is_in_every_schedule_and_the_seed_decides_the_order(self):
        names = [[moment.name for moment in moments.schedule(random.Random(seed))] for seed in (1, 1, 2)]
        self.assertEqual(names[0], names[1])
        self.assertNotEqual(names[0], names[2])
        for each in names:
            self.assertLessEqual({moment.name for moment in moments.FOUND}, set(each))
            self.assertGreaterEqual(each.count("at a random instant"), 3)
            self.assertIn("link drop", each)
            self.assertEqual((each.count("outage"), "outage" in each[:3]), (1, True))


class Configuration(Part):
    def test_every_name_in_the_template_is_filled_in_and_secrets_are_private(self):
        place = workplace.prepare(self.directory, random.Random(1))
        workplace.write_config(place, 4711)
        text = place.config.read_text()
        self.assertNotIn("@", text)
        self.assertIn('base = "https://127.0.0.1:4711"', text)
        self.assertIn(place.serial, text)
        self.assertEqual(place.token_file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(place.outbox.parent.stat().st_mode & 0o777, 0o700)
        self.assertLess(len(str(place.gateway_control)), 107)

    def test_every_shortened_interval_is_told(self):
        told = "; ".join(workplace.shortened_intervals())
        self.assertIn("usually 5 s", told)
        marked = [line for line in pathlib.Path(workplace.__file__).with_name("gateway.toml.in").read_text().splitlines() if "shortened from" in line and not line.startswith("#")]
        self.assertEqual(len(workplace.shortened_intervals()), 2 + len(marked))


class Storage(Part):
    WRITER = ("import sqlite3, sys, time\n"
              "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
              "db.executescript('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=2; CREATE TABLE IF NOT EXISTS t (b BLOB)')\n"
              "print('ready', flush=True)\n"
              "sys.stdin.readline()\n"
              "db.execute('BEGIN')\n"
              "for _ in range(50):\n"
              "    db.execute('INSERT INTO t VALUES (zeroblob(40000))')\n"
              "if sys.argv[2] == 'commit': db.execute('COMMIT')\n"
              "print('done', flush=True)\n"
              "sys.stdin.readline()\n")

    def writer(self, how: str) -> subprocess.Popen:
        process = subprocess.Popen([sys.executable, "-c", self.WRITER, self.directory / "outbox.db", how], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdin.close(), process.stdout.close()))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_the_first_write_is_noticed_and_silence_is_told_from_it(self):
        watch = WriteWatch(self.directory / "outbox.db")
        self.addCleanup(watch.close)
        process = self.writer("commit")
        self.assertTrue(watch.wait_quiet(0.1, 10))
        self.assertFalse(watch.wait_write(0.05))
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertTrue(watch.wait_write(10))

    def test_a_kill_inside_a_transaction_leaves_pages_without_a_commit_and_none_after_it(self):
        for how in ("no commit", "commit"):
            with self.subTest(how):
                process = self.writer(how)
                process.stdin.write(b"\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), b"done\n")
                process.kill()
                process.wait()
                self.assertEqual(pages_in_flight(self.directory / "outbox.db") > 0, how == "no commit")

    def test_the_queue_on_disk_is_counted_from_what_a_kill_left(self):
        outbox = self.directory / "outbox.db"
        self.assertIsNone(queued_on_disk(outbox))
        script = ("import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                  "db.executescript('PRAGMA journal_mode=WAL; PRAGMA locking_mode=EXCLUSIVE; CREATE TABLE entry (state INTEGER); INSERT INTO entry VALUES (0), (0), (1)')\n"
                  "print('ready', flush=True)\nsys.stdin.readline()\n")
        process = subprocess.Popen([sys.executable, "-c", script, outbox], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(lambda: (process.stdin.close(), process.stdout.close()))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.kill()
        process.wait()
        self.assertEqual(queued_on_disk(outbox), 2)

    def test_without_a_log_nothing_is_in_flight(self):
        self.assertEqual(pages_in_flight(self.directory / "outbox.db"), 0)
        (self.directory / "outbox.db-wal").write_bytes(b"garbage" * 100)
        self.assertEqual(pages_in_flight(self.directory / "outbox.db"), 0)


class Programs(Part):
    def program(self, script: str) -> Program:
        program = Program("child", [sys.executable, "-c", script], self.directory)
        self.addCleanup(lambda: program.terminate(10))
        return program

    def test_a_kill_is_a_kill_and_the_next_start_is_another_run(self):
        program = self.program("import time; print('here', flush=True); time.sleep(600)")
        program.start()
        program.kill()
        self.assertFalse(program.is_running())
        program.start()
        self.assertTrue(program.is_running())
        self.assertIn("-- run 2", program.log.read_text())

    def test_a_program_that_ended_by_itself_is_reported_with_its_last_words(self):
        program = self.program("import sys; sys.exit('I give up')")
        program.start()
        program._process.wait()
        with self.assertRaisesRegex(ProcessError, "status 1(.|\n)*I give up"):
            program.check()
        with self.assertRaises(ProcessError):
            program.kill()

    def test_a_program_that_ignores_sigterm_is_killed_and_that_is_told(self):
        program = self.program("import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.stdout.write('x\\n'); sys.stdout.flush(); time.sleep(600)")
        said = threading.Event()
        terminal = Terminal(lambda line: said.set())
        program.start(stdout=terminal.slave)
        terminal.attached()
        self.assertTrue(said.wait(10))
        self.assertIsNone(program.terminate(0.2))
        self.assertFalse(program.is_running())

    def test_the_terminal_delivers_whole_lines(self):
        lines: list[str] = []
        done = threading.Event()
        terminal = Terminal(lambda line: (lines.append(line), done.set() if line == "end" else None))
        program = self.program("print('one\\rtwo'); print('end')")
        program.start(stdout=terminal.slave)
        terminal.attached()
        self.assertTrue(done.wait(10))
        self.assertEqual([line for line in lines if line], ["one", "two", "end"])

    def test_the_meter_reads_this_very_process(self):
        meter = proc.Meter()
        name = pathlib.Path("/proc/self/comm").read_text().strip()
        meter.sample(int(pathlib.Path("/proc/self").resolve().name), name)
        self.assertGreater(meter.usage.resident, meter.usage.anonymous)
        self.assertGreaterEqual(meter.usage.threads, 1)
        self.assertIn(name, meter.usage.thread_names)

    def test_the_meter_passes_over_what_is_not_the_program(self):
        meter = proc.Meter()
        meter.sample(1, "certainly-not")
        meter.sample(2**22 + 1, "gateway")
        self.assertEqual(meter.usage, proc.Usage())


class Lines(unittest.TestCase):
    def test_the_board_loses_its_control_codes_and_is_drawn_with_the_facts(self):
        out = io.StringIO()
        progress = Progress(out, every=0)
        progress.board("\x1b[2K\x1b[32m status * \x1b[0m radio o")
        progress.draw(50, 100, "queue 3")
        self.assertIn("[############............] 50 of 100  queue 3", out.getvalue())
        self.assertIn("status *  radio o", out.getvalue())
        self.assertNotIn("\x1b", out.getvalue())


if __name__ == "__main__":
    unittest.main()
