# SPDX-License-Identifier: Apache-2.0
"""torch.ops.ballast on the CPU: every operator against the package or a plain loop, its fake and its autograd by
opcheck, errors against those of the package, a compiled step, and the step of docs/torch-ops.md."""

import importlib.util
import os
import subprocess
import sys
import unittest
import warnings

import numpy as np

try:
    import torch
except ImportError:
    print("skipped: what needs torch, which is not installed")
    sys.exit()

import ballast
import ballast.ops

OPS = torch.ops.ballast
TYPES = (torch.int32, torch.int64)
PRESETS = ("hf", "megatron", "trl-grpo", "internvl-square")


def spread(tensor):
    """The same elements, not neighbours in memory."""
    return tensor.repeat_interleave(2)[::2]


def error_of(call):
    """What a call that must fail says."""
    try:
        call()
    except ValueError as error:
        return str(error)
    raise AssertionError("nothing was raised")


class Draws:
    """Random inputs of one seed: lengths, packs, their rows, labels."""

    def __init__(self, seed, samples=60):
        self.rng = np.random.default_rng(seed)
        self.lengths = self.rng.integers(1, 90, samples)
        self.capacity = int(self.rng.integers(90, 300))
        packs = ballast.pack(self.lengths, self.capacity).packs
        self.packs = [np.asarray(pack) for pack in packs]
        self.members = np.concatenate(self.packs)
        self.offsets = np.concatenate([[0], np.cumsum([len(pack) for pack in self.packs])])
        self.cu = [ballast.cu_seqlens(pack, self.lengths) for pack in self.packs]
        self.labels = self.rng.integers(-1, 3, self.capacity)
        self.losses = self.rng.normal(2, 1, self.capacity)

    def tensor(self, values, index):
        """The values in one type or the other, and spread or not."""
        tensor = torch.tensor(values, dtype=TYPES[index % 2])
        return spread(tensor) if index % 3 == 0 else tensor


class Equality(unittest.TestCase):
    def equal(self, tensor, expected, dtype=torch.int64):
        self.assertEqual(tensor.dtype, dtype)
        np.testing.assert_array_equal(tensor.numpy(), expected)

    def draws(self):
        return [(seed, Draws(seed)) for seed in range(12)]

    def test_packing(self):
        for seed, d in self.draws():
            padded = {"sample_multiple": 8, "pack_multiple": 4}
            for options in ({}, {"max_items": 3}, padded, {"pack_count_multiple": 16}):
                lengths = d.tensor(d.lengths, seed)
                offsets, members = OPS.pack(lengths, d.capacity, **options)
                packs = ballast.pack(d.lengths, d.capacity, **options).packs
                self.equal(members, np.concatenate([np.asarray(pack) for pack in packs]))
                self.equal(offsets, np.concatenate([[0], np.cumsum([len(pack) for pack in packs])]))
            offsets, pack = OPS.next_fit(lengths, d.capacity, max_items=5)
            expected, room, held = [], d.capacity, 0
            for length in d.lengths:
                full = length > room or held == 5
                expected.append((expected[-1] if expected else 0) + full)
                room, held = (d.capacity, 0) if full else (room, held)
                room, held = room - length, held + 1
            self.equal(pack, expected)
            self.equal(offsets, np.searchsorted(expected, range(expected[-1] + 2)))

    def test_packing_of_measures(self):
        for seed, d in self.draws():
            tiles, caps = d.rng.integers(0, 9, len(d.lengths)), [24, d.capacity]
            measures = [d.tensor(tiles, seed), d.tensor(d.lengths, seed + 1)]
            for options in ({}, {"max_items": 4}, {"pack_count_multiple": 8, "work": 10**6}):
                offsets, members = OPS.pack_measures(measures, caps, **options)
                self.equal(members.sort().values, range(len(tiles)))
                sums = [np.add.reduceat(of[members.numpy()], offsets[:-1].numpy()) for of in (tiles, d.lengths)]
                self.assertTrue(all((of <= cap).all() for of, cap in zip(sums, caps)))
                self.assertLessEqual(int(offsets.diff().max()), options.get("max_items", len(tiles)))
                self.assertEqual((len(offsets) - 1) % options.get("pack_count_multiple", 1), 0)
                least = max(-(-int(of.sum()) // cap) for of, cap in zip((tiles, d.lengths), caps))
                self.assertGreaterEqual(len(offsets) - 1, least)
            one = len(OPS.pack_measures(measures[1:], caps[1:])[0]) - 1
            self.assertLessEqual(one, len(d.packs))

    def test_packing_of_levels(self):
        """Each level is a packing of its own, of the samples that no shorter one holds."""
        for seed, d in self.draws():
            levels, packs, first = [30, 60, 128], [], [0]
            for shorter, capacity in zip([0, *levels], levels):
                mine = np.flatnonzero((d.lengths > shorter) & (d.lengths <= capacity))
                packs += [mine[np.asarray(pack)] for pack in ballast.pack(d.lengths[mine], capacity).packs]
                first.append(len(packs))
            offsets, members, first_pack = OPS.pack_levels(d.tensor(d.lengths, seed), levels)
            self.equal(members, np.concatenate(packs))
            self.equal(offsets, np.concatenate([[0], np.cumsum([len(pack) for pack in packs])]))
            self.equal(first_pack, first)

    def test_layout(self):
        for seed, d in self.draws():
            lengths, members = d.tensor(d.lengths, seed), d.tensor(d.members, seed + 1)
            offsets = d.tensor(d.offsets, seed // 2)
            cu = OPS.cu_seqlens(lengths, members, offsets)
            self.equal(cu, np.concatenate(d.cu), torch.int32)
            self.equal(OPS.cu_seqlens(lengths), np.concatenate([[0], np.cumsum(d.lengths)]), torch.int32)
            padded = OPS.cu_seqlens(lengths, members, offsets, multiple=16)
            self.equal(OPS.max_seqlen(padded), -(-d.lengths.max() // 16) * 16, torch.int32)
            cu, row = d.tensor(cu.numpy(), seed), d.capacity + 16 * len(d.lengths)
            self.equal(OPS.position_ids(cu, row, offsets=offsets), [ballast.position_ids(c, row=row) for c in d.cu])
            self.equal(
                OPS.segment_ids(cu, row, offsets=offsets, padded=padded.to(cu.dtype)),
                [
                    ballast.segment_ids(c, row=row, padded=ballast.cu_seqlens(pack, d.lengths, multiple=16))
                    for c, pack in zip(d.cu, d.packs)
                ],
                torch.int32,
            )
            one = d.tensor(d.cu[0], seed)
            self.equal(OPS.position_ids(one, row), ballast.position_ids(d.cu[0], row=row))
            self.equal(OPS.segment_ids(one, row), ballast.segment_ids(d.cu[0], row=row), torch.int32)
            one = OPS.cu_seqlens(lengths, members[:5], multiple=8)
            row = int(one[-1])
            for rank in range(4):
                self.equal(
                    OPS.zigzag_indices(one, row, ranks=4, rank=rank),
                    ballast.zigzag_indices(one.numpy(), ranks=4, rank=rank),
                )
            self.equal(OPS.zigzag_inverse(one, row, ranks=4), ballast.zigzag_inverse(one.numpy(), ranks=4))

    def test_context(self):
        for seed, d in self.draws():
            lengths, members = d.tensor(d.lengths, seed), d.tensor(d.members, seed + 1)
            for rank in (-1, 0, 2):
                both = OPS.context_cu_seqlens(lengths, members, d.tensor(d.offsets, seed), ranks=3, rank=rank)
                host = [ballast.context_cu_seqlens(pack, d.lengths, ranks=3, rank=rank) for pack in d.packs]
                for mine, expected in zip(both, zip(*host)):
                    self.equal(mine, np.concatenate(expected), torch.int32)
            self.equal(
                OPS.context_cu_seqlens(lengths, ranks=2)[1], OPS.cu_seqlens(lengths, multiple=4).numpy(), torch.int32
            )
            self.equal(OPS.sequence_lengths(d.tensor(d.cu[0] + 7, seed)), np.diff(d.cu[0]))

    def test_unpad_rows(self):
        for seed, d in self.draws():
            mask = d.rng.integers(0, 2, (seed % 5, 37)) * 3
            for of in (torch.tensor(mask), torch.tensor(mask, dtype=torch.int32), torch.tensor(mask != 0)):
                indices, cu, longest = OPS.unpad_rows(of.T.contiguous().T if seed % 3 == 0 else of)
                self.equal(indices, np.flatnonzero(mask))
                self.equal(cu, np.concatenate([[0], np.cumsum((mask != 0).sum(1))]), torch.int32)
                self.equal(longest, (mask != 0).sum(1).max(initial=0), torch.int32)

    def test_rows_of_stored_samples(self):
        for seed, d in self.draws():
            starts, row = np.concatenate([[0], np.cumsum(d.lengths)]), 4 * d.capacity
            stored, multiple, pad = int(starts[-1]), 4, -100
            lengths, members, offsets = (d.tensor(x, seed + i) for i, x in enumerate((d.lengths, d.members, d.offsets)))
            cu = d.tensor(OPS.cu_seqlens(lengths, members, offsets, multiple=multiple).numpy(), seed)
            at = ballast.gather_indices(d.packs, d.lengths, row=row, multiple=multiple).reshape(len(d.packs), row)
            for dtype, tail in ((torch.int64, ()), (torch.bfloat16, (8,)), (torch.float32, (3, 2)), (torch.int8, ())):
                values = torch.tensor(d.rng.integers(-99, 99, (stored, *tail))).to(dtype)
                place = (values, cu, d.tensor(starts, seed), members)
                rows = OPS.gather_rows(*place, row, offsets, padding=pad)
                expected = torch.where(torch.tensor(at < 0)[(..., *[None] * len(tail))], pad, values[at]).to(dtype)
                self.assertTrue(torch.equal(rows, expected))
                self.assertEqual(rows.dtype, dtype)
                self.assertTrue(torch.equal(OPS.scatter_rows(rows, *place[1:], stored, offsets), values))
            one, pack = cu[: d.offsets[1] + 1], members[: d.offsets[1]]
            values = torch.tensor(d.rng.normal(size=(stored, 2)), requires_grad=True)
            rows = OPS.gather_rows(values, one, place[2], pack, row)
            weight = torch.randn_like(rows)
            (rows * weight).sum().backward()
            mine = torch.zeros_like(values).index_put((torch.tensor(at[0][at[0] >= 0]),), weight[at[0] >= 0])
            self.assertTrue(torch.equal(values.grad, mine))

    def test_gradients_of_rows(self):
        cu, starts, members = torch.tensor([0, 4, 7]), torch.tensor([0, 3, 5, 8]), torch.tensor([2, 0])
        values = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
        rows = torch.randn(1, 9, 2, dtype=torch.float64, requires_grad=True)
        offsets = torch.tensor([0, 2])
        for check, given in (
            (lambda x: OPS.gather_rows(x, cu, starts, members, 9, padding=3), values),
            (lambda x: OPS.gather_rows(x, cu, starts, members, 9, offsets), values),
            (lambda x: OPS.scatter_rows(x, cu, starts, members, 8, offsets), rows),
            (lambda x: OPS.scatter_rows(x, cu, starts, members, 8), rows[0]),
        ):
            self.assertTrue(torch.autograd.gradcheck(check, given))
            self.assertTrue(torch.autograd.gradgradcheck(check, given))
        twice = OPS.gather_rows(values, cu, starts, torch.tensor([0, 0]), 9).sum()
        self.assertEqual(error_of(twice.backward), "scatter_rows: sample 0 is a member twice")

    def test_figures(self):
        for seed, d in self.draws():
            cu = d.tensor(d.cu[0], seed)
            for dtype in (torch.float32, torch.float64, *TYPES):
                values = torch.tensor(100 * d.losses).to(dtype)
                least, largest, sums, mean = OPS.segment_figures(values, cu)
                parts = [values.numpy()[a:b] for a, b in zip(d.cu[0], d.cu[0][1:])]
                self.equal(least, [part.min() for part in parts], dtype)
                self.equal(largest, [part.max() for part in parts], dtype)
                units = [(int(high) * 2**32 + int(low)) for high, low, *_ in sums]
                one = 2**24 if dtype.is_floating_point else 1
                rounded = [sum(round(float(x) * one) for x in part) for part in parts]
                self.assertEqual(units, rounded)
                self.equal(mean, [u / one / len(part) for u, part in zip(units, parts)], torch.float64)

    def test_costs(self):
        for seed, d in self.draws():
            cost = ballast.quadratic_cost(linear=7, quadratic=seed)
            table = ballast.ops.cost_table(cost, 100)
            costs = np.array([cost(int(length)) for length in d.lengths])
            lengths, offsets = d.tensor(d.lengths, seed), d.tensor(d.offsets, seed + 1)
            self.equal(OPS.sample_costs(lengths, table), costs)
            self.equal(
                OPS.pack_costs(lengths, offsets, table, members=d.tensor(d.members, seed)),
                [costs[pack].sum() for pack in d.packs],
            )
            self.equal(OPS.pack_costs(lengths, offsets, table), np.add.reduceat(costs, d.offsets[:-1]))
        table = ballast.ops.cost_table("llama-3.1-8b", 64)
        self.equal(table[33], ballast.sample_time("llama-3.1-8b")(33))

    def test_routed_rows(self):
        for seed, d in self.draws():
            experts, ends = d.rng.integers(0, 5, 70), np.array([0, 0, 20, 50, 70])
            sent = d.tensor(experts, seed)
            expected = [np.bincount(experts[a:b], minlength=5) for a, b in zip(ends, ends[1:])]
            self.equal(OPS.segment_loads(sent, d.tensor(ends, seed + 1), 5), expected)
            loads, slots = OPS.clip_rows(sent, 5, 12)
            self.equal(loads, np.bincount(experts, minlength=5))
            places = np.array([(experts[:i] == e).sum() for i, e in enumerate(experts)])
            self.equal(slots, np.where(places < 12, places, -1), torch.int32)

    def test_loss(self):
        for seed, d in self.draws():
            labels, cu = d.tensor(d.labels, seed), d.tensor(d.cu[0], seed + 1)
            shifted, preset = bool(seed % 2), PRESETS[seed % 4]
            counts = OPS.label_counts(labels, cu, ignore=-1, shifted=shifted)
            self.equal(counts, ballast.label_counts(d.labels, d.cu[0], ignore=-1, shifted=shifted))
            totals = OPS.loss_totals(counts, preset)
            self.equal(totals, ballast.loss_totals(counts.numpy(), preset))
            weights = OPS.sequence_weights(counts, 3 * totals, preset, ranks=2, micro_batches=3, part=totals)
            self.equal(
                weights,
                ballast.sequence_weights(
                    counts.numpy(), 3 * totals.numpy(), preset, ranks=2, micro_batches=3, part=totals.numpy()
                ),
                torch.float64,
            )
            scale = ballast.token_weights(weights.numpy(), d.labels, d.cu[0], ignore=-1, shifted=shifted)
            for dtype in (torch.float32, torch.float64):
                losses = torch.tensor(d.losses, dtype=dtype, requires_grad=True)
                loss, by, sums = OPS.weighted_loss(losses, labels, cu, weights, ignore=-1, shifted=shifted)
                self.assertEqual((loss.dtype, loss.shape, by.requires_grad), (dtype, (), False))
                np.testing.assert_array_equal(by.float().numpy(), scale)
                (0.3 * loss).backward()
                by_factor = torch.tensor(0.3, dtype=dtype).double() * OPS.token_weights(
                    weights, labels, cu, dtype=torch.float64, ignore=-1, shifted=shifted
                )
                self.assertTrue(torch.equal(losses.grad, by_factor.to(dtype)))
                plain = (losses.detach().double() * torch.tensor(scale, dtype=torch.float64)).sum()
                self.assertAlmostEqual(float(loss.detach()), float(plain), delta=1e-5 * float(plain.abs()) + 1e-7)
                units = [int(high) * 2**32 + int(low) for high, low, *_ in sums]
                self.assertEqual(sum(units[:-1]), units[-1])
                self.assertEqual(float(loss.detach()), float(torch.tensor(units[-1] / 2**44, dtype=dtype)))

    def test_narrow_loss(self):
        """Losses of 16 bits: their sum has 32, and each gradient is rounded once."""
        for seed, d in self.draws():
            labels, cu = d.tensor(d.labels, seed), d.tensor(d.cu[0], seed + 1)
            weights = torch.tensor(d.rng.random(len(cu) - 1))
            exact = OPS.token_weights(weights, labels, cu, dtype=torch.float64, ignore=-1)
            for dtype in (torch.bfloat16, torch.float16):
                losses = torch.tensor(d.losses, dtype=dtype, requires_grad=True)
                loss, by, _ = OPS.weighted_loss(losses, labels, cu, weights, ignore=-1)
                wide = OPS.weighted_loss(losses.detach().float(), labels, cu, weights, ignore=-1)[0]
                self.assertEqual((loss.dtype, float(loss.detach())), (torch.float32, float(wide)))
                self.assertTrue(torch.equal(by, exact.to(dtype)))
                (1000.0 * loss).backward()
                self.assertTrue(torch.equal(losses.grad, (1000.0 * exact).to(dtype)))

    def test_gradient(self):
        d = Draws(5)
        labels, cu = torch.tensor(d.labels), torch.tensor(d.cu[0])
        weights = torch.rand(len(cu) - 1, dtype=torch.float64)

        def loss_of(losses):
            return OPS.weighted_loss(losses, labels, cu, weights, ignore=-1)[0]

        losses = torch.tensor(d.losses, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(loss_of, losses))
        self.assertTrue(torch.autograd.gradgradcheck(lambda x: loss_of(x * x), losses))
        factor = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
        for by in (factor, factor[None]):
            self.assertTrue(
                torch.autograd.gradcheck(lambda x: OPS.token_weights(weights, labels, cu, x, dtype=torch.float64), by)
            )
        ignored = losses.detach().clone()
        ignored[labels == -1] = torch.inf
        self.assertEqual(loss_of(ignored), loss_of(losses.detach()))
        ignored[int(torch.nonzero(labels[1:] != -1)[0]) + 1] = torch.nan
        self.assertTrue(loss_of(ignored).isnan())

    def test_empty(self):
        none, start = torch.empty(0, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
        for packer in (OPS.pack, OPS.next_fit):
            offsets, members = packer(none, 8)
            self.equal(offsets, [0])
            self.equal(members, [])
        self.equal(OPS.cu_seqlens(none), [0], torch.int32)
        self.equal(OPS.cu_seqlens(none, none, start), [], torch.int32)
        self.equal(OPS.max_seqlen(start), 0)
        self.equal(OPS.pack_measures([none, none], [3, 4])[0], [0])
        self.equal(OPS.pack_levels(none, [3, 4])[2], [0, 0, 0])
        self.equal(OPS.context_cu_seqlens(none, ranks=2)[1], [0], torch.int32)
        self.equal(OPS.sequence_lengths(start), [])
        self.equal(OPS.unpad_rows(none.view(0, 3))[1], [0], torch.int32)
        self.equal(OPS.gather_rows(none, start, start, none, 2, padding=7), [7, 7])
        self.equal(OPS.scatter_rows(none, start, start, none, 2), [0, 0])
        self.equal(OPS.segment_figures(none, start)[3], [], torch.float64)
        self.equal(OPS.position_ids(start, 3), [0, 0, 0])
        self.equal(OPS.segment_ids(start, 0), [], torch.int32)
        self.equal(OPS.zigzag_indices(start, 0, ranks=2, rank=1), [])
        self.equal(OPS.zigzag_inverse(start, 0, ranks=2), [])
        self.equal(OPS.sample_costs(none, start), [])
        self.equal(OPS.pack_costs(none, start, start), [])
        self.equal(OPS.segment_loads(none, torch.tensor([0, 0]), 2), [[0, 0]])
        self.equal(OPS.clip_rows(none, 2, 1)[0], [0, 0])
        self.equal(OPS.label_counts(none, start), [])
        self.equal(OPS.sequence_weights(none, OPS.loss_totals(none, "hf"), "hf"), [], torch.float64)
        self.assertEqual(OPS.weighted_loss(none.float(), none, start, none.double())[0], 0)

    def test_arrays_of_others(self):
        lengths = np.array([5, 3, 7, 2])
        offsets, members = OPS.pack(torch.from_dlpack(lengths), 9)
        self.assertEqual(np.from_dlpack(offsets).tolist(), [0, 2, 4])
        self.assertEqual(np.from_dlpack(members).tolist(), np.concatenate(ballast.pack(lengths, 9).packs).tolist())
        if importlib.util.find_spec("jax"):
            jax = importlib.import_module("jax")
            offsets, members = OPS.pack(torch.from_dlpack(jax.numpy.asarray(lengths)), 9)
            self.assertEqual(jax.numpy.from_dlpack(offsets).tolist(), [0, 2, 4])


class Errors(unittest.TestCase):
    def test_sentences_of_the_package(self):
        ten, cu, bad = torch.tensor([3, 10, 4]), torch.tensor([0, 3, 9]), torch.tensor([0, 5, 4])
        counts, totals = torch.tensor([3, 4]), torch.tensor(ballast.loss_totals([3, 4], "hf"))
        for op, host in (
            (lambda: OPS.pack(ten, 9), lambda: ballast.pack(ten.numpy(), 9)),
            (lambda: OPS.pack(ten, 0), lambda: ballast.pack(ten.numpy(), 0)),
            (lambda: OPS.next_fit(ten, 9), lambda: ballast.pack(ten.numpy(), 9)),
            (lambda: OPS.pack(ten, 20, pack_multiple=21), lambda: ballast.pack(ten.numpy(), 20, pack_multiple=21)),
            (lambda: OPS.cu_seqlens(ten, torch.tensor([2, 3])), lambda: ballast.cu_seqlens([2, 3], ten.numpy())),
            (lambda: OPS.cu_seqlens(ten, multiple=0), lambda: ballast.cu_seqlens([0], ten.numpy(), multiple=0)),
            (
                lambda: OPS.context_cu_seqlens(ten, ranks=0),
                lambda: ballast.context_cu_seqlens([0], ten.numpy(), ranks=0),
            ),
            (
                lambda: OPS.context_cu_seqlens(ten, torch.tensor([3]), ranks=2),
                lambda: ballast.context_cu_seqlens([3], ten.numpy(), ranks=2),
            ),
            (
                lambda: OPS.token_weights(torch.rand(2).double(), ten, bad, dtype=torch.float32),
                lambda: ballast.token_weights(np.ones(2), ten.numpy(), bad.numpy()),
            ),
            (lambda: OPS.position_ids(bad, 9), lambda: ballast.position_ids(bad.numpy(), row=9)),
            (lambda: OPS.position_ids(cu, 8), lambda: ballast.position_ids(cu.numpy(), row=8)),
            (
                lambda: OPS.zigzag_indices(cu, 9, ranks=3, rank=0),
                lambda: ballast.zigzag_indices(cu.numpy(), ranks=3, rank=0),
            ),
            (
                lambda: OPS.zigzag_indices(cu, 9, ranks=3, rank=3),
                lambda: ballast.zigzag_indices(cu.numpy(), ranks=3, rank=3),
            ),
            (lambda: OPS.zigzag_inverse(cu, 9, ranks=0), lambda: ballast.zigzag_inverse(cu.numpy(), ranks=0)),
            (lambda: OPS.label_counts(ten, bad), lambda: ballast.label_counts(ten.numpy(), bad.numpy())),
            (lambda: OPS.loss_totals(-counts, "hf"), lambda: ballast.loss_totals(-counts.numpy(), "hf")),
            (lambda: OPS.loss_totals(counts, "hg"), lambda: ballast.loss_totals(counts.numpy(), "hg")),
            (
                lambda: OPS.sequence_weights(2 * counts, totals, "hf"),
                lambda: ballast.sequence_weights(2 * counts.numpy(), totals.numpy(), "hf"),
            ),
            (
                lambda: OPS.sequence_weights(counts, totals, "hf", ranks=0),
                lambda: ballast.sequence_weights(counts.numpy(), totals.numpy(), "hf", ranks=0),
            ),
            (
                lambda: OPS.sequence_weights(counts, totals[1:], "hf"),
                lambda: ballast.sequence_weights(counts.numpy(), totals.numpy()[1:], "hf"),
            ),
        ):
            self.assertEqual(error_of(op), error_of(host))

    def test_sentences_of_operators(self):
        tensor = torch.tensor
        cu, labels, table = tensor([0, 3]), tensor([1, 2, 3]), tensor([0, 1, 3])
        losses, weight = torch.rand(3), torch.ones(1, dtype=torch.float64)
        for words, call in (
            ("position_ids: cu is Float: it must be int32 or int64", lambda: OPS.position_ids(cu.float(), 3)),
            ("position_ids: cu has 2 dimensions: it must have 1", lambda: OPS.position_ids(cu.view(1, 2), 3)),
            ("position_ids: cu is empty: it begins with a 0", lambda: OPS.position_ids(cu[:0], 3)),
            ("position_ids: row = -3 must not be negative", lambda: OPS.position_ids(cu, -3)),
            ("offsets must rise from 0 to the 1 sequences", lambda: OPS.position_ids(cu, 3, offsets=tensor([0, 2]))),
            ("cu_seqlens[1] = -1 is below its predecessor 0", lambda: OPS.segment_ids(tensor([0, -1]), 3)),
            ("pack: 3 samples do not make packs in a mult", lambda: OPS.pack(labels, 9, pack_count_multiple=4)),
            ("pack_count_multiple = 0 must be positive", lambda: OPS.pack(labels, 9, pack_count_multiple=0)),
            ("cu has 2 entries for 3 packs", lambda: OPS.position_ids(cu, 3, offsets=tensor([0, 0, 0, 1]))),
            ("max_items = -1 must not be negative", lambda: OPS.pack(labels, 9, max_items=-1)),
            ("segment_ids: padded has 2 entries of Int", lambda: OPS.segment_ids(cu, 3, padded=cu.int())),
            ("row = 3 is not a multiple of ranks = 2", lambda: OPS.zigzag_indices(cu, 3, ranks=2, rank=0)),
            ("costs[2] = 0 must not be below its predecessor", lambda: OPS.sample_costs(labels, tensor([0, 1, 0]))),
            ("lengths[2] = 3", lambda: OPS.sample_costs(labels, table)),
            ("lengths[2] = 3", lambda: OPS.pack_costs(labels, tensor([0, 3]), table)),
            ("3", lambda: OPS.segment_loads(labels, tensor([0, 3]), 3)),
            ("2147483647", lambda: OPS.clip_rows(labels + 2**32, 9, 1)),
            ("experts = -1 must be in [0, 2^31)", lambda: OPS.clip_rows(labels, -1, 1)),
            ("expert_of[1] = -5 must not be negative", lambda: OPS.clip_rows(tensor([0, -5]), 4, 1)),
            ("members[1] = -1 must not be negative", lambda: OPS.cu_seqlens(labels, tensor([0, -1]))),
            ("members[1] = -1 must not be negative", lambda: OPS.cu_seqlens(labels, tensor([0, -1]).int())),
            ("members[0] = -7 must not be negative", lambda: OPS.context_cu_seqlens(labels, tensor([-7]), ranks=2)),
            ("losses has 2 entries and labels 3", lambda: OPS.weighted_loss(losses[1:], labels, cu, weight)),
            ("weights has 0 entries and cu 2", lambda: OPS.weighted_loss(losses, labels, cu, weight[1:])),
            ("weights is Float: it must be float64", lambda: OPS.weighted_loss(losses, labels, cu, weight.float())),
            ("there must be 1 to 4", lambda: OPS.pack_measures([labels] * 5, [9] * 5)),
            ("a measure has 1 entries and the first 3", lambda: OPS.pack_measures([labels, cu[1:]], [9, 9])),
            ("capacity has 1 entries for 2 measures", lambda: OPS.pack_measures([labels, labels], [9])),
            ("pack: 3 samples do not make packs", lambda: OPS.pack_measures([labels], [9], pack_count_multiple=4)),
            ("3", lambda: OPS.pack_levels(labels, [1, 2])),
            ("is below", lambda: OPS.sequence_lengths(tensor([3, 2]))),
            ("unpad_rows: mask has 1 dimensions: it must have 2", lambda: OPS.unpad_rows(labels)),
            ("width = 0 must be positive", lambda: OPS.unpad_rows(labels.view(3, 1)[:, :0])),
            (
                "gather_rows: sample 0 has 3 tokens but room for only 2 in pack 0",
                lambda: OPS.gather_rows(losses, tensor([0, 2]), cu, labels[:1] - 1, 3),
            ),
            (
                "scatter_rows: starts ends at 3, but there are values of 2 tokens",
                lambda: OPS.scatter_rows(losses, cu, cu, labels[:1] - 1, 2),
            ),
            ("cu has 2 entries for 3 members in 1 packs", lambda: OPS.gather_rows(losses, cu, cu, labels, 3)),
            (
                "elements of ComplexDouble have 16 bytes",
                lambda: OPS.gather_rows(losses.to(torch.complex128), cu, cu, labels[:1] - 1, 3),
            ),
            ("cu_seqlens ends at 3, but there are 2 values", lambda: OPS.segment_figures(losses[1:], cu)),
            ("segment_figures: values is Half: it must be", lambda: OPS.segment_figures(losses.half(), cu)),
            (
                "factor must be one number",
                lambda: OPS.token_weights(weight, labels, cu, losses, dtype=torch.float32),
            ),
            ("dtype is Int: it must be float32", lambda: OPS.token_weights(weight, labels, cu, dtype=torch.int32)),
            ("losses is Int", lambda: OPS.weighted_loss(losses.int(), labels, cu, weight)),
        ):
            self.assertIn(words, error_of(call))

    def test_not_checked(self):
        """With check=False nothing is said of bad data, and good data give the same."""
        cu = torch.tensor([0, 3, 5])
        self.assertEqual(OPS.position_ids(torch.tensor([0, 9]), 3, check=False).shape, (3,))
        self.assertTrue(torch.equal(OPS.position_ids(cu, 6, check=False), OPS.position_ids(cu, 6)))

    def test_what_is_missing(self):
        for before, variables, words in (
            ("", {"PATH": "", "CXX": "c++"}, "which has no c++: install it"),
            ("", {"CXX": "no-compiler -m64"}, "which has no no-compiler: install it"),
            ("", {"BALLAST_OPS": "/nowhere/ops.so"}, "/nowhere/ops.so"),
            ("import sys; sys.modules['torch'] = None; ", {}, "ballast.ops needs PyTorch: pip install torch"),
        ):
            program = before + "import ballast.ops"
            environment = {**os.environ, "BALLAST_OPS": "", **variables}
            ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
            self.assertEqual(ended.returncode, 1)
            self.assertIn(words, ended.stderr.splitlines()[-1])


def samples_of_operators():
    """Arguments of every operator, for opcheck."""
    lengths, cu = torch.tensor([5, 3, 7, 2]), torch.tensor([0, 8, 16])
    members, offsets, table = torch.tensor([2, 3, 0, 1]), torch.tensor([0, 2, 4]), torch.arange(9)
    labels, counts = torch.arange(16) % 5, torch.tensor([4, 0])
    totals, losses = OPS.loss_totals(counts, "hf"), torch.rand(16, requires_grad=True)
    weights = OPS.sequence_weights(counts, totals, "hf")
    narrow = losses.detach().bfloat16().requires_grad_()
    stored, rows = torch.rand(17, 4, requires_grad=True), torch.rand(2, 12, 4, requires_grad=True)
    packs = torch.tensor([0, 7, 9, 0, 5, 8]), torch.tensor([0, 5, 8, 15, 17]), members
    one = cu, torch.tensor([0, 3, 11]), torch.tensor([1, 0])
    return {
        "pack": [((lengths, 9), {})],
        "next_fit": [((lengths, 9), {"max_items": 2})],
        "cu_seqlens": [((lengths,), {}), ((lengths, members, offsets), {"multiple": 4})],
        "max_seqlen": [((cu,), {})],
        "position_ids": [((cu, 20), {}), ((torch.tensor([0, 5, 0, 3, 9]), 9), {"offsets": torch.tensor([0, 1, 3])})],
        "segment_ids": [((cu, 20), {"padded": cu})],
        "zigzag_indices": [((cu, 16), {"ranks": 2, "rank": 1})],
        "zigzag_inverse": [((cu, 16), {"ranks": 2})],
        "sample_costs": [((lengths, table), {})],
        "pack_costs": [((lengths, offsets, table), {"members": members})],
        "segment_loads": [((labels, cu, 5), {})],
        "clip_rows": [((labels, 5, 2), {})],
        "label_counts": [((labels, cu), {"ignore": 2})],
        "loss_totals": [((counts, "hf"), {})],
        "sequence_weights": [((counts, totals, "hf"), {"part": totals})],
        "weighted_loss": [((losses, labels, cu, weights), {"shifted": True}), ((narrow, labels, cu, weights), {})],
        "token_weights": [((weights, labels, cu, losses.detach()[:1].requires_grad_()), {"dtype": torch.bfloat16})],
        "segment_figures": [((losses.detach(), cu), {}), ((labels, cu), {})],
        "pack_measures": [(([lengths, members], [9, 4]), {"max_items": 2})],
        "pack_levels": [((lengths, [4, 8]), {})],
        "context_cu_seqlens": [((lengths, members, offsets), {"ranks": 2, "rank": 1}), ((lengths,), {"ranks": 2})],
        "sequence_lengths": [((cu,), {})],
        "unpad_rows": [((labels.view(4, 4),), {})],
        "gather_rows": [((stored, *packs, 12, offsets), {"padding": -1}), ((losses, *one, 20), {})],
        "scatter_rows": [((rows, *packs, 17, offsets), {}), ((losses, *one, 16), {})],
    }


class Compiled(unittest.TestCase):
    def test_tensors_without_data_beside_others_are_refused(self):
        lengths, members = torch.tensor([3, 4]), torch.tensor([0], device="meta")
        with self.assertRaisesRegex(ValueError, "cu_seqlens: a tensor is on meta and the first on cpu: move one of them"):
            OPS.cu_seqlens(lengths, members)
        self.assertEqual(OPS.cu_seqlens(lengths.to("meta"), members).shape, (2,))

    def test_opcheck(self):
        given = samples_of_operators()
        every = [schema.name.split("::") for schema in torch._C._jit_get_all_schemas()]
        schemas = {name for space, name in every if space == "ballast"}
        self.assertEqual(schemas, set(given))  # a new operator is checked, too
        for name, calls in given.items():
            for arguments, options in calls:
                with self.subTest(name), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    torch.library.opcheck(getattr(OPS, name).default, arguments, options)

    def test_step(self):
        """A step from lengths to the gradient, in one graph for several batches of other sizes."""
        torch.manual_seed(1)
        embedding, head = torch.randn(11, 4, requires_grad=True), torch.randn(4, 11, requires_grad=True)

        def step(lengths, members, offsets, tokens):
            cu = OPS.cu_seqlens(lengths, members[: offsets[1].item()])
            x = embedding[tokens] + OPS.position_ids(cu, tokens.numel())[:, None] % 7
            counts = OPS.label_counts(tokens, cu)
            weights = OPS.sequence_weights(counts, OPS.loss_totals(counts, "hf"), "hf")
            losses = torch.nn.functional.cross_entropy((x @ head)[:-1], tokens[1:], reduction="none")
            return OPS.weighted_loss(torch.nn.functional.pad(losses, (1, 0)), tokens, cu, weights)[0]

        def planned(lengths, tokens):
            return step(lengths, *reversed(OPS.pack(lengths, 50)), tokens)

        torch._dynamo.config.capture_scalar_outputs = True
        compiled = torch.compile(planned, fullgraph=True, backend="aot_eager", dynamic=True)
        for seed in range(3):
            rng = torch.Generator().manual_seed(seed)
            lengths = torch.randint(1, 20, (30 + seed,), generator=rng)
            tokens = torch.randint(0, 11, (50 + seed,), generator=rng)
            gradients = []
            for run in (planned, compiled):
                loss = run(lengths, tokens)
                gradients.append([loss.detach(), *torch.autograd.grad(loss, (embedding, head))])
            for eager, other in zip(*gradients):
                torch.testing.assert_close(other, eager)

    def test_step_of_the_docs(self):
        """The program of docs/torch-ops.md makes the gradient of samples that stand alone."""
        from support import LENGTHS, Tiny, gradient, tokens, unpacked_gradient

        path = os.path.join(os.path.dirname(__file__), "../../docs/torch-ops.md")
        with open(path) as file:
            program = file.read().partition("```python\n")[2].partition("\n```")[0]
        model, some = Tiny(), range(40)
        names = {
            "samples": [torch.tensor(tokens(i)) for i in some],
            "capacity": 64,
            "model": lambda tokens, positions: model(tokens[None], positions[None])[0],
        }
        exec(program, names)
        self.assertGreater(len(names["packs"]), LENGTHS[:40].sum() // 64)
        torch.testing.assert_close(gradient(model), unpacked_gradient(some))


if __name__ == "__main__":
    unittest.main()
