"""The receipt: the one thing that lets a hub clear windows from a collar."""

from __future__ import annotations

import json
import secrets
from typing import Any, Sequence

from .submission import Submission

MAX_BYTES = 64 * 1024
"""A hub reads no more than this of an answer."""


def build(submission: Submission, rejected: Sequence[tuple[int, str]]) -> dict[str, Any]:
    """The receipt for a submission that is about to be committed.

    ``rejected`` holds (sequence, code) of each window that was not taken; all others are accepted, those included that
    were there already. ``gaps`` is the number of members of Hub-Gaps, those included that were known already.
    """
    return {
        "receipt": f"r-{secrets.token_hex(12)}",
        "key": submission.key,
        "digest": submission.content_digest,
        "log": submission.log,
        "first": submission.first,
        "accepted": len(submission.windows) - len(rejected),
        "gaps": len(submission.gaps),
        "rejected": [{"sequence": sequence, "code": code} for sequence, code in rejected],
    }


def encode(receipt: dict[str, Any]) -> bytes:
    """The bytes that are stored and sent; a repeated key is answered by the very same ones."""
    return json.dumps(receipt).encode() + b"\n"
