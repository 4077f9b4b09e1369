# SPDX-License-Identifier: Apache-2.0
"""Times training steps of a small transformer under three plans of the same samples. One device plays every
data-parallel rank in turn, so a step takes as long as its slowest rank. Needs PyTorch, NumPy and the command line
`ballast`:

    python benchmarks/python/measured_steps.py --ballast build/lease/ballast --out results

1. Micro-batches of many lengths are timed on this device, and `ballast calibrate` fits the cost of a sample to them.
2. Three plans are made: naive (next fit in the order of the file), best fit (its packs in random order), and
   `ballast plan` with the cost that was measured.
3. Forward and backward of every micro-batch of some steps are timed. The plans take turns, so that each gets its share
   of the time.

The folder of results gets steps.jsonl (a line for each step, as it is timed), steps.md (the table, renewed after each
round), times.csv and cost.json. So whatever ends the program, what was measured stays.
"""

import argparse
import inspect
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

CUDA = torch.cuda.is_available()
DEVICE, TYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--ballast", required=True, type=pathlib.Path, help="the command line; libraries beside it are found"
    )
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder of results")
    parser.add_argument(
        "--lengths", type=pathlib.Path, help="a sample a line, whose numbers are added; 20,000 are drawn by default"
    )
    for name, value, meaning in (
        ("capacity", 65536, "tokens of a micro-batch; longer samples are cut"),
        ("ranks", 8, "data-parallel ranks"),
        ("micro-batches", 2, "micro-batches of a rank in a step"),
        ("steps", 8, "steps of each plan, drawn from the whole run"),
        ("layers", 8, "layers"),
        ("width", 1024, "hidden size"),
        ("heads", 8, "heads of attention"),
        ("vocabulary", 32000, "entries of the vocabulary"),
        ("seconds", 200, "no step begins after this time"),
    ):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{meaning} ({value})")
    return parser.parse_args()


def attend_one_by_one(q, k, v, offsets, longest):
    """Causal attention within each sample; q, k, v are tokens x heads x size."""
    parts = zip(*(x.transpose(0, 1).split(offsets.diff().tolist(), dim=1) for x in (q, k, v)))
    return torch.cat([F.scaled_dot_product_attention(*part, is_causal=True) for part in parts], dim=1).transpose(0, 1)


def fast_attention():
    """One kernel for all samples, if this PyTorch has it for this device and its results agree; else as above."""
    if not CUDA:
        return attend_one_by_one
    try:
        from torch.nn.attention.varlen import varlen_attn

        known = inspect.signature(varlen_attn).parameters
        causal = {"is_causal": True} if "is_causal" in known else {"window_size": (-1, 0)}

        def attend(q, k, v, offsets, longest):
            return varlen_attn(q, k, v, offsets, offsets, longest, longest, **causal)

        q, k, v = torch.randn(3, 1000, 2, 64, device=DEVICE, dtype=TYPE).unbind()
        offsets = torch.tensor([0, 1, 300, 1000], device=DEVICE, dtype=torch.int32)
        torch.testing.assert_close(
            attend(q, k, v, offsets, 700), attend_one_by_one(q, k, v, offsets, 700), atol=0.03, rtol=0.03
        )
        return attend
    except Exception as error:  # an older PyTorch, or a kernel that this device does not have
        print(f"attention is computed sample by sample: {error}", flush=True)
        return attend_one_by_one


class Layer(nn.Module):
    def __init__(self, width, heads, attend):
        super().__init__()
        self.heads, self.attend = heads, attend
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x, offsets, longest):
        q, k, v = self.qkv(self.before(x)).view(len(x), 3, self.heads, -1).unbind(1)
        x = x + self.out(self.attend(q, k, v, offsets, longest).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Model(nn.Module):
    """A decoder without positions, which cost no time. Layers and the logits of each 8,192 tokens are recomputed."""

    def __init__(self, asked):
        super().__init__()
        attend = fast_attention()
        self.tokens = nn.Embedding(asked.vocabulary, asked.width)
        self.layers = nn.ModuleList(Layer(asked.width, asked.heads, attend) for _ in range(asked.layers))
        self.logits = nn.Linear(asked.width, asked.vocabulary, bias=False)

    def loss_of(self, x, labels):
        return F.cross_entropy(self.logits(x).float(), labels, reduction="sum")

    def forward(self, ids, offsets, longest):
        x = self.tokens(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, offsets, longest, use_reentrant=False)
        parts = zip(x.split(8192), ids.split(8192))
        return sum(checkpoint(self.loss_of, *part, use_reentrant=False) for part in parts) / len(ids)


class Timer:
    """Milliseconds of forward and backward of a micro-batch, whose contents take no part in them."""

    def __init__(self, asked):
        torch.manual_seed(0)
        self.model = Model(asked).to(DEVICE, TYPE)
        self.ids = torch.randint(asked.vocabulary, (asked.capacity,), device=DEVICE)

    def run(self, lengths):
        offsets = torch.tensor(np.cumsum([0, *lengths]), dtype=torch.int32, device=DEVICE)
        self.model(self.ids[: sum(lengths)], offsets, max(lengths)).backward()

    def once(self, lengths):
        if not CUDA:
            start = time.perf_counter()
            self.run(lengths)
            return 1e3 * (time.perf_counter() - start)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.run(lengths)
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def __call__(self, lengths, runs=1):
        return statistics.median(self.once(lengths) for _ in range(runs))


def lengths_of(asked):
    if asked.lengths:
        lines = (line.replace(",", " ").split() for line in asked.lengths.read_text().splitlines())
        lengths = [sum(map(int, line)) for line in lines if line and line[0].isdigit()]
    else:
        lengths = np.random.default_rng(1).lognormal(np.log(asked.capacity) - 3.5, 1.3, 20_000).astype(int) + 1
    lengths = np.minimum(lengths, asked.capacity)
    return np.random.default_rng(2).permutation(lengths[lengths > 0]).tolist()


def next_fit(lengths, capacity):
    rows, row = [], []
    for length in lengths:
        if sum(row) + length > capacity:
            rows.append(row)
            row = []
        row.append(length)
    return [*rows, row]


class Planner:
    """Calls `ballast`."""

    def __init__(self, asked, lengths):
        self.asked, self.lengths = asked, lengths
        self.folder = pathlib.Path(tempfile.mkdtemp())
        (self.folder / "lengths.txt").write_text("\n".join(map(str, lengths)) + "\n")
        libraries = f"{asked.ballast.resolve().parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        self.environment = os.environ | {"LD_LIBRARY_PATH": libraries}

    def call(self, *words):
        words = [self.asked.ballast.resolve(), *map(str, words)]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=self.environment).stdout

    def plan(self, command, *words):
        """The packs, as lengths, and the folder of a plan."""
        out = self.folder / command
        print(
            self.call(command, self.folder / "lengths.txt", "--capacity", self.asked.capacity, *words, "--out", out),
            flush=True,
        )
        offsets, members = np.load(out / "offsets.npy"), np.load(out / "members.npy")
        return [[self.lengths[i] for i in members[a:b]] for a, b in zip(offsets, offsets[1:])], out

    def steps(self, cost):
        """Each plan as steps of ranks of micro-batches of lengths."""
        ranks, micro = self.asked.ranks, self.asked.micro_batches

        def dealt(packs):
            rows = [packs[i : i + micro] for i in range(0, len(packs) // (ranks * micro) * ranks * micro, micro)]
            return [rows[i : i + ranks] for i in range(0, len(rows), ranks)]

        best, _ = self.plan("pack")
        planned, out = self.plan("plan", "--ranks", ranks, "--micro-batches", micro, "--cost", cost)
        return {
            "naive": dealt(next_fit(self.lengths, self.asked.capacity)),
            "best fit": dealt([best[i] for i in np.random.default_rng(3).permutation(len(best))]),
            "ballast": [[[planned[p] for p in rank if p >= 0] for rank in step] for step in np.load(out / "steps.npy")],
        }


def calibrate(asked, timer, planner):
    """Times micro-batches of equal and of mixed samples; returns the fitted cost as a file and as a function."""
    rows = []
    length = 64
    while length <= asked.capacity:
        rows.append([length] * max(1, asked.capacity // 4 // length))
        length *= 2
    rows += next_fit(planner.lengths, asked.capacity)[:16]
    for _ in range(3):
        timer.run([asked.capacity])  # kernels are loaded, and memory is there
    times, cost = asked.out / "times.csv", asked.out / "cost.json"
    with times.open("w") as out:
        for row in rows:
            timer.run(row)
            print(*row, f"{timer(row, 3):.6g}", sep=",", file=out, flush=True)
    print(planner.call("calibrate", times), flush=True)
    cost.write_text(planner.call("calibrate", times, "--json"))
    terms = json.loads(cost.read_text())["coefficients"]

    def of(lengths):
        x = np.array(lengths, dtype=float)
        each = terms["constant"] + terms["linear"] * x + terms["quadratic"] * x * x
        return terms.get("micro_batch", 0.0) + float(each.sum())

    return cost, of


def table(asked, rows):
    name = torch.cuda.get_device_name() if CUDA else "CPU"
    lines = [
        f"{name}, PyTorch {torch.__version__}: {asked.layers} layers of {asked.width}; {asked.ranks} ranks of "
        f"{asked.micro_batches} micro-batches of {asked.capacity} tokens, timed rank by rank.",
        "",
        "| plan | steps | a step, ms | tokens a second, all ranks | idle | idle by the fitted cost |",
        "|---|---|---|---|---|---|",
    ]
    for plan in dict.fromkeys(row["plan"] for row in rows):
        mine = [row for row in rows if row["plan"] == plan]
        milliseconds = sum(max(row["rank_ms"]) for row in mine)
        waiting, expected = (
            1 - sum(sum(row[by]) for row in mine) / sum(asked.ranks * max(row[by]) for row in mine)
            for by in ("rank_ms", "fitted_ms")
        )
        speed = 1e3 * sum(row["tokens"] for row in mine) / milliseconds
        lines.append(
            f"| {plan} | {len(mine)} | {milliseconds / len(mine):.4g} | {speed:,.0f} | {waiting:.2%} | {expected:.2%} |"
        )
    return "\n".join(lines) + "\n"


def main():
    asked = arguments()
    end = time.monotonic() + asked.seconds
    asked.out.mkdir(parents=True, exist_ok=True)
    timer, planner = Timer(asked), Planner(asked, lengths_of(asked))
    cost, fitted = calibrate(asked, timer, planner)
    plans = planner.steps(cost)
    draw = np.random.default_rng(4)
    drawn = {name: draw.permutation(len(steps))[: asked.steps] for name, steps in plans.items()}
    rows = []
    with (asked.out / "steps.jsonl").open("w") as out:
        for turn in range(asked.steps):
            for name, steps in plans.items():
                if turn >= len(drawn[name]) or time.monotonic() > end:
                    continue
                step = steps[drawn[name][turn]]
                row = {
                    "plan": name,
                    "step": int(drawn[name][turn]),
                    "tokens": sum(sum(map(sum, rank)) for rank in step),
                    "rank_ms": [sum(map(timer, rank)) for rank in step],
                    "fitted_ms": [sum(map(fitted, rank)) for rank in step],
                }
                rows.append(row)
                print(json.dumps(row), file=out, flush=True)
            timer.model.zero_grad(set_to_none=True)
            (asked.out / "steps.md").write_text(table(asked, rows))
    print((asked.out / "steps.md").read_text())


if __name__ == "__main__":
    main()
