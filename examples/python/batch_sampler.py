# SPDX-License-Identifier: Apache-2.0
"""Feeds a torch DataLoader from a folder written by `ballast plan --out`. Each micro-batch is one pack: a list of sample indices.

    loader = DataLoader(dataset, batch_sampler=PlannedBatches("plan", rank), collate_fn=your_packing_collate)
"""
import json
import os

import numpy as np


class PlannedBatches:  # any iterable of index lists serves as a batch_sampler
    def __init__(self, folder, rank, first_step=0):
        with open(f"{folder}/plan.json") as file:
            plan = json.load(file)
        if plan["schema"] > 2:  # see docs/formats.md
            raise ValueError(f"{folder}: format {plan['schema']} is newer than 2, the newest that this class reads; plan again with an older ballast")
        self.offsets, self.members = np.load(f"{folder}/offsets.npy"), np.load(f"{folder}/members.npy")
        self.table = np.load(f"{folder}/steps.npy")[first_step:, rank]
        self.packs = self.table[self.table >= 0]  # -1 marks a place without a pack
        levels = f"{folder}/levels.npy"  # of a plan in levels: the level of each step
        self.levels = np.load(levels)[first_step:] if os.path.exists(levels) else np.zeros(len(self.table), np.int32)

    def __len__(self):
        return len(self.packs)

    def __iter__(self):
        return (self.pack(p) for p in self.packs)

    def pack(self, number):
        return self.members[self.offsets[number]:self.offsets[number + 1]].tolist()

    def steps(self):
        """Of each step, its level and its packs: ranks that share a pack have the same."""
        return ((int(level), [self.pack(p) for p in packs if p >= 0]) for level, packs in zip(self.levels, self.table))
