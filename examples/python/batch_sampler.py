# SPDX-License-Identifier: Apache-2.0
"""Feeds a torch DataLoader from a folder that `ballast plan --out` wrote: one pack, a list of sample indices, per micro-batch.

    loader = DataLoader(dataset, batch_sampler=PlannedBatches("plan", rank), collate_fn=your_packing_collate)
"""
import json

import numpy as np


class PlannedBatches:  # any iterable of index lists serves as a batch_sampler
    def __init__(self, folder, rank, first_step=0):
        with open(f"{folder}/plan.json") as file:
            plan = json.load(file)
        if plan["schema"] > 1:  # docs/formats.md
            raise ValueError(f"{folder}: is of format {plan['schema']}, and formats up to 1 are read here; plan again with an older ballast")
        self.offsets, self.members = np.load(f"{folder}/offsets.npy"), np.load(f"{folder}/members.npy")
        packs = np.load(f"{folder}/steps.npy")[first_step:, rank].ravel()
        self.packs = packs[packs >= 0]  # places without a pack are -1

    def __len__(self):
        return len(self.packs)

    def __iter__(self):
        return (self.members[self.offsets[p]:self.offsets[p + 1]].tolist() for p in self.packs)
