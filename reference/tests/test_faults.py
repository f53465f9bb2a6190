"""Each wrong answer that the control socket can ask for, as a client meets it."""

import email.utils
import errno
import http.client
import json
import socket
import ssl
import time
import unittest

from backend.receipt import MAX_BYTES
from tests.harness import PATIENCE, Background, BackendCase, HubRequest, authority, hub_request


class Faults(BackendCase):
    def request(self, count: int = 3, **options) -> HubRequest:
        return hub_request(100, count, device=self.device, **options)

    def fault(self, kind: str, **keys) -> int:
        return self.backend.control(fault=kind, **keys)["rule"]

    def last_request(self) -> dict:
        return self.backend.control(query="requests")["requests"][-1]

    def assert_no_answer(self, request: HubRequest) -> None:
        with self.assertRaises((http.client.RemoteDisconnected, http.client.IncompleteRead, ConnectionError, ssl.SSLError)):
            self.send(request)

    def in_background(self, request: HubRequest) -> Background:
        background = Background(lambda: self.send(request))
        self.addCleanup(background.thread.join, PATIENCE)
        return background

    # Status codes

    def test_any_status_can_be_answered_and_nothing_is_stored(self):
        for status in (300, 308, 400, 401, 403, 404, 408, 409, 413, 415, 422, 425, 429, 500, 502, 503, 504, 511):
            with self.subTest(status):
                self.fault("status", status=status)
                self.assertEqual(self.send(self.request()).status, status)
                self.assertEqual(self.held(), [])

    def test_a_2xx_can_have_no_content(self):
        self.fault("status", status=204)
        reply = self.send(self.request())
        self.assertEqual((reply.status, reply.body), (204, b""))

    def test_retry_after_comes_as_seconds_or_as_a_date(self):
        self.fault("status", status=503, retry_after=7)
        self.fault("status", status=429, retry_after_date=3600)
        self.fault("status", status=429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
        self.assertEqual(self.send(self.request()).headers["retry-after"], "7")
        date = email.utils.parsedate_to_datetime(self.send(self.request()).headers["retry-after"]).timestamp()
        self.assertAlmostEqual(date - time.time(), 3600, delta=60)
        self.assertEqual(self.send(self.request()).headers["retry-after"], "Wed, 21 Oct 2015 07:28:00 GMT")

    def test_a_redirection_has_its_location(self):
        self.fault("status", status=302, location="https://login.example/")
        reply = self.send(self.request())
        self.assertEqual((reply.status, reply.headers["location"]), (302, "https://login.example/"))

    def test_a_status_can_hide_that_the_request_was_stored(self):
        self.fault("status", status=500, store=True)
        self.assertEqual(self.send(self.request()).status, 500)
        self.assertEqual(self.held(), [100, 101, 102])

    # Rules

    def test_a_rule_holds_for_its_count_of_requests(self):
        self.fault("status", status=500, count=2)
        self.assertEqual([self.send(self.request()).status for _ in range(3)], [500, 500, 201])

    def test_a_rule_with_count_0_holds_until_it_is_cleared(self):
        self.fault("status", status=500, count=0)
        self.assertEqual([self.send(self.request()).status for _ in range(3)], [500] * 3)
        self.assertEqual(self.backend.control(query="faults")["faults"][0]["left"], None)
        self.backend.control(do="clear-faults")
        self.assertEqual(self.send(self.request()).status, 201)

    def test_a_rule_can_skip_requests(self):
        self.fault("status", status=500, skip=1)
        self.assertEqual([self.send(self.request()).status for _ in range(3)], [201, 500, 201])

    def test_a_rule_can_be_for_one_owner_one_key_or_big_bodies(self):
        self.fault("status", status=401, owner="ben")
        self.fault("status", status=422, key=f"{self.device}-k")
        self.fault("status", status=413, more_than=3, count=0)
        self.assertEqual(self.send(self.request()).status, 201)
        self.assertEqual(self.send(self.request(owner="ben")).status, 401)
        self.assertEqual(self.send(self.request(key=f"{self.device}-k")).status, 422)
        self.assertEqual([self.send(self.request(count)).status for count in (4, 3, 5)], [413, 201, 413])

    def test_a_rule_that_makes_no_sense_is_refused_with_a_reason(self):
        for rule in [{"fault": "unknown"}, {"fault": "status"}, {"fault": "status", "status": 99}, {"fault": "portal", "status": 200}, {"fault": "receipt", "change": "colour"},
                     {"fault": "delay"}, {"fault": "drip"}, {"fault": "portal", "count": -1}]:
            with self.subTest(rule):
                answer = self.backend.control.raw(json.dumps(rule).encode())
                self.assertFalse(answer["ok"])
                self.assertTrue(answer["error"])

    def test_a_line_that_makes_no_sense_is_answered(self):
        for line in [b"", b"[]", b"{", b"{}", b'{"do": "dance"}', b'{"query": "weather"}', b'{"query": "windows"}', b'{"release": "nobody"}',
                     b'{"query": "windows", "device": "x", "log": 1, "from": -1, "count": 1}', b'{"do": "certificate", "certificate": "/none", "key": "/none"}']:
            with self.subTest(line):
                self.assertFalse(self.backend.control.raw(line)["ok"])

    # 200 without a receipt

    def test_a_captive_portal_answers_200_with_html(self):
        self.fault("portal")
        reply = self.send(self.request())
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "text/html"))
        self.assertEqual(self.held(), [])

    def test_a_200_with_json_that_is_no_receipt(self):
        self.fault("no-receipt")
        reply = self.send(self.request())
        self.assertEqual((reply.status, reply.json), (200, {"status": "ok"}))

    def test_a_receipt_under_another_content_type(self):
        self.fault("receipt-type")
        reply = self.send(self.request())
        self.assertEqual((reply.headers["content-type"], reply.json["accepted"]), ("text/plain", 3))

    def test_each_member_of_a_receipt_can_be_wrong_by_itself(self):
        request = self.request(gaps='(7 1 2);reason="overwritten"')
        right = {"key": request.headers["Idempotency-Key"].strip('"'), "digest": request.headers["Content-Digest"], "log": 7, "first": 100, "accepted": 3, "gaps": 1, "rejected": []}
        for member in ("receipt", *right):
            with self.subTest(member):
                if member == "rejected":
                    continue
                self.fault("receipt", change=member)
                found = self.send(request).json
                for other, value in right.items():
                    (self.assertNotEqual if other == member else self.assertEqual)(found[other], value)
                self.assertEqual(found["receipt"] is None, member == "receipt")
        self.assertEqual(self.held(), [])

    def test_a_receipt_can_have_members_of_the_callers_choice(self):
        self.fault("receipt", change={"log": "seven", "accepted": None})
        found = self.send(self.request()).json
        self.assertEqual((found["log"], found["accepted"], found["first"]), ("seven", None, 100))

    def test_the_list_of_rejected_windows_can_be_wrong(self):
        for change, accepted, rejected in [("rejected-foreign", 2, [(100, "crc")]), ("rejected-duplicate", 1, [(100, "conflict")] * 2),
                                           ("rejected-out-of-range", 2, [(103, "conflict")])]:
            with self.subTest(change):
                self.fault("receipt", change=change)
                found = self.send(self.request()).json
                self.assertEqual((found["accepted"], [(entry["sequence"], entry["code"]) for entry in found["rejected"]]), (accepted, rejected))

    def test_a_receipt_can_be_bigger_than_a_hub_reads(self):
        self.fault("oversized")
        reply = self.send(self.request())
        self.assertGreater(len(reply.body), MAX_BYTES)
        self.assertEqual(reply.json["accepted"], 3)

    # Time and connections

    def test_an_answer_can_be_late_and_slow(self):
        self.fault("delay", seconds=0.2)
        began = time.monotonic()
        self.assertEqual(self.send(self.request()).status, 201)
        self.assertGreaterEqual(time.monotonic() - began, 0.2)
        self.fault("drip", interval=0.001)
        reply = self.send(self.request())
        self.assertEqual((reply.status, reply.json["accepted"]), (201, 3))
        self.assertEqual(self.last_request()["fault"], "drip")

    def test_an_answer_can_stall_until_the_hub_hangs_up(self):
        self.fault("stall")
        connection = self.backend.connect()
        connection.request("POST", "/v1/raw-windows", self.request().body, self.request().headers)
        connection.sock.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            connection.getresponse()
        connection.close()
        self.assertEqual(self.held(), [])

    def test_the_connection_can_close_before_anything_is_stored(self):
        self.fault("close-before")
        self.assert_no_answer(self.request())
        self.assertEqual(self.held(), [])
        self.assertEqual((self.last_request()["status"], self.last_request()["fault"]), (None, "close-before"))

    def test_the_connection_can_close_after_storing_and_the_same_request_then_gets_its_receipt(self):
        request = self.request()
        self.fault("close-after")
        self.assert_no_answer(request)
        self.assertEqual(self.held(), [100, 101, 102])
        self.assertEqual(self.send(request).status, 200)

    def test_an_answer_can_be_cut_in_half(self):
        self.fault("truncate")
        self.assert_no_answer(self.request())
        self.assertEqual(self.held(), [100, 101, 102])

    def test_a_held_answer_is_stored_then_announced_then_released(self):
        self.fault("hold")
        sending = self.in_background(self.request(key=f"{self.device}-k"))
        self.assertEqual(self.backend.control.event(), {"event": "stored-held", "key": f"{self.device}-k"})
        self.assertEqual(self.held(), [100, 101, 102])
        self.assertIsNone(self.last_request()["status"])
        self.backend.control(release=f"{self.device}-k")
        self.assertEqual(sending.reply().status, 201)

    def test_a_held_answer_can_be_dropped(self):
        self.fault("hold")
        request = self.request(key=f"{self.device}-k")
        sending = self.in_background(request)
        self.backend.control.event()
        self.backend.control(drop=f"{self.device}-k")
        with self.assertRaises((http.client.RemoteDisconnected, ConnectionError)):
            sending.reply()
        self.assertEqual(self.send(request).status, 200)

    def test_a_hold_does_not_hold_a_request_that_is_wrong_by_itself(self):
        self.fault("hold")
        self.assertEqual(self.send(self.request().having(Hub_First="99")).status, 400)

    def test_offline_refuses_connections_and_online_takes_them_on_the_same_port(self):
        connection = self.backend.connect()
        self.addCleanup(connection.close)
        self.assertEqual(self.backend.send(self.request(), connection).status, 201)
        for _ in range(3):
            self.backend.control(do="offline")
            with self.assertRaises(ConnectionRefusedError):
                self.send(self.request())
            self.backend.control(do="online")
            self.assertEqual(self.send(self.request()).status, 201)
        self.backend.control(do="online")
        # The connection from before was closed, not merely forgotten.
        with self.assertRaises((http.client.RemoteDisconnected, ConnectionError, ssl.SSLError)):
            self.backend.send(self.request(), connection)

    def test_nobody_else_gets_the_port_while_it_is_offline(self):
        self.backend.control(do="offline")
        self.addCleanup(lambda: self.backend.control(do="online"))
        with socket.socket() as other, self.assertRaises(OSError) as caught:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            other.bind(("127.0.0.1", self.backend.port))
        self.assertEqual(caught.exception.errno, errno.EADDRINUSE)

    def test_offline_drops_an_answer_that_is_held(self):
        self.fault("hold")
        sending = self.in_background(self.request(key=f"{self.device}-k"))
        self.backend.control.event()
        self.backend.control(do="offline")
        self.backend.control(do="online")
        with self.assertRaises((http.client.RemoteDisconnected, ConnectionError, ssl.SSLError)):
            sending.reply()

    def test_the_certificate_can_be_one_that_must_be_refused(self):
        self.addCleanup(lambda: self.use_certificate("server"))
        for kind, reason in [("expired", "expired"), ("not-yet-valid", "not yet valid"), ("wrong-name", "IP address mismatch"), ("other-ca", "unable to get local issuer")]:
            with self.subTest(kind):
                self.use_certificate(kind)
                with self.assertRaises(ssl.SSLCertVerificationError) as caught:
                    self.send(self.request())
                self.assertIn(reason, str(caught.exception))
        self.use_certificate("server")
        self.assertEqual(self.send(self.request()).status, 201)

    def use_certificate(self, kind: str) -> None:
        self.backend.control(do="certificate", certificate=str(authority() / f"{kind}.pem"), key=str(authority() / f"{kind}.key"))

    # Owners

    def test_tokens_can_change_while_it_runs(self):
        owners = self.backend.directory / "owners.json"
        before = owners.read_text()
        self.addCleanup(lambda: (owners.write_text(before), self.backend.control(do="reload-owners")))
        owners.write_text('{"anna": "a new token"}')
        self.backend.control(do="reload-owners")
        self.assertEqual(self.send(self.request()).status, 401)
        self.assertEqual(self.send(self.request().having(Authorization="Bearer a new token")).status, 201)
        owners.write_text("{ broken")
        self.assertFalse(self.backend.control.raw(b'{"do": "reload-owners"}')["ok"])
        self.assertEqual(self.send(self.request().having(Authorization="Bearer a new token")).status, 201)


if __name__ == "__main__":
    unittest.main()
