"""One request for ``/v1/raw-windows``: every header parsed, the body checked against them.

Everything that can be wrong with a request by itself is found here, before the store is asked.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Mapping, Sequence

from . import structured_fields as fields
from . import windows
from .refusal import Refusal

MEDIA_TYPE = "application/vnd.hub.raw-windows"
REASONS = ("overwritten", "cleared-elsewhere", "reformatted", "unreadable", "withheld", "damaged")
U32_MAX = windows.SEQUENCES - 1
MAX_STRING = 255

Headers = Mapping[str, Sequence[str]]
"""Header fields by lower-case name; several lines of one name keep their order."""


@dataclass(frozen=True)
class Gap:
    """A range that the hub reports instead of, or (``damaged``) beside, the windows themselves."""

    log: int
    first: int
    count: int
    reason: str


@dataclass(frozen=True)
class Submission:
    """A request that is right in itself. ``windows[i]`` has the sequence ``first + i``, wrapped at 2**32."""

    owner: str
    key: str
    digest: bytes
    device: str
    log: int
    first: int
    windows: tuple[bytes, ...]
    gaps: tuple[Gap, ...]
    received: int
    clock: str
    sent: int

    def sequence(self, index: int) -> int:
        return (self.first + index) % windows.SEQUENCES

    def marked_damaged(self, sequence: int) -> bool:
        """Whether the hub said that the CRC of this window was wrong when it left the collar."""
        return any(gap.reason == "damaged" and windows.offset_in(gap.first, gap.count, sequence) is not None for gap in self.gaps)

    @property
    def content_digest(self) -> str:
        """The body's digest as the receipt repeats it (RFC 9530)."""
        return content_digest(self.digest)

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of everything a second attempt must repeat: all but the authorisation and Hub-Sent.

        The digest of the body would not do: two reports of gaps alone have the same empty body.
        """
        fixed = [self.owner, self.key, self.digest.hex(), self.device, self.log, self.first, len(self.windows),
                 [[gap.log, gap.first, gap.count, gap.reason] for gap in self.gaps], self.received, self.clock]
        return hashlib.sha256(json.dumps(fixed).encode()).digest()


def content_digest(digest: bytes) -> str:
    """A SHA-256 as the value of Content-Digest."""
    return f"sha-256=:{base64.b64encode(digest).decode()}:"


def parse_owner(headers: Headers) -> str:
    """Hub-Owner alone: it is needed to answer 403 before anything else is looked at."""
    return _string(headers, "Hub-Owner")


def parse_key(headers: Headers) -> str:
    """Idempotency-Key alone."""
    return _string(headers, "Idempotency-Key")


def parse_sent(headers: Headers) -> int:
    """Hub-Sent alone."""
    return _integer(headers, "Hub-Sent", 0, None)


def parse(headers: Headers, body: bytes) -> Submission:
    """The whole request, or the first thing that is wrong with it."""
    check_media_type(headers, MEDIA_TYPE)
    digest = hashlib.sha256(body).digest()
    check_digest(headers, digest)
    log = _integer(headers, "Hub-Log", 0, U32_MAX)
    first = _integer(headers, "Hub-First", 0, U32_MAX)
    count = _integer(headers, "Hub-Count", 0, U32_MAX)
    if count * windows.WINDOW_BYTES != len(body):
        raise Refusal(400, "length", "header Hub-Count",
                      f"{count} windows are {count * windows.WINDOW_BYTES} bytes, the body has {len(body)}")
    gaps = _gaps(headers, log, first, count)
    if count == 0 and not gaps:
        raise Refusal(400, "empty", "header Hub-Count", "a request without windows must report at least one gap in Hub-Gaps")
    submission = Submission(
        owner=parse_owner(headers),
        key=parse_key(headers),
        digest=digest,
        device=_string(headers, "Hub-Device"),
        log=log,
        first=first,
        windows=tuple(windows.split(body)),
        gaps=gaps,
        received=_integer(headers, "Hub-Received", 0, None),
        clock=_clock(headers),
        sent=parse_sent(headers),
    )
    _check_windows(submission)
    return submission


# The single headers


def _line(headers: Headers, name: str) -> str:
    lines = headers.get(name.lower(), ())
    if not lines:
        raise Refusal(400, "header-missing", f"header {name}", "this header is required")
    if len(lines) > 1:
        raise Refusal(400, "header-repeated", f"header {name}", f"this header may be there once, not {len(lines)} times")
    return lines[0]


def _malformed(name: str, detail: str) -> Refusal:
    return Refusal(400, "header-malformed", f"header {name}", detail)


def _item(headers: Headers, name: str) -> fields.Item:
    line = _line(headers, name)
    try:
        return fields.parse_item(line)
    except fields.FieldError as error:
        raise _malformed(name, str(error)) from None


def _string(headers: Headers, name: str) -> str:
    value = _item(headers, name).value
    if not isinstance(value, str) or isinstance(value, fields.Token):
        raise _malformed(name, "a string in double quotes is expected")
    if not 1 <= len(value) <= MAX_STRING:
        raise Refusal(400, "header-range", f"header {name}", f"1 to {MAX_STRING} characters are expected, not {len(value)}")
    return value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(headers: Headers, name: str, low: int, high: int | None) -> int:
    value = _item(headers, name).value
    if not _is_integer(value):
        raise _malformed(name, "an integer is expected")
    if value < low or (high is not None and value > high):
        bounds = f"{low} to {high}" if high is not None else f"{low} or more"
        raise Refusal(400, "header-range", f"header {name}", f"{bounds} is expected, not {value}")
    return value


def check_media_type(headers: Headers, expected: str) -> None:
    """Content-Type is this one, and the body has no content coding."""
    lines = headers.get("content-type", ())
    found = lines[0].partition(";")[0].strip().lower() if len(lines) == 1 else ""
    if found != expected:
        raise Refusal(415, "content-type", "header Content-Type", f"{expected} is expected, not {', '.join(lines) or 'nothing'}")
    if headers.get("content-encoding", ()):
        raise Refusal(415, "content-encoding", "header Content-Encoding", "a body travels without a content coding")


def check_digest(headers: Headers, digest: bytes) -> None:
    """Content-Digest is there and is that of the body (RFC 9530)."""
    lines = headers.get("content-digest", ())
    if not lines:
        raise Refusal(400, "header-missing", "header Content-Digest", "this header is required")
    try:
        given = fields.parse_dictionary(", ".join(lines)).get("sha-256")
    except fields.FieldError as error:
        raise _malformed("Content-Digest", str(error)) from None
    if given is None:
        raise _malformed("Content-Digest", "a member sha-256 is expected")
    if not isinstance(given, fields.Item) or not isinstance(given.value, bytes):
        raise _malformed("Content-Digest", "sha-256 is a byte sequence between colons")
    if given.value != digest:
        raise Refusal(400, "digest", "header Content-Digest",
                      f"the body that arrived has {content_digest(digest)}, the header says {content_digest(given.value)}")


def _clock(headers: Headers) -> str:
    """Hub-Clock as one canonical text; parameters that this version does not know are ignored."""
    item = _item(headers, "Hub-Clock")
    if item.value not in (fields.Token("synced"), fields.Token("unsynced")):
        raise _malformed("Hub-Clock", "the token synced or unsynced is expected")
    device = item.parameters.get("device")
    if device not in (fields.Token("set"), fields.Token("unset")):
        raise _malformed("Hub-Clock", "a parameter device=set or device=unset is expected")
    if "offset" not in item.parameters:
        return f"{item.value};device={device}"
    offset = item.parameters["offset"]
    if not _is_integer(offset):
        raise _malformed("Hub-Clock", "offset is an integer of seconds")
    if item.value != fields.Token("synced") or device != fields.Token("set"):
        raise _malformed("Hub-Clock", "an offset has a meaning only with synced and device=set")
    return f"{item.value};device={device};offset={offset}"


def _gaps(headers: Headers, log: int, first: int, count: int) -> tuple[Gap, ...]:
    lines = headers.get("hub-gaps", ())
    if not lines:
        return ()
    try:
        members = fields.parse_list(", ".join(lines))
    except fields.FieldError as error:
        raise _malformed("Hub-Gaps", str(error)) from None
    if not members:
        raise _malformed("Hub-Gaps", "the header is left out when there are no gaps")
    gaps = tuple(_gap(number, member) for number, member in enumerate(members))
    for number, gap in enumerate(gaps):
        where = f"header Hub-Gaps, member {number}"
        if gap.reason == "damaged":
            start = windows.offset_in(first, count, gap.first)
            if gap.log != log or start is None or start + gap.count > count:
                raise Refusal(400, "gap-range", where, "a damaged window is in the body; this range is not wholly in it")
        elif gap.log == log and windows.overlap(first, count, gap.first, gap.count):
            raise Refusal(400, "gap-range", where, f"the body holds windows of a range that is reported as {gap.reason}")
    return gaps


def _gap(number: int, member: fields.Item | fields.InnerList) -> Gap:
    where = f"header Hub-Gaps, member {number}"
    if not isinstance(member, fields.InnerList) or len(member.items) != 3 or not all(_is_integer(item.value) for item in member.items):
        raise Refusal(400, "header-malformed", where, "three integers in parentheses are expected: (log first count)")
    log, first, count = (item.value for item in member.items)
    if not (0 <= log <= U32_MAX and 0 <= first <= U32_MAX and 1 <= count <= U32_MAX):
        raise Refusal(400, "header-range", where, f"log and first are 0 to {U32_MAX}, count is 1 to {U32_MAX}")
    reason = member.parameters.get("reason")
    if not isinstance(reason, str) or isinstance(reason, fields.Token) or reason not in REASONS:
        raise Refusal(400, "gap-reason", where, "a parameter reason is expected, a string, one of: " + ", ".join(REASONS))
    return Gap(log, first, count, reason)


# The body


def _check_windows(submission: Submission) -> None:
    """Each window is whole and where it belongs, except those that the hub itself marked as damaged."""
    for index, window in enumerate(submission.windows):
        expected = submission.sequence(index)
        if submission.marked_damaged(expected):
            continue
        where = f"body, window {index} at byte {index * windows.WINDOW_BYTES}"
        if not windows.is_whole(window):
            raise Refusal(400, "crc", where, f"sequence {expected} does not agree with its CRC and is not marked damaged in Hub-Gaps")
        if windows.sequence_of(window) != expected:
            raise Refusal(400, "sequence", where, f"sequence {expected} is expected, the window says {windows.sequence_of(window)}")
