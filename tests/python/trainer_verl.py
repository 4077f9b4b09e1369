# SPDX-License-Identifier: Apache-2.0
"""ballast.verl beside verl's own functions (0.9.1, or whatever is installed), alone and on 4 ranks over gloo."""

import os
import subprocess
import sys
import unittest
import warnings

import numpy as np
import torch
from support import on_ranks

from ballast import verl as ours

try:
    import verl.utils.seqlen_balancing as theirs
    from tensordict import TensorDict
except ImportError:  # its packages are heavy; what needs them is then skipped
    theirs = None


def lengths_of(seed, count, longest=512):
    return np.random.default_rng(seed).lognormal(4.5, 1.0, count).astype(np.int64).clip(1, longest)


def batch_of(lengths):
    rows = [torch.full((int(n),), i) for i, n in enumerate(lengths)]
    ids = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
    return TensorDict({"input_ids": ids, "number": torch.arange(len(rows))}, batch_size=[len(rows)])


def workload(lengths, part):
    return sum(24576 * int(lengths[i]) + int(lengths[i]) ** 2 for i in part)


def rearranged(rank, ranks, counts, options):
    """What one rank gets, or the error that it raises."""
    lengths = lengths_of(rank, counts[rank])
    try:
        batches, parts = ours.rearrange_micro_batches(
            batch_of(lengths), 1024, dp_group=torch.distributed.group.WORLD, **options
        )
        torch.distributed.barrier()
        return parts, [batch["number"].tolist() for batch in batches]
    except ValueError as error:
        return str(error)


@unittest.skipIf(theirs is None, "verl is not installed")
class TestMicroBatches(unittest.TestCase):
    def check(self, lengths, cap, parts, group=1):
        self.assertEqual(sorted(i for part in parts for i in part), list(range(len(lengths))))
        self.assertLessEqual(max(sum(int(lengths[i]) for i in part) for part in parts), cap)
        for part in parts:
            self.assertEqual(part, sorted(part))
            self.assertEqual({i // group for i in part if i // group * group + group - 1 not in part}, set())

    def test_as_few_as_verl_or_fewer(self):
        gained = 0  # micro-batches saved, and those of verl 0.9.0 that were too large
        for seed in range(25):
            lengths = lengths_of(seed, 48)
            for cap in (512, 1024):
                batches, parts = ours.rearrange_micro_batches(batch_of(lengths), cap)
                self.check(lengths, cap, parts)
                self.assertEqual([batch["number"].tolist() for batch in batches], parts)
                _, other = theirs.rearrange_micro_batches(batch_of(lengths), cap)
                self.assertLessEqual(len(parts), len(other))
                gained += len(other) - len(parts)
                gained += sum(int(lengths[part].sum()) > cap for part in other)
                restored = theirs.restore_dynamic_batch(torch.cat([batch["number"] for batch in batches]), parts)
                self.assertEqual(restored.tolist(), list(range(48)))
        self.assertGreater(gained, 0)

    def test_options(self):
        lengths = lengths_of(3, 48)
        least = len(ours.rearrange_micro_batches(batch_of(lengths), 1024)[1])
        self.assertEqual(
            len(ours.rearrange_micro_batches(batch_of(lengths), 1024, min_num_micro_batch=least + 3)[1]), least + 3
        )
        _, parts = ours.rearrange_micro_batches(batch_of(lengths), 1024, num_batches_divided_by=5)
        self.assertEqual(len(parts), -(-least // 5) * 5)
        _, parts = ours.rearrange_micro_batches(batch_of(lengths), 2048, force_group_size=4)
        self.check(lengths, 2048, parts, 4)
        padded = torch.arange(512) < torch.from_numpy(lengths)[:, None]
        dense = TensorDict(
            {"input_ids": torch.zeros(48, 512, dtype=torch.int64), "attention_mask": padded}, batch_size=[48]
        )
        _, parts = ours.rearrange_micro_batches(dense, 1024)
        self.check(lengths, 1024, parts)
        work = [workload(lengths, part) for part in parts]
        self.assertLessEqual(
            max(work[0], work[-1]), sorted(work)[len(work) // 2], "cheap micro-batches stand at both ends"
        )

    def test_four_ranks_with_unequally_many_samples(self):
        for counts, options in (
            ([40, 24, 60, 33], {}),
            ([40, 32, 60, 36], {"force_group_size": 2, "num_batches_divided_by": 2}),
        ):
            results = on_ranks(4, rearranged, counts, options)
            self.assertEqual(len({len(parts) for parts, _ in results}), 1)
            for rank, (parts, numbers) in enumerate(results):
                self.check(lengths_of(rank, counts[rank]), 1024, parts, options.get("force_group_size", 1))
                self.assertEqual(numbers, parts)

    def test_all_ranks_raise_alike(self):
        for counts, options, sentence in (
            ([3, 40, 60, 40], {}, "one has only 3 samples"),
            ([3, 40, 40, 40], {"min_num_micro_batch": 30}, "one has only 3 samples"),
            ([40, 40, 41, 40], {"force_group_size": 2}, "divisible by force_group_size = 2"),
            ([40, 40, 40, 60], {"force_group_size": 20}, "a forced group has"),
        ):
            results = on_ranks(4, rearranged, counts, options)
            self.assertEqual(len(set(map(str, results))), 1)
            self.assertIn(sentence, results[0])

    def test_too_long_a_sample(self):
        with self.assertRaisesRegex(ValueError, "a sample has .* tokens, more than max_token_len"):
            ours.rearrange_micro_batches(batch_of([5, 2000]), 1024)

    def test_a_wrong_argument_is_named_in_one_sentence(self):
        batch = batch_of([5, 8, 3, 2])
        for options, error, sentence in (
            ({"batch": None}, TypeError, "batch = None must be a TensorDict with input_ids"),
            ({"batch": {"input_ids": 3}}, TypeError, "batch = {'input_ids': 3} must be a TensorDict with input_ids"),
            ({"max_token_len": 10.0}, TypeError, "max_token_len = 10.0 must be an integer$"),
            ({"max_token_len": 0}, ValueError, "max_token_len = 0 must be positive$"),
            ({"min_num_micro_batch": "2"}, TypeError, "min_num_micro_batch = '2' must be an integer or None$"),
            ({"num_batches_divided_by": 0}, ValueError, "num_batches_divided_by = 0 must be positive$"),
            ({"same_micro_num_in_dp": 1}, TypeError, "same_micro_num_in_dp = 1 must be True or False$"),
            ({"force_group_size": -1}, ValueError, "force_group_size = -1 must be positive$"),
            ({"force_group_size": 2**64}, ValueError, "the batch size of a rank must be divisible by force_group_size"),
        ):
            with self.assertRaisesRegex(error, "^" + sentence):
                ours.rearrange_micro_batches(**{"batch": batch, "max_token_len": 10, **options})
        self.assertEqual(len(ours.rearrange_micro_batches(batch, sys.maxsize)[1]), 1)  # no limit


class TestMicroBatchIndices(unittest.TestCase):
    def test_a_sample_without_tokens(self):
        self.assertEqual(sorted(ours.micro_batch_indices(np.array([0, 8, 0]), 8)), [[0, 2], [1]])

    def test_any_number_that_another_rank_needs(self):
        for seed in range(10):
            lengths = lengths_of(seed, 24)
            least = len(ours.micro_batch_indices(lengths, 1024))
            for count in range(least, 25):
                parts = ours.micro_batch_indices(lengths, 1024, all_max=lambda facts, count=count: [count, *facts[1:]])
                self.assertEqual((len(parts), sorted(i for part in parts for i in part)), (count, list(range(24))))
                self.assertLessEqual(max(lengths[part].sum() for part in parts), 1024)


class TestPartitions(unittest.TestCase):
    def test_shape(self):
        for seed in range(10):
            weights = lengths_of(seed, 48).tolist()
            for k in (1, 3, 16, 48):
                for equal in (False, True):
                    parts = ours.get_seqlen_balanced_partitions(weights, k, equal)
                    self.assertEqual(sorted(i for part in parts for i in part), list(range(48)))
                    self.assertEqual((len(parts), [sorted(part) for part in parts]), (k, parts))
                    self.assertGreater(min(map(len, parts)), 0)
                    if equal:
                        self.assertEqual({len(part) for part in parts}, {48 // k})

    @unittest.skipIf(theirs is None, "verl is not installed")
    def test_no_worse_than_verl_in_sum(self):
        ratios = []
        for seed in range(20):
            weights = [workload(lengths_of(seed, 96), [i]) for i in range(96)]
            for k, equal in ((8, True), (8, False), (16, True)):
                worst = [
                    max(sum(weights[i] for i in part) for part in parts)
                    for parts in (
                        ours.get_seqlen_balanced_partitions(weights, k, equal),
                        theirs.get_seqlen_balanced_partitions(weights, k, equal),
                    )
                ]
                ratios.append(worst[0] / worst[1])
        self.assertLessEqual(np.mean(ratios), 1.0)

    def test_groups_and_floats(self):
        uids = [i // 4 for i in range(48)]
        parts = ours.get_group_balanced_partitions(lengths_of(1, 48).tolist(), uids, 4)
        self.assertEqual({len(part) for part in parts}, {12})
        self.assertTrue(all(len({uids[i] for i in part}) == 3 for part in parts))
        floats = torch.rand(32, generator=torch.Generator().manual_seed(1)) * 1e-3
        parts = ours.get_seqlen_balanced_partitions(floats, 8, True)
        sums = [float(floats[part].sum()) for part in parts]
        self.assertLess(max(sums) / min(sums), 1.2)
        parts = ours.get_seqlen_balanced_partitions([0, 0, 0, 5], 4, False)
        self.assertEqual(sorted(parts), [[0], [1], [2], [3]])

    def test_a_wrong_argument_is_named_in_one_sentence(self):
        parts, groups = ours.get_seqlen_balanced_partitions, ours.get_group_balanced_partitions
        for call, arguments, error, sentence in (
            (parts, ([1, 2], 2.0, True), TypeError, "k_partitions = 2.0 must be an integer"),
            (parts, ([1, 2], 0, True), ValueError, "k_partitions = 0 must be positive"),
            (parts, ([1, 2], 2, 1), TypeError, "equal_size = 1 must be True or False"),
            (parts, (None, 2, True), TypeError, "seqlen_list = None must be a sequence of numbers"),
            (parts, (["1", "2"], 2, True), TypeError, "seqlen_list = ['1', '2'] must be a sequence of numbers"),
            (parts, (torch.ones(2, 2), 2, True), TypeError, "seqlen_list = tensor([[1., ... [1., 1.]]) must be a sequence of numbers"),
            (parts, ([[1, 2], [3]], 2, True), ValueError, "seqlen_list has entries of different lengths: it must have one dimension"),
            (parts, ([1, -2], 2, True), ValueError, "seqlen_list[1] = -2 must be a finite number from 0, or an integer below 2^62"),
            (parts, ([1.0, np.nan], 2, True), ValueError, "seqlen_list[1] = nan must be a finite number from 0, or an integer below 2^62"),
            (groups, ([1, 2], 3, 2), TypeError, "uid_list = 3 must be a sequence"),
            (groups, ([1, 2], [0, 1], -1), ValueError, "k_partitions = -1 must be positive"),
            (groups, ([2**31] * 2, [0, 1], 2), ValueError, "seqlen_list holds lengths so large that the work of all samples reaches 2^62"),
        ):
            with self.assertRaises(error) as raised:
                call(*arguments)
            self.assertEqual(str(raised.exception), sentence)

    def test_all_kinds_of_arrays(self):
        expected = ours.get_seqlen_balanced_partitions([1, 2, 3, 4], 2, True)
        kinds = [np.uint8, np.int16, np.uint64, np.float16, np.float32, float]
        arrays = [np.array([1, 2, 3, 4], kind) for kind in kinds] + [torch.tensor([1, 2, 3, 4])]
        arrays += [torch.tensor([1.0, 2, 3, 4], dtype=torch.bfloat16), torch.tensor([1.0, 2, 3, 4], requires_grad=True)]
        for weights in arrays:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(ours.get_seqlen_balanced_partitions(weights, 2, True), expected)
            for uids in (np.array([[0, 0], [0, 0], [1, 0], [1, 0]]), torch.tensor([0, 0, 1, 1])):
                self.assertEqual(ours.get_group_balanced_partitions(weights, uids, 2), [[2, 3], [0, 1]])

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, "k_partitions"):
            ours.get_seqlen_balanced_partitions([1, 2], 3, False)
        with self.assertRaisesRegex(ValueError, "equal size"):
            ours.get_seqlen_balanced_partitions([1, 2, 3], 2, True)
        with self.assertRaisesRegex(ValueError, "uid_list has 1"):
            ours.get_group_balanced_partitions([1, 2], [0], 1)


@unittest.skipIf(theirs is None, "verl is not installed")
class TestInstall(unittest.TestCase):
    def test_the_variable_replaces_and_importing_does_not(self):
        code = (
            "import verl, ballast.verl, verl.utils.seqlen_balancing as v; print(v.rearrange_micro_batches.__module__)"
        )
        for value, module in (("ballast.verl", "ballast.verl"), ("", "verl.utils.seqlen_balancing")):
            environment = {**os.environ, "VERL_USE_EXTERNAL_MODULES": value}
            done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
            self.assertEqual(done.stdout.split()[-1:], [module], done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
