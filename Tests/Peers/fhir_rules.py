"""Judges Bundles of readings by rules that this project did not make.

Resources are checked by fhirkit, a validator of FHIR R4 (4.0.1); what the specification and the HL7 Personal Health Device guide (STU 1) say of these
resources in particular is stated here as FHIRPath and evaluated by fhirpathpy.

    python3 fhir_rules.py FILE...     prints one line of JSON for each: {"problems": [...]}; needs `requirements.txt`
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal

import fhirkit
from fhirpathpy import compile as compile_path
from fhirpathpy.models import models

MDC = "urn:iso:std:iso:11073:10101"
PHD = "http://hl7.org/fhir/uv/phd"
PROFILE = f"{PHD}/StructureDefinition/"
MDC_CODING = f"coding.where(system = '{MDC}' and code.exists())"

# Every observation of a personal health device: profile PhdBaseObservation.
BASE = {
    "phd-meta": "meta.exists()",
    "phd-category": f"category.coding.where(system = '{PHD}/CodeSystem/PhdObservationCategories' and code = 'phd-observation').count() = 1",
    "phd-code-mdc": f"code.{MDC_CODING}.count() = 1",
    "phd-code-loinc": "code.coding.where(system = 'http://loinc.org').count() <= 1",
    "phd-subject": "subject.reference.exists()",
    "phd-effective": "effective.exists()",
    "phd-device": "device.reference.exists()",
    "phd-identifier": "identifier.where(value.exists() and system.empty() and type.empty()).count() = 1",
    "phd-extension": "extension.count() <= 1",
    "phd-status": "status = 'final' or status = 'preliminary'",
    # Observation's own invariants, and the one of vital signs that time has a day at least.
    "obs-6": "dataAbsentReason.empty() or value.empty()",
    "obs-7": "value.empty() or component.code.coding.code.intersect(code.coding.code).empty()",
    "vs-1": "effectiveDateTime.toString().length() >= 10",
}
# A quantity, or why there is none, of an observation or a component: "Mder FLOATs and SFLOATs".
REASONS = "('not-a-number' | 'positive-infinity' | 'negative-infinity' | 'error')"
QUANTITY = "value.exists() xor dataAbsentReason.exists()"
REASON = f"dataAbsentReason.empty() or dataAbsentReason.coding.where(system = 'http://terminology.hl7.org/CodeSystem/data-absent-reason' and (code in {REASONS})).count() = 1"


def units(code: str) -> str:
    return f"value.empty() or (value.value.exists() and value.system = 'http://unitsofmeasure.org' and value.code = '{code}')"


VITAL_SIGN = "category.coding.where(system = 'http://terminology.hl7.org/CodeSystem/observation-category' and code = 'vital-signs').count() = 1"
PROFILES = {
    "PhdCompoundNumericObservation": {
        "phd-no-value": "value.empty()",
        "phd-component-mdc": f"component.all(code.{MDC_CODING}.count() = 1)",
        "phd-component-quantity": f"component.all({QUANTITY})",
        "phd-component-units": f"component.all({units('mm[Hg]')})",
        "phd-component-reason": f"component.all({REASON})",
        "vs-category": VITAL_SIGN,
        "bp-code": f"code.coding.where(system = 'http://loinc.org' and code = '85354-9').count() = 1 and code.coding.where(system = '{MDC}').code = '150020'",
        "bp-systolic": f"component.where(code.coding.where(system = 'http://loinc.org').code = '8480-6' and code.coding.where(system = '{MDC}').code = '150021').count() = 1",
        "bp-diastolic": f"component.where(code.coding.where(system = 'http://loinc.org').code = '8462-4' and code.coding.where(system = '{MDC}').code = '150022').count() = 1",
        "bp-mean": f"component.where(code.coding.where(system = 'http://loinc.org').code = '8478-0' and code.coding.where(system = '{MDC}').code = '150023').count() = 1",
        "bp-any-value": "component.value.exists()",
    },
    "PhdNumericObservation": {
        "phd-quantity": QUANTITY,
        "phd-reason": REASON,
        "hr-units": units("/min"),
        "hr-code": f"code.coding.where(system = 'http://loinc.org').code = '8867-4' and code.coding.where(system = '{MDC}').code = '149546'",
        "vs-category": VITAL_SIGN,
        "derived": "derivedFrom.count() = 1",
    },
    "PhdBitsEnumerationObservation": {
        "phd-no-value": "value.empty() and component.exists()",
        "phd-bits": f"component.all(code.coding.where(system = '{PHD}/CodeSystem/ASN1ToHL7' and code.matches('^8410608[.][0-5]$')).count() = 1)",
        "phd-bit-values": "component.all(value.coding.where(system = 'http://terminology.hl7.org/CodeSystem/v2-0136' and (code = 'Y' or code = 'N')).count() = 1)",
        "status-code": f"code.coding.where(system = '{MDC}').code = '8410608'",
        "derived": "derivedFrom.count() = 1",
    },
}
DEVICE = {
    "device-identifier": "identifier.where(value.exists() and system.empty() and type.empty()).count() = 1",
    "device-type": f"type.coding.where(system = '{MDC}' and code = '65573').count() = 1",
    "device-serial": "serialNumber.exists()",
}
BUNDLE = {
    "transaction": "type = 'transaction' and entry.exists()",
    "bdl-3": "entry.all(request.exists())",
    "bdl-7": "entry.fullUrl.isDistinct() and entry.all(fullUrl.exists())",
    "conditional": "entry.all(request.method = 'POST' and request.ifNoneExist.exists())",
    "distinct-conditions": "entry.request.ifNoneExist.isDistinct()",
    "same-subject": "entry.resource.where($this is Observation).subject.reference.distinct().count() = 1",
}
_compiled: dict[str, object] = {}


def holds(resource: dict, rule: str) -> bool:
    if rule not in _compiled:
        _compiled[rule] = compile_path(rule, models["r4"])
    return _compiled[rule](resource, {}) == [True]


def judged(where: str, resource: dict, rules: dict[str, str]) -> list[str]:
    return [f"{where}: {name}" for name, rule in rules.items() if not holds(resource, rule)]


def observation_problems(where: str, resource: dict) -> list[str]:
    profiles = [url.removeprefix(PROFILE) for url in resource.get("meta", {}).get("profile", [])]
    if len(profiles) != 1 or profiles[0] not in PROFILES:
        return [f"{where}: profile {profiles}"]
    return judged(where, resource, BASE | PROFILES[profiles[0]])


def entry_problems(where: str, entry: dict, urls: set[str]) -> list[str]:
    resource = entry.get("resource", {})
    problems = [f"{where}: {issue}" for issue in fhirkit.validate(resource)]
    kind = resource.get("resourceType")
    if entry.get("request", {}).get("url") != kind:
        problems.append(f"{where}: request url")
    plain = [each["value"] for each in resource.get("identifier", []) if set(each) == {"value"}]
    if [entry.get("request", {}).get("ifNoneExist")] != [f"identifier={value}" for value in plain]:
        problems.append(f"{where}: ifNoneExist is not the identifier")
    match kind:
        case "Observation":
            problems += observation_problems(where, resource)
            local = [resource.get("device", {}).get("reference")] + [each.get("reference") for each in resource.get("derivedFrom", [])]
            problems += [f"{where}: {url} is not in the Bundle" for url in local if url not in urls]
        case "Device":
            problems += judged(where, resource, DEVICE)
        case _:
            problems.append(f"{where}: a {kind}")
    return problems


def bundle_problems(text: str) -> list[str]:
    bundle = json.loads(text, parse_float=Decimal)
    problems = [f"Bundle: {issue}" for issue in fhirkit.validate(text)]
    problems += judged("Bundle", bundle, BUNDLE)
    urls = {entry.get("fullUrl") for entry in bundle.get("entry", [])}
    for place, entry in enumerate(bundle.get("entry", [])):
        problems += entry_problems(f"entry {place}", entry, urls)
    return problems


def main(paths: list[str]) -> None:
    for path in paths:
        with open(path, encoding="utf-8") as file:
            print(json.dumps({"problems": bundle_problems(file.read())}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
