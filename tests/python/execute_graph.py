# SPDX-License-Identifier: Apache-2.0
"""Executes planned steps of a small transformer: bytes, and weights bit by bit. Run by scripts/test-python.

$BALLAST is the program.
"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "python"))
from execute_graph import Step  # noqa: E402
from export_graph import write_graph  # noqa: E402

from small_models import Transformer  # noqa: E402


def loss_of(output, following):
    return torch.nn.functional.cross_entropy(output.flatten(0, 1), following.flatten())


def plan_of(step, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.json")
        write_graph(step.graph, path)
        command = [os.environ["BALLAST"], "order", path, "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


class ExecutedSteps(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        torch.manual_seed(0)

    def step(self, layers, width, batch, length, unit=1):
        model, tokens = Transformer(layers, width), torch.randint(0, 100, (batch, length))
        return Step(model, (tokens,), loss_of, (tokens.roll(-1, 1),), unit=unit)

    def check_same(self, one, other):
        self.assertTrue(torch.equal(one.loss, other.loss))
        for name, weight in one.weights.items():
            self.assertTrue(torch.equal(weight, other.weights[name]), name)
            self.assertTrue(torch.equal(one.moments[name], other.moments[name]), name)

    def trained(self, step):
        """By autograd and torch.optim.Adam."""
        model = copy.deepcopy(step.model)
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        loss = loss_of(model(step.values[0]), step.values[1])
        loss.backward()
        optimizer.step()
        moments = {
            name: torch.stack([optimizer.state[p]["exp_avg"], optimizer.state[p]["exp_avg_sq"]])
            for name, p in model.named_parameters()
        }
        return loss.detach(), {name: p.detach() for name, p in model.named_parameters()}, moments

    def check_trained(self, step, result):
        loss, weights, moments = self.trained(step)
        self.assertTrue(torch.equal(loss, result.loss))
        for name, weight in weights.items():
            self.assertTrue(torch.equal(weight, result.weights[name]), name)
            self.assertTrue(torch.equal(moments[name], result.moments[name]), name)

    def test_an_order_takes_the_planned_bytes_and_trains_as_autograd(self):
        for layers, width, batch, length in ((4, 64, 2, 8), (2, 32, 2, 16), (1, 16, 8, 64)):
            step = self.step(layers, width, batch, length)
            plan = plan_of(step)
            program = step.run({"order": [o["name"] for o in step.graph["operators"]]})
            planned = step.run(plan)
            print(f"{layers} x {width}: {plan['orders'][0]['peak']:,} -> {plan['peak']:,} bytes", end=", ")
            print(f"measured {program.peak:,} -> {planned.peak:,}")
            self.assertEqual(program.peak, plan["orders"][0]["peak"])
            self.assertEqual(planned.peak, plan["peak"])
            self.check_same(program, planned)
            self.check_trained(step, planned)

    def test_recomputed_operators(self):
        for layers, batch, share in ((2, 8, 0.9), (4, 16, 0.6), (3, 8, 0.7)):
            step = self.step(layers, 64, batch, 64)
            budget = int(plan_of(step)["peak"] * share)
            plan = plan_of(step, "--budget", str(budget))
            result = step.run(plan)
            again = plan["recompute"]["again"]
            print(f"budget {budget:,}: {len(again)} operators again", end=", ")
            print(f"{plan['recompute']['peak']:,} bytes, measured {result.peak:,}")
            self.assertGreater(len(again), 0)
            self.assertLessEqual(result.peak, budget)
            self.assertEqual(result.peak, plan["recompute"]["peak"])
            self.check_trained(step, result)

    def test_addresses(self):
        for layers, batch, share in ((2, 2, 1), (4, 16, 0.6)):
            step = self.step(layers, 64, batch, 32, unit=8)
            options = ("--layout",) if share == 1 else ("--layout", "--budget", str(int(plan_of(step)["peak"] * share)))
            plan = plan_of(step, *options)
            result = step.run(plan, in_buffer=True)
            self.assertEqual(result.peak, plan["layout"]["height"])
            self.check_trained(step, result)

    def test_spoilt_plans_are_found(self):
        step = self.step(2, 32, 2, 16, unit=8)
        plan = plan_of(step, "--layout")
        _, weights, _ = self.trained(step)

        other = copy.deepcopy(plan)  # an activation that the backward pass reads, where another tensor is
        offsets = other["layout"]["offsets"]
        kept = next(o for o in step.graph["operators"] if o["name"] == "gelu")["outputs"][0]
        offsets[kept] = offsets["add"]
        spoilt = step.run(other, in_buffer=True)
        self.assertFalse(all(torch.equal(w, spoilt.weights[name]) for name, w in weights.items()))

        other = copy.deepcopy(plan)
        other["layout"]["offsets"]["gelu"] += 2
        with self.assertRaisesRegex(ValueError, "gelu of torch.float32 is at address .*: make the step with unit=8"):
            step.run(other, in_buffer=True)

        other = copy.deepcopy(plan)  # a gradient before what makes it
        at = other["order"].index("update embedding.weight")
        other["order"].insert(0, other["order"].pop(at))
        with self.assertRaises(KeyError):
            step.run(other)

        other = copy.deepcopy(plan)
        other["order"].append("gelu (again)")
        with self.assertRaisesRegex(ValueError, "the plan is of another graph"):
            step.run(other)

    def test_a_forward_pass_in_place_cannot_run_again(self):
        model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(inplace=True), torch.nn.Linear(256, 64))
        step = Step(model, (torch.randn(64, 64),), lambda output: output.square().mean())
        plan = plan_of(step)
        self.assertEqual(step.run(plan).peak, plan["peak"])
        with self.assertRaisesRegex(ValueError, "the forward pass changes tensors in place"):
            step.run({"order": [*plan["order"], "addmm (again)"]})


if __name__ == "__main__":
    unittest.main()
