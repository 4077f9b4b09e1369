# SPDX-License-Identifier: Apache-2.0
"""Executes steps of batches of 50 shapes by one plan: bytes, and weights bit by bit. Run by scripts/test-python.

$BALLAST is the program.
"""

import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "python"))
from execute_batches import BatchStep  # noqa: E402
from export_graph import training_step, write_graph  # noqa: E402

from small_models import Transformer  # noqa: E402

AXES = [{0: "batch", 1: "length"}, {0: "batch", 1: "length"}]  # of tokens, and of the tokens that follow


class WithScores(torch.nn.Module):
    """Attention that writes its scores to memory: sizes in batch x length^2, too."""

    def __init__(self, layers, width, heads=2):
        super().__init__()
        self.embedding = torch.nn.Embedding(100, width)
        self.heads = heads
        self.qkv = torch.nn.ModuleList(torch.nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(layers))

    def forward(self, tokens):
        x = self.embedding(tokens)
        for qkv, out in zip(self.qkv, self.out):
            q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in qkv(x).chunk(3, -1))
            scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
            x = x + out((scores @ v).transpose(1, 2).flatten(2))
        return x @ self.embedding.weight.T


def loss_of(output, following):
    return torch.nn.functional.cross_entropy(output.flatten(0, 1), following.flatten())


def batch_of(values):
    tokens = torch.randint(0, 100, (values["batch"], values["length"]))
    return tokens, tokens.roll(-1, 1)


def planned(graph, shapes, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.json")
        write_graph(graph, path)
        command = [os.environ["BALLAST"], "order", path, "--json", "--dimensions", "batch=1..8,length=16..128", *options]
        for shape in shapes:
            command += ["--values", f"batch={shape['batch']},length={shape['length']}"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def value_of(size, shape):
    """The value of a polynomial as text, by the definition."""
    if isinstance(size, int):
        return size
    product = re.sub(r"(?<=\S) (?=[a-z])", " * ", size).replace("^", "**").replace("+ * ", "+ ")
    return eval(product, {}, dict(shape))


class ExecutedBatches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)
        torch.manual_seed(0)
        draw = random.Random(7)
        cls.shapes = [{"batch": draw.randint(1, 8), "length": draw.randint(16, 128)} for _ in range(50)]
        example = batch_of({"batch": 3, "length": 20})
        models = {"fused attention": Transformer(2, 32), "scores in memory": WithScores(3, 16)}
        cls.steps = {name: BatchStep(m, example[:1], loss_of, example[1:], AXES) for name, m in models.items()}

    def check_trained(self, step, batch, result):
        """Loss, weights and moments are those of autograd and torch.optim.Adam, bit for bit.

        PyTorch takes other kernels for one sequence, and traces for at least two: there, moments differ by their rounding.
        """
        model = copy.deepcopy(step.model)
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        loss = loss_of(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        for name, p in model.named_parameters():
            moments = torch.stack([optimizer.state[p]["exp_avg"], optimizer.state[p]["exp_avg_sq"]])
            if batch[0].shape[0] == 1:
                self.assertLess((moments - result.moments[name]).abs().max(), 1e-6 * moments.abs().max(), name)
                continue
            self.assertTrue(torch.equal(moments, result.moments[name]), name)
            self.assertTrue(torch.equal(p.detach(), result.weights[name]), name)
            self.assertTrue(torch.equal(loss.detach(), result.loss))

    def test_sizes_are_those_of_each_shape(self):
        for name, step in self.steps.items():
            for shape in ({"batch": 2, "length": 19}, {"batch": 8, "length": 128}):
                batch = batch_of(shape)
                exact = training_step(step.model, batch[:1], loss_of, batch[1:])
                sizes = [value_of(t["bytes"], shape) for t in step.graph["tensors"]]
                self.assertEqual(sizes, [t["bytes"] for t in exact["tensors"]])

    def check_shapes(self, name, share, *options):
        step = self.steps[name]
        largest = planned(step.graph, [{"batch": 8, "length": 128}])["batches"][0]["peak"]
        limit = int(largest * share)
        plan = planned(step.graph, self.shapes, "--budget", str(limit), *options)
        evicting = again = moved = none = 0
        for shape, entry in zip(self.shapes, plan["batches"]):
            batch = batch_of(shape)
            if "no_run" in entry:
                none += 1
                self.assertRegex(entry["no_run"], f"batch={shape['batch']},length={shape['length']}: no run .* keeps --budget")
                with self.assertRaisesRegex(ValueError, "keeps --budget"):
                    step.run(entry, batch)
                continue
            result = step.run(entry, batch)
            self.assertLessEqual(result.peak, limit)
            self.assertEqual(result.peak, entry["memory"])
            self.check_trained(step, batch, result)
            evicting += entry["added_time"] > 0
            again += sum(what == "rerun" for what, _ in entry["events"])
            moved += entry["moved"]
        ratios = [entry["peak"] / entry["alone"]["peak"] for entry in plan["batches"]]
        print(f"{name}: {plan['regions']} regions; limit {limit:,} of {largest:,} bytes {' '.join(options)}: 50 shapes, {evicting}", end=" ")
        print(f"evict, {again:,} operators run again, {moved:,} bytes move, {none} have no run;", end=" ")
        print(f"orders over those for each shape {sum(ratios) / 50:.4f}, at most {max(ratios):.4f}")
        self.assertGreater(evicting, 5)
        return again, moved

    def test_fifty_shapes_recompute_within_the_limit(self):
        for name in self.steps:
            again, moved = self.check_shapes(name, 0.4)
            self.assertGreater(again, 20)
            self.assertEqual(moved, 0)

    def test_fifty_shapes_recompute_and_move_within_the_limit(self):
        again, moved = self.check_shapes("fused attention", 0.3, "--time-per-megabyte", "100000000")
        self.assertGreater(again, 20)
        self.assertGreater(moved, 0)

    def test_spoilt_plans_are_found(self):
        step, shape = self.steps["scores in memory"], {"batch": 4, "length": 64}
        batch = batch_of(shape)
        peak = planned(step.graph, [shape])["batches"][0]["peak"]
        entry = planned(step.graph, [shape], "--budget", str(int(0.7 * peak)))["batches"][0]
        self.assertEqual(step.run(entry, batch).peak, entry["memory"])
        events = entry["events"]

        def is_read_later(i):
            run = [step.operators[name] for what, name in events[i:] if what == "run"]
            return events[i][1] in {step.memory_of(t) for o in run for t in o["inputs"]}

        evictions = [i for i, (what, _) in enumerate(events) if what == "drop" and is_read_later(i) and events[i + 1][0] == "run"]
        self.assertGreater(len(evictions), 2)
        for i in evictions:  # the last one before an operator, left out
            self.assertGreater(step.run({**entry, "events": events[:i] + events[i + 1 :]}, batch).peak, entry["limit"])

        again = next(i for i, (what, _) in enumerate(events) if what == "rerun")
        with self.assertRaisesRegex(ValueError, "the plan reads .*, which is not in memory"):
            step.run({**entry, "events": events[:again] + events[again + 1 :]}, batch)
        with self.assertRaisesRegex(ValueError, "the plan is for .*'length': 64.*, and the batch is of .*'length': 65"):
            step.run(entry, batch_of({"batch": 4, "length": 65}))

        graph = copy.deepcopy(step.graph)  # a polynomial
        tensor = next(t for t in graph["tensors"] if t["name"] == "_softmax")  # the backward pass reads it
        tensor["bytes"] = tensor["bytes"].replace("length^2", "length")
        spoilt = planned(graph, [shape])["batches"][0]
        self.assertNotEqual(step.run(spoilt, batch).peak, spoilt["memory"])

    def test_what_has_no_polynomials_is_refused(self):
        class Halved(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.randn(4))

            def forward(self, x):
                return (x[:, ::2, None] * self.weight).square()

        class Long(Halved):
            def forward(self, x):
                return x[..., None] * self.weight * (2 if x.shape[1] > 10 else 1)

        x, axes = torch.randn(3, 20), [{0: "batch", 1: "length"}]
        with self.assertRaisesRegex(ValueError, "time of mul: .* is no polynomial over batch, length"):
            training_step(Halved(), (x,), torch.sum, dimensions=axes)
        with self.assertRaisesRegex(ValueError, "length is 3 in the example: it needs a size of its own, at least 2"):
            training_step(Long(), (torch.randn(3, 3),), torch.sum, dimensions=axes)
        with self.assertRaisesRegex(ValueError, "batch is 1 in the example: it needs a size of its own, at least 2"):
            training_step(Long(), (torch.randn(1, 20),), torch.sum, dimensions=axes)
        step = BatchStep(Long(), (x,), torch.sum, axes=axes)
        step.dimensions.require({"batch": 2, "length": 11})
        with self.assertRaisesRegex(ValueError, "the graph is not that of .*'length': 5"):
            step.dimensions.require({"batch": 2, "length": 5})
        with self.assertRaisesRegex(ValueError, "unit is for addresses"):
            training_step(Long(), (x,), torch.sum, unit=8, dimensions=axes)


if __name__ == "__main__":
    unittest.main()
