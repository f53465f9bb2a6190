"""What is accepted, and what is refused with a reason."""

import socket
import ssl
import struct
import unittest

from tests.harness import OWNERS, PATIENCE, BackendCase, HubRequest, authority, hub_request, window


class Accepted(BackendCase):
    def test_new_windows_get_201_and_a_receipt_that_repeats_what_was_sent(self):
        request = hub_request(100, 3, device=self.device, key="k-1", gaps='(7 90 10);reason="overwritten", (6 1 2);reason="reformatted"')
        reply = self.send(request)
        self.assertEqual((reply.status, reply.headers["content-type"]), (201, "application/json"))
        receipt = reply.json
        self.assertTrue(receipt.pop("receipt"))
        self.assertEqual(receipt, {"key": "k-1", "digest": request.headers["Content-Digest"], "log": 7, "first": 100, "accepted": 3, "gaps": 2, "rejected": []})
        self.assertEqual(self.held(), [100, 101, 102])

    def test_the_same_key_and_request_get_the_same_receipt_with_200(self):
        request = hub_request(device=self.device)
        first = self.send(request)
        again = self.send(request.having(Hub_Sent="1700009999"))
        self.assertEqual((first.status, again.status), (201, 200))
        self.assertEqual(first.body, again.body)

    def test_a_report_of_gaps_alone_gets_a_receipt(self):
        reply = self.send(hub_request(500, 0, device=self.device, gaps='(7 400 100);reason="withheld"'))
        self.assertEqual((reply.status, reply.json["accepted"], reply.json["gaps"]), (201, 0, 1))
        self.assertEqual(self.backend.control(query="gaps", device=self.device, log=7)["gaps"][0]["count"], 100)

    def test_sequences_wrap_at_two_to_the_32(self):
        first = 2**32 - 2
        reply = self.send(hub_request(first, 5, device=self.device))
        self.assertEqual((reply.status, reply.json["first"], reply.json["accepted"]), (201, first, 5))
        self.assertEqual(self.held(first, 5), [first, first + 1, 0, 1, 2])

    def test_a_range_that_jumps_to_zero_before_the_wrap_is_refused(self):
        body = window(2**32 - 2) + window(0)
        self.assert_refused(hub_request(2**32 - 2, 2, device=self.device, body=body), 400, "sequence", "body, window 1 at byte 322")

    def test_a_window_marked_damaged_is_rejected_alone_under_its_requested_sequence(self):
        spoiled = b"\xff" * 322
        body = window(100) + spoiled + window(102)
        reply = self.send(hub_request(100, 3, device=self.device, body=body, gaps='(7 101 1);reason="damaged"'))
        self.assertEqual(reply.status, 201, reply.body)
        self.assertEqual((reply.json["accepted"], reply.json["gaps"], reply.json["rejected"]), (2, 1, [{"sequence": 101, "code": "crc"}]))
        self.assertEqual(self.held(), [100, 102])

    def test_many_requests_go_over_one_connection(self):
        connection = self.backend.connect()
        self.addCleanup(connection.close)
        for number in range(5):
            self.assertEqual(self.backend.send(hub_request(number * 3, 3, device=self.device), connection).status, 201)
        refused = self.backend.send(hub_request(100, 1, device=self.device).having(Hub_First="x y"), connection)
        self.assertEqual(refused.status, 400)
        self.assertEqual(self.backend.send(hub_request(200, 1, device=self.device), connection).status, 201)

    def test_parameters_that_this_version_does_not_know_are_ignored(self):
        request = hub_request(device=self.device, gaps='(7 1 2);reason="overwritten";seen=4').having(Hub_Clock="unsynced;device=unset;later=1", Hub_Log="7;a=b")
        self.assertEqual(self.send(request).status, 201)


class Refused(BackendCase):
    options = ("--max-body", str(16 * 322))

    def request(self, **options) -> HubRequest:
        return hub_request(device=self.device, **options)

    def test_each_required_header_that_is_missing_is_named(self):
        request = self.request()
        for name in request.headers:
            with self.subTest(name):
                status, code = {"Authorization": (401, "token-missing"), "Content-Type": (415, "content-type")}.get(name, (400, "header-missing"))
                self.assert_refused(request.without(name), status, code, f"header {name}")

    def test_each_header_that_is_malformed_is_named(self):
        for name, bad in [("Idempotency-Key", "bare-token"), ("Idempotency-Key", '"open'), ("Content-Digest", "sha-256=abc"), ("Content-Digest", "md5=:YQ==:"),
                          ("Content-Digest", "sha-256=:%%:"), ("Hub-Device", "12"), ("Hub-Log", '"7"'), ("Hub-Log", "7.0"), ("Hub-Log", "?1"),
                          ("Hub-First", "1 2"), ("Hub-Count", "three"), ("Hub-Received", "soon"), ("Hub-Sent", '"1"'), ("Hub-Clock", "perhaps;device=set"),
                          ("Hub-Clock", '"synced";device=set'), ("Hub-Clock", "synced"), ("Hub-Clock", 'synced;device="set"'),
                          ("Hub-Clock", "synced;device=set;offset=1.5"), ("Hub-Clock", "unsynced;device=set;offset=1"), ("Hub-Gaps", ""), ("Hub-Gaps", "7 1 2"),
                          ("Hub-Gaps", '(7 1);reason="overwritten"'), ("Hub-Gaps", '(7 1 "2");reason="overwritten"'), ("Hub-Gaps", '(7 1 2);reason="overwritten",')]:
            with self.subTest(header=name, value=bad):
                self.assert_refused(self.request().having(**{name.replace("-", "_"): bad}), 400, "header-malformed", f"header {name}")

    def test_values_out_of_range_are_refused(self):
        for name, bad in [("Hub-Log", "4294967296"), ("Hub-First", "-1"), ("Hub-Received", "-1"), ("Idempotency-Key", '""'), ("Idempotency-Key", f'"{"k" * 256}"'),
                          ("Hub-Gaps", '(7 1 0);reason="overwritten"'), ("Hub-Gaps", '(7 4294967296 1);reason="overwritten"')]:
            with self.subTest(header=name, value=bad):
                self.assert_refused(self.request().having(**{name.replace("-", "_"): bad}), 400, "header-range", f"header {name}")

    def test_a_gap_needs_a_known_reason(self):
        for gaps in ['(7 1 2)', '(7 1 2);reason="lost"', '(7 1 2);reason=overwritten', '(7 1 2);reason=1']:
            with self.subTest(gaps):
                self.assert_refused(self.request(gaps=gaps), 400, "gap-reason", "header Hub-Gaps, member 0")

    def test_a_gap_that_contradicts_the_body_is_refused(self):
        for gaps in ['(7 1 2);reason="overwritten", (7 102 5);reason="unreadable"', '(7 1 2);reason="overwritten", (7 102 2);reason="damaged"',
                     '(7 1 2);reason="overwritten", (8 101 1);reason="damaged"']:
            with self.subTest(gaps):
                self.assert_refused(self.request(gaps=gaps), 400, "gap-range", "header Hub-Gaps, member 1")

    def test_a_header_that_is_there_twice_is_refused(self):
        request = self.request()
        lines = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        status, body = self.raw(f"POST {request.path} HTTP/1.1\r\nHost: x\r\n{lines}Hub-First: 100\r\nConnection: close\r\n"
                                f"Content-Length: {len(request.body)}\r\n\r\n".encode() + request.body)
        self.assertEqual(status, 400)
        self.assertIn(b"header-repeated", body)

    def test_a_digest_of_other_bytes_is_refused(self):
        request = self.request()
        request.body = request.body[:-1] + bytes([request.body[-1] ^ 1])
        self.assert_refused(request, 400, "digest", "header Content-Digest")

    def test_a_count_that_does_not_fit_the_body_is_refused(self):
        self.assert_refused(self.request().having(Hub_Count="2"), 400, "length", "header Hub-Count")

    def test_a_window_with_a_bad_crc_that_is_not_marked_is_refused_whole(self):
        body = window(100) + window(101)[:-1] + b"\x00" + window(102)
        self.assert_refused(self.request(body=body), 400, "crc", "body, window 1 at byte 322")

    def test_windows_out_of_order_are_refused(self):
        self.assert_refused(self.request(body=window(100) + window(102) + window(101)), 400, "sequence", "body, window 1 at byte 322")

    def test_nothing_at_all_is_refused(self):
        self.assert_refused(hub_request(100, 0, device=self.device), 400, "empty", "header Hub-Count")

    def test_an_unknown_token_gets_401_with_a_challenge(self):
        request = self.request().having(Authorization="Bearer nobody's")
        self.assert_refused(request, 401, "token-unknown", "header Authorization")
        self.assertIn("invalid_token", self.send(request).headers["www-authenticate"])

    def test_the_token_of_another_owner_gets_403(self):
        self.assert_refused(self.request().having(Authorization=f"Bearer {OWNERS['ben']}"), 403, "owner", "header Hub-Owner")

    def test_another_content_type_or_a_content_coding_gets_415(self):
        self.assert_refused(self.request().having(Content_Type="application/octet-stream"), 415, "content-type", "header Content-Type")
        self.assert_refused(self.request().having(Content_Encoding="gzip"), 415, "content-encoding", "header Content-Encoding")

    def test_a_body_beyond_the_limit_gets_413_and_one_at_the_limit_is_accepted(self):
        self.assert_refused(self.request(count=17), 413, "too-large", "header Content-Length")
        self.assertEqual(self.send(self.request(count=16)).status, 201)

    def test_with_expect_100_continue_a_big_body_is_refused_before_it_is_sent(self):
        status, body = self.raw(b"POST /v1/raw-windows HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
        self.assertEqual(status, 413)
        self.assertIn(b"too-large", body)

    def test_another_path_and_another_method_are_refused(self):
        self.assert_refused(HubRequest(self.request().headers, b"", path="/v1/other"), 404, "path", "request target")
        self.assert_refused(HubRequest({}, b"", method="GET"), 405, "method", "request method")

    def test_a_body_without_a_length_gets_411(self):
        status, body = self.raw(b"POST /v1/raw-windows HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        self.assertEqual(status, 411)

    def test_what_is_not_http_gets_a_problem_document_too(self):
        status, body = self.raw(b"\x16\x03\x01nonsense\r\n\r\n")
        self.assertEqual(status, 400)
        self.assertIn(b'"code": "http"', body)

    def raw(self, data: bytes) -> tuple[int, bytes]:
        context = ssl.create_default_context(cafile=str(authority() / "ca.pem"))
        with socket.create_connection(("127.0.0.1", self.backend.port), PATIENCE) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
            secure.sendall(data)
            # The server reads on after a refusal, so it closes once it sees our end.
            answer = b""
            while b"\r\n\r\n" not in answer or b"}" not in answer:
                chunk = secure.recv(65536)
                if not chunk:
                    break
                answer += chunk
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body


class Duplicates(BackendCase):
    def test_windows_held_already_are_accepted_under_another_key_and_kept_once(self):
        self.send(hub_request(100, 5, device=self.device))
        before = self.backend.control(query="books")["windows"]
        reply = self.send(hub_request(103, 5, device=self.device))
        after = self.backend.control(query="books")["windows"]
        self.assertEqual((reply.status, reply.json["accepted"], reply.json["rejected"]), (201, 5, []))
        self.assertEqual(self.held(), list(range(100, 108)))
        self.assertEqual((after["distinct"] - before["distinct"], after["duplicates"] - before["duplicates"]), (3, 2))

    def test_other_bytes_under_a_held_sequence_are_rejected_as_conflict_and_change_nothing(self):
        self.send(hub_request(100, 3, device=self.device))
        before = self.backend.control(query="windows", device=self.device, log=7, from_=100, count=3)
        reply = self.send(hub_request(100, 4, device=self.device, body=window(100) + window(101, filler=9) + window(102) + window(103)))
        self.assertEqual((reply.json["accepted"], reply.json["rejected"]), (3, [{"sequence": 101, "code": "conflict"}]))
        after = self.backend.control(query="windows", device=self.device, log=7, from_=100, count=3)
        self.assertEqual(before, after)
        self.assertEqual(self.held(), [100, 101, 102, 103])

    def test_a_rejected_window_counts_as_rejected_not_as_duplicate(self):
        self.send(hub_request(100, 1, device=self.device))
        before = self.backend.control(query="books")["windows"]
        self.send(hub_request(100, 2, device=self.device, body=window(100, filler=9) + window(101)))
        after = self.backend.control(query="books")["windows"]
        self.assertEqual((after["offered"] - before["offered"], after["distinct"] - before["distinct"], after["duplicates"] - before["duplicates"],
                          after["rejected"]["conflict"] - before["rejected"].get("conflict", 0)), (2, 1, 0, 1))

    def test_the_same_sequence_of_another_log_or_device_is_another_window(self):
        self.send(hub_request(100, 1, device=self.device, log=1))
        self.assertEqual(self.send(hub_request(100, 1, device=self.device, log=2, body=window(100, filler=1))).json["rejected"], [])
        self.assertEqual(self.send(hub_request(100, 1, device=self.device + "-B", log=1, body=window(100, filler=2))).json["rejected"], [])

    def test_a_window_held_for_one_owner_is_never_given_to_another(self):
        self.send(hub_request(100, 2, device=self.device, owner="anna"))
        reply = self.send(hub_request(100, 3, device=self.device, owner="ben"))
        self.assertEqual(reply.json["rejected"], [{"sequence": 100, "code": "conflict"}, {"sequence": 101, "code": "conflict"}])
        audit = self.backend.control(query="audit")
        self.assertEqual(audit["stored_for_two"], [])
        self.assertEqual([entry for entry in audit["offered_for_another"] if entry["device"] == self.device],
                         [{"device": self.device, "log": 7, "sequence": sequence, "held_for": "anna", "offered_for": "ben"} for sequence in (100, 101)])

    def test_a_key_with_another_body_gets_422_and_stores_nothing(self):
        self.send(hub_request(100, 3, device=self.device, key=f"{self.device}-k"))
        reply = self.send(hub_request(200, 3, device=self.device, key=f"{self.device}-k"))
        self.assertEqual((reply.status, reply.json["code"], reply.json["where"]), (422, "key-reused", "header Idempotency-Key"))
        self.assertEqual(self.held(), [100, 101, 102])

    def test_a_key_with_the_same_body_and_other_headers_gets_422(self):
        self.send(hub_request(0, 0, device=self.device, key=f"{self.device}-k", gaps='(7 1 2);reason="withheld"'))
        reply = self.send(hub_request(0, 0, device=self.device, key=f"{self.device}-k", gaps='(7 1 3);reason="withheld"'))
        self.assertEqual(reply.status, 422)

    def test_one_owners_key_says_nothing_about_anothers(self):
        key = f"{self.device}-k"
        self.send(hub_request(100, 1, device=self.device, key=key, owner="anna"))
        reply = self.send(hub_request(500, 1, device=self.device, key=key, owner="ben"))
        self.assertEqual((reply.status, reply.json["first"]), (201, 500))

    def test_gaps_held_already_are_counted_once(self):
        for _ in range(2):
            reply = self.send(hub_request(0, 0, device=self.device, gaps='(7 10 5);reason="unreadable", (7 20 5);reason="unreadable"'))
            self.assertEqual((reply.status, reply.json["gaps"]), (201, 2))
        self.assertEqual(len(self.backend.control(query="gaps", device=self.device, log=7)["gaps"]), 2)

    def test_the_books_are_kept_per_owner(self):
        self.send(hub_request(100, 2, device=self.device, owner="ben"))
        owners = self.backend.control(query="books")["owners"]
        logs = [entry for entry in self.backend.control(query="books")["logs"] if entry["device"] == self.device]
        self.assertGreaterEqual(owners["ben"]["windows"]["distinct"], 2)
        self.assertEqual(logs, [{"device": self.device, "log": 7, "owner": "ben", "windows": 2}])


class Wire(BackendCase):
    def test_what_is_stored_is_what_was_sent(self):
        import hashlib
        self.send(hub_request(100, 3, device=self.device))
        held = self.backend.control(query="windows", device=self.device, log=7, from_=100, count=3)["windows"]
        self.assertEqual([entry["sha256"] for entry in held], [hashlib.sha256(window(sequence)).hexdigest() for sequence in (100, 101, 102)])
        self.assertEqual({entry["owner"] for entry in held}, {"anna"})

    def test_requests_are_listed_without_the_token(self):
        before = self.backend.control(query="requests")["requests"]
        request = hub_request(device=self.device)
        self.send(request)
        [entry] = self.backend.control(query="requests", after=before[-1]["number"] if before else 0)["requests"]
        headers = dict(map(tuple, entry["headers"]))
        self.assertEqual((entry["method"], entry["path"], entry["status"], entry["body_bytes"]), ("POST", "/v1/raw-windows", 201, 3 * 322))
        self.assertEqual(headers["hub-device"], f'"{self.device}"')
        self.assertRegex(headers["authorization"], r"^Bearer sha256:[0-9a-f]{12}$")
        self.assertLessEqual(entry["at_boottime_ns"], entry["answered_at_ns"])
        self.assertNotIn(OWNERS["anna"], str(entry))

    def test_the_stamp_lies_between_the_arrival_and_the_answer(self):
        self.send(hub_request(100, 1, device=self.device))
        entry = self.backend.control(query="requests")["requests"][-1]
        [held] = self.backend.control(query="windows", device=self.device, log=7, from_=100, count=1)["windows"]
        self.assertLess(entry["at_boottime_ns"], held["durable_at_ns"])
        self.assertLess(held["durable_at_ns"], entry["answered_at_ns"])

    def test_old_tls_is_refused(self):
        context = ssl.create_default_context(cafile=str(authority() / "ca.pem"))
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        with self.assertWarns(DeprecationWarning):
            context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", self.backend.port), PATIENCE) as plain, self.assertRaises(OSError):
            context.wrap_socket(plain, server_hostname="127.0.0.1")

    def test_a_peer_that_never_shakes_hands_holds_up_nobody(self):
        with socket.create_connection(("127.0.0.1", self.backend.port), PATIENCE) as silent:
            self.assertEqual(self.send(hub_request(device=self.device)).status, 201)

    def test_peers_that_reset_the_connection_at_once_hold_up_nobody(self):
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", self.backend.port), PATIENCE) as rude:
                rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertEqual(self.send(hub_request(device=self.device)).status, 201)


if __name__ == "__main__":
    unittest.main()
