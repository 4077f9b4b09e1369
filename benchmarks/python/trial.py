# SPDX-License-Identifier: Apache-2.0
"""Trains a stock Qwen3 from a config on two gloo ranks by four ways of making steps, and prints what ranks wait and
what an epoch takes. Needs ballast, torch, transformers, trl and datasets in one environment:

    python benchmarks/python/trial.py

Times are processor time of each rank's own process, so that a machine with other work does not count as waiting: a step
takes as long as its slowest rank, and ranks wait 1 - sum of all times / (ranks * sum of the slowest). Attention is
computed sample by sample, as flash_attention_2 does it for packed rows on a GPU. Ways of making steps are:

- naive order: equally many samples in each row, in random order, without a limit of tokens;
- next fit: packs of the samples in random order;
- TRL bfd: rows of `trl.pack_dataset`, shuffled and dealt out as its trainer does;
- ballast: `ballast.torch.Plan` by the times of rows that were measured on this machine before.

In the control both ranks train on the same rows: what it waits is the error of the measurement.
"""

import argparse
import contextlib
import multiprocessing
import pathlib
import statistics
import tempfile
import time

import numpy as np
import torch
from transformers import AttentionInterface, Qwen3Config, Qwen3ForCausalLM

from ballast.torch import Packed, Plan

RANKS, VOCABULARY = 2, 512
WAYS = ("naive order", "next fit", "TRL bfd", "ballast", "control")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name, value, meaning in (
        ("seeds", 6, "draws of lengths and orders"),
        ("samples", 160, "samples of an epoch"),
        ("capacity", 2048, "tokens of a row; longer samples are cut"),
        ("layers", 1, "layers"),
        ("width", 64, "hidden size"),
    ):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{meaning} ({value})")
    return parser.parse_args()


def by_sample(module, query, key, value, mask, scaling=None, cu_seq_lens_q=None, **_):
    """Causal attention of each sample of a row alone."""
    ends = cu_seq_lens_q.tolist()
    rows = [
        torch.nn.functional.scaled_dot_product_attention(
            *(x[:, :, a:b] for x in (query, key, value)), is_causal=True, scale=scaling, enable_gqa=True
        )
        for a, b in zip(ends, ends[1:])
    ]
    return torch.cat(rows, dim=2).transpose(1, 2), None


def lengths_of(asked, seed):
    draw = np.random.default_rng(seed).lognormal(np.log(asked.capacity / 10), 1.1, asked.samples)
    return draw.astype(np.int64).clip(2, asked.capacity)


class Trainee:
    """The model, and steps of it."""

    def __init__(self, asked):
        torch.set_num_threads(1)
        torch.manual_seed(0)
        AttentionInterface.register("by_sample", by_sample)
        config = Qwen3Config(
            vocab_size=VOCABULARY,
            hidden_size=asked.width,
            intermediate_size=3 * asked.width,
            num_hidden_layers=asked.layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=asked.width // 4,
            max_position_embeddings=asked.capacity,
            attn_implementation="by_sample",
        )
        self.model = self.wrapped = Qwen3ForCausalLM(config)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.collate = Packed(huggingface=True)

    def step(self, rows, labels=1):
        """Trains on rows of lengths; returns the seconds of processor time."""
        draw = np.random.default_rng(sum(map(len, rows)))
        batches = [self.collate([draw.integers(0, VOCABULARY, n) for n in row]) for row in rows]
        begin = time.process_time()
        for place, batch in enumerate(batches):
            last = place + 1 == len(batches) or self.wrapped is self.model
            with contextlib.nullcontext() if last else self.wrapped.no_sync():
                self.wrapped(**batch, num_items_in_batch=labels / RANKS).loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return time.process_time() - begin


def measured_cost(asked):
    """The nanoseconds that a row takes beside its samples, and those of a sample, fitted to rows of equal samples."""
    trainee, rows, length = Trainee(asked), [], 8
    while length <= asked.capacity:
        rows += [[length] * count for count in {1, asked.capacity // 2 // length or 1, asked.capacity // length}]
        length *= 2
    trainee.step([rows[0]])
    times = [statistics.median(trainee.step([row]) for _ in range(5)) for row in rows]
    work = np.array([[1, len(row), sum(row), sum(n * n for n in row)] for row in rows], dtype=float)
    used = [0, 1, 2, 3]
    while True:  # least squares of relative errors, without terms that would be negative
        found = np.linalg.lstsq(work[:, used] / np.array(times)[:, None], np.ones(len(rows)), rcond=None)[0]
        if min(found) >= 0:
            break
        used = [term for term, value in zip(used, found) if value > min(found)]
    terms = [0.0] * 4
    for term, value in zip(used, found):
        terms[term] = 1e9 * value
    fixed, each, token, pair = terms
    longest = 1 + each + token * asked.capacity + pair * asked.capacity**2
    print(
        f"A sample of l tokens takes {each / 1e3:.0f} + {token / 1e3:.2f} l + {pair / 1e3:.5f} l^2 us, a row "
        f"{fixed / 1e3:.0f} us; of the longest sample, pairs take {pair * asked.capacity**2 / longest:.0%}"
    )
    return fixed, lambda n: 1 + int(each + token * n + pair * n * n)


def dealt(rows, micro_batches):
    """Steps of ranks of rows: rows in turns, the first ones once more at the end where a rank would have none."""
    rows = rows + rows[: -len(rows) % RANKS]
    turns = [rows[i : i + RANKS] for i in range(0, len(rows), RANKS)]
    steps = [turns[i : i + micro_batches] for i in range(0, len(turns), micro_batches)]
    return [[[turn[rank] for turn in step] for rank in range(RANKS)] for step in steps]


def next_fit(lengths, order, capacity):
    rows, room = [], 0
    for i in order:
        if lengths[i] > room:
            rows.append([])
            room = capacity
        rows[-1].append(i)
        room -= lengths[i]
    return rows


def trl_rows(lengths, capacity):
    """The samples of each row of TRL's bfd; the tokens of a sample are its index."""
    import datasets
    from trl.data_utils import pack_dataset

    datasets.disable_progress_bars()
    data = datasets.Dataset.from_dict({"input_ids": [[i] * int(n) for i, n in enumerate(lengths)]})
    packed = pack_dataset(data, capacity, "bfd")
    return [[row["input_ids"][at] for at in np.cumsum([0, *row["seq_lengths"]])[:-1]] for row in packed]


def plans_of(asked, seed, micro_batches, cost, rows_of_trl):
    """Steps of ranks of rows of samples, by each way."""
    lengths, draw = lengths_of(asked, seed), np.random.default_rng(1000 + seed)
    order = draw.permutation(len(lengths)).tolist()
    packs = next_fit(lengths, order, asked.capacity)
    each = max(len(lengths) // len(packs), 1)
    plan = Plan(lengths, capacity=asked.capacity, ranks=RANKS, micro_batches=micro_batches, seed=seed, cost=cost)
    samplers = [list(plan.batches(rank, one_epoch=True)) for rank in range(RANKS)]
    own = [[rank[s : s + micro_batches] for rank in samplers] for s in range(0, len(samplers[0]), micro_batches)]
    steps = {
        "naive order": dealt([order[i : i + each] for i in range(0, len(order), each)], micro_batches),
        "next fit": dealt(packs, micro_batches),
        "TRL bfd": dealt([rows_of_trl[i] for i in draw.permutation(len(rows_of_trl))], micro_batches),
        "ballast": own,
    }
    for name, planned in steps.items():
        trained = {i for step in planned for rank in step for row in rank for i in row}
        assert len(trained) == len(lengths), f"{name} leaves out samples"
    steps["control"] = [[step[0]] * RANKS for step in own]
    return {name: [[[[int(lengths[i]) for i in row] for row in r] for r in s] for s in p] for name, p in steps.items()}


def labels_in(step):
    return sum(n - 1 for rank in step for row in rank for n in row)


def train(rank, asked, runs, folder):
    """Trains all plans; the ways take turns. Saves the seconds of this rank in each step."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    trainee = Trainee(asked)
    trainee.wrapped = torch.nn.parallel.DistributedDataParallel(trainee.model)
    for _ in range(5):
        trainee.step([[asked.capacity // 2] * 2], asked.capacity)
    times = [{name: [0.0] * len(plan[name]) for name in plan} for plan in runs]
    for own, plan in zip(times, runs):
        for turn in range(max(map(len, plan.values()))):
            for name, steps in plan.items():
                if turn < len(steps):
                    own[name][turn] = trainee.step(steps[turn][rank], labels_in(steps[turn]))
    torch.save(times, f"{folder}/{rank}.pt")


def on_ranks(asked, runs):
    """The seconds of both ranks in each step of each way: by run, way and step."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [context.Process(target=train, args=(rank, asked, runs, folder)) for rank in range(RANKS)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
        if any(process.exitcode for process in ranks):
            raise SystemExit("a rank has failed; what went wrong is printed above")
        found = [torch.load(pathlib.Path(folder) / f"{rank}.pt", weights_only=False) for rank in range(RANKS)]
    return [{name: np.array([own[name] for own in each]).T for name in each[0]} for each in zip(*found)]


def waiting(times):
    return max(1 - times.sum() / (RANKS * times.max(axis=1).sum()), 0.0)


def spread(values, form):
    return f"{statistics.mean(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def table(asked, runs, times, fixed, cost):
    """Markdown. Figures of a way are the mean over the seeds, and the least and the largest of them."""
    lines = [
        "| way | steps | ranks wait | by the fitted cost | an epoch, TRL bfd = 1 |",
        "|---|---|---|---|---|",
    ]

    def fitted(steps):
        return np.array([[sum(fixed + sum(map(cost, row)) for row in rank) for rank in step] for step in steps])

    for name in WAYS:
        expected = statistics.mean(waiting(fitted(plan[name])) for plan in runs)
        epochs = [each[name].max(axis=1).sum() / each["TRL bfd"].max(axis=1).sum() for each in times]
        steps = statistics.mean(len(plan[name]) for plan in runs)
        lines.append(
            f"| {name} | {steps:.0f} | {spread([waiting(each[name]) for each in times], '.1%')} | "
            f"{expected:.1%} | {'' if name == 'control' else spread(epochs, '.2f')} |"
        )
    return "\n".join(lines)


def main():
    asked = arguments()
    fixed, cost = measured_cost(asked)
    rows = [trl_rows(lengths_of(asked, seed), asked.capacity) for seed in range(asked.seeds)]
    of = {m: [plans_of(asked, seed, m, cost, rows[seed]) for seed in range(asked.seeds)] for m in (1, 4)}
    times_of = on_ranks(asked, of[1] + of[4])
    for micro_batches, runs in of.items():
        times, times_of = times_of[: asked.seeds], times_of[asked.seeds :]
        print(
            f"\nMicro-batches of a rank in a step: {micro_batches}; {asked.samples} samples, {asked.capacity} tokens a "
            f"row, {asked.seeds} seeds\n\n{table(asked, runs, times, fixed, cost)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
