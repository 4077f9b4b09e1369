# SPDX-License-Identifier: Apache-2.0
"""Feeds a torch DataLoader from a folder written by `ballast plan --out`. Each micro-batch is one pack: a list of sample indices.

    loader = DataLoader(dataset, batch_sampler=PlannedBatches("plan", rank), collate_fn=your_packing_collate)

Of a plan in levels, in which ranks share packs, `shards` yields what `ballast.execute` runs:

    for setting, samples, shards in PlannedBatches("plan", rank, first_step=done).shards(lengths):
        for work in passes(shards, rank, counts[samples], groups): ...
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ballast import Shards


class PlannedBatches:  # any iterable of index lists serves as a batch_sampler
    def __init__(self, folder: str, rank: int, first_step: int = 0) -> None:
        with open(f"{folder}/plan.json") as file:
            self.plan: dict[str, Any] = json.load(file)
        if self.plan["schema"] > 2:  # see docs/formats.md
            raise ValueError(f"{folder}: format {self.plan['schema']} is newer than 2, the newest that this class reads; plan again with an older ballast")
        self.offsets, self.members = np.load(f"{folder}/offsets.npy"), np.load(f"{folder}/members.npy")
        self.places: NDArray[np.int32] = np.load(f"{folder}/steps.npy")[first_step:]  # of each step, rank and micro-batch
        self.table = self.places[:, rank]
        self.packs = self.table[self.table >= 0]  # -1 marks a place without a pack
        levels = f"{folder}/levels.npy"  # of a plan in levels: the level of each step
        self.levels: NDArray[np.int32] = np.load(levels)[first_step:] if os.path.exists(levels) else np.zeros(len(self.table), np.int32)

    def __len__(self) -> int:
        return len(self.packs)

    def __iter__(self) -> Iterator[list[int]]:
        return (self.pack(p) for p in self.packs)

    def pack(self, number: int) -> list[int]:
        return self.members[self.offsets[number]:self.offsets[number + 1]].tolist()

    @property
    def settings(self) -> list[tuple[int, int, int]]:
        """Of each level: tokens of a pack, ranks that share it, recomputed layers."""
        keys = ("length", "sp", "recomputed_layers")
        return [tuple(level[key] for key in keys) for level in self.plan.get("levels", [])] or [(self.plan["capacity"], 1, 0)]

    def steps(self) -> Iterator[tuple[int, list[list[int]]]]:
        """Of each step, its level and its packs: ranks that share a pack have the same."""
        return ((int(level), [self.pack(p) for p in packs if p >= 0]) for level, packs in zip(self.levels, self.table))

    def shards(self, lengths: ArrayLike, layout: str = "zigzag") -> Iterator[tuple[tuple[int, int, int], NDArray[np.uint32], Shards]]:
        """Of each step, its setting, the samples of all ranks, and the step as shards, which number these samples from 0.

        `lengths` are the tokens of each sample, in the order of the files that were planned. Needs the package ballast.
        """
        from ballast import share_packs

        tokens = self._packed(np.asarray(lengths, np.int64))
        for level, places in zip(self.levels, self.places):
            _, degree, _ = setting = self.settings[level]
            firsts = range(0, len(places), degree)
            used = [(first, p) for place in places.T for first, p in zip(firsts, place[::degree]) if p >= 0]
            packs = [(first, np.array(self.pack(p), np.uint32)) for first, p in used]
            yield setting, np.concatenate([pack for _, pack in packs]), share_packs(
                [tokens[pack] for _, pack in packs], first=[first for first, _ in packs], degree=degree, ranks=len(places), layout=layout
            )

    def _packed(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tokens of each sample as it is packed, then of each piece of split ones."""
        if len(lengths) != self.plan["samples"]:
            raise ValueError(f"lengths has {len(lengths)} entries, but {self.plan['samples']} samples were planned")
        pieces = np.array([(p["sample"], p["offset"], p["length"]) for p in self.plan.get("pieces", [])], np.int64).reshape(-1, 3)
        lengths = np.minimum(lengths, self.plan["capacity"]) if self.plan["options"]["oversize"] == "truncate" else lengths.copy()
        np.minimum.at(lengths, pieces[:, 0], pieces[:, 1])  # the first piece ends where the second begins
        return np.concatenate([lengths, pieces[:, 2]])
