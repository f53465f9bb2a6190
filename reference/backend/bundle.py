"""One request for ``/v1/readings``: a FHIR R4 transaction Bundle of conditional creates, checked before the store is asked.

Only what the contract has a hub send is accepted; a FHIR server takes much more. Numbers keep their digits.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from . import submission
from .refusal import Refusal

MEDIA_TYPE = "application/fhir+json"
MAX_ENTRIES = 256
TYPES = ("Observation", "Device")


@dataclass(frozen=True)
class Create:
    """One conditional create: store ``resource`` unless something with ``identifier`` is there."""

    full_url: str
    type: str
    identifier: str
    resource: dict[str, Any]


@dataclass(frozen=True)
class ReadingsRequest:
    """A Bundle that is right in itself."""

    owner: str
    key: str
    digest: bytes
    body: bytes
    creates: tuple[Create, ...]


def parse(headers: submission.Headers, body: bytes) -> ReadingsRequest:
    """The whole request, or the first thing that is wrong with it."""
    submission.check_media_type(headers, MEDIA_TYPE)
    digest = hashlib.sha256(body).digest()
    submission.check_digest(headers, digest)
    owner, key = submission.parse_owner(headers), submission.parse_key(headers)
    submission.parse_sent(headers)
    try:
        bundle = json.loads(body, parse_float=Decimal, parse_constant=_no_number, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "json", "body", str(error)) from None
    if not isinstance(bundle, dict) or bundle.get("resourceType") != "Bundle" or bundle.get("type") != "transaction":
        raise Refusal(400, "bundle", "body", "a Bundle of type transaction is expected")
    entries = bundle.get("entry")
    if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_ENTRIES:
        raise Refusal(400, "bundle", "Bundle.entry", f"1 to {MAX_ENTRIES} entries are expected")
    creates = tuple(_create(f"Bundle.entry[{place}]", entry) for place, entry in enumerate(entries))
    for what, values in (("fullUrl", [create.full_url for create in creates]), ("ifNoneExist", [(create.type, create.identifier) for create in creates])):
        if len(set(values)) != len(values):
            raise Refusal(400, "bundle", "Bundle.entry", f"two entries have one {what}")
    known = {create.full_url for create in creates}
    for place, create in enumerate(creates):
        for reference in references(create.resource):
            if reference.startswith("urn:uuid:") and reference not in known:
                raise Refusal(400, "reference", f"Bundle.entry[{place}]", f"{reference} is no fullUrl of this Bundle")
    return ReadingsRequest(owner, key, digest, body, creates)


def encode(value: Any) -> str:
    """JSON with every number as it came; ``json`` would make a decimal binary."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{encode(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(encode(element) for element in value) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def references(value: Any) -> list[str]:
    """Every ``reference`` in a resource."""
    if isinstance(value, list):
        return [found for element in value for found in references(element)]
    if not isinstance(value, dict):
        return []
    own = [value["reference"]] if isinstance(value.get("reference"), str) else []
    return own + [found for member in value.values() for found in references(member)]


def resolved(value: Any, places: dict[str, str]) -> Any:
    """The resource with temporary references replaced by those of stored resources."""
    if isinstance(value, list):
        return [resolved(element, places) for element in value]
    if not isinstance(value, dict):
        return value
    return {name: places.get(member, member) if name == "reference" and isinstance(member, str) else resolved(member, places) for name, member in value.items()}


def _create(where: str, entry: Any) -> Create:
    if not isinstance(entry, dict) or not isinstance(entry.get("request"), dict) or not isinstance(entry.get("resource"), dict):
        raise Refusal(400, "bundle", where, "an entry with request and resource is expected")
    request, resource = entry["request"], entry["resource"]
    kind = resource.get("resourceType")
    if kind not in TYPES:
        raise Refusal(400, "resource", where, f"a resource of these is expected: {', '.join(TYPES)}")
    if request.get("method") != "POST" or request.get("url") != kind:
        raise Refusal(400, "bundle", f"{where}.request", f"POST {kind} is expected")
    name, _, identifier = str(request.get("ifNoneExist", "")).partition("=")
    values = [each.get("value") for each in resource.get("identifier", []) if isinstance(each, dict)] if isinstance(resource.get("identifier"), list) else []
    if name != "identifier" or not identifier or identifier not in values:
        raise Refusal(400, "condition", f"{where}.request.ifNoneExist", "identifier=… is expected, with an identifier of the resource")
    full_url = entry.get("fullUrl")
    if not isinstance(full_url, str) or not full_url.startswith("urn:uuid:"):
        raise Refusal(400, "bundle", f"{where}.fullUrl", "a temporary urn:uuid is expected")
    if kind == "Observation" and not (isinstance(resource.get("subject"), dict) and isinstance(resource["subject"].get("reference"), str)):
        raise Refusal(400, "resource", f"{where}.resource.subject", "a reference to the patient is expected")
    return Create(full_url, kind, identifier, resource)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a name twice")
    return members
