"""Resident memory by what it is. Pure but for ``read``."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass, field

ARENA = 64 << 20
"""glibc's malloc puts each arena but the first at a multiple of this (HEAP_MAX_SIZE on 64-bit machines)."""

_HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) [0-9a-f]+ \S+ \d+\s*(.*)")
_FIELD = re.compile(r"(\w+):\s+(\d+) kB")


@dataclass(frozen=True)
class Mapping:
    """One mapping; memory in bytes."""

    start: int
    end: int
    rights: str
    name: str
    resident: int
    anonymous: int


@dataclass
class Memory:
    """One look at a process; all in bytes. ``kinds`` divides the anonymous memory, ``files`` the resident pages of each file: (as in the file, changed)."""

    resident: int = 0
    anonymous: int = 0
    private_dirty: int = 0
    proportional: int = 0
    peak: int = 0
    threads: list[str] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    files: dict[str, tuple[int, int]] = field(default_factory=dict)


def read(pid: int, proc: pathlib.Path = pathlib.Path("/proc")) -> Memory:
    """How it is now. Needs the rights of ptrace(2) over the process."""
    home = proc / str(pid)
    rollup = _fields((home / "smaps_rollup").read_text())
    status = _fields((home / "status").read_text().replace("\t", " "))
    tasks = sorted((home / "task").iterdir(), key=lambda task: int(task.name))
    stacks = [pointer for task in tasks if (pointer := _stack_pointer((task / "syscall").read_text())) is not None]
    mappings = parse((home / "smaps").read_text())
    return Memory(
        resident=rollup["Rss"], anonymous=rollup["Anonymous"], private_dirty=rollup["Private_Dirty"], proportional=rollup["Pss"], peak=status["VmHWM"],
        threads=[(task / "comm").read_text().strip() for task in tasks], kinds=kinds(mappings, stacks), files=files(mappings))


def parse(smaps: str) -> list[Mapping]:
    """The mappings of /proc/PID/smaps, in their order."""
    found: list[Mapping] = []
    head: re.Match[str] | None = None
    values: dict[str, int] = {}

    def close() -> None:
        if head is not None:
            found.append(Mapping(int(head[1], 16), int(head[2], 16), head[3], head[4], values.get("Rss", 0), values.get("Anonymous", 0)))

    for line in smaps.splitlines():
        if next_head := _HEAD.fullmatch(line):
            close()
            head, values = next_head, {}
        elif match := _FIELD.match(line):
            values[match[1]] = int(match[2]) * 1024
    close()
    return found


def kinds(mappings: list[Mapping], stack_pointers: list[int]) -> dict[str, int]:
    """Anonymous memory by what it is; the sum is that of all mappings.

    What has no name is told by its place: right behind a file's data it is that file's zeroed data, around a thread's stack pointer a stack, at an arena's address an arena.
    """
    sums: dict[str, int] = {}
    file_ends_at = -1
    arena_ends_at = -1
    for mapping in mappings:
        if mapping.name.startswith("/"):
            kind = "changed pages of files (data, relocations)"
            file_ends_at = mapping.end
        elif mapping.name == "[heap]":
            kind = "heap (malloc's main arena)"
        elif mapping.name == "[stack]" or any(mapping.start <= pointer < mapping.end for pointer in stack_pointers):
            kind = "thread stacks"
        elif mapping.name:
            kind = "other"
        elif mapping.start == file_ends_at:
            kind = "zeroed data of libraries and the program"
            file_ends_at = mapping.end
        elif mapping.start % ARENA == 0 or mapping.end <= arena_ends_at:
            kind = "malloc arenas of other threads"
            arena_ends_at = max(arena_ends_at, mapping.start - mapping.start % ARENA + ARENA)
        else:
            kind = "mapped one by one (large allocations, the loader)"
        if mapping.anonymous:
            sums[kind] = sums.get(kind, 0) + mapping.anonymous
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def files(mappings: list[Mapping]) -> dict[str, tuple[int, int]]:
    """For each mapped file its resident bytes as they are in the file, and those changed in memory; the largest first."""
    sums: dict[str, tuple[int, int]] = {}
    for mapping in mappings:
        if mapping.name.startswith("/"):
            name = mapping.name.rsplit("/", 1)[1]
            backed, changed = sums.get(name, (0, 0))
            sums[name] = (backed + mapping.resident - mapping.anonymous, changed + mapping.anonymous)
    return dict(sorted(sums.items(), key=lambda item: -sum(item[1])))


def _fields(text: str) -> dict[str, int]:
    return {match[1]: int(match[2]) * 1024 for line in text.splitlines() if (match := _FIELD.match(line))}


def _stack_pointer(syscall: str) -> int | None:
    """From /proc/PID/task/TID/syscall, which ends with the stack pointer and the program counter; ``running`` has none."""
    words = syscall.split()
    return int(words[-2], 16) if len(words) >= 3 else None
