# SPDX-License-Identifier: Apache-2.0
"""Trains plans on gloo ranks and compares with one process: shards, attention on other ranks, levels, and chunks with
kept keys and values.

BALLAST names the command line, which writes a plan in levels. The loops are those that docs/execution.md shows.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np
import torch
from support import on_ranks

import ballast
from ballast.execute import Groups, average, chains, passes, shifted_labels, train_chain

ROOT = pathlib.Path(__file__).parents[2]
VOCABULARY, WIDTH, HEADS, LAYERS = 23, 16, 2, 2
COST = "llama-3.1-8b"


class Model(torch.nn.Module):
    """A causal transformer whose attention is given to it."""

    def __init__(self):
        super().__init__()
        linear = torch.nn.Linear
        self.tokens, self.positions = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(1024, WIDTH)
        self.layers = torch.nn.ModuleList(
            torch.nn.ModuleDict(
                {
                    "norm": torch.nn.RMSNorm(WIDTH),
                    "qkv": linear(WIDTH, 3 * WIDTH),
                    "out": linear(WIDTH, WIDTH),
                    "mlp": torch.nn.Sequential(
                        torch.nn.RMSNorm(WIDTH), linear(WIDTH, 2 * WIDTH), torch.nn.SiLU(), linear(2 * WIDTH, WIDTH)
                    ),
                }
            )
            for _ in range(LAYERS)
        )
        self.head = linear(WIDTH, VOCABULARY)

    def forward(self, tokens, position_ids, attention):
        x = self.tokens(tokens) + self.positions(position_ids)
        for layer in self.layers:
            q, k, v = layer["qkv"](layer["norm"](x)).unflatten(-1, (3, HEADS, -1)).unbind(-3)
            x = x + layer["out"](attention(q, k, v).flatten(-2))
            x = x + layer["mlp"](x)
        return self.head(x)


def model_of(dtype):
    torch.manual_seed(1)
    return Model().to(dtype)


class Batch:
    """Samples with a long tail, one behind the other; prompts have no labels."""

    def __init__(self, seed, count=12, longest=48):
        draw = np.random.default_rng(seed)
        self.lengths = np.maximum(longest >> draw.integers(0, 5, count), 1) - draw.integers(0, 2, count)
        self.lengths = np.maximum(self.lengths, 1).astype(np.int64)
        samples = [torch.as_tensor(draw.integers(0, VOCABULARY, n)) for n in self.lengths]
        self.tokens, self.labels = torch.cat(samples), shifted_labels(samples)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        for start, n in zip(self.starts, self.lengths):
            self.labels[start : start + draw.integers(0, n)] = -100
        self.counts = np.array([int((self.labels[a:b] != -100).sum()) for a, b in zip(self.starts, self.starts[1:])])


def alone(q, k, v):
    """Causal attention of one sample."""
    out = torch.nn.functional.scaled_dot_product_attention(*(x.transpose(0, 1) for x in (q, k, v)), is_causal=True)
    return out.transpose(0, 1)


def train_alone(model, batch, samples):
    """Forward and backward pass of the mean loss over the labels of some samples, one by one."""
    labels = max(int(batch.counts[list(samples)].sum()), 1)
    for i in samples:
        at = slice(int(batch.starts[i]), int(batch.starts[i + 1]))
        logits = model(batch.tokens[at], torch.arange(int(batch.lengths[i])), alone)
        loss = torch.nn.functional.cross_entropy(logits, batch.labels[at], reduction="sum", ignore_index=-100)
        (loss / labels).backward()


def flat(model, of=lambda parameter: parameter.grad):
    return torch.cat([of(parameter).detach().flatten() for parameter in model.parameters()])


def difference(got, right):
    """The largest difference, over the largest entry."""
    return float((got - right).abs().max() / right.abs().max().clamp(min=1e-300))


def train_shards(model, batch, plan, rank, groups):
    for work in passes(plan, rank, batch.counts, groups):
        logits = model(batch.tokens[work.token_indices], work.position_ids, work.attention)
        work.loss(logits, batch.labels).backward()
    average(model.parameters())


def shards_on_ranks(rank, ranks, methods, seeds, dtype):
    """Of each method, how many plans were run and by how much their gradients differ at most."""
    groups, anywhere, found, shared = Groups(widths=[ranks]), Groups(any_ranks=True), {}, 0
    for seed in seeds:
        batch = Batch(seed)
        right = model_of(dtype)
        sharing = 1 if ranks % 2 and not seed else 1 << (ranks.bit_length() - 1)  # equal groups of odd ranks are of one
        capacity = -(-int(batch.lengths.max()) // sharing) + seed % 9
        for method in methods:
            try:
                plan = ballast.plan_shards(
                    batch.lengths,
                    ranks=ranks,
                    capacity=capacity,
                    cost=FEW_PASSES if seed % 2 else LONG_DEAR,
                    method=method,
                    seed=seed,
                )
            except ValueError:
                continue
            right.zero_grad(set_to_none=True)
            train_alone(right, batch, sorted(set(range(len(batch.lengths))) - set(plan.left_out.tolist())))
            model = model_of(dtype)
            train_shards(model, batch, plan, rank, anywhere if method in ("bytescale", "ballast-any") else groups)
            plans, most = found.get(method, (0, 0.0))
            found[method] = plans + 1, max(most, difference(flat(model), flat(right)))
            shared += len(plan.groups)
    return found, shared, len(groups)


FEW_PASSES = ballast.degree_cost(linear=20_000, square=1_000, exchange=[0, 2_000], cost_per_pass=500)
LONG_DEAR = ballast.degree_cost(linear=1_000, square=5_000, exchange=[0, 100], cost_per_pass=10)


def served_on_ranks(rank, ranks, seeds, dtype):
    """The largest difference of gradients, how many plans ran, passes of a rank, and tasks away from their tokens."""
    worst = plans = most = away = 0
    for seed in seeds:
        batch = Batch(seed, longest=1000)  # parts of at least 128 queries move
        capacity = max(-(-int(batch.lengths.max()) // ranks), int(batch.lengths.sum()) * 3 // (5 * ranks))
        plan = ballast.plan_shards(batch.lengths, ranks=ranks, capacity=capacity, cost=COST, method="distca")
        model, right = model_of(dtype), model_of(dtype)
        train_shards(model, batch, plan, rank, Groups(any_ranks=True))
        train_alone(right, batch, range(len(batch.lengths)))
        worst, plans = max(worst, difference(flat(model), flat(right))), plans + 1
        most = max(most, len(plan.passes_of(rank)))
        away += int((plan.attention[:, 0] != plan.attention[:, 3]).sum())
    return worst, plans, most, away


def levels_on_ranks(rank, ranks, settings, folder):
    """The largest difference of what an epoch changed in the weights, how often samples were trained, level changes."""
    batch = Batch(7, count=40)
    plan = ballast.levels(batch.lengths, settings, gpus=ranks, cost=COST, curriculum="interleaved", seed=3)
    if folder:
        sampler = planned_batches(folder, rank)
        assert [level for level, _ in sampler.steps()] == plan.levels.tolist()
        mine = [packs for _, packs in sampler.steps()]
    groups = Groups(widths=[sp for _, sp, _ in plan.settings])
    model, right = model_of(torch.float64), model_of(torch.float64)
    optimizers = [torch.optim.SGD(each.parameters(), 0.05) for each in (model, right)]
    times = np.zeros(len(batch.lengths), int)
    for step in range(len(plan)):
        shards = plan.shards_of(step)
        samples = sorted(set(shards.pieces[:, 0].tolist()))
        times[samples] += 1
        if folder:
            own = {i for pack in mine[step] for i in pack}
            assert own == {i for work in shards.passes_of(rank) for i in work.samples.tolist()}
        for optimizer in optimizers:
            optimizer.zero_grad()
        train_shards(model, batch, shards, rank, groups)
        train_alone(right, batch, samples)
        for optimizer in optimizers:
            optimizer.step()
    first = flat(model_of(torch.float64), lambda parameter: parameter)
    changes = [flat(each, lambda parameter: parameter) - first for each in (model, right)]
    return difference(*changes), times.tolist(), int((np.diff(plan.levels) != 0).sum())


def planned_batches(folder, rank, first_step=0):
    """The sampler of examples/python/batch_sampler.py, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("batch_sampler", ROOT / "examples/python/batch_sampler.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PlannedBatches(folder, rank, first_step)


class Corpus(Batch):
    """Samples that steps take some of; `of` is a batch of them, one behind the other."""

    def of(self, samples):
        out = Batch.__new__(Batch)
        at = [slice(int(self.starts[i]), int(self.starts[i + 1])) for i in samples]
        out.lengths, out.counts = self.lengths[samples], self.counts[samples]
        out.tokens, out.labels = (torch.cat([of[a] for a in at]) for of in (self.tokens, self.labels))
        out.starts = np.concatenate([[0], np.cumsum(out.lengths)])
        return out


class Steps:
    """A model on the ranks and one on this process alone, which take the same steps."""

    def __init__(self, rank, groups, saved=None):
        self.rank, self.groups, self.corpus = rank, groups, Corpus(7, count=40)
        self.models = [model_of(torch.float64) for _ in range(2)]
        if saved is not None:
            for model, weights in zip(self.models, saved):
                model.load_state_dict(weights)
        self.optimizers = [torch.optim.SGD(model.parameters(), 0.05) for model in self.models]
        self.worst, self.degrees = 0.0, []
        self.times = np.zeros(len(self.corpus.lengths), int)

    def take(self, degree, samples, shards):
        batch = self.corpus.of(samples)
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        train_shards(self.models[0], batch, shards, self.rank, self.groups)
        train_alone(self.models[1], batch, range(len(samples)))
        self.worst = max(self.worst, difference(*map(flat, self.models)))
        for optimizer in self.optimizers:
            optimizer.step()
        self.degrees.append(degree)
        self.times[samples] += 1

    def saved(self):
        return [{name: w.clone() for name, w in model.state_dict().items()} for model in self.models]

    def weights(self):
        return flat(self.models[0], lambda parameter: parameter)


def run_in_levels(settings, ranks, curriculum="interleaved"):
    lengths = Corpus(7, count=40).lengths
    return ballast.TrainingRun(
        lengths, levels=settings, ranks=ranks, epochs=2, cost=COST, curriculum=curriculum, seed=3
    )


def run_on_ranks(rank, ranks, settings, folder):
    """Two epochs of a run, the same stopped in the middle of each epoch, and the first by the files of a plan."""
    run = run_in_levels(settings, ranks)
    groups = Groups(widths=[setting.degree for setting in run.settings])
    steps, stops = Steps(rank, groups), {}
    for step in run:
        steps.take(run.setting.degree, run.samples(), run.shards())
        if step in (run.steps // 4, 3 * run.steps // 4):
            stops[step] = run.state(), steps.saved()
    for state, saved in stops.values():
        again, later = run_in_levels(settings, ranks), Steps(rank, groups, saved)
        again.resume(state)
        for _ in again:
            later.take(again.setting.degree, again.samples(), again.shards())
        assert torch.equal(later.weights(), steps.weights())
        assert later.degrees == steps.degrees[-len(later.degrees) :]
    filed, first, whole = Steps(rank, groups), run_in_levels(settings, ranks), run.steps // 2
    for start, end in ((0, 2), (2, whole)):  # a sampler of its own behind the stop
        sampler = planned_batches(folder, rank, start)
        for _, (setting, samples, shards) in zip(range(start, end), sampler.shards(filed.corpus.lengths)):
            first.next()
            assert (setting, shards.hash()) == (first.setting, first.shards().hash())
            assert samples.tolist() == first.samples().tolist()
            filed.take(setting[1], samples, shards)
    assert first.state()[3:5] == [0, 1] and set(filed.times) == {1}
    return max(steps.worst, filed.worst), steps.times.tolist(), steps.degrees, len(groups)


def first_half(rank, ranks, settings):
    """The state of a run that stopped in the middle of its first epoch, and what it had trained."""
    run = run_in_levels(settings, ranks)
    steps = Steps(rank, Groups(widths=[setting.degree for setting in run.settings]))
    for step in run:
        steps.take(run.setting.degree, run.samples(), run.shards())
        if step + 1 == run.steps // 4:
            return run.state(), steps.saved(), steps.times, steps.worst


def second_half(rank, ranks, settings, state, saved):
    """The rest of that epoch on other ranks, and the epoch behind it."""
    run = run_in_levels(settings, ranks)
    run.resume(state)
    steps = Steps(rank, Groups(widths=[setting.degree for setting in run.settings]), saved)
    times = []
    for _ in run:
        if run.epoch and not times:
            times = [steps.times.copy()]
        steps.take(run.setting.degree, run.samples(), run.shards())
    return times[0], steps.times - times[0], steps.degrees, steps.worst

def train_chunks(model, batch, plan, rank, tasks, groups=None):
    most = 0
    for chain in chains(plan, rank, batch.counts, groups=groups):
        most = max(
            most,
            train_chain(
                chain,
                tasks(len(chain)),
                lambda chunk: chunk.loss(
                    model(batch.tokens[chunk.token_indices], chunk.position_ids, chunk.attention), batch.labels
                ),
            ),
        )
    average(model.parameters())
    return most


def chunks_on_ranks(rank, ranks, seeds):
    """The largest difference of gradients, how many plans ran, and whether more chunks lived than planned."""
    worst = plans = again = 0
    for seed in seeds:
        batch, retain = Batch(seed), 1 + seed % 3
        plan = ballast.chunks(batch.lengths, 7 + seed % 6, ranks=ranks, retain=retain, cost=COST)
        model, right = model_of(torch.float64), model_of(torch.float64)
        assert train_chunks(model, batch, plan, rank, plan.tasks) <= retain
        train_alone(right, batch, range(len(batch.lengths)))
        worst, plans, again = max(worst, difference(flat(model), flat(right))), plans + 1, again + plan.forwards_again
    return worst, plans, again


def chunkflow_on_ranks(rank, ranks, seeds, dtype):
    """The largest difference of gradients, how many plans ran, and how many of them share chunks and have chains."""
    worst = plans = shared = chained = 0
    groups = Groups()
    for seed in seeds:
        batch = Batch(seed)
        plan = ballast.plan_shards(
            batch.lengths,
            ranks=ranks,
            capacity=5 + seed,
            cost=FEW_PASSES if seed % 2 else LONG_DEAR,
            method="chunkflow",
        )
        model, right = model_of(dtype), model_of(dtype)
        assert train_chunks(model, batch, plan, rank, ballast.retained_tasks, groups) <= 1
        train_alone(right, batch, range(len(batch.lengths)))
        worst, plans = max(worst, difference(flat(model), flat(right))), plans + 1
        shared += len(plan.groups) > 0
        try:
            next(passes(plan, rank, batch.counts, groups))
        except ValueError as refused:
            assert "in several passes of rank" in str(refused)
            chained += 1
    return worst, plans, shared, chained


class Executed(unittest.TestCase):
    def tell(self, what, plans, worst):
        print(f"{what}: {plans} plans, gradients differ by at most {worst:.1e}")

    def test_shards_train_as_one_process(self):
        methods = [
            "ballast", "ballast-pure", "ballast-lockstep", "static", "homogeneous", "verl", "longalign", "skrull",
            "wlb", "flexsp", "megatron-hybrid-cp", "dynapipe", "bytescale", "ballast-any", "megatron-dp-balanced",
            "megatron-dynamic-cp", "slime", "transformers", "padded-cut",
        ]  # fmt: skip
        told = {}
        for ranks in (2, 3, 4):
            for dtype, limit, seeds in ((torch.float64, 1e-12, range(3)), (torch.float32, 1e-6, range(1))):
                results = on_ranks(ranks, shards_on_ranks, methods, seeds, dtype, timeout=400)
                for found, shared, made in results:
                    self.assertIn(made, {2: [1], 3: range(2, 5), 4: [3]}[ranks])
                    self.assertGreater(shared, 0)
                    if dtype == torch.float64:
                        self.assertEqual(set(methods) - set(found), {"megatron-hybrid-cp"} if ranks == 3 else set())
                    for method, (plans, worst) in found.items():
                        self.assertLess(worst, limit, f"{method} on {ranks} ranks")
                        before = told.get((method, dtype), (0, 0.0))
                        told[method, dtype] = before[0], max(before[1], worst)
                for method, (plans, _) in results[0][0].items():
                    told[method, dtype] = told[method, dtype][0] + plans, told[method, dtype][1]
        for (method, dtype), (plans, worst) in told.items():
            self.tell(f"{method}, {dtype}", plans, worst)
        for dtype in (torch.float64, torch.float32):
            plans, worst = zip(*(of for (_, kind), of in told.items() if kind == dtype))
            self.tell(f"all methods, {dtype}", sum(plans), max(worst))

    def test_attention_on_other_ranks_trains_as_one_process(self):
        for dtype, limit, seeds in ((torch.float64, 1e-12, (1, 3)), (torch.float32, 1e-6, (1,))):
            for ranks in (2, 3, 4, 5):
                for worst, plans, most, away in on_ranks(ranks, served_on_ranks, seeds, dtype, timeout=400):
                    self.assertLess(worst, limit)
                    self.assertGreater(most, 1)
                    self.assertGreater(away, 0)
                self.tell(f"distca, {dtype}, on {ranks} ranks, {away} tasks away", plans, worst)

    def test_levels_train_as_one_process(self):
        for ranks, settings in (
            (2, [(24, 1), (48, 2)]),
            (3, [(24, 1), (48, 3)]),
            (4, [(12, 1), (24, 2), (48, 4)]),
        ):
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                folder = self.written(folder, ranks, settings)
                for worst, times, changes in on_ranks(ranks, levels_on_ranks, settings, folder):
                    self.assertLess(worst, 1e-12)
                    self.assertEqual(set(times), {1})
                    self.assertGreater(changes, 0)
                print(f"levels on {ranks} ranks: changes of weights differ by at most {worst:.1e}")

    def test_a_run_in_levels_trains_as_one_process(self):
        for ranks, settings in ((2, [(24, 1), (48, 2)]), (3, [(24, 1), (48, 3)]), (4, [(12, 1), (24, 2), (48, 4)])):
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                folder = self.written(folder, ranks, settings)
                for worst, times, degrees, made in on_ranks(ranks, run_on_ranks, settings, folder, timeout=400):
                    self.assertLess(worst, 1e-12)
                    self.assertEqual(set(times), {2})
                    self.assertEqual(set(degrees), {sp for _, sp in settings})
                    self.assertGreater(sum(a != b for a, b in zip(degrees, degrees[1:])), 2)
                    self.assertEqual(made, {2: 1, 3: 2, 4: 3}[ranks])
                print(f"a run in levels on {ranks} ranks: {len(degrees)} steps, gradients differ by at most {worst:.1e}")

    def test_a_run_in_levels_goes_on_with_other_ranks(self):
        four, two = [(12, 1), (24, 2), (48, 4)], [(24, 1), (48, 2)]
        for before, after in (((4, four), (2, two)), ((2, two), (4, four)), ((3, [(24, 1), (48, 3)]), (4, four))):
            (state, saved, trained, worst), *others = on_ranks(before[0], first_half, before[1])
            self.assertTrue(all(other[0] == state for other in others))
            self.assertLess(worst, 1e-12)
            for rest, epoch, degrees, worst in on_ranks(*after[:1], second_half, after[1], state, saved):
                self.assertEqual(set(trained + rest), {1})  # each sample once in the epoch that was interrupted
                self.assertEqual((set(trained), set(epoch)), ({0, 1}, {1}))
                self.assertEqual(set(degrees), {sp for _, sp in after[1]})
                self.assertLess(worst, 1e-12)
            print(f"from {before[0]} ranks to {after[0]}: gradients differ by at most {worst:.1e}")

    def written(self, folder, ranks, settings):
        """The folder of the same plan by the command line."""
        path = pathlib.Path(folder)
        (path / "lengths.txt").write_text("".join(f"{n}\n" for n in Batch(7, count=40).lengths))
        levels = ",".join(f'{{"length":{n},"sp":{sp},"recomputed_layers":0}}' for n, sp in settings)
        (path / "levels.json").write_text(f"[{levels}]")
        options = f"--gpus {ranks} --curriculum interleaved --seed 3 --out {path / 'plan'}".split()
        subprocess.run(
            [os.environ["BALLAST"], "plan", path / "lengths.txt", "--levels", path / "levels.json", *options],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return str(path / "plan")

    def test_chunks_train_as_whole_samples(self):
        for ranks in (1, 2, 3):
            for worst, plans, again in on_ranks(ranks, chunks_on_ranks, range(9), timeout=400):
                self.assertLess(worst, 1e-12)
                self.assertGreater(again, 0)
            self.tell(f"chunks on {ranks} ranks", plans, worst)

    def test_chunkflow_trains_as_one_process(self):
        for dtype, limit, seeds in ((torch.float64, 1e-12, range(6)), (torch.float32, 1e-6, range(2))):
            for ranks in (2, 3, 4):
                for worst, plans, shared, chained in on_ranks(ranks, chunkflow_on_ranks, seeds, dtype, timeout=400):
                    self.assertLess(worst, limit)
                    self.assertTrue(shared > 0 or dtype is torch.float32)  # of few plans, none may share
                    self.assertGreater(chained, 0)
                self.tell(f"chunkflow, {dtype}, on {ranks} ranks", plans, worst)

    def test_groups_that_were_not_made_are_named(self):
        for text in on_ranks(3, refused_on_ranks):
            self.assertRegex(text, r"^ranks \[0, 1, 2\] share samples, but there is no process group of them")

    def test_the_loop_of_the_page(self):
        page = (ROOT / "docs/execution.md").read_text()
        section = re.search(r"## In PyTorch\n(.*?)\n## ", page, re.S)[1]
        batches, levels = re.findall(r"```python\n(.*?)```", section, re.S)
        for ranks in (2, 4):
            for code, function in ((batches, page_on_ranks), (levels, levels_of_page_on_ranks)):
                for got, right in on_ranks(ranks, function, code):
                    self.assertLess(difference(got, right), 1e-12)


def refused_on_ranks(rank, ranks):
    batch = Batch(7)
    plan = ballast.share_pack(batch.lengths[batch.lengths > 3], ranks=3)
    try:
        next(passes(plan, rank, batch.counts[batch.lengths > 3], Groups(widths=[2])))
    except ValueError as refused:
        return str(refused)


def page_on_ranks(rank, ranks, code):
    batches, right = [Batch(seed) for seed in range(3)], model_of(torch.float64)
    names = {"model": model_of(torch.float64), "loader": batches, "rank": rank, "world": ranks, "capacity": 32}
    names["optimizer"] = torch.optim.SGD(names["model"].parameters(), 0.05)
    exec(code, names)
    optimizer = torch.optim.SGD(right.parameters(), 0.05)
    for batch in batches:
        train_alone(right, batch, range(len(batch.lengths)))
        optimizer.step(), optimizer.zero_grad()
    return [flat(each, lambda parameter: parameter) for each in (names["model"], right)]


def levels_of_page_on_ranks(rank, ranks, code):
    corpus, right = Corpus(7, count=40), model_of(torch.float64)
    names = {"model": model_of(torch.float64), "corpus": corpus, "lengths": corpus.lengths, "rank": rank}
    names |= {"world": ranks, "saved": None, "optimizer": torch.optim.SGD(names["model"].parameters(), 0.05)}
    exec(code, names)
    optimizer = torch.optim.SGD(right.parameters(), 0.05)
    run = ballast.TrainingRun(corpus.lengths, levels=names["levels"], ranks=ranks, epochs=2, cost=COST)
    for _ in run:
        train_alone(right, corpus, run.samples().tolist())
        optimizer.step(), optimizer.zero_grad()
    assert run.state() == names["saved"]
    exec(code, names)  # resumed behind the last step, it does nothing more
    return [flat(each, lambda parameter: parameter) for each in (names["model"], right)]


if __name__ == "__main__":
    unittest.main()
