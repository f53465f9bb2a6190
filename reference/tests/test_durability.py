"""A receipt is a promise: it holds when the process dies right after it."""

import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from backend.store import Store
from backend.submission import parse
from tests.harness import PATIENCE, REFERENCE, Backend, authority, fresh_device, hub_request


class Durability(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="backend-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.device = fresh_device()

    def start(self) -> Backend:
        backend = Backend(self.directory)
        self.addCleanup(lambda: backend.process.poll() is None and backend.kill())
        return backend

    def held(self, backend: Backend) -> list[dict]:
        return backend.control(query="windows", device=self.device, log=7, from_=0, count=10_000)["windows"]

    def test_what_was_confirmed_is_there_after_a_kill_right_after_the_answer(self):
        backend = self.start()
        requests = [hub_request(number * 10, 10, device=self.device, gaps=f'(6 {number} 1);reason="unreadable"') for number in range(5)]
        replies = []
        for request in requests:
            replies.append(backend.send(request))
            backend.kill()
            backend = self.start()
        self.assertEqual([window["sequence"] for window in self.held(backend)], list(range(50)))
        self.assertEqual(backend.control(query="books")["gaps"], {"unreadable": {"ranges": 5, "sequences": 5}})
        # The promise includes the receipt itself: the same key gets the same bytes.
        again = [backend.send(request) for request in requests]
        self.assertEqual([(reply.status, reply.body) for reply in again], [(200, reply.body) for reply in replies])

    def test_what_was_stored_but_never_answered_gets_its_receipt_after_a_kill(self):
        backend = self.start()
        request = hub_request(100, 3, device=self.device, key="k")
        backend.control(fault="hold")
        sending = threading.Thread(target=lambda: self.assertRaises(OSError, backend.send, request), daemon=True)
        sending.start()
        backend.control.event()
        backend.kill()
        sending.join(PATIENCE)
        backend = self.start()
        self.assertEqual(backend.send(request).status, 200)
        self.assertEqual(len(self.held(backend)), 3)

    def test_the_database_promises_a_sync_at_each_commit(self):
        store = Store(self.directory / "books.sqlite")
        self.addCleanup(store.close)
        self.assertEqual(store._db.execute("PRAGMA synchronous").fetchone()[0], 2)
        self.assertEqual(store._db.execute("PRAGMA journal_mode").fetchone()[0], "wal")

    def test_the_stamp_is_read_after_the_commit_and_written_before_the_receipt_is_given_out(self):
        store = Store(self.directory / "books.sqlite")
        self.addCleanup(store.close)
        statements = []
        store._db.set_trace_callback(statements.append)
        request = hub_request(100, 1, device=self.device)
        store.submit(parse({name.lower(): [value] for name, value in request.headers.items()}, request.body))
        committed = statements.index("COMMIT")
        [stamped] = [index for index, statement in enumerate(statements) if "durable_at =" in statement]
        self.assertLess(committed, stamped)
        # Another reader sees it, so it is committed too.
        other = sqlite3.connect(self.directory / "books.sqlite")
        self.addCleanup(other.close)
        self.assertIsNotNone(other.execute("SELECT durable_at FROM submissions").fetchone()[0])

    def test_windows_left_without_a_stamp_by_a_kill_get_a_later_one_at_the_next_start(self):
        path = self.directory / "books.sqlite"
        store = Store(path)
        request = hub_request(100, 1, device=self.device)
        store.submit(parse({name.lower(): [value] for name, value in request.headers.items()}, request.body))
        store._db.execute("UPDATE submissions SET durable_at = NULL")
        store.close()
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        again = Store(path)
        self.addCleanup(again.close)
        [held] = again.windows(self.device, 7, 100, 1)
        self.assertGreaterEqual(held["durable_at_ns"], before)

    def test_one_request_sent_many_times_at_once_is_stored_once_and_gets_one_receipt(self):
        backend = self.start()
        request = hub_request(100, 20, device=self.device)
        replies = []
        threads = [threading.Thread(target=lambda: replies.append(backend.send(request))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(sorted(reply.status for reply in replies), [200] * 7 + [201])
        self.assertEqual(len({reply.body for reply in replies}), 1)
        self.assertEqual(len(self.held(backend)), 20)

    def test_sigterm_ends_it_with_success(self):
        self.assertEqual(self.start().stop(), 0)

    def test_what_it_cannot_use_is_named_and_it_does_not_start(self):
        sqlite3.connect(self.directory / "foreign").execute("CREATE TABLE theirs (x)").connection.close()
        (self.directory / "owners").write_text('{"anna": "same", "ben": "same"}')
        (self.directory / "good").write_text('{"anna": "token"}')
        for database, owners, problem in [("foreign", "good", "another program's database"), ("new", "owners", "has the token of"), ("new2", "missing", "No such file")]:
            with self.subTest(problem):
                done = subprocess.run([sys.executable, "-m", "backend", "--certificate", authority() / "server.pem", "--key", authority() / "server.key",
                                       "--database", self.directory / database, "--owners", self.directory / owners],
                                      cwd=REFERENCE, capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 1)
                self.assertIn(problem, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
