# SPDX-License-Identifier: Apache-2.0
"""What was on the device when most of it was allocated, from a memory snapshot of PyTorch. Needs no PyTorch.

    snapshot = ballast.snapshot.read("snapshot.pickle")  # torch.cuda.memory._dump_snapshot("snapshot.pickle")
    print(ballast.snapshot.peak(snapshot))
    print(ballast.snapshot.compare(snapshot, {"states": 14 << 30, "kept": 9 << 30, "head": 2 << 30}))

`python -m ballast.snapshot FILE` prints the first table, and with `--model` and the options of `ballast memory` what
the memory model says beside it. A file is read by an unpickler that knows containers, numbers and strings alone, so
nothing in it is executed.
"""

from __future__ import annotations

import argparse
import json
import numbers
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from . import _ballast
from ._snapshot_file import load
from ._snapshot_model import add_options, parts_of, stages_of
from ._snapshot_rules import CATEGORIES, RULES, Rule, Stages, category_of
from ._snapshot_trace import Allocator, Trace, segments_of

__all__ = ["CATEGORIES", "RULES", "Comparison", "OutOfMemory", "Part", "Peak", "Row", "Rule", "compare", "peak", "read"]

MOST_BYTES = 4 << 30  # of a file; in memory it takes a few times as much


def read(path: str | os.PathLike[str], *, limit: int = MOST_BYTES) -> dict[str, Any]:
    """The snapshot in a file that `torch.cuda.memory._dump_snapshot` wrote.

    Nothing in the file is executed: it may hold lists, dicts, strings, numbers and tuples of integers. Any other file
    raises ValueError with a sentence, as does one that is cut, empty, compressed, or larger than `limit` bytes.
    """
    name = os.fspath(path)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(limit + 1) if size <= limit else b""
    if max(size, len(data)) > limit:  # a pipe has a size of 0
        raise ValueError(f"{name} has more than {limit} bytes, the limit: record fewer entries, or give limit=")
    snapshot: Any = load(data, name)
    if type(snapshot) is list:  # torch.cuda.memory_snapshot() gives the segments alone
        snapshot = {"segments": snapshot, "device_traces": []}
    try:
        segments_of(snapshot)
    except ValueError as error:
        raise ValueError(f"{name} is no memory snapshot of PyTorch: {error}") from None
    out: dict[str, Any] = snapshot
    return out


@dataclass
class Part:
    """What a category had at the peak."""

    bytes: int = 0  # of blocks
    requested: int = 0  # asked for
    blocks: int = 0


@dataclass
class OutOfMemory:
    """An allocation that failed."""

    entry: int
    asked: int  # bytes
    free: int  # bytes in free blocks of all segments
    largest: int  # of them, the largest block
    device_free: int  # bytes that the device had beside the segments

    @property
    def fragmented(self) -> bool:
        """Whether less was asked for than was free in all."""
        return self.asked <= self.free + self.device_free


@dataclass
class Peak:
    """When most bytes were allocated on a device, and what they were; `str` is a table. All figures are bytes."""

    device: int
    entries: int  # of the trace
    entry: int  # after which most was allocated; -1 before the first
    time_us: int | None
    stage: str  # forward, backward, step or elsewhere
    allocated: int  # in blocks, as torch.cuda.max_memory_allocated counts
    requested: int  # asked for; the rest was added by rounding
    awaiting: int  # freed by the program, but another stream still used them
    reserved: int  # in segments, as torch.cuda.memory_reserved counts
    largest_free: int  # of the free blocks
    parts: dict[str, Part]  # by category
    out_of_memory: list[OutOfMemory] = field(default_factory=list)
    cut: bool = False  # the trace does not begin at the beginning
    guessed: int = 0  # blocks of the peak or before it whose bytes are estimated
    notes: list[str] = field(default_factory=list)

    @property
    def fragmentation(self) -> int:
        """Reserved and not allocated."""
        return self.reserved - self.allocated

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON takes it."""
        out = asdict(self)
        out["fragmentation"] = self.fragmentation
        for one, told in zip(self.out_of_memory, out["out_of_memory"]):
            told["fragmented"] = one.fragmented
        return out

    def __str__(self) -> str:
        rows = [("category", "bytes", "requested", "blocks", "share")]
        for name, part in self.parts.items():
            share = f"{100 * part.bytes / self.allocated:.1f} %" if self.allocated else ""
            rows.append((name, f"{part.bytes:,}", f"{part.requested:,}", f"{part.blocks:,}", share))
        blocks = sum(part.blocks for part in self.parts.values())
        rows.append(("allocated", f"{self.allocated:,}", f"{self.requested:,}", f"{blocks:,}", ""))
        rows.append(("reserved", f"{self.reserved:,}", "", "", ""))
        rows.append(("fragmentation", f"{self.fragmentation:,}", "", "", ""))
        rows.append(("largest free block", f"{self.largest_free:,}", "", "", ""))
        if self.awaiting:
            rows.append(("waits for a stream", f"{self.awaiting:,}", "", "", ""))
        when = "before the first entry" if self.entry < 0 else f"at entry {self.entry:,}"
        stage = {"forward": ", in forward", "backward": ", in backward", "step": ", in the optimizer's step"}
        head = f"device {self.device}: most was allocated {when} of {self.entries:,}{stage.get(self.stage, '')}"
        if not self.entries:
            head = f"device {self.device}: what is allocated; the snapshot has no trace"
        return "\n".join([head, *_aligned(rows), *self.notes])


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Columns: the first begins on the left, the others end on the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *others in rows:
        yield "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]).rstrip()


def _flag(snapshot: Mapping[str, Any], key: str, device: int) -> bool:
    """A flag of a device, which is among the settings or beside them, for all devices or each."""
    for holder in (snapshot, snapshot.get("allocator_settings")):
        value = holder.get(key) if type(holder) is dict else None
        if type(value) is list:
            value = value[device] if device < len(value) else False
        if type(value) is dict:
            value = value.get(device)
        if value is True:
            return True
    return False


def peak(snapshot: Mapping[str, Any], device: int | None = None) -> Peak:
    """When most bytes were allocated on a device, and what they were, by category.

    `snapshot` is what `read` returns, or `torch.cuda.memory._snapshot()` itself. `device` is the one with most reserved
    bytes unless it is given. From the blocks of the snapshot, its trace is followed back to its beginning and then
    forward, with the rules by which PyTorch rounds and splits blocks. `RULES` say what a block is; they need stacks,
    which `_record_memory_history` records unless it is told not to. Takes a few microseconds an entry.
    """
    segments = segments_of(snapshot)
    traces = snapshot.get("device_traces", [])
    if type(traces) is not list or any(type(trace) is not list for trace in traces):
        raise ValueError("device_traces must be a list with a list of entries for each device")
    reserved: dict[int, int] = {number: 0 for number, trace in enumerate(traces) if trace}
    for segment in segments:
        reserved[segment.device] = reserved.get(segment.device, 0) + segment.end - segment.begin
    if device is None:
        device = max(reserved, key=lambda d: (reserved[d], -d), default=0)
    elif device not in reserved:
        there = ", ".join(map(str, sorted(reserved))) or "none"
        raise ValueError(f"device = {device} has neither segments nor a trace; those that have: {there}")
    entries = traces[device] if device < len(traces) else []
    settings = snapshot.get("allocator_settings")
    settings = settings if type(settings) is dict else {}
    trace = Trace(entries, f"device_traces[{device}]", [s for s in segments if s.device == device])
    stages = Stages(trace)

    failed: list[OutOfMemory] = []
    whole = Allocator(trace, settings)

    def watch(at: int) -> None:
        if len(failed) < 100:
            failed.append(OutOfMemory(at, trace.sizes[at], whole.free(), whole.largest(), trace.addresses[at]))

    at, most = whole.run(0, len(entries), watch)
    then = Allocator(trace, settings)
    then.run(0, at + 1)

    parts = {category: Part() for category in CATEGORIES}
    for address, (size, requested, made) in then.live.items():
        if made >= 0:
            stage, freed = stages.stage(stages.bits[made]), stages.freed(made)
            bits = stages.bits[made] or stages.of(trace.frames_of.get(made, ()))
        else:
            _, until, final = trace.live[address]
            stage, freed = "before", "never" if until is None else stages.stage_of_free(until)
            bits = stages.of(final.frames) if final else 0
        part = parts[category_of(requested, stage, freed, bits, stages)]
        part.bytes += size
        part.requested += requested
        part.blocks += 1
    overflowed = _flag(snapshot, "trace_alloc_overflowed", device)
    out = Peak(
        device=device,
        entries=len(entries),
        entry=at,
        time_us=_time(entries[at]) if at >= 0 else None,
        stage=stages.stage(stages.bits[at]) if at >= 0 else "elsewhere",
        allocated=most,
        requested=then.requested,
        awaiting=then.waits,
        reserved=then.reserved,
        largest_free=then.largest(),
        parts={category: part for category, part in parts.items() if part.blocks},
        out_of_memory=failed,
        cut=bool(trace.live or trace.waiting or overflowed),
        guessed=then.guesses,
    )
    _add_notes(out, trace, stages, whole, overflowed)
    return out


def _time(entry: dict[str, Any]) -> int | None:
    time = entry.get("time_us")
    return time if type(time) is int else None


def _add_notes(out: Peak, trace: Trace, stages: Stages, end: Allocator, overflowed: bool) -> None:
    """What to know of the figures, a sentence each."""
    for failure in out.out_of_memory:
        text = (
            f"entry {failure.entry:,}: {failure.asked:,} bytes were not to be had; {failure.free:,} were free in "
            f"blocks, the largest of {failure.largest:,}, and {failure.device_free:,} on the device"
        )
        out.notes.append(text + (": less was asked for than was free in all" if failure.fragmented else ""))
    if not out.entries:
        out.notes.append(
            "no trace: _record_memory_history was not on, or kept the state alone, so an earlier peak is not known"
        )
        return
    first = [*trace.live.values(), *trace.waiting.values()]
    if first or overflowed:
        wrapped = overflowed or any(block is not None and block.frames for _, _, block in first)
        why = "its buffer of entries wrapped, so give a larger max_entries" if wrapped else "the record began later"
        out.notes.append(
            f"the trace does not begin with an empty device: {sum(r for r, _, _ in first):,} bytes in {len(first):,} "
            f"blocks were there before its first entry ({why}); an earlier peak is not known"
        )
    if not stages.recorded:
        out.notes.append("the trace has no stacks of Python, so most is unknown: record with context='all'")
    if out.guessed:
        out.notes.append(f"the bytes of {out.guessed:,} blocks are estimated from what was asked for")
    finals = {block.address: block.size for block in trace.here()}
    ends = {address: block[0] for address, block in (*end.live.items(), *end.waiting.items())}
    wrong = sum(ends.get(address) != finals.get(address) for address in ends.keys() | finals.keys())
    if end.work < 0:
        out.notes.append("the largest free block is not known, for too few of the entries fit to each other")
    if wrong or trace.contradictions:
        out.notes.append(
            f"the trace and the segments disagree in {max(wrong, trace.contradictions):,} places: entries are missing, "
            "or the snapshot was taken while memory was allocated"
        )


# Beside the model


class Row(NamedTuple):
    """A line of a comparison, in bytes."""

    part: str
    model: int
    measured: int
    difference: int  # measured - model


class Comparison(list[Row]):
    """Rows; `str` is a table."""

    def __str__(self) -> str:
        rows = [("part", "model", "measured", "difference", "")]
        for row in self:
            share = f"{100 * row.difference / row.model:+.1f} %" if row.model else ""
            rows.append((row.part, f"{row.model:,}", f"{row.measured:,}", f"{row.difference:+,}", share))
        return "\n".join(_aligned(rows))


_STATES = ("parameters", "gradients", "optimizer")
_BESIDE = ("gathered", "inputs")  # gathered parameters are states, and nothing says whose the inputs are
_MOMENTS = {"head": "head", "layer": "work", "overlap": "work", "step": "work", "extra": "work", "work": "work"}


def compare(snapshot: Mapping[str, Any] | Peak, parts: Mapping[str, Any]) -> Comparison:
    """What a model says beside what was allocated at the peak, part by part.

    `parts` is a stage of `ballast.memory`, or holds bytes: `states`, or its parts `parameters`, `gradients` and
    `optimizer`; `gathered`, which is added to them; `workspace`; `kept`; `inputs`, beside what is unknown; and what one
    moment needs beyond these: `head`, `layer`, `overlap`, `step` or `extra`. Of the moments, the model counts the
    largest, for they are never there together; the others have 0 here. `snapshot` may be a `Peak`. The last row is the
    sum.
    """
    if isinstance(parts.get("extra"), Mapping):
        parts = parts_of(parts)
    found = snapshot if isinstance(snapshot, Peak) else peak(snapshot)
    measured = {name: part.bytes for name, part in found.parts.items()}
    known = ("states", *_STATES, "workspace", "kept", *_BESIDE, *_MOMENTS)
    for name, value in parts.items():
        if name not in known:
            raise ValueError(f'parts["{name}"] is not one of {", ".join(known)}')
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
            raise ValueError(f'parts["{name}"] = {value!r} must be an integer from 0, in bytes')
    if "states" in parts and any(name in parts for name in _STATES):
        raise ValueError('parts has "states" and a part of them, which would be counted twice')
    moments = {name: int(parts[name]) for name in _MOMENTS if name in parts}
    at = max(moments, key=lambda name: moments[name], default="")

    def of(name: str) -> int:
        return measured.get(name, 0)

    out = Comparison()

    def row(part: str, model: int, there: int) -> None:
        out.append(Row(part, model, there, there - model))

    if any(name in parts for name in _STATES):
        for name in _STATES:
            gathered = int(parts.get("gathered", 0)) if name == "parameters" else 0
            row(name, int(parts.get(name, 0)) + gathered, of(name))
        if of("states"):
            row("states", 0, of("states"))
    else:
        row("states", int(parts.get("states", 0)) + int(parts.get("gathered", 0)), sum(map(of, ("states", *_STATES))))
    for name in ("workspace", "kept"):
        row(name, int(parts.get(name, 0)), of(name))
    for name in ("head", "work"):
        row(name, moments[at] if at and _MOMENTS[at] == name else 0, of(name))
    row("unknown", int(parts.get("inputs", 0)), of("unknown"))
    row("allocated", sum(r.model for r in out), sum(r.measured for r in out))
    return out


def _stages_in(parts: dict[str, Any], name: str) -> list[dict[str, Any]] | None:
    """The stages of what `ballast memory --json` printed; None if it is parts."""
    stages = parts.get("stages")
    if stages is None:
        return None
    whole = isinstance(stages, list) and stages and all(isinstance(s, dict) for s in stages)
    if not whole or not all(isinstance(s.get("extra"), dict) and "moment" in s and "peak" in s for s in stages):
        raise ValueError(f"{name} has stages, but not as `ballast memory --json` prints them")
    return list(stages)


def _stage(stages: list[dict[str, Any]], asked: int | None) -> tuple[int, dict[str, Any]]:
    """A stage by its number, or the fullest."""
    if asked is not None and not 0 <= asked < len(stages):
        raise ValueError(f"--stage {asked}: the training has stages 0 to {len(stages) - 1}")
    number = max(range(len(stages)), key=lambda s: (stages[s]["peak"], -s)) if asked is None else asked
    return number, stages[number]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: prints the peak of a file, and beside it what a model says."""
    parser = argparse.ArgumentParser(
        prog="python -m ballast.snapshot", description="Prints what was on the device when most of it was allocated."
    )
    parser.add_argument("file", help="written by torch.cuda.memory._dump_snapshot")
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        help="its number, that of most reserved bytes unless it is given; or with --model its kind, as in a100",
    )
    parser.add_argument(
        "--parts",
        metavar="JSON",
        help='what a model says: from `ballast memory --json`, or {"states": 123, "kept": 45}',
    )
    parser.add_argument("--stage", type=int, metavar="N", help="pipeline stage of the device; the fullest by default")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    add_options(parser)
    options = parser.parse_args(arguments)
    beside, title = None, ""
    try:
        numbers_given = [int(word) for word in options.device if word.lstrip("-").isdigit()]
        kinds = [word.lower() for word in options.device if not word.lstrip("-").isdigit()]
        for kind in kinds:
            if kind not in _ballast.devices():
                raise ValueError(f"--device {kind} is neither a number nor one of {', '.join(_ballast.devices())}")
        stages = stages_of(options, kinds[-1] if kinds else None)
        if stages is not None and options.parts:
            raise ValueError("--parts and --model both say what the model holds: give one of them")
        parts: Any = None
        if options.parts:
            with open(options.parts, encoding="utf-8") as file:
                parts = json.load(file)
            if type(parts) is not dict:
                raise ValueError(f"{options.parts} must hold an object of parts in bytes")
            stages = _stages_in(parts, options.parts)
        if stages is not None:
            number, parts = _stage(stages, options.stage)
            title = f"stage {number} of {len(stages)} by the memory model, at the moment {parts['moment']}:\n"
        elif options.stage is not None:
            raise ValueError("--stage is for --model, or for --parts from `ballast memory --json`")
        found = peak(read(options.file), numbers_given[-1] if numbers_given else None)
        if parts is not None:
            beside = compare(found, parts)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    text = str(found) if beside is None else f"{found}\n\n{title}{beside}"
    if options.json:
        out = found.as_dict()
        if beside is not None:
            out["comparison"] = [row._asdict() for row in beside]
        text = json.dumps(out, indent=2)
    try:
        print(text, flush=True)
    except BrokenPipeError:  # as in a pipe to head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
