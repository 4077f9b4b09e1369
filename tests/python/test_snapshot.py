# SPDX-License-Identifier: Apache-2.0
"""Tests ballast.snapshot on snapshots that a small allocator of its own makes, where every byte is known. Run by
scripts/test-python and .ci/run; needs neither PyTorch nor a device."""

import contextlib
import copy
import gzip
import json
import os
import pathlib
import pickle
import random
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import ballast
from ballast import snapshot

MANUAL = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
MIB = 1 << 20
SITE = "/usr/lib/python3/site-packages/"


def stack(*frames):
    """Frames as PyTorch records them, the innermost first: file:function, or the name of a C++ function."""
    out = []
    for line, frame in enumerate(frames, 7):
        file, found, name = frame.rpartition(".py:")
        out.append({"filename": SITE + file + ".py" if found else "??", "name": name, "line": line if found else 0})
    return out


CALL = "torch/nn/modules/module.py:_call_impl"
ENGINE = "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)"
MODEL, LAYER = (
    "transformers/models/llama/modeling_llama.py:forward",
    "transformers/models/llama/modeling_llama.py:forward",
)
STACKS = {
    "build": stack("torch/nn/modules/module.py:convert", "torch/nn/modules/module.py:_apply", "train.py:main"),
    "data": stack("train.py:main"),
    "layer": stack("torch/nn/functional.py:silu", LAYER, CALL, LAYER, CALL, MODEL, CALL, "train.py:main"),
    "head": stack("torch/nn/modules/linear.py:forward", CALL, MODEL, CALL, "train.py:main"),
    "loss": stack(
        "torch/nn/functional.py:cross_entropy",
        "transformers/loss/loss_utils.py:fixed_cross_entropy",
        MODEL,
        CALL,
        "train.py:main",
    ),
    "cublas": stack(
        "at::cuda::(anonymous namespace)::getNewWorkspace()",
        "torch/nn/modules/linear.py:forward",
        LAYER,
        CALL,
        LAYER,
        CALL,
        MODEL,
    ),
    "backward": stack("torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", ENGINE),
    "adam": stack("torch/optim/adam.py:_init_group", "torch/optim/adam.py:step", "train.py:main"),
    "foreach": stack("torch/optim/adam.py:_multi_tensor_adam", "torch/optim/adam.py:step", "train.py:main"),
    "zero": stack("torch/optim/optimizer.py:zero_grad", "train.py:main"),
    "gather": stack(
        "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:all_gather_copy_in_cuda", "train.py:main"
    ),
}


class Block:
    def __init__(self, address, size):
        self.address, self.size, self.requested, self.state, self.frames, self.tag = (
            address,
            size,
            0,
            "inactive",
            [],
            None,
        )


class Range:
    """A segment, or all segments of a stream that grow."""

    def __init__(self, begin, stream, small, grows):
        self.begin, self.stream, self.small, self.grows, self.blocks = begin, stream, small, grows, []
        self.page = 2 * MIB if small else 20 * MIB


class Device:
    """PyTorch's allocator in small, which counts everything as it goes. `tag` is what a block is, for the test."""

    def __init__(self, *, memory=1 << 40, grows=False, stacks="all", context="all", skip=()):
        self.memory, self.grows, self.stacks, self.context, self.skip = memory, grows, stacks, context, skip
        self.ranges, self.trace, self.owner, self.top = [], [], {}, 1 << 30
        self.allocated = self.requested = self.awaiting = self.reserved = 0
        self.best = {"allocated": 0, "entry": -1}
        self.kept, self.spike = {}, -1  # at which allocation a gibibyte comes and goes
        self.timeline = []  # after each entry: allocated, requested, reserved

    def record(self, action, address, size, stream, frames):
        if action in self.skip:
            return
        entry = {
            "action": action,
            "device_free" if action == "oom" else "addr": address,
            "size": size,
            "stream": stream,
        }
        if self.context and frames:
            entry["frames"] = frames
        self.trace.append(
            entry
            | {"time_us": 1000 + len(self.trace), "pool_id": (0, 0), "compile_context": "N/A", "user_metadata": ""}
        )
        self.timeline.append((self.allocated, self.requested, self.reserved))

    def seen(self, name):
        frames = STACKS[name]
        if self.stacks == "python":  # the threads of autograd run none
            frames = self.kept.setdefault(name, [f for f in frames if f["filename"] != "??"])
        return frames

    def new_range(self, stream, small, size):
        at = Range(self.top, stream, small, self.grows)
        self.top += 1 << 36 if self.grows else size
        self.ranges.append(at)
        return at

    def blocks(self):
        return [(r, b) for r in self.ranges for b in r.blocks]

    def best_fit(self, size, stream, small):
        fits = [
            (b.size, b.address, r, b)
            for r, b in self.blocks()
            if b.state == "inactive" and b.size >= size and (r.stream, r.small) == (stream, small)
        ]
        return min(fits, default=None, key=lambda f: f[:2])

    def extend(self, size, stream, small):
        """More memory of the device; false if it has none."""
        if self.grows:
            place = next((r for r in self.ranges if (r.stream, r.small) == (stream, small)), None) or self.new_range(
                stream, small, 0
            )
            last = place.blocks[-1] if place.blocks else None
            begin = last.address + last.size if last else place.begin
            need = size - (last.size if last and last.state == "inactive" else 0)
            more = -(-need // place.page) * place.page
        else:
            more = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.reserved + more > self.memory:
            return False
        self.reserved += more
        if not self.grows:
            place, begin = self.new_range(stream, small, more), self.top - more
        place.blocks.append(Block(begin, more))
        self.record("segment_map" if self.grows else "segment_alloc", begin, more, stream, None)
        self.merge(place)
        return True

    def alloc(self, size, what, tag, stream=0):
        self.spike -= 1
        if self.spike == 0:
            self.free(self.alloc(1 << 30, "data", "spike", stream=9), "data")
        frames = self.seen(what)
        want = -(-max(size, 1) // 512) * 512
        small = want <= MIB
        fit = self.best_fit(want, stream, small)
        if fit is None and not self.extend(want, stream, small):
            self.empty_cache()
            if not self.extend(want, stream, small):
                self.record("oom", self.memory - self.reserved, want, stream, frames)
                raise MemoryError
        _, _, place, block = fit or self.best_fit(want, stream, small)
        rest = block.size - want
        if rest >= 512 if small or self.grows else rest > MIB:
            index = place.blocks.index(block)
            place.blocks.insert(index + 1, Block(block.address + want, rest))
            block.size = want
        block.requested, block.state, block.tag, block.frames = (
            size,
            "active_allocated",
            tag,
            frames if self.context else [],
        )
        self.owner[block.address] = (place, block)
        self.allocated += block.size
        self.requested += size
        self.record("alloc", block.address, size, stream, frames)
        if self.allocated > self.best["allocated"] and "alloc" not in self.skip:
            self.best = self.figures() | {"entry": len(self.trace) - 1}
        return block.address

    def figures(self):
        tags = {}
        for _, b in self.blocks():
            if b.state == "active_allocated":
                tags[b.tag] = tags.get(b.tag, 0) + b.size
        largest = max((b.size for _, b in self.blocks() if b.state == "inactive"), default=0)
        return {
            "allocated": self.allocated,
            "requested": self.requested,
            "awaiting": self.awaiting,
            "reserved": self.reserved,
            "largest_free": largest,
            "tags": tags,
        }

    def free(self, address, what, waits=False):
        place, block = self.owner[address]
        frames = self.seen(what) if self.context == "all" else block.frames
        block.state = "active_pending_free"
        self.allocated -= block.size
        self.requested -= block.requested
        self.awaiting += block.size
        self.record("free_requested", address, block.requested, place.stream, frames)
        if not waits:
            self.complete(address, frames)

    def complete(self, address, frames=()):
        place, block = self.owner.pop(address)
        self.awaiting -= block.size
        self.record("free_completed", address, block.requested, place.stream, frames)
        block.state, block.frames, block.requested = "inactive", [], 0
        self.merge(place)

    def merge(self, place):
        out = []
        for block in place.blocks:
            last = out[-1] if out else None
            if last and last.state == block.state == "inactive" and last.address + last.size == block.address:
                last.size += block.size
            else:
                out.append(block)
        place.blocks = out

    def empty_cache(self):
        for place in list(self.ranges):
            if not place.grows:
                if [b.state for b in place.blocks] == ["inactive"]:
                    self.ranges.remove(place)
                    self.reserved -= place.blocks[0].size
                    self.record("segment_free", place.begin, place.blocks[0].size, place.stream, None)
                continue
            for block in list(place.blocks):
                begin = -(-(block.address - place.begin) // place.page) * place.page + place.begin
                end = (block.address + block.size - place.begin) // place.page * place.page + place.begin
                if block.state == "inactive" and begin < end:
                    index = place.blocks.index(block)
                    ends = [(block.address, begin), (end, block.address + block.size)]
                    place.blocks[index : index + 1] = [Block(a, b - a) for a, b in ends if a < b]
                    self.reserved -= end - begin
                    self.record("segment_unmap", begin, end - begin, place.stream, None)

    def snapshot(self, last=None, **settings):
        """What _snapshot() would return, with the last entries of the trace alone if there were too many."""
        segments = []
        for place in self.ranges:
            for block in place.blocks:
                if not segments or segments[-1]["range"] is not place or segments[-1]["end"] != block.address:
                    segments.append(
                        {"device": 0, "address": block.address, "total_size": 0, "stream": place.stream, "range": place}
                    )
                    segments[-1] |= {
                        "segment_type": "small" if place.small else "large",
                        "segment_pool_id": (0, 0),
                        "blocks": [],
                    }
                    segments[-1] |= {
                        "is_expandable": place.grows,
                        "allocated_size": 0,
                        "active_size": 0,
                        "end": block.address,
                    }
                told = {
                    "address": block.address,
                    "size": block.size,
                    "requested_size": block.requested,
                    "state": block.state,
                    "frames": block.frames,
                }
                segments[-1]["blocks"].append(told)
                segments[-1]["total_size"] += block.size
                segments[-1]["end"] += block.size
        for segment in segments:
            del segment["range"], segment["end"]
        end = {"action": "snapshot", "addr": 0, "size": self.allocated + self.awaiting, "stream": 0, "time_us": 9}
        return {
            "segments": segments,
            "device_traces": [([*self.trace, end])[-last:] if last else [*self.trace, end], []],
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": "",
                "max_split_size": -1,
                "expandable_segments": self.grows,
            }
            | settings,
            "external_annotations": [{"name": "step", "stage": "START", "device": -1, "time_us": 3}],
        }


def train(device, steps=2, layers=3, width=1024, tokens=700, words=3001, seed=1, stop_in=None):
    """Steps of training of a model of odd shapes; returns the addresses of its parameters. Tags are categories."""
    draw = random.Random(seed)
    parameters = [device.alloc(2 * width * (width + 40 * layer), "build", "parameters") for layer in range(layers)]
    head = 2 * width * words
    parameters.append(device.alloc(head, "build", "parameters"))
    for step in range(steps):
        batch = device.alloc(8 * tokens, "data", "unknown")
        gathered = device.alloc(2 * width * width, "gather", "parameters", stream=7)
        kept, gradients = [], []
        for layer in range(layers):
            if step == layer == 0:
                device.alloc(8519680, "cublas", "workspace")
            for _ in range(draw.randrange(2, 5)):
                kept.append(device.alloc(2 * tokens * draw.randrange(width // 2, 2 * width), "layer", "kept"))
                passing = device.alloc(tokens * draw.randrange(1, width), "layer", "work")
                device.free(passing, "layer")
        device.free(gathered, "layer", waits=True)
        logits = device.alloc(2 * tokens * 3001, "head", "head")
        copied = device.alloc(4 * tokens * 3001, "loss", "head")
        loss = device.alloc(4, "loss", "head")
        if (stop_in, step) == ("forward", steps - 1):
            return parameters
        more = device.alloc(4 * tokens * 3001, "backward", "head")
        device.free(copied, "backward")
        device.free(logits, "backward")
        device.free(more, "backward")
        for layer in reversed(range(layers)):
            passing = device.alloc(2 * tokens * width + 512 * layer, "backward", "work")
            gradients.append(device.alloc(2 * width * (width + 40 * layer), "backward", "gradients"))
            device.free(passing, "backward")
            for address in kept[len(kept) * layer // layers :]:
                device.free(address, "backward")
            del kept[len(kept) * layer // layers :]
        device.complete(gathered)
        gradients.append(device.alloc(head, "backward", "gradients"))
        device.free(device.alloc(1536, "backward", "work"), "backward")
        if (stop_in, step) == ("backward", steps - 1):
            return parameters
        if step == 0:
            for layer in (*range(layers), None):
                for _ in range(2):
                    device.alloc(head if layer is None else 2 * width * (width + 40 * layer), "adam", "optimizer")
        passing = [device.alloc(4 * width * width + 99, "foreach", "work") for _ in range(2)]
        for address in passing:
            device.free(address, "foreach")
        for address in gradients:
            device.free(address, "zero")
        device.free(loss, "data")
        device.free(batch, "data")
    return parameters


def written(value, folder, protocol=4):
    path = pathlib.Path(folder) / "snapshot.pickle"
    path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol=protocol))
    return path


def read_of(value):
    """What becomes of a value, or of bytes, that are in a file."""
    with tempfile.TemporaryDirectory() as folder:
        return snapshot.read(written(value, folder))


def sentence_of(case, call, *arguments, **options):
    """The one sentence of the ValueError that a call raises."""
    with case.assertRaises(ValueError) as caught:
        call(*arguments, **options)
    text = str(caught.exception)
    case.assertNotIn("\n", text)
    case.assertLess(len(text), 400)
    case.assertIsNone(caught.exception.__cause__)
    return text


def traffic(device, seed, steps, waits=True):
    """Blocks that come and go at random, on three streams."""
    draw = random.Random(seed)
    live, waiting = [], []
    for _ in range(steps):
        what = draw.randrange(100)
        if what < 52 or not live:
            size = draw.choice((draw.randrange(1, 3000), draw.randrange(1, 1 << 20), draw.randrange(1, 30 << 20)))
            with contextlib.suppress(MemoryError):
                live.append(device.alloc(size, draw.choice(("layer", "backward", "data")), "any", draw.randrange(3)))
        elif what < 96:
            address = live.pop(draw.randrange(len(live)))
            later = waits and draw.random() < 0.2
            device.free(address, "layer", waits=later)
            if later:
                waiting.append(address)
        elif what < 99 and waiting:
            device.complete(waiting.pop(draw.randrange(len(waiting))))
        elif what == 99:
            device.empty_cache()


class Peaks(unittest.TestCase):
    figures = ("allocated", "requested", "awaiting", "reserved", "largest_free", "entry")

    def agrees(self, device, found, tags=False):
        """Fails unless the figures are those of the allocator, to the byte."""
        self.assertEqual({n: getattr(found, n) for n in self.figures}, {n: device.best[n] for n in self.figures})
        self.assertEqual(sum(part.bytes for part in found.parts.values()), device.best["allocated"])
        self.assertEqual(sum(part.requested for part in found.parts.values()), device.best["requested"])
        if tags:
            expected = dict(device.best["tags"])
            spike = expected.pop("spike", 0)
            if spike:
                expected["unknown"] = expected.get("unknown", 0) + spike
            self.assertEqual({name: part.bytes for name, part in found.parts.items()}, expected)

    def test_training_to_the_byte(self):
        for grows in (False, True):
            for stacks in ("all", "python"):
                for context in ("all", "alloc", None):
                    for seed in range(4):
                        with self.subTest(grows=grows, stacks=stacks, context=context, seed=seed):
                            device = Device(grows=grows, stacks=stacks, context=context)
                            train(device, layers=2 + seed, tokens=(300, 700, 1500, 77)[seed], seed=seed)
                            found = snapshot.peak(device.snapshot())
                            self.agrees(device, found, tags=context == "all")
                            self.assertEqual((found.cut, found.guessed, len(found.notes)), (False, 0, not context))

    def test_categories_at_every_moment(self):
        for stacks in ("all", "python"):
            device = Device(stacks=stacks)
            train(device)
            for spike in range(2, sum(entry["action"] == "alloc" for entry in device.trace)):
                with self.subTest(stacks=stacks, spike=spike):
                    device = Device(stacks=stacks)
                    device.spike = spike
                    train(device)
                    self.agrees(device, snapshot.peak(device.snapshot()), tags=True)

    def test_training_that_stops_within_a_step(self):
        for stop in ("forward", "backward"):
            for stacks in ("all", "python"):
                device = Device(stacks=stacks)
                train(device, stop_in=stop)
                found = snapshot.peak(device.snapshot())
                self.agrees(device, found, tags=True)
                self.assertEqual(found.stage, "forward" if stop == "forward" else "backward")

    def test_random_traffic_at_every_entry(self):
        for seed in range(12):
            device = Device(grows=seed % 2 == 1, memory=(1 << 40, 400 * MIB)[seed % 3 == 0])
            traffic(device, seed, 400)
            shot = device.snapshot()
            found = snapshot.peak(shot)
            self.agrees(device, found)
            self.assertEqual((found.guessed, [note for note in found.notes if "disagree" in note]), (0, []))
            trace = snapshot.Trace(shot["device_traces"][0], "", snapshot.segments_of(shot))
            walk = snapshot.Allocator(trace, {})
            for at, expected in enumerate(device.timeline):
                walk.run(at, at + 1)
                self.assertEqual((walk.allocated, walk.requested, walk.reserved), expected, (seed, at))
            ends = {b.address: (b.size, b.requested) for b in trace.here()}
            self.assertEqual({a: block[:2] for a, block in (walk.live | walk.waiting).items()}, ends)

    def test_backward_and_forward_give_the_same_live_bytes(self):
        for seed in range(6):
            device = Device(grows=seed % 2 == 1)
            traffic(device, seed, 300)
            shot = device.snapshot()
            entries, segments = shot["device_traces"][0], snapshot.segments_of(shot)
            walk = snapshot.Allocator(snapshot.Trace(entries, "", segments), {})
            for at in range(len(entries)):
                back = snapshot.Trace(entries[at:], "", segments)  # from the end to this entry
                self.assertEqual({a: b[1] for a, b in walk.live.items()}, {a: b[0] for a, b in back.live.items()})
                self.assertEqual({a: b[1] for a, b in walk.waiting.items()}, {a: b[0] for a, b in back.waiting.items()})
                self.assertEqual(walk.reserved, sum(end - begin for begin, end in back.regions))
                self.assertEqual(back.contradictions, 0)
                if device.grows:  # there, what was asked for says how large a block was
                    self.assertEqual(snapshot.Allocator(back, {}).begins, walk.begins)
                walk.run(at, at + 1)

    def test_a_trace_that_wrapped_gives_what_it_has(self):
        device = Device()
        train(device, steps=3)
        whole = snapshot.peak(device.snapshot())
        for last in range(1, len(device.trace) + 1):
            found = snapshot.peak(device.snapshot(last=last))
            first = len(device.trace) + 1 - last
            self.assertEqual(found.cut, bool(first and device.timeline[first - 1][0]))
            if found.cut:
                self.assertIn(
                    "wrapped"
                    if any(d["frames"] for s in device.snapshot()["segments"] for d in s["blocks"])
                    else "later",
                    str(found),
                )
            # what was asked for is known even where the bytes of a block are estimated, to 1 MiB each
            most = max(entry[0] for entry in device.timeline[max(first - 1, 0) :]) if first else whole.allocated
            self.assertLessEqual(abs(found.allocated - most), MIB * found.guessed)
            if found.guessed == 0:
                self.assertEqual(found.allocated, most)
        flagged = device.snapshot(trace_alloc_overflowed=True)
        self.assertTrue(snapshot.peak(flagged).cut)
        self.assertIn("wrapped", str(snapshot.peak(device.snapshot() | {"trace_alloc_overflowed": [True, False]})))
        later = device.snapshot(last=20)
        for segment in later["segments"]:
            for block in segment["blocks"]:
                block["frames"] = []
        self.assertIn("the record began later", str(snapshot.peak(later)))

    def test_entries_of_a_kind_may_be_left_out(self):
        for kind in ("free_requested", "free_completed", "segment_alloc"):
            device, full = Device(skip=(kind,)), Device()
            for one in (device, full):
                traffic(one, 3, 300, waits=False)
            found, expected = snapshot.peak(device.snapshot()), snapshot.peak(full.snapshot())
            self.assertEqual((found.allocated, found.requested), (expected.allocated, expected.requested), kind)

    def test_out_of_memory(self):
        device = Device(memory=80 * MIB)
        blocks = [device.alloc(19 * MIB, "layer", "kept") for _ in range(4)]
        for address in blocks[::2]:
            device.free(address, "backward")
        with self.assertRaises(MemoryError):  # two segments went back to the device
            device.alloc(60 * MIB, "layer", "kept")
        (failure,) = snapshot.peak(device.snapshot()).out_of_memory
        self.assertEqual((failure.asked, failure.free, failure.device_free), (60 * MIB, 0, 40 * MIB))
        self.assertFalse(failure.fragmented)
        device = Device(memory=80 * MIB)
        blocks = [device.alloc(10 * MIB - 512, "layer", "kept") for _ in range(8)]  # two in a segment
        for address in blocks[::2]:
            device.free(address, "backward")
        with self.assertRaises(MemoryError):
            device.alloc(25 * MIB, "layer", "kept")
        found = snapshot.peak(device.snapshot())
        (failure,) = found.out_of_memory
        free = sum(b.size for _, b in device.blocks() if b.state == "inactive")
        largest = max(b.size for _, b in device.blocks() if b.state == "inactive")
        self.assertEqual((failure.free, failure.largest, failure.device_free), (free, largest, 0))
        self.assertTrue(failure.fragmented and largest < failure.asked < free)
        self.assertIn("less was asked for than was free in all", str(found))
        self.assertTrue(found.as_dict()["out_of_memory"][0]["fragmented"])

    def test_rounding_by_parts_of_a_power_of_two(self):
        allocator = snapshot.Allocator(
            snapshot.Trace([], "", []), {"roundup_power2_divisions": {"1": 4, "2": 8, "4": 1, "8": 0}}
        )
        for size, block in (
            (1, 512),
            (512, 512),
            (513, 1024),
            (MIB, MIB),
            (MIB + 1, 1280 * 1024),
            (1200 * 1024, 1280 * 1024),
        ):
            self.assertEqual(allocator.rounded(size), block)
        self.assertEqual(allocator.rounded(2 * MIB + 1), 2 * MIB + MIB // 4)
        self.assertEqual(allocator.rounded(4 * MIB + 1), 4 * MIB + 512)
        self.assertEqual(allocator.rounded(2048), 2048)

    def test_snapshots_without_a_trace_and_of_older_releases(self):
        device = Device()
        train(device, stop_in="backward")
        state = device.snapshot() | {"device_traces": []}
        found = snapshot.peak(state)
        self.assertEqual((found.entries, found.allocated, found.reserved), (0, device.allocated, device.reserved))
        self.assertIn("no trace", str(found))
        self.assertEqual(found.parts["optimizer"].bytes, device.best["tags"]["optimizer"])  # the blocks have stacks
        old = copy.deepcopy(state["segments"])  # a list of segments, whose blocks have a history
        for segment in old:
            for block in segment["blocks"]:
                del block["address"]
                frames, requested = block.pop("frames"), block.pop("requested_size")
                if block["state"] != "inactive":
                    block["history"] = [{"addr": 0, "real_size": requested, "frames": frames}]
        again = snapshot.peak(read_of(old))
        self.assertEqual((again.parts, again.requested), (found.parts, found.requested))
        self.assertEqual(snapshot.peak({"segments": [], "device_traces": []}).allocated, 0)

    def test_devices(self):
        device, other = Device(), Device()
        train(device)
        other.alloc(5000, "data", "unknown")
        shot, more = device.snapshot(), other.snapshot()
        for segment in more["segments"]:
            segment["device"] = 1
        both = {
            "segments": shot["segments"] + more["segments"],
            "device_traces": [shot["device_traces"][0], more["device_traces"][0]],
        }
        self.assertEqual(snapshot.peak(both).as_dict(), snapshot.peak(shot).as_dict())
        found = snapshot.peak(both, 1)
        self.assertEqual((found.device, found.allocated, found.reserved), (1, 5120, 2 * MIB))
        self.assertIn("device = 7 has neither segments nor a trace", sentence_of(self, snapshot.peak, both, 7))

    def test_what_contradicts_itself_is_said(self):
        device = Device()
        train(device)
        shot = device.snapshot()
        shot["device_traces"][0][40:60] = []
        self.assertIn("disagree", str(snapshot.peak(shot)))

    def test_recomputed_layers_and_sharded_ones(self):
        again = stack("torch/utils/checkpoint.py:recompute_fn", "torch/utils/checkpoint.py:unpack_hook")
        for name, frames in (
            ("recomputed", stack("torch/nn/modules/linear.py:forward", CALL, LAYER, CALL) + again),
            (
                "reduce",
                stack("torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:foreach_reduce") + STACKS["backward"],
            ),
        ):
            STACKS[name] = frames
            self.addCleanup(STACKS.pop, name)
        device = Device()
        device.alloc(MIB, "build", "parameters")
        kept = device.alloc(3 * MIB, "layer", "kept")
        made = [device.alloc(9 * MIB, "recomputed", "work"), device.alloc(5 * MIB, "backward", "work")]
        device.alloc(7 * MIB, "reduce", "gradients")
        for address in (*made, kept):
            device.free(address, "backward")
        self.agrees(device, snapshot.peak(device.snapshot()), tags=True)

    def test_what_a_failure_ends(self):
        device = Device(memory=100 * MIB)
        device.alloc(MIB, "build", "parameters")
        kept = [device.alloc(15 * MIB, "layer", "kept") for _ in range(4)]
        with self.assertRaises(MemoryError):
            device.alloc(60 * MIB, "layer", "kept")
        for address in kept:
            device.free(address, "layer")  # the program leaves the forward pass
        self.agrees(device, snapshot.peak(device.snapshot()), tags=True)

    def test_what_is_there_before_the_trace(self):
        for stacks in ("all", "python"):
            device = Device(stacks=stacks)
            for size, tag in ((9, "states"), (8, "optimizer"), (7, "gradients"), (6, "kept"), (5, "unknown")):
                device.alloc(size * MIB, "data", tag)
            first = len(device.trace)
            addresses = [b.address for _, b in device.blocks() if b.state == "active_allocated"]
            device.free(device.alloc(512, "layer", "work"), "data")  # shows that frees have stacks of their own
            device.alloc(11 * MIB, "layer", "unknown")  # outlives the step
            device.alloc(3 * MIB, "backward", "gradients")
            for address, what in zip(addresses[1:], ("adam", "zero", "backward", "data")):
                device.free(address, what)
            device.free(device.alloc(512, "foreach", "work"), "foreach")
            shot = device.snapshot(last=len(device.trace) + 1 - first)
            for segment in shot["segments"]:
                for block in segment["blocks"]:
                    block["frames"] = []
            parts = {name: part.requested for name, part in snapshot.peak(shot).parts.items()}
            expected = {"states": 9, "optimizer": 8, "gradients": 7 + 3, "kept": 6, "unknown": 5 + 11}
            self.assertEqual(parts, {name: size * MIB for name, size in expected.items()})

    def test_logits_and_workspaces_are_known_by_their_sizes(self):
        STACKS["mine"] = stack("train.py:forward", CALL, "train.py:main")
        self.addCleanup(STACKS.pop, "mine")
        device = Device(stacks="python")
        device.alloc(32 * MIB, "mine", "workspace")
        kept = [device.alloc(3 * MIB, "mine", "kept"), device.alloc(10 * MIB, "mine", "head")]  # in 16 bits
        kept += [device.alloc(20 * MIB, "loss", "head"), device.alloc(20 * MIB, "backward", "head")]
        device.alloc(8519680, "backward", "workspace")
        device.alloc(32 * MIB, "backward", "gradients")  # as large as a workspace
        for address in kept:
            device.free(address, "backward")
        device.free(device.alloc(512, "foreach", "work"), "foreach")
        self.agrees(device, snapshot.peak(device.snapshot()), tags=True)

    def test_paths_of_windows(self):
        device = Device()
        train(device)
        shot = copy.deepcopy(device.snapshot())
        for frames in {id(f): f for e in shot["device_traces"][0] for f in e.get("frames", ())}.values():
            frames["filename"] = frames["filename"].replace("/", "\\")
        self.assertEqual(snapshot.peak(shot).parts, snapshot.peak(device.snapshot()).parts)

    def test_a_hundred_thousand_entries(self):
        device = Device()
        for at in range(25_000):
            address = device.alloc(1000 + at, "layer", "work")
            device.free(address, "layer")
        for _ in range(25):
            device.alloc(3 * MIB, "layer", "kept")
        self.agrees(device, snapshot.peak(read_of(device.snapshot())), tags=True)

    def test_names_of_files_and_functions_that_are_long(self):
        device = Device()
        STACKS["long"] = [{"filename": "megatron/core/" * 200_000, "name": "cudnn" * 200_000, "line": 1}]
        self.addCleanup(STACKS.pop, "long")
        device.alloc(5000, "long", "unknown")
        self.agrees(device, snapshot.peak(device.snapshot()))

    def test_wrong_values_give_figures_or_one_sentence(self):
        draw = random.Random(8)
        values = (None, True, -1, 0, 2**62, 2**64, 1.5, "alloc", "free_completed", "segment_map", [], {}, (1, 2))
        device = Device(grows=True)
        train(device, layers=1)
        whole, told = pickle.dumps(device.snapshot()), 0
        for _ in range(500):
            shot = pickle.loads(whole)
            holders = [*shot["segments"], *shot["device_traces"][0], shot["allocator_settings"]]
            holders += [block for segment in shot["segments"] for block in segment["blocks"]]
            for holder in draw.sample(holders, draw.randrange(1, 5)):
                key = draw.choice(list(holder))
                holder[key] = draw.choice(values)
                if draw.random() < 0.3:
                    del holder[key]
            try:
                found = snapshot.peak(shot)
                self.assertEqual(sum(part.bytes for part in found.parts.values()), found.allocated)
                self.assertTrue(json.dumps(found.as_dict()) and str(found))
                told += 1
            except ValueError as error:
                self.assertLess(len(str(error)), 400)
        self.assertTrue(50 < told < 450, told)

    def test_too_many_contradictions_end_the_search_for_free_blocks(self):
        begin = 1 << 30
        entries = [{"action": "segment_alloc", "addr": begin, "size": 200 * MIB}]
        for at in range(99, 0, -1):  # no allocator takes the end of a free block
            entries.append({"action": "alloc", "addr": begin + 2 * at * MIB, "size": 512})
        blocks = [{"size": 2 * MIB, "state": "inactive"}]
        for _ in range(99):
            blocks += [{"size": 512, "state": "active_allocated"}, {"size": 2 * MIB - 512, "state": "inactive"}]
        shot = {"segments": [{"address": begin, "total_size": 200 * MIB, "blocks": blocks}], "device_traces": [entries]}
        self.assertEqual(snapshot.peak(shot).largest_free, 2 * MIB)
        with unittest.mock.patch("ballast._snapshot_trace.MOST_WORK", 1000):
            found = snapshot.peak(shot)
        self.assertEqual((found.allocated, found.largest_free), (99 * 512, 0))
        self.assertIn("the largest free block is not known", str(found))


class Evil:
    """Runs a command when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {shlex.quote(str(self.path))}",)


def deep(opcode, times):
    """A pickle of containers in containers."""
    return b"\x80\x04" + b"]" * times + opcode * (times - 1) + b"."


class Files(unittest.TestCase):
    def setUp(self):
        device = Device()
        train(device, steps=1, layers=1)
        self.shot = device.snapshot()

    def test_every_protocol_is_read(self):
        expected = snapshot.peak(self.shot).as_dict()
        for protocol in range(2, 6):
            with tempfile.TemporaryDirectory() as folder:
                got = snapshot.read(written(self.shot, folder, protocol))
            self.assertEqual(got, self.shot)
            self.assertEqual(snapshot.peak(got).as_dict(), expected)
        # as PyTorch's own pickler in C++ writes
        name = b"X\x08\x00\x00\x00segmentsq\x00"
        wide = (
            b"\x80\x02}("
            + name
            + b"]X\x01\x00\x00\x00a\x8a\x08"
            + struct.pack("<q", 5)
            + b"X\x01\x00\x00\x00bK\x00K\x01\x86u."
        )
        self.assertEqual(read_of(wide), {"segments": [], "a": 5, "b": (0, 1)})

    def test_what_a_snapshot_may_hold(self):
        for value in (
            None,
            True,
            False,
            0,
            255,
            65536,
            -1,
            -(2**40),
            2**63,
            2**64 - 1,
            1.5,
            "",
            "a" * 15,
            "b" * 16,
            "c" * 17,
            "d" * 300,
        ):
            for shape in (value, [value], [value, value], {"k": value}, {"k": [{}, value]}):
                shot = self.shot | {"more": shape}
                self.assertEqual(read_of(shot), shot)
        for numbers in ((), (1,), (1, 2), (1, 2, 3), (2**40, 5)):
            shot = self.shot | {"more": [1, numbers, 2, 3, numbers, [0, 1, numbers], numbers]}
            self.assertEqual(read_of(shot), shot)

    def test_a_file_cut_anywhere_gives_one_sentence(self):
        small = Device()
        small.free(small.alloc(1000, "loss", "head"), "loss")
        for protocol in (2, 4):
            data = pickle.dumps(small.snapshot() | {"more": [70000, 300, 1.5, 2**40, "e" * 300]}, protocol=protocol)
            self.assertEqual(snapshot.load(data, "whole"), pickle.loads(data))
            for length in range(len(data)):
                sentence = "the file is cut: it ends after" if length else "the file is empty"
                self.assertIn(sentence, sentence_of(self, snapshot.load, data[:length], "the file"))
        self.assertIn("is cut", sentence_of(self, read_of, data[:-1]))

    def test_a_file_with_a_wrong_byte_gives_a_snapshot_or_one_sentence(self):
        draw = random.Random(5)
        small = Device()
        small.free(small.alloc(1000, "loss", "head"), "loss")
        data = pickle.dumps(small.snapshot(), protocol=4)
        for _ in range(3000):
            wrong = bytearray(data)
            for _ in range(draw.choice((1, 1, 1, 5))):
                wrong[draw.randrange(2, len(wrong))] = draw.randrange(256)
            try:
                str(snapshot.peak(snapshot.load(bytes(wrong), "the file")))
            except ValueError as error:
                self.assertLess(len(str(error)), 400)

    def test_nothing_is_executed(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = pathlib.Path(folder) / "ran"
            for protocol in range(6):
                for shape in (Evil(ran), self.shot | {"more": Evil(ran)}, {"segments": [Evil(ran)]}):
                    sentence = sentence_of(self, snapshot.read, written(shape, folder, protocol))
                    self.assertRegex(
                        sentence, r"the name (posix|nt).system at byte \d+: .* nothing in it was executed|first byte is"
                    )
                    self.assertFalse(ran.exists())
            pickle.loads(pickle.dumps(Evil(ran)))  # so that the test could have failed
            self.assertTrue(ran.exists())

    def test_other_objects_are_named(self):
        for value, name in (
            (pathlib.PurePosixPath("a"), "the name pathlib"),
            (b"bytes", "SHORT_BINBYTES"),
            ({1, 2}, "EMPTY_SET"),
            (frozenset((1,)), "FROZENSET"),
            (bytearray(b"a"), "BYTEARRAY8"),
            (complex(1, 2), "the name builtins.complex"),
            (10**1_000_000, "an integer of more than 64 bits"),
            (2**80, "an integer of more than 64 bits"),
            (("a", 1), "a tuple of something else"),
            (((1, 2), 3), "a tuple of something else"),
            ((1, 2, 3, 4), "a tuple of something else"),
        ):
            with tempfile.TemporaryDirectory() as folder:
                sentence = sentence_of(self, snapshot.read, written(self.shot | {"more": value}, folder, 5))
            self.assertIn(name, sentence)
        for data, name in (
            (b"\x80\x02cos\nsystem\n.", "os.system"),
            (b"\x80\x02(S'echo'\nios\nsystem\n.", "STRING"),
            (b"\x80\x02(ios\nsystem\n.", "os.system"),
            (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "os.system"),
            (b"\x80\x02\x82\x01.", "EXT1"),
            (b"\x80\x02Pabc\n.", "PERSID"),
            (b"\x80\x02]R.", "REDUCE"),
            (b"\x80\x02]}b.", "BUILD"),
            (b"\x80\x02L" + b"9" * 1_000_000 + b"L\n.", "an integer in text"),
            (b"\x80\x02\xff.", "the byte 255"),
        ):
            self.assertIn(name, sentence_of(self, read_of, data))

    def test_small_files_that_would_take_long_or_much(self):
        laughs = b"\x80\x02]q\x00" + b"".join(
            b"](" + b"h" + bytes([n]) + b"h" + bytes([n]) + b"eq" + bytes([n + 1]) for n in range(200)
        )
        tuples = b"\x80\x02)" + b"\x85" * 100_000 + b"K\x00s."
        for data, sentence in (
            (laughs + b".", "no memory snapshot|damaged"),
            (tuples, "a tuple of something else"),
            (deep(b"a", 1_000_000), "no memory snapshot"),
            (b"\x80\x04" + b"}K\x00" * 1_000_000 + b"}" + b"s" * 1_000_000 + b".", "no memory snapshot"),
            (b"\x80\x04" + b"(" * 1_000_000 + b".", "damaged"),
            (b"\x80\x02]r\xff\xff\xff\xff.", "LONG_BINPUT"),  # a table of 4 thousand million places
            (b"\x80\x02]j\xff\xff\xff\xff.", "damaged"),
            (b"\x80\x04\x8d" + b"\xff" * 8 + b".", "is cut"),
            (b"\x80\x04X\xff\xff\xff\xff.", "is cut"),
            (b"\x80\x04\x95" + b"\xff" * 8 + b"].", "damaged"),
        ):
            self.assertRegex(sentence_of(self, read_of, data), sentence)
        entries = [{"action": "alloc", "addr": 1, "size": 1}] * 1000
        blocks = [{"size": 512, "state": "inactive"}] * 1000
        same = [{"address": n << 30, "total_size": 512_000, "blocks": blocks} for n in range(1000)]
        self.assertIn(
            "segments[1].blocks is a list that occurs twice",
            sentence_of(self, read_of, {"segments": same, "device_traces": [entries] * 1000}),
        )

    def test_foreign_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for data, sentence in (
                (b"", "is empty"),
                (gzip.compress(pickle.dumps(self.shot)), "compressed by gzip"),
                (b"PK\x03\x04....", "is a zip archive, as torch.save writes it"),
                (b'{"segments": []}', "its first byte is 123, not 128"),
                (b"\x80\x09].", "protocol 9"),
                (pickle.dumps(self.shot, protocol=0), "its first byte is"),
                (pickle.dumps([1, 2, 3]), r"no memory snapshot of PyTorch: segments\[0\].address is missing"),
                (pickle.dumps("hello"), "it is of type str"),
                (pickle.dumps({"a": 1}), "segments is missing, and must be a list"),
                (pickle.dumps({"segments": 5}), "segments is of type int"),
                (
                    pickle.dumps({"segments": [{"address": -3}]}),
                    r"segments\[0\].address is -3, and must be an integer from 0",
                ),
                (pickle.dumps({"segments": [{"address": 1.5}]}), r"segments\[0\].address is of type float"),
                (
                    pickle.dumps({"segments": [{"address": 1, "total_size": 9, "blocks": [{"size": 8}]}]}),
                    "have 8 bytes, and the segment 9",
                ),
                (b"\x80\x02}(X\x01\x00\x00\x00aK.", "is cut"),
                (b"\x80\x02}u.", "damaged"),
                (b"\x80\x04\x8c\x01\xff.", "damaged"),
                (os.urandom(0) + bytes(range(128, 256)) * 9, "says it is a pickle of protocol 129"),
            ):
                self.assertRegex(sentence_of(self, snapshot.read, written(data, folder)), sentence)
            path = written(self.shot, folder)
            self.assertIn("has more than 100 bytes", sentence_of(self, snapshot.read, path, limit=100))
            self.assertEqual(snapshot.read(path, limit=path.stat().st_size), self.shot)
            with self.assertRaises(FileNotFoundError):
                snapshot.read(pathlib.Path(folder) / "none")
        for entry, sentence in (
            ({"action": "alloc", "addr": 1}, r"device_traces\[0\]\[0\].size is missing"),
            ({"action": "alloc", "addr": "x", "size": 1}, "addr is of type str"),
            ({"action": "oom", "size": 1}, "device_free is missing"),
            ({"action": ["alloc"]}, "action is missing"),
            (7, "action is missing"),
        ):
            self.assertRegex(sentence_of(self, snapshot.peak, {"segments": [], "device_traces": [[entry]]}), sentence)
        self.assertRegex(
            sentence_of(self, snapshot.peak, {"segments": [], "device_traces": 3}), "device_traces must be a list"
        )


class Model(unittest.TestCase):
    def setUp(self):
        device = Device()
        train(device)
        self.shot, self.tags = device.snapshot(), device.best["tags"]

    def test_a_model_that_is_right_differs_nowhere(self):
        tags = self.tags
        states = sum(tags.get(name, 0) for name in ("parameters", "gradients", "optimizer"))
        parts = {
            "states": states,
            "workspace": tags["workspace"],
            "kept": tags["kept"],
            "head": tags["head"],
            "layer": 5,
        }
        table = snapshot.compare(self.shot, parts)
        self.assertEqual(
            [row.part for row in table], ["states", "workspace", "kept", "head", "work", "unknown", "allocated"]
        )
        self.assertEqual(
            {row.part: row.difference for row in table if row.difference},
            {"unknown": tags["unknown"], "allocated": tags["unknown"]},
        )
        self.assertEqual(table[-1].measured, sum(tags.values()))
        self.assertRegex(str(table), r"^part +model +measured +difference\nstates +[\d,]+ +[\d,]+ +\+0 +\+0.0 %\n")
        self.assertEqual(snapshot.compare(snapshot.peak(self.shot), parts), table)
        apart = snapshot.compare(self.shot, {"parameters": tags["parameters"], "optimizer": 0, "step": 10**12})
        self.assertEqual(
            [(r.part, r.model) for r in apart[:3]],
            [("parameters", tags["parameters"]), ("gradients", 0), ("optimizer", 0)],
        )
        self.assertEqual({r.part: r.model for r in apart}["work"], 10**12)

    def test_a_stage_of_the_memory_model(self):
        (stage,) = ballast.memory("llama-3.1-8b", trainer="torchtune", sequence=4096, data=2)
        self.assertGreater(stage["gathered"], 0)
        rows = {row.part: row.model for row in snapshot.compare(self.shot, stage)}
        self.assertEqual(rows.pop("allocated"), stage["peak"])
        self.assertEqual(sum(rows.values()), stage["peak"])
        self.assertEqual(rows["states"], stage["states"] + stage["gathered"])
        self.assertEqual((rows["kept"], rows["unknown"]), (stage["kept"], stage["inputs"]))
        at = "head" if stage["moment"] == "head" else "work"
        self.assertEqual(rows[at], stage["extra"][stage["moment"]])

    def test_parts_that_are_none(self):
        for parts, sentence in (
            ({"foo": 1}, 'parts["foo"] is not one of states'),
            ({"head": 1.5}, 'parts["head"] = 1.5 must be an integer'),
            ({"kept": -1}, 'parts["kept"] = -1 must be an integer'),
            ({"states": 1, "parameters": 1}, "counted twice"),
        ):
            self.assertIn(sentence, sentence_of(self, snapshot.compare, self.shot, parts))


def run(command, folder):
    """What `python -m ballast.snapshot ...` prints."""
    words = shlex.split(command)
    assert words[0] == "python", command
    return subprocess.run([sys.executable, *words[1:]], cwd=folder, capture_output=True, text=True)


class Command(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        device = Device()
        train(device, layers=4, width=2048, tokens=8192, words=32000)
        self.shot = device.snapshot()
        written(self.shot, self.folder)

    def test_json_and_errors(self):
        (self.folder / "parts.json").write_text('{"states": 5, "head": 7}')
        done = run("python -m ballast.snapshot snapshot.pickle --json --parts parts.json --device 0", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        told = json.loads(done.stdout)
        rows = [row._asdict() for row in snapshot.compare(self.shot, {"states": 5, "head": 7})]
        self.assertEqual(told, snapshot.peak(self.shot).as_dict() | {"comparison": rows})
        (self.folder / "list.json").write_text("[]")
        for command, sentence in (
            ("none.pickle", "No such file"),
            (".", "Is a directory"),
            (
                "parts.json",
                "parts.json is no pickle of torch.cuda.memory._dump_snapshot: its first byte is 123, not 128",
            ),
            ("snapshot.pickle --device 5", "device = 5 has neither"),
            ("snapshot.pickle --parts list.json", "must hold an object"),
            ("snapshot.pickle --parts snapshot.pickle", "utf-8"),
        ):
            done = run(f"python -m ballast.snapshot {command}", self.folder)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), command)
            self.assertTrue(done.stderr.startswith("error: ") and sentence in done.stderr, done.stderr)

    def test_the_memory_model_beside_it(self):
        asked = {"trainer": "torchtitan", "sequence": 4096, "tensor": 2, "data": 4, "stages": 2, "micro_batches": 4}
        stages = ballast.memory("llama-3.1-8b", recompute="full", hopper=False, stream_pools=False, **asked)
        fullest = max(stages, key=lambda stage: stage["peak"])
        words = "--framework torchtitan --tokens 4096 --tp 2 --ranks 4 --stages 2 --micro-batches 4 --recompute full"
        command = f"python -m ballast.snapshot snapshot.pickle --model llama-3.1-8b {words} --device 0 --device A100"
        (self.folder / "memory.json").write_text(json.dumps({"stages": stages, "fits": True}))
        from_file = "python -m ballast.snapshot snapshot.pickle --parts memory.json"
        for asked, stage in (
            (command, fullest),
            (from_file, fullest),
            (command + " --stage 0", stages[0]),
            (from_file + " --stage 1", stages[1]),
        ):
            done = run(asked + " --json", self.folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""), asked)
            rows = [row._asdict() for row in snapshot.compare(self.shot, stage)]
            self.assertEqual(json.loads(done.stdout)["comparison"], rows)
        told = run(command, self.folder).stdout
        number = stages.index(fullest)
        self.assertIn("\nfragmentation", told)
        self.assertIn(f"\n\nstage {number} of 2 by the memory model, at the moment {fullest['moment']}:\npart ", told)
        eager = run("python -m ballast.snapshot snapshot.pickle --model llama-3.1-8b --tokens 64 --json", self.folder)
        (stage,) = ballast.memory("llama-3.1-8b", trainer="megatron", sequence=64)
        self.assertEqual(json.loads(eager.stdout)["comparison"][-1]["model"], stage["peak"])

    def test_what_the_model_is_not_told(self):
        (self.folder / "stages.json").write_text('{"stages": [{"states": 1}]}')
        (self.folder / "config.json").write_text('{"model_type": "unheard"}')
        for command, sentence in (
            ("--model llama-3.1-8b", "--model needs --tokens"),
            ("--tp 2", "--tp is for --model"),
            ("--device a100", "--device a100 is for --model"),
            ("--stage 0", "--stage is for --model"),
            ("--model llama-3.1-8b --tokens 64 --device a101", "--device a101 is neither a number nor one of v100"),
            ("--model llama-3.1-8b --tokens 64 --stage 1", "--stage 1: the training has stages 0 to 0"),
            ("--model llama-3.1-8b --tokens 64 --parts stages.json", "--parts and --model both say"),
            ("--model llama-3.1-8b --tokens 64 --compiled", "--compiled is for trainers"),
            ("--model llama-3.1-8b --tokens 64 --framework jax", 'trainer = "jax" is not one of'),
            ("--model llama-3.1-8b --tokens 0", "sequence = 0 must be in"),
            ("--model config.json --tokens 64", "the model_type unheard is not known"),
            ("--model nowhere.json --tokens 64", "nowhere.json is neither a file nor the name of a known model"),
            ("--parts stages.json", "stages.json has stages, but not as `ballast memory --json` prints them"),
        ):
            done = run(f"python -m ballast.snapshot snapshot.pickle {command}", self.folder)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), command)
            self.assertTrue(done.stderr.startswith("error: ") and sentence in done.stderr, done.stderr)

    def test_the_manual(self):
        page = MANUAL.read_text()
        consoles = [b for b in re.findall(r"```console\n(.*?)```", page, re.DOTALL) if "ballast.snapshot" in b]
        self.assertTrue(consoles)
        for block in consoles:
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                done = run(command, self.folder)
                self.assertEqual((done.stdout, done.stderr), (expected, ""), command)
        programs = [b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "snapshot.read" in b]
        self.assertTrue(programs)
        for program in programs:
            done = subprocess.run([sys.executable, "-c", program], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
