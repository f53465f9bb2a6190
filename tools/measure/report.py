"""The tables. Megabytes are millions of bytes, as in the goals."""

from __future__ import annotations

from demo.closing import Row

from .memory import Memory
from .scenes import Figures, Rest, Span

ANONYMOUS_GOAL = 5_000_000
RESIDENT_GOAL = 20_000_000


def rows(figures: Figures) -> list[Row]:
    """What was measured, and what it should be."""
    table: list[Row] = []
    if memory := figures.caught_up:
        table += [
            _goal("resident, after the catch-up and at rest", memory.resident, RESIDENT_GOAL),
            _goal("  of that anonymous", memory.anonymous, ANONYMOUS_GOAL),
            Row("  private and changed", megabytes(memory.private_dirty)),
            Row("  proportional share (Pss)", megabytes(memory.proportional)),
            Row("most resident ever (VmHWM)", megabytes(memory.peak)),
            Row("threads", f"{len(memory.threads)} ({', '.join(memory.threads)})"),
        ]
    if memory := figures.worked:
        table += [_goal("resident, right after a batch", memory.resident, RESIDENT_GOAL), _goal("  of that anonymous", memory.anonymous, ANONYMOUS_GOAL)]
    if memory := figures.fresh:
        table += [_goal("resident, started anew, nothing delivered", memory.resident, RESIDENT_GOAL), _goal("  of that anonymous", memory.anonymous, ANONYMOUS_GOAL)]
    for name, undisturbed, traced in (("catch-up", figures.catch_up, figures.catch_up_syncs), ("a window a second", figures.steady, figures.steady_syncs)):
        table += _span(name, undisturbed, traced)
    for indicators, rest in figures.rest.items():
        table += _rest(indicators, rest)
    return table


def breakdown(memory: Memory) -> str:
    """Where the memory is."""
    lines = ["anonymous memory, by what it is:"]
    lines += [f"  {kibibytes(size):>12}  {kind}" for kind, size in memory.kinds.items()]
    lines += ["files, resident as they are on the disk and changed in memory:"]
    lines += [f"  {kibibytes(backed):>12} {kibibytes(changed):>12}  {name}" for name, (backed, changed) in memory.files.items()]
    lines += [f"  {kibibytes(sum(backed for backed, _ in memory.files.values())):>12} {kibibytes(sum(changed for _, changed in memory.files.values())):>12}  all"]
    return "\n".join(lines)


def megabytes(size: int) -> str:
    return f"{size / 1_000_000:.2f} MB"


def kibibytes(size: int) -> str:
    return f"{size // 1024:,} KiB"


def _goal(name: str, size: int, goal: int) -> Row:
    return Row(name, megabytes(size), f"<= {goal / 1_000_000:.0f} MB", size <= goal)


def _span(name: str, undisturbed: Span | None, traced: Span | None) -> list[Row]:
    table: list[Row] = []
    if undisturbed and undisturbed.cost:
        count, cost = undisturbed.windows, undisturbed.cost
        table += [
            Row(f"{name}: windows, time", f"{count:,} in {undisturbed.seconds:.1f} s"),
            Row("  CPU per window", f"{cost.cpu / count * 1e6:.0f} us"),
            Row("  bytes written to the disk per window", f"{cost.written / count:,.0f}"),
            Row("  wake-ups of threads per window", f"{cost.wakeups / count:.2f}"),
        ]
    if traced and traced.syncs is not None:
        table.append(Row(f"{name}: fsync and fdatasync per window (strace)", f"{traced.syncs / traced.windows:.4f} ({traced.syncs:,} for {traced.windows:,})"))
    return table


def _rest(indicators: str, rest: Rest) -> list[Row]:
    return [
        Row(f"at rest, indicators = \"{indicators}\": CPU per heartbeat", f"{rest.cost.cpu / rest.heartbeats * 1e6:.0f} us"),
        Row("  wake-ups of threads per heartbeat", f"{rest.cost.wakeups / rest.heartbeats:.2f}"),
        Row("  epoll_wait calls per heartbeat (strace)", f"{rest.waits / rest.heartbeats:.2f}"),
        Row("  bytes written to the disk", f"{rest.cost.written:,}"),
    ]
