"""Readings: Bundles of conditional creates, whole or not at all, each resource once and under one owner."""

import base64
import hashlib
import itertools
import json
import pathlib
import tempfile
import unittest
import uuid

from tests.harness import OWNERS, Backend, BackendCase, HubRequest, Reply

_numbers = itertools.count(1)


def observation(identifier: str, patient: str = "Patient/anna", value: str = "120.0", **members) -> dict:
    return {"resourceType": "Observation", "identifier": [{"value": identifier}], "status": "final", "subject": {"reference": patient},
            "code": {"coding": [{"system": "http://loinc.org", "code": "85354-9"}]}, "valueQuantity": {"value": Digits(value)}, **members}


class Digits(float):
    """A number that is written as it was given."""

    def __new__(cls, text: str):
        number = super().__new__(cls, text)
        number.text = text
        return number


def url(name: str) -> str:
    return f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, name)}"


def entry(resource: dict) -> dict:
    name = resource["identifier"][0]["value"]
    return {"fullUrl": url(name), "resource": resource, "request": {"method": "POST", "url": resource["resourceType"], "ifNoneExist": f"identifier={name}"}}


def device(serial: str) -> dict:
    return {"resourceType": "Device", "identifier": [{"value": serial}], "serialNumber": serial}


def text(value) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{text(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    return value.text if isinstance(value, Digits) else json.dumps(value)


def bundle_request(*resources: dict, owner: str = "anna", key: str | None = None, body: bytes | None = None) -> HubRequest:
    if body is None:
        body = text({"resourceType": "Bundle", "type": "transaction", "entry": [entry(resource) for resource in resources]}).encode()
    headers = {
        "Authorization": f"Bearer {OWNERS[owner]}", "Content-Type": "application/fhir+json", "Accept": "application/fhir+json", "Prefer": "return=minimal",
        "Idempotency-Key": f'"{key or f"readings-{next(_numbers)}"}"', "Hub-Owner": f'"{owner}"', "Hub-Sent": "1700000600",
        "Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:",
    }
    return HubRequest(headers, body, path="/v1/readings")


def statuses(reply: Reply) -> list[str]:
    return [each["response"]["status"][:3] for each in reply.json["entry"]]


class Readings(BackendCase):
    def setUp(self) -> None:
        super().setUp()
        self.name = f"r-{next(_numbers)}"

    def kept(self, owner: str | None = None) -> list[dict]:
        found = self.backend.control(query="readings", **({"owner": owner} if owner else {}))["readings"]
        return [each for each in found if each["identifier"].startswith(self.name)]

    def test_a_bundle_is_answered_by_a_status_for_each_resource_and_stored_with_its_digits(self):
        cuff = self.name + "-cuff"
        main = observation(self.name, device={"reference": url(cuff)})
        derived = observation(self.name + "-149546", derivedFrom=[{"reference": url(self.name)}])
        reply = self.send(bundle_request(device(cuff), main, derived))
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/fhir+json"))
        self.assertEqual((reply.json["resourceType"], reply.json["type"], statuses(reply)), ("Bundle", "transaction-response", ["201"] * 3))
        stored = {each["identifier"]: json.loads(each["json"]) for each in self.kept()}
        self.assertIn('"value":120.0', next(each["json"] for each in self.kept() if each["identifier"] == self.name))
        self.assertEqual(stored[self.name]["device"]["reference"], f"Device/{stored[cuff]['id']}")
        self.assertEqual(stored[self.name + "-149546"]["derivedFrom"], [{"reference": f"Observation/{stored[self.name]['id']}"}])
        self.assertTrue(all(each["durable_at_ns"] > 0 for each in self.kept()))

    def test_a_bundle_is_kept_as_it_came_and_once(self):
        before = max((each["number"] for each in self.backend.control(query="bundles")["bundles"]), default=0)
        request = bundle_request(observation(self.name), key=self.name)
        self.send(request)
        self.send(request)
        self.assertEqual(self.send(bundle_request(observation(self.name), body=b"{}")).status, 400)
        [kept] = self.backend.control(query="bundles", after=before)["bundles"]
        self.assertEqual((kept["body"].encode(), kept["owner"], kept["key"], kept["replays"]), (request.body, "anna", self.name, 1))

    def test_a_resource_that_is_there_is_left_as_it_is(self):
        self.send(bundle_request(observation(self.name, value="1")))
        reply = self.send(bundle_request(observation(self.name, value="2"), observation(self.name + "-b")))
        self.assertEqual(statuses(reply), ["200", "201"])
        self.assertEqual([json.loads(each["json"])["valueQuantity"]["value"] for each in self.kept()], [1, 120.0])

    def test_a_repeated_key_gets_the_same_answer_and_another_bundle_under_it_422(self):
        request = bundle_request(observation(self.name), key=self.name)
        first, again = self.send(request), self.send(request.having(Hub_Sent="1700009999"))
        self.assertEqual((first.status, again.status, first.body), (200, 200, again.body))
        self.assertEqual(self.send(bundle_request(observation(self.name + "-b"), key=self.name)).status, 422)
        self.assertEqual(len(self.kept()), 1)

    def test_a_reading_of_another_owner_is_412_names_its_entry_and_leaves_nothing(self):
        self.send(bundle_request(observation(self.name)))
        reply = self.send(bundle_request(observation(self.name + "-b", "Patient/ben"), observation(self.name, "Patient/ben"), owner="ben"))
        self.assertEqual((reply.status, reply.json["resourceType"], reply.json["issue"][0]["expression"]), (412, "OperationOutcome", ["Bundle.entry[1]"]))
        self.assertEqual([each["identifier"] for each in self.kept()], [self.name])
        self.assertEqual(self.kept("ben"), [])

    def test_a_cuff_of_two_owners_is_one_device(self):
        cuff = self.name + "-cuff"
        self.send(bundle_request(device(cuff), observation(self.name)))
        reply = self.send(bundle_request(device(cuff), observation(self.name + "-b", "Patient/ben"), owner="ben"))
        self.assertEqual(statuses(reply), ["200", "201"])
        self.assertEqual([each["type"] for each in self.kept()].count("Device"), 1)

    def test_what_is_no_bundle_of_the_contract_is_refused_and_says_where(self):
        good = entry(observation(self.name))

        def spoiled(**members) -> bytes:
            return text({"resourceType": "Bundle", "type": "transaction", "entry": [{**good, **members}]}).encode()

        request = good["request"]
        cases = {
            b"{": "json", b"[]": "bundle", b'{"resourceType":"Bundle","type":"batch"}': "bundle", b'{"resourceType":"Bundle","type":"transaction","entry":[]}': "bundle",
            b'{"a":1,"a":2}': "json", b'{"a":NaN}': "json", b"\xff": "json", b"[" * 100_000: "json",
            text({"resourceType": "Bundle", "type": "transaction", "entry": [good, good]}).encode(): "bundle",
            spoiled(resource={"resourceType": "Patient"}): "resource", spoiled(resource={**good["resource"], "subject": 7}): "resource",
            spoiled(request={**request, "method": "PUT"}): "bundle", spoiled(request={**request, "ifNoneExist": "identifier=other"}): "condition",
            spoiled(request={"method": "POST", "url": "Observation"}): "condition", spoiled(fullUrl="Observation/1"): "bundle", spoiled(request=7): "bundle",
            spoiled(resource={**good["resource"], "device": {"reference": "urn:uuid:0"}}): "reference", spoiled(resource={**good["resource"], "identifier": 7}): "condition",
        }
        for body, code in cases.items():
            with self.subTest(body[:60]):
                reply = self.send(bundle_request(body=body))
                self.assertEqual((reply.status, reply.json["code"]), (400, code), reply.body)
        self.assertEqual(self.kept(), [])

    def test_headers_are_checked_as_those_of_windows_are(self):
        request = bundle_request(observation(self.name))
        for spoiled, status in ((request.having(Content_Type="application/json"), 415), (request.having(Hub_Owner='"ben"'), 403), (request.without("Idempotency-Key"), 400),
                                (request.having(Content_Digest="sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"), 400), (request.without("Hub-Sent"), 400),
                                (request.having(Authorization="Bearer no"), 401), (HubRequest(request.headers, request.body, "GET", request.path), 405)):
            with self.subTest(spoiled.headers):
                self.assertEqual(self.send(spoiled).status, status)
        self.assertEqual(self.kept(), [])

    def test_the_books_count_bundles_and_resources(self):
        before = self.backend.control(query="books")["readings"]
        request = bundle_request(device(self.name + "-cuff"), observation(self.name))
        self.send(request)
        self.send(request)
        after = self.backend.control(query="books")["readings"]
        self.assertEqual({name: after[name] - before[name] for name in after}, {"bundles": 1, "replays": 1, "observations": 1, "devices": 1})


class AfterAKill(unittest.TestCase):
    def test_what_was_answered_is_there_after_a_kill(self):
        with tempfile.TemporaryDirectory(prefix="backend-") as directory:
            backend = Backend(pathlib.Path(directory))
            request = bundle_request(observation("r-kill"), key="k-kill")
            first = backend.send(request)
            backend.kill()
            backend = Backend(pathlib.Path(directory))
            self.addCleanup(backend.kill)
            self.assertEqual(backend.send(request).body, first.body)
            self.assertEqual([each["identifier"] for each in backend.control(query="readings")["readings"]], ["r-kill"])


if __name__ == "__main__":
    unittest.main()
