"""The collar's books against the backend's. Pure: no process is asked here."""

from __future__ import annotations

from dataclasses import dataclass, field

Window = tuple[int, int]
"""(log, sequence); the device is the same for all."""

SEQUENCES = 1 << 32


@dataclass(frozen=True)
class Delivered:
    """A window as the backend holds it. ``durable_at_ns`` is on the boot clock."""

    sha256: str
    owner: str
    durable_at_ns: int


@dataclass(frozen=True)
class Gap:
    """A range that the hub reported as not to be had, and when that report was durable."""

    log: int
    first: int
    count: int
    reason: str
    durable_at_ns: int

    def windows(self) -> set[Window]:
        return {(self.log, (self.first + index) % SEQUENCES) for index in range(self.count)}


@dataclass(frozen=True)
class Clear:
    """The collar forgot every window of the log up to and including ``through``."""

    log: int
    through: int
    at_ns: int


@dataclass
class Books:
    """All that both ends wrote down. ``produced`` is in the order of production; ``gone`` is what the collar overwrote or formatted away.

    The backend removed ``repeated`` windows because it knew the key of their request, and ``duplicates`` that came under another key.
    """

    owner: str
    produced: dict[Window, str] = field(default_factory=dict)
    held: set[Window] = field(default_factory=set)
    gone: set[Window] = field(default_factory=set)
    clears: list[Clear] = field(default_factory=list)
    delivered: dict[Window, Delivered] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    repeated: int = 0
    duplicates: int = 0


@dataclass
class Findings:
    """What the comparison found; each list holds the windows concerned."""

    produced: int
    delivered: int
    repeated: int
    duplicates: int
    gaps: dict[str, int]
    cleared: int
    held: int
    lost: list[Window]
    altered: list[Window]
    cleared_early: list[Window]
    invented: list[Window]
    misfiled: list[Window]
    unfounded_gaps: list[Window]
    unfounded_clears: list[Clear]


def compare(books: Books) -> Findings:
    """Count everything and find what must not be.

    *Lost*: produced, and neither at the backend nor on the collar nor reported as a gap. *Altered*: at the backend with other bytes.
    *Cleared early*: cleared when the backend did not hold it (or its gap) durably. *Invented*: at the backend and never produced.
    *Misfiled*: at the backend for another owner. *Unfounded gaps*: reported as gaps, although the collar had them all the time.
    """
    in_gaps: dict[Window, int] = {}
    for gap in books.gaps:
        for window in gap.windows() & books.produced.keys():
            in_gaps[window] = min(gap.durable_at_ns, in_gaps.get(window, gap.durable_at_ns))
    cleared, early, unfounded = _clears(books, in_gaps)
    accounted = books.delivered.keys() | books.held | in_gaps.keys()
    return Findings(
        produced=len(books.produced),
        delivered=len(books.delivered),
        repeated=books.repeated,
        duplicates=books.duplicates,
        gaps=_by_reason(books.gaps),
        cleared=len(cleared),
        held=len(books.held),
        lost=[window for window in books.produced if window not in accounted],
        altered=[window for window, found in books.delivered.items() if books.produced.get(window, found.sha256) != found.sha256],
        cleared_early=early,
        invented=[window for window in books.delivered if window not in books.produced],
        misfiled=[window for window, found in books.delivered.items() if found.owner != books.owner],
        unfounded_gaps=[window for window in in_gaps if window not in books.delivered and window not in books.gone],
        unfounded_clears=unfounded,
    )


def _clears(books: Books, in_gaps: dict[Window, int]) -> tuple[set[Window], list[Window], list[Clear]]:
    """The windows cleared, those of them cleared too early, and clears of what was never produced."""
    order: dict[int, list[int]] = {}
    place: dict[Window, int] = {}
    for log, sequence in books.produced:
        place[log, sequence] = len(order.setdefault(log, []))
        order[log].append(sequence)
    done: dict[int, int] = {}
    cleared: set[Window] = set()
    early: list[Window] = []
    unfounded: list[Clear] = []
    for clear in sorted(books.clears, key=lambda clear: clear.at_ns):
        end = place.get((clear.log, clear.through))
        if end is None:
            unfounded.append(clear)
            continue
        for sequence in order[clear.log][done.get(clear.log, 0):end + 1]:
            window = (clear.log, sequence)
            cleared.add(window)
            if not _settled(window, clear.at_ns, books, in_gaps):
                early.append(window)
        done[clear.log] = max(done.get(clear.log, 0), end + 1)
    return cleared, early, unfounded


def _settled(window: Window, at_ns: int, books: Books, in_gaps: dict[Window, int]) -> bool:
    delivered = books.delivered.get(window)
    if delivered is not None and delivered.durable_at_ns <= at_ns:
        return True
    return window in in_gaps and in_gaps[window] <= at_ns


def _by_reason(gaps: list[Gap]) -> dict[str, int]:
    windows: dict[str, set[Window]] = {}
    for gap in gaps:
        windows.setdefault(gap.reason, set()).update(gap.windows())
    return {reason: len(found) for reason, found in sorted(windows.items())}
