"""The household's own judgement of readings, without a guest: it has to find what must not be."""

import json
import sys
import unittest
from datetime import datetime, timedelta
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1]
for folder in (GUEST, GUEST.parent / "Peers"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from cuff import Cuff  # noqa: E402
from household.readings import Reading, ReadingAccount  # noqa: E402

NOW = datetime(2024, 6, 15, 17, 17, 27)
LOINC, MDC = "http://loinc.org", "urn:iso:std:iso:11073:10101"


def coded(system: str, code: str) -> dict:
    return {"coding": [{"system": system, "code": code}]}


class Shelf:
    """What a backend holds, filled with what a cuff measured."""

    def __init__(self, serial: str = "BP-1"):
        self.resources, self.bundles = [], []
        self._keep("Device", serial, "anna", {"serialNumber": serial})

    def _keep(self, kind: str, identifier: str, owner: str, members: dict) -> str:
        number = str(len(self.resources) + 1)
        body = {"resourceType": kind, "id": number, **members}
        self.resources.append({"type": kind, "identifier": identifier, "owner": owner, "json": json.dumps(body)})
        return f"{kind}/{number}"

    def put(self, row: dict, owner: str = "anna", name: str | None = None, seconds: int = 0, key: str | None = None, **changed) -> None:
        values = {**row, **changed}
        name = name or f"BP-1-{row['octets']}"
        moment = (datetime.fromisoformat(row["taken"]) + timedelta(seconds=seconds)).astimezone().isoformat()
        common = {"subject": {"reference": f"Patient/{owner}"}, "effectiveDateTime": moment, "device": {"reference": "Device/1"}}
        main = self._keep("Observation", name, owner, {
            **common, "code": coded(LOINC, "85354-9"),
            "component": [{"code": coded(LOINC, code), "valueQuantity": {"value": values[field]}} for code, field in
                          (("8480-6", "systolic"), ("8462-4", "diastolic"), ("8478-0", "mean"))]})
        derived = {**common, "derivedFrom": [{"reference": main}]}
        self._keep("Observation", f"{name}-149546", owner, {**derived, "code": coded(LOINC, "8867-4"), "valueQuantity": {"value": values["pulse"]}})
        if values["status"]:
            bit = {1: 0, 4: 2}[values["status"]]
            self._keep("Observation", f"{name}-8410608", owner, {**derived, "code": coded(MDC, "8410608"), "component": [{"code": coded("x", f"8410608.{bit}")}]})
        entry = {"request": {"ifNoneExist": f"identifier={name}"}, "resource": {"resourceType": "Observation"}}
        self.bundles.append({"key": key or name, "body": json.dumps({"entry": [entry]})})


class Accounts(unittest.TestCase):
    def setUp(self):
        self.cuff = Cuff("BP-1")
        self.cuff.fill(2, NOW)
        self.cuff.measure(NOW + timedelta(minutes=1), user=2, status=4)
        for reading in list(self.cuff.readings):
            self.cuff.was_sent(reading, 5)
            self.cuff.was_confirmed(reading, 6)
        self.rows = self.cuff.books()["readings"]
        self.shelf = Shelf()

    def faults(self, whose=lambda reading: {1: "anna", 2: "bert"}[reading.user]) -> list[str]:
        measured = [Reading.of("BP-1", number, row) for number, row in enumerate(self.rows)]
        return ReadingAccount.of(measured, self.shelf.resources, self.shelf.bundles, whose).faults

    def put_all(self, *but: int) -> None:
        for number, row in enumerate(self.rows):
            if number not in but:
                self.shelf.put(row, {1: "anna", 2: "bert"}[row["user"]])

    def assert_one_fault(self, words: str) -> None:
        faults = self.faults()
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])

    def test_every_reading_once_at_its_owner_is_whole(self):
        self.put_all()
        self.assertEqual(self.faults(), [])

    def test_nothing_measured_proves_nothing(self):
        self.rows = []
        self.assert_one_fault("nothing was measured")

    def test_one_that_was_confirmed_and_did_not_arrive_is_lost(self):
        self.put_all(1)
        self.assert_one_fault("confirmed to its cuff and lost")

    def test_one_that_the_cuff_holds_is_not_delivered(self):
        self.put_all()
        self.cuff.measure(NOW)
        self.rows = self.cuff.books()["readings"]
        self.assert_one_fault("not delivered")

    def test_one_that_arrived_under_two_names_is_doubled(self):
        self.put_all()
        self.shelf.put(self.rows[0], name="another")
        self.assert_one_fault("doubled")

    def test_one_that_arrived_under_somebody_else_is_misfiled(self):
        self.put_all(2)
        self.shelf.put(self.rows[2], "anna")
        self.assert_one_fault("misfiled, it is bert's")

    def test_one_that_is_nobody_s_must_not_arrive(self):
        self.put_all()
        faults = self.faults(lambda reading: "anna" if reading.user == 1 else None)
        self.assertEqual([fault[:24] for fault in faults], ["nobody's reading arrived"])

    def test_a_failed_measurement_must_not_arrive_and_is_not_missed(self):
        self.put_all()
        self.cuff.measure(NOW, failed=True)
        self.rows = self.cuff.books()["readings"]
        self.assertEqual(self.faults(), [])

    def test_another_value_another_pulse_and_another_finding_are_seen(self):
        for number, changed, words in ((0, {"systolic": 300}, "invented or altered"), (0, {"pulse": 300}, "invented or altered"), (2, {"status": 0}, "findings")):
            self.shelf = Shelf()
            self.put_all(number)
            self.shelf.put(self.rows[number], "anna" if number == 0 else "bert", **changed)
            self.assertTrue(any(words in fault for fault in self.faults()), (changed, self.faults()))

    def test_another_time_is_seen(self):
        self.put_all(0)
        self.shelf.put(self.rows[0], seconds=4)
        self.assert_one_fault("dated +4 s off")

    def test_one_that_was_sent_under_two_keys_is_seen_though_the_backend_kept_it_once(self):
        self.put_all()
        self.shelf.bundles.append({**self.shelf.bundles[0], "key": "another"})
        self.assert_one_fault("was sent under two keys")

    def test_one_cuff_under_two_devices_is_seen(self):
        self.put_all()
        self.shelf._keep("Device", "BP-1-x", "bert", {"serialNumber": "BP-1"})
        self.assert_one_fault("two devices")


if __name__ == "__main__":
    unittest.main()
