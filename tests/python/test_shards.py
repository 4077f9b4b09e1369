# SPDX-License-Identifier: Apache-2.0
"""Tests plan_shards, chunks and levels with NumPy alone. Run by scripts/test-python and .ci/run."""

import copy
import pathlib
import pickle
import re
import time
import unittest

import numpy as np

import ballast

COST = "llama-3.1-8b"
METHODS = [
    "static", "homogeneous", "verl", "longalign", "skrull", "wlb", "flexsp", "megatron-hybrid-cp", "dynapipe",
    "chunkflow", "distca", "bytescale", "ballast-lockstep", "ballast-pure", "ballast-any", "ballast",
]  # fmt: skip


def drawn(count, most, seed=1):
    """Lengths with a long tail, from 1 to `most`."""
    random = np.random.default_rng(seed)
    return np.clip(random.lognormal(6.0, 1.2, count), 1, most).astype(np.int64)


def rows_of(pieces):
    """Sample and position of each token of some pieces."""
    return [(s, t) for s, begin, end, _ in pieces.tolist() for t in range(begin, end)]


def every_token_once(case, plan, lengths):
    pieces = plan.pieces
    trained = np.zeros(len(lengths), np.int64)
    np.add.at(trained, pieces[:, 0], pieces[:, 2] - pieces[:, 1])
    expected = lengths.copy()
    expected[plan.left_out] = 0
    np.testing.assert_array_equal(trained, expected)
    for sample in np.unique(pieces[:, 0]):
        parts = sorted((b, e) for s, b, e, _ in pieces.tolist() if s == sample)
        case.assertEqual([b for b, _ in parts[1:]], [e for _, e in parts[:-1]])


class Shards(unittest.TestCase):
    def setUp(self):
        self.lengths = drawn(120, 30000)

    def test_every_method_trains_every_token_once_within_the_capacity(self):
        for method in METHODS:
            for ranks in (1, 8):
                with self.subTest(method=method, ranks=ranks):
                    capacity = 40000 // ranks
                    plan = ballast.plan_shards(self.lengths, ranks=ranks, capacity=capacity, cost=COST, method=method)
                    every_token_once(self, plan, self.lengths)
                    self.assertEqual(plan.ranks, ranks)
                    for rank in range(ranks):
                        for work in plan.passes_of(rank):
                            tokens = int((work.pieces[:, 2] - work.pieces[:, 1]).sum())
                            self.assertLessEqual(tokens, capacity)
                    self.assertGreater(plan.milliseconds, 0)
                    self.assertLessEqual(plan.lower_bound, plan.milliseconds)
        self.assertIn("8 ranks", repr(plan))

    def test_what_kernels_take(self):
        plan = ballast.plan_shards(self.lengths, ranks=8, capacity=2048, cost=COST)
        self.assertGreater(len(plan.groups), 0)
        starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        seen = []
        for rank in range(8):
            first = plan.rank_offsets[rank]
            for number, work in enumerate(plan.passes_of(rank)):
                rows = rows_of(work.pieces)
                self.assertEqual(work.position_ids.tolist(), [t for _, t in rows])
                self.assertEqual(work.token_indices().tolist(), [int(starts[s]) + t for s, t in rows])
                self.assertEqual(work.token_indices(starts * 2).tolist(), [2 * int(starts[s]) + t for s, t in rows])
                samples = list(dict.fromkeys(s for s, _ in rows))
                self.assertEqual(work.samples.tolist(), samples)
                held = [sum(s == sample for s, _ in rows) for sample in samples]
                self.assertEqual(work.cu_seqlens.tolist(), np.cumsum([0, *held]).tolist())
                self.assertEqual(
                    (work.cu_seqlens.dtype, work.position_ids.dtype, work.pieces.dtype), (np.int32, np.int64, np.int64)
                )
                a, b = plan.pass_offsets[first + number : first + number + 2]
                np.testing.assert_array_equal(work.pieces, plan.pieces[a:b])
                for group in set(work.pieces[:, 3].tolist()) - {-1}:
                    self.assertIn(rank, plan.groups[group].tolist())
                seen += work.token_indices().tolist()
        self.assertEqual(sorted(seen), list(range(self.lengths.sum())))
        with self.assertRaises(ValueError):
            work.pieces[0][0] = 1  # read-only
        with self.assertRaisesRegex(IndexError, "rank 8 is out of range: there are 8"):
            plan.passes_of(8)
        del plan
        self.assertEqual(len(work.pieces), len(work.pieces.tolist()))  # a pass keeps its plan

    def test_costs_of_samples(self):
        cost = ballast.degree_cost(linear=10**6, exchange=[0])
        lengths, costs = [4000, 4000, 2000, 2000], [9 * 10**9, 3 * 10**9, 3 * 10**9, 3 * 10**9]
        for method in ("ballast", "ballast-pure", "ballast-any", "ballast-lockstep"):
            plan = ballast.plan_shards(lengths, ranks=2, capacity=8192, cost=cost, costs=costs, method=method)
            every_token_once(self, plan, np.array(lengths))
            self.assertLessEqual(plan.lower_bound, plan.milliseconds)
            self.assertAlmostEqual(plan.milliseconds, 9000, delta=1)  # work is divided without loss: no rank waits
        same = [cost(int(n), 1) for n in self.lengths]  # costs that are those of the lengths, where exchanges are free
        at = {"ranks": 8, "capacity": 8192, "cost": cost}
        self.assertEqual(
            ballast.plan_shards(self.lengths, costs=same, **at).hash(), ballast.plan_shards(self.lengths, **at).hash()
        )
        for wrong, why in (
            ({"costs": [1, 2]}, "costs has 2 entries for 4 lengths; it takes one for each: nanoseconds"),
            ({"costs": [1, 2, 0, 4]}, r"costs\[2\] = 0 must be in 1 ... 2\^53 - 1"),
            ({"costs": [1, 2, 3, 4], "method": "verl"}, 'method = "verl" goes by lengths, and takes no costs'),
        ):
            with self.assertRaisesRegex(ValueError, why):
                ballast.plan_shards(lengths, ranks=2, capacity=8192, cost=cost, **wrong)

    def test_attention_of_every_query_on_one_rank(self):
        plan = ballast.plan_shards(self.lengths, ranks=5, capacity=8192, cost=COST, method="distca")
        for number in range(len(plan.passes_of(0))):
            held = {(s, t): r for r in range(5) for s, t in rows_of(plan.passes_of(r)[number].pieces)}
            asked = {}
            for _, _, sample, home, *ends in plan.attention[plan.attention[:, 1] == number].tolist():
                for t in np.r_[ends[0] : ends[1], ends[2] : ends[3]].tolist():
                    self.assertNotIn((sample, t), asked)
                    asked[sample, t] = home
            self.assertEqual(asked, held)
        self.assertGreater((plan.attention[:, 0] != plan.attention[:, 3]).sum(), 0)
        self.assertEqual(ballast.plan_shards(self.lengths, ranks=5, capacity=8192, cost=COST).attention.shape, (0, 8))

    def test_weights_add_up_to_the_loss_of_the_batch(self):
        plan = ballast.plan_shards(self.lengths, ranks=8, capacity=8192, cost=COST)
        counts = self.lengths // 2
        weights = [plan.weights_of(rank, counts) for rank in range(8)]  # a mean over ranks, a sum over passes
        for rank in range(8):
            self.assertEqual([len(w) for w in weights[rank]], [len(p.pieces) for p in plan.passes_of(rank)])
            for each in weights[rank]:
                np.testing.assert_allclose(each, 8 / counts.sum(), rtol=1e-15)
        sample_mean = np.concatenate(plan.weights_of(0, counts, "internvl-sample"))
        self.assertGreater(len(set(sample_mean)), 1)
        with self.assertRaisesRegex(ValueError, "counts has 3 entries"):
            plan.weights_of(0, counts[:3])
        with self.assertRaisesRegex(ValueError, "scope of the normaliser must be the step"):
            plan.weights_of(0, counts, "megatron")

    def test_plans_repeat_and_follow_the_cost(self):
        arguments = {"ranks": 8, "capacity": 8192}
        plan = ballast.plan_shards(self.lengths, cost=COST, **arguments)
        named = ballast.degree_cost(COST, ranks=8, capacity=8192)
        shape = ballast.transformer(COST)
        for cost in (COST, named, shape, ballast.degree_cost(shape, ranks=8, capacity=8192)):
            self.assertEqual(
                ballast.plan_shards(self.lengths.astype(np.int32), cost=cost, **arguments).hash(), plan.hash()
            )
        self.assertEqual(named, ballast.degree_cost(COST, ranks=8, capacity=8192))
        self.assertNotEqual(named, ballast.degree_cost(COST, ranks=8, capacity=8192, device="a100"))
        self.assertGreater(named(8192), named(8192, 8) * 4)
        own = ballast.degree_cost(linear=2000, square=1, exchange=[0, 500], cost_per_pass=7)
        self.assertEqual((own(1000), own(1000, 2), own.cost_per_pass), (3000, 2000, 7))
        dear = ballast.degree_cost(linear=1000, exchange=[0, 10**9])
        short = self.lengths[self.lengths <= 8192]
        self.assertEqual(len(ballast.plan_shards(short, cost=dear, **arguments).groups), 0)

    def test_a_call_takes_less_than_twice_what_the_planner_takes(self):
        cost, lengths = ballast.degree_cost(COST, ranks=8, capacity=8192), drawn(256, 30000, 9)
        for deep in (True, False):
            ratios = []
            for _ in range(31):
                began = time.perf_counter()
                plan = ballast.plan_shards(lengths, ranks=8, capacity=8192, cost=cost, deep=deep)
                ratios.append((time.perf_counter() - began) / plan.seconds)
            self.assertLess(sorted(ratios)[15], 2)

    def test_errors_name_the_argument(self):
        good = {"ranks": 4, "capacity": 100, "cost": COST}
        for change, sentence in (
            ({"lengths": []}, "^lengths is empty"),
            ({"lengths": [5, 0]}, r"^lengths\[1\] = 0 must be positive$"),
            ({"lengths": [0.5]}, "^lengths holds float64, not integers"),
            ({"ranks": 0}, r"^ranks = 0 must be in 1 \.\.\. 2\^20 - 1$"),
            ({"capacity": 0}, "^capacity = 0 must be positive$"),
            ({"cost": None}, "^cost is missing"),
            ({"cost": ballast.token_cost()}, "^cost is no name of a model"),
            ({"cost": "gpt-9"}, "gpt-9"),
            ({"method": "magic"}, r'^method = "magic" is not one of static, .*, ballast$'),
            ({"method": "hbp"}, '^method = "hbp" plans the samples of all batches'),
            ({"longest": 4}, r"^longest = 4 is below lengths\[0\] = 50"),
            (
                {"lengths": [500]},
                '^method = "ballast" finds no plan for 1 samples, the longest of 500 tokens, which has no room',
            ),
            ({"ranks": 3, "method": "megatron-hybrid-cp"}, "^ranks: megatron-hybrid-cp takes 1, 2, 4, ... GPUs, not 3"),
            (
                {"method": "distca", "cost": ballast.degree_cost(linear=1)},
                '^method = "distca" needs the shape of a model',
            ),
        ):
            with self.subTest(change=change), self.assertRaisesRegex(ValueError, sentence):
                ballast.plan_shards(**{"lengths": [50, 20], **good, **change})
        for options, sentence in (
            ({"linear": -1}, "^linear = -1 must not be negative$"),
            ({"linear": 1, "exchange": [0, -2]}, "^exchange = -2 must not be negative$"),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                ballast.degree_cost(**options)
        with self.assertRaisesRegex(ValueError, "^length = -1 on ranks = 1 has no time"):
            ballast.degree_cost(linear=1)(-1)
        with self.assertRaisesRegex(ValueError, "^lengths.*too large|^lengths"):
            ballast.plan_shards([2**31] * 2, ranks=2, cost=ballast.degree_cost(linear=1, square=2**40))

    def test_layouts_of_context_parallelism(self):
        lengths = np.array([16, 40, 8])
        cu = ballast.cu_seqlens([0, 1, 2], lengths, multiple=8)
        plan = ballast.share_pack(lengths, ranks=4)
        self.assertEqual([group.tolist() for group in plan.groups], [[0, 1, 2, 3]])
        starts = cu[:-1].astype(np.int64)
        for rank in range(4):  # lengths are multiples of twice the ranks: the layout of Transformer Engine
            (work,) = plan.passes_of(rank)
            self.assertEqual(
                ballast.zigzag_indices(cu, ranks=4, rank=rank).tolist(), work.token_indices(starts).tolist()
            )
            self.assertEqual((cu // 4).tolist(), work.cu_seqlens.tolist())
        rows = np.concatenate([ballast.zigzag_indices(cu, ranks=4, rank=rank) for rank in range(4)])
        self.assertEqual(rows[ballast.zigzag_inverse(cu, ranks=4)].tolist(), list(range(64)))
        by_row = ballast.share_pack([10, 20, 3], ranks=4, cut="per_sequence")
        every_token_once(self, by_row, np.array([10, 20, 3]))
        self.assertLess(len(by_row.pieces), len(ballast.share_pack([10, 20, 3], ranks=4).pieces))
        with self.assertRaisesRegex(ValueError, 'cut = "rows" is not one of per_document, per_sequence'):
            ballast.share_pack([1], ranks=1, cut="rows")
        with self.assertRaisesRegex(ValueError, "build cu_seqlens with multiple = 8"):
            ballast.zigzag_indices([0, 7], ranks=4, rank=0)


class Chunks(unittest.TestCase):
    def test_chains_stay_on_a_rank_in_order(self):
        lengths = drawn(60, 20000, 3)
        made = ballast.chunks(lengths, 4096, ranks=4, retain=2, cost=COST)
        every_token_once(self, made.shards, lengths)
        self.assertEqual(
            sorted(c for rank in made.chains_by_rank for c in rank.tolist()), list(range(len(made.chains)))
        )
        self.assertLessEqual(made.lower_bound, made.count)
        self.assertEqual((made.size, made.retain), (4096, 2))
        again = 0
        for rank in range(4):
            for chain in made.chains_of(rank):
                pieces = np.concatenate([chunk.pieces for chunk in chain])
                if len(chain) > 1:
                    self.assertEqual(set(pieces[:, 0]), {pieces[0, 0]})
                    self.assertEqual(pieces[0, 1], 0)
                    self.assertEqual(pieces[1:, 1].tolist(), pieces[:-1, 2].tolist())
                tasks = made.tasks(len(chain))
                again += sum(task == "forward_again" for _, task in tasks)
                self.assertEqual([c for c, task in tasks if task == "backward"], list(range(len(chain)))[::-1])
        self.assertEqual(made.forwards_again, again)
        self.assertGreater(again, 0)
        self.assertEqual(ballast.retained_tasks(5, retain=2), made.tasks(5))
        self.assertEqual(ballast.retained_tasks(2)[0], (0, "forward_drop"))
        self.assertEqual(
            made.tasks(3),
            [(0, "forward_drop"), (1, "forward_keep"), (2, "forward_keep"), (2, "backward"), (1, "backward"),
             (0, "forward_again"), (0, "backward")],
        )  # fmt: skip

    def test_errors_name_the_argument(self):
        for change, sentence in (
            ({"size": 0}, "^size = 0 must be positive$"),
            ({"retain": 0}, "^retain = 0 must be positive"),
            ({"ranks": 0}, "^ranks = 0 must be in"),
            ({"cost": None}, "^cost is missing"),
            ({"lengths": [[1]]}, "^lengths is of type list of list"),
        ):
            with self.subTest(change=change), self.assertRaisesRegex(ValueError, sentence):
                ballast.chunks(**{"lengths": [50, 20], "size": 16, "cost": COST, **change})
        with self.assertRaisesRegex(ValueError, r"^chunks = 0 must be in \[1, 2\^32\)"):
            ballast.chunks([5], 4, cost=COST).tasks(0)


class Levels(unittest.TestCase):
    def setUp(self):
        self.lengths = drawn(3000, 30000, 4)
        self.plan = ballast.levels(self.lengths, [(4096, 1), (32768, 4, 8)], gpus=8, cost=COST, micro_batches=2, seed=5)

    def test_every_sample_is_trained_once(self):
        plan, times = self.plan, np.zeros(3000, int)
        self.assertEqual(plan.settings, [(4096, 1, 0), (32768, 4, 8)])
        self.assertEqual(plan.steps.shape[:2], (len(plan), 8))
        for step in range(len(plan)):
            shards = plan.shards_of(step)
            here = np.unique(shards.pieces[:, 0])
            times[here] += 1
            sp = plan.settings[plan.levels[step]][1]
            for group in shards.groups:
                self.assertEqual((len(group), group[0] % sp, group[-1] - group[0]), (sp, 0, sp - 1))
            table = plan.steps[step]
            self.assertEqual(
                sorted({i for p in np.unique(table[table >= 0]) for i in plan.packs[p].tolist()}), here.tolist()
            )
            self.assertEqual(len(here) + len(shards.left_out), 3000)
        self.assertEqual(set(times), {1})
        self.assertEqual(set(plan.levels.tolist()), {0, 1})
        self.assertGreater(plan.milliseconds, 0)
        self.assertLess(plan.idle, 0.2)

    def test_options(self):
        again = ballast.levels(self.lengths, [(4096, 1), (32768, 4, 8)], gpus=8, cost=COST, micro_batches=2, seed=5)
        self.assertEqual(again.hash(), self.plan.hash())
        later = ballast.levels(
            self.lengths, [(4096, 1), (32768, 4, 8)], gpus=8, cost=COST, micro_batches=2, seed=5, epoch=1
        )
        self.assertNotEqual(later.hash(), self.plan.hash())
        for rule in ("auto", "hbp"):
            plan = ballast.levels(self.lengths, rule, gpus=8, cost=COST, capacity=32768, curriculum="ascending")
            self.assertEqual(plan.levels.tolist(), sorted(plan.levels.tolist()))
            self.assertEqual(plan.settings[-1][0], 32768)
        cut = ballast.levels(self.lengths, [(4096, 1)], gpus=8, cost=COST, oversize="split")
        self.assertEqual(len(cut.lengths), 3000 + len(cut.pieces))
        self.assertEqual(cut.lengths.sum(), self.lengths.sum())
        aside = ballast.levels(self.lengths, [(4096, 1)], gpus=8, cost=COST, oversize="set_aside")
        self.assertEqual(aside.set_aside.tolist(), np.flatnonzero(self.lengths > 4096).tolist())
        last = self.plan.shards_of(len(self.plan) - 1, layout="contiguous")
        self.assertEqual(
            len({(s, r) for r in range(8) for w in last.passes_of(r) for s in w.samples.tolist()}), len(last.pieces)
        )

    def test_samples_without_tokens_are_in_no_step(self):
        lengths, zeros = self.lengths.copy(), [0, 40, 2999]
        lengths[zeros] = 0
        numbers = np.flatnonzero(lengths)
        for rule, more in (("auto", {"capacity": 32768}), ([(4096, 1), (8192, 4)], {"oversize": "split"})):
            made = {"gpus": 8, "cost": COST, "micro_batches": 2, "seed": 5, **more}
            plan, bare = ballast.levels(lengths, rule, zero_length="skip", **made), ballast.levels(lengths[numbers], rule, **made)
            given = [*numbers, *range(3000, 3000 + len(bare.pieces))]
            self.assertEqual((plan.skipped.tolist(), bare.skipped.tolist()), (zeros, []))
            self.assertEqual(plan.members.tolist(), [given[i] for i in bare.members])
            self.assertEqual((plan.steps.tolist(), plan.levels.tolist()), (bare.steps.tolist(), bare.levels.tolist()))
            self.assertEqual(plan.pieces, [(numbers[sample], *rest) for sample, *rest in bare.pieces])
            self.assertEqual(plan.lengths[given].tolist(), bare.lengths.tolist())
            self.assertEqual(plan.lengths[zeros].tolist(), [0] * 3)
            shards, same = plan.shards_of(1), bare.shards_of(1)
            self.assertEqual(shards.pieces[:, 0].tolist(), [given[i] for i in same.pieces[:, 0]])
            self.assertEqual(shards.left_out.tolist(), [given[i] for i in same.left_out])
        aside = ballast.levels([0, 9, 5], [(8, 1)], gpus=1, cost=COST, oversize="set_aside", zero_length="skip")
        self.assertEqual((aside.set_aside.tolist(), aside.members.tolist()), ([1], [2]))
        for change, sentence in (
            ({}, r'lengths\[0\] = 0 has no tokens to train on \(1 such sample\): zero_length="skip"'),
            ({"zero_length": "drop"}, 'zero_length = "drop" is not one of error, skip'),
            ({"zero_length": "skip"}, r"lengths\[1\] = 9 exceeds"),
            ({"zero_length": "skip", "levels": "auto", "capacity": 8}, r"lengths\[1\] = 9 exceeds capacity 8"),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                ballast.levels(**{"lengths": [0, 9, 5], "levels": [(8, 1)], "gpus": 1, "cost": COST, **change})

    def test_errors_name_the_argument(self):
        good = {"lengths": [50, 20], "levels": [(64, 1)], "gpus": 4, "cost": COST}
        for change, sentence in (
            ({"lengths": []}, "^lengths is empty"),
            ({"gpus": 0}, "^gpus = 0 must be in"),
            ({"cost": None}, "^cost is missing"),
            ({"cost": 5}, "^cost is no name of a model, no config of one,"),
            ({"levels": "best"}, '^levels = "best" is neither "auto" nor "hbp"'),
            ({"levels": "auto"}, "^capacity is missing"),
            ({"levels": "auto", "capacity": 0}, "^capacity = 0 must be in"),
            ({"levels": "auto", "capacity": 40}, r"^lengths\[0\] = 50 exceeds capacity 40"),
            ({"levels": "auto", "capacity": 2**30, "gpus": 1}, "no setting on gpus = 1 holds a pack of that length"),
            ({"levels": []}, "^levels is empty"),
            ({"levels": [(64, 1), (64, 1)]}, r"^levels\[1\]: packs of 64 tokens must be longer"),
            ({"levels": [(64, 3)]}, r"^levels\[0\]: an SP degree of 3 does not divide gpus = 4"),
            ({"levels": [(64, 1, 99)]}, r"^levels\[0\]: 99 recomputed layers of a model that has 32"),
            ({"capacity": 64}, "^capacity is for levels"),
            ({"curriculum": "slow"}, '^curriculum = "slow" is not one of hbp, interleaved'),
            ({"oversize": "leave"}, '^oversize = "leave" is not one of reject, set_aside, drop, truncate, split$'),
            ({"device": "abacus"}, "abacus"),
        ):
            with self.subTest(change=change), self.assertRaisesRegex(ValueError, sentence):
                ballast.levels(**{**good, **change})
        with self.assertRaisesRegex(IndexError, "^step 999 is out of range"):
            self.plan.shards_of(999)
        with self.assertRaisesRegex(ValueError, 'layout = "spiral" is not one of zigzag, contiguous'):
            self.plan.shards_of(0, layout="spiral")


class Runs(unittest.TestCase):
    """TrainingRun in levels."""

    levels = [(4096, 1), (32768, 4, 8)]

    def setUp(self):
        self.lengths = drawn(1500, 30000, 4)
        self.arguments = {"ranks": 8, "epochs": 2, "cost": COST, "micro_batches": 2, "seed": 5}

    def made(self, **change):
        return ballast.TrainingRun(self.lengths, **{"levels": self.levels, **self.arguments, **change})

    def rest_of(self, run):
        """Of each step left: its epoch, setting, samples and shards."""
        return [(run.epoch, run.setting, run.samples().tolist(), run.shards().hash()) for _ in run]

    def test_steps_are_those_of_levels(self):
        self.steps_are_those_of_levels("hbp")
        self.steps_are_those_of_levels("interleaved")

    def steps_are_those_of_levels(self, curriculum):
        run = self.made(curriculum=curriculum)
        self.assertEqual(run.settings, [(4096, 1, 0), (32768, 4, 8)])
        plans = [
            ballast.levels(
                self.lengths, self.levels, gpus=8, cost=COST, micro_batches=2, curriculum=curriculum, seed=5, epoch=epoch
            )
            for epoch in (0, 1)
        ]  # fmt: skip
        self.assertEqual((run.steps, run.micro_batches), (sum(map(len, plans)), plans[0].steps.shape[2]))
        changes, before = 0, None
        for step, (epoch, at) in zip(run, ((e, s) for e in (0, 1) for s in range(len(plans[e])))):
            plan = plans[epoch]
            self.assertEqual((run.epoch, run.step, run.level), (epoch, step + 1, plan.levels[at]))
            self.assertEqual(run.setting.degree, plan.settings[run.level][1])
            changes += before not in (None, run.level)
            before = run.level
            samples, shards, same = run.samples(), run.shards(), plan.shards_of(at)
            self.assertEqual(shards.lengths.tolist(), self.lengths[samples].tolist())
            renumbered = shards.pieces.copy()
            renumbered[:, 0] = samples[renumbered[:, 0]]
            np.testing.assert_array_equal(renumbered, same.pieces)
            for name in ("rank_offsets", "pass_offsets"):
                np.testing.assert_array_equal(getattr(shards, name), getattr(same, name))
            self.assertEqual([g.tolist() for g in shards.groups], [g.tolist() for g in same.groups])
            self.assertEqual(shards.left_out.tolist(), [])
            for rank in range(8):
                own = {int(samples[i]) for work in shards.passes_of(rank) for i in work.samples}
                packs = {i for pack in run.packs_of(rank) for i in pack.tolist()}
                self.assertLessEqual(own, packs)  # of a sample with few tokens, not every rank has one
                self.assertTrue(all(self.lengths[i] < run.setting.degree for i in packs - own))
        self.assertTrue(run.done)
        self.assertGreater(changes, 0)
        with self.assertRaisesRegex(ValueError, "^all [0-9]+ steps of the run are done$"):
            run.next()

    def test_a_run_goes_on_in_the_middle_of_an_epoch(self):
        whole = self.made()
        steps = self.rest_of(whole)
        self.assertEqual(len(steps), whole.steps)
        for epoch in (0, 1):
            trained = [i for at, _, samples, _ in steps if at == epoch for i in samples]
            self.assertEqual(sorted(trained), list(range(1500)))
        for stop in (0, 1, 7, len(steps) // 2, len(steps) // 2 + 3, len(steps)):
            run = self.made()
            for _ in range(stop):
                run.next()
            state = run.state()
            self.assertTrue(all(0 <= word < 1 << 64 for word in state))
            others = [copy.copy(run), pickle.loads(pickle.dumps(run)), self.made()]
            others[2].resume(state)
            for other in others:
                self.assertEqual((other.step, other.steps, other.state(), other.hash()), (stop, len(steps), state, run.hash()))
                self.assertEqual(self.rest_of(other), steps[stop:])
            self.assertEqual(run.step, stop)  # copies walk by themselves

    def test_samples_without_tokens_are_in_no_step_of_any_epoch(self):
        lengths = self.lengths.copy()
        lengths[[0, 7]] = 0
        run = ballast.TrainingRun(lengths, levels=self.levels, zero_length="skip", **self.arguments)
        seen = np.zeros((run._options["epochs"], 1500), int)
        for step in run:
            seen[run.epoch, run.samples()] += 1
            if step == 3:
                run.resume(run.state(), ranks=4)
        self.assertEqual(run.skipped.tolist(), [0, 7])
        self.assertEqual(seen.tolist(), [(lengths > 0).astype(int).tolist()] * len(seen))

    def test_other_ranks_train_what_is_left(self):
        for oversize, levels in (("reject", self.levels), ("split", [(1024, 1), (4096, 2)]), ("set_aside", [(4096, 2)])):
            run = self.made(levels=levels, oversize=oversize)
            once = set(range(1500 + len(run.pieces))) - set(run.set_aside.tolist())
            trained = [0] * (1500 + len(run.pieces))

            def walk(run, steps):
                for _ in range(steps):
                    run.next()
                    tokens = run.shards().lengths
                    for i, length in zip(run.samples().tolist(), tokens.tolist()):
                        trained[i] += 1
                        expected = run.pieces[i - 1500][2] if i >= 1500 else min(int(self.lengths[i]), levels[-1][0])
                        self.assertEqual(length, expected)

            walk(run, 5)
            second = self.made(levels=levels, oversize=oversize)
            second.resume(run.state(), ranks=4, micro_batches=1)  # planned anew
            self.assertEqual((second.ranks, second.step), (4, 5))
            walk(second, 3)
            third = self.made(levels=[(512, 1), levels[-1][:2]], ranks=12, oversize=oversize)  # levels, too
            third.resume(second.state())
            at = third.step
            while third.epoch == 0 and not third.done:
                ahead = copy.copy(third)
                ahead.next()
                if ahead.epoch:
                    break
                walk(third, 1)
            self.assertGreater(third.step, at)
            self.assertEqual({i for i, times in enumerate(trained) if times}, once)
            self.assertEqual({trained[i] for i in once}, {1})
            total, so_far = third.steps, third.step
            self.assertEqual(len(self.rest_of(third)), total - so_far)
            again = self.made(levels=[(512, 1), levels[-1][:2]], ranks=12, oversize=oversize)
            again.resume(second.state())
            state = again.state()
            self.assertEqual(state, second.state())  # nothing was trained since

    def test_a_warm_up_comes_once(self):
        for stop in (0, 1, 4, 12):
            run = self.made(micro_batches=1, epochs=1)
            self.assertEqual(run.steps, 20)
            warm_up, trained = 7, []  # half of the 15 steps on the shortest level
            for _ in range(stop):
                run.next()
                trained += run.samples().tolist()
                self.assertTrue(run.step > warm_up or run.level == 0)
            rest = np.array(sorted(set(range(1500)) - set(trained)))
            plan = ballast.levels(
                self.lengths[rest], self.levels, gpus=4, cost=COST, seed=5, warm_up=max(warm_up - stop, 0)
            )
            run.resume(run.state(), ranks=4)
            self.assertEqual([run.level for _ in run], plan.levels.tolist())
        self.assertNotEqual(
            *(ballast.levels(self.lengths, self.levels, gpus=8, cost=COST, warm_up=n).levels.tolist() for n in (0, 7))
        )

    def test_a_state_of_something_else(self):
        run = self.made()
        for _ in range(9):
            run.next()
        state = run.state()
        for change in range(len(state)):
            damaged = [word ^ (i == change) for i, word in enumerate(state)]
            with self.assertRaisesRegex(ValueError, "^the state is damaged"):
                self.made().resume(damaged)
        with self.assertRaisesRegex(ValueError, "^the state is damaged"):
            self.made().resume([])
        plain = ballast.TrainingRun(self.lengths, capacity=32768, **self.arguments)
        with self.assertRaisesRegex(ValueError, "^the state is damaged, or not that of a run in levels"):
            self.made().resume(plain.state())
        for change in ({"seed": 6}, {"oversize": "split"}, {"curriculum": "ascending"}):
            with self.assertRaisesRegex(ValueError, "^the state is of a run with other samples"):
                self.made(**change).resume(state)
        fresh = self.made()
        with self.assertRaisesRegex(ValueError, "tokens and is not trained in this epoch yet, but the longest level has 4096"):
            self.made(levels=[(4096, 1)], oversize="set_aside").resume(self.started(oversize="set_aside"))
        with self.assertRaisesRegex(ValueError, r"^levels\[1\]: an SP degree of 4 does not divide ranks = 6"):
            fresh.resume(state, ranks=6)
        self.assertEqual((fresh.step, fresh.ranks), (0, 8))
        short = self.made(epochs=1)
        second = self.made()
        while second.epoch == 0:
            second.next()
        short.resume(second.state())
        self.assertTrue(short.done)
        self.assertEqual(short.steps, second.step)

    def started(self, **change):
        run = self.made(**change)
        run.next()
        return run.state()

    def test_levels_by_name(self):
        run = self.made(levels="auto", capacity=32768, epochs=1)
        plan = ballast.levels(self.lengths, gpus=8, cost=COST, capacity=32768, micro_batches=2, seed=5)
        self.assertEqual((run.settings, run.steps), (plan.settings, len(plan)))
        run.next(), run.next()
        other = self.made(levels="hbp", capacity=32768, epochs=1)
        other.resume(run.state())
        trained = [i for _, _, samples, _ in self.rest_of(other) for i in samples]
        self.assertEqual(len(trained), len(set(trained)))
        again = self.made(levels="auto", capacity=32768, epochs=1)
        again.resume(run.state())
        self.assertEqual(self.rest_of(again), self.rest_of(run))

    def test_a_run_of_one_length_has_shards_too(self):
        for oversize in ("reject", "split"):
            capacity = 32768 if oversize == "reject" else 5000
            run = ballast.TrainingRun(self.lengths, capacity=capacity, oversize=oversize, **self.arguments)
            trained = []
            for _ in run:
                if run.epoch:
                    break
                samples, shards = run.samples(), run.shards()
                self.assertEqual((run.setting, len(shards.groups)), ((capacity, 1, 0), 0))
                for rank in range(8):
                    packs = [samples[work.samples].tolist() for work in shards.passes_of(rank)]
                    self.assertEqual(packs, [pack.tolist() for pack in run.packs_of(rank)])
                trained += list(zip(samples.tolist(), shards.lengths.tolist()))
            self.assertEqual(len({i for i, _ in trained}), len(trained))
            self.assertEqual(sum(tokens for _, tokens in trained), self.lengths.sum())

    def test_errors_name_the_argument(self):
        for change, sentence in (
            ({"levels": None}, "^capacity is missing"),
            ({"levels": None, "capacity": 40000, "curriculum": "random"}, "^curriculum and device are for a run in levels"),
            ({"order": "ascending"}, "^order is not for a run in levels"),
            ({"tokens_per_step": 10}, "^tokens_per_step is not for a run in levels"),
            ({"capacity": 9}, "^capacity is for levels"),
            ({"ranks": 0}, "^ranks = 0 must be in"),
            ({"epochs": 0}, "^epochs = 0 must be positive$"),
            ({"cost": ballast.token_cost()}, "^cost is no name of a model, no config of one,"),
            ({"levels": [(4096, 1)]}, "exceeds the longest level, 4096"),
            ({"levels": [(1, 1)], "oversize": "set_aside"}, "^every sample is longer than the longest level"),
        ):
            with self.subTest(change=change), self.assertRaisesRegex(ValueError, sentence):
                self.made(**change)
        with self.assertRaisesRegex(ValueError, "^lengths must be integers in one dimension"):
            ballast.TrainingRun([0.5], levels=self.levels, **self.arguments)
        run = self.made()
        with self.assertRaisesRegex(ValueError, "^no step was handed out"):
            run.samples()
        run.next()
        with self.assertRaisesRegex(IndexError, "^rank 8 is out of range: there are 8"):
            run.packs_of(8)
        for call in (lambda: run.observe(1.0), lambda: run.observe([1.0] * 8), run.measured, lambda: run.recalibrate([])):
            with self.assertRaisesRegex(ValueError, "^a run in levels is not planned anew by measured times$"):
                call()
        from ballast.torch import Plan

        with self.assertRaisesRegex(ValueError, "^in a run in levels several ranks share a pack"):
            Plan(self.lengths, capacity=32768, levels="auto", **self.arguments)


class Packs(unittest.TestCase):
    def test_packs_on_groups_of_ranks(self):
        packs = [[40, 9], [7], [1, 1], [3]]
        shards = ballast.share_packs(packs, first=[0, 3, 0, 3], degree=3, ranks=6)
        every_token_once(self, shards, np.array([40, 9, 7, 1, 1, 3]))
        self.assertEqual([g.tolist() for g in shards.groups], [[0, 1, 2], [3, 4, 5], [3, 4, 5]])
        self.assertEqual([len(shards.passes_of(rank)) for rank in range(6)], [2, 1, 1, 2, 2, 2])  # 2 tokens are on one rank
        one = ballast.share_packs([[40, 9]], first=[0], degree=4, ranks=4)
        np.testing.assert_array_equal(one.pieces, ballast.share_pack([40, 9], ranks=4).pieces)
        for change, sentence in (
            ({"packs": [[1], []]}, r"^packs\[1\] is empty"),
            ({"packs": [[1], [0]]}, "^packs hold a length of 0, which must be positive"),
            ({"packs": [[0.5]]}, r"^packs\[0\] holds float64"),
            ({"first": [0]}, "^first has 1 entries for 2 packs"),
            ({"first": [0, 3]}, r"^first\[1\] = 3 and the 2 ranks from there on are not among 4"),
            ({"first": [-1, 0]}, r"^first\[0\] = -1 and the 2 ranks"),
            ({"degree": 5}, r"^degree = 5 must be in 1 \.\.\. ranks = 4"),
            ({"degree": 0}, "^degree = 0 must be in"),
            ({"ranks": 0}, "^ranks = 0 must be in"),
            ({"layout": "spiral"}, 'layout = "spiral" is not one of zigzag, contiguous'),
        ):
            with self.subTest(change=change), self.assertRaisesRegex(ValueError, sentence):
                ballast.share_packs(**{"packs": [[5], [6, 7]], "first": [0, 2], "degree": 2, "ranks": 4, **change})


class Documentation(unittest.TestCase):
    def test_the_code_of_the_page_runs(self):
        page = (pathlib.Path(__file__).parents[2] / "docs/python.md").read_text()
        (code,) = re.findall(r"## Long samples beside short ones\n.*?```python\n(.*?)```", page, re.S)
        names = {}
        exec(code, names)
        self.assertGreater(len(names["plan"].groups), 0)
        self.assertGreater(names["long"].forwards_again, 0)
        every_token_once(self, names["plan"], names["lengths"])
        rows = [i for rank in range(8) for work in names["plan"].passes_of(rank) for i in work.token_indices().tolist()]
        self.assertEqual(sorted(rows), list(range(names["lengths"].sum())))


if __name__ == "__main__":
    unittest.main()
