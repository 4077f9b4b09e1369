# SPDX-License-Identifier: Apache-2.0
"""Tests the Python package with NumPy alone. Run by scripts/test-python and .ci/run."""

import collections.abc
import copy
import gc
import importlib.metadata
import importlib.util
import inspect
import json
import math
import os
import pathlib
import pickle
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock
from functools import partial

import numpy as np

import ballast
import ballast.megatron
import ballast.torch
from ballast.streams import _filled

COST = "llama-3.1-8b"
SHAPE = {"layers": 2, "hidden": 64, "query_heads": 4, "kv_heads": 2, "head_width": 16, "ffn": 128}


def drawn(count, most, seed=1):
    """Lengths with a long tail, from 1 to `most`."""
    random = np.random.default_rng(seed)
    return np.clip(random.lognormal(6.0, 1.2, count), 1, most).astype(np.int64)


def counts_of(arrays, n):
    """How often each of n indices occurs."""
    return np.bincount(np.concatenate([np.asarray(a) for a in arrays]) if arrays else np.zeros(0, int), minlength=n)


class Distribution(unittest.TestCase):
    def test_the_version_is_that_of_the_distribution(self):
        self.assertEqual(ballast.__version__, importlib.metadata.version("ballast-plan"))

    def test_the_other_project_named_ballast_is_told_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "ballast")
            package.mkdir()
            shutil.copy(ballast.__file__, package)
            pathlib.Path(folder, "ballast-0.4.0.dist-info").mkdir()
            run = subprocess.run([sys.executable, "-c", "import ballast"], cwd=folder, capture_output=True, text=True)
            self.assertIn("ballast-0.4.0 of PyPI is another project", run.stderr)


class Arguments(unittest.TestCase):
    def test_a_wrong_argument_is_named_in_one_sentence(self):
        plan = ballast.plan_steps([1, 2] * 20, capacity=8, ranks=2, cost=ballast.token_cost())
        steps = partial(ballast.plan_steps, [1, 2], cost=ballast.token_cost())
        run = partial(ballast.TrainingRun, [1, 2], capacity=8, cost=COST)
        flow = partial(ballast.stream, [(0, 4)], cost=COST)
        array_run = partial(ballast.TrainingRun, np.array([1, 2]), capacity=8, cost=COST)
        for call, sentence in (
            (lambda: ballast.pack([1, 2], 8192.0), "capacity = 8192.0 must be an integer"),
            (lambda: ballast.pack([1, 2], "8192"), "capacity = '8192' must be an integer"),
            (lambda: ballast.pack([1, 2], None), "capacity = None must be an integer"),
            (lambda: ballast.pack([1, 2], True), "capacity = True must be an integer"),
            (lambda: ballast.pack([1, 2], 2**80), f"capacity = {2**80} is too large"),
            (lambda: ballast.pack(None, 8), "lengths = None must be an array"),
            (lambda: ballast.pack([1, 2], 8, search=1), "search = 1 must be True or False"),
            (lambda: ballast.pack([1, 2], 8, max_items=2.0), "max_items = 2.0 must be an integer or None"),
            (lambda: ballast.pack([1, 2], 8, cost=1), "pack: got an unexpected keyword argument 'cost'"),
            (lambda: ballast.pack([1, 2]), "pack: missing a required argument: 'capacity'"),
            (lambda: steps(capacity=8, ranks=-1), "ranks = -1 must not be negative"),
            (lambda: steps(capacity=8, ranks=1, seed=-1), "seed = -1 must not be negative"),
            (lambda: array_run(ranks=-1), "ranks = -1 must not be negative"),
            (lambda: array_run(ranks=1, seed=-1), "seed = -1 must not be negative"),
            (lambda: ballast.pack(np.array([1, 2]), np.array([8, 9])), "capacity = array([8, 9]) must be an integer"),
            (lambda: run(ranks=1, epochs=2.0), "epochs = 2.0 must be an integer"),
            (lambda: run(ranks=None), "ranks = None must be an integer"),
            (lambda: plan.packs_of(0.0, 1), "step = 0.0 must be an integer"),
            (lambda: ballast.token_cost()(1.5), "length = 1.5 must be an integer"),
            (lambda: ballast.transformer(layers=2.0), "transformer: missing a required argument: 'name'"),
            (lambda: flow(None, 1), "capacity = None must be an integer"),
            (lambda: flow(8, "2"), "ranks = '2' must be an integer"),
            (lambda: flow(8, 1, micro_batches=True), "micro_batches = True must be an integer"),
            (lambda: flow(2**63, 1), f"capacity = {2**63} is too large"),
            (lambda: ballast.check(3, [1]), "plan = 3 must be a Packing or a StepPlan"),
            (lambda: ballast.check(plan, None), "lengths = None must be an array"),
            (lambda: ballast.memory(None, sequence=8), "model = None must be the name, the config or the module of a model"),
            (lambda: ballast.degree_cost(linear=True), "linear = True must be an integer"),
            (lambda: ballast.degree_cost(linear=1, exchange=[1, 2**64]), f"exchange[1] = {2**64} is too large"),
            (lambda: ballast.pack([1], np.ones((2, 2), int)), "capacity = array([[1, 1], [1, 1]]) must be an integer"),
            (lambda: ballast.gather_indices(np.array(3), [1], row=8), "packs = array(3) must be a sequence of arrays"),
            (lambda: run(ranks=1, order=[]), "order = [] must be a string or None"),
            (lambda: run(ranks=1).resume([1, "a"]), "state = [1, 'a'] must be a sequence of integers"),
            (lambda: run(ranks=1).resume([-1]), "state[0] = -1 must not be negative"),
            (lambda: list(ballast.stream([(1, 2), 3], 8, 1, cost=COST)), "samples[1] = 3 must be a pair (sample, length)"),
            (lambda: flow(8, 2**64), f"ranks = {2**64} is too large"),
            (lambda: flow(8, 1, fill="x"), "fill = 'x' must be a number"),
        ):
            with self.assertRaises(TypeError) as raised:
                call()
            self.assertEqual(str(raised.exception), sentence)

    def test_sentences_of_the_library_have_the_names_of_python(self):
        run = partial(ballast.TrainingRun, [1, 2], ranks=1, cost="llama-3.1-8b")
        pairs, cu, shape = [[0, 1], [2]], [1, 3], ballast.transformer(**SHAPE)
        for call, sentence in (
            (lambda: ballast.balance([1, -1], 1), r"weights\[1\] = -1 has a cost that is negative"),
            (lambda: ballast.check(pairs, [1, 2, 3], 0), "^capacity must be positive$"),
            (lambda: ballast.check(pairs, [1, 2], 8), "^the plan holds sample 2, but lengths has 2 entries$"),
            (lambda: ballast.context_cu_seqlens([0], [4], ranks=2, rank=2), r"rank = 2 must be in \[0, 2\), or None$"),
            (lambda: ballast.gather_indices(pairs, [1, 2, 3], row=2), "^gather_indices: a row of 2 tokens"),
            (lambda: ballast.label_counts([1], cu), "^cu must start with 0"),
            (lambda: ballast.least_micro_batches([1], 8, multiple=0), "^multiple = 0 must be"),
            (lambda: ballast.levels([-1], [(8, 1)], gpus=1, cost="llama-3.1-8b"), r"^lengths\[0\] = -1 must be positive$"),
            (lambda: ballast.lower_bound([1, 9], 8), "^a sample of 9 tokens exceeds capacity 8$"),
            (lambda: ballast.memory(shape, sequence=8, value=0), "^value = 0 must be"),
            (lambda: ballast.memory(shape, sequence=8, recompute=""), '^recompute = "" must be "none", "full" or modules'),
            (lambda: ballast.micro_batches([1], 8, multiple=2**40, cost=COST), "^multiple = 1099511627776 must"),
            (lambda: ballast.packed_row([0], [5], max_seqlen=3), "max_seqlen = 3 is below the 5 tokens"),
            (lambda: ballast.partition([1, -1], 1), r"costs\[1\] = -1 has a cost"),
            (lambda: ballast.partition([1, 1], 2, transfers=[1, 1]), "^transfers has 2 entries"),
            (lambda: ballast.partition([1, 1], 2, unit_times=[1, 0]), r"^unit_times\[1\] = 0"),
            (lambda: ballast.partition([1, 1], 2, sizes=[1, 1]), "^sizes and capacities must be given together"),
            (lambda: ballast.recompute([1], [1], [5], [1], 9), r"^saved\[0\] = 1 is below its output = 5"),
            (lambda: ballast.retained_tasks(2, 0), "^retain = 0 must be positive"),
            (lambda: ballast.segment_ids([0, 4], padded=[0]), "^cu has 2 entries but padded 1$"),
            (lambda: ballast.share_packs([[0]], first=[0], degree=1, ranks=1), "^packs hold a length of 0, which must be positive"),
            (lambda: ballast.zigzag_indices([0, 1], ranks=2, rank=0), r"\(build cu_seqlens with multiple = 4\)"),
            (lambda: ballast.stream([], 2**62, 4, cost=COST), "^capacity = 4611686018427387904 times ranks and micro_batches"),
            (lambda: ballast.stream([], 8, 4, cost=COST, state=np.arange(9)), "^the state is not one of a stream"),
            (lambda: run(capacity=8, key="longest"), "^key = 'longest' says how order= sorts steps: give order="),
            (lambda: run(capacity=8, key="x"), "^key = 'x' says how order= sorts steps"),
            (lambda: run(capacity=8, buckets=3), "^buckets = 3 says how order= sorts steps"),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                call()
        for call, sentence in (
            (lambda: run(levels=[(8, 1)], ranks=-1), "^ranks = -1 must not be negative$"),
            (lambda: run(capacity=8).observe(""), "^ms = '' must be a number or a sequence of numbers$"),
        ):
            with self.assertRaisesRegex(TypeError, sentence):
                call()
        run(capacity=8, order="ascending", key="longest")

    def test_no_kind_of_value_is_misunderstood(self):
        """A value of any kind for any argument is taken, or refused in one sentence; a TypeError names the argument."""
        lengths, cu = np.array([5, 3, 7, 2, 6, 4, 1, 8]), [0, 3, 8]
        packs, labels = [[0, 1], [2]], [1] * 8
        model = ballast.transformer(**SHAPE)
        run = {"lengths": lengths, "capacity": 16, "ranks": 2, "cost": COST}
        steps, shared = ballast.plan_steps(**run), ballast.degree_cost(linear=5)
        begun = ballast.TrainingRun(**run)
        begun.next()
        bins = {"lengths": lengths, "capacity": 8}
        calls = (
            (ballast.TrainingRun, run),
            (ballast.TrainingRun(**run).resume, {"state": begun.state()}),
            (begun.observe, {"ms": 1.0}),
            (begun.packs_of, {"rank": 0}),
            (begun.shards, {}),
            (ballast.stream, {"samples": [(0, 4)], "capacity": 8, "ranks": 2, "cost": COST}),
            (ballast.balance, {"weights": lengths, "sets": 2}),
            (ballast.check, {"plan": steps, "lengths": lengths, "together": None}),
            (ballast.chunks, {"lengths": lengths, "size": 4, "cost": shared}),
            (ballast.context_cu_seqlens, {"pack": [0, 1], "lengths": lengths, "ranks": 2}),
            (ballast.cu_seqlens, {"pack": [0, 1], "lengths": lengths}),
            (ballast.gather_indices, {"packs": packs, "lengths": lengths, "row": 8}),
            (ballast.label_counts, {"labels": labels, "cu": cu}),
            (ballast.layer_tensors, {"model": model}),
            (ballast.least_micro_batches, bins),
            (ballast.levels, {"lengths": lengths, "levels": [(4096, 1)], "gpus": 2, "cost": model}),
            (ballast.longest_sequence, {"model": model, "memory": 2**30}),
            (ballast.lower_bound, bins),
            (ballast.memory, {"model": model, "sequence": 64}),
            (ballast.micro_batches, {**bins, "cost": COST}),
            (ballast.near_optimal, bins),
            (ballast.pack, bins),
            (ballast.packed_row, {"pack": [0, 1], "lengths": lengths}),
            (ballast.padded_batches, bins),
            (ballast.partition, {"costs": lengths, "stages": 2}),
            (ballast.plan_shards, {"lengths": lengths, "ranks": 2, "capacity": 16, "cost": shared}),
            (ballast.plan_steps, run),
            (ballast.position_ids, {"cu": cu}),
            (ballast.quadratic_cost, {"linear": 1, "quadratic": 1}),
            (ballast.recompute, {x: [1, 2] for x in ("forward", "backward", "output", "saved")} | {"budget": 10}),
            (ballast.sample_cost, {"model": model}),
            (ballast.sample_time, {"model": model}),
            (ballast.segment_ids, {"cu": cu}),
            (ballast.sequence_weights, {"counts": [3], "totals": ballast.loss_totals([3], "hf"), "preset": "hf"}),
            (ballast.share_pack, {"lengths": lengths, "ranks": 2}),
            (ballast.share_packs, {"packs": packs[1:], "first": [0], "degree": 1, "ranks": 2}),
            (ballast.static_rows, {"packs": packs, "lengths": lengths}),
            (ballast.token_weights, {"weights": np.ones(2), "labels": labels, "cu": cu}),
            (partial(ballast.transformer, **SHAPE), {}),
            (ballast.zigzag_indices, {"cu": [0, 4, 8], "ranks": 2, "rank": 0}),
            (ballast.zigzag_inverse, {"cu": [0, 4, 8], "ranks": 2}),
        )
        ones, date = np.ones((2, 2), int), np.datetime64("2026-01-01")
        values = [5, [5], None, "x", "", 1.5, True, -1, 2**64, math.nan, [], ones, ["a"], np.array([1, None], object)]
        values += [0, [-1] * 8, [2**62] * 8]
        values += [np.array([1.0, 2.0]), object(), [[1, 2], [3]], {}, b"x", np.array(3), 1j, {1, 2}, [(1, 2)], [2**64], date]
        for call, given in calls:
            call(**given)
            for name in inspect.signature(call).parameters:
                for value in values:
                    if name == "path":
                        continue
                    try:
                        call(**{**given, name: value})
                    except (TypeError, ValueError) as error:
                        sentence, where = str(error), f"{call}: {name} = {value!r}"
                        self.assertNotRegex(sentence, "\n|incompatible function|no such types|truth value", where)
                        if isinstance(error, TypeError):
                            self.assertRegex(sentence, rf"\b{name}\b|an unexpected keyword argument", where)
                        else:  # which has no names of the library
                            named = re.findall(r"\b([a-z_.]+)(?:\[\d+\])? = ", sentence.partition(" (build cu_seqlens")[0])
                            self.assertLessEqual({*named} - {"tokens"}, {*inspect.signature(call).parameters}, f"{where}: {sentence}")

    def test_inspect_and_pickle_read_native_functions(self):
        for name in ballast.__all__:
            function = getattr(ballast, name)
            if isinstance(function, types.FunctionType):
                inspect.signature(function)
                self.assertTrue(function.__doc__, name)
        signature = inspect.signature(ballast.pack)
        self.assertEqual(list(signature.parameters)[:3], ["lengths", "capacity", "oversize"])
        self.assertEqual(signature.parameters["oversize"].default, "reject")
        self.assertIs(pickle.loads(pickle.dumps(ballast.pack)), ballast.pack)


class Packing(unittest.TestCase):
    def setUp(self):
        self.lengths = drawn(3000, 8192)

    def test_every_sample_is_in_one_pack_within_the_capacity(self):
        for planner in (ballast.pack, partial(ballast.pack, search=True), ballast.near_optimal):
            plan = planner(self.lengths, 8192)
            self.assertTrue((counts_of(list(plan.packs), 3000) == 1).all())
            self.assertLessEqual(max(self.lengths[p].sum() for p in plan.packs), 8192)
            self.assertLessEqual(ballast.lower_bound(self.lengths, 8192), plan.lower_bound)
            self.assertLessEqual(plan.lower_bound, plan.count)
            self.assertEqual(plan.optimal, plan.count == plan.lower_bound)
            self.assertAlmostEqual(plan.gap, plan.count / plan.lower_bound - 1)
            self.assertAlmostEqual(plan.fill, self.lengths.sum() / 8192 / plan.count)
            self.assertIn("valid", ballast.check(plan, self.lengths))

    def test_samples_without_tokens_are_skipped_and_named(self):
        zeros, lengths = [0, 17, 599], drawn(600, 4096)
        lengths[zeros] = 0
        numbers = np.flatnonzero(lengths)
        for planner in (ballast.pack, ballast.near_optimal, ballast.padded_batches):
            plan, bare = planner(lengths, 4096, zero_length="skip"), planner(lengths[numbers], 4096)
            self.assertEqual([p.tolist() for p in plan.packs], [numbers[p].tolist() for p in bare.packs])
            self.assertEqual((plan.skipped.tolist(), bare.skipped.tolist()), (zeros, []))
            self.assertIn("valid", ballast.check(plan, lengths))
            with self.assertRaisesRegex(ValueError, "lengths has other samples of length 0 than the plan has skipped"):
                ballast.check(plan, np.where(lengths == lengths[5], 0, lengths))
            same = planner(lengths[numbers], 4096, zero_length="skip")
            self.assertEqual(same.hash(), bare.hash())
        split = ballast.pack([0, 9, 0, 3], 8, oversize="split", zero_length="skip")
        self.assertEqual(split.pieces, [(1, 8, 1)])
        self.assertEqual(sorted(split.members.tolist()), [1, 3, 4])
        self.assertIn("valid", ballast.check(split, [0, 9, 0, 3]))
        aside = ballast.pack([0, 9, 3], 8, oversize="set_aside", zero_length="skip")
        self.assertEqual((aside.set_aside.tolist(), aside.members.tolist()), ([1], [2]))
        self.assertEqual(ballast.pack([0, 0], 8, zero_length="skip").skipped.tolist(), [0, 1])
        with self.assertRaisesRegex(ValueError, 'zero_length = "drop" is not one of error, skip'):
            ballast.pack([0], 8, zero_length="drop")
        for planner in (ballast.pack, partial(ballast.plan_steps, ranks=1, cost=COST), partial(ballast.TrainingRun, ranks=1, cost=COST)):
            for length, said in ((-3, "= -3 must be positive"), (9, "= 9 exceeds capacity 8")):
                with self.assertRaisesRegex(ValueError, rf"^lengths\[1\] {said}"):
                    planner([0, length], capacity=8, zero_length="skip")

    def test_padded_batches_hold_rows_times_the_longest(self):
        plan = ballast.padded_batches(self.lengths, 16384, sample_multiple=8, max_items=64)
        self.assertTrue((counts_of(list(plan.packs), 3000) == 1).all())
        padded = [len(p) * (-(-int(self.lengths[p].max()) // 8) * 8) for p in plan.packs]
        self.assertLessEqual(max(padded), 16384)
        self.assertLessEqual(max(len(p) for p in plan.packs), 64)
        self.assertEqual((plan.optimal, plan.bound), (True, "longest-rows"))
        self.assertAlmostEqual(plan.fill, self.lengths.sum() / 16384 / plan.count)
        self.assertIn("valid", ballast.check(plan, self.lengths))
        self.assertIn("valid", ballast.check(plan.packs, self.lengths, 16384, sample_multiple=8, padded=True))
        cut = ballast.padded_batches(self.lengths, 1000, oversize="set_aside")
        self.assertEqual(list(cut.set_aside), list(np.flatnonzero(self.lengths > 1000)))
        with self.assertRaisesRegex(ValueError, "^pack 0 holds 12, more than its capacity 10$"):
            ballast.check([[0, 1]], [6, 2], 10, padded=True)
        with self.assertRaisesRegex(ValueError, 'oversize = "split" is not one of reject, set_aside, drop, truncate$'):
            ballast.padded_batches([5], 4, oversize="split")

    def test_a_search_never_needs_more_packs(self):
        tight = np.random.default_rng(2).integers(1500, 4500, 400)
        self.assertLess(ballast.near_optimal(tight, 8192).count, ballast.pack(tight, 8192).count)
        for limits, sentence in (
            ({"gap": -0.1}, "gap = -0.100000 must not be negative; 0.01 is one percent"),
            ({"gap": float("nan")}, "gap = nan must not be negative; 0.01 is one percent"),
            ({"seconds": 1e10}, "seconds = 10000000000.000000 must be in 0 ... 10^9"),
        ):
            with self.assertRaisesRegex(ValueError, re.escape(sentence)):
                ballast.near_optimal(tight, 8192, **limits)

    def test_the_plan_is_that_of_the_library(self):
        # the lengths and the hash of tests/packing/best_fit_decreasing.cpp: splitmix64 from seed 5
        z = np.uint64(5) + np.arange(1, 300001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        lengths = 8192 // (1 + ((z ^ (z >> np.uint64(31))) % np.uint64(8192)).astype(np.int64))
        self.assertEqual(ballast.pack(lengths, 8192).hash(), 0xD270F469A7363E07)

    def test_options(self):
        plan = ballast.pack(self.lengths, 8192, max_items=3, pack_count_multiple=8)
        self.assertLessEqual(max(map(len, plan.packs)), 3)
        self.assertEqual(plan.count % 8, 0)
        plan = ballast.pack(self.lengths, 8192, sample_multiple=16, pack_multiple=128)
        self.assertLessEqual(max((-(-self.lengths[p] // 16) * 16).sum() for p in plan.packs), 8192)
        self.assertEqual(ballast.pack([9, 2, 12], 8, oversize="set_aside").set_aside.tolist(), [0, 2])
        self.assertEqual(ballast.pack([9], 8, oversize="split").pieces, [(0, 8, 1)])
        self.assertEqual(ballast.pack([], 8).count, 0)
        self.assertEqual(list(ballast.pack([], 8).packs), [])

    def test_packs_are_a_sequence(self):
        packs = ballast.pack(self.lengths, 8192).packs
        everything = list(packs)
        self.assertIsInstance(packs, collections.abc.Sequence)
        self.assertEqual(len(everything), len(packs))
        for part in (slice(3, 9), slice(None, None, -1), slice(-5, None, 2), slice(9, 3)):
            self.assertEqual([p.tolist() for p in packs[part]], [p.tolist() for p in everything[part]])
            self.assertEqual([p.tolist() for p in packs[part][::-1]], [p.tolist() for p in everything[part][::-1]])
        self.assertEqual(packs[-1].tolist(), everything[-1].tolist())
        with self.assertRaises(IndexError):
            packs[len(packs)]
        with self.assertRaises(ValueError):
            packs[0][0] = 1  # read-only

    def test_the_validator_names_the_fault(self):
        self.assertIn("valid", ballast.check([[0, 1], [2]], [3, 5, 8], 8))
        for packs, fault in (
            ([[0, 1]], "sample 2 is in no pack"),
            ([[0, 1], [2], [0]], "sample 0 occurs twice"),
            ([[0, 1, 2]], "pack 0 holds 16"),
        ):
            with self.assertRaisesRegex(ValueError, fault):
                ballast.check(packs, [3, 5, 8], 8)
        with self.assertRaisesRegex(ValueError, "the plan holds sample 1, but lengths has 1 entries"):
            ballast.check([[1]], [3], 8)


class OnlyDLPack:
    """An array of a library that knows nothing of NumPy; by `device`, one that says that it is elsewhere."""

    def __init__(self, values, device=1):
        self.values, self.device = values, device

    def __dlpack__(self, **options):
        if self.device != 1:
            raise BufferError("Unsupported device")
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


class Arrays(unittest.TestCase):
    def test_kinds_of_arrays_give_the_same_plan(self):
        lengths = drawn(500, 4096)
        expected = ballast.pack(lengths, 4096).hash()
        wide = np.zeros(1000, np.int64)
        wide[::2] = lengths
        frozen = lengths.copy()
        frozen.flags.writeable = False
        shifted = np.frombuffer(b"\0\0" + lengths.astype(np.int32).tobytes(), np.uint8)[2:].view(np.int32)
        self.assertFalse(shifted.flags.aligned)
        arrays = [lengths.astype(t) for t in ("i4", "i8", "u2", "u4", "u8", "i2", ">i4", ">i8")]
        with tempfile.TemporaryDirectory() as folder:
            np.save(pathlib.Path(folder) / "lengths.npy", lengths)
            mapped = np.load(pathlib.Path(folder) / "lengths.npy", mmap_mode="r")
            some_of_numpy = [length if length % 2 else np.int64(length) for length in lengths.tolist()]
            lists = [lengths.tolist(), tuple(lengths.tolist()), some_of_numpy]
            for array in [*arrays, wide[::2], frozen, shifted, mapped, *lists]:
                self.assertEqual(ballast.pack(array, 4096).hash(), expected)
            del mapped

    def test_arrays_of_other_libraries_are_read(self):
        def plans(made):
            run = ballast.TrainingRun(made(lengths), capacity=4096, ranks=2, costs=made(lengths + 1))
            return (
                ballast.pack(made(lengths), 4096).hash(),
                ballast.plan_steps(made(lengths), capacity=4096, ranks=2, cost=made(np.arange(4097) ** 2)).hash(),
                next(iter(run)),
                run.packs_of(0)[0].tolist(),
                [part.tolist() for part in ballast.balance(made(lengths), 3)],
                ballast.cu_seqlens(made(np.array([7, 5])), made(lengths)).tolist(),
                ballast.gather_indices([made(np.array([7, 5]))], made(lengths), row=9000).tolist(),
                ballast.position_ids(made(np.array([0, 3, 5]))).tolist(),
                ballast.label_counts(made(np.arange(5)), made(np.array([0, 3, 5]))).tolist(),
                ballast.token_weights(made(np.ones(2)), made(np.arange(5)), made(np.array([0, 3, 5]))).tolist(),
            )

        lengths = drawn(500, 4096).astype(np.int64)
        wanted = plans(lambda values: values)
        self.assertEqual(plans(OnlyDLPack), wanted)
        with self.assertRaisesRegex(ValueError, "weights is an array of type OnlyDLPack, which cannot be read where it is: .*evice"):
            ballast.balance(OnlyDLPack(lengths, device=2), 3)
        with self.assertRaisesRegex(ValueError, "lengths holds float32, not integers"):
            ballast.pack(OnlyDLPack(lengths.astype(np.float32)), 4096)
        for library, make in (("array_api_strict", "asarray"), ("torch", "from_numpy"), ("tensorflow", "constant")):
            if importlib.util.find_spec(library):
                with self.subTest(library):
                    self.assertEqual(plans(getattr(importlib.import_module(library), make)), wanted)
        if importlib.util.find_spec("jax"):
            jax = importlib.import_module("jax")
            jax.config.update("jax_enable_x64", True)  # else its integers have 32 bits
            with self.subTest("jax"):
                self.assertEqual(plans(jax.numpy.asarray), wanted)

    def test_what_is_no_array_of_integers_is_refused_with_a_sentence(self):
        for bad, sentence in (
            ([1.0, 2.0], 'lengths holds float64, not integers: if all are whole, pass lengths.astype("int64")'),
            ([True], "lengths holds bool, not integers"),
            (np.array(["a"]), "lengths holds str"),
            (np.array([[1, 2]]), "lengths has 2 dimensions: it must have one"),
            (np.array([2**63], np.uint64), "lengths has entries of 2^63 or more"),
            ([2**63], "lengths has entries of 2^63 or more"),
        ):
            with self.assertRaises(ValueError) as caught:
                ballast.pack(bad, 8)
            self.assertTrue(str(caught.exception).startswith(sentence), str(caught.exception))

    def test_what_is_absurd_is_refused_before_it_takes_memory(self):
        absurd = 2**31 - 1  # 2 GB where each takes a byte
        for name, call in (
            ("row", lambda: ballast.gather_indices([[0]], [5], row=absurd)),
            ("row", lambda: ballast.position_ids([0, 5], row=absurd)),
            ("row", lambda: ballast.segment_ids([0, 5], row=absurd)),
            ("row", lambda: ballast.segment_ids([0, 5], row=absurd, padded=[0, 5])),
            ("multiple", lambda: ballast.packed_row([0], [5], multiple=absurd)),
            ("tokens", lambda: ballast.packed_row([0], [5], tokens=absurd)),
            ("sequences", lambda: ballast.packed_row([0], [5], sequences=absurd)),
            ("sets", lambda: ballast.balance([5], absurd)),
            ("chunks", lambda: ballast.retained_tasks(absurd)),
        ):
            with self.subTest(name), self.assertRaisesRegex(ValueError, f"^{name} = {absurd} must be at most 16777216: "):
                call()
        self.assertEqual(ballast.gather_indices([[0]], [5], row=8).tolist(), [0, 1, 2, 3, 4, -1, -1, -1])
        plan = partial(ballast.plan_steps, [5, 6], capacity=8, ranks=1, cost=COST)
        with self.assertRaisesRegex(TypeError, f"^least_fill = {2**40} is too large$"):
            plan(least_fill=2**40)
        with self.assertRaisesRegex(ValueError, "^value = 1048576 must be in"):
            ballast.layer_tensors(COST, value=2**20)

    def test_arrays_whose_entries_differ_in_length_are_named(self):
        ragged = [[1], [2, 3]]
        for name, call in (
            ("weights", lambda: ballast.balance(ragged, 2)),
            ("costs", lambda: ballast.plan_steps([5, 6], capacity=8, ranks=1, costs=ragged)),
            ("costs", lambda: ballast.TrainingRun([5, 6], capacity=8, ranks=1, costs=ragged)),
            ("cost", lambda: ballast.plan_steps([5, 6], capacity=8, ranks=1, cost=ragged)),
            ("packs", lambda: ballast.gather_indices([ragged], [5, 6], row=9)),
        ):
            with self.subTest(name), self.assertRaisesRegex(ValueError, f"^{name} has entries of different lengths: "):
                call()

    def test_what_is_no_sample_and_no_index_is_named(self):
        for packs, sentence in (([[0], [0, -1]], r"packs\[1\] holds -1, which is no sample"), (5, "packs must be a seq")):
            for call in (
                lambda: ballast.gather_indices(packs, [5], row=8),
                lambda: ballast.static_rows(packs, [5]),
                lambda: ballast.check(packs, [5], 8),
            ):
                with self.assertRaisesRegex(ValueError, sentence):
                    call()
        for levels in (5, [5], [(4096,)], [("a", 1)], [(4096, True)]):
            with self.assertRaisesRegex(TypeError, "^levels = .* must be 'auto', 'hbp' or tuples of two or three integers"):
                ballast.levels([5], levels, gpus=1, cost=ballast.transformer("llama-3.1-8b"))
        packing, steps = ballast.pack([5, 6], 8), ballast.plan_steps([5, 6], capacity=8, ranks=1, cost=COST)
        for plan, what in ((packing, "pack"), (packing.packs, "pack"), (steps, "step")):
            for index in ("a", 1.5, None, (0, 0)):
                with self.assertRaisesRegex(TypeError, f"^{what}s are numbered by integers, .* {type(index).__name__}$"):
                    plan[index]
            for index in (2, 2**70, -3):
                with self.assertRaisesRegex(IndexError, f"^{what} .* is out of range: there are 2$"):
                    plan[index]
            self.assertEqual(str(plan[np.int64(1)]), str(list(plan)[1]))
        self.assertEqual(packing.packs[-1].tolist(), list(packing)[-1].tolist())

    def test_errors_are_the_sentences_of_the_library(self):
        with self.assertRaises(ValueError) as caught:
            ballast.pack([5, 9000], 8192)
        self.assertEqual(str(caught.exception), "lengths[1] = 9000 exceeds capacity 8192 (see oversize policy)")
        with self.assertRaises(ValueError) as caught:
            ballast.pack([5, 0], 8192)
        self.assertEqual(
            str(caught.exception),
            'lengths[1] = 0 has no tokens to train on (1 such sample): zero_length="skip" leaves such samples out, and names them',
        )

    def test_what_a_planner_does_not_take_is_not_listed(self):
        run = partial(ballast.TrainingRun, [5], capacity=8, ranks=1, cost=COST)
        for planner, allowed in (
            (partial(ballast.pack, [5], 8), "reject, set_aside, drop, truncate, split, alone"),
            (partial(ballast.padded_batches, [5], 8), "reject, set_aside, drop, truncate"),
            (run, "reject, set_aside, drop, truncate, split"),
            (partial(ballast.levels, [5], [(8, 1)], gpus=1, cost=COST), "reject, set_aside, drop, truncate, split"),
        ):
            with self.assertRaises(ValueError) as caught:
                planner(oversize="cut")
            self.assertEqual(str(caught.exception), f'oversize = "cut" is not one of {allowed}')
        for planner in (partial(ballast.padded_batches, [5], 8), run):
            with self.assertRaisesRegex(ValueError, 'oversize = "alone" is not one of'):
                planner(oversize="alone")
        for planner in (partial(ballast.plan_steps, ranks=1), ballast.micro_batches):
            with self.assertRaisesRegex(ValueError, r"^lengths\[1\] = 9 exceeds capacity 8: .* takes no longer samples; ballast"):
                planner([5, 9], capacity=8, cost=COST)
        self.assertEqual(ballast.pack([9, 2, 12], 8, oversize="drop").set_aside.tolist(), [0, 2])
        self.assertEqual(
            ballast.TrainingRun([9, 2], capacity=8, ranks=1, cost=COST, oversize="drop").set_aside.tolist(), [0]
        )

    def test_what_holds_no_lengths_is_pointed_to_where_they_are_made(self):
        rows = [[1, 2, 3], [4]]
        run = partial(ballast.TrainingRun, ranks=1, cost=COST)
        for given in (rows, [[1], [2]], tuple(rows), iter(rows), (n for n in (3, 4)), {3, 4}, {"a": 3}, 7, "abc", ["a"],
                      [{"input_ids": [1]}], [3, [4, 5]], Numbered(rows), [np.ones(3), np.ones(2)]):  # fmt: skip
            for planner in (ballast.pack, run, partial(ballast.plan_steps, ranks=1, cost=COST), ballast.micro_batches):
                with self.assertRaises(ValueError) as caught:
                    planner(given, capacity=8)
                self.assertRegex(str(caught.exception), "^lengths is of type .*ballast.lengths.from_dataset")
                self.assertNotIn("\n", str(caught.exception))
        for given in ([3, 4], (3, 4), range(3, 5), np.array([3, 4]), [np.int32(3), 4], memoryview(np.array([3, 4]))):
            self.assertEqual(ballast.pack(given, 8).count, 1)
        self.assertEqual(ballast.pack([], 8).count, 0)

    def test_results_are_views_and_outlive_their_plan(self):
        plan = ballast.pack(drawn(500, 4096), 4096)
        members, pack, packs = plan.members, plan.packs[7], plan.packs[3:]
        self.assertTrue(np.shares_memory(members, pack))
        self.assertTrue(np.shares_memory(members, plan.members))
        expected = pack.tolist()
        del plan, members
        gc.collect()
        junk = [np.full(500, 7, np.uint32) for _ in range(100)]
        self.assertEqual(pack.tolist(), expected)
        self.assertEqual(packs[4].tolist(), expected)
        del junk
        steps = ballast.plan_steps(drawn(500, 4096), capacity=4096, ranks=2, cost=COST)
        table, pack = steps.table, steps.packs_of(1, 1)[0]
        self.assertTrue(np.shares_memory(pack, steps.members))
        self.assertTrue(np.shares_memory(table, steps.table))
        kept = table.copy()
        del steps
        gc.collect()
        self.assertTrue((table == kept).all())

    def test_other_threads_run_while_a_plan_is_made(self):
        lengths = np.tile(np.random.default_rng(3).integers(1200, 4100, 3000), 40)
        counted, done = [0], threading.Event()

        def work():
            while not done.is_set():
                counted[0] += 1
                time.sleep(1e-5)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # from here on, a thread gets the GIL only where another one releases it
        thread = threading.Thread(target=work)
        try:
            thread.start()
            time.sleep(0.01)
            before = counted[0]
            ballast.plan_steps(lengths, capacity=8192, ranks=8, cost=COST)
            after = counted[0]
        finally:
            sys.setswitchinterval(interval)
            done.set()
            thread.join()
        self.assertGreater(after, before)

    def test_ctrl_c_ends_a_search(self):
        code = (
            "import numpy as np, ballast, os, signal, threading\n"
            "drawn = np.random.default_rng(3)\n"
            "large = drawn.integers(380_000_000, 490_000_000, 2000)  # three fill a pack to the token: no search finds all of them\n"
            "middle = drawn.integers(250_000_001, (10**9 - large) // 2)\n"
            "lengths = np.concatenate([large, middle, 10**9 - large - middle])\n"
            "threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
            "try: ballast.near_optimal(lengths, 10**9, work=10**13)\n"
            "except KeyboardInterrupt: print('interrupted')\n"
        )
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual(out.stdout.strip(), "interrupted", out.stderr)

    def test_a_forked_process_can_use_a_plan(self):
        plan = ballast.pack(drawn(500, 4096), 4096)
        child = os.fork()
        if child == 0:
            os._exit(0 if plan.hash() == ballast.pack(drawn(500, 4096), 4096).hash() else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Memory(unittest.TestCase):
    def test_what_a_layer_keeps(self):
        shape = ballast.transformer(layers=2, hidden=64, query_heads=4, kv_heads=2, head_width=16, ffn=96, vocabulary=101)
        kept = ballast.layer_tensors(shape)
        # two norms in float32, with their outputs; q, k, v and the output; log-sum-exp; the feed-forward block
        self.assertEqual(sum(token for token, _ in kept.values()), 2 * (8 * 64 + 4) + 2 * (2 * 4 + 2 * 2) * 16 + 4 * 4 + 8 * 96)
        self.assertEqual(kept["scores"], (16, 0))
        self.assertEqual(ballast.layer_tensors(shape, stored_scores=True)["scores"], (0, 24))
        self.assertNotIn("input of the last matrix", ballast.layer_tensors(shape, train="lora:4"))
        self.assertEqual(ballast.layer_tensors(shape, framework="Megatron"), ballast.layer_tensors(shape, framework="megatron"))
        with self.assertRaisesRegex(ValueError, '^framework = "jax" is not one of fused, megatron, '):
            ballast.layer_tensors(shape, framework="jax")
        self.assertEqual(
            repr(shape), f"<Transformer: 2 layers of width 64, {shape.parameters:,} parameters>"
        )
        with self.assertRaisesRegex(ValueError, "expected all, none, lora:RANK or qlora:RANK"):
            ballast.layer_tensors(shape, train="lora")

    def test_where_the_bytes_of_a_training_are(self):
        run = partial(ballast.memory, "llama-3.1-8b", framework="megatron", sequence=8192, tensor=4, data=2, zero=1, micro_batches=8)
        one = run()
        self.assertEqual(len(one), 1)
        self.assertEqual(one[0]["moment"], "head")
        held = sum(one[0][part] for part in ("states", "workspace", "kept", "inputs", "gathered"))
        self.assertEqual(one[0]["peak"], held + max(one[0]["extra"].values()))
        self.assertEqual(len(run(stages=4)), 4)
        self.assertLess(run(recompute="full")[0]["kept"], run(recompute="mlp")[0]["kept"])
        self.assertLess(run(loss="in-place")[0]["peak"], one[0]["peak"])
        with self.assertRaisesRegex(ValueError, '^loss = "cheap" is not one of plain, '):
            run(loss="cheap")
        tune = partial(ballast.memory, "llama-3.1-8b", sequence=8192, data=8)
        told = {"framework": "eager", "optimizer": "adam-bf16", "loss": "chunked:8", "zero": 3, "repeated_keys": True}
        self.assertEqual(tune(trainer="torchtune"), tune(**told))
        self.assertEqual(tune(trainer="torchtune", zero=2), tune(**(told | {"zero": 2})))
        with self.assertRaisesRegex(ValueError, '^trainer = "torchtitun" is not one of .*; did you mean torchtitan\?$'):
            tune(trainer="torchtitun")

    def test_the_longest_sequence_that_fits(self):
        asked = {"model": "llama-3.1-8b", "trainer": "megatron", "data": 8, "zero": 2, "recompute": "full"}
        memory = ballast.devices()["h100"] // 10 * 9
        for unit, packed in ((64, True), (1, False)):
            found = ballast.longest_sequence(memory=memory, unit=unit, packed=packed, **asked)
            tokens = found["tokens"]
            self.assertEqual(tokens % unit, 0)
            self.assertLessEqual(ballast.memory(sequence=tokens, **asked)[0]["peak"], memory)
            self.assertEqual(ballast.memory(sequence=tokens + unit, **asked)[found["stage"]], found["next"])
            self.assertGreater(found["next"]["peak"], memory)
        none = ballast.longest_sequence("llama-3.1-8b", memory=1)
        self.assertEqual(none["tokens"], 0)
        self.assertIsNone(ballast.longest_sequence("qwen2.5-0.5b", memory=1 << 62)["next"])
        with self.assertRaisesRegex(ValueError, "unit = 0 must be in"):
            ballast.longest_sequence("llama-3.1-8b", memory=1, unit=0)

    def test_the_shape_of_a_config(self):
        llama = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32}
        llama |= {"num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}
        preset = ballast.transformer("llama-3.1-8b")
        self.assertEqual(preset.parameters, ballast.transformer("meta-llama/Llama-3.1-8B").parameters)
        shape = ballast.models.shape_of(llama)
        self.assertEqual(shape.parameters, preset.parameters)
        self.assertEqual(ballast.memory(shape, sequence=4096), ballast.memory(preset, sequence=4096))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "config.json")
            for text, sentence in (
                (json.dumps(llama | {"model_type": "unheard"}), "the model_type unheard is not known"),
                (json.dumps(llama | {"vocab_size": 0.5}), "vocab_size.* must be a whole number"),
                ("[1]", "must hold an object"),
                ("{", "is no JSON"),
            ):
                with open(path, "w") as file:
                    file.write(text)
                with self.assertRaisesRegex(ValueError, sentence):
                    ballast.models.shape_of(path)
            with open(path, "w") as file:
                json.dump(llama, file)
            config = types.SimpleNamespace(model_type="llama", to_dict=lambda: llama)
            module = types.SimpleNamespace(config=config)
            for known in (path, pathlib.Path(path), folder, pathlib.Path(folder), llama, config, module, preset):
                self.assertEqual(ballast.models.shape_of(known).parameters, preset.parameters)
                cost = ballast.sample_time(known)
                self.assertEqual([cost(n) for n in (1, 4096)], [ballast.sample_time(preset)(n) for n in (1, 4096)])
                plan = partial(ballast.plan_steps, drawn(500, 8192), capacity=8192, ranks=4)
                self.assertEqual(plan(cost=known).hash(), plan(cost="llama-3.1-8b").hash())
        self.assertIs(ballast.models.shape_of(preset), preset)
        images = llama | {"model_type": "llava", "vision_config": {"model_type": "clip_vision_model"}}
        with self.assertRaisesRegex(ValueError, "reads images or sound"):
            ballast.models.shape_of(images)
        self.assertEqual(ballast.models.shape_of(images, images=True).layers, 32)

    def test_a_name_of_a_hub_is_that_of_its_preset(self):
        eight = ballast.transformer("llama-3.1-8b").parameters
        for name in ("meta-llama/Llama-3.1-8B", "Meta-Llama-3.1-8B-Instruct", "LLAMA_3.1_8b", "nobody/llama-3-8b"):
            self.assertEqual(ballast.models.shape_of(name).parameters, eight, name)
        for name, near in (("Qwen/Qwen3-8", "qwen3-8b"), ("llama-3.2-8b", "llama-3.1-8b"), ("quen2.5-7b", "qwen2.5-7b")):
            for call in (ballast.models.shape_of, ballast.sample_time, partial(ballast.stream, [], 8, 1, cost=name)):
                with self.assertRaisesRegex(ValueError, f"{name} is neither a file nor .* mean {near}[?]"):
                    call(*() if isinstance(call, partial) else (name,))

    def test_a_function_is_a_cost_and_asked_once_for_each_length(self):
        lengths, asked = drawn(3000, 4000), []
        plan = partial(ballast.plan_steps, lengths, capacity=4096, ranks=4)
        table = [n * n + 7 * n for n in range(4097)]

        def cost(n):
            asked.append(n)
            return n * n + 7 * n

        self.assertEqual(plan(cost=cost).hash(), plan(cost=table).hash())
        self.assertEqual(asked, list(range(1, 4097)))
        halves = plan(cost=lambda n: cost(n) / 2**10)
        self.assertEqual(halves.hash(), plan(cost=lambda n: cost(n) / 2**3).hash())
        self.assertEqual(plan(cost=np.sqrt).hash(), plan(cost=lambda n: n**0.5).hash())
        run = partial(ballast.TrainingRun, lengths, capacity=4096, ranks=4)
        self.assertEqual(run(cost=cost).hash(), run(cost=table).hash())
        for bad, sentence in (
            (lambda n: -n, "cost.1. = -1 must be a number that is not negative"),
            (lambda n: 1 / (n - 3) if n > 3 else 1 if n < 3 else math.inf, "cost.3. = inf must be"),
            (lambda n: "dear", "cost.1. = 'dear' must be"),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                plan(cost=bad)
        with self.assertRaises(ZeroDivisionError) as raised:
            plan(cost=lambda n: 1 // abs(n - 7))
        if sys.version_info >= (3, 11):
            self.assertEqual(raised.exception.__notes__, ["cost was asked for length 7"])

    def test_where_the_bytes_of_a_tower_are(self):
        run = partial(ballast.memory, "qwen2.5-vl-7b", sequence=4096)
        (none,), (frozen,), (trained,) = run(), run(tiles=8), run(tiles=8, train_vision="all")
        self.assertEqual(frozen["inputs"] - none["inputs"], 8 * 4 * 1024 * 14 * 14 * 6)
        self.assertLess(none["kept"], frozen["kept"])
        self.assertLess(10 * (frozen["kept"] - none["kept"]), trained["kept"] - none["kept"])
        shape = ballast.vision_language_model("qwen2.5-vl-7b")
        self.assertEqual(ballast.memory(shape, sequence=4096, tiles=8), [frozen])
        with self.assertRaisesRegex(ValueError, "tiles = 8: the model reads no images"):
            ballast.memory("llama-3.1-8b", sequence=4096, tiles=8)

    def test_a_tower_has_tensor_devices_of_its_own(self):
        run = partial(ballast.memory, "qwen2.5-vl-7b", sequence=4096, tiles=8, tensor=4, train_vision="all")
        (whole,), (alone,) = run(), run(vision_tensor=1)
        self.assertEqual([whole], run(vision_tensor=4))
        self.assertLess(whole["states"], alone["states"])  # each device has all of the tower
        self.assertEqual(whole["inputs"], alone["inputs"])  # and all images, of which it computes its share
        with self.assertRaisesRegex(ValueError, "vision_tensor = 3 must divide tensor = 4"):
            run(vision_tensor=3)
        with self.assertRaisesRegex(ValueError, "vision_tensor = 2: the model reads no images"):
            ballast.memory("llama-3.1-8b", sequence=4096, tensor=4, vision_tensor=2)


class Costs(unittest.TestCase):
    def test_a_cost_must_be_named(self):
        for call in (
            lambda: ballast.plan_steps([4], capacity=8, ranks=1),
            lambda: ballast.micro_batches([4], 8),
            lambda: ballast.TrainingRun([4], capacity=8, ranks=1),
            lambda: ballast.stream([(0, 4)], 8, 1),
        ):
            with self.assertRaisesRegex(ValueError, "cost is missing, and no cost is assumed"):
                call()
        with self.assertRaisesRegex(ValueError, "llama is neither a file nor the name of a known model; did you mean "):
            ballast.plan_steps([4], capacity=8, ranks=1, cost="llama")
        with self.assertRaisesRegex(ValueError, "cost has 4 entries.*lacks that of length 4"):
            ballast.plan_steps([4], capacity=8, ranks=1, cost=[0, 1, 2, 3])

    def test_costs_of_the_samples_are_not_taken_for_costs_of_lengths(self):
        lengths = drawn(2000, 1999)
        of_samples = lengths * lengths
        rising = np.sort(of_samples)
        for cost in (of_samples, ballast.sample_cost(of_samples), rising):
            for call in (
                lambda cost: ballast.plan_steps(lengths, capacity=2000, ranks=4, cost=cost),
                lambda cost: ballast.micro_batches(lengths, 2000, cost=cost),
                lambda cost: ballast.TrainingRun(lengths, capacity=2000, ranks=4, cost=cost),
            ):
                with self.assertRaises(ValueError) as caught:
                    call(cost)
                self.assertEqual(
                    str(caught.exception),
                    "cost has 2000 entries, as many as there are samples, but an array gives the costs of the lengths 0, 1, "
                    "2, ...: if these are costs of the samples, pass them as costs=; if they are costs of lengths, append one "
                    "more",
                )
        for table in (np.arange(2001) + 1, np.append(of_samples, 7)):
            ballast.plan_steps(lengths, capacity=2000, ranks=4, cost=table)

    def test_a_cost_for_each_sample(self):
        lengths = drawn(3000, 4096)
        asked = {"capacity": 4096, "ranks": 4, "micro_batches": 2}
        quadratic = ballast.quadratic_cost(3, 2)
        costs = 3 * lengths + 2 * lengths * lengths
        plans = [ballast.plan_steps(lengths, **asked, **by) for by in ({"cost": quadratic}, {"costs": costs})]
        self.assertEqual(plans[0].hash(), plans[1].hash())
        drawn_costs = np.random.default_rng(4).integers(1, 10**6, 3000)
        plan = ballast.plan_steps(lengths, costs=drawn_costs, **asked)
        self.assertEqual(plan.cost, drawn_costs.sum())
        slowest = sum(
            max(sum(int(drawn_costs[p].sum()) for p in plan.packs_of(step, rank)) for rank in range(4))
            for step in range(plan.steps)
        )
        self.assertEqual(plan.slowest, slowest)
        self.assertLess(plan.idle, 0.02)
        self.assertIn("valid", ballast.check(plan, lengths))
        of_batch, most = lengths[:64], {"order": "small_ends", "exactly": 14}
        both = [ballast.micro_batches(of_batch, 4096, **most, **by) for by in ({"cost": quadratic}, {"costs": costs[:64]})]
        self.assertEqual(*([part.tolist() for part in parts] for parts in both))
        parts = ballast.micro_batches(of_batch, 4096, costs=drawn_costs[:64], **most)
        loads = [int(drawn_costs[p].sum()) for p in parts]
        self.assertEqual(sorted([loads[0], loads[-1]]), sorted(loads)[:2])

    def test_a_run_by_the_costs_of_its_samples(self):
        lengths = drawn(600, 2048)
        costs = np.random.default_rng(4).integers(1, 10**6, 600)
        asked = {"capacity": 2048, "ranks": 4, "micro_batches": 2, "epochs": 2, "seed": 3}
        run = ballast.TrainingRun(lengths, costs=costs, **asked)
        first = next(iter(run))
        self.assertEqual(first, 0)
        steps, waits = [], []
        for _ in range(4):
            run.next()
            packs = [np.concatenate(run.packs_of(rank)) for rank in range(4)]
            steps.append(np.concatenate(packs))
            loads = [int(costs[p].sum()) for p in packs]
            waits.append(1 - np.mean(loads) / max(loads))
        self.assertLess(np.mean(waits), 0.05)
        for again in (ballast.TrainingRun(lengths, costs=costs, **asked), pickle.loads(pickle.dumps(run)), copy.copy(run)):
            again.resume(run.state())
            self.assertEqual(again.hash(), run.hash())
        fewer = ballast.TrainingRun(lengths, costs=costs, **asked)
        fewer.resume(run.state(), ranks=3)  # what is left of the epoch is weighed by the costs of its samples, too
        fewer.next()
        loads = [int(costs[np.concatenate(fewer.packs_of(rank))].sum()) for rank in range(3)]
        self.assertLess(1 - np.mean(loads) / max(loads), 0.1)
        with self.assertRaisesRegex(ValueError, "state is of a run with other samples, costs"):
            ballast.TrainingRun(lengths, costs=costs[::-1], **asked).resume(run.state())
        for call in (lambda: run.observe(3.0), lambda: run.recalibrate([0] * 8)):
            with self.assertRaisesRegex(ValueError, "costs= of its samples"):
                call()

    def test_what_is_wrong_with_costs(self):
        lengths, asked = [4, 5, 6], {"capacity": 8, "ranks": 1}
        for sentence, given in {
            "cost prices a length and costs each sample": {"cost": COST, "costs": [1, 2, 3]},
            "costs has 2 entries for 3 lengths": {"costs": [1, 2]},
            "costs holds float64, not integers": {"costs": [1.5, 2.0, 3.0]},
            r"lengths\[1\] .*(cost|costs) 0": {"costs": [1, 0, 3]},
            r"lengths\[2\] .*has a cost that is negative": {"costs": [1, 2, -3]},
        }.items():
            for plan in (ballast.plan_steps, ballast.TrainingRun):
                with self.assertRaisesRegex(ValueError, sentence):
                    plan(lengths, **given, **asked)
        for oversize in ("split", "truncate"):
            with self.assertRaisesRegex(ValueError, f"oversize = {oversize} cuts samples"):
                ballast.TrainingRun(lengths, costs=[1, 2, 3], oversize=oversize, **asked)
        aside = ballast.TrainingRun([4, 9, 6], costs=[1, 0, 3], oversize="set_aside", **asked)
        self.assertEqual(aside.set_aside.tolist(), [1])
        with self.assertRaisesRegex(ValueError, "costs is not for a run in levels"):
            ballast.TrainingRun(lengths, levels=[(8, 1)], ranks=1, costs=[1, 2, 3])

    def test_every_way_to_name_a_cost(self):
        lengths = drawn(400, 4096)
        model = ballast.transformer(COST)
        table = np.array([ballast.sample_cost(COST)(n) for n in range(4097)])
        times = (COST, model, ballast.sample_time(COST, capacity=4096), ballast.sample_time(model, "h100", 4096))
        for costs in (times, (ballast.sample_cost(COST), ballast.sample_cost(model), table)):
            plans = [ballast.plan_steps(lengths, capacity=4096, ranks=4, cost=c) for c in costs]
            self.assertEqual(len({p.hash() for p in plans}), 1)
            self.assertEqual(len({p.cost for p in plans}), 1)
        tokens = ballast.plan_steps(lengths, capacity=4096, ranks=4, cost=ballast.token_cost())
        self.assertEqual(tokens.cost, lengths.sum())
        self.assertEqual(ballast.quadratic_cost(3, 2)(10), 230)
        own = ballast.transformer(
            layers=32, hidden=4096, query_heads=32, kv_heads=8, head_width=128, ffn=14336, vocabulary=128256
        )
        self.assertEqual(ballast.sample_cost(own), ballast.sample_cost(COST))
        self.assertEqual(own.parameters, 8030261248)

    def test_the_time_of_a_sample_is_that_of_its_kernels(self):
        time, flops = ballast.sample_time(COST), ballast.sample_cost(COST)
        self.assertGreater(time(16384) / time(1024), flops(16384) / flops(1024))  # attention weighs more
        self.assertGreater(time.per_micro_batch, 0)
        self.assertEqual(flops.per_micro_batch, 0)
        self.assertGreater(ballast.sample_time(COST, "a100")(1024), 2 * time(1024))
        self.assertEqual(ballast.sample_time(COST, "A100_40GB"), ballast.sample_time(COST, "a100-40gb"))
        known = ", ".join(ballast.devices())
        with self.assertRaises(ValueError) as caught:  # as `--device` says it
            ballast.sample_time(COST, "h1000")
        self.assertEqual(str(caught.exception), f'device = "h1000" is not one of {known}; did you mean h100?')
        with self.assertRaisesRegex(ValueError, "capacity = 0 must be positive"):
            ballast.sample_time(COST, capacity=0)
        with self.assertRaisesRegex(ValueError, "model is no name of a model, no config of one, and no Transformer"):
            ballast.sample_time([1, 2])

    def test_what_a_micro_batch_takes_is_priced_unless_a_price_is_given(self):
        lengths = drawn(400, 4096)
        time = ballast.sample_time(COST, capacity=4096)
        asked = {"capacity": 4096, "ranks": 4, "cost": time}
        plan = ballast.plan_steps(lengths, **asked)
        priced = ballast.plan_steps(lengths, cost_per_micro_batch=time.per_micro_batch, **asked)
        free = ballast.plan_steps(lengths, cost_per_micro_batch=0, **asked)
        self.assertEqual(plan.hash(), priced.hash())
        self.assertEqual(plan.cost, sum(time(int(n)) for n in lengths) + len(plan.packs) * time.per_micro_batch)
        self.assertEqual(free.cost, sum(time(int(n)) for n in lengths))

    def test_randomness_is_paid_with_time(self):
        asked = {"capacity": 4096, "ranks": 4, "cost": ballast.sample_cost(COST)}
        times = [
            ballast.plan_steps(drawn(3000, 4096), time_for_randomness=price, **asked).idle for price in (0, 20, 1000)
        ]
        self.assertLessEqual(times[1], 1.02 * times[0] + 1)
        self.assertGreaterEqual(times[2], times[0])
        with self.assertRaisesRegex(ValueError, "time_for_randomness = 1001 must be at most 1000, or None$"):
            ballast.plan_steps([4], time_for_randomness=1001, **asked)
        run = ballast.TrainingRun(drawn(3000, 4096), time_for_randomness=0, **asked)
        self.assertEqual(run.steps, ballast.plan_steps(drawn(3000, 4096), time_for_randomness=0, **asked).steps)

    def test_a_plan_says_how_random_its_steps_are(self):
        asked = {"capacity": 4096, "ranks": 4, "cost": ballast.sample_cost(COST)}
        lengths = drawn(3000, 4096)
        plans = [ballast.plan_steps(lengths, time_for_randomness=price, **asked) for price in (0, 1000)]
        fastest, random = [plan.randomness(lengths) for plan in plans]
        self.assertLessEqual(random[1], max(1.5 * fastest[1], 2))
        with_empty = np.insert(lengths, [0, 1000, 3000], 0)
        skipping = ballast.plan_steps(with_empty, time_for_randomness=0, zero_length="skip", **asked)
        self.assertEqual(skipping.randomness(with_empty), fastest)
        self.assertEqual(ballast.plan_steps([512] * 100, **asked).randomness([512] * 100), (0, 0))
        with self.assertRaisesRegex(ValueError, "lengths"):
            plans[0].randomness(lengths[1:])

    def test_data_of_years_is_counted_in_a_larger_unit(self):
        lengths = np.full(40_000, 131_072)
        plan = ballast.plan_steps(lengths, capacity=131_072, ranks=8, cost="llama-3.1-405b")
        time = ballast.sample_time("llama-3.1-405b", capacity=131_072)
        self.assertEqual(sorted(i for p in plan.packs for i in p), list(range(40_000)))
        self.assertLess(plan.cost, 2**60)
        self.assertGreater(time(131_072) * 40_000, 2**61)
        with self.assertRaisesRegex(ValueError, "count costs in a larger unit"):
            ballast.plan_steps(lengths, capacity=131_072, ranks=8, cost=time, cost_per_micro_batch=0)

    def test_costs_pickle(self):
        table = ballast.sample_cost([0, 5, 9])
        for cost in (ballast.token_cost(), ballast.quadratic_cost(3, 2), ballast.sample_cost(COST), ballast.sample_time(COST), table):
            again = pickle.loads(pickle.dumps(cost))
            self.assertEqual(again, cost)
            self.assertEqual(again(2), cost(2))
            self.assertEqual(hash(again), hash(cost))


class Steps(unittest.TestCase):
    def test_steps_keep_every_sample_and_the_capacity(self):
        lengths = drawn(2000, 8192)
        plan = ballast.plan_steps(lengths, capacity=8192, ranks=4, micro_batches=2, cost=COST, seed=3)
        packs = [p for s in range(plan.steps) for r in range(4) for p in plan.packs_of(s, r)]
        self.assertTrue((counts_of(packs, 2000) == 1).all())
        self.assertLessEqual(max(lengths[p].sum() for p in packs), 8192)
        self.assertEqual(plan.table.shape, (plan.steps, 4, 2))
        self.assertEqual((plan.table >= 0).sum(), len(plan.packs))
        self.assertEqual(plan.packs_of(0, 1)[0].tolist(), plan.packs[int(plan.table[0, 1, 0])].tolist())
        self.assertGreaterEqual(plan.slowest_over_mean, 1)
        self.assertAlmostEqual(plan.idle, 1 - plan.cost / (4 * plan.slowest))
        self.assertIn("valid", ballast.check(plan, lengths))
        with self.assertRaises(ValueError):
            ballast.check(plan, lengths + 1)
        again = ballast.plan_steps(lengths, capacity=8192, ranks=4, micro_batches=2, cost=COST, seed=3, threads=2)
        other = ballast.plan_steps(lengths, capacity=8192, ranks=4, micro_batches=2, cost=COST, seed=3, epoch=1)
        self.assertEqual(plan.hash(), again.hash())
        self.assertNotEqual(plan.hash(), other.hash())
        for step, rank in ((plan.steps, 0), (0, 4), (-1, 0)):
            with self.assertRaises(IndexError):
                plan.packs_of(step, rank)

    def test_what_is_left_over(self):
        lengths = drawn(203, 8192)
        arguments = {"capacity": 8192, "ranks": 3, "micro_batches": 2, "cost": COST}
        for left_over in ("split", "shorten", "repeat", "drop"):
            plan = ballast.plan_steps(lengths, left_over=left_over, **arguments)
            counts = counts_of([p for s in range(plan.steps) for r in range(3) for p in plan.packs_of(s, r)], 203)
            np.subtract.at(counts, plan.repeated, 1)
            np.add.at(counts, plan.dropped, 1)
            self.assertTrue((counts == 1).all())

    def test_keys(self):
        lengths, keys = drawn(240, 2000), np.repeat(np.arange(60), 4)
        plan = ballast.plan_steps(lengths, capacity=8192, ranks=2, cost=COST, together=keys)
        for key in range(60):
            self.assertEqual(sum(key in keys[p] for p in plan.packs), 1)
        self.assertIn("valid", ballast.check(plan, lengths, together=keys))


    def test_samples_without_tokens_are_in_no_step(self):
        lengths, zeros = drawn(400, 4096), [3, 100, 399]
        lengths[zeros] = 0
        numbers = np.flatnonzero(lengths)
        costs, pairs = lengths * lengths + (lengths == 0) * 7, np.arange(400) // 2
        plan = partial(ballast.plan_steps, capacity=8192, ranks=3, left_over="drop")
        for of_each in ({"cost": COST}, {"costs": costs}, {"cost": COST, "together": pairs, "apart": pairs % 2}):
            kept = {name: value if name == "cost" else value[numbers] for name, value in of_each.items()}
            made, bare = plan(lengths, zero_length="skip", **of_each), plan(lengths[numbers], **kept)
            self.assertEqual([p.tolist() for p in made.packs], [numbers[p].tolist() for p in bare.packs])
            self.assertEqual(made.dropped.tolist(), numbers[bare.dropped].tolist())
            self.assertEqual((made.skipped.tolist(), made.slowest), (zeros, bare.slowest))
            self.assertIn("valid", ballast.check(made, lengths, together=of_each.get("together")))
        shared = ballast.plan_steps([0, 16, 9, 0, 8, 8], capacity=8, ranks=2, cost=COST, most_ranks_shared=2, zero_length="skip")
        self.assertEqual(sorted(sample for sample, *_ in shared.shared), [1, 2, 4, 5])
        self.assertEqual(set(shared.members.tolist()), {1, 2, 4, 5})
        for name in ("costs", "together"):
            with self.assertRaisesRegex(ValueError, f"{name} has 397 entries for 400 lengths"):
                plan(lengths, zero_length="skip", cost=None if name == "costs" else COST, **{name: pairs[numbers]})


class MicroBatches(unittest.TestCase):
    def test_micro_batches(self):
        lengths = drawn(60, 8192)
        least = ballast.least_micro_batches(lengths, 8192)
        for exactly in (None, least, least + 3):
            parts = ballast.micro_batches(lengths, 8192, exactly=exactly, cost=COST)
            self.assertEqual(len(parts), exactly or least)
            self.assertTrue((counts_of(parts, 60) == 1).all())
            self.assertLessEqual(max(lengths[p].sum() for p in parts), 8192)
        self.assertEqual(len(ballast.micro_batches(lengths, 8192, multiple=4, cost=COST)) % 4, 0)
        self.assertEqual(len(ballast.micro_batches(lengths, 8192, at_least=least + 2, cost=COST)), least + 2)
        with self.assertRaisesRegex(ValueError, "exactly = 1 micro-batches were not found for 60 samples; the lower"):
            ballast.micro_batches(lengths, 8192, exactly=1, cost=COST)
        groups = np.arange(60) // 2
        parts = ballast.micro_batches(lengths[:20] // 4 + 1, 8192, together=groups[:20], cost=COST)
        self.assertEqual(sorted(g for p in parts for g in set(groups[p].tolist())), list(range(10)))
        self.assertEqual(ballast.micro_batches([], 8, cost=COST), [])

    def test_samples_without_tokens_are_in_no_micro_batch(self):
        lengths, zeros = drawn(60, 8192), [0, 7, 59]
        lengths[zeros] = 0
        numbers, keys, costs = np.flatnonzero(lengths), np.arange(60) // 2, lengths * lengths + 1
        for more, kept in (
            ({"cost": COST}, {"cost": COST}),
            ({"costs": costs, "apart": keys % 2}, {"costs": costs[numbers], "apart": keys[numbers] % 2}),
        ):
            parts = ballast.micro_batches(lengths, 8192, zero_length="skip", **more)
            bare = ballast.micro_batches(lengths[numbers], 8192, **kept)
            self.assertEqual([part.tolist() for part in parts], [numbers[part].tolist() for part in bare])
        least = ballast.least_micro_batches(lengths, 8192, zero_length="skip")
        self.assertEqual(least, ballast.least_micro_batches(lengths[numbers], 8192))
        self.assertEqual(ballast.micro_batches([0, 0], 8, cost=COST, zero_length="skip"), [])
        for planner in (partial(ballast.micro_batches, cost=COST), ballast.least_micro_batches):
            with self.assertRaisesRegex(ValueError, r'lengths\[0\] = 0 has no tokens to train on \(3 such samples\): zero_length="skip"'):
                planner(lengths, 8192)
            with self.assertRaisesRegex(ValueError, 'zero_length = "drop" is not one of error, skip'):
                planner(lengths, 8192, zero_length="drop")
            with self.assertRaisesRegex(ValueError, r"lengths\[1\] = 9000 exceeds capacity 8192"):
                planner([0, 9000], 8192, zero_length="skip")

    def test_balance(self):
        weights = drawn(90, 9000)
        sets = ballast.balance(weights, 4)
        self.assertTrue((counts_of(sets, 90) == 1).all())
        self.assertLess(max(weights[s].sum() for s in sets), 1.01 * weights.sum() / 4)
        sizes = [len(s) for s in ballast.balance(weights, 4, equal_size=True)]
        self.assertLessEqual(max(sizes) - min(sizes), 1)
        self.assertEqual([len(s) for s in ballast.balance([], 3)], [0, 0, 0])


class Run(unittest.TestCase):
    arguments = {"capacity": 4096, "ranks": 4, "micro_batches": 2, "epochs": 3, "cost": COST, "seed": 5}

    def setUp(self):
        self.lengths = drawn(300, 4096)

    def rest_of(self, run):
        out = []
        while not run.done:
            run.next()
            out.append([[p.tolist() for p in run.packs_of(r)] for r in range(run.ranks)])
        return out

    def test_every_epoch_has_every_sample_once(self):
        run = ballast.TrainingRun(self.lengths, **self.arguments)
        steps, epochs = run.steps, {}
        for step in run:
            packs = [p for r in range(4) for p in run.packs_of(r)]
            self.assertLessEqual(max(self.lengths[p].sum() for p in packs), 4096)
            epochs.setdefault(run.epoch, []).extend(packs)
        self.assertEqual(step + 1, steps)
        self.assertEqual(sorted(epochs), [0, 1, 2])
        for packs in epochs.values():
            self.assertTrue((counts_of(packs, 300) == 1).all())
        self.assertNotEqual(epochs[0][0].tolist(), epochs[1][0].tolist())
        with self.assertRaisesRegex(ValueError, "steps are done"):
            run.next()

    def test_a_run_resumes(self):
        whole = self.rest_of(ballast.TrainingRun(self.lengths, **self.arguments))
        run = ballast.TrainingRun(self.lengths, **self.arguments)
        for _ in range(len(whole) // 2):
            run.next()
        state = [int(word) for word in run.state()]
        again = ballast.TrainingRun(self.lengths, **self.arguments)
        again.resume(state)
        pickled = pickle.loads(pickle.dumps(run))
        self.assertEqual(again.hash(), run.hash())
        self.assertEqual(pickled.hash(), run.hash())
        self.assertEqual(pickled.epoch, run.epoch)
        for one in (again, pickled):
            self.assertEqual(self.rest_of(one), whole[len(whole) // 2 :])
        other = ballast.TrainingRun(self.lengths, **{**self.arguments, "seed": 6})
        with self.assertRaisesRegex(ValueError, "state is of a run with other samples, costs or options"):
            other.resume(state)
        for at in range(len(state)):
            changed = [word + (k == at) for k, word in enumerate(state)]
            with self.assertRaisesRegex(ValueError, "state is damaged|is not one of a training run"):
                again.resume(changed)

    def test_a_damaged_file_of_a_run_makes_no_other_plan(self):
        run = ballast.TrainingRun(self.lengths, **self.arguments)
        run.next()
        whole = pickle.dumps(run)

        def now(of):
            return of.state(), [[list(pack) for pack in of.packs_of(rank)] for rank in range(4)]

        for size in range(0, len(whole), 64):
            with self.assertRaises(Exception):
                pickle.loads(whole[:size])
        for at in range(0, len(whole), max(1, len(whole) // 500)):
            try:
                found = now(pickle.loads(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]))
            except Exception:  # what pickle says of bytes that it did not write, or this package of a plan
                continue
            self.assertEqual(found, now(run), at)

    def test_a_run_resumes_with_other_ranks(self):
        run, seen = ballast.TrainingRun(self.lengths, **self.arguments), []
        for _ in range(3):
            run.next()
            seen += [p for r in range(4) for p in run.packs_of(r)]
        run.resume(run.state(), ranks=3)
        self.assertEqual(run.ranks, 3)
        while True:
            run.next()
            if run.epoch > 0:
                break
            seen += [p for r in range(3) for p in run.packs_of(r)]
        self.assertTrue((counts_of(seen, 300) == 1).all())

    def test_measured_times_plan_the_rest_anew(self):
        lengths = drawn(2000, 4096)
        first, second, fresh = (ballast.TrainingRun(lengths, **self.arguments) for _ in range(3))
        with self.assertRaisesRegex(ValueError, "call next"):
            first.observe(4.0)
        with self.assertRaisesRegex(ValueError, "no step"):
            first.measured()
        seen = []
        for _ in range(12):
            first.next()
            second.next()
            packs = [first.packs_of(r) for r in range(4)]
            seen += [p for own in packs for p in own]
            first.observe([sum(2.0 + lengths[p].sum() / 1e3 for p in own) for own in packs])  # tokens alone count
        with self.assertRaisesRegex(ValueError, "3 times for 4 ranks"):
            first.observe([1.0, 2.0, 3.0])
        measured = first.measured()
        self.assertEqual([type(word) for word in measured], [int] * 8)
        before = first.hash()
        self.assertEqual(second.recalibrate(measured), first.recalibrate())
        self.assertEqual(second.hash(), first.hash())
        self.assertNotEqual(first.hash(), before)
        fresh.resume(first.state())
        self.assertEqual(fresh.hash(), first.hash())
        while True:
            first.next()
            if first.epoch > 0:
                break
            seen += [p for r in range(4) for p in first.packs_of(r)]
        self.assertTrue((counts_of(seen, 2000) == 1).all())
        with self.assertRaisesRegex(ValueError, "7 integers are not measured costs"):
            first.recalibrate(measured[1:])

    def test_a_copy_goes_its_own_way(self):
        run = ballast.TrainingRun(self.lengths, **self.arguments)
        run.next()
        other = copy.copy(run)
        whole = self.rest_of(run)
        self.assertTrue(run.done and not other.done)
        self.assertEqual(self.rest_of(other), whole)

    def test_options(self):
        run = ballast.TrainingRun(self.lengths, **{**self.arguments, "steps_per_epoch": 11})
        self.assertEqual(run.steps, 33)
        self.assertEqual(len(self.rest_of(run)), 33)
        long = np.append(self.lengths, 9000)
        self.assertEqual(ballast.TrainingRun(long, oversize="set_aside", **self.arguments).set_aside.tolist(), [300])
        split = ballast.TrainingRun(long, oversize="split", **self.arguments)
        self.assertEqual(split.pieces, [(300, 4096, 4096), (300, 8192, 808)])
        sized = ballast.TrainingRun(self.lengths, capacity=4096, ranks=4, tokens_per_step=4096 * 12, cost=COST)
        self.assertEqual(sized.micro_batches, 3)
        rising = ballast.TrainingRun(self.lengths, order="ascending", **self.arguments)
        rising.next()
        first = np.concatenate([p for r in range(4) for p in rising.packs_of(r)])
        self.assertLess(self.lengths[first].mean(), self.lengths.mean())
        with self.assertRaises(ValueError):
            ballast.TrainingRun(self.lengths, order="sideways", **self.arguments)


    def test_samples_without_tokens_are_in_no_step_of_any_epoch(self):
        lengths, zeros = self.lengths.copy(), [0, 40, 299]
        lengths[zeros] = 0
        numbers = np.flatnonzero(lengths)
        run = ballast.TrainingRun(lengths, zero_length="skip", **self.arguments)
        bare = ballast.TrainingRun(lengths[numbers], **self.arguments)
        self.assertEqual(run.skipped.tolist(), zeros)
        first = [run.next(), bare.next(), run.state()]
        for twin in (run, copy.copy(run), pickle.loads(pickle.dumps(run))):
            self.assertEqual([p.tolist() for p in twin.packs_of(1)], [numbers[p].tolist() for p in bare.packs_of(1)])
            self.assertEqual(twin.skipped.tolist(), zeros)
        seen = np.concatenate([p for r in range(4) for p in run.packs_of(r)])
        again = ballast.TrainingRun(lengths, zero_length="skip", **{**self.arguments, "epochs": 1})
        again.next()
        again.resume(again.state(), ranks=3)
        rest = [p for _ in again for r in range(3) for p in again.packs_of(r)]
        self.assertEqual(counts_of([seen, *rest], 300).tolist(), (lengths > 0).astype(int).tolist())
        split = ballast.TrainingRun(np.append(lengths, 9000), oversize="split", zero_length="skip", **self.arguments)
        self.assertEqual(split.pieces, [(300, 4096, 4096), (300, 8192, 808)])
        members = np.concatenate([p for _ in split if split.epoch == 0 for r in range(4) for p in split.packs_of(r)])
        self.assertEqual(sorted(members), sorted([*numbers, 300, 301, 302]))


class Streams(unittest.TestCase):
    def setUp(self):
        self.lengths = drawn(400, 4096, seed=9) // 2 + 1

    def stream(self, **more):
        samples = ((f"sample {i}", int(n)) for i, n in enumerate(self.lengths))
        return ballast.stream(samples, 4096, 2, micro_batches=2, cost=COST, **more)

    def test_every_sample_leaves_once_within_the_capacity(self):
        steps = list(self.stream())
        left = [sample for step in steps for rank in step for micro_batch in rank for sample in micro_batch]
        self.assertEqual(sorted(left), sorted(f"sample {i}" for i in range(400)))
        for step in steps:
            self.assertEqual(len(step), 2)
            for rank in step:
                for micro_batch in rank:
                    self.assertLessEqual(sum(self.lengths[int(s.split()[1])] for s in micro_batch), 4096)
        for step in self.stream(drop_last=True):
            self.assertEqual([len(rank) for rank in step], [2, 2])

    def test_no_micro_batch_is_empty_if_there_are_samples_for_all(self):
        for numbers in ([[3, 1, 2], []], [[3, 1, 2], [], [5]], [[], [4, 7], [], [8, 9, 6]]):
            groups = _filled([list(group) for group in numbers])
            self.assertTrue(all(groups))
            self.assertEqual(sorted(sum(groups, [])), sorted(sum(numbers, [])))
        self.assertEqual(_filled([[1], [], []]), [[1], [], []])

    def test_no_step_is_without_samples(self):
        long = [8000] * 9  # all of which wait in the first blocks
        for lengths in (long, long[:5], [5], [5, 6], [5, 6, 7], [100, 8000] * 4):
            made = partial(ballast.stream, [*enumerate(lengths)], 8192, 4, micro_batches=2, cost=COST)
            steps = list(made())
            self.assertEqual(sorted(s for step in steps for rank in step for pack in rank for s in pack), [*range(len(lengths))])
            for stop, step in enumerate(steps, 1):
                self.assertTrue(any(step))
                walk = iter(first := made())
                self.assertEqual([next(walk) for _ in range(stop)], steps[:stop])
                self.assertEqual(list(made(state=first.state())), steps[stop:])

    def test_a_sample_of_a_wrong_length_is_named(self):
        for length, error, sentence in (
            (0, ValueError, "samples[2]: length = 0 must be in 1 ... capacity = 8"),
            (9, ValueError, "samples[2]: length = 9 must be in 1 ... capacity = 8"),
            (4.0, TypeError, "samples[2]: length = 4.0 must be an integer"),
            ("4", TypeError, "samples[2]: length = '4' must be an integer"),
        ):
            with self.assertRaises(error) as raised:
                list(ballast.stream([(0, 8), (1, 8), (2, length)], 8, 1, cost=COST))
            self.assertEqual(str(raised.exception), sentence)

    def test_a_stream_resumes_at_every_step(self):
        whole = list(self.stream())
        for stop in range(1, len(whole) + 1):
            first = self.stream()
            walk = iter(first)
            for _ in range(stop):
                next(walk)
            state = [int(word) for word in first.state()]
            again = self.stream(state=state)
            changed = len(state) // 2
            state[changed] += 1
            with self.assertRaisesRegex(ValueError, "damaged"):
                self.stream(state=state)
            self.assertEqual(list(again), whole[stop:], stop)
            self.assertFalse(again._held)
        for broken in ([0, 1, 2], []):
            with self.assertRaisesRegex(ValueError, "state is not one of a stream.* or an older state$"):
                self.stream(state=broken)


class Chains(unittest.TestCase):
    def test_partition(self):
        cut = ballast.partition([3, 1, 4, 1, 5, 9, 2, 6], 3)
        sums = [sum([3, 1, 4, 1, 5, 9, 2, 6][a:b]) for a, b in zip(cut.boundaries, cut.boundaries[1:])]
        self.assertEqual(max(sums), cut.bottleneck)
        self.assertEqual(cut.bottleneck, 14)
        self.assertEqual(cut.lower_bound, 14)
        self.assertEqual(repr(cut), "<Stages: 8 layers in 3 stages, the slowest costs 14>")
        self.assertEqual(repr(ballast.partition([3], 1)), "<Stages: 1 layer in 1 stage, the slowest costs 3>")
        with self.assertRaisesRegex(ValueError, "no partition into 3 stages"):
            ballast.partition([1, 2], 3)

    def test_recompute(self):
        blocks = {"forward": [1] * 8, "backward": [2] * 8, "output": [1] * 8, "saved": [4] * 8}
        free = ballast.recompute(**blocks, budget=100)
        tight = ballast.recompute(**blocks, budget=20)
        self.assertEqual(free.time, 24)
        self.assertEqual(repr(free), f"<Recompute: {len(free.steps)} steps in time 24, at most {free.peak} bytes>")
        self.assertGreater(tight.time, 24)
        self.assertLessEqual(tight.peak, 20)
        self.assertEqual(tight.time, tight.lower_bound)
        self.assertEqual(sum(what == "backward" for what, _ in tight.steps), 8)
        with self.assertRaisesRegex(ValueError, "budget = 3 is too small"):
            ballast.recompute(**blocks, budget=3)


class Rows(unittest.TestCase):
    def test_layout(self):
        cu = ballast.cu_seqlens([2, 0], [3, 9, 2])
        self.assertEqual((cu.tolist(), cu.dtype), ([0, 2, 5], np.int32))
        self.assertEqual(ballast.cu_seqlens([2, 0], [3, 9, 2], multiple=4).tolist(), [0, 4, 8])
        self.assertEqual(ballast.position_ids(cu, row=7).tolist(), [0, 1, 0, 1, 2, 0, 0])
        self.assertEqual(ballast.segment_ids(cu, row=7).tolist(), [1, 1, 2, 2, 2, 0, 0])
        self.assertEqual(ballast.segment_ids(cu, padded=[0, 4, 8]).tolist(), [1, 1, 0, 0, 2, 2, 2, 0])

    def test_context_parallel_lengths(self):
        actual, padded = ballast.context_cu_seqlens([2, 0], [3, 9, 2], ranks=2)
        self.assertEqual((actual.tolist(), padded.tolist(), padded.dtype), ([0, 2, 5], [0, 4, 8], np.int32))
        of_ranks = [ballast.context_cu_seqlens([2, 0], [3, 9, 2], ranks=2, rank=r) for r in range(2)]
        self.assertEqual(sum(a for a, _ in of_ranks).tolist(), actual.tolist())
        self.assertEqual([p.tolist() for _, p in of_ranks], [[0, 2, 4]] * 2)
        with self.assertRaisesRegex(ValueError, "rank = 2 must be in"):
            ballast.context_cu_seqlens([0], [3], ranks=2, rank=2)

    def test_gathering_takes_no_memory_for_samples_in_no_pack(self):
        far = 2**40  # tokens, of which no array holds all
        places = ballast.gather_indices([[2, 1], [1]], [far, 5, 3], row=9)
        first, second = [*range(far + 5, far + 8), *range(far, far + 5), -1], [*range(far, far + 5), -1, -1, -1, -1]
        self.assertEqual(places.tolist(), first + second)

    def test_gathered_rows_hold_the_tokens_of_their_samples(self):
        lengths = drawn(200, 512)
        plan = ballast.pack(lengths, 512, sample_multiple=8)
        store = np.arange(sum(lengths)) * 7
        places = ballast.gather_indices(plan.packs, lengths, row=520, multiple=8).reshape(len(plan.packs), 520)
        rows = np.where(places < 0, -100, store[places])
        starts = np.concatenate([[0], np.cumsum(lengths)])
        for row, pack in zip(rows, plan.packs):
            for begin, sample in zip(ballast.cu_seqlens(pack, lengths, multiple=8), pack):
                self.assertTrue((row[begin : begin + lengths[sample]] == store[starts[sample] : starts[sample + 1]]).all())
        self.assertEqual((rows == -100).sum(), rows.size - store.size)
        back = np.zeros_like(store)
        back[places[places >= 0]] = rows[places >= 0]
        self.assertTrue((back == store).all())
        with self.assertRaisesRegex(ValueError, "a row of 1 tokens is too short"):
            ballast.gather_indices(plan.packs, lengths, row=1)

    def test_static_rows_have_arrays_of_one_size(self):
        lengths = drawn(500, 4096)
        plan = ballast.pack(lengths, 4096, max_items=24)
        sizes = ballast.static_rows(plan.packs, lengths, multiple=4, tokens=5000)
        self.assertEqual((sizes["tokens"], sizes["multiple"]), (5000, 4))
        self.assertEqual(sizes["sequences"], max(len(p) for p in plan.packs) + 1)
        seen = 0
        for pack in plan.packs:
            row = ballast.packed_row(pack, lengths, **sizes)
            self.assertEqual((len(row.cu_seqlens), len(row.segment_ids)), (sizes["sequences"] + 1, 5000))
            self.assertEqual((row.max_seqlen, row.cu_seqlens_padded[-1]), (sizes["max_seqlen"], 5000))
            self.assertTrue((np.diff(row.cu_seqlens)[len(pack) :] == 0).all())
            self.assertTrue((row.segment_ids[row.cu_seqlens_padded[len(pack)] :] == 0).all())
            seen += np.diff(row.cu_seqlens).sum()
        self.assertEqual(seen, lengths.sum())
        with self.assertRaisesRegex(ValueError, "1 sequences are too few for the 2 of the pack"):
            ballast.packed_row([0, 1], [3, 4], sequences=1)
        with self.assertRaisesRegex(ValueError, "static_rows: 6 tokens are too few for a pack of 7"):
            ballast.static_rows([[0, 1]], [3, 4], tokens=6)

    def test_a_packed_row_is_one_allocation(self):
        row = ballast.packed_row([2, 0], [3, 9, 2], multiple=4, tokens=10)
        cu = ballast.cu_seqlens([2, 0], [3, 9, 2])
        padded = ballast.cu_seqlens([2, 0], [3, 9, 2], multiple=4)
        self.assertEqual((row.cu_seqlens.tolist(), row.cu_seqlens_padded.tolist()), (cu.tolist(), padded.tolist()))
        self.assertEqual((row.max_seqlen, repr(row)), (4, "<PackedRow: 10 tokens, 2 sequences>"))
        self.assertEqual(row.position_ids.tolist(), [0, 1, 2, 3, 0, 1, 2, 3, 0, 0])
        self.assertEqual(row.segment_ids.tolist(), ballast.segment_ids(cu, padded=padded, row=10).tolist())
        arrays = [row.cu_seqlens, row.cu_seqlens_padded, row.position_ids, row.segment_ids]
        self.assertTrue(all(a.dtype == np.int32 and not a.flags.writeable for a in arrays))
        del row
        gc.collect()
        self.assertEqual(arrays[2].tolist(), [0, 1, 2, 3, 0, 1, 2, 3, 0, 0])  # a view keeps the memory
        with self.assertRaisesRegex(ValueError, "a row of 7 tokens is too short for sequences of 8"):
            ballast.packed_row([2, 0], [3, 9, 2], multiple=4, tokens=7)

    def test_the_collator_turns_caches_off(self):
        from ballast.torch import Packed

        rows = types.SimpleNamespace(from_numpy=lambda a: types.SimpleNamespace(unsqueeze=lambda _: a[np.newaxis]))
        with unittest.mock.patch.dict(sys.modules, torch=rows):  # in the place of PyTorch
            for huggingface in (False, True):
                batch = Packed(huggingface=huggingface)([[5, 6, 7], [8, 9]])
                self.assertIs(batch["use_cache"], False)
                self.assertEqual(batch["position_ids"].tolist(), [[0, 1, 2, 0, 1]])

    def test_the_collator_makes_batches_of_one_size(self):
        from ballast.torch import Packed

        class Tensor(np.ndarray):
            def unsqueeze(self, _):
                return self[np.newaxis]

        with unittest.mock.patch.dict(sys.modules, torch=types.SimpleNamespace(from_numpy=lambda a: a.view(Tensor))):
            collate = Packed(tokens=8, sequences=4, pad=9)
            for samples, tokens, ends in (
                ([[5, 6, 7], [8, 9]], [5, 6, 7, 8, 9, 9, 9, 9], [0, 3, 5, 8, 8]),
                ([[1] * 8], [1] * 8, [0, 8, 8, 8, 8]),
                ([[1, 2], [3, 4], [5], [6, 7, 8]], [1, 2, 3, 4, 5, 6, 7, 8], [0, 2, 4, 5, 8]),
            ):
                batch = collate(samples)
                self.assertEqual(batch["input_ids"].tolist(), [tokens])
                self.assertEqual((batch["cu_seqlens"].tolist(), batch["max_seqlen"]), (ends, 8))
                self.assertEqual(sum(label != -100 for label in batch["labels"][0]), sum(len(s) - 1 for s in samples))
                self.assertEqual((batch["labels"].shape, batch["position_ids"].shape), ((1, 8), (1, 8)))
            with self.assertRaisesRegex(ValueError, "of 9 tokens in 1 sequences does not fit a row of 8 tokens in 4"):
                collate([[1] * 9])
            with self.assertRaisesRegex(ValueError, "of 4 tokens in 4 sequences does not fit"):
                collate([[1]] * 4)
        with self.assertRaisesRegex(ValueError, "tokens=8 and sequences=0: batches of one size need both"):
            Packed(tokens=8)

    def test_loss_weights(self):
        labels, cu = np.array([1, 2, -100, 3, 4, 5, 6, 0]), [0, 3, 7]
        counts = ballast.label_counts(labels, cu, shifted=True)
        self.assertEqual(counts.tolist(), [2, 4])
        averaged = {"hf": [2 / 6, 2 / 6], "verl-seq-mean-token-mean": [2 / 4, 2 / 8]}  # over two ranks
        for preset, expected in averaged.items():
            weights = ballast.sequence_weights(counts, ballast.loss_totals(counts, preset), preset, ranks=2)
            np.testing.assert_allclose(weights, expected)
        row = ballast.token_weights(weights, labels, cu, shifted=True)
        np.testing.assert_allclose(row, [0.5, 0.5, 0, 0.25, 0.25, 0.25, 0.25, 0])
        self.assertIn("hf", ballast.loss_presets())


class Numbered:
    """Rows by number, as a data set of PyTorch has them."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Words:
    """A tokenizer of words with a chat template, in the form that transformers has."""

    eos_token = "<eos>"

    def __call__(self, text, add_special_tokens=True, **_):
        return {"input_ids": [[0] * (len(one.replace("<", " <").split()) + add_special_tokens) for one in text]}

    def apply_chat_template(self, turns, tokenize, tools=None, prefix=""):
        words = [f"<{turn['role']}> {self.content(turn['content'])} <end>" for turn in turns]
        return " ".join([prefix, *(f"<tool> {tool}" for tool in tools or []), *words])

    def content(self, parts):
        return parts if isinstance(parts, str) else " ".join(part.get("text", "<image>") for part in parts)


class Pictures(Words):
    """A processor that puts a token for each 16 pixels in the place of an image, and `beside` others around them."""

    image_token, beside, untrue = "<image>", 0, 0

    def __init__(self):
        self.tokenizer = Words()

    def __call__(self, text, images, add_special_tokens=True):
        (ids,) = super().__call__(text, add_special_tokens)["input_ids"]
        tokens = [len(image) * len(image[0]) // 16 + self.beside - 1 + self.untrue * len(image) for image in images[0]]
        return {"input_ids": [ids + [0] * sum(tokens)]}

    def _get_num_multimodal_tokens(self, image_sizes):
        return {"num_image_tokens": [high * wide // 16 for high, wide in image_sizes]}


class RowsOfDataSets(unittest.TestCase):
    talk = [{"role": "user", "content": "how are you"}, {"role": "assistant", "content": "well"}]  # 8 tokens

    def counted(self, rows, *args, **more):
        return ballast.lengths.from_dataset(rows, *args, **more).tolist()

    def test_rows_of_tokens(self):
        rows = [[1, 2, 3], [], [4, 5]]
        mappings = [{"input_ids": row, "label": 1} for row in rows]
        for given in (rows, iter(rows), Numbered(rows), [np.array(row) for row in rows], mappings, Numbered(mappings),
                      ({"length": len(row)} for row in rows), [3, 0, 2]):  # fmt: skip
            self.assertEqual(self.counted(given), [3, 0, 2])
        self.assertEqual(self.counted(mappings, "label"), [1, 1, 1])
        self.assertEqual(self.counted(mappings, ("input_ids", "label")), [4, 1, 3])
        self.assertEqual((self.counted([]), self.counted(iter(()))), ([], []))

    def test_texts_and_conversations(self):
        words = Words()
        sharegpt = [{"from": "human", "value": "how are you"}, {"from": "gpt", "value": "well"}]
        for rows, column, counts in (
            ([{"text": "a b"}, {"text": "a"}], None, [3, 2]),  # with the special token
            ([{"text": "a b", "note": "a b c"}], "note", [4]),
            ([{"prompt": "a b ", "completion": "c"}], None, [4]),
            ([{"messages": self.talk}, {"messages": self.talk[:1]}], None, [8, 5]),
            ([{"conversations": sharegpt}], None, [8]),
            ([{"dialogue": sharegpt}], "dialogue", [8]),
            ([{"prompt": self.talk[:1], "completion": self.talk[1:]}], None, [8]),
            ([{"messages": self.talk, "tools": ["add"]}], None, [10]),
            ([{"messages": self.talk, "tools": '["add", "sub"]'}], None, [12]),
            ([{"messages": self.talk, "chat_template_kwargs": {"prefix": "a b"}}], None, [10]),
        ):
            self.assertEqual(self.counted(rows, column, tokenizer=words), counts)
            self.assertEqual(self.counted(Numbered(rows * 700), column, tokenizer=words), counts * 700)
        self.assertEqual(self.counted([{"text": "a"}, {"text": "a <eos>"}], tokenizer=words, add_eos=True), [3, 3])
        self.assertEqual(self.counted([{"messages": self.talk}], tokenizer=words, template={"prefix": "a"}), [9])

    def test_images_count_by_their_sizes(self):
        sizes = [(8, 8), (16, 8), (12, 12)]
        image = [np.zeros((*size, 3), np.uint8) for size in sizes]
        placed = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what is it"}]}]
        for beside in (0, 2):
            words = Pictures()
            words.beside = beside
            rows = [
                {"messages": self.talk, "images": [], "text": "a"},
                {"messages": self.talk, "images": image[:1], "text": "<image> a"},
                {"messages": self.talk, "images": image[1:], "text": "<image> <image>"},
                {"messages": placed, "images": image[:1], "text": "a<image>"},
            ]
            own = [sum(size[0] * size[1] // 16 + beside for size in chosen) for chosen in ([], sizes[:1], sizes[1:], sizes[:1])]
            self.assertEqual(self.counted(rows, tokenizer=words), [8 + own[0], 8 + own[1], 8 + own[2], 5 + own[3]])
            self.assertEqual(self.counted(rows, "text", tokenizer=words), [1 + own[0], 1 + own[1], own[2], 1 + own[3]])
            one = [{"messages": self.talk, "image": image[2]}]
            self.assertEqual(self.counted(one, tokenizer=words), [8 + 9 + beside])
            self.assertEqual(self.counted(one, tokenizer=words, images=False), [8])
        words.untrue = 1  # it makes other tokens than it says
        with self.assertRaisesRegex(ValueError, "^row 2 has 57 tokens by Pictures, and 45 by the sizes of its images: "):
            self.counted(rows, tokenizer=words)

    def test_what_is_wrong_is_said_in_one_sentence(self):
        text, words, image = [{"text": "a"}], Pictures(), np.zeros((8, 8, 3))
        for rows, sentence, more in (
            (text, "the column 'text' holds texts: give tokenizer=", {}),
            ([{"messages": self.talk}], "the column 'messages' holds conversations: give tokenizer=", {}),
            ([{"messages": []}, {"messages": self.talk}], "the column 'messages' holds conversations", {"column": "messages"}),
            ([*text, {"note": "a"}], "row 1 has null in 'text'", {"tokenizer": words}),
            (["a b"], "row 0 holds a text: give tokenizer=", {}),
            (text, "there is no column 'note': the columns are text", {"column": "note"}),
            ([{"note": 3}], "none of the columns is known to hold lengths, tokens or texts: note; name one", {}),
            (text, "tokenizer is a str: give a tokenizer or processor", {"tokenizer": "gpt2"}),
            (text, "there is no column 'shown': the columns are text", {"tokenizer": words, "images": "shown"}),
            ([{"text": "a", "image": image}], "row 0 has 1 images, and 0 places", {"tokenizer": words}),
            ([{"text": "a", "image": 3}], "does not say how many tokens the images in 'image' have", {"tokenizer": Words()}),
            ([*text, {"text": None}], "row 1 has null in 'text'", {"tokenizer": words}),
            ([*text, {"text": self.talk}], "row 1 has a list in 'text', unlike other rows", {"tokenizer": words}),
            ({"train": text, "test": text}, r"this is a mapping of 'train', 'test': .* as in dataset\['train'\]", {}),
            ({3, 4}, "a set has no rows in an order", {}),
            ([3, None], "row 1 is of type NoneType", {}),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                self.counted(rows, **more)
        words.tokenizer.eos_token = None
        with self.assertRaisesRegex(ValueError, "add_eos is True, but the tokenizer has no end"):
            self.counted(text, tokenizer=words, add_eos=True)


class Auto(unittest.TestCase):
    """ballast.torch.Plan.auto, where neither PyTorch nor transformers is needed."""

    rows = [[0] * int(n) for n in drawn(200, 2048, seed=5)]
    auto = partial(ballast.torch.Plan.auto, ranks=2, capacity=4096)

    def test_it_is_the_plan_of_what_it_chose(self):
        tokens = [len(row) for row in self.rows]
        plan = self.auto(self.rows, COST, micro_batches=2, seed=3)
        self.assertEqual(self.auto(self.rows, cost=COST, micro_batches=2, seed=3).hash(), plan.hash())
        cost = ballast.sample_time(COST, "h100", capacity=4096)
        same = ballast.torch.Plan(tokens, capacity=4096, ranks=2, micro_batches=2, seed=3, cost=cost)
        self.assertEqual(plan.hash(), same.hash())
        self.assertEqual((plan.lengths.tolist(), same.chosen), (tokens, {}))
        self.assertEqual(set(plan.chosen), {"lengths", "cost"})
        self.assertIn(f"200 rows of {sum(tokens):,} tokens", plan.chosen["lengths"])
        self.assertIn(str(cost), plan.chosen["cost"])

    def test_what_is_given_is_not_chosen(self):
        tokens = [len(row) for row in self.rows]
        costs = np.arange(1, 201)
        for given in ({"cost": ballast.token_cost()}, {"costs": costs}, {"cost": lambda n: n * n}, {"cost": "qwen3-8b"}):
            plan = self.auto(None, COST, lengths=tokens, **given)
            self.assertEqual(plan.hash(), ballast.torch.Plan(tokens, capacity=4096, ranks=2, **given).hash())
            self.assertEqual(plan.chosen, {})
        zeros = self.auto([[], [1, 2]], COST, zero_length="skip")
        self.assertEqual((zeros.skipped.tolist(), zeros.lengths.tolist()), ([0], [0, 2]))

    def test_the_capacity_is_what_fits_the_device(self):
        plan = ballast.torch.Plan.auto(self.rows, "llama-3.2-1b", device="A100", ranks=8, memory={"zero": 2})
        fit = ballast.torch.fits("llama-3.2-1b", [], "a100", data=8, zero=2)
        self.assertEqual(plan.hash(), ballast.torch.Plan(
            [len(row) for row in self.rows], capacity=fit.capacity, ranks=8,
            cost=ballast.sample_time("llama-3.2-1b", "a100", capacity=fit.capacity)).hash())  # fmt: skip
        self.assertEqual(set(plan.chosen), {"lengths", "capacity", "cost"})
        self.assertIn(f"{fit.capacity:,} tokens: the most that fit", plan.chosen["capacity"])
        self.assertIn("on a100", plan.chosen["cost"])

    def test_ranks_are_those_of_the_environment(self):
        with unittest.mock.patch.dict(os.environ, WORLD_SIZE="3"):
            plan = ballast.torch.Plan.auto(self.rows, COST, capacity=4096)
        self.assertEqual((plan.ranks, plan.chosen["ranks"]), (3, "3: WORLD_SIZE of the environment"))
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("WORLD_SIZE", None)
            self.assertEqual(ballast.torch.Plan.auto(self.rows, COST, capacity=4096).ranks, 1)

    def test_what_is_missing_is_said_in_one_sentence(self):
        auto = partial(ballast.torch.Plan.auto, ranks=1)
        for call, sentence in (
            (lambda: auto(self.rows, capacity=8), "^model is missing: give a name, a config or a module, or"),
            (lambda: auto(self.rows, device="h100", cost=COST), "^model is missing"),
            (lambda: auto(None, COST, capacity=8), "^the data set is of type NoneType, which has no rows"),
            (lambda: auto(7, COST, capacity=8), "^the data set is of type int, which has no rows"),
            (lambda: auto(self.rows, COST), 'capacity is missing: .*device="h100"'),
            (lambda: auto(self.rows, COST, capacity=4096, memory={}), "memory says how capacity is found on a device"),
            (lambda: auto(self.rows, "llama-9", capacity=4096), "llama-9 is neither a file nor the name of a known model"),
            (lambda: auto(self.rows, object(), capacity=4096), "^object is no name, config or config.json of a model"),
            (lambda: auto(self.rows, COST, device=10**9), "no micro-batch of this model fits the device: not even 64"),
            (lambda: auto([{"text": "a"}], COST, capacity=8), "the data set holds texts, which a tokenizer counts: give tokenizer="),
            (lambda: auto(self.rows, COST, capacity=64), r"^lengths\[\d+\] = \d+ exceeds capacity 64"),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                call()


class Lengths(unittest.TestCase):
    def test_megatron_index(self):
        lengths = drawn(1001, 4096).astype("<i4")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "corpus.idx"
            head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(lengths) + 1)
            rest = np.zeros(len(lengths), "<i8").tobytes() + np.arange(len(lengths) + 1, dtype="<i8").tobytes()
            path.write_bytes(head + lengths.tobytes() + rest)
            read = ballast.lengths.from_idx(path)
            self.assertEqual(read.tolist(), lengths.tolist())
            self.assertTrue(read.flags.aligned)
            self.assertEqual(ballast.lengths.from_idx(path, documents=True).tolist(), lengths.tolist())
            front = head[:-8] + struct.pack("<Q", 4) + lengths.tobytes() + rest[: 8 * 1001]  # of four ends of documents
            path.write_bytes(front + struct.pack("<4q", 0, 1, 1, len(lengths)))
            documents = ballast.lengths.from_idx(path, documents=True)
            self.assertEqual(documents.tolist(), [lengths[0], 0, lengths[1:].sum()])
            for ends, fault in (([0, 2, 1, 1001], "is damaged"), ([0, 1, 2, 1000], "is damaged"), ([0, 1], "ends after 2 of 4")):
                path.write_bytes(front + struct.pack(f"<{len(ends)}q", *ends))
                with self.assertRaisesRegex(ValueError, fault):
                    ballast.lengths.from_idx(path, documents=True)
            for data, fault in (
                (b"PK" + head, "does not begin with MMIDIDX"),
                (head[:9] + b"\2" + head[10:], "version 2"),
                (head, "ends after 0 of 1001"),
            ):
                path.write_bytes(data)
                for reader in (ballast.lengths.from_idx, lambda _: ballast.megatron.Sequences(path.with_suffix(""))):
                    with self.assertRaisesRegex(ValueError, fault):
                        reader(path)


@unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
class Tables(unittest.TestCase):
    rows = [[1] * n for n in (3, 1, 4, 1, 5, 9)]

    def test_columns(self):
        import pyarrow as pa
        import pyarrow.parquet as pq

        for kind in (pa.list_(pa.int32()), pa.large_list(pa.int64())):
            column = pa.array(self.rows, kind)
            for given, expected in (
                (column, [3, 1, 4, 1, 5, 9]),
                (column[2:], [4, 1, 5, 9]),
                (pa.chunked_array([column[:2], column[2:]]), [3, 1, 4, 1, 5, 9]),
                (pa.chunked_array([], kind), []),
            ):
                self.assertEqual(ballast.lengths.from_arrow(given).tolist(), expected)
        self.assertEqual(ballast.lengths.from_arrow(pa.array([[1, 2]], pa.list_(pa.int32(), 2))).tolist(), [2])
        self.assertEqual(ballast.lengths.from_arrow(pa.array([4, 5])).tolist(), [4, 5])
        with self.assertRaisesRegex(ValueError, "row 1 is null, one of 2 such rows"):
            ballast.lengths.from_arrow(pa.array([[1], None, None]))
        with self.assertRaisesRegex(ValueError, "a column of string has no lengths"):
            ballast.lengths.from_arrow(pa.array(["a"]))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.parquet"
            pq.write_table(pa.table({"ids": self.rows}), path, row_group_size=2)
            self.assertEqual(ballast.lengths.from_parquet(path, "ids").tolist(), [3, 1, 4, 1, 5, 9])
            pq.write_table(pa.table({"ids": pa.array([[1]] * 70_000 + [None])}), path)  # in a later batch
            with self.assertRaisesRegex(ValueError, "row 70000 is null"):
                ballast.lengths.from_parquet(path, "ids")

    @unittest.skipUnless(importlib.util.find_spec("datasets"), "datasets is not installed")
    def test_data_sets(self):
        import datasets

        datasets.disable_progress_bars()
        plain = datasets.Dataset.from_dict({"ids": self.rows})
        mixed = plain.shuffle(seed=1)
        for dataset in (plain, mixed, mixed.select([0, 2]), mixed.filter(lambda row: len(row["ids"]) > 1)):
            self.assertEqual(ballast.lengths.from_dataset(dataset, "ids").tolist(), [len(row) for row in dataset["ids"]])


class Documentation(unittest.TestCase):
    def test_everything_public_has_a_docstring_and_a_type(self):
        stub = (pathlib.Path(ballast.__file__).parent / "_ballast.pyi").read_text()
        self.assertTrue((pathlib.Path(ballast.__file__).parent / "py.typed").exists())
        for name in ballast.__all__:
            thing = getattr(ballast, name)
            self.assertTrue(thing.__doc__, name)
            if getattr(thing, "__module__", "") == "ballast._ballast":
                self.assertRegex(stub, rf"(def|class) {name}\b")
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if not member.startswith("_"):
                    self.assertTrue(value.__doc__, f"{name}.{member}")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
