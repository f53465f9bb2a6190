"""What cuffs measured and were told, against the readings that the backend holds, and for whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

LOINC = "http://loinc.org"
MDC = "urn:iso:std:iso:11073:10101"
PRESSURES = {"8480-6": "systolic", "8462-4": "diastolic", "8478-0": "mean"}
BLOOD_PRESSURE, PULSE, STATUS = "85354-9", "8867-4", "8410608"
CLOCK_SECONDS = 3
"""How far a moment may be off that was found by correcting a cuff's clock, which shows whole seconds, and by a hub that looks at it over a link."""
RECEIVED_SECONDS = 120
"""How far a moment may be off that stands for one that nobody knows."""

Values = tuple[int | None, int | None, int | None, int | None]


@dataclass(frozen=True)
class Reading:
    """One that a cuff measured. `sent` and `confirmed` are CLOCK_BOOTTIME in nanoseconds; a cuff that is read like a disk knows neither."""

    serial: str
    number: int
    values: Values
    user: int | None
    findings: frozenset[int]
    taken: int
    """When it really was, Unix seconds."""
    dated: bool
    held: bool
    sent: tuple[int, ...]
    confirmed: tuple[int, ...]

    @property
    def failed(self) -> bool:
        return all(value is None for value in self.values[:3])

    @classmethod
    def of(cls, serial: str, number: int, row: dict[str, Any]) -> Reading:
        return cls(
            serial, number, (row["systolic"], row["diastolic"], row["mean"], row["pulse"]), row["user"], _findings(row["status"] or 0),
            int(datetime.fromisoformat(row["taken"]).timestamp()), row["time"] is not None, row["held"], tuple(row.get("sent", ())), tuple(row.get("confirmed", ())))


def _findings(status: int) -> frozenset[int]:
    """The bits of Measurement Status (GATT) as those of MDC_BLOOD_PRESSURE_MEASUREMENT_STATUS, which counts the pulse's two states as bits 3 and 4."""
    range_of_pulse = {1: 3, 2: 4}.get(status >> 3 & 3)
    return frozenset({bit for bit in (0, 1, 2, 5) if status >> bit & 1} | ({range_of_pulse} if range_of_pulse else set()))


@dataclass
class Arrived:
    """One that the backend holds."""

    serial: str
    owner: str
    subject: str
    identifier: str
    values: Values
    moment: int
    remark: str | None
    findings: frozenset[int] = frozenset()

    def describe(self) -> str:
        return f"{self.serial} {self.values} of {self.owner} at {datetime.fromtimestamp(self.moment)} ({self.identifier})"


Whose = Callable[[Reading], str | None]
"""Whose a reading has to be; None: nobody's, it must not arrive."""


@dataclass
class ReadingAccount:
    """Of all cuffs together: everything that must not be is a line of `faults`; `missing` are those that have not arrived and were to."""

    measured: list[Reading]
    arrived: list[Arrived]
    faults: list[str] = field(default_factory=list)
    missing: list[Reading] = field(default_factory=list)

    @classmethod
    def of(cls, measured: list[Reading], resources: Iterable[dict[str, Any]], bundles: Iterable[dict[str, Any]], whose: Whose) -> ReadingAccount:
        """
        - `resources`, `bundles`: the backend's answers to `{"query": "readings"}` and `{"query": "bundles"}`.
        """
        account = cls(measured, [])
        account.arrived = account._read(list(resources))
        account._compare(whose)
        account._look_for_repetitions(bundles)
        return account

    def assert_whole(self) -> None:
        """Raises with every fault found."""
        if self.faults:
            raise AssertionError("\n".join(self.faults))

    # What arrived

    def _read(self, resources: list[dict[str, Any]]) -> list[Arrived]:
        parsed = [(row, json.loads(row["json"])) for row in resources]
        serials = {f"Device/{body['id']}": body["serialNumber"] for row, body in parsed if row["type"] == "Device"}
        doubled = sorted(serial for serial in set(serials.values()) if list(serials.values()).count(serial) > 1)
        self.faults += [f"the cuff {serial} is two devices" for serial in doubled]
        readings: dict[str, Arrived] = {}
        derived = []
        for row, body in parsed:
            if row["type"] != "Observation":
                continue
            if "derivedFrom" in body:
                derived.append((row, body))
            elif _code(body, LOINC) != BLOOD_PRESSURE:
                self.faults.append(f"an observation of {row['owner']} that is no blood pressure and derived from none: {row['identifier']}")
            else:
                found = {PRESSURES[_code(each, LOINC)]: _quantity(each) for each in body["component"]}
                readings[f"Observation/{body['id']}"] = Arrived(
                    serials.get(body["device"]["reference"], "?"), row["owner"], body["subject"]["reference"], row["identifier"],
                    (found["systolic"], found["diastolic"], found["mean"], None), int(datetime.fromisoformat(body["effectiveDateTime"]).timestamp()),
                    "; ".join(note["text"] for note in body.get("note", [])) or None)
        for row, body in derived:
            main = readings.get(body["derivedFrom"][0]["reference"])
            if main is None or (main.owner, main.subject) != (row["owner"], body["subject"]["reference"]):
                self.faults.append(f"{row['identifier']} of {row['owner']} is derived from no reading of theirs")
            elif _code(body, LOINC) == PULSE:
                main.values = (*main.values[:3], _quantity(body))
            elif _code(body, MDC) == STATUS:
                main.findings = frozenset(int(_code(each, None).rpartition(".")[2]) for each in body["component"])
        return list(readings.values())

    # Against what was measured

    def _compare(self, whose: Whose) -> None:
        waiting = list(self.arrived)
        for reading in self.measured:
            # Readings of one cuff differ in their values.
            found = [each for each in waiting if (each.serial, each.values) == (reading.serial, reading.values)]
            waiting = [each for each in waiting if each not in found]
            owner = None if reading.failed else whose(reading)
            if owner is None:
                self.faults += [f"nobody's reading arrived: {each.describe()}" for each in found]
            elif not found:
                self.missing.append(reading)
                words = "confirmed to its cuff and lost" if reading.confirmed and not reading.held else "not delivered"
                self.faults.append(f"{words}: {reading}")
            else:
                self.faults += [f"doubled: {each.describe()}" for each in found[1:]]
                self.faults += _differences(reading, owner, found[0])
            if reading.confirmed and len(reading.sent) < len(reading.confirmed):
                self.faults.append(f"confirmed more often than sent: {reading}")
        self.faults += [f"invented or altered: {each.describe()}" for each in waiting]
        if not self.measured:
            self.faults.append("nothing was measured, so nothing is proved")

    def _look_for_repetitions(self, bundles: Iterable[dict[str, Any]]) -> None:
        """The backend removes what comes again under another key; the hub is to need that for no reading."""
        seen: dict[str, str] = {}
        for bundle in bundles:
            for entry in json.loads(bundle["body"])["entry"]:
                condition = entry["request"]["ifNoneExist"]
                if entry["resource"]["resourceType"] == "Observation" and seen.setdefault(condition, bundle["key"]) != bundle["key"]:
                    self.faults.append(f"{condition} was sent under two keys")


def _differences(reading: Reading, owner: str, found: Arrived) -> list[str]:
    faults = []
    if (found.owner, found.subject) != (owner, f"Patient/{owner}"):
        faults.append(f"misfiled, it is {owner}'s: {found.describe()}, subject {found.subject}")
    if found.findings != reading.findings:
        faults.append(f"findings {sorted(found.findings)} instead of {sorted(reading.findings)}: {found.describe()}")
    tolerance = CLOCK_SECONDS if reading.dated else RECEIVED_SECONDS
    if abs(found.moment - reading.taken) > tolerance:
        faults.append(f"dated {found.moment - reading.taken:+} s off ({found.remark}): {found.describe()}")
    if not reading.dated and found.remark is None:
        faults.append(f"the cuff gave no time, and nothing says so: {found.describe()}")
    return faults


def _code(element: dict[str, Any], system: str | None) -> str | None:
    return next((coding["code"] for coding in element["code"]["coding"] if system in (None, coding["system"])), None)


def _quantity(element: dict[str, Any]) -> int | float | None:
    return element["valueQuantity"]["value"] if "valueQuantity" in element else None
