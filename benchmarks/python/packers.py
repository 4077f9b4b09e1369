# SPDX-License-Identifier: Apache-2.0
"""ballast beside the planners of Python trainers, all in this process: TRL's packing, verl's partitions and
micro-batches, the `BatchRebalanceSampler` of transformers, and LightBinPack for few samples. Needs ballast, trl,
datasets, transformers, verl and lightbinpack in one environment:

    python benchmarks/python/packers.py [samples]

Times are the least of a few rounds where nothing else is said, printed as ratios to ballast's. The lengths are drawn
from a fixed seed.
"""

import logging
import statistics
import sys
import time

import numpy as np

import ballast

CAPACITY, RANKS, MICRO_BATCHES = 4096, 8, 4
COST = ballast.quadratic_cost(24576, 1)  # verl's workload of a sample


def lengths_of(count, seed=1):
    return np.random.default_rng(seed).lognormal(5.6, 1.1, count).astype(np.int64).clip(1, CAPACITY)


def timed(function, rounds=3):
    """What the function returns, and the seconds of its fastest call."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return result, best


def work(lengths, members):
    chosen = lengths[np.asarray(members)]
    return int((24576 * chosen + chosen * chosen).sum())


def packing(lengths):
    """Rows that hold all samples, and what they waste."""
    import datasets
    from trl.data_utils import pack_dataset as theirs

    from ballast.huggingface import pack_dataset as ours

    datasets.disable_progress_bars()
    datasets.disable_caching()
    data = datasets.Dataset.from_dict({"input_ids": [np.zeros(n, np.int32) for n in lengths]})
    packed, seconds = timed(lambda: ours(data, CAPACITY))
    print(
        f"Packing of {len(lengths)} samples into rows of {CAPACITY} tokens, as datasets; at least "
        f"{ballast.lower_bound(lengths, CAPACITY)} rows are needed"
    )
    print(f"  {'ballast.huggingface.pack_dataset':40} {len(packed):6} rows    time 1")
    for name, options in (("trl bfd, windows of 1000", {}), ("trl bfd, all rows at once", {"batch_size": None})):
        other, took = timed(lambda: theirs(data, CAPACITY, "bfd", {**options, "load_from_cache_file": False}), 1)
        print(f"  {name:40} {len(other):6} rows    time {took / seconds:.1f}")


def few():
    """Batches of few samples beside the fastest packer of LightBinPack for each, from lists as it takes them and from
    arrays; in turns, medians of 15 rounds."""
    import lightbinpack

    print("Packing of few samples: processor time of LightBinPack's fastest packer over ballast's, by list and array")
    for capacity in (512, 8192, 131072):
        for count in (20, 50, 100, 200, 500, 1000, 2000):
            packers = [lightbinpack.ffd, lightbinpack.bfd]
            if capacity <= 20 * count:  # its tables of the capacity alone take longer otherwise
                packers.append(lightbinpack.obfd)
            calls = max(1, 1000 // count)
            draws = [np.random.default_rng(s).lognormal(6.5, 1.4, count).clip(16, capacity) for s in range(16)]
            arrays = [lengths.astype(np.int32) for lengths in draws]
            lists = [lengths.tolist() for lengths in arrays]

            def spent(pack, batches):
                start = time.process_time()
                for _ in range(calls):
                    for lengths in batches:
                        pack(lengths, capacity)
                return time.process_time() - start

            ways = [(pack, lists) for pack in packers] + [(ballast.pack, lists), (ballast.pack, arrays)]
            rounds = [[spent(pack, batches) for pack, batches in ways] for _ in range(15)]
            *theirs, by_list, by_array = (statistics.median(spans) for spans in zip(*rounds))
            print(
                f"  capacity {capacity:6}  {count:4} samples    list {min(theirs) / by_list:.2f}    array "
                f"{min(theirs) / by_array:.2f}"
            )


def partitions(lengths):
    """The slowest rank over the mean, where all ranks get equally many samples."""
    import verl.utils.seqlen_balancing as theirs

    import ballast.verl as ours

    print("Partitions of equal size: slowest rank over the mean, mean of 20 batches")
    for per_rank in (8, 32, 128):
        count, found = per_rank * RANKS, []
        for function in (ours.get_seqlen_balanced_partitions, theirs.get_seqlen_balanced_partitions):
            worst, seconds = [], 0.0
            for batch in range(20):
                start = count * batch % (len(lengths) - count)
                weights = [work(lengths, [i]) for i in range(start, start + count)]
                parts, took = timed(lambda: function(weights, RANKS, True))
                loads = [sum(weights[i] for i in part) for part in parts]
                worst.append(max(loads) * RANKS / sum(loads))
                seconds += took
            found.append((np.mean(worst), seconds))
        (mine, own), (other, took) = found
        print(
            f"  {count:5} samples on {RANKS} ranks    ballast {mine:.5f}    verl {other:.5f}    time of verl "
            f"{took / own:.1f}"
        )


def micro_batches(lengths):
    """Micro-batches under a token limit: how many, and the most expensive over the mean."""
    import torch
    import verl.utils.seqlen_balancing as theirs
    from tensordict import TensorDict

    import ballast.verl as ours

    print(f"Micro-batches of at most {CAPACITY} tokens: sum over 50 batches of 64 samples")
    found = []
    batches = [np.random.default_rng(b).choice(lengths, 64) for b in range(50)]
    tensors = [
        TensorDict(
            {
                "input_ids": torch.nested.as_nested_tensor(
                    [torch.zeros(n, dtype=torch.int64) for n in batch], layout=torch.jagged
                )
            },
            batch_size=[64],
        )
        for batch in batches
    ]
    for function in (ours.rearrange_micro_batches, theirs.rearrange_micro_batches):
        number, seconds, over = 0, 0.0, []
        for batch, tensor in zip(batches, tensors):
            (_, parts), took = timed(lambda: function(tensor, CAPACITY), 1)
            loads = [work(batch, part) for part in parts]
            number, seconds = number + len(parts), seconds + took
            over.append(max(loads) * len(loads) / sum(loads))
        found.append((number, seconds, np.mean(over)))
    (mine, own, level), (other, took, theirs_level) = found
    print(
        f"  ballast {mine}, most expensive over mean {level:.3f}    verl {other}, {theirs_level:.3f}    time of verl "
        f"{took / own:.2f}"
    )


def steps(lengths):
    """One epoch on all ranks: optimiser steps, padding, and the share of time that ranks wait for the slowest of each
    step."""
    from transformers.trainer_pt_utils import BatchRebalanceSampler

    plan, seconds = timed(
        lambda: ballast.plan_steps(lengths, capacity=CAPACITY, ranks=RANKS, micro_batches=MICRO_BATCHES, cost=COST)
    )
    per_step = len(lengths) // plan.steps

    def rebalanced():
        samplers = [
            BatchRebalanceSampler(lengths.tolist(), per_step, RANKS, MICRO_BATCHES, rank=r) for r in range(RANKS)
        ]
        return list(samplers[0]), samplers

    (_, samplers), took = timed(rebalanced, 1)
    own = [[plan.packs_of(step, rank) for rank in range(RANKS)] for step in range(plan.steps)]
    lists = [list(sampler) for sampler in samplers]
    other = [[rank[s : s + MICRO_BATCHES] for rank in lists] for s in range(0, len(lists[0]), MICRO_BATCHES)]
    print(
        f"Steps of one epoch, {RANKS} ranks with {MICRO_BATCHES} micro-batches; waiting by 24576 l + l^2 of unpadded "
        "samples"
    )
    for name, table, padded, ratio in (
        ("ballast.plan_steps", own, False, 1),
        ("transformers batch_rebalance", other, True, took / seconds),
    ):
        idle, tokens, largest = idle_of(lengths, table), real_tokens(lengths, table), row_tokens(lengths, table, padded)
        by_its_own = f" (by its own padded cost {idle_of(lengths, table, padded_cost):.2%})" if padded else ""
        print(
            f"  {name:30} {len(table):5} steps    waiting {idle:.2%}{by_its_own}    padding "
            f"{largest[0] / tokens - 1:.1%}    "
            f"largest micro-batch {largest[1]} tokens    samples {sum(len(p) for s in table for r in s for p in r)}   "
            f" time {ratio:.1f}"
        )


def padded_cost(lengths, members):
    """What BatchRebalanceSampler levels: every sample is padded to the longest of its micro-batch."""
    longest = int(lengths[np.asarray(members)].max())
    return len(members) * (longest + 0.001 * longest**2)


def idle_of(lengths, table, cost=work):
    loads = np.array([[sum(cost(lengths, pack) for pack in rank) for rank in step] for step in table])
    return 1 - loads.sum() / (loads.max(axis=1).sum() * RANKS)


def real_tokens(lengths, table):
    return sum(int(lengths[np.asarray(pack)].sum()) for step in table for rank in step for pack in rank)


def row_tokens(lengths, table, padded):
    """Tokens that are computed, padding among them, and those of the largest micro-batch."""
    rows = [lengths[np.asarray(pack)] for step in table for rank in step for pack in rank]
    sizes = [int(row.max()) * len(row) if padded else int(row.sum()) for row in rows]
    return sum(sizes), max(sizes)


def main():
    logging.disable(logging.WARNING)
    lengths = lengths_of(int(sys.argv[1]) if len(sys.argv) > 1 else 20000)
    packing(lengths)
    few()
    partitions(lengths)
    micro_batches(lengths)
    steps(lengths)


if __name__ == "__main__":
    main()
