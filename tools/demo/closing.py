"""The table at the end, and whether all held."""

from __future__ import annotations

from dataclasses import dataclass

from .books import Findings
from .proc import Usage

QUEUE_LIMIT = 20
THREAD_LIMIT = 3
"""The loop, the storage, and libcurl's resolver while it resolves a name."""


@dataclass(frozen=True)
class Row:
    """One line: a count, and what it must be. ``holds`` is None where nothing is demanded."""

    name: str
    value: str
    demand: str = ""
    holds: bool | None = None


@dataclass
class Run:
    """What was seen of the daemon and of the run itself."""

    kills: int
    deepest_queue: int | None
    usage: Usage
    stop_seconds: float | None
    stop_status: int | None
    missed: list[str]
    finished: bool


def rows(findings: Findings, run: Run) -> list[Row]:
    """The table in its order."""
    gaps = sum(findings.gaps.values())
    detail = ", ".join(f"{count:,} {reason}" for reason, count in findings.gaps.items())
    return [
        Row("produced", f"{findings.produced:,}", "> 0", findings.produced > 0),
        Row("delivered", f"{findings.delivered:,}", "> 0", findings.delivered > 0),
        Row("duplicates removed", f"{findings.repeated + findings.duplicates:,}"),
        Row("of those under another key than before", f"{findings.duplicates:,}", "0", findings.duplicates == 0),
        Row("gaps reported", f"{gaps:,}" + (f" ({detail})" if detail else "")),
        Row("cleared", f"{findings.cleared:,}", "> 0", findings.cleared > 0),
        Row("still held by the collar", f"{findings.held:,}"),
        _none("lost", findings.lost),
        _none("altered", findings.altered),
        _none("cleared before settled", findings.cleared_early),
        _none("delivered, but never produced", findings.invented),
        _none("delivered for another owner", findings.misfiled),
        _none("reported as gaps without reason", findings.unfounded_gaps),
        Row("cleared, but never produced", f"{len(findings.unfounded_clears):,}", "0", not findings.unfounded_clears),
        Row("highest queue depth", "not seen" if run.deepest_queue is None else str(run.deepest_queue), f"<= {QUEUE_LIMIT}",
            run.deepest_queue is not None and run.deepest_queue <= QUEUE_LIMIT),
        Row("kills", str(run.kills)),
        Row("moments missed", "; ".join(run.missed) or "0", "0", not run.missed),
        Row("all delivered and cleared in time", "yes" if run.finished else "no", "yes", run.finished),
        Row("threads of the daemon, most", f"{run.usage.threads} ({', '.join(sorted(run.usage.thread_names))})",
            f"<= {THREAD_LIMIT}", 0 < run.usage.threads <= THREAD_LIMIT),
        Row("resident memory, most", f"{run.usage.resident / 1024:.1f} MiB"),
        Row("of that anonymous, most", f"{run.usage.anonymous / 1024:.1f} MiB"),
        Row("stopped by SIGTERM", "not within 5 s" if run.stop_seconds is None else f"status {run.stop_status} after {run.stop_seconds:.1f} s", "status 0 within 5 s",
            run.stop_seconds is not None and run.stop_status == 0),
    ]


def draw(table: list[Row], held: str = "held", not_held: str = "NOT HELD") -> str:
    """The table as text; the words are for demands that were met and those that were not."""
    name_width = max(len(row.name) for row in table)
    value_width = max(len(row.value) for row in table)
    lines = []
    for row in table:
        verdict = {None: "", True: held, False: not_held}[row.holds]
        lines.append(f"  {row.name:<{name_width}}  {row.value:>{value_width}}  {row.demand:<20}  {verdict}".rstrip())
    return "\n".join(lines)


def all_held(table: list[Row]) -> bool:
    """Whether every demand was met."""
    return all(row.holds is not False for row in table)


def _none(name: str, windows: list[tuple[int, int]]) -> Row:
    shown = ", ".join(f"{log:#x}/{sequence}" for log, sequence in windows[:3])
    return Row(name, f"{len(windows):,}" + (f" ({shown}{', …' if len(windows) > 3 else ''})" if windows else ""), "0", not windows)
