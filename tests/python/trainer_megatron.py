# SPDX-License-Identifier: Apache-2.0
"""ballast.megatron: files that megatron-core's reader takes, and reads those that its writer makes."""

import os
import tempfile
import unittest

import numpy as np
import torch

import ballast
from ballast.megatron import TYPES, PackedBatches, Sequences, lengths, write
from ballast.torch import Plan

try:
    from megatron.core.datasets import indexed_dataset as core
except ImportError:
    core = None

SIZES = np.random.default_rng(4).integers(1, 30, 60)


def rows(low=0, high=100):
    return [np.random.default_rng(i).integers(low, high, n) for i, n in enumerate(SIZES)]


class TestFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.prefix = os.path.join(self.folder.name, "corpus")

    def tearDown(self):
        self.folder.cleanup()

    def test_written_packs_come_back(self):
        packing, samples = ballast.pack(SIZES, capacity=64), rows()
        for kind in (np.uint16, np.int32, np.int64):
            write(self.prefix, [[samples[i] for i in pack] for pack in packing.packs], kind)
            order = np.concatenate([np.asarray(pack) for pack in packing.packs])
            read = Sequences(self.prefix)
            self.assertEqual(np.diff(read.documents).tolist(), [len(pack) for pack in packing.packs])
            self.assertEqual([read[i].tolist() for i in range(len(read))], [samples[i].tolist() for i in order])
            self.assertEqual(lengths(self.prefix).tolist(), SIZES[order].tolist())
            if core is not None:
                other = core.IndexedDataset(self.prefix)
                self.assertEqual([other[i].tolist() for i in range(len(other))], [samples[i].tolist() for i in order])
                self.assertEqual(other.document_indices.tolist(), read.documents.tolist())

    @unittest.skipIf(core is None, "megatron-core is not installed")
    def test_reads_what_megatron_core_writes(self):
        for kind in TYPES.values():
            builder = core.IndexedDatasetBuilder(f"{self.prefix}.bin", dtype=kind)
            samples = rows()
            for i, row in enumerate(samples):
                builder.add_item(torch.from_numpy(row))
                if i % 7 == 0:
                    builder.end_document()
            builder.end_document()
            builder.finalize(f"{self.prefix}.idx")
            read = Sequences(self.prefix)
            self.assertEqual(lengths(self.prefix).tolist(), SIZES.tolist())
            self.assertEqual([read[i].tolist() for i in range(60)], [row.tolist() for row in samples], kind)
            self.assertTrue(read.lengths.flags.aligned)

    def test_micro_batches_of_a_plan(self):
        samples = rows(1)
        write(self.prefix, [[row] for row in samples])
        for multiple in (1, 4):
            plan = Plan(
                lengths(self.prefix, multiple),
                capacity=64,
                ranks=2,
                micro_batches=2,
                epochs=2,
                seed=1,
                cost=ballast.token_cost(),
            )
            seen = []
            for rank in range(2):
                batches = PackedBatches(self.prefix, plan, rank, multiple=multiple)
                lists = list(plan.batches(rank, one_epoch=True))
                for members, batch in zip(lists, batches, strict=True):
                    self.assertLessEqual(batch["tokens"].shape[1], 64)
                    ends, room = batch["cu_seqlens"].tolist(), batch["cu_seqlens_padded"].tolist()
                    for k, i in enumerate(members):
                        n, at = len(samples[i]), room[k]
                        self.assertEqual((ends[k + 1] - ends[k], at % multiple), (n, 0))
                        self.assertEqual(batch["tokens"][0, at : at + n].tolist(), samples[i].tolist())
                        self.assertEqual(batch["labels"][0, at : at + n - 1].tolist(), samples[i][1:].tolist())
                        self.assertEqual(batch["loss_mask"][0, at : room[k + 1]].sum(), n - 1)
                        self.assertEqual(batch["position_ids"][0, at : at + n].tolist(), list(range(n)))
                    self.assertEqual(batch["max_seqlen"], max(np.diff(room)))
                    seen += members
                self.assertIsNone(next(batches, None))  # nothing is trained twice
            self.assertEqual(sorted(seen), sorted(2 * list(range(60))))

    def test_what_is_refused(self):
        write(self.prefix, [[[1, 2]], [[3]]])
        with self.assertRaisesRegex(ValueError, "pack 1 has a token that uint8"):
            write(f"{self.prefix}2", [[[1]], [[300]]], np.uint8)
        with self.assertRaisesRegex(ValueError, "not among Megatron's"):
            write(self.prefix, [], np.float16)
        data = open(f"{self.prefix}.idx", "rb").read()
        for changed, sentence in (
            (b"X" + data[1:], "MMIDIDX"),
            (data[:9] + b"\2" + data[10:], "version 2"),
            (data[:-8], "ends early"),
        ):
            with open(f"{self.prefix}.idx", "wb") as file:
                file.write(changed)
            with self.assertRaisesRegex(ValueError, sentence):
                Sequences(self.prefix)


if __name__ == "__main__":
    unittest.main()
