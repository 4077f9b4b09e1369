# SPDX-License-Identifier: Apache-2.0
"""The segments and the trace of a memory snapshot, and the allocator that made them. `ballast.snapshot` uses it."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Block(NamedTuple):
    """A block that is allocated when the snapshot is made."""

    address: int
    size: int
    requested: int
    waits: bool  # the program has freed it, but another stream still uses it
    frames: Sequence[Any]


class Segment(NamedTuple):
    """Bytes that the allocator has from the device."""

    device: int
    begin: int
    end: int
    grows: bool  # of expandable segments, which adjoin
    blocks: list[Block]


def _field(entry: Any, key: str, where: str, default: int | None = None, below: int = 1 << 63) -> int:
    """A non-negative integer of a dict."""
    value = entry.get(key, default) if type(entry) is dict else None
    if type(value) is not int or not 0 <= value < below:
        what = f"of type {type(value).__name__}" if value is not None else "missing"
        if type(value) is int and abs(value) < 1 << 64:
            what = str(value)
        raise ValueError(f"{where}.{key} is {what}, and must be an integer from 0")
    return value


def _list_of(entry: Any, key: str, where: str, seen: set[int]) -> list[Any]:
    """A list of a dict. Each is looked through once, so a small file cannot make long work."""
    value = entry.get(key) if type(entry) is dict else None
    name = f"{where}.{key}" if where else key
    if type(value) is not list:
        what = f"of type {type(value).__name__}" if value is not None else "missing"
        raise ValueError(f"{name} is {what}, and must be a list")
    if value and id(value) in seen:
        raise ValueError(f"{name} is a list that occurs twice")
    seen.add(id(value))
    return value


def frames_of(entry: dict[str, Any]) -> Sequence[Any]:
    """The stack of a block or an entry, which may have none."""
    frames = entry.get("frames")
    return frames if type(frames) is list else ()


def segments_of(snapshot: Any) -> list[Segment]:
    """The segments, checked and sorted by device and address."""
    if type(snapshot) is not dict:
        raise ValueError(f"it is of type {type(snapshot).__name__}, and must be a dict with segments and device_traces")
    seen: set[int] = set()
    out = []
    for number, segment in enumerate(_list_of(snapshot, "segments", "", seen)):
        where = f"segments[{number}]"
        begin = at = _field(segment, "address", where, below=1 << 64)
        end = begin + _field(segment, "total_size", where)
        blocks = []
        for place, block in enumerate(_list_of(segment, "blocks", where, seen)):
            inside = f"{where}.blocks[{place}]"
            size = _field(block, "size", inside)
            if block.get("state") != "inactive":
                history = block.get("history")  # until PyTorch 2.0, what was allocated there, the newest first
                newest = history[0] if type(history) is list and history and type(history[0]) is dict else {}
                requested = _field(block, "requested_size", inside, newest.get("real_size", size))
                waits = block.get("state") != "active_allocated"
                blocks.append(Block(at, size, min(requested, size), waits, frames_of(block) or frames_of(newest)))
            at += size
        if at != end and (at > end or blocks):
            raise ValueError(f"the blocks of {where} have {at - begin} bytes, and the segment {end - begin}")
        device, grows = _field(segment, "device", where, 0, 1 << 16), bool(segment.get("is_expandable"))
        out.append(Segment(device, begin, end, grows, blocks))
    out.sort(key=lambda s: s[:3])
    for one, two in zip(out, out[1:]):
        if one.device == two.device and two.begin < one.end:
            raise ValueError(f"the segment at address {two.begin} begins inside the one at {one.begin}")
    return out


ALLOC, REQUESTED, COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, MAP, UNMAP, OOM, OTHER = range(9)
_KINDS = {
    "alloc": ALLOC,
    "free_requested": REQUESTED,
    "free_completed": COMPLETED,
    "free": COMPLETED,
    "segment_alloc": SEGMENT_ALLOC,
    "segment_free": SEGMENT_FREE,
    "segment_map": MAP,
    "segment_unmap": UNMAP,
    "oom": OOM,
}


_There = tuple[int, "int | None", "Block | None"]  # bytes requested, the entry that frees it, the block of the snapshot


class Trace:
    """The entries of a device as columns, and what was there before the first of them."""

    def __init__(self, entries: list[Any], where: str, segments: list[Segment]) -> None:
        self.entries, self.segments = entries, segments
        self.kinds: list[int] = []
        self.addresses: list[int] = []
        self.sizes: list[int] = []
        for number, entry in enumerate(entries):
            action = entry.get("action") if type(entry) is dict else None
            if type(action) is not str:
                raise ValueError(f"{where}[{number}].action is missing: an entry of a trace says what was done")
            kind = _KINDS.get(action, OTHER)
            size: Any = 0
            address: Any = 0
            if kind != OTHER:
                size = entry.get("size")
                address = entry.get("device_free" if kind == OOM else "addr")
                numbers = type(size) is type(address) is int
                if not (numbers and 0 <= size < 1 << 63 and 0 <= address < 1 << 64):
                    _field(entry, "size", f"{where}[{number}]")
                    _field(entry, "device_free" if kind == OOM else "addr", f"{where}[{number}]", below=1 << 64)
            self.kinds.append(kind)
            self.addresses.append(address)
            self.sizes.append(size)
        self.requests = REQUESTED in self.kinds or not self._frees_at_once()
        self.completes = COMPLETED in self.kinds or any(block.waits for block in self.here())
        self._go_back()

    def _frees_at_once(self) -> bool:
        """Whether a block is given back without a request: entries of a kind may be left out of a trace."""
        last: dict[int, int] = {}
        for kind, address in zip(self.kinds, self.addresses):
            if kind == COMPLETED and last.get(address) == ALLOC:
                return True
            if kind in (ALLOC, COMPLETED):
                last[address] = kind
        return False

    def _go_back(self) -> None:
        """From the blocks of the snapshot back to those that were there before the first entry."""
        live: dict[int, _There] = {b.address: (b.requested, None, b) for b in self.here() if not b.waits}
        waiting: dict[int, _There] = {b.address: (b.requested, None, b) for b in self.here() if b.waits}
        self.freed: dict[int, int] = {}  # by entry of the allocation, the entry that freed it
        self.size_of: dict[int, int] = {}  # by entry, the bytes of a block that the snapshot still has
        self.frames_of: dict[int, Sequence[Any]] = {}
        self.contradictions = 0
        kinds, addresses, sizes = self.kinds, self.addresses, self.sizes
        for at in range(len(kinds) - 1, -1, -1):
            kind, address = kinds[at], addresses[at]
            if kind == ALLOC:
                was = live.pop(address, None) or waiting.pop(address, None)
                if was is None:
                    self.contradictions += 1
                elif was[1] is not None:
                    self.freed[at] = was[1]
                if was is not None and was[2] is not None:
                    self.size_of[at], self.frames_of[at] = was[2].size, was[2].frames
            elif kind == REQUESTED:
                was = waiting.pop(address, None)
                self.contradictions += address in live
                live[address] = (sizes[at], at, was[2] if was else None)
            elif kind == COMPLETED:
                self.contradictions += address in live or address in waiting
                (waiting if self.requests else live)[address] = (sizes[at], at, None)
        self.live, self.waiting = live, waiting
        regions = {s.begin: s.end for s in self.segments}
        apart = {s.begin: s.end for s in self.segments if not s.grows}
        for at in range(len(kinds) - 1, -1, -1):
            kind, address = kinds[at], addresses[at]
            if kind == SEGMENT_ALLOC:
                self.contradictions += regions.pop(address, None) != address + sizes[at]
                apart.pop(address, None)
            elif kind == MAP:
                self.contradictions += not _cut_out(regions, address, address + sizes[at])
            elif kind in (SEGMENT_FREE, UNMAP):
                regions[address] = address + sizes[at]
                if kind == SEGMENT_FREE:
                    apart[address] = address + sizes[at]
        self.apart = {*apart, *apart.values()}  # where free bytes on both sides do not become one block
        self.regions: list[tuple[int, int]] = []
        for begin, end in sorted(regions.items()):
            if self.regions and self.regions[-1][1] == begin and begin not in self.apart:
                begin = self.regions.pop()[0]
            self.regions.append((begin, end))

    def here(self) -> Iterable[Block]:
        return (block for segment in self.segments for block in segment.blocks)


def _cut_out(ranges: dict[int, int], begin: int, end: int) -> bool:
    """Takes [begin, end) out of disjoint ranges; false if not all of it was there."""
    left = end - begin
    last = ranges.get(begin)
    for a in [begin] if last is not None and last >= end else [a for a, b in ranges.items() if a < end and b > begin]:
        b = ranges.pop(a)
        left -= min(b, end) - max(a, begin)
        if a < begin:
            ranges[a] = begin
        if b > end:
            ranges[end] = b
    return left == 0


# PyTorch's allocator, as far as it decides how large a block is (c10/cuda/CUDACachingAllocator.cpp): it rounds what is
# asked for, takes a free block, and leaves the rest of it a free block of its own where that is worth it.

LEAST_BLOCK, SMALL = 512, 1 << 20
MOST_WORK = 200_000_000  # free blocks looked at where an entry does not fit to them


class Allocator:
    """Walks through a trace from its first entry."""

    def __init__(self, trace: Trace, settings: Mapping[str, Any]) -> None:
        self.trace = trace
        divisions = settings.get("roundup_power2_divisions")
        self.divisions = divisions if type(divisions) is dict else {}
        most = settings.get("max_split_size")
        self.most_split = most if type(most) is int and most > 0 else math.inf
        self.grows = bool(settings.get("expandable_segments")) or any(s.grows for s in trace.segments)
        self.apart = set(trace.apart)
        self.begins: dict[int, int] = {}  # of free ranges
        self.ends: dict[int, int] = {}
        self.live: dict[int, tuple[int, int, int]] = {}  # by address: bytes, requested, entry of the allocation or -1
        self.waiting: dict[int, tuple[int, int, int]] = {}
        self.allocated = self.requested = self.waits = 0
        self.reserved = sum(end - begin for begin, end in trace.regions)
        self.guesses = 0  # blocks whose bytes are not known for sure
        self.work = MOST_WORK
        self._begin()

    def _begin(self) -> None:
        there = {**self.trace.waiting, **self.trace.live}
        order = sorted(there)
        at = 0
        for begin, end in self.trace.regions:
            at = bisect.bisect_left(order, begin, at)
            free = begin
            while at < len(order) and order[at] < end:
                address = order[at]
                at += 1
                requested, _, block = there[address]
                after = min(order[at], end) if at < len(order) else end
                if block is not None:
                    size = block.size
                else:
                    size = self.rounded(requested)
                    if not self.splits(size, after - address - size):
                        size = after - address
                    self.guesses += 1
                self._free(free, address)
                free = address + size
                kept = (size, requested, -1)
                if address in self.trace.live:
                    self.live[address] = kept
                    self.allocated += size
                    self.requested += requested
                else:
                    self.waiting[address] = kept
                    self.waits += size
            self._free(free, end)

    def rounded(self, size: int) -> int:
        """The bytes of a block for so many."""
        if size < LEAST_BLOCK:
            return LEAST_BLOCK
        if self.divisions:
            power = str(1 << min(max(size.bit_length() - 21, 0), 15))  # from 1 MiB to 32 GiB
            parts = self.divisions.get(power)
            if type(parts) is int and parts > 1 and size > LEAST_BLOCK * parts:
                floor = 1 << (size.bit_length() - 1)
                step = floor >> (parts.bit_length() - 1)
                if size == floor or step:
                    return size if size == floor else -(-size // step) * step
                return 2 * floor
        return -(-size // LEAST_BLOCK) * LEAST_BLOCK

    def splits(self, size: int, rest: int) -> bool:
        """Whether the rest of a free block becomes one of its own."""
        if size <= SMALL or self.grows:
            return rest >= LEAST_BLOCK
        return size < self.most_split and rest > SMALL

    def _free(self, begin: int, end: int) -> None:
        if begin >= end:
            return
        if begin in self.ends and begin not in self.apart:
            begin = self.ends.pop(begin)
        if end in self.begins and end not in self.apart:
            last = self.begins.pop(end)
            self.ends.pop(last, None)  # there, unless the trace frees bytes that were free
            end = last
        self.begins[begin] = end
        self.ends[end] = begin

    def _take(self, begin: int, end: int) -> None:
        """Takes bytes out of what is free, wherever they lie there. Such a search is rare in a trace of an allocator;
        after too many of them, the free blocks are given up."""
        last = self.begins.get(begin)
        if last is not None and last == end:
            del self.begins[begin]
            self.ends.pop(end, None)
            return
        self.work -= len(self.begins)
        if self.work < 0:
            return
        for a in [a for a, b in self.begins.items() if a < end and b > begin]:
            b = self.begins.pop(a)
            self.ends.pop(b, None)
            if a < begin:
                self.begins[a] = begin
                self.ends[begin] = a
            if b > end:
                self.begins[end] = b
                self.ends[b] = end

    def _alloc(self, at: int, address: int, requested: int) -> None:
        size = self.trace.size_of.get(at)
        last = self.begins.get(address)
        least = self.rounded(requested) if size is None else size
        if last is not None and last - address >= least:
            if size is None:
                size = least if self.splits(least, last - address - least) else last - address
            del self.begins[address]
            if address + size < last:
                self.begins[address + size] = last
                self.ends[last] = address + size
            else:
                self.ends.pop(last, None)
        else:  # a block before it is shorter or longer than was thought, or the trace has lost entries
            if size is None:
                size = least
                self.guesses += 1
            self._take(address, address + size)
        old = self.live.pop(address, None)
        if old:
            self.allocated -= old[0]
            self.requested -= old[1]
        self.live[address] = (size, requested, at)
        self.allocated += size
        self.requested += requested

    def run(self, begin: int, end: int, watch: Callable[[int], None] | None = None) -> tuple[int, int]:
        """Takes the entries from `begin`. Returns after which most was allocated, `begin` - 1 if before them, and how
        much. Calls `watch(at)` at every entry that says that no memory was left."""
        trace = self.trace
        kinds, addresses, sizes = trace.kinds, trace.addresses, trace.sizes
        live, waiting = self.live, self.waiting
        best, most = begin - 1, self.allocated
        for at in range(begin, end):
            kind, address = kinds[at], addresses[at]
            if kind == ALLOC:
                self._alloc(at, address, sizes[at])
                if self.allocated > most:
                    best, most = at, self.allocated
            elif kind == REQUESTED or kind == COMPLETED:
                was = live.pop(address, None)
                if was is not None:
                    self.allocated -= was[0]
                    self.requested -= was[1]
                    if kind == REQUESTED and trace.completes:
                        waiting[address] = was
                        self.waits += was[0]
                        continue
                elif kind == COMPLETED:
                    was = waiting.pop(address, None)
                    if was is not None:
                        self.waits -= was[0]
                if was is not None:
                    self._free(address, address + was[0])
            elif kind in (SEGMENT_ALLOC, MAP):
                self.reserved += sizes[at]
                if kind == SEGMENT_ALLOC:
                    self.apart.update((address, address + sizes[at]))
                self._free(address, address + sizes[at])
            elif kind in (SEGMENT_FREE, UNMAP):
                self.reserved -= sizes[at]
                self._take(address, address + sizes[at])
            elif kind == OOM and watch:
                watch(at)
        return best, most

    def free(self) -> int:
        """The bytes that no block has."""
        return max(0, self.reserved - self.allocated - self.waits)

    def largest(self) -> int:
        """The bytes of the largest free block; 0 if the trace contradicts itself too often to tell."""
        return 0 if self.work < 0 else max((end - begin for begin, end in self.begins.items()), default=0)
