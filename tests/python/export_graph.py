# SPDX-License-Identifier: Apache-2.0
"""Exports small models, and checks what `ballast order` makes of them. Run by scripts/test-python; $BALLAST is the program."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "python"))
from export_graph import training_step, write_graph  # noqa: E402

from small_models import Transformer  # noqa: E402


class ConvBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        convolution = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.one = torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(16), torch.nn.ReLU(inplace=True))
        self.two = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 1), torch.nn.GELU(), torch.nn.Conv2d(16, 16, 5, padding=2))
        self.head = torch.nn.Linear(32, 10)

    def forward(self, x):
        both = torch.cat([self.one(x), self.two(x)], dim=1)
        return self.head(torch.nn.functional.max_pool2d(both, 2).mean(dim=(2, 3)))


def peak_of(graph, order):
    """The peak by the definition, and that every operator can run when the order says."""
    tensors = {t["name"]: t for t in graph["tensors"]}

    def memory_of(name):
        while "view_of" in tensors[name] or "in_place_of" in tensors[name]:
            name = tensors[name].get("view_of") or tensors[name]["in_place_of"]
        return name

    operators = {o["name"]: o for o in graph["operators"]}
    made = {t for o in graph["operators"] for t in o["outputs"]}
    there, last = set(tensors) - made, {}
    for step, name in enumerate(order):
        for t in operators[name]["inputs"] + operators[name]["outputs"]:
            last[memory_of(t)] = step
    for name, t in tensors.items():
        if t.get("kept", t["kind"] in ("parameter", "state")):
            last[memory_of(name)] = len(order)
    in_use = {memory_of(t) for t in there if memory_of(t) in last}
    most = 0
    for step, name in enumerate(order):
        missing = [t for t in operators[name]["inputs"] if t not in there]
        assert not missing, f"{name} runs before {missing} is made"
        there |= set(operators[name]["outputs"])
        in_use |= {memory_of(t) for t in operators[name]["outputs"]}
        most = max(most, sum(tensors[t]["bytes"] for t in in_use) + operators[name].get("workspace", 0))
        in_use -= {t for t in in_use if last[t] <= step}
    return most


class ExportedGraphs(unittest.TestCase):
    def check(self, model, inputs, loss, **options):
        graph = training_step(model, inputs, loss, **options)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.json")
            write_graph(graph, path)
            command = [os.environ["BALLAST"], "order", path, "--layout", "--json"]
            done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        planned = json.loads(done.stdout)
        program = [o["name"] for o in graph["operators"]]
        self.assertEqual(sorted(planned["order"]), sorted(program))
        self.assertEqual(peak_of(graph, program), planned["orders"][0]["peak"])
        self.assertEqual(peak_of(graph, planned["order"]), planned["peak"])
        self.assertLessEqual(planned["peak"], planned["orders"][0]["peak"])
        self.assertGreaterEqual(planned["layout"]["height"], planned["peak"])

        weights = [t["bytes"] for t in graph["tensors"] if t["kind"] == "parameter" and "in_place_of" not in t]
        self.assertEqual(sum(weights), sum(p.numel() * p.element_size() for p in model.parameters()))
        self.assertEqual({o["kind"] for o in graph["operators"]}, {"forward", "backward", "update"})
        updates = sum(o["kind"] == "update" for o in graph["operators"])
        self.assertEqual(updates, sum(p.requires_grad for p in model.parameters()))
        return graph, planned

    def test_mlp(self):
        model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(inplace=True), torch.nn.Linear(256, 64))
        graph, planned = self.check(model, (torch.randn(8, 64),), lambda output: output.square().mean())
        by_name = {t["name"]: t for t in graph["tensors"]}
        self.assertEqual(by_name["relu_"]["in_place_of"], "addmm")
        self.assertEqual(by_name["0.weight state"]["bytes"], 2 * by_name["0.weight"]["bytes"])
        self.assertLess(planned["peak"], planned["orders"][0]["peak"])  # updates at once free gradients

    def test_sgd_has_no_state_and_frozen_parameters_no_update(self):
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64))
        model[0].weight.requires_grad_(False)
        graph, _ = self.check(model, (torch.randn(8, 64),), lambda output: output.sum(), state_bytes=0)
        self.assertEqual([t["name"] for t in graph["tensors"] if t["kind"] == "state"], [])

    def test_conv_block(self):
        graph, _ = self.check(ConvBlock(), (torch.randn(4, 3, 32, 32),), lambda output: output.logsumexp(1).mean())
        times = {o["name"]: o["time"] for o in graph["operators"]}
        self.assertGreater(times["convolution_2"], times["convolution_1"])

    def test_transformer(self):
        tokens = torch.randint(0, 100, (2, 64))
        loss = lambda output, next: torch.nn.functional.cross_entropy(output.flatten(0, 1), next.flatten())
        _, planned = self.check(Transformer(2, 64), (tokens,), loss, targets=(tokens.roll(-1, 1),))
        self.assertLess(planned["peak"], planned["orders"][0]["peak"])

    def test_a_model_without_memory(self):
        with torch.device("meta"):
            model, tokens = Transformer(8, 4096), torch.zeros((4, 2048), dtype=torch.int64)
        self.check(model, (tokens,), lambda output: output.float().square().mean())


if __name__ == "__main__":
    unittest.main()
